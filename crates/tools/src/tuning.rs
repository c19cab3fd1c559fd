//! The context of searching and choosing programs of a model, and the best program of a schedule.

use crate::progress::Line;
use egg::Symbol;
use ember_compile::cost::Goal;
use ember_compile::groups::{Chooser, Chosen, Rival, Searched, Unfinished, no_program};
use ember_compile::pipeline::{Case, Inputs, Options, consistent, goal, search};
use ember_compile::workload::Statistics;
use ember_engine::saturate::Progress;
use ember_host::threads;
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_language::rules::{Exactness, Schedule};
use itertools::Itertools;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The cycles for which the candidates of a schedule that only serves for comparison are run, for each group. It is of
/// consequence for slow programs only, whose candidates differ little and take most of the time.
const COMPARED: u64 = 15_000_000;

/// The context for which programs are searched and chosen.
pub struct Tuning<'a> {
    /// Rules, model and machine.
    pub inputs: &'a Inputs,
    /// The data on which candidates are ranked.
    pub case: &'a Case,
    /// The statistics of loops and loads in that data.
    pub statistics: Statistics<'a>,
    /// The user's options.
    pub options: &'a Options,
    /// The searches of schedules, by name.
    found: Mutex<BTreeMap<String, Arc<Searched>>>,
    /// The results of schedules, by name.
    known: Mutex<BTreeMap<String, Arc<Attempt>>>,
}

/// The result of a schedule for a model.
pub struct Attempt {
    /// The search.
    pub searched: Arc<Searched>,
    /// The program, or the reason why there is none.
    pub chosen: Result<Chosen, Unfinished>,
    /// The least exact level of the rules that changed something, in this search or in those of other candidates.
    pub exactness: Exactness,
}

impl Attempt {
    /// Returns the program of a schedule; an error with the reason if there is none.
    pub fn program(&self, inputs: &Inputs, schedule: &Schedule) -> Checked<&Chosen> {
        self.chosen.as_ref().map_err(|why| vec![self.reason(inputs, schedule, why)])
    }

    /// Returns the reason why a schedule has no program.
    pub fn reason(&self, inputs: &Inputs, schedule: &Schedule, why: &Unfinished) -> Diagnostic {
        no_program(inputs, schedule, &self.searched, why)
    }
}

impl<'a> Tuning<'a> {
    /// Computes the statistics of the data.
    pub fn new(inputs: &'a Inputs, case: &'a Case, options: &'a Options) -> Tuning<'a> {
        let statistics = case.statistics(inputs);
        Tuning {
            inputs,
            case,
            statistics,
            options,
            found: Mutex::default(),
            known: Mutex::default(),
        }
    }

    /// Searches with a schedule and chooses by simulation, also among the programs of its rivals, which are the schedules
    /// that it names besides its own rules. A schedule whose rules contradict each other is an error.
    pub fn best_of(&self, schedule: &Schedule, line: &Line) -> Checked<Attempt> {
        let names = self.rivals(schedule);
        let found = threads::map(&names, |name| self.found(name, line));
        let found = found.into_iter().collect::<Checked<Vec<_>>>()?;
        let rivals: Vec<Rival<'_>> =
            found.iter().map(|searched| Rival { searched, chosen: None }).collect();
        let goal = goal(&self.inputs.book, schedule);
        let own = self.best_among(schedule, self.search(schedule, goal, line)?, &rivals, line);
        let exactness = found.iter().map(|searched| searched.exactness());
        Ok(Attempt { exactness: exactness.fold(own.exactness, Ord::max), ..own })
    }

    /// Returns the names of a schedule's rivals; none if nothing is simulated, because estimates do not compare programs of
    /// different searches.
    pub fn rivals(&self, schedule: &Schedule) -> Vec<&'static str> {
        let names = if self.options.rank { schedule.rivals() } else { Vec::new() };
        names.iter().map(Symbol::as_str).unique().collect()
    }

    /// Returns the results of several schedules, in their order.
    pub fn all_known(&self, names: &[&str], line: &Line) -> Checked<Vec<Arc<Attempt>>> {
        let distinct: Vec<&str> = names.iter().copied().unique().collect();
        let found = threads::map(&distinct, |name| self.known(name, line));
        found.into_iter().collect::<Checked<Vec<_>>>()?;
        names.iter().map(|name| self.known(name, line)).collect()
    }

    /// Returns the result of a schedule by name, chosen once. Only its own programs are candidates.
    fn known(&self, name: &str, line: &Line) -> Checked<Arc<Attempt>> {
        if let Some(known) = lock(&self.known).get(name) {
            return Ok(Arc::clone(known));
        }
        let schedule = self.inputs.schedule(name)?;
        let known = Arc::new(self.best_among(schedule, self.found(name, line)?, &[], line));
        lock(&self.known).insert(name.to_owned(), Arc::clone(&known));
        Ok(known)
    }

    /// Returns the search of a schedule by name, done once.
    fn found(&self, name: &str, line: &Line) -> Checked<Arc<Searched>> {
        if let Some(found) = lock(&self.found).get(name) {
            return Ok(Arc::clone(found));
        }
        let schedule = self.inputs.schedule(name)?;
        let found = self.search(schedule, goal(&self.inputs.book, schedule), line)?;
        lock(&self.found).insert(name.to_owned(), Arc::clone(&found));
        Ok(found)
    }

    /// Searches with a schedule and chooses by simulation among the programs that it finds itself.
    pub fn own(&self, schedule: &Schedule, goal: Goal, line: &Line) -> Checked<Attempt> {
        Ok(self.best_among(schedule, self.search(schedule, goal, line)?, &[], line))
    }

    fn search(&self, schedule: &Schedule, goal: Goal, line: &Line) -> Checked<Arc<Searched>> {
        let name = schedule.name.as_str();
        let progress = |progress: Progress| line.say(format!("{name}: {} e-nodes", progress.nodes));
        let Tuning { inputs, statistics, options, .. } = self;
        let searched = search(inputs, statistics, options, schedule, goal, &progress);
        consistent(&searched, name)?;
        Ok(Arc::new(searched))
    }

    fn best_among(
        &self,
        schedule: &Schedule,
        searched: Arc<Searched>,
        rivals: &[Rival<'_>],
        line: &Line,
    ) -> Attempt {
        let Tuning { inputs, case, options, .. } = self;
        let name = schedule.name.as_str();
        line.say(format!("{name}: ranking {} candidates", searched.candidates()));
        let rank = options.rank.then_some(*case);
        let mut chooser = Chooser::new(inputs, rank, searched.goal);
        match name == options.schedule {
            true => chooser.in_context = true,
            false => chooser.budget = COMPARED,
        }
        let chosen = chooser.choose_among(&searched, rivals);
        Attempt { exactness: searched.exactness(), searched, chosen }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
