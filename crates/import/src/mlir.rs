//! Reads kernels in MLIR text: a closed subset of the dialects func, arith, math, memref, scf, affine and vector, in the
//! pretty and the generic form. A kernel becomes a program of one processor with its declarations.
//!
//! `read` turns the text into operations, by the kinds of `rules/import/mlir.rows`; `lower` turns these into terms. Values
//! become expressions where they are used. If memory that a value was loaded from may be written in between, the value
//! is stored in memory of its own. What a loop carries is a reduction, or memory of its own.

mod affine;
mod dlc;
mod halves;
mod lines;
mod lower;
mod names;
mod product;
mod read;
mod rows;
mod slc;
mod source;
mod types;
mod write;

use crate::lex::{self, Token};
pub use dlc::dlc_text;
use ember_language::diagnostic::{Checked, Diagnostic, FileId, Sources};
use ember_language::term::Term;
use ember_model::Extent;
use ember_targets::dlc::Program;
pub use ember_targets::dlc::Purpose;
use ember_values::scalar::{DType, LARGEST_SIZE};
use halves::Halves;
pub use lines::NoDialect;
use lower::Lowering;
use read::{Reader, Refused};
use rows::Rows;
pub use slc::slc_text;
use source::Operation;
use std::collections::BTreeSet;
pub use write::{Unwritten, text};

/// The largest extent.
const LARGEST: u64 = LARGEST_SIZE;

/// The most lanes of a vector.
const LANES: u64 = 1024;

/// The most dimensions of memory.
const RANK: usize = 8;

/// A tensor of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelTensor {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// Its extents.
    pub shape: Vec<Extent>,
    /// Its purpose.
    pub purpose: Purpose,
}

/// A kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The name of the function.
    pub name: String,
    /// The statement, with definitions that are not expanded yet.
    pub term: Term,
    /// The arguments that are memory or numbers, then the memory of the kernel's own.
    pub tensors: Vec<KernelTensor>,
    /// The sizes that are arguments.
    pub sizes: Vec<String>,
    /// The names of the arguments in the order of the function; a structure, whose fields are sizes, has none.
    pub arguments: Vec<String>,
}

/// The names that a kernel's arguments have already, because another program declares them.
#[derive(Clone, Debug, Default)]
pub struct Interface {
    /// The tensors. A kernel's arguments take their names and extents: by name, or if a name is unknown, all in order.
    pub tensors: Vec<KernelTensor>,
    /// The sizes that are declared by themselves.
    pub sizes: Vec<String>,
    /// The memory of the other programs' own. Memory of this kernel's own that is called the same, and has the same type,
    /// takes the name.
    pub own: Vec<KernelTensor>,
    /// The words that no tensor may be called.
    pub reserved: BTreeSet<String>,
}

/// Returns true if an MLIR text is a kernel, not a model of StableHLO operations.
pub fn is_kernel(text: &str) -> bool {
    !lex::tokens(text).any(|(token, _)| match token {
        Token::Word(word) => word == "tensor" || word.starts_with("stablehlo."),
        Token::Text(word) => word.starts_with("stablehlo."),
        _ => false,
    })
}

/// Returns true if an MLIR text is a program of two halves, in the dialect `dlc`.
pub fn is_halves(text: &str) -> bool {
    lex::tokens(text).any(|(token, _)| {
        matches!(token, Token::Word(word) | Token::Text(word) if word == "dlc.configure_access_engine")
    })
}

/// Reads the program of two halves of a text. It is well formed only if its verifier says so.
pub fn halves(sources: &Sources, file: FileId, interface: &Interface) -> Checked<Program> {
    read(sources, file, |reader, rows, function| {
        Halves::new(reader, rows, interface).program(function)
    })
}

/// Reads the kernel of a text.
pub fn kernel(sources: &Sources, file: FileId, interface: &Interface) -> Checked<Kernel> {
    read(sources, file, |reader, rows, function| {
        let mut spilled = BTreeSet::new();
        // Values that turn out to be stored are stored in the next attempt; each attempt adds some.
        loop {
            let mut lowering = Lowering::new(reader, rows, interface, &spilled);
            let kernel = lowering.kernel(function)?;
            if lowering.stale.is_empty() {
                return Ok(kernel);
            }
            spilled.append(&mut lowering.stale);
        }
    })
}

/// Reads the operations of a text, and makes something of its function.
fn read<T>(
    sources: &Sources,
    file: FileId,
    make: impl FnOnce(&Reader<'_>, &'static Rows, &Operation<'_>) -> Result<T, Refused>,
) -> Checked<T> {
    let rows = Rows::shipped()
        .map_err(|wrong| vec![Diagnostic::global(format!("the table of operations: {wrong}"))])?;
    let mut reader = Reader::new(file, sources.get(file).text.as_str(), rows);
    let made = reader.all().and_then(|operations| {
        let function = lower::function(&operations, &reader)?;
        make(&reader, rows, function)
    });
    made.map_err(|error| vec![*error])
}
