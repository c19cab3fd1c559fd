//! The effects of terms: the places in memory that an evaluation reads and writes.
//!
//! A place is a tensor with one affine index per dimension. This suffices to prove that two places do not overlap and
//! that two iterations of a loop touch different places.

use crate::facts::{AffineForm, EGraph, Facts, follows};
use egg::{Id, Language, Symbol};
use ember_language::rules::{Kind, Loop, OpInfo};
use ember_language::term::{Head, Node};
use ember_values::distance::{Distance, distance, stay_apart};
use ember_values::primitive::form::{Block, By, Form, Operation, Undone, View};
use ember_values::scalar::{Chosen, DType};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// An address: a tensor and the indices fixed so far.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AddressFact {
    /// The tensor's name in terms.
    pub tensor: Symbol,
    /// True if the address allows writing.
    pub writable: bool,
    /// True if the tensor is read-only since a barrier.
    pub frozen: bool,
    /// The indices, outermost dimension first.
    pub index: Vec<Index>,
    /// The number of lanes of the address, 1 for a single element; `None` if unknown.
    pub lanes: Option<i64>,
}

/// One index of a place; `None` if it may be any index.
pub type Index = Option<Run>;

/// A run of lanes with the indices `start, start + 1, …`; a scalar index has one lane.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// The index of the first lane.
    pub start: AffineForm,
    /// The number of lanes, at least 1.
    pub lanes: i64,
    /// For an index inside a row of a ragged tensor: the tensor of row offsets, whose elements never decrease. `start`
    /// is then the number of a row and represents any index from the offset of that row up to, but excluding, the next
    /// offset. Indices of different rows are different.
    pub rows: Option<Symbol>,
}

/// A tensor and the indices that are touched; missing trailing indices may be any index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The tensor's name in terms.
    pub tensor: Symbol,
    /// The known indices, outermost dimension first.
    pub index: Vec<Index>,
    /// True if the place is read as frozen: nothing writes it before the next barrier.
    pub frozen: bool,
}

/// The places that an evaluation reads and writes. This is an over-approximation: it may contain places that are not
/// touched, but never misses one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Effects {
    /// The places read.
    pub reads: BTreeSet<Place>,
    /// The places written.
    pub writes: BTreeSet<Place>,
    /// True if lanes may be folded, which fails if one is inactive.
    pub folds: bool,
}

impl AddressFact {
    /// Returns the element type of the tensor.
    pub fn dtype(&self, facts: &Facts) -> Option<DType> {
        facts.tensor(self.tensor).map(|t| t.dtype)
    }

    /// Counts the unknown parts: indices that may be anything, and an unknown number of lanes.
    pub fn vagueness(&self) -> usize {
        self.index.iter().filter(|i| i.is_none()).count() + usize::from(self.lanes.is_none())
    }

    /// Returns the place of the address.
    pub fn place(&self) -> Place {
        Place { tensor: self.tensor, index: self.index.clone(), frozen: self.frozen }
    }

    /// Returns the address that a node computes, if it computes one.
    pub fn make(egraph: &EGraph, node: &Node, info: &OpInfo) -> Option<AddressFact> {
        let of = |id: Id| address(egraph, id);
        match info.form(node.children())? {
            Form::Root { name, written } => {
                let tensor = egraph[name].nodes.iter().find_map(|n| match n.head() {
                    Head::Op(name) => Some(name),
                    _ => None,
                })?;
                let index = Vec::new();
                Some(AddressFact {
                    tensor,
                    writable: written,
                    frozen: false,
                    index,
                    lanes: Some(1),
                })
            }
            Form::View { address, view: View::ReadOnly } => {
                Some(AddressFact { writable: false, frozen: true, ..of(address)? })
            }
            Form::View { address, view: View::At(index) } => {
                let mut address = of(address)?;
                address.lanes = match (address.lanes, egraph[index].data.lanes) {
                    (Some(1), lanes) => lanes,
                    (lanes, Some(1)) => lanes,
                    _ => None,
                };
                address.index.push(run(egraph, index));
                Some(address)
            }
            Form::Replaced { variable, by, x } => {
                let replacement = Replacement::new(egraph, variable, by);
                let address = of(x)?.mapped(|i| replacement.apply(egraph, i));
                Some(match by {
                    By::Lanes { lanes, .. } => {
                        AddressFact { lanes: egraph[lanes].data.integer(), ..address }
                    }
                    By::Variable(_) | By::Value(_) => address,
                })
            }
            _ => None,
        }
    }

    fn mapped(self, f: impl Fn(&Index) -> Index) -> AddressFact {
        let index = self.index.iter().map(f).collect();
        AddressFact { index, ..self }
    }
}

/// The most dimensions of a tensor that are told apart in comparing effects.
const RANK: usize = 8;

