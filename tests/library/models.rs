//! Tests of model files as a whole: their terms and declarations, that data depends only on seed and name, and that no
//! text, however broken, ends the process.

use egg::Symbol;
use ember_host::Disk;
use ember_language::diagnostic::{Checked, Sources, Span};
use ember_language::rules::{self, Definitions, Operators};
use ember_model::data::Instance;
use ember_model::reference::evaluate;
use ember_model::{Model, TensorId};
use ember_targets::dlc::{Dim, Program, Purpose, SizeId, TensorDecl};
use ember_targets::tensor::Tensor;
use ember_tools::render::{render, to_json};
use ember_values::operation::OPERATIONS;
use ember_values::scalar::{DType, Scalar};
use itertools::Itertools;
use quickcheck::quickcheck;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

const WEIGHTED: &str = include_str!("../../examples/bag_weighted.sexp");

fn parse(text: &str) -> Checked<Model> {
    let mut sources = Sources::new(Disk);
    let file = sources.add("<test>", text);
    Model::parse(&sources, file)
}

/// Returns the operators of the project's dialects.
fn operators() -> Arc<Operators> {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let (book, _) = rules::load(&mut Sources::new(Disk), &[rules]).expect("well-formed");
    book.signature.table().clone()
}

fn instance(text: &str) -> Instance {
    parse(text).and_then(|model| model.instantiate(None)).expect("a model with data")
}

#[test]
fn operations_are_declared_as_the_table_has_them() {
    let operators = operators();
    for row in &OPERATIONS {
        let names: Vec<&str> = row.operands.iter().map(|operand| operand.name).collect();
        let info = operators.get(Symbol::from(row.name), names.len());
        let info = info.unwrap_or_else(|| panic!("no dialect has `{}`", row.name));
        let declared: Vec<&str> =
            info.operands.iter().map(|name| name.map_or("", |name| name.as_str())).collect();
        assert_eq!(declared, names, "`{}`", row.name);
    }
}

#[test]
fn root_terms() {
    // egg quotes names such as %out when it prints.
    let text = |model: Model| model.root_term(&operators()).to_string().replace('"', "");
    assert_eq!(
        text(parse(WEIGHTED).expect("a model")),
        "(emb.output (out %out) (emb.bag mode.sum (emb.tensor (in %table)) (in %indices) (in %offsets) \
         (in %weights)))"
    );
    assert_eq!(
        text(parse(include_str!("../../examples/gather.sexp")).expect("a model")),
        "(emb.output (out %out) (emb.gather (emb.tensor (in %table)) (in %indices)))"
    );
}

/// Lookups of functions of a table of `rows` rows: a bag of 40 rows and a gather of 20.
fn functions_of_a_table(rows: u64) -> Vec<String> {
    let text = format!(
        "(model m (input t f32 (rows 4)) (input i i64 (l)) (input o i64 (bags+1)) (input g i64 (20))
           (let e (nn.exp t)) (let twice (nn.scale 2.0 t))
           (output a (emb.bag sum e i o)) (output b (emb.gather e g))
           (output c (emb.gather twice g)) (output d (emb.bag max twice i o))
           (data (size rows {rows}) (size bags 4) (t (uniform 0 1)) (o (fixed 10)) (i (zipf 0)) (g (zipf 0))))"
    );
    let mut sources = Sources::default();
    let file = sources.add("model.sexp", &text);
    let read = |in_advance: BTreeSet<Span>| {
        let model = Model::parse_placed(&sources, file, &Definitions::default(), in_advance);
        model.unwrap_or_else(|errors| panic!("{errors:#?}"))
    };
    let model = read(read(BTreeSet::new()).in_advance(None));
    model.computed.iter().map(|computed| computed.tensor.name.clone()).collect()
}

#[test]
fn functions_of_tables_are_computed_in_advance_if_the_data_reads_rows_often() {
    assert_eq!(functions_of_a_table(30), ["a", "b", "c", "d"]);
    assert_eq!(functions_of_a_table(29), ["e", "c", "d", "a", "b"]);
}

