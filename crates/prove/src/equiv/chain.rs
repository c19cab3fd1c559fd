//! Chains of rules over terms in which loop variables are words.
//!
//! A variable is a term that contains its bounds. An equality within the bounds would change the variable at one
//! occurrence and not at the others. Every variable of the e-graph is therefore replaced by a word, `@` followed by the
//! number of its class; its bounds are declared once, next to the chain.

use super::invariants::{Instead, Invariants};
use crate::chains::{Gap, Link, canonical, deeply, fresh, links};
use egg::{CostFunction, Id, Language, RecExpr, Symbol};
use ember_analysis::facts::{EGraph, Facts};
use ember_egraph::Extractor;
use ember_engine::journal::Entry;
use ember_engine::saturate::compute;
use ember_engine::{CompiledRule, Step};
use ember_language::rebuild::{rebuild_all, try_rebuild};
use ember_language::rules::{Operators, RuleBook};
use ember_language::term::{Node, Term};
use ember_values::primitive::Price;
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use std::collections::hash_map::Entry as MapEntry;

/// The name of a computed equality.
pub(super) const COMPUTED: &str = "computed";

/// The terms of their variables that rules are applied to. Conditions are easiest to verify on short ones.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AppliedTo {
    /// The shortest terms, if possible.
    Shortest,
    /// The shortest terms in which all operators are ones of programs, if possible.
    OfPrograms,
    /// The terms that were matched.
    Matched,
}

/// The equalities of a search, with loop variables replaced by words.
pub(super) struct Hidden<'a> {
    search: &'a EGraph,
    rules: FxHashMap<Symbol, &'a CompiledRule>,
    proof: egg::EGraph<Node, ()>,
    applied: AppliedTo,
    /// The extractor of the smallest terms, created on first use.
    smallest: OnceCell<Smallest<'a>>,
}

/// A recorded application of a rule.
pub(super) struct Applied {
    pub rule: Symbol,
    /// The classes of the rule's variables, in the order of the compiled rule's slots.
    pub slots: Box<[Id]>,
}

/// Returns the word for the variable of a class.
pub(super) fn word(class: Id) -> String {
    format!("@{}", usize::from(class))
}

/// Parses a variable's word and returns its class.
pub(super) fn class_of(name: &str) -> Option<Id> {
    name.strip_prefix('@')?.parse::<usize>().ok().map(Id::from)
}

/// Returns the class of a variable if a node is its word.
pub(super) fn is_word(node: &Node) -> Option<Id> {
    node.name().filter(|_| node.children().is_empty()).and_then(class_of)
}

fn is_variable(search: &EGraph, node: &Node) -> bool {
    search.analysis.operators().is_variable(node)
}

impl<'a> Hidden<'a> {
    /// Collects the equalities recorded in a search with the rules of a book.
    pub fn new(
        search: &'a EGraph,
        (book, compiled): (&RuleBook, &'a [CompiledRule]),
        applied: AppliedTo,
    ) -> Hidden<'a> {
        let short = applied != AppliedTo::Matched;
        let mut hidden = Hidden {
            search,
            rules: compiled.iter().map(|rule| (rule.name, rule)).collect(),
            proof: fresh(),
            applied,
            smallest: OnceCell::new(),
        };
        let own = add_all(search, &mut hidden.proof);
        let entries = search.analysis.journal().entries();
        let invariants = Invariants::new(book, compiled);
        let instead = match short {
            true => invariants.instead(search, &hidden.rules),
            false => Instead::default(),
        };
        let mut shortest: FxHashMap<Id, Option<Id>> = FxHashMap::default();
        for entry in entries {
            if let (true, Entry::Rule { united: true, slots, .. }) = (short, entry) {
                for slot in slots {
                    let class = search.find(*slot);
                    if let MapEntry::Vacant(new) = shortest.entry(class) {
                        let term = hidden.smallest(class);
                        new.insert(term.and_then(|term| put(&mut hidden.proof, &term)));
                    }
                }
            }
        }
        if short {
            hidden.compute(entries, &own);
            for (at, entry) in entries.iter().enumerate() {
                hidden.unite(at, entry, &|id| shortest.get(&search.find(id)).copied().flatten());
            }
            hidden.proof.rebuild();
        }
        for (at, entry) in entries.iter().enumerate() {
            let others = instead.get(&at).into_iter().flatten();
            let others: FxHashMap<Id, Option<Id>> =
                others.map(|(id, term)| (*id, put(&mut hidden.proof, term))).collect();
            let slot = |id| match others.get(&id) {
                Some(other) => *other,
                None => own.get(usize::from(id)).copied(),
            };
            hidden.unite(at, entry, &slot);
            hidden.compute(std::slice::from_ref(entry), &own);
        }
        hidden.proof.rebuild();
        hidden
    }

