//! The file of a sweep's results: an SQLite database. While the sweep runs, there is a database beside it, with a
//! transaction for each result, so that it can be ended at any moment and continued. The file itself is written at the
//! end, in the order of points, and put in place by renaming it.

use super::plan::Plan;
use super::row::{Result, Row};
use ember_language::diagnostic::{Checked, Diagnostic};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql, params_from_iter};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The mark of the files in their header: `embr` in ASCII.
const MARK: i32 = 0x656d_6272;

/// The version of the tables. It grows by one when a column is removed or renamed, or changes its meaning.
const VERSION: i32 = 1;

/// The endings of the database of an unfinished sweep, and of a file that is being written.
const PART: &str = ".part";
const NEW: &str = ".new";

/// The columns of the table `points` before and after those of parameters, which have the parameters' names.
const SETTINGS: [&str; 7] = ["point", "key", "model", "target", "schedule", "exact", "seed"];
const RESULTS: [&str; 9] = [
    "cycles",
    "time_s",
    "bound_cycles",
    "bound_by",
    "of_bound",
    "energy_j",
    "dram_bytes",
    "valid",
    "reason",
];

/// The results of a sweep as far as they are known.
pub struct Store {
    path: PathBuf,
    /// The database of an unfinished sweep.
    part: Option<Connection>,
    /// The results by point.
    known: Vec<Option<Result>>,
}

/// The reason why a database cannot be used.
enum Unusable {
    /// It belongs to another sweep, or to another version of the compiler.
    Other(&'static str),
    /// It is no result of a sweep.
    Foreign,
    /// The database's own reason.
    Failed(rusqlite::Error),
}

impl From<rusqlite::Error> for Unusable {
    fn from(error: rusqlite::Error) -> Unusable {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Unusable::Foreign,
            _ => Unusable::Failed(error),
        }
    }
}

impl Unusable {
    fn diagnostic(self, path: &Path) -> Diagnostic {
        let path = path.display();
        match self {
            Unusable::Other(what) => {
                let error = Diagnostic::global(format!("{path}: holds results of {what}"));
                error.with_help("`--restart` begins anew, or `-o` names another file")
            }
            Unusable::Foreign => {
                let error = Diagnostic::global(format!("{path}: is no file of a sweep's results"));
                error.with_help("name another file with `-o`: this one is not written over")
            }
            Unusable::Failed(error) => match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                    let error = Diagnostic::global(format!("{path}: is in use"));
                    error.with_help("another process runs this sweep: wait for it, or name another file with `-o`")
                }
                _ => {
                    let error = Diagnostic::global(format!("{path}: {error}"));
                    error.with_help("`--restart` begins anew, if the file is damaged")
                }
            },
        }
    }
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
            match read(path, plan) {
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
            open_part(&part, plan, restart).map_err(|why| fail(&part, why))?;
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
            let stored = insert(part, plan, &plan.row(point, result.clone()));
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
        write(&new, plan, &rows).map_err(fail)?;
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

/// Opens the database of an unfinished sweep, which no other process may use meanwhile.
fn open_part(
    path: &Path,
    plan: &Plan,
    restart: bool,
) -> std::result::Result<(Connection, Vec<Option<Result>>), Unusable> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::ZERO)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    let tables: usize =
        connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    if tables > 0 && pragma(&connection, "application_id")? != MARK {
        return Err(Unusable::Foreign);
    }
    // Transactions are appended to a log and not waited for: if the machine fails, the last ones may be missing, and the
    // others are whole.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.execute_batch("BEGIN EXCLUSIVE")?;
    if restart {
        connection.execute_batch("DROP TABLE IF EXISTS points; DROP TABLE IF EXISTS sweep")?;
    }
    if restart || tables == 0 {
        create(&connection, plan)?;
    }
    connection.execute_batch("COMMIT")?;
    let known = known(&connection, plan)?;
    Ok((connection, known))
}

/// Returns a number of a database's header.
fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

/// Reads the results in a file.
fn read(path: &Path, plan: &Plan) -> std::result::Result<Vec<Option<Result>>, Unusable> {
    // A journal may have to be rolled back, which needs permission to write.
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    known(&connection, plan)
}

