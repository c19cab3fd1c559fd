//! The reference against results computed by hand.

use super::*;
use crate::diagnostic::Sources;
use crate::rules::Exactness;

fn instance(text: &str) -> (Model, Instance) {
    let mut sources = Sources::default();
    let file = sources.add("<test>", text);
    let model = Model::parse(&sources, file).expect("a model");
    let instance = model.instantiate(None).expect("its data");
    (model, instance)
}

/// The output of a model that has one.
fn only(model: &Model, instance: &Instance) -> Tensor {
    evaluate(model, instance).expect("evaluates").remove("out").expect("an output")
}

/// Evaluates an operation on a table of f32 rows (1 -2) (4 8) (-0 nan).
fn run(output: &str, data: &str) -> Vec<f64> {
    let weights = if output.contains("weights") { "(input weights f32 (n))" } else { "" };
    let offsets = if output.contains("bag") { "(input offsets i32 (b+1))" } else { "" };
    let (model, instance) = instance(&format!(
        "(model m (input table f32 (rows 2)) (input indices i64 (n)) {weights} {offsets}
           (output out ({output}))
           (data (table (values (1 -2) (4 8) (-0.0 nan))) {data}))"
    ));
    let out = only(&model, &instance);
    (0..out.len()).filter_map(|i| out.get(i)).map(Scalar::as_f64).collect()
}

#[test]
fn bags() {
    let data = "(indices (values 0 1 1)) (offsets (values 0 0 3 3))";
    let bag = |mode: &str| run(&format!("emb.bag {mode} table indices offsets"), data);
    assert_eq!(bag("sum"), [0.0, 0.0, 9.0, 14.0, 0.0, 0.0]);
    assert_eq!(bag("mean"), [0.0, 0.0, 3.0, f64::from(14.0f32 / 3.0), 0.0, 0.0]);
    assert_eq!(bag("max"), [0.0, 0.0, 4.0, 8.0, 0.0, 0.0]);
}

#[test]
fn weighted_bags() {
    let data = "(indices (values 0 1)) (offsets (values 0 2)) (weights (values 2 -1))";
    let bag = |mode: &str| run(&format!("emb.bag {mode} table indices offsets weights"), data);
    assert_eq!(bag("sum"), [-2.0, -12.0]);
    assert_eq!(bag("mean"), [-1.0, -6.0]);
    assert_eq!(bag("max"), [2.0, -4.0]);
}

#[test]
fn special_values() {
    let data = "(indices (values 2 2)) (offsets (values 0 1 2))";
    let sum = run("emb.bag sum table indices offsets", data);
    assert!(sum[0].is_sign_positive(), "sums start at +0.0");
    assert!(sum[1].is_nan());
    let max = run("emb.bag max table indices offsets", data);
    assert!(max[0].is_sign_negative() && max[1].is_nan());
    let gathered = run("emb.gather table indices", "(indices (values 2 0))");
    assert!(gathered[0].is_sign_negative() && gathered[1].is_nan());
    assert_eq!(gathered[2..], [1.0, -2.0]);
}

#[test]
fn integers_wrap_and_divide() {
    let (model, instance) = instance(
        "(model m (input t i32 (3 1)) (input i i64 (n)) (input o i64 (b+1))
           (output out (emb.bag mean t i o))
           (data (t (values (2147483647) (1) (-7))) (i (values 0 1 2 2)) (o (values 0 2 4))))",
    );
    let out = only(&model, &instance);
    assert_eq!(out.get(0), Some(Scalar::I32(i32::MIN / 2)));
    assert_eq!(out.get(1), Some(Scalar::I32(-7)));
}

#[test]
fn generated_tables_are_what_their_elements_are() {
    let (model, instance) = instance(
        "(model m (input t f64 (rows 3)) (input i i64 (n)) (output out (emb.gather t i))
           (data (seed 4) (size rows 1000000000000) (size n 5)
             (t (uniform -1 1)) (i (zipf 0))))",
    );
    let out = only(&model, &instance);
    let (table, rows) = (&instance.tensors["t"], &instance.tensors["i"]);
    for j in 0..5 {
        let row = rows.get(j).and_then(Scalar::as_i64).expect("a row") as u64;
        for e in 0..3 {
            assert_eq!(out.get(j * 3 + e), table.get(row * 3 + e));
        }
    }
}

#[test]
fn magnitudes_bound_other_orders() {
    let text = |rows: u32| {
        format!(
            "(model m (input t f32 (rows 4)) (input i i64 (n)) (input w f32 (n))
               (input o i64 (b+1)) (output out (emb.bag mean t i o w))
               (data (size rows {rows}) (size b 20) (t (uniform -1 1)) (w (uniform 0 9))
                 (o (ragged (mean 50) (empty 0.2))) (i (locality high))))"
        )
    };
    let (model, mut instance) = instance(&text(1000));
    let expected = only(&model, &instance);
    let bound = magnitudes(&model, &instance).expect("bounded");
    // Reversing every bag changes the order of additions and nothing else.
    let problem = Problem::new(&model, &instance).expect("a problem");
    let mut order: Vec<u64> = Vec::new();
    problem.bags().for_each(|(from, to)| order.extend((from..to).rev()));
    for name in ["i", "w"] {
        let old = instance.tensors[name].clone();
        let mut new = Tensor::zeros(old.dtype, old.shape.clone());
        for (to, from) in order.iter().enumerate() {
            assert!(new.set(to as u64, old.get(*from).expect("in range")));
        }
        instance.tensors.insert(name.to_owned(), new);
    }
    let got = only(&model, &instance);
    assert!(compare(&expected, &got, Exactness::Bitwise, &bound).is_err(), "another order");
    assert_eq!(compare(&expected, &got, Exactness::Reassoc, &bound), Ok(()));
    let wrong = Tensor::zeros(got.dtype, got.shape.clone());
    assert!(compare(&expected, &wrong, Exactness::Approx, &bound).is_err());
}

#[test]
fn statistics_count_lines_once() {
    let (model, instance) = instance(
        "(model m (input t f32 (rows 10)) (input i i64 (n)) (input o i64 (b+1))
           (output out (emb.bag sum t i o))
           (data (size rows 100) (t (constant 1)) (i (values 0 1 0 50)) (o (values 0 3 3 4))))",
    );
    let s = statistics(&model, &instance).expect("counts");
    assert_eq!((s.bags, s.empty_bags, s.lookups, s.longest_bag), (3, 1, 4, 3));
    assert_eq!((s.elements, s.distinct_rows), (40, 3));
    // Rows of 40 bytes: rows 0 and 1 share lines 0 and 1, row 50 (bytes 2000..2040) lies in line 31.
    assert_eq!((s.table_lines, s.input_lines, s.output_lines), (3, 5, 2));
}
