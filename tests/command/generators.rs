//! Tests that generated files contain the same data as the corresponding sources in a model, and are identical for the
//! same seed.

use crate::common::{ember, folder, model, word};
use ember_model::data::Instance;
use std::path::Path;

/// Runs `gen` into a file and returns its bytes.
fn generated(words: &str, file: &Path) -> Vec<u8> {
    let words: Vec<&str> = words.split(' ').collect();
    let ran = ember(&[&["gen"][..], &words, &["-o", &word(file)]].concat());
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "", ""));
    std::fs::read(file).unwrap_or_default()
}

fn instance(text: &str, seed: u64) -> Instance {
    model("tests/command/model.sexp", text)
        .instantiate(Some(seed))
        .unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"))
}

/// Checks that two data forms of one model make the same data.
fn same(inputs: &str, one: &str, other: &str) {
    let [one, other] =
        [one, other].map(|data| instance(&format!("(model m {inputs} (data {data}))"), 5));
    assert_eq!(one.sizes, other.sizes);
    for (name, tensor) in &one.tensors {
        let other = &other.tensors[name];
        assert_eq!(tensor.shape, other.shape, "{name}");
        assert!((0..tensor.len()).all(|i| tensor.get(i) == other.get(i)), "{name}");
    }
}

const GRAPH: &str = "(input x f32 (nodes 4)) (input i i64 (edges)) (input o i64 ((+ rows 1)))
    (input w f32 (edges)) (output out (emb.spmm x i o w))";

#[test]
fn a_graph_that_went_through_a_file_is_the_graph() {
    let folder = folder("graphs");
    let parts = "(x (uniform 0 1)) (i (neighbours-of g)) (o (offsets-of g)) (w (values-of g))";
    for kind in ["web-Google", "com-Youtube", "roadNet-CA"] {
        let market = folder.join(format!("{kind}.mtx"));
        let words = format!("graph --kind {kind} --scale 0.0005 --seed 5");
        let bytes = generated(&words, &market);
        assert_eq!(bytes, generated(&words, &folder.join("again.mtx")), "{kind}");
        assert_ne!(bytes, generated(&words.replace("5 --", "6 --"), &folder.join("other.mtx")));
        let drawn = format!("(graph g (kind {kind}) (scale 0.0005) (batch 300)) {parts}");
        let read = format!("(graph g (file {:?}) (batch 300)) {parts}", word(&market));
        same(GRAPH, &drawn, &read);
        let list = folder.join(format!("{kind}.tsv"));
        let text = String::from_utf8(generated(&words, &list)).expect("text");
        let nodes = text.split_whitespace().skip_while(|w| *w != "Nodes:").nth(1).expect("nodes");
        let ways = if text.contains("undirected") { "(undirected)" } else { "" };
        let read = format!(
            "(graph g (file {:?}) (nodes {nodes}) {ways} (batch 300)) {parts}",
            word(&list)
        );
        same(GRAPH, &drawn, &read);
        let arrays = folder.join(format!("{kind}.npy"));
        generated(&words, &arrays);
        let part = |part| word(&arrays.with_extension(format!("{part}.npy")));
        let whole = format!("(graph g (kind {kind}) (scale 0.0005)) {parts}");
        let read = format!(
            "(size nodes {nodes}) (x (uniform 0 1)) (w (constant 1)) (i (file {:?})) (o (file {:?}))",
            part("indices"),
            part("offsets")
        );
        same(GRAPH, &whole, &read);
    }
}

#[test]
fn bags_and_patterns_that_went_through_files_are_those_of_the_model() {
    let folder = folder("bags");
    let file = folder.join("bags.npy");
    let part = |part: &str| word(&file.with_extension(format!("{part}.npy")));
    let inputs = "(input table f32 (rows 4)) (input indices i64 (lookups))
        (input offsets i64 ((+ bags 1))) (output out (emb.bag sum table indices offsets))";
    let common = "(size rows 500) (table (uniform 0 1))";
    let read = |path: &dyn Fn(&str) -> String| {
        format!(
            "{common} (indices (file {:?})) (offsets (file {:?}))",
            path("indices"),
            path("offsets")
        )
    };
    for (words, offsets) in [("", "(fixed 7)"), (" --empty 0.2", "(ragged (mean 7) (empty 0.2))")] {
        let words =
            format!("bags --rows 500 --bags 40 --lookups 7{words} --locality high --seed 5");
        generated(&words, &file);
        let drawn =
            format!("{common} (size bags 40) (indices (locality high)) (offsets {offsets})");
        same(inputs, &drawn, &read(&part));
    }
    let inputs = "(input keys f32 (blocks 2 4)) (input indices i64 (queries 8))
        (output out (emb.block_gather keys indices))";
    let file = folder.join("pattern.npy");
    generated("blocks --tokens 640 --block-size 64 --seed 5", &file);
    let common = "(size blocks 10) (keys (uniform 0 1))";
    let drawn = "(size queries 10) (indices (blocks (window 3) (global 2) (random 3)))";
    let read = format!("{common} (indices (file {:?}))", word(&file));
    same(inputs, &format!("{common} {drawn}"), &read);
}

#[test]
fn triples_that_went_through_files_are_those_of_the_model() {
    let folder = folder("triples");
    let file = folder.join("kg.npy");
    generated("triples --kind biokg --scale 0.001 --seed 5", &file);
    let part = |part: &str| word(&file.with_extension(format!("{part}.npy")));
    let inputs = "(input e f32 (entities 4)) (input r f32 (relations 4)) (input h i64 (n))
        (input k i64 (n)) (input t i64 (n)) (output out (emb.kg transe e r h k t))";
    let common = "(e (uniform 0 1)) (r (uniform 0 1))";
    let drawn = "(triples g (kind biokg) (scale 0.001)) (h (heads-of g)) (k (relations-of g))
        (t (tails-of g))";
    let read = format!(
        "(size entities 94) (size relations 51) (h (file {:?})) (k (file {:?})) (t (file {:?}))",
        part("heads"),
        part("relations"),
        part("tails")
    );
    same(inputs, &format!("{common} {drawn}"), &format!("{common} {read}"));
}
