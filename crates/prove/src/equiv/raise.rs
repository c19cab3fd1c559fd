//! Raises programs of any level to programs of one processor: replaces each operator by the operator that it erases to.
//!
//! The result is only a hint. Its equality to the program is proved like any other: rules must lead from it back to the
//! program.

use egg::{Id, Language, RecExpr};
use ember_language::rules::Operators;
use ember_language::term::{Node, Term};
use ember_values::primitive::Primitive;
use ember_values::scalar::{BinaryOp, DType};

/// Returns the statement of one processor that a program of any level erases to; names of variables stay.
pub fn raised(term: &Term, operators: &Operators) -> Term {
    let mut made: Term = RecExpr::default();
    let mut ids: Vec<Id> = Vec::with_capacity(term.len());
    for node in term {
        let node = node.clone().map_children(|c| ids[usize::from(c)]);
        let id = raised_node(&node, operators, &mut made);
        ids.push(id);
    }
    made
}

fn raised_node(node: &Node, operators: &Operators, made: &mut Term) -> Id {
    let raised = operators.of(node).and_then(|info| {
        let children = node.children();
        Some(match info.primitive()? {
            // The operator only places its operand on a unit.
            Primitive::Same => {
                let [x] = info.parts(children)?;
                return Some(x);
            }
            Primitive::Fetched => {
                let [_, address] = info.parts(children)?;
                operators.node(Primitive::Load, None, &[address])
            }
            Primitive::Apply => {
                let [op, a, b] = info.parts(children)?;
                let op = BinaryOp::parse(made[op].name()?)?;
                operators.node(Primitive::Binary(op), None, &[a, b])
            }
            Primitive::IndexCast => {
                let [x] = info.parts(children)?;
                let index = made.add(Node::op(DType::I64.name(), &[]));
                operators.node(Primitive::Cast, None, &[index, x])
            }
            _ => operators.erased(node),
        })
        .map(|node| made.add(node))
    });
    raised.unwrap_or_else(|| made.add(node.clone()))
}
