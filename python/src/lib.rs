//! The native half of the Python package `ember_rewrite`: compilation, calls of programs, and the commands.

mod arrays;
mod direct;
mod interrupt;
mod sweep;

use arrays::{array, tensors};
use ember_rewrite::built::{self, Built, Called, Settings};
use ember_rewrite::{Error, cli};
use interrupt::{interruptible, watched};
use numpy::PyUntypedArray;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

create_exception!(ember_rewrite, EmberError, PyValueError, "Raised for what ends in an error.");

fn raised(error: Error) -> PyErr {
    EmberError::new_err(error.to_string())
}

/// A compiled model.
#[pyclass(frozen)]
struct Native {
    built: Arc<Built>,
}

/// The outputs of a call by name, its cycles and its energy in joules.
type Outputs<'py> = (Vec<(String, Bound<'py, PyAny>)>, u64, f64);

#[pymethods]
impl Native {
    /// Returns the report as JSON text.
    fn report(&self) -> String {
        self.built.report()
    }

    /// Returns the names of the model's arguments, in order.
    fn arguments(&self) -> Vec<String> {
        self.built.arguments()
    }

    /// Returns the decoupled program as text.
    fn dlc(&self) -> String {
        self.built.dlc()
    }

    /// Returns the program's text in a form of `--emit`.
    fn text(&self, py: Python<'_>, form: String) -> PyResult<String> {
        let built = Arc::clone(&self.built);
        interruptible(py, move || built.text(&form))?.map_err(raised)
    }

    /// Runs the program in the simulator.
    fn call<'py>(
        &self,
        py: Python<'py>,
        arrays: BTreeMap<String, Bound<'py, PyAny>>,
    ) -> PyResult<Outputs<'py>> {
        let arrays = tensors(&arrays)?;
        let built = Arc::clone(&self.built);
        let called = interruptible(py, move || built.call(arrays))?.map_err(raised)?;
        let Called { outputs, cycles, energy_j } = called;
        let outputs = outputs.into_iter().map(|(name, tensor)| Ok((name, array(py, tensor)?)));
        Ok((outputs.collect::<PyResult<_>>()?, cycles, energy_j))
    }
}

/// Compiles the model in a file on arrays.
#[pyfunction]
#[pyo3(signature = (path, arrays, *, rules, target, schedule, exact, seed, compare, threads, progress))]
#[allow(clippy::too_many_arguments, reason = "they are the keywords of the Python function")]
fn compile(
    py: Python<'_>,
    path: PathBuf,
    arrays: Option<BTreeMap<String, Bound<'_, PyAny>>>,
    rules: Vec<PathBuf>,
    target: String,
    schedule: String,
    exact: String,
    seed: Option<u64>,
    compare: bool,
    threads: u32,
    progress: Option<Py<PyAny>>,
) -> PyResult<Native> {
    let settings = Settings { rules, target, schedule, exact, seed, compare, threads };
    let arrays = arrays.as_ref().map(tensors).transpose()?;
    let built = watched(py, progress, move |line| Built::compile(&path, arrays, &settings, line))?;
    Ok(Native { built: Arc::new(built.map_err(raised)?) })
}

/// Returns true if programs for a machine run in the simulator.
#[pyfunction]
fn is_simulated(target: &str) -> PyResult<bool> {
    built::is_simulated(target).map_err(raised)
}

/// The description of a library as JSON text, and the tensors that are no arguments.
type Callable<'py> = (String, BTreeMap<String, Bound<'py, PyAny>>);

/// Compiles the model in a file to a library for this machine.
#[pyfunction]
#[pyo3(signature = (path, arrays, *, rules, target, schedule, exact, seed, threads))]
#[allow(clippy::too_many_arguments, reason = "they are the keywords of the Python function")]
fn callable<'py>(
    py: Python<'py>,
    path: PathBuf,
    arrays: Option<BTreeMap<String, Bound<'py, PyAny>>>,
    rules: Vec<PathBuf>,
    target: String,
    schedule: String,
    exact: String,
    seed: Option<u64>,
    threads: u32,
) -> PyResult<Callable<'py>> {
    let settings = Settings { rules, target, schedule, exact, seed, compare: false, threads };
    let arrays = arrays.as_ref().map(tensors).transpose()?;
    let made = interruptible(py, move || built::callable(&path, arrays, &settings))?;
    let mut made = made.map_err(raised)?;
    let constants = std::mem::take(&mut made.constants).into_iter();
    let constants = constants.map(|(name, tensor)| Ok((name, array(py, tensor)?)));
    let constants = constants.collect::<PyResult<_>>()?;
    // The description is plain data with string keys, so serialising it cannot fail.
    Ok((serde_json::to_string(&made).unwrap_or_default(), constants))
}

/// Asks the system to hold the elements of a contiguous array in large pages, and returns true if it agreed.
#[pyfunction]
fn large_pages(array: &Bound<'_, PyUntypedArray>) -> PyResult<bool> {
    arrays::large_pages(array)
}

/// Returns the operators of a PyTorch program in a file that have no counterpart, by the name of the result, with reasons.
#[pyfunction]
fn missing(py: Python<'_>, path: PathBuf) -> PyResult<Vec<(String, String)>> {
    interruptible(py, move || built::missing(&path))?.map_err(raised)
}

/// Runs a command of `ember-rewrite`; the first word is its name.
#[pyfunction]
fn command(py: Python<'_>, words: Vec<String>, progress: Option<Py<PyAny>>) -> PyResult<()> {
    watched(py, progress, move |line| cli::command(words, line))?.map_err(raised)?;
    Ok(())
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("EmberError", module.py().get_type::<EmberError>())?;
    module.add_class::<Native>()?;
    module.add_class::<direct::Direct>()?;
    module.add_class::<direct::Graph>()?;
    module.add_class::<sweep::Sweep>()?;
    module.add_function(wrap_pyfunction!(sweep::sweep_point, module)?)?;
    module.add_function(wrap_pyfunction!(compile, module)?)?;
    module.add_function(wrap_pyfunction!(is_simulated, module)?)?;
    module.add_function(wrap_pyfunction!(callable, module)?)?;
    module.add_function(wrap_pyfunction!(large_pages, module)?)?;
    module.add_function(wrap_pyfunction!(missing, module)?)?;
    module.add_function(wrap_pyfunction!(command, module)?)
}
