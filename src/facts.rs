//! Facts of an e-class: what holds of its meaning in every environment and every store.
//!
//! Each fact is computed from one node and the facts of its children (`make`), and facts of the
//! members of a class are combined (`merge`): since all members mean the same, a fact of
//! one is a fact of all. Predicates over facts are in [`crate::predicates`]; what a term *does* to
//! memory is in [`crate::effects`].

use crate::affine::Affine;
use crate::effects::{AddressFact, Effects};
use crate::term::{Head, Node};
use egg::{Analysis, DidMerge, Id, Language, Symbol};
use ember_targets::dlc::{Dim, TensorDecl};
use ember_targets::scalar::{BinaryOp, DType, Scalar};
use std::collections::{BTreeSet, HashMap};

/// The e-graph of the compiler.
pub type EGraph = egg::EGraph<Node, Facts>;

/// An affine form over loop variables.
pub type AffineForm = Affine<Id>;

/// Which child of an operator binds a loop variable, and in which child.
pub type Binders = HashMap<(Symbol, usize), (usize, usize)>;

/// What facts are computed from besides terms, and what was found to be contradictory.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    tensors: HashMap<Symbol, TensorDecl>,
    sizes: Vec<String>,
    binders: Binders,
    vector_unit: VectorUnit,
    aliases: HashMap<Id, Id>,
    contradiction: Option<(Scalar, Scalar)>,
    node_ceiling: Option<usize>,
    ceiling_reached: bool,
}

/// What the vector-length generators ask of the machine.
#[derive(Clone, Copy, Debug)]
pub struct VectorUnit {
    /// Width of a vector register in bytes.
    pub simd_bytes: u64,
    /// Number of vector registers.
    pub registers: u64,
}

impl Default for VectorUnit {
    fn default() -> Self {
        VectorUnit { simd_bytes: 64, registers: 32 }
    }
}

/// An interval of `i64`, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The least value.
    pub min: i64,
    /// The greatest value.
    pub max: i64,
}

impl Interval {
    /// Every value.
    pub const ALL: Interval = Interval { min: i64::MIN, max: i64::MAX };

    fn point(n: i64) -> Interval {
        Interval { min: n, max: n }
    }

    /// The interval of an operation's results; everything where an end could overflow.
    fn apply(op: BinaryOp, a: Interval, b: Interval) -> Interval {
        let ends = |f: fn(i64, i64) -> Option<i64>| {
            let all = [f(a.min, b.min), f(a.min, b.max), f(a.max, b.min), f(a.max, b.max)];
            let all = all.into_iter().collect::<Option<Vec<_>>>()?;
            Some(Interval { min: *all.iter().min()?, max: *all.iter().max()? })
        };
        match op {
            BinaryOp::Add => ends(i64::checked_add).unwrap_or(Interval::ALL),
            BinaryOp::Sub => ends(i64::checked_sub).unwrap_or(Interval::ALL),
            BinaryOp::Mul => ends(i64::checked_mul).unwrap_or(Interval::ALL),
            BinaryOp::Max => Interval { min: a.min.max(b.min), max: a.max.max(b.max) },
            BinaryOp::Min => Interval { min: a.min.min(b.min), max: a.max.min(b.max) },
            BinaryOp::Lt => Interval { min: 0, max: 1 },
            BinaryOp::Div => Interval::ALL,
        }
    }
}

/// The facts of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// The value, where it is the same in every environment and store.
    pub constant: Option<Scalar>,
    /// The element type of a value.
    pub dtype: Option<DType>,
    /// The number of lanes of a value, 1 for a scalar.
    pub lanes: Option<i64>,
    /// Bounds of an i64 value.
    pub range: Interval,
    /// An i64 scalar as an affine form over loop variables.
    pub affine: Option<AffineForm>,
    /// Variables that the meaning may depend on, by their [`Facts::variable`] key.
    pub free: BTreeSet<Id>,
    /// Of a loop variable: its lo, hi and step.
    pub variable: Option<(Id, Id, Id)>,
    /// Of an address: the tensor and its indices.
    pub address: Option<AddressFact>,
    /// What evaluation reads and writes; `None` where it is not known.
    pub effects: Option<Effects>,
    /// Whether every known form of the term has a loop in it.
    pub has_loop: bool,
}

