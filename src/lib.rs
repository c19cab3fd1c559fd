//! ember-rewrite compiles embedding operations for decoupled access-execute (DAE) machines with declarative rules in an
//! e-graph.
//!
//! A Rust program can read a model, compile it, simulate the program, and prove that the program computes what the
//! model specifies. Models, terms and programs are values of the crate [`symbolic_expressions`].
//!
//! ```
//! use ember_rewrite::{Compiler, Verdict, read};
//!
//! let model = read(
//!     "(model bag
//!        (input table   f32 (rows 4))
//!        (input indices i64 (lookups))
//!        (input offsets i64 ((+ bags 1)))
//!        (output out (emb.bag sum table indices offsets))
//!        (data (size rows 8) (size bags 3)
//!          (table (uniform -1.0 1.0))
//!          (offsets (ragged (mean 2) (empty 0.0)))
//!          (indices (zipf 1.0))))",
//! )?;
//! let compiler = Compiler::new(["default"], "tmu-cpu-plus")?.with_schedule("emb-opt0");
//! let compiled = compiler.compile(&model)?;
//! assert_eq!(compiled.program.list_name()?, "dlc");
//!
//! let run = compiler.simulate(&compiled.program, &model)?;
//! assert_eq!(run.mismatch, None);
//! println!("{:?} cycles", run.cycles);
//!
//! let verdict = compiler.prove(&compiled.program, &model)?;
//! assert!(matches!(verdict, Verdict::Equal(_certificate)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate is also the command of the same name; its parts are in other crates, which ARCHITECTURE.md lists.

mod bench;
pub mod built;
mod calibrate;
#[doc(hidden)]
pub mod cli;
mod compiler;
mod cores;
mod generate;
mod gpu;
mod html;
#[doc(hidden)]
pub mod job;
mod journal;
mod native;
mod pool;
mod report;
mod results;
mod shipped;
#[doc(hidden)]
pub mod single;
pub mod sweep;
mod trial;
mod tune;
mod worth;

pub use compiler::{Compiled, Compiler, Error, Run, Verdict, read};
pub use symbolic_expressions;
