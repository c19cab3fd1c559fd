//! A tuner: a space of parameters with conditions on them, and a search for the point with the least result, by a model
//! of the results so far.
//!
//! The space is read from the JSON format of BaCO (Hellsten et al., ASPLOS 2023), and the search follows that paper:
//! a Gaussian process over the distances of each type of parameter, with priors on its length scales; expected
//! improvement times the probability that a point has a result at all; a local search over points that meet the
//! conditions. A proposal is a function of the evaluations so far. The crate knows nothing of compilers, and runs nothing.
//!
//! ```
//! use ember_language::diagnostic::Sources;
//! use ember_tune::{Evaluation, Method, propose, read};
//!
//! let mut sources = Sources::default();
//! let file = sources.add(
//!     "space.json",
//!     r#"{"input_parameters": {
//!         "tile": {"parameter_type": "ordinal", "values": [1, 2, 4, 8, 16], "transform": "log"},
//!         "lanes": {"parameter_type": "integer", "values": [1, 16], "constraints": ["lanes % tile == 0"]}}}"#,
//! );
//! let space = read(&sources, file).expect("a space");
//! let mut history = Vec::new();
//! while history.len() < 20
//!     && let Some(point) = propose(&space, Method::Bayesian, 0, &history)
//! {
//!     let [tile, lanes] = [0, 1].map(|at| space.parameters[at].number(&point[at]));
//!     let value = (lanes < 16.0).then_some((tile - 4.0).abs() + (lanes - 8.0).abs());
//!     history.push(Evaluation { point, value });
//! }
//! assert!(history.iter().any(|known| known.value == Some(0.0)));
//! ```

mod ascent;
mod expression;
mod gaussian;
mod group;
mod json;
mod lex;
mod operator;
mod parameter;
mod propose;
mod reader;
mod space;
mod values;
mod written;

pub use expression::{Condition, Error};
pub use parameter::{Kind, Metric, Parameter, Value};
pub use propose::{Evaluation, Method, propose};
pub use reader::read;
pub use space::{Point, Space};