impl Fact {
    fn unknown() -> Fact {
        Fact {
            constant: None,
            dtype: None,
            lanes: None,
            range: Interval::ALL,
            affine: None,
            free: BTreeSet::new(),
            variable: None,
            address: None,
            effects: None,
            has_loop: false,
        }
    }

    /// The value as an integer constant.
    pub fn integer(&self) -> Option<i64> {
        match self.constant {
            Some(Scalar::I64(n)) => Some(n),
            _ => None,
        }
    }
}

impl Facts {
    /// Facts for the terms of one model on one machine.
    pub fn new(
        tensors: &[TensorDecl],
        sizes: &[String],
        binders: Binders,
        vector_unit: VectorUnit,
    ) -> Facts {
        Facts {
            tensors: tensors
                .iter()
                .map(|t| (Symbol::from(format!("%{}", t.name)), t.clone()))
                .collect(),
            sizes: sizes.to_vec(),
            binders,
            vector_unit,
            aliases: HashMap::new(),
            contradiction: None,
            node_ceiling: None,
            ceiling_reached: false,
        }
    }

    /// Ends folding when this many nodes have been made in all, so that what facts add keeps to a
    /// run's node limit; `None` for no ceiling.
    pub fn set_node_ceiling(&mut self, ceiling: Option<usize>) {
        self.node_ceiling = ceiling;
        self.ceiling_reached = false;
    }

    /// Whether something was not folded because of the ceiling.
    pub fn ceiling_reached(&self) -> bool {
        self.ceiling_reached
    }

    /// The two different constants that met in one class, if that has happened: some rule is wrong.
    pub fn contradiction(&self) -> Option<(Scalar, Scalar)> {
        self.contradiction
    }

    /// The declaration of a tensor by its name in terms (with the `%`).
    pub fn tensor(&self, name: Symbol) -> Option<&TensorDecl> {
        self.tensors.get(&name)
    }

    /// The machine's vector unit.
    pub fn vector_unit(&self) -> VectorUnit {
        self.vector_unit
    }

    /// The key of a loop variable: stable under unions, equal for variables found to be the same.
    pub fn variable(&self, key: Id) -> Id {
        let mut key = key;
        while let Some(&next) = self.aliases.get(&key) {
            key = next;
        }
        key
    }
}

/// The most nodes that folding one class adds: a cast with its type, and its constant.
const FOLDED_NODES: usize = 5;

/// Whether the ceiling leaves room to fold a class; that it did not is remembered.
fn room_to_fold(egraph: &mut EGraph) -> bool {
    let made = egraph.nodes().len().saturating_add(FOLDED_NODES);
    let room = egraph.analysis.node_ceiling.is_none_or(|ceiling| made <= ceiling);
    egraph.analysis.ceiling_reached |= !room;
    room
}

impl Analysis<Node> for Facts {
    type Data = Fact;

    fn make(egraph: &mut EGraph, node: &Node, id: Id) -> Fact {
        make(egraph, node, id)
    }

    fn merge(&mut self, a: &mut Fact, b: Fact) -> DidMerge {
        if let (Some(x), Some(y)) = (a.constant, b.constant)
            && x != y
        {
            self.contradiction.get_or_insert((x, y));
        }
        if a.variable.is_some() && b.variable.is_some() {
            // Congruent variables: from here on one key stands for both.
            let keys: Vec<Id> = a.free.iter().chain(&b.free).map(|k| self.variable(*k)).collect();
            if let (Some(&low), Some(&high)) = (keys.iter().min(), keys.iter().max())
                && low != high
            {
                self.aliases.insert(high, low);
            }
        }
        let merged = merge(self, a, &b);
        let did = DidMerge(merged != *a, merged != b);
        *a = merged;
        did
    }

    fn modify(egraph: &mut EGraph, id: Id) {
        if let Some(simpler) = simplified(egraph, id) {
            if !matches!(simpler, Simplified::Same(_)) && !room_to_fold(egraph) {
                return;
            }
            let simpler = match simpler {
                Simplified::Same(other) => other,
                Simplified::Size(name) => {
                    let name = egraph.add(Node::new(Head::Op(name), &[]));
                    egraph.add(Node::op("size", &[name]))
                }
                Simplified::Cast(dtype, value) => {
                    let dtype = egraph.add(Node::op(dtype.name(), &[]));
                    egraph.add(Node::op("scf.cast", &[dtype, value]))
                }
            };
            egraph.union(id, simpler);
        }
        let Some(node) = folded(&egraph[id].data) else { return };
        let is_folded = egraph[id].nodes.iter().any(|n| match node {
            Folded::Int(value) => n.head == Head::Int(value),
            Folded::Const(..) => n.name() == Some("const"),
        });
        if is_folded || !room_to_fold(egraph) {
            return;
        }
        let folded = match node {
            Folded::Int(n) => egraph.add(Node::int(n)),
            Folded::Const(dtype, bits) => {
                let dtype = egraph.add(Node::op(dtype.name(), &[]));
                let real = egraph.add(Node::new(Head::Real(bits), &[]));
                egraph.add(Node::op("const", &[dtype, real]))
            }
        };
        egraph.union(id, folded);
    }
}

