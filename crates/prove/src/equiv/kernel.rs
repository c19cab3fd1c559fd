//! Kernels in MLIR text as sides of a comparison.

use super::declare::{Declarations, Declared, Purpose};
use super::level::statements;
use super::sides::{Side, What};
use ember_import::mlir::{self, Interface, Kernel, KernelTensor};
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::load::load;
use ember_language::rules::RuleBook;
use ember_language::term::Term;
use ember_targets::verify::{Limits, verify};
use std::path::Path;

/// Reads a kernel, or a program of two halves, which a machine of these limits can run. Its arguments take the names that
/// other sides declare.
pub fn read<'a>(
    sources: &mut Sources,
    book: &RuleBook,
    limits: &Limits,
    path: &Path,
    known: impl Iterator<Item = &'a Declarations>,
) -> Checked<(Declarations, Side)> {
    let file = load(sources, path)?;
    let (interface, name) = (interface(book, known), path.display().to_string());
    if mlir::is_halves(&sources.get(file).text) {
        let program = mlir::halves(sources, file, &interface)?;
        let program = verify(program, limits).map_err(|errors| {
            let broken = |error| Diagnostic::global(format!("{name}: {error}"));
            errors.iter().map(broken).collect::<Vec<_>>()
        })?;
        let declarations = Declarations::of_program(&program);
        let what = What::dlc(program, book.signature.table());
        return Ok((declarations, Side { name, what }));
    }
    let kernel = mlir::kernel(sources, file, &interface)?;
    let tensors = kernel.tensors.into_iter().map(|own| Declared {
        name: own.name,
        dtype: own.dtype,
        shape: own.shape,
        purpose: own.purpose,
        rises_to: None,
    });
    let declarations = Declarations {
        tensors: tensors.collect(),
        own_sizes: kernel.sizes,
        arguments: kernel.arguments,
        ..Declarations::default()
    };
    let term = book.definitions.expand(&kernel.term);
    let what = What::Term { term, sort: statements(&book.signature) };
    Ok((declarations, Side { name, what }))
}

/// Returns the names that a kernel's arguments may take.
fn interface<'a>(book: &RuleBook, known: impl Iterator<Item = &'a Declarations>) -> Interface {
    let operators = book.signature.operators().iter().filter(|op| op.args.is_empty());
    let mut interface = Interface {
        reserved: operators.map(|op| op.name.to_string()).collect(),
        ..Interface::default()
    };
    for declarations in known {
        let (own, tensors): (Vec<_>, Vec<_>) = declarations
            .tensors
            .iter()
            .map(as_tensor)
            .partition(|own| own.purpose == Purpose::Scratch);
        interface.own.extend(own);
        interface.tensors.extend(tensors);
        interface.sizes.extend(declarations.own_sizes.iter().cloned());
    }
    interface
}

/// Returns a statement of one processor as MLIR text.
pub fn mlir_text(
    name: &str,
    declarations: &Declarations,
    term: &Term,
) -> Result<String, mlir::Unwritten> {
    mlir::text(&as_kernel(name, declarations, term))
}

/// Returns a program of both units in the dialects of Ember's artifact.
pub fn slc_text(
    name: &str,
    declarations: &Declarations,
    term: &Term,
) -> Result<String, mlir::NoDialect> {
    mlir::slc_text(&as_kernel(name, declarations, term))
}

/// Returns a program with its declarations.
fn as_kernel(name: &str, declarations: &Declarations, term: &Term) -> Kernel {
    let tensors = declarations.tensors.iter().map(as_tensor);
    let (name, term) = (name.to_owned(), term.clone());
    let sizes = declarations.own_sizes.clone();
    let arguments = declarations.arguments.clone();
    Kernel { name, term, tensors: tensors.collect(), sizes, arguments }
}

/// Returns a declared tensor as one of a kernel.
fn as_tensor(own: &Declared) -> KernelTensor {
    KernelTensor {
        name: own.name.clone(),
        dtype: own.dtype,
        shape: own.shape.clone(),
        purpose: own.purpose,
    }
}
