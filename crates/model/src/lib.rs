//! Models: their files, the data of a run, and what they compute on whole tensors. Knows nothing of e-graphs,
//! programs or costs.

pub mod data;
pub mod model;
pub mod reference;