/// What a class means in fewer words, where only the declarations of tensors can tell.
enum Simplified {
    Same(Id),
    Size(Symbol),
    Cast(DType, Id),
}

/// The simplification of the node that a new class was made from.
fn simplified(egraph: &EGraph, id: Id) -> Option<Simplified> {
    let [node] = egraph[id].nodes.as_slice() else { return None };
    let (name, children) = (node.name()?, node.children());
    match (name, children) {
        ("dim", _) => egraph.analysis.size_name(dimension(egraph, node)?).map(Simplified::Size),
        ("scf.convert", [address, value]) => {
            let dtype = egraph[*address].data.address.as_ref()?.dtype(&egraph.analysis)?;
            Some(Simplified::Cast(dtype, *value))
        }
        ("scf.cast", [dtype, value]) => {
            let from = egraph[*value].data.dtype?;
            (dtype_named(egraph, *dtype)? == from).then_some(Simplified::Same(*value))
        }
        _ => None,
    }
}

/// A constant as the node that stands for it.
enum Folded {
    Int(i64),
    Const(DType, u64),
}

/// The node of a class's constant. Only a closed value is folded: a union with a term of another
/// environment would carry that environment's facts along.
fn folded(fact: &Fact) -> Option<Folded> {
    Some(match fact.constant? {
        Scalar::I64(n) => Folded::Int(n),
        Scalar::I32(n) => Folded::Const(DType::I32, f64::from(n).to_bits()),
        Scalar::F32(x) => Folded::Const(DType::F32, bits(f64::from(x))),
        Scalar::F64(x) => Folded::Const(DType::F64, bits(x)),
    })
}

fn bits(x: f64) -> u64 {
    match Head::real(x) {
        Head::Real(bits) => bits,
        Head::Int(_) | Head::Op(_) => x.to_bits(),
    }
}

/// The facts of two members of one class, combined: each holds, so the sharper one is kept.
fn merge(facts: &Facts, a: &Fact, b: &Fact) -> Fact {
    let canonical =
        |free: &BTreeSet<Id>| -> BTreeSet<Id> { free.iter().map(|k| facts.variable(*k)).collect() };
    let range = Interval { min: a.range.min.max(b.range.min), max: a.range.max.min(b.range.max) };
    Fact {
        constant: a.constant.or(b.constant),
        dtype: a.dtype.or(b.dtype),
        lanes: a.lanes.or(b.lanes),
        // An empty intersection says that the class is never evaluated; keep what is known.
        range: if range.min <= range.max { range } else { a.range },
        affine: sharper(&a.affine, &b.affine, |x| x.terms.len()),
        free: canonical(&a.free).intersection(&canonical(&b.free)).copied().collect(),
        variable: a.variable.or(b.variable),
        address: a.address.clone().or_else(|| b.address.clone()),
        effects: sharper(&a.effects, &b.effects, Effects::len),
        has_loop: a.has_loop && b.has_loop,
    }
}

/// The smaller of two facts by a measure, the first where they are equal.
fn sharper<T: Clone>(a: &Option<T>, b: &Option<T>, measure: fn(&T) -> usize) -> Option<T> {
    match (a, b) {
        (Some(x), Some(y)) if measure(y) < measure(x) => Some(y.clone()),
        (Some(x), _) => Some(x.clone()),
        (None, y) => y.clone(),
    }
}

