//! Terms with other names in them.

use egg::{Id, Language, Symbol};
use ember_language::rebuild::rebuild;
use ember_language::rules::Operators;
use ember_language::term::{Head, Node, Term};
use ember_values::primitive::Primitive;
use std::collections::{BTreeMap, BTreeSet};

/// Names of tensors and sizes, each once.
pub type Names = Vec<Symbol>;

/// The names that a term mentions, in order.
pub fn names(term: &Term) -> Names {
    let mut names = Names::new();
    for node in term.as_ref() {
        if let Head::Op(name) = node.head()
            && name.as_str().starts_with('%')
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

/// A term with its names exchanged and some of its sizes replaced by numbers.
pub fn renamed(
    operators: &Operators,
    term: &Term,
    names: &BTreeMap<Symbol, Symbol>,
    numbers: &BTreeMap<Symbol, i64>,
) -> Term {
    let mut made = Term::default();
    rebuild(term.as_ref(), |at, node| {
        let size = operators.parts(&term[Id::from(at)], Primitive::Size);
        let number = size.and_then(|[name]| match term[name].head() {
            Head::Op(name) => numbers.get(&name).copied(),
            _ => None,
        });
        made.add(match (number, node.head()) {
            (Some(n), _) => Node::int(n),
            (None, Head::Op(name)) if names.contains_key(&name) => {
                Node::new(Head::Op(names[&name]), &[])
            }
            (None, _) => node,
        })
    });
    made
}

/// A term in which some tensors are read as they are, not as frozen.
pub fn thawed(operators: &Operators, term: &Term, tensors: &BTreeSet<Symbol>) -> Term {
    let mut made = Term::default();
    rebuild(term.as_ref(), |_, node| {
        let frozen = operators.parts(&node, Primitive::Freeze);
        let of = frozen.and_then(|[root]| match made[root].children() {
            [name] => Some((root, made[*name].head())),
            _ => None,
        });
        match of {
            Some((root, Head::Op(name))) if tensors.contains(&name) => root,
            _ => made.add(node),
        }
    });
    made
}
