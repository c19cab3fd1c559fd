//! The vector operations that operators need.

use ember_model::Expr;
use ember_targets::machine::Machine;
use ember_values::operation::{Function, Kernel};
use ember_values::scalar::DType;

/// Returns the vector operations for one register of an operator's result, for operators that need the same number for
/// every register.
pub(super) fn operations(expr: &Expr, machine: &Machine) -> u64 {
    let Some(call) = expr.applied() else { return 0 };
    match call.kernel() {
        Kernel::Zip(_)
        | Kernel::Scale
        | Kernel::Bias
        | Kernel::ByNumber
        | Kernel::ByColumn
        | Kernel::ByRow(_) => 1,
        // A comparison and a selection, and the product of the slope.
        Kernel::Where => 2,
        Kernel::Leaky => 3,
        Kernel::Map(mapped) => mapped
            .or_else(|| call.word("function", Function::ALL))
            .map_or(0, |mapped| function(mapped, machine)),
        Kernel::Convert => match call.value("x") {
            Some(x) if x.dtype != expr.dtype => conversion(x.dtype).max(conversion(expr.dtype)),
            _ => 0,
        },
        // The operations are a product and a sum. Codes are converted at the cost of u8, a lower bound for u4.
        Kernel::Dequantise => conversion(DType::U8) + 2,
        _ => 0,
    }
}

/// Returns the operations of a function for one register.
pub(super) fn function(function: Function, machine: &Machine) -> u64 {
    let exponential = machine.core.exp_uops;
    match function {
        Function::Identity => 0,
        Function::Relu | Function::Neg | Function::Sqrt => 1,
        Function::Abs => 2,
        Function::Exp
        | Function::Log
        | Function::Sin
        | Function::Cos
        | Function::Tanh
        | Function::Erf => exponential,
        // A sigmoid takes the exponential, a difference, a sum and a quotient.
        Function::Sigmoid | Function::Silu => exponential + 3,
        // The error function takes a product before it, and a sum and two products behind it.
        Function::Gelu => exponential + 4,
        // The cube and the sum before the hyperbolic tangent take four operations more.
        Function::GeluTanh => exponential + 8,
    }
}

/// Returns the operations that convert from or to a type, for one register of the wider type. Packed lanes are spread
/// first, and half bytes are extracted from their bytes.
fn conversion(dtype: DType) -> u64 {
    1 + u64::from(dtype.is_storage()) + u64::from(dtype == DType::U4)
}
