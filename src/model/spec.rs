//! How data is described: a seed, sizes, and a source of elements for each input.

use crate::data::Locality;
use crate::diagnostic::Span;
use ember_targets::scalar::Scalar;
use ember_targets::tensor::Data;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Where the data of a model comes from.
#[derive(Clone, Debug)]
pub struct DataSpec {
    /// The seed, unless another is given for a run.
    pub seed: u64,
    /// Sizes that are given, and where.
    pub sizes: BTreeMap<String, (u64, Span)>,
    /// The sources of the inputs that have one, by name, and where they are written.
    pub sources: BTreeMap<String, (Source, Span)>,
    /// The folder that the paths of data files start from: the model file's.
    pub directory: PathBuf,
}

/// Where one input's elements come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// `(uniform LO HI)`: uniform between the two, the second excluded.
    Uniform {
        /// The least value.
        lo: f64,
        /// The bound that values stay below.
        hi: f64,
    },
    /// `(constant X)`: the same everywhere.
    Constant(Scalar),
    /// `(values X …)`: written out, rows in parentheses.
    Values(Values),
    /// `(file "PATH")` or `(file "PATH" "TENSOR")`: read from an `.npy` or `.safetensors` file.
    File {
        /// The path, from the folder of the model file.
        path: PathBuf,
        /// The tensor in a `.safetensors` file; the input's name unless given.
        tensor: Option<String>,
    },
    /// `(ragged (mean M) (empty P))`, for offsets: see [`crate::data`].
    Ragged {
        /// The mean number of lookups of a bag.
        mean: f64,
        /// The probability that a bag is empty.
        empty: f64,
    },
    /// `(zipf S)`, for indices: the k-th most frequent row has a frequency in proportion to
    /// `1 / k^S`; 0 is uniform.
    Zipf {
        /// S.
        exponent: f64,
    },
    /// `(locality low|medium|high)`, for indices: by the distribution of reuse distances.
    Locality(Locality),
}

/// Elements written in the model file.
#[derive(Clone, Debug)]
pub struct Values {
    /// The elements in row-major order.
    pub data: Data,
    /// The extents; those inside an empty one are not known.
    pub shape: Vec<Option<u64>>,
    /// Where each element is written.
    pub spans: Vec<Span>,
}

impl DataSpec {
    /// No data at all.
    pub(super) fn empty(directory: PathBuf) -> DataSpec {
        DataSpec { seed: 0, sizes: BTreeMap::new(), sources: BTreeMap::new(), directory }
    }
}
