//! How data is described: a seed, sizes, and a source of elements for each input.

use crate::data::Locality;
use crate::data::blocks::BlockPattern;
use crate::data::graph::{EdgeListOptions, Graph, Triples};
use ember_language::diagnostic::Span;
use ember_targets::tensor::Data;
use ember_values::scalar::Scalar;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Where the data of a model comes from.
#[derive(Clone, Debug)]
pub struct DataSpec {
    /// The seed, unless another is given for a run.
    pub seed: u64,
    /// Sizes that are given, and where.
    pub sizes: BTreeMap<String, (u64, Span)>,
    /// Those of them that are the batch: how much of the work is done.
    pub batches: BTreeSet<String>,
    /// What several inputs take their data from, by name, and where it is described.
    pub origins: BTreeMap<String, (Origin, Span)>,
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
    /// `(fixed N)`, for offsets: bags of one length.
    Fixed {
        /// The lookups of a bag.
        lookups: u64,
    },
    /// `(blocks (window W) (global G) (random R))`, for indices: a block-sparse attention pattern.
    Blocks(BlockPattern),
    /// `(PART-of NAME)`: from a graph or from triples.
    Part {
        /// The name of the graph or the triples.
        of: String,
        /// What is taken of it.
        part: Part,
    },
}

/// What several inputs take their data from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// `(graph NAME …)`.
    Graph {
        /// Where it comes from.
        from: GraphFrom,
        /// How many of its rows are taken; all of them if not given.
        batch: Option<u64>,
    },
    /// `(triples NAME …)`.
    Triples {
        /// The knowledge graph they are drawn from.
        from: Triples,
        /// How many of them are taken; all of them if not given.
        batch: Option<u64>,
    },
}

/// Where a graph comes from.
#[derive(Clone, Debug)]
pub enum GraphFrom {
    /// Generated.
    Drawn(Graph),
    /// Read.
    File {
        /// The path, from the folder of the model file.
        path: PathBuf,
        /// What a list of edges does not say.
        options: EdgeListOptions,
    },
}

/// What an input takes of a graph or of triples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Where the rows of a graph start, and where the last one ends.
    Offsets,
    /// The columns of a graph's entries.
    Neighbours,
    /// The values of a graph's entries; 1 where it has none.
    Values,
    /// The heads of triples.
    Heads,
    /// Their relations.
    Relations,
    /// Their tails.
    Tails,
}

impl Part {
    /// Whether it is a part of a graph, not of triples.
    pub fn of_graph(self) -> bool {
        matches!(self, Part::Offsets | Part::Neighbours | Part::Values)
    }
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
        DataSpec {
            seed: 0,
            sizes: BTreeMap::new(),
            batches: BTreeSet::new(),
            origins: BTreeMap::new(),
            sources: BTreeMap::new(),
            directory,
        }
    }

    /// Multiplies every batch by a factor above 0, down to 1 at least where it is not 0.
    pub fn scale_batches(&mut self, factor: f64) {
        let scale = |n: &mut u64| *n = ((*n as f64 * factor).round() as u64).max((*n).min(1));
        for name in &self.batches {
            if let Some((n, _)) = self.sizes.get_mut(name) {
                scale(n);
            }
        }
        for (origin, _) in self.origins.values_mut() {
            let (Origin::Graph { batch, .. } | Origin::Triples { batch, .. }) = origin;
            batch.iter_mut().for_each(scale);
        }
    }
}
