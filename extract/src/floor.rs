//! A bound that no term of a class is below.
//!
//! As for [`extract`](crate::extract), each class has candidates that no other dominates. Where these are too many, two
//! of them are replaced by one that costs no more than either and fits wherever either does, even if no term has such a
//! cost. So every term of the class remains represented, and the best candidate of the root costs no more than the best
//! term.

use crate::pareto::{CandidateId, Front, Open, reachable};
use egg::{Id, Language};
use ember_egraph::{Analysis, EGraph};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// A cost model in which one summary can stand for several.
///
/// It must be monotone: if summaries of children are replaced by others that dominate them, [`Relaxation::combine`] gives
/// a summary that dominates the one before.
pub trait Relaxation<L: Language, N: Analysis<L>> {
    /// Everything that matters about a candidate.
    type Summary;

    /// Returns the summary of a node over its children's candidates, or `None` if no finished program can contain it.
    fn combine(
        &self,
        egraph: &EGraph<L, N>,
        node: &L,
        children: &[&Self::Summary],
    ) -> Option<Self::Summary>;

    /// Returns true if `a` can replace `b` in every context and is never worse there.
    fn dominates(&self, a: &Self::Summary, b: &Self::Summary) -> bool;

    /// Returns a summary that dominates both, if there is one.
    fn meet(&self, a: &Self::Summary, b: &Self::Summary) -> Option<Self::Summary>;

    /// Returns the cost of a candidate as one number, which bounds that of every term that the candidate dominates.
    fn cost(&self, summary: &Self::Summary) -> f64;

    /// Returns true if a candidate of the root class is a finished program.
    fn is_finished(&self, summary: &Self::Summary) -> bool;
}

/// Bounds on the work of [`floor()`].
#[derive(Clone, Copy, Debug)]
pub struct FloorLimits {
    /// The number of candidates of a class from which on two that have a common bound are replaced by it.
    pub per_class: usize,
    /// The most candidates of a class.
    pub most: usize,
    /// The most combinations of children's candidates, and comparisons of candidates.
    pub work: usize,
}

impl Default for FloorLimits {
    fn default() -> Self {
        FloorLimits { per_class: 8, most: 64, work: 4_000_000 }
    }
}

/// Returns for each node of the root class the summary of a finished candidate, whose cost no finished term that begins
/// with this node is below, or `None` if there is no such term; and `None` for all if a limit was reached. The e-graph must
/// be rebuilt.
pub fn floor<L, N, M>(
    egraph: &EGraph<L, N>,
    root: Id,
    model: &M,
    limits: &FloorLimits,
) -> Option<Vec<Option<M::Summary>>>
where
    L: Language,
    N: Analysis<L>,
    M: Relaxation<L, N>,
{
    let root = egraph.find(root);
    let order = reachable(egraph, root);
    let at: BTreeMap<Id, usize> =
        order.iter().enumerate().map(|(at, class)| (*class, at)).collect();
    let mut fronts: Vec<Front> =
        order.iter().map(|class| Front::new(egraph, *class, &at)).collect();
    let mut known = Known { model, summaries: Vec::new(), limits, work: limits.work };
    loop {
        let mut progress = false;
        for (place, &class) in order.iter().enumerate() {
            for (i, node) in egraph[class].nodes.iter().enumerate() {
                let newest = known.summaries.len();
                let made = known.combined(egraph, node, &fronts[place].open[i], &fronts)?;
                fronts[place].open[i].tried = Some(newest);
                for summary in made {
                    progress |= known.insert(&mut fronts[place].kept, summary)?;
                }
                if fronts[place].kept.len() > limits.most {
                    return None;
                }
            }
        }
        if !progress {
            break;
        }
    }
    let cost = |summary: &M::Summary| model.cost(summary);
    let mut least = |node: &L, open: &Open| {
        let all = Open { tried: None, ..open.clone() };
        let made = known.combined(egraph, node, &all, &fronts)?;
        let finished = made.into_iter().filter(|summary| model.is_finished(summary));
        Some(finished.min_by(|a, b| cost(a).total_cmp(&cost(b))))
    };
    egraph[root]
        .nodes
        .iter()
        .zip(&fronts[at[&root]].open)
        .map(|(node, open)| least(node, open))
        .collect()
}

