//! The candidates of one group: which of them run, for how long, and the best.
//!
//! Candidates that have run bound the next ones: what takes noticeably longer is not run to its end. All bounds are fixed
//! before the candidates run that they apply to, so that no choice depends on the order in which threads finish.

use super::choose::{Chooser, ChosenGroup};
use super::group::Plan;
use crate::pipeline::{Failure, NoProgram};
use crate::ranking::Measure;
use crate::search::Candidate;
use ember_host::threads;
use ember_sim::{SimError, Values};
use ember_targets::dlc::TensorId;
use ember_targets::verify::Verified;
use itertools::Itertools;

/// The inverse of the relative difference in cycles below which two programs count as equally fast, because other data
/// could reverse their order.
const SAME_SPEED: u64 = 20_000;

/// The ratio to the fastest candidate of a group within which another may be faster beside the other groups, for
/// [`BRIEF`] ones and for others: what the other groups leave in caches and queues makes up for no more.
const NEAR: [f64; 2] = [1.2, 1.03];

/// The number of candidates that run within one limit. The fastest of them bounds the next ones.
const TOGETHER: usize = 4;

/// The ratio to a limit from which on a time counts as far above it: more than the cost model errs for most programs, and
/// more than the candidates of one group make of a whole program of several.
const FAR: f64 = 1.4;

/// The ratio of two estimates from which on the cost model is right about the order of two programs. The least exact
/// estimates, those of programs without access unit, are up to 2.4 times too high.
pub(super) const CERTAIN: f64 = 3.0;

/// The cycles of a program up to which others run, whatever their estimates are: fixed costs, which estimates leave out,
/// decide, and such runs take no time.
pub(super) const BRIEF: u64 = 100_000;

/// Returns the most cycles of a program that counts as fast as one of some cycles.
fn as_fast(cycles: u64) -> u64 {
    cycles.saturating_add(cycles / SAME_SPEED)
}

/// A candidate of one group with its program.
#[derive(Clone)]
pub struct Ranked {
    pub candidate: Candidate,
    pub program: Verified,
    pub measure: Option<Measure>,
}

impl Ranked {
    pub(super) fn cycles(&self) -> u64 {
        self.measure.as_ref().map_or(0, |measure| measure.cycles)
    }
}

/// The choice for one group.
pub(super) struct Choice {
    /// The fastest candidate, alone.
    pub(super) best: Ranked,
    /// The fastest ones after it, of different cycles.
    pub(super) runners_up: Vec<Ranked>,
}

impl Choice {
    fn only(best: Ranked) -> Choice {
        Choice { best, runners_up: Vec::new() }
    }
}

/// The candidates of one group.
pub(super) struct Task<'a> {
    pub(super) plan: &'a Plan,
    /// The group.
    pub(super) at: usize,
    /// The candidates of the search, in the order of the cost model.
    pub(super) own: &'a [Candidate],
    /// The candidates of other searches.
    pub(super) others: Vec<&'a Candidate>,
    /// A choice that is good enough, and the relative difference in cycles that does not matter.
    pub(super) enough: Option<(&'a ChosenGroup, f64)>,
}

impl Task<'_> {
    /// Returns the estimate of the best candidate by the cost model.
    fn estimate(&self) -> f64 {
        self.own.first().map_or(0.0, |first| first.estimate)
    }

    /// Returns the cycles of a candidate that is good enough.
    fn enough(&self) -> u64 {
        let measured = self.enough.and_then(|(choice, within)| {
            Some((choice.measure.as_ref()?.cycles as f64 * (1.0 + within)) as u64)
        });
        measured.unwrap_or(0)
    }
}

/// The state of a task once a first candidate has run.
pub(super) struct Started {
    /// The candidates up to it that have no program, or do not finish.
    rejected: Vec<NoProgram>,
    first: First,
    /// The number of the search's candidates, from the beginning, that have been tried or need not be.
    done: usize,
}

/// The first candidate that runs.
enum First {
    /// There is none.
    Missing,
    /// It is the choice: it is good enough, or takes so long that the others are not worth their time.
    Settled(Ranked),
    Ran(Ranked),
    /// It takes longer than what is of interest, at least so many cycles.
    Slow(u64),
    /// It takes so much longer that the search's others need not run.
    Hopeless,
}

impl First {
    /// Returns the cycles that its group takes at least.
    fn cycles(&self) -> u64 {
        match self {
            First::Missing => 0,
            First::Settled(ranked) | First::Ran(ranked) => ranked.cycles(),
            First::Slow(cycles) => *cycles,
            First::Hopeless => u64::MAX,
        }
    }
}

