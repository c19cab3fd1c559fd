//! Models: their files, the data of a run, and the reference evaluation on whole tensors. The crate does not depend on
//! e-graphs, programs or costs.
//!
//! ```
//! use ember_language::diagnostic::Sources;
//! use ember_model::Model;
//! use ember_model::reference::evaluate;
//!
//! let mut sources = Sources::default();
//! let file = sources.add(
//!     "bag.sexp",
//!     "(model bag (input table f32 (rows 2)) (input indices i64 (n)) (input offsets i64 ((+ bags 1)))
//!        (output out (emb.bag sum table indices offsets))
//!        (data (table (values (1 2) (4 8))) (indices (values 0 1)) (offsets (values 0 2))))",
//! );
//! let model = Model::parse(&sources, file).expect("a model");
//! let data = model.instantiate(None).expect("its data");
//! let outputs = evaluate(&model, &data).expect("data that fits");
//! assert_eq!(outputs["out"].get(1).map(|x| x.as_f64()), Some(10.0));
//! ```

pub mod data;
mod model;
pub mod reference;

pub use model::{
    Applied, Argument, ArgumentStep, Computed, DataSpec, Declarations, Declared, Expr, Extent,
    GraphFrom, HandWritten, Held, IndexUse, Input, Kind, Model, OffsetsUse, Op, Origin, OriginPart,
    Parameter, Part, Prepared, Preparing, Role, SortUse, Source, Statement, TensorId, Values,
    Whole, WholeOp, composites,
};
