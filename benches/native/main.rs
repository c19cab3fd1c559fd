//! Compares programs for this machine with what else runs here: `cargo bench --bench native [-- CASE …]`.
//!
//! Peers run in one process, in turn, on batches drawn at random, and read one allocation in large pages: plain C loops,
//! a program written by hand with all that we know ("expert"), one that reads the same rows in the same order and does
//! nothing else ("bound"), both with the best of some distances, with and without a second request, and PyTorch if the
//! Python that runs them has it. Python is `python3`, or what `EMBER_BENCH_PYTHON` names; its standard library is enough.
//! Whole models are compared with PyTorch's functions, and with what `torch.compile` makes of them. `EMBER_BENCH_THREADS`
//! sets the threads of our programs and of PyTorch, 1 without it.

mod cases;

use cases::{Case, cases};
use ember_compile::cost::Goal;
use ember_compile::native;
use ember_compile::pipeline::{Inputs, Options, compile, read};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::rules::Exactness;
use ember_native::{Compiler, Contraction};
use ember_targets::c::Source;
use ember_targets::dlc::{Dim, Program};
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::DType;
use itertools::Itertools;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, process};

/// The elements from which on numbers are made in Python, instead of being those of the model.
const LARGE: u64 = 1 << 21;

/// The rows ahead that an expert and a bound ask for.
const AHEAD: [u32; 4] = [16, 32, 64, 128];

/// The rows ahead that they ask for again; 0 if they do not.
const AGAIN: [u32; 2] = [0, 12];

