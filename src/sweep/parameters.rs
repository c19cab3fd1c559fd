//! Machines with some numbers replaced: descriptions that inherit from a target, read like any other, so that a wrong key
//! or value has the diagnostic of descriptions.

use super::description::Listed;
use ember_compile::machines;
use ember_language::diagnostic::{Checked, Diagnostic, FileId, Sources, Span};
use ember_targets::machine;
use std::fmt::Write;
use std::ops::Range;
use toml::{Spanned, Value};

/// The path of the description that is made for a point.
pub(crate) const DERIVED: &str = "<point>.toml";

/// A description that is made from another one.
struct Derived {
    text: String,
    /// The places of the values in the text, in order.
    values: Vec<Range<usize>>,
}

/// Returns the description of a target with other values, each written as in TOML.
fn derived(target: &str, values: &[(String, String)]) -> Derived {
    let target = Value::from(target);
    let text = format!("name = {target}\ninherits = {target}\n");
    let mut derived = Derived { text, values: Vec::new() };
    for (name, value) in values {
        let unit = name.split_once('.').and_then(|(section, key)| machine::unit(section, key));
        let _ = write!(derived.text, "{name} = {{ value = ");
        let start = derived.text.len();
        let _ = write!(derived.text, "{value}");
        derived.values.push(start..derived.text.len());
        let unit = Value::from(unit.unwrap_or_default());
        let _ = writeln!(derived.text, ", unit = {unit}, source = \"a parameter of a sweep\" }}");
    }
    derived
}

/// Adds the description of a target with other values to the sources, as [`DERIVED`].
pub(crate) fn add(sources: &mut Sources, target: &str, values: &[(String, String)]) {
    sources.add(DERIVED, derived(target, values).text);
}

/// Checks every value of a sweep by itself. Values that do not go together are no error of the sweep, for they go with
/// others.
pub(crate) fn check(
    sources: &mut Sources,
    file: FileId,
    target: &Spanned<String>,
    parameters: &[Listed],
) -> Checked<()> {
    let named = Span::new(file, target.span());
    machines::load(sources, target.get_ref()).map_err(|errors| placed(errors, named))?;
    let mut errors = Vec::new();
    for Listed { name, values } in parameters {
        if !is_key(name.get_ref()) {
            let message = format!("`{}` is no number of a machine", name.get_ref());
            let error = Diagnostic::error(message, Span::new(file, name.span()), "this parameter");
            errors.push(error.with_help("write `SECTION.KEY`, such as `access.lanes`"));
            continue;
        }
        for value in values {
            let given = [(name.get_ref().clone(), value.get_ref().to_string())];
            let places = (Span::new(file, name.span()), Span::new(file, value.span()));
            let wrong = check_one(sources, target.get_ref(), &given, places);
            // What is wrong with a name is so with every value.
            let known = |error: &Diagnostic| errors.contains(error);
            errors.extend(wrong.into_iter().filter(|error| !known(error)).collect::<Vec<_>>());
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Returns the errors of one value, at the places of its name and of itself in the sweep.
fn check_one(
    sources: &mut Sources,
    target: &str,
    given: &[(String, String)],
    (name, value): (Span, Span),
) -> Vec<Diagnostic> {
    let Derived { text, values } = derived(target, given);
    let end = text.len();
    sources.add(DERIVED, text);
    let errors = machines::load(sources, DERIVED).err().unwrap_or_default();
    let moved = |error: Diagnostic| {
        let range = error.at.as_ref().map(|(span, _)| span.range()).filter(|at| at.start < end)?;
        let own = values.iter().any(|value| value.contains(&range.start));
        let at = Some((if own { value } else { name }, "in this sweep".to_owned()));
        Some(Diagnostic { at, ..error })
    };
    errors.into_iter().filter_map(moved).collect()
}

/// Returns true for two words with a dot between them.
fn is_key(name: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    name.split_once('.').is_some_and(|(section, key)| is_word(section) && is_word(key))
}

/// Puts errors that have no place at one.
pub(crate) fn placed(errors: Vec<Diagnostic>, span: Span) -> Vec<Diagnostic> {
    // What stands in no text, as a default does, has no place.
    let place = |error: Diagnostic| match error.at {
        None if span.start < span.end => {
            Diagnostic { at: Some((span, "named here".to_owned())), ..error }
        }
        _ => error,
    };
    errors.into_iter().map(place).collect()
}
