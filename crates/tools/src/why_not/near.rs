//! Near misses: the places at which a left side almost matches.
//!
//! A partial match continues when a part of the pattern is missing, and counts the missing parts. The match with the
//! fewest missing parts is shown; among those, the one that matches most, then the smallest.

use crate::show::Show;
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_analysis::facts::EGraph;
use ember_language::rules::Rule;
use ember_language::term::Node;
use std::collections::{BTreeMap, BTreeSet};

/// The limits on the nodes examined in all, and below one root.
const STEPS: (usize, usize) = (400_000, 4_000);

/// A missing part of a rule's patterns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Miss {
    /// The index of the pattern: 0 for the left side, then the `:where`s and `:with`s.
    pub pattern: usize,
    /// The part of the pattern.
    pub part: Id,
    /// The class at the part's place; for a `:with`, the class of the operand above which it was searched.
    pub class: Id,
    /// The class already bound to the variable, if the part is a variable bound to another class.
    pub differs: Option<Id>,
}

/// A partial match.
#[derive(Clone, Debug)]
pub(super) struct Near {
    /// The class of the left side, and the node that matched.
    pub root: (Id, Node),
    /// The number of parts that match.
    pub matched: usize,
    /// The parts that do not.
    pub missing: Vec<Miss>,
}

/// Returns the nearest miss of a rule; `None` if no class has the root operator of its left side.
pub(super) fn nearest(show: &Show<'_>, rule: &Rule) -> Option<Near> {
    let egraph = show.egraph;
    let patterns: Vec<&PatternAst<Node>> =
        std::iter::once(&rule.lhs).chain(rule.wheres.iter().map(|(_, p)| p)).collect();
    let top = Id::from(rule.lhs.len().checked_sub(1)?);
    let ENodeOrVar::ENode(head) = &rule.lhs[top] else { return None };
    let mut classes: Vec<Id> = egraph.classes_for_op(&head.discriminant())?.to_vec();
    classes.sort_unstable();
    let mut best: Option<(usize, Near)> = None;
    let mut budget = STEPS.0;
    for class in classes {
        for node in egraph[class].nodes.iter().filter(|node| head.matches(node)) {
            let mut search = Search {
                egraph,
                rule,
                patterns: &patterns,
                best: None,
                budget: budget.min(STEPS.1),
            };
            budget -= search.budget;
            let open = head.children().iter().zip(node.children());
            let open = open.map(|(p, c)| (0, *p, *c)).rev().collect();
            search.go(open, State { matched: 1, ..State::default() }, 0);
            budget += search.budget;
            let Some(found) = search.best else { continue };
            let size = show.size(class);
            let better = best.as_ref().is_none_or(|(known, near)| {
                let key = |near: (usize, usize, usize)| (near.0, std::cmp::Reverse(near.1), near.2);
                key((found.missing.len(), found.matched, size))
                    < key((near.missing.len(), near.matched, *known))
            });
            if better {
                let root = (class, node.clone());
                best = Some((size, Near { root, matched: found.matched, missing: found.missing }));
            }
        }
    }
    best.map(|(_, near)| near)
}

/// The state of a partial match.
#[derive(Clone, Debug, Default)]
struct State {
    bound: BTreeMap<Var, Id>,
    matched: usize,
    missing: Vec<Miss>,
}

struct Search<'a> {
    egraph: &'a EGraph,
    rule: &'a Rule,
    patterns: &'a [&'a PatternAst<Node>],
    best: Option<State>,
    budget: usize,
}

impl Search<'_> {
    /// Matches the open parts, the last first; the first `done` of the `:where`s and `:with`s have been opened.
    fn go(&mut self, mut open: Vec<(usize, Id, Id)>, mut state: State, mut done: usize) {
        loop {
            let beaten =
                self.best.as_ref().is_some_and(|best| best.missing.len() < state.missing.len());
            if self.budget == 0 || beaten {
                return;
            }
            let Some((which, part, class)) = open.pop() else {
                let Some((x, pattern)) = self.rule.wheres.get(done) else { break };
                done += 1;
                let Some(top) = pattern.len().checked_sub(1).map(Id::from) else { continue };
                if let Some(class) = state.bound.get(x) {
                    open.push((done, top, *class));
                } else if self.rule.is_with(done - 1) {
                    let Some((over, found)) = self.above(pattern, &state) else { continue };
                    if !found.is_empty() {
                        for class in found {
                            let mut state = state.clone();
                            state.bound.insert(*x, class);
                            self.go(vec![(done, top, class)], state, done);
                        }
                        return;
                    }
                    state.missing.push(Miss {
                        pattern: done,
                        part: top,
                        class: over,
                        differs: None,
                    });
                }
                continue;
            };
            self.budget -= 1;
            let class = self.egraph.find(class);
            let miss = |differs| Miss { pattern: which, part, class, differs };
            match &self.patterns[which][part] {
                ENodeOrVar::Var(variable) => match state.bound.get(variable) {
                    Some(known) if *known != class => state.missing.push(miss(Some(*known))),
                    _ => {
                        state.bound.insert(*variable, class);
                        state.matched += 1;
                    }
                },
                ENodeOrVar::ENode(node) => {
                    let fitting: Vec<&Node> =
                        self.egraph[class].nodes.iter().filter(|n| node.matches(n)).collect();
                    match fitting.as_slice() {
                        [] => state.missing.push(miss(None)),
                        [one] => {
                            state.matched += 1;
                            open.extend(below(which, node, one));
                        }
                        several => {
                            state.matched += 1;
                            for one in several {
                                let mut open = open.clone();
                                open.extend(below(which, node, one));
                                self.go(open, state.clone(), done);
                            }
                            return;
                        }
                    }
                }
            }
        }
        let better = self.best.as_ref().is_none_or(|best| {
            (state.missing.len(), best.matched) < (best.missing.len(), state.matched)
        });
        if better {
            self.best = Some(state);
        }
    }

    /// Returns the places of a `:with` pattern: the class of a known operand, and the classes with the pattern's
    /// operator above it. `None` if no operand is known.
    fn above(&self, pattern: &PatternAst<Node>, state: &State) -> Option<(Id, BTreeSet<Id>)> {
        let Some(ENodeOrVar::ENode(top)) = pattern.as_ref().last() else { return None };
        let known = |child: &Id| match &pattern[*child] {
            ENodeOrVar::Var(variable) => state.bound.get(variable).copied(),
            ENodeOrVar::ENode(_) => None,
        };
        let (at, over) =
            top.children().iter().enumerate().find_map(|(at, id)| Some((at, known(id)?)))?;
        let here = |class: &Id| {
            let mut nodes = self.egraph[*class].nodes.iter();
            nodes.any(|node| top.matches(node) && self.egraph.find(node.children()[at]) == over)
        };
        let parents = self.egraph[over].parents().map(|parent| self.egraph.find(parent));
        Some((over, parents.filter(here).collect()))
    }
}

/// Returns the open parts below a node that matched, the first argument last.
fn below(which: usize, pattern: &Node, node: &Node) -> Vec<(usize, Id, Id)> {
    let pairs = pattern.children().iter().zip(node.children());
    pairs.map(|(p, c)| (which, *p, *c)).rev().collect()
}
