//! A sweep that has been read and checked: its points by number.

use super::changes::Change;
use super::files::Reach;
use super::reader;
use super::row::{Axis, Result, Row};
use super::task::Task;
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::load::load;
use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The most points of a sweep.
const MOST: usize = 100_000;

/// The text of a sweep that stands in no file.
const UNNAMED: &str = "<sweep>";

/// The points of a sweep.
#[derive(Debug)]
pub struct Plan {
    pub(super) reach: Reach,
    pub(super) version: String,
    pub(super) models: Vec<Subject>,
    pub(super) rules: Vec<String>,
    pub(super) axes: Vec<Axis>,
    /// The changes of one number at a time; the last axis has them after the machine as it is, if there are any.
    pub(super) changes: Vec<Change>,
    /// The files that every point needs, and their digest.
    pub(super) common: (Vec<PathBuf>, u128),
}

/// A model with its data.
#[derive(Debug)]
pub(super) struct Subject {
    /// Its own seed.
    pub seed: u64,
    /// The files that it consists of.
    pub files: Vec<PathBuf>,
    /// Their digest.
    pub digest: u128,
    /// The hand-written programs that are in place of schedules.
    pub programs: Vec<String>,
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
        reader::read(sources, path, text, reach)?.bounded(path)
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

    /// Returns the schedules, in order.
    pub(super) fn schedules(&self) -> &[String] {
        &self.axes[SCHEDULE].values
    }

    /// Returns the axes of numbers that are replaced.
    fn replaced(&self) -> Range<usize> {
        PARAMETERS..self.axes.len() - usize::from(!self.changes.is_empty())
    }

    /// Returns the change of a point with its place among the targets.
    fn change(&self, places: &[usize]) -> Option<(&Change, usize)> {
        let number = places.last().filter(|_| !self.changes.is_empty())?;
        Some((self.changes.get(number.checked_sub(1)?)?, places[TARGET]))
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
        let replaced = self.replaced().map(|at| (self.axes[at].name.clone(), value(at)));
        let changed = self.change(&places).and_then(|(change, target)| {
            let numbers = change.numbers.get(target)?.as_ref()?;
            Some((change.parameter.clone(), numbers.written.clone()))
        });
        Task {
            version: self.version.clone(),
            model: value(MODEL),
            target: value(TARGET),
            parameters: replaced.chain(changed).collect(),
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
        let replaced = parameters.into_iter().take(self.replaced().len());
        let parameters = replaced.map(number).collect();
        let change = self.change(&self.places(point));
        let change = change.and_then(|(change, target)| change.on(target));
        let key = self.key(point);
        Row { point, key, model, target, schedule, exact, seed, parameters, change, result }
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
