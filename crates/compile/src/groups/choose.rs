//! The choice of one program from the candidates of every group.

use super::candidates::{BRIEF, CERTAIN, Ranked, Task};
use super::compose::compose;
use super::group::Plan;
use super::searched::Searched;
use crate::cost::Goal;
use crate::decouple::ModelContext;
use crate::pipeline::{Case, Inputs, NoProgram, lower};
use crate::ranking::Measure;
use crate::search::Candidate;
use ember_host::threads;
use ember_language::term::Term;
use ember_sim::Values;
use ember_targets::verify::Verified;
use std::collections::BTreeMap;

/// The part of a whole program's cycles from which on a group's candidates are tried beside the other groups.
const COUNTS: f64 = 0.02;

/// The most candidates of a group that are tried beside the other groups, after the fastest, unless such runs are
/// [`BRIEF`].
const RUNNERS_UP: usize = 8;

/// The candidates of the groups that are searched, by group.
type Picked = BTreeMap<usize, Ranked>;

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

/// The search of another schedule for the same model.
#[derive(Clone, Copy)]
pub struct Rival<'a> {
    /// The search.
    pub searched: &'a Searched,
    /// The program that it chose, if it has chosen.
    pub chosen: Option<&'a Chosen>,
}

/// The first group of a model for which no program was found.
#[derive(Clone, Debug)]
pub struct Unfinished {
    /// The group.
    pub group: usize,
    /// The reasons why its candidates are no programs; empty if there are no candidates.
    pub rejected: Vec<NoProgram>,
}

/// A program that is good enough. A group that has its term among the candidates keeps it, and a group whose first
/// candidate is about as fast as its part keeps that candidate; no other is run.
#[derive(Clone, Copy)]
pub struct Enough<'a> {
    /// The program, from a search of the same groups.
    pub chosen: &'a Chosen,
    /// The relative difference in cycles that does not matter.
    pub within: f64,
}

impl Enough<'_> {
    /// Returns the part of the program that is a group's.
    fn of(&self, plan: &Plan, at: usize) -> Option<&ChosenGroup> {
        let part = self.chosen.groups.get(at)?;
        (part.like == at && part.statements == plan.groups[at].statements).then_some(part)
    }
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
    /// The most cycles of a program of interest; no candidate is run for longer, but for the first of a group in a model
    /// of several. If those take far more, no other is run.
    pub cycles: u64,
    /// The candidates of each kind that are run, of those of the search.
    pub places: usize,
    /// A program that need not be beaten.
    pub enough: Option<Enough<'a>>,
    /// True to try the runners-up of each group by runs of the whole program.
    pub in_context: bool,
    /// The most cycles that the runs of a group's candidates may take together, if each takes as long as the first.
    /// Candidates beyond are not run. A first candidate that takes more alone is the choice.
    pub budget: u64,
}

