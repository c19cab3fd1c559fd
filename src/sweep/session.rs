//! A sweep with its stored results as one value, and the work for a point as a function of texts: what bindings to other
//! languages are made of.

use super::files::Reach;
use super::plan::Plan;
use super::row::Result as Found;
use super::run::{pool, run};
use super::store::Store;
use super::summary::Summary;
use super::task::Task;
use crate::compiler::Error;
use crate::html::{self, Page};
use crate::shipped::Shipped;
use ember_host::Files;
use ember_language::diagnostic::{Diagnostic, Sources};
use ember_tools::progress::Line;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A sweep with the results that are stored so far.
pub struct Session {
    plan: Plan,
    store: Mutex<Store>,
}

/// The description of a sweep.
#[derive(Clone, Copy, Debug)]
pub enum Described<'a> {
    /// The file that holds it, whose folder paths are relative to.
    File(&'a Path),
    /// Its text; paths are relative to the current folder.
    Text(&'a str),
}

impl Session {
    /// Opens a sweep and the file of its results, which may hold some of them.
    ///
    /// # Errors
    ///
    /// Fails if something that the sweep names cannot be used, or the file holds something else.
    pub fn open(described: Described<'_>, output: &Path, restart: bool) -> Result<Session, Error> {
        let mut sources = Sources::new(Shipped::default());
        let plan = match described {
            Described::File(path) => Plan::read(&mut sources, path),
            Described::Text(text) => Plan::parse(&mut sources, text),
        };
        let opened = plan.and_then(|plan| {
            let store = Mutex::new(Store::open(&plan, output, restart)?);
            Ok(Session { plan, store })
        });
        opened.map_err(|errors| Error::new(&sources, &errors))
    }

    /// Returns the points without a result, in order.
    pub fn missing(&self) -> Vec<usize> {
        self.store().missing()
    }

    /// Returns the number of the model of a point. Points of one model need the same files.
    pub fn model(&self, point: usize) -> usize {
        self.plan.model(point)
    }

    /// Returns the work for a point, which [`compute`] does.
    pub fn task(&self, point: usize) -> String {
        // The task is plain data, so serialising it cannot fail.
        serde_json::to_string(&self.plan.task(point)).unwrap_or_default()
    }

    /// Returns the files that a point needs, by path.
    ///
    /// # Errors
    ///
    /// Fails if one cannot be read any more.
    pub fn files(&self, point: usize) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let reach = self.plan.reach();
        let read = |path: &Path| {
            let name = path.to_string_lossy().into_owned();
            match reach.read(path, u64::MAX) {
                Ok(bytes) => Ok((name, bytes)),
                Err(error) => Err(plain(Diagnostic::global(format!("{name}: {error}")))),
            }
        };
        self.plan.files(point).map(read).collect()
    }

    /// Stores the result of a point, as [`compute`] returned it.
    ///
    /// # Errors
    ///
    /// Fails if it is no result, or cannot be stored.
    pub fn put(&self, point: usize, result: &str) -> Result<(), Error> {
        let found: Found = parsed(result)?;
        self.store().put(&self.plan, point, found).map_err(failed)
    }

    /// Computes and stores the points without a result on the cores of this machine, until `stop` is set.
    ///
    /// # Errors
    ///
    /// Fails if a result cannot be stored.
    pub fn run(&self, stop: &AtomicBool, line: &Line) -> Result<(), Error> {
        run(&self.plan, &mut self.store(), stop, line).map_err(failed)
    }

    /// Writes the file, once every point has a result, and returns the summary as JSON and as a page for a browser.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written, or an input has changed since the sweep was opened.
    pub fn finish(&self) -> Result<(String, String), Error> {
        let rows = self.store().finish(&self.plan).map_err(failed)?;
        let summary = Summary::new(&self.plan, rows);
        let page = html::page(&Page::Sweep { sweep: &summary });
        Ok((serde_json::to_string(&summary).unwrap_or_default(), page))
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        // A thread that panicked has left whole transactions all the same.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does the work for a point on one thread, given the files that it needs, and returns its result as JSON.
///
/// # Errors
///
/// Fails if the text is no task, or that of another version of the compiler.
pub fn compute(
    task: &str,
    files: impl IntoIterator<Item = (String, Vec<u8>)>,
) -> Result<String, Error> {
    let task: Task = parsed(task)?;
    let reach = Reach::carried(files);
    let found = pool(1).and_then(|pool| pool.install(|| task.run(reach))).map_err(failed)?;
    Ok(serde_json::to_string(&found).unwrap_or_default())
}

fn parsed<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| plain(Diagnostic::global(error.to_string())))
}

fn failed(errors: Vec<Diagnostic>) -> Error {
    Error::new(&Sources::default(), &errors)
}

fn plain(error: Diagnostic) -> Error {
    failed(vec![error])
}
