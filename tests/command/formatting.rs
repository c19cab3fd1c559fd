//! Tests the command `fmt`: the files it writes, its output, and its exit codes.

use crate::common::{ember, folder, root, word};
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

const UNFORMATTED: &str = "(ruleset  s\n\"a set\"   ) ; of rules\n";
const FORMATTED: &str = "(ruleset s\n  \"a set\") ; of rules\n";

#[test]
fn the_project_s_files_are_formatted() {
    let ran = ember(&["fmt", "--check", "rules", "examples", "workloads"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "", ""));
}

#[test]
fn files_are_formatted_in_place_and_checked() {
    let folder = folder("fmt");
    let inner = folder.join("inner");
    fs::create_dir(&inner).expect("is made");
    let files = [folder.join("a.rules"), inner.join("b.sexp")];
    let write = || files.iter().for_each(|f| fs::write(f, UNFORMATTED).expect("is written"));
    let read = || files.each_ref().map(|file| fs::read_to_string(file).expect("a text"));
    write();
    fs::write(folder.join("other.txt"), "( ( x").expect("is written");
    let path = word(&folder);

    let ran = ember(&["fmt", "--check", &path]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), ""));
    assert!(ran.out.contains("-(ruleset  s\n") && ran.out.contains("+(ruleset s\n"), "{}", ran.out);
    assert_eq!(read(), [UNFORMATTED; 2], "--check writes nothing");
    let ran = ember(&["fmt", &path]);
    let paths = files.each_ref().map(|file| word(file));
    assert_eq!((ran.code, ran.out), (Some(0), format!("{}\n{}\n", paths[0], paths[1])));
    assert_eq!(read(), [FORMATTED; 2]);
    for words in [["fmt", "--check", &path], ["fmt", &paths[0], &path]] {
        let ran = ember(&words);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "nothing is left to change");
    }
    // A file that cannot be read does not prevent the formatting of the others.
    write();
    fs::write(&files[0], "(ruleset").expect("is written");
    let ran = ember(&["fmt", &path]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("`(` without its `)`"), "{}", ran.err);
    assert_eq!(read(), ["(ruleset", FORMATTED]);
}

#[test]
fn standard_input_is_formatted_to_standard_output() {
    let run = |words: &[&str], input: &[u8]| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ember-rewrite"))
            .args(words)
            .current_dir(root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        child.stdin.take().expect("standard input").write_all(input).expect("is written");
        let output = child.wait_with_output().expect("ends");
        (output.status.code(), String::from_utf8(output.stdout).expect("UTF-8"))
    };
    let text = UNFORMATTED.as_bytes();
    assert_eq!(run(&["fmt", "--stdin"], text), (Some(0), FORMATTED.to_owned()));
    let (code, diff) = run(&["fmt", "--stdin", "--check"], text);
    assert!(code == Some(1) && diff.contains("-(ruleset  s"), "{diff}");
    assert_eq!(run(&["fmt", "--stdin", "--check"], FORMATTED.as_bytes()).0, Some(0));
    assert_eq!(run(&["fmt", "--stdin"], b"(").0, Some(2));
    assert_eq!(run(&["fmt", "--stdin"], b"\xff").0, Some(2));
    assert_eq!(run(&["fmt", "--stdin", "rules"], b"").0, Some(2));
}
