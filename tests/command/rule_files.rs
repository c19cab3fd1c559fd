//! Tests the commands `check` and `test`: their output for rule files and cases, and their exit codes.

use crate::common::{ember, folder, root, word};
use std::fs;

const RULES: &str = "(dialect d \"a small dialect\" (sort Value \"a value\")
  (op f (Value Value) Value \"f\" :commutes) (op a () Value \"a\") (op b () Value \"b\"))
(ruleset s \"a small set\")
(rule r \"f x x = x\" (f ?x ?x) => ?x :test ((f a a) a) :counter-test (f a b))
";

const CASES: &str = "(case right (rules s) (input (f b b)) (expect b) (refuse a))
(case wrong (rules s) (input (f b (f a a))) (expect (f a a)))
";

#[test]
fn check_tells_right_from_odd_from_wrong_from_unreadable() {
    let folder = folder("check");
    let odd = folder.join("odd.rules");
    fs::write(&odd, format!("{RULES}(rule t \"a case of r\" (f a a) => a)")).expect("is written");
    let wrong = folder.join("wrong.rules");
    fs::write(&wrong, "; é 漢 𝄞\n(ruleset a \"𝄞 x\" :phase lowre)").expect("is written");
    let code = |words: &[&str]| ember(words).code;
    assert_eq!(code(&["check", "rules"]), Some(0));
    assert_eq!(code(&["check", "--deny-warnings", "rules"]), Some(0));
    assert_eq!(code(&["check", &word(&odd)]), Some(0));
    assert_eq!(code(&["check", "--deny-warnings", &word(&odd)]), Some(1));
    assert_eq!(code(&["check", &word(&wrong)]), Some(1));
    assert_eq!(code(&["check", "no-such-folder"]), Some(2));

    let json = ember(&["check", "--json", &word(&wrong)]).json();
    let (uri, found) = json.as_object().and_then(|files| files.iter().next()).expect("a file");
    assert!(uri.starts_with("file:///") && uri.ends_with("/wrong.rules"), "{uri}");
    let found = &found[0];
    assert_eq!(found["code"], "unknown-phase");
    assert_eq!((&found["severity"], &found["source"]), (&1.into(), &"ember-rewrite".into()));
    // Characters count in UTF-16 units, and the clef takes two.
    let start = &found["range"]["start"];
    assert_eq!((&start["line"], &start["character"]), (&1.into(), &25.into()));
    let text = found["message"].as_str().expect("a message");
    assert!(text.contains("unknown phase `lowre`") && text.contains("did you mean `lower`?"));
}

#[test]
fn tests_and_cases_pass_or_fail_and_are_written_anew() {
    let folder = folder("test");
    let (rules, cases) = (folder.join("s.rules"), folder.join("s.case"));
    fs::write(&rules, RULES).expect("is written");
    fs::write(&cases, CASES).expect("is written");
    let folder = word(&folder);

    let ran = ember(&["test", &folder]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.ends_with("3 passed, 1 failed\n"), "{}", ran.out);
    assert!(ran.out.contains("-(f a a)\n+(f b a)\n"), "{}", ran.out);
    assert!(ran.err.contains("case `wrong` fails"), "{}", ran.err);

    let ran = ember(&["test", "--json", &folder]);
    let json = ran.json();
    assert_eq!((ran.code, &json["passed"], &json["failed"]), (Some(1), &3.into(), &1.into()));
    assert_eq!(json["tests"].as_array().map(Vec::len), Some(4));

    assert_eq!(ember(&["test", "--filter", "^right$", &folder]).code, Some(0));
    assert_eq!(ember(&["test", "--filter", "none", &folder]).code, Some(2));
    // The rules of the other path are not tested themselves.
    let ran = ember(&["test", "--rules", &word(&rules), "--filter", "right", &word(&cases)]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "1 passed, 0 failed\n"));

    let ran = ember(&["test", "--bless", &folder]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "3 passed, 0 failed, 1 written anew\n"));
    let ran = ember(&["test", &folder]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "4 passed, 0 failed\n"));
    let written = fs::read_to_string(&cases).expect("a text");
    let (first, _) = CASES.split_once('\n').expect("two lines");
    assert!(written.starts_with(first), "what was right stays: {written}");
    assert!(!written.contains("(expect (f a a))"), "{written}");
}

#[test]
fn the_cases_of_the_project_s_rules_pass() {
    let ran = ember(&["test", "rules", "rules/equiv"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);
}

#[test]
fn the_cases_of_other_fields_pass() {
    let files = fs::read_dir(root().join("rules/extra")).expect("a folder");
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "case"));
    assert!(files.len() >= 2, "{files:?}");
    for cases in files {
        let ran = ember(&["test", &word(&cases.with_extension("rules")), &word(&cases)]);
        assert_eq!(ran.code, Some(0), "{cases:?}: {}", ran.out);
    }
    // Integration by parts can grow without end; the other files have no warnings.
    for name in ["lambda", "prop"] {
        let rules = word(&root().join(format!("rules/extra/{name}.rules")));
        let ran = ember(&["check", "--deny-warnings", &rules]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);
    }
}

/// Checks the errors of invalid cases.
#[test]
fn what_is_wrong_with_a_case_is_said() {
    let folder = folder("cases");
    let (rules, cases) = (folder.join("s.rules"), folder.join("s.case"));
    let schedule = "(schedule t \"x\" (keep 1)) (schedule u \"x\" (until a (saturate s)))";
    fs::write(&rules, format!("{RULES}{schedule}")).expect("is written");
    for (text, message) in [
        ("case", "expected a case"),
        ("(case)", "expected a case"),
        ("(case (x))", "expected the name of the case"),
        ("(case x y)", "expected a part of a case"),
        ("(case x (inptu a))", "unknown part of a case `inptu`"),
        ("(case x (input a) (input b))", "`input` stands twice"),
        ("(case x (input))", "`input` has the wrong shape"),
        ("(case x (input a) (expect a))", "which rules run is not clear"),
        ("(case x (rules s) (schedule u) (input a))", "which rules run is not clear"),
        ("(case x (rules s))", "the input is missing"),
        ("(case x (rules t) (input a))", "unknown rule set `t`"),
        ("(case x (schedule s) (input a))", "unknown schedule `s`"),
        ("(case x (rules s) (nodes 0) (input a))", "`nodes` has the wrong shape"),
        ("(case x (rules s) (nodes 1000001) (input a))", "`nodes` has the wrong shape"),
        ("(case x (schedule t) (input a))", "a case cannot run `t`"),
        ("(case x (schedule u) (input (g a)))", "unknown operator `g`"),
        ("(case x (schedule u) (input a) (expect (?some a)))", "unknown sketch `?some`"),
        ("(case x (rules s) (model x) (input a))", "expected the path of a model"),
        ("(case x (rules s) (model \"x\" y) (input a))", "`model` has the wrong shape"),
        ("(case x (rules s) (model \"x\") (input a))", "cannot read the model `x`"),
        ("(case x (rules s) (input a)) (case x (rules s) (input a))", "case `x` stands twice"),
    ] {
        fs::write(&cases, text).expect("is written");
        let ran = ember(&["test", &word(&folder)]);
        assert_eq!(ran.code, Some(2), "{text}");
        assert!(ran.err.contains(&format!("error: {message}")), "{text}: {}", ran.err);
    }
    fs::write(&cases, "(case x (schedule u) (input (f a a)) (expect a))").expect("is written");
    assert_eq!(ember(&["test", &word(&folder)]).code, Some(0));
}
