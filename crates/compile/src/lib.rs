//! From a model to a program: costs, the search, several statements together, the two halves of a program and
//! their text. Knows nothing of proofs.

pub mod cost;
pub mod coupled;
pub mod decouple;
pub mod demand;
pub mod dlc_text;
pub mod groups;
pub mod machines;
pub mod pipeline;
pub mod search;
pub mod workload;
