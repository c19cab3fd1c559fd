//! The record of a search, stage by stage, so that questions about it can be answered afterwards.

use egg::Id;
use ember_analysis::facts::{EGraph, Facts};
use ember_compile::search::{Candidate, Event};
use ember_engine::CompiledRule;
use ember_engine::drive::{AppliedAgain, Driver, Observer};
use ember_engine::saturate::{Limits, Saturation};
use ember_language::rules::{Exactness, RuleBook, Schedule, ScheduleStep, Sketch};
use ember_language::term::Term;

/// One stage of a search: the e-graph at the end of the stage, and the event that ended it.
pub struct Stage {
    /// The e-graph, with its journal since the search last started again.
    pub egraph: EGraph,
    /// The class of the program.
    pub root: Id,
    /// The event.
    pub what: What,
}

/// The event that ended a stage.
pub enum What {
    /// Rules were applied.
    Saturated {
        /// The rules that were allowed to run, by their indices in the book.
        rules: Vec<usize>,
        /// The report of each rule, and the reason for the end.
        saturation: Saturation,
    },
    /// The best programs were extracted, and the search started again from them or ended.
    Extracted {
        /// The number of programs requested.
        asked: usize,
        /// The programs, best estimate first.
        candidates: Vec<Candidate>,
        /// True if the search ended here.
        last: bool,
    },
}

/// The stages of a search, in order.
#[derive(Default)]
pub struct History {
    /// The stages.
    pub stages: Vec<Stage>,
}

/// Terms without a model, and the rules that are applied to them.
pub struct Plain<'a> {
    /// The rules' declarations.
    pub book: &'a RuleBook,
    /// The rules, in the book's order.
    pub compiled: &'a [CompiledRule],
    /// The schedule; `None` runs every rule of the book at once.
    pub schedule: Option<&'a Schedule>,
    /// The exactness of the least exact rules that may run.
    pub exact: Exactness,
    /// The limits of each saturation.
    pub limits: Limits,
}

impl Plain<'_> {
    /// Applies the rules to terms. The first term is the program of the stages. A schedule's steps that choose between
    /// programs are skipped, because there is nothing to choose.
    pub fn run(&self, terms: &[Term]) -> History {
        let facts = Facts::new(&[], &[], self.book.signature.table().clone(), Default::default());
        let mut egraph = EGraph::new(facts.recording());
        let ids: Vec<Id> = terms.iter().map(|term| egraph.add_expr(term)).collect();
        egraph.rebuild();
        let root = ids.first().copied().unwrap_or_default();
        let mut run = Run { root, history: History::default() };
        let mut driver = Driver::new(egraph, self.compiled, self.limits)
            .allowing(|_, rule| rule.exact <= self.exact);
        match self.schedule {
            Some(schedule) => driver.run(&schedule.steps, &mut run),
            None => driver.run(&[ScheduleStep::all(self.book)], &mut run),
        }
        run.history
    }
}

/// A run of rules on terms, recorded.
struct Run {
    /// The class of the first term.
    root: Id,
    history: History,
}

impl Observer<Facts> for Run {
    fn saturated(
        &mut self,
        driver: &mut Driver<'_, Facts>,
        rules: &[usize],
        done: Saturation,
    ) -> AppliedAgain {
        let (egraph, event) = (&driver.egraph, Event::Saturated { rules, saturation: &done });
        self.history.record(egraph, egraph.find(self.root), event);
        AppliedAgain::No
    }

    fn found(&self, egraph: &EGraph, sketch: &Sketch) -> bool {
        ember_engine::holds(sketch, egraph, self.root)
    }
}

impl History {
    /// Records an event of a search.
    pub fn record(&mut self, egraph: &EGraph, root: Id, event: Event<'_>) {
        let what = match event {
            Event::Saturated { rules, saturation } => {
                What::Saturated { rules: rules.to_vec(), saturation: saturation.clone() }
            }
            Event::Extracted { asked, candidates, last } => {
                What::Extracted { asked, candidates: candidates.to_vec(), last }
            }
        };
        self.stages.push(Stage { egraph: egraph.clone(), root, what });
    }

    /// Returns the stages in which rules were applied, each with its index among all stages.
    pub fn saturations(&self) -> impl Iterator<Item = (usize, &Stage, &[usize], &Saturation)> {
        self.stages.iter().enumerate().filter_map(|(at, stage)| match &stage.what {
            What::Saturated { rules, saturation } => Some((at, stage, &rules[..], saturation)),
            What::Extracted { .. } => None,
        })
    }

    /// Returns the e-graphs of the search, each in its final state.
    pub fn egraphs(&self) -> impl Iterator<Item = &EGraph> {
        let ends = |at: &usize| {
            let next = self.stages.get(at + 1);
            next.is_none() || matches!(self.stages[*at].what, What::Extracted { .. })
        };
        (0..self.stages.len()).filter(ends).map(|at| &self.stages[at].egraph)
    }
}
