//! The search: a schedule run over a model's term, and the best programs of what it leaves.
//!
//! A schedule saturates with sets of rules in order; `keep` extracts the best finished programs and
//! starts a fresh e-graph from them, so that what was given up costs nothing further.

use crate::cost::{Cost, Goal, Model, Rates, Summary};
use crate::workload::Statistics;
use egg::Id;
use ember_analysis::facts::{EGraph, Facts};
use ember_engine::CompiledRule;
use ember_engine::drive::{AppliedAgain, Driver, Observer};
use ember_engine::saturate::{Limits, Progress, Saturation, StopReason};
use ember_extract::{CandidateId, CostModel, Extraction, extract};
use ember_host::{clock, threads};
use ember_language::rules::{Exactness, Kind, RuleBook, Schedule, Sketch, Unit};
use ember_language::term::{Head, Node, Term};
use ember_values::primitive::Primitive;
use std::collections::BTreeSet;
use std::time::Duration;

/// What is searched, with what.
pub struct Search<'a> {
    /// The rules' declarations.
    pub book: &'a RuleBook,
    /// The rules, in the book's order.
    pub rules: &'a [CompiledRule],
    /// Which rules run when.
    pub schedule: &'a Schedule,
    /// A rule set that is left out, by its index in the book.
    pub without: Option<usize>,
    /// The least exact rules that may run.
    pub exact: Exactness,
    /// Which programs are asked for.
    pub goal: Goal,
    /// Facts of the model and machine, for a fresh e-graph.
    pub facts: &'a Facts,
    /// What the data says.
    pub statistics: &'a Statistics<'a>,
    /// The machine's rates.
    pub rates: &'a Rates,
    /// Bounds on each saturation.
    pub limits: Limits,
    /// How many programs are asked for.
    pub best: usize,
}

/// A program that the search found.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The finished term.
    pub term: Term,
    /// The cost model's estimate, in cycles.
    pub estimate: f64,
    /// What the estimate is made of.
    pub cost: Cost,
}

/// What happens in a search, told to whoever watches it.
pub enum Event<'a> {
    /// Rules were applied until nothing changed or a limit was reached.
    Saturated {
        /// The rules that were allowed to run, by their places in the book.
        rules: &'a [usize],
        /// What they did.
        saturation: &'a Saturation,
    },
    /// The best programs were extracted; unless these are the last, the search starts again from them.
    Extracted {
        /// How many were asked for.
        asked: usize,
        /// The programs.
        candidates: &'a [Candidate],
        /// Whether the search ends here.
        last: bool,
    },
}

/// Who watches a search: told of each event with the e-graph as it is then, and the program's class.
pub type Watch<'w> = dyn FnMut(&EGraph, Id, Event<'_>) + 'w;

/// What a search found, and what it took.
#[derive(Clone, Debug)]
pub struct Found {
    /// The programs, best estimate first.
    pub candidates: Vec<Candidate>,
    /// The most nodes that an e-graph had.
    pub nodes: usize,
    /// The classes of that e-graph.
    pub classes: usize,
    /// Iterations of all saturations together.
    pub iterations: usize,
    /// Why the last saturation that did not run to its end stopped, else saturated.
    pub stop: StopReason,
    /// What each saturation did, in order.
    pub saturations: Vec<Saturation>,
    /// The rules that changed something.
    pub fired: BTreeSet<&'static str>,
    /// The least exact of those.
    pub exactness: Exactness,
    /// Time in saturation.
    pub saturate_time: Duration,
    /// Time in extraction.
    pub extract_time: Duration,
}

impl Search<'_> {
    /// Runs the schedule on a term and extracts.
    pub fn run(&self, root: &Term, progress: &mut dyn FnMut(Progress)) -> Found {
        self.start(root, progress, self.facts.clone(), None)
    }

    /// The same, watched, with what happens recorded in the e-graphs.
    pub fn watched(&self, root: &Term, watch: &mut Watch<'_>) -> Found {
        self.start(root, &mut |_| (), self.facts.clone().recording(), Some(watch))
    }

    fn start(
        &self,
        root: &Term,
        progress: &mut dyn FnMut(Progress),
        facts: Facts,
        watch: Option<&mut Watch<'_>>,
    ) -> Found {
        let mut egraph = EGraph::new(facts.clone());
        let statement = egraph.add_expr(root);
        // Without a boundary to both units no program is decoupled, and the search finds none.
        let boundary = self.facts.operators().boundary(Kind::Statement, Unit::Both);
        let root = match (self.goal, boundary) {
            (Goal::Decoupled, Some(name)) => egraph.add(Node::new(Head::Op(name), &[statement])),
            (Goal::Coupled, _) | (Goal::Decoupled, None) => statement,
        };
        egraph.rebuild();
        let mut driver = Driver::new(egraph, self.rules, self.limits)
            .allowing(|at, rule| self.allowed(at, rule));
        let mut state = State {
            search: self,
            facts,
            watch,
            progress,
            root,
            nodes: 0,
            classes: 0,
            saturations: Vec::new(),
            extract_time: Duration::ZERO,
        };
        driver.run(&self.schedule.steps, &mut state);
        let candidates = state.extract(&driver.egraph, self.best, true);
        state.summed(driver, candidates)
    }

    fn allowed(&self, at: usize, rule: &CompiledRule) -> bool {
        let left_out = self.without.is_some_and(|set| self.book.rules[at].set == set);
        !left_out && rule.exact <= self.exact
    }
}

