//! Sweeps: the points that are to be computed, and the file of their results.

use crate::interrupt::{interruptible, watched};
use crate::raised;
use ember_rewrite::sweep::{self, Described, Session};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A sweep with the results that are stored so far.
#[pyclass(frozen)]
pub struct Sweep {
    session: Arc<Session>,
}

#[pymethods]
impl Sweep {
    /// Opens the sweep in a file, or that of a text.
    #[new]
    fn open(
        py: Python<'_>,
        path: Option<PathBuf>,
        text: String,
        output: PathBuf,
        restart: bool,
    ) -> PyResult<Sweep> {
        let session = interruptible(py, move || {
            let described = path.as_deref().map_or(Described::Text(&text), Described::File);
            Session::open(described, &output, restart)
        })?;
        Ok(Sweep { session: Arc::new(session.map_err(raised)?) })
    }

    /// Returns the points without a result, in order.
    fn missing(&self) -> Vec<usize> {
        self.session.missing()
    }

    /// Returns the number of the model of a point. Points of one model need the same files.
    fn model(&self, point: usize) -> usize {
        self.session.model(point)
    }

    /// Returns the work for a point as text.
    fn task(&self, point: usize) -> String {
        self.session.task(point)
    }

    /// Returns the contents of the files that a point needs, by path.
    fn files<'py>(
        &self,
        py: Python<'py>,
        point: usize,
    ) -> PyResult<BTreeMap<String, Bound<'py, PyBytes>>> {
        let files = self.session.files(point).map_err(raised)?;
        Ok(files.into_iter().map(|(path, bytes)| (path, PyBytes::new(py, &bytes))).collect())
    }

    /// Stores the result of a point.
    fn put(&self, py: Python<'_>, point: usize, result: String) -> PyResult<()> {
        py.detach(|| self.session.put(point, &result)).map_err(raised)
    }

    /// Computes and stores all points without a result on the cores of this machine. After a signal, the points that are
    /// being computed are stored, too.
    fn run(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<()> {
        let stop = Arc::new(AtomicBool::new(false));
        let (session, stopped) = (Arc::clone(&self.session), Arc::clone(&stop));
        let ran = watched(py, progress, move |line| session.run(&stopped, line));
        if ran.is_err() {
            stop.store(true, Ordering::Relaxed);
            // The results are in use until the last of those points is stored.
            py.detach(|| self.session.missing());
        }
        ran?.map_err(raised)
    }

    /// Writes the file, once every point has a result, and returns the summary as JSON text and as a page.
    fn finish(&self, py: Python<'_>) -> PyResult<(String, String)> {
        py.detach(|| self.session.finish()).map_err(raised)
    }
}

/// Does the work for a point, given the contents of the files that it needs, and returns its result.
#[pyfunction]
pub fn sweep_point(
    py: Python<'_>,
    task: String,
    files: BTreeMap<String, Vec<u8>>,
) -> PyResult<String> {
    interruptible(py, move || sweep::compute(&task, files))?.map_err(raised)
}
