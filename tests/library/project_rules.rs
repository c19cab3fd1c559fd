//! Tests of the project's own rule files.

use ember_host::Disk;
use ember_language::codes::Code;
use ember_language::diagnostic::{Diagnostic, Sources};
use ember_language::rules;
use ember_tools::render::{render, to_lsp};
use std::collections::BTreeSet;
use std::path::PathBuf;

#[test]
fn the_rule_folder_loads_without_errors_and_warnings() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("rules");
    let mut sources = Sources::new(Disk);
    let checked = rules::check(&mut sources, &[folder]);
    let show = |diagnostics: Vec<Diagnostic>| -> String {
        let line = |d: Diagnostic| {
            let place = d.at.map(|(span, label)| {
                let source = sources.get(span.file);
                let line = source.text[..span.range().start].matches('\n').count() + 1;
                format!("{}:{line}: {label}", source.path.display())
            });
            format!("{} ({})\n", d.message, place.unwrap_or_default())
        };
        diagnostics.into_iter().map(line).collect()
    };
    assert_eq!(show(checked.diagnostics), "");
    assert!(checked.book.is_some_and(|book| book.rules.len() > 50));
}

/// Returns texts that are larger than any case file.
fn large() -> [String; 3] {
    let rules = "(ruleset a \"x\") (rule r \"x\" (scf.add ?x 0) => ?x)";
    let sum = (0..600).fold("?x".to_owned(), |sum, _| format!("(scf.add {sum} 0)"));
    [
        "(".repeat(10_001),
        format!("{rules} (rule s \"x\" {sum} => ?x)"),
        format!("{rules} (schedule s \"x\" (until (?or{}) (saturate a)))", " ?".repeat(1_001)),
    ]
}

/// Every diagnostic of the rule language has a code, every code has a case, and the README lists it.
#[test]
fn every_code_is_pinned_and_documented() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let files = |folder: &str, wanted: fn(&str) -> bool| {
        let entries = std::fs::read_dir(root.join(folder)).expect("the folder");
        let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
        paths.retain(|path| path.file_name().is_some_and(|name| wanted(&name.to_string_lossy())));
        paths.sort();
        paths
    };
    let dialects = files("rules", |name| name.starts_with("dialect-"));
    let cases = files("tests/cases/fail", |name| name.ends_with(".rules"));
    assert!(cases.len() >= 80, "{} cases", cases.len());
    let mut seen = BTreeSet::new();
    let mut check = |sources: &mut Sources, path: PathBuf| {
        let paths: Vec<PathBuf> = dialects.iter().cloned().chain([path]).collect();
        for diagnostic in rules::check(sources, &paths).diagnostics {
            let code = diagnostic.code;
            seen.insert(code.unwrap_or_else(|| panic!("no code: {}", diagnostic.message)));
        }
    };
    for path in cases {
        let lines = std::fs::read_to_string(&path).expect("a case").lines().count();
        assert!(lines <= 10, "{} has {lines} lines", path.display());
        check(&mut Sources::new(Disk), path);
    }
    for text in large() {
        let mut sources = Sources::new(Disk);
        sources.add("large.rules", text);
        check(&mut sources, "large.rules".into());
    }
    let unseen: Vec<_> = Code::ALL.iter().filter(|code| !seen.contains(code)).collect();
    assert!(unseen.is_empty(), "no case has {unseen:?}");
    let readme = std::fs::read_to_string(root.join("rules/README.md")).expect("the README");
    for code in Code::ALL {
        assert!(readme.contains(&format!("`{code}`")), "rules/README.md does not list `{code}`");
    }
}

/// A linear congruential generator, so that every run damages the same words.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        let Random(state) = self;
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) as usize % n.max(1)
    }
}

/// Returns the texts of a folder's selected rule files, in the order of their names.
fn texts(folder: &str, wanted: fn(&str) -> bool) -> Vec<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = std::fs::read_dir(folder).expect("the folder");
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    paths.retain(|path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| name.ends_with(".rules") && wanted(&name))
    });
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).expect("a text")).collect()
}

/// Returns the words with some of them left out, moved or repeated.
fn damaged(random: &mut Random, words: &[&str]) -> String {
    let (from, length) = (random.below(words.len()), 1 + random.below(4));
    let mut damaged = words.to_vec();
    let to = (from + length).min(words.len());
    let moved: Vec<&str> = match random.below(3) {
        0 => damaged[from..to].to_vec(),
        _ => damaged.drain(from..to).collect(),
    };
    if random.below(3) > 0 {
        let to = random.below(damaged.len());
        damaged.splice(to..to, moved);
    }
    damaged.concat()
}

/// Checks a text by itself; for any text, that must end with a result or with diagnostics that can be rendered.
fn checked(text: String) {
    let mut sources = Sources::new(Disk);
    sources.add("no-folder/damaged.rules", text);
    let check = rules::check(&mut sources, &["no-folder/damaged.rules".into()]);
    assert!(check.book.is_some() || !check.diagnostics.is_empty());
    render(&sources, &check.diagnostics, false);
    to_lsp(&sources, &check.files, &check.diagnostics);
}

/// Reading a rule file with missing parts ends with a result or with diagnostics.
#[test]
fn damaged_rule_files_are_reported_and_never_panic() {
    let whole = texts("rules", |_| true).concat();
    let words: Vec<&str> = whole.split_inclusive([' ', '\n', '(', ')']).collect();
    let mut random = Random(1);
    for _ in 0..200 {
        checked(damaged(&mut random, &words));
    }
}

/// The same test on small files that cover the whole language, valid and invalid, several times over, and with bytes
/// that are not words.
#[test]
fn damaged_cases_are_reported_and_never_panic() {
    let mut small = texts("tests/cases/fail", |_| true);
    small.extend(texts("rules/extra", |_| true));
    small.extend(texts("examples/rules", |_| true));
    let dialect = texts("rules", |name| name == "dialect-scf.rules").concat();
    let core = texts("rules", |name| name == "dialect-core.rules").concat();
    let marks = ["(", ")", "\"", "?", ":", "!", "%", ";", "'", "=>", "<=>", "é", "\u{0}", " "];
    let mut random = Random(2);
    for round in 0..3_000 {
        let mut text = small[round % small.len()].clone();
        for _ in 0..=random.below(3) {
            let words: Vec<&str> = text.split_inclusive([' ', '\n', '(', ')']).collect();
            text = damaged(&mut random, &words);
        }
        let at = text.char_indices().nth(random.below(text.len())).map_or(0, |(at, _)| at);
        text.insert_str(at, marks[random.below(marks.len())]);
        // Every third text includes the operators, so that the damaged part is reached.
        checked(if round % 3 == 0 { format!("{core}{dialect}{text}") } else { text });
    }
}
