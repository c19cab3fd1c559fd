//! The fit of the three figures of the analytic model that no probe measures, to the models on an H200, and its errors
//! there, on each model that is left out, and on an H100. `cargo test --lib gpu::fit -- --nocapture` prints them.

use super::measured::Measured;
use super::time;
use super::work::{self, Launch};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_model::Model;
use ember_targets::machine::gpu::Gpu;
use itertools::iproduct;
use std::path::{Path, PathBuf};

const MODELS: [&str; 7] =
    ["dlrm_rm1", "dlrm_rm2", "dlrm_rm3", "kg_scorer", "bigbird", "graphsage", "gcn"];
const SCALES: [f64; 4] = [1.0, 16.0, 64.0, 256.0];

/// The share of the cache's bandwidth, rows of a warp, and microseconds of a cold kernel.
type Fitted = (f64, f64, f64);

/// A measured model at one batch.
struct Case {
    model: &'static str,
    launches: Vec<Launch>,
    measured: f64,
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn described(name: &str) -> Gpu {
    let path = path("targets/gpu").join(format!("{name}.toml"));
    let text = std::fs::read_to_string(path).expect("a description");
    Gpu::parse(&text).expect("a description")
}

/// Returns every model at every scale as a GPU runs it, with the measured seconds.
fn cases(gpu: &Gpu) -> Vec<Case> {
    let file = path("workloads/gpu").join(format!("{}.json", gpu.name));
    let measured = Measured::read(&Disk, &file).expect("measurements");
    let case = |(model, scale): (&'static str, f64)| {
        let mut sources = Sources::new(Disk);
        let text = std::fs::read_to_string(path("examples").join(format!("{model}.sexp")));
        let file = sources.add("<model>", text.expect("a model"));
        let mut read = Model::parse(&sources, file).expect("a model");
        assert!(read.data.scale_batches(scale));
        let instance = read.instantiate(None).expect("data");
        let launches = work::launches(&read, &instance, gpu);
        let point = measured.points(model).into_iter().find(|(other, _)| *other == scale);
        Case { model, launches, measured: point.expect("a measurement").1 }
    };
    iproduct!(MODELS, SCALES).map(case).collect()
}

/// Returns the mean and the greatest factor between modelled and measured times.
fn error<'a>(gpu: &Gpu, fitted: Fitted, cases: impl Iterator<Item = &'a Case>) -> (f64, f64) {
    let mut gpu = gpu.clone();
    (gpu.efficiency.cache, gpu.efficiency.rows_per_warp, gpu.launches.cold_us) = fitted;
    let logs = cases.map(|case| (time::seconds(&gpu, &case.launches) / case.measured).ln().abs());
    let logs: Vec<f64> = logs.collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    (mean.exp(), logs.iter().copied().fold(0.0, f64::max).exp())
}

/// Returns the point of the grid with the least mean error.
fn best(gpu: &Gpu, cases: &[&Case]) -> Fitted {
    let grid = iproduct!(
        [0.43, 0.5, 0.57, 0.64, 0.71, 0.8, 1.0],
        [32.0, 48.0, 64.0, 80.0, 96.0, 128.0, 256.0],
        [0.0, 1.0, 2.0, 2.5, 3.0, 3.5, 4.0]
    );
    let mean = |fitted: &Fitted| error(gpu, *fitted, cases.iter().copied()).0;
    let least = grid.min_by(|a, b| mean(a).total_cmp(&mean(b)));
    least.expect("a point")
}

#[test]
fn the_shipped_figures_are_the_best_fit_and_hold_on_another_card() {
    let gpu = described("h200");
    let own = cases(&gpu);
    let shipped = (gpu.efficiency.cache, gpu.efficiency.rows_per_warp, gpu.launches.cold_us);
    let all: Vec<&Case> = own.iter().collect();
    let fitted = best(&gpu, &all);
    let (mean, worst) = error(&gpu, shipped, own.iter());
    println!("h200, {} cases: off by {mean:.3} in the mean, {worst:.3} at most", own.len());
    println!("best fit {fitted:?}: {:.3}; shipped {shipped:?}", error(&gpu, fitted, own.iter()).0);
    assert!(mean <= 1.01 * error(&gpu, fitted, own.iter()).0);
    for model in MODELS {
        let (left, others): (Vec<_>, Vec<_>) = own.iter().partition(|case| case.model == model);
        let fitted = best(&gpu, &others);
        let (mean, worst) = error(&gpu, fitted, left.iter().copied());
        println!(
            "without {model}: {fitted:?}, its error {mean:.3} in the mean, {worst:.3} at most"
        );
        assert!(mean < 1.35, "{model}");
    }
    let other = described("h100");
    let (mean, worst) = error(&other, shipped, cases(&other).iter());
    println!("h100, not fitted: off by {mean:.3} in the mean, {worst:.3} at most");
    assert!(mean < 1.25);
}
