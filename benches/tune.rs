//! Measures the tuner on a space of 63,954 points with known optima, beside uniform random search: `cargo bench --bench
//! tune [-- SEEDS [POINTS]]`. Prints for each hidden constraint and each optimum how many steps the best of 60
//! evaluations is away, the median and the ninth decile of the seeds, and the time that a proposal takes.

#[path = "../tests/tuning/known.rs"]
mod known;

use ember_tune::Method;
use known::{HIDDEN, asum, logs, median, optima, steps_away};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use std::time::Instant;

const BUDGET: usize = 60;

/// The greatest median of steps from the optimum.
const BAR: f64 = 1.0;

fn main() {
    // `cargo test --benches` builds and starts benches too, but needs no measurements.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let numbers: Vec<u64> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    let seeds = numbers.first().copied().unwrap_or(30);
    let points = numbers.get(1).map_or(2, |n| *n as usize);
    let space = asum();
    println!(
        "{:<38} {:<16} {:>8} {:>8} {:>8} {:>8}",
        "hidden constraint", "optimum", "median", "9 of 10", "random", "ms"
    );
    let mut missed = 0;
    for (number, hidden) in HIDDEN.iter().enumerate() {
        for optimum in optima(&space, hidden, points, 1000 + number as u64) {
            let start = Instant::now();
            let run = |method| -> Vec<f64> {
                let steps = |seed| steps_away(&space, method, seed, BUDGET, &optimum, hidden);
                (0..seeds).into_par_iter().map(steps).collect()
            };
            let mut tuned = run(Method::Bayesian);
            let cores = rayon::current_num_threads().min(seeds as usize) as f64;
            let ms = start.elapsed().as_secs_f64() * 1e3 * cores / (seeds as f64 * BUDGET as f64);
            tuned.sort_by(f64::total_cmp);
            let (half, most) = (median(tuned.clone()), tuned[(tuned.len() - 1) * 9 / 10]);
            missed += usize::from(half > BAR);
            let place = logs(&space, &optimum).map(|log| log.to_string()).join(" ");
            let random = median(run(Method::Random));
            println!("{:<38} {place:<16} {half:>8} {most:>8} {random:>8} {ms:>8.1}", hidden.0);
        }
    }
    let verdict = if missed == 0 { "holds".to_owned() } else { format!("MISSED {missed} times") };
    println!("at most {BAR} step after {BUDGET} evaluations, median of {seeds} seeds: {verdict}");
}
