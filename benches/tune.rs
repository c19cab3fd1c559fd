//! Measures the tuner on a space of 63,954 points with known optima, beside uniform random search: `cargo bench --bench
//! tune [-- SEEDS [POINTS]]`. Prints for each hidden constraint and each optimum how many steps the best of 60
//! evaluations is away, the median and the ninth decile of the seeds; last the time of a proposal after 60 evaluations.

#[path = "../tests/tuning/known.rs"]
mod known;

use ember_tune::{Method, Space, propose};
use known::{HIDDEN, asum, logs, median, optima, steps_away, tuned};
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
        "{:<38} {:<16} {:>8} {:>8} {:>8}",
        "hidden constraint", "optimum", "median", "9 of 10", "random"
    );
    let mut missed = 0;
    for (number, hidden) in HIDDEN.iter().enumerate() {
        for optimum in optima(&space, hidden, points, 1000 + number as u64) {
            let run = |method| -> Vec<f64> {
                let run = |seed| tuned(&space, method, seed, BUDGET, &optimum, hidden);
                (0..seeds).into_par_iter().map(|seed| steps_away(&run(seed))).collect()
            };
            let mut tuned = run(Method::Bayesian);
            tuned.sort_by(f64::total_cmp);
            let (half, most) = (median(tuned.clone()), tuned[(tuned.len() - 1) * 9 / 10]);
            missed += usize::from(half > BAR);
            let place = logs(&space, &optimum).map(|log| log.to_string()).join(" ");
            let random = median(run(Method::Random));
            println!("{:<38} {place:<16} {half:>8} {most:>8} {random:>8}", hidden.0);
        }
    }
    let verdict = if missed == 0 { "holds".to_owned() } else { format!("MISSED {missed} times") };
    println!("at most {BAR} step after {BUDGET} evaluations, median of {seeds} seeds: {verdict}");
    println!("a proposal after {BUDGET} evaluations: {:.1} ms", proposal(&space));
}

/// Returns the milliseconds of a proposal, the least of some, which other load lengthens the least.
fn proposal(space: &Space) -> f64 {
    let hidden = &HIDDEN[1];
    let optimum = &optima(space, hidden, 1, 0)[0];
    let history = tuned(space, Method::Bayesian, 0, BUDGET, optimum, hidden);
    let time = |_| {
        let start = Instant::now();
        propose(space, Method::Bayesian, 0, &history);
        start.elapsed().as_secs_f64() * 1e3
    };
    (0..10).map(time).fold(f64::INFINITY, f64::min)
}
