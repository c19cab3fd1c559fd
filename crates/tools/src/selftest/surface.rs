//! A program as a tree in which loops bind names, so that each bound occurs once: if it is changed there, the loop's
//! variable has the new bound in all its uses.

use egg::{Id, Language};
use ember_language::sexp::deeper;
use ember_language::term::{Head, Node, Term};
use ember_prove::chains::{Terms, tree_size};

/// The limit on the words of a program that is converted to a tree.
const MOST_WORDS: u64 = 20_000;

/// A part of a program.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tree {
    pub head: What,
    pub parts: Vec<Tree>,
}

/// The head of a part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum What {
    /// An operator or a number.
    Word(Head),
    /// The variable of a loop, by the number of its loop.
    Variable(usize),
}

impl Tree {
    /// Converts a program to a tree; `None` if it is too large.
    pub fn of(term: &Term) -> Option<Tree> {
        if tree_size(term) > MOST_WORDS {
            return None;
        }
        // This makes each variable a single node, however the term was built.
        let term = Terms::of(term, Id::from(term.len().checked_sub(1)?));
        let root = Id::from(term.len().checked_sub(1)?);
        let mut loops = 0;
        Some(tree(&term, root, &mut Vec::new(), &mut loops))
    }

    /// Converts the tree to a program. Its variables are named by the number of their enclosing loops.
    pub fn term(&self) -> Term {
        let mut terms = Terms::default();
        let root = put(self, &mut Vec::new(), &mut terms);
        Terms::of(&terms.finish(), root)
    }

    /// Returns the operator's name; empty for a number or a variable.
    pub fn name(&self) -> &'static str {
        match self.head {
            What::Word(Head::Op(name)) => name.as_str(),
            What::Word(Head::Int(_) | Head::Real(_)) | What::Variable(_) => "",
        }
    }

    /// Returns the positions of the variable, the lower bound and the body of a loop of one processor.
    pub fn loop_parts(&self) -> Option<[usize; 3]> {
        loop_parts(self.name(), self.parts.len())
    }
}

/// Returns the positions of a loop's variable, its lower bound and its body; the other bounds follow the lower bound.
fn loop_parts(name: &str, arity: usize) -> Option<[usize; 3]> {
    match (name, arity) {
        ("scf.for", 5) => Some([0, 1, 4]),
        ("scf.reduce", 7) => Some([1, 2, 6]),
        _ => None,
    }
}

fn tree(term: &Term, id: Id, around: &mut Vec<(Id, usize)>, loops: &mut usize) -> Tree {
    deeper(|| {
        let node = &term[id];
        if let Some((_, number)) = around.iter().rev().find(|(variable, _)| *variable == id) {
            return Tree { head: What::Variable(*number), parts: Vec::new() };
        }
        let children = node.children();
        let own = node.name().and_then(|name| loop_parts(name, children.len()));
        let mut parts = Vec::with_capacity(children.len());
        let number = *loops;
        *loops += usize::from(own.is_some());
        for (at, child) in children.iter().enumerate() {
            let bound = own.filter(|[variable, _, body]| at == *variable || at == *body);
            if let Some([variable, ..]) = bound {
                around.push((children[variable], number));
            }
            parts.push(tree(term, *child, around, loops));
            if bound.is_some() {
                around.pop();
            }
        }
        Tree { head: What::Word(node.head()), parts }
    })
}

fn put(tree: &Tree, around: &mut Vec<(usize, Id)>, terms: &mut Terms) -> Id {
    deeper(|| {
        let head = match tree.head {
            What::Word(head) => head,
            What::Variable(number) => {
                let known = around.iter().rev().find(|(n, _)| *n == number).map(|(_, id)| *id);
                // A change may have left a variable without its loop; it then stays unbound.
                return known.unwrap_or_else(|| terms.add(Node::op("unbound", &[])));
            }
        };
        let Some([variable, low, body]) = tree.loop_parts() else {
            let parts: Vec<Id> = tree.parts.iter().map(|part| put(part, around, terms)).collect();
            return terms.add(Node::new(head, &parts));
        };
        let bounds = [low, low + 1, low + 2].map(|at| put(&tree.parts[at], around, terms));
        let depth = terms.add(Node::int(around.len() as i64));
        let name = terms.add(Node::op("depth", &[depth]));
        let own = terms.add(Node::op("var", &[name, bounds[0], bounds[1], bounds[2]]));
        let mut parts = Vec::with_capacity(tree.parts.len());
        for (at, part) in tree.parts.iter().enumerate() {
            let id = match at {
                _ if at == variable => own,
                _ if (low..low + 3).contains(&at) => bounds[at - low],
                _ if at == body => {
                    if let What::Variable(number) = tree.parts[variable].head {
                        around.push((number, own));
                    }
                    let id = put(part, around, terms);
                    if matches!(tree.parts[variable].head, What::Variable(_)) {
                        around.pop();
                    }
                    id
                }
                _ => put(part, around, terms),
            };
            parts.push(id);
        }
        terms.add(Node::new(head, &parts))
    })
}
