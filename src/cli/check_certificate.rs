//! The `check-certificate` command.

use super::output::{to_json, write_result};
use super::rule_paths::RulePaths;
use clap::Args;
use ember_certify::trusted::{PACKAGES, PARTS, Part};
use ember_certify::{Refusal, Rules, check};
use ember_language::diagnostic::{Checked, Sources};
use ember_language::load::load;
use ember_language::sexp::{self, Sexp};
use ember_prove::equiv;
use ember_tools::tables::{grouped, table};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Options of `check-certificate`.
#[derive(Debug, Args)]
pub(super) struct CheckCertificateArgs {
    /// The certificate.
    #[arg(required_unless_present = "trusted")]
    certificate: Option<PathBuf>,
    /// Print which modules are trusted, with their lines, and check nothing.
    #[arg(long, conflicts_with = "certificate")]
    trusted: bool,
    #[command(flatten)]
    rules: RulePaths,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl CheckCertificateArgs {
    pub(super) fn run(&self, sources: &mut Sources) -> Checked<ExitCode> {
        let Some(certificate) = &self.certificate else {
            write_result(None, &trusted(self.json))?;
            return Ok(ExitCode::SUCCESS);
        };
        let paths = equiv::rule_paths(sources.files().as_ref(), &self.rules.rules);
        let rules = Rules::read(sources, &paths)?;
        let start = Instant::now();
        let file = load(sources, certificate)?;
        let forms = sexp::read(sources, file)?;
        let checked = match forms.as_slice() {
            [form] => check(&rules, form).map(|exact| (exact, steps(form))),
            _ => Err(Refusal::NotOne),
        };
        let time_ms = start.elapsed().as_secs_f64() * 1e3;
        let items = forms.iter().filter_map(Sexp::list).flatten();
        let given = items.filter(|item| item.items("given").is_some()).count();
        let text = match (&checked, self.json) {
            (checked, true) => to_json(&json!({
                "holds": checked.is_ok(),
                "reason": checked.as_ref().err().map(Refusal::to_string),
                "steps": checked.as_ref().ok().map(|(_, steps)| steps),
                "exact": checked.as_ref().ok().map(|(exact, _)| exact),
                "given": given,
                "time_ms": time_ms,
            })),
            (Ok((exact, steps)), false) => match given {
                0 => format!("holds: {steps} steps, {exact}\n"),
                n => format!("holds: {steps} steps, {exact}, with {n} equations given\n"),
            },
            (Err(why), false) => format!("does not hold: {why}\n"),
        };
        write_result(None, &text)?;
        Ok(if checked.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}

/// Returns the trusted base: each module with its line count, and the line counts of the parts.
fn trusted(json: bool) -> String {
    let lines: usize = PARTS.iter().map(Part::lines).sum();
    if json {
        return to_json(&json!({ "parts": PARTS, "packages": PACKAGES, "lines": lines }));
    }
    let mut rows = table(&["trusted", "module", "lines"]);
    for part in PARTS {
        rows.add_row([part.part.to_owned(), String::new(), grouped(part.lines() as u64)]);
        for module in part.modules {
            rows.add_row([String::new(), module.path.to_owned(), grouped(module.lines as u64)]);
        }
    }
    let lines = grouped(lines as u64);
    format!("{rows}\n\n{lines} lines, and the packages {}.\n", PACKAGES.join(", "))
}

/// Returns the number of steps of a certificate.
fn steps(certificate: &Sexp) -> usize {
    let last = certificate.list().and_then(|forms| forms.last()?.items("steps"));
    let inside =
        |step: &Sexp| step.items("inside").map_or(1, |items| items.len().saturating_sub(1));
    last.map_or(0, |steps| steps.iter().map(inside).sum())
}
