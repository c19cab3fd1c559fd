//! Explains why a program equals its model: `program` finds the chain of rules from the model's statements to the
//! chosen program; `lines` puts steps of one kind on one line, `computed` does the arithmetic of a chain everywhere at
//! once, `print` prints the chain, and `price` computes the cost of each term.

mod computed;
mod lines;
mod price;
mod print;
mod program;

pub use price::{Price, Prices};
pub use print::{View, chain_json, cycles, difference, place, print, print_terms, text, to_json};
pub use program::{Explained, GroupChain, Watched, decoupled, explain, explain_terms};
pub(crate) use program::{choose, groups_of, watch};
