//! Applies rules in an e-graph: rules made ready, saturation within limits, schedules, the journal of what
//! was found equal. Knows nothing of what terms mean, nor of what an analysis knows of them beyond
//! [`Knowledge`].

pub mod drive;
pub mod journal;
pub mod lottery;
pub mod saturate;

mod compile;
mod knowledge;
mod looks;
mod matcher;
mod rule_tests;

pub use compile::{CompiledRule, Operand, Range, Step, Test, compile};
pub use knowledge::{EGraph, Knowledge};
pub use looks::holds;
pub use matcher::Query;
pub use rule_tests::{failing_tests, run_tests};
