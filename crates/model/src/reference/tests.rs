//! Tests of the reference interpreter against results computed by hand.

use super::*;
use crate::model::{Computed, Kind, TensorId};
use ember_language::diagnostic::Sources;
use ember_language::rules::Exactness;
use ember_targets::tensor::Data;
use ember_values::scalar::{DType, Scalar};
use std::collections::BTreeMap;

fn instance(text: &str) -> (Model, Instance) {
    let mut sources = Sources::default();
    let file = sources.add("<test>", text);
    let model = Model::parse(&sources, file).expect("a model");
    let instance = model.instantiate(None).expect("its data");
    (model, instance)
}

/// Evaluates a model with a single output and returns the output.
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
fn errors_bound_other_orders_and_nothing_more() {
    let text = "(model m (input t f32 (rows 4)) (input i i64 (n)) (input w f32 (n))
       (input o i64 (b+1)) (output out (emb.bag mean t i o w))
       (data (size rows 1000) (size b 20) (t (uniform -1 1)) (w (uniform 0 9))
         (o (ragged (mean 50) (empty 0.2))) (i (locality high))))";
    let (model, mut instance) = instance(text);
    let expected = only(&model, &instance);
    let errors = error_bounds(&model, &instance).expect("bounded").remove("out").expect("out");
    // Reversing every bag changes only the order of additions.
    let ends: Vec<u64> = integers(&instance.tensors["o"]);
    let order: Vec<u64> = ends.windows(2).flat_map(|e| (e[0]..e[1]).rev()).collect();
    for name in ["i", "w"] {
        let old = instance.tensors[name].clone();
        let mut new = Tensor::zeros(old.dtype, old.shape.clone());
        for (to, from) in order.iter().enumerate() {
            assert!(new.set(to as u64, old.get(*from).expect("in range")));
        }
        instance.tensors.insert(name.to_owned(), new);
    }
    let got = only(&model, &instance);
    let compared = |got: &Tensor, exact| compare("out", &expected, got, exact, &errors);
    assert!(compared(&got, Exactness::Bitwise).is_err(), "another order");
    assert_eq!(compared(&got, Exactness::Reassoc), Ok(()));
    // Leaving out a term is not a matter of rounding.
    for l in [0, order.len() as u64 / 2] {
        let mut without = instance.clone();
        let weights = without.tensors.get_mut("w").expect("weights");
        assert!(weights.set(l, Scalar::F32(0.0)));
        assert!(compared(&only(&model, &without), Exactness::Approx).is_err(), "term {l}");
    }
}

/// Returns all elements of a tensor of positions.
fn integers(tensor: &Tensor) -> Vec<u64> {
    (0..tensor.len()).filter_map(|i| tensor.get(i)?.as_i64().map(|x| x as u64)).collect()
}

/// Evaluates statements on 4 nodes of 2 features, x = (1 2) (3 4) (5 6) (-1 0.5), and the edges 0 -> 1, 0 -> 1, 0 -> 0,
/// 2 -> 3: a duplicate edge, a self loop, and nodes 1 and 3 without edges.
fn graph(statements: &str) -> BTreeMap<String, Vec<f64>> {
    let (model, instance) = instance(&format!(
        "(model m (input x f32 (nodes 2)) (input i i64 (edges)) (input o i64 (nodes+1))
           (input v f32 (edges)) {statements}
           (output used (emb.spmm x i o v))
           (data (x (values (1 2) (3 4) (5 6) (-1 0.5))) (i (values 1 1 0 3))
             (o (values 0 3 3 4 4)) (v (values 1 1 1 1))))"
    ));
    let all = evaluate(&model, &instance).expect("evaluates");
    all.into_iter().map(|(name, tensor)| (name, floats(&tensor))).collect()
}

fn floats(tensor: &Tensor) -> Vec<f64> {
    (0..tensor.len()).filter_map(|i| tensor.get(i)).map(Scalar::as_f64).collect()
}

