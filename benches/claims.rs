//! The project's claims about speed, each measurement with its budget: `cargo bench --bench claims`.
//!
//! Single-threaded times are CPU times of the thread if the system reports them, so that other load does not count; the
//! main job's time is wall time. The claims: saturation and extraction for one bag; the effect of pruning on the
//! quality of the result; the simulator's speed on the search's program and on the scalar one, and for each of several cores; checking a thousand
//! rules; a change in an editor; the whole main job.

use ember_compile::cost::Goal;
use ember_compile::groups::{Chooser, Chosen, Searched};
use ember_compile::pipeline::{self, Case, Inputs, Options};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::rules;
use ember_rewrite::job;
use ember_sim::{Bindings, Division};
use ember_targets::dlc::SizeId;
use ember_tools::lsp;
use ember_tools::progress::Line;
use ember_tools::render;
use serde_json::json;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The bag that is timed.
const BAG: &str = "examples/embedding_bag.sexp";

/// The inputs on which pruned and unpruned search are compared.
const INPUTS: [&str; 4] = [
    BAG,
    "examples/bags/32_high.sexp",
    "examples/bags/64_low.sexp",
    "examples/bags/128_medium.sexp",
];

/// The models whose whole main job is timed, each with its budget in seconds.
const MODELS: [(&str, f64); 3] =
    [(BAG, 1.5), ("examples/dlrm_rm2.sexp", 3.5), ("examples/gcn.sexp", 6.0)];

/// The number of timed runs; the median counts.
const RUNS: usize = 21;

fn main() {
    // `cargo test --benches` builds and starts benches too, but needs no measurements.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let options = Options { rules: vec![root().join("rules")], ..Options::default() };
    let inputs = read(BAG, &options);
    let case = case(&inputs, &options);
    search_time(&inputs, &case, &options);
    for path in INPUTS {
        pruning(path, &options);
    }
    for (schedule, least) in [("search", 100.0), ("emb-opt0", 8.0)] {
        simulation(&inputs, &case, &options, schedule, least);
    }
    check_time();
    editor_time();
    main_job(&options);
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str, options: &Options) -> Inputs {
    let path: PathBuf = root().join(path);
    pipeline::read(&mut Sources::new(Disk), &path, options).expect("well-formed inputs")
}

fn case(inputs: &Inputs, options: &Options) -> Case {
    Case::new(&inputs.model, None, options.exact).expect("data")
}

fn find(inputs: &Inputs, case: &Case, options: &Options, schedule: &str) -> Searched {
    let schedule = inputs.schedule(schedule).expect("a schedule");
    let statistics = case.statistics(inputs);
    pipeline::search(inputs, &statistics, options, schedule, Goal::Decoupled, &|_| ())
}

fn choose(inputs: &Inputs, case: &Case, found: &Searched) -> Chosen {
    Chooser::new(inputs, Some(case), Goal::Decoupled).choose(found).expect("a program")
}

/// Returns the seconds that this thread has run, or wall time if the system does not report it.
fn seconds(epoch: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| epoch.elapsed().as_secs_f64(), |n| n / 1e9)
}

/// Returns the median time of several runs, in milliseconds.
fn median(runs: usize, mut run: impl FnMut()) -> f64 {
    let epoch = Instant::now();
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        let start = seconds(epoch);
        run();
        times.push(seconds(epoch) - start);
    }
    times.sort_by(f64::total_cmp);
    times[runs / 2] * 1e3
}

/// Prints one line: the claim, the measurement, its budget, and their ratio.
fn claim(what: &str, measured: f64, unit: &str, budget: f64, at_most: bool) {
    let holds = if at_most { measured <= budget } else { measured >= budget };
    println!(
        "{what:<44} {measured:>10.2} {unit:<8} {} {budget:>7.2} {unit:<8} {:>6.2}x  {}",
        if at_most { "at most " } else { "at least" },
        measured / budget,
        if holds { "holds" } else { "MISSED" }
    );
}

fn search_time(inputs: &Inputs, case: &Case, options: &Options) {
    let ms = median(RUNS, || {
        find(inputs, case, options, "search");
    });
    claim("saturation and extraction, search", ms, "ms", 50.0, true);
}

fn pruning(path: &str, options: &Options) {
    let inputs = read(path, options);
    let case = case(&inputs, options);
    let [pruned, unpruned] = ["search", "search-unpruned"].map(|schedule| {
        let found = find(&inputs, &case, options, schedule);
        let chosen = choose(&inputs, &case, &found);
        let measure = case.rank(&chosen.program, &inputs.machine).expect("the program runs");
        (measure.cycles, found.nodes())
    });
    let ratio = pruned.0 as f64 / unpruned.0.max(1) as f64;
    let name = &inputs.model.name;
    let what = format!("pruned over unpruned cycles, {name}");
    claim(&what, ratio, "", 1.02, true);
    println!(
        "  {name}: {} and {} cycles, {} and {} e-nodes",
        pruned.0, unpruned.0, pruned.1, unpruned.1
    );
}

