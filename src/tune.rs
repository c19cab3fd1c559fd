//! Tuning: points of a space are evaluated, by a command or by compiling a model, until the budget is spent, and every
//! result is stored at once.

mod evaluate;
mod model;
mod parameters;
mod run;
mod store;
mod summary;

pub(crate) use evaluate::{Evaluator, Outcome};
pub(crate) use model::Subject;
pub(crate) use parameters::{settings, space, that_matter};
pub(crate) use run::run;
pub(crate) use store::{Identity, Store, digest};
pub(crate) use summary::Summary;
