//! A sweep that has been read and checked: its points by number.

use super::description::{self, Description};
use super::files::Reach;
use super::parameters::{self, placed};
use super::row::{Axis, Result, Row};
use super::task::{Task, exactness};
use crate::shipped;
use ember_compile::models;
use ember_host::Files;
use ember_language::diagnostic::{Checked, Diagnostic, FileId, Sources, Span};
use ember_language::load::load;
use ember_language::rules::{self, RuleBook};
use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The most points of a sweep.
const MOST: usize = 100_000;

/// The text of a sweep that stands in no file.
const UNNAMED: &str = "<sweep>";

/// The points of a sweep.
#[derive(Debug)]
pub struct Plan {
    reach: Reach,
    version: String,
    models: Vec<Subject>,
    rules: Vec<String>,
    axes: Vec<Axis>,
    /// The files that every point needs, and their digest.
    common: (Vec<PathBuf>, u128),
}

/// A model with its data.
#[derive(Debug)]
struct Subject {
    seed: u64,
    files: Vec<PathBuf>,
    digest: u128,
}

/// The positions of the axes.
const MODEL: usize = 0;
const TARGET: usize = 1;
const SCHEDULE: usize = 2;
const EXACT: usize = 3;
const SEED: usize = 4;
const PARAMETERS: usize = 5;

impl Plan {
    /// Reads the sweep in a file, with its models, machines and rules, whose paths are relative to it.
    ///
    /// # Errors
    ///
    /// Fails if anything that the sweep names cannot be used by any point.
    pub fn read(sources: &mut Sources, path: &Path) -> Checked<Plan> {
        let file = load(sources, path)?;
        let text = sources.get(file).text.clone();
        Plan::of(sources, path, text, path.parent().unwrap_or(Path::new("")))
    }

    /// Reads a sweep from its text. Paths are relative to the current folder.
    ///
    /// # Errors
    ///
    /// Fails as [`Plan::read`] does.
    pub fn parse(sources: &mut Sources, text: &str) -> Checked<Plan> {
        Plan::of(sources, Path::new(UNNAMED), text.to_owned(), Path::new(""))
    }

    fn of(sources: &mut Sources, path: &Path, text: String, folder: &Path) -> Checked<Plan> {
        let reach = Reach::folder(folder);
        *sources = Sources::new(reach.clone());
        let file = sources.add(path, text);
        let description = description::read(sources, file)?;
        let mut reader = Reader { reach, sources, file, errors: Vec::new() };
        let plan = reader.plan(&description);
        let errors = std::mem::take(&mut reader.errors);
        match plan {
            Some(plan) if errors.is_empty() => plan.bounded(path),
            _ => Err(errors),
        }
    }

    fn bounded(self, path: &Path) -> Checked<Plan> {
        let lengths = self.axes.iter().map(|axis| axis.values.len());
        let points = lengths.fold(1usize, usize::saturating_mul);
        if points <= MOST {
            return Ok(self);
        }
        let message = format!("{}: {points} points are more than {MOST}", path.display());
        let error = Diagnostic::global(message);
        Err(vec![error.with_help("leave out values, or make several sweeps of it")])
    }

    /// Returns the number of points.
    pub fn points(&self) -> usize {
        self.axes.iter().map(|axis| axis.values.len()).product()
    }

    /// Returns what points differ in, with all values.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Returns the files within reach.
    pub fn reach(&self) -> Reach {
        self.reach.clone()
    }

    /// Returns the version of the compiler.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Returns the number of the model of a point.
    pub fn model(&self, point: usize) -> usize {
        self.places(point).first().copied().unwrap_or(0)
    }

    /// Returns the places of a point on the axes.
    fn places(&self, point: usize) -> Vec<usize> {
        let mut rest = point;
        let mut places: Vec<usize> = Vec::new();
        for axis in self.axes.iter().rev() {
            places.push(rest % axis.values.len());
            rest /= axis.values.len();
        }
        places.reverse();
        places
    }

