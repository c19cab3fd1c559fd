//! Tests that no text makes a reader, the verifier or a run panic: the project's own texts with bytes and words
//! changed, removed, doubled or exchanged. The fuzz targets in `fuzz/` do the same for any length of time.

#[path = "../../fuzz/src/lib.rs"]
mod fuzzed;

use crate::samples::samples;
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_prove::equiv;
use ember_tools::selftest::Tools;
use fastrand::Rng;
use fuzzed::{READERS, tools};
use std::fs;
use std::path::{Path, PathBuf};

/// The least number of changed texts for each reader, and the maximum number of changes of one text.
const TEXTS: usize = 130;
const CHANGES: usize = 6;

/// Longer texts are cut off: a change near the end costs as much as one near the start.
const LONGEST: usize = 6_000;

/// Returns the original texts for a reader.
fn seeds(reader: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (folder, ending) = match reader {
        "rules" => ("rules", "rules"),
        "model" => ("examples", "sexp"),
        "program" => ("tests/cases/equiv", "pair"),
        "dlc" => ("programs", "dlc"),
        "certificate" => return certificates(),
        "import" => ("tests/imports/programs", "json"),
        "stablehlo" => ("tests/imports", "mlir"),
        "mlir" => ("tests/cases/mlir", "mlir"),
        "space" => ("tests/cases/tune", "json"),
        "tensorflow" => ("tests/imports/programs", "pb"),
        _ => ("tests/models", "mtx"),
    };
    let entries = fs::read_dir(root.join(folder)).expect("the folder");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == ending));
    files.sort();
    // Each byte of a file that is no text is a character.
    let text = |path: &PathBuf| {
        let bytes = fs::read(path).ok()?;
        Some(
            String::from_utf8(bytes)
                .unwrap_or_else(|e| e.as_bytes().iter().map(|b| char::from(*b)).collect()),
        )
    };
    let texts: Vec<String> = files.iter().filter_map(text).collect();
    assert!(!texts.is_empty(), "there are texts for `{reader}`");
    texts
}

/// Returns the certificates of some proofs.
fn certificates() -> Vec<String> {
    let (Tools { book, compiled, rules, machine }, _) = tools();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/equiv");
    let certificate = |name: &str| {
        let path = folder.join(format!("{name}.pair"));
        let sides = equiv::read(&mut Sources::new(Disk), book, machine, &[path], None);
        let sides = sides.expect("two programs");
        let options = equiv::Options::default();
        let answer = equiv::compare(&sides, book, compiled, rules, machine, &options);
        match answer.expect("an answer").verdict {
            equiv::Verdict::Equal(Ok(certificate)) => certificate.text(),
            other => panic!("{name}: {other:?}"),
        }
    };
    ["interchange", "hoist", "privatise"].map(certificate).to_vec()
}

/// Returns a text with a few places changed.
fn changed(text: &str, rng: &mut Rng) -> String {
    const WORDS: [&str; 12] =
        ["(", ")", "()", "-1", "0", "9223372036854775807", "1e999", "nan", "%", "?x", "\"", "é"];
    let mut text: String = text.chars().take(LONGEST).collect();
    for _ in 0..rng.usize(1..=CHANGES) {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let Some(at) = rng.choice(&places).copied() else { break };
        let end = (at..=text.len()).skip(rng.usize(1..12)).find(|end| text.is_char_boundary(*end));
        let end = end.unwrap_or(text.len());
        match rng.u8(0..5) {
            0 => text.insert_str(at, WORDS[rng.usize(0..WORDS.len())]),
            1 => text.replace_range(at..end, WORDS[rng.usize(0..WORDS.len())]),
            2 => text.replace_range(at..end, ""),
            3 => {
                let part = text[at..end].to_owned();
                let to = rng.choice(&places).copied().unwrap_or(0);
                text.insert_str(to, &part);
            }
            _ => text.truncate(end),
        }
    }
    text
}

#[test]
fn no_text_makes_a_reader_panic() {
    for (name, read) in READERS {
        let seeds = seeds(name);
        let mut rng = Rng::with_seed(1);
        for at in 0..samples(TEXTS) {
            let text = changed(&seeds[at % seeds.len()], &mut rng);
            let caught = std::panic::catch_unwind(|| read(&text));
            assert!(caught.is_ok(), "`{name}` panics on text {at}:\n{text}");
        }
        seeds.iter().for_each(|text| read(text));
    }
}
