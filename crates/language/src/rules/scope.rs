//! Checks scopes: a term that a binder on the left side binds must stay below a binder of the same variable on the
//! right side, unless a condition states that it does not mention the variable.

use super::book::{Arg, Rule};
use super::shape::Numbers;
use super::signature::{Signature, Sort, SortTerm};
use super::tree::{Tree, TreeHead};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::term::Node;
use egg::{ENodeOrVar, Language, PatternAst, Symbol, Var};
use std::collections::{BTreeMap, BTreeSet};

/// Bound variables, by the structural numbers of their patterns.
type Bound = BTreeSet<usize>;

/// The sorts of bound variables, and all sorts whose terms can mention one; element types, for example, cannot.
#[derive(Debug)]
pub(super) struct Mentioning {
    pub variables: BTreeSet<Sort>,
    pub all: BTreeSet<Sort>,
}

impl Mentioning {
    /// Computes the sorts of a complete signature.
    pub fn new(signature: &Signature) -> Mentioning {
        let variables = signature.variable_sorts();
        let mut all = variables.clone();
        loop {
            let before = all.len();
            for op in signature.operators() {
                let mentions = op.args.iter().any(|arg| match arg {
                    SortTerm::Is(sort) => all.contains(sort),
                    SortTerm::Any(_) => true,
                });
                if let (true, SortTerm::Is(result)) = (mentions, op.result) {
                    all.insert(result);
                }
            }
            if all.len() == before {
                return Mentioning { variables, all };
            }
        }
    }
}

/// Reports every variable that leaves its binder; returns true if none does. `rhs` is the right side with its places in
/// the file.
pub(super) fn check(
    signature: &Signature,
    mentioning: &Mentioning,
    rule: &Rule,
    rhs: &Tree,
    errors: &mut Vec<Diagnostic>,
) -> bool {
    let mut in_scope = true;
    let mut left = Left::of(signature, rule);
    for (variable, binder) in escaping(signature, mentioning, rule, &mut left) {
        let binder_name = rule
            .variables
            .iter()
            .find(|(v, _)| left.numbers.variable(*v) == Some(binder))
            .map(|(v, _)| *v);
        if binder_name != Some(variable) && excused(rule, variable, binder_name) {
            continue;
        }
        let name = Symbol::from(variable.to_string());
        let place = rhs.nodes.iter().find(|n| n.head == TreeHead::Var(name));
        let span = place.map_or(rhs.span(), |n| n.span);
        let loop_name = binder_name.map_or("a variable".to_owned(), |v| format!("`{v}`"));
        in_scope = false;
        errors.push(if binder_name == Some(variable) {
            Diagnostic::error(
                format!("`{variable}` escapes its binder"),
                span,
                "on the left side it is bound, here it is free",
            )
            .with_code(Code::Escapes)
            .with_help("use it only where an operator on the right side binds it")
        } else {
            Diagnostic::error(
                format!("`{variable}` may mention {loop_name}, which escapes its binder"),
                span,
                format!("nothing binds {loop_name} here"),
            )
            .with_code(Code::MayEscape)
            .with_help(format!(
                "add a condition on both: `{variable}` must not mention {loop_name}"
            ))
        });
    }
    in_scope
}

/// Returns true if a condition mentions both a variable and the binder that it leaves.
fn excused(rule: &Rule, variable: Var, binder: Option<Var>) -> bool {
    rule.guards.iter().any(|guard| {
        let names = |v: Var| guard.args.contains(&Arg::Var(v));
        names(variable) && binder.is_none_or(names)
    })
}

/// The facts that a rule's left side implies.
pub(super) struct Left<'a> {
    signature: &'a Signature,
    pub numbers: Numbers,
    /// For each variable, the operators that are around every place where it stands.
    pub scopes: BTreeMap<Var, Bound>,
    /// The variables that stand where nothing binds them.
    pub free: BTreeSet<Var>,
}

