//! Tests kernels in MLIR text on arrays of the user's.

use crate::common::{Ran, ember, folder, word};
use ember_model::data::TensorFile;
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::{DType, Scalar};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Sums the rows of bags; `table` is [4, 3].
const KERNEL: &str = "tests/cases/mlir/bag.mlir";

/// Scales a memory by a number, up to a size of its own.
const SCALE: &str =
    "func.func @scale(%count: index, %alpha: f32, %a: memref<?xf32>, %o: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %count step %c1 {
    %x = memref.load %a[%i] : memref<?xf32>
    %y = arith.mulf %alpha, %x : f32
    memref.store %y, %o[%i] : memref<?xf32>
  }
  return
}
";

fn file(path: &Path) -> TensorFile {
    word(path).parse().expect("has a known ending")
}

fn floats(shape: &[u64], elements: &[f32]) -> Tensor {
    Tensor {
        dtype: DType::F32,
        shape: shape.to_vec(),
        data: Data::F32(Arc::new(elements.to_vec())),
    }
}

/// Returns the elements of an output with its shape.
fn elements(outputs: &BTreeMap<String, Tensor>, name: &str) -> (Vec<u64>, Vec<f64>) {
    let output = &outputs[name];
    let elements = (0..output.len()).filter_map(|at| output.get(at)).map(Scalar::as_f64);
    (output.shape.clone(), elements.collect())
}

fn doubles(shape: &[u64], elements: &[f64]) -> Tensor {
    Tensor {
        dtype: DType::F64,
        shape: shape.to_vec(),
        data: Data::F64(Arc::new(elements.to_vec())),
    }
}

fn indices(elements: &[i32]) -> Tensor {
    let shape = vec![elements.len() as u64];
    Tensor { dtype: DType::I32, shape, data: Data::I32(Arc::new(elements.to_vec())) }
}

fn index(n: i64) -> Tensor {
    Tensor { dtype: DType::I64, shape: Vec::new(), data: Data::I64(Arc::new(vec![n])) }
}

/// The arrays of [`KERNEL`]: three bags of rows 3 and 1, of none, and of row 0.
fn bags() -> BTreeMap<String, Tensor> {
    let rows: Vec<f64> = (0..12).map(f64::from).collect();
    BTreeMap::from([
        ("offsets".to_owned(), indices(&[0, 2, 2, 3])),
        ("indices".to_owned(), indices(&[3, 1, 0])),
        ("table".to_owned(), doubles(&[4, 3], &rows)),
        ("out".to_owned(), doubles(&[3, 3], &[0.0; 9])),
        ("sizes.0.0".to_owned(), index(3)),
    ])
}

/// Runs a kernel on arrays, and returns its outputs.
fn run(
    name: &str,
    kernel: &str,
    arrays: &BTreeMap<String, Tensor>,
) -> (Ran, BTreeMap<String, Tensor>) {
    let folder = folder(&format!("kernels_{name}"));
    let at = |name: &str| folder.join(name);
    std::fs::write(at("in.npz"), file(&at("in.npz")).content(arrays).expect("fits"))
        .expect("writes");
    let ran = ember(&[
        "run",
        kernel,
        "--inputs",
        &word(&at("in.npz")),
        "--outputs",
        &word(&at("out.npz")),
    ]);
    let outputs = file(&at("out.npz")).read(&ember_host::Disk).unwrap_or_default();
    (ran, outputs)
}

#[test]
fn a_kernel_computes_on_arrays_that_are_given() {
    let (ran, outputs) = run("given", KERNEL, &bags());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let sums = vec![12.0, 14.0, 16.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0];
    assert_eq!(outputs.len(), 1);
    assert_eq!(elements(&outputs, "out"), (vec![3, 3], sums));
    // What is in the memory of the result is added to.
    let before = doubles(&[3, 3], &[0.5; 9]);
    let more = BTreeMap::from([("out".to_owned(), before)]);
    let (_, outputs) = run("added", KERNEL, &bags().into_iter().chain(more).collect());
    let sums = vec![12.5, 14.5, 16.5, 0.5, 0.5, 0.5, 0.5, 1.5, 2.5];
    assert_eq!(elements(&outputs, "out"), (vec![3, 3], sums));
}

#[test]
fn arguments_are_given_in_order_with_or_without_what_is_written() {
    let kernel = folder("kernels_scale").join("scale.mlir");
    std::fs::write(&kernel, SCALE).expect("writes");
    let all =
        [index(2), floats(&[], &[3.0]), floats(&[3], &[1.0, 2.0, 4.0]), floats(&[4], &[9.0; 4])];
    let named = |count: usize| {
        let arrays = all.iter().take(count).enumerate();
        arrays.map(|(n, array)| (format!("input.{n}"), array.clone())).collect::<BTreeMap<_, _>>()
    };
    let (ran, outputs) = run("all", &word(&kernel), &named(4));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert_eq!(elements(&outputs, "o"), (vec![4], vec![3.0, 6.0, 9.0, 9.0]));
    // The extent of the result is known from no other argument.
    let (ran, _) = run("unknown", &word(&kernel), &named(3));
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("the size `o.0` is not known"), "{}", ran.err);
    let (ran, _) = run("few", &word(&kernel), &named(2));
    assert!(ran.err.contains("2 arrays in order for a kernel of 4 arguments"), "{}", ran.err);
}

#[test]
fn what_does_not_fit_a_kernel_is_said() {
    let changes: [(&str, Option<Tensor>, &str); 6] = [
        ("indices", None, "there is no array for `(input indices i64"),
        ("table", Some(floats(&[4, 3], &[0.0; 12])), "the array for `table` is f32 (4 3)"),
        ("table", Some(doubles(&[12], &[0.0; 12])), "the array for `table` is f64 (12)"),
        ("tables", Some(index(1)), "the kernel has no argument `tables`"),
        ("sizes.0.0", Some(index(-1)), "`sizes.0.0` is a size"),
        (
            "indices",
            Some(indices(&[3, 4, 0])),
            "the kernel faults on this data: index 4 is outside",
        ),
    ];
    for (n, (name, array, message)) in changes.into_iter().enumerate() {
        let mut arrays = bags();
        arrays.remove(name);
        arrays.extend(array.map(|array| (name.to_owned(), array)));
        let (ran, _) = run(&format!("unfit{n}"), KERNEL, &arrays);
        assert_eq!(ran.code, Some(2), "{message}");
        assert!(ran.err.contains(message), "{message}: {}", ran.err);
    }
}
