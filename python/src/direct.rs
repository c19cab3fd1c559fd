//! Calls of native functions on tensors, with as little as possible around them.

use ember_native::{Caller, Extent, Form, Parameter};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The code and bits of an element, and the extents.
type Shaped = (u8, u8, Vec<Extent>);

/// A function on tensors of one type.
#[pyclass(frozen)]
pub struct Direct {
    caller: Caller,
    /// The function that says if gradients are recorded.
    gradients: Py<PyAny>,
    outputs: usize,
}

#[pymethods]
impl Direct {
    /// Returns the function of a library for tensors of a type; `None` if they cannot be read in this way.
    #[staticmethod]
    #[allow(clippy::too_many_arguments, reason = "they describe one function")]
    fn of(
        library: PathBuf,
        symbol: String,
        class: &Bound<'_, PyType>,
        gradients: Py<PyAny>,
        inputs: Vec<Shaped>,
        outputs: Vec<Shaped>,
        sizes: Vec<Extent>,
        parameters: Vec<(String, usize, Vec<Extent>)>,
    ) -> PyResult<Option<Direct>> {
        let (count, made) = (inputs.len(), outputs.len());
        let forms = inputs.into_iter().chain(outputs);
        let forms = forms.map(|(code, bits, shape)| Form { code, bits, shape }).collect();
        let parameters = parameters.into_iter().map(|(kind, number, shape)| match kind.as_str() {
            "argument" => Ok(Parameter::Argument(number)),
            "constant" => {
                let bytes = shape.first().map_or(0, |(_, bytes)| *bytes);
                Ok(Parameter::Constant(number, usize::try_from(bytes).unwrap_or(0)))
            }
            "between" => Ok(Parameter::Between(number as i64, shape)),
            _ => Err(PyValueError::new_err(format!("no parameter is called `{kind}`"))),
        });
        let parameters = (sizes, parameters.collect::<PyResult<_>>()?);
        let caller = Caller::new((&library, &symbol), class, (count, forms), parameters);
        Ok(caller.map(|caller| Direct { caller, gradients, outputs: made }))
    }

    /// Runs the function and returns its status; `None`, and nothing has run, if the arguments are not as it takes them.
    fn __call__(
        &self,
        inputs: &Bound<'_, PyTuple>,
        out: &Bound<'_, PyAny>,
        check: bool,
    ) -> PyResult<Option<i32>> {
        let gradients = self.gradients.bind(inputs.py()).call0()?.is_truthy()?;
        let inputs: Vec<_> = inputs.iter_borrowed().collect();
        self.run(&inputs, out, (gradients, check))
    }
}

impl Direct {
    /// Runs the function on inputs and a tensor, or a tuple of them, that it writes.
    fn run(
        &self,
        inputs: &[Borrowed<'_, '_, PyAny>],
        out: &Bound<'_, PyAny>,
        flags: (bool, bool),
    ) -> PyResult<Option<i32>> {
        if self.outputs == 1 {
            return self.caller.call(out.py(), inputs, &[out.as_borrowed()], flags);
        }
        let Ok(all) = out.cast::<PyTuple>() else { return Ok(None) };
        let all: Vec<_> = all.iter_borrowed().collect();
        self.caller.call(out.py(), inputs, &all, flags)
    }
}

/// A graph of `torch.compile`, called with parameters and inputs alike: its native function once there is one that fits,
/// else a function of Python.
#[pyclass(frozen)]
pub struct Graph {
    /// The function that serves all other calls.
    slowly: Py<PyAny>,
    /// The function that says if gradients are recorded.
    gradients: Py<PyAny>,
    ready: Mutex<Option<Arc<Ready>>>,
}

/// A native function for a graph.
struct Ready {
    direct: Py<Direct>,
    /// Makes the outputs.
    make: Py<PyAny>,
    /// The places of parameters, whose values the function holds, and the addresses that they had.
    held: Vec<(usize, usize)>,
    /// The places of the function's inputs.
    free: Vec<usize>,
}

#[pymethods]
impl Graph {
    #[new]
    fn new(slowly: Py<PyAny>, gradients: Py<PyAny>) -> Graph {
        Graph { slowly, gradients, ready: Mutex::default() }
    }

    /// Serves further calls by a native function as long as parameters are where they were.
    fn serve(
        &self,
        direct: Py<Direct>,
        make: Py<PyAny>,
        held: Vec<(usize, usize)>,
        free: Vec<usize>,
    ) {
        *self.lock() = Some(Arc::new(Ready { direct, make, held, free }));
    }

    /// Leaves further calls to the function of Python.
    fn rest(&self) {
        *self.lock() = None;
    }

    #[pyo3(signature = (*inputs))]
    fn __call__<'py>(&self, inputs: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let py = inputs.py();
        let ready = self.lock().clone();
        if let Some(ready) = ready
            && !self.gradients.bind(py).call0()?.is_truthy()?
            && let Some(results) = ready.call(inputs)?
        {
            return Ok(results);
        }
        self.slowly.bind(py).call1(inputs)
    }
}

impl Graph {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<Ready>>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ready {
    /// Runs the function on new outputs and returns a tuple of them; `None` if it does not serve these inputs, or refuses
    /// their data.
    fn call<'py>(&self, inputs: &Bound<'py, PyTuple>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = inputs.py();
        let direct = self.direct.get();
        for (place, address) in &self.held {
            let held = inputs.get_borrowed_item(*place)?;
            if direct.caller.address(&held) != Some(*address) {
                return Ok(None);
            }
        }
        let free = self.free.iter().map(|place| inputs.get_borrowed_item(*place));
        let free = free.collect::<PyResult<Vec<_>>>()?;
        let results = self.make.bind(py).call0()?;
        if direct.run(&free, &results, (false, true))? != Some(0) {
            return Ok(None);
        }
        if results.is_instance_of::<PyTuple>() {
            return Ok(Some(results));
        }
        Ok(Some(PyTuple::new(py, [results])?.into_any()))
    }
}
