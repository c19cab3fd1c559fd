//! Operations that rules alone say the meaning of: their elements are what the interpreter makes of the rules.

use crate::model::{Applied, Argument};
use egg::Id;
use ember_interpret::{Interpreter, Store};
use ember_language::make::Make;
use ember_language::rules::Operators;
use ember_language::term::{Node, Term};
use ember_targets::tensor::Tensor;
use ember_values::operation::Role;
use ember_values::scalar::Scalar;

/// The elements of an operation, in row-major order, of tensors in the order of its operands.
pub(super) fn elements(
    call: &Applied,
    tensors: Vec<Option<Tensor>>,
    operators: &Operators,
) -> Option<Vec<Scalar>> {
    let mut term = Term::default();
    let mut store = Store::default();
    let mut operands: Vec<Id> = Vec::with_capacity(tensors.len());
    let rows = call.operation.operands.iter().zip(&call.arguments);
    for (at, ((operand, argument), tensor)) in rows.zip(tensors).enumerate() {
        let mut make = Make::new(operators, |node| term.add(node));
        operands.push(match (argument, tensor) {
            (Argument::Tensor(_), Some(tensor)) => {
                let name = at.to_string();
                let address = make.root(&name, false);
                store.tensors.insert(name, tensor);
                match operand.role {
                    Role::Tensor(..) => make.stored(address),
                    _ => address,
                }
            }
            (Argument::DType(dtype), _) => make.word(dtype.name()),
            (Argument::Number(number), _) => make.constant(number.dtype(), number.as_f64()),
            _ => return None,
        });
    }
    term.add(Node::op(call.operation.name, &operands));
    let mut interpreter = Interpreter::new(&term, operators, store);
    let root = interpreter.root();
    interpreter.elements(root).ok()
}
