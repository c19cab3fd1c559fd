//! Tests that adding a rule file to the folder is enough to change the best program.

use crate::common::{ember, folder, root, word};
use std::fs;
use std::path::{Path, PathBuf};

const MODEL: &str = "examples/embedding_bag.sexp";

/// Copies the rule folder without some of its files.
fn rules_without(name: &str, left_out: &[&str]) -> PathBuf {
    let copy = folder(name);
    for entry in fs::read_dir(root().join("rules")).expect("the rules") {
        let path = entry.expect("an entry").path();
        let file = path.file_name().and_then(|f| f.to_str()).unwrap_or_default();
        if file.ends_with(".rules") && !left_out.contains(&file) {
            fs::copy(&path, copy.join(file)).expect("is copied");
        }
    }
    copy
}

/// Returns the best program under rules, and its cycles.
fn found(rules: &[&Path]) -> (String, u64) {
    let program = folder("found").join("best.dlc");
    let mut words = vec!["--emit".to_owned(), "dlc".to_owned(), "-o".to_owned(), word(&program)];
    for path in rules {
        words.extend(["--rules".to_owned(), word(path)]);
    }
    words.push(MODEL.to_owned());
    let ran = ember(&words);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{rules:?}");
    let ran = ember(&["run", "--json", &word(&program), MODEL]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let cycles = ran.json()["cycles"].as_u64().expect("cycles");
    (fs::read_to_string(program).expect("the program"), cycles)
}

/// A user's own rule file, for vectors as long as a row.
const MINE: &str = r#"
(ruleset mine "vectors of my own length")
(rule my-vectors
  "A row runs in vectors of 64."
  (scf.for ?e ?lo ?hi 1 ?s)
  => (scf.for ?v ?lo ?hi 64 (vec ?v ?e 64 ?hi ?s))
  :let ?v (var (outer ?e 64) ?lo ?hi 64)
  :when (reads-only-in ?lo) (unit-stride ?e ?s) (not-free ?v ?s))
"#;

#[test]
fn a_rule_file_of_the_users_changes_what_is_found() {
    let all = root().join("rules");
    let without = rules_without("without-vectors", &["wide-vectors.rules"]);
    let (program, slow) = found(&[&without]);
    assert!(program.contains("f32x16") && !program.contains("f32x64"), "{program}");

    // The file is outside the folder.
    let mine = folder("mine").join("mine.rules");
    fs::write(&mine, MINE).expect("is written");
    let (program, fast) = found(&[&without, &mine]);
    assert!(program.contains("f32x64"), "{program}");
    assert!(fast < slow, "{fast} and {slow} cycles");

    // The same file is in the folder.
    fs::copy(&mine, without.join("mine.rules")).expect("is copied");
    assert_eq!(found(&[&without]), (program, fast));

    // The project's own file, given by itself, leads to the same program as the whole folder.
    fs::remove_file(without.join("mine.rules")).expect("is removed");
    let wide = all.join("wide-vectors.rules");
    assert_eq!(found(&[&without, &wide]), found(&[&all]));
}
