//! Applies rules in an e-graph: compiled rules, saturation within limits, schedules, and the journal of the equalities
//! found. The crate knows neither the meaning of terms nor anything of an analysis beyond [`Knowledge`].
//!
//! ```
//! use ember_language::diagnostic::Sources;
//! use ember_language::rules;
//!
//! let mut sources = Sources::default();
//! let file = sources.add(
//!     "pairs.rules",
//!     "(dialect pairs \"pairs\" (sort Value \"a value\") (op f (Value Value) Value \"a pair\"))
//!      (ruleset swaps \"swaps\") (rule swap \"f commutes\" (f ?x ?y) => (f ?y ?x))",
//! );
//! let (book, _) = rules::load_text(&mut sources, &[file]).expect("well-formed rules");
//! let ready = ember_engine::compile(&book);
//! assert_eq!(ready[0].name.as_str(), "swap");
//! ```
//!
//! [`saturate::saturate`] applies the compiled rules in an e-graph that has an analysis.

pub mod drive;
pub mod journal;
pub mod lottery;
pub mod saturate;

mod compile;
mod knowledge;
mod looks;
mod matcher;
mod rule_tests;

pub use compile::{CompiledRule, New, Operand, Range, Step, Test, compile};
pub use knowledge::{EGraph, Knowledge};
pub use looks::holds;
pub use matcher::Query;
pub use rule_tests::{failing_tests, run_tests};
