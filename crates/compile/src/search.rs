//! The search: the run of a schedule on a model's term, and the extraction of the best programs from the result.
//!
//! A schedule saturates with sets of rules in order. `keep` extracts the best finished programs and starts a fresh
//! e-graph from them, so that discarded alternatives have no further cost.

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
use siphasher::sip::SipHasher13;
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::time::Duration;

/// The inputs of a search.
pub struct Search<'a> {
    /// The declarations of the rules.
    pub book: &'a RuleBook,
    /// The compiled rules, in the order of the book.
    pub rules: &'a [CompiledRule],
    /// The schedule that determines when each rule runs.
    pub schedule: &'a Schedule,
    /// The rule set to leave out, by its index in the book.
    pub without: Option<usize>,
    /// The least exact rules that may run.
    pub exact: Exactness,
    /// The kind of programs to extract.
    pub goal: Goal,
    /// The facts about the model and the machine, for a fresh e-graph.
    pub facts: &'a Facts,
    /// The statistics of the data.
    pub statistics: &'a Statistics<'a>,
    /// The rates of the machine.
    pub rates: &'a Rates,
    /// The limits of each saturation.
    pub limits: Limits,
    /// The number of programs to extract at the end.
    pub best: usize,
}

/// A program that the search found.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The finished term.
    pub term: Term,
    /// The cost model's estimate, in cycles.
    pub estimate: f64,
    /// The components of the estimate.
    pub cost: Cost,
}

/// An event of a search, for its watcher.
pub enum Event<'a> {
    /// Rules were applied until nothing changed or a limit was reached.
    Saturated {
        /// The rules that were allowed to run, by their positions in the book.
        rules: &'a [usize],
        /// The result of the saturation.
        saturation: &'a Saturation,
    },
    /// The best programs were extracted. Unless they are the last, the search continues from them.
    Extracted {
        /// The number of programs that were requested.
        asked: usize,
        /// The extracted programs.
        candidates: &'a [Candidate],
        /// True if the search ends here.
        last: bool,
    },
}

/// A watcher of a search, which is called for each event with the current e-graph and the program's e-class.
pub type Watch<'w> = dyn FnMut(&EGraph, Id, Event<'_>) + 'w;

/// The result and the effort of a search.
#[derive(Clone, Debug)]
pub struct Found {
    /// The programs, with the best estimate first.
    pub candidates: Vec<Candidate>,
    /// The e-nodes of the largest e-graph.
    pub nodes: usize,
    /// The e-classes of the largest e-graph.
    pub classes: usize,
    /// The iterations of all saturations together.
    pub iterations: usize,
    /// The stop reason of the last saturation that was cut short, or "saturated" if all completed.
    pub stop: StopReason,
    /// The result of each saturation, in order.
    pub saturations: Vec<Saturation>,
    /// The rules that changed something.
    pub fired: BTreeSet<&'static str>,
    /// The least exact level of the rules that changed something.
    pub exactness: Exactness,
    /// The time in saturation.
    pub saturate_time: Duration,
    /// The time in extraction.
    pub extract_time: Duration,
}

impl Search<'_> {
    /// Runs the schedule on a term and extracts the best programs.
    pub fn run(&self, root: &Term, progress: &mut dyn FnMut(Progress)) -> Found {
        self.start(root, progress, self.facts.clone(), None)
    }

    /// [`Search::run`] with a watcher, and with recording in the e-graphs.
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
        // Without a boundary to both units, no program is decoupled, and the search finds none.
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

/// The state of running a schedule.
struct State<'a, 'w> {
    search: &'a Search<'a>,
    /// The facts for a fresh e-graph.
    facts: Facts,
    watch: Option<&'a mut Watch<'w>>,
    progress: &'a mut dyn FnMut(Progress),
    egraph: EGraph,
    root: Id,
    /// The hash that identifies the programs that the e-graph was started from.
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

    /// Restarts from the best programs. Without a finished program, there is no choice to make, and the e-graph stays.
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
        let mut hasher = SipHasher13::new();
        kept.iter().for_each(|candidate| candidate.term.hash(&mut hasher));
        self.origin = hasher.finish();
    }

    fn found(&self, sketch: &Sketch) -> bool {
        ember_engine::holds(sketch, &self.egraph, self.root)
    }

    fn mark(&self) -> Mark {
        Mark::of(&self.egraph, self.origin)
    }

    /// Returns true after a contradiction, because an e-graph with a contradiction is not a valid basis for anything.
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
        // Estimates seldom rate prefetching worse than marshalling, although memory may limit both and the L2 may be
        // too small for the prefetched data. Only the simulator decides, so one program without prefetches is always a
        // candidate. The second extraction is needed only if there is a load of prefetched data.
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

/// Returns the k best programs of an extraction that differ. A program whose cost is within one hundredth of a better
/// one's in every component is omitted, because the simulator would not distinguish the two.
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
