//! The steps of an explanation, one after the other, with the whole term behind each.
//!
//! All terms share one table, so that a step costs the levels above it and not the whole term.

use egg::{Id, Language, Symbol, TreeExplanation, TreeTerm};
use ember_language::term::{Node, Term, Terms};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// One link of a chain: a whole term, and the rewrite that produced it from the term before.
pub struct Link {
    /// The whole term.
    pub whole: Term,
    /// The position of the rewrite, the name of its rule, and true if the rule was read forwards; `None` for the first
    /// term.
    pub at: Option<(Vec<usize>, Symbol, bool)>,
}

/// Returns the steps of an explanation without detours: what returns to an earlier term is left out.
pub(super) fn straight(trees: &TreeExplanation<Node>) -> Vec<Link> {
    let mut flat = Flat::default();
    if let Some(tree) = trees.first() {
        let first = flat.first(tree);
        flat.steps.push(Step { whole: first, at: None });
    }
    flat.walk(trees);
    let (mut kept, mut places) = (Vec::<Step>::new(), FxHashMap::default());
    for step in flat.steps {
        match places.get(&step.whole) {
            Some(&at) => {
                for detour in kept.drain(at + 1..) {
                    places.remove(&detour.whole);
                }
            }
            None => {
                places.insert(step.whole, kept.len());
                kept.push(step);
            }
        }
    }
    let terms = flat.terms;
    kept.into_iter().map(|step| Link { whole: terms.part(step.whole), at: step.at }).collect()
}

/// Returns the equalities that an explanation uses, the rule's left side first.
pub(super) fn equalities(trees: &TreeExplanation<Node>) -> Vec<(Term, Term, Symbol)> {
    let mut flat = Flat::default();
    let mut found = Vec::new();
    flat.visit(trees, &mut FxHashSet::default(), &mut found);
    let part = |id: Id| flat.terms.part(id);
    found.into_iter().map(|(left, right, rule)| (part(left), part(right), rule)).collect()
}

/// A tree of an explanation, by its address.
type Tree = *const TreeTerm<Node>;

struct Step {
    whole: Id,
    at: Option<(Vec<usize>, Symbol, bool)>,
}

/// The terms of an explanation and the steps so far.
#[derive(Default)]
struct Flat {
    terms: Terms,
    /// The terms with which trees begin and end.
    firsts: FxHashMap<Tree, Id>,
    lasts: FxHashMap<Tree, Id>,
    /// By tree: true if no step is in it.
    still: FxHashMap<Tree, bool>,
    /// The operators around the current term from the outside in, each with its operands as they are now and the
    /// position of the one that is being rewritten.
    around: Vec<(Node, Vec<Id>, usize)>,
    steps: Vec<Step>,
}

impl Flat {
    fn node(&mut self, node: &Node, operands: &[Id]) -> Id {
        let mut operands = operands.iter().copied();
        self.terms.add(node.clone().map_children(|old| operands.next().unwrap_or(old)))
    }

    /// Returns the terms with which the operands of a tree begin.
    fn operands(&mut self, tree: &TreeTerm<Node>) -> Vec<Id> {
        tree.child_proofs.iter().filter_map(|trees| trees.first()).map(|t| self.first(t)).collect()
    }

    fn first(&mut self, tree: &Rc<TreeTerm<Node>>) -> Id {
        if let Some(known) = self.firsts.get(&Rc::as_ptr(tree)) {
            return *known;
        }
        let operands = self.operands(tree);
        let first = self.node(&tree.node, &operands);
        self.firsts.insert(Rc::as_ptr(tree), first);
        first
    }

    fn last(&mut self, tree: &Rc<TreeTerm<Node>>) -> Id {
        if let Some(known) = self.lasts.get(&Rc::as_ptr(tree)) {
            return *known;
        }
        let ends = tree.child_proofs.iter().filter_map(|trees| trees.last());
        let operands: Vec<Id> = ends.map(|t| self.last(t)).collect();
        let last = self.node(&tree.node, &operands);
        self.lasts.insert(Rc::as_ptr(tree), last);
        last
    }

    /// Returns true if there is no step in a tree. Most of a large term has none, and is shared by many trees.
    fn is_still(&mut self, tree: &Rc<TreeTerm<Node>>) -> bool {
        if let Some(known) = self.still.get(&Rc::as_ptr(tree)) {
            return *known;
        }
        let still = tree.forward_rule.or(tree.backward_rule).is_none()
            && tree.child_proofs.iter().all(|trees| self.are_still(trees));
        self.still.insert(Rc::as_ptr(tree), still);
        still
    }

    /// Returns true if an explanation is the term itself.
    fn are_still(&mut self, trees: &[Rc<TreeTerm<Node>>]) -> bool {
        matches!(trees, [only] if self.is_still(only))
    }

    /// Adds the steps of an explanation of the current term, and returns the term that they lead to.
    fn walk(&mut self, trees: &[Rc<TreeTerm<Node>>]) -> Option<Id> {
        let mut current = None;
        for tree in trees {
            let first = self.first(tree);
            if let Some(rule) = tree.forward_rule.or(tree.backward_rule) {
                self.step(first, rule, tree.forward_rule.is_some());
            }
            let mut operands = self.operands(tree);
            for (at, trees) in tree.child_proofs.iter().enumerate() {
                if self.are_still(trees) {
                    continue;
                }
                self.around.push((tree.node.clone(), operands, at));
                let operand = self.walk(trees);
                operands = self.around.pop().map(|(_, operands, _)| operands).unwrap_or_default();
                if let (Some(place), Some(operand)) = (operands.get_mut(at), operand) {
                    *place = operand;
                }
            }
            current = Some(self.node(&tree.node, &operands));
        }
        current
    }

    /// Adds a step to a term in the place of the current one.
    fn step(&mut self, to: Id, rule: Symbol, forward: bool) {
        let mut whole = to;
        let around = std::mem::take(&mut self.around);
        for (node, operands, at) in around.iter().rev() {
            let mut operands = operands.clone();
            operands[*at] = whole;
            whole = self.node(node, &operands);
        }
        let position = around.iter().map(|(_, _, at)| *at).collect();
        self.around = around;
        self.steps.push(Step { whole, at: Some((position, rule, forward)) });
    }

    /// Collects the equalities of all trees that were not seen yet.
    fn visit(
        &mut self,
        trees: &[Rc<TreeTerm<Node>>],
        seen: &mut FxHashSet<Tree>,
        found: &mut Vec<(Id, Id, Symbol)>,
    ) {
        let mut before = None;
        for tree in trees {
            if let (Some(old), Some(rule)) = (before, tree.forward_rule.or(tree.backward_rule)) {
                let new = self.first(tree);
                found.push(match tree.forward_rule {
                    Some(_) => (old, new, rule),
                    None => (new, old, rule),
                });
            }
            if seen.insert(Rc::as_ptr(tree)) {
                tree.child_proofs.iter().for_each(|trees| self.visit(trees, seen, found));
            }
            before = Some(self.last(tree));
        }
    }
}