fn simulation(inputs: &Inputs, case: &Case, options: &Options, schedule: &str, least: f64) {
    let found = find(inputs, case, options, schedule);
    let program = choose(inputs, case, &found).program;
    let (_, elements) = job::physical_bound(inputs, case);
    let ms = median(5, || {
        let (tensors, sizes) = case.instance.bind(&program).expect("data");
        let (data, options) = (Bindings { tensors, sizes }, ember_sim::Options::default());
        ember_sim::run(&program, &inputs.machine, data, options).expect("the program runs");
    });
    let speed = elements as f64 / 1e3 / ms;
    claim(&format!("simulated table elements, {schedule}"), speed, "M/s", least, false);
    let (tensors, sizes) = case.instance.bind(&program).expect("data");
    let size = |name: &str| program.program().sizes.iter().position(|size| size == name);
    let [bags, ends] = ["bags", "bags+1"].map(|name| size(name).expect("a size"));
    let rows = sizes[bags] as u64;
    let division = Division {
        sizes: vec![(SizeId(bags as u32), 0), (SizeId(ends as u32), 1)],
        parts: (0..8).map(|core| rows * core / 8..rows * (core + 1) / 8).collect(),
        own: (0..8).map(|core| vec![core]).collect(),
        ..Division::undivided(0)
    };
    let together = median(5, || {
        let data = Bindings { tensors: tensors.clone(), sizes: sizes.clone() };
        let options = ember_sim::Options::default();
        ember_sim::run_divided(&program, &inputs.machine, data, options, division.clone())
            .expect("the program runs");
    });
    let what = format!("the speed of that for each of 8 cores, {schedule}");
    claim(&what, ms / together, "", 0.5, false);
}

/// Returns a file of a thousand rules: five shapes over the operators of a dialect, all different.
fn thousand_rules() -> String {
    let mut text = "(dialect d \"a dialect\" (sort Value \"a value\")".to_owned();
    for k in 0..20 {
        text += &format!("\n (op f{k} (Value Value) Value \"f\") (op g{k} (Value) Value \"g\")");
    }
    text += ")\n(ruleset s \"a set\")\n";
    for n in 0..1_000 {
        let (shape, a, b) = (n % 5, n / 5 % 20, n / 100);
        let c = (a + b + 1) % 20;
        let sides = match shape {
            0 => format!("(f{a} ?x (g{b} ?y)) => (g{c} (f{b} ?x ?y))"),
            1 => format!("(g{a} (f{b} ?x ?y)) => (f{c} (g{b} ?x) (g{a} ?y))"),
            2 => format!("(f{a} (g{b} ?x) ?y) => (f{c} ?y (g{b} ?x))"),
            3 => format!("(g{a} (g{b} (g{c} ?x))) => (f{a} ?x ?x) :when (index ?x)"),
            _ => format!("(f{a} ?x ?y) => (g{c} ?z) :where ?y (f{b} ?x ?z)"),
        };
        text += &format!("(rule r{n} \"x\" {sides})\n");
    }
    text
}

fn check_time() {
    let text = thousand_rules();
    let ms = median(5, || {
        let mut sources = Sources::new(Disk);
        sources.add("thousand.rules", text.clone());
        let check = rules::check(&mut sources, &["thousand.rules".into()]);
        assert_eq!(check.book.expect("well-formed rules").rules.len(), 1_000);
    });
    claim("checking a thousand rules", ms, "ms", 100.0, true);
}

/// Measures a change of a rule file, from the client's message to the diagnostics of its folder.
fn editor_time() {
    const CHANGES: usize = 20;
    let path = root().join("rules/vector-lanes.rules");
    let uri = render::uri(&path);
    let text = std::fs::read_to_string(&path).expect("a text");
    let wrong = text.replacen("scf.store", "scf.stor", 1);
    let session = |changes: usize| {
        let mut messages = vec![
            json!({"id": 1, "method": "initialize", "params": {"capabilities": {}}}),
            json!({"method": "textDocument/didOpen", "params": {"textDocument":
                {"uri": uri, "languageId": "ember", "version": 0, "text": text}}}),
        ];
        // A request makes the server check each change by itself, not the burst at its end.
        messages.extend((0..changes).flat_map(|n| {
            let text = if n % 2 == 0 { &wrong } else { &text };
            let change = json!({"method": "textDocument/didChange", "params":
                {"textDocument": {"uri": uri, "version": n}, "contentChanges": [{"text": text}]}});
            let ask = json!({"id": 2 + n, "method": "textDocument/documentSymbol", "params":
                {"textDocument": {"uri": uri}}});
            [change, ask]
        }));
        let framed = messages.iter().map(|message| {
            let body = message.to_string();
            format!("Content-Length: {}\r\n\r\n{body}", body.len())
        });
        framed.collect::<String>()
    };
    let serve = |input: String| {
        let mut output = Vec::new();
        lsp::serve(Cursor::new(input), &mut output, Vec::new(), None).expect("messages");
    };
    let (with, without) = (session(CHANGES), session(0));
    let whole = median(5, || serve(with.clone()));
    let rest = median(5, || serve(without.clone()));
    let ms = (whole - rest) / CHANGES as f64;
    claim("a change of a rule file, in the editor", ms, "ms", 20.0, true);
}

fn main_job(options: &Options) {
    for (path, budget) in MODELS {
        let mut sources = Sources::new(Disk);
        let started = Instant::now();
        let inputs = pipeline::read(&mut sources, &root().join(path), options).expect("inputs");
        let read = (started, started.elapsed());
        job::run(&mut sources, &inputs, options, job::Scope::Whole, false, read, &Line::hidden())
            .expect("a report");
        claim(&format!("main job, {path}"), started.elapsed().as_secs_f64(), "s", budget, true);
    }
}
