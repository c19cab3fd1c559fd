//! The target of the compiler: tensors, the DLC program type, its verifier, and machine descriptions.
//!
//! This crate knows nothing of rules, e-graphs or time; the simulator and the compiler both build on it.
//!
//! ```
//! use ember_targets::machine::{Machine, TMU_CPU};
//!
//! let machine = Machine::parse(TMU_CPU).expect("a description");
//! assert_eq!(machine.core.simd_bytes, 64);
//! assert!(Machine::parse("name = 1").is_err());
//! ```

pub mod addresses;
pub mod c;
pub mod contract;
pub mod dlc;
pub mod elements;
pub mod loops;
pub mod machine;
pub mod narrow;
pub mod print;
mod steps;
pub mod strips;
pub mod tensor;
mod uses;
pub mod verify;

pub use steps::Step;
