//! The `verify` command: prints every rule's tiers and the claims about operators, as tables.

use super::mutants;
use super::output::{to_json, write_result};
use super::rule_paths::Subject;
use clap::{Args, ValueEnum};
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::rules;
use ember_prove::soundness::{Claim, Known, Options, Tier, check_attributes};
use ember_prove::verify::{self, Changed, Chosen, Integers, Solver, Verified};
use ember_tools::part::Part;
use ember_tools::progress::Line;
use ember_tools::render;
use ember_tools::solver::Installed;
use ember_tools::tables::{grouped, table};
use itertools::Itertools;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Options of `verify`.
#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    #[command(flatten)]
    rules: Subject,
    /// Verifies those rules and operators whose name this regular expression fits.
    #[arg(long, value_name = "PATTERN")]
    filter: Option<String>,
    /// Verifies only the K-th of N parts of them.
    #[arg(
        long,
        value_name = "K/N",
        default_value = "1/1",
        hide_default_value = true,
        conflicts_with = "sample"
    )]
    part: Part,
    /// Verifies wrong variants of the rules instead, and counts those that are refuted.
    #[arg(long)]
    mutants: bool,
    /// With `--mutants`: so many of them, chosen by the seed [all].
    #[arg(long, value_name = "N", requires = "mutants")]
    sample: Option<usize>,
    /// With `--mutants`: only those of this part of rules [all].
    #[arg(long, value_name = "PART", requires = "mutants")]
    changes: Option<Changes>,
    /// The seed of everything random.
    #[arg(long, value_name = "N", default_value_t = Options::default().seed)]
    seed: u64,
    /// Instances that are made of every rule.
    #[arg(long, value_name = "N", default_value_t = Options::default().instances)]
    instances: usize,
    /// Write what is printed to a file.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// The part of a rule that mutants change.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Changes {
    /// Conditions, dropped or weakened.
    Conditions,
    /// Right sides.
    Sides,
}

impl Changes {
    fn part(self) -> Changed {
        match self {
            Changes::Conditions => Changed::Conditions,
            Changes::Sides => Changed::Sides,
        }
    }
}

/// How often as many instances as usual are made until enough violate the condition that a mutant lacks.
const MOST_TIMES: usize = 4;

/// The JSON output.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Verify")]
pub(super) struct Report {
    /// The solver of the third tier; `null` if none is installed.
    solver: Option<&'static str>,
    rules: Vec<Verified>,
    /// The claims of the operators' attributes.
    operators: Vec<Claim>,
}

