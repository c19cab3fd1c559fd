//! The choice of one program from the candidates of every group.

use super::compose::compose;
use super::group::Plan;
use super::searched::Searched;
use crate::cost::Goal;
use crate::decouple::ModelContext;
use crate::pipeline::{Case, Failure, Inputs, NoProgram, lower};
use crate::ranking::Measure;
use crate::search::Candidate;
use ember_host::threads;
use ember_language::term::Term;
use ember_sim::SimError;
use ember_targets::dlc::TensorId;
use ember_targets::verify::Verified;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// The inverse of the relative difference in cycles below which two programs count as equally fast, because other data
/// could reverse their order.
const SAME_SPEED: u64 = 20_000;

/// The ratio to a limit from which on an estimate counts as far above it: more than the cost model errs for most programs.
const FAR: f64 = 1.4;

/// A program chosen from candidates.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The kind of program.
    pub goal: Goal,
    /// The term.
    pub term: Term,
    /// The program.
    pub program: Verified,
    /// The choice for each group, in order.
    pub groups: Vec<ChosenGroup>,
}

/// The choice for one group.
#[derive(Clone, Debug)]
pub struct ChosenGroup {
    /// The statements, by their positions in the model.
    pub statements: Vec<usize>,
    /// The group that was searched in place of this one; the group itself unless it equals an earlier one.
    pub like: usize,
    /// The chosen candidate, in the names of the group that was searched.
    pub candidate: Candidate,
    /// The measure of its program alone on the data it was chosen on; `None` without data.
    pub measure: Option<Measure>,
}

/// A candidate of one group with its program.
pub struct Ranked {
    pub candidate: Candidate,
    pub program: Verified,
    pub measure: Option<Measure>,
}

/// The first group of a model for which no program was found.
#[derive(Clone, Debug)]
pub struct Unfinished {
    /// The group.
    pub group: usize,
    /// The reasons why its candidates are no programs; empty if there are no candidates.
    pub rejected: Vec<NoProgram>,
}

/// The choice among programs of one kind.
#[derive(Clone, Copy)]
pub struct Chooser<'a> {
    /// Rules, model and machine.
    pub inputs: &'a Inputs,
    /// The data on which candidates run. Without it, the choice is the best by the cost model.
    pub rank: Option<&'a Case>,
    /// The kind of program.
    pub goal: Goal,
    /// The most cycles of a program of interest; no candidate is run for longer. If a group's first candidate takes more
    /// by the cost model and in fact, the search's others are not run.
    pub cycles: u64,
    /// The cycles of a program that is good enough: if a group's first candidate takes no more, no other is run.
    pub enough: u64,
    /// The most cycles that the runs of a group's candidates after the first may take together, if each takes as long as
    /// the first. Candidates beyond are not run. A first candidate that takes more alone is the choice.
    pub budget: u64,
}

