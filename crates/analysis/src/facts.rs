//! Facts of an e-class: what holds of its meaning in every environment and every store.
//!
//! Each fact is computed from one node and the facts of its children (`make`), and facts of the
//! members of a class are combined (`merge`): since all members mean the same, a fact of
//! one is a fact of all. Predicates over facts are in [`ember_language::conditions`]; what a term *does* to
//! memory is in [`crate::effects`].

mod fold;
mod known;
mod make;

pub use fold::FOLDED_NODES;
pub use known::Known;
pub use make::{binary_op, dimension, dtype_named, single_value};

use crate::effects::{AddressFact, Effects};
use crate::predicates::{HOLDS, VALUES};
use egg::{DidMerge, Id, Symbol};
use ember_egraph::Analysis;
use ember_engine::Knowledge;
use ember_engine::journal::Journal;
use ember_language::rules::Operators;
use ember_language::term::Node;
use ember_targets::dlc::{Dim, TensorDecl};
use ember_values::affine::Affine;
use ember_values::primitive::Primitive;
use ember_values::scalar::{BinaryOp, DType, Scalar};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The e-graph of the compiler.
pub type EGraph = ember_egraph::EGraph<Node, Facts>;

/// An affine form over loop variables.
pub type AffineForm = Affine<Id>;

/// What facts are computed from besides terms, and what was found to be contradictory.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    tensors: FxHashMap<Symbol, TensorDecl>,
    /// Inputs whose elements never fall.
    rising: BTreeSet<Symbol>,
    sizes: Vec<String>,
    operators: Arc<Operators>,
    vector_unit: VectorUnit,
    aliases: FxHashMap<Id, Id>,
    contradiction: Option<(Scalar, Scalar)>,
    node_ceiling: Option<usize>,
    /// Nodes that are still to be made below the ceiling, for which folding leaves room.
    node_reserve: usize,
    ceiling_reached: bool,
    pub(crate) journal: Journal,
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
            // A quotient by more than 0 rises with the first and, towards 0, falls with the second.
            BinaryOp::Div if b.min > 0 => ends(i64::checked_div).unwrap_or(Interval::ALL),
            BinaryOp::Div => Interval::ALL,
        }
    }

    /// The interval of remainders of truncated divisions.
    fn remainder(a: Interval, b: Interval) -> Interval {
        if b.min <= 0 {
            return Interval::ALL;
        }
        let most = b.max - 1;
        Interval { min: a.min.clamp(-most, 0), max: a.max.clamp(0, most) }
    }
}

/// What may be known of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// The value, where it is the same in every environment and store.
    pub constant: Option<Scalar>,
    /// The element type of a value or a tensor.
    pub dtype: Option<DType>,
    /// The number of lanes of a value, 1 for a scalar.
    pub lanes: Option<i64>,
    /// Bounds of an i64 value.
    pub range: Interval,
    /// An i64 scalar as an affine form over loop variables.
    pub affine: Option<AffineForm>,
    /// Variables that the meaning may depend on, by their [`Facts::variable`] key.
    pub free: BTreeSet<Id>,
    /// Whether it is a variable, which operators bind.
    pub is_variable: bool,
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
    /// Nothing.
    const UNKNOWN: Fact = Fact {
        constant: None,
        dtype: None,
        lanes: None,
        range: Interval::ALL,
        affine: None,
        free: BTreeSet::new(),
        is_variable: false,
        variable: None,
        address: None,
        effects: None,
        has_loop: false,
    };

    /// The value as an integer constant.
    pub fn integer(&self) -> Option<i64> {
        match self.constant {
            Some(Scalar::I64(n)) => Some(n),
            _ => None,
        }
    }
}

impl Facts {
    /// What is known of operators.
    pub fn operators(&self) -> &Arc<Operators> {
        &self.operators
    }

    /// Facts for the terms of one model on one machine.
    pub fn new(
        tensors: &[TensorDecl],
        sizes: &[String],
        operators: Arc<Operators>,
        vector_unit: VectorUnit,
    ) -> Facts {
        Facts {
            tensors: tensors
                .iter()
                .map(|t| (Symbol::from(format!("%{}", t.name)), t.clone()))
                .collect(),
            rising: BTreeSet::new(),
            sizes: sizes.to_vec(),
            operators,
            vector_unit,
            aliases: FxHashMap::default(),
            contradiction: None,
            node_ceiling: None,
            node_reserve: 0,
            ceiling_reached: false,
            journal: Journal::default(),
        }
    }

