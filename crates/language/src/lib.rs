//! The languages that people write: tokens, S-expressions, diagnostics, terms, and rule files with their
//! dialects, rules and schedules; and the formatter. Knows nothing of e-graphs, of what operators mean, or of
//! machines.

pub mod codes;
pub mod conditions;
pub mod diagnostic;
pub mod fmt;
pub mod lex;
pub mod load;
pub mod print_term;
pub mod rules;
pub mod sexp;
pub mod suggest;
pub mod symbolic;
pub mod term;
pub mod text;
