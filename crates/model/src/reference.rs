//! The reference interpreter of models on whole tensors. It defines the order of operations, and shares no code with
//! lowering.
//!
//! Statements are evaluated in order. Each line below is one element of an operator's result. `Σ` adds in the given
//! order, from +0.0; `max` is the IEEE 754-2019 maximum; products are rounded before they are added; integers wrap; and
//! nothing is contracted or reassociated.
//!
//! | operator | element |
//! |---|---|
//! | `x(l)`, for each lookup `l` in order | `table[indices[l]][e]`; with weights in `emb.bag`, `weights[l]` times it |
//! | `emb.bag` sum | `Σ x(l)` |
//! | `emb.bag` mean | the sum divided by `max(count, 1)` in the table's type |
//! | `emb.bag` max | the maximum folded from its identity; 0 if there are no lookups |
//! | `emb.gather` | `table[indices[j]][e]`, copied |
//! | `emb.spmm` | `Σ values[l] * x(l)` over the lookups of the row |
//! | `emb.sddmm`, for edge `l` of row `r` | `Σ left[r][k] * right[indices[l]][k]` over `k` |
//! | `emb.mp`, `p(l)` being the element of `emb.sddmm` | `Σ f(p(l)) * right[indices[l]][e]` over the edges of the row |
//! | `emb.kg` transe | `0 - Σ max(x, 0 - x)`, `x = (h + r) - t` |
//! | `emb.kg` distmult | `Σ (h * r) * t` |
//! | `emb.kg` complex, `h` = `a + bi`, `r` = `c + di`, `t` = `x + yi` | `Σ (a * c - b * d) * x + (a * d + b * c) * y` |
//! | `emb.kg` rotate, `u = (a * c - b * d) - x`, `v = (a * d + b * c) - y` | `0 - Σ sqrt(u * u + v * v)` |
//! | `emb.block_gather` | `table[indices[j]][r][e]`, copied |
//! | `emb.dequantise` | `codes[r][e] * scales[r][0] + scales[r][1]` |
//! | `nn.relu` | `max(x, 0)` |
//! | `nn.sigmoid` | `1 / (1 + exp(0 - x))` |
//! | `nn.row_max`, `nn.row_sum` | the last dimension folded: the maximum from its identity, `Σ` |
//! | `nn.matmul` | `Σ a[i][k] * b[k][j]` over `k` |
//! | `nn.triangle` | `x[b][i][j]` for `i > j`, at `i (i - 1) / 2 + j` |
//! | `nn.softmax` | `e = exp(x - row_max x)`, `e / row_sum e` |
//!
//! The functions are those of `libm`. Operators that are not listed compute what their names state.

mod bounded;
mod compare;
mod dense;
mod element;
mod evaluate;
mod lookups;

pub use compare::{Mismatch, compare};

use crate::data::Instance;
use crate::model::Model;
use ember_targets::tensor::Tensor;
use evaluate::{Evaluator, Exact, WithBounds};
use std::collections::BTreeMap;

/// Returns the tensors that a model computes on one of its instances, by name: outputs and temporaries, without scratch
/// memory. Returns `None` for an instance of another model.
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
