//! The interface to an SMT solver: questions and answers as text in SMT-LIB 2.
//!
//! This module is independent of rules and of the way in which a solver is run.

/// A solver that reads SMT-LIB 2.
pub trait Solver: Sync {
    /// Returns the name of the solver.
    fn name(&self) -> &'static str;

    /// Returns the solver's answer to a script, as text.
    ///
    /// # Errors
    /// The solver could not be run.
    fn answer(&self, script: &str) -> std::io::Result<String>;
}

/// A solver's answer about a conjunction of formulas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// No values satisfy all formulas.
    Unsatisfiable,
    /// These values, by name, satisfy all formulas.
    Satisfiable(Vec<(String, String)>),
    /// The solver does not know, or gave up; the text is the reason.
    Unknown(String),
}

/// Asks whether declarations and assertions are satisfiable, and for the values of some constants if they are. `work` is
/// the limit in the solver's own units, below the one that it has anyway.
pub(super) fn ask(
    solver: &dyn Solver,
    script: &str,
    constants: &[String],
    work: Option<u32>,
) -> Answer {
    let limit = work.map(|work| format!("(set-option :rlimit {work})\n")).unwrap_or_default();
    let mut text =
        format!("(set-option :produce-models true)\n{limit}(set-logic ALL)\n{script}(check-sat)\n");
    if !constants.is_empty() {
        text.push_str(&format!("(get-value ({}))\n", constants.join(" ")));
    }
    match solver.answer(&text) {
        Err(error) => Answer::Unknown(format!("{} cannot be run: {error}", solver.name())),
        Ok(said) => read(&said, constants),
    }
}

/// Parses an answer: a word, followed after `sat` by a list of names with their values.
fn read(said: &str, constants: &[String]) -> Answer {
    let (word, rest) = said.split_once('\n').unwrap_or((said, ""));
    match word.trim() {
        "unsat" => Answer::Unsatisfiable,
        "sat" => Answer::Satisfiable(values(rest, constants)),
        other => Answer::Unknown(if other.is_empty() { "no answer" } else { other }.to_owned()),
    }
}

/// Parses the values in `((a 1) (b (- 2)))`.
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