/// A schedule's run, as the search observes it.
struct State<'a, 'w> {
    search: &'a Search<'a>,
    /// For a fresh e-graph.
    facts: Facts,
    watch: Option<&'a mut Watch<'w>>,
    progress: &'a mut dyn FnMut(Progress),
    root: Id,
    /// The most nodes that an e-graph had, and its classes.
    nodes: usize,
    classes: usize,
    saturations: Vec<Saturation>,
    extract_time: Duration,
}

impl Observer<Facts> for State<'_, '_> {
    fn progress(&mut self, progress: Progress) {
        (self.progress)(progress);
    }

    fn saturated(
        &mut self,
        driver: &mut Driver<'_, Facts>,
        rules: &[usize],
        done: Saturation,
    ) -> AppliedAgain {
        if let Some(watch) = &mut self.watch {
            watch(&driver.egraph, self.root, Event::Saturated { rules, saturation: &done });
        }
        if done.nodes > self.nodes {
            (self.nodes, self.classes) = (done.nodes, done.classes);
        }
        self.saturations.push(done);
        AppliedAgain::No
    }

    /// Starts again from the best programs. Without a finished program there is nothing to choose
    /// between, and everything stays.
    fn keep(&mut self, driver: &mut Driver<'_, Facts>, k: usize) {
        let kept = self.extract(&driver.egraph, k, false);
        let terms = kept.iter().map(|candidate| &candidate.term);
        if let Some(root) = driver.restart(self.facts.clone(), terms) {
            self.root = root;
        }
    }

    fn found(&self, egraph: &EGraph, sketch: &Sketch) -> bool {
        ember_engine::holds(sketch, egraph, self.root)
    }
}

impl State<'_, '_> {
    fn summed(self, driver: Driver<'_, Facts>, candidates: Vec<Candidate>) -> Found {
        let State { nodes, classes, saturations, extract_time, .. } = self;
        let fired = saturations.iter().flat_map(Saturation::fired).map(|report| report.rule);
        let exactness = saturations.iter().filter_map(|saturation| saturation.exact).max();
        Found {
            candidates,
            nodes,
            classes,
            iterations: driver.iterations,
            stop: driver.stop,
            fired: fired.collect(),
            exactness: exactness.unwrap_or(Exactness::Bitwise),
            saturations,
            saturate_time: driver.time,
            extract_time,
        }
    }

    fn extract(&mut self, egraph: &EGraph, k: usize, last: bool) -> Vec<Candidate> {
        let start = clock::start();
        let workload = self.search.statistics.workload(egraph);
        let limits = ember_extract::Limits::default();
        let best = |fetches: bool, k: usize| {
            let Search { goal, rates, .. } = *self.search;
            let model = Model { goal, rates, workload: &workload, fetches };
            best(&model, &extract(egraph, self.root, &model, &limits), k)
        };
        // Reading ahead seldom looks worse than handing over, though memory may be the limit of both and
        // the L2 too small for what is ahead: the simulator tells, so that one without is always among them.
        // Whether the execute unit loads anything that the access unit has read ahead.
        let operators = egraph.analysis.operators();
        let is_fetch = |node: &Node| operators.primitive(node) == Some(Primitive::Fetched);
        let candidates = if egraph.classes().any(|class| class.nodes.iter().any(is_fetch)) {
            let (mut all, without) = threads::join(|| best(true, k), || best(false, 1));
            let new: Vec<Candidate> =
                without.into_iter().filter(|c| all.iter().all(|a| a.term != c.term)).collect();
            all.extend(new);
            all
        } else {
            best(true, k)
        };
        self.extract_time += start.elapsed();
        if let Some(watch) = &mut self.watch {
            let event = Event::Extracted { asked: k, candidates: &candidates, last };
            watch(egraph, self.root, event);
        }
        candidates
    }
}

/// The k best programs of an extraction that differ: one whose cost is within a hundredth of a better
/// one's in every component adds nothing for the simulator to tell apart.
fn best(model: &Model<'_>, extraction: &Extraction<Node, Summary>, k: usize) -> Vec<Candidate> {
    let mut seen = BTreeSet::new();
    let mut chosen: Vec<CandidateId> = Vec::new();
    for id in extraction.ranked() {
        let summary = extraction.summary(*id);
        let near = |other: &CandidateId| extraction.summary(*other).cost.is_near(&summary.cost);
        if chosen.len() < k && seen.insert(summary.key) && !chosen.iter().any(near) {
            chosen.push(*id);
        }
    }
    chosen
        .into_iter()
        .map(|id| {
            let summary = extraction.summary(id);
            Candidate {
                term: extraction.term(id),
                estimate: CostModel::rank(model, summary),
                cost: summary.cost,
            }
        })
        .collect()
}
