//! Measurements beside other e-graph engines (in `benches/`), and where they find rules and terms.
//!
//! It stands outside the workspace, so that nothing else builds those engines.

use std::path::{Path, PathBuf};

/// A file of the project.
pub fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
