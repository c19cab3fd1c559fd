//! Whole models: the compilation of several statements to one program.
//!
//! Statements that share nothing are searched separately, and statements that share something are searched as one group
//! in one e-graph. Groups that are equal up to names are searched once. The terms chosen for the groups are composed
//! into one term, with a barrier between groups whose units would otherwise interfere with each other.

mod candidates;
mod choose;
mod compose;
mod group;
mod none;
mod rename;
mod searched;

pub use choose::{Chooser, Chosen, ChosenGroup, Enough, Rival, Unfinished};
pub use compose::compose;
pub use group::{Group, Plan};
pub use none::no_program;
pub use searched::Searched;