/// Reads the results in a database, which must be this sweep's.
fn known(
    connection: &Connection,
    plan: &Plan,
) -> std::result::Result<Vec<Option<Result>>, Unusable> {
    if pragma(connection, "application_id")? != MARK {
        return Err(Unusable::Foreign);
    }
    let other_version = Unusable::Other("another version of ember-rewrite");
    if pragma(connection, "user_version")? != VERSION {
        return Err(other_version);
    }
    let stated = |name: &str| {
        let query = "SELECT value FROM sweep WHERE name = ?1";
        connection.query_row(query, [name], |row| row.get::<_, String>(0))
    };
    if stated("version")? != plan.version() {
        return Err(other_version);
    }
    if stated("digest")? != plan.digest() {
        return Err(Unusable::Other("another sweep, or of other inputs"));
    }
    let mut known = vec![None; plan.points()];
    let columns = ["point"].into_iter().chain(RESULTS).collect::<Vec<_>>().join(", ");
    let mut query = connection.prepare(&format!("SELECT {columns} FROM points"))?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let result = Result {
            cycles: row.get(1)?,
            time_s: row.get(2)?,
            bound_cycles: row.get(3)?,
            bound_by: row.get(4)?,
            of_bound: row.get(5)?,
            energy_j: row.get(6)?,
            dram_bytes: row.get(7)?,
            valid: row.get(8)?,
            reason: row.get(9)?,
        };
        if let Some(place) = known.get_mut(row.get::<_, usize>(0)?) {
            *place = Some(result);
        }
    }
    Ok(known)
}

/// Makes the tables of a sweep.
fn create(connection: &Connection, plan: &Plan) -> rusqlite::Result<()> {
    connection.pragma_update(None, "application_id", MARK)?;
    connection.pragma_update(None, "user_version", VERSION)?;
    let parameters = plan.axes().iter().filter(|axis| axis.parameter);
    let parameters = parameters.fold(String::new(), |mut columns, axis| {
        let _ = writeln!(columns, "  \"{}\" REAL NOT NULL,", axis.name);
        columns
    });
    connection.execute_batch(&format!(
        "CREATE TABLE sweep (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;\n\
         CREATE TABLE points (\n  point INTEGER PRIMARY KEY,\n  key TEXT NOT NULL,\n  \
         model TEXT NOT NULL,\n  target TEXT NOT NULL,\n  schedule TEXT NOT NULL,\n  \
         exact TEXT NOT NULL,\n  seed INTEGER NOT NULL,\n{parameters}  cycles INTEGER,\n  \
         time_s REAL,\n  bound_cycles INTEGER,\n  bound_by TEXT,\n  of_bound REAL,\n  \
         energy_j REAL,\n  dram_bytes INTEGER,\n  valid INTEGER,\n  reason TEXT\n);"
    ))?;
    let stated = [("digest", plan.digest()), ("version", plan.version().to_owned())];
    for (name, value) in stated {
        connection.execute("INSERT INTO sweep VALUES (?1, ?2)", [name, &value])?;
    }
    Ok(())
}

/// Inserts a row.
fn insert(connection: &Connection, plan: &Plan, row: &Row) -> rusqlite::Result<()> {
    let parameters = plan.axes().iter().filter(|axis| axis.parameter);
    let parameters: Vec<&f64> =
        parameters.filter_map(|axis| row.parameters.get(&axis.name)).collect();
    let seed = row.seed.to_string();
    let Result {
        cycles,
        time_s,
        bound_cycles,
        bound_by,
        of_bound,
        energy_j,
        dram_bytes,
        valid,
        reason,
    } = &row.result;
    let settings: [&dyn ToSql; SETTINGS.len()] =
        [&row.point, &row.key, &row.model, &row.target, &row.schedule, &row.exact, &seed];
    let results: [&dyn ToSql; RESULTS.len()] =
        [cycles, time_s, bound_cycles, bound_by, of_bound, energy_j, dram_bytes, valid, reason];
    let parameters = parameters.into_iter().map(|value| value as &dyn ToSql);
    let values: Vec<&dyn ToSql> = settings.into_iter().chain(parameters).chain(results).collect();
    let places = vec!["?"; values.len()].join(", ");
    let mut statement =
        connection.prepare_cached(&format!("INSERT INTO points VALUES ({places})"))?;
    statement.execute(params_from_iter(values)).map(|_| ())
}

/// Writes a new file in one transaction. The same rows make the same bytes.
fn write(path: &Path, plan: &Plan, rows: &[Row]) -> rusqlite::Result<()> {
    let connection = Connection::open(path)?;
    // The whole file is waited for before it gets its name.
    connection.pragma_update(None, "synchronous", "OFF")?;
    connection.execute_batch("BEGIN EXCLUSIVE")?;
    create(&connection, plan)?;
    for row in rows {
        insert(&connection, plan, row)?;
    }
    connection.execute_batch("COMMIT")?;
    connection.close().map_err(|(_, error)| error)
}
