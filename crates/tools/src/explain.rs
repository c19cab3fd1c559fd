//! Why a program equals the model that it came from: `program` finds the chain of rules, from its
//! statements to what was chosen; `print` shows it to people, `price` tells what each term costs.

mod price;
mod print;
mod program;

pub use price::{Price, Prices};
pub use print::{
    Difference, chain_json, cycles, difference, line, place, print, print_terms, text, to_json,
};
pub use program::{Explained, GroupChain, Watched, decoupled, explain, explain_terms};
pub(crate) use program::{choose, groups_of, watch};
