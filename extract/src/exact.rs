//! Exact extraction: an integer programme, solved by branch and bound.
//!
//! A variable for each node says that it is chosen. The nodes of a class that every selection needs sum to 1, those of
//! another class to 1 at most, and to no less than the nodes of one user that use the class. Cycles are not forbidden in
//! advance: as long as the best solution has some, a constraint for each forbids them, and the programme is solved again.
//! Before, nodes are left out that another node of their class replaces at no higher cost, with the classes that only they
//! lead to.

use crate::bound::{needed, whole};
use crate::check::{Selection, check};
use crate::graph::{Class, Graph, Node};
use crate::{Extractor, Found, Prices};
use microlp::{
    ComparisonOp, OptimizationDirection, Problem, SolutionStatus, SolveOptions, Variable,
};
use std::collections::BTreeMap;

/// The exact extractor. It begins with the result of [`Prices`], and ends at once if this is proved to be the best.
#[derive(Clone, Copy, Debug)]
pub struct Exact {
    /// The most nodes of a graph, after reductions, that is solved.
    pub nodes: usize,
    /// The most steps of branching, in all solutions together.
    pub branches: u64,
    /// The most solutions, each with more cycles forbidden.
    pub solutions: usize,
}

impl Default for Exact {
    fn default() -> Self {
        Exact { nodes: 1500, branches: 2000, solutions: 60 }
    }
}

impl Extractor for Exact {
    fn name(&self) -> &'static str {
        "exact"
    }

    fn extract(&self, graph: &Graph) -> Found {
        let mut found = Prices::default().extract(graph);
        let cost = |selection: &Selection| {
            check(graph, selection).map_or(f64::INFINITY, |costs| costs.dag)
        };
        let best = cost(&found.selection);
        let proved = |bound: f64| bound >= best * (1.0 - 1e-12);
        if proved(found.bound) {
            return Found { unfinished: None, ..found };
        }
        let useful = undominated(graph);
        let count = useful.iter().filter(|useful| **useful).count();
        if count > self.nodes {
            return Found { unfinished: Some("the graph is too large to be solved"), ..found };
        }
        let mut programme = Programme::of(graph, &useful);
        let mut branches = self.branches;
        for _ in 0..self.solutions {
            let Ok(solution) = programme.solve(graph, &mut branches) else {
                return Found {
                    unfinished: Some("the solver could not compute a solution"),
                    ..found
                };
            };
            // The solver's own tolerances are far smaller than this.
            let bound = whole(graph, solution.bound - 1e-7 * programme.scale);
            found.bound = found.bound.max(bound.min(best));
            if proved(found.bound) {
                return Found { unfinished: None, ..found };
            }
            let Some(selection) = solution.selection else { break };
            let cycles = cycles(graph, &selection);
            if cycles.is_empty() {
                // The best of all selections, cyclic ones among them, is an extraction.
                if cost(&selection) < best {
                    found.selection = selection;
                }
                found.bound = cost(&found.selection);
                return Found { unfinished: None, ..found };
            }
            cycles.iter().for_each(|cycle| programme.forbid(graph, &useful, cycle));
        }
        Found { unfinished: Some("the search for the best had not ended at its limit"), ..found }
    }
}

/// Returns which nodes are left: those that can be reached, without those that another node of their class replaces, which
/// costs no more and uses no other classes.
fn undominated(graph: &Graph) -> Vec<bool> {
    let replaces = |a: Node, b: Node| {
        let (of_a, of_b) = (graph.uses(a), graph.uses(b));
        let fewer = || of_a.iter().all(|class| of_b.binary_search(class).is_ok());
        let alike = graph.cost(a) == graph.cost(b) && of_a.len() == of_b.len();
        a != b && graph.cost(a) <= graph.cost(b) && fewer() && (!alike || a < b)
    };
    let mut useful = vec![false; graph.nodes().len()];
    let mut reached = vec![false; graph.classes().len()];
    let mut waiting = graph.roots().to_vec();
    graph.roots().iter().for_each(|root| reached[root.index()] = true);
    while let Some(class) = waiting.pop() {
        let nodes = graph.nodes_of(class);
        // A long class would take its square.
        let long = nodes.len() > 256;
        for node in nodes.iter().filter(|b| long || !nodes.iter().any(|a| replaces(*a, **b))) {
            useful[node.index()] = true;
            for child in graph.uses(*node) {
                if !std::mem::replace(&mut reached[child.index()], true) {
                    waiting.push(*child);
                }
            }
        }
    }
    useful
}

/// The integer programme of a graph.
struct Programme {
    problem: Problem,
    variables: BTreeMap<Node, Variable>,
    /// The cost that 1 stands for.
    scale: f64,
}

