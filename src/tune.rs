//! Tuning: a command is run at points of a space until the budget is spent, and every result is stored at once.

mod evaluate;
mod run;
mod store;
mod summary;

pub(crate) use evaluate::Evaluator;
pub(crate) use run::run;
pub(crate) use store::{Identity, Store};
pub(crate) use summary::Summary;
