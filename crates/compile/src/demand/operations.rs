//! Operations of the vector unit that operators ask for.

use ember_model::model::{Edge, Expr, Op, Unary};
use ember_targets::machine::Machine;
use ember_values::scalar::DType;

/// Operations of the vector unit for one register of an operator's result, where these are the same
/// for every register.
pub(super) fn operations(expr: &Expr, machine: &Machine) -> u64 {
    match &expr.op {
        Op::Unary(Unary::Relu, _)
        | Op::Binary(..)
        | Op::Scale(..)
        | Op::Bias(..)
        | Op::Rows(..) => 1,
        Op::Unary(Unary::Exp, _) => edge(Edge::Exp, machine),
        Op::Unary(Unary::Sigmoid, _) => edge(Edge::Sigmoid, machine),
        Op::Cast(x) if x.dtype == expr.dtype => 0,
        Op::Cast(x) => conversion(x.dtype).max(conversion(expr.dtype)),
        // A product and a sum. The codes are u8 or u4, at best.
        Op::Dequantise { .. } => conversion(DType::U8) + 2,
        _ => 0,
    }
}

/// Operations of an edge function for one register.
pub(super) fn edge(edge: Edge, machine: &Machine) -> u64 {
    match edge {
        Edge::Identity => 0,
        Edge::Relu => 1,
        Edge::Exp => machine.core.exp_uops,
        // The exponential, a difference, a sum and a quotient.
        Edge::Sigmoid => machine.core.exp_uops + 3,
    }
}

/// Operations that convert from or to a type, for one register of the wider one: packed lanes are
/// spread first, and half bytes taken out of their bytes.
fn conversion(dtype: DType) -> u64 {
    1 + u64::from(dtype.is_storage()) + u64::from(dtype == DType::U4)
}
