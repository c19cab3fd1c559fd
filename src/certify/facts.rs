//! What is known of a term, derived anew: types, numbers, ranges, affine forms over loop variables, the
//! variables that it may depend on, and what it reads and writes.

use super::Checker;
use super::term::{Head, T};
use crate::affine::Affine;
use ember_targets::dlc::Dim;
use ember_targets::scalar::{BinaryOp, DType, Scalar, UnaryOp};
use std::collections::BTreeSet;
use std::rc::Rc;

/// One index of a place: where it starts and how many lanes it has. `None` is any index.
pub(super) type Index = Option<(Affine<T>, i64)>;

/// A tensor, and the indices that are known so far.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub tensor: String,
    pub index: Vec<Index>,
    pub frozen: bool,
}

/// Places that are read, and places that are written.
#[derive(Clone, Debug, Default)]
pub(super) struct Effects {
    pub reads: BTreeSet<Place>,
    pub writes: BTreeSet<Place>,
}

impl Effects {
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.reads.iter().chain(&self.writes)
    }

    fn add(&mut self, other: &Effects) {
        self.reads.extend(other.reads.iter().cloned());
        self.writes.extend(other.writes.iter().cloned());
    }

    fn map(&self, f: impl Fn(&Index) -> Index) -> Effects {
        let all = |places: &BTreeSet<Place>| {
            let moved = |p: &Place| Place { index: p.index.iter().map(&f).collect(), ..p.clone() };
            places.iter().map(moved).collect()
        };
        Effects { reads: all(&self.reads), writes: all(&self.writes) }
    }
}

/// What is known of a term.
#[derive(Clone, Debug)]
pub(super) struct Fact {
    pub dtype: Option<DType>,
    pub lanes: Option<i64>,
    pub constant: Option<Scalar>,
    pub range: (i64, i64),
    pub affine: Option<Affine<T>>,
    pub free: BTreeSet<T>,
    /// Of an address: the place, whether it may be written, and its lanes.
    pub address: Option<(Place, bool, Option<i64>)>,
    pub effects: Option<Effects>,
    pub has_loop: bool,
}

const ALL: (i64, i64) = (i64::MIN, i64::MAX);
const SIZE: (i64, i64) = (0, i64::MAX);

impl Fact {
    pub fn integer(&self) -> Option<i64> {
        self.constant.filter(|x| x.dtype() == DType::I64).and_then(|x| x.as_i64())
    }
}

