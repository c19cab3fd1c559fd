//! Extraction from an e-graph over cost vectors: a Pareto set of candidates per e-class.
//!
//! The time of a decoupled machine is about the *larger* of its two units' times, so the cost of a term is a vector,
//! and no member of a class is the best before its context is known. The extractor keeps in each class, up to a bound,
//! the candidates that no other candidate dominates. It builds the candidates of a node from those of its children
//! until nothing changes.
//!
//! The caller's [`CostModel`] gives the cost and the scope of a node: within a loop, it costs as often as the loop runs.
//!
//! ```
//! use egg::{Id, SymbolLang};
//! use ember_egraph::EGraph;
//! use ember_extract::{CostModel, Limits, extract};
//!
//! /// A node costs the length of its name.
//! struct Names;
//!
//! impl CostModel<SymbolLang, ()> for Names {
//!     type Summary = usize;
//!     fn combine(
//!         &self,
//!         _: &EGraph<SymbolLang, ()>,
//!         node: &SymbolLang,
//!         children: &[&usize],
//!     ) -> Option<usize> {
//!         Some(node.op.as_str().len() + children.iter().copied().sum::<usize>())
//!     }
//!     fn dominates(&self, a: &usize, b: &usize) -> bool {
//!         a <= b
//!     }
//!     fn rank(&self, cost: &usize) -> f64 {
//!         *cost as f64
//!     }
//!     fn alike(&self, a: &usize, b: &usize) -> bool {
//!         a == b
//!     }
//!     fn kind(&self, _: &usize) -> u64 {
//!         0
//!     }
//!     fn is_finished(&self, _: &usize) -> bool {
//!         true
//!     }
//! }
//!
//! let mut egraph = EGraph::<SymbolLang, ()>::new(());
//! let [long, short] = ["long", "s"].map(|name| egraph.add(SymbolLang::leaf(name)));
//! egraph.union(long, short);
//! egraph.rebuild();
//! let found = extract(&egraph, egraph.find(long), &Names, &Limits::default());
//! assert_eq!(found.term(found.ranked()[0]).to_string(), "s");
//! ```

use egg::{Id, Language, RecExpr};
use ember_egraph::{Analysis, EGraph};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

/// The cost of terms. A summary holds everything about a candidate that matters when it becomes a part of a larger
/// term: its cost so far, its scope, the subterms it shares.
pub trait CostModel<L: Language, N: Analysis<L>> {
    /// Everything that matters about a candidate.
    type Summary: Clone;

    /// Returns the summary of a node over its children's candidates, or `None` if no finished program can contain it.
    /// Costs must grow with size, so that no candidate of a class contains itself.
    fn combine(
        &self,
        egraph: &EGraph<L, N>,
        node: &L,
        children: &[&Self::Summary],
    ) -> Option<Self::Summary>;

    /// Returns true if `a` can replace `b` in every context and is never worse there.
    fn dominates(&self, a: &Self::Summary, b: &Self::Summary) -> bool;

    /// Returns a scalar estimate, smaller is better. It orders the finished candidates of the root, and the candidates
    /// of a class if the bound on their number forces a choice.
    fn rank(&self, summary: &Self::Summary) -> f64;

    /// Returns true if two candidates of one class cost so nearly the same that one may represent both if the bound on
    /// their number forces a choice. Called for candidates whose ranks differ by at most 2%.
    fn alike(&self, a: &Self::Summary, b: &Self::Summary) -> bool;

    /// Returns the kind of a candidate: estimates are more reliable within a kind than between kinds.
    fn kind(&self, summary: &Self::Summary) -> u64;

    /// Returns true if a candidate of the root class is a finished program.
    fn is_finished(&self, summary: &Self::Summary) -> bool;
}

/// Bounds on the work of [`extract`].
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The number of candidates kept in a class.
    pub per_class: usize,
    /// The number of candidates kept in the root class, if it is greater: they become part of no other candidate, so
    /// that they cost little.
    pub at_root: usize,
    /// The number of combinations of children's candidates tried for one node.
    pub per_node: usize,
    /// The number of rounds over the whole graph.
    pub rounds: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { per_class: 12, at_root: 24, per_node: 256, rounds: 64 }
    }
}

/// A candidate in an [`Extraction`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CandidateId(pub(crate) usize);

