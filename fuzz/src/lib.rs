//! The bodies of the fuzz targets. Each reads a text as one kind of file and, if that succeeds, processes it within
//! limits. No text may cause a panic; results are ignored.
//!
//! The main crate's `tests/library/readers.rs` includes this file and runs the same code on mutated examples.

use ember_compile::dlc_text::DlcText;
use ember_engine::saturate::Limits;
use ember_host::{Disk, Memory};
use ember_import::torch_archive;
use ember_language::diagnostic::Sources;
use ember_language::rules::{self, Definitions};
use ember_language::sexp;
use ember_model::Model;
use ember_model::data::graph;
use ember_prove::equiv;
use ember_sim::{Bindings, Options, run};
use ember_targets::dlc::Dim;
use ember_targets::tensor::Tensor;
use ember_targets::verify::Limits as MachineLimits;
use ember_tools::render;
use ember_tools::selftest::Tools;
use ember_tune::{Evaluation, Method, propose};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The body of a fuzz target.
pub type Reader = fn(&str);

/// The readers with their names.
pub const READERS: [(&str, Reader); 11] = [
    ("rules", rules),
    ("model", model),
    ("program", program),
    ("dlc", dlc),
    ("certificate", certificate),
    ("matrix_market", matrix_market),
    ("import", import),
    ("stablehlo", stablehlo),
    ("mlir", mlir),
    ("tensorflow", tensorflow),
    ("space", space),
];

/// The extent of every symbolic size, and the maximum number of elements of a tensor in a run.
const SIZE: u64 = 3;
const MOST_ELEMENTS: u64 = 1 << 12;

/// The number of cycles after which a run is abandoned.
const CYCLES: u64 = 50_000;

/// A text with a number of more digits may need more memory than a test machine has.
const DIGITS: usize = 6;

/// Returns the project's rules and the machine, and the texts they were read from; all are read once.
pub fn tools() -> &'static (Tools, Sources) {
    static TOOLS: OnceLock<(Tools, Sources)> = OnceLock::new();
    TOOLS.get_or_init(|| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let roots = [here.join("rules"), here.join("../rules")];
        let root = roots.into_iter().find(|root| root.is_dir()).expect("the project's rules");
        let mut sources = Sources::new(Disk);
        let tools = Tools::read(&mut sources, &[root], "tmu-cpu-plus");
        (tools.expect("they are well-formed"), sources)
    })
}

/// Reads and checks rules, and renders all diagnostics.
pub fn rules(text: &str) {
    // An included file is outside the text, so texts with includes are skipped.
    if text.contains("include") {
        return;
    }
    let mut sources = Sources::new(Disk);
    let file = sources.add("fuzz.rules", text);
    let errors = match rules::load_text(&mut sources, &[file]) {
        Ok((book, warnings)) => {
            ember_engine::compile(&book);
            warnings
        }
        Err(errors) => errors,
    };
    render::render(&sources, &errors, false);
}

/// Reads a model with its term and its declarations.
pub fn model(text: &str) {
    let mut sources = Sources::new(Disk);
    let file = sources.add("fuzz.sexp", text);
    match Model::parse_with(&sources, file, &Definitions::default()) {
        Ok(model) => {
            model.root_term(tools().0.book.signature.table());
            equiv::Declarations::of_model(&model);
        }
        Err(errors) => {
            render::render(&sources, &errors, false);
        }
    }
}

/// Reads two programs with their declarations, compares them on some data, and begins a proof.
pub fn program(text: &str) {
    let (Tools { book, compiled, rules, machine }, sources) = tools();
    let mut sources = sources.clone();
    let path = PathBuf::from("fuzz.pair");
    sources.add(&path, text);
    match equiv::read(&mut sources, book, machine, &[path], None) {
        Ok(sides) => {
            let limits = Limits { iterations: 2, nodes: 300 };
            let options = equiv::Options { limits, tries: 4, ..equiv::Options::default() };
            let _ = equiv::compare(&sides, book, compiled, rules, machine, &options);
        }
        Err(errors) => {
            render::render(&sources, &errors, false);
        }
    }
}

