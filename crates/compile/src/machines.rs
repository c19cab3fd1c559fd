//! Machine descriptions, loaded by name or from a file.

use ember_language::diagnostic::{Checked, Diagnostic, Sources, Span};
use ember_language::load;
use ember_language::suggest;
use ember_targets::machine::{Machine, TMU_CPU};
use std::path::Path;

/// The machine descriptions that are part of the program.
const KNOWN: [(&str, &str); 1] = [("tmu-cpu", TMU_CPU)];

/// Loads a machine by its name, or from a file if the name has a path separator or ends in `.toml`.
pub fn load(sources: &mut Sources, target: &str) -> Checked<Machine> {
    let is_path = target.contains(std::path::MAIN_SEPARATOR) || target.ends_with(".toml");
    let file = if is_path {
        load::load(sources, Path::new(target))?
    } else {
        let Some((name, text)) = KNOWN.iter().find(|(name, _)| *name == target) else {
            let error = Diagnostic::global(format!("no machine is named `{target}`"));
            let known = suggest::help(target, KNOWN.iter().map(|(name, _)| *name));
            let file = "or give the path of a `.toml` description";
            let help = known.map_or_else(|| file.to_owned(), |known| format!("{known} ({file})"));
            return Err(vec![error.with_help(help)]);
        };
        sources.add(format!("<{name}>"), *text)
    };
    let text = sources.get(file).text.clone();
    Machine::parse(&text).map_err(|errors| {
        errors
            .into_iter()
            .map(|error| {
                let range = error.range.unwrap_or(text.len()..text.len());
                let shown =
                    Diagnostic::error(error.message, Span::new(file, range), "in this description");
                if error.help.is_empty() { shown } else { shown.with_help(error.help) }
            })
            .collect()
    })
}
