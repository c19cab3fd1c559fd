//! Extraction with marked nodes: the best program that contains one, or their reach if no program does.

use egg::{Id, Language, Symbol};
use ember_analysis::facts::{EGraph, Facts};
use ember_compile::cost::{Cost, Model, Summary};
use ember_engine::journal::Entry;
use ember_engine::{CompiledRule, Step};
use ember_extract::{CandidateId, CostModel, Extraction, Limits, extract};
use ember_language::term::{Node, Term};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// A cost model that also records the presence of a marked node. A candidate with a marked node is never pruned in
/// favour of one without.
struct Forced<'a> {
    model: &'a Model<'a>,
    marked: &'a BTreeSet<Node>,
}

/// The factor on the rank of a candidate with a marked node, smaller than the ratio of any two estimates.
const FIRST: f64 = 1e-30;

/// A summary, and true if a marked node is inside.
#[derive(Clone)]
struct Marked {
    summary: Summary,
    inside: bool,
}

impl CostModel<Node, Facts> for Forced<'_> {
    type Summary = Marked;

    fn combine(&self, egraph: &EGraph, node: &Node, children: &[&Marked]) -> Option<Marked> {
        let summaries: Vec<&Summary> = children.iter().map(|child| &child.summary).collect();
        let summary = self.model.combine(egraph, node, &summaries)?;
        let inside = children.iter().any(|child| child.inside) || self.marked.contains(node);
        Some(Marked { summary, inside })
    }

    fn dominates(&self, a: &Marked, b: &Marked) -> bool {
        a.inside >= b.inside && self.model.dominates(&a.summary, &b.summary)
    }

    /// Ranks candidates with a marked node before all others, then by estimate, so that the bound on candidates does
    /// not cut off all of them.
    fn rank(&self, summary: &Marked) -> f64 {
        let rank = self.model.rank(&summary.summary);
        if summary.inside { rank * FIRST } else { rank }
    }

    fn alike(&self, a: &Marked, b: &Marked) -> bool {
        a.inside == b.inside && self.model.alike(&a.summary, &b.summary)
    }

    fn kind(&self, summary: &Marked) -> u64 {
        self.model.kind(&summary.summary).rotate_left(1) ^ u64::from(summary.inside)
    }

    fn is_finished(&self, summary: &Marked) -> bool {
        summary.inside && self.model.is_finished(&summary.summary)
    }
}

/// A program in an e-graph.
#[derive(Clone, Debug)]
pub(super) struct Priced {
    pub term: Term,
    pub estimate: f64,
    pub cost: Cost,
}

/// No program with a marked node was found.
pub(super) struct NotFound {
    /// True if there is none; otherwise a bound on the forms of a part may have hidden it.
    pub certain: bool,
}

/// Returns the best program with a marked node in it, by the cost model.
pub(super) fn best_with(
    egraph: &EGraph,
    root: Id,
    model: &Model<'_>,
    marked: &BTreeSet<Node>,
) -> Result<Priced, NotFound> {
    let forced = Forced { model, marked };
    let limits = Limits { per_class: 24, ..Limits::default() };
    let extraction = extract(egraph, root, &forced, &limits);
    let none = NotFound { certain: !extraction.truncated };
    let best = *extraction.ranked().first().ok_or(none)?;
    let summary = &extraction.summary(best).summary;
    Ok(Priced { term: extraction.term(best), estimate: model.rank(summary), cost: summary.cost })
}

/// The reach of marked nodes towards the program.
pub(super) struct Reach(Extraction<Node, Marked>);

impl Reach {
    /// Computes the reach.
    pub fn new(egraph: &EGraph, root: Id, model: &Model<'_>, marked: &BTreeSet<Node>) -> Reach {
        Reach(extract(egraph, root, &Forced { model, marked }, &Limits::default()))
    }

    /// Returns true if a class has a form that a program of the goal can contain.
    pub fn is_possible(&self, class: Id) -> bool {
        !self.0.of(class).is_empty()
    }

    /// Returns a form of a class that a program can contain and that has a marked node in it.
    pub fn marked(&self, class: Id) -> Option<Term> {
        let inside = |candidate: &&CandidateId| self.0.summary(**candidate).inside;
        self.0.of(class).iter().find(inside).map(|candidate| self.0.term(*candidate))
    }
}

/// One application of a rule, as nodes of the e-graph.
struct Application {
    own: bool,
    /// The nodes that its left side matched.
    matched: Vec<Node>,
    /// The root of its right side.
    made: Node,
}

/// Returns the nodes that a rule made at the roots of its right sides, and the nodes that other rules made from these.
/// A rule counts only if its left side matched the node by an operator, not by a variable.
pub(super) fn made_by(
    egraph: &EGraph,
    rule: Symbol,
    compiled: &FxHashMap<Symbol, &CompiledRule>,
    carried: impl IntoIterator<Item = Node>,
) -> BTreeSet<Node> {
    let application = |entry: &Entry| match entry {
        Entry::Rule { rule: name, slots, united: true, .. } => {
            let of = compiled.get(name)?;
            let matched = nodes(egraph, &of.left, slots)?.into_iter().flatten().collect();
            let made = nodes(egraph, &of.plan, slots)?.pop().flatten()?;
            Some(Application { own: *name == rule, matched, made })
        }
        _ => None,
    };
    let journal = egraph.analysis.journal().entries();
    let applications: Vec<Application> = journal.iter().filter_map(application).collect();
    let mut marked: BTreeSet<Node> = carried.into_iter().collect();
    loop {
        let before = marked.len();
        for Application { own, matched, made } in &applications {
            if *own || matched.iter().any(|node| marked.contains(node)) {
                marked.insert(made.clone());
            }
        }
        if marked.len() == before {
            return marked;
        }
    }
}

/// Returns the steps of a side as nodes of the e-graph, the root last; a step is `None` if it is a variable or a
/// computed number.
fn nodes(egraph: &EGraph, steps: &[Step], slots: &[Id]) -> Option<Vec<Option<Node>>> {
    let mut built: Vec<Id> = Vec::with_capacity(steps.len());
    let mut found = Vec::with_capacity(steps.len());
    for step in steps {
        let (id, node) = match step {
            Step::Slot(slot) => (egraph.find(*slots.get(*slot)?), None),
            Step::Node(node) => {
                let mut node = node.clone().map_children(|child| built[usize::from(child)]);
                // Leaves occur everywhere, so they are no marks.
                (egraph.lookup(&mut node)?, (!node.is_leaf()).then_some(node))
            }
            Step::Compute(op, a, b) => {
                let integer = |at: usize| egraph[built[at]].data.integer();
                let n = ember_engine::saturate::compute(*op, integer(*a)?, integer(*b)?)?;
                (egraph.lookup(Node::int(n))?, None)
            }
        };
        built.push(id);
        found.push(node);
    }
    Some(found)
}