/// One way to build a term: a node and a candidate for each of its children.
struct Candidate<L, S> {
    node: L,
    children: Choice<CandidateId>,
    /// Boxed, since it is large and candidates are moved.
    summary: Box<S>,
    rank: f64,
    kind: u64,
}

/// Candidates whose ranks differ by more than this fraction are not alike.
const ALIKE: f64 = 0.02;

/// The uncertainty of estimates between kinds: a candidate's rank grows by this fraction for each better candidate of
/// its kind, so that the best of another kind may come before it.
const HANDICAP: f64 = 0.01;

/// The candidates of every class reachable from a root.
pub struct Extraction<L, S> {
    arena: Vec<Candidate<L, S>>,
    kept: BTreeMap<Id, Vec<CandidateId>>,
    roots: Vec<CandidateId>,
    /// True if a limit cut candidates off, so that the best may have been lost.
    pub truncated: bool,
}

impl<L: Language, S> Extraction<L, S> {
    /// Returns the finished candidates of the root class. The candidate of the best rank is first; the best of each
    /// other kind come before the rest.
    pub fn ranked(&self) -> &[CandidateId] {
        &self.roots
    }

    /// Returns the candidates kept for a canonical class, finished or not.
    pub fn of(&self, class: Id) -> &[CandidateId] {
        self.kept.get(&class).map_or(&[], Vec::as_slice)
    }

    /// Returns the root node of a candidate and the candidates of its children.
    pub fn node(&self, id: CandidateId) -> (&L, &[CandidateId]) {
        let candidate = &self.arena[id.0];
        (&candidate.node, &candidate.children)
    }

    /// Returns the summary of a candidate.
    pub fn summary(&self, id: CandidateId) -> &S {
        &self.arena[id.0].summary
    }

    /// Returns the term of a candidate; equal subterms are shared.
    pub fn term(&self, id: CandidateId) -> RecExpr<L> {
        let mut term = RecExpr::default();
        let mut placed: BTreeMap<CandidateId, Id> = BTreeMap::new();
        // A candidate is placed after its children; the stack holds the candidates that still wait.
        let mut stack = vec![id];
        while let Some(&top) = stack.last() {
            if placed.contains_key(&top) {
                stack.pop();
                continue;
            }
            let candidate = &self.arena[top.0];
            let waiting: Vec<CandidateId> =
                candidate.children.iter().copied().filter(|c| !placed.contains_key(c)).collect();
            if waiting.is_empty() {
                let mut next = candidate.children.iter().map(|c| placed[c]);
                let node = candidate.node.clone().map_children(|old| next.next().unwrap_or(old));
                placed.insert(top, term.add(node));
                stack.pop();
            } else {
                stack.extend(waiting);
            }
        }
        term
    }
}

/// Returns every class reachable from the root, most children before their users, but not all. So users keep some forms
/// of a part that the part has given up since, and have more different ones. With all children first, no program for the
/// examples and workloads, on their own seeds, was faster by more than 0.3 %, and one was 7 % slower (`gcn` on `tmu-cpu`).
pub(crate) fn reachable<L: Language, N: Analysis<L>>(egraph: &EGraph<L, N>, root: Id) -> Vec<Id> {
    let mut order = Vec::new();
    let mut seen = BTreeSet::from([root]);
    let mut stack = vec![(root, false)];
    while let Some((id, done)) = stack.pop() {
        if done {
            order.push(id);
            continue;
        }
        stack.push((id, true));
        for node in &egraph[id].nodes {
            for child in node.children() {
                let child = egraph.find(*child);
                if seen.insert(child) {
                    stack.push((child, false));
                }
            }
        }
    }
    order
}

/// The candidates of one class.
pub(crate) struct Front {
    pub(crate) kept: Vec<CandidateId>,
    /// For each node of the class, the choices of children that remain to be tried.
    pub(crate) open: Vec<Open>,
}

impl Front {
    /// Creates the front of a class without candidates. Classes have positions in the processing order.
    pub(crate) fn new<L: Language, N: Analysis<L>>(
        egraph: &EGraph<L, N>,
        class: Id,
        at: &BTreeMap<Id, usize>,
    ) -> Front {
        let places = |node: &L| node.children().iter().map(|c| at[&egraph.find(*c)]).collect();
        let open = |node: &L| Open { children: places(node), tried: None };
        Front { kept: Vec::new(), open: egraph[class].nodes.iter().map(open).collect() }
    }
}

