//! The search: the run of a schedule on a model's term, and the extraction of the best programs from the result.
//!
//! A schedule saturates with sets of rules in order. `keep` extracts the best finished programs and starts a fresh
//! e-graph from them, so that discarded alternatives have no further cost.

use crate::cost::{Cost, Fetches, Goal, Model, Rates, Summary, floor, is_held};
use crate::workload::Statistics;
use egg::{Id, Symbol};
use ember_analysis::facts::{EGraph, Facts};
use ember_engine::CompiledRule;
use ember_engine::drive::{AppliedAgain, Driver, Observer};
use ember_engine::saturate::{Limits, Progress, Saturation, StopReason};
use ember_extract::{CandidateId, CostModel, Extraction, extract};
use ember_host::{clock, threads};
use ember_language::rules::{Exactness, Kind, RuleBook, Schedule, Sketch, Unit};
use ember_language::term::{Head, Node, Term};
use ember_values::capability::Capability;
use ember_values::primitive::form::{Early, Form, Sequence};
use std::collections::BTreeSet;
use std::time::Duration;

/// The most candidates by [`Fetches::Waited`]. Their estimates are apart by less than the cost model errs.
const WAITED: usize = 3;

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
    /// True to bound the estimates of all programs of the last e-graph.
    pub bounded: bool,
}

/// A program that the search found.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The name of the schedule that found it.
    pub schedule: Symbol,
    /// The number of better ones of its kind of prefetches; the least, if it is of several.
    pub place: usize,
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
    /// An estimate, in cycles, that no program of the last e-graph is below; `None` if it was not asked for, or not found
    /// with reasonable effort.
    pub at_least: Option<f64>,
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
        self.run_forms(root, &[], progress)
    }

    /// [`Search::run`] on a term and its other forms, which are in one e-class from the start.
    pub fn run_forms(
        &self,
        root: &Term,
        others: &[Term],
        progress: &mut dyn FnMut(Progress),
    ) -> Found {
        self.start((root, others), progress, self.facts.clone(), None)
    }

    /// [`Search::run_forms`] with a watcher, and with recording in the e-graphs.
    pub fn watched(&self, root: &Term, others: &[Term], watch: &mut Watch<'_>) -> Found {
        self.start((root, others), &mut |_| (), self.facts.clone().recording(), Some(watch))
    }

    fn start(
        &self,
        (root, others): (&Term, &[Term]),
        progress: &mut dyn FnMut(Progress),
        facts: Facts,
        watch: Option<&mut Watch<'_>>,
    ) -> Found {
        let mut egraph = EGraph::new(facts.clone());
        let statement = egraph.add_expr(root);
        for other in others {
            let other = egraph.add_expr(other);
            egraph.union(statement, other);
        }
        // Without a boundary to both units, no program is decoupled, and the search finds none.
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
        let at_least = self.bounded.then(|| state.at_least(&driver.egraph, &candidates)).flatten();
        state.summed(driver, candidates, at_least)
    }

    fn allowed(&self, at: usize, rule: &CompiledRule) -> bool {
        let left_out = self.without.is_some_and(|set| self.book.rules[at].set == set);
        !left_out && rule.exact <= self.exact
    }
}

/// The state of running a schedule.
struct State<'a, 'w> {
    search: &'a Search<'a>,
    /// The facts for a fresh e-graph.
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

    /// Restarts from the best programs. Without a finished program, there is no choice to make, and the e-graph stays.
    fn keep(&mut self, driver: &mut Driver<'_, Facts>, k: usize) {
        let kept = self.extract(&driver.egraph, k, false);
        let terms = kept.iter().map(|candidate| &candidate.term);
        if let Some(root) = driver.restart(self.facts.clone(), terms) {
            self.root = root;
        }
    }

    fn finished(&mut self, egraph: &EGraph) -> bool {
        !self.best(egraph, 1).is_empty()
    }

    fn found(&self, egraph: &EGraph, sketch: &Sketch) -> bool {
        ember_engine::holds(sketch, egraph, self.root)
    }
}

