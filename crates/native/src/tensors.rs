//! Calls of a program on tensors of PyTorch, in their own memory, from Python: tensors are read through the functions that
//! their type exports for C, the exchange interface of DLPack, which take a few nanoseconds.

use crate::library::Call;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyType};
use std::ffi::{c_int, c_void};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::{ptr, slice};

/// The device of tensors in the memory of the processor.
const PROCESSOR: i32 = 1;

/// A tensor as the interface describes it.
#[repr(C)]
#[derive(Clone, Copy)]
struct View {
    data: *mut u8,
    device: [i32; 2],
    rank: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    offset: u64,
}

/// The functions of the interface; those that are not called here are only pointers.
#[repr(C)]
struct Interface {
    version: [u32; 2],
    older: *const c_void,
    others: [*const c_void; 3],
    view: Option<unsafe extern "C" fn(*mut PyObject, *mut View) -> c_int>,
}

/// An extent of a tensor: a number, and the size that it is added to, if there is one.
pub type Extent = (Option<usize>, i64);

/// The type and shape of a tensor that a caller gives.
#[derive(Clone, Debug)]
pub struct Form {
    /// The kind of number as DLPack counts them: 0 signed, 1 unsigned, 2 floating-point.
    pub code: u8,
    /// The bits of an element.
    pub bits: u8,
    /// The extents.
    pub shape: Vec<Extent>,
}

/// A parameter of the function.
#[derive(Clone, Debug)]
pub enum Parameter {
    /// The argument with this number, counting outputs after inputs.
    Argument(usize),
    /// A tensor of so many bytes at an address that the caller keeps alive.
    Constant(usize, usize),
    /// A tensor that is computed on the way, with the bytes of an element and its extents.
    Between(i64, Vec<Extent>),
}

/// A program as a function of tensors of one type.
pub struct Caller {
    call: Call,
    class: Py<PyType>,
    view: unsafe extern "C" fn(*mut PyObject, *mut View) -> c_int,
    inputs: usize,
    forms: Vec<Form>,
    sizes: Vec<Extent>,
    parameters: Vec<Parameter>,
    /// Memory that calls take in turn, so that a call allocates none.
    spare: Mutex<Vec<Spare>>,
}

/// The memory of one call.
#[derive(Default)]
struct Spare {
    /// The sizes that the extents of arguments say so far.
    known: Vec<Option<i64>>,
    places: Vec<Place>,
    sizes: Vec<i64>,
    tensors: Vec<*mut c_void>,
    /// What is computed on the way.
    between: Vec<u64>,
}

// SAFETY: the pointers are those of one call, which makes them anew before it uses them, on one thread.
unsafe impl Send for Spare {}

impl Caller {
    /// Loads a library for arguments of a type; `None` if the type does not export the interface, or the library not the
    /// function. `forms` are those of the inputs and then of the outputs; `sizes` and `parameters` what the function takes.
    pub fn new(
        (library, symbol): (&Path, &str),
        class: &Bound<'_, PyType>,
        (inputs, forms): (usize, Vec<Form>),
        (sizes, parameters): (Vec<Extent>, Vec<Parameter>),
    ) -> Option<Caller> {
        let capsule = class.getattr("__dlpack_c_exchange_api__").ok()?;
        let capsule = capsule.cast_into::<PyCapsule>().ok()?;
        let interface = capsule.pointer_checked(Some(c"dlpack_exchange_api")).ok()?;
        // SAFETY: a capsule of this name holds the interface, whose first word is its version, and the type keeps it.
        let interface = unsafe { interface.cast::<Interface>().as_ref() };
        if interface.version[0] != 1 {
            return None;
        }
        // SAFETY: the library was compiled from a program's text, which has no code that runs when it is loaded.
        let library = unsafe { libloading::Library::new(library) }.ok()?;
        // SAFETY: the caller names the function that `c::print` defines with exactly this type.
        let call = *unsafe { library.get::<Call>(symbol.as_bytes()) }.ok()?;
        // The code stays in memory, since threads may wait in it for the next call.
        std::mem::forget(library);
        let view = interface.view?;
        let (class, spare) = (class.clone().unbind(), Mutex::default());
        Some(Caller { call, class, view, inputs, forms, sizes, parameters, spare })
    }

