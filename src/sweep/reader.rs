//! Reads what the text of a sweep names: models with their data, machines, rules and schedules. All errors are reported
//! at once.

use super::changes;
use super::description::{self, Description};
use super::files::Reach;
use super::parameters::{self, placed};
use super::plan::{Plan, Subject};
use super::row::Axis;
use super::task::exactness;
use crate::shipped;
use ember_compile::models;
use ember_language::diagnostic::{Checked, Diagnostic, FileId, Sources, Span};
use ember_language::load::load;
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
        let common = self.reach.take_opened();
        let first = seeds.iter().flatten().next().map(|seed| *seed.get_ref());
        let mut models: Vec<(String, Subject)> = Vec::new();
        for (path, named) in self.paths(&description.models) {
            let read = self.subject(&path, &book, schedules, first);
            models.extend(self.placed(read, named).map(|subject| (path, subject)));
        }
        for schedule in schedules {
            let name = schedule.get_ref();
            if !models.iter().any(|(_, subject)| subject.programs.contains(name)) {
                self.placed(book.require_schedule(name), schedule);
            }
        }
        if !self.errors.is_empty() {
            return None;
        }
        let changes = changes::read(self.sources, self.file, targets, &description.around);
        let changes = changes.map_err(|errors| self.errors.extend(errors)).ok()?;
        let digest = self.digest(&common)?;
        let (paths, models): (Vec<String>, _) = models.into_iter().unzip();
        let mut axes = axes(description, paths);
        if !changes.is_empty() {
            let names = changes.iter().map(changes::Change::name);
            let values = std::iter::once("none".to_owned()).chain(names).collect();
            axes.push(Axis { name: "change".to_owned(), values, parameter: false });
        }
        let version = shipped::version();
        let (reach, common) = (self.reach.clone(), (common, digest));
        Some(Plan { reach, version, models, rules: words(rules), axes, changes, common })
    }

    /// Reads a model with those of its hand-written programs that are in place of schedules, and makes its data once,
    /// which opens all its files.
    fn subject(
        &mut self,
        path: &str,
        book: &RuleBook,
        schedules: &[Spanned<String>],
        seed: Option<u64>,
    ) -> Checked<Subject> {
        let (model, _) = models::read(self.sources, Path::new(path), &book.definitions)?;
        model.instantiate(seed)?;
        let in_place = |name: &String| {
            let named = schedules.iter().any(|schedule| schedule.get_ref() == name);
            named && book.schedule(name).is_none()
        };
        let own: Vec<_> = model.programs.iter().filter(|own| in_place(&own.name)).collect();
        if !own.is_empty() {
            // A program that is run needs the files of all.
            for path in model.programs.iter().flat_map(|own| &own.paths) {
                load(self.sources, path)?;
            }
        }
        let programs = own.into_iter().map(|own| own.name.clone()).collect();
        let files = self.reach.take_opened();
        let digest = self.digest(&files).ok_or_else(Vec::new)?;
        Ok(Subject { seed: model.data.seed, files, digest, programs })
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
            let found = self.reach.matching(pattern.get_ref());
            if found.is_empty() {
                self.errors.push(no_model(self.file, pattern));
            }
            for path in found {
                if !paths.iter().any(|(known, _)| *known == path) {
                    paths.push((path, pattern));
                }
            }
        }
        paths
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

/// Returns the error of a pattern that no model fits.
pub(crate) fn no_model(file: FileId, pattern: &Spanned<String>) -> Diagnostic {
    let message = format!("no model is named `{}`", pattern.get_ref());
    let error = Diagnostic::error(message, Span::new(file, pattern.span()), "this pattern");
    error.with_help("`*` stands for any characters in the name of a file, not in those of folders")
}
