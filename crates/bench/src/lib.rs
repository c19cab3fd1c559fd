//! Benchmarks against other e-graph engines (in `benches/`), and the path to their rules and terms.
//!
//! The crate is outside the workspace, so that no other build compiles those engines.

use std::path::{Path, PathBuf};

/// Returns the path of a file of the project, given relative to the repository root.
pub fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
