//! Sweeps: models, targets, schedules and parameters of targets, every combination of them a point that is compiled and
//! simulated by itself.
//!
//! A [`Plan`] is made from the text of a sweep and numbers its points. A point is computed from its [`Task`] and the
//! files that it needs, in this process or in another one. The [`Store`] takes the results in any order; the file that it
//! finally writes has them in the order of points, so that it does not depend on who computed what and when.

mod description;
mod files;
mod parameters;
mod plan;
mod row;
mod run;
mod store;
mod summary;
mod task;

pub use files::Reach;
pub use plan::Plan;
pub use row::{Axis, Result, Row};
pub use run::run;
pub use store::Store;
pub use summary::{Summary, pareto};
pub use task::Task;
