//! Why one term equals another: the chain of rules from the one to the other.
//!
//! Saturation keeps a journal of the equalities that it found; `proof` finds a chain of them, `step`
//! is one link of it, and `replay` checks a link without any e-graph of the search. `short` takes detours out
//! of a chain and orders it, by what `rewrite` applies anew.

mod proof;
mod replay;
mod rewrite;
mod short;
mod step;

pub use ember_language::term::Terms;
pub use proof::{Gap, Link, Proof, canonical, deeply, fresh, links};
pub use replay::replay;
pub use short::{Kind, kind, short};
pub use step::{By, Chain, Direction, Step, depth, subterm, tree_size};