#[test]
fn rows_that_may_be_computed_again_make_forms() {
    let lengths = |text: &str| {
        let model = parse(text).expect("a model");
        let forms: Vec<usize> = model.forms.iter().map(Vec::len).collect();
        (model.statements.len(), forms)
    };
    // Everything is one statement, or the rows of one of the two products are stored.
    let convolution = lengths(include_str!("../../examples/fusion/gcn_cora.sexp"));
    assert_eq!(convolution, (4, vec![1, 2, 2]));
    let sage = lengths(include_str!("../../examples/fusion/sage_cora.sexp"));
    assert_eq!(sage, (8, vec![1]));
    assert_eq!(lengths(WEIGHTED), (1, vec![]));
}

/// A model with every operation that is elaborated.
const LAYERS: &str = "(model m
  (input x f32 (nodes 8)) (input w f32 (8 4)) (input b f32 (4)) (input scale f32 (4 4))
  (input i i64 (edges)) (input o i64 (nodes+1)) (input v f32 (edges))
  (let h (nn.relu (nn.linear (emb.spmm x i o v) w b)))
  (let z (nn.stack h (emb.mp sigmoid h h i o) (nn.matmul h scale)))
  (output p (nn.softmax h))
  (output q (nn.concat h (nn.interact z)))
  (data (seed 1)))";

#[test]
fn layers_become_statements() {
    let model = parse(LAYERS).expect("a model");
    let operators = operators();
    let names = |ids: Vec<TensorId>| -> String {
        ids.iter().map(|id| model.tensor(*id).name.clone()).collect::<Vec<_>>().join(" ")
    };
    let shown: Vec<String> = (0..model.statements.len())
        .map(|i| {
            let statement = &model.statements[i];
            let term = model.statement_term(i, &operators).to_string().replace('"', "");
            format!("{term}: {} -> {}", names(statement.reads()), names(statement.writes()))
        })
        .collect();
    let sum = "(emb.spmm (in %o) (in %i) (in %v) (emb.tensor (in %x)))";
    let h = "(emb.tensor (freeze (out %h)))";
    let mp = format!("(emb.mp edge.sigmoid (in %o) (in %i) {h} {h} (out %z.1))");
    let of = |name: &str| format!("(emb.tensor (freeze (out %{name})))");
    let expected = [
        format!("(emb.output (out %h.1) {sum}): x i o v -> h.1"),
        "(emb.output (out %h.2) (nn.matmul (freeze (out %h.1)) (in %w))): w h.1 -> h.2".to_owned(),
        format!("(emb.output (out %h) (nn.relu (nn.bias {} (in %b)))): b h.2 -> h", of("h.2")),
        format!("(emb.output (out %p.1) (nn.row_max {h})): h -> p.1"),
        format!("(emb.output (out %z.2) {mp}): i o h -> z.2 z.1"),
        "(emb.output (out %z.3) (nn.matmul (freeze (out %h)) (in %scale))): scale h -> z.3"
            .to_owned(),
        format!("(emb.output (out %p.2) (nn.exp (nn.sub_rows {h} {}))): h p.1 -> p.2", of("p.1")),
        format!("(emb.output_slot (out %z) 0 {h}): h -> z"),
        format!("(emb.output_slot (out %z) 1 {}): z.2 -> z", of("z.2")),
        format!("(emb.output_slot (out %z) 2 {}): z.3 -> z", of("z.3")),
        format!("(emb.output (out %p.3) (nn.row_sum {})): p.2 -> p.3", of("p.2")),
        "(emb.output (out %q.1) (nn.matmul_t (freeze (out %z)) (freeze (out %z)))): z -> q.1"
            .to_owned(),
        format!("(emb.output (out %p) (nn.div_rows {} {})): p.2 p.3 -> p", of("p.2"), of("p.3")),
        format!("(emb.output (out %q.2) (nn.triangle {})): q.1 -> q.2", of("q.1")),
        format!("(emb.output_columns (out %q) 0 {h}): h -> q"),
        format!("(emb.output_columns (out %q) 4 {}): q.2 -> q", of("q.2")),
    ];
    assert_eq!(shown, expected);
    let shapes = ["h", "z", "z.1", "p.3", "q"].map(|name| {
        let tensor = model.tensors().find(|tensor| tensor.name == name).expect("computed");
        tensor.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    });
    assert_eq!(shapes, ["nodes 4", "nodes 3 4", "edges", "nodes", "nodes 7"]);
    let outputs: Vec<_> = model.outputs().map(|out| out.name.as_str()).collect();
    assert_eq!(outputs, ["p", "q"]);
    let barriers = model.root_term(&operators).to_string().matches("scf.barrier").count();
    assert_eq!(barriers, 7, "one wherever a statement reads what was written since the last");
}

