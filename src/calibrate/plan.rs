//! A fit that has been read and checked.

use super::description::{self, Description, Parameter};
use crate::bench::Published;
use crate::shipped;
use crate::sweep::{Listed, Reach, check_parameters, no_model, placed};
use ember_compile::{machines, models};
use ember_language::diagnostic::{Checked, Diagnostic, FileId, Sources, Span};
use ember_language::load::load;
use ember_language::rules::{self, RuleBook};
use ember_targets::machine::{self, Kind, Machine};
use ember_tune::{Kind as Domain, Parameter as Dimension, Point, Space, Value};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// A fit.
pub(crate) struct Plan {
    pub(super) reach: Reach,
    pub(super) published: Published,
    pub(super) target: String,
    /// The numbers that are fitted; their defaults are the description's.
    pub(super) space: Space,
    /// The reason for each number's range.
    pub(super) sources: Vec<String>,
    pub(super) families: Vec<Family>,
    pub(super) readings: Vec<(String, Vec<String>)>,
    pub(super) beside: Vec<String>,
    /// The machine of these.
    pub(super) beside_target: String,
    pub(super) evaluations: usize,
    pub(super) without_family: usize,
    pub(super) ends: usize,
    pub(super) seed: u64,
    pub(super) as_good: f64,
    pub(super) headline: Option<Headline>,
    /// A digest of everything that decides the result of a run.
    pub(super) digest: String,
}

/// Workloads that are alike.
pub(super) struct Family {
    pub name: String,
    pub models: Vec<String>,
}

/// The result whose interval is wanted.
pub(super) struct Headline {
    pub models: Vec<String>,
    pub targets: Vec<String>,
    pub fits: usize,
}

/// Returns the name of a workload.
pub(super) fn stem(model: &str) -> String {
    let stem = Path::new(model).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.unwrap_or_else(|| model.to_owned())
}

impl Plan {
    /// Reads the fit in a file, with its workloads and machines, whose paths are relative to it.
    ///
    /// # Errors
    ///
    /// Fails if anything that the fit names cannot be used.
    pub fn read(sources: &mut Sources, path: &Path) -> Checked<Plan> {
        let file = load(sources, path)?;
        let text = sources.get(file).text.clone();
        let reach = Reach::folder(path.parent().unwrap_or(Path::new("")));
        *sources = Sources::new(reach.clone());
        let file = sources.add(path, text);
        let description = description::read(sources, file)?;
        let known = BTreeSet::new();
        let mut reader = Reader { reach, sources, file, known, errors: Vec::new() };
        match reader.plan(&description) {
            Some(plan) if reader.errors.is_empty() => Ok(plan),
            _ => Err(reader.errors),
        }
    }

    /// Returns the numbers of a point with their names, as in TOML.
    pub(super) fn values(&self, point: &Point) -> Vec<(String, String)> {
        let values = self.space.parameters.iter().zip(point);
        let written = |(own, value): (&Dimension, &Value)| {
            let number = own.number(value);
            let number = match own.kind {
                Domain::Integer(..) => toml::Value::from(number as i64),
                _ => toml::Value::from(number),
            };
            (own.name.clone(), number.to_string())
        };
        values.map(written).collect()
    }
}

