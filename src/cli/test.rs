//! The `test` command: runs the tests in rule files, and case files.

use super::output::{to_json, write_file, write_result};
use crate::shipped;
use clap::Args;
use ember_analysis::facts::Facts;
use ember_host::Files;
use ember_language::diagnostic::{Checked, Diagnostic, Sources, Span};
use ember_language::load::load;
use ember_language::rules;
use ember_language::term::Term;
use ember_tools::cases::{self, Case};
use ember_tools::render;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `test`.
#[derive(Debug, Args)]
pub(super) struct TestArgs {
    /// Case files, rule files, or folders of both.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Further rules, which the cases use and whose own tests are not run: a folder, a file or `default`; may be
    /// given again.
    #[arg(long, value_name = "PATH", value_parser = shipped::path())]
    rules: Vec<PathBuf>,
    /// Runs those tests whose name this regular expression fits.
    #[arg(long, value_name = "PATTERN")]
    filter: Option<String>,
    /// Writes what was found into the case files, in place of what was expected.
    #[arg(long)]
    bless: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Write what is printed to a file.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The JSON output.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Test")]
pub(super) struct Report {
    passed: usize,
    failed: usize,
    blessed: usize,
    tests: Vec<Record>,
}

/// One test.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "TestResult")]
pub(super) struct Record {
    name: String,
    file: String,
    line: usize,
    passed: bool,
    /// The reason of a failure.
    reason: Option<String>,
    diff: Option<String>,
}

/// Sorts paths, and the files of folders, into rule files and case files.
fn sorted(files: &dyn Files, paths: &[PathBuf]) -> Checked<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (mut rules, mut cases) = (Vec::new(), Vec::new());
    for path in paths {
        let within = files
            .folder(path)
            .transpose()
            .map_err(|error| vec![Diagnostic::global(format!("{}: {error}", path.display()))])?;
        let is_folder = within.is_some();
        for file in within.unwrap_or_else(|| vec![path.clone()]) {
            match file.extension().and_then(|e| e.to_str()) {
                Some("case") => cases.push(file),
                Some("rules") => rules.push(file),
                _ if is_folder => {}
                _ => {
                    let error = format!("{}: neither rules nor cases", file.display());
                    let help = "rule files are called NAME.rules, and case files NAME.case";
                    return Err(vec![Diagnostic::global(error).with_help(help)]);
                }
            }
        }
    }
    Ok((rules, cases))
}

impl TestArgs {
    pub(super) fn run(&self, sources: &mut Sources) -> Checked<ExitCode> {
        let (own, case_files) = sorted(sources.files().as_ref(), &self.paths)?;
        let mut paths: Vec<PathBuf> = self.rules.iter().chain(&own).cloned().collect();
        // Cases alone are about the rules that come with the program.
        if paths.is_empty() {
            paths.push(shipped::rules());
        }
        let (book, warnings) = rules::load(sources, &paths)?;
        render::emit(sources, &warnings);
        let pattern = self.filter.as_deref().unwrap_or("");
        let pattern = regex_lite::Regex::new(pattern)
            .map_err(|e| vec![Diagnostic::global(format!("`--filter {pattern}`: {e}"))])?;
        let mut errors = Vec::new();
        let mut read: Vec<Case> = Vec::new();
        for path in &case_files {
            match load(sources, path).and_then(|file| cases::read(sources, file, &book)) {
                Ok(cases) => read.extend(cases),
                Err(found) => errors.extend(found),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut report = Report { passed: 0, failed: 0, blessed: 0, tests: Vec::new() };
        let mut failures = Vec::new();
        let operators = book.signature.table().clone();
        let facts = Facts::new(&[], &[], operators, Default::default());
        for (rule, test, failure) in ember_engine::run_tests(&book, &facts) {
            let from = &sources.get(test.span.file).path;
            if !own.contains(from) || !pattern.is_match(rule.name.as_str()) {
                continue;
            }
            let reason = failure.as_ref().and_then(|d| Some(d.at.as_ref()?.1.clone()));
            report.add(sources, rule.name.to_string(), test.span, reason, None);
            failures.extend(failure);
        }
        let compiled = ember_engine::compile(&book);
        let mut blessed: BTreeMap<PathBuf, Vec<(Span, Term)>> = BTreeMap::new();
        for case in read.iter().filter(|case| pattern.is_match(&case.name)) {
            let failure = case.run(&book, &compiled);
            if let Some(failure) = failure.as_ref().filter(|f| self.bless && f.blessable) {
                let file = sources.get(case.span.file).path.clone();
                blessed.entry(file).or_default().push((case.expectation, failure.found.clone()));
                report.blessed += 1;
                continue;
            }
            if let Some(failure) = &failure {
                let message = format!("case `{}` fails", case.name);
                failures.push(Diagnostic::error(message, case.span, &failure.reason));
            }
            let (reason, diff) = failure.map(|f| (f.reason, f.diff)).unzip();
            report.add(sources, case.name.clone(), case.span, reason, diff);
        }
        for (path, found) in &blessed {
            let text = sources.find(path).map_or("", |file| sources.get(file).text.as_str());
            write_file(path, cases::bless(text, found))?;
        }
        if report.tests.is_empty() && report.blessed == 0 {
            let error = Diagnostic::global("there is nothing to test");
            return Err(vec![
                error.with_help("rules have :test and :counter-test; cases stand in NAME.case"),
            ]);
        }
        let text = if self.json { to_json(&report) } else { report.text() };
        if !self.json {
            render::emit(sources, &failures);
        }
        write_result(self.output.as_deref(), &text)?;
        Ok(if report.failed > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }
}

impl Report {
    fn add(
        &mut self,
        sources: &Sources,
        name: String,
        span: Span,
        reason: Option<String>,
        diff: Option<String>,
    ) {
        let source = sources.get(span.file);
        let before = source.text.get(..span.range().start).unwrap_or_default();
        let passed = reason.is_none();
        self.passed += usize::from(passed);
        self.failed += usize::from(!passed);
        self.tests.push(Record {
            name,
            file: shown(&source.path),
            line: 1 + before.matches('\n').count(),
            passed,
            reason,
            diff: diff.filter(|diff| !diff.is_empty()),
        });
    }

    /// Returns the differences, case by case, and the counts.
    fn text(&self) -> String {
        let mut text = String::new();
        for test in self.tests.iter().filter(|test| test.diff.is_some()) {
            let diff = test.diff.as_deref().unwrap_or_default();
            text += &format!("{}:{}: {}\n{diff}\n", test.file, test.line, test.name);
        }
        let blessed = match self.blessed {
            0 => String::new(),
            n => format!(", {n} written anew"),
        };
        text + &format!("{} passed, {} failed{blessed}\n", self.passed, self.failed)
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
