//! Facts about an e-class: properties of its meaning in every environment and every store.
//!
//! `make` computes the facts of one node from the facts of its children, and `merge` combines the facts of the members
//! of a class: all members have the same meaning, so that a fact about one holds for all. The predicates over facts are
//! listed in [`ember_language::conditions`]; effects on memory are in [`crate::effects`].

mod fold;
mod known;
mod make;

pub use fold::FOLDED_NODES;
pub use known::Known;
pub use make::{binary_op, dimension, dtype_named, follows, single_value};

use crate::effects::{AddressFact, Effects};
use crate::predicates::{HOLDS, VALUES};
use egg::{DidMerge, Id, Language, RecExpr, Symbol};
use ember_egraph::Analysis;
use ember_engine::Knowledge;
use ember_engine::journal::Journal;
use ember_language::rules::{Exactness, Operators};
use ember_language::term::Node;
use ember_targets::dlc::{Dim, TensorDecl};
use ember_values::affine::Affine;
use ember_values::scalar::{BinaryOp, DType, Scalar};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The e-graph of the compiler.
pub type EGraph = ember_egraph::EGraph<Node, Facts>;

/// An affine form over loop variables and sizes.
pub type AffineForm = Affine<Id>;

/// The state of the analysis: the declarations that facts depend on, the limits on folding, and the contradiction
/// found, if any.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    tensors: FxHashMap<Symbol, TensorDecl>,
    /// Inputs whose elements start at 0 and never decrease.
    rising: BTreeSet<Symbol>,
    /// Tensors that earlier statements compute, so that nothing is loaded from them before everything else.
    computed: BTreeSet<Symbol>,
    /// True if effects tell the rows between such offsets apart.
    rows: bool,
    /// The ranges of values that are assumed.
    assumed: FxHashMap<Node, Interval>,
    sizes: Vec<String>,
    operators: Arc<Operators>,
    vector_unit: VectorUnit,
    aliases: FxHashMap<Id, Id>,
    /// The class of each affine form, if values with equal forms are united.
    forms: Option<Forms>,
    contradiction: Option<(Scalar, Scalar)>,
    /// True if rules may change the rounding of numbers.
    rounds: bool,
    node_ceiling: Option<usize>,
    /// The number of nodes that other code still has to add below the ceiling; folding leaves room for them.
    node_reserve: usize,
    ceiling_reached: bool,
    pub(crate) journal: Journal,
}

/// The values with affine forms.
#[derive(Clone, Debug, Default)]
struct Forms {
    /// The first class of each form.
    first: BTreeMap<AffineForm, Id>,
    /// The nodes whose forms follow from their operators alone, and not from equalities that rules found.
    plain: BTreeSet<Id>,
}

/// The vector unit of the machine, as the vector-length generators need it.
#[derive(Clone, Copy, Debug)]
pub struct VectorUnit {
    /// The width of a vector register in bytes.
    pub simd_bytes: u64,
    /// The number of vector registers.
    pub registers: u64,
}

impl Default for VectorUnit {
    fn default() -> Self {
        VectorUnit { simd_bytes: 64, registers: 32 }
    }
}

/// A closed interval of `i64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The least value.
    pub min: i64,
    /// The greatest value.
    pub max: i64,
}

impl Interval {
    /// The interval of all values.
    pub const ALL: Interval = Interval { min: i64::MIN, max: i64::MAX };

    fn point(n: i64) -> Interval {
        Interval { min: n, max: n }
    }

    /// Returns the interval of an operation's results; [`Interval::ALL`] if a bound could overflow.
    fn apply(op: BinaryOp, a: Interval, b: Interval) -> Interval {
        op.range((a.min, a.max), (b.min, b.max)).into()
    }

