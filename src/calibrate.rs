//! The fit of a machine's numbers to published speedups, in the open: which figures, which numbers within which ranges,
//! what is left of each figure, how well figures are met that the fit did not see, and how far the headline moves over
//! all fits that are about as good.
//!
//! A fit is a function of its description. Every run of a workload at a point is a line of a file, so that a fit that is
//! continued proposes the same points, and runs only what is missing.

mod description;
mod fit;
mod plan;
mod run;
mod runs;
mod summary;
mod text;

pub(crate) use plan::Plan;
pub(crate) use run::run;
pub(crate) use runs::Runs;
pub(crate) use summary::Summary;