impl Checker<'_> {
    /// What is known of a term.
    pub(super) fn fact(&mut self, term: T) -> Rc<Fact> {
        // Operands stand before what they are operands of.
        for next in self.facts.len()..=term {
            let fact = self.derive(next);
            self.facts.push(Rc::new(fact));
        }
        Rc::clone(&self.facts[term])
    }

    fn derive(&self, term: T) -> Fact {
        let (name, operands) = (self.terms.name(term), self.terms.operands(term));
        let of = |i: usize| operands.get(i).map(|t| &*self.facts[*t]);
        let mut fact = Fact {
            dtype: None,
            lanes: None,
            constant: None,
            range: ALL,
            affine: None,
            free: self.free(term),
            address: self.address(name, operands),
            effects: None,
            has_loop: (0..operands.len()).filter_map(of).any(|f| f.has_loop)
                || matches!(name, "scf.for" | "scf.reduce" | "emb.element"),
        };
        fact.effects = self.effects(name, operands);
        let literal = |i: usize| operands.get(i).map_or("", |t| self.terms.name(*t));
        let dtype = |i: usize| DType::parse(literal(i));
        let held = |i: usize| {
            let fact = of(i)?;
            match &fact.address {
                Some((place, ..)) => Some(self.tensors.get(&place.tensor)?.dtype),
                None => fact.dtype,
            }
        };
        let mut own_lanes = None;
        match (self.terms.head(term), operands) {
            (Head::Int(n), _) => {
                (fact.dtype, fact.constant) = (Some(DType::I64), Some(Scalar::I64(*n)));
                own_lanes = Some(1);
            }
            (Head::Real(_), _) => {}
            _ => match (name, operands.len()) {
                ("iv", 1) => {
                    fact.dtype = Some(DType::I64);
                    fact.affine = Some(Affine::variable(operands[0]));
                    if let Some([lo, hi, step]) = self.bounds(operands[0]) {
                        if lo.range.1 < hi.range.0 {
                            fact.range = (lo.range.0, hi.range.1.saturating_sub(1));
                        }
                        if let (Some(lo), Some(hi), Some(step)) =
                            (lo.integer(), hi.integer(), step.integer())
                            && lo < hi
                            && lo.checked_add(step).is_some_and(|next| hi <= next)
                        {
                            fact.constant = Some(Scalar::I64(lo));
                        }
                    }
                    own_lanes = Some(1);
                }
                ("size", 1) | ("emb.extent", 2) => {
                    (fact.dtype, fact.range, own_lanes) = (Some(DType::I64), SIZE, Some(1));
                }
                ("dim", 2) => {
                    (fact.dtype, fact.range, own_lanes) = (Some(DType::I64), SIZE, Some(1));
                    if let Some(Dim::Const(n)) = self.extent(operands) {
                        fact.constant = i64::try_from(n).ok().map(Scalar::I64);
                    }
                }
                ("const", 2) => {
                    fact.dtype = dtype(0);
                    if let (Some(dtype), Head::Real(x)) = (fact.dtype, self.terms.head(operands[1]))
                    {
                        fact.constant = Some(Scalar::from_f64(dtype, f64::from_bits(*x)));
                    }
                    own_lanes = Some(1);
                }
                ("scf.load", 1) => {
                    fact.dtype = held(0);
                    own_lanes = of(0).and_then(|a| a.address.as_ref()?.2);
                }
                ("scf.identity", 2) => {
                    fact.dtype = held(1);
                    let op = BinaryOp::parse(literal(0));
                    fact.constant = op.zip(fact.dtype).and_then(|(op, d)| op.identity(d));
                    own_lanes = Some(1);
                }
                ("scf.cast" | "scf.convert", 2) => {
                    fact.dtype = if name == "scf.cast" { dtype(0) } else { held(0) };
                    let x = of(1).filter(|x| x.constant.is_some()).and_then(|x| x.constant);
                    fact.constant = fact.dtype.zip(x).map(|(d, x)| x.cast(d));
                    if let Some(x) =
                        of(1).filter(|x| x.dtype == fact.dtype && x.dtype == Some(DType::I64))
                    {
                        (fact.range, fact.affine) = (x.range, x.affine.clone());
                    }
                    own_lanes = of(1).and_then(|x| x.lanes);
                }
                ("scf.one", 1) => {
                    fact.dtype = of(0).and_then(|x| x.dtype);
                    fact.constant = fact.dtype.map(|d| Scalar::from_f64(d, 1.0));
                    own_lanes = Some(1);
                }
                ("scf.select", 3) | ("emb.edge", 2) | ("scf.fold", 2) => {
                    fact.dtype = of(1).and_then(|x| x.dtype);
                    own_lanes =
                        if name == "scf.select" { of(1).and_then(|x| x.lanes) } else { Some(1) };
                }
                ("scf.exp" | "scf.sqrt", 1) => {
                    let x = of(0).and_then(|x| x.constant);
                    fact.dtype = of(0).and_then(|x| x.dtype);
                    fact.constant =
                        UnaryOp::parse(&name[4..]).zip(x).and_then(|(op, x)| op.apply(x));
                    own_lanes = of(0).and_then(|x| x.lanes);
                }
                ("scf.reduce", 7) => {
                    fact.dtype = of(5).and_then(|x| x.dtype);
                    own_lanes = of(5).and_then(|x| x.lanes);
                }
                ("scf.broadcast", 2) => {
                    fact.dtype = of(1).and_then(|x| x.dtype);
                    own_lanes = of(0).and_then(Fact::integer);
                }
                ("scf.lanes", 3) => {
                    (fact.dtype, own_lanes) = (Some(DType::I64), of(0).and_then(Fact::integer));
                }
                ("vec", 5) => {
                    fact.dtype = of(4).and_then(|x| x.dtype);
                    own_lanes = of(2).and_then(Fact::integer);
                }
                ("rename" | "fix", 3) => {
                    fact.dtype = of(2).and_then(|x| x.dtype);
                    own_lanes = of(2).and_then(|x| x.lanes);
                }
                ("emb.element", _) => {
                    (fact.dtype, own_lanes) = (of(0).and_then(|x| x.dtype), Some(1));
                }
                (tensor, _) if tensor.starts_with("emb.") || tensor.starts_with("nn.") => {
                    fact.dtype = match tensor {
                        "nn.cast" => dtype(0),
                        "emb.bag" | "emb.kg" | "emb.dequantise" | "nn.scale" => held(1),
                        "emb.spmm" => held(3),
                        "emb.sddmm" => held(2),
                        "emb.mp" => held(4),
                        tensor if tensor.starts_with("emb.output") => None,
                        _ => held(0),
                    };
                }
                (_, 2) => {
                    if let Some(op) = name.strip_prefix("scf.").and_then(BinaryOp::parse)
                        && let (Some(a), Some(b)) = (of(0), of(1))
                    {
                        arithmetic(&mut fact, op, a, b);
                        own_lanes = a.lanes;
                    }
                }
                _ => {}
            },
        }
        if fact.dtype.is_some() {
            fact.lanes = own_lanes;
        }
        if let Some(n) = fact.integer() {
            (fact.range, fact.affine) = ((n, n), Some(Affine::constant(n)));
        }
        if fact.constant.is_some() {
            fact.free.clear();
        }
        fact
    }

    /// What is known of a variable's bounds: those of its declaration.
    pub(super) fn bounds(&self, variable: T) -> Option<[Rc<Fact>; 3]> {
        let bounds = &self.variables.get(self.terms.name(variable))?.bounds;
        let known = |t: T| self.facts.get(t).cloned();
        Some([known(bounds[0])?, known(bounds[1])?, known(bounds[2])?])
    }

    /// The extent that `(dim ADDRESS K)` asks for.
    pub(super) fn extent(&self, operands: &[T]) -> Option<Dim> {
        let (place, ..) = self.facts[*operands.first()?].address.as_ref()?;
        let k = usize::try_from(self.facts[*operands.get(1)?].integer()?).ok()?;
        self.tensors.get(&place.tensor)?.shape.get(place.index.len() + k).copied()
    }

    fn free(&self, term: T) -> BTreeSet<T> {
        let (name, operands) = (self.terms.name(term), self.terms.operands(term));
        if name.starts_with('@') {
            return BTreeSet::from([term]);
        }
        let binder = self.rules.binders.get(&(name.to_owned(), operands.len()));
        let mut free = BTreeSet::new();
        for (at, operand) in operands.iter().enumerate() {
            let own = &self.facts[*operand].free;
            match binder {
                Some((variable, _)) if at == *variable => {}
                Some((variable, body)) if at == *body => {
                    free.extend(own.iter().filter(|v| **v != operands[*variable]));
                }
                _ => free.extend(own),
            }
        }
        free
    }

    /// What an index is after a variable has become a run of lanes from an affine form.
    fn moved(&self, x: T, to: Option<&Affine<T>>, lanes: Option<i64>, index: &Index) -> Index {
        let (start, own) = index.as_ref()?;
        let (k, lanes) = (start.coefficient(x), lanes?);
        if k == 0 {
            return index.clone();
        }
        let moved = start.add(&to?.sub(&Affine::variable(x))?.scale(k)?)?;
        match (lanes, k, *own) {
            (1, _, own) => Some((moved, own)),
            (_, 1, 1) => Some((moved, lanes)),
            _ => None,
        }
    }

    /// How indices change in `(vec …)`, `(rename …)` and `(fix …)`.
    fn change(&self, name: &str, operands: &[T]) -> Option<impl Fn(&Index) -> Index + '_> {
        let (x, to, lanes) = match (name, operands) {
            ("vec", [v, e, n, ..]) => (*e, Some(Affine::variable(*v)), self.facts[*n].integer()),
            ("rename", [x, y, _]) => (*x, Some(Affine::variable(*y)), Some(1)),
            ("fix", [x, v, _]) => (*x, self.facts[*v].affine.clone(), Some(1)),
            _ => return None,
        };
        Some(move |index: &Index| self.moved(x, to.as_ref(), lanes, index))
    }

    fn address(&self, name: &str, operands: &[T]) -> Option<(Place, bool, Option<i64>)> {
        let inner = |t: T| self.facts[t].address.clone();
        match (name, operands) {
            ("in" | "out", [tensor]) => {
                let tensor = self.terms.name(*tensor).to_owned();
                let place = Place { tensor, index: Vec::new(), frozen: false };
                Some((place, name == "out", Some(1)))
            }
            ("freeze", [of]) => inner(*of).map(|(p, _, l)| (Place { frozen: true, ..p }, false, l)),
            ("at", [of, index]) => {
                let (mut place, writable, lanes) = inner(*of)?;
                let lanes = match (lanes, self.facts[*index].lanes) {
                    (Some(1), lanes) | (lanes, Some(1)) => lanes,
                    _ => None,
                };
                place.index.push(self.index(*index));
                Some((place, writable, lanes))
            }
            ("vec" | "rename" | "fix", [.., of]) => {
                let change = self.change(name, operands)?;
                let (place, writable, lanes) = inner(*of)?;
                let index = place.index.iter().map(change).collect();
                let lanes = if name == "vec" { self.facts[operands[2]].integer() } else { lanes };
                Some((Place { index, ..place }, writable, lanes))
            }
            _ => None,
        }
    }

    /// The indices that a value used as an index stands for.
    fn index(&self, index: T) -> Index {
        let (start, lanes) = match (self.terms.name(index), self.terms.operands(index)) {
            ("scf.lanes", [n, _, x]) => (*x, self.facts[*n].integer()?),
            _ => (index, 1),
        };
        // A size is the same in every iteration, whatever it is.
        let size = || (self.terms.name(start) == "size").then(|| Affine::variable(start));
        let start = self.facts[start].affine.clone().or_else(size)?;
        (lanes >= 1).then_some((start, lanes))
    }

    fn effects(&self, name: &str, operands: &[T]) -> Option<Effects> {
        let of = |i: usize| self.facts[operands[i]].effects.as_ref();
        let place = |i: usize| self.facts[*operands.get(i)?].address.as_ref().map(|a| a.0.clone());
        let mut all = Effects::default();
        match (name, operands.len()) {
            ("vec", 5) | ("rename" | "fix", 3) => {
                all = of(operands.len() - 1)?.map(self.change(name, operands)?);
                let value = if name == "vec" { 3 } else { 1 };
                all.add(of(value)?);
            }
            ("scf.for", 5) | ("scf.reduce", 7) => {
                let (variable, body) = if operands.len() == 5 { (0, 4) } else { (1, 6) };
                let x = operands[variable];
                let kept = |i: &Index| i.clone().filter(|(start, _)| start.coefficient(x) == 0);
                all = of(body)?.map(kept);
                for i in (0..operands.len()).filter(|i| *i != variable && *i != body) {
                    all.add(of(i)?);
                }
            }
            _ if name.ends_with(".barrier") => return None,
            _ if name.starts_with("emb.") || name.starts_with("nn.") => {
                for (i, _) in operands.iter().enumerate() {
                    all.add(of(i)?);
                    let Some(place) = place(i) else { continue };
                    let scratch = name == "emb.mp" && i + 1 == operands.len();
                    if scratch || name.starts_with("emb.output") {
                        all.writes.insert(place);
                    } else {
                        all.reads.insert(place);
                    }
                }
                if matches!(name, "emb.element" | "emb.extent") {
                    all.writes.clear();
                }
            }
            _ if name.starts_with("scf.") || operands.is_empty() || PURE.contains(&name) => {
                for i in 0..operands.len() {
                    all.add(of(i)?);
                }
                match name {
                    "scf.load" => all.reads.extend([place(0)?]),
                    "scf.store" => all.writes.extend([place(0)?]),
                    "scf.accumulate" => {
                        all.reads.extend([place(1)?]);
                        all.writes.extend([place(1)?]);
                    }
                    "scf.matmul" | "scf.matmul_t" => {
                        all.reads.extend([place(1)?, place(2)?]);
                        all.writes.extend([place(0)?]);
                    }
                    _ => {}
                }
            }
            _ => return None,
        }
        Some(all)
    }
}

