//! A chain of equalities between two terms, found among those that searches recorded.
//!
//! The equalities of all stages go into one e-graph of their own that has no facts and no rules, only
//! the terms as they were written and who said that two are equal; congruence is its only inference.
//! Nothing of the search is run again, so what is explained is what happened.

use super::replay::replay;
use super::step::{By, Chain, Direction, Step, depth, tree_size};
use egg::{FlatTerm, Id, Language, Symbol, TreeExplanation, TreeTerm};
use ember_analysis::facts::EGraph;
use ember_engine::journal::Entry;
use ember_engine::{CompiledRule, Step as Build};
use ember_language::rebuild::rebuild_all;
use ember_language::rules::{Rule, RuleBook};
use ember_language::term::Terms;
use ember_language::term::{Node, Term};
use ember_values::scalar::BinaryOp;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Chains with more steps than this are not written out.
const MOST_STEPS: u32 = 4_000;

/// The crate's explanations walk terms and paths recursively; this is room for the deepest.
const STACK: usize = 1 << 30;

/// Terms larger than this are not explained: each step holds a whole one.
const MOST_WORDS: u64 = 200_000;

/// So are deeper ones: the crate copies terms level by level, in time that grows with the square.
const DEEPEST: u64 = 2_000;

/// The name under which computed equalities are kept.
const COMPUTED: &str = "computed";

/// Why there is no chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// No equalities that were recorded lead from the one to the other.
    NotEqual,
    /// The chain or its terms are too long to be written out.
    TooLong,
}

/// The equalities that searches recorded.
pub struct Proof<'a> {
    rules: FxHashMap<Symbol, (&'a Rule, &'a CompiledRule)>,
    egraph: egg::EGraph<Node, ()>,
}

/// An e-graph without facts that explains.
pub fn fresh() -> egg::EGraph<Node, ()> {
    egg::EGraph::new(()).with_explanations_enabled().without_explanation_length_optimization()
}

impl<'a> Proof<'a> {
    /// No equalities yet. The compiled rules stand in the book's order.
    pub fn new(book: &'a RuleBook, compiled: &'a [CompiledRule]) -> Proof<'a> {
        let rules = book.rules.iter().zip(compiled).map(|(rule, c)| (rule.name, (rule, c)));
        Proof { rules: rules.collect(), egraph: fresh() }
    }

    /// Adds what was recorded in an e-graph, up to an entry of its journal.
    pub fn add(&mut self, from: &EGraph, until: usize) {
        let own = rebuild_all(from.nodes(), |_, node| self.egraph.add_uncanonical(node));
        for entry in from.analysis.journal().entries().iter().take(until) {
            match entry {
                // What was known already has another chain.
                Entry::Rule { united: false, .. } => {}
                Entry::Rule { rule, slots, .. } => {
                    let Some((_, compiled)) = self.rules.get(rule) else { continue };
                    let slot = |k: usize| {
                        let id = *slots.get(k)?;
                        Some((own[usize::from(id)], from[id].data.integer()))
                    };
                    let left = build(&mut self.egraph, &compiled.left, slot);
                    let right = build(&mut self.egraph, &compiled.plan, slot);
                    if let (Some(left), Some(right)) = (left, right) {
                        self.egraph.union_trusted(left, right, *rule);
                    }
                }
                Entry::Computed { class, folded } => {
                    let (a, b) = (own[usize::from(*class)], own[usize::from(*folded)]);
                    self.egraph.union_trusted(a, b, COMPUTED);
                }
            }
        }
        self.egraph.rebuild();
    }

    /// The two sides of an entry of a journal, as terms.
    pub fn sides(&mut self, from: &EGraph, entry: &Entry) -> Option<(Term, Term)> {
        let Entry::Rule { rule, slots, .. } = entry else { return None };
        let (_, compiled) = self.rules.get(rule)?;
        let mut terms = fresh();
        let mut put = |id: Id| terms.add_expr_uncanonical(&from.id_to_expr(id));
        let own: Vec<Id> = slots.iter().map(|id| put(*id)).collect();
        let slot = |k: usize| Some((*own.get(k)?, from[*slots.get(k)?].data.integer()));
        let left = build(&mut terms, &compiled.left, slot)?;
        let right = build(&mut terms, &compiled.plan, slot)?;
        let term = |id| canonical(&terms.id_to_expr(id));
        Some((term(left), term(right)))
    }

    /// A chain from one term to another. Deterministic; detours are cut out, but a chain is not
    /// always the shortest.
    pub fn chain(&mut self, from: &Term, to: &Term) -> Result<Chain, Gap> {
        deeply(|| self.find(from, to))
    }

    fn find(&mut self, from: &Term, to: &Term) -> Result<Chain, Gap> {
        let from = canonical(from);
        let links = links(&mut self.egraph, &from, to)?;
        Ok(self.steps(&from, links))
    }

    /// The steps of a chain from whole terms.
    fn steps(&self, from: &Term, links: Vec<Link>) -> Chain {
        let mut chain = Chain { start: from.clone(), steps: Vec::new() };
        let mut before = from.clone();
        for link in links {
            let Link { whole, at: Some((position, name, forward)) } = link else { continue };
            let part = |term: &Term| super::step::subterm(term, &position).unwrap_or_default();
            let (old, new) = (part(&before), part(&whole));
            let rule = self.rules.get(&name).map(|(rule, _)| *rule);
            let (by, doubt) = match rule {
                Some(rule) => {
                    let (left, right) = if forward { (&old, &new) } else { (&new, &old) };
                    let (substitution, doubt) = match replay(rule, left, right) {
                        Ok(substitution) => (substitution, None),
                        Err(why) => (Vec::new(), Some(why.to_string())),
                    };
                    let direction = if forward { Direction::Forward } else { Direction::Backward };
                    (By::Rule { rule: name, direction, substitution }, doubt)
                }
                None => (By::Computed, None),
            };
            before = whole.clone();
            chain.steps.push(Step { by, position, before: old, after: new, whole, doubt });
        }
        chain
    }
}

