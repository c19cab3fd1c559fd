//! Tests every family of operators on random small data: each program of each schedule is valid, and none is faster
//! than the physical bound.

use crate::common::{OPT, best, inputs, judged, model, options};
use crate::samples::samples;
use ember_compile::cost::Goal;
use ember_compile::pipeline::Case;
use ember_rewrite::job::physical_bound;
use ember_sim::CoreKind;
use fastrand::Rng;
use itertools::Itertools;

/// The outputs of each family, computed from [`INPUTS`].
const FAMILIES: [&str; 19] = [
    "(output out (emb.spmm x i o v))",
    "(output out (emb.sddmm x x i o))",
    "(output out (emb.spmm_csc x y i o v))",
    "(output out (emb.scatter_add x i (nn.zip_rows mul (emb.gather y i) v)))",
    "(output out (nn.row_sum (nn.mul (emb.gather x i) (emb.gather y i))))",
    "(output out (emb.mp identity x x i o))",
    "(output out (emb.mp relu x x i o))",
    "(output out (emb.mp sigmoid x x i o))",
    "(output out (emb.mp exp x x i o))",
    "(output out (emb.kg transe x y i i i))",
    "(output out (emb.kg distmult x y i i i))",
    "(output out (emb.kg complex x y i i i))",
    "(output out (emb.kg rotate x y i i i))",
    "(output out (emb.block_gather blocks i))",
    "(output out (emb.block_gather blocks pairs))",
    "(output out (emb.bag sum (emb.dequantise codes scales) i o))",
    "(output out (emb.bag max (nn.cast f32 half) i o))",
    "(output out (emb.bag mean x i o)) (output more (nn.relu (emb.gather x i)))",
    "(let z (nn.relu (nn.linear (emb.bag sum x i o) w c)))
     (output out (nn.softmax z)) (output more (nn.concat z (nn.interact (nn.stack z z))))",
];

/// Names, declarations and data. D is a number of columns, N the number of nodes, EDGES the edges and ENDS the end of
/// each node's edges.
const INPUTS: [(&str, &str, &str); 12] = [
    ("x", "f32 (nodes D)", "(uniform -1 1)"),
    ("y", "f32 (nodes D)", "(uniform -1 1)"),
    ("i", "i64 (edges)", "(values EDGES)"),
    ("o", "i32 (nodes+1)", "(values ENDS)"),
    ("v", "f32 (edges)", "(uniform -1 1)"),
    ("blocks", "f32 (nodes 3 D)", "(uniform -1 1)"),
    ("pairs", "i64 (5 2)", "(uniform 0 N)"),
    ("codes", "u8 (nodes D)", "(uniform 0 256)"),
    ("scales", "f32 (nodes 2)", "(uniform -1 1)"),
    ("half", "f16 (nodes D)", "(uniform -1 1)"),
    ("w", "f32 (D 6)", "(uniform -1 1)"),
    ("c", "f32 (6)", "(uniform -1 1)"),
];

/// Returns the text of a model with these statements, always the same for a seed.
fn text(statements: &str, seed: u64) -> String {
    let random = &mut Rng::with_seed(seed);
    let (columns, nodes) = ([2, 6, 16, 30, 64][random.usize(..5)], random.usize(1..9));
    let mut ends = vec![0];
    for _ in 0..nodes {
        let edges = if random.bool() { 0 } else { random.usize(1..7) };
        ends.push(ends[ends.len() - 1] + edges);
    }
    let edges: Vec<usize> = (0..ends[nodes]).map(|_| random.usize(..nodes)).collect();
    let words = |ns: &[usize]| ns.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    let used = |name: &str| statements.split([' ', ')']).any(|word| word == name);
    let (mut inputs, mut data) = (String::new(), String::new());
    for (name, declared, source) in INPUTS.into_iter().filter(|(name, ..)| used(name)) {
        inputs += &format!("(input {name} {declared}) ");
        data += &format!("({name} {source}) ");
    }
    let data = data
        .replace("EDGES", &words(&edges))
        .replace("ENDS", &words(&ends))
        .replace('N', &nodes.to_string());
    let inputs = inputs.replace('D', &columns.to_string());
    format!(
        "(model family {inputs}\n{statements}\n(data (seed {seed}) (size nodes {nodes}) {data}))"
    )
}

#[test]
fn families_are_valid_and_no_faster_than_the_bound() {
    let mut inputs = inputs("tests/models/bag.sexp");
    for (family, seed) in FAMILIES.into_iter().cartesian_product(1..=samples(1) as u64) {
        let text = text(family, seed);
        inputs.model = model("family.sexp", &text);
        let case = Case::new(&inputs.model, None, options().exact).expect("data");
        let (bound, _) = physical_bound(&inputs, &case);
        let coupled = ("coupled", Goal::Coupled);
        for (schedule, goal) in
            OPT.into_iter().chain(["search"]).map(|name| (name, Goal::Decoupled)).chain([coupled])
        {
            let chosen = best(&inputs, &case, schedule, goal);
            let ran = judged(&inputs, chosen.program.program(), &case, CoreKind::OutOfOrder);
            let cycles = ran.unwrap_or_else(|e| panic!("{schedule}: {e}\n{text}"));
            assert!(cycles >= bound.cycles, "{schedule}: {cycles} of {bound:?}\n{text}");
        }
    }
}
