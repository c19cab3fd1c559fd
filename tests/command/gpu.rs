//! Tests of our machine beside a GPU: measurements and the analytic model.

use crate::common::{ember, folder, root, word};
use serde_json::Value;
use std::fs;

/// Returns what `bench` says of models beside a GPU.
fn beside(gpu: &str, more: &[&str]) -> Value {
    let ran = ember(&[&["bench", "--json", "--gpu", gpu], more].concat());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:#?}");
    ran.json()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is a number"))
}

#[test]
fn measurements_are_taken_at_as_many_batches_as_there_are_cores() {
    let ran = beside("tests/gpu/small.json", &["examples/kg_scorer.sexp", "--scale", "0.1"]);
    let row = &ran["workloads"][0]["gpus"][0];
    let core = number(&row["core_seconds"]);
    // 187.5 GB/s are ten shares of 18.75: a batch of 0.1 times 10. Time doubles with each four times of the batch.
    let at = &row["equal_bandwidth"];
    assert!((number(&at["cores"]) - 10.0).abs() < 1e-9, "{at}");
    assert!((number(&at["gpu_seconds"]) / (4e-4 * 2f64.sqrt()) - 1.0).abs() < 1e-9, "{at}");
    assert!((number(&at["speed"]) * core / number(&at["gpu_seconds"]) - 1.0).abs() < 1e-9, "{at}");
    // 64 W are twenty cores of 3.2 W.
    let at = &row["equal_power"];
    assert!((number(&at["cores"]) - 20.0).abs() < 1e-9, "{at}");
    assert!((number(&at["gpu_seconds"]) / 8e-4 - 1.0).abs() < 1e-9, "{at}");
    let per_watt = number(&at["speed_per_watt"]);
    assert!((per_watt / number(&at["speed"]) - 1.0).abs() < 1e-9, "at equal power: {at}");
    assert_eq!(ran["gpus"][0]["times"], "measurements");
    assert_eq!(number(&ran["gpus"][0]["published"]["speed_per_watt"]), 6.4);
    // The description of the same name is compared with both measurements.
    assert_eq!(row["modelled"].as_array().map(Vec::len), Some(2), "{row}");
    assert_eq!(ran["gpus"][0]["model_error"]["points"], 2);
}

#[test]
fn a_description_gives_times_that_grow_with_the_batch_and_fall_with_bandwidth() {
    let text = fs::read_to_string(root().join("targets/gpu/t4.toml")).expect("a description");
    let twice = folder("gpu").join("twice.toml");
    fs::write(&twice, text.replace("gb_per_s = { value = 320", "gb_per_s = { value = 640"))
        .expect("is written");
    let words = ["examples/kg_scorer.sexp", "--scale", "0.1,0.2"];
    let (once, twice) = (beside("t4", &words), beside(&word(&twice), &words));
    let times = |ran: &Value| {
        let rows = ran["workloads"].as_array().expect("rows").clone();
        rows.iter()
            .map(|row| number(&row["gpus"][0]["equal_power"]["gpu_seconds"]))
            .collect::<Vec<_>>()
    };
    let (slow, fast) = (times(&once), times(&twice));
    assert!(slow[1] > slow[0] && fast[0] <= slow[0] && fast[1] <= slow[1], "{slow:?} {fast:?}");
    assert_eq!(once["workloads"][1]["workload"], "kg_scorer x 0.2");
    assert_eq!(once["gpus"][0]["times"], "analytic model");
}

#[test]
fn the_text_has_both_tables_the_claim_and_what_is_assumed_in_80_columns() {
    let words = ["bench", "examples/kg_scorer.sexp", "--scale", "0.1"];
    let ran = ember(&[&words[..], &["--gpu", "h200", "--gpu", "t4"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let parts = ["At equal bandwidth", "At equal power", "Published: 2.6 times", "Assumed:"];
    assert!(parts.iter().all(|part| ran.out.contains(part)), "{}", ran.out);
    let times = |part: &str| ran.out.matches(part).count();
    assert_eq!((times("At equal power"), times("Published:"), times("- Power is")), (2, 1, 1));
    let wide: Vec<&str> = ran.out.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}
