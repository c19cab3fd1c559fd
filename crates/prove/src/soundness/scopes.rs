//! Loop variables that the left side of an instance binds everywhere, and that its right side depends on: they have no
//! value there.

use super::apply::egraph;
use super::instance::Instance;
use egg::{Id, Language};
use ember_language::rules::Exactness;
use std::collections::BTreeSet;

/// Returns a loop variable that stands only within its loop on the left side of an instance, and that facts show the
/// right side to depend on.
pub(super) fn unbound(instance: &Instance, side: Id, exact: Exactness) -> Option<Id> {
    let (mut free, mut bound) = (BTreeSet::new(), BTreeSet::new());
    collect(instance, instance.lhs, &mut Vec::new(), &mut free, &mut bound);
    let candidates: Vec<Id> = bound.difference(&free).copied().collect();
    if candidates.is_empty() {
        return None;
    }
    let mut egraph = egraph(instance, exact);
    let root = egraph.add_expr(&instance.terms.part(side));
    egraph.rebuild();
    let depends: BTreeSet<Id> =
        egraph[root].data.free.iter().map(|key| egraph.analysis.variable(*key)).collect();
    candidates.into_iter().find(|variable| {
        let class = egraph.lookup_expr(&instance.terms.part(*variable));
        class.is_some_and(|class| depends.contains(&egraph.analysis.variable(egraph.find(class))))
    })
}

/// Collects the loop variables that a term mentions where nothing binds them, and those that it binds.
fn collect(
    instance: &Instance,
    term: Id,
    around: &mut Vec<Id>,
    free: &mut BTreeSet<Id>,
    bound: &mut BTreeSet<Id>,
) {
    let node = &instance.terms[term];
    if let Some(variable) = instance.operators.iv(node) {
        if !around.contains(&variable) {
            free.insert(variable);
        }
        return;
    }
    let binds = instance.operators.of(node).and_then(|info| info.binds);
    for (at, child) in node.children().iter().enumerate() {
        let inside = binds.filter(|(_, body)| *body == at);
        let variable = inside.and_then(|(variable, _)| node.children().get(variable).copied());
        around.extend(variable);
        bound.extend(variable);
        collect(instance, *child, around, free, bound);
        around.truncate(around.len() - usize::from(variable.is_some()));
    }
}