/// The reader of what a fit names, which collects errors.
struct Reader<'a> {
    reach: Reach,
    sources: &'a mut Sources,
    file: FileId,
    /// The models whose files are known.
    known: BTreeSet<String>,
    errors: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn plan(&mut self, description: &Description) -> Option<Plan> {
        let Description { published, target, parameter, family, reading, beside, fit, headline } =
            description;
        let listed: Vec<Listed> = parameter
            .iter()
            .map(|own| Listed { name: own.name.clone(), values: own.range.to_vec() })
            .collect();
        let mut targets = vec![target.clone()];
        targets.extend(beside.iter().map(|beside| beside.target.clone()));
        targets.extend(headline.iter().flat_map(|headline| headline.targets.iter().cloned()));
        for target in &targets {
            let checked = check_parameters(self.sources, self.file, target, &listed);
            // What is wrong with a parameter is so on every target.
            let errors = checked.err().unwrap_or_default();
            let new: Vec<_> = errors.into_iter().filter(|e| !self.errors.contains(e)).collect();
            self.errors.extend(new);
        }
        if !self.errors.is_empty() {
            return None;
        }
        let machine = machines::load(self.sources, target.get_ref()).ok()?;
        let dimensions: Vec<Option<Dimension>> =
            parameter.iter().map(|own| self.dimension(own, &machine)).collect();
        let dimensions: Option<Vec<Dimension>> = dimensions.into_iter().collect();
        let mut space = Space::new(dimensions?, Vec::new());
        space.log_output = true;
        let read = Published::read(&self.reach, Path::new(published.get_ref()));
        let read = self.placed(read, published);
        let resolved = [shipped::resolved(PathBuf::from(shipped::DEFAULT))];
        let (book, _) =
            rules::load(self.sources, &resolved).map_err(|e| self.errors.extend(e)).ok()?;
        let families: Vec<Family> = family
            .iter()
            .map(|own| Family {
                name: own.name.get_ref().clone(),
                models: self.models(&own.models, &book),
            })
            .collect();
        let readings = reading
            .iter()
            .map(|own| (own.figures.get_ref().clone(), self.models(&own.models, &book)))
            .collect();
        let beside_target = beside.as_ref().map_or(target, |own| &own.target).get_ref().clone();
        let beside = beside.as_ref().map_or(Vec::new(), |own| self.models(&own.models, &book));
        let own_headline = headline.as_ref().map(|own| Headline {
            models: self.models(&own.models, &book),
            targets: own.targets.iter().map(|target| target.get_ref().clone()).collect(),
            fits: own.fits.max(1),
        });
        let published = read?;
        let fitted = families.iter().zip(family).flat_map(|(own, named)| {
            own.models.iter().map(move |model| (stem(model), &named.name))
        });
        let figures: Vec<(String, &Spanned<String>)> = fitted
            .chain(reading.iter().map(|own| (own.figures.get_ref().clone(), &own.figures)))
            .collect();
        for (figures, named) in figures {
            if published.speedups_of(&figures).is_none() {
                let message = format!("no published speedups are named `{figures}`");
                let known: Vec<&str> = published.workloads().collect();
                let span = Span::new(self.file, named.span());
                let error = Diagnostic::error(message, span, "named here");
                self.errors.push(error.with_help(format!("there are {}", known.join(", "))));
            }
        }
        let opened = self.reach.take_opened();
        let fail = |(path, error): (PathBuf, _)| {
            Diagnostic::global(format!("{}: {error}", path.display()))
        };
        let digest = self.reach.digest(&opened).map_err(|e| self.errors.push(fail(e))).ok()?;
        Some(Plan {
            reach: self.reach.clone(),
            published,
            target: target.get_ref().clone(),
            space,
            sources: parameter.iter().map(|own| own.source.get_ref().clone()).collect(),
            families,
            readings,
            beside,
            beside_target,
            evaluations: *fit.evaluations.get_ref(),
            without_family: fit.without_family,
            ends: fit.ends,
            seed: fit.seed,
            as_good: *fit.as_good.get_ref(),
            headline: own_headline,
            digest: format!("{digest:032x}"),
        })
    }

    /// Returns the dimension of a number, which begins at the machine's own value if that lies within the range.
    fn dimension(&mut self, own: &Parameter, machine: &Machine) -> Option<Dimension> {
        let name = own.name.get_ref();
        let (section, key) = name.split_once('.')?;
        let number = |value: &Spanned<toml::Value>| {
            let value = value.get_ref();
            value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
        };
        let [low, high] = [number(&own.range[0])?, number(&own.range[1])?];
        let span = Span::new(self.file, own.range[0].span().start..own.range[1].span().end);
        if low >= high {
            let error = Diagnostic::error(format!("the range of `{name}` is empty"), span, "here");
            self.errors.push(error.with_help("write the least value first, then the greatest"));
            return None;
        }
        let figure = machine.figures.iter().find(|f| f.section == section && f.key == key)?;
        let inside = (low..=high).contains(&figure.value);
        let (domain, default) = match machine::kind(section, key)? {
            Kind::Real => (Domain::Real(low, high), Value::Real(figure.value)),
            Kind::Count => {
                (Domain::Integer(low as i64, high as i64), Value::Integer(figure.value as i64))
            }
            Kind::Power | Kind::Flag => {
                let error = Diagnostic::error(format!("`{name}` cannot be fitted"), span, "here");
                self.errors.push(error.with_help("fit numbers that may take any value in a range"));
                return None;
            }
        };
        let default = inside.then_some(default);
        Some(Dimension { name: name.clone(), kind: domain, log: low > 0.0, default })
    }

    /// Returns the paths that patterns stand for. Every model is read, with its data and its hand-written programs, so
    /// that all their files are known.
    fn models(&mut self, patterns: &[Spanned<String>], book: &RuleBook) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        for pattern in patterns {
            let found = self.reach.matching(pattern.get_ref());
            if found.is_empty() {
                self.errors.push(no_model(self.file, pattern));
            }
            for path in found {
                if !paths.contains(&path) && self.opens(&path, pattern, book) {
                    paths.push(path);
                }
            }
        }
        paths
    }

    /// Opens all files of a model; false if that is an error.
    fn opens(&mut self, path: &str, named: &Spanned<String>, book: &RuleBook) -> bool {
        if !self.known.insert(path.to_owned()) {
            return true;
        }
        let read = models::read(self.sources, Path::new(path), &book.definitions);
        let Some((model, _)) = self.placed(read, named) else { return false };
        let programs = model.programs.iter().flat_map(|program| &program.paths);
        let loaded = programs.map(|path| load(self.sources, path).map(|_| ()));
        let loaded: Checked<Vec<()>> = loaded.collect();
        let data = model.instantiate(None).map(|_| ());
        self.placed(loaded.and(data), named).is_some()
    }

    /// Collects errors, at the place of what was named if they have none.
    fn placed<T, N>(&mut self, read: Checked<T>, named: &Spanned<N>) -> Option<T> {
        let span = Span::new(self.file, named.span());
        read.map_err(|errors| self.errors.extend(placed(errors, span))).ok()
    }
}
