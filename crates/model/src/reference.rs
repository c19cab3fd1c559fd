//! The reference of models: what a model computes on whole tensors, its statements in order, each operation by its
//! kernel in the one order of operations that defines it ([`ember_kernels`]). It shares no code with lowering; an
//! operation of which rules alone say the meaning is interpreted.

mod compare;
mod distance;
mod evaluate;
mod lowered;
mod operands;

pub use compare::{Mismatch, compare};
pub use distance::{Apart, Distance, NoTolerance, Tolerance, distance};

use crate::data::Instance;
use crate::model::Model;
use ember_targets::tensor::Tensor;
use evaluate::{Evaluator, Exact, WithBounds};
use std::collections::BTreeMap;

/// Returns the tensors that a model computes on one of its instances, by name: outputs and temporaries, without scratch
/// memory and what only its other forms store. Returns `None` for an instance of another model.
pub fn evaluate(model: &Model, instance: &Instance) -> Option<BTreeMap<String, Tensor>> {
    Evaluator::<Exact>::run(model, instance)?.tensors()
}

/// Returns the error bound of each element of the computed tensors, by tensor: the greatest distance from the result of
/// exact arithmetic, in any order of adding sums; see [`compare`]. The bound is 0 if nothing rounds.
pub fn error_bounds(model: &Model, instance: &Instance) -> Option<BTreeMap<String, Vec<f64>>> {
    Evaluator::<WithBounds>::run(model, instance)?.errors()
}

#[cfg(test)]
mod tests;
