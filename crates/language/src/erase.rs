//! Terms of any level as terms of one processor: each operator as the one that it erases to.
//!
//! Program text takes from the result what the variable of a unit's loop ranges over. To equivalence checking
//! the result is a hint: rules must lead from it back to the program.

use crate::make::Make;
use crate::rebuild::{rebuild, try_rebuild};
use crate::rules::{Loop, OpInfo, Operators};
use crate::term::{Head, Node, Term, Terms};
use egg::{Id, Language, Symbol};
use ember_values::primitive::Typing;
use ember_values::primitive::form::{Form, Operation, Sequence};
use ember_values::scalar::{BinaryOp, DType};

/// The term on one processor that a term of any level erases to; names of variables stay. `None` if it is not
/// known what one of its operators does there.
pub fn erased(term: &Term, operators: &Operators) -> Option<Term> {
    let mut made = Terms::default();
    let root = try_rebuild(term.as_ref(), |_, node| one(node, operators, &mut made))?;
    Some(made.part(root))
}

/// Erases the operators whose erasure is known; the others stay.
pub fn erased_as_far(term: &Term, operators: &Operators) -> Term {
    let mut made = Terms::default();
    let root = rebuild(term.as_ref(), |_, node| {
        one(node.clone(), operators, &mut made).unwrap_or_else(|| made.add(node))
    });
    made.part(root)
}

/// Translates one node whose operands are already translated.
fn one(node: Node, operators: &Operators, made: &mut Terms) -> Option<Id> {
    let Some(info) = operators.of(&node) else { return Some(made.add(node)) };
    let operands = node.children();
    let is_skip = |id: &Id| {
        made.get(*id)
            .is_some_and(|own| operators.form(own) == Some(Form::Sequence(Sequence::Empty)))
    };
    // Nothing is left of a loop that only reads ahead.
    match info.form(operands) {
        Some(Form::Loop(Loop { body, folds: None, .. })) if is_skip(&body) => return Some(body),
        Some(Form::Sequence(Sequence::Two([first, s]))) if is_skip(&first) => return Some(s),
        _ => {}
    }
    let mut make = Make::new(operators, |node| made.add(node));
    Some(match info.form(operands) {
        // The operator only places its operand on a unit.
        Some(Form::Carried { x, to: None }) => x,
        Some(Form::Loaded { address, early: Some(_) }) => make.load(address),
        Some(Form::Sequence(Sequence::Ahead(_))) => make.skip(),
        Some(Form::Binary(op @ Operation::Named(_), [a, b])) => {
            let op = op.known(|op| BinaryOp::parse(made.get(op)?.name()?))?;
            Make::new(operators, |node| made.add(node)).binary(op, a, b)
        }
        Some(Form::Carried { x, to: Some(Typing::I64) }) => make.cast(DType::I64, x),
        _ => made.add(own(&node, info, operators)?),
    })
}

/// The node that a node erases to by itself, under the names that operands have in both.
fn own(node: &Node, info: &OpInfo, operators: &Operators) -> Option<Node> {
    let erased = operators.erased(node);
    if operators.of(&erased).is_some_and(|erased| erased.unit.is_none()) {
        return Some(erased);
    }
    let name = operators.named(info.shape?, None)?;
    let others = operators.iter().filter(|other| other.name == name);
    let other = others.min_by_key(|other| other.operands.len())?;
    let own = |operand: &Option<Symbol>| {
        let at = info.position(operand.as_ref()?.as_str())?;
        node.children().get(at).copied()
    };
    let operands: Option<Vec<Id>> = other.operands.iter().map(own).collect();
    Some(Node::new(Head::Op(name), &operands?))
}
