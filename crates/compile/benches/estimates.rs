//! Compares estimates of the cost model with simulation: `cargo bench -p ember-compile --bench estimates [-- OPTION…
//! MODEL…]`. Prints one line for each group of statements of the models, by default those of `MODELS`: how many programs
//! of it were drawn from the search's e-graphs and run, the median error of their estimates as finished
//! programs, the correlation of the ranks, and both among those that take at most twice as long as the fastest.
//!
//! Options: `--target NAME|FILE` (again for further machines), `--others` for the machines in `machines/`, to which nothing
//! was fitted, `--programs N` for each group, `--seed N`, `--json` for a line of JSON in place of each of text, and
//! `--every` to print every program.

use ember_compile::estimates::{Draw, Drawn, Fit, drawn};
use ember_compile::groups::Plan;
use ember_compile::pipeline::{self, Case, Inputs, Options};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::rules::Exactness;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The models without arguments: of each family of workloads two, and two whole models.
const MODELS: [&str; 12] = [
    "workloads/EB/RM1_L0.sexp",
    "workloads/EB/RM2_L1.sexp",
    "workloads/EB/RM3_L2.sexp",
    "workloads/KG/KG_biokg.sexp",
    "workloads/KG/KG_wikikg2.sexp",
    "workloads/MP/MP_com-Youtube.sexp",
    "workloads/MP/MP_roadNet-CA.sexp",
    "workloads/SpAttn/SpAttn_1.sexp",
    "workloads/SpMM/SpMM_arxiv.sexp",
    "workloads/SpMM/SpMM_proteins.sexp",
    "examples/dlrm_rm1.sexp",
    "examples/graphsage.sexp",
];

/// The machines in `machines/`.
const OTHERS: [&str; 4] = ["dram-fast", "dram-slow", "l2-slow", "cache-small"];

/// The ratio to the fastest program up to which another counts as near.
const NEAR: u64 = 2;

struct Arguments {
    models: Vec<PathBuf>,
    targets: Vec<String>,
    draw: Draw,
    json: bool,
    every: bool,
}

fn main() {
    // `cargo test --benches` builds and starts benches too, but needs no measurements.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let arguments = arguments();
    if !arguments.json {
        println!(
            "{:<14} {:<34} {:>8} {:>8} {:>6} {:>6} {:>8} {:>6}",
            "target", "group", "programs", "error", "corr", "near", "error", "corr"
        );
    }
    for target in &arguments.targets {
        for model in &arguments.models {
            of_model(target, model, &arguments);
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the file of one of the other machines.
fn other(name: &str) -> String {
    root().join(format!("crates/compile/benches/machines/{name}.toml")).display().to_string()
}

fn arguments() -> Arguments {
    let mut read = Arguments {
        models: Vec::new(),
        targets: Vec::new(),
        draw: Draw { programs: 120, seed: 1 },
        json: false,
        every: false,
    };
    let mut args = std::env::args().skip(1);
    let number = |text: Option<String>| text.and_then(|n| n.parse().ok()).expect("a number");
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--bench" => {}
            "--target" => read.targets.extend(args.next()),
            "--others" => read.targets.extend(OTHERS.map(other)),
            "--programs" => read.draw.programs = number(args.next()) as usize,
            "--seed" => read.draw.seed = number(args.next()),
            "--json" => read.json = true,
            "--every" => read.every = true,
            model => read.models.push(root().join(model)),
        }
    }
    if read.models.is_empty() {
        read.models = MODELS.iter().map(|model| root().join(model)).collect();
    }
    if read.targets.is_empty() {
        read.targets.push(Options::default().target);
    }
    read
}

fn of_model(target: &str, model: &Path, arguments: &Arguments) {
    let options = Options {
        rules: vec![root().join("rules")],
        target: target.to_owned(),
        exact: Exactness::Reassoc,
        cycle_limit: 50_000_000,
        ..Options::default()
    };
    let inputs = pipeline::read(&mut Sources::new(Disk), model, &options).expect("inputs");
    let case = Case::new(&inputs.model, options.seed, options.exact).expect("data");
    let case = case.with_cycle_limit(options.cycle_limit);
    let schedule = inputs.schedule(&options.schedule).expect("it is there");
    let plan = Plan::new(inputs.book.signature.table(), &inputs.model, &case.statistics(&inputs));
    for at in plan.searched() {
        let target = &inputs.machine.name;
        let found = drawn(&inputs, &case, &options, schedule, (&plan, at), arguments.draw);
        let group = format!("{} {}", inputs.model.name, names(&inputs, &plan, at));
        print(target, &group, &found, arguments);
    }
}

fn names(inputs: &Inputs, plan: &Plan, at: usize) -> String {
    let name = |at: &usize| inputs.model.statement_name(*at);
    plan.groups[at].statements.iter().map(name).collect::<Vec<_>>().join(" ")
}

fn print(target: &str, group: &str, found: &[Drawn], arguments: &Arguments) {
    let fewest = found.iter().map(|drawn| drawn.cycles).min().unwrap_or(0);
    let all: Vec<&Drawn> = found.iter().collect();
    let near: Vec<&Drawn> = found.iter().filter(|d| d.cycles <= NEAR * fewest).collect();
    let (fit, close) = (Fit::of(&all), Fit::of(&near));
    if arguments.json {
        let object = |fit: Fit| json!({ "programs": fit.programs, "error": fit.error, "correlation": fit.correlation });
        let (all, near) = (object(fit), object(close));
        println!("{}", json!({ "target": target, "group": group, "all": all, "near": near }));
        return;
    }
    let correlation = |fit: Fit| fit.correlation.map_or("-".to_owned(), |c| format!("{c:.2}"));
    println!(
        "{target:<14} {group:<34} {:>8} {:>7.1}% {:>6} {:>6} {:>7.1}% {:>6}",
        fit.programs,
        fit.error * 100.0,
        correlation(fit),
        close.programs,
        close.error * 100.0,
        correlation(close),
    );
    if arguments.every {
        let mut all = all;
        all.sort_by_key(|drawn| drawn.cycles);
        for Drawn { expected, cost, cycles } in all {
            println!("  {cycles:>10} {expected:>10.0} {cost:?}");
        }
    }
}
