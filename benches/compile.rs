//! Measures compiling, from a model's file to a verified DLC program, without running anything: `cargo bench --bench
//! compile [-- NAME]`. Prints one line for each example, or for one, with the wall time and the CPU time of all
//! threads, which other load does not lengthen. The budget is one whole recommender.

use ember_compile::cost::Goal;
use ember_compile::pipeline::{self, Options};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The example that has a budget, in milliseconds.
const BUDGET: (&str, f64) = ("dlrm_rm2", 200.0);

/// The number of timed runs; the median counts.
const RUNS: usize = 15;

fn main() {
    // `cargo test --benches` builds and starts benches too, but needs no measurements.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let only = std::env::args().skip(1).find(|arg| arg != "--bench");
    println!(
        "{:<16} {:>6} {:>8} {:>8} {:>10} {:>10}",
        "model", "groups", "searched", "units", "ms", "core ms"
    );
    for path in examples() {
        let name = path.file_stem().unwrap_or_default();
        if only.as_ref().is_none_or(|only| name == only.as_str()) {
            example(&path);
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn examples() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("examples")).expect("the folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "sexp"));
    paths.sort();
    paths
}

fn example(path: &Path) {
    let options = Options { rules: vec![root().join("rules")], ..Options::default() };
    let compile = || {
        let inputs = pipeline::read(&mut Sources::new(Disk), path, &options).expect("inputs");
        let chosen = pipeline::compile(&inputs, &options, Goal::Decoupled).expect("a program");
        (inputs.model.name, chosen)
    };
    let (name, chosen) = compile();
    let searched = chosen.groups.iter().enumerate().filter(|(at, g)| g.like == *at).count();
    let (mut clock, mut cores) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let (start, before) = (Instant::now(), seconds());
        compile();
        clock.push(start.elapsed().as_secs_f64() * 1e3);
        cores.push((seconds() - before) * 1e3);
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[RUNS / 2]
    };
    let (clock, cores) = (median(&mut clock), median(&mut cores));
    let holds = match BUDGET {
        (known, budget) if known == name && clock <= budget => format!("at most {budget}: holds"),
        (known, budget) if known == name => format!("at most {budget}: MISSED"),
        _ => String::new(),
    };
    let (groups, units) = (chosen.groups.len(), chosen.program.program().units.len());
    println!(
        "{name:<16} {groups:>6} {searched:>8} {units:>8} {clock:>10.1} {cores:>10.1}  {holds}"
    );
}

/// Returns the CPU seconds of all threads of this process; 0 if the system does not report them.
fn seconds() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let one = |thread: std::fs::DirEntry| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    };
    threads.filter_map(one).sum::<f64>() / 1e9
}
