//! Tests of the file of a fit's runs: the result is the same whatever happens while the fit runs, and nothing else is
//! continued.

use crate::common::{Ran, ember, folder, root, word};
use ember_targets::machine::{Machine, TMU_CPU};
use std::fs;
use std::path::Path;

fn calibrate(output: &Path, more: &[&str]) -> Ran {
    let output = word(output);
    ember(
        &[&["calibrate", "tests/cases/calibrate/small.toml", "--json", "-o", &output], more]
            .concat(),
    )
}

#[test]
fn a_fit_that_was_interrupted_ends_like_one_that_was_not() {
    let folder = folder("calibrate-interrupted");
    let file = folder.join("fit.jsonl");
    let whole = calibrate(&file, &[]);
    assert_eq!((whole.code, whole.err.as_str()), (Some(0), ""));
    let bytes = fs::read(&file).expect("the file");
    let half = bytes.len() / 2;
    for length in [0, 5, half, bytes.len() - 1, bytes.len()] {
        fs::write(&file, &bytes[..length]).expect("is written");
        let ran = calibrate(&file, &[]);
        assert_eq!((ran.code, &ran.out), (Some(0), &whole.out), "after {length} bytes");
        assert!(fs::read(&file).expect("the file") == bytes, "after {length} bytes");
    }
}

#[test]
fn the_best_fit_is_the_least_of_all_evaluations_and_the_interval_has_every_fit() {
    let ran = calibrate(&folder("calibrate-least").join("fit.jsonl"), &[]).json();
    let evaluations = ran["evaluations"].as_array().expect("evaluations");
    assert!(evaluations.len() > 6, "four for all, one without each of two families, and ends");
    let rms = |at: usize| evaluations[at]["rms"].as_f64().expect("a number");
    let best = ran["best"].as_u64().expect("a number") as usize - 1;
    for (at, own) in evaluations.iter().enumerate() {
        assert!(rms(best) <= rms(at));
        assert_eq!(own["as_good"], rms(at) <= 1.05 * rms(best), "{own}");
    }
    // The first point is the machine as it is described.
    let first = evaluations[0]["point"]["access.traversal_cycles"].as_f64();
    assert_eq!(first, ran["parameters"][0]["now"].as_f64());
    for headline in ran["headline"].as_array().expect("headlines") {
        let [least, most] =
            [0, 1].map(|at| headline["percent_of_paper"][at].as_f64().expect("one"));
        for fit in headline["fits"].as_array().expect("fits") {
            let own = fit["percent_of_paper"].as_f64().expect("a number");
            assert!((least..=most).contains(&own));
        }
    }
}

#[test]
fn the_fit_of_the_published_machine_has_the_ranges_of_its_description() {
    let text = fs::read_to_string(root().join("workloads/calibrate.toml")).expect("a fit");
    let fit: toml::Table = text.parse().expect("TOML");
    let parameters = fit["parameter"].as_array().expect("parameters");
    let fitted = parameters.iter().map(|own| {
        let bound = |at: usize| own["range"][at].as_integer().expect("a number") as f64;
        (own["name"].as_str().expect("a name").to_owned(), [bound(0), bound(1)])
    });
    let machine = Machine::parse(TMU_CPU).expect("a machine");
    let described = machine
        .figures
        .iter()
        .filter_map(|own| Some((format!("{}.{}", own.section, own.key), own.calibrated?)));
    assert_eq!(fitted.collect::<Vec<_>>(), described.collect::<Vec<_>>());
}

#[test]
fn runs_of_other_inputs_are_not_continued_or_written_over() {
    let folder = folder("calibrate-foreign");
    let file = folder.join("fit.jsonl");
    let refused = |reason: &str| {
        let ran = calibrate(&file, &[]);
        assert_eq!(ran.code, Some(2));
        assert!(ran.err.contains(reason) || ran.out.contains(reason), "{}{}", ran.out, ran.err);
    };
    fs::write(&file, "a diary\n").expect("is written");
    refused("is no file of a calibration's results");
    let other = folder.join("other.toml");
    let cases = root().join("tests/cases/calibrate");
    let text = fs::read_to_string(cases.join("key.toml")).expect("a fit");
    let text = text.replace("traversal_cycle\"", "traversal_cycles\"");
    fs::write(&other, text.replace("../../models", &word(&root().join("tests/models"))))
        .expect("is written");
    fs::copy(cases.join("figures.json"), folder.join("figures.json")).expect("a copy");
    fs::remove_file(&file).expect("is removed");
    let ran = ember(&["calibrate", &word(&other), "-o", &word(&file)]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    refused("holds results of other inputs");
}
