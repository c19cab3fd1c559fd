//! Tests and proves rules, and proves programs equal. This crate is independent of the search for fast programs.
//!
//! ```
//! use ember_host::Disk;
//! use ember_language::diagnostic::Sources;
//! use ember_language::rules;
//! use ember_prove::soundness::{Options, Verdict, check_rule};
//!
//! let mut sources = Sources::new(Disk);
//! let file = sources.add(
//!     "../../rules/wrong.rules",
//!     "(include \"dialect-core.rules\") (include \"dialect-scf.rules\")
//!      (ruleset wrong \"a wrong rule\")
//!      (rule no-zero \"not for zero\" (scf.mul ?x 0) => ?x)",
//! );
//! let (book, _) = rules::load_text(&mut sources, &[file]).expect("well-formed rules");
//! let rule = book.rule("no-zero").expect("the rule");
//! let report = check_rule(&book.signature, rule, &Options::default());
//! assert!(matches!(report.verdict, Verdict::Refuted(_)));
//! ```

pub mod chains;
pub mod equiv;
pub mod random;
mod rounding;
pub mod soundness;
pub mod verify;
