//! Tests that every model in `examples/` can be read, given data and evaluated.

use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::load::load;
use ember_model::Model;
use ember_model::data::{Instance, reuse_distances};
use ember_model::reference::evaluate;
use ember_targets::tensor::Tensor;
use ember_tools::render::render;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn model(path: &Path) -> Model {
    let mut sources = Sources::new(Disk);
    let model = load(&mut sources, path).and_then(|file| Model::parse(&sources, file));
    model.unwrap_or_else(|errors| panic!("{}", render(&sources, &errors, false)))
}

fn instance(model: &Model, seed: Option<u64>) -> Instance {
    model.instantiate(seed).unwrap_or_else(|e| panic!("{}: {e:?}", model.name))
}

/// Returns the paths of the models in a folder of `examples/`.
fn models(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(folder);
    let entries = std::fs::read_dir(root).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "sexp"));
    paths.sort();
    paths
}

#[test]
fn examples_evaluate_and_depend_on_the_seed() {
    let paths = [models(""), models("bags")].concat();
    assert!(paths.len() >= 14, "{paths:?}");
    for path in paths {
        let model = model(&path);
        let [first, again, other] = [None, None, Some(2)].map(|seed| {
            let all = evaluate(&model, &instance(&model, seed)).expect("evaluates");
            let elements = |out: &Tensor| -> Vec<String> {
                (0..out.len()).map(|i| format!("{:?}", out.get(i))).collect()
            };
            all.values().flat_map(elements).collect::<Vec<_>>()
        });
        assert_eq!(first, again, "{}", model.name);
        assert_ne!(first, other, "{}", model.name);
    }
}

/// Returns the elements of a tensor of positions.
fn positions(tensor: &Tensor) -> Vec<i64> {
    (0..tensor.len()).filter_map(|i| tensor.get(i)?.as_i64()).collect()
}

#[test]
fn the_judged_inputs_have_their_shape_and_locality() {
    let mut shares = Vec::new();
    for locality in ["low", "medium", "high"] {
        let model = model(Path::new(&format!("examples/bags/64_{locality}.sexp")));
        let instance = instance(&model, None);
        let indices = positions(&instance.tensors["indices"]);
        let lengths: Vec<i64> =
            positions(&instance.tensors["offsets"]).windows(2).map(|w| w[1] - w[0]).collect();
        let mean = indices.len() as f64 / lengths.len() as f64;
        assert_eq!((lengths.len(), instance.tensors["table"].shape[1]), (256, 64));
        assert!((70.0..90.0).contains(&mean) && lengths.contains(&0), "{mean}");
        let distinct = BTreeSet::from_iter(&indices).len() as u64;
        let histogram = reuse_distances(indices.iter().copied());
        assert_eq!(histogram.cold, distinct);
        println!("{locality}: {histogram:?}");
        shares.push(histogram.share_below(11));
    }
    assert!(shares[0] < 0.06 && (0.35..0.42).contains(&shares[1]) && shares[2] > 0.7, "{shares:?}");
}
