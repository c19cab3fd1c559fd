//! The evaluation of a point by a command of the user.

use ember_language::diagnostic::{Checked, Diagnostic};
use ember_tune::{Point, Space};
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The prefix of the environment variables that hold the values of parameters.
const PREFIX: &str = "TUNE_";

/// The last bytes of each stream that are kept.
const KEPT: usize = 1 << 16;

/// The most characters of a reason that are kept.
const REASON: usize = 200;

/// The shortest and longest time between two looks at a running command.
const LOOKS: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(20));

/// The time that output may come after the command has ended.
const LATE: Duration = Duration::from_secs(1);

/// The exit codes by which a shell says that there is no such command.
const NO_COMMAND: [i32; 2] = [126, 127];

/// A command that evaluates points.
#[derive(Clone, Debug)]
pub struct Evaluator {
    /// A line for a shell.
    pub command: String,
    /// The time after which it is ended.
    pub limit: Duration,
}

/// The outcome of an evaluation: a number, or the reason why there is none.
pub type Outcome = Result<f64, String>;

impl Evaluator {
    /// Runs the command at a point.
    ///
    /// # Errors
    ///
    /// Fails if the command cannot be run, or succeeds without printing a number. A command that fails has the outcome
    /// that the point has no value.
    pub fn evaluate(&self, space: &Space, point: &Point) -> Checked<Outcome> {
        let written = serde_json::Value::Object(space.write(point));
        let mut command = shell(&self.command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, value) in written.as_object().into_iter().flatten() {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            command.env(format!("{PREFIX}{name}"), text);
        }
        let failed =
            |error: std::io::Error| error_of(&self.command, format!("cannot be run: {error}"));
        let mut child = command.spawn().map_err(failed)?;
        let (out, err) = (kept(child.stdout.take()), kept(child.stderr.take()));
        if let Some(mut input) = child.stdin.take() {
            // A command that does not read its input closes it early, or never empties it.
            let line = format!("{written}\n");
            thread::spawn(move || input.write_all(line.as_bytes()));
        }
        let status = wait(&mut child, self.limit).map_err(failed)?;
        let Some(status) = status else {
            return Ok(Err(format!("not done within {} s", self.limit.as_secs_f64())));
        };
        let (out, err) = (received(&out), received(&err));
        match status.code() {
            Some(0) => self.number(&out, &written).map(Ok),
            Some(code) if NO_COMMAND.contains(&code) => {
                Err(error_of(&self.command, format!("exit code {code}{}", last(&err))))
            }
            Some(code) => Ok(Err(format!("exit code {code}{}", last(&err)))),
            None => Ok(Err(format!("ended by a signal{}", last(&err)))),
        }
    }

    /// Returns the number in the last line of the output.
    fn number(&self, out: &str, point: &serde_json::Value) -> Checked<f64> {
        let line = out.lines().map(str::trim).rfind(|line| !line.is_empty());
        let number = line.and_then(|line| line.parse::<f64>().ok());
        if let Some(number) = number.filter(|number| number.is_finite()) {
            return Ok(number);
        }
        let printed =
            line.map_or_else(|| "nothing".to_owned(), |line| format!("`{}`", short(line)));
        let message = format!("printed {printed} instead of a number, at the point {point}");
        let help = "the last line of the output is the result; a point without one ends with an exit code other than 0";
        let errors = error_of(&self.command, message).into_iter();
        Err(errors.map(|error| error.with_help(help)).collect())
    }
}

fn error_of(command: &str, message: String) -> Vec<Diagnostic> {
    vec![Diagnostic::global(format!("the command `{}`: {message}", short(command)))]
}

/// Returns the last line of an error stream, to follow a reason.
fn last(text: &str) -> String {
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    line.map_or_else(String::new, |line| format!(": {}", short(line)))
}

fn short(text: &str) -> String {
    match text.char_indices().nth(REASON) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the command of a shell in a process group of its own, so that whatever it starts can be ended with it.
#[cfg(unix)]
fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    std::os::unix::process::CommandExt::process_group(command.args(["-c", line]), 0);
    command
}

#[cfg(not(unix))]
fn shell(line: &str) -> Command {
    let mut command = Command::new("cmd");
    command.args(["/C", line]);
    command
}

/// Waits for a command; `None` if it was not done within the limit. Whatever it left running is ended.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    let mut pause = LOOKS.0;
    let mut status = child.try_wait()?;
    while status.is_none() && start.elapsed() < limit {
        thread::sleep(pause);
        pause = (pause * 2).min(LOOKS.1);
        status = child.try_wait()?;
    }
    end(child);
    if status.is_none() {
        child.wait()?;
    }
    Ok(status)
}

#[cfg(unix)]
fn end(child: &mut Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It fails if nothing is left of the group, which is as well.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn end(child: &mut Child) {
    let _ = child.kill();
}

/// Reads a stream to its end, and sends the last part of it.
fn kept(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (send, receive) = channel();
    thread::spawn(move || {
        let (mut kept, mut buffer) = (Vec::new(), vec![0; KEPT]);
        let mut stream = stream;
        while let Some(stream) = &mut stream
            && let Ok(length @ 1..) = stream.read(&mut buffer)
        {
            kept.extend_from_slice(&buffer[..length]);
            kept.drain(..kept.len().saturating_sub(KEPT));
        }
        send.send(kept)
    });
    receive
}

fn received(stream: &Receiver<Vec<u8>>) -> String {
    let bytes = stream.recv_timeout(LATE).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