/// A chain from one term to another in an e-graph that explains, without detours. Reads and writes terms
/// level by level; [`deeply`] gives it the stack.
pub fn links(egraph: &mut egg::EGraph<Node, ()>, from: &Term, to: &Term) -> Result<Vec<Link>, Gap> {
    let (from, to) = (canonical(from), canonical(to));
    let (a, b) = (egraph.add_expr_uncanonical(&from), egraph.add_expr_uncanonical(&to));
    egraph.rebuild();
    if egraph.find(a) != egraph.find(b) {
        return Err(Gap::NotEqual);
    }
    let large = |term: &Term| tree_size(term) > MOST_WORDS || depth(term) > DEEPEST;
    if large(&from) || large(&to) {
        return Err(Gap::TooLong);
    }
    // First a chain of any length among all equalities; then a short one among those that it used.
    let any = egraph.explain_id_equivalence(a, b);
    let mut few = fresh().with_explanation_length_optimization();
    let (a, b) = (few.add_expr_uncanonical(&from), few.add_expr_uncanonical(&to));
    for (left, right, rule) in equalities(&any.explanation_trees) {
        let (left, right) = (few.add_expr_uncanonical(&left), few.add_expr_uncanonical(&right));
        few.union_trusted(left, right, rule);
    }
    few.rebuild();
    if few.find(a) != few.find(b) {
        return Err(Gap::NotEqual);
    }
    let mut short = few.explain_id_equivalence(a, b);
    if short.get_tree_size() > MOST_STEPS.into() {
        return Err(Gap::TooLong);
    }
    let mut straight: Vec<Link> = Vec::new();
    // What leads back to a term that was there is left out.
    for link in short.make_flat_explanation().iter().map(link) {
        match straight.iter().position(|earlier| earlier.whole == link.whole) {
            Some(at) => straight.truncate(at + 1),
            None => straight.push(link),
        }
    }
    Ok(straight)
}

/// Runs what walks terms level by level with stack for the deepest.
pub fn deeply<T>(run: impl FnOnce() -> T) -> T {
    stacker::grow(STACK, run)
}

