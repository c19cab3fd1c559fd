//! The textual languages: tokens, S-expressions, diagnostics, terms, rule files with their dialects, rules and
//! schedules, and the formatter. The crate knows nothing of e-graphs, of the semantics of operators, or of machines.
//!
//! ```
//! use ember_language::diagnostic::Sources;
//! use ember_language::rules;
//!
//! let mut sources = Sources::default();
//! let file = sources.add(
//!     "pairs.rules",
//!     "(dialect pairs \"pairs\" (sort Value \"a value\") (op f (Value Value) Value \"a pair\"))
//!      (ruleset swaps \"swaps\") (rule swap \"f commutes\" (f ?x ?y) => (f ?y ?x))
//!      (rule drop \"wrong\" (f ?x ?y) => (g ?x))",
//! );
//! let errors = rules::load_text(&mut sources, &[file]).err().unwrap_or_default();
//! assert_eq!(errors.len(), 1);
//! let (place, _) = errors[0].at.as_ref().expect("a place");
//! assert_eq!(&sources.get(file).text[place.range()], "g");
//! ```

pub mod codes;
pub mod conditions;
pub mod diagnostic;
pub mod erase;
pub mod fmt;
pub mod lex;
pub mod load;
pub mod make;
pub mod print_term;
pub mod rebuild;
pub mod rules;
pub mod sexp;
pub mod suggest;
pub mod symbolic;
pub mod term;
pub mod text;