#[test]
fn sparse_products() {
    let all = graph(
        "(output out (emb.sddmm x x i o)) (output sums (emb.bag sum x i o))
         (output messages (emb.mp identity x x i o)) (let s (emb.sddmm x x i o))
         (output two_steps (emb.spmm x i o s)) (output relu (emb.mp relu x x i o))",
    );
    assert_eq!(all["out"], [11.0, 11.0, 5.0, -2.0]);
    assert_eq!(all["used"], [7.0, 10.0, 0.0, 0.0, -1.0, 0.5, 0.0, 0.0]);
    assert_eq!(all["used"], all["sums"], "values of one");
    assert_eq!(all["messages"], all["two_steps"], "an spmm of an sddmm");
    assert_eq!(all["messages"][..4], [71.0, 98.0, 0.0, 0.0]);
    assert_eq!(all["relu"][4..6], [0.0, 0.0], "a product of -2");
}

#[test]
fn edge_functions() {
    let all = graph("(output s (emb.mp sigmoid x x i o)) (output e (emb.mp exp x x i o))");
    let sigmoid = |x: f32| 1.0 / (1.0 + (-x).exp());
    let near = |a: f64, b: f32| assert!((a - f64::from(b)).abs() < 1e-6 * a.abs(), "{a} {b}");
    near(all["s"][0], 2.0 * sigmoid(11.0) * 3.0 + sigmoid(5.0));
    near(all["s"][4], -sigmoid(-2.0));
    near(all["e"][0], 2.0 * 11f32.exp() * 3.0 + 5f32.exp());
    assert_eq!(all["e"][2..4], [0.0, 0.0], "an isolated node");
}

#[test]
fn graphs_without_edges_or_nodes() {
    for (nodes, offsets) in [("(1 2) (3 4)", "0 0 0"), ("", "0")] {
        let (model, instance) = instance(&format!(
            "(model m (input x f32 (nodes 2)) (input i i64 (edges)) (input o i64 (nodes+1))
               (output a (emb.mp exp x x i o)) (output b (emb.sddmm x x i o))
               (output c (nn.softmax x)) (output d (nn.row_sum x)) (output e (emb.bag max x i o))
               (data (size edges 0) (x (values {nodes})) (i (values)) (o (values {offsets}))))"
        ));
        let all = evaluate(&model, &instance).expect("evaluates");
        assert!(error_bounds(&model, &instance).is_some());
        assert!(floats(&all["a"]).iter().all(|x| *x == 0.0) && all["b"].is_empty());
        assert_eq!(all["d"].len(), instance.sizes["nodes"]);
    }
}

#[test]
fn triples() {
    let score = |score: &str| {
        let (model, instance) = instance(&format!(
            "(model m (input e f64 (3 4)) (input r f64 (2 4))
               (input h i64 (2)) (input l i64 (2)) (input t i64 (2))
               (output out (emb.kg {score} e r h l t))
               (data (e (values (1 2 3 4) (0 1 -1 2) (5 0 2 1))) (r (values (1 0 2 1) (1 1 1 1)))
                 (h (values 0 2)) (l (values 0 1)) (t (values 1 2))))"
        ));
        floats(&only(&model, &instance))
    };
    // (1 2 3 4) + (1 0 2 1) - (0 1 -1 2) = (2 1 6 3)
    assert_eq!(score("transe"), [-12.0, -4.0]);
    assert_eq!(score("distmult"), [1.0 * 0.0 + 0.0 - 3.0 * 2.0 + 4.0 * 1.0 * 2.0, 30.0]);
    // The head is (1+3i, 2+4i), the relation (1+2i, i) and their product (-5+5i, -4+2i); the tail is (-i, 1+2i).
    let complex = (-5.0 * 0.0 - 5.0) + (-4.0 * 1.0 + 2.0 * 2.0);
    assert_eq!(score("complex")[0], complex);
    // The differences to the tail are (-5+6i) and (-5+0i).
    assert_eq!(score("rotate")[0], 0.0 - (61f64.sqrt() + 5.0));
}

