//! ember-rewrite compiles embedding operations for decoupled access-execute (DAE) machines with
//! declarative rules in an e-graph.

pub mod affine;
pub mod cost;
pub mod diagnostic;
pub mod effects;
pub mod facts;
pub mod interpret;
pub mod predicates;
pub mod sexp;
pub mod term;
