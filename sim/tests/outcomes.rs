//! Tests of the errors of a run, which are reported by name, and of the less usual actions.

mod common;

use common::*;
use ember_sim::{Bindings, Options, Outcome, SimError, run};
use ember_targets::dlc::*;
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::{BinaryOp, DType, Scalar};

fn go(program: &Program, data: &Bag) -> Result<Outcome, SimError> {
    run(program, &machine(), data.bindings(), Options::default())
}

fn out_of(outcome: &Outcome) -> &[f32] {
    match &outcome.tensors[OUT.index()].data {
        Data::F32(v) => v,
        _ => panic!("out is f32"),
    }
}

#[test]
fn an_operand_that_is_never_pushed_is_a_deadlock_that_names_the_queue() {
    let mut p = Builder::new("starved");
    let v = p.register("v", f32s(1));
    let case = p.case("greedy", vec![Stmt::Pop(v)]);
    p.0.access = vec![Action::Callback(case)];
    let error = go(&p.0, &Bag::of(4, 4, &[1])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "deadlock: the execute unit (case `greedy`) waits for an operand in the data queue, which \
         is empty, and everything has been marshalled"
    );
}

#[test]
fn operands_that_nobody_pops_block_the_marshaller() {
    let data = Bag::of(4_000, 64, &[4_000]);
    let mut program = walked(64);
    program.cases[0].body.clear();
    let SimError::Deadlock { blocked } = go(&program, &data).unwrap_err() else { panic!() };
    let all: Vec<_> = blocked.iter().map(|b| format!("{} / {}", b.unit, b.waits_for)).collect();
    assert!(all[0].starts_with("the execute unit / a token in the control queue"), "{all:?}");
    assert_eq!(all[1], "the marshaller / room in the data queue, which is full");
    let few = Bag::of(40, 64, &[4]);
    let error = go(&program, &few).unwrap_err();
    assert_eq!(error, SimError::Unbalanced { message: "6 operands were not popped".into() });
}

#[test]
fn accesses_outside_a_tensor_name_it_and_the_index() {
    for (index, program) in [(4, walked(16)), (-1, bag("opt0", Level::PerElement, 1))] {
        let mut data = Bag::of(4, 16, &[3, 2]);
        data.indices[3] = index;
        let SimError::OutOfBounds { tensor, index: found, dimension, extent, place } =
            go(&program, &data).unwrap_err()
        else {
            panic!()
        };
        assert_eq!((tensor.as_str(), found, dimension, extent), ("table", index, 0, 4));
        assert!(place.starts_with("stream `"), "{place}");
        let error = go(&coupled(1), &data).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("main reaches index {index} in dimension 0 of `table`, which has 4")
        );
    }
    // A run is masked by its limit, not by the tensor: here the limit is 64.
    let mut program = bag("opt1", Level::PerElement, 32);
    program.streams[9].kind = StreamKind::Const(Scalar::I64(64));
    let error = go(&program, &Bag::of(4, 16, &[3])).unwrap_err().to_string();
    assert!(error.ends_with("reaches index 31 in dimension 1 of `table`, which has 16"), "{error}");
}

#[test]
fn limits_are_errors_not_hangs() {
    let data = Bag::random(1_000, 64, 50, 50, false, 1);
    let options = Options { max_cycles: 1_000, ..Options::default() };
    for program in [bag("opt0", Level::PerElement, 1), coupled(1)] {
        let error = run(&program, &machine(), data.bindings(), options).unwrap_err();
        assert_eq!(error, SimError::Cycles { limit: 1_000 });
    }
    let wide = Bag::of(10, 2048, &[2]);
    let error = go(&walked(2048), &wide).unwrap_err().to_string();
    assert!(error.contains("does not fit a chunk of 4096") || error.contains("storage"), "{error}");
    let huge = go(&walked(1 << 20), &Bag::of(4, 4, &[])).unwrap_err().to_string();
    assert!(huge.contains("at most 65536"), "{huge}");
    // A loop over nothing with too many iterations to wait for.
    let mut p = Builder::new("long");
    let (zero, many) = (p.int(0), p.int(i64::MAX));
    let (unit, _) = p.unit("u", zero, many, 1);
    p.0.access = vec![Action::Traverse(unit)];
    let error = run(&p.0, &machine(), data.bindings(), options).unwrap_err();
    assert_eq!(error, SimError::Cycles { limit: 1_000 });
}

#[test]
fn data_and_programs_that_do_not_fit_are_rejected() {
    let data = Bag::of(4, 4, &[1]);
    let with = |change: &dyn Fn(&mut Bindings)| {
        let mut bindings = data.bindings();
        change(&mut bindings);
        run(&coupled(1), &machine(), bindings, Options::default()).unwrap_err().to_string()
    };
    let error = with(&|b| {
        b.tensors.pop();
    });
    assert!(error.contains("has 4 tensors, the data 3"), "{error}");
    assert!(with(&|b| b.sizes[1] = -1).contains("negative extent"));
    assert!(with(&|b| b.sizes[1] = 5).contains("`table` is declared [4, 5]"));
    let error = with(&|b| b.tensors[3] = Tensor::zeros(DType::F64, vec![1, 4]));
    assert!(error.contains("`out` is declared f32, its data is f64"), "{error}");

    let reject = |change: &dyn Fn(&mut Program)| {
        let mut program = bag("opt3", Level::Counted, 16);
        change(&mut program);
        let error = go(&program, &data).unwrap_err();
        assert!(matches!(error, SimError::Invalid { .. } | SimError::Limit { .. }), "{error}");
        error.to_string()
    };
    assert!(reject(&|p| p.units[2].step = 0).contains("does not advance"));
    assert!(reject(&|p| p.access.push(Action::Traverse(UnitId(0)))).contains("traversed twice"));
    assert!(reject(&|p| p.access.push(Action::Callback(CaseId(9)))).contains("not defined"));
    assert!(reject(&|p| p.units[0].ite.push(Action::Operand(StreamId(8)))).contains("outside"));
    assert!(reject(&|p| p.tensors[3].purpose = Purpose::Input).contains("read-only"));
    assert!(reject(&|p| p.registers[2].ty = f32s(8)).contains("another type"));
}