#[test]
fn blocks() {
    let (model, instance) = instance(
        "(model m (input t f32 (3 2 2)) (input i i64 (2)) (input j i64 (1 2))
           (output one (emb.block_gather t i)) (output row (emb.block_gather t j))
           (data (t (values ((1 2) (3 4)) ((5 6) (7 8)) ((9 10) (11 12))))
             (i (values 2 0)) (j (values (1 2)))))",
    );
    let all = evaluate(&model, &instance).expect("evaluates");
    assert_eq!(floats(&all["one"]), [9.0, 10.0, 11.0, 12.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(all["one"].shape, [2, 2, 2]);
    assert_eq!(floats(&all["row"]), [5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]);
    assert_eq!(all["row"].shape, [1, 4, 2]);
}

#[test]
fn a_gather_that_one_product_reads_is_part_of_its_statement() {
    let model = |outputs: &str| {
        instance(&format!(
            "(model m (input x f32 (2 3 2)) (input t f32 (4 2 2)) (input b f32 (2))
               (input i i64 (2 2)) (let blocks (emb.block_gather (nn.bias t b) i)) {outputs}
               (data (x (values ((1 2) (3 4) (5 6)) ((7 8) (9 10) (11 12))))
                 (t (values ((1 2) (3 4)) ((5 6) (7 8)) ((9 10) (11 12)) ((13 14) (15 16))))
                 (b (values 1 2)) (i (values (2 0) (1 1)))))"
        ))
    };
    let products = |model: &Model| {
        let own = model.statements.iter().filter_map(|statement| statement.value.applied());
        own.map(|own| own.operation.name).collect::<Vec<_>>()
    };
    let (alone, data) = model("(output out (nn.matmul_t x blocks))");
    assert_eq!(products(&alone), ["nn.bias", "nn.matmul_t_computed"]);
    let found = evaluate(&alone, &data).expect("evaluates");
    // The first block is ((10 12) (12 14)), and the first row of x is (1 2).
    assert_eq!(floats(&found["out"])[..2], [34.0, 40.0]);
    let (twice, data) =
        model("(output out (nn.matmul_t x blocks)) (output same (nn.scale 1.0 blocks))");
    assert!(products(&twice).contains(&"nn.matmul_t"), "{:?}", products(&twice));
    assert_eq!(floats(&evaluate(&twice, &data).expect("evaluates")["out"]), floats(&found["out"]));
    let read = |text: &str| {
        let mut sources = Sources::default();
        let file = sources.add("<test>", text);
        Model::parse(&sources, file).expect("a model")
    };
    let kept = read(
        "(model m (input x f32 (2 3 2)) (input t f32 (4 2 2)) (input i i64 (2 2))
           (output blocks (emb.block_gather t i)) (output out (nn.matmul_t x blocks)) (data))",
    );
    assert_eq!(products(&kept), ["emb.block_gather", "nn.matmul_t"]);
    let added = read(
        "(model m (input x f32 (2 3 4)) (input t f32 (4 2 2)) (input i i64 (2 2))
           (output out (nn.matmul x (emb.block_gather t i))) (data))",
    );
    assert_eq!(products(&added), ["nn.matmul_computed"]);
}

