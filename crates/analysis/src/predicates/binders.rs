//! The loops within a term.

use crate::facts::EGraph;
use egg::{Id, Language};
use rustc_hash::FxHashSet;

/// The most classes that are searched; in a larger term, no loop counts as one over the variable.
const CLASSES: usize = 4096;

/// Returns true if some form of a term has a loop over a variable.
pub(super) fn binds(egraph: &EGraph, variable: Id, within: Id) -> bool {
    let operators = egraph.analysis.operators();
    let variable = egraph.find(variable);
    let (mut seen, mut open) = (FxHashSet::default(), vec![egraph.find(within)]);
    while let Some(class) = open.pop() {
        // A term that has a form without loops does not depend on the others.
        if !egraph[class].data.has_loop || seen.len() == CLASSES || !seen.insert(class) {
            continue;
        }
        for node in &egraph[class].nodes {
            let looped = operators.looped(node).map(|own| egraph.find(own.variable));
            if looped == Some(variable) {
                return true;
            }
            open.extend(node.children().iter().map(|child| egraph.find(*child)));
        }
    }
    false
}