/// All candidates so far.
struct Known<'a, M, S> {
    model: &'a M,
    summaries: Vec<S>,
    limits: &'a FloorLimits,
    /// The combinations and comparisons that may still be tried.
    work: usize,
}

impl<M, S> Known<'_, M, S> {
    /// Returns the summaries of a node over all choices of its children's candidates that were not tried before; `None` if
    /// there are too many.
    fn combined<L, N>(
        &mut self,
        egraph: &EGraph<L, N>,
        node: &L,
        open: &Open,
        fronts: &[Front],
    ) -> Option<Vec<S>>
    where
        L: Language,
        N: Analysis<L>,
        M: Relaxation<L, N, Summary = S>,
    {
        let (mut made, mut tried) = (Vec::new(), 0);
        let whole = open.choices(fronts, self.work, |choice| {
            tried += 1;
            let children: SmallVec<[&S; 4]> = choice.iter().map(|c| &self.summaries[c.0]).collect();
            made.extend(self.model.combine(egraph, node, &children));
        });
        self.work -= tried.min(self.work);
        whole.then_some(made)
    }

    /// Counts some comparisons; `None` if there are too many.
    fn spend(&mut self, comparisons: usize) -> Option<()> {
        self.work = self.work.checked_sub(comparisons)?;
        Some(())
    }

    /// Adds a candidate to those of a class, unless one of them dominates it. Returns true if they change, and `None` if
    /// there were too many comparisons.
    fn insert<L, N>(&mut self, kept: &mut Vec<CandidateId>, summary: S) -> Option<bool>
    where
        L: Language,
        N: Analysis<L>,
        M: Relaxation<L, N, Summary = S>,
    {
        self.spend(kept.len())?;
        if kept.iter().any(|c| self.model.dominates(&self.summaries[c.0], &summary)) {
            return Some(false);
        }
        self.add(kept, summary);
        let mut before = usize::MAX;
        // A common bound replaces two candidates, unless it dominates them up to rounding alone.
        while kept.len() > self.limits.per_class && kept.len() < before {
            self.spend(kept.len() * kept.len() / 2)?;
            let Some(common) = self.nearest(kept) else { break };
            before = kept.len();
            self.add(kept, common);
        }
        Some(true)
    }

    /// Adds a candidate, and removes those that it dominates.
    fn add<L, N>(&mut self, kept: &mut Vec<CandidateId>, summary: S)
    where
        L: Language,
        N: Analysis<L>,
        M: Relaxation<L, N, Summary = S>,
    {
        kept.retain(|c| !self.model.dominates(&summary, &self.summaries[c.0]));
        kept.push(CandidateId(self.summaries.len()));
        self.summaries.push(summary);
    }

    /// Returns the common bound of two candidates that is the least below them.
    fn nearest<L, N>(&self, kept: &[CandidateId]) -> Option<S>
    where
        L: Language,
        N: Analysis<L>,
        M: Relaxation<L, N, Summary = S>,
    {
        let mut nearest: Option<(f64, S)> = None;
        for (i, a) in kept.iter().enumerate() {
            for b in &kept[..i] {
                let [a, b] = [a, b].map(|c| &self.summaries[c.0]);
                let Some(common) = self.model.meet(a, b) else { continue };
                let cost = |summary: &S| self.model.cost(summary);
                let lost = cost(a).max(cost(b)) - cost(&common);
                if nearest.as_ref().is_none_or(|(least, _)| lost < *least) {
                    nearest = Some((lost, common));
                }
            }
        }
        nearest.map(|(_, common)| common)
    }
}

#[cfg(test)]
mod tests;