#[test]
fn stored_types_are_converted() {
    let (model, instance) = instance(
        "(model m (input q u8 (2 3)) (input n u4 (2 3)) (input s f32 (2 2)) (input h f16 (2 3))
           (input b bf16 (2 3)) (input i i64 (2)) (input o i64 (2))
           (output codes (emb.bag sum (emb.dequantise q s) i o))
           (output nibbles (emb.gather (emb.dequantise n s) i))
           (output halves (emb.bag sum (nn.cast f32 h) i o)) (output same (emb.gather b i))
           (output up (nn.cast f16 (nn.add (nn.cast f32 b) (nn.cast f32 b))))
           (data (q (values (0 100 255) (1 2 3))) (n (values (0 7 15) (1 2 3)))
             (s (values (0.5 -1) (2 10))) (h (values (0.5 0.1 2) (1 1 1)))
             (b (values (1 2 3) (4 5 6))) (i (values 1 0)) (o (values 0 2))))",
    );
    let all = evaluate(&model, &instance).expect("evaluates");
    assert_eq!(floats(&all["codes"]), [11.0, 63.0, 16.0 + 126.5]);
    assert_eq!(floats(&all["nibbles"]), [12.0, 14.0, 16.0, -1.0, 2.5, 6.5]);
    assert_eq!(floats(&all["halves"])[0], 1.5);
    assert_eq!(all["same"].dtype, DType::BF16);
    assert_eq!(floats(&all["same"]), [4.0, 5.0, 6.0, 1.0, 2.0, 3.0]);
    assert_eq!(floats(&all["up"]), [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
}

#[test]
fn dense_operators() {
    let (model, instance) = instance(
        "(model m (input x f32 (2 3)) (input w f32 (3 2)) (input b f32 (2)) (input z f32 (1 3 2))
           (output linear (nn.linear x w b)) (output transposed (nn.matmul_t x x))
           (output pairs (nn.interact z)) (output batch (nn.matmul_t z z))
           (output soft (nn.softmax (nn.scale 0.5 x)))
           (output both (nn.concat x (nn.relu (nn.sub x x)) (nn.linear x w b)))
           (output stacked (nn.stack x (nn.mul x x))) (output most (nn.row_max x))
           (output shared (nn.matmul z w2)) (input w2 f32 (2 2))
           (data (x (values (1 2 3) (-1 0 1))) (w (values (1 0) (0 1) (1 1))) (b (values 10 20))
             (z (values ((1 2) (3 4) (5 6)))) (w2 (values (1 1) (0 1)))))",
    );
    let all = evaluate(&model, &instance).expect("evaluates");
    let of = |name: &str| floats(&all[name]);
    assert_eq!(of("linear"), [14.0, 25.0, 10.0, 21.0]);
    assert_eq!(of("transposed"), [14.0, 2.0, 2.0, 2.0]);
    assert_eq!(of("pairs"), [11.0, 17.0, 39.0]);
    assert_eq!(of("batch"), [5.0, 11.0, 17.0, 11.0, 25.0, 39.0, 17.0, 39.0, 61.0]);
    let raised = [(-1f32).exp(), (-0.5f32).exp(), 1.0];
    let total: f32 = raised.iter().sum();
    for (x, e) in of("soft").iter().zip(raised) {
        assert!((x - f64::from(e / total)).abs() < 1e-7);
    }
    assert_eq!(
        of("both"),
        [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 14.0, 25.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 10.0, 21.0]
    );
    assert_eq!(of("stacked"), [1.0, 2.0, 3.0, 1.0, 4.0, 9.0, -1.0, 0.0, 1.0, 1.0, 0.0, 1.0]);
    assert_eq!(of("most"), [3.0, 1.0]);
    assert_eq!(of("shared"), [1.0, 3.0, 3.0, 7.0, 5.0, 11.0]);
}

/// A graph network of two layers with attention-like weights, with all tensors in one type.
const NETWORK: &str = "(model m (input x TYPE (nodes 24)) (input w TYPE (24 8)) (input b TYPE (8))
   (input i i64 (edges)) (input o i64 (nodes+1)) (input v TYPE (edges)) (input r TYPE (3 8))
   (input k i64 (n)) (input l i64 (n))
   (let h (nn.relu (nn.linear (emb.spmm x i o v) w b)))
   (let weights (nn.sigmoid (emb.sddmm h h i o)))
   (let second (emb.spmm h i o weights))
   (output mean (emb.bag mean second i o v))
   (output most (emb.bag max (nn.scale 0.3 second) i o))
   (output soft (nn.softmax (nn.scale 0.1 second)))
   (output messages (emb.mp exp (nn.scale 0.1 h) (nn.scale 0.1 h) i o))
   (output pairs (nn.interact (nn.stack h second)))
   (output turned (emb.kg rotate h r k l k)) (output product (emb.kg complex second r k l k))
   (output moved (emb.kg transe h r k l k))
   (data (seed 7) (size nodes 60) (size n 40) (x (uniform -1 1)) (w (uniform -1 1))
     (b (uniform -1 1)) (v (uniform 0 1)) (r (uniform -1 1)) (k (zipf 0)) (l (zipf 0))
     (o (ragged (mean 12) (empty 0.1))) (i (zipf 0.5))))";

#[test]
fn errors_follow_through_statements() {
    let run = |dtype: &str| instance(&NETWORK.replace("TYPE", dtype));
    let ((model, narrow), (wide_model, wide)) = (run("f32"), run("f64"));
    let got = evaluate(&model, &narrow).expect("evaluates");
    let exact = evaluate(&wide_model, &wide).expect("evaluates");
    let errors = error_bounds(&model, &narrow).expect("bounded");
    for out in model.outputs() {
        let (got, exact) = (floats(&got[&out.name]), floats(&exact[&out.name]));
        let largest = exact.iter().fold(0f64, |a, x| a.max(x.abs()));
        for ((x, y), error) in got.iter().zip(&exact).zip(&errors[&out.name]) {
            assert!((x - y).abs() <= *error, "{}: {x} {y} {error:e}", out.name);
            assert!(*error <= 1e-2 * largest, "{}: {error:e} of {largest}", out.name);
        }
        assert!(errors[&out.name].iter().any(|error| *error > 0.0), "{}", out.name);
    }
}

