//! Installed SMT solvers, which run as processes. Any solver that reads SMT-LIB 2 from standard input would do; two are
//! searched for.
//!
//! Starting a solver takes longer than most queries, so a process answers one query after another. It forgets each one
//! before the next, and an answer does not depend on those before.

use ember_prove::verify::Solver;
use std::io::{BufRead, BufReader, Error, Result, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// The limit on one query, in the solver's own units of work, so that the answer does not depend on the load of the
/// machine: about ten seconds of z3.
const WORK: u32 = 100_000_000;

/// Milliseconds after which a query is given up in any case, because not every loop of a solver counts its work.
const PATIENCE: u32 = 30_000;

/// The line after each answer.
const END: &str = "end-of-answer";

/// An installed solver.
#[derive(Clone, Debug)]
pub struct Installed {
    command: &'static str,
    args: Vec<String>,
    /// The processes that wait for a query.
    idle: Arc<Mutex<Vec<Process>>>,
}

/// A running solver. It ends when it is dropped.
#[derive(Debug)]
struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Installed {
    /// Returns the first installed solver: z3, otherwise cvc5.
    pub fn find() -> Option<Installed> {
        let known = [
            ("z3", vec!["-in".into(), "-smt2".into(), format!("-t:{PATIENCE}")]),
            ("cvc5", vec!["--lang=smt2".into(), format!("--tlimit-per={PATIENCE}")]),
        ];
        let runs = |command: &str| {
            let mut probe = Command::new(command);
            probe.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            probe.status().is_ok_and(|status| status.success())
        };
        let (command, args) = known.into_iter().find(|(command, _)| runs(command))?;
        Some(Installed { command, args, idle: Arc::default() })
    }

    /// Returns a process that waits for a query.
    fn process(&self) -> Result<Process> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| Process::start(self.command, &self.args), Ok)
    }
}

impl Solver for Installed {
    fn name(&self) -> &'static str {
        self.command
    }

    fn answer(&self, script: &str) -> Result<String> {
        let mut process = self.process()?;
        let answer = process.answer(script)?;
        // A process that has ended, for example at a limit of the system, takes no further query.
        if answer.complete {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(process);
        }
        Ok(answer.text)
    }
}

/// The output of a process for one query.
struct Answer {
    text: String,
    /// True if the process is ready for the next query.
    complete: bool,
}

impl Process {
    fn start(command: &str, args: &[String]) -> Result<Process> {
        let mut child = Command::new(command)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(output)) => {
                Ok(Process { child, input, output: BufReader::new(output) })
            }
            _ => Err(Error::other("it has no input or no output")),
        }
    }

    /// Asks one query. The script may set a lower limit of work.
    fn answer(&mut self, script: &str) -> Result<Answer> {
        // The answer to a query is short, so the solver never blocks on its output while its input is still being
        // written. z3 keeps a limit beyond `reset`, so each query sets it.
        let query = format!("(set-option :rlimit {WORK})\n{script}(echo \"{END}\")\n(reset)\n");
        self.input.write_all(query.as_bytes())?;
        self.input.flush()?;
        let mut text = String::new();
        loop {
            let line = text.len();
            if self.output.read_line(&mut text)? == 0 {
                return Ok(Answer { text, complete: false });
            }
            // cvc5 writes the quotes of a string.
            if text[line..].trim().trim_matches('"') == END {
                text.truncate(line);
                return Ok(Answer { text, complete: true });
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended by itself, and nothing is lost if it cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
