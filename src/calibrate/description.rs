//! The text of a fit, with the place of every name.

use ember_language::diagnostic::{Checked, Diagnostic, FileId, Sources, Span};
use serde::Deserialize;
use toml::Spanned;

/// A fit as its author wrote it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Description {
    /// The file of published figures.
    pub published: Spanned<String>,
    /// The machine whose numbers are fitted.
    #[serde(default = "target")]
    pub target: Spanned<String>,
    /// The numbers that are fitted.
    pub parameter: Vec<Parameter>,
    /// The workloads whose published speedups are fitted, by family.
    pub family: Vec<Family>,
    /// Other workloads that published figures may belong to.
    #[serde(default)]
    pub reading: Vec<Reading>,
    /// Workloads whose other published figures are shown beside ours, and not fitted.
    pub beside: Option<Beside>,
    /// The extent of the fit.
    pub fit: Extent,
    /// The result whose interval is wanted.
    pub headline: Option<Headline>,
}

/// A number that is fitted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameter {
    /// Its section and key.
    pub name: Spanned<String>,
    /// The least and the greatest value that are physically plausible.
    pub range: [Spanned<toml::Value>; 2],
    /// The reason for the range.
    pub source: Spanned<String>,
}

/// Workloads that are alike.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Family {
    /// Its name.
    pub name: Spanned<String>,
    /// Paths of its workloads; `*` stands for any characters in the name of a file.
    pub models: Vec<Spanned<String>>,
}

/// Published figures that may belong to several workloads.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reading {
    /// The name of the figures.
    pub figures: Spanned<String>,
    /// The workloads that they may belong to.
    pub models: Vec<Spanned<String>>,
}

/// Workloads that have other published figures.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Beside {
    /// Paths of the workloads.
    pub models: Vec<Spanned<String>>,
    /// The machine to which fitted numbers are applied.
    pub target: Spanned<String>,
}

/// The extent of a fit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Extent {
    /// The points that are evaluated to fit all figures.
    pub evaluations: Spanned<usize>,
    /// The points that are evaluated in addition without each family.
    pub without_family: usize,
    /// The most points that are evaluated in addition for each end of the values of a number that are about as good.
    pub ends: usize,
    /// The seed of the proposals.
    #[serde(default)]
    pub seed: u64,
    /// A fit is about as good as the best if its root mean square of logarithms is at most so many times the best's.
    pub as_good: Spanned<f64>,
}

/// The result whose interval is wanted: the speed of `search`, of `paper`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Headline {
    /// Paths of the workloads.
    pub models: Vec<Spanned<String>>,
    /// The machines to which fitted numbers are applied.
    pub targets: Vec<Spanned<String>>,
    /// The fits that are about as good at which it is measured, those farthest from each other.
    pub fits: usize,
}

fn target() -> Spanned<String> {
    Spanned::new(0..0, ember_targets::machine::DEFAULT.to_owned())
}

/// The most evaluations: each proposal looks at all before.
const MOST: usize = 10_000;

/// Reads the text of a fit.
pub(super) fn read(sources: &Sources, file: FileId) -> Checked<Description> {
    let text = &sources.get(file).text;
    let read: Description = toml::from_str(text).map_err(|error| {
        let span = Span::new(file, error.span().unwrap_or(text.len()..text.len()));
        let error = Diagnostic::error(error.message().replace('\n', ", "), span, "in this fit");
        let help = "a fit has `published`, `[[parameter]]`, `[[family]]` and `[fit]`, and may have `target`, \
                    `[beside]`, `[[reading]]` and `[headline]`";
        vec![error.with_help(help)]
    })?;
    let mut errors = Vec::new();
    let mut wrong = |message: String, span, help: &str| {
        let error = Diagnostic::error(message, Span::new(file, span), "here");
        errors.push(error.with_help(help));
    };
    for (at, Parameter { name, source, .. }) in read.parameter.iter().enumerate() {
        if read.parameter[..at].iter().any(|other| other.name.get_ref() == name.get_ref()) {
            let message = format!("the parameter `{}` is there twice", name.get_ref());
            wrong(message, name.span(), "remove one");
        }
        if source.get_ref().trim().is_empty() {
            let message = format!("the range of `{}` has no source", name.get_ref());
            wrong(message, source.span(), "say why no other value is plausible");
        }
    }
    for (at, Family { name, .. }) in read.family.iter().enumerate() {
        if read.family[..at].iter().any(|other| other.name.get_ref() == name.get_ref()) {
            let message = format!("the family `{}` is there twice", name.get_ref());
            wrong(message, name.span(), "remove one, or put their workloads together");
        }
    }
    let evaluations = &read.fit.evaluations;
    let all = read.fit.without_family.saturating_mul(read.family.len());
    let ends = read.fit.ends.saturating_mul(2 * read.parameter.len());
    let all = all.saturating_add(ends);
    if all.saturating_add(*evaluations.get_ref()) > MOST || *evaluations.get_ref() == 0 {
        let message = format!("a fit has between 1 and {MOST} evaluations in all");
        wrong(message, evaluations.span(), "40 are enough for four parameters");
    }
    let as_good = &read.fit.as_good;
    if !(1.0..=1e6).contains(as_good.get_ref()) {
        let message = "`as_good` is a factor of at least 1".to_owned();
        wrong(message, as_good.span(), "1.25 means a quarter more error than the best fit's");
    }
    if errors.is_empty() { Ok(read) } else { Err(errors) }
}
