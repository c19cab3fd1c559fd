//! The option `--time-limit`, which every command takes: a command that has not ended by then ends with an error.

use super::output;
use ember_language::diagnostic::{Diagnostic, Sources};
use std::process;
use std::time::Duration;
use thiserror::Error;

/// The exit code of a command that was stopped: its run did not end.
const STOPPED: i32 = 1;

/// A limit on the time of a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeLimit(Duration);

/// The error of a word that is no limit.
#[derive(Clone, Copy, Debug, Error)]
#[error("a time limit is a number of seconds above 0, such as 60 or 0.5")]
pub(super) struct NoLimit;

/// Parses a number of seconds.
pub(super) fn seconds(word: &str) -> Result<TimeLimit, NoLimit> {
    let seconds = word.parse::<f64>().ok().filter(|seconds| *seconds > 0.0).ok_or(NoLimit)?;
    Duration::try_from_secs_f64(seconds).map(TimeLimit).map_err(|_| NoLimit)
}

impl TimeLimit {
    /// Ends the process with an error when the time is over, unless it has ended before.
    pub fn start(self, json: bool) {
        std::thread::spawn(move || {
            std::thread::sleep(self.0);
            let message = format!("not done within {} s", self.0.as_secs_f64());
            let error = Diagnostic::global(message);
            let error = error.with_help("give more with `--time-limit`, or less to do");
            output::report(&Sources::default(), &[error], json);
            process::exit(STOPPED);
        });
    }
}
