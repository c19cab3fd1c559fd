//! Sweeps: models, targets, schedules and parameters of targets, every combination of them a point that is compiled and
//! simulated by itself.
//!
//! A plan is made from the text of a sweep and numbers its points. A point is computed from its task and the files that
//! it needs, in this process or in another one. The store takes the results in any order; the file that it finally
//! writes has them in the order of points, so that it does not depend on who computed what and when.

mod changes;
mod description;
mod files;
mod parameters;
mod plan;
mod reader;
mod row;
mod run;
mod session;
mod store;
mod summary;
mod tables;
mod task;
mod tornado;

pub(crate) use description::Listed;
pub(crate) use files::Reach;
pub(crate) use parameters::{DERIVED, add as add_machine, check as check_parameters, placed};
pub(crate) use plan::Plan;
pub(crate) use reader::no_model;
pub(crate) use row::Row;
pub(crate) use run::run;
pub use session::{Described, Session, compute};
pub(crate) use store::Store;
pub(crate) use summary::Summary;