impl Chooser<'_> {
    /// Returns the error of a program that takes more cycles than are of interest.
    pub(super) fn cut(&self) -> NoProgram {
        NoProgram::Run(Failure::Run(SimError::Cycles { limit: self.cycles }))
    }

    /// The most cycles of a candidate of a group that may be the choice beside one of some cycles.
    fn near(&self, task: &Task<'_>, cycles: u64) -> u64 {
        match self.in_context && task.plan.groups.len() > 1 {
            true => (cycles as f64 * NEAR[usize::from(cycles > BRIEF)]) as u64,
            false => as_fast(cycles),
        }
    }

    /// The cycles that are far more than those of interest.
    fn far(&self) -> u64 {
        (self.cycles as f64 * FAR) as u64
    }

    /// Returns true if the first candidates of several groups show that no whole program is of interest: one of them
    /// alone takes far too long, or all of them together.
    pub(super) fn take_too_long(&self, plan: &Plan, tasks: &[(Task<'_>, Started)]) -> bool {
        let mut whole = 0u64;
        for like in &plan.like {
            let Some((_, started)) = tasks.iter().find(|(task, _)| task.at == *like) else {
                continue;
            };
            whole = whole.saturating_add(started.first.cycles());
        }
        plan.groups.len() > 1 && self.cycles < u64::MAX && whole > self.far()
    }

    /// Returns the program of a candidate for one group.
    pub fn program_of(
        &self,
        plan: &Plan,
        at: usize,
        candidate: &Candidate,
    ) -> Result<Verified, NoProgram> {
        self.lower(&plan.term(at, &candidate.term), &plan.groups[at].context)
    }

    /// Returns the cycles of a candidate's program, which computes integers alone.
    pub fn cycles_of(
        &self,
        plan: &Plan,
        at: usize,
        candidate: &Candidate,
    ) -> Result<u64, NoProgram> {
        let task = Task { plan, at, own: &[], others: Vec::new(), enough: None };
        let ranked = self.measured(&task, candidate, self.cycles, Values::Integers)?;
        Ok(ranked.cycles())
    }

    /// Returns a candidate of one group with its program, which is not run.
    fn unmeasured(&self, task: &Task<'_>, candidate: &Candidate) -> Result<Ranked, NoProgram> {
        let Task { plan, at, .. } = *task;
        let program = self.program_of(plan, at, candidate)?;
        let computed = &self.inputs.model.computed;
        let is_early = |(_, tensor): &(_, TensorId)| {
            let name = &program.program().tensors[tensor.index()].name;
            computed.iter().any(|other| other.tensor.name == *name)
        };
        if program.program().loaded_first().iter().any(is_early) {
            return Err(NoProgram::Early);
        }
        Ok(Ranked { candidate: candidate.clone(), program, measure: None })
    }

    /// Returns a candidate of one group with the measure of its program, which takes at most `limit` cycles.
    fn measured(
        &self,
        task: &Task<'_>,
        candidate: &Candidate,
        limit: u64,
        values: Values,
    ) -> Result<Ranked, NoProgram> {
        let ranked = self.unmeasured(task, candidate)?;
        let Some(case) = self.rank else { return Ok(ranked) };
        let measure = case.rank_within(&ranked.program, &self.inputs.machine, limit, values)?;
        Ok(Ranked { measure: Some(measure), ..ranked })
    }

    /// Returns the first candidate of one group that has a program: the best by the cost model, which has ordered them.
    pub(super) fn first_of(&self, task: &Task<'_>) -> Result<Ranked, Vec<NoProgram>> {
        let mut rejected = Vec::new();
        for candidate in task.own.iter().chain(task.others.iter().copied()) {
            match self.unmeasured(task, candidate) {
                Ok(ranked) => return Ok(ranked),
                Err(why) => rejected.push(why),
            }
        }
        Err(rejected)
    }

    /// Returns the choice that is good enough, if it is among the candidates.
    fn same(&self, task: &Task<'_>) -> Option<Ranked> {
        let (choice, _) = task.enough?;
        let same = task.own.iter().find(|candidate| candidate.term == choice.candidate.term)?;
        let ranked = self.unmeasured(task, same).ok()?;
        Some(Ranked { measure: choice.measure.clone(), ..ranked })
    }

    /// Starts all groups. If programs beyond some cycles are of no interest, the groups share those cycles, and the
    /// slowest by the cost model are the first.
    pub(super) fn start_all<'t>(&self, mut tasks: Vec<Task<'t>>) -> Vec<(Task<'t>, Started)> {
        let mut left = self.far();
        if left == u64::MAX {
            let started = threads::map(&tasks, |task| self.start(task, left));
            return tasks.into_iter().zip(started).collect();
        }
        tasks.sort_by(|a, b| b.estimate().total_cmp(&a.estimate()));
        let started = tasks.into_iter().map(|task| {
            let started = self.start(&task, left);
            left = left.saturating_sub(started.first.cycles());
            (task, started)
        });
        started.sorted_by_key(|(task, _)| task.at).collect()
    }

    /// Runs the candidates of one group until one comes to its end or takes too long: more than is of interest, or than is
    /// `left` of that beside the groups that have been started.
    pub(super) fn start(&self, task: &Task<'_>, left: u64) -> Started {
        let mut rejected = Vec::new();
        if self.rank.is_none() {
            return Started { rejected, first: First::Missing, done: 0 };
        }
        if let Some(first) = self.same(task) {
            return Started { rejected, first: First::Settled(first), done: task.own.len() };
        }
        let several = task.plan.groups.len() > 1;
        // The only group's first candidate is likely to be the choice, whose results are judged, unless the choice is only
        // to be compared with another.
        let judged = !several && self.enough.is_none();
        let values = if judged { Values::All } else { Values::Integers };
        for (done, candidate) in (1..).zip(task.own) {
            // What is far too slow by the cost model, too, is not run to see by how much.
            let far = candidate.estimate > self.far() as f64;
            let limit = if several && !far { left } else { self.cycles.min(left) };
            // The first candidate is the choice if the budget does not suffice for a second.
            let alone = candidate.estimate > self.budget as f64 / 2.0 * CERTAIN;
            let run = match alone {
                true => Err(NoProgram::Run(Failure::Run(SimError::Cycles { limit: self.budget }))),
                false => self.measured(task, candidate, limit.min(self.budget), values),
            };
            let first = match run {
                Ok(first) if first.cycles() > self.cycles => First::Slow(first.cycles()),
                Ok(first) if first.cycles() <= task.enough() => First::Settled(first),
                Ok(first) => First::Ran(first),
                Err(why) if why.takes_more_than(limit) => match several || far {
                    true => First::Hopeless,
                    false => First::Slow(self.cycles),
                },
                Err(why) if why.takes_more_than(self.budget) => {
                    match self.unmeasured(task, candidate) {
                        Ok(first) => First::Settled(first),
                        Err(why) => {
                            rejected.push(why);
                            continue;
                        }
                    }
                }
                Err(why) => {
                    rejected.push(why);
                    continue;
                }
            };
            return Started { rejected, first, done };
        }
        Started { rejected, first: First::Missing, done: task.own.len() }
    }

    /// Returns the choice for one group that has been started.
    pub(super) fn finish(
        &self,
        task: &Task<'_>,
        started: &Started,
    ) -> Result<Choice, Vec<NoProgram>> {
        if self.rank.is_none() {
            return self.first_of(task).map(Choice::only);
        }
        let mut rest = &task.own[started.done..];
        let (mut more, mut slowest) = (usize::MAX, f64::INFINITY);
        let mut limit = self.cycles;
        let mut ranked = Vec::new();
        let mut rejected = started.rejected.clone();
        match &started.first {
            First::Missing => {}
            First::Settled(first) => return Ok(Choice::only(first.clone())),
            First::Ran(first) => {
                let cycles = first.cycles();
                limit = limit.min(self.near(task, cycles));
                let runs = self.budget / cycles.max(1);
                more = usize::try_from(runs).unwrap_or(usize::MAX).saturating_sub(1);
                if cycles > BRIEF {
                    slowest = first.candidate.estimate * CERTAIN;
                }
                ranked.push(first.clone());
            }
            First::Slow(_) => rejected.push(self.cut()),
            First::Hopeless => {
                rest = &[];
                rejected.push(self.cut());
            }
        }
        let in_question =
            |candidate: &&Candidate| candidate.estimate <= slowest && candidate.place < self.places;
        let others = task.others.iter().copied().filter(in_question);
        let rest: Vec<&Candidate> =
            rest.iter().filter(in_question).take(more).chain(others).collect();
        for together in rest.chunks(TOGETHER) {
            for tried in threads::map(together, |candidate| {
                self.measured(task, candidate, limit, Values::Integers)
            }) {
                match tried {
                    Ok(other) => {
                        limit = limit.min(self.near(task, other.cycles()));
                        ranked.push(other);
                    }
                    Err(why) => rejected.push(why),
                }
            }
        }
        let fastest = ranked.iter().map(Ranked::cycles).min().unwrap_or(0);
        let energy = |ranked: &Ranked| ranked.measure.as_ref().map_or(0.0, |m| m.energy_j);
        let fast = ranked.iter().enumerate().filter(|(_, r)| r.cycles() <= as_fast(fastest));
        let best = fast.min_by(|(_, a), (_, b)| energy(a).total_cmp(&energy(b)));
        let (best, _) = best.ok_or(rejected)?;
        let best = ranked.remove(best);
        // Candidates of equal cycles are nearly always alike beside other groups, too.
        ranked.sort_by_key(Ranked::cycles);
        ranked.dedup_by_key(|ranked| ranked.cycles());
        ranked.retain(|other| other.cycles() != best.cycles() && other.cycles() <= limit);
        Ok(Choice { best, runners_up: ranked })
    }

    /// Returns the best candidate of one group.
    pub fn best_of(
        &self,
        plan: &Plan,
        at: usize,
        own: &[Candidate],
    ) -> Result<Ranked, Vec<NoProgram>> {
        let task = Task { plan, at, own, others: Vec::new(), enough: None };
        self.finish(&task, &self.start(&task, self.far())).map(|choice| choice.best)
    }
}
