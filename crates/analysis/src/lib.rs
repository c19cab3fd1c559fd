//! What is known of the classes of an e-graph, and what rules may ask of it. Knows nothing of models, costs or
//! machines, but for the lanes of a vector unit.

pub mod effects;
pub mod facts;
mod predicates;
