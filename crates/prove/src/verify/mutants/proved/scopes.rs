//! Scopes of loop variables: what stands in a loop on the left side, and outside of it on the right side, has no meaning
//! there if it mentions the variable, whatever values the sides have.

use super::is_variable;
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rules::{Rule, Signature};
use ember_language::sexp::deeper;
use ember_language::term::{Head, Node};
use std::collections::BTreeSet;

/// Variables of a rule and the loop variables that bind them at one place.
type Places = Vec<(Var, BTreeSet<Var>)>;

/// Returns true if no variable of a mutant loses a loop around it that it keeps in the rule.
pub(super) fn are_kept(signature: &Signature, original: &Rule, mutant: &Rule) -> bool {
    lost(signature, mutant).is_subset(&lost(signature, original))
}

/// Returns the variables of a rule that stand outside of a loop on the right side, with its variable: those that are
/// everywhere inside of it on the left side, and the loop's variable itself.
fn lost(signature: &Signature, rule: &Rule) -> BTreeSet<(Var, Var)> {
    let [(left, binders), (right, others)] =
        [&rule.lhs, &rule.rhs].map(|side| places(signature, rule, side));
    let mut lost = BTreeSet::new();
    for (v, around) in &right {
        let own = left.iter().filter(|(own, _)| own == v).map(|(_, around)| around.clone());
        let mut needed = own.reduce(|a, b| &a & &b).unwrap_or_default();
        if binders.contains(v) || others.contains(v) {
            needed.insert(*v);
        }
        lost.extend(needed.difference(around).map(|binder| (*v, *binder)));
    }
    lost
}

/// Returns the places of variables in a side, and the loop variables that it binds.
fn places(signature: &Signature, rule: &Rule, side: &PatternAst<Node>) -> (Places, BTreeSet<Var>) {
    let mut visit = Visit { signature, rule, side, around: Vec::new(), found: Vec::new() };
    visit.node(Id::from(side.len().saturating_sub(1)));
    let bound = |node: &ENodeOrVar<Node>| match node {
        ENodeOrVar::ENode(node) => visit.bound(node),
        ENodeOrVar::Var(_) => None,
    };
    let binders = side.as_ref().iter().filter_map(bound).collect();
    (visit.found, binders)
}

struct Visit<'a> {
    signature: &'a Signature,
    rule: &'a Rule,
    side: &'a PatternAst<Node>,
    around: Vec<Var>,
    found: Places,
}

impl Visit<'_> {
    /// Returns the variable of the rule that an operator binds.
    fn bound(&self, node: &Node) -> Option<Var> {
        let Head::Op(name) = node.head() else { return None };
        let (variable, _) = self.signature.table().binds(name, node.children().len())?;
        match self.side[node.children()[variable]] {
            ENodeOrVar::Var(v) => Some(v).filter(|v| is_variable(self.signature, self.rule, *v)),
            ENodeOrVar::ENode(_) => None,
        }
    }

    fn node(&mut self, id: Id) {
        let node = match &self.side[id] {
            ENodeOrVar::Var(v) => {
                self.found.push((*v, self.around.iter().copied().collect()));
                return;
            }
            ENodeOrVar::ENode(node) => node.clone(),
        };
        let table = self.signature.table();
        let binds = match node.head() {
            Head::Op(name) => table.binds(name, node.children().len()),
            Head::Int(_) | Head::Real(_) => None,
        };
        // What a name is made of is not mentioned.
        let name = table.variable(&node).map(|[name, ..]| name);
        let bound = self.bound(&node);
        for (at, child) in node.children().iter().enumerate() {
            let binding = binds.is_some_and(|(variable, _)| variable == at) && bound.is_some();
            if binding || name == Some(*child) {
                continue;
            }
            let inside = bound.filter(|_| binds.is_some_and(|(_, body)| body == at));
            self.around.extend(inside);
            deeper(|| self.node(*child));
            if inside.is_some() {
                self.around.pop();
            }
        }
    }
}