    /// Returns the smallest interval that holds two intervals.
    fn hull(self, other: Interval) -> Interval {
        Interval { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Returns what is in both intervals. If nothing is, the value is never evaluated, and the first is kept.
    fn and(self, other: Interval) -> Interval {
        let both = Interval { min: self.min.max(other.min), max: self.max.min(other.max) };
        if both.min <= both.max { both } else { self }
    }

    /// Returns the interval of the remainders of truncated division.
    fn remainders(a: Interval, b: Interval) -> Interval {
        BinaryOp::remainders((a.min, a.max), (b.min, b.max)).into()
    }
}

impl From<Option<(i64, i64)>> for Interval {
    /// Returns all values where no bounds are known.
    fn from(bounds: Option<(i64, i64)>) -> Interval {
        bounds.map_or(Interval::ALL, |(min, max)| Interval { min, max })
    }
}

/// The facts about one class.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// The value, if it is the same in every environment and store.
    pub constant: Option<Scalar>,
    /// The element type of a value or a tensor.
    pub dtype: Option<DType>,
    /// The number of lanes of a value, 1 for a scalar.
    pub lanes: Option<i64>,
    /// The bounds of an i64 value.
    pub range: Interval,
    /// An i64 scalar as an affine form over loop variables and sizes.
    pub affine: Option<AffineForm>,
    /// The variables that the meaning may depend on, by their [`Facts::variable`] key.
    pub free: BTreeSet<Id>,
    /// True if the class is a variable, which operators can bind.
    pub is_variable: bool,
    /// For a loop variable: its lower bound, upper bound and step.
    pub variable: Option<(Id, Id, Id)>,
    /// For an address: the tensor and its indices.
    pub address: Option<AddressFact>,
    /// The places that an evaluation reads and writes; `None` if unknown.
    pub effects: Option<Effects>,
    /// True if every known form of the term contains a loop.
    pub has_loop: bool,
}

impl Fact {
    /// The facts about a class of which nothing is known.
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

    /// Returns the value as an integer constant.
    pub fn integer(&self) -> Option<i64> {
        match self.constant {
            Some(Scalar::I64(n)) => Some(n),
            _ => None,
        }
    }
}

impl Facts {
    /// Returns the table of operators.
    pub fn operators(&self) -> &Arc<Operators> {
        &self.operators
    }

    /// Builds the analysis for the terms of one model on one machine.
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
            computed: BTreeSet::new(),
            rows: false,
            assumed: FxHashMap::default(),
            sizes: sizes.to_vec(),
            operators,
            vector_unit,
            aliases: FxHashMap::default(),
            forms: None,
            contradiction: None,
            rounds: false,
            node_ceiling: None,
            node_reserve: 0,
            ceiling_reached: false,
            journal: Journal::default(),
        }
    }

    /// Declares inputs by name whose elements start at 0 and never decrease.
    pub fn rising<'a>(mut self, names: impl Iterator<Item = &'a str>) -> Facts {
        self.rising.extend(names.map(|name| Symbol::from(format!("%{name}"))));
        self
    }

    /// Declares tensors, given by their names in terms, that earlier statements compute.
    pub fn computed(mut self, names: impl IntoIterator<Item = Symbol>) -> Facts {
        self.computed.extend(names);
        self
    }

    /// Tells the rows between offsets that never decrease apart.
    pub fn telling_rows(mut self) -> Facts {
        self.rows = true;
        self
    }

    /// Returns true if the rows between the offsets in a tensor, given by its name in terms, are told apart.
    pub(crate) fn tells_rows(&self, name: Symbol) -> bool {
        self.rows && self.rises(name)
    }

    /// Unites values with equal affine forms, which need no rules then.
    pub fn uniting_forms(mut self) -> Facts {
        self.forms = Some(Forms::default());
        self
    }

    /// Allows rules that change the rounding of numbers, so that different constants of a floating-point type may be
    /// equal.
    pub fn rounding(mut self, exact: Exactness) -> Facts {
        self.rounds = exact > Exactness::Bitwise;
        self
    }

    /// Turns on the journal, which records the changes of the e-graph.
    pub fn recording(mut self) -> Facts {
        self.journal = Journal::recording();
        self
    }

    /// Returns the journal.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Stops folding when the e-graph has this many nodes in all, so that folding respects the node limit of a run;
    /// `None` for no ceiling.
    pub fn set_node_ceiling(&mut self, ceiling: Option<usize>) {
        self.node_ceiling = ceiling;
        self.ceiling_reached = false;
    }

    /// Leaves room below the ceiling for nodes that are about to be added.
    pub fn reserve_nodes(&mut self, nodes: usize) {
        self.node_reserve = nodes;
    }

    /// Returns true if the ceiling has prevented a folding.
    pub fn ceiling_reached(&self) -> bool {
        self.ceiling_reached
    }

    /// Returns the two different constants that met in one class, if that has happened. Some rule is then wrong.
    pub fn contradiction(&self) -> Option<(Scalar, Scalar)> {
        self.contradiction
    }

    /// Returns the declaration of a tensor by its name in terms (with the `%`).
    pub fn tensor(&self, name: Symbol) -> Option<&TensorDecl> {
        self.tensors.get(&name)
    }

    /// Returns the names in terms and the declarations of all tensors, in no order.
    pub fn tensors(&self) -> impl Iterator<Item = (Symbol, &TensorDecl)> {
        self.tensors.iter().map(|(name, declared)| (*name, declared))
    }

    /// Returns true if the elements of a tensor, given by its name in terms, never decrease, whatever the data.
    pub fn rises(&self, name: Symbol) -> bool {
        self.rising.contains(&name)
    }

    /// Returns true if an earlier statement computes a tensor, given by its name in terms.
    pub fn is_computed(&self, name: Symbol) -> bool {
        self.computed.contains(&name)
    }

    /// Returns the machine's vector unit.
    pub fn vector_unit(&self) -> VectorUnit {
        self.vector_unit
    }

    /// Returns the representative key of a loop variable: stable under unions, and equal for variables that were found
    /// to be equal.
    pub fn variable(&self, key: Id) -> Id {
        let mut key = key;
        while let Some(&next) = self.aliases.get(&key) {
            key = next;
        }
        key
    }

    /// Returns true if no two variables were found to be equal, so that every key is a representative.
    pub fn has_plain_keys(&self) -> bool {
        self.aliases.is_empty()
    }

    /// Returns a form over the representative keys of its variables; `None` if a coefficient overflows. A form that was
    /// derived before two variables were found to be equal does not seem to depend on the representative.
    pub fn current(&self, form: &AffineForm) -> Option<AffineForm> {
        if self.has_plain_keys() {
            Some(form.clone())
        } else {
            form.renamed(|key| self.variable(*key))
        }
    }
}

