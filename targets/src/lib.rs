//! What a DAE machine runs: scalars and tensors, the DLC program type, and machine descriptions.
//!
//! Knows nothing of rules, e-graphs or time; the simulator and the compiler both build on it.

pub mod dlc;
pub mod machine;
pub mod print;
pub mod tensor;
mod uses;
pub mod verify;
