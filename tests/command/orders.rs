//! The loop orders of `examples/orders`: for each of its eleven products, the program of the search beside the best
//! program of every order.

use crate::common::{ember, folder, root, word};
use itertools::Itertools;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// How much slower than the fastest order the program of the search may be.
const LIMIT: f64 = 1.02;

/// The cycles of one model by schedule.
type Cycles = BTreeMap<String, f64>;

/// Copies the sweep with a quarter of the rows and entries: the documented command runs on all of them.
fn quartered() -> PathBuf {
    let to = folder("orders");
    let files = fs::read_dir(root().join("examples/orders")).expect("a folder");
    for file in files.map(|file| file.expect("an entry").path()).filter(|path| path.is_file()) {
        let text = fs::read_to_string(&file).expect("a text");
        let text = text.replace(" 2000)", " 500)").replace(" 10000)", " 2500)");
        fs::write(to.join(file.file_name().expect("a name")), text).expect("is written");
    }
    to
}

/// Returns the cycles of every point of the sweep that has a program, by model and schedule.
fn measured() -> BTreeMap<String, Cycles> {
    let folder = quartered();
    let (sweep, file) = (folder.join("orders.toml"), folder.join("orders.sqlite"));
    let ran = ember(&["sweep", &word(&sweep), "-o", &word(&file), "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let json = ran.json();
    let points = json["points"].as_array().expect("points");
    let text = |point: &Value, key: &str| point[key].as_str().expect("a text").to_owned();
    let ended = points.iter().filter_map(|point| {
        let cycles = point["cycles"].as_f64()?;
        assert_eq!(point["valid"], true, "{point}");
        Some((text(point, "model"), (text(point, "schedule"), cycles)))
    });
    let by_model = ended.into_group_map().into_iter();
    by_model.map(|(model, own)| (model, own.into_iter().collect())).collect()
}

#[test]
fn the_search_finds_the_fastest_loop_order() {
    let models = measured();
    assert_eq!(models.len(), 11, "{models:?}");
    for (model, cycles) in &models {
        let chosen = cycles["search"];
        let orders = cycles.iter().filter(|(schedule, _)| *schedule != "search").collect_vec();
        let least = orders.iter().map(|(_, cycles)| **cycles).fold(f64::INFINITY, f64::min);
        println!("{model}: {chosen} of the search, {orders:?}");
        assert!(orders.len() > 1, "{model}: {orders:?}");
        assert!(chosen <= LIMIT * least, "{model}: {chosen} of the search, {orders:?}");
    }
    let sampled = &models["sddmm_csr.sexp"];
    assert!(sampled["search"] <= LIMIT * sampled["ijk"], "{sampled:?}");
    assert!(sampled["ikj"] > 3.0 * sampled["ijk"], "{sampled:?}");
}

/// A list of entries may be used as it is, or sorted into rows before the program runs. For one run over rows of 32
/// elements the sort takes more than it saves, for one over rows of 128 less.
#[test]
fn entries_are_worth_sorting_for_wide_rows() {
    let cycles = |model: &str| {
        let path = format!("examples/orders/formats/{model}.sexp");
        let ran = ember(&[&path, "--exact", "reassoc", "--no-ablation", "--json"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let json = ran.json();
        let prepared = json["preparation"].as_array().into_iter().flatten();
        let sort: u64 = prepared.filter_map(|own| own["cycles"].as_u64()).sum();
        let best = json["best"]["cycles"].as_u64().expect("a number");
        println!("{model}: {best} cycles, {sort} for the sort");
        best + sort
    };
    assert!(cycles("list_32") < cycles("sorted_32"));
    assert!(cycles("list_128") > cycles("sorted_128"));
}

/// The program itself sorts a list of entries where that takes less time than to look up a row for each: in scratch memory
/// for the order of the entries, and for where those of each row begin.
#[test]
fn entries_of_wide_rows_are_sorted_by_the_program() {
    let scratch = |model: &str| {
        let path = format!("examples/orders/formats/{model}.sexp");
        let ran = ember(&[&path, "--exact", "reassoc", "--emit", "dlc"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let scratch = ["(tensor_out out.1 i64 (entries))", "(tensor_out out.2 i64 (nodes+1))"];
        scratch.map(|tensor| ran.out.contains(tensor))
    };
    assert_eq!(scratch("list_128"), [true, true]);
    assert_eq!(scratch("list_32"), [false, false]);
}
