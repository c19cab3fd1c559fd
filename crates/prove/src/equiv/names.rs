//! Names loop variables by the order of loops, so that two terms that differ only in the names of their variables
//! become equal.
//!
//! A variable is named by the number of enclosing loops with the same bounds. Loops with other bounds do not count, so
//! that most nests keep their names when loops are interchanged.

use crate::chains::Terms;
use egg::{Id, Language};
use ember_analysis::facts::EGraph;
use ember_language::rules::Operators;
use ember_language::sexp::deeper;
use ember_language::term::{Head, Node, Term};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Renames the bound variables of a term by the order of loops; free variables stay.
pub fn normalise(term: &Term, operators: &Arc<Operators>) -> Term {
    named(term, operators, Naming::Alike)
}

/// Renames each bound variable by the number of all enclosing loops.
pub(super) fn apart(term: &Term, operators: &Arc<Operators>) -> Term {
    named(term, operators, Naming::Around)
}

/// Gives the variable of each loop a name of its own.
pub(super) fn each(term: &Term, operators: &Arc<Operators>) -> Term {
    named(term, operators, Naming::Each(0))
}

/// Returns true if the variables of two nested loops of a term have become equal in an e-graph that holds it.
pub fn captured(term: &Term, operators: &Arc<Operators>, egraph: &EGraph) -> bool {
    // The variables that are bound somewhere in each part.
    let mut inside: Vec<BTreeSet<Id>> = Vec::with_capacity(term.len());
    let class = |at: Id| Some(egraph.find(egraph.lookup_expr(&Terms::of(term, at))?));
    for node in term {
        let children = node.children();
        let mut own: BTreeSet<Id> = BTreeSet::new();
        own.extend(children.iter().flat_map(|child| &inside[usize::from(*child)]));
        let key = match node.head() {
            Head::Op(name) => operators.binds(name, children.len()),
            Head::Int(_) | Head::Real(_) => None,
        };
        if let Some((variable, body)) = key {
            let (outer, inner) = (children[variable], &inside[usize::from(children[body])]);
            let same = |other: &Id| *other != outer && class(*other) == class(outer);
            if inner.iter().any(same) {
                return true;
            }
            own.insert(outer);
        }
        inside.push(own);
    }
    false
}

/// The scheme by which variables are named.
#[derive(Clone, Copy)]
enum Naming {
    /// The number of enclosing loops with the same bounds.
    Alike,
    /// The number of all enclosing loops.
    Around,
    /// The number of loops so far; the field is the next number.
    Each(i64),
}

fn named(term: &Term, operators: &Arc<Operators>, naming: Naming) -> Term {
    let Some(root) = term.len().checked_sub(1) else { return Term::default() };
    let term = Terms::of(term, Id::from(root));
    let root = Id::from(term.len() - 1);
    let scopes = vec![Scope { around: None, from: root, to: root }];
    let (made, known) = (Terms::default(), FxHashMap::default());
    let mut names = Names { term: &term, operators, naming, made, scopes, known };
    let root = names.node(root, 0);
    let whole = names.made.finish();
    Terms::of(&whole, root)
}

/// An enclosing loop: its variable and the new name of the variable. The first scope has no loop.
struct Scope {
    around: Option<usize>,
    from: Id,
    to: Id,
}

struct Names<'a> {
    term: &'a Term,
    operators: &'a Arc<Operators>,
    naming: Naming,
    made: Terms,
    scopes: Vec<Scope>,
    /// The renamed node for each node and scope.
    known: FxHashMap<(Id, usize), Id>,
}

