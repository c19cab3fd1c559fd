//! The limits of what is read. They hold before memory is asked for.

/// The largest text of a graph, in bytes.
pub(crate) const GRAPH_BYTES: u64 = 32 << 20;

/// The largest graph of TensorFlow, which has its weights inside, in bytes.
pub(crate) const GRAPH_FILE: u64 = 2 << 30;

/// The largest description of weights, in bytes.
pub(crate) const CONFIG_BYTES: u64 = 16 << 20;

/// The most bytes of all weights together.
pub(crate) const WEIGHT_BYTES: u64 = 4 << 30;

/// The most files of an archive.
pub(crate) const MEMBERS: usize = 100_000;

/// The most operators of a graph.
pub(crate) const OPERATORS: usize = 20_000;

/// The most operations that the operators of a graph consist of.
pub(crate) const NODES: usize = 200_000;

/// The most dimensions of a tensor.
pub(crate) const DIMENSIONS: usize = 8;

/// The most elements of a constant that is computed at import.
pub(crate) const FOLDED: u64 = 1 << 20;

/// The most operations that positions which are known at import follow from, and the most of such positions.
pub(crate) const KNOWN: usize = 256;

/// The segments that ascending positions name when no data is given, at most, and the value of sizes without one.
pub(crate) const SEGMENTS: u64 = 16;

/// The most tensors that one operator returns or takes.
pub(crate) const RESULTS: usize = 1024;

/// The least number of f32, which is the greatest of no rows in some operators.
pub(crate) const LOWEST: f64 = f32::MIN as f64;
