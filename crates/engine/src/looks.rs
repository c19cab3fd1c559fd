//! Sketch matching: decides if a class contains a term that fits a sketch.

use crate::knowledge::EGraph;
use crate::matcher::Query;
use egg::{Id, Language};
use ember_egraph::Analysis;
use ember_language::rules::{Part, Sketch};
use ember_language::term::{Head, Node};
use rustc_hash::FxHashSet;

/// Returns true if the class contains a term that fits the sketch. The e-graph must be clean.
pub fn holds<A: Analysis<Node>>(sketch: &Sketch, egraph: &EGraph<A>, class: Id) -> bool {
    let parts = sketch.parts();
    if let [Part::Pattern(pattern, _)] = parts {
        return Query::new(pattern).holds(egraph, class);
    }
    let mut holds: Vec<FxHashSet<Id>> = Vec::with_capacity(parts.len());
    for part in parts {
        let here = |node: &Node, head: Head, children: &[usize]| {
            node.head() == head
                && node.children().len() == children.len()
                && node.children().iter().zip(children).all(|(child, part)| {
                    parts[*part] == Part::Any || holds[*part].contains(&egraph.find(*child))
                })
        };
        let found = match part {
            Part::Any => FxHashSet::default(),
            Part::Node(head, children) => {
                let classes = egraph.classes_for_op(&(*head, children.len()));
                let classes = classes.unwrap_or_default().iter().map(|id| &egraph[*id]);
                let any = classes
                    .filter(|class| class.nodes.iter().any(|node| here(node, *head, children)));
                any.map(|class| class.id).collect()
            }
            Part::Pattern(pattern, _) => Query::new(pattern).classes(egraph),
            Part::Contains(inner) => above(egraph, classes_of(parts, egraph, *inner, &holds)),
            Part::Or(some) => {
                some.iter().flat_map(|part| classes_of(parts, egraph, *part, &holds)).collect()
            }
        };
        holds.push(found);
    }
    let whole = parts.len() - 1;
    parts[whole] == Part::Any || holds[whole].contains(&egraph.find(class))
}

/// Returns the classes that fit a part whose entry in `holds` is complete.
fn classes_of<A: Analysis<Node>>(
    parts: &[Part],
    egraph: &EGraph<A>,
    part: usize,
    holds: &[FxHashSet<Id>],
) -> FxHashSet<Id> {
    match parts[part] {
        Part::Any => egraph.classes().map(|class| class.id).collect(),
        _ => holds[part].clone(),
    }
}

/// Returns the classes themselves and all their ancestors.
fn above<A: Analysis<Node>>(egraph: &EGraph<A>, mut classes: FxHashSet<Id>) -> FxHashSet<Id> {
    let mut open: Vec<Id> = classes.iter().copied().collect();
    while let Some(class) = open.pop() {
        for parent in egraph[class].parents() {
            let parent = egraph.find(parent);
            if classes.insert(parent) {
                open.push(parent);
            }
        }
    }
    classes
}
