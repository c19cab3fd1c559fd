//! Tests the outputs that are written to files, their comparison with expected arrays, and errors as JSON.

use crate::common::{Ran, ember, folder, word};
use ember_model::data::TensorFile;
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::{DType, Scalar};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

const MODEL: &str = "tests/models/bag.sexp";

fn file(path: &Path) -> TensorFile {
    word(path).parse().expect("has a known ending")
}

fn read(path: &Path) -> BTreeMap<String, Tensor> {
    file(path).read(&ember_host::Disk).expect("reads")
}

fn write(path: &Path, tensors: &BTreeMap<String, Tensor>) {
    std::fs::write(path, file(path).content(tensors).expect("fits")).expect("writes");
}

/// Runs the command on the model and these options.
fn run(options: &[&str]) -> Ran {
    ember(&[&[MODEL][..], options].concat())
}

/// Returns a tensor of another element type, with one element changed by a summand.
fn changed(tensor: &Tensor, at: u64, summand: f64) -> Tensor {
    let element = |i| {
        let value = tensor.get(i).map_or(0.0, Scalar::as_f64);
        Scalar::F64(if i == at { value + summand } else { value })
    };
    let data = Data::held(DType::F64, (0..tensor.len()).map(element));
    Tensor { dtype: DType::F64, shape: tensor.shape.clone(), data }
}

#[test]
fn outputs_are_written_and_compared() {
    let folder = folder("results");
    let at = |name: &str| folder.join(name);
    let word = |name: &str| word(&at(name));
    let ran = run(&["--outputs", &word("a.safetensors")]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let outputs = read(&at("a.safetensors"));
    let out = &outputs["out"];
    assert_eq!((outputs.len(), out.dtype, out.shape.len()), (1, DType::F32, 2));
    // The same outputs from `run`, in the other format.
    let program = "programs/bag_sum_paper.dlc";
    let ran = ember(&[
        "run",
        program,
        MODEL,
        "--outputs",
        &word("b.npz"),
        "--expect",
        &word("a.safetensors"),
    ]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert!(ran.out.contains("yes"), "{}", ran.out);
    assert_eq!(read(&at("b.npz"))["out"].shape, out.shape);

    write(&at("near.npz"), &BTreeMap::from([("output.0".to_owned(), changed(out, 3, 1e-6))]));
    let ran = run(&["--json", "--expect", &word("near.npz")]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let report = ran.json();
    assert_eq!(
        (&report["schema_version"], &report["expected"][0]["within"]),
        (&json!(1), &json!(true))
    );
    assert!(report["best"]["program"].as_str().is_some_and(|text| text.starts_with("(dlc")));

    write(&at("far.npz"), &BTreeMap::from([("out".to_owned(), changed(out, 3, 1.0))]));
    let ran = run(&["--expect", &word("far.npz")]);
    assert_eq!(ran.code, Some(1));
    let wrong = format!("output `out`: 1 of {} elements are not as expected", out.len());
    assert!(ran.err.contains(&wrong) && ran.err.contains("[0, 3]"), "{}", ran.err);
    let ran = run(&["--expect", &word("far.npz"), "--tolerance", "0,1.001"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
}

#[test]
fn arrays_that_fit_no_output_are_errors() {
    let folder = folder("no-results");
    let ran = run(&["--outputs", &word(&folder.join("out.txt"))]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("must end in .safetensors or .npz"), "{}", ran.err);

    let path = folder.join("other.npz");
    let row = |n| Tensor {
        dtype: DType::I64,
        shape: vec![n],
        data: Data::I64(vec![1; n as usize].into()),
    };
    write(&path, &BTreeMap::from([("total".to_owned(), row(2))]));
    let ran = run(&["--json", "--expect", &word(&path)]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(2), ""));
    let errors = ran.json();
    assert_eq!(errors["errors"][0]["severity"], Value::from("error"));
    let message = errors["errors"][0]["message"].as_str().expect("a message");
    assert!(message.ends_with("has no array of an output of `bag`"), "{message}");

    write(&path, &BTreeMap::from([("out".to_owned(), row(3))]));
    let ran = run(&["--expect", &word(&path)]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("that of the file's array is (3)"), "{}", ran.err);

    std::fs::write(&path, b"PK").expect("writes");
    let ran = run(&["--expect", &word(&path)]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("is not an .npz file"), "{}", ran.err);
    let ran = run(&["--tolerance", "1,1"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("--expect <FILE>"), "{}", ran.err);
}

#[test]
fn a_run_without_end_is_stopped() {
    let path = folder("endless").join("endless.dlc");
    let program = "(dlc endless (sizes rows dim bags lookups bags+1)
        (tensor table f32 (rows dim)) (tensor indices i64 (lookups)) (tensor offsets i64 (bags+1))
        (tensor_out out f32 (bags dim))
        (configure_access_engine
          (const_stream zero i64 0) (const_stream many i64 1000000000000000000)
          (new_tu u zero many 1) (start (traverse u)))
        (compute_loop))";
    std::fs::write(&path, program).expect("writes");
    let ran = ember(&["run", &word(&path), MODEL, "--cycle-limit", "100000"]);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let why = "the run takes more than 100000 cycles; `--cycle-limit` allows more";
    assert!(ran.err.contains(why), "{}", ran.err);
}
