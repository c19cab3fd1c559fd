//! Tests that graph networks over edge lists are compiled like the same models written by hand on sorted edges: within
//! 2 % of their cycles apart from the sort, with PyTorch's outputs.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Imports beside models that are written by hand.
const PAIRS: [(&str, &str); 8] = [
    ("edges_gcn", "gcn"),
    ("edges_sage", "sage"),
    ("edges_max", "max"),
    ("edges_gat", "gat"),
    ("edges_gat_plain", "gat"),
    ("known_gcn", "gcn"),
    ("known_sage", "sage"),
    ("known_gat", "gat"),
];

fn imports() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/imports")
}

/// Compiles a model, and returns the report.
fn report(model: &Path, arrays: Option<&Path>, expected: &Path) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ember-rewrite"));
    command.arg(model).args(["--json", "--no-ablation", "--tolerance", "0,1e-5"]);
    command.arg("--expect").arg(expected);
    // A refresh takes 600 cycles, and a run of 8,000 may meet one more than another that does the same.
    command.arg("--target").arg(imports().join("without_refresh.toml"));
    if let Some(arrays) = arrays {
        command.arg("--inputs").arg(arrays);
    }
    let done = command.output().expect("the command starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    serde_json::from_slice(&done.stdout).expect("a report")
}

/// Returns the cycles of the best program, whose outputs are right.
fn cycles(report: &Value) -> f64 {
    let best = &report["best"];
    assert_eq!(best["valid"], true, "{best}");
    let expected = report["expected"].as_array().into_iter().flatten();
    expected.for_each(|output| assert_eq!(output["within"], true, "{output}"));
    best["cycles"].as_f64().expect("a number")
}

#[test]
fn edge_lists_take_the_cycles_of_sorted_edges() {
    for (name, hand) in PAIRS {
        let arrays = imports().join(format!("{name}.safetensors"));
        let imported = report(&imports().join(format!("{name}.pt2")), Some(&arrays), &arrays);
        let expected = imports().join(format!("edges_{hand}.safetensors"));
        let hand = report(&imports().join(format!("hand/{hand}.sexp")), None, &expected);
        let (imported_cycles, hand_cycles) = (cycles(&imported), cycles(&hand));
        assert!(imported_cycles <= 1.02 * hand_cycles, "{name}: {imported_cycles} {hand_cycles}");
        let prepared = imported["preparation"].as_array().map_or(0, Vec::len);
        // Of known edges, only weights that are arguments are sorted by a program.
        let is_known = name.starts_with("known");
        let sorted = if is_known { usize::from(name == "known_gcn") } else { 2 };
        assert!(prepared >= sorted && (!is_known || prepared == sorted), "{name}: {prepared}");
    }
}
