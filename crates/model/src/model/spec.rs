//! The description of data: a seed, sizes, and a source of elements for each input.

use super::Whole;
use crate::data::Locality;
use crate::data::blocks::BlockPattern;
use crate::data::graph::{EdgeListOptions, Graph, Triples};
use ember_host::Files;
use ember_language::diagnostic::Span;
use ember_targets::tensor::Data;
use ember_values::scalar::Scalar;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// The description of the data of a model.
#[derive(Clone, Debug)]
pub struct DataSpec {
    /// The seed, unless a run gives another one.
    pub seed: u64,
    /// The given sizes, with their spans.
    pub sizes: BTreeMap<String, (u64, Span)>,
    /// The given sizes that are the batch, which determines the amount of work.
    pub batches: BTreeSet<String>,
    /// The graphs and triples that several inputs take their data from, by name, with their spans.
    pub origins: BTreeMap<String, (Origin, Span)>,
    /// The sources of the inputs that have one, by name, with their spans.
    pub sources: BTreeMap<String, (Source, Span)>,
    /// The folder that paths of data files are relative to, which is the model file's folder.
    pub directory: PathBuf,
    /// The file system that data is read from, which is also the one the model was read from.
    pub files: Arc<dyn Files>,
}

/// The source of one input's elements.
#[derive(Clone, Debug)]
pub enum Source {
    /// `(uniform LO HI)`: uniform between the two bounds, without the second.
    Uniform {
        /// The least value.
        lo: f64,
        /// The exclusive upper bound.
        hi: f64,
    },
    /// `(constant X)`: the same element everywhere.
    Constant(Scalar),
    /// `(values X …)`: elements written in the model file, rows in parentheses.
    Values(Values),
    /// `(file "PATH")` or `(file "PATH" "TENSOR")`: an `.npy` or `.safetensors` file.
    File {
        /// The path, relative to the folder of the model file.
        path: PathBuf,
        /// The tensor in a `.safetensors` file; the input's name if not given.
        tensor: Option<String>,
    },
    /// `(ragged (mean M) (empty P))`, for offsets: see [`crate::data`].
    Ragged {
        /// The mean number of lookups of a bag.
        mean: f64,
        /// The probability that a bag is empty.
        empty: f64,
    },
    /// `(zipf S)`, for indices: the frequency of the k-th most frequent row is proportional to `1 / k^S`; 0 is uniform.
    Zipf {
        /// The exponent S.
        exponent: f64,
    },
    /// `(locality low|medium|high)`, for indices: a distribution of reuse distances.
    Locality(Locality),
    /// `(fixed N)`, for offsets: bags of one length.
    Fixed {
        /// The number of lookups of a bag.
        lookups: u64,
    },
    /// `(blocks (window W) (global G) (random R))`, for indices: a block-sparse attention pattern.
    Blocks(BlockPattern),
    /// `(computed EXPRESSION)`: whole numbers of other inputs, element by element.
    Computed(Whole),
    /// `(running-sum LENGTHS)`: where bags of these lengths start, and the end of the last one.
    RunningSum {
        /// The input that has the lengths.
        lengths: String,
    },
    /// `(row-offsets POSITIONS)`: where each row's edges start, once they are sorted by the rows that they lead to.
    RowOffsets {
        /// The input that says the row of each edge.
        positions: String,
    },
    /// `(in-rows VALUES POSITIONS)`: the values of edges that are sorted so.
    InRows {
        /// The input that has the values.
        values: String,
        /// The input that says the row of each edge.
        positions: String,
    },
    /// `(PART-of NAME)`: a part of a graph or of triples.
    Part {
        /// The name of the graph or the triples.
        of: String,
        /// The part of it.
        part: Part,
    },
}

/// A graph or triples that several inputs take their data from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// `(graph NAME …)`.
    Graph {
        /// The source of the graph.
        from: GraphFrom,
        /// The number of rows to take; all rows if not given.
        batch: Option<u64>,
        /// The number of copies of the whole graph, side by side, if such copies are the batch.
        copies: Option<u64>,
    },
    /// `(triples NAME …)`.
    Triples {
        /// The knowledge graph that the triples are drawn from.
        from: Triples,
        /// The number of triples to take; all triples if not given.
        batch: Option<u64>,
    },
}

/// The source of a graph.
#[derive(Clone, Debug)]
pub enum GraphFrom {
    /// A generated graph.
    Drawn(Graph),
    /// A graph in a file.
    File {
        /// The path, relative to the folder of the model file.
        path: PathBuf,
        /// The properties that an edge list does not contain.
        options: EdgeListOptions,
    },
}

/// A part of a graph or of triples that an input takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The start of each row of a graph, and the end of the last one.
    Offsets,
    /// The columns of a graph's entries.
    Neighbours,
    /// The values of a graph's entries; 1 if the graph has no values.
    Values,
    /// The heads of triples.
    Heads,
    /// The relations of triples.
    Relations,
    /// The tails of triples.
    Tails,
}

impl Part {
    /// Returns true if it is a part of a graph, and false for triples.
    pub fn of_graph(self) -> bool {
        matches!(self, Part::Offsets | Part::Neighbours | Part::Values)
    }
}

/// Elements written in the model file.
#[derive(Clone, Debug)]
pub struct Values {
    /// The elements in row-major order.
    pub data: Data,
    /// The extents; extents inside an empty dimension are unknown.
    pub shape: Vec<Option<u64>>,
    /// The span of each element.
    pub spans: Vec<Span>,
}

impl DataSpec {
    /// Returns the description of no data at all.
    pub(super) fn empty(directory: PathBuf, files: Arc<dyn Files>) -> DataSpec {
        DataSpec {
            seed: 0,
            sizes: BTreeMap::new(),
            batches: BTreeSet::new(),
            origins: BTreeMap::new(),
            sources: BTreeMap::new(),
            directory,
            files,
        }
    }

    /// Multiplies every batch by a factor above 0. A batch that is not 0 stays at least 1. Returns false if that would
    /// need parts of a graph that is only whole.
    #[must_use]
    pub fn scale_batches(&mut self, factor: f64) -> bool {
        let scale = |n: &mut u64| *n = ((*n as f64 * factor).round() as u64).max((*n).min(1));
        for name in &self.batches {
            if let Some((n, _)) = self.sizes.get_mut(name) {
                scale(n);
            }
        }
        let mut is_whole = true;
        for (origin, _) in self.origins.values_mut() {
            if let Origin::Graph { copies: Some(copies), .. } = origin {
                is_whole &= (*copies as f64 * factor).fract() == 0.0;
                scale(copies);
            }
            let (Origin::Graph { batch, .. } | Origin::Triples { batch, .. }) = origin;
            batch.iter_mut().for_each(scale);
        }
        is_whole
    }
}
