//! Coupled programs as C: one function per program, named after the model, for a core with vectors.
//!
//! A value of many lanes is an array of vectors of the core's width, and each statement on it a short loop over that
//! array, which compilers unroll into registers. Tensors are plain pointers. What a compiler may not know by itself,
//! such as the maximum of IEEE 754-2019, stands in small functions before the program (`c/functions/`).
//!
//! The code gives the same bits as the simulator if it is compiled without contraction of products and sums
//! (`-ffp-contract=off`), and if its functions such as `exp` are those of the crate `libm`, which a caller may put in
//! place of the C library's.

mod address;
mod declare;
mod expression;
mod functions;
mod fuse;
mod interface;
mod lines;
mod names;
mod parts;
mod past;
mod shared;
mod statement;
mod vectors;

use crate::dlc::{Dim, TensorId};
use crate::verify::Verified;
use thiserror::Error;

pub use functions::{Exported, Function};

/// The core that the code is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core {
    /// The bytes of one vector register, a power of two of at least 8.
    pub vector_bytes: u64,
    /// The threads that share the iterations of loops, by OpenMP; with 1 there is no word of it.
    pub threads: u32,
    /// True if functions such as `exp` may be computed in lanes, within two units in the last place. Otherwise they are
    /// those that a caller may replace, called a lane at a time.
    pub approximate: bool,
    /// The cache lines of a looked-up row that change places with as many after them in the order in which they are read:
    /// `row_swap` of a target. 0 leaves the order.
    pub row_swap: u64,
    /// The bytes of the last-level cache that the core may fill. A tensor that is larger, and that nothing reads, is written
    /// past the caches.
    pub llc_bytes: u64,
}

/// A property of the data that a program rests on: one that does not hold would make it read outside of its tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Requirement {
    /// Every element is at least 0 and below an extent.
    Below {
        /// The tensor of indices.
        indices: TensorId,
        /// The exclusive upper bound.
        below: Dim,
    },
    /// The elements start at 0, never fall, and end at an extent.
    Partition {
        /// The tensor of offsets, of one dimension.
        offsets: TensorId,
        /// The last element.
        end: Dim,
    },
}

/// A program in C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The C identifier that the names of all exported functions start with.
    pub name: String,
    /// The number of sizes that the program takes.
    pub sizes: usize,
    /// The number of tensors that it takes after them.
    pub tensors: usize,
    /// The text of the C file.
    pub text: String,
    /// The text of the header with the declarations of the exported functions.
    pub header: String,
    /// True if threads share loops, so that a compiler needs `-fopenmp`; without it one thread runs them.
    pub threaded: bool,
    /// The functions on numbers that a caller may replace.
    pub replaceable: Vec<Exported>,
}

/// The reason that there is no C for a program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The program has an access half.
    #[error("the program is for two units; C is made of programs for one core")]
    Decoupled,
    /// A product of blocks of matrices, or one that is added to its output.
    #[error("C has products of whole matrices alone, each of which sets its output")]
    Blocks,
    /// A number of lanes that no vector divides.
    #[error("stores {0} lanes of u4, which do not start at a byte")]
    HalfBytes(u32),
}

/// Writes a program as C for a core. The exported function checks the requirements before it runs. What it leaves in the
/// tensors of `scratch`, which it computes on the way, does not matter.
///
/// # Errors
///
/// Fails on a decoupled program, and on the few operations that C does not have.
pub fn print(
    program: &Verified,
    requirements: &[Requirement],
    scratch: &[TensorId],
    core: Core,
) -> Result<Source, Error> {
    if !program.is_coupled() {
        return Err(Error::Decoupled);
    }
    let fused = fuse::fused(program, scratch);
    let mut writer = expression::Writer::new(&fused, core);
    writer.declare_past(core.llc_bytes);
    writer.program()?;
    writer.finish_past();
    Ok(interface::source(writer, requirements))
}