    /// Adds the equalities between classes and the shorter nodes that facts gave for them.
    fn compute(&mut self, entries: &[Entry], own: &[Id]) {
        for entry in entries {
            if let Entry::Computed { class, folded } = entry {
                let (a, b) = (own[usize::from(*class)], own[usize::from(*folded)]);
                self.proof.union_trusted(a, b, COMPUTED);
            }
        }
    }

    /// Unites the two sides of an application, built from the terms that `slot` returns for its variables.
    fn unite(&mut self, at: usize, entry: &Entry, slot: &dyn Fn(Id) -> Option<Id>) {
        let Entry::Rule { rule, slots, united: true, .. } = entry else { return };
        let Some(compiled) = self.rules.get(rule).copied() else { return };
        if let Some((left, right)) = sides(self.search, &mut self.proof, (compiled, slots), slot) {
            self.proof.union_trusted(left, right, format!("{rule}#{at}"));
        }
    }

    /// Finds a chain between two terms, both with words for variables.
    pub fn chain(&mut self, from: &Term, to: &Term) -> Result<Vec<Link>, Gap> {
        deeply(|| links(&mut self.proof, from, to))
    }

    /// Returns the recorded application that a step's name refers to; `None` for a computed step.
    pub fn applied(&self, name: Symbol) -> Option<Applied> {
        let (_, at) = name.as_str().rsplit_once('#')?;
        match self.search.analysis.journal().entries().get(at.parse::<usize>().ok()?)? {
            Entry::Rule { rule, slots, .. } => Some(Applied { rule: *rule, slots: slots.clone() }),
            Entry::Computed { .. } => None,
        }
    }

    /// Replaces the variables of a term by words; `None` if the term is not in the search.
    pub fn hide(&self, term: &Term) -> Option<Term> {
        let mut made: Term = RecExpr::default();
        let mut ids: Vec<(Id, Id)> = Vec::with_capacity(term.len());
        for node in term {
            let class = self.search.lookup(node.clone().map_children(|c| ids[usize::from(c)].1))?;
            let class = self.search.find(class);
            let node = match is_variable(self.search, node) {
                true => Node::op(&word(class), &[]),
                false => node.clone().map_children(|c| ids[usize::from(c)].0),
            };
            ids.push((made.add(node), class));
        }
        Some(canonical(&made))
    }

    /// Returns the class of a term with words for variables; `None` if the term is not in the search.
    pub fn class(&self, term: &Term) -> Option<Id> {
        let of = |classes: &mut Vec<Id>, node: &Node| {
            let own = node.clone().map_children(|c| classes[usize::from(c)]);
            let class = is_word(node).or_else(|| self.search.lookup(own))?;
            classes.push(self.search.find(class));
            Some(())
        };
        let mut classes = Vec::with_capacity(term.len());
        term.as_ref().iter().try_for_each(|node| of(&mut classes, node))?;
        classes.last().copied()
    }

    /// Returns the smallest term of a class, with words for variables.
    pub fn smallest(&self, class: Id) -> Option<Term> {
        let class = self.search.find(class);
        let variable = self.search[class].nodes.iter().any(|node| is_variable(self.search, node));
        if variable {
            let mut term: Term = RecExpr::default();
            term.add(Node::op(&word(class), &[]));
            return Some(term);
        }
        let words = || Words { operators: self.search.analysis.operators(), applied: self.applied };
        let smallest = self.smallest.get_or_init(|| Extractor::new(self.search, words()));
        smallest.find_best(class).and_then(|(_, term)| self.hide(&term))
    }

    /// Returns the parts of a variable: its name, lower bound, upper bound and step.
    pub fn variable(&self, class: Id) -> Option<[Term; 4]> {
        let operators = self.search.analysis.operators();
        let mut nodes = self.search[self.search.find(class)].nodes.iter();
        let parts: [Id; 4] = nodes.find_map(|node| operators.variable(node))?;
        let parts: Option<Vec<Term>> = parts.iter().map(|c| self.smallest(*c)).collect();
        parts?.try_into().ok()
    }
}

