//! Tests of inputs that must neither hang nor kill the process, and of the command's texts about itself.

use crate::common::{ember, folder, root, word};
use std::fs;
use std::process::{Command, Stdio};

/// Every command with options of its own; the first is the main job.
const COMMANDS: [&str; 23] = [
    "",
    "run",
    "bench",
    "sweep",
    "tune",
    "check",
    "test",
    "fmt",
    "lsp",
    "verify",
    "equiv",
    "self-test",
    "check-certificate",
    "rules derived",
    "saturate",
    "extract",
    "explain",
    "why-not",
    "gen bags",
    "gen graph",
    "gen triples",
    "gen blocks",
    "gen program",
];

/// Checks that a text is refused as every kind of input.
fn refused(name: &str, text: &[u8]) {
    let folder = folder(&format!("refused-{name}"));
    let model = "tests/models/bag.sexp".to_owned();
    let file = |extension: &str| {
        let path = folder.join(format!("input.{extension}"));
        fs::write(&path, text).expect("is written");
        word(&path)
    };
    for words in [
        vec![file("sexp")],
        vec!["--rules".to_owned(), file("rules"), model.clone()],
        vec!["--target".to_owned(), file("toml"), model.clone()],
        vec!["sweep".to_owned(), file("toml")],
        ["tune", "--command", "true", "--space", &file("json")].map(str::to_owned).to_vec(),
        vec!["extract".to_owned(), file("json")],
        vec!["run".to_owned(), file("dlc"), model.clone()],
        vec!["run".to_owned(), file("slc"), model.clone()],
    ] {
        let ran = ember(&words);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{words:?} {}", ran.err);
        assert!(ran.err.contains("error: "), "{words:?} {}", ran.err);
        assert!(ran.err.len() < 100_000, "{words:?} says {} bytes", ran.err.len());
    }
}

#[test]
fn deep_parentheses() {
    refused("open", "(".repeat(100_000).as_bytes());
    refused("closed", ")".repeat(100_000).as_bytes());
    refused("nested", [vec![b'('; 100_000], vec![b')'; 100_000]].concat().as_slice());
    let term = ["(scf.seq ".repeat(9_999), "scf.skip".to_owned(), ")".repeat(9_999)].concat();
    refused("arguments", term.as_bytes());
}

#[test]
fn deep_terms_are_read_or_refused() {
    // The program is well-sorted and as deep as the reader allows; it may be too large, but must not kill the process.
    let deep = ["(scf.seq scf.skip ".repeat(9_990), "scf.skip".to_owned(), ")".repeat(9_990)];
    let path = folder("deep").join("deep.scf");
    fs::write(&path, deep.concat()).expect("is written");
    let ran = ember(&["run", &word(&path), "tests/models/bag.sexp"]);
    assert!(matches!(ran.code, Some(1 | 2)), "{ran:?}");
}

#[test]
fn texts_that_are_no_texts() {
    refused("bytes", b"(model m \xff\xfe)");
    refused("empty", b"");
    refused("zeros", &[0; 1_000]);
    refused("quote", b"(model \"never ends");
}

#[test]
fn a_full_disk_is_an_error_and_a_closed_pipe_is_none() {
    let run = |to: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ember-rewrite"));
        command.args(["--no-rank", "--emit", "scf", "tests/models/bag.sexp"]).current_dir(root());
        command.stdout(to).stderr(Stdio::piped()).spawn().expect("the command starts")
    };
    if let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") {
        let ran = run(full.into()).wait_with_output().expect("ends");
        assert_eq!(ran.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&ran.stderr).contains("cannot write to standard output"));
    }
    let mut ran = run(Stdio::piped());
    drop(ran.stdout.take());
    assert_eq!(ran.wait().expect("ends").code(), Some(0));
}

#[test]
fn more_threads_than_a_system_has_are_not_started() {
    let ran = Command::new(env!("CARGO_BIN_EXE_ember-rewrite"))
        .args(["--no-rank", "--emit", "scf", "tests/models/bag.sexp"])
        .env("RAYON_NUM_THREADS", "100000")
        .current_dir(root())
        .output()
        .expect("the command starts");
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn an_input_is_not_written_over() {
    let folder = folder("input-is-output");
    let path = folder.join("model.sexp");
    let text = fs::read_to_string(root().join("tests/models/bag.sexp")).expect("a model");
    fs::write(&path, &text).expect("is written");
    let other = folder.join(".").join("model.sexp");
    let ran = ember(&["--no-rank", "--emit", "scf", "-o", &word(&other), &word(&path)]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert!(ran.err.contains("is an input of this command"), "{ran:#?}");
    assert_eq!(fs::read_to_string(&path).expect("a text"), text);
}

#[test]
fn help_and_version_exit_with_0() {
    for (words, wanted) in [
        (&["--help"][..], "Example:"),
        (&["run", "--help"], "Example:"),
        (&["--version"], env!("CARGO_PKG_VERSION")),
    ] {
        let ran = ember(words);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{words:?}");
        assert!(ran.out.contains(wanted), "{}", ran.out);
    }
    let ran = ember(&["--help"]);
    for option in [
        "--rules",
        "--target",
        "--schedule",
        "--exact",
        "--emit",
        "--output",
        "--seed",
        "--tune-seed",
        "--node-limit",
        "--iter-limit",
        "--json",
        "--timeline",
        "run",
    ] {
        assert!(ran.out.contains(option), "{option} is not in the help");
    }
}

#[test]
fn the_book_names_every_option_of_every_command() {
    let page = fs::read_to_string(root().join("docs/src/command-line.md")).expect("the page");
    let mut missing = Vec::new();
    for command in COMMANDS {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let ran = ember(&words);
        assert_eq!(ran.code, Some(0), "{command}: {ran:?}");
        let options = ran.out.lines().filter_map(|line| {
            let line = line.trim_start();
            let long = line
                .strip_prefix("-")
                .and_then(|_| line.split_whitespace().find(|w| w.starts_with("--")))?;
            // A value that may be left out is in brackets behind the name.
            let name = long.split('[').next().unwrap_or_default();
            Some(name.trim_end_matches([',', '.']).to_owned())
        });
        missing.extend(
            options
                .filter(|option| !page.contains(option.as_str()))
                .map(|o| format!("{command} {o}")),
        );
    }
    assert!(missing.is_empty(), "not in command-line.md: {missing:?}");
}

#[test]
fn the_trusted_base_is_listed_with_its_lines() {
    let ran = ember(&["check-certificate", "--trusted", "--json"]);
    let json = ran.json();
    let parts = json["parts"].as_array().expect("a list").iter();
    let modules = parts.flat_map(|part| part["modules"].as_array().expect("a list"));
    let mut sum = 0;
    for module in modules {
        let path = module["path"].as_str().expect("a path");
        let text = std::fs::read_to_string(root().join(path)).expect("a text");
        assert_eq!(module["lines"], text.lines().count(), "{path}");
        sum += text.lines().count();
    }
    assert_eq!(json["lines"], sum);
    let table = ember(&["check-certificate", "--trusted"]);
    assert!(
        table.out.contains("the checker") && table.out.contains("crates/certify/src/lib.rs"),
        "{table:?}"
    );
    assert_eq!(ember(&["check-certificate"]).code, Some(2));
}