/// A whole term, and where and how it came from the one before.
pub struct Link {
    /// The term.
    pub whole: Term,
    /// The position, the name of what makes the two equal, and whether it was read forwards.
    pub at: Option<(Vec<usize>, Symbol, bool)>,
}

fn link(flat: &FlatTerm<Node>) -> Link {
    Link { whole: flat_term(flat), at: rewritten(flat, &mut Vec::new()) }
}

/// Where a term was rewritten, by what, and whether forwards.
fn rewritten(flat: &FlatTerm<Node>, path: &mut Vec<usize>) -> Option<(Vec<usize>, Symbol, bool)> {
    if let Some(rule) = flat.forward_rule {
        return Some((path.clone(), rule, true));
    }
    if let Some(rule) = flat.backward_rule {
        return Some((path.clone(), rule, false));
    }
    for (at, child) in flat.children.iter().enumerate() {
        path.push(at);
        if let Some(found) = rewritten(child, path) {
            return Some(found);
        }
        path.pop();
    }
    None
}

fn flat_term(flat: &FlatTerm<Node>) -> Term {
    fn add(flat: &FlatTerm<Node>, terms: &mut Terms) -> Id {
        let children: Vec<Id> = flat.children.iter().map(|child| add(child, terms)).collect();
        let mut children = children.into_iter();
        let node = flat.node.clone().map_children(|old| children.next().unwrap_or(old));
        terms.add(node)
    }
    let mut terms = Terms::default();
    add(flat, &mut terms);
    terms.finish()
}

/// A term in the one way in which it can be built.
pub fn canonical(term: &Term) -> Term {
    match term.len().checked_sub(1) {
        Some(root) => Terms::of(term, Id::from(root)),
        None => Term::default(),
    }
}

/// The rules' equalities that an explanation uses, each left side first.
fn equalities(trees: &TreeExplanation<Node>) -> Vec<(Term, Term, Symbol)> {
    fn visit(
        trees: &[Rc<TreeTerm<Node>>],
        seen: &mut FxHashSet<*const TreeTerm<Node>>,
        found: &mut Vec<(Term, Term, Symbol)>,
    ) {
        for (at, tree) in trees.iter().enumerate() {
            if let (Some(before), Some(rule)) =
                (at.checked_sub(1).map(|at| &trees[at]), tree.forward_rule.or(tree.backward_rule))
            {
                let old = flat_term(&before.get_last_flat_term());
                let new = flat_term(&tree.get_initial_flat_term());
                found.push(match tree.forward_rule {
                    Some(_) => (old, new, rule),
                    None => (new, old, rule),
                });
            }
            if seen.insert(Rc::as_ptr(tree)) {
                tree.child_proofs.iter().for_each(|trees| visit(trees, seen, found));
            }
        }
    }
    let mut found = Vec::new();
    visit(trees, &mut FxHashSet::default(), &mut found);
    found
}

/// Builds a side of a rule. `slot` gives the term of a variable and its integer, where it has one.
fn build(
    egraph: &mut egg::EGraph<Node, ()>,
    steps: &[Build],
    slot: impl Fn(usize) -> Option<(Id, Option<i64>)>,
) -> Option<Id> {
    let mut built: Vec<(Id, Option<i64>)> = Vec::with_capacity(steps.len());
    for step in steps {
        let next = match step {
            Build::Slot(k) => slot(*k)?,
            Build::Node(node) => {
                let n = match node.head() {
                    ember_language::term::Head::Int(n) => Some(n),
                    _ => None,
                };
                let node = node.clone().map_children(|c| built[usize::from(c)].0);
                (egraph.add_uncanonical(node), n)
            }
            Build::Compute(op, a, b) => {
                let n = compute(*op, built[*a].1?, built[*b].1?)?;
                (egraph.add_uncanonical(Node::int(n)), Some(n))
            }
        };
        built.push(next);
    }
    built.last().map(|(id, _)| *id)
}

/// The number that `(! OP A B)` stands for; `None` where it does not exist.
pub(super) fn compute(op: BinaryOp, a: i64, b: i64) -> Option<i64> {
    ember_engine::saturate::compute(op, a, b)
}
