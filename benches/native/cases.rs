//! The cases: single kernels, which are compared with programs written by hand, and whole layers and models, whose
//! peers are those of PyTorch.

use ember_language::rules::Exactness;

/// A measured kernel, layer or model.
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// The kind that Python knows.
    pub kind: &'static str,
    /// The elements of a row, if there are programs written by hand.
    pub width: Option<u32>,
    /// The text of the model.
    pub model: String,
    /// The rules and functions that are allowed. PyTorch rounds in its own way, too.
    pub exact: Exactness,
    /// The data that it is run on: so many batches from so many seeds.
    pub batches: u64,
    /// The least ratios to PyTorch's ways.
    pub asked: &'static [(&'static str, f64)],
}

/// The batches of a case whose data is small.
const BATCHES: u64 = 16;

/// Returns all cases.
pub fn cases() -> Vec<Case> {
    let mut all = kernels();
    all.extend(layers());
    all
}

/// Returns the kernels.
fn kernels() -> Vec<Case> {
    let case = |name, kind, width, data, asked| Case {
        name,
        kind,
        width: Some(width),
        model: kernel(kind, width, data),
        exact: Exactness::Bitwise,
        // Graphs are large, and one of them is random enough.
        batches: if kind == "spmm" { 1 } else { BATCHES },
        asked,
    };
    vec![
        case(
            "bag, 1M x 64, 256 x 80, Zipf",
            "bag",
            64,
            "(data (seed 1) (size rows 1000000) (size bags 256) (table (uniform -1 1))
              (offsets (fixed 80)) (indices (zipf 1.05)))",
            &[("torch", 1.2)],
        ),
        case(
            "bag, 1M x 128, 2048 x 40",
            "bag",
            128,
            "(data (seed 1) (size rows 1000000) (size bags 2048) (table (uniform -1 1))
              (offsets (fixed 40)) (indices (zipf 0)))",
            &[("torch", 1.2)],
        ),
        case(
            "bag, 100k x 32, 256 x 80",
            "bag",
            32,
            "(data (seed 1) (size rows 100000) (size bags 256) (table (uniform -1 1))
              (offsets (fixed 80)) (indices (zipf 0)))",
            &[("torch", 1.2)],
        ),
        case(
            "bytes, 1M x 64, 256 x 80, Zipf",
            "quantised",
            64,
            "(data (seed 1) (size rows 1000000) (size bags 256) (table (uniform 0 255))
              (scales (uniform 0 1)) (offsets (fixed 80)) (indices (zipf 1.05)))",
            &[("torch", 1.4)],
        ),
        case(
            "bytes, 1M x 128, 2048 x 40",
            "quantised",
            128,
            "(data (seed 1) (size rows 1000000) (size bags 2048) (table (uniform 0 255))
              (scales (uniform 0 1)) (offsets (fixed 40)) (indices (zipf 0)))",
            &[("torch", 1.1)],
        ),
        case(
            "spmm, 169343 nodes, 1166243 edges",
            "spmm",
            128,
            "(data (seed 1) (graph g (rmat (nodes 169343) (edges 1166243)))
              (table (uniform -1 1)) (offsets (offsets-of g)) (indices (neighbours-of g))
              (weights (uniform 0 1)))",
            &[("torch", 1.9), ("torch, MKL", 3.0)],
        ),
    ]
}

/// Returns the model of a kernel.
fn kernel(kind: &str, width: u32, data: &str) -> String {
    let weighted = kind == "spmm";
    let (rows, bags) = if weighted { ("nodes", "nodes") } else { ("rows", "bags") };
    let (dtype, scales, table) = match kind {
        "quantised" => {
            ("u8", format!("(input scales f32 ({rows} 2))"), "(emb.dequantise table scales)")
        }
        _ => ("f32", String::new(), "table"),
    };
    let (weights, out) = match weighted {
        true => {
            ("(input weights f32 (lookups))", "(emb.spmm table indices offsets weights)".to_owned())
        }
        false => ("", format!("(emb.bag sum {table} indices offsets)")),
    };
    format!(
        "(model measured (input table {dtype} ({rows} {width})) {scales} (input indices i64 (lookups))
           (input offsets i64 ((+ {bags} 1))) {weights} (output out {out}) {data})"
    )
}

/// Returns layers and whole models.
fn layers() -> Vec<Case> {
    let case = |name, kind, model, batches, asked| Case {
        name,
        kind,
        width: None,
        model,
        exact: Exactness::Approx,
        batches,
        asked,
    };
    let example = |text: &str, changes: &[(&str, &str)]| {
        changes.iter().fold(text.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "an example has no `{from}`");
            text.replace(from, to)
        })
    };
    vec![
        case(
            "message passing, 169343 nodes, 1166243 edges, 128 wide",
            "passing",
            example(
                include_str!("../../examples/fusedmm.sexp"),
                &[
                    ("(nodes 64)", "(nodes 128)"),
                    ("(nodes 1000) (edges 10000)", "(nodes 169343) (edges 1166243)"),
                ],
            ),
            1,
            &[("torch", 3.0), ("torch, MKL", 3.0)],
        ),
        case(
            "TransE, 8192 triples, 128 wide",
            "transe",
            example(
                include_str!("../../examples/kg_scorer.sexp"),
                &[("distmult", "transe"), ("triples 2048", "triples 8192")],
            ),
            BATCHES,
            &[("torch, inductor", 1.3)],
        ),
        case(
            "GCN, two layers, 4000 nodes, 24000 edges",
            "gcn",
            example(include_str!("../../examples/gcn.sexp"), &[]),
            1,
            &[("torch", 1.5), ("torch, MKL", 1.5)],
        ),
        case(
            "GCN, two layers, 169343 nodes, 1166243 edges",
            "gcn",
            example(
                include_str!("../../examples/gcn.sexp"),
                &[("(nodes 4000) (edges 12000)) (undirected)", "(nodes 169343) (edges 1166243))")],
            ),
            1,
            &[("torch", 1.5), ("torch, MKL", 1.5)],
        ),
        case(
            "GraphSAGE, a layer, 1000 nodes, 10000 edges",
            "sage",
            example(include_str!("../../examples/graphsage.sexp"), &[]),
            1,
            &[("torch", 1.5)],
        ),
        case(
            "GraphSAGE, a layer, 169343 nodes, 1166243 edges",
            "sage",
            example(
                include_str!("../../examples/graphsage.sexp"),
                &[("(nodes 1000) (edges 10000)", "(nodes 169343) (edges 1166243)")],
            ),
            1,
            &[("torch", 1.5)],
        ),
        case(
            "BigBird, a layer",
            "bigbird",
            example(include_str!("../../examples/bigbird.sexp"), &[]),
            1,
            &[("torch", 1.5)],
        ),
        case(
            "DLRM, 8 tables of 200k x 32, batch of 256",
            "dlrm",
            example(
                include_str!("../../examples/dlrm_rm1.sexp"),
                &[("batch 32", "batch 256"), ("rows 4000000", "rows 200000")],
            ),
            BATCHES,
            &[("torch", 1.15), ("torch, inductor", 1.0)],
        ),
    ]
}
