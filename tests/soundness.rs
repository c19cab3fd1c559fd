//! Tests that every rule of the project holds, and so does every rule of `tests/sound/`, each the correct twin of a
//! classical mistake; every rule of `tests/unsound/` is refuted.
//!
//! There is one trial per rule; the printed seed reproduces a finding.

use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::rules::{self, Rule, RuleBook};
use ember_prove::soundness::{
    Known, Options, Report, Verdict, check_attributes, check_rule, check_whole,
};
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[path = "samples/mod.rs"]
mod samples;

/// A third of what `verify` makes of every rule if nothing else is said; `ember-rewrite verify rules/ rules/equiv/` is the
/// whole sweep. Of the wrong rules in `tests/unsound/`, so many refute 68 of 76, and three times as many 72.
const INSTANCES: usize = 500;

/// Wrong rules are few, and may be wrong only in rare cases.
const REFUTING: Options =
    Options { seed: 1, least: 100, instances: 60_000, most: 60_000, exhaustive: 3, programs: 0 };

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sound = Options { instances: samples::samples(INSTANCES), ..Options::default() };
    println!("seed {}", sound.seed);
    let mut trials = Vec::new();

    let book = Arc::new(load(&[root.join("rules"), root.join("rules/equiv")]));
    // The longest trial starts first, so that no core waits for it at the end.
    let all = Arc::clone(&book);
    trials.push(Trial::test("whole", move || match check_whole(&all, &sound) {
        Ok(whole) if whole.programs > 1000 && whole.facts > 1000 && whole.rules.len() > 70 => {
            Ok(())
        }
        Ok(whole) => Err(format!("too little was compared: {whole:?}").into()),
        Err(case) => Err(format!("seed {}\n{case}", sound.seed).into()),
    }));

    for rule in book.claims() {
        let book = Arc::clone(&book);
        trials.push(Trial::test(format!("holds/{}", rule.name), move || {
            holds(&check_rule(&book.signature, &rule, &sound))
        }));
    }

    // The dialect of imported programs stands with its rules.
    let idioms = root.join("rules/import/idioms.rules");
    let imports = Arc::new(load(std::slice::from_ref(&idioms)));
    for rule in imports.claims() {
        let book = Arc::clone(&imports);
        trials.push(Trial::test(format!("holds/{}", rule.name), move || {
            holds(&check_rule(&book.signature, &rule, &sound))
        }));
    }

    let all = Arc::clone(&book);
    trials.push(Trial::test("operators", move || {
        let claims = check_attributes(&all, |_| true, &sound);
        let held =
            claims.iter().filter(|claim| matches!(claim.answer, Known::Holds { .. })).count();
        let wrong: Vec<String> = claims
            .iter()
            .filter_map(|claim| match &claim.answer {
                Known::Refuted { case } => {
                    Some(format!("{} of `{}`: {case}", claim.attribute, claim.operator))
                }
                _ => None,
            })
            .collect();
        match wrong.is_empty() && held > 800 {
            true => Ok(()),
            false => Err(format!("{held} claims hold\n{}", wrong.join("\n")).into()),
        }
    }));

    let dialects = rule_files(&root.join("rules"))
        .into_iter()
        .filter(|file| {
            file.file_name().is_some_and(|n| n.to_string_lossy().starts_with("dialect-"))
        })
        .collect::<Vec<_>>();
    for file in rule_files(&root.join("tests/sound")) {
        let mut files = dialects.clone();
        files.extend([root.join("rules/equiv/dialect-equiv.rules"), file]);
        let book = Arc::new(load(&files));
        let own: Vec<Rule> =
            book.rules.iter().filter(|rule| !book.is_definition(rule)).cloned().collect();
        for rule in own {
            let book = Arc::clone(&book);
            trials.push(Trial::test(format!("right/{}", rule.name), move || {
                holds(&check_rule(&book.signature, &rule, &sound))
            }));
        }
    }
    let wrong = rule_files(&root.join("tests/unsound"));
    let enough = [trials.iter().filter(|t| t.name().starts_with("right/")).count(), wrong.len()];
    trials.push(Trial::test("enough", move || match enough.iter().all(|n| *n >= 60) {
        true => Ok(()),
        false => Err(format!("right and wrong rules: {enough:?}").into()),
    }));
    let about_imports = rule_files(&root.join("tests/unsound/import"));
    let wrong = wrong.into_iter().map(|file| (dialects.clone(), file));
    let about_imports = about_imports.into_iter().map(|file| (vec![idioms.clone()], file));
    for (mut files, file) in wrong.chain(about_imports) {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        files.push(file);
        trials.push(Trial::test(format!("refuted/{name}"), move || {
            let book = load(&files);
            let rule = book.rule(&name).ok_or("the file does not have the rule of its name")?;
            refuted(&check_rule(&book.signature, rule, &REFUTING))
        }));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn holds(report: &Report) -> Result<(), Failed> {
    match &report.verdict {
        Verdict::Holds(_) => Ok(()),
        Verdict::Refuted(case) => Err(format!("seed {}\n{case}", report.seed).into()),
        Verdict::Unchecked => Err(format!(
            "only {} cases from {} instances (seed {})",
            report.sampled, report.attempts, report.seed
        )
        .into()),
    }
}

fn refuted(report: &Report) -> Result<(), Failed> {
    match &report.verdict {
        Verdict::Refuted(_) => Ok(()),
        _ => Err(format!(
            "not refuted in {} sampled and {} exhaustive cases (seed {})",
            report.sampled, report.exhaustive, report.seed
        )
        .into()),
    }
}

/// Returns the rule files in a folder, by name.
fn rule_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{folder:?}: {e}"));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry of the folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "rules"))
        .collect();
    files.sort();
    files
}

fn load(files: &[PathBuf]) -> RuleBook {
    match rules::load(&mut Sources::new(Disk), files) {
        Ok((book, _)) => book,
        Err(errors) => panic!("{files:?}: {errors:#?}"),
    }
}