impl State<'_, '_> {
    fn summed(
        self,
        driver: Driver<'_, Facts>,
        candidates: Vec<Candidate>,
        at_least: Option<f64>,
    ) -> Found {
        let State { nodes, classes, saturations, extract_time, .. } = self;
        let fired = saturations.iter().flat_map(Saturation::fired).map(|report| report.rule);
        let exactness = saturations.iter().filter_map(|saturation| saturation.exact).max();
        Found {
            candidates,
            at_least,
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

    /// Extracts the best programs, and tells the watcher.
    fn extract(&mut self, egraph: &EGraph, k: usize, last: bool) -> Vec<Candidate> {
        let candidates = self.best(egraph, k);
        if let Some(watch) = &mut self.watch {
            let event = Event::Extracted { asked: k, candidates: &candidates, last };
            watch(egraph, self.root, event);
        }
        candidates
    }

    /// Returns an estimate that no decoupled program of the e-graph is below.
    fn at_least(&mut self, egraph: &EGraph, candidates: &[Candidate]) -> Option<f64> {
        if self.search.goal == Goal::Coupled {
            return None;
        }
        let start = clock::start();
        let workload = self.search.statistics.workload(egraph);
        let known = candidates.iter();
        let known: Vec<(&Term, Cost)> = known.map(|own| (&own.term, own.cost)).collect();
        let at_least = floor(egraph, self.root, (self.search.rates, &workload), &known);
        self.extract_time += start.elapsed();
        at_least
    }

    fn best(&mut self, egraph: &EGraph, k: usize) -> Vec<Candidate> {
        let start = clock::start();
        let workload = self.search.statistics.workload(egraph);
        let limits = ember_extract::Limits::default();
        let schedule = self.search.schedule.name;
        let best = |fetches: Fetches, k: usize| {
            let Search { goal, rates, .. } = *self.search;
            let model = Model::for_choice(goal, rates, &workload, fetches);
            best(&model, &extract(egraph, self.root, &model, &limits), k, schedule)
        };
        // Estimates seldom rate prefetching worse than marshalling, although memory may limit both, the L2 may be too
        // small for the prefetched data, and requests for single numbers delay those for rows. Only the simulator
        // decides, so as many programs that prefetch no numbers are candidates, as many that prefetch nothing, those of a
        // machine that cannot, and a few of the best by each other price of prefetches. These extractions are needed only
        // if there is a load of prefetched data. Without one, prices of prefetches differ in those of held values alone.
        let operators = egraph.analysis.operators();
        let is_fetch = |node: &Node| {
            matches!(
                operators.form(node),
                Some(
                    Form::Loaded { early: Some(Early::Fetched(_)), .. }
                        | Form::Sequence(Sequence::Ahead(_))
                )
            )
        };
        let can_fetch = self.search.rates.capabilities.has(Capability::Prefetch);
        let is_held = |node: &Node| operators.of(node).is_some_and(is_held);
        let any =
            |is: &dyn Fn(&Node) -> bool| egraph.classes().any(|class| class.nodes.iter().any(is));
        let priced = match (can_fetch && any(&is_fetch), any(&is_held)) {
            (true, _) => vec![
                (Fetches::Each, k),
                (Fetches::Vectors, k),
                (Fetches::Shared, 1),
                (Fetches::Waited, k.min(WAITED)),
                (Fetches::Never, k),
            ],
            (false, true) => vec![(Fetches::Never, k), (Fetches::Each, k)],
            (false, false) => vec![(Fetches::Never, k)],
        };
        let mut found = threads::map(&priced, |(fetches, k)| best(*fetches, *k)).into_iter();
        let mut candidates = found.next().unwrap_or_default();
        for candidate in found.flatten() {
            match candidates.iter_mut().find(|other| other.term == candidate.term) {
                Some(other) => other.place = other.place.min(candidate.place),
                None => candidates.push(candidate),
            }
        }
        self.extract_time += start.elapsed();
        candidates
    }
}

/// Returns the k best programs of an extraction that differ. A program whose cost is within one hundredth of a better
/// one's in every component is omitted, because the simulator would not distinguish the two.
fn best(
    model: &Model<'_>,
    extraction: &Extraction<Node, Summary>,
    k: usize,
    schedule: Symbol,
) -> Vec<Candidate> {
    let mut seen = BTreeSet::new();
    let mut chosen: Vec<CandidateId> = Vec::new();
    for id in extraction.ranked() {
        let summary = extraction.summary(*id);
        let near = |other: &CandidateId| extraction.summary(*other).cost.is_near(&summary.cost);
        if chosen.len() < k && seen.insert(summary.key) && !chosen.iter().any(near) {
            chosen.push(*id);
        }
    }
    (0..)
        .zip(chosen)
        .map(|(place, id)| {
            let summary = extraction.summary(id);
            Candidate {
                schedule,
                place,
                term: extraction.term(id),
                estimate: CostModel::rank(model, summary),
                cost: summary.alone,
            }
        })
        .collect()
}
