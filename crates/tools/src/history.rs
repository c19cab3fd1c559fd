//! The record of a search, stage by stage, so that questions about it can be answered afterwards.

use egg::Id;
use ember_analysis::facts::{EGraph, Facts};
use ember_compile::search::{Candidate, Event};
use ember_engine::CompiledRule;
use ember_engine::drive::{Driven, Mark, drive};
use ember_engine::saturate::{Limits, Saturation, StopReason, saturate};
use ember_language::rules::{Exactness, RuleBook, Schedule, Sketch};
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
        let root = ids.first().copied();
        let mut run = Run { plain: self, egraph, root, ended: false, history: History::default() };
        match self.schedule {
            Some(schedule) => drive(&mut run, &schedule.steps, self.limits.iterations),
            None => run.saturate(&(0..self.compiled.len()).collect::<Vec<usize>>()),
        }
        run.history
    }
}

/// A run of rules on terms.
struct Run<'a> {
    plain: &'a Plain<'a>,
    egraph: EGraph,
    /// The first term, if there is one.
    root: Option<Id>,
    /// True if two constants met.
    ended: bool,
    history: History,
}

impl Run<'_> {
    fn root(&self) -> Id {
        self.root.map_or_else(Id::default, |id| self.egraph.find(id))
    }
}

impl Driven for Run<'_> {
    fn saturate(&mut self, rules: &[usize]) {
        let Plain { compiled, exact, limits, .. } = self.plain;
        let allowed = |rule: &usize| compiled[*rule].exact <= *exact;
        let rules: Vec<usize> = rules.iter().copied().filter(allowed).collect();
        let chosen: Vec<&CompiledRule> = rules.iter().map(|at| &compiled[*at]).collect();
        let saturation = saturate(&mut self.egraph, &chosen, limits, &mut |_| ());
        self.ended = matches!(saturation.stop, StopReason::Contradiction { .. });
        let event = Event::Saturated { rules: &rules, saturation: &saturation };
        self.history.record(&self.egraph, self.root(), event);
    }

    fn keep(&mut self, _: usize) {}

    fn found(&self, sketch: &Sketch) -> bool {
        ember_engine::holds(sketch, &self.egraph, self.root())
    }

    fn mark(&self) -> Mark {
        Mark::of(&self.egraph, 0)
    }

    fn ended(&self) -> bool {
        self.ended
    }

    fn cut_short(&mut self) {}
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