/// The facts of one node.
fn make(egraph: &EGraph, node: &Node, id: Id) -> Fact {
    let mut fact = Fact::unknown();
    let facts = &egraph.analysis;
    let children = node.children();
    let child = |i: usize| &egraph[children[i]].data;
    let name = match node.head {
        Head::Int(n) => {
            fact.constant = Some(Scalar::I64(n));
            fact.dtype = Some(DType::I64);
            fact.lanes = Some(1);
            fact.range = Interval::point(n);
            fact.affine = Some(Affine::constant(n));
            fact.effects = Some(Effects::none());
            return fact;
        }
        Head::Real(_) => {
            fact.effects = Some(Effects::none());
            return fact;
        }
        Head::Op(name) => name,
    };

    // Free variables: those of the children, less the one bound here.
    let binder = facts.binders.get(&(name, children.len())).copied();
    for (i, &c) in children.iter().enumerate() {
        match binder {
            Some((variable, _)) if i == variable => {}
            Some((variable, body)) if i == body => {
                let bound: BTreeSet<Id> =
                    child(variable).free.iter().map(|k| facts.variable(*k)).collect();
                let free = egraph[c].data.free.iter().map(|k| facts.variable(*k));
                fact.free.extend(free.filter(|k| !bound.contains(k)));
            }
            _ => fact.free.extend(egraph[c].data.free.iter().map(|k| facts.variable(*k))),
        }
    }
    fact.has_loop = children.iter().any(|c| egraph[*c].data.has_loop)
        || matches!(name.as_str(), "scf.for" | "scf.reduce");
    fact.address = AddressFact::make(egraph, node);
    fact.effects = Effects::make(egraph, node);

    match name.as_str() {
        "var" if children.len() == 4 => {
            fact.variable = Some((children[1], children[2], children[3]));
            // Its bounds are the enclosing loop's business: to mention the variable is to depend
            // on the variable alone.
            fact.free = BTreeSet::from([id]);
        }
        "iv" => {
            fact.dtype = Some(DType::I64);
            if let Some(&key) = child(0).free.first() {
                fact.affine = Some(Affine::variable(facts.variable(key)));
            }
            fact.range = variable_range(egraph, children[0]);
            fact.constant = single_value(egraph, children[0]).map(Scalar::I64);
        }
        "size" => {
            fact.dtype = Some(DType::I64);
            fact.range = Interval { min: 0, max: i64::MAX };
        }
        "dim" => {
            fact.dtype = Some(DType::I64);
            fact.range = Interval { min: 0, max: i64::MAX };
            if let Some(Dim::Const(n)) = dimension(egraph, node) {
                fact.constant = i64::try_from(n).ok().map(Scalar::I64);
            }
        }
        "const" => {
            let dtype = dtype_named(egraph, children[0]);
            fact.dtype = dtype;
            fact.constant =
                dtype.zip(real(egraph, children[1])).map(|(d, x)| Scalar::from_f64(d, x));
        }
        "scf.load" => fact.dtype = child(0).address.as_ref().and_then(|a| a.dtype(facts)),
        "scf.identity" => {
            let dtype = child(1).address.as_ref().and_then(|a| a.dtype(facts));
            fact.dtype = dtype;
            fact.constant = binary_op(egraph, children[0])
                .zip(dtype)
                .and_then(|(op, dtype)| op.identity(dtype));
        }
        "scf.cast" | "scf.convert" => {
            let dtype = if name.as_str() == "scf.cast" {
                dtype_named(egraph, children[0])
            } else {
                child(0).address.as_ref().and_then(|a| a.dtype(facts))
            };
            fact.dtype = dtype;
            fact.constant = dtype.zip(child(1).constant).map(|(d, x)| x.cast(d));
            if dtype == Some(DType::I64) && child(1).dtype == Some(DType::I64) {
                fact.range = child(1).range;
                fact.affine = child(1).affine.clone();
            }
        }
        "scf.one" => {
            fact.dtype = child(0).dtype;
            fact.constant = child(0).dtype.map(|dtype| Scalar::from_f64(dtype, 1.0));
        }
        "scf.select" => fact.dtype = child(1).dtype,
        "scf.reduce" => fact.dtype = child(5).dtype,
        "scf.broadcast" => fact.dtype = child(1).dtype,
        "vec" => fact.dtype = child(4).dtype,
        "rename" => fact.dtype = child(2).dtype,
        "scf.lanes" => fact.dtype = Some(DType::I64),
        other => {
            if let Some(op) = other.strip_prefix("scf.").and_then(BinaryOp::parse) {
                arithmetic(&mut fact, op, child(0), child(1));
            }
        }
    }
    if fact.dtype.is_some() {
        fact.lanes = lanes(egraph, name.as_str(), children);
    }
    // A constant is a scalar; lanes of it are another value.
    if let Some(Scalar::I64(n)) = fact.constant {
        fact.range = Interval::point(n);
        fact.affine = Some(Affine::constant(n));
    }
    if fact.constant.is_some() {
        fact.free.clear();
    }
    fact
}

