//! The data of a model: the tensors and sizes of one run, generated from a seed or read from files.
//!
//! - Generated tables and weights are computed on demand, at any size. All other tensors are held in memory, at most
//!   [`HELD_LIMIT`] bytes in total.
//! - `(ragged (mean M) (empty P))` generates offsets: a bag is empty with probability P; otherwise its length is
//!   uniform from 1 to `2 M / (1 - P) - 1`, so that the mean over all bags is M.
//! - `(zipf S)` draws Zipf-distributed ranks and scatters them over the rows by a seeded permutation, so that frequent
//!   rows are not neighbours. `(locality L)` is defined in [`ReuseHistogram`]'s module.
//! - Sizes follow from the given data: from `(size …)`, from the shapes of files and values, and for the lookups from
//!   the end of the last bag.
//! - Every instance is checked: offsets start at 0, never fall and end at the number of lookups; indices are valid rows
//!   of the table.

pub mod blocks;
mod check;
mod file;
mod fill;
mod generate;
mod given;
pub mod graph;
mod instantiate;
mod locality;
mod origin;
mod prepared;
mod random;
mod zipf;

pub use file::{FileError, NoFormat, TensorFile};
pub use generate::{bag_lookups, bag_offsets, indices_seed};
pub use locality::{BOUNDS, Locality, ReuseHistogram, reuse_distances};
pub use prepared::broadcast;

use crate::model::Model;
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_language::suggest;
use ember_targets::dlc::{Dim, Program};
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::{DType, Scalar};
use std::collections::BTreeMap;

/// The maximum number of bytes that the tensors of one instance hold.
pub const HELD_LIMIT: u64 = 4 << 30;

/// The maximum number of table elements that one run reads; an interpreter would not finish with more.
pub const WORK_LIMIT: u64 = 100_000_000_000;

/// The data of one run of a model.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The inputs and the computed tensors by name; the computed tensors hold zeros.
    pub tensors: BTreeMap<String, Tensor>,
    /// Every size by name, including sizes with a number added, such as `bags+1`.
    pub sizes: BTreeMap<String, u64>,
    /// The seed of the data.
    pub seed: u64,
}

impl Model {
    /// Builds the data of one run from a seed, or from the model's own seed if none is given. Errors are missing
    /// sources and sizes, contradicting shapes, unreadable files, data that is too large, and data that the operation
    /// cannot use.
    pub fn instantiate(&self, seed: Option<u64>) -> Checked<Instance> {
        instantiate::instantiate(self, seed.unwrap_or(self.data.seed))
    }
}

impl Instance {
    /// Returns the tensors and sizes of a program, in its order. A size takes its value from the tensors whose shapes
    /// mention it, or else from the instance's size of that name. Errors are a tensor or size that the instance does
    /// not have, and types or shapes that differ.
    pub fn bind(&self, program: &Program) -> Checked<(Vec<Tensor>, Vec<i64>)> {
        let mut errors = Vec::new();
        let mut sizes: Vec<Option<u64>> = vec![None; program.sizes.len()];
        let mut tensors = Vec::new();
        for decl in &program.tensors {
            let Some(tensor) = self.tensors.get(&decl.name) else {
                let names = self.tensors.keys().map(String::as_str);
                errors.push(missing("tensor", &decl.name, names));
                continue;
            };
            let name = &decl.name;
            let ranks = (decl.shape.len(), tensor.shape.len());
            if decl.dtype != tensor.dtype || ranks.0 != ranks.1 {
                errors.push(Diagnostic::global(format!(
                    "the program's `{name}` is {} of rank {}, the model's {} of rank {}",
                    decl.dtype, ranks.0, tensor.dtype, ranks.1
                )));
                continue;
            }
            for (dim, n) in decl.shape.iter().zip(&tensor.shape) {
                let wanted = match *dim {
                    Dim::Const(wanted) => wanted,
                    Dim::Size(id) => match sizes.get_mut(id.index()) {
                        Some(size) => *size.get_or_insert(*n),
                        None => continue,
                    },
                };
                if wanted != *n {
                    errors.push(Diagnostic::global(format!(
                        "the program needs an extent of {wanted} where the model's `{name}` has {n}"
                    )));
                }
            }
            tensors.push(tensor.clone());
        }
        let mut values = Vec::new();
        for (name, bound) in program.sizes.iter().zip(sizes) {
            match bound.or(self.sizes.get(name).copied()) {
                Some(n) => values.push(n as i64),
                None => {
                    errors.push(missing("size", name, self.sizes.keys().map(String::as_str)));
                }
            }
        }
        if errors.is_empty() { Ok((tensors, values)) } else { Err(errors) }
    }
}

fn missing<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Diagnostic {
    let error = Diagnostic::global(format!("the model has no {what} `{name}`"));
    match suggest::help(name, known) {
        Some(help) => error.with_help(help),
        None => error,
    }
}

/// Returns held data of scalars, each converted to the element type.
pub(crate) fn held(dtype: DType, scalars: impl Iterator<Item = Scalar>) -> Data {
    Data::held(dtype, scalars.map(|x| x.cast(dtype)))
}
