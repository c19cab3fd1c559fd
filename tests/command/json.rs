//! Tests the JSON report, and programs that are written and read back.

use crate::common::{OPT, ember, folder, word};
use serde_json::Value;
use std::collections::BTreeSet;

const MODELS: [&str; 4] = ["bag", "bag_mean", "bag_max", "gather"];

fn path(model: &str) -> String {
    format!("tests/models/{model}.sexp")
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

/// Checks that an object has at least the given keys.
fn has(value: &Value, wanted: &[&str]) {
    let found = keys(value);
    let missing: Vec<_> = wanted.iter().filter(|key| !found.contains(**key)).collect();
    assert!(missing.is_empty(), "{missing:?} not in {found:?}");
}

const RECORD: [&str; 8] =
    ["name", "cycles", "energy_j", "dram_bytes", "queue_bytes", "valid", "exactness", "stalls"];

#[test]
fn the_report_is_complete_and_repeats() {
    let words = ["--json", "--tune-seed", "3", "--seed", "5", &path("bag")].map(str::to_owned);
    let [mut first, mut second] = [0, 1].map(|_| {
        let ran = ember(&words);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
        ran.json()
    });
    has(&first, &["model", "target", "seed", "programs", "best", "egraph", "time_ms"]);
    has(&first["time_ms"], &["read", "saturate", "extract", "simulate", "total"]);
    has(&first["egraph"], &["nodes", "classes", "iterations", "stop_reason"]);
    has(&first["best"], &RECORD);
    has(&first["best"], &["bound_cycles", "bound_by", "assumptions", "ablation"]);
    assert_eq!((&first["model"], &first["seed"]), (&Value::from("bag"), &Value::from(5)));
    let programs = first["programs"].as_array().expect("programs");
    for program in programs {
        has(program, &RECORD);
        assert_eq!(program["valid"], true, "{program}");
        assert!(program["cycles"].as_u64() >= first["best"]["bound_cycles"].as_u64(), "{program}");
    }
    let names: Vec<_> = programs.iter().filter_map(|p| p["name"].as_str()).collect();
    let coupled = ["coupled-inorder", "coupled-ooo"];
    assert_eq!(names, [&coupled[..], &OPT, &["search"]].concat());
    for report in [&mut first, &mut second] {
        report.as_object_mut().expect("an object").remove("time_ms");
    }
    assert_eq!(first.to_string(), second.to_string());
}

#[test]
fn programs_read_back_at_every_level() {
    let folder = folder("emit");
    for model in MODELS {
        let model = path(model);
        for schedule in OPT.into_iter().chain(["search"]) {
            let [slc, slcv, dlc] = ["slc", "slcv", "dlc"].map(|level| {
                let file = word(&folder.join(format!("program.{level}")));
                let words = ["--schedule", schedule, "--emit", level, "-o", &file, &model];
                let ran = ember(&words);
                assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "", ""));
                let ran = ember(&["run", "--json", &file, &model]);
                assert_eq!(ran.code, Some(0), "{model} {schedule} {level} {ran:#?}");
                ran.json()
            });
            assert_eq!(
                (&slc["valid"], &slcv["valid"]),
                (&true.into(), &true.into()),
                "{model} {schedule}"
            );
            assert_eq!(slcv["cycles"], dlc["cycles"], "{model} {schedule}");
        }
        let file = word(&folder.join("program.scf"));
        let ran = ember(&["--schedule", "coupled", "--emit", "scf", "-o", &file, &model]);
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        let ran = ember(&["run", "--json", "--core", "in-order", &file, &model]);
        assert_eq!((ran.code, &ran.json()["valid"]), (Some(0), &Value::from(true)), "{ran:#?}");
    }
}

#[test]
fn a_wrong_program_exits_with_1_and_shows_the_first_difference() {
    // The program for the sum of rows is run on the model for their maximum.
    let file = word(&folder("wrong").join("sum.dlc"));
    let ran = ember(&["--schedule", "emb-opt3", "--emit", "dlc", "-o", &file, &path("bag")]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let ran = ember(&["run", "--json", &file, &path("bag_max")]);
    assert_eq!((ran.code, &ran.json()["valid"]), (Some(1), &Value::from(false)), "{ran:#?}");
    assert!(ran.err.contains("element [1, 0] of `out` is "), "{}", ran.err);
}

#[test]
fn a_timeline_is_a_trace() {
    let file = folder("timeline").join("trace.json");
    let model = path("bag");
    let ran = ember(&["--emit", "dlc", "-o", &word(&file.with_extension("dlc")), &model]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let program = word(&file.with_extension("dlc"));
    let ran = ember(&["run", "--timeline", &word(&file), &program, &model]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let trace = std::fs::read_to_string(file).expect("the trace");
    let trace: Value = serde_json::from_str(&trace).expect("JSON");
    let events = trace["traceEvents"].as_array().or(trace.as_array()).expect("events");
    assert!(events.iter().any(|event| event["ph"].is_string()), "{trace}");
}
