//! One program from the candidates of every group.

use super::compose::compose;
use super::group::Plan;
use super::searched::Searched;
use crate::cost::Goal;
use crate::pipeline::{Case, Inputs, Measure, lower};
use crate::search::{Candidate, Found};
use ember_host::threads;
use ember_language::term::Term;
use ember_targets::verify::Verified;
use std::collections::BTreeMap;

/// Two programs are as fast as one another where their cycles differ by no more than this part:
/// other data would turn them round.
const SAME_SPEED: u64 = 20_000;

/// A program chosen from candidates.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// Its term.
    pub term: Term,
    /// The program.
    pub program: Verified,
    /// What was chosen for each group, in order.
    pub groups: Vec<ChosenGroup>,
}

/// What was chosen for a group.
#[derive(Clone, Debug)]
pub struct ChosenGroup {
    /// The statements, by their places in the model.
    pub statements: Vec<usize>,
    /// The group that was searched for this one; itself, unless it is like one before it.
    pub like: usize,
    /// What was chosen, in the names of the group that was searched.
    pub candidate: Candidate,
    /// What its program alone takes on the data it was chosen on; `None` where no data was asked.
    pub measure: Option<Measure>,
}

/// A candidate of one group, ready to run by itself.
pub struct Ranked {
    pub candidate: Candidate,
    pub program: Verified,
    pub measure: Option<Measure>,
}

/// Chooses a candidate of each group and puts them together. With a case, each group's is the one
/// that runs fastest on it by itself; among those that are as fast, the one that takes the least
/// energy, the first of equals. Without, it is the best by the cost model. Candidates that the
/// verifier rejects or that do not come to their end are passed over, and why is told.
pub fn choose(
    inputs: &Inputs,
    rank: Option<&Case>,
    searched: &Searched,
    goal: Goal,
) -> Result<Chosen, Vec<String>> {
    let plan = &searched.plan;
    let operators = inputs.book.signature.table();
    let found: Vec<_> = searched.found.iter().collect();
    let best =
        threads::map(&found, |&(at, found)| (*at, best_of(inputs, rank, plan, *at, found, goal)));
    let mut ranked = BTreeMap::new();
    for (at, best) in best {
        ranked.insert(at, best?);
    }
    let mut groups = Vec::with_capacity(plan.groups.len());
    let mut parts: Vec<(Term, Verified)> = Vec::with_capacity(plan.groups.len());
    for (at, group) in plan.groups.iter().enumerate() {
        let like = plan.like[at];
        let Some(best) = ranked.get(&like) else { continue };
        let term = plan.term(at, &best.candidate.term);
        let program = match like == at {
            true => best.program.clone(),
            false => lower(operators, &inputs.machine, &term, &group.context, goal)
                .map_err(|e| vec![e])?,
        };
        let statements = group.statements.clone();
        groups.push(ChosenGroup {
            statements,
            like,
            candidate: best.candidate.clone(),
            measure: best.measure.clone(),
        });
        parts.push((term, program));
    }
    let context = inputs.context();
    let borrowed: Vec<_> = parts.iter().map(|(term, p)| (term, p.program())).collect();
    let composed = compose(operators, goal, &context, &borrowed);
    let term = composed.ok_or_else(|| {
        vec!["the dialects declare no sequence or no barrier to put groups together".to_owned()]
    })?;
    let program = lower(operators, &inputs.machine, &term, &context, goal).map_err(|e| vec![e])?;
    Ok(Chosen { term, program, groups })
}

/// The best candidate of one group.
pub fn best_of(
    inputs: &Inputs,
    rank: Option<&Case>,
    plan: &Plan,
    at: usize,
    found: &Found,
    goal: Goal,
) -> Result<Ranked, Vec<String>> {
    let operators = inputs.book.signature.table();
    let try_one = |candidate: &Candidate| -> Result<Ranked, String> {
        let term = plan.term(at, &candidate.term);
        let program = lower(operators, &inputs.machine, &term, &plan.groups[at].context, goal)?;
        let measure = match rank {
            Some(case) => Some(case.rank(program.program(), &inputs.machine)?),
            None => None,
        };
        Ok(Ranked { candidate: candidate.clone(), program, measure })
    };
    if rank.is_none() {
        // The cost model has ordered them: the first that can run is wanted.
        let mut rejected = Vec::new();
        for candidate in &found.candidates {
            match try_one(candidate) {
                Ok(ranked) => return Ok(ranked),
                Err(why) => rejected.push(why),
            }
        }
        return Err(rejected);
    }
    let tried = threads::map(&found.candidates, try_one);
    let (ranked, rejected): (Vec<Ranked>, Vec<String>) =
        itertools::Itertools::partition_result(tried.into_iter());
    let of = |ranked: &Ranked| ranked.measure.clone().unwrap_or_default();
    let fastest = ranked.iter().map(|ranked| of(ranked).cycles).min().unwrap_or(0);
    ranked
        .into_iter()
        .filter(|ranked| of(ranked).cycles - fastest <= fastest / SAME_SPEED)
        .min_by(|a, b| of(a).energy_j.total_cmp(&of(b).energy_j))
        .ok_or(rejected)
}
