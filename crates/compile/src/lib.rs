//! The compiler from a model to a program: costs, the search, groups of statements, the two halves of a program and
//! their text form. The crate does not depend on proofs.
//!
//! ```
//! use ember_compile::cost::Goal;
//! use ember_compile::pipeline::{Options, compile, read};
//! use ember_host::Disk;
//! use ember_language::diagnostic::Sources;
//! use std::path::Path;
//!
//! let schedule = "emb-opt0".to_owned();
//! let options = Options { rules: vec!["../../rules".into()], schedule, ..Options::default() };
//! let mut sources = Sources::new(Disk);
//! sources.add(
//!     "bag.sexp",
//!     "(model bag (input table f32 (rows 2)) (input indices i64 (n)) (input offsets i64 ((+ bags 1)))
//!        (output out (emb.bag sum table indices offsets))
//!        (data (table (values (1 2) (4 8))) (indices (values 0 1)) (offsets (values 0 2))))",
//! );
//! let inputs = read(&mut sources, Path::new("bag.sexp"), &options).expect("well-formed inputs");
//! let chosen = compile(&inputs, &options, Goal::Decoupled).expect("a program");
//! assert!(!chosen.program.program().is_coupled());
//! ```

pub mod cost;
pub mod coupled;
pub mod decouple;
pub mod demand;
pub mod dlc_text;
pub mod estimates;
pub mod groups;
pub mod machines;
pub mod models;
pub mod native;
pub mod pipeline;
pub mod preparation;
pub mod ranking;
pub mod rows;
pub mod search;
pub mod workload;
