//! Compares programs for this machine with what else runs here: `cargo bench --bench native [-- CASE …]`.
//!
//! Peers run in one process, in turn, on batches drawn at random, and read one allocation in large pages: plain C loops,
//! a program written by hand with all that we know ("expert"), one that reads the same rows in the same order and does
//! nothing else ("bound"), both with the best of some distances, and PyTorch if the Python that runs them has it. Python is
//! `python3`, or what `EMBER_BENCH_PYTHON` names; its standard library is enough. `EMBER_BENCH_THREADS` sets the threads
//! of our programs and of PyTorch, 1 without it.

use ember_compile::cost::Goal;
use ember_compile::native;
use ember_compile::pipeline::{Inputs, Options, compile, read};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_native::{Compiler, Contraction};
use ember_targets::c::Source;
use ember_targets::dlc::{Dim, Program};
use ember_targets::tensor::{Data, Tensor};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, process};

/// The batches that a case is run on.
const BATCHES: u64 = 16;

/// The rows ahead that an expert and a bound ask for.
const AHEAD: [u32; 4] = [16, 32, 64, 128];

/// A case: its name, the kind that Python knows, the elements of a row, the forms of the model, and the least ratio to the
/// best of PyTorch's ways.
struct Case {
    name: &'static str,
    kind: &'static str,
    width: u32,
    model: &'static str,
    asked: &'static [(&'static str, f64)],
}

const CASES: [Case; 6] = [
    Case {
        name: "bag, 1M x 64, 256 x 80, Zipf",
        kind: "bag",
        width: 64,
        model: "(data (seed 1) (size rows 1000000) (size bags 256) (table (uniform -1 1))
            (offsets (fixed 80)) (indices (zipf 1.05)))",
        asked: &[("torch", 1.2)],
    },
    Case {
        name: "bag, 1M x 128, 2048 x 40",
        kind: "bag",
        width: 128,
        model: "(data (seed 1) (size rows 1000000) (size bags 2048) (table (uniform -1 1))
            (offsets (fixed 40)) (indices (zipf 0)))",
        asked: &[("torch", 1.2)],
    },
    Case {
        name: "bag, 100k x 32, 256 x 80",
        kind: "bag",
        width: 32,
        model: "(data (seed 1) (size rows 100000) (size bags 256) (table (uniform -1 1))
            (offsets (fixed 80)) (indices (zipf 0)))",
        asked: &[("torch", 1.2)],
    },
    Case {
        name: "bytes, 1M x 64, 256 x 80, Zipf",
        kind: "quantised",
        width: 64,
        model: "(data (seed 1) (size rows 1000000) (size bags 256) (table (uniform 0 255))
            (scales (uniform 0 1)) (offsets (fixed 80)) (indices (zipf 1.05)))",
        asked: &[("torch", 1.4)],
    },
    Case {
        name: "bytes, 1M x 128, 2048 x 40",
        kind: "quantised",
        width: 128,
        model: "(data (seed 1) (size rows 1000000) (size bags 2048) (table (uniform 0 255))
            (scales (uniform 0 1)) (offsets (fixed 40)) (indices (zipf 0)))",
        asked: &[("torch", 1.1)],
    },
    Case {
        name: "spmm, 169343 nodes, 1166243 edges",
        kind: "spmm",
        width: 128,
        model: "(data (seed 1) (graph g (rmat (nodes 169343) (edges 1166243)))
            (table (uniform -1 1)) (offsets (offsets-of g)) (indices (neighbours-of g))
            (weights (uniform 0 1)))",
        asked: &[("torch", 1.9), ("torch, MKL", 3.0)],
    },
];

