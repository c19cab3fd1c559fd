//! The text of a sweep, read with the place of every value.

use ember_language::diagnostic::{Checked, Diagnostic, FileId, Sources, Span};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeSet;
use std::fmt;
use toml::{Spanned, Value};

/// A sweep as its author wrote it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Description {
    /// Paths of models; `*` in the name of a file stands for any characters.
    pub models: Vec<Spanned<String>>,
    /// Names or files of machines.
    #[serde(default = "target")]
    pub targets: Vec<Spanned<String>>,
    /// Schedules of the rules.
    #[serde(default = "schedule")]
    pub schedules: Vec<Spanned<String>>,
    /// The least exact rules that may run.
    #[serde(default = "exact")]
    pub exact: Vec<Spanned<String>>,
    /// Seeds of the data; `None` for each model's own.
    pub seeds: Option<Vec<Spanned<u64>>>,
    /// Folders and files of rules.
    #[serde(default = "rules")]
    pub rules: Vec<Spanned<String>>,
    /// Values for numbers of the machines.
    #[serde(default)]
    pub parameters: Parameters,
    /// Changes of one number at a time.
    #[serde(default)]
    pub around: Vec<Around>,
}

/// Changes of one number of the machines at a time.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Around {
    /// The numbers: `SECTION.KEY`, in which `*` stands for any characters.
    pub parameters: Vec<Spanned<String>>,
    /// The factors of each.
    pub factors: Vec<Spanned<f64>>,
    /// True if a machine is better for it, so that no program may become slower.
    #[serde(default)]
    pub better: bool,
}

fn unwritten(word: &str) -> Vec<Spanned<String>> {
    vec![Spanned::new(0..0, word.to_owned())]
}

fn target() -> Vec<Spanned<String>> {
    unwritten(ember_targets::machine::DEFAULT)
}

fn schedule() -> Vec<Spanned<String>> {
    unwritten("search")
}

fn exact() -> Vec<Spanned<String>> {
    unwritten("bitwise")
}

fn rules() -> Vec<Spanned<String>> {
    unwritten(crate::shipped::DEFAULT)
}

/// Numbers of a machine, each with the values that it takes, in the order of the text.
#[derive(Debug, Default)]
pub(crate) struct Parameters(pub Vec<Listed>);

/// The values of one number.
#[derive(Debug)]
pub(crate) struct Listed {
    /// The section and the key of the number, with a dot between them.
    pub name: Spanned<String>,
    /// Its values.
    pub values: Vec<Spanned<Value>>,
}

impl<'de> Deserialize<'de> for Parameters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Parameters, D::Error> {
        let mut listed = deserializer.deserialize_map(Names { section: None })?;
        // The tables of the reader are sorted by name.
        listed.sort_by_key(|listed| listed.name.span().start);
        Ok(Parameters(listed))
    }
}

/// Reads names with values: `section.key` with or without quotes, which makes it one name or a table in a table.
struct Names {
    section: Option<String>,
}

impl<'de> Visitor<'de> for Names {
    type Value = Vec<Listed>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("numbers of a machine with lists of values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Listed>, A::Error> {
        let mut listed = Vec::new();
        while let Some(name) = map.next_key::<Spanned<String>>()? {
            let full = match &self.section {
                Some(section) => format!("{section}.{}", name.get_ref()),
                None => name.get_ref().clone(),
            };
            listed.extend(map.next_value_seed(Values { name: Spanned::new(name.span(), full) })?);
        }
        Ok(listed)
    }
}

/// Reads the values of a name, or the names in a section.
struct Values {
    name: Spanned<String>,
}

impl<'de> serde::de::DeserializeSeed<'de> for Values {
    type Value = Vec<Listed>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<Listed>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Values {
    type Value = Vec<Listed>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Listed>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(vec![Listed { name: self.name, values }])
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<Listed>, A::Error> {
        Names { section: Some(self.name.into_inner()) }.visit_map(map)
    }
}

/// Reads the text of a sweep. Every list has elements, and none twice.
pub(super) fn read(sources: &Sources, file: FileId) -> Checked<Description> {
    let text = &sources.get(file).text;
    let read: Description = toml::from_str(text).map_err(|error| {
        let span = Span::new(file, error.span().unwrap_or(text.len()..text.len()));
        let error = Diagnostic::error(error.message().replace('\n', ", "), span, "in this sweep");
        let help = "a sweep has `models`, and may have `targets`, `schedules`, `exact`, `seeds`, `rules`, `[parameters]` and `[[around]]`";
        vec![error.with_help(help)]
    })?;
    let path = sources.get(file).path.display().to_string();
    let lists = Lists { file, path, errors: Vec::new() };
    let lists = lists.check("models", &read.models, String::clone);
    let lists = lists.check("targets", &read.targets, String::clone);
    let lists = lists.check("schedules", &read.schedules, String::clone);
    let lists = lists.check("exact", &read.exact, String::clone);
    let lists = lists.check("rules", &read.rules, String::clone);
    let lists = match &read.seeds {
        Some(seeds) => lists.check("seeds", seeds, |seed| *seed),
        None => lists,
    };
    let lists = read.around.iter().fold(lists, |lists, around| {
        let lists = lists.check("parameters", &around.parameters, String::clone);
        lists.check("factors", &around.factors, f64::to_string)
    });
    let parameters = &read.parameters.0;
    let lists = parameters.iter().fold(lists, |lists, Listed { name, values }| {
        lists.check(name.get_ref(), values, Value::to_string)
    });
    let names: Vec<_> = parameters.iter().map(|listed| listed.name.clone()).collect();
    let lists =
        if names.is_empty() { lists } else { lists.check("parameters", &names, String::clone) };
    if lists.errors.is_empty() { Ok(read) } else { Err(lists.errors) }
}

/// The errors of lists.
struct Lists {
    file: FileId,
    path: String,
    errors: Vec<Diagnostic>,
}

impl Lists {
    fn check<T, K: Ord + ToString>(
        mut self,
        name: &str,
        list: &[Spanned<T>],
        key: impl Fn(&T) -> K,
    ) -> Lists {
        if list.is_empty() {
            let error = Diagnostic::global(format!("{}: `{name}` is empty", self.path));
            self.errors.push(error.with_help("give a value, or leave the list out"));
        }
        let mut seen = BTreeSet::new();
        for element in list {
            let key = key(element.get_ref());
            let shown = key.to_string();
            if !seen.insert(key) {
                let span = Span::new(self.file, element.span());
                let message = format!("`{name}` has {shown} twice");
                let error = Diagnostic::error(message, span, "here again");
                self.errors.push(error.with_help("remove one: equal points have equal results"));
            }
        }
        self
    }
}