impl<'a> Left<'a> {
    /// Collects the facts from the left side of a rule and from the further patterns of its variables.
    pub fn of(signature: &'a Signature, rule: &Rule) -> Left<'a> {
        let (numbers, scopes, free) = (Numbers::default(), BTreeMap::new(), BTreeSet::new());
        let mut left = Left { signature, numbers, scopes, free };
        left.pattern(&rule.lhs, &Bound::new());
        let free = left.free.clone();
        for (x, pattern) in &rule.wheres {
            let outer = left.scopes.get(x).cloned().unwrap_or_default();
            left.pattern(pattern, &outer);
        }
        Left { free, ..left }
    }

    /// Records the scopes of a pattern below the given binders.
    fn pattern(&mut self, pattern: &PatternAst<Node>, outer: &Bound) {
        let numbers = self.numbers.of(pattern);
        let mut scopes: Vec<Bound> = vec![Bound::new(); pattern.len()];
        if let Some(root) = scopes.last_mut() {
            root.clone_from(outer);
        }
        let nodes: Vec<_> = pattern.as_ref().iter().enumerate().rev().collect();
        for (i, node) in nodes {
            match node {
                ENodeOrVar::Var(v) => {
                    let here = std::mem::take(&mut scopes[i]);
                    if !here.contains(&numbers[i]) {
                        self.free.insert(*v);
                    }
                    match self.scopes.get_mut(v) {
                        Some(known) => known.retain(|b| here.contains(b)),
                        None => {
                            self.scopes.insert(*v, here);
                        }
                    }
                }
                ENodeOrVar::ENode(n) => {
                    let binds = self.signature.operator_of(n).and_then(|op| op.binds);
                    for (k, child) in n.children().iter().enumerate() {
                        let mut below = scopes[i].clone();
                        if let Some((variable, body)) = binds
                            && (k == body || k == variable)
                        {
                            below.insert(numbers[usize::from(n.children()[variable])]);
                        }
                        scopes[usize::from(*child)] = below;
                    }
                }
            }
        }
    }
}

/// Returns the variables that occur on the right side outside a binder that encloses them on the left side, each with
/// this binder.
fn escaping(
    signature: &Signature,
    mentioning: &Mentioning,
    rule: &Rule,
    left: &mut Left,
) -> Vec<(Var, usize)> {
    let Mentioning { variables, all } = mentioning;
    let numbers = left.numbers.of(&rule.rhs);
    let mut exposed: Vec<BTreeSet<(Var, usize)>> = Vec::with_capacity(rule.rhs.len());
    for node in &rule.rhs {
        let mut here = BTreeSet::new();
        match node {
            ENodeOrVar::Var(v) => {
                let sort = rule.variables.iter().find(|(x, _)| x == v).and_then(|(_, sort)| *sort);
                // A loop variable mentions no variable but itself, regardless of its bounds.
                let itself = sort.is_some_and(|sort| variables.contains(&sort));
                let own = left.numbers.variable(*v);
                if sort.is_none_or(|sort| all.contains(&sort)) {
                    let around = left.scopes.get(v).into_iter().flatten();
                    let around = around.filter(|b| !itself || own == Some(**b));
                    here.extend(around.map(|b| (*v, *b)));
                }
            }
            ENodeOrVar::ENode(n) => {
                let op = signature.operator_of(n);
                let binds = op.and_then(|op| op.binds);
                let result = op.and_then(|op| op.result.named());
                // A variable mentions none of the variables in its name.
                let is_variable = result.is_some_and(|sort| variables.contains(&sort));
                for (k, child) in n.children().iter().enumerate().filter(|_| !is_variable) {
                    let child = usize::from(*child);
                    let bound = binds
                        .filter(|(variable, body)| k == *body || k == *variable)
                        .map(|(variable, _)| numbers[usize::from(n.children()[variable])]);
                    here.extend(exposed[child].iter().copied().filter(|(_, b)| bound != Some(*b)));
                }
            }
        }
        exposed.push(here);
    }
    exposed.pop().unwrap_or_default().into_iter().collect()
}
