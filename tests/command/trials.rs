//! Trials of random models by the command: every operation over every other that fits, in every schedule; and the bound
//! of models of which rules prove parts unnecessary.

use crate::common::ember;
use crate::samples::samples;
use std::path::Path;

/// The least number of models, the first ones of `ember-rewrite self-test --models 200 --pairs 1 --programs 1 --seed 2`.
const MODELS: usize = 20;

#[test]
fn random_models_keep_what_is_promised_of_them() {
    let models = samples(MODELS).to_string();
    let others = ["--pairs", "1", "--programs", "1", "--seed", "2"];
    let ran = ember(&[&["self-test", "--models", &models], &others[..]].concat());
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
}

#[test]
fn the_bound_asks_for_nothing_that_rules_prove_unnecessary() {
    let expressions = [
        "(nn.sub m m)",
        "(nn.sub (nn.row_sum m) (nn.row_sum m))",
        "(nn.relu (nn.sub (emb.gather m i) (emb.gather m i)))",
        "(nn.sub (nn.exp (nn.sigmoid t)) (nn.exp (nn.sigmoid t)))",
    ];
    for (at, expression) in expressions.iter().enumerate() {
        let inputs = [
            ("m", "(input m i64 (r 16))", "(m (uniform -9 9))"),
            ("t", "(input t f64 (r 16))", "(t (uniform -1 1))"),
            ("i", "(input i i64 (l))", "(size l 40) (i (zipf 0))"),
        ];
        let used = inputs.iter().filter(|(name, ..)| expression.contains(&format!(" {name}")));
        let (declared, data): (Vec<&str>, Vec<&str>) =
            used.map(|(_, input, data)| (*input, *data)).unzip();
        let (declared, data) = (declared.concat(), data.concat());
        let model = format!(
            "(model m {declared} (output o {expression}) (data (seed 1) (size r 64) {data}))"
        );
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("spared_{at}.sexp"));
        std::fs::write(&path, &model).expect("written");
        let ran = ember(&["--json", &path.display().to_string()]);
        let report: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
        let best = &report["best"];
        let (bound, cycles) = (best["bound_cycles"].as_u64(), best["cycles"].as_u64());
        assert!(cycles.is_some() && bound <= cycles, "{bound:?} > {cycles:?} of {model}");
    }
}
