//! Tests the command `verify`: its table, its exit codes, and its report of a wrong rule.
//!
//! Only a few rules are verified here: `tests/soundness.rs` and `tests/verify.rs` verify all of them.

use crate::common::ember;

#[test]
fn right_rules_pass_and_the_summary_names_the_solver_or_its_absence() {
    let ran = ember(&["verify", "rules", "--filter", "^vec-s", "--instances", "200"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);
    let skipped = "No solver is installed (z3 or cvc5), so tier 3 was skipped.";
    let (row, summary) = ran.out.trim_end().rsplit_once('\n').expect("a table and a summary");
    assert!(row.contains("vec-store") && summary.contains("Wrong: 0."), "{}", ran.out);
    assert_ne!(summary.contains(skipped), summary.contains("Tier 3 by "), "{summary}");
}

#[test]
fn a_wrong_rule_is_shown_with_a_case_and_exits_with_1() {
    let rule = "tests/unsound/sub-commutes.rules";
    let ran = ember(&["verify", "rules", rule, "--filter", "^sub-commutes$"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains("WRONG") && ran.out.contains("Wrong: 1."), "{}", ran.out);
    for said in ["rule `sub-commutes` is wrong", "--seed 1 --filter '^sub-commutes$'"] {
        assert!(ran.err.contains(said), "{}", ran.err);
    }
}

#[test]
fn a_filter_that_fits_no_rule_is_an_error() {
    assert_eq!(ember(&["verify", "rules", "--filter", "^no-such-rule$"]).code, Some(2));
    assert_eq!(ember(&["verify", "rules", "--filter", "("]).code, Some(2));
}
