//! Tests of the file of a tuning: it is the same whatever happens while the tuning runs, and no other one is continued.

use crate::common::{Ran, ember, folder, word};
use std::fs;
use std::path::Path;

/// A command whose result depends on every parameter, and which refuses some points.
const COMMAND: &str =
    "[ $TUNE_vector -lt 16 ] && echo $((TUNE_rows + 512 / TUNE_columns + TUNE_vector))";

fn tune(output: &Path, more: &[&str]) -> Ran {
    let output = word(output);
    let own = ["tune", "--space", "examples/tiles.json", "--command", COMMAND, "-o", &output];
    ember(&[&own[..], more].concat())
}

#[test]
fn a_tuning_that_was_interrupted_ends_like_one_that_was_not() {
    let folder = folder("tuning-interrupted");
    let (whole, parts) = (folder.join("whole.jsonl"), folder.join("parts.jsonl"));
    assert_eq!(tune(&whole, &["--budget", "24"]).code, Some(0));
    let text = fs::read(&whole).expect("the file");
    assert_eq!(tune(&parts, &["--budget", "15"]).code, Some(0));
    let part = fs::read(&parts).expect("the file");
    assert!(text.starts_with(&part), "the points are the same");
    // An interruption may end the file anywhere; inside its first line, too.
    for length in [0, 7, part.len() - 9, part.len() - 1] {
        fs::write(&parts, &part[..length]).expect("is written");
        let ran = tune(&parts, &["--budget", "24"]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "after {length} bytes");
        assert_eq!(fs::read(&parts).expect("the file"), text, "after {length} bytes");
    }
}

#[test]
fn nothing_else_is_continued_or_written_over() {
    let folder = folder("tuning-foreign");
    let output = folder.join("tuned.jsonl");
    assert_eq!(tune(&output, &["--budget", "3"]).code, Some(0));
    let text = fs::read_to_string(&output).expect("the file");
    let refused = |more: &[&str], reason: &str| {
        let ran = tune(&output, more);
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.err.contains(reason), "{}", ran.err);
    };
    refused(&["--seed", "5"], "holds results of another seed");
    refused(&["--method", "random"], "holds results of another method");
    fs::write(&output, text.replace("\"rows\":16", "\"rows\":17")).expect("is written");
    refused(&[], "is no evaluation of this space");
    for foreign in [&b"a diary\n"[..], b"a diary", b"\xff\xfe", b"{}\n"] {
        fs::write(&output, foreign).expect("is written");
        refused(&["--restart"], "is no file of a tuning's results");
        assert_eq!(fs::read(&output).expect("the file"), foreign);
    }
}
