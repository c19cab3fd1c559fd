//! Every model in `examples/` is read, given data and evaluated.

use ember_rewrite::data::{Instance, reuse_distances};
use ember_rewrite::diagnostic::Sources;
use ember_rewrite::load::load;
use ember_rewrite::model::Model;
use ember_rewrite::reference::{evaluate, statistics};
use ember_rewrite::render::render;
use ember_targets::tensor::Tensor;
use std::path::{Path, PathBuf};

fn model(path: &Path) -> Model {
    let mut sources = Sources::default();
    let model = load(&mut sources, path).and_then(|file| Model::parse(&sources, file));
    model.unwrap_or_else(|errors| panic!("{}", render(&sources, &errors, false)))
}

fn instance(model: &Model, seed: Option<u64>) -> Instance {
    model.instantiate(seed).unwrap_or_else(|e| panic!("{}: {e:?}", model.name))
}

/// The paths of the models in a folder of `examples/`.
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
    assert_eq!(paths.len(), 14);
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

#[test]
fn the_judged_inputs_have_their_shape_and_locality() {
    let mut shares = Vec::new();
    for locality in ["low", "medium", "high"] {
        let model = model(Path::new(&format!("examples/bags/64_{locality}.sexp")));
        let instance = instance(&model, None);
        let s = statistics(&model, &instance).expect("counts");
        assert_eq!((s.bags, s.width), (256, 64));
        assert!((70.0..90.0).contains(&s.mean_bag) && s.empty_bags > 0, "{s:?}");
        let indices = &instance.tensors["indices"];
        let rows = (0..indices.len() as usize)
            .map(|l| indices.get(l as u64).and_then(|x| x.as_i64()).expect("an index"));
        let histogram = reuse_distances(rows);
        assert_eq!(histogram.cold, s.distinct_rows);
        shares.push(histogram.share_below(11));
        println!("{locality}: {s:?} {histogram:?}");
    }
    assert!(shares[0] < 0.06 && (0.35..0.42).contains(&shares[1]) && shares[2] > 0.7, "{shares:?}");
}
