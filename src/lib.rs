//! ember-rewrite compiles embedding operations for decoupled access-execute (DAE) machines with
//! declarative rules in an e-graph.

pub mod diagnostic;
pub mod sexp;
pub mod term;