/// Returns the term of a model of bags, with its computed tensors called by their places, and the number of statements.
fn statements(body: &str) -> (String, usize) {
    const INPUTS: [&str; 5] =
        ["t f32 (r 8)", "i i64 (l)", "f i64 ((+ b 1))", "w f32 (8 8)", "n f32 (b 8)"];
    let words: BTreeSet<&str> = body.split([' ', '(', ')']).collect();
    let is_read = |input: &&&str| words.contains(&input[..1]);
    let inputs = INPUTS.iter().filter(is_read).map(|input| format!("(input {input})")).join(" ");
    let model = parse(&format!("(model m {inputs} {body})")).expect("a model");
    let term = model.root_term(&operators()).to_string();
    let names = (0..model.statements.len()).map(|i| (model.statement_name(i), format!("s{i}")));
    let term =
        names.fold(term, |term, (name, place)| term.replace(&format!("\"%{name}\""), &place));
    (term, model.statements.len())
}

#[test]
fn parts_with_names_and_without_are_one_model() {
    let nested = "(output o (nn.add (nn.softmax (emb.bag sum t i f))
        (nn.matmul (nn.sub (emb.bag sum t i f) n) w)))";
    let named = "(let late (nn.sub (emb.bag sum t i f) n)) (let product (nn.matmul late w))
        (let bag (emb.bag sum t i f)) (let shares (nn.softmax bag)) (output o (nn.add shares product))";
    assert_eq!(statements(nested), statements(named));
}

#[test]
fn parts_of_several_loops_are_stored_whether_they_have_names_or_not() {
    let (bag, gather) = ("(emb.bag sum t i f)", "(emb.gather t i)");
    // The part, the outputs that use it as `x`, and the number of statements with those that store it.
    let models = [
        (bag, "(output o (nn.mul x (nn.sigmoid x)))", 1),
        (bag, "(output o (nn.sub_rows x (nn.row_max x)))", 3),
        (bag, "(output o (nn.relu x)) (output p (nn.exp x))", 3),
        (bag, "(output o (nn.add (nn.relu x) n)) (output p (nn.matmul (nn.relu x) w))", 3),
        (bag, "(output o (nn.transpose x)) (output p (nn.row_sum x))", 3),
        (bag, "(output o (nn.stack x n x))", 4),
        (gather, "(output o (nn.mul x x))", 1),
        (gather, "(output o (nn.div_rows x (nn.row_sum x)))", 3),
        ("(nn.relu n)", "(output o (nn.div_rows x (nn.row_sum x)))", 2),
        ("(nn.exp n)", "(output o (nn.div_rows x (nn.row_sum x)))", 3),
        ("(nn.exp t)", "(output o (emb.gather x i)) (output p (emb.bag sum x i f))", 2),
        ("(nn.softmax n)", "(output o (nn.mul x x)) (output p (nn.matmul x w))", 6),
    ];
    for (part, outputs, number) in models {
        let nested = statements(&outputs.replace(" x", &format!(" {part}")));
        assert_eq!(nested.1, number, "{part} in {outputs}");
        assert_eq!(nested, statements(&format!("(let x {part}) {outputs}")), "{part} in {outputs}");
    }
}

#[test]
fn temporaries_that_use_one_another_several_times_stay_small() {
    let step = |i: usize| format!("(let x{} (nn.where lt x{i} x{i} x{i} x{i}))", i + 1);
    let steps: String = (0..200).map(step).collect();
    let model = parse(&format!(
        "(model m (input x0 f32 (b 8)) {steps} (output o (nn.add x200 x0)) (data (size b 4)))"
    ));
    let model = model.expect("a model");
    let parts = model.statements.iter().map(|statement| statement.value.walk().count());
    assert!(parts.clone().max() <= Some(400), "{:?}", parts.max());
    assert!((50..=201).contains(&model.statements.len()), "{}", model.statements.len());
}

