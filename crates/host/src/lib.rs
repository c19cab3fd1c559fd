//! The compiler's access to its host: files, elapsed time and parallel work.
//!
//! Every crate below the tools reaches the host only through this one. With the feature `system`, which the command and
//! the tests turn on, an operating system serves the requests. Without it, the only files are those in memory, no time
//! passes and work is done in order; the results are equal, and the crate needs nothing that `wasm32-unknown-unknown`
//! lacks. The crate knows nothing of languages, models or programs.
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
