//! ember-rewrite compiles embedding operations for decoupled access-execute (DAE) machines with
//! declarative rules in an e-graph.

pub mod coupled;
pub mod decouple;
pub mod diagnostic;
pub mod print_term;
pub mod sexp;
pub mod term;
