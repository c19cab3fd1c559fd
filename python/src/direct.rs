//! Calls of native functions on tensors, with as little as possible around them.

use ember_native::{Caller, Extent, Form, Parameter};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use std::path::PathBuf;

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
    /// `gradients` says that gradients are recorded, or not; without it, PyTorch is asked.
    #[pyo3(signature = (inputs, out, check, gradients=None))]
    fn call(
        &self,
        inputs: &Bound<'_, PyTuple>,
        out: &Bound<'_, PyAny>,
        check: bool,
        gradients: Option<bool>,
    ) -> PyResult<Option<i32>> {
        let gradients = match gradients {
            Some(gradients) => gradients,
            None => self.gradients.bind(inputs.py()).call0()?.is_truthy()?,
        };
        if self.outputs == 1 {
            return self.caller.call(inputs, std::slice::from_ref(out), (gradients, check));
        }
        let Ok(all) = out.cast::<PyTuple>() else { return Ok(None) };
        let all: Vec<Bound<'_, PyAny>> = all.iter().collect();
        self.caller.call(inputs, &all, (gradients, check))
    }
}
