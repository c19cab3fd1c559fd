//! The tables of a sweep's results in an SQLite database.

use super::plan::Plan;
use super::row::{Result, Row};
use ember_language::diagnostic::Diagnostic;
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql, params_from_iter};
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// The mark of the files in their header: `embr` in ASCII.
const MARK: i32 = 0x656d_6272;

/// The version of the tables. It grows by one when a column is removed or renamed, or changes its meaning.
const VERSION: i32 = 1;

/// The columns of the table `points` before and after those of parameters, which have the parameters' names; those of
/// changes come after them, if the sweep has any.
const SETTINGS: [&str; 7] = ["point", "key", "model", "target", "schedule", "exact", "seed"];
const CHANGE: [(&str, &str); 4] =
    [("change", "TEXT"), ("factor", "REAL"), ("before", "REAL"), ("after", "REAL")];
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

/// The reason why a database cannot be used.
pub(super) enum Unusable {
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
    /// Returns the error of the file.
    pub fn diagnostic(self, path: &Path) -> Diagnostic {
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

/// Opens the database of an unfinished sweep, which no other process may use meanwhile.
pub(super) fn unfinished(
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
pub(super) fn read(path: &Path, plan: &Plan) -> std::result::Result<Vec<Option<Result>>, Unusable> {
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
    let changes = if plan.changes.is_empty() { &[][..] } else { &CHANGE };
    let parameters = changes.iter().fold(parameters, |mut columns, (name, kind)| {
        let _ = writeln!(columns, "  \"{name}\" {kind},");
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
pub(super) fn insert(connection: &Connection, plan: &Plan, row: &Row) -> rusqlite::Result<()> {
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
    let own = row.change.as_ref();
    let (name, factor) = (own.map(|own| &own.parameter), own.map(|own| own.factor));
    let (before, after) = (own.map(|own| own.before), own.map(|own| own.after));
    let change: [&dyn ToSql; CHANGE.len()] = [&name, &factor, &before, &after];
    let change = change.into_iter().filter(|_| !plan.changes.is_empty());
    let values: Vec<&dyn ToSql> =
        settings.into_iter().chain(parameters).chain(change).chain(results).collect();
    let places = vec!["?"; values.len()].join(", ");
    let mut statement =
        connection.prepare_cached(&format!("INSERT INTO points VALUES ({places})"))?;
    statement.execute(params_from_iter(values)).map(|_| ())
}

/// Writes a new file in one transaction. The same rows make the same bytes.
pub(super) fn write(path: &Path, plan: &Plan, rows: &[Row]) -> rusqlite::Result<()> {
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
