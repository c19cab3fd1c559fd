//! An SMT solver as a process: questions in its standard text form go in, answers come out.
//!
//! Knows nothing of rules. Any solver that reads SMT-LIB 2 from standard input will do; two are
//! looked for.

use std::io::Write;
use std::process::{Command, Stdio};

/// What one question may cost, in the solver's own count of its work, so that the answer does not
/// depend on how busy the machine is: some ten seconds of z3.
const WORK: u32 = 100_000_000;

/// Milliseconds after which a question is given up in any case: not every loop of a solver counts.
const PATIENCE: u32 = 120_000;

/// A solver that is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solver {
    command: &'static str,
    args: Vec<String>,
}

/// What a solver says of a conjunction of formulas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// No values make all of them true.
    Unsatisfiable,
    /// These values, name by name, make all of them true.
    Satisfiable(Vec<(String, String)>),
    /// It does not know, or gave up.
    Unknown(String),
}

impl Solver {
    /// The first solver that is installed: z3, or else cvc5.
    pub fn find() -> Option<Solver> {
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
        Some(Solver { command, args })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.command
    }

    /// Asks whether declarations and assertions can hold together, and for the values of some
    /// constants if they can.
    pub fn ask(&self, script: &str, constants: &[String]) -> Answer {
        let mut text =
            format!("(set-option :produce-models true)\n(set-logic ALL)\n{script}(check-sat)\n");
        if !constants.is_empty() {
            text.push_str(&format!("(get-value ({}))\n", constants.join(" ")));
        }
        match self.talk(&text) {
            Err(error) => Answer::Unknown(format!("{} cannot be run: {error}", self.command)),
            Ok(said) => read(&said, constants),
        }
    }

    fn talk(&self, text: &str) -> std::io::Result<String> {
        let mut process = Command::new(self.command)
            .args(&self.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        // The answer to a question is short, so the solver never waits for it to be read while it is
        // still being written to.
        if let Some(mut input) = process.stdin.take() {
            input.write_all(text.as_bytes())?;
        }
        let output = process.wait_with_output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Reads an answer: a word, and after `sat` a list of names with their values.
fn read(said: &str, constants: &[String]) -> Answer {
    let (word, rest) = said.split_once('\n').unwrap_or((said, ""));
    match word.trim() {
        "unsat" => Answer::Unsatisfiable,
        "sat" => Answer::Satisfiable(values(rest, constants)),
        other => Answer::Unknown(if other.is_empty() { "no answer" } else { other }.to_owned()),
    }
}

/// The values in `((a 1) (b (- 2)))`.
fn values(text: &str, constants: &[String]) -> Vec<(String, String)> {
    let value = |name: &String| {
        let from = text.find(&format!("({name} "))? + name.len() + 2;
        let mut depth = 0_usize;
        let end = text[from..].find(|c| {
            depth = match c {
                '(' => depth + 1,
                ')' if depth == 0 => return true,
                ')' => depth - 1,
                _ => depth,
            };
            false
        })?;
        let value = text[from..from + end].trim();
        let negative = value.strip_prefix("(- ").and_then(|v| v.strip_suffix(')'));
        Some((name.clone(), negative.map_or_else(|| value.to_owned(), |v| format!("-{v}"))))
    };
    constants.iter().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_answers() {
        let names = ["a".to_owned(), "|b c|".to_owned()];
        assert_eq!(read("unsat\n(error \"no model\")\n", &names), Answer::Unsatisfiable);
        let values = vec![("a".to_owned(), "-2".to_owned()), ("|b c|".to_owned(), "7".to_owned())];
        assert_eq!(read("sat\n((a (- 2))\n (|b c| 7))\n", &names), Answer::Satisfiable(values));
        assert_eq!(read("timeout", &names), Answer::Unknown("timeout".to_owned()));
        assert_eq!(read("", &names), Answer::Unknown("no answer".to_owned()));
    }
}