impl<'a> Chooser<'a> {
    /// Builds the choice among programs that may take as long as the case allows.
    pub fn new(inputs: &'a Inputs, rank: Option<&'a Case>, goal: Goal) -> Chooser<'a> {
        Chooser { inputs, rank, goal, cycles: u64::MAX, enough: 0, budget: u64::MAX }
    }

    /// Chooses a candidate of each group and composes the candidates into one program. With a case, the choice for each
    /// group is the candidate that runs fastest on it alone; among equally fast ones, the candidate with the least
    /// energy, and the first of equals. Candidates that the verifier rejects or that fail to finish are skipped, and the
    /// reasons are returned if none is left.
    pub fn choose(&self, searched: &Searched) -> Result<Chosen, Unfinished> {
        self.choose_among(searched, &[])
    }

    /// [`choose`](Chooser::choose) with the programs that other schedules found for the same groups among the
    /// candidates. Programs of different kinds cannot be composed, and the groups' programs may hinder each other; so
    /// one of the others' whole programs is the choice if it runs faster than the composition of the groups' fastest.
    pub fn choose_among(
        &self,
        searched: &Searched,
        others: &[&Chosen],
    ) -> Result<Chosen, Unfinished> {
        let (alike, unlike): (Vec<&Chosen>, Vec<&Chosen>) =
            others.iter().partition(|other| other.goal == self.goal);
        let own = self.choose_each(searched, &alike);
        let Some(case) = self.rank else { return own };
        // The program of a model of one group was compared with those of its kind already.
        let compared = searched.plan.groups.len() == 1 && own.is_ok();
        let whole = unlike.into_iter().chain(if compared { Vec::new() } else { alike });
        let whole: Vec<&Chosen> = whole.collect();
        if whole.is_empty() {
            return own;
        }
        let cycles = |chosen: &Chosen, limit: u64| {
            let measure = case.rank_within(&chosen.program, &self.inputs.machine, limit);
            measure.map_or(u64::MAX, |measure| measure.cycles)
        };
        // What takes longer than the own program is not run to its end.
        let fastest = own.as_ref().map_or(u64::MAX, |own| cycles(own, self.cycles));
        let measured = threads::map(&whole, |chosen| cycles(chosen, self.cycles.min(fastest)));
        match whole.iter().zip(measured).min_by_key(|(_, cycles)| *cycles) {
            // The own program is the first of equals.
            Some((best, cycles)) if own.is_err() || cycles < fastest => Ok((*best).clone()),
            _ => own,
        }
    }

    fn choose_each(&self, searched: &Searched, others: &[&Chosen]) -> Result<Chosen, Unfinished> {
        let plan = &searched.plan;
        let found: Vec<_> = searched.found.iter().collect();
        // Once a group alone takes too long, so does the whole, and no other group needs to run.
        let too_long = AtomicBool::new(false);
        let slow = |why: &NoProgram| why.takes_more_than(self.cycles);
        let best = threads::map(&found, |&(at, found)| {
            let others = others.iter().filter_map(|other| Some(&other.groups.get(*at)?.candidate));
            let others: Vec<&Candidate> = others.collect();
            let best = if too_long.load(Ordering::Relaxed) {
                let cut = SimError::Cycles { limit: self.cycles };
                let first = self.first_of(plan, *at, &found.candidates, &others);
                first.and(Err(vec![NoProgram::Run(Failure::Run(cut))]))
            } else {
                self.best_of(plan, *at, &found.candidates, &others)
            };
            let is_slow = best.as_ref().is_err_and(|rejected| rejected.iter().any(slow));
            too_long.fetch_or(is_slow, Ordering::Relaxed);
            (*at, best)
        });
        let (mut ranked, mut failed) = (BTreeMap::new(), Vec::new());
        for (group, best) in best {
            match best {
                Ok(best) => {
                    ranked.insert(group, best);
                }
                Err(rejected) => failed.push(Unfinished { group, rejected }),
            }
        }
        // The first group without any program, or else the first that takes too long, whichever threads were faster.
        failed.sort_by_key(|unfinished| unfinished.rejected.iter().any(slow));
        if let Some(first) = failed.into_iter().next() {
            return Err(first);
        }
        let mut groups = Vec::with_capacity(plan.groups.len());
        let mut parts: Vec<(Term, Verified)> = Vec::with_capacity(plan.groups.len());
        for (at, group) in plan.groups.iter().enumerate() {
            let like = plan.like[at];
            let Some(best) = ranked.get(&like) else { continue };
            let term = plan.term(at, &best.candidate.term);
            let program = match like == at {
                true => best.program.clone(),
                false => self.lower(&term, &group.context).map_err(|why| unfinished(at, why))?,
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
        let (goal, context) = (self.goal, self.inputs.context());
        let borrowed: Vec<_> = parts.iter().map(|(term, p)| (term, p.program())).collect();
        let operators = self.inputs.book.signature.table();
        let term = compose(operators, goal, &context, &borrowed)
            .ok_or_else(|| unfinished(0, NoProgram::Apart))?;
        let program = self.lower(&term, &context).map_err(|why| unfinished(0, why))?;
        Ok(Chosen { goal, term, program, groups })
    }

    fn lower(&self, term: &Term, context: &ModelContext) -> Result<Verified, NoProgram> {
        let operators = self.inputs.book.signature.table();
        lower(operators, &self.inputs.machine, term, context, self.goal)
    }

    /// Returns a candidate of one group with its program, which is not run.
    fn unmeasured(
        &self,
        plan: &Plan,
        at: usize,
        candidate: &Candidate,
    ) -> Result<Ranked, NoProgram> {
        let program = self.lower(&plan.term(at, &candidate.term), &plan.groups[at].context)?;
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

    /// Returns the first candidate of one group that has a program: the best by the cost model, which has ordered them.
    fn first_of(
        &self,
        plan: &Plan,
        at: usize,
        own: &[Candidate],
        others: &[&Candidate],
    ) -> Result<Ranked, Vec<NoProgram>> {
        let mut rejected = Vec::new();
        for candidate in own.iter().chain(others.iter().copied()) {
            match self.unmeasured(plan, at, candidate) {
                Ok(ranked) => return Ok(ranked),
                Err(why) => rejected.push(why),
            }
        }
        Err(rejected)
    }

    /// Returns the best candidate of one group: of its own, in the order of the cost model, and of other searches'.
    pub fn best_of(
        &self,
        plan: &Plan,
        at: usize,
        own: &[Candidate],
        others: &[&Candidate],
    ) -> Result<Ranked, Vec<NoProgram>> {
        let Some(case) = self.rank else { return self.first_of(plan, at, own, others) };
        let try_one = |candidate: &Candidate, limit: u64| -> Result<Ranked, NoProgram> {
            let ranked = self.unmeasured(plan, at, candidate)?;
            let measure = case.rank_within(&ranked.program, &self.inputs.machine, limit)?;
            Ok(Ranked { measure: Some(measure), ..ranked })
        };
        let of = |ranked: &Ranked| ranked.measure.clone().unwrap_or_default();
        // The first candidate that runs bounds the others: what takes noticeably longer is not run to its end. The
        // bound is the same for all of them, so that the choice does not depend on the order in which threads finish.
        let mut tried = Vec::with_capacity(own.len() + others.len());
        let mut rest = own.iter();
        let mut limit = self.cycles;
        let mut enough = false;
        for candidate in rest.by_ref() {
            tried.push(try_one(candidate, self.cycles.min(self.budget)));
            match tried.last() {
                Some(Err(why)) if self.budget < self.cycles && why.takes_more_than(self.budget) => {
                    return self.unmeasured(plan, at, candidate).map_err(|why| vec![why]);
                }
                Some(Ok(first)) => {
                    let cycles = of(first).cycles;
                    limit = cycles.saturating_add(cycles / SAME_SPEED);
                    enough = cycles <= self.enough;
                    let more = usize::try_from(self.budget / cycles.max(1)).unwrap_or(usize::MAX);
                    rest = rest.as_slice()[..rest.len().min(more)].iter();
                    break;
                }
                Some(Err(why)) if why.takes_more_than(self.cycles) => {
                    // By the cost model, too, the rest is far from being of interest.
                    let far = candidate.estimate > FAR * self.cycles as f64;
                    rest = if far { [].iter() } else { rest };
                    break;
                }
                _ => {}
            }
        }
        if !enough {
            let rest: Vec<&Candidate> = rest.chain(others.iter().copied()).collect();
            tried.extend(threads::map(&rest, |candidate| try_one(candidate, limit)));
        }
        let (ranked, rejected): (Vec<Ranked>, Vec<NoProgram>) =
            itertools::Itertools::partition_result(tried.into_iter());
        let fastest = ranked.iter().map(|ranked| of(ranked).cycles).min().unwrap_or(0);
        ranked
            .into_iter()
            .filter(|ranked| of(ranked).cycles - fastest <= fastest / SAME_SPEED)
            .min_by(|a, b| of(a).energy_j.total_cmp(&of(b).energy_j))
            .ok_or(rejected)
    }
}

fn unfinished(group: usize, why: NoProgram) -> Unfinished {
    Unfinished { group, rejected: vec![why] }
}