/// Returns the effects of a class, with the representative keys of variables.
pub fn effects(egraph: &EGraph, id: Id) -> Option<Cow<'_, Effects>> {
    let effects = egraph[id].data.effects.as_ref()?;
    Some(match egraph.analysis.has_plain_keys() {
        true => Cow::Borrowed(effects),
        false => Cow::Owned(effects.clone().map(|index| current(egraph, index))),
    })
}

/// Returns the address that a class represents, with the representative keys of variables.
pub fn address(egraph: &EGraph, id: Id) -> Option<AddressFact> {
    let address = egraph[id].data.address.clone()?;
    Some(address.mapped(|index| current(egraph, index)))
}

/// Returns an index with the representative keys of variables.
fn current(egraph: &EGraph, index: &Index) -> Index {
    let run = index.as_ref()?;
    Some(Run { start: egraph.analysis.current(&run.start)?, ..run.clone() })
}

/// Returns the indices that a class represents when it is used as an index.
fn run(egraph: &EGraph, id: Id) -> Index {
    let operators = egraph.analysis.operators();
    let lanes = egraph[id].nodes.iter().find_map(|node| match operators.form(node)? {
        Form::Spread { lanes, x, below: Some(_) } => Some((egraph[lanes].data.integer()?, x)),
        _ => None,
    });
    let (lanes, start) = lanes.unwrap_or((1, id));
    let start = egraph.analysis.current(egraph[start].data.affine.as_ref()?)?;
    (lanes >= 1).then_some(Run { start, lanes, rows: None })
}

impl Effects {
    /// Returns the empty set of effects.
    pub fn none() -> Effects {
        Effects { reads: BTreeSet::new(), writes: BTreeSet::new(), folds: false }
    }

    /// Returns the number of places.
    pub fn len(&self) -> usize {
        self.reads.len() + self.writes.len()
    }

    /// Measures the imprecision of the effects: the number of places, of unknown indices and of possible failures. A place
    /// without an index, such as a tensor that an operation reads as a whole, may be anywhere along that dimension.
    pub fn vagueness(&self) -> usize {
        let unknown = |p: &Place| RANK.saturating_sub(p.index.iter().flatten().count());
        self.len() + self.places().map(unknown).sum::<usize>() + usize::from(self.folds)
    }

    /// Returns true if there is no effect.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over all places, read or written.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.reads.iter().chain(&self.writes)
    }

    fn extend(&mut self, other: Effects) {
        self.reads.extend(other.reads);
        self.writes.extend(other.writes);
        self.folds |= other.folds;
    }

    fn map(self, f: impl Fn(&Index) -> Index) -> Effects {
        let places = |set: BTreeSet<Place>| -> BTreeSet<Place> {
            set.into_iter()
                .map(|p| Place { index: p.index.iter().map(&f).collect(), ..p })
                .collect()
        };
        Effects { reads: places(self.reads), writes: places(self.writes), folds: self.folds }
    }

    /// Returns the effects of evaluating a node; `None` for an operator that does not declare them.
    pub fn make(egraph: &EGraph, node: &Node, info: &OpInfo) -> Option<Effects> {
        let children = node.children();
        let of = |id: Id| effects(egraph, id).map(Cow::into_owned);
        match info.form(children) {
            // A loop variable is only a name; the loop evaluates its bounds.
            Some(_) if info.kind.is_some_and(|kind| !kind.is_evaluated()) => Some(Effects::none()),
            Some(Form::Replaced { variable, by, x }) => {
                let replacement = Replacement::new(egraph, variable, by);
                let mut effects = of(x)?.map(|i| replacement.apply(egraph, i));
                if let Some(evaluated) = by.evaluated() {
                    effects.extend(of(evaluated)?);
                }
                Some(effects)
            }
            // The writes of the first operand are undone afterwards, so that they only count as reads.
            Some(Form::Undone { statement: first, undone: Undone::After(x) }) => {
                let (first, mut effects) = (of(first)?, of(x)?);
                effects.reads.extend(first.reads.into_iter().chain(first.writes));
                Some(effects)
            }
            _ => match info.looped() {
                Some(own) => Effects::of_loop(egraph, children, own),
                None => Effects::touched(egraph, children, info),
            },
        }
    }

    /// Returns the effects of a loop: the effects of all iterations of its body and of its other operands.
    fn of_loop(egraph: &EGraph, children: &[Id], own: Loop) -> Option<Effects> {
        let of = |i: usize| effects(egraph, children[i]).map(Cow::into_owned);
        let key = variable_key(egraph, children[own.variable])?;
        let [lo, hi] = [own.lo, own.hi].map(|at| children[at]);
        let row = row(egraph, lo, hi).or_else(|| strip(egraph, lo, hi));
        let mut effects = of(own.body)?.map(|index| outside(egraph, index, key, row.as_ref()));
        for i in (0..children.len()).filter(|i| *i != own.variable && *i != own.body) {
            effects.extend(of(i)?);
        }
        Some(effects)
    }

    /// Returns the effects of the operands together with the addresses that the operator itself touches.
    fn touched(egraph: &EGraph, children: &[Id], info: &OpInfo) -> Option<Effects> {
        let touches = info.touches.as_ref()?;
        let folds = info.folded_lanes().is_some();
        let mut all = Effects { folds, ..Effects::none() };
        for child in children {
            all.extend(effects(egraph, *child)?.into_owned());
        }
        // A product of some rows touches those rows of the output and of the first matrix, and all of the second.
        let some = match info.form(children) {
            Some(Form::Product {
                out,
                factors: [a, b],
                block: Block::Rows([count, _, first]),
                ..
            }) if b != out => {
                let start = egraph[first].data.affine.as_ref();
                let start = start.and_then(|start| egraph.analysis.current(start));
                let lanes = egraph[count].data.integer().filter(|count| *count >= 1);
                let run = start.zip(lanes).map(|(start, lanes)| Run { start, lanes, rows: None });
                Some((out, (a != b).then_some(a), run))
            }
            _ => None,
        };
        let place = |at: &usize| {
            let child = *children.get(*at)?;
            let mut place = address(egraph, child)?.place();
            if let Some((out, a, run)) = &some
                && (child == *out || Some(child) == *a)
                && place.index.is_empty()
            {
                place.index.push(run.clone());
            }
            Some(place)
        };
        for at in &touches.reads {
            all.reads.insert(place(at)?);
        }
        for at in &touches.writes {
            all.writes.insert(place(at)?);
        }
        // A value writes nothing: scratch memory that is used to compute an element is an effect of the enclosing
        // statement.
        if info.kind == Some(Kind::Value) {
            all.writes.clear();
        }
        Some(all)
    }
}