impl Names<'_> {
    fn node(&mut self, id: Id, scope: usize) -> Id {
        if let Some(made) = self.known.get(&(id, scope)) {
            return *made;
        }
        let made = deeper(|| self.fresh(id, scope));
        self.known.insert((id, scope), made);
        made
    }

    fn fresh(&mut self, id: Id, scope: usize) -> Id {
        let node = &self.term[id];
        let mut at = scope;
        while let Some(around) = self.scopes[at].around {
            if self.scopes[at].from == id {
                return self.scopes[at].to;
            }
            at = around;
        }
        let key = match node.head() {
            Head::Op(name) => self.operators.binds(name, node.children().len()),
            Head::Int(_) | Head::Real(_) => None,
        };
        let Some((variable, body)) = key else {
            let children: Vec<Id> = node.children().iter().map(|c| self.node(*c, scope)).collect();
            return self.made.add(Node::new(node.head(), &children));
        };
        let from = node.children()[variable];
        let inner = match self.renamed(from, scope) {
            Some(to) => {
                self.scopes.push(Scope { around: Some(scope), from, to });
                self.scopes.len() - 1
            }
            None => scope,
        };
        let mut children = Vec::with_capacity(node.children().len());
        for (at, child) in node.children().iter().enumerate() {
            let own = at == variable || at == body;
            children.push(self.node(*child, if own { inner } else { scope }));
        }
        self.made.add(Node::new(node.head(), &children))
    }

    /// Returns the renamed variable of a loop in this scope; `None` if the node is not a variable.
    fn renamed(&mut self, variable: Id, scope: usize) -> Option<Id> {
        let node = &self.term[variable];
        let [_, lo, hi, step] = self.operators.variable(node)?;
        let bounds = [lo, hi, step].map(|id| self.node(id, scope));
        let mut same: i64 = 0;
        let mut at = scope;
        while let Some(around) = self.scopes[at].around {
            let other = self.made.get(self.scopes[at].to);
            let other = other.and_then(|n| self.operators.variable(n));
            let alike = other.is_some_and(|[_, lo, hi, step]| [lo, hi, step] == bounds);
            same += i64::from(alike || !matches!(self.naming, Naming::Alike));
            at = around;
        }
        if let Naming::Each(next) = &mut self.naming {
            same = *next;
            *next += 1;
        }
        let number = self.made.add(Node::int(same));
        let name = self.made.add(self.operators.numbered_node(number));
        let [lo, hi, step] = bounds;
        let mut parts = node.children().to_vec();
        for (at, part) in self.operators.of(node)?.positions().zip([name, lo, hi, step]) {
            *parts.get_mut(at)? = part;
        }
        Some(self.made.add(Node::new(node.head(), &parts)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::equiv::tests::operators;

    fn same(a: &str, b: &str) -> bool {
        let of = |text: &str| normalise(&text.parse().expect("a term"), &operators());
        of(a) == of(b)
    }

    fn nest(outer: &str, inner: &str, body: &str) -> String {
        let bounds = |name: &str| if name.starts_with("(var") { "0 4 1" } else { "0 9 1" };
        let (o, i) = (bounds(outer), bounds(inner));
        format!("(scf.for {outer} {o} (scf.for {inner} {i} {body}))")
    }

    #[test]
    fn names_do_not_matter_and_uses_do() {
        let (x, y) = ("(var (depth 0) 0 4 1)", "(var (outer (var a 0 4 1) 2) 0 4 1)");
        let use_of = |a: &str, b: &str| format!("(scf.store (at o (iv {a})) (iv {b}))");
        assert!(same(&nest(x, y, &use_of(x, y)), &nest(y, x, &use_of(y, x))));
        assert!(!same(&nest(x, y, &use_of(x, y)), &nest(x, y, &use_of(y, x))));
    }

    #[test]
    fn loops_around_each_other_may_be_named_apart() {
        let nest = nest("(var a 0 9 1)", "(var a 0 4 1)", "scf.skip");
        let term = nest.parse().expect("a term");
        assert!(normalise(&term, &operators()).to_string().contains("(var (depth 0) 0 4 1)"));
        assert!(apart(&term, &operators()).to_string().contains("(var (depth 1) 0 4 1)"));
    }

    #[test]
    fn bounds_that_mention_a_variable_follow_it() {
        let tiled = |name: &str| {
            let t = format!("(var {name} 0 8 4)");
            let i = format!("(var k (iv {t}) 8 1)");
            format!("(scf.for {t} 0 8 4 (scf.for {i} (iv {t}) 8 1 (f (iv {i}))))")
        };
        assert!(same(&tiled("a"), &tiled("b")));
    }
}
