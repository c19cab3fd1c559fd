//! Tests that what `--json` prints is as the schema in the book says, for every command.

use crate::common::{ember, folder, root, word};
use serde_json::{Value, json};

/// Returns the mistakes of a result of a kind, by the definition of the kind.
fn mistakes(kind: &str, result: &Value) -> Vec<String> {
    let text = std::fs::read_to_string(root().join("docs/src/output.schema.json")).expect("a file");
    let mut schema: Value = serde_json::from_str(&text).expect("JSON");
    // The alternatives of the schema would hide which member of this one is wrong.
    schema.as_object_mut().expect("an object").remove("anyOf");
    schema["$ref"] = json!(format!("#/$defs/{kind}"));
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    validator
        .iter_errors(result)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

#[test]
fn what_every_command_prints_is_as_the_schema_says() {
    let certificate = word(&folder("schema").join("a.cert"));
    let pair = "tests/cases/equiv/commuted.pair";
    let different = "tests/cases/equiv/wrong_remainder.pair";
    let sum = "tests/cases/explain/sum.sexp";
    let product = "tests/cases/explain/product.sexp";
    let calculus = "tests/cases/why-not/calculus.rules";
    let swept = word(&folder("schema-sweep").join("a.sqlite"));
    let fitted = word(&folder("schema-calibrate").join("a.jsonl"));
    let tuned = word(&folder("schema-tune").join("a.jsonl"));
    let tune = ["tune", "--space", "tests/cases/tune/ok.space", "-o", &tuned, "--command"];
    let bag = "tests/models/bag.sexp";
    for (kind, words) in [
        ("main-job", vec![bag, "--trace"]),
        ("main-job", vec!["tests/models/composed.sexp"]),
        ("run", vec!["run", "programs/bag_sum_paper.dlc", "examples/bags/32_low.sexp"]),
        ("bench", vec!["bench", "--filter", "^KG_biokg$", "--scale", "0.1"]),
        ("cores", vec!["cores", bag, "--cores", "2"]),
        ("sweep", vec!["sweep", "tests/cases/sweep/refused.toml", "-o", &swept]),
        ("calibrate", vec!["calibrate", "tests/cases/calibrate/small.toml", "-o", &fitted]),
        ("tune", [&tune[..], &["[ $TUNE_tile != 2 ] && echo 1"]].concat()),
        ("test", vec!["test", "examples/rules/algebra.rules", "examples/rules/algebra.case"]),
        ("verify", vec!["verify", "rules", "--filter", "^vec-store$"]),
        ("verify-mutants", vec!["verify", "rules", "--filter", "^vec-store$", "--mutants"]),
        ("equiv", vec!["equiv", pair, "--certificate", &certificate]),
        ("equiv", vec!["equiv", different]),
        ("check-certificate", vec!["check-certificate", &certificate]),
        ("self-test", vec!["self-test", "--pairs", "5", "--programs", "2", "--models", "1"]),
        (
            "saturate",
            vec!["saturate", "--rules", "rules/extra/math.rules", "examples/terms/calculus.sexp"],
        ),
        ("extract", vec!["extract", "examples/egraphs/shared.json"]),
        ("explain", vec!["explain", "tests/models/gather.sexp"]),
        ("explain-terms", vec!["explain", "--terms", sum, product, "--rules", calculus]),
        ("why-not", vec!["why-not", "vec-store", "tests/models/gather.sexp"]),
        ("errors", vec!["no-such-model.sexp"]),
        ("errors", vec!["tests/cases/fail/read_open_inside.sexp"]),
    ] {
        let ran = ember(&[&words[..], &["--json"]].concat());
        let found = mistakes(kind, &ran.json());
        assert!(found.is_empty(), "{words:?}: {found:#?}\n{}", ran.err);
    }
}

#[test]
fn a_result_of_another_form_is_refused() {
    assert!(!mistakes("run", &json!({ "schema_version": 1, "errors": [] })).is_empty());
    assert!(!mistakes("why-not", &json!({ "schema_version": 2 })).is_empty());
}
