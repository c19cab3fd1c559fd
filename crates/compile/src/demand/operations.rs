//! Operations of the vector unit that operators ask for.

use ember_model::Expr;
use ember_targets::machine::Machine;
use ember_values::operation::{Function, Kernel};
use ember_values::scalar::DType;

/// Operations of the vector unit for one register of an operator's result, where these are the same
/// for every register.
pub(super) fn operations(expr: &Expr, machine: &Machine) -> u64 {
    let Some(call) = expr.applied() else { return 0 };
    match call.kernel() {
        Kernel::Zip(_) | Kernel::Scale | Kernel::Bias | Kernel::ByRow(_) => 1,
        Kernel::Map(mapped) => function(mapped, machine),
        Kernel::Convert => match call.value("x") {
            Some(x) if x.dtype != expr.dtype => conversion(x.dtype).max(conversion(expr.dtype)),
            _ => 0,
        },
        // A product and a sum. The codes are u8 or u4, at best.
        Kernel::Dequantise => conversion(DType::U8) + 2,
        _ => 0,
    }
}

/// Operations of a function for one register.
pub(super) fn function(function: Function, machine: &Machine) -> u64 {
    match function {
        Function::Identity => 0,
        Function::Relu => 1,
        Function::Exp => machine.core.exp_uops,
        // The exponential, a difference, a sum and a quotient.
        Function::Sigmoid => machine.core.exp_uops + 3,
    }
}

/// Operations that convert from or to a type, for one register of the wider one: packed lanes are
/// spread first, and half bytes taken out of their bytes.
fn conversion(dtype: DType) -> u64 {
    1 + u64::from(dtype.is_storage()) + u64::from(dtype == DType::U4)
}
