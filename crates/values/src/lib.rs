//! Scalars, the table of primitives, affine forms, and how lists of words are laid out on lines: what stands below all other
//! crates. Knows nothing of terms, rules, models or machines.

pub mod affine;
pub mod layout;
pub mod primitive;
pub mod scalar;