#[test]
fn what_an_output_holds_is_read_from_it() {
    let (bag, read) = ("(emb.bag sum t i f)", "(output p (nn.exp o))");
    let nested = statements(&format!("(output o {bag}) (output p (nn.exp {bag}))"));
    assert_eq!(nested, statements(&format!("(output o {bag}) {read}")));
}

#[test]
fn equal_temporaries_are_one() {
    let model =
        parse("(model m (input x f32 (b 8)) (output o (nn.mul (nn.softmax x) (nn.softmax x))))");
    assert_eq!(model.expect("a model").statements.len(), 4);
}

#[test]
fn declarations_keep_sizes_or_take_their_values() {
    let model = parse(WEIGHTED).expect("a model");
    let all = model.declarations(&Default::default());
    assert_eq!(all.sizes, ["rows", "lookups", "bags+1", "bags"]);
    let [rows, lookups, ends, bags] = [0, 1, 2, 3].map(|i| Dim::Size(SizeId(i)));
    let shapes: Vec<_> = all.tensors.iter().map(|t| t.shape.clone()).collect();
    let columns = Dim::Const(24);
    let expected =
        vec![vec![rows, columns], vec![lookups], vec![ends], vec![lookups], vec![bags, columns]];
    assert_eq!(shapes, expected);
    let writable: Vec<_> = all.tensors.iter().filter(|t| t.writable()).map(|t| &t.name).collect();
    assert_eq!(writable, ["out"]);
    let known = model.declarations(&instance(WEIGHTED).sizes);
    assert!(known.sizes.is_empty());
    assert_eq!(known.tensors[4].shape, [Dim::Const(32), columns]);
}

#[test]
fn programs_bind_sizes_by_shape_and_by_name() {
    let instance = instance(WEIGHTED);
    let decl = |name: &str, dtype, shape: &[Dim]| TensorDecl {
        name: name.to_owned(),
        dtype,
        shape: shape.to_vec(),
        purpose: Purpose::Input,
    };
    let size = |i| Dim::Size(SizeId(i));
    let program = |tensors| Program {
        sizes: ["columns", "n", "bags"].map(str::to_owned).to_vec(),
        tensors,
        ..Program::default()
    };
    let table = decl("table", DType::F32, &[Dim::Const(1000), size(0)]);
    let (tensors, sizes) = instance
        .bind(&program(vec![decl("weights", DType::F32, &[size(1)]), table.clone()]))
        .expect("binds");
    assert_eq!(tensors.len(), 2);
    assert_eq!(sizes, [24, instance.sizes["lookups"] as i64, 32]);
    let wrong = program(vec![
        decl("weights", DType::F64, &[size(1)]),
        decl("tabel", DType::F32, &[]),
        decl("out", DType::F32, &[Dim::Const(7), size(0)]),
        decl("indices", DType::I64, &[size(0)]),
    ]);
    let errors = instance.bind(&wrong).expect_err("does not bind");
    let text = render(&Sources::new(Disk), &errors, false);
    assert_eq!(errors.len(), 5, "{text}");
    assert!(text.contains("did you mean `table`?"), "{text}");
}

#[test]
fn data_follows_from_seed_and_name_alone() {
    let of = |tensor: &Tensor| (0..tensor.len()).map(|i| tensor.get(i)).collect::<Vec<_>>();
    let (a, b) = (instance(WEIGHTED), instance(WEIGHTED));
    let renamed = instance(&WEIGHTED.replace("indices", "rows-of").replace("weights", "factors"));
    for name in ["table", "indices", "offsets", "weights", "out"] {
        assert_eq!(of(&a.tensors[name]), of(&b.tensors[name]), "{name}");
    }
    assert_eq!(of(&a.tensors["offsets"]), of(&renamed.tensors["offsets"]));
    assert_ne!(of(&a.tensors["weights"]), of(&renamed.tensors["factors"]));
}

