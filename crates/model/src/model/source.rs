//! The reader of the `data` form: the seed, sizes, and a source of elements for each input.

use super::kinds::{FORMS, Form};
use super::read::{Reader, head_span};
use super::{DataSpec, Source, origin, prepared};
use ember_language::diagnostic::{Diagnostic, Span};
use ember_language::sexp::Sexp;
use ember_language::suggest;
use std::collections::BTreeMap;

/// The forms of the data form that are not sources of an input's data.
const OTHERS: [&str; 4] = ["seed", "size", "graph", "triples"];

/// Reads the items after `data`; without the form, there is no data.
pub(super) fn read(reader: &mut Reader, items: Option<&[Sexp]>, mut spec: DataSpec) -> DataSpec {
    let mut seen: BTreeMap<(bool, &str), Span> = BTreeMap::new();
    let items = items.unwrap_or_default();
    // Graphs and triples are read first, because they may follow the inputs that use them.
    for item in items {
        if let Some((head @ ("graph" | "triples"), rest)) = item.form() {
            origin::read(reader, item, head, rest);
        }
    }
    spec.origins = reader.origins.clone();
    for item in items {
        if reader.full() {
            break;
        }
        let Some((head, rest)) = item.form() else {
            let names: Vec<_> = reader.inputs.iter().map(|(i, _)| i.tensor.name.clone()).collect();
            let names: Vec<_> = names.iter().map(String::as_str).chain(OTHERS).collect();
            reader.unknown_form(item, &names);
            continue;
        };
        // The subject of the form: the seed, a size or an input.
        let (is_size, given) = match (head, rest) {
            ("graph" | "triples", _) => continue,
            ("size", [name, ..]) => (true, name.atom().unwrap_or(head)),
            _ => (false, head),
        };
        if let Some(before) = seen.insert((is_size, given), head_span(item)) {
            let error =
                Diagnostic::error(format!("`{given}` is given twice"), head_span(item), "again");
            reader.errors.push(error.with_related(before, "given here before"));
            continue;
        }
        match head {
            "seed" => match rest {
                [n] if number::<u64>(n).is_some() => {
                    spec.seed = number(n).unwrap_or(0);
                }
                _ => reader.error_with_help(
                    item.span,
                    "not a seed",
                    "not understood",
                    format!("write `(seed NUMBER)`, a number from 0 to {}", u64::MAX),
                ),
            },
            "size" => {
                if let Some((name, n, batch)) = size(reader, item, rest) {
                    if batch {
                        spec.batches.insert(name.clone());
                    }
                    spec.sizes.insert(name, (n, item.span));
                }
            }
            _ => {
                if let Some(source) = entry(reader, item, head, rest) {
                    spec.sources.insert(head.to_owned(), (source, item.span));
                }
            }
        }
    }
    prepared::once(reader, &spec);
    spec
}

/// Reads `(size NAME NUMBER)` with an optional `batch` at the end: the name, the number, and true if it is a batch.
fn size(reader: &mut Reader, item: &Sexp, rest: &[Sexp]) -> Option<(String, u64, bool)> {
    let (parts, batch) = match rest {
        [parts @ .., last] if last.atom() == Some("batch") && parts.len() == 2 => (parts, true),
        _ => (rest, false),
    };
    let read = match parts {
        [name, n] => name.atom().zip(number::<u64>(n).filter(|n| i64::try_from(*n).is_ok())),
        _ => None,
    };
    let Some((name, n)) = read else {
        let help = format!("write `(size NAME NUMBER)`, a number from 0 to {}", i64::MAX);
        reader.error_with_help(item.span, "not a size", "not understood", help);
        return None;
    };
    if !reader.sizes.contains_key(name) {
        let names = reader.sizes.keys().map(String::as_str);
        let error = suggest::unknown("size", name, rest[0].span, names);
        reader.errors.push(error);
        return None;
    }
    Some((name.to_owned(), n, batch))
}

/// Reads the source of one input's elements.
fn entry(reader: &mut Reader, item: &Sexp, name: &str, rest: &[Sexp]) -> Option<Source> {
    let found = reader.inputs.iter().find(|(input, _)| input.tensor.name == name);
    let Some((input, role)) = found.map(|(input, role)| (input.clone(), *role)) else {
        if !reader.broken.contains(name) {
            let inputs = reader.inputs.iter().map(|(input, _)| input.tensor.name.as_str());
            let error = suggest::unknown("input", name, head_span(item), inputs.chain(OTHERS));
            reader.errors.push(error);
        }
        return None;
    };
    let fits = |form: &&Form| role.is_none_or(|role| form.roles.contains(&role));
    let [source] = rest else {
        let usage = FORMS.iter().filter(fits).map(|form| form.usage);
        let help = format!("write one of {}", suggest::list(usage));
        let label = format!("{} sources", rest.len());
        reader.error_with_help(item.span, "an input has one source of data", label, help);
        return None;
    };
    let form = source.form().and_then(|(head, _)| FORMS.iter().find(|form| form.head == head));
    let (Some(form), Some((_, args))) = (form, source.form()) else {
        let heads: Vec<_> = FORMS.iter().filter(fits).map(|form| form.head).collect();
        match source.form() {
            Some((head, _)) => {
                let span = head_span(source);
                reader.errors.push(suggest::unknown("source of data", head, span, heads));
            }
            None => reader.unknown_form(source, &heads),
        }
        return None;
    };
    if let Some(role) = role.filter(|role| !form.roles.contains(role)) {
        let heads = FORMS.iter().filter(fits).map(|form| form.usage);
        reader.error_with_help(
            source.span,
            format!("`{}` cannot make {}", form.head, role.name()),
            format!("`{name}` is used as {}", role.name()),
            format!("write one of {}", suggest::list(heads)),
        );
        return None;
    }
    let before = reader.errors.len();
    let read = (form.read)(reader, &input, args);
    if read.is_none() && reader.errors.len() == before {
        let message = format!("`{}` was not understood", form.head);
        let help = format!("write {}", form.usage);
        reader.error_with_help(source.span, message, "not of the right form", help);
    }
    read
}

/// Parses a number of any type.
pub(super) fn number<T: std::str::FromStr>(item: &Sexp) -> Option<T> {
    item.atom()?.parse().ok()
}