/// Checks that loops which begin at 3 and step by 16 count the same on both sides.
#[test]
fn a_counter_that_begins_at_three() {
    for dim in [3, 4, 19, 20, 64] {
        let data = Bag::of(30, dim, &[0, 2, 0, 0, 5, 0]);
        let mut program = bag("from three", Level::Counted, 16);
        let three = StreamId(program.streams.len() as u32);
        let kind = StreamKind::Const(Scalar::I64(3));
        program.streams.push(Stream { name: "three".into(), ty: I64, kind });
        program.units[2].lo = three;
        let Stmt::Walk(_, l) = &mut program.cases[1].body[0] else { panic!() };
        l.lo = int(3);
        let outcome = go(&program, &data).unwrap();
        for (i, (found, sum)) in out_of(&outcome).iter().zip(data.expected()).enumerate() {
            let expected = if i as u64 % dim < 3 { 0.0 } else { sum };
            assert_eq!(*found, expected, "dim {dim}, element {i}");
        }
    }
}

/// The access unit writes rows into `out`; after a barrier the execute unit doubles them.
#[test]
fn store_streams_and_barriers() {
    let data = Bag::of(30, 20, &[1, 1, 1, 1]);
    let mut p = Builder::new("gather");
    let (zero, bags, dim) = (p.int(0), p.size(BAGS), p.size(DIM));
    let (b, var) = p.unit("b", zero, bags, 1);
    let row = p.load(INDICES, vec![var], Hint::NonTemporal);
    let value = p.row(row, zero, 32, dim);
    let addr = Addr {
        tensor: OUT,
        index: vec![var, zero],
        lanes: Some(Lanes { count: 32, limit: dim }),
        rows: None,
    };
    p.ite(b, vec![Action::Store { addr, value }]);
    let (c, _) = p.unit("c", zero, bags, 1);
    let (rb, re) = (p.register("b", I64), p.register("e", I64));
    let load = Expr::Load(Box::new(out(reg(rb), reg(re), 16)));
    let double = Loop {
        var: re,
        lo: int(0),
        hi: Expr::Size(DIM),
        step: 16,
        body: vec![Stmt::Accumulate(BinaryOp::Add, out(reg(rb), reg(re), 16), load)],
    };
    let next = Expr::Binary(BinaryOp::Add, Box::new(reg(rb)), Box::new(int(1)));
    let case = p.case("double", vec![Stmt::For(double), Stmt::Set(rb, next)]);
    p.ite(c, vec![Action::Callback(case)]);
    p.0.access = vec![Action::Traverse(b), Action::Barrier, Action::Traverse(c), Action::Barrier];
    let outcome = go(&p.0, &data).unwrap();
    let expected: Vec<f32> = data.expected().iter().map(|x| x + x).collect();
    assert_eq!(out_of(&outcome), expected);
    assert_eq!(outcome.stats.operands, 0);
}

/// Covers lanes, selections, conversions and counters of the execute unit, in every type.
#[test]
fn expressions_of_the_execute_unit() {
    let mut p = Builder::new("expressions");
    let boxed = Box::new;
    let iota = Expr::Iota(20, boxed(int(-5)));
    let below =
        Expr::Binary(BinaryOp::Lt, boxed(iota.clone()), boxed(Expr::Broadcast(20, boxed(int(3)))));
    let float = |e| Expr::Cast(DType::F32, boxed(e));
    let half = Expr::Broadcast(20, boxed(Expr::Const(Scalar::F32(0.5))));
    let scaled = Expr::Binary(BinaryOp::Mul, boxed(float(iota.clone())), boxed(half.clone()));
    let value = Expr::Select(boxed(below), boxed(scaled), boxed(half));
    p.0.main = vec![Stmt::Store(out(int(0), int(0), 20), value)];
    let outcome = go(&p.0, &Bag::of(4, 20, &[0])).unwrap();
    let expected: Vec<f32> = (-5..15).map(|i| if i < 3 { i as f32 * 0.5 } else { 0.5 }).collect();
    assert_eq!(out_of(&outcome), expected);
}

#[test]
fn the_timeline_is_a_chrome_trace_of_bounded_size() {
    let data = Bag::random(10_000, 64, 100, 60, true, 1);
    let options = Options { recorded: true, ..Options::default() };
    let outcome = run(&bag("opt1", Level::PerElement, 16), &machine(), data.bindings(), options);
    let trace = outcome.unwrap().recording.unwrap().timeline;
    let events = trace["traceEvents"].as_array().unwrap();
    assert!(events.len() > 100 && events.len() < 400_000, "{}", events.len());
    let names: Vec<&str> = events
        .iter()
        .filter(|e| e["name"] == "thread_name")
        .filter_map(|e| e["args"]["name"].as_str())
        .collect();
    assert_eq!(names, ["b", "l", "e", "marshaller", "execute"]);
    for event in events.iter().filter(|e| e["ph"] == "X") {
        assert!(event["dur"].as_f64().unwrap() > 0.0);
    }
    assert!(events.iter().any(|e| e["ph"] == "C"));
}
