//! Why a program equals the model that it came from: `program` finds the chain of rules, from its
//! statements to what was chosen; `lines` puts steps of one kind on one line, `computed` does the arithmetic of a chain
//! everywhere at once, `print` shows it to people, and `price` gives the cost of each term.

mod computed;
mod lines;
mod price;
mod print;
mod program;

pub use price::{Price, Prices};
pub use print::{View, chain_json, cycles, difference, place, print, print_terms, text, to_json};
pub use program::{Explained, GroupChain, Watched, decoupled, explain, explain_terms};
pub(crate) use program::{choose, groups_of, watch};