/// Copies all nodes of a search into another e-graph, with words for loop variables. Returns their ids there.
pub(super) fn add_all(search: &EGraph, proof: &mut egg::EGraph<Node, ()>) -> Vec<Id> {
    rebuild_all(search.nodes(), |at, node| {
        proof.add_uncanonical(match is_variable(search, &node) {
            true => Node::op(&word(search.find(Id::from(at))), &[]),
            false => node,
        })
    })
}

/// Builds both sides of an application in another e-graph, from the terms that `slot` returns for its variables.
pub(super) fn sides(
    search: &EGraph,
    proof: &mut egg::EGraph<Node, ()>,
    (rule, slots): (&CompiledRule, &[Id]),
    slot: &dyn Fn(Id) -> Option<Id>,
) -> Option<(Id, Id)> {
    let left = build(search, proof, &rule.left, slots, slot);
    let right = build(search, proof, &rule.plan, slots, slot);
    left.zip(right)
}

/// Builds one side of a rule. The class of each part in the search is kept, because it identifies loop variables.
fn build(
    search: &EGraph,
    proof: &mut egg::EGraph<Node, ()>,
    steps: &[Step],
    slots: &[Id],
    slot: &dyn Fn(Id) -> Option<Id>,
) -> Option<Id> {
    let mut built: Vec<(Id, Option<Id>)> = Vec::with_capacity(steps.len());
    let integer = |(_, class): (Id, Option<Id>)| class.and_then(|c| search[c].data.integer());
    for step in steps {
        let next = match step {
            Step::Slot(k) => {
                let id = *slots.get(*k)?;
                (slot(id)?, Some(search.find(id)))
            }
            Step::Node(node) => {
                let parts = node.children().iter().map(|c| built[usize::from(*c)]);
                let classes: Option<Vec<Id>> = parts.map(|(_, class)| class).collect();
                let class =
                    classes.and_then(|classes| search.lookup(Node::new(node.head(), &classes)));
                let node = match (is_variable(search, node), class) {
                    (true, Some(class)) => Node::op(&word(search.find(class)), &[]),
                    (true, None) => return None,
                    _ => node.clone().map_children(|c| built[usize::from(c)].0),
                };
                (proof.add_uncanonical(node), class)
            }
            Step::Compute(op, a, b) => {
                let (a, b) = (integer(built[*a])?, integer(built[*b])?);
                let n = Node::int(compute(*op, a, b)?);
                (proof.add_uncanonical(n.clone()), search.lookup(n))
            }
        };
        built.push(next);
    }
    built.last().map(|(id, _)| *id)
}

/// Adds a term and returns its id.
pub(super) fn put(proof: &mut egg::EGraph<Node, ()>, term: &Term) -> Option<Id> {
    try_rebuild(term.as_ref(), |_, node| Some(proof.add_uncanonical(node)))
}

/// The cost function for the size of a term, in which a variable counts as one word.
struct Words<'a> {
    operators: &'a Operators,
    applied: AppliedTo,
}

type Smallest<'a> = Extractor<'a, Words<'a>, Node, Facts>;

impl Words<'_> {
    /// Returns true if no program contains a term's operator, such as one of whole tensors.
    fn is_whole(&self, node: &Node) -> bool {
        self.operators.of(node).is_some_and(|info| info.price == Some(Price::Folded))
    }
}

impl CostFunction<Node> for Words<'_> {
    type Cost = u64;

    fn cost<C: FnMut(Id) -> u64>(&mut self, node: &Node, mut costs: C) -> u64 {
        if self.operators.is_variable(node) {
            return 1;
        }
        // Renamings are not part of programs, so that terms with them are expensive. So are elements of operations, which
        // read all of the operands.
        let renamed = self.operators.form(node).is_some_and(|form| form.is_elsewhere());
        let own = match self.applied {
            AppliedTo::Matched if renamed => 8,
            AppliedTo::Shortest | AppliedTo::OfPrograms if renamed => 1000,
            AppliedTo::OfPrograms if self.is_whole(node) => 1000,
            _ => 1,
        };
        node.fold(own, |sum: u64, id| sum.saturating_add(costs(id)))
    }
}
