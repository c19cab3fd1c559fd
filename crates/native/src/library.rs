//! A compiled program, loaded into this process.

use super::Buffers;
use ember_targets::c::{Exported, Function, Source};
use ember_values::scalar::DType;
use std::ffi::{c_int, c_void};
use std::path::Path;
use thiserror::Error;

/// The function that calls a program: sizes, tensors, and 1 if the data is to be checked.
pub(crate) type Call = unsafe extern "C" fn(*const i64, *const *mut c_void, c_int) -> c_int;

/// The error of a library that is not the compiled program.
#[derive(Debug, Error)]
#[error("cannot load `{path}`: {message}")]
pub struct Broken {
    path: String,
    message: String,
}

/// The error of data that does not have a required property: the number of the requirement, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("requirement {0} of the program does not hold")]
pub struct Refused(pub usize);

/// A loaded program.
pub struct Library {
    call: Call,
    sizes: usize,
    tensors: usize,
    /// Keeps the code of `call` in memory; the code of threads, which wait for the next call, is never unloaded.
    _library: Option<libloading::Library>,
}

impl Library {
    /// Loads the library that a source was compiled to. Functions such as `exp` become those of this process, so that
    /// their bits are the same everywhere.
    ///
    /// # Errors
    ///
    /// Fails if the file is no library, or lacks the program's functions.
    pub fn load(path: &Path, source: &Source) -> Result<Library, Broken> {
        let broken = |error: libloading::Error| Broken {
            path: path.display().to_string(),
            message: error.to_string(),
        };
        // SAFETY: the library was compiled from a program's text, which has no code that runs when it is loaded.
        let library = unsafe { libloading::Library::new(path) }.map_err(broken)?;
        let symbol = format!("{}_call", source.name);
        // SAFETY: `c::print` defines the symbol with exactly this type.
        let call = unsafe { library.get::<Call>(symbol.as_bytes()) }.map_err(broken)?;
        let call = *call;
        for exported in &source.replaceable {
            replace(&library, exported).map_err(broken)?;
        }
        let library = match source.threaded {
            true => {
                std::mem::forget(library);
                None
            }
            false => Some(library),
        };
        Ok(Library { call, sizes: source.sizes, tensors: source.tensors, _library: library })
    }

    /// Calls the program, which checks its data first.
    ///
    /// # Errors
    ///
    /// Fails, and changes nothing, if the data does not have a property that the program requires.
    ///
    /// # Panics
    ///
    /// Panics if the buffers are those of another program.
    pub fn call(&self, buffers: &mut Buffers) -> Result<(), Refused> {
        let pointers = buffers.pointers();
        assert!(
            pointers.len() == self.tensors && buffers.sizes.len() == self.sizes,
            "buffers of another program"
        );
        // SAFETY: the function reads as many sizes and pointers as the program has, which was just compared. Each
        // pointer is that of a tensor with the extents that the sizes give it; tensors do not overlap, and it writes
        // only those that `pointers` has made its own. The program was verified: it leaves its tensors only through
        // data, which it checks first.
        let status = unsafe { (self.call)(buffers.sizes.as_ptr(), pointers.as_ptr().cast(), 1) };
        match usize::try_from(status) {
            Ok(0) => Ok(()),
            Ok(n) => Err(Refused(n)),
            Err(_) => Err(Refused(0)),
        }
    }
}

/// Lets an exported pointer point to this process's function.
fn replace(library: &libloading::Library, exported: &Exported) -> Result<(), libloading::Error> {
    // SAFETY: `c::print` defines the symbol as a pointer to a function of the type that `replacement` returns the
    // address of, and the library is not in use yet.
    unsafe {
        **library.get::<*mut *const c_void>(exported.symbol.as_bytes())? = replacement(exported);
    }
    Ok(())
}

/// Returns the address of this process's function for one that a program lets its caller replace. It lives as long as
/// the process.
pub fn replacement(exported: &Exported) -> *const c_void {
    macro_rules! of {
        ($function:expr, $type:ty) => {{
            let function: $type = $function;
            function as *const c_void
        }};
    }
    match (exported.function, exported.dtype) {
        (Function::Unary(op), DType::F32) => of!(op.c_f32(), extern "C" fn(f32) -> f32),
        (Function::Unary(op), _) => of!(op.c_f64(), extern "C" fn(f64) -> f64),
        (Function::Binary(op), DType::F32) => of!(op.c_f32(), extern "C" fn(f32, f32) -> f32),
        (Function::Binary(op), _) => of!(op.c_f64(), extern "C" fn(f64, f64) -> f64),
    }
}