    /// Runs the function, and returns its status; `None`, and nothing has run, if an argument is not as the function takes
    /// it, or memory for what is computed on the way is too large.
    ///
    /// # Errors
    ///
    /// Fails if an attribute of a tensor does.
    pub fn call(
        &self,
        py: Python<'_>,
        inputs: &[Borrowed<'_, '_, PyAny>],
        outputs: &[Borrowed<'_, '_, PyAny>],
        (gradients, checked): (bool, bool),
    ) -> PyResult<Option<c_int>> {
        if inputs.len() != self.inputs || self.inputs + outputs.len() != self.forms.len() {
            return Ok(None);
        }
        let mut spare = self.lock().pop().unwrap_or_default();
        spare.known.clear();
        spare.places.clear();
        for (argument, form) in inputs.iter().chain(outputs).zip(&self.forms) {
            let Some(place) = self.place(argument, form, &mut spare.known) else {
                return Ok(None);
            };
            if gradients
                && spare.places.len() < self.inputs
                && argument.getattr(pyo3::intern!(py, "requires_grad"))?.is_truthy()?
            {
                return Ok(None);
            }
            spare.places.push(place);
        }
        if self.overlapping(&spare.places) || self.arguments(&mut spare).is_none() {
            return Ok(None);
        }
        let (call, checked) = (self.call, c_int::from(checked));
        let (status, spare) = py.detach(move || {
            let Spare { sizes, tensors, .. } = &spare;
            // SAFETY: the function takes as many sizes and tensors as `new` was told, and each pointer is that of a tensor
            // in the processor's memory whose type and extents were compared just now; its object lives until this returns.
            // The program was verified: it leaves its tensors only through data, which it checks unless the caller of this
            // vouches for it.
            let status = unsafe { call(sizes.as_ptr(), tensors.as_ptr(), checked) };
            (status, spare)
        });
        self.lock().push(spare);
        Ok(Some(status))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Spare>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if an output shares memory with another argument or with a constant.
    fn overlapping(&self, places: &[Place]) -> bool {
        let constants = self.parameters.iter().filter_map(|parameter| match parameter {
            Parameter::Constant(address, bytes) => Some((*address, *bytes)),
            Parameter::Argument(_) | Parameter::Between(..) => None,
        });
        let spans = places.iter().map(|place| (place.address.addr(), place.bytes));
        let share = |(a, length): (usize, usize), (b, other): (usize, usize)| {
            length > 0 && other > 0 && a < b + other && b < a + length
        };
        let outputs = spans.clone().enumerate().skip(self.inputs);
        outputs.into_iter().any(|(at, own)| {
            let others = spans.clone().enumerate().filter(|(other, _)| *other != at);
            others.map(|(_, span)| span).chain(constants.clone()).any(|span| share(own, span))
        })
    }

    /// Returns the address of a tensor's first element; `None` if the object is no tensor of the type, or of one derived
    /// from it.
    pub fn address(&self, tensor: &Bound<'_, PyAny>) -> Option<usize> {
        let is_tensor = tensor.is_instance(self.class.bind(tensor.py())).unwrap_or(false);
        is_tensor.then(|| self.view(tensor)).flatten().map(|view| view.data.addr())
    }

    /// Returns a tensor as the interface describes it. The object is of the caller's type, or of one derived from it.
    fn view(&self, tensor: &Bound<'_, PyAny>) -> Option<View> {
        let mut view = View {
            data: ptr::null_mut(),
            device: [0; 2],
            rank: 0,
            code: 0,
            bits: 0,
            lanes: 0,
            shape: ptr::null(),
            strides: ptr::null(),
            offset: 0,
        };
        // SAFETY: the object is of the type that the function came from, and the thread holds the interpreter.
        if unsafe { (self.view)(tensor.as_ptr(), &raw mut view) } != 0 {
            // What it raised is raised again by the way that explains it.
            drop(PyErr::take(tensor.py()));
            return None;
        }
        Some(view)
    }

    /// Returns the memory of an argument of a form, and adds what its extents say of sizes.
    fn place(
        &self,
        argument: &Bound<'_, PyAny>,
        form: &Form,
        known: &mut Vec<Option<i64>>,
    ) -> Option<Place> {
        if !argument.get_type().is(&self.class) {
            return None;
        }
        let view = self.view(argument)?;
        let alike = (view.code, view.bits, view.lanes) == (form.code, form.bits, 1)
            && view.device[0] == PROCESSOR
            && usize::try_from(view.rank).ok()? == form.shape.len()
            && view.offset == 0;
        if !alike {
            return None;
        }
        let extents = |of: *const i64| match form.shape.len() {
            0 => &[][..],
            // SAFETY: shape and strides of a tensor have as many numbers as its rank, and live as long as it.
            rank => unsafe { slice::from_raw_parts(of, rank) },
        };
        let shape = extents(view.shape);
        if !view.strides.is_null() {
            let mut dense = 1;
            for (extent, stride) in shape.iter().zip(extents(view.strides)).rev() {
                if *extent != 1 && *stride != dense && !shape.contains(&0) {
                    return None;
                }
                dense = dense.checked_mul(*extent)?;
            }
        }
        for (extent, (size, plus)) in shape.iter().zip(&form.shape) {
            let own = extent.checked_sub(*plus).filter(|own| *own >= 0)?;
            match size {
                None if own != 0 => return None,
                None => {}
                Some(at) => {
                    if known.len() <= *at {
                        known.resize(*at + 1, None);
                    }
                    if *known[*at].get_or_insert(own) != own {
                        return None;
                    }
                }
            }
        }
        let element = usize::from(form.bits / 8).max(1);
        let elements: i64 = shape.iter().product();
        let bytes = usize::try_from(elements).ok()?.checked_mul(element)?;
        let aligned = view.data.addr().is_multiple_of(element);
        aligned.then_some(Place { address: view.data, bytes })
    }

    /// Sets the sizes and the pointers of all parameters. What is computed on the way gets its place in the call's memory.
    /// Returns `None` if a size is not known, or memory is too large.
    fn arguments(&self, spare: &mut Spare) -> Option<()> {
        let Spare { known, places, sizes, tensors, between } = spare;
        let known: &[Option<i64>] = known;
        sizes.clear();
        for extent in &self.sizes {
            sizes.push(number(extent, known)?);
        }
        let words = |element: i64, shape: &[Extent]| {
            let mut bytes = element;
            for extent in shape {
                bytes = bytes.checked_mul(number(extent, known)?)?;
            }
            // Each starts at a cache line.
            usize::try_from(bytes).ok()?.div_ceil(64).checked_mul(8)
        };
        let mut all = 8_usize;
        for parameter in &self.parameters {
            if let Parameter::Between(bytes, shape) = parameter {
                all = all.checked_add(words(*bytes, shape)?)?;
            }
        }
        if between.len() < all {
            between.try_reserve_exact(all - between.len()).ok()?;
            between.resize(all, 0);
        }
        let mut from = between.as_ptr().align_offset(64).min(8);
        tensors.clear();
        for parameter in &self.parameters {
            tensors.push(match parameter {
                Parameter::Argument(at) => places.get(*at)?.address.cast(),
                Parameter::Constant(address, _) => ptr::with_exposed_provenance_mut(*address),
                Parameter::Between(bytes, shape) => {
                    let place = between.get_mut(from..)?.as_mut_ptr();
                    from += words(*bytes, shape)?;
                    place.cast()
                }
            });
        }
        Some(())
    }
}

/// The memory of an argument.
struct Place {
    address: *mut u8,
    bytes: usize,
}

/// Returns an extent, if its size is known.
fn number((size, plus): &Extent, known: &[Option<i64>]) -> Option<i64> {
    match size {
        None => Some(*plus),
        Some(at) => known.get(*at).copied().flatten()?.checked_add(*plus),
    }
}
