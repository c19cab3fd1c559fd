//! Whole models: several statements become one program.
//!
//! Statements that have nothing to share are searched separately, each group of those that do in one
//! e-graph; groups that are equal up to names are searched once. What was chosen for each is put
//! together into one term, with a barrier wherever the two units would disturb each other.

mod choose;
mod compose;
mod group;
mod rename;
mod searched;

pub use choose::best_of;
pub use choose::{Chosen, ChosenGroup, choose};
pub use compose::compose;
pub use group::{Group, Plan};
pub use searched::Searched;
