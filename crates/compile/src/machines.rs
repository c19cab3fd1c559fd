//! Machine descriptions, loaded by name or from a file, with the descriptions that they inherit from.

use ember_language::diagnostic::{Checked, Diagnostic, FileId, Sources, Span};
use ember_language::load;
use ember_language::suggest;
use ember_targets::machine::{self, Machine, SHIPPED};
use std::path::{Path, PathBuf};

/// Loads a machine by its name, or from a file if the name has a path separator or ends in `.toml`. A path that a
/// description inherits from is relative to the description's folder.
pub fn load(sources: &mut Sources, target: &str) -> Checked<Machine> {
    let mut chain: Vec<Source> = Vec::new();
    let mut next = Some((target.to_owned(), None));
    while let Some((name, named)) = next {
        let source = find(sources, &name, chain.last()).map_err(|errors| placed(errors, named))?;
        if chain.iter().any(|known| known.key == source.key) {
            let error = Diagnostic::global(format!("machine `{name}` inherits from itself"));
            let error = error.with_help("remove one `inherits`: the last description is whole");
            return Err(placed(vec![error], named));
        }
        let parent = machine::parent(&sources.get(source.file).text);
        next = parent.map(|(name, range)| (name, Some(Span::new(source.file, range))));
        chain.push(source);
    }
    let mut machine = None;
    for source in chain.iter().rev() {
        machine = Some(parse(sources, source.file, machine.as_ref())?);
    }
    machine.ok_or_else(|| vec![Diagnostic::global("no machine is given")])
}

/// The text of a description.
struct Source {
    file: FileId,
    /// What tells it from others.
    key: PathBuf,
    /// The folder of its file, if it is one.
    folder: Option<PathBuf>,
}

/// Finds the text of a machine that the command names, or the description that inherits from it.
fn find(sources: &mut Sources, name: &str, child: Option<&Source>) -> Checked<Source> {
    if name.contains(std::path::MAIN_SEPARATOR) || name.ends_with(".toml") {
        let folder = child.and_then(|child| child.folder.as_deref());
        let path = folder.unwrap_or(Path::new("")).join(name);
        let file = load::load(sources, &path)?;
        let folder = path.parent().map(Path::to_owned);
        return Ok(Source { file, key: sources.files().key(&path), folder });
    }
    let Some((name, text)) = SHIPPED.iter().find(|(known, _)| *known == name) else {
        let error = Diagnostic::global(format!("no machine is named `{name}`"));
        let known = suggest::help(name, SHIPPED.iter().map(|(name, _)| *name));
        let file = "or give the path of a `.toml` description";
        let help = known.map_or_else(|| file.to_owned(), |known| format!("{known} ({file})"));
        return Err(vec![error.with_help(help)]);
    };
    let shown = format!("<{name}>");
    Ok(Source { file: sources.add(&shown, *text), key: shown.into(), folder: None })
}

/// Puts errors without a place where the missing machine is named.
fn placed(errors: Vec<Diagnostic>, named: Option<Span>) -> Vec<Diagnostic> {
    let at = |error: Diagnostic| match (named, &error.at) {
        (Some(span), None) => Diagnostic { at: Some((span, "named here".to_owned())), ..error },
        _ => error,
    };
    errors.into_iter().map(at).collect()
}

/// Reads a description, and what it lacks from its parent.
fn parse(sources: &Sources, file: FileId, parent: Option<&Machine>) -> Checked<Machine> {
    let text = &sources.get(file).text;
    Machine::parse_from(text, parent).map_err(|errors| {
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