fn main() {
    // `cargo test --benches` builds and starts benches too, but needs no measurements.
    if !env::args().any(|arg| arg == "--bench") {
        return;
    }
    let only: Vec<String> = env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let threads = env::var("EMBER_BENCH_THREADS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let compiler = Compiler::find().expect("a C compiler");
    let folder = env::temp_dir().join(format!("ember-bench-{}", process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let mut missed = 0;
    for case in cases() {
        if only.is_empty() || only.iter().any(|own| case.name.contains(own)) {
            missed += measured(&case, threads, &compiler, &folder);
        }
    }
    let _ = fs::remove_dir_all(&folder);
    println!(
        "{}",
        if missed == 0 { "all bars hold".to_owned() } else { format!("MISSED {missed} bars") }
    );
}

/// Measures a case, prints its table, and returns how many bars it misses.
fn measured(case: &Case, threads: u32, compiler: &Compiler, folder: &Path) -> usize {
    let options = Options {
        rules: vec![PathBuf::from("rules")],
        target: "cpu".to_owned(),
        schedule: "native".to_owned(),
        threads,
        exact: case.exact,
        ..Options::default()
    };
    let mut sources = Sources::new(Disk);
    sources.add("measured.sexp", case.model.clone());
    let mut inputs = read(&mut sources, Path::new("measured.sexp"), &options).expect("a model");
    ember_native::found().complete(&mut inputs.machine).expect("a description");
    let program = compile(&inputs, &options, Goal::Coupled).expect("a program").program;
    let source = native::source(&inputs, &program, &options).expect("C");
    let contraction = match case.exact {
        Exactness::Bitwise => Contraction::Off,
        Exactness::Reassoc | Exactness::Approx => Contraction::Fast,
    };
    let library = compiler.compile(&source, contraction).expect("compiles");
    let mut peers =
        vec![json!({ "name": "ours", "path": library, "symbol": format!("{}_call", source.name) })];
    if let Some(width) = case.width {
        peers.extend(by_hand(case, width, &source, compiler));
    }
    let described = described(case, &inputs, &program, threads, peers, folder);
    let times = run(&described, folder);
    let missed = print(case, &times);
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let _ = fs::remove_file(file.path());
    }
    missed
}

/// Compiles the programs written by hand, for each distance.
fn by_hand(case: &Case, width: u32, ours: &Source, compiler: &Compiler) -> Vec<Value> {
    let mut peers = Vec::new();
    for (ahead, again) in AHEAD.into_iter().cartesian_product(AGAIN) {
        let (weighted, quantised) = (case.kind == "spmm", case.kind == "quantised");
        let text = format!(
            "#define WIDTH {width}\n#define WEIGHTED {}\n#define QUANTISED {}\n#define AHEAD {ahead}\n\
             #define AGAIN {again}\n{}",
            u8::from(weighted),
            u8::from(quantised),
            include_str!("bags.c")
        );
        let written = Source { text, threaded: false, ..ours.clone() };
        let library = compiler.compile(&written, Contraction::Off).expect("compiles");
        for symbol in ["loop", "expert", "bound"] {
            if symbol != "loop" || (ahead, again) == (AHEAD[0], AGAIN[0]) {
                let name = match (symbol, again) {
                    ("loop", _) => symbol.to_owned(),
                    (_, 0) => format!("{symbol}, {ahead} ahead"),
                    _ => format!("{symbol}, {ahead}+{again} ahead"),
                };
                peers.push(json!({ "name": name, "path": library, "symbol": symbol }));
            }
        }
    }
    peers
}

/// Writes the batches of a case, and returns its description for Python.
fn described(
    case: &Case,
    inputs: &Inputs,
    program: &Program,
    threads: u32,
    peers: Vec<Value>,
    folder: &Path,
) -> Value {
    let mut files: BTreeMap<&str, Vec<PathBuf>> = BTreeMap::new();
    let mut sizes = Vec::new();
    for batch in 0..case.batches {
        let instance = inputs.model.instantiate(Some(batch + 1)).expect("data");
        let (tensors, own) = instance.bind(program).expect("fits");
        for (tensor, decl) in tensors.iter().zip(&program.tensors) {
            // Integers differ from batch to batch; of numbers, those of one batch do.
            let differs = !decl.dtype.is_float() && decl.dtype != DType::U8;
            if !decl.writable() && (differs || batch == 0 && tensor.len() <= LARGE) {
                let path = folder.join(format!("{}-{batch}", decl.name));
                fs::write(&path, bytes(tensor)).expect("is written");
                files.entry(decl.name.as_str()).or_default().push(path);
            }
        }
        assert!(batch == 0 || sizes == own, "batches of one size");
        sizes = own;
    }
    let tensors = program.tensors.iter().map(|decl| {
        let extent = |dim: &Dim| match dim {
            Dim::Const(n) => *n,
            Dim::Size(id) => sizes[id.index()].unsigned_abs(),
        };
        let shape: Vec<u64> = decl.shape.iter().map(extent).collect();
        let elements: u64 = shape.iter().product();
        let mut tensor = json!({ "name": decl.name, "dtype": decl.dtype.name(), "shape": shape, "elements": elements });
        if let Some(files) = files.get(decl.name.as_str()) {
            tensor["files"] = json!(files);
        }
        tensor
    });
    json!({
        "kind": case.kind, "threads": threads, "batches": case.batches, "rounds": 400, "seconds": 30,
        "sizes": sizes, "tensors": tensors.collect::<Vec<_>>(), "peers": peers,
    })
}

/// Returns the bytes of indices or numbers.
fn bytes(tensor: &Tensor) -> Vec<u8> {
    match &tensor.data {
        Data::I64(held) => held.iter().flat_map(|n| n.to_le_bytes()).collect(),
        Data::U8(held) => held.to_vec(),
        _ => {
            let elements = (0..tensor.len()).filter_map(|at| tensor.get(at));
            elements.flat_map(|x| (x.as_f64() as f32).to_le_bytes()).collect()
        }
    }
}

/// Runs a case in Python, and returns the median and the quartiles of each peer's times in seconds, and the median of its
/// ratios to ours, turn by turn.
fn run(case: &Value, folder: &Path) -> BTreeMap<String, [f64; 4]> {
    let python = env::var("EMBER_BENCH_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let described = folder.join("case.json");
    fs::write(&described, case.to_string()).expect("is written");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/native/measure.py");
    let mut command = Command::new(&python);
    command.arg(script).arg(described).env("OMP_NUM_THREADS", case["threads"].to_string());
    // Two threads on one processor, where the system may put them, are as slow as one.
    command.env("OMP_PROC_BIND", (case["threads"] != 1).to_string());
    let output =
        command.output().unwrap_or_else(|error| panic!("`{python}` cannot be run: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{python}` fails: {errors}");
    serde_json::from_slice(&output.stdout).expect("times")
}

/// Prints the times of a case and the ratios to ours, and returns how many bars are missed.
fn print(case: &Case, times: &BTreeMap<String, [f64; 4]>) -> usize {
    println!("{}", case.name);
    let best = |kind: &str| {
        let own = times.iter().filter(|(name, _)| name.starts_with(kind));
        own.min_by(|(_, a), (_, b)| a[3].total_cmp(&b[3]))
    };
    let mut shown: Vec<(&str, &String, &[f64; 4])> = Vec::new();
    for kind in ["ours", "expert", "bound", "loop"] {
        shown.extend(best(kind).map(|(name, own)| (kind, name, own)));
    }
    shown.extend(
        times
            .iter()
            .filter(|(name, _)| name.starts_with("torch"))
            .map(|(name, own)| (name.as_str(), name, own)),
    );
    let mut missed = 0;
    for (kind, name, [middle, low, high, ratio]) in shown {
        let bar = match kind {
            "expert" => Some(0.97),
            "bound" if case.kind == "bag" => Some(0.9),
            _ => case.asked.iter().find(|(own, _)| *own == kind).map(|(_, bar)| *bar),
        };
        let verdict = match bar {
            Some(bar) if *ratio < bar => {
                missed += 1;
                format!("MISSED {bar}")
            }
            Some(bar) => format!("holds {bar}"),
            None => String::new(),
        };
        println!(
            "  {name:<20} {:>9.1} us  ({:>8.1} to {:>8.1})  {ratio:>5.2}x ours  {verdict}",
            middle * 1e6,
            low * 1e6,
            high * 1e6
        );
    }
    missed
}
