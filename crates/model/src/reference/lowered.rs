//! Operations that rules alone say the meaning of: their elements are what the interpreter makes of the rules.

use crate::model::{Applied, Argument};
use egg::Id;
use ember_interpret::{Interpreter, Store};
use ember_language::rules::{Builder, Operators};
use ember_targets::tensor::Tensor;
use ember_values::operation::Role;
use ember_values::primitive::Primitive;
use ember_values::scalar::Scalar;

/// The elements of an operation, in row-major order, of tensors in the order of its operands.
pub(super) fn elements(
    call: &Applied,
    tensors: Vec<Option<Tensor>>,
    operators: &Operators,
) -> Option<Vec<Scalar>> {
    let mut build = Builder::new(operators);
    let mut store = Store::default();
    let mut operands: Vec<Id> = Vec::with_capacity(tensors.len());
    let rows = call.operation.operands.iter().zip(&call.arguments);
    for (at, ((operand, argument), tensor)) in rows.zip(tensors).enumerate() {
        operands.push(match (argument, tensor) {
            (Argument::Tensor(_), Some(tensor)) => {
                let name = at.to_string();
                let word = build.name(&name);
                store.tensors.insert(name, tensor);
                let address = build.make(Primitive::Root(false), &[word]);
                match operand.role {
                    Role::Tensor(..) => build.make(Primitive::Stored, &[address]),
                    _ => address,
                }
            }
            (Argument::DType(dtype), _) => build.op(dtype.name(), &[]),
            (Argument::Number(number), _) => {
                let dtype = build.op(number.dtype().name(), &[]);
                let real = build.real(number.as_f64());
                build.make(Primitive::Constant, &[dtype, real])
            }
            _ => return None,
        });
    }
    build.op(call.operation.name, &operands);
    let mut interpreter = Interpreter::new(&build.term, operators, store);
    let root = interpreter.root();
    interpreter.elements(root).ok()
}
