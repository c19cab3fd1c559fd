//! Tests random small models: every program that any schedule chooses has the reference's output.

use crate::common::{OPT, best, inputs, judged, model, options};
use ember_compile::cost::Goal;
use ember_compile::pipeline::Case;
use ember_sim::CoreKind;
use fastrand::Rng;

/// The number of models.
const MODELS: u64 = 40;

/// Values that are special in arithmetic, among ordinary ones.
const SPECIAL: [&str; 8] = ["nan", "-0.0", "0.0", "inf", "-inf", "1.5", "-2.25", "3.0e-40"];

fn pick<'a>(random: &mut Rng, from: &[&'a str]) -> &'a str {
    from[random.usize(..from.len())]
}

/// Returns `n` numbers, some of them special.
fn numbers(random: &mut Rng, n: usize) -> String {
    let mut words = Vec::new();
    for _ in 0..n {
        words.push(if random.u8(..6) == 0 {
            pick(random, &SPECIAL).to_owned()
        } else {
            format!("{:.3}", random.f64() * 8.0 - 4.0)
        });
    }
    words.join(" ")
}

/// Returns offsets of up to eight bags, including empty ones first, last and in a row.
fn offsets(random: &mut Rng) -> Vec<usize> {
    let mut ends = vec![0];
    for _ in 0..random.usize(..9) {
        let bag = if random.bool() { 0 } else { random.usize(1..7) };
        ends.push(ends.last().unwrap_or(&0) + bag);
    }
    ends
}

/// Returns the text of a model, always the same for a seed.
fn text(seed: u64) -> String {
    let random = &mut Rng::with_seed(seed);
    let (rows, dim) = (random.usize(1..5), random.usize(1..71));
    let dtype = pick(random, &["f32", "f64"]);
    let (index, offset) = (pick(random, &["i32", "i64"]), pick(random, &["i32", "i64"]));
    let mode = pick(random, &["sum", "mean", "max", "gather"]);
    let ends = offsets(random);
    let lookups = *ends.last().unwrap_or(&0);
    let weighted = mode != "gather" && random.bool();
    let words = |ns: &[usize]| ns.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    let indices: Vec<usize> = (0..lookups).map(|_| random.usize(..rows)).collect();
    let table: Vec<String> = (0..rows).map(|_| format!("({})", numbers(random, dim))).collect();
    let mut inputs =
        format!("(input table {dtype} (rows {dim})) (input indices {index} (lookups))\n");
    let mut data =
        format!("(table (values {}))\n(indices (values {}))", table.join(" "), words(&indices));
    let operation = if mode == "gather" {
        "(emb.gather table indices)".to_owned()
    } else {
        inputs += &format!("(input offsets {offset} ((+ bags 1)))\n");
        data += &format!("\n(offsets (values {}))", words(&ends));
        if weighted {
            inputs += &format!("(input weights {dtype} (lookups))\n");
            data += &format!("\n(weights (values {}))", numbers(random, lookups));
        }
        let weights = if weighted { " weights" } else { "" };
        format!("(emb.bag {mode} table indices offsets{weights})")
    };
    format!("(model random\n{inputs}(output out {operation})\n(data (seed 1)\n{data}))\n")
}

#[test]
fn random_models_run_the_same_under_every_schedule() {
    let mut inputs = inputs("tests/models/bag.sexp");
    for seed in 0..MODELS {
        let text = text(seed);
        println!("seed {seed}:\n{text}");
        inputs.model = model("random.sexp", &text);
        let case = Case::new(&inputs.model, None, options().exact).expect("data");
        for schedule in OPT.into_iter().chain(["search"]) {
            let chosen = best(&inputs, &case, schedule, Goal::Decoupled);
            let ran = judged(&inputs, chosen.program.program(), &case, CoreKind::OutOfOrder);
            assert!(ran.is_ok(), "seed {seed}, {schedule}: {ran:?}\n{text}");
        }
        let coupled = best(&inputs, &case, "coupled", Goal::Coupled);
        for core in [CoreKind::InOrder, CoreKind::OutOfOrder] {
            let ran = judged(&inputs, coupled.program.program(), &case, core);
            assert!(ran.is_ok(), "seed {seed}, coupled: {ran:?}\n{text}");
        }
    }
}
