//! Measures how many table elements the simulator handles per second of one core, and the cost of each program, on a
//! DLRM-sized bag: `cargo bench -p ember-sim`. Prints one line per program, and the multiply-adds per second of the
//! layers of a multilayer perceptron. `cargo bench -p ember-sim -- opt0` measures the programs of that name alone.

#[path = "../tests/common/mod.rs"]
mod common;

use common::*;
use ember_sim::{Bindings, CoreKind, Options, bound, run};
use ember_targets::dlc::*;
use ember_targets::tensor::{Data, Hashed, Tensor};
use ember_values::scalar::DType;
use std::time::Instant;

/// Returns the seconds that this thread has run, excluding other processes; wall time if the system does not report it.
fn seconds(start: Instant) -> f64 {
    let on_core = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ns = on_core.and_then(|s| s.split(' ').next()?.parse::<u64>().ok());
    ns.map_or(start.elapsed().as_secs_f64(), |ns| ns as f64 * 1e-9)
}

/// Runs a layer of a multilayer perceptron: a batch of rows times a matrix of weights.
fn layer(epoch: Instant, [batch, inputs, outputs]: [u64; 3]) {
    let tensor = |name: &str, shape: [u64; 2], writable| TensorDecl {
        name: name.into(),
        dtype: DType::F32,
        shape: shape.map(Dim::Const).to_vec(),
        purpose: Purpose::of(writable),
    };
    let tensors = vec![
        tensor("out", [batch, outputs], true),
        tensor("rows", [batch, inputs], false),
        tensor("weights", [inputs, outputs], false),
    ];
    let data = |shape: [u64; 2], seed| Tensor {
        dtype: DType::F32,
        shape: shape.to_vec(),
        data: Data::Hashed(Hashed { seed, lo: -1.0, hi: 1.0 }),
    };
    let zeros = Tensor::zeros(DType::F32, vec![batch, outputs]);
    let bound = vec![zeros, data([batch, inputs], 1), data([inputs, outputs], 2)];
    let [out, a, b] = [0, 1, 2].map(TensorId);
    let [out, a, b] = [out, a, b].map(Addr::whole);
    let main = vec![Stmt::Matmul { out, a, b, transposed: false, adds: false }];
    let program = Program { tensors, main, ..Program::default() };
    let start = seconds(epoch);
    let bindings = Bindings { tensors: bound, sizes: vec![] };
    let outcome = run(&program, &machine(), bindings, Options::default());
    let stats = outcome.expect("the product runs").stats;
    let rate = stats.macs as f64 / (seconds(epoch) - start) / 1e9;
    println!("{batch} x {inputs} x {outputs}: {} cycles, {rate:.2} Gmac/s", stats.cycles);
}

fn main() {
    let epoch = Instant::now();
    let machine = machine();
    // Cargo adds options of its own, such as `--bench`.
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let wanted = |name: &str| only.as_ref().is_none_or(|only| only == name);
    let layers = if wanted("layers") { &[[256, 2048, 512], [256, 512, 256]][..] } else { &[] };
    for &size in layers {
        layer(epoch, size);
    }
    println!(
        "{:>4} {:>5} {:<16} {:>10} {:>8} {:>7} {:>9} {:>9} {:>10} {:>9} {:>6}",
        "dim",
        "data",
        "program",
        "cycles",
        "cyc/row",
        "speedup",
        "dram MB",
        "queue MB",
        "energy uJ",
        "Melem/s",
        "bound"
    );
    for (dim, zipf) in [(32, true), (64, true), (128, true), (64, false)] {
        let data = Bag::random(1_000_000, dim, 256, 80, zipf, 42);
        let programs = [
            (coupled(1), CoreKind::InOrder),
            (coupled(1), CoreKind::OutOfOrder),
            (coupled(16), CoreKind::OutOfOrder),
            (bag("opt0", Level::PerElement, 1), CoreKind::OutOfOrder),
            (bag("opt1", Level::PerElement, 16), CoreKind::OutOfOrder),
            (bag("opt2", Level::PerRow, 16), CoreKind::OutOfOrder),
            (bag("opt3", Level::Counted, 16), CoreKind::OutOfOrder),
            (walked(dim as u32), CoreKind::OutOfOrder),
        ];
        let least = bound(&demand(&data), &machine).cycles;
        let mut base = 0;
        for (program, core) in programs.into_iter().filter(|(program, _)| wanted(&program.name)) {
            let options = Options { core, ..Options::default() };
            let mut best = f64::INFINITY;
            let mut stats = None;
            for _ in 0..3 {
                let bindings = data.bindings();
                let start = seconds(epoch);
                let outcome = run(&program, &machine, bindings, options).expect("the program runs");
                best = best.min(seconds(epoch) - start);
                stats = Some(outcome.stats);
            }
            let Some(s) = stats else { continue };
            if program.name == "opt0" {
                base = s.cycles;
            }
            println!(
                "{:>4} {:>5} {:<16} {:>10} {:>8.1} {:>7.2} {:>9.2} {:>9.2} {:>10.1} {:>9.1} {:>5.0}%",
                dim,
                if zipf { "zipf" } else { "unif" },
                format!(
                    "{}{}",
                    program.name,
                    if core == CoreKind::InOrder { " (in-o)" } else { "" }
                ),
                s.cycles,
                s.cycles as f64 / data.indices.len() as f64,
                base as f64 / s.cycles as f64,
                s.dram_bytes.read as f64 / 1e6,
                s.queue_bytes as f64 / 1e6,
                s.energy_j * 1e6,
                data.elements() as f64 / best / 1e6,
                100.0 * least as f64 / s.cycles as f64,
            );
        }
    }
}