/// A solution of a programme.
struct Solution {
    /// A cost that no selection is below.
    bound: f64,
    /// The chosen nodes, maybe with cycles; `None` if the limit came before the proof that it is the best.
    selection: Option<Selection>,
}

impl Programme {
    fn of(graph: &Graph, useful: &[bool]) -> Programme {
        let scale = graph.costs.iter().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        let nodes = graph.nodes().filter(|node| useful[node.index()]);
        let variables: BTreeMap<Node, Variable> =
            nodes.map(|node| (node, problem.add_binary_var(graph.cost(node) / scale))).collect();
        let members = |class: Class| graph.nodes_of(class).iter().filter_map(|n| variables.get(n));
        let needed = needed(graph);
        for class in graph.classes().filter(|class| members(*class).next().is_some()) {
            let whole: Vec<_> = members(class).map(|variable| (*variable, 1.0)).collect();
            let operator =
                if needed.contains(&class) { ComparisonOp::Eq } else { ComparisonOp::Le };
            problem.add_constraint(whole, operator, 1.0);
            let mut users: BTreeMap<Class, Vec<(Variable, f64)>> = BTreeMap::new();
            for node in graph.nodes_of(class) {
                for used in graph.uses(*node).iter().filter(|used| !needed.contains(used)) {
                    let variable = variables.get(node).map(|variable| (*variable, 1.0));
                    users.entry(*used).or_default().extend(variable);
                }
            }
            for (used, mut row) in users.into_iter().filter(|(_, row)| !row.is_empty()) {
                row.extend(members(used).map(|variable| (*variable, -1.0)));
                problem.add_constraint(row, ComparisonOp::Le, 0.0);
            }
        }
        Programme { problem, variables, scale }
    }

    /// Forbids a cycle: of its classes, at least one must not choose a node that uses the next one.
    fn forbid(&mut self, graph: &Graph, useful: &[bool], cycle: &[Class]) {
        let next = cycle.iter().cycle().skip(1);
        let pairs = cycle.iter().zip(next);
        let users = pairs.flat_map(|(class, next)| {
            let nodes = graph.nodes_of(*class).iter();
            nodes.filter(|n| useful[n.index()] && graph.uses(**n).binary_search(next).is_ok())
        });
        let row: Vec<_> =
            users.filter_map(|node| Some((*self.variables.get(node)?, 1.0))).collect();
        self.problem.add_constraint(row, ComparisonOp::Le, cycle.len() as f64 - 1.0);
    }

    /// Solves the programme, and takes the branches from those that are left.
    fn solve(&self, graph: &Graph, left: &mut u64) -> Result<Solution, microlp::Error> {
        let mut options = SolveOptions::default();
        options.node_limit = Some(*left);
        let outcome = self.problem.solve_with(options)?;
        let stats = outcome.stats();
        *left = left.saturating_sub(stats.nodes_solved);
        let optimal = outcome.solution().filter(|s| s.status() == SolutionStatus::Optimal);
        let selection = optimal.map(|solution| self.selection(graph, solution));
        let bound = optimal.map(|solution| solution.objective()).or(stats.best_bound);
        Ok(Solution { bound: bound.unwrap_or(0.0) * self.scale, selection })
    }

    fn selection(&self, graph: &Graph, solution: &microlp::Solution) -> Selection {
        let mut selection = Selection::new(graph);
        let chosen = self.variables.iter().filter(|(_, v)| solution.var_value(**v) > 0.5);
        chosen.for_each(|(node, _)| selection.choose(graph.class_of(*node), *node));
        selection
    }
}

/// Returns cycles of a selection, at least one if it has any, each as its classes in order.
fn cycles(graph: &Graph, selection: &Selection) -> Vec<Vec<Class>> {
    let mut cycles = Vec::new();
    // For each class its place on the way, or that it has been left.
    let mut places: BTreeMap<Class, Option<usize>> = BTreeMap::new();
    let children = |class: Class| selection.of(class).map_or(&[][..], |node| graph.uses(node));
    for root in graph.roots() {
        if places.contains_key(root) {
            continue;
        }
        places.insert(*root, Some(0));
        let mut way = vec![(*root, children(*root).iter())];
        while let Some((class, rest)) = way.last_mut() {
            let class = *class;
            match rest.next().map(|child| (*child, places.get(child).copied())) {
                None => {
                    places.insert(class, None);
                    way.pop();
                }
                Some((child, None)) => {
                    places.insert(child, Some(way.len()));
                    way.push((child, children(child).iter()));
                }
                Some((_, Some(Some(start)))) => {
                    cycles.push(way[start..].iter().map(|(class, _)| *class).collect());
                }
                Some((_, Some(None))) => {}
            }
        }
    }
    cycles
}