/// Operators besides those of `scf` that do what their operands do.
const PURE: [&str; 11] =
    ["iv", "in", "out", "at", "dim", "size", "const", "outer", "inner", "depth", "freeze"];

/// What is known of `a op b`.
fn arithmetic(fact: &mut Fact, op: BinaryOp, a: &Fact, b: &Fact) {
    fact.dtype = a.dtype.or(b.dtype).map(|d| op.result(d));
    fact.constant = a.constant.zip(b.constant).and_then(|(x, y)| op.apply(x, y));
    if fact.dtype != Some(DType::I64) {
        return;
    }
    let ends = |f: fn(i64, i64) -> Option<i64>| {
        let all = [(0, 0), (0, 1), (1, 0), (1, 1)]
            .map(|(i, j)| f([a.range.0, a.range.1][i], [b.range.0, b.range.1][j]));
        let all: Option<Vec<i64>> = all.into_iter().collect();
        all.map_or(ALL, |all| {
            (all.iter().copied().fold(all[0], i64::min), all.iter().copied().fold(all[0], i64::max))
        })
    };
    fact.range = match op {
        BinaryOp::Add => ends(i64::checked_add),
        BinaryOp::Sub => ends(i64::checked_sub),
        BinaryOp::Mul => ends(i64::checked_mul),
        BinaryOp::Max => (a.range.0.max(b.range.0), a.range.1.max(b.range.1)),
        BinaryOp::Min => (a.range.0.min(b.range.0), a.range.1.min(b.range.1)),
        BinaryOp::Lt => (0, 1),
        BinaryOp::Div => ALL,
    };
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