#[test]
fn an_edge_that_is_left_out_is_found_in_a_second_layer() {
    let (model, whole) = instance(&NETWORK.replace("TYPE", "f32"));
    let expected = evaluate(&model, &whole).expect("evaluates");
    let errors = error_bounds(&model, &whole).expect("bounded");
    let mut without = whole.clone();
    let values = without.tensors.get_mut("v").expect("values");
    let elements: Vec<Scalar> = (0..values.len()).filter_map(|l| values.get(l)).collect();
    values.data = Data::held(values.dtype, elements.into_iter());
    assert!(values.set(100, Scalar::F32(0.0)));
    let got = evaluate(&model, &without).expect("evaluates");
    for name in ["mean", "soft", "messages"] {
        let compared = compare(name, &expected[name], &got[name], Exactness::Approx, &errors[name]);
        assert!(compared.is_err(), "{name}");
    }
}

#[test]
fn infinite_terms_decide_and_overflow_does_not() {
    let errors = |values: &str| {
        let (model, instance) = instance(&format!(
            "(model m (input t f32 (n 1)) (input i i64 (k)) (input o i64 (b+1))
               (output out (emb.bag sum t i o))
               (data (t (values {values})) (i (values 0 1 2)) (o (values 0 3))))"
        ));
        error_bounds(&model, &instance).expect("bounded")["out"][0]
    };
    assert!(errors("(1) (inf) (2)").is_nan() && errors("(1) (nan) (2)").is_nan());
    assert_eq!(errors("(3e38) (3e38) (-3e38)"), f64::INFINITY, "one order overflows");
    assert!(errors("(1) (2) (3)") < 2e-6);
}

quickcheck::quickcheck! {
    fn products_are_made_of_one_another(seed: u64, mean: u8) -> bool {
        let (model, instance) = instance(&format!(
            "(model m (input x f32 (nodes 5)) (input i i64 (edges)) (input o i64 (nodes+1))
               (input one f32 (edges))
               (let p (emb.sddmm x x i o))
               (output a (emb.spmm x i o one)) (output b (emb.bag sum x i o))
               (output c (emb.mp identity x x i o)) (output d (emb.spmm x i o p))
               (output e (emb.mp relu x x i o)) (let q (nn.relu p)) (output f (emb.spmm x i o q))
               (data (seed {seed}) (size nodes 20) (x (uniform -1 1)) (one (constant 1))
                 (o (ragged (mean {}) (empty 0.3))) (i (zipf 0.8))))",
            u32::from(mean) % 8 + 1
        ));
        let all = evaluate(&model, &instance).expect("evaluates");
        let same = |a: &str, b: &str| compare(a, &all[a], &all[b], Exactness::Bitwise, &[]).is_ok();
        same("a", "b") && same("c", "d") && same("e", "f")
    }
}

/// A form in which rows are computed for every use of them may store what the model itself does not.
#[test]
fn what_only_another_form_stores() {
    let (model, instance) = instance(
        "(model m (input x f32 (2 2)) (input w f32 (2 2)) (input y f32 (2 2))
           (let p (nn.computed_matmul (nn.exp x) w)) (let q (nn.add p y))
           (output out (nn.concat q q))
           (data (x (values (0 0) (0 0))) (w (values (1 2) (3 4))) (y (values (1 1) (2 2)))))",
    );
    let stored = |own: &Computed| own.kind == Kind::Temporary;
    let written = |id| model.statements.iter().any(|statement| statement.target == TensorId(id));
    let mut stored = (model.inputs.len()..).zip(&model.computed).filter(|(_, own)| stored(own));
    assert!(stored.any(|(id, _)| !written(id)), "no form stores anything else");
    let out = only(&model, &instance);
    let elements: Vec<f64> =
        (0..out.len()).filter_map(|i| out.get(i)).map(Scalar::as_f64).collect();
    assert_eq!(elements, [5.0, 7.0, 5.0, 7.0, 6.0, 8.0, 6.0, 8.0]);
}