    /// The same, where inputs of these names hold elements that never fall.
    pub fn rising<'a>(mut self, names: impl Iterator<Item = &'a str>) -> Facts {
        self.rising.extend(names.map(|name| Symbol::from(format!("%{name}"))));
        self
    }

    /// The same, and what happens in the e-graph is recorded.
    pub fn recording(mut self) -> Facts {
        self.journal = Journal::recording();
        self
    }

    /// What was recorded.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Ends folding when this many nodes have been made in all, so that what facts add keeps to a
    /// run's node limit; `None` for no ceiling.
    pub fn set_node_ceiling(&mut self, ceiling: Option<usize>) {
        self.node_ceiling = ceiling;
        self.ceiling_reached = false;
    }

    /// Leaves room below the ceiling for nodes that are about to be made.
    pub fn reserve_nodes(&mut self, nodes: usize) {
        self.node_reserve = nodes;
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

    /// Whether a tensor, by its name in terms, holds elements that never fall, whatever the data.
    pub fn rises(&self, name: Symbol) -> bool {
        self.rising.contains(&name)
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

impl Analysis<Node> for Facts {
    type Data = Known;

    fn make(egraph: &mut EGraph, node: &Node, id: Id) -> Known {
        if make::says_nothing(egraph, node) {
            return Known::NOTHING;
        }
        Known::from(make::make(egraph, node, id))
    }

    fn merge(&mut self, a: &mut Known, b: Known) -> DidMerge {
        if a.is_nothing() && b.is_nothing() {
            return DidMerge(false, false);
        }
        if let (Some(x), Some(y)) = (a.constant, b.constant)
            && x != y
        {
            self.contradiction.get_or_insert((x, y));
        }
        if a.is_variable && b.is_variable {
            // Congruent variables: from here on one key stands for both.
            let keys: Vec<Id> = a.free.iter().chain(&b.free).map(|k| self.variable(*k)).collect();
            if let (Some(&low), Some(&high)) = (keys.iter().min(), keys.iter().max())
                && low != high
            {
                self.aliases.insert(high, low);
            }
        }
        let merged = merge(self, a, &b);
        let did = DidMerge(merged != **a, merged != *b);
        if did.0 {
            *a = Known::from(merged);
        }
        did
    }

    fn modify(egraph: &mut EGraph, id: Id) {
        fold::fold(egraph, id);
    }

    fn is_quiet(known: &Known) -> bool {
        known.is_nothing()
    }
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
        is_variable: a.is_variable || b.is_variable,
        variable: a.variable.or(b.variable),
        address: sharper(&a.address, &b.address, AddressFact::vagueness),
        effects: sharper(&a.effects, &b.effects, Effects::vagueness),
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

impl Knowledge for Facts {
    const FOLDED_NODES: usize = FOLDED_NODES;

    fn holds(egraph: &EGraph, predicate: usize, classes: &[Id]) -> bool {
        HOLDS.get(predicate).is_some_and(|row| (row.answer)(egraph, classes))
    }

    fn values(egraph: &EGraph, generator: usize, classes: &[Id]) -> Vec<i64> {
        VALUES.get(generator).map_or_else(Vec::new, |row| (row.answer)(egraph, classes))
    }

    fn integer(known: &Known) -> Option<i64> {
        known.integer()
    }

    fn is_literal(&self, node: &Node) -> bool {
        self.operators.primitive(node) == Some(Primitive::Constant)
    }

    fn contradiction(&self) -> Option<(Scalar, Scalar)> {
        self.contradiction()
    }

    fn set_node_ceiling(&mut self, ceiling: Option<usize>) {
        self.set_node_ceiling(ceiling);
    }

    fn reserve_nodes(&mut self, nodes: usize) {
        self.reserve_nodes(nodes);
    }

    fn ceiling_reached(&self) -> bool {
        self.ceiling_reached()
    }

    fn journal(&mut self) -> &mut Journal {
        &mut self.journal
    }
}
