//! Long work that lets other Python threads run and obeys Ctrl-C.

use crate::EmberError;
use pyo3::prelude::*;
use std::sync::mpsc::{self, RecvTimeoutError};
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
    let (send, mut receive) = mpsc::channel();
    let worker = thread::Builder::new().stack_size(STACK).spawn(move || {
        // Nobody may be listening any more.
        let _ = send.send(work());
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
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(EmberError::new_err(
                    "the compiler failed; please report this as a bug",
                ));
            }
        }
    }
}
