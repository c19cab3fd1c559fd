//! A tuner for parameters that nothing else decides: a space of parameters with conditions on them, and a search for
//! the point with the least result, by a model of the results so far.

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