#[test]
fn edges_of_data_are_legal() {
    let text = "(model m (input t f64 (rows 3)) (input i i32 (n)) (input o i32 (b+1))
      (output out (emb.bag max t i o)) (data DATA))";
    for (data, bags) in [
        ("(t (values)) (i (values)) (o (values 0))", 0),
        ("(size rows 0) (t (uniform 0 1)) (i (zipf 1)) (o (values 0 0 0))", 2),
        ("(size rows 1) (t (constant nan)) (i (constant 0)) (o (values 0 0 2 2))", 3),
        ("(size b 4) (t (values (1 2 3))) (i (zipf 1)) (o (ragged (mean 0) (empty 1)))", 4),
        (
            "(size rows 1000000000000000) (size b 9) (t (uniform 1 2)) (i (constant 7))
              (o (ragged (mean 2)))",
            9,
        ),
    ] {
        let instance = instance(&text.replace("DATA", data));
        assert_eq!(instance.sizes["b"], bags, "{data}");
    }
}

#[test]
fn files_are_read_from_the_models_folder() {
    let mut sources = Sources::new(Disk);
    let text = "(model m (input table f32 (rows 4)) (input i i32 (n)) (input offsets i64 (b+1))
      (output out (emb.bag sum table i offsets))
      (data (table (file \"bag.safetensors\")) (offsets (file \"bag.safetensors\" \"offsets\"))
        (i (file \"ints.npy\"))))";
    let file = sources.add("tests/cases/fail/model.sexp", text);
    let model = Model::parse(&sources, file).expect("a model");
    let all = evaluate(&model, &model.instantiate(None).expect("its data")).expect("evaluates");
    let out = &all["out"];
    // Rows (0 1 2 3) and (4 5 6 7), the second twice.
    let row: Vec<_> = (0..4).filter_map(|e| out.get(e)).collect();
    assert_eq!(row, [8.0, 11.0, 14.0, 17.0].map(Scalar::F32));
}

/// Replaces words of a model at random by others, and cuts the text at random.
fn broken(edits: &[(usize, usize)], cut: Option<usize>) -> String {
    const WORDS: [&str; 24] = [
        "(",
        ")",
        "\"",
        "model",
        "input",
        "output",
        "data",
        "f32",
        "i64",
        "(+ a 1)",
        "a+2",
        "0",
        "-1",
        "3",
        "18446744073709551616",
        "nan",
        "zipf",
        "ragged",
        "values",
        "file",
        "\"x.npy\"",
        "é",
        "%a",
        "size",
    ];
    let mut words: Vec<String> = WEIGHTED
        .replace('(', " ( ")
        .replace(')', " ) ")
        .split_whitespace()
        .skip_while(|word| *word != "(")
        .map(str::to_owned)
        .collect();
    for (at, word) in edits {
        let n = words.len();
        words[at % n] = WORDS[word % WORDS.len()].to_owned();
    }
    words.truncate(cut.map_or(words.len(), |n| n % (words.len() + 1)));
    words.join(" ")
}

quickcheck! {
    fn broken_models_are_diagnosed(edits: Vec<(usize, usize)>, cut: Option<usize>) -> bool {
        let text = broken(&edits[..edits.len().min(4)], cut);
        let mut sources = Sources::new(Disk);
        let file = sources.add("<test>", text);
        let errors = Model::parse(&sources, file).and_then(|m| m.instantiate(None)).err();
        let errors = errors.unwrap_or_default();
        let shown = render(&sources, &errors, false);
        let listed = to_json(&sources, &errors);
        listed.as_array().is_some_and(|list| list.len() == errors.len())
            && errors.iter().all(|e| e.at.is_some())
            && shown.is_empty() == errors.is_empty()
    }
}

#[test]
fn huge_broken_models_end_soon() {
    let many = |n: usize, what: &str| what.repeat(n);
    for text in [
        format!("(model m (output o {}))", many(500_000, "x ")),
        format!("(model m {})", many(100_000, "(input t f32 (2 2)) ")),
        format!("(model m {})", many(100_000, "(inptu t f32 (2 2)) ")),
        many(100_000, "(model m) "),
        WEIGHTED.replace("(zipf 1.05)", &format!("(values {})", many(500_000, "x "))),
        WEIGHTED.replace("(seed 1)", &many(100_000, "(tabel 1) ")),
        WEIGHTED.replace("(seed 1)", &format!("{}{}", many(9_000, "("), many(9_000, ")"))),
    ] {
        let mut sources = Sources::new(Disk);
        let file = sources.add("<test>", text);
        let errors = Model::parse(&sources, file).expect_err("broken");
        assert!(errors.len() <= 300, "{} errors", errors.len());
        assert!(!render(&sources, &errors, false).is_empty());
    }
}
