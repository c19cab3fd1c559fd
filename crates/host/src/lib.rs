//! The computer that the compiler runs on, as the compiler asks it: for files, for the time that work took,
//! and for more than one thing to be done at once.
//!
//! Everything below the tools asks here and nowhere else. An operating system answers if the feature `system` is
//! on, as it is in the command and in tests. Without the feature no file is there but those in memory, no time
//! passes and work is done in order; results are equal, and nothing is needed that `wasm32-unknown-unknown`
//! lacks. Knows nothing of languages, models or programs.
//!
//! ```
//! use ember_host::{Files, Memory};
//! use std::path::Path;
//!
//! let files = Memory::default().with("add.rules", "(rule …)");
//! assert_eq!(files.read(Path::new("add.rules"), 100)?, "(rule …)".as_bytes());
//! assert_eq!(ember_host::threads::map(&[1, 2, 3], |n| n * n), [1, 4, 9]);
//! # Ok::<(), ember_host::FileError>(())
//! ```

pub mod clock;
#[cfg(feature = "system")]
mod disk;
mod files;
pub mod threads;

#[cfg(feature = "system")]
pub use disk::Disk;
pub use files::{FileError, Files, Memory, Opened, normal};