/// The choices for a node's children.
#[derive(Clone)]
pub(crate) struct Open {
    /// The positions of the children's classes in the processing order.
    pub(crate) children: Choice<usize>,
    /// The number of candidates at the last visit, if there was one: every choice among those candidates has been
    /// tried.
    pub(crate) tried: Option<usize>,
}

impl Open {
    /// Calls `visit` with every choice of the children's candidates that was not tried before, looking at no more than
    /// `limit` choices. Returns true if all choices were looked at.
    pub(crate) fn choices(
        &self,
        fronts: &[Front],
        limit: usize,
        mut visit: impl FnMut(&[CandidateId]),
    ) -> bool {
        let sets: Choice<&[CandidateId]> =
            self.children.iter().map(|c| fronts[*c].kept.as_slice()).collect();
        let fresh = |choice: &[CandidateId]| {
            self.tried.is_none_or(|tried| choice.iter().any(|c| c.0 >= tried))
        };
        if !fresh(&[]) && !sets.iter().any(|set| fresh(set))
            || sets.iter().any(|set| set.is_empty())
        {
            return true;
        }
        combinations(&sets, limit, |choice| {
            if fresh(choice) {
                visit(choice);
            }
        })
    }
}

/// One item for each child of a node.
type Choice<T> = SmallVec<[T; 4]>;

/// Extracts the candidates of the root class. The e-graph must be rebuilt.
pub fn extract<L, N, M>(
    egraph: &EGraph<L, N>,
    root: Id,
    model: &M,
    limits: &Limits,
) -> Extraction<L, M::Summary>
where
    L: Language,
    N: Analysis<L>,
    M: CostModel<L, N>,
{
    let root = egraph.find(root);
    let order = reachable(egraph, root);
    let at: BTreeMap<Id, usize> =
        order.iter().enumerate().map(|(at, class)| (*class, at)).collect();
    let mut fronts: Vec<Front> =
        order.iter().map(|class| Front::new(egraph, *class, &at)).collect();
    let mut extraction =
        Extraction { arena: Vec::new(), kept: BTreeMap::new(), roots: Vec::new(), truncated: true };
    let mut cut = false;
    let mut made: Vec<(Choice<CandidateId>, M::Summary)> = Vec::new();
    for _ in 0..limits.rounds {
        let mut progress = false;
        for (place, &class) in order.iter().enumerate() {
            let is_root = class == root;
            let at_root = if is_root { limits.at_root } else { 0 };
            let bound = limits.per_class.max(at_root);
            for (i, node) in egraph[class].nodes.iter().enumerate() {
                let newest = extraction.arena.len();
                let open = &fronts[place].open[i];
                cut |= !open.choices(&fronts, limits.per_node, |choice| {
                    let summaries: Choice<&M::Summary> =
                        choice.iter().map(|c| &*extraction.arena[c.0].summary).collect();
                    if let Some(summary) = model.combine(egraph, node, &summaries) {
                        made.push((Choice::from_slice(choice), summary));
                    }
                });
                let front = &mut fronts[place];
                front.open[i].tried = Some(newest);
                for (children, summary) in made.drain(..) {
                    let arena = &mut extraction.arena;
                    let summary_of = |c: &CandidateId| &*arena[c.0].summary;
                    // Most candidates are dominated, and need no place of their own.
                    if front.kept.iter().any(|c| model.dominates(summary_of(c), &summary)) {
                        continue;
                    }
                    let (rank, kind) = (model.rank(&summary), model.kind(&summary));
                    let (node, summary) = (node.clone(), Box::new(summary));
                    let candidate = Candidate { node, children, summary, rank, kind };
                    let (changed, dropped) = insert(model, arena, front, candidate, bound, is_root);
                    cut |= dropped;
                    progress |= changed;
                }
            }
        }
        if !progress {
            extraction.truncated = cut;
            break;
        }
    }
    extraction.kept = order.into_iter().zip(fronts.into_iter().map(|front| front.kept)).collect();
    let finished = |c: &CandidateId| model.is_finished(&extraction.arena[c.0].summary);
    let finished: Vec<CandidateId> = extraction.of(root).iter().copied().filter(finished).collect();
    let ranks = handicapped(&extraction.arena, &finished);
    let mut roots: Vec<(CandidateId, f64)> = finished.into_iter().zip(ranks).collect();
    roots.sort_by(|a, b| a.1.total_cmp(&b.1));
    extraction.roots = roots.into_iter().map(|(c, _)| c).collect();
    extraction
}

