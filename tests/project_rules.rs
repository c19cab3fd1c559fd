//! The project's own rule files.

use ember_rewrite::diagnostic::{Diagnostic, Sources};
use ember_rewrite::rules;
use std::path::PathBuf;

#[test]
fn the_rule_folder_loads_without_errors_and_warnings() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("rules");
    let mut sources = Sources::default();
    let loaded = rules::load(&mut sources, &[folder]);
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
    match loaded {
        Ok((book, warnings)) => {
            assert_eq!(show(warnings), "");
            assert!(book.rules.len() > 50);
        }
        Err(errors) => panic!("{}", show(errors)),
    }
}

/// Whatever is missing from a rule file, reading it ends with a result or with diagnostics.
#[test]
fn damaged_rule_files_are_reported_and_never_panic() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("rules");
    let entries = std::fs::read_dir(folder).expect("the folder");
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "rules"));
    paths.sort();
    let texts: Vec<String> =
        paths.iter().map(|path| std::fs::read_to_string(path).expect("a text")).collect();
    let whole = texts.concat();
    let words: Vec<&str> = whole.split_inclusive([' ', '\n', '(', ')']).collect();
    // A linear congruential generator, so that every run damages the same words.
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..300 {
        let (from, length, to) = (random(words.len()), 1 + random(4), random(words.len()));
        let mut damaged = words.clone();
        let moved: Vec<&str> = damaged.drain(from..(from + length).min(words.len())).collect();
        if random(2) == 0 {
            let to = to.min(damaged.len());
            damaged.splice(to..to, moved);
        }
        let mut sources = Sources::default();
        let file = sources.add("<damaged>", damaged.concat());
        if let Err(errors) = rules::load_text(&mut sources, &[file]) {
            assert!(!errors.is_empty());
        }
    }
}
