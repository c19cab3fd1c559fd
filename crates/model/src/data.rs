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
pub use prepared::{broadcast, sorted};

use crate::model::Model;
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_language::suggest;
use ember_targets::dlc::{Dim, Program, Purpose, TensorDecl};
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
    /// mention it, or else from the instance's size of that name. Scratch memory, which is the program's own, holds zeros.
    /// Errors are a tensor or size that the instance does not have, types or shapes that differ, and scratch memory that
    /// is called like a tensor of the model or takes more than [`HELD_LIMIT`] bytes.
    pub fn bind(&self, program: &Program) -> Checked<(Vec<Tensor>, Vec<i64>)> {
        let mut errors = Vec::new();
        let mut sizes: Vec<Option<u64>> = vec![None; program.sizes.len()];
        let given: Vec<Option<&Tensor>> =
            program.tensors.iter().map(|decl| self.given(decl, &mut sizes, &mut errors)).collect();
        let mut values = Vec::new();
        for (name, bound) in program.sizes.iter().zip(sizes) {
            match bound.or(self.sizes.get(name).copied()) {
                Some(n) => values.push(n as i64),
                None => {
                    errors.push(missing("size", name, self.sizes.keys().map(String::as_str)));
                }
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut left = HELD_LIMIT;
        let mut bound = |(decl, given): (&TensorDecl, Option<&Tensor>)| match given {
            Some(tensor) => Ok(tensor.clone()),
            None => scratch(decl, &values, &mut left),
        };
        let tensors: Result<_, Diagnostic> =
            program.tensors.iter().zip(given).map(&mut bound).collect();
        tensors.map(|tensors| (tensors, values)).map_err(|error| vec![error])
    }

    /// Returns the tensor of a declaration, and binds the sizes in its shape; none for scratch memory or after an error.
    fn given(
        &self,
        decl: &TensorDecl,
        sizes: &mut [Option<u64>],
        errors: &mut Vec<Diagnostic>,
    ) -> Option<&Tensor> {
        let name = &decl.name;
        let tensor = match (self.tensors.get(name), decl.purpose) {
            (None, Purpose::Scratch) => return None,
            (Some(_), Purpose::Scratch) => {
                let message =
                    format!("the program's scratch memory `{name}` is a tensor of the model");
                errors.push(Diagnostic::global(message).with_help("give it another name"));
                return None;
            }
            (None, _) => {
                errors.push(missing("tensor", name, self.tensors.keys().map(String::as_str)));
                return None;
            }
            (Some(tensor), _) => tensor,
        };
        let ranks = (decl.shape.len(), tensor.shape.len());
        if decl.dtype != tensor.dtype || ranks.0 != ranks.1 {
            errors.push(Diagnostic::global(format!(
                "the program's `{name}` is {} of rank {}, the model's {} of rank {}",
                decl.dtype, ranks.0, tensor.dtype, ranks.1
            )));
            return None;
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
        Some(tensor)
    }
}

/// Returns scratch memory, by the values of sizes; an error if it takes more than the bytes that are left.
fn scratch(decl: &TensorDecl, sizes: &[i64], left: &mut u64) -> Result<Tensor, Diagnostic> {
    let extent = |dim: &Dim| match *dim {
        Dim::Const(n) => n,
        Dim::Size(id) => sizes.get(id.index()).map_or(0, |&n| n.max(0) as u64),
    };
    let shape: Vec<u64> = decl.shape.iter().map(extent).collect();
    let elements = shape.iter().try_fold(1, |all: u64, &n| all.checked_mul(n));
    // An element of four bits takes a byte while it is held.
    let bytes = elements.and_then(|n| n.checked_mul(decl.dtype.bytes_of(1).max(1)));
    match bytes.and_then(|bytes| left.checked_sub(bytes)) {
        Some(rest) => *left = rest,
        None => {
            let message = format!("the program's scratch memory `{}` is too large", decl.name);
            let help = format!("all of it together takes at most {} GB", HELD_LIMIT >> 30);
            return Err(Diagnostic::global(message).with_help(help));
        }
    }
    Ok(Tensor::zeros(decl.dtype, shape))
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
