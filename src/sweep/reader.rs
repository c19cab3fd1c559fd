//! Reads what the text of a sweep names: models with their data, machines, rules and schedules. All errors are reported
//! at once.

use super::description::{self, Description};
use super::files::Reach;
use super::parameters::{self, placed};
use super::plan::{Plan, Subject};
use super::row::Axis;
use super::task::exactness;
use crate::shipped;
use ember_compile::models;
use ember_host::Files;
use ember_language::diagnostic::{Checked, Diagnostic, FileId, Sources, Span};
use ember_language::rules::{self, RuleBook};
use std::path::{Path, PathBuf};
use toml::Spanned;

/// Reads a sweep from its text, given the files within its reach.
pub(super) fn read(
    sources: &mut Sources,
    path: &Path,
    text: String,
    reach: Reach,
) -> Checked<Plan> {
    let file = sources.add(path, text);
    let description = description::read(sources, file)?;
    let mut reader = Reader { reach, sources, file, errors: Vec::new() };
    match reader.plan(&description) {
        Some(plan) if reader.errors.is_empty() => Ok(plan),
        _ => Err(reader.errors),
    }
}

/// The reader of what a sweep names, which collects errors.
struct Reader<'a> {
    reach: Reach,
    sources: &'a mut Sources,
    file: FileId,
    errors: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn plan(&mut self, description: &Description) -> Option<Plan> {
        let Description { targets, schedules, exact, seeds, rules, parameters, .. } = description;
        for target in targets {
            let checked = parameters::check(self.sources, self.file, target, &parameters.0);
            // What is wrong with a parameter is so on every target.
            let errors = checked.err().unwrap_or_default();
            let new: Vec<_> = errors.into_iter().filter(|e| !self.errors.contains(e)).collect();
            self.errors.extend(new);
        }
        for name in exact {
            self.placed(exactness(name.get_ref()), name);
        }
        let paths: Vec<PathBuf> = rules.iter().map(|path| PathBuf::from(path.get_ref())).collect();
        let resolved: Vec<PathBuf> = paths.into_iter().map(shipped::resolved).collect();
        let book = match rules::load(self.sources, &resolved) {
            Ok((book, _)) => book,
            Err(errors) => {
                self.errors.extend(errors);
                return None;
            }
        };
        for schedule in schedules {
            self.placed(book.require_schedule(schedule.get_ref()), schedule);
        }
        let common = self.reach.take_opened();
        let first = seeds.iter().flatten().next().map(|seed| *seed.get_ref());
        let mut models = Vec::new();
        for (path, named) in self.paths(&description.models) {
            let read = self.subject(&path, &book, first);
            models.extend(self.placed(read, named).map(|subject| (path, subject)));
        }
        let digest = self.digest(&common)?;
        let (paths, models): (Vec<String>, _) = models.into_iter().unzip();
        let axes = axes(description, paths);
        let version = shipped::version();
        let (reach, common) = (self.reach.clone(), (common, digest));
        Some(Plan { reach, version, models, rules: words(rules), axes, common })
    }

    /// Reads a model and makes its data once, which opens all its files.
    fn subject(&mut self, path: &str, book: &RuleBook, seed: Option<u64>) -> Checked<Subject> {
        let (model, _) = models::read(self.sources, Path::new(path), &book.definitions)?;
        model.instantiate(seed)?;
        let files = self.reach.take_opened();
        let digest = self.digest(&files).ok_or_else(Vec::new)?;
        Ok(Subject { seed: model.data.seed, files, digest })
    }

    fn digest(&mut self, files: &[PathBuf]) -> Option<u128> {
        let fail = |(path, error): (PathBuf, _)| {
            Diagnostic::global(format!("{}: {error}", path.display()))
        };
        self.reach.digest(files).map_err(|failed| self.errors.push(fail(failed))).ok()
    }

    /// Returns the paths that patterns stand for, each with its pattern, in order; a path counts once.
    fn paths<'a>(&mut self, patterns: &'a [Spanned<String>]) -> Vec<(String, &'a Spanned<String>)> {
        let mut paths: Vec<(String, &Spanned<String>)> = Vec::new();
        for pattern in patterns {
            let found = self.matching(pattern.get_ref());
            if found.is_empty() {
                let message = format!("no model is named `{}`", pattern.get_ref());
                let span = Span::new(self.file, pattern.span());
                let error = Diagnostic::error(message, span, "this pattern");
                let help =
                    "`*` stands for any characters in the name of a file, not in those of folders";
                self.errors.push(error.with_help(help));
            }
            for path in found {
                if !paths.iter().any(|(known, _)| *known == path) {
                    paths.push((path, pattern));
                }
            }
        }
        paths
    }

    /// Returns the paths that a pattern stands for, in order.
    fn matching(&self, pattern: &str) -> Vec<String> {
        let (folder, name) = pattern.split_at(pattern.rfind('/').map_or(0, |at| at + 1));
        if !name.contains('*') {
            return vec![pattern.to_owned()];
        }
        let place = if folder.is_empty() { "." } else { folder };
        let files = self.reach.folder(Path::new(place)).and_then(Result::ok);
        let names = files.into_iter().flatten().filter_map(|path| {
            path.file_name().and_then(|name| name.to_str()).map(ToOwned::to_owned)
        });
        names.filter(|other| fits(name, other)).map(|name| format!("{folder}{name}")).collect()
    }

    /// Collects errors, at the place of what was named if they have none.
    fn placed<T, N>(&mut self, read: Checked<T>, named: &Spanned<N>) -> Option<T> {
        let span = Span::new(self.file, named.span());
        read.map_err(|errors| self.errors.extend(placed(errors, span))).ok()
    }
}

/// Returns what points differ in.
fn axes(description: &Description, models: Vec<String>) -> Vec<Axis> {
    let Description { targets, schedules, exact, seeds, parameters, .. } = description;
    let axis = |name: &str, values| Axis { name: name.to_owned(), values, parameter: false };
    let seeds =
        seeds.as_ref().map(|seeds| seeds.iter().map(|seed| seed.get_ref().to_string()).collect());
    let own = [
        axis("model", models),
        axis("target", words(targets)),
        axis("schedule", words(schedules)),
        axis("exact", words(exact)),
        // Without seeds there is one place on their axis, at which each model has its own.
        axis("seed", seeds.unwrap_or_else(|| vec![String::new()])),
    ];
    let parameters = parameters.0.iter().map(|listed| Axis {
        name: listed.name.get_ref().clone(),
        values: listed.values.iter().map(|value| value.get_ref().to_string()).collect(),
        parameter: true,
    });
    own.into_iter().chain(parameters).collect()
}

fn words(list: &[Spanned<String>]) -> Vec<String> {
    list.iter().map(|word| word.get_ref().clone()).collect()
}

/// Returns true if a name fits a pattern, in which `*` stands for any characters.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn stars_stand_for_any_characters() {
        for name in ["ab.sexp", "a.sexp", "a.b.sexp"] {
            assert!(fits("a*.sexp", name) && fits("*", name) && fits("*a*p", name), "{name}");
        }
        for (pattern, name) in
            [("a", "ab"), ("a*a", "a"), ("*b", "a"), ("b*", "ab"), ("a*b*c", "acb")]
        {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }
}
