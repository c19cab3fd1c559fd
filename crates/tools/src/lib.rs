//! Tools around the compiler: explanations, the language server, case files, and tests of rules with random programs.
//! The crate knows nothing of the command line.
//!
//! ```
//! use ember_language::diagnostic::{Diagnostic, Sources, Span};
//! use ember_tools::render::render;
//!
//! let mut sources = Sources::default();
//! let file = sources.add("it.sexp", "(modle bag)");
//! let error = Diagnostic::error("no such form", Span::new(file, 1..6), "not known");
//! let shown = render(&sources, &[error.with_help("a model was meant")], false);
//! assert!(shown.contains("^^^^^ not known") && shown.contains("a model was meant"));
//! ```

pub mod cases;
pub mod cost_table;
pub mod emit;
pub mod explain;
pub mod history;
pub mod kernel;
pub mod lsp;
pub mod part;
pub mod progress;
pub mod render;
pub mod selftest;
mod show;
pub mod solver;
pub mod system;
pub mod tables;
pub mod trace;
pub mod tuning;
pub mod why_not;
