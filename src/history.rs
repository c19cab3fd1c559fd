//! What a search did, stage by stage, kept whole so that it can be asked about afterwards.

use crate::facts::EGraph;
use crate::saturate::Saturation;
use crate::search::{Candidate, Event};
use egg::Id;

/// One stage of a search: the e-graph as it was when the stage ended, and what had happened.
pub struct Stage {
    /// The e-graph, with its journal since the search last started again.
    pub egraph: EGraph,
    /// The class of the program.
    pub root: Id,
    /// What happened.
    pub what: What,
}

/// What happened in a stage.
pub enum What {
    /// Rules were applied.
    Saturated {
        /// The rules that were allowed to run, by their places in the book.
        rules: Vec<usize>,
        /// What each did, and why it ended.
        saturation: Saturation,
    },
    /// The best programs were extracted, and the search started again from them or ended.
    Extracted {
        /// How many were asked for.
        asked: usize,
        /// The programs, best estimate first.
        candidates: Vec<Candidate>,
        /// Whether the search ended here.
        last: bool,
    },
}

/// The stages of a search, in order.
#[derive(Default)]
pub struct History {
    /// The stages.
    pub stages: Vec<Stage>,
}

impl History {
    /// Keeps what an event of a search tells.
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

    /// The stages in which rules were applied, each with its place among all stages.
    pub fn saturations(&self) -> impl Iterator<Item = (usize, &Stage, &[usize], &Saturation)> {
        self.stages.iter().enumerate().filter_map(|(at, stage)| match &stage.what {
            What::Saturated { rules, saturation } => Some((at, stage, &rules[..], saturation)),
            What::Extracted { .. } => None,
        })
    }

    /// The e-graphs that the search went through, each as it was at its end.
    pub fn egraphs(&self) -> impl Iterator<Item = &EGraph> {
        let ends = |at: &usize| {
            let next = self.stages.get(at + 1);
            next.is_none() || matches!(self.stages[*at].what, What::Extracted { .. })
        };
        (0..self.stages.len()).filter(ends).map(|at| &self.stages[at].egraph)
    }
}