impl<'a> Chooser<'a> {
    /// Builds the choice among programs that may take as long as the case allows.
    pub fn new(inputs: &'a Inputs, rank: Option<&'a Case>, goal: Goal) -> Chooser<'a> {
        let (cycles, budget, places) = (u64::MAX, u64::MAX, usize::MAX);
        Chooser { inputs, rank, goal, cycles, places, enough: None, in_context: false, budget }
    }

    /// Chooses a candidate of each group and composes the candidates into one program. With a case, the choice for each
    /// group is the candidate that runs fastest on it alone; among equally fast ones, the candidate with the least
    /// energy, and the first of equals. Candidates that the verifier rejects or that fail to finish are skipped, and the
    /// reasons are returned if none is left.
    pub fn choose(&self, searched: &Searched) -> Result<Chosen, Unfinished> {
        self.choose_among(searched, &[])
    }

    /// [`choose`](Chooser::choose) with the candidates that other schedules found for the same groups among the
    /// candidates. Programs of different kinds cannot be composed, and the groups' programs may hinder each other; so
    /// one of the others' whole programs is the choice if it runs faster than the composition of the groups' fastest.
    pub fn choose_among(
        &self,
        searched: &Searched,
        rivals: &[Rival<'_>],
    ) -> Result<Chosen, Unfinished> {
        let (alike, unlike): (Vec<Rival<'_>>, Vec<Rival<'_>>) =
            rivals.iter().partition(|rival| rival.searched.goal == self.goal);
        let own = self.choose_each(searched, &alike);
        let Some(case) = self.rank else { return own };
        // The program of a model of one group was compared with those of its kind already.
        let compared = searched.plan.groups.len() == 1 && own.is_ok();
        let whole = unlike.into_iter().chain(if compared { Vec::new() } else { alike });
        let whole: Vec<Rival<'_>> = whole.collect();
        if whole.is_empty() {
            return own;
        }
        let cycles = |chosen: &Chosen, limit: u64| {
            let machine = &self.inputs.machine;
            let measure = case.rank_within(&chosen.program, machine, limit, Values::All);
            measure.map_or(u64::MAX, |measure| measure.cycles)
        };
        let fastest = own.as_ref().map_or(u64::MAX, |own| cycles(own, self.cycles));
        // What takes longer than the own program is not run to its end, and what is sure to is not run.
        let slowest = match own.is_ok() && fastest > BRIEF {
            true => searched.estimate() * CERTAIN,
            false => f64::INFINITY,
        };
        let limit = self.cycles.min(fastest);
        let measured = threads::map(&whole, |rival| {
            if rival.searched.estimate() > slowest {
                return None;
            }
            let chosen = self.whole_of(rival, limit)?;
            let cycles = cycles(&chosen, limit);
            Some((chosen, cycles))
        });
        match measured.into_iter().flatten().min_by_key(|(_, cycles)| *cycles) {
            // The own program is the first of equals.
            Some((best, cycles)) if own.is_err() || cycles < fastest => Ok(best),
            _ => own,
        }
    }

    /// Returns the whole program of another schedule. If it has not been chosen yet, it is chosen among the programs of at
    /// most `limit` cycles, or [`BRIEF`] ones: the groups' fixed costs add up to more than those of the whole.
    fn whole_of(&self, rival: &Rival<'_>, limit: u64) -> Option<Chosen> {
        let Rival { searched, chosen } = *rival;
        let among = Chooser {
            goal: searched.goal,
            cycles: limit.max(BRIEF),
            enough: None,
            in_context: false,
            ..*self
        };
        chosen.cloned().or_else(|| among.choose(searched).ok())
    }

    fn choose_each(&self, searched: &Searched, rivals: &[Rival<'_>]) -> Result<Chosen, Unfinished> {
        let plan = &searched.plan;
        let tasks = searched.found.iter().map(|(at, found)| {
            let others = rivals.iter().filter_map(|rival| rival.searched.found.get(at));
            let others = others.flat_map(|found| &found.candidates);
            let enough = self.enough.as_ref().filter(|enough| enough.chosen.goal == self.goal);
            Task {
                plan,
                at: *at,
                own: &found.candidates,
                others: others.collect(),
                enough: enough.and_then(|enough| Some((enough.of(plan, *at)?, enough.within))),
            }
        });
        let tasks = self.start_all(tasks.collect());
        // Once the first candidates take far too long, alone or together, no other needs to run.
        let too_long = self.take_too_long(plan, &tasks);
        let choices = threads::map(&tasks, |(task, started)| match too_long {
            true => self.first_of(task).and(Err(vec![self.cut()])),
            false => self.finish(task, started),
        });
        let (mut picked, mut runners_up, mut failed) = (Picked::new(), Vec::new(), Vec::new());
        for ((task, _), choice) in tasks.iter().zip(choices) {
            match choice {
                Ok(choice) => {
                    picked.insert(task.at, choice.best);
                    runners_up.push((task.at, choice.runners_up));
                }
                Err(rejected) => failed.push(Unfinished { group: task.at, rejected }),
            }
        }
        // The first group without any program, or else the first that takes too long.
        let slow = |why: &NoProgram| why.takes_more_than(self.cycles);
        failed.sort_by_key(|unfinished| unfinished.rejected.iter().any(slow));
        if let Some(first) = failed.into_iter().next() {
            return Err(first);
        }
        let whole = self.whole(plan, &picked)?;
        Ok(match (self.rank, self.in_context && plan.groups.len() > 1) {
            (Some(case), true) => self.beside_the_others(plan, case, whole, picked, &runners_up),
            _ => whole,
        })
    }

    /// Composes the candidates that were picked for the groups.
    fn whole(&self, plan: &Plan, picked: &Picked) -> Result<Chosen, Unfinished> {
        let mut groups = Vec::with_capacity(plan.groups.len());
        let mut parts: Vec<(Term, Verified)> = Vec::with_capacity(plan.groups.len());
        for (at, group) in plan.groups.iter().enumerate() {
            let like = plan.like[at];
            let Some(best) = picked.get(&like) else { continue };
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

    /// Exchanges the candidate of one group after another for a runner-up that makes the whole program faster: what the
    /// other groups leave in caches and queues is part of a candidate's speed. It ends when no exchange of one group helps.
    fn beside_the_others(
        &self,
        plan: &Plan,
        case: &Case,
        mut best: Chosen,
        mut picked: Picked,
        runners_up: &[(usize, Vec<Ranked>)],
    ) -> Chosen {
        let cycles = |whole: &Chosen, limit: u64, values: Values| {
            let machine = &self.inputs.machine;
            let measure = case.rank_within(&whole.program, machine, limit, values).ok()?;
            Some(measure.cycles)
        };
        let Some(mut fewest) = cycles(&best, self.cycles, Values::All) else { return best };
        let mut tried_since = 0;
        for (group, others) in runners_up.iter().cycle() {
            if tried_since == runners_up.len() {
                break;
            }
            tried_since += 1;
            let counts = |ranked: &Ranked| ranked.cycles() as f64 >= fewest as f64 * COUNTS;
            if !picked.get(group).is_some_and(counts) {
                continue;
            }
            let most = if fewest <= BRIEF { others.len() } else { others.len().min(RUNNERS_UP) };
            let others = &others[..most];
            let tried = threads::map(others, |other| {
                let mut picked = picked.clone();
                picked.insert(*group, other.clone());
                let whole = self.whole(plan, &picked).ok()?;
                let cycles = cycles(&whole, fewest, Values::Integers)?;
                Some((whole, cycles))
            });
            let tried = others.iter().zip(tried).filter_map(|(other, tried)| Some((other, tried?)));
            let fastest = tried.min_by_key(|(_, (_, cycles))| *cycles);
            if let Some((other, (whole, cycles))) = fastest.filter(|(_, (_, n))| *n < fewest) {
                (best, fewest) = (whole, cycles);
                picked.insert(*group, other.clone());
                tried_since = 1;
            }
        }
        best
    }

    pub(super) fn lower(&self, term: &Term, context: &ModelContext) -> Result<Verified, NoProgram> {
        let operators = self.inputs.book.signature.table();
        lower(operators, &self.inputs.machine, term, context, self.goal)
    }
}

fn unfinished(group: usize, why: NoProgram) -> Unfinished {
    Unfinished { group, rejected: vec![why] }
}
