//! Applications of rules with the condition that a term does not depend on a variable, in proofs.
//!
//! The search evaluates this condition on a class, which depends on no more variables than each of its terms, but the
//! checker looks at one term. A proof must therefore apply the rule to a term of the class that does not depend on the
//! variable. The term must have been in the class before the application, because the shortest term may exist only as a
//! result of it.

use super::chain::{add_all, is_word, sides};
use egg::{CostFunction, Id, Language, Symbol};
use ember_analysis::facts::EGraph;
use ember_engine::CompiledRule;
use ember_engine::journal::Entry;
use ember_language::rules::Operators;
use ember_language::rules::{Arg, RuleBook};
use ember_language::term::{Head, Node, Term};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The largest number of extractions that look for replacement terms.
const MOST: usize = 48;

/// The size of a variable on which a term should not depend.
const UNWANTED: u64 = 1 << 32;

/// The terms that replace the terms in slots, by the index of the journal entry.
pub(super) type Instead = FxHashMap<usize, Vec<(Id, Term)>>;

/// For each rule, the pairs of slots of its `not-free` conditions: the second must not depend on the first.
pub(super) struct Invariants(FxHashMap<Symbol, Vec<(usize, usize)>>);

/// The conditions of an application that do not hold for the matched terms: the variables, and the slots of the terms.
struct Asked {
    variables: BTreeSet<Id>,
    slots: Vec<Id>,
}

impl Invariants {
    /// Collects the conditions of the rules of a book.
    pub fn new(book: &RuleBook, compiled: &[CompiledRule]) -> Invariants {
        let of = |rule: &CompiledRule| {
            let guards = book.rule(rule.name.as_str()).map_or(&[][..], |rule| &rule.guards);
            let slot = |arg: &Arg| match arg {
                Arg::Var(v) => rule.variables.iter().position(|known| known == v),
                Arg::Int(_) => None,
            };
            let asked = guards.iter().filter(|guard| guard.what.name == "not-free");
            let asked =
                asked.filter_map(|guard| slot(guard.args.first()?).zip(slot(guard.args.get(1)?)));
            (rule.name, asked.collect())
        };
        Invariants(compiled.iter().map(of).collect())
    }

    /// Finds the replacement terms by repeating the unions of the search in order.
    pub fn instead(&self, search: &EGraph, rules: &FxHashMap<Symbol, &CompiledRule>) -> Instead {
        let mut again: egg::EGraph<Node, ()> = egg::EGraph::default();
        let own = add_all(search, &mut again);
        let entries = search.analysis.journal().entries();
        let asked = self.asked(search, entries);
        let mut found = Instead::default();
        if asked.is_empty() {
            return found;
        }
        let operators: &Operators = search.analysis.operators();
        let mut left = MOST;
        for (at, entry) in entries.iter().enumerate() {
            if let Some(Asked { variables, .. }) = asked.get(&at)
                && !found.contains_key(&at)
                && left > 0
            {
                left -= 1;
                again.rebuild();
                let shortest = egg::Extractor::new(&again, Size { variables, operators });
                // A term found now is also valid for later applications.
                for (later, other) in asked.range(at..) {
                    if other.variables == *variables && !found.contains_key(later) {
                        let best = other.slots.iter().map(|slot| {
                            let (cost, term) = shortest.find_best(own[usize::from(*slot)]);
                            (cost < UNWANTED).then_some((*slot, term))
                        });
                        found.extend(best.collect::<Option<Vec<_>>>().map(|best| (*later, best)));
                    }
                }
            }
            match entry {
                Entry::Computed { class, folded } => {
                    again.union(own[usize::from(*class)], own[usize::from(*folded)]);
                }
                Entry::Rule { rule, slots, united: true, .. } => {
                    let slot = |id: Id| own.get(usize::from(id)).copied();
                    let sides = rules
                        .get(rule)
                        .and_then(|rule| sides(search, &mut again, (rule, slots), &slot));
                    if let Some((left, right)) = sides {
                        again.union(left, right);
                    }
                }
                Entry::Rule { .. } => {}
            }
        }
        found
    }

    /// Returns the applications with a condition that does not hold for the matched terms.
    fn asked(&self, search: &EGraph, entries: &[Entry]) -> BTreeMap<usize, Asked> {
        let free = free(search);
        let mut all = BTreeMap::new();
        for (at, entry) in entries.iter().enumerate() {
            let Entry::Rule { rule, slots, united: true, .. } = entry else { continue };
            let mut asked = Asked { variables: BTreeSet::new(), slots: Vec::new() };
            for (x, of) in self.0.get(rule).into_iter().flatten() {
                let (Some(x), Some(of)) = (slots.get(*x), slots.get(*of)) else { continue };
                if free[usize::from(*of)].contains(&search.find(*x)) {
                    asked.variables.insert(search.find(*x));
                    asked.slots.push(*of);
                }
            }
            if !asked.slots.is_empty() {
                all.insert(at, asked);
            }
        }
        all
    }
}

/// Returns the variables that each node's original term depends on, by their classes.
fn free(search: &EGraph) -> Vec<BTreeSet<Id>> {
    let operators: &Arc<Operators> = search.analysis.operators();
    let mut free: Vec<BTreeSet<Id>> = Vec::with_capacity(search.nodes().len());
    for (at, node) in search.nodes().iter().enumerate() {
        if operators.is_variable(node) {
            free.push(BTreeSet::from([search.find(Id::from(at))]));
            continue;
        }
        let parts = node.children();
        let binder = match node.head() {
            Head::Op(name) => operators.binds(name, parts.len()),
            Head::Int(_) | Head::Real(_) => None,
        };
        let mut own = BTreeSet::new();
        for (place, part) in parts.iter().enumerate() {
            let inside = binder.filter(|(x, body)| place == *x || place == *body);
            let bound = inside.map(|(x, _)| search.find(parts[x]));
            let part = free[usize::from(*part)].iter();
            own.extend(part.filter(|v| Some(**v) != bound).copied());
        }
        free.push(own);
    }
    free
}

/// The cost function for the size of a term that avoids some variables, and renamings.
struct Size<'a> {
    variables: &'a BTreeSet<Id>,
    operators: &'a Operators,
}

impl CostFunction<Node> for Size<'_> {
    type Cost = u64;

    fn cost<C: FnMut(Id) -> u64>(&mut self, node: &Node, mut costs: C) -> u64 {
        let wanted = is_word(node).is_none_or(|class| !self.variables.contains(&class));
        let own = match self.operators.form(node) {
            _ if !wanted => UNWANTED,
            Some(form) if form.is_elsewhere() => 1000,
            _ => 1,
        };
        node.fold(own, |sum: u64, id| sum.saturating_add(costs(id)))
    }
}
