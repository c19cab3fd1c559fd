//! The command away from the project's folder: everything that it needs is inside it.

use crate::common::{Ran, folder, root, word};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the command in a folder.
fn ember_in(folder: &Path, words: &[&str]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_ember-rewrite"))
        .args(words)
        .current_dir(folder)
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .output()
        .expect("the command starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// A folder with a small model in it and nothing else.
fn alone(name: &str) -> PathBuf {
    const MODEL: &str = "(model bag
  (input table f32 (rows 4)) (input indices i64 (lookups)) (input offsets i64 ((+ bags 1)))
  (output out (emb.bag sum table indices offsets))
  (data (size rows 8) (size bags 3)
    (table (uniform -1.0 1.0)) (offsets (ragged (mean 2) (empty 0.0))) (indices (zipf 1.0))))
";
    let folder = folder(name);
    fs::write(folder.join("model.sexp"), MODEL).expect("is written");
    folder
}

#[test]
fn a_binary_and_a_model_are_enough() {
    let folder = alone("anywhere");
    let done = |words: &[&str]| {
        let ran = ember_in(&folder, words);
        assert_eq!(ran.code, Some(0), "{words:?}\n{}{}", ran.out, ran.err);
        ran.out
    };
    assert!(done(&["model.sexp"]).contains("search"));
    assert!(done(&["check"]).contains(" 0 errors, 0 warnings"));
    let program = done(&["--no-rank", "--emit", "scf", "model.sexp"]);
    fs::write(folder.join("program.scf"), program).expect("is written");
    assert!(done(&["equiv", "model.sexp", "program.scf"]).starts_with("equal"));
    assert!(done(&["verify", "--filter", "^vec-add$"]).contains("vec-add"));
    let case = "(case zero (rules simplify) (input (scf.add 5 0)) (expect 5))\n";
    fs::write(folder.join("sums.case"), case).expect("is written");
    assert!(done(&["test", "sums.case"]).contains("1 passed"));
    done(&["explain", "--no-rank", "--schedule", "emb-opt0", "model.sexp"]);
    fs::write(folder.join("sum.terms"), "(scf.add 1 2)\n").expect("is written");
    done(&["saturate", "sum.terms"]);
}

#[test]
fn rules_of_ones_own_are_added_to_those_that_come_with_the_program() {
    let folder = alone("anywhere-added");
    let own = "(ruleset own \"one's own\" :phase optimise)
(rule nothing-more \"0 is added to no effect\" (scf.add 0 ?x) => ?x :when (index ?x))\n";
    fs::write(folder.join("own.rules"), own).expect("is written");
    let both = ["--rules", "default", "--rules", "own.rules"];
    let ran = ember_in(&folder, &[&both[..], &["model.sexp"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    // What is reported is about one's own rules alone.
    let ran = ember_in(&folder, &["check", "--rules", "default", "own.rules"]);
    assert!(ran.out.starts_with("1 file: "), "{ran:#?}");
    // Without a path, the rules of `--rules` are what is reported on.
    let ran = ember_in(&folder, &["check", "--rules", "own.rules"]);
    assert!(ran.out.starts_with("1 file: "), "{ran:#?}");
    let ran = ember_in(&folder, &["verify", "--json", "--rules", "default", "own.rules"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let json = ran.json();
    let rules: Vec<_> = json["rules"].as_array().into_iter().flatten().collect();
    assert_eq!(rules.len(), 1, "{json:#}");
}

#[test]
fn exported_rules_are_the_same_rules() {
    let folder = alone("anywhere-exported");
    let ran = ember_in(&folder, &["rules", "export", "mine"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let emit = |rules: &str| {
        let words = ["--rules", rules, "--no-rank", "--emit", "dlc", "model.sexp"];
        let ran = ember_in(&folder, &words);
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        ran.out
    };
    let [default, mine] = ["default", "mine/rules"].map(emit);
    assert_eq!(default, mine);
    assert_eq!(default, emit(&word(&root().join("rules"))));
    assert!(folder.join("mine/programs/bag_sum_paper.dlc").is_file());
    assert!(folder.join("mine/targets/tmu-cpu.toml").is_file());
    let again = ember_in(&folder, &["rules", "export", "mine"]);
    assert_eq!(again.code, Some(2), "{again:#?}");
    assert!(again.err.contains("is not empty"), "{again:#?}");
}