/// The lanes of a value of this operator: made by a run, a block or a broadcast, kept by the rest.
fn lanes(egraph: &EGraph, name: &str, children: &[Id]) -> Option<i64> {
    let of = |i: usize| egraph[children[i]].data.lanes;
    match name {
        "scf.lanes" | "scf.broadcast" => egraph[children[0]].data.integer(),
        "vec" => egraph[children[2]].data.integer(),
        "rename" => of(2),
        "iv" | "size" | "dim" | "const" | "scf.identity" | "scf.one" => Some(1),
        "scf.load" => {
            let address = egraph[children[0]].data.address.as_ref()?;
            address.lanes
        }
        "scf.cast" | "scf.convert" => of(1),
        "scf.reduce" => of(5),
        "scf.select" => of(1),
        _ => of(0),
    }
}

/// The facts of `a op b`.
fn arithmetic(fact: &mut Fact, op: BinaryOp, a: &Fact, b: &Fact) {
    fact.dtype = a.dtype.or(b.dtype).map(|d| op.result(d));
    fact.constant = a.constant.zip(b.constant).and_then(|(x, y)| op.apply(x, y));
    if fact.dtype == Some(DType::I64) {
        fact.range = Interval::apply(op, a.range, b.range);
        fact.affine = a.affine.as_ref().zip(b.affine.as_ref()).and_then(|(x, y)| match op {
            BinaryOp::Add => x.add(y),
            BinaryOp::Sub => x.sub(y),
            BinaryOp::Mul => match (x.as_constant(), y.as_constant()) {
                (Some(k), _) => y.scale(k),
                (_, Some(k)) => x.scale(k),
                (None, None) => None,
            },
            _ => None,
        });
    }
}

/// The range of a loop variable's value. A loop that may be empty gives no facts: from an empty
/// range anything follows, and what follows would merge closed terms everywhere.
fn variable_range(egraph: &EGraph, var: Id) -> Interval {
    let Some((lo, hi, _)) = egraph[var].data.variable else { return Interval::ALL };
    let (lo, hi) = (egraph[lo].data.range, egraph[hi].data.range);
    if hi.min <= lo.max {
        return Interval::ALL;
    }
    Interval { min: lo.min, max: hi.max.saturating_sub(1) }
}

/// The one value of the variable of a loop that runs exactly once, whatever the data.
pub fn single_value(egraph: &EGraph, var: Id) -> Option<i64> {
    let (lo, hi, step) = egraph[var].data.variable?;
    let integer = |id: Id| egraph[id].data.integer();
    let (lo, hi, step) = (integer(lo)?, integer(hi)?, integer(step)?);
    (lo < hi && hi <= lo.checked_add(step)?).then_some(lo)
}

/// The extent that a `(dim address k)` node asks for.
pub fn dimension(egraph: &EGraph, node: &Node) -> Option<Dim> {
    let [address, k] = node.children() else { return None };
    let address = egraph[*address].data.address.as_ref()?;
    let k = usize::try_from(egraph[*k].data.integer()?).ok()?;
    egraph.analysis.tensor(address.tensor)?.shape.get(address.index.len() + k).copied()
}

impl Facts {
    /// The name in terms of a symbolic size.
    pub fn size_name(&self, dim: Dim) -> Option<Symbol> {
        match dim {
            Dim::Size(id) => self.sizes.get(id.index()).map(|s| Symbol::from(format!("%{s}"))),
            Dim::Const(_) => None,
        }
    }
}

/// The element type that a class names.
pub fn dtype_named(egraph: &EGraph, id: Id) -> Option<DType> {
    egraph[id].nodes.iter().find_map(|n| DType::parse(n.name()?))
}

/// The binary operation that a class names.
pub fn binary_op(egraph: &EGraph, id: Id) -> Option<BinaryOp> {
    egraph[id].nodes.iter().find_map(|n| BinaryOp::parse(n.name()?))
}

/// The literal real number of a class; an integer literal stands for the number it names.
fn real(egraph: &EGraph, id: Id) -> Option<f64> {
    egraph[id].nodes.iter().find_map(|n| match n.head {
        Head::Real(bits) => Some(f64::from_bits(bits)),
        _ => None,
    })
}
