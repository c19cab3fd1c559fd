//! Random programs, others that equal them, and others that differ in one token: what equivalence
//! checking is tried on.
//!
//! [`Made`] is a program with its declarations, made from a seed; its data is made here, too, so that
//! what two programs do ([`Data::relation`]) is known without the code that is tried. [`vary`] applies
//! rules at random, [`mutants`] changes one token, [`lowered`] takes every extraction of a search, and
//! [`trial`] puts pairs of known relation to [`ember_prove::equiv`].

mod data;
mod lowered;
mod make;
mod mutate;
mod surface;
mod trial;
mod vary;

pub use data::{Data, Relation, Run};
pub use lowered::{Lowered, all_lowered, lowered};
pub use make::Made;
pub use mutate::{Mutant, mutants};
pub use trial::{Finding, Options, Summary, Tally, Tools, Wrong, trial};
pub use vary::{Level, vary};
