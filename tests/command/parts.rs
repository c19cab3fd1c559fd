//! Tests that the parts of a command's work are the whole.

use crate::common::ember;
use serde_json::{Value, json};

/// Runs a command as a whole and in three parts, and returns the lists of a member: of the whole, and of the parts one
/// after another.
fn lists(words: &[&str], member: &str) -> (Vec<Value>, Vec<Value>) {
    let list = |part: &str| {
        let ran = ember(&[words, &["--json", "--part", part]].concat());
        let result = ran.json();
        result[member].as_array().unwrap_or_else(|| panic!("{ran:#?}")).clone()
    };
    (list("1/1"), ["1/3", "2/3", "3/3"].into_iter().flat_map(list).collect())
}

#[test]
fn rules_are_verified_in_parts() {
    let words = ["verify", "rules", "--filter", "^(vec-s|scf.a)", "--instances", "3"];
    for member in ["rules", "operators"] {
        let (mut whole, mut parts) = lists(&words, member);
        for rule in whole.iter_mut().chain(&mut parts) {
            rule.as_object_mut().expect("an object").remove("time_ms");
        }
        assert!(whole.len() > 1 && whole == parts, "{whole:#?}\n{parts:#?}");
    }
}

#[test]
fn workloads_run_in_parts() {
    let words = ["bench", "--filter", "^KG_", "--scale", "0.01", "--candidates", "1"];
    let (whole, parts) = lists(&words, "workloads");
    assert!(whole.len() > 1 && whole == parts, "{whole:#?}\n{parts:#?}");
}

#[test]
fn random_programs_are_tried_in_parts() {
    let words = ["self-test", "--pairs", "20", "--programs", "5", "--models", "0", "--json"];
    let run = |part: &str| ember(&[&words[..], &["--part", part]].concat()).json();
    let (whole, parts) = (run("1/1"), ["1/2", "2/2"].map(run));
    for counts in [["pairs", "equal"], ["pairs", "mutants"], ["programs", ""]] {
        let at = |result: &Value| match counts {
            [member, ""] => result[member].clone(),
            [member, inner] => result[member][inner].clone(),
        };
        let [first, second] = parts.each_ref().map(at);
        for (name, count) in at(&whole).as_object().expect("counts") {
            let sum = first[name].as_u64().zip(second[name].as_u64()).map(|(a, b)| a + b);
            assert_eq!(json!(sum), *count, "{counts:?} {name}");
        }
    }
}