/// Returns an index as seen from outside a loop, with the loop variable `key` eliminated. `row` is the row that the
/// loop iterates over, if it does.
fn outside(egraph: &EGraph, index: &Index, key: Id, row: Option<&Run>) -> Index {
    let run = index.as_ref().filter(|run| !follows(egraph, &run.start, key))?;
    match row {
        _ if run.start.coefficient(&key) == 0 => Some(run.clone()),
        Some(row) => {
            let own = Run { start: AffineForm::variable(key), lanes: 1, rows: None };
            (*run == own).then(|| row.clone())
        }
        None => None,
    }
}

/// Returns the row that a loop with these bounds iterates over: from one non-decreasing offset to the next.
fn row(egraph: &EGraph, lo: Id, hi: Id) -> Option<Run> {
    let operators = egraph.analysis.operators();
    let loaded = |bound: Id| {
        let mut nodes = egraph[bound].nodes.iter();
        self::address(egraph, nodes.find_map(|node| operators.loaded(node))?)
    };
    let (first, next) = (loaded(lo)?, loaded(hi)?);
    let rises = first.tensor == next.tensor && egraph.analysis.tells_rows(first.tensor);
    let ([Some(p)], [Some(q)]) = (&first.index[..], &next.index[..]) else { return None };
    let plain = [p, q].iter().all(|run| run.lanes == 1 && run.rows.is_none());
    let apart = q.start.sub(&p.start)?.as_constant();
    (rises && plain && apart == Some(1)).then(|| Run { rows: Some(first.tensor), ..p.clone() })
}

/// Returns the run that a loop with these bounds stays within: from its first value to a sum of that and a number, or to the
/// lesser of such a sum and another bound.
fn strip(egraph: &EGraph, lo: Id, hi: Id) -> Index {
    let operators = egraph.analysis.operators();
    let affine = |id: Id| egraph.analysis.current(egraph[id].data.affine.as_ref()?);
    let start = affine(lo)?;
    let within = |id: Id| affine(id)?.sub(&start)?.as_constant().filter(|lanes| *lanes >= 1);
    let lesser = |node: &Node| match operators.form(node)? {
        Form::Binary(Operation::Is(op), [a, b]) if op.chooses() == Some(Chosen::Least) => {
            within(a).or_else(|| within(b))
        }
        _ => None,
    };
    let lanes = within(hi).or_else(|| egraph[hi].nodes.iter().find_map(lesser))?;
    Some(Run { start, lanes, rows: None })
}

/// Returns the key of the variable that a class represents.
pub fn variable_key(egraph: &EGraph, var: Id) -> Option<Id> {
    let fact = &egraph[var].data;
    fact.free.first().filter(|_| fact.is_variable).map(|key| egraph.analysis.variable(*key))
}

/// A loop variable and what replaces it in indices; `None` if that is not known.
struct Replacement {
    variable: Option<Id>,
    by: Option<AffineForm>,
    /// The number of lanes, in which the replacement counts up.
    lanes: Option<i64>,
}

