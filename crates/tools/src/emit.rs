//! The e-graph after the last stage of a search, for viewers.
//!
//! `snapshot` takes what is shown; `dot` writes it as Graphviz text, and `json` in the format of the
//! crate `egraph-serialize`, which other tools read.

mod dot;
mod json;
mod snapshot;

pub use dot::dot;
pub use json::json;
pub use snapshot::{Snapshot, SnapshotClass, SnapshotNode, snapshot};