/// Reads a DLC program, verifies it, and runs it on zeros.
pub fn dlc(text: &str) {
    let (Tools { machine, .. }, _) = tools();
    let mut sources = Sources::new(Disk);
    let file = sources.add("fuzz.dlc", text);
    let read = DlcText::read(&sources, file);
    let verified = match read.and_then(|program| program.verify(&MachineLimits::of(machine))) {
        Ok(verified) => verified,
        Err(errors) => {
            render::render(&sources, &errors, false);
            return;
        }
    };
    let program = verified.program();
    let mut tensors = Vec::new();
    for declared in &program.tensors {
        let extent = |dim: &Dim| match dim {
            Dim::Const(n) => *n,
            Dim::Size(_) => SIZE,
        };
        let shape: Vec<u64> = declared.shape.iter().map(extent).collect();
        let elements = shape.iter().try_fold(1u64, |n, extent| n.checked_mul(*extent));
        if elements.is_none_or(|n| n > MOST_ELEMENTS) {
            return;
        }
        tensors.push(Tensor::zeros(declared.dtype, shape));
    }
    let sizes = vec![SIZE as i64; program.sizes.len()];
    let options = Options { max_cycles: CYCLES, ..Options::default() };
    let _ = run(program, machine, Bindings { tensors, sizes }, options);
}

/// Reads and checks a certificate.
pub fn certificate(text: &str) {
    let mut sources = Sources::new(Disk);
    let file = sources.add("fuzz.cert", text);
    if let Ok(forms) = sexp::read(&sources, file) {
        for form in &forms {
            let _ = ember_certify::check(&tools().0.rules, form);
        }
    }
}

/// Reads a matrix in the Matrix Market format.
pub fn matrix_market(text: &str) {
    let long = |word: &str| word.bytes().filter(u8::is_ascii_digit).count() > DIGITS;
    if text.split_whitespace().any(long) {
        return;
    }
    let path = Path::new("it.mtx");
    let files = Memory::default().with(path, text);
    let _ = graph::read(&files, path, &graph::EdgeListOptions::default());
}

/// Imports a PyTorch program, given as the JSON inside its archive, and reads the model that it becomes.
pub fn import(text: &str) {
    imported("fuzz.pt2", &torch_archive("fuzz", text));
}

/// Imports StableHLO text, and reads the model that it becomes.
pub fn stablehlo(text: &str) {
    imported("fuzz.mlir", text.as_bytes());
}

/// Reads a kernel in MLIR text, and writes the program that it becomes.
pub fn mlir(text: &str) {
    let (Tools { book, machine, .. }, _) = tools();
    let mut sources = Sources::default();
    let path = Path::new("fuzz.mlir");
    sources.add(path, text);
    match equiv::read_kernel(
        &mut sources,
        book,
        &MachineLimits::of(machine),
        path,
        std::iter::empty(),
    ) {
        Ok((declarations, side)) => {
            if let Ok(term) = side.term() {
                let _ = equiv::mlir_text("fuzz", &declarations, term);
            }
        }
        Err(errors) => {
            render::render(&sources, &errors, false);
        }
    }
}

/// Imports a graph of TensorFlow, whose bytes are the first 256 characters, and reads the model that it becomes.
pub fn tensorflow(text: &str) {
    let bytes: Vec<u8> = text.chars().filter_map(|c| u8::try_from(u32::from(c)).ok()).collect();
    imported("fuzz.pb", &bytes);
}

/// Reads a space, and proposes two points of it.
pub fn space(text: &str) {
    let mut sources = Sources::default();
    let file = sources.add("fuzz.json", text);
    match ember_tune::read(&sources, file) {
        Ok(mut space) => {
            space.initial = Some(1);
            let first = propose(&space, Method::Bayesian, 0, &[]);
            let history = first.map(|point| Evaluation { point, value: Some(1.0) });
            let _ = propose(&space, Method::Bayesian, 0, history.as_slice());
        }
        Err(errors) => {
            render::render(&sources, &errors, false);
        }
    }
}

fn imported(path: &str, bytes: &[u8]) {
    let Ok(imported) = ember_import::import(path, bytes) else { return };
    let mut sources = Sources::default();
    let file = sources.add("fuzz.sexp", imported.text);
    let _ = Model::parse_with(&sources, file, &tools().0.book.definitions);
}