impl VerifyArgs {
    pub(super) fn run(&self, sources: &mut Sources, line: &Line) -> Checked<ExitCode> {
        let is_own = self.rules.is_own(sources);
        let (book, warnings) = rules::load(sources, &self.rules.all())?;
        render::emit(sources, &warnings);
        let rules = book.claims().map(|rule| (rule.name, rule.span));
        let declared = book.signature.operators().iter().map(|op| (op.name, op.span));
        let own: BTreeSet<&str> = rules
            .chain(declared)
            .filter(|(_, span)| is_own(sources, span.file))
            .map(|(name, _)| name.as_str())
            .collect();
        let pattern = self.filter.as_deref().unwrap_or("");
        let pattern = regex_lite::Regex::new(pattern)
            .map_err(|e| vec![Diagnostic::global(format!("`--filter {pattern}`: {e}"))])?;
        let wanted = |name: &str| own.contains(name) && pattern.is_match(name);
        let total = book.claims().filter(|rule| wanted(rule.name.as_str())).count();
        let operators = book.signature.operators();
        if total == 0 && !operators.iter().any(|op| wanted(op.name.as_str())) {
            let error = Diagnostic::global("there is no rule to verify");
            return Err(vec![
                error.with_help("give folders or files with rules that `--filter` fits"),
            ]);
        }
        let rules = book.claims().map(|rule| rule.name.as_str()).filter(|name| wanted(name));
        let rules: BTreeSet<&str> = self.part.pick(rules.unique()).into_iter().collect();
        let operators = operators.iter().map(|op| op.name.as_str()).filter(|name| wanted(name));
        let operators: BTreeSet<&str> = self.part.pick(operators.unique()).into_iter().collect();
        let total = rules.len();
        let options = Options {
            seed: self.seed,
            instances: self.instances,
            most: Options::default().most.max(self.instances),
            ..Options::default()
        };
        let solver = Installed::find();
        let asked = solver.as_ref().map(|solver| solver as &dyn Solver);
        if self.mutants {
            let listed = verify::harmless(sources, &book)?;
            let options = Options { most: self.instances.saturating_mul(MOST_TIMES), ..options };
            let tried = mutants::run(
                &book,
                |name| rules.contains(name),
                &options,
                Chosen { part: self.changes.map(Changes::part), sample: self.sample },
                asked,
                &listed,
                line,
            );
            let text = if self.json {
                to_json(&json!({ "mutants": tried }))
            } else {
                mutants::text(&tried)
            };
            write_result(self.output.as_deref(), &text)?;
            return Ok(mutants::code(&tried));
        }
        let count = AtomicUsize::new(0);
        let rules = verify::verify(
            &book,
            |name| rules.contains(name),
            &options,
            asked,
            |_| line.part(count.fetch_add(1, Ordering::Relaxed) + 1, total, "rules"),
        );
        line.say("verifying operators");
        let operators = check_attributes(&book, |name| operators.contains(name), &options);
        line.done();
        let solver = solver.as_ref().map(|solver| solver.name());
        let report = Report { solver, rules, operators };
        let text = if self.json { to_json(&report) } else { text(&report) };
        write_result(self.output.as_deref(), &text)?;
        let claims = report.operators.iter().filter_map(|claim| false_claim(claim, self.seed));
        let errors: Vec<Diagnostic> =
            claims.chain(report.rules.iter().filter_map(complaint)).collect();
        render::emit(&Sources::default(), &errors);
        Ok(if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}

/// Returns a diagnostic if a rule did not pass.
fn complaint(row: &Verified) -> Option<Diagnostic> {
    if row.passed() {
        return None;
    }
    let name = row.rule;
    let seed = format!("found again with `--seed {} --filter '^{name}$'`", row.seed);
    let text = match (&row.counterexample, &row.integers) {
        (Some(case), _) => format!("rule `{name}` is wrong\n{}", case.trim_end()),
        (None, Integers::Refuted { claim, values }) => {
            let values = values.iter().map(|(name, value)| format!("{name} = {value}")).join(", ");
            format!("rule `{name}` is wrong: it is not so that {claim}, where {values}")
        }
        (None, Integers::Unknown { reason }) => {
            format!("rule `{name}` could be neither proved nor refuted over integers: {reason}")
        }
        (None, _) => format!("rule `{name}` could be checked in {} cases only", row.sampled),
    };
    Some(Diagnostic::global(text).with_help(seed))
}

/// Returns a diagnostic if a claim about an operator is refuted.
fn false_claim(claim: &Claim, seed: u64) -> Option<Diagnostic> {
    let Known::Refuted { case } = &claim.answer else { return None };
    let Claim { operator, attribute, claim, .. } = claim;
    let said = format!("{attribute} {claim}");
    let text =
        format!("`{}` of operator `{operator}` is wrong\n{}", said.trim_end(), case.trim_end());
    let name = regex_lite::escape(operator);
    let help = format!("found again with `--seed {seed} --filter '^{name}$'`");
    Some(Diagnostic::global(text).with_help(help))
}

fn text(report: &Report) -> String {
    [rules_text(report), operators_text(report)]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns the table of claims about operators, one per row.
fn operators_text(report: &Report) -> Option<String> {
    let claims = &report.operators;
    if claims.is_empty() {
        return None;
    }
    let mut table = table(&["operator", "attribute", "claim", "answer"]);
    for Claim { operator, operands, attribute, claim, answer } in claims {
        let operator = format!("{operator}/{operands}");
        table.add_row([operator, (*attribute).to_owned(), claim.clone(), answer.to_string()]);
    }
    let count = |f: fn(&Known) -> bool| claims.iter().filter(|claim| f(&claim.answer)).count();
    Some(format!(
        "{table}\n\nClaims of operators: {}; found right: {}, not tested: {}. Wrong: {}.\n",
        claims.len(),
        count(|answer| matches!(answer, Known::Holds { .. })),
        count(|answer| matches!(answer, Known::NotTested { .. })),
        count(|answer| matches!(answer, Known::Refuted { .. })),
    ))
}

fn rules_text(report: &Report) -> Option<String> {
    if report.rules.is_empty() {
        return None;
    }
    let mut table = table(&["rule", "exact", "tiers", "sampled", "exhaustive", "integers", "ms"]);
    for row in &report.rules {
        table.add_row([
            row.rule.to_owned(),
            row.exact.to_string(),
            tiers(row),
            grouped(row.sampled as u64),
            grouped(row.exhaustive as u64),
            integers(&row.integers),
            format!("{:.0}", row.time_ms),
        ]);
    }
    let count = |f: fn(&Verified) -> bool| report.rules.iter().filter(|row| f(row)).count();
    let solver = report.solver.map_or_else(
        || "No solver is installed (z3 or cvc5), so tier 3 was skipped".to_owned(),
        |solver| format!("Tier 3 by {solver}"),
    );
    Some(format!(
        "{table}\n\nRules: {}; at tier 1: {}, at tier 2: {}. With claims about integers: {}, proved: {}. \
         Wrong: {}. {solver}.\n",
        report.rules.len(),
        count(|row| row.tier.is_some()),
        count(|row| row.tier == Some(Tier::Exhaustive)),
        count(|row| !matches!(row.integers, Integers::None | Integers::Inexpressible { .. })),
        count(|row| matches!(row.integers, Integers::Proved { .. })),
        count(|row| {
            row.counterexample.is_some() || matches!(row.integers, Integers::Refuted { .. })
        }),
    ))
}

/// Returns the tiers that a rule has passed.
fn tiers(row: &Verified) -> String {
    let mut tiers = match row.tier {
        Some(Tier::Exhaustive) => vec!["1", "2"],
        Some(Tier::Sampled) => vec!["1"],
        None if row.counterexample.is_some() => return "WRONG".to_owned(),
        None => Vec::new(),
    };
    if matches!(row.integers, Integers::Proved { .. }) {
        tiers.push("3");
    }
    if tiers.is_empty() { "none".to_owned() } else { tiers.join(" ") }
}

fn integers(integers: &Integers) -> String {
    match integers {
        Integers::None | Integers::Inexpressible { .. } => "-".to_owned(),
        Integers::Proved { claims, only_for } if only_for.is_empty() => format!("{claims} proved"),
        Integers::Proved { claims, only_for } => {
            format!("{claims} proved for {}", only_for.iter().join(", "))
        }
        Integers::Refuted { .. } => "WRONG".to_owned(),
        Integers::Unknown { .. } => "unknown".to_owned(),
        Integers::NoSolver { .. } => "skipped: no solver".to_owned(),
    }
}
