//! Prints the result of a search by itself: the program at a level, or the e-graph after the last stage.
//!
//! `program` prints programs, and is made of `chosen` and `written`. `snapshot` selects the shown content of an e-graph; `dot` writes it as Graphviz text, and
//! `json` in the format of the crate `egraph-serialize`, which other tools read.

mod dot;
mod json;
mod program;
mod snapshot;

pub use dot::dot;
pub use json::json;
pub use program::{Level, around, chosen, program, written};
pub(crate) use program::{divides, unprinted};
pub use snapshot::{Snapshot, SnapshotClass, SnapshotNode, snapshot};
