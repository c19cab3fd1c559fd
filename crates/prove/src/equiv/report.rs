//! Prints the outcome of a comparison as text and as JSON.

use super::assume::Assumption;
use super::data::Before;
use super::layout::Layout;
use super::refute::Counterexample;
use super::sides::{Side, Sides};
use super::{Answer, Phase, Unknown, Verdict};
use ember_language::rules::Exactness;
use serde_json::{Value, json};
use std::fmt::Write;

/// The largest number of characters of a tensor's data that are printed.
const WIDEST: usize = 400;

/// An answer with the context needed to print it.
pub struct Report<'a> {
    /// The answer.
    pub answer: &'a Answer,
    /// Both sides.
    pub sides: &'a Sides,
    /// The counterexample as the text of a file, if there is one.
    pub counterexample: Option<String>,
    /// The time that the comparison took, in milliseconds.
    pub time_ms: f64,
    /// True if the text tells what each attempt at a proof came to, even if one succeeded.
    pub phases: bool,
}

impl Report<'_> {
    /// Iterates over the texts of the conditions that data satisfies.
    fn assumed(&self) -> impl Iterator<Item = String> {
        self.sides.declarations.assumptions.iter().map(Assumption::text)
    }

    fn reason(&self) -> String {
        let mut concrete = match self.answer.concrete {
            true => ", for these sizes only".to_owned(),
            false => String::new(),
        };
        let layouts = &self.sides.declarations.layouts;
        if !layouts.is_empty() {
            let names: Vec<String> = layouts.iter().map(|l| format!("`{}`", l.name)).collect();
            concrete += &format!(", with {} laid out so", names.join(", "));
        }
        let assumed: Vec<String> = self.assumed().map(|text| format!("`{text}`")).collect();
        if !assumed.is_empty() {
            concrete += &format!(", where {}", assumed.join(" and "));
        }
        match &self.answer.verdict {
            Verdict::Equal(Ok(certificate)) => {
                let by = match certificate.steps {
                    0 => "the same up to names".to_owned(),
                    1 => "by one step".to_owned(),
                    n => format!("by {n} steps"),
                };
                let exact = match certificate.exact {
                    Exactness::Bitwise => String::new(),
                    exact => format!(", up to {exact}"),
                };
                format!("{by}{exact}{concrete}")
            }
            Verdict::Equal(Err(why)) => format!("without a certificate: {why}{concrete}"),
            Verdict::Different(found) => {
                let difference = &found.difference;
                match difference.values {
                    true => format!(
                        "{} is {} and {}",
                        difference.place(),
                        difference.left,
                        difference.right
                    ),
                    false => {
                        format!("first program: {}; second: {}", difference.left, difference.right)
                    }
                }
            }
            Verdict::Unknown(unknown) => unknown.reason() + &concrete,
        }
    }
}

/// Returns the verdict as one word.
fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Equal(_) => "equal",
        Verdict::Different(_) => "different",
        Verdict::Unknown(_) => "unknown",
    }
}

/// Prints the answer for a person.
pub fn text(report: &Report<'_>) -> String {
    let Report { answer, sides, .. } = report;
    let mut out = format!("{}: {}\n", word(&answer.verdict), report.reason());
    // Writing to a string cannot fail.
    let _ = match &answer.verdict {
        Verdict::Equal(certificate) => {
            let rules = certificate.iter().flat_map(|certificate| &certificate.rules);
            let mut lines = rules.map(|(name, n)| match n {
                1 => name.clone(),
                n => format!("{name}, {n} times"),
            });
            let mut readings = trusted(report).into_iter();
            lines
                .try_for_each(|line| writeln!(out, "  {line}"))
                .and_then(|()| readings.try_for_each(|line| writeln!(out, "  {line}")))
        }
        Verdict::Different(found) => data(&mut out, sides, found),
        Verdict::Unknown(unknown) => {
            let reached = match unknown {
                Unknown::Open(reached) => writeln!(
                    out,
                    "  the first program has {} forms at its root, the second {}",
                    reached.forms[0], reached.forms[1]
                )
                .and_then(|()| match reached.parts {
                    Some([proved, all]) => {
                        writeln!(out, "  {proved} of {all} parts are equal; the next is not proved")
                    }
                    None => Ok(()),
                }),
                Unknown::Uncertified(_) | Unknown::NoTerm(_) | Unknown::NoData => Ok(()),
            };
            reached.and_then(|()| writeln!(out, "  alike on {} data", answer.compared))
        }
    };
    if report.phases || matches!(answer.verdict, Verdict::Unknown(_)) {
        for phase in &answer.phases {
            let _ = writeln!(out, "  phase {}", told(phase));
        }
    }
    out
}

/// Returns what an attempt came to: its name and purpose, its end, its e-nodes and the rule that added most of them.
fn told(phase: &Phase) -> String {
    let Phase { name, doc, stop, nodes, heaviest, proved } = phase;
    let end = if *proved { "proved".to_owned() } else { stop.to_string() };
    let by = heaviest.map_or(String::new(), |(rule, n)| format!(", {n} of them added by `{rule}`"));
    format!("`{name}` ({doc}): {end}; {nodes} e-nodes{by}")
}

/// Returns the assumptions that an answer trusts apart from the rules.
fn trusted(report: &Report<'_>) -> Vec<String> {
    match &report.answer.verdict {
        Verdict::Equal(Ok(certificate)) => certificate.trusted.clone(),
        _ => [&report.sides.left, &report.sides.right]
            .into_iter()
            .filter_map(Side::reading)
            .collect(),
    }
}

fn data(out: &mut String, sides: &Sides, found: &Counterexample) -> std::fmt::Result {
    let mut whole = true;
    for form in found.given.forms(&sides.declarations) {
        match form.char_indices().nth(WIDEST) {
            Some((end, _)) => writeln!(out, "  {} …", &form[..end])?,
            None => writeln!(out, "  {form}")?,
        }
        whole &= form.chars().count() <= WIDEST;
    }
    if !whole {
        writeln!(out, "  `--counterexample FILE` writes all of it")?;
    }
    if found.before != Before::Zeros {
        writeln!(out, "  where outputs do not hold zeros before")?;
    }
    Ok(())
}

/// Prints the answer as JSON.
pub fn json(report: &Report<'_>) -> Value {
    let Report { answer, .. } = report;
    let found = match &answer.verdict {
        Verdict::Different(found) => Some(json!({
            "difference": found.difference,
            "sizes": found.given.sizes,
            "elements": found.given.elements(),
            "model": report.counterexample,
        })),
        _ => None,
    };
    let certificate = match &answer.verdict {
        Verdict::Equal(Ok(certificate)) => Some(certificate.text()),
        _ => None,
    };
    json!({
        "verdict": word(&answer.verdict),
        "reason": report.reason(),
        "certificate": certificate,
        "layouts": report.sides.declarations.layouts.iter().map(Layout::form).collect::<Vec<_>>(),
        "assumed": report.assumed().collect::<Vec<_>>(),
        "trusted": trusted(report),
        "counterexample": found,
        "phases": answer.phases.iter().map(phase).collect::<Vec<_>>(),
        "compared": answer.compared,
        "concrete": answer.concrete,
        "time_ms": report.time_ms,
    })
}

fn phase(phase: &Phase) -> Value {
    json!({
        "name": phase.name,
        "purpose": phase.doc,
        "proved": phase.proved,
        "stop": phase.stop.to_string(),
        "nodes": phase.nodes,
        "heaviest": phase.heaviest.map(|(rule, nodes)| json!({ "rule": rule, "nodes": nodes })),
    })
}
