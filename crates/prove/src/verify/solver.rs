//! Questions to an SMT solver and its answers, as text in the solver's standard form.
//!
//! Knows nothing of rules, and nothing of how a solver is run.

/// A solver that reads SMT-LIB 2.
pub trait Solver: Sync {
    /// Its name.
    fn name(&self) -> &'static str;

    /// Its answer to a script, as text.
    ///
    /// # Errors
    /// It could not be run.
    fn answer(&self, script: &str) -> std::io::Result<String>;
}

/// What a solver says of a conjunction of formulas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// No values make all of them true.
    Unsatisfiable,
    /// These values, name by name, make all of them true.
    Satisfiable(Vec<(String, String)>),
    /// It does not know, or gave up.
    Unknown(String),
}

/// Asks whether declarations and assertions can hold together, and for the values of some
/// constants if they can.
pub(super) fn ask(solver: &dyn Solver, script: &str, constants: &[String]) -> Answer {
    let mut text =
        format!("(set-option :produce-models true)\n(set-logic ALL)\n{script}(check-sat)\n");
    if !constants.is_empty() {
        text.push_str(&format!("(get-value ({}))\n", constants.join(" ")));
    }
    match solver.answer(&text) {
        Err(error) => Answer::Unknown(format!("{} cannot be run: {error}", solver.name())),
        Ok(said) => read(&said, constants),
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
