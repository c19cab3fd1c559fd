//! Analysis of terms in the e-graph: facts about e-classes, effects of statements, and the answers to the conditions of
//! rules. This crate is independent of models, costs and machines, except for the size of a vector unit.
//!
//! ```
//! use ember_analysis::facts::{EGraph, Facts, VectorUnit};
//! use ember_host::Disk;
//! use ember_language::diagnostic::Sources;
//! use ember_language::rules;
//!
//! let rules = ["../../rules".into()];
//! let (book, _) = rules::load(&mut Sources::new(Disk), &rules).expect("well-formed rules");
//! let unit = VectorUnit { simd_bytes: 64, registers: 32 };
//! let mut egraph = EGraph::new(Facts::new(&[], &[], book.signature.table().clone(), unit));
//! let sum = egraph.add_expr(&"(scf.add 1 2)".parse().expect("a term"));
//! assert_eq!(egraph[sum].data.integer(), Some(3));
//! ```

mod bounds;
pub mod effects;
pub mod facts;
mod predicates;
