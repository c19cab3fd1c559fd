//! Long work that lets other Python threads run, obeys Ctrl-C and shows its progress.

use crate::EmberError;
use ember_tools::progress::{Line, Said};
use pyo3::prelude::*;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The time between looks for a signal.
const LOOK: Duration = Duration::from_millis(20);

/// The stack of the thread that works: as much as a process's first thread has.
const STACK: usize = 8 << 20;

/// Does work without holding the interpreter's lock. After a signal whose handler raises, such as Ctrl-C, the exception
/// is returned at once; the work then goes on unobserved until its end, because it cannot be stopped in the middle.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    watched(py, None, |_| work())
}

/// [`interruptible`] work that says how far it is. The function `progress` is called in the thread of the caller with the
/// latest message, how much is done, and of how much; the numbers are None where they are not known.
pub fn watched<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Line) -> T + Send + 'static,
) -> PyResult<T> {
    let latest: Arc<Mutex<Option<Said>>> = Arc::default();
    let line = match progress {
        Some(_) => {
            let latest = Arc::clone(&latest);
            Line::heard_by(move |said| {
                *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
            })
        }
        None => Line::hidden(),
    };
    let (send, mut receive) = mpsc::channel();
    let worker = thread::Builder::new().stack_size(STACK).spawn(move || {
        // Nobody may be listening any more.
        let _ = send.send(work(&line));
    });
    worker.map_err(|error| EmberError::new_err(format!("cannot start a thread: {error}")))?;
    loop {
        let done;
        (receive, done) = py.detach(move || {
            let done = receive.recv_timeout(LOOK);
            (receive, done)
        });
        match done {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals()?;
                let said = latest.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let (Some(progress), Some(Said { message, part })) = (&progress, said) {
                    progress
                        .call1(py, (message, part.map(|(n, _)| n), part.map(|(_, all)| all)))?;
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(EmberError::new_err(
                    "the compiler failed; please report this as a bug",
                ));
            }
        }
    }
}