impl Replacement {
    fn new(egraph: &EGraph, variable: Id, by: By<Id>) -> Replacement {
        let key = |id: Id| variable_key(egraph, id).map(AffineForm::variable);
        let (by, lanes) = match by {
            By::Variable(to) => (key(to), Some(1)),
            By::Value(value) => {
                let form = egraph[value].data.affine.as_ref();
                (form.and_then(|form| egraph.analysis.current(form)), Some(1))
            }
            By::Lanes { from, lanes, .. } => (key(from), egraph[lanes].data.integer()),
        };
        Replacement { variable: variable_key(egraph, variable), by, lanes }
    }

    /// Returns the indices that all lanes together touch.
    fn apply(&self, egraph: &EGraph, index: &Index) -> Index {
        let (variable, lanes) = (self.variable?, self.lanes?);
        let run = index.as_ref().filter(|run| !follows(egraph, &run.start, variable))?;
        let start = || run.start.with(variable, self.by.as_ref()?);
        match run.start.coefficient(&variable) {
            0 => Some(run.clone()),
            1 if run.lanes == 1 => Some(Run { start: start()?, lanes, rows: run.rows }),
            _ if lanes == 1 => Some(Run { start: start()?, ..run.clone() }),
            _ => None,
        }
    }
}

/// Returns true if two places never overlap, each taken in any iteration of the loops around it.
pub fn disjoint(a: &Place, b: &Place) -> bool {
    a.tensor != b.tensor
        || a.index.iter().zip(&b.index).any(|(x, y)| match (x, y) {
            (Some(x), Some(y)) if x.rows == y.rows => {
                // The distance from the first lane of x to the first lane of y, if it is the same in all iterations.
                let distance = y.start.sub(&x.start).and_then(|d| d.as_constant());
                distance.is_some_and(|d| d >= x.lanes || d <= -y.lanes)
            }
            _ => false,
        })
}

/// The variable of a loop, as the distances between its iterations need it.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// The key of the variable in affine forms.
    pub key: Id,
    /// The step of its loop.
    pub step: i64,
    /// The largest distance between two of its values.
    pub width: u64,
}

/// Returns true if two places never overlap when they are touched in *different* iterations of the loop over `e`: the
/// index of some dimension depends on `e` alone and moves by at least its number of lanes.
pub fn lane_local(a: &Place, b: &Place, e: Counter) -> bool {
    a.tensor != b.tensor
        || a.index.iter().zip(&b.index).any(|(x, y)| match (x, y) {
            (Some(x), Some(y)) if x.rows == y.rows => {
                let k = x.start.coefficient(&e.key);
                let moves = stay_apart(k, e.step, x.lanes.max(y.lanes), e.width);
                let fixed = k == 0 && y.start.coefficient(&e.key) == 0;
                let distance = y.start.sub(&x.start).and_then(|d| d.as_constant());
                (moves && distance == Some(0))
                    || (fixed && distance.is_some_and(|d| d >= x.lanes || d <= -y.lanes))
            }
            _ => false,
        })
}

/// Returns how many units of each loop variable further an iteration touches `b` than one that touches the same element
/// through `a`; `None` for a variable whose distance is not known, and nothing if the two never overlap. A distance
/// follows from a dimension whose index depends on no other variable of unknown distance.
pub fn distances<const N: usize>(
    a: &Place,
    b: &Place,
    variables: [Counter; N],
) -> Option<[Option<i64>; N]> {
    if a.tensor != b.tensor {
        return None;
    }
    let mut known: [Option<i64>; N] = [None; N];
    // A distance that one dimension tells may leave another dimension with one distance to tell.
    for _ in 0..N {
        for (x, y) in a.index.iter().zip(&b.index) {
            let (Some(x), Some(y)) = (x, y) else { continue };
            let apart = x.start.sub(&y.start).and_then(|d| d.as_constant());
            let Some(apart) = apart.filter(|_| x.rows == y.rows) else { continue };
            let by = variables.map(|variable| x.start.coefficient(&variable.key));
            let moved = (0..N).try_fold(apart, |apart, at| {
                apart.checked_sub(by[at].checked_mul(known[at].unwrap_or(0))?)
            });
            let Some(apart) = moved else { continue };
            let mut open = (0..N).filter(|at| by[*at] != 0 && known[*at].is_none());
            match (open.next(), open.next()) {
                (None, _) if apart >= y.lanes || apart <= -x.lanes => return None,
                (Some(at), None) if x.lanes == 1 && y.lanes == 1 => {
                    known[at] = match distance(by[at], apart, variables[at].width) {
                        Distance::Never => return None,
                        Distance::Is(distance) => Some(distance),
                        Distance::Unknown => None,
                    }
                }
                _ => {}
            }
        }
    }
    Some(known)
}
