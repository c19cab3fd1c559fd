//! The context of searching and choosing programs of a model, and the best program of a schedule.

use crate::progress::Line;
use ember_compile::cost::Goal;
use ember_compile::groups::{Chosen, Searched, choose};
use ember_compile::pipeline::{Case, Inputs, Options, consistent, no_program, search};
use ember_compile::workload::Statistics;
use ember_language::diagnostic::Checked;
use ember_language::rules::Schedule;
use std::time::{Duration, Instant};

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
}

impl<'a> Tuning<'a> {
    /// Computes the statistics of the data.
    pub fn new(inputs: &'a Inputs, case: &'a Case, options: &'a Options) -> Tuning<'a> {
        Tuning { inputs, case, statistics: case.statistics(&inputs.model), options }
    }

    /// Searches with a schedule and chooses by simulation. A schedule that finds nothing is an error with its reason,
    /// and so is a schedule whose rules contradict each other.
    pub fn best_of(
        &self,
        schedule: &Schedule,
        goal: Goal,
        simulate_time: &mut Duration,
        line: &Line,
    ) -> Checked<(Searched, Chosen)> {
        let Tuning { inputs, case, statistics, options } = self;
        let name = schedule.name.as_str();
        let searched = search(inputs, statistics, options, schedule, goal, &|progress| {
            line.say(format!("{name}: {} e-nodes", progress.nodes));
        });
        consistent(&searched, name)?;
        line.say(format!("{name}: ranking {} candidates", searched.candidates()));
        let start = Instant::now();
        let chosen = choose(inputs, options.rank.then_some(*case), &searched, goal)
            .map_err(|rejected| vec![no_program(&searched, name, &rejected)])?;
        *simulate_time += start.elapsed();
        Ok((searched, chosen))
    }
}
