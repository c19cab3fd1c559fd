//! ember-rewrite compiles embedding operations for decoupled access-execute (DAE) machines with
//! declarative rules in an e-graph.

pub mod affine;
pub mod bench;
pub mod cli;
pub mod cost;
pub mod coupled;
pub mod data;
pub mod decouple;
pub mod demand;
pub mod diagnostic;
pub mod dlc_text;
pub mod effects;
pub mod facts;
pub mod generate;
pub mod interpret;
pub mod job;
pub mod load;
pub mod model;
pub mod pipeline;
pub mod predicates;
pub mod print_term;
pub mod progress;
pub mod reference;
pub mod render;
pub mod report;
pub mod rules;
pub mod run;
pub mod saturate;
pub mod search;
pub mod sexp;
pub mod soundness;
pub mod suggest;
pub mod target;
pub mod term;
pub mod whole;
pub mod workload;
