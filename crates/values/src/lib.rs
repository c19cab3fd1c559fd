//! Scalars, the tables of primitives and of operations on whole tensors, affine forms, distances between iterations,
//! the capabilities of machines, and the layout of S-expressions on lines. All other crates build on this one; it does not depend on terms, rules,
//! models or machines.
//!
//! ```
//! use ember_values::affine::Affine;
//! use ember_values::scalar::{DType, Scalar};
//!
//! assert_eq!(Scalar::F64(0.1).cast(DType::F32), Scalar::F32(0.1));
//!
//! let row = Affine::variable("i").scale(64).and_then(|row| row.add(&Affine::variable("e")));
//! assert_eq!(row.map(|row| row.coefficient("i")), Some(64));
//! ```

pub mod affine;
pub mod capability;
pub mod distance;
pub mod layout;
pub mod operation;
pub mod primitive;
pub mod scalar;
