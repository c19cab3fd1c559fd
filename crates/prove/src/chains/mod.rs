//! Why one term equals another: the chain of rules from the one to the other.
//!
//! Saturation keeps a journal of the equalities that it found; `proof` finds a chain of them, `step`
//! is one link of it, and `replay` checks a link without any e-graph of the search.

mod proof;
mod replay;
mod step;

pub use proof::{Gap, Link, Proof, canonical, deeply, fresh, links};
pub use replay::replay;
pub use step::{By, Chain, Direction, Step, Terms, depth, subterm, tree_size};
