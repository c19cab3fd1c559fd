//! Installed SMT solvers, each run as a process. Any solver that reads SMT-LIB 2 from standard input would do; two are
//! searched for.

use ember_prove::verify::Solver;
use std::io::Write;
use std::process::{Command, Stdio};

/// The limit on one query, in the solver's own units of work, so that the answer does not depend on the load of the
/// machine: about ten seconds of z3.
const WORK: u32 = 100_000_000;

/// Milliseconds after which a query is given up in any case, because not every loop of a solver counts its work.
const PATIENCE: u32 = 120_000;

/// An installed solver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    command: &'static str,
    args: Vec<String>,
}

impl Installed {
    /// Returns the first installed solver: z3, otherwise cvc5.
    pub fn find() -> Option<Installed> {
        let known = [
            (
                "z3",
                vec![
                    "-in".into(),
                    "-smt2".into(),
                    format!("rlimit={WORK}"),
                    format!("-t:{PATIENCE}"),
                ],
            ),
            (
                "cvc5",
                vec![
                    "--lang=smt2".into(),
                    format!("--rlimit={WORK}"),
                    format!("--tlimit={PATIENCE}"),
                ],
            ),
        ];
        let runs = |command: &str| {
            let mut probe = Command::new(command);
            probe.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            probe.status().is_ok_and(|status| status.success())
        };
        let (command, args) = known.into_iter().find(|(command, _)| runs(command))?;
        Some(Installed { command, args })
    }
}

impl Solver for Installed {
    fn name(&self) -> &'static str {
        self.command
    }

    fn answer(&self, script: &str) -> std::io::Result<String> {
        let mut process = Command::new(self.command)
            .args(&self.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        // The answer to a query is short, so the solver never blocks on its output while its input is still being
        // written.
        if let Some(mut input) = process.stdin.take() {
            input.write_all(script.as_bytes())?;
        }
        let output = process.wait_with_output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
