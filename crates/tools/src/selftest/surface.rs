//! A program as a tree in which loops bind names, so that each bound occurs once: if it is changed there, the loop's
//! variable has the new bound in all its uses.

use egg::{Id, Language};
use ember_language::erase::erased;
use ember_language::make::Make;
use ember_language::rules::{Loop, OpInfo, Operators};
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
    /// A program as a tree; `None` where it is too large.
    pub fn of(term: &Term, operators: &Operators) -> Option<Tree> {
        if tree_size(term) > MOST_WORDS {
            return None;
        }
        // This makes each variable a single node, however the term was built.
        let term = Terms::of(term, Id::from(term.len().checked_sub(1)?));
        let root = Id::from(term.len().checked_sub(1)?);
        let mut loops = 0;
        Some(tree(&term, operators, root, &mut Vec::new(), &mut loops))
    }

    /// The program. Its variables are named by how many loops are around them.
    pub fn term(&self, operators: &Operators) -> Term {
        let mut terms = Terms::default();
        let root = put(self, operators, &mut Vec::new(), &mut terms);
        Terms::of(&terms.finish(), root)
    }

    /// Returns the operator's name; empty for a number or a variable.
    pub fn name(&self) -> &'static str {
        match self.head {
            What::Word(Head::Op(name)) => name.as_str(),
            What::Word(Head::Int(_) | Head::Real(_)) | What::Variable(_) => "",
        }
    }

    /// Returns the operator's row in the operator table.
    pub fn info<'a>(&self, operators: &'a Operators) -> Option<&'a OpInfo> {
        match self.head {
            What::Word(Head::Op(name)) => operators.get(name, self.parts.len()),
            What::Word(Head::Int(_) | Head::Real(_)) | What::Variable(_) => None,
        }
    }

    /// Returns the operands of a loop that binds a name in the tree, and the number of its variable.
    pub fn looped(&self, operators: &Operators) -> Option<(Loop, usize)> {
        let own = self.info(operators).and_then(OpInfo::looped)?;
        match self.parts.get(own.variable)?.head {
            What::Variable(number) => Some((own, number)),
            What::Word(_) => None,
        }
    }
}

/// Returns the operands of a loop whose own bounds tell what its variable ranges over: one pair of bounds, which has a
/// meaning on one processor.
fn telling(term: &Term, node: &Node, operators: &Operators) -> Option<Loop> {
    let own = operators.of(node)?.looped().filter(|own| own.access.is_none())?;
    let told = |at: usize| erased(&Terms::of(term, node.children()[at]), operators).is_some();
    [own.lo, own.hi, own.step].into_iter().all(told).then_some(own)
}

fn tree(
    term: &Term,
    operators: &Operators,
    id: Id,
    around: &mut Vec<(Id, usize)>,
    loops: &mut usize,
) -> Tree {
    deeper(|| {
        let node = &term[id];
        if let Some((_, number)) = around.iter().rev().find(|(variable, _)| *variable == id) {
            return Tree { head: What::Variable(*number), parts: Vec::new() };
        }
        let children = node.children();
        let own = telling(term, node, operators);
        let mut parts = Vec::with_capacity(children.len());
        let number = *loops;
        *loops += usize::from(own.is_some());
        for (at, child) in children.iter().enumerate() {
            let bound = own.filter(|own| at == own.variable || at == own.body);
            if let Some(own) = bound {
                around.push((children[own.variable], number));
            }
            parts.push(tree(term, operators, *child, around, loops));
            if bound.is_some() {
                around.pop();
            }
        }
        Tree { head: What::Word(node.head()), parts }
    })
}

fn put(tree: &Tree, operators: &Operators, around: &mut Vec<(usize, Id)>, terms: &mut Terms) -> Id {
    deeper(|| {
        let head = match tree.head {
            What::Word(head) => head,
            What::Variable(number) => {
                let known = around.iter().rev().find(|(n, _)| *n == number).map(|(_, id)| *id);
                // A change may have left a variable without its loop; it then stays unbound.
                return known.unwrap_or_else(|| terms.add(Node::op("unbound", &[])));
            }
        };
        let Some((Loop { variable, lo, hi, step, body, .. }, number)) = tree.looped(operators)
        else {
            let parts = tree.parts.iter().map(|part| put(part, operators, around, terms));
            let parts: Vec<Id> = parts.collect();
            return terms.add(Node::new(head, &parts));
        };
        let places = [lo, hi, step];
        let bounds = places.map(|at| put(&tree.parts[at], operators, around, terms));
        let range = bounds.map(|bound| match erased(&terms.part(bound), operators) {
            Some(told) => terms.put(&told),
            None => bound,
        });
        let own = Make::new(operators, |node| terms.add(node)).variable(around.len() as i64, range);
        let mut parts = Vec::with_capacity(tree.parts.len());
        for (at, part) in tree.parts.iter().enumerate() {
            let bound = places.iter().position(|place| *place == at);
            let id = match bound {
                _ if at == variable => own,
                Some(bound) => bounds[bound],
                None if at == body => {
                    around.push((number, own));
                    let id = put(part, operators, around, terms);
                    around.pop();
                    id
                }
                None => put(part, operators, around, terms),
            };
            parts.push(id);
        }
        terms.add(Node::new(head, &parts))
    })
}
