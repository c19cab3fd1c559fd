//! The shown content of an e-graph: the classes below the program with their facts and costs, and the program that the
//! cost model prefers.

use crate::show::Show;
use egg::{Id, Language};
use ember_analysis::facts::EGraph;
use ember_compile::cost::{Fetches, Goal, Model, Rates, Summary, Workload};
use ember_compile::groups::Plan;
use ember_compile::pipeline::{Inputs, Options, store, watch};
use ember_compile::search::Event;
use ember_compile::workload::Statistics;
use ember_extract::{CostModel, Extraction, Limits, extract};
use ember_language::diagnostic::Checked;
use ember_language::term::Node;
use ember_language::text::Words;
use std::collections::{BTreeMap, BTreeSet};

/// The shown content of an e-graph.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The number of the program's class.
    pub root: usize,
    /// The classes below it, by their numbers.
    pub classes: BTreeMap<usize, SnapshotClass>,
}

/// A class of a snapshot.
#[derive(Clone, Debug)]
pub struct SnapshotClass {
    /// The sort of its terms.
    pub sort: Option<&'static str>,
    /// The known facts about its terms, in words.
    pub facts: String,
    /// The cost model's estimate for its cheapest term, in cycles of one evaluation; `None` if no program can contain
    /// one of its terms.
    pub estimate: Option<f64>,
    /// Its nodes.
    pub nodes: Vec<SnapshotNode>,
}

/// A node of a class.
#[derive(Clone, Debug)]
pub struct SnapshotNode {
    /// The operator, number or name.
    pub operator: String,
    /// The classes of its operands.
    pub children: Vec<usize>,
    /// True if the program that the cost model prefers contains it.
    pub best: bool,
}

/// Searches a statement, together with the statements of its group, and shows the e-graph from which its program is
/// extracted at the end.
pub fn snapshot(inputs: &Inputs, options: &Options, statement: usize) -> Checked<Snapshot> {
    let schedule = inputs.schedule(&options.schedule)?;
    let instance = inputs.model.instantiate(options.tune_seed.or(options.seed))?;
    let store = store(&instance);
    let statistics = Statistics::new(&inputs.model, &instance, &store, &inputs.machine);
    let plan = Plan::new(inputs.book.signature.table(), &inputs.model, &statistics);
    let group = plan.searched_for(statement)?;
    let rates = Rates::of(&inputs.machine);
    let words = inputs.words();
    let mut taken = Snapshot::default();
    let mut take = |egraph: &EGraph, root: Id, event: Event<'_>| {
        if let Event::Extracted { last: true, .. } = event {
            let workload = statistics.workload(egraph);
            taken = of(egraph, root, &words, (&rates, &workload));
        }
    };
    watch(inputs, &statistics, options, schedule, (&plan, group), &mut take);
    Ok(taken)
}

fn of(
    egraph: &EGraph,
    root: Id,
    words: &Words,
    (rates, workload): (&Rates, &Workload),
) -> Snapshot {
    let show = Show::new(egraph, root, words);
    let model = Model::for_choice(Goal::Decoupled, rates, workload, Fetches::Each);
    let extraction = extract(egraph, root, &model, &Limits::default());
    let best = chosen(&extraction);
    let number = |id: &Id| usize::from(egraph.find(*id));
    let class = |id: Id| {
        let ranks = extraction.of(id).iter().map(|of| model.rank(extraction.summary(*of)));
        let node = |node: &Node| SnapshotNode {
            operator: node.to_string(),
            children: node.children().iter().map(number).collect(),
            best: best.contains(node),
        };
        SnapshotClass {
            sort: words.signature().sort_of(&show.smallest(id)).map(|sort| sort.name()),
            facts: show.known(id),
            estimate: ranks.min_by(f64::total_cmp),
            nodes: egraph[id].nodes.iter().map(node).collect(),
        }
    };
    let mut classes = BTreeMap::new();
    let mut todo = vec![egraph.find(root)];
    while let Some(id) = todo.pop() {
        if classes.contains_key(&usize::from(id)) {
            continue;
        }
        classes.insert(usize::from(id), class(id));
        let below = egraph[id].nodes.iter().flat_map(|node| node.children());
        todo.extend(below.map(|child| egraph.find(*child)));
    }
    Snapshot { root: number(&root), classes }
}

/// Returns the nodes of the best program.
fn chosen(extraction: &Extraction<Node, Summary>) -> BTreeSet<Node> {
    let mut nodes = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut todo: Vec<_> = extraction.ranked().first().copied().into_iter().collect();
    while let Some(candidate) = todo.pop() {
        if seen.insert(candidate) {
            let (node, below) = extraction.node(candidate);
            nodes.insert(node.clone());
            todo.extend(below);
        }
    }
    nodes
}
