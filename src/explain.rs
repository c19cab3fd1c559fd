//! Why one term equals another: the chain of rules from the one to the other.
//!
//! Saturation keeps a journal of the equalities that it found; `proof` finds a chain of them, `step`
//! is one link of it, and `replay` checks a link without any e-graph of the search. `short` takes detours out
//! of a chain and orders it, by what `rewrite` applies anew. `program` does it for a model's program, from its
//! statements to what was chosen; `lines` puts steps of one kind on one line, `computed` does the arithmetic of
//! a chain everywhere at once, and `print` shows it to people.

mod computed;
mod lines;
mod price;
mod print;
mod program;
mod proof;
mod replay;
mod rewrite;
mod short;
mod step;

pub use price::{Price, Prices};
pub use print::{View, chain_json, cycles, difference, place, print, print_terms, text, to_json};
pub use program::{Explained, GroupChain, Watched, decoupled, explain, explain_terms};
pub(crate) use program::{choose, groups_of, watch};
pub use proof::{Gap, Proof};
pub(crate) use proof::{Link, canonical, deeply, fresh, links};
pub use replay::replay;
pub(crate) use short::short;
pub use step::{By, Chain, Direction, Step, Terms, depth, subterm, tree_size};
