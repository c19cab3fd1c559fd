//! Substitution of names in terms.

use egg::{Id, Language, Symbol};
use ember_language::rebuild::rebuild;
use ember_language::rules::Operators;
use ember_language::term::{Head, Node, Term};
use ember_values::primitive::form::{Form, Number, View};
use std::collections::{BTreeMap, BTreeSet};

/// Names of tensors and sizes, without duplicates.
pub type Names = Vec<Symbol>;

/// Returns the names in a term, in order of occurrence.
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

/// Returns a term with its names replaced, and with some of its sizes replaced by numbers.
pub fn renamed(
    operators: &Operators,
    term: &Term,
    names: &BTreeMap<Symbol, Symbol>,
    numbers: &BTreeMap<Symbol, i64>,
) -> Term {
    let mut made = Term::default();
    rebuild(term.as_ref(), |at, node| {
        let number = match operators.form(&term[Id::from(at)]) {
            Some(Form::Number { value: Number::Size(name), .. }) => match term[name].head() {
                Head::Op(name) => numbers.get(&name).copied(),
                _ => None,
            },
            _ => None,
        };
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

/// Returns a term that reads some tensors directly, not frozen.
pub fn thawed(operators: &Operators, term: &Term, tensors: &BTreeSet<Symbol>) -> Term {
    let mut made = Term::default();
    rebuild(term.as_ref(), |_, node| {
        let root = match operators.form(&node) {
            Some(Form::View { address: root, view: View::ReadOnly }) => Some(root),
            _ => None,
        };
        let of = root.and_then(|root| match made[root].children() {
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
