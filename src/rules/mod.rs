//! The rule language: dialects, rule sets and schedules as data.
//!
//! [`load`] reads rule files and checks them; what it returns is a [`RuleBook`] in which every name
//! is resolved and every rule is well-sorted and well-scoped. [`CompiledRule`] is a rule made ready
//! for the e-graph; [`crate::saturate`] applies it. Nothing here knows embeddings: operators, sorts
//! and binders come from the files.

mod binding;
mod book;
mod calls;
mod check;
mod compile;
mod dialect;
mod infer;
mod load;
mod matcher;
mod schedule;
mod scope;
mod selftest;
mod shape;
mod signature;
mod syntax;
mod tree;

pub use book::{Arg, Call, Exactness, Phase, Rule, RuleBook, RuleSet, Test};
pub use compile::CompiledRule;
pub(crate) use compile::{Operand, Step};
pub use load::{load, load_text};
pub use schedule::{Schedule, ScheduleStep};
pub use selftest::failing_tests;
pub use signature::{Operator, Signature, Sort, SortDecl, SortTerm};