/// Returns the ranks of candidates, sorted best first, each with its [`HANDICAP`].
fn handicapped<L, S>(arena: &[Candidate<L, S>], sorted: &[CandidateId]) -> Vec<f64> {
    let candidates = || sorted.iter().map(|c| &arena[c.0]);
    candidates()
        .enumerate()
        .map(|(at, c)| {
            let better = candidates().take(at).filter(|other| other.kind == c.kind).count();
            c.rank * (1.0 + HANDICAP * better as f64)
        })
        .collect()
}

/// Calls `visit` with every choice of one element from each set, at most `limit` times, low positions first. Returns
/// true if every choice was visited.
fn combinations(
    sets: &[&[CandidateId]],
    limit: usize,
    mut visit: impl FnMut(&[CandidateId]),
) -> bool {
    let mut at: Choice<usize> = SmallVec::from_elem(0, sets.len());
    let mut choice: Choice<CandidateId> = sets.iter().map(|s| s[0]).collect();
    for _ in 0..limit {
        visit(&choice);
        let Some(next) = (0..sets.len()).find(|&i| at[i] + 1 < sets[i].len()) else { return true };
        for i in 0..next {
            at[i] = 0;
            choice[i] = sets[i][0];
        }
        at[next] += 1;
        choice[next] = sets[next][at[next]];
    }
    false
}

/// Adds a candidate that no other dominates to a class's set, and removes the candidates that it dominates. If the set
/// exceeds the bound, one candidate leaves: at the root, which has no context, the worst that is not finished, if there
/// is one; then the worst of those that are like a better one, else the one with the worst handicapped rank. Otherwise
/// variants of one good choice would crowd out different candidates that the context may need. Returns whether the set
/// changed, and whether the bound removed a candidate.
fn insert<L, N, M>(
    model: &M,
    arena: &mut Vec<Candidate<L, M::Summary>>,
    front: &mut Front,
    candidate: Candidate<L, M::Summary>,
    bound: usize,
    is_root: bool,
) -> (bool, bool)
where
    L: Language,
    N: Analysis<L>,
    M: CostModel<L, N>,
{
    front.kept.retain(|c| !model.dominates(&candidate.summary, &arena[c.0].summary));
    let worse = |c: &CandidateId| arena[c.0].rank > candidate.rank;
    let position = front.kept.iter().position(worse).unwrap_or(front.kept.len());
    let id = CandidateId(arena.len());
    arena.push(candidate);
    front.kept.insert(position, id);
    if front.kept.len() <= bound {
        return (true, false);
    }
    let like_a_better = |at: &usize| {
        let candidate = |at: usize| &arena[front.kept[at].0];
        let (worse, better) = (candidate(*at), (0..*at).rev().map(candidate));
        let near = |better: &&Candidate<L, _>| better.rank * (1.0 + ALIKE) >= worse.rank;
        better.take_while(near).any(|better| model.alike(&better.summary, &worse.summary))
    };
    let unfinished = |at: &usize| is_root && !model.is_finished(&arena[front.kept[*at].0].summary);
    let worst = || {
        let ranks = handicapped(arena, &front.kept);
        (0..ranks.len()).max_by(|a, b| ranks[*a].total_cmp(&ranks[*b]))
    };
    let all = 0..front.kept.len();
    let leaves = all.clone().rev().find(unfinished);
    let leaves = leaves.or_else(|| all.skip(1).rev().find(like_a_better)).or_else(worst);
    let leaves = leaves.unwrap_or(bound);
    let changed = front.kept.remove(leaves) != id;
    if !changed {
        arena.pop();
    }
    (changed, true)
}

/// Returns true if a term is a member of a class. Every extracted term must be a member of the root class.
pub fn is_member<L, N>(egraph: &EGraph<L, N>, root: Id, term: &RecExpr<L>) -> bool
where
    L: Language,
    N: Analysis<L>,
{
    egraph.lookup_expr(term).is_some_and(|id| egraph.find(id) == egraph.find(root))
}

#[cfg(test)]
mod tests;
