//! The file of a sweep's results, and its place: while the sweep runs, there is a database beside it, so that it can be
//! ended at any moment and continued. The file itself is written at the end, and put in place by renaming it.

use super::plan::Plan;
use super::row::{Result, Row};
use super::tables::{self, Unusable};
use ember_language::diagnostic::{Checked, Diagnostic};
use rusqlite::Connection;
use std::fs;
use std::path::{Path, PathBuf};

/// The endings of the database of an unfinished sweep, and of a file that is being written.
const PART: &str = ".part";
const NEW: &str = ".new";

/// The results of a sweep as far as they are known.
pub struct Store {
    path: PathBuf,
    /// The database of an unfinished sweep.
    part: Option<Connection>,
    /// The results by point.
    known: Vec<Option<Result>>,
}

impl Store {
    /// Opens the results of a sweep: the finished file, or those of an unfinished run, or none yet. If it is restarted,
    /// previous results do not count.
    ///
    /// # Errors
    ///
    /// Fails if the file holds something else, or cannot be written.
    pub fn open(plan: &Plan, path: &Path, restart: bool) -> Checked<Store> {
        let part = with_ending(path, PART);
        let fail = |path: &Path, why: Unusable| vec![why.diagnostic(path)];
        let finished = if path.exists() {
            match tables::read(path, plan) {
                Err(Unusable::Foreign) => return Err(fail(path, Unusable::Foreign)),
                found => Some(found),
            }
        } else {
            None
        };
        if !part.exists()
            && !restart
            && let Some(found) = finished
        {
            let known = found.map_err(|why| fail(path, why))?;
            return Ok(Store { path: path.to_owned(), part: None, known });
        }
        let (connection, known) =
            tables::unfinished(&part, plan, restart).map_err(|why| fail(&part, why))?;
        Ok(Store { path: path.to_owned(), part: Some(connection), known })
    }

    /// Returns the points without a result, in order.
    pub fn missing(&self) -> Vec<usize> {
        let known = self.known.iter().enumerate();
        known.filter(|(_, result)| result.is_none()).map(|(point, _)| point).collect()
    }

    /// Stores the result of a point.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be written.
    pub fn put(&mut self, plan: &Plan, point: usize, result: Result) -> Checked<()> {
        let Some(known) = self.known.get_mut(point) else { return Ok(()) };
        if let (Some(part), None) = (&self.part, &known) {
            let stored = tables::insert(part, plan, &plan.row(point, result.clone()));
            let fail =
                |error| vec![Unusable::from(error).diagnostic(&with_ending(&self.path, PART))];
            stored.map_err(fail)?;
        }
        *known = Some(result);
        Ok(())
    }

    /// Writes the file, once every point has a result, and returns the rows.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written, or an input has changed since the sweep was read.
    pub fn finish(&mut self, plan: &Plan) -> Checked<Vec<Row>> {
        let rows: Vec<Row> = self
            .known
            .iter()
            .enumerate()
            .filter_map(|(point, result)| Some(plan.row(point, result.clone()?)))
            .collect();
        if self.part.is_none() || rows.len() < plan.points() {
            return Ok(rows);
        }
        plan.unchanged()?;
        let new = with_ending(&self.path, NEW);
        remove(&new)?;
        let fail = |error| vec![Unusable::Failed(error).diagnostic(&new)];
        tables::write(&new, plan, &rows).map_err(fail)?;
        let moved = fs::File::open(&new).and_then(|file| file.sync_all());
        let moved = moved.and_then(|()| fs::rename(&new, &self.path));
        moved.map_err(|error| {
            vec![Diagnostic::global(format!("{}: cannot write: {error}", self.path.display()))]
        })?;
        self.part = None;
        remove(&with_ending(&self.path, PART))?;
        Ok(rows)
    }
}

/// Returns the path of a file beside another one.
fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Removes a database with its journals, if there is one.
fn remove(path: &Path) -> Checked<()> {
    for ending in ["", "-journal", "-wal", "-shm"] {
        let path = with_ending(path, ending);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                let message = format!("{}: cannot remove: {error}", path.display());
                return Err(vec![Diagnostic::global(message)]);
            }
            _ => {}
        }
    }
    Ok(())
}
