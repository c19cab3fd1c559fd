//! Compares the tuner with exhaustive search on the parameters that rules leave open: `cargo bench --bench parameters [--
//! CASE …]`. Workloads are simulated, and kernels run on this machine.
//!
//! `ember-rewrite tune MODEL --method exhaustive` evaluates every point. The tuner then searches these results from 30
//! seeds with a quarter of the evaluations. Kernels are measured twice: what is found in the first results is judged by
//! the second, so that luck in a measurement is no merit.

#[path = "native/cases.rs"]
#[expect(dead_code, reason = "only the models of some cases are needed")]
mod cases;

use cases::cases;
use ember_language::diagnostic::Sources;
use ember_tune::{Evaluation, Method, Point, Space, propose};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, process};

/// The seeds of the search, of which the median counts.
const SEEDS: u64 = 30;

/// The points for each evaluation of the tuner.
const SHARE: usize = 4;

/// The workloads, with the parameters that are tuned.
const SIMULATED: [&str; 3] =
    ["examples/bag_weighted.sexp", "examples/bag_max.sexp", "examples/gather.sexp"];
const OF_SIMULATED: [&str; 3] = ["tile", "lanes", "kept"];

/// The kernels by the starts of their names.
const MEASURED: [&str; 3] = ["bag, 1M x 64", "bytes, 1M x 64", "spmm"];
const OF_MEASURED: [&str; 3] = ["distance", "again", "lanes"];

/// The greatest medians of the ratio to the best.
const BARS: (f64, f64) = (1.02, 1.03);

/// The results of all points.
type Results = Vec<(Point, Option<f64>)>;

fn main() {
    // `cargo test --benches` builds and starts benches too, but needs no measurements.
    if !env::args().any(|arg| arg == "--bench") {
        return;
    }
    let only: Vec<String> = env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let wanted = |name: &str| only.is_empty() || only.iter().any(|own| name.contains(own));
    let folder = env::temp_dir().join(format!("ember-parameters-{}", process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    println!(
        "{:<34} {:>7} {:>12} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "case", "points", "evaluations", "defaults", "best", "median", "9 of 10", "random"
    );
    let mut missed = 0;
    for model in SIMULATED.into_iter().filter(|model| wanted(model)) {
        let target = ["--target", ember_targets::machine::DEFAULT];
        let run = Run { model: Path::new(model).to_owned(), target, of: &OF_SIMULATED };
        missed += usize::from(compared(model, &run, 1, BARS.0, &folder));
    }
    for case in cases().into_iter().filter(|case| wanted(case.name)) {
        if MEASURED.iter().any(|start| case.name.starts_with(start)) {
            let model = folder.join("measured.sexp");
            fs::write(&model, &case.model).expect("is written");
            let run = Run { model, target: ["--target", "cpu"], of: &OF_MEASURED };
            missed += usize::from(compared(case.name, &run, 2, BARS.1, &folder));
        }
    }
    let _ = fs::remove_dir_all(&folder);
    let (simulated, measured) = BARS;
    let verdict = if missed == 0 { "holds".to_owned() } else { format!("MISSED {missed} times") };
    println!(
        "median of {SEEDS} seeds within {simulated} of the best, {measured} of kernels: {verdict}"
    );
}

/// A model whose parameters are tuned.
struct Run<'a> {
    model: PathBuf,
    target: [&'a str; 2],
    of: &'a [&'a str],
}

impl Run<'_> {
    /// Runs `tune` with further arguments, and returns what it prints.
    fn tune(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ember-rewrite"));
        command.arg("tune").arg(&self.model).args(self.target);
        command.args(self.of.iter().flat_map(|name| ["--parameter", name]));
        let output = command.args(arguments).output().expect("is run");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {errors}", self.model.display());
        String::from_utf8(output.stdout).expect("text")
    }

    fn space(&self) -> Space {
        let mut sources = Sources::default();
        let file = sources.add("space.json", self.tune(&["--print-space"]));
        ember_tune::read(&sources, file).expect("a space")
    }

    /// Evaluates every point, and returns the results, and that of the defaults.
    fn all(&self, space: &Space, folder: &Path) -> (Results, f64) {
        let store = folder.join("results.jsonl").display().to_string();
        let printed = self.tune(&["--method", "exhaustive", "-o", &store, "--restart", "--json"]);
        let report: Value = serde_json::from_str(&printed).expect("JSON");
        let of = |own: &Value| {
            let point = space.point(own["point"].as_object()?)?;
            Some((point, own["value"].as_f64()))
        };
        let evaluations = report["evaluations"].as_array().expect("evaluations");
        let results: Option<Results> = evaluations.iter().map(of).collect();
        (results.expect("points"), report["default"].as_f64().unwrap_or(f64::NAN))
    }
}

/// Prints how far from the best the tuner's choices are, and returns true if that is too far.
fn compared(name: &str, run: &Run<'_>, times: usize, bar: f64, folder: &Path) -> bool {
    let space = run.space();
    let measured: Vec<(Results, f64)> = (0..times).map(|_| run.all(&space, folder)).collect();
    let ((first, default), judge) = (&measured[0], &measured[times - 1].0);
    let budget = first.len() / SHARE;
    let best = best(first.iter().map(|(point, value)| (point, *value))).expect("a result");
    let least = value(judge, &best).expect("a result");
    let ratios = |method| -> Vec<f64> {
        let search = |seed: u64| {
            let chosen = searched(&space, method, seed, budget, first);
            chosen.and_then(|point| value(judge, &point)).map_or(f64::INFINITY, |own| own / least)
        };
        let mut ratios: Vec<f64> = (0..SEEDS).into_par_iter().map(search).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    };
    let of = |ratios: &[f64], share: usize| ratios[(ratios.len() - 1) * share / 10];
    let (tuned, random) = (ratios(Method::Bayesian), ratios(Method::Random));
    let median = of(&tuned, 5);
    println!(
        "{name:<34} {:>7} {budget:>12} {:>9.3} {least:>9.4} {median:>9.3} {:>9.3} {:>9.3}",
        first.len(),
        default / least,
        of(&tuned, 9),
        of(&random, 5)
    );
    median > bar
}

/// Searches known results, and returns the best point that is found.
fn searched(
    space: &Space,
    method: Method,
    seed: u64,
    budget: usize,
    results: &Results,
) -> Option<Point> {
    let mut history: Vec<Evaluation> = Vec::new();
    while history.len() < budget
        && let Some(point) = propose(space, method, seed, &history)
    {
        let value = value(results, &point);
        history.push(Evaluation { point, value });
    }
    best(history.iter().map(|known| (&known.point, known.value)))
}

fn best<'a>(results: impl Iterator<Item = (&'a Point, Option<f64>)>) -> Option<Point> {
    let valued = results.filter_map(|(point, value)| Some((point, value?)));
    valued.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(point, _)| point.clone())
}

fn value(results: &Results, point: &Point) -> Option<f64> {
    results.iter().find(|(own, _)| own == point)?.1
}