    /// Returns the settings of a point.
    pub fn task(&self, point: usize) -> Task {
        let places = self.places(point);
        let value = |axis: usize| self.axes[axis].values[places[axis]].clone();
        let own = self.models[places[MODEL]].seed;
        let parameters = PARAMETERS..self.axes.len();
        Task {
            version: self.version.clone(),
            model: value(MODEL),
            target: value(TARGET),
            parameters: parameters.map(|at| (self.axes[at].name.clone(), value(at))).collect(),
            schedule: value(SCHEDULE),
            exact: value(EXACT),
            seed: value(SEED).parse().unwrap_or(own),
            rules: self.rules.clone(),
        }
    }

    /// Returns the paths of the files that a point needs, shipped ones apart.
    pub fn files(&self, point: usize) -> impl Iterator<Item = &Path> {
        let model = &self.models[self.model(point)];
        self.common.0.iter().chain(&model.files).map(PathBuf::as_path)
    }

    /// Returns the digest of everything that decides the result of a point.
    pub fn key(&self, point: usize) -> String {
        let mut hasher = SipHasher13::new();
        self.task(point).hash(&mut hasher);
        hasher.write_u128(self.common.1);
        hasher.write_u128(self.models[self.model(point)].digest);
        format!("{:032x}", hasher.finish128().as_u128())
    }

    /// Returns the digest of the whole sweep.
    pub fn digest(&self) -> String {
        let mut hasher = SipHasher13::new();
        (0..self.points()).for_each(|point| self.key(point).hash(&mut hasher));
        format!("{:032x}", hasher.finish128().as_u128())
    }

    /// Returns a point with its result.
    pub fn row(&self, point: usize, result: Result) -> Row {
        let Task { model, target, parameters, schedule, exact, seed, .. } = self.task(point);
        let number = |(name, value): (String, String)| (name, value.parse().unwrap_or(f64::NAN));
        let parameters = parameters.into_iter().map(number).collect();
        let key = self.key(point);
        Row { point, key, model, target, schedule, exact, seed, parameters, result }
    }

    /// Returns an error if a file has changed since the sweep was read.
    pub fn unchanged(&self) -> Checked<()> {
        let subjects = self.models.iter().map(|model| (&model.files, model.digest));
        for (files, digest) in subjects.chain([(&self.common.0, self.common.1)]) {
            if self.reach.digest(files).ok() != Some(digest) {
                let error = Diagnostic::global("an input of the sweep changed during it");
                return Err(vec![error.with_help("`--restart` begins anew")]);
            }
        }
        Ok(())
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
        let words = |list: &[Spanned<String>]| -> Vec<String> {
            list.iter().map(|word| word.get_ref().clone()).collect()
        };
        let axis = |name: &str, values| Axis { name: name.to_owned(), values, parameter: false };
        let (paths, models): (Vec<String>, _) = models.into_iter().unzip();
        let seeds = seeds.iter().flatten().map(|seed| seed.get_ref().to_string()).collect();
        // Without seeds there is one place on their axis, at which each model has its own.
        let seeds: Vec<String> = if first.is_some() { seeds } else { vec![String::new()] };
        let mut axes = vec![
            axis("model", paths),
            axis("target", words(targets)),
            axis("schedule", words(schedules)),
            axis("exact", words(exact)),
            axis("seed", seeds),
        ];
        axes.extend(parameters.0.iter().map(|listed| Axis {
            name: listed.name.get_ref().clone(),
            values: listed.values.iter().map(|value| value.get_ref().to_string()).collect(),
            parameter: true,
        }));
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

    fn matching(&self, pattern: &str) -> Vec<String> {
        let (folder, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
        if !name.contains('*') {
            return vec![pattern.to_owned()];
        }
        let place = if folder.is_empty() { "." } else { folder };
        let files = self.reach.folder(Path::new(place)).and_then(std::result::Result::ok);
        let names = files.into_iter().flatten().filter_map(|path| {
            path.file_name().and_then(|name| name.to_str()).map(ToOwned::to_owned)
        });
        let fitting = names.filter(|other| fits(name, other));
        fitting
            .map(|name| pattern[..pattern.len() - self::name(pattern).len()].to_owned() + &name)
            .collect()
    }

    /// Collects errors, at the place of what was named if they have none.
    fn placed<T, N>(&mut self, read: Checked<T>, named: &Spanned<N>) -> Option<T> {
        let span = Span::new(self.file, named.span());
        read.map_err(|errors| self.errors.extend(placed(errors, span))).ok()
    }
}

/// Returns the part of a path after its last separator.
fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
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
