//! The search: a schedule run over a model's term, and the best programs of what it leaves.
//!
//! A schedule saturates with sets of rules in order; `keep` extracts the best finished programs and
//! starts a fresh e-graph from them, so that what was given up costs nothing further.

use crate::cost::{Cost, Goal, Model, Rates, Summary};
use crate::workload::Statistics;
use egg::Id;
use ember_analysis::facts::{EGraph, Facts};
use ember_engine::CompiledRule;
use ember_engine::drive::{Driven, Mark, drive};
use ember_engine::saturate::{Limits, Progress, Saturation, StopReason, saturate};
use ember_extract::{CandidateId, CostModel, Extraction, extract};
use ember_host::{clock, threads};
use ember_language::rules::{Exactness, Kind, RuleBook, Schedule, Sketch, Unit};
use ember_language::term::{Head, Node, Term};
use ember_values::primitive::Primitive;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
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
        let mut state = State {
            search: self,
            facts,
            watch,
            progress,
            egraph,
            root,
            origin: 0,
            found: Found {
                candidates: Vec::new(),
                nodes: 0,
                classes: 0,
                iterations: 0,
                stop: StopReason::Saturated,
                saturations: Vec::new(),
                fired: BTreeSet::new(),
                exactness: Exactness::Bitwise,
                saturate_time: Duration::ZERO,
                extract_time: Duration::ZERO,
            },
        };
        drive(&mut state, &self.schedule.steps, self.limits.iterations);
        state.found.candidates = state.extract(self.best, true);
        state.found
    }

    fn allowed(&self, rule: usize) -> bool {
        let left_out = self.without.is_some_and(|set| self.book.rules[rule].set == set);
        !left_out && self.rules[rule].exact <= self.exact
    }
}

/// A schedule's run.
struct State<'a, 'w> {
    search: &'a Search<'a>,
    /// For a fresh e-graph.
    facts: Facts,
    watch: Option<&'a mut Watch<'w>>,
    progress: &'a mut dyn FnMut(Progress),
    egraph: EGraph,
    root: Id,
    /// What tells apart the programs that the e-graph was started from.
    origin: u64,
    found: Found,
}

impl Driven for State<'_, '_> {
    fn saturate(&mut self, rules: &[usize]) {
        let start = clock::start();
        let allowed: Vec<usize> =
            rules.iter().copied().filter(|rule| self.search.allowed(*rule)).collect();
        let rules: Vec<&CompiledRule> =
            allowed.iter().map(|rule| &self.search.rules[*rule]).collect();
        let saturation: Saturation =
            saturate(&mut self.egraph, &rules, &self.search.limits, self.progress);
        if let Some(watch) = &mut self.watch {
            let event = Event::Saturated { rules: &allowed, saturation: &saturation };
            watch(&self.egraph, self.root, event);
        }
        let found = &mut self.found;
        found.iterations += saturation.iterations;
        found.fired.extend(saturation.fired().map(|report| report.rule));
        found.exactness = found.exactness.max(saturation.exact.unwrap_or(Exactness::Bitwise));
        if saturation.stop != StopReason::Saturated {
            found.stop = saturation.stop.clone();
        }
        if saturation.nodes > found.nodes {
            (found.nodes, found.classes) = (saturation.nodes, saturation.classes);
        }
        found.saturations.push(saturation);
        found.saturate_time += start.elapsed();
    }

    /// Starts again from the best programs. Without a finished program there is nothing to choose
    /// between, and everything stays.
    fn keep(&mut self, k: usize) {
        let kept = self.extract(k, false);
        let mut terms = kept.iter().map(|candidate| &candidate.term);
        let Some(first) = terms.next() else { return };
        let mut egraph = EGraph::new(self.facts.clone());
        let root = egraph.add_expr(first);
        for term in terms {
            let other = egraph.add_expr(term);
            egraph.union(root, other);
        }
        egraph.rebuild();
        self.root = egraph.find(root);
        self.egraph = egraph;
        let mut hasher = DefaultHasher::new();
        kept.iter().for_each(|candidate| candidate.term.hash(&mut hasher));
        self.origin = hasher.finish();
    }

    fn found(&self, sketch: &Sketch) -> bool {
        ember_engine::holds(sketch, &self.egraph, self.root)
    }

    fn mark(&self) -> Mark {
        Mark::of(&self.egraph, self.origin)
    }

    /// What a contradiction leaves behind is no basis for anything.
    fn ended(&self) -> bool {
        matches!(self.found.stop, StopReason::Contradiction { .. })
    }

    fn cut_short(&mut self) {
        self.found.stop = StopReason::IterationLimit;
    }
}

impl State<'_, '_> {
    fn extract(&mut self, k: usize, last: bool) -> Vec<Candidate> {
        let start = clock::start();
        let workload = self.search.statistics.workload(&self.egraph);
        let limits = ember_extract::Limits::default();
        let best = |fetches: bool, k: usize| {
            let Search { goal, rates, .. } = *self.search;
            let model = Model { goal, rates, workload: &workload, fetches };
            best(&model, &extract(&self.egraph, self.root, &model, &limits), k)
        };
        // Reading ahead seldom looks worse than handing over, though memory may be the limit of both and
        // the L2 too small for what is ahead: the simulator tells, so that one without is always among them.
        // Whether the execute unit loads anything that the access unit has read ahead.
        let operators = self.egraph.analysis.operators();
        let is_fetch = |node: &Node| operators.primitive(node) == Some(Primitive::Fetched);
        let candidates = if self.egraph.classes().any(|class| class.nodes.iter().any(is_fetch)) {
            let (mut all, without) = threads::join(|| best(true, k), || best(false, 1));
            let new: Vec<Candidate> =
                without.into_iter().filter(|c| all.iter().all(|a| a.term != c.term)).collect();
            all.extend(new);
            all
        } else {
            best(true, k)
        };
        self.found.extract_time += start.elapsed();
        if let Some(watch) = &mut self.watch {
            let event = Event::Extracted { asked: k, candidates: &candidates, last };
            watch(&self.egraph, self.root, event);
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