impl Case {
    /// Returns the text of the model.
    fn text(&self) -> String {
        let Case { width, model, .. } = self;
        let quantised = self.kind == "quantised";
        let weighted = self.kind == "spmm";
        let rows = if weighted { "nodes" } else { "rows" };
        let bags = if weighted { "nodes" } else { "bags" };
        let (dtype, scales, table) = match quantised {
            true => {
                ("u8", format!("(input scales f32 ({rows} 2))"), "(emb.dequantise table scales)")
            }
            false => ("f32", String::new(), "table"),
        };
        let (weights, out) = match weighted {
            true => (
                "(input weights f32 (lookups))",
                "(emb.spmm table indices offsets weights)".to_owned(),
            ),
            false => ("", format!("(emb.bag sum {table} indices offsets)")),
        };
        format!(
            "(model measured (input table {dtype} ({rows} {width})) {scales} (input indices i64 (lookups))
               (input offsets i64 ((+ {bags} 1))) {weights} (output out {out}) {model})"
        )
    }
}

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
    for case in CASES
        .iter()
        .filter(|case| only.is_empty() || only.iter().any(|own| case.name.contains(own)))
    {
        missed += measured(case, threads, &compiler, &folder);
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
        ..Options::default()
    };
    let mut sources = Sources::new(Disk);
    sources.add("measured.sexp", case.text());
    let mut inputs = read(&mut sources, Path::new("measured.sexp"), &options).expect("a model");
    inputs.machine.core.simd_bytes = ember_native::found().vector_bytes;
    let program = compile(&inputs, &options, Goal::Coupled).expect("a program").program;
    let source = native::source(&inputs, &program, &options).expect("C");
    let library = compiler.compile(&source, Contraction::Off).expect("compiles");
    let mut peers =
        vec![json!({ "name": "ours", "path": library, "symbol": format!("{}_call", source.name) })];
    for ahead in AHEAD {
        let (weighted, quantised) = (case.kind == "spmm", case.kind == "quantised");
        let text = format!(
            "#define WIDTH {}\n#define WEIGHTED {}\n#define QUANTISED {}\n#define AHEAD {ahead}\n{}",
            case.width,
            u8::from(weighted),
            u8::from(quantised),
            include_str!("bags.c")
        );
        let written = Source { text, threaded: false, ..source.clone() };
        let library = compiler.compile(&written, Contraction::Off).expect("compiles");
        for symbol in ["loop", "expert", "bound"] {
            if symbol != "loop" || ahead == AHEAD[0] {
                let name = if symbol == "loop" {
                    symbol.to_owned()
                } else {
                    format!("{symbol}, {ahead} ahead")
                };
                peers.push(json!({ "name": name, "path": library, "symbol": symbol }));
            }
        }
    }
    let described = described(case, &inputs, &program, threads, peers, folder);
    let times = run(&described, folder);
    let missed = print(case, &times);
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let _ = fs::remove_file(file.path());
    }
    missed
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
    // Graphs are large, and one of them is random enough.
    let batches = if case.kind == "spmm" { 1 } else { BATCHES };
    for batch in 0..batches {
        let instance = inputs.model.instantiate(Some(batch + 1)).expect("data");
        let (tensors, own) = instance.bind(program).expect("fits");
        for (tensor, decl) in tensors.iter().zip(&program.tensors) {
            if matches!(decl.name.as_str(), "indices" | "offsets" | "weights") {
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
        "kind": case.kind, "threads": threads, "batches": batches, "rounds": 400, "seconds": 12,
        "sizes": sizes, "tensors": tensors.collect::<Vec<_>>(), "peers": peers,
    })
}

/// Returns the bytes of indices or weights.
fn bytes(tensor: &Tensor) -> Vec<u8> {
    match &tensor.data {
        Data::I64(held) => held.iter().flat_map(|n| n.to_le_bytes()).collect(),
        _ => {
            let elements = (0..tensor.len()).filter_map(|at| tensor.get(at));
            elements.flat_map(|x| (x.as_f64() as f32).to_le_bytes()).collect()
        }
    }
}

/// Runs a case in Python, and returns the median and the quartiles of each peer's times in seconds.
fn run(case: &Value, folder: &Path) -> BTreeMap<String, [f64; 3]> {
    let python = env::var("EMBER_BENCH_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let described = folder.join("case.json");
    fs::write(&described, case.to_string()).expect("is written");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/native/measure.py");
    let mut command = Command::new(&python);
    command.arg(script).arg(described).env("OMP_NUM_THREADS", case["threads"].to_string());
    let output =
        command.output().unwrap_or_else(|error| panic!("`{python}` cannot be run: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{python}` fails: {errors}");
    serde_json::from_slice(&output.stdout).expect("times")
}

/// Prints the times of a case and the ratios to ours, and returns how many bars are missed.
fn print(case: &Case, times: &BTreeMap<String, [f64; 3]>) -> usize {
    println!("{}", case.name);
    let ours = times["ours"][0];
    let best = |kind: &str| {
        let own = times.iter().filter(|(name, _)| name.starts_with(kind));
        own.min_by(|(_, a), (_, b)| a[0].total_cmp(&b[0]))
    };
    let mut shown: Vec<(&str, &String, &[f64; 3])> = Vec::new();
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
    for (kind, name, [middle, low, high]) in shown {
        let ratio = middle / ours;
        let bar = match kind {
            "expert" => Some(0.97),
            "bound" if case.kind == "bag" => Some(0.9),
            _ => case.asked.iter().find(|(own, _)| *own == kind).map(|(_, bar)| *bar),
        };
        let verdict = match bar {
            Some(bar) if ratio < bar => {
                missed += 1;
                format!("MISSED {bar}")
            }
            Some(bar) => format!("holds {bar}"),
            None => String::new(),
        };
        println!(
            "  {name:<18} {:>9.1} us  ({:>8.1} to {:>8.1})  {ratio:>5.2}x ours  {verdict}",
            middle * 1e6,
            low * 1e6,
            high * 1e6
        );
    }
    missed
}