impl Analysis<Node> for Facts {
    type Data = Known;

    fn make(egraph: &mut EGraph, node: &Node, id: Id) -> Known {
        if make::says_nothing(egraph, node) {
            return Known::NOTHING;
        }
        let fact = make::make(egraph, node, id);
        fold::note_form(egraph, node, id, &fact);
        Known::from(fact)
    }

    fn merge(&mut self, a: &mut Known, b: Known) -> DidMerge {
        if a.is_nothing() && b.is_nothing() {
            return DidMerge(false, false);
        }
        if let (Some(x), Some(y)) = (a.constant, b.constant)
            && x != y
            && !(self.rounds && x.dtype() == y.dtype() && x.dtype().is_float())
        {
            self.contradiction.get_or_insert((x, y));
        }
        if a.is_variable && b.is_variable {
            // The two variables are congruent: one key now represents both.
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
    /// Returns the name in terms of a symbolic size.
    pub fn size_name(&self, dim: Dim) -> Option<Symbol> {
        match dim {
            Dim::Size(id) => self.sizes.get(id.index()).map(|s| Symbol::from(format!("%{s}"))),
            Dim::Const(_) => None,
        }
    }
}

/// Adds a value to an e-graph, with the range that it is assumed to have in every environment and store.
pub fn assume(egraph: &mut EGraph, value: &RecExpr<Node>, range: Interval) {
    let mut ids: Vec<Id> = Vec::new();
    for (at, node) in value.as_ref().iter().enumerate() {
        let node = node.clone().map_children(|child| ids[usize::from(child)]);
        if at + 1 == value.len() {
            let known = egraph.analysis.assumed.entry(node.clone()).or_insert(Interval::ALL);
            *known = known.and(range);
        }
        ids.push(egraph.add(node));
    }
}

/// Combines the facts of two members of one class. Both hold, so that the sharper one is kept.
fn merge(facts: &Facts, a: &Fact, b: &Fact) -> Fact {
    let canonical =
        |free: &BTreeSet<Id>| -> BTreeSet<Id> { free.iter().map(|k| facts.variable(*k)).collect() };
    Fact {
        constant: a.constant.or(b.constant),
        dtype: a.dtype.or(b.dtype),
        lanes: a.lanes.or(b.lanes),
        range: a.range.and(b.range),
        affine: sharper(&a.affine, &b.affine, |x| x.terms.len()),
        free: canonical(&a.free).intersection(&canonical(&b.free)).copied().collect(),
        is_variable: a.is_variable || b.is_variable,
        variable: a.variable.or(b.variable),
        address: sharper(&a.address, &b.address, AddressFact::vagueness),
        effects: sharper(&a.effects, &b.effects, Effects::vagueness),
        has_loop: a.has_loop && b.has_loop,
    }
}

/// Returns the fact with the smaller measure; the first if they are equal.
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
        self.operators.literal(node).is_some()
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
