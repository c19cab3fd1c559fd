//! ember-rewrite compiles embedding operations for decoupled access-execute (DAE) machines with
//! declarative rules in an e-graph.

pub mod bench;
pub mod cli;
pub mod generate;
pub mod job;
pub mod report;
pub mod single;
