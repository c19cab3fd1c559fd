//! Explanations of equalities: chains of rules that lead from one term to another.
//!
//! Saturation keeps a journal of the equalities that it found. `proof` finds a chain among them, and `flat` lays out its
//! steps. `step` is one link of a chain, and `replay` checks a link without the e-graph of the search. `short` removes
//! detours from a chain and orders its steps; `rewrite` applies steps again.

mod flat;
mod proof;
mod replay;
mod rewrite;
mod short;
mod step;

pub use ember_language::term::Terms;
pub use flat::Link;
pub use proof::{Gap, Proof, canonical, deeply, fresh, links};
pub use replay::replay;
pub use short::{Kind, kind, short};
pub use step::{By, Chain, Direction, Step, depth, subterm, tree_size};
