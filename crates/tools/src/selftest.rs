//! Tests of equivalence checking: random programs, equal variants of them, and variants that differ in one token.
//!
//! [`Made`] is a program with its declarations, made from a seed. Its data is made here too, so that the relation of
//! two programs ([`Data::relation`]) is known without the code under test. [`vary`] applies rules at random,
//! [`mutants`] changes one token, [`lowered`] checks every extraction of a search, and [`trial`] gives pairs of known
//! relation to [`ember_prove::equiv`].

mod data;
mod lowered;
mod mutate;
mod surface;
mod trial;
mod vary;

pub use data::{Data, Relation, Run};
pub use ember_prove::random::Made;
pub use lowered::{Lowered, all_lowered, lowered};
pub use mutate::{Mutant, mutants};
pub use trial::{Finding, Options, Summary, Tally, Tools, Wrong, trial};
pub use vary::{Level, vary};
