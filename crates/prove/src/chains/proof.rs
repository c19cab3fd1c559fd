//! Finds a chain of equalities between two terms among the equalities that searches recorded.
//!
//! The equalities of all stages are added to a separate e-graph without facts and rules. It contains only the terms as
//! they were written and the origin of every equality; congruence is its only inference. The search is not repeated, so
//! that the explanation is what actually happened.

use super::flat::{Link, equalities, straight};
use super::replay::replay;
use super::step::{By, Chain, Direction, Step, depth, tree_size};
use egg::{Id, Language, Symbol};
use ember_analysis::facts::EGraph;
use ember_engine::journal::Entry;
use ember_engine::{CompiledRule, Step as Build};
use ember_language::rebuild::rebuild_all;
use ember_language::rules::{Rule, RuleBook};
use ember_language::term::Terms;
use ember_language::term::{Node, Term};
use ember_values::scalar::BinaryOp;
use rustc_hash::FxHashMap;

/// The largest number of steps of a chain that is written out.
const MOST_STEPS: u32 = 4_000;

/// The stack size for the recursion of egg's explanations over terms and paths, enough for the deepest.
const STACK: usize = 1 << 30;

/// The largest term that is explained: every step contains a whole term.
const MOST_WORDS: u64 = 200_000;

/// The greatest depth of a term that is explained: egg copies terms level by level, in quadratic time.
const DEEPEST: u64 = 2_000;

/// The name under which computed equalities are recorded.
const COMPUTED: &str = "computed";

/// The reason why there is no chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// The recorded equalities do not connect the terms.
    NotEqual,
    /// The chain or its terms are too long to be written out.
    TooLong,
}

/// The equalities that searches recorded.
pub struct Proof<'a> {
    rules: FxHashMap<Symbol, (&'a Rule, &'a CompiledRule)>,
    egraph: egg::EGraph<Node, ()>,
}

/// Creates an e-graph without facts that records explanations.
pub fn fresh() -> egg::EGraph<Node, ()> {
    egg::EGraph::new(()).with_explanations_enabled().without_explanation_length_optimization()
}

impl<'a> Proof<'a> {
    /// Creates an empty proof. `compiled` holds the compiled rules in the book's order.
    pub fn new(book: &'a RuleBook, compiled: &'a [CompiledRule]) -> Proof<'a> {
        let rules = book.rules.iter().zip(compiled).map(|(rule, c)| (rule.name, (rule, c)));
        Proof { rules: rules.collect(), egraph: fresh() }
    }

    /// Adds the equalities recorded in an e-graph, up to an entry of its journal.
    pub fn add(&mut self, from: &EGraph, until: usize) {
        let own = rebuild_all(from.nodes(), |_, node| self.egraph.add_uncanonical(node));
        for entry in from.analysis.journal().entries().iter().take(until) {
            match entry {
                // An equality that was known already has another chain.
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

    /// Returns the two sides of a journal entry as terms.
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

    /// Finds a chain from one term to another. The result is deterministic. Detours are removed, but the chain is not
    /// always the shortest.
    pub fn chain(&mut self, from: &Term, to: &Term) -> Result<Chain, Gap> {
        deeply(|| self.find(from, to))
    }

    fn find(&mut self, from: &Term, to: &Term) -> Result<Chain, Gap> {
        let from = canonical(from);
        let links = links(&mut self.egraph, &from, to)?;
        Ok(self.steps(&from, links))
    }

    /// Builds the steps of a chain from its whole terms.
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

/// Finds a chain without detours between two terms in an e-graph that records explanations. The function recurses over
/// the levels of terms; call it within [`deeply`].
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
    // The first explanation may have any length; the second is a short one that uses only the equalities of the first.
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
    let short = few.explain_id_equivalence(a, b);
    if short.get_tree_size() > MOST_STEPS.into() {
        return Err(Gap::TooLong);
    }
    Ok(straight(&short.explanation_trees))
}

/// Runs a function that recurses over the levels of terms on a stack that is large enough for the deepest term.
pub fn deeply<T>(run: impl FnOnce() -> T) -> T {
    stacker::grow(STACK, run)
}

/// Returns a term in canonical form, with each distinct node once.
pub fn canonical(term: &Term) -> Term {
    match term.len().checked_sub(1) {
        Some(root) => Terms::of(term, Id::from(root)),
        None => Term::default(),
    }
}

/// Builds one side of a rule. `slot` returns the term of a variable and its integer value, if it has one.
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

/// Returns the number that `(! OP A B)` computes; `None` if it does not exist.
pub(super) fn compute(op: BinaryOp, a: i64, b: i64) -> Option<i64> {
    ember_engine::saturate::compute(op, a, b)
}
