//! Tests of matrix products: they are bitwise correct in every shape, never faster than the unit, and near its rate if
//! no other resource is the bottleneck.

mod common;

use common::{Random, machine};
use ember_sim::{
    Bindings, CoreKind, Demand, Options, Outcome, Resource, SimError, Values, bound, run,
};
use ember_targets::dlc::*;
use ember_targets::machine::Machine;
use ember_targets::tensor::{Data, Hashed, Tensor};
use ember_values::scalar::{DType, Scalar};

/// The shapes of a product: batches of `a` and `out`, and of `b`.
#[derive(Clone, Copy, Debug)]
struct Case {
    dtype: DType,
    batch: Option<u64>,
    own_b: bool,
    size: [u64; 3],
    transposed: bool,
}

fn case(size: [u64; 3]) -> Case {
    Case { dtype: DType::F32, batch: None, own_b: false, size, transposed: false }
}

impl Case {
    fn shapes(&self) -> [Vec<u64>; 3] {
        let [m, n, k] = self.size;
        let b = if self.transposed { [n, k] } else { [k, n] };
        let batch = self.batch.as_slice();
        let own = if self.own_b { batch } else { &[] };
        [[batch, &[m, n]].concat(), [batch, &[m, k]].concat(), [own, &b].concat()]
    }

    fn tensors(&self) -> Vec<Tensor> {
        let [out, a, b] = self.shapes();
        let made = |shape: Vec<u64>, seed| {
            let tensor = Tensor {
                dtype: self.dtype,
                shape,
                data: Data::Hashed(Hashed { seed, lo: -1.0, hi: 1.0 }),
            };
            // One operand is held, the other is computed on demand.
            let held = (0..tensor.len()).filter_map(|i| tensor.get(i));
            let data = if seed == 1 { Data::held(self.dtype, held) } else { tensor.data.clone() };
            Tensor { data, ..tensor }
        };
        vec![Tensor::zeros(self.dtype, out), made(a, 1), made(b, 2)]
    }

    fn program(&self) -> Program {
        let decl = |(name, shape): (&str, Vec<u64>)| TensorDecl {
            name: name.into(),
            dtype: self.dtype,
            shape: shape.into_iter().map(Dim::Const).collect(),
            purpose: Purpose::of(name == "out"),
        };
        let [out, a, b] = self.shapes();
        let (transposed, [o, x, y]) = (self.transposed, [0, 1, 2].map(TensorId));
        Program {
            name: "product".into(),
            tensors: [("out", out), ("a", a), ("b", b)].map(decl).to_vec(),
            main: vec![Stmt::Matmul {
                out: Addr::whole(o),
                a: Addr::whole(x),
                b: Addr::whole(y),
                transposed,
                adds: false,
            }],
            ..Program::default()
        }
    }

    fn run(&self, machine: &Machine, core: CoreKind) -> Outcome {
        let outcome = |values: Values| {
            let data = Bindings { tensors: self.tensors(), sizes: vec![] };
            let options = Options { core, values, ..Options::default() };
            let outcome = run(&self.program(), machine, data, options);
            outcome.unwrap_or_else(|error| panic!("{self:?}: {error}"))
        };
        let all = outcome(Values::All);
        assert_eq!(outcome(Values::Integers).stats, all.stats, "{self:?}: time without values");
        all
    }

    fn expected(&self, tensors: &[Tensor]) -> Vec<Scalar> {
        let [m, n, k] = self.size;
        let mut out = Vec::new();
        for batch in 0..self.batch.unwrap_or(1) {
            let b_start = if self.own_b { batch * k * n } else { 0 };
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let mut sum = Scalar::zero(self.dtype);
                for l in 0..k {
                    let at = if self.transposed { j * k + l } else { l * n + j };
                    let a = tensors[1].get((batch * m + i) * k + l).unwrap();
                    let b = tensors[2].get(b_start + at).unwrap();
                    use ember_values::scalar::BinaryOp::{Add, Mul};
                    sum = Add.apply(sum, Mul.apply(a, b).unwrap()).unwrap();
                }
                out.push(sum);
            }
        }
        out
    }

    fn macs(&self) -> u64 {
        self.batch.unwrap_or(1) * self.size.iter().product::<u64>()
    }
}

#[test]
fn every_shape_is_right_bit_by_bit_and_no_faster_than_the_bound() {
    let sizes = [
        [1, 1, 1],
        [5, 1, 7],
        [1, 70, 3],
        [33, 17, 40],
        [40, 33, 700],
        [16, 16, 16],
        [65, 47, 31],
        [0, 3, 2],
        [3, 0, 2],
        [3, 2, 0],
    ];
    let batches = [(None, false), (Some(3), false), (Some(3), true), (Some(0), true)];
    for dtype in [DType::F32, DType::F64] {
        for simd_bytes in [8, 64] {
            let mut machine = machine();
            machine.core.simd_bytes = simd_bytes;
            for (size, (batch, own_b)) in
                sizes.into_iter().flat_map(|s| batches.map(|batch| (s, batch)))
            {
                for transposed in [false, true] {
                    let case = Case { dtype, batch, own_b, size, transposed };
                    let outcome = case.run(&machine, CoreKind::OutOfOrder);
                    let expected = case.expected(&case.tensors());
                    let found = &outcome.tensors[0];
                    assert_eq!(found.len(), expected.len() as u64);
                    for (i, x) in expected.into_iter().enumerate() {
                        assert_eq!(found.get(i as u64), Some(x), "{case:?}: element {i}");
                    }
                    assert_eq!(outcome.stats.macs, case.macs());
                    let macs = case.macs() * if dtype == DType::F64 { 4 } else { 1 };
                    let least = bound(&Demand { macs, ..Demand::default() }, &machine).cycles;
                    assert!(outcome.stats.cycles >= least, "{case:?}: {:?}", outcome.stats);
                }
            }
        }
    }
}

/// Returns the address of a block of a matrix, which may be one of a batch.
fn block(
    tensor: u32,
    batch: Option<i64>,
    first: [i64; 2],
    counts: [u32; 2],
    limits: [i64; 2],
) -> Addr<Expr> {
    let number = |n: i64| Expr::Const(Scalar::I64(n));
    let [rows, lanes] =
        [0, 1].map(|side| Some(Lanes { count: counts[side], limit: number(limits[side]) }));
    let index = batch.into_iter().chain(first).map(number).collect();
    Addr { tensor: TensorId(tensor), index, lanes, rows }
}

/// Blocks of all operands begin somewhere in their tensors and end at a limit, before their last row or column.
#[test]
fn blocks_are_multiplied_where_they_are() {
    let mut random = Random(7);
    for number in 0..400_u64 {
        let mut below = |n: u64| (random.unit() * n as f64) as i64;
        let dtype = [DType::F32, DType::F64][(number % 2) as usize];
        let (transposed, adds, batched) = (number & 2 != 0, number & 4 != 0, number & 8 != 0);
        // The active rows of the output, its columns, and the folded dimension; and how many more a block could have.
        let [m, n, k] = [0; 3].map(|_| below(40));
        let [over_m, over_n, over_k] = [0; 3].map(|_| 1 + below(9));
        let sides = [[m, n], [m, k], if transposed { [n, k] } else { [k, n] }];
        let over = [
            [over_m, over_n],
            [over_m, over_k],
            if transposed { [over_n, over_k] } else { [over_k, over_n] },
        ];
        let first: [[i64; 2]; 3] = [0; 3].map(|_| [0; 2].map(|_| below(5)));
        let after: [[i64; 2]; 3] = [0; 3].map(|_| [0; 2].map(|_| below(5)));
        let batch = batched.then(|| below(3));
        let shape = |at: usize| -> Vec<u64> {
            let side = |i: usize| (first[at][i] + sides[at][i] + after[at][i]) as u64;
            batch.map(|_| 3).into_iter().chain([side(0), side(1)]).collect()
        };
        let operand = |at: usize| {
            let counts = [0, 1].map(|i| (sides[at][i] + over[at][i]) as u32);
            let limits = [0, 1].map(|i| first[at][i] + sides[at][i]);
            block(at as u32, batch, first[at], counts, limits)
        };
        let tensor = |at: usize| Tensor {
            dtype,
            shape: shape(at),
            data: Data::Hashed(Hashed { seed: at as u64, lo: -1.0, hi: 1.0 }),
        };
        let held = |tensor: Tensor| {
            let held = (0..tensor.len()).filter_map(|i| tensor.get(i));
            Tensor { data: Data::held(dtype, held), ..tensor }
        };
        let tensors = vec![held(tensor(0)), tensor(1), tensor(2)];
        let decl = |(at, name): (usize, &str)| TensorDecl {
            name: name.into(),
            dtype,
            shape: shape(at).into_iter().map(Dim::Const).collect(),
            purpose: Purpose::of(at == 0),
        };
        let [out, a, b] = [0, 1, 2].map(operand);
        let program = Program {
            name: "blocks".into(),
            tensors: ["out", "a", "b"].into_iter().enumerate().map(decl).collect(),
            main: vec![Stmt::Matmul { out, a, b, transposed, adds }],
            ..Program::default()
        };
        let data = Bindings { tensors: tensors.clone(), sizes: vec![] };
        let outcome = run(&program, &machine(), data, Options::default());
        let outcome = outcome.unwrap_or_else(|error| panic!("{number}: {error}"));
        let position = |at: usize, row: i64, column: i64| {
            let [rows, columns] = [shape(at)[shape(at).len() - 2], shape(at)[shape(at).len() - 1]];
            let row = batch.unwrap_or(0) as u64 * rows + (first[at][0] + row) as u64;
            row * columns + (first[at][1] + column) as u64
        };
        let mut expected: Vec<Scalar> =
            (0..tensors[0].len()).filter_map(|i| tensors[0].get(i)).collect();
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            use ember_values::scalar::BinaryOp::{Add, Mul};
            let to = &mut expected[position(0, i, j) as usize];
            let mut sum = if adds { *to } else { Scalar::zero(dtype) };
            for l in 0..k {
                let a = tensors[1].get(position(1, i, l)).unwrap();
                let [row, column] = if transposed { [j, l] } else { [l, j] };
                let b = tensors[2].get(position(2, row, column)).unwrap();
                sum = Add.apply(sum, Mul.apply(a, b).unwrap()).unwrap();
            }
            *to = sum;
        }
        for (i, x) in expected.into_iter().enumerate() {
            assert_eq!(outcome.tensors[0].get(i as u64), Some(x), "{number}: element {i}");
        }
        assert_eq!(outcome.stats.macs, (m * n * k) as u64);
    }
}

#[test]
fn a_matrix_of_a_batch_may_have_no_rows() {
    let case = Case { batch: Some(2), own_b: true, ..case([0, 3, 2]) };
    let mut program = case.program();
    let [out, a, b] = [0, 1, 2].map(|tensor| Addr {
        index: vec![Expr::Const(Scalar::I64(1))],
        ..Addr::whole(TensorId(tensor))
    });
    program.main = vec![Stmt::Matmul { out, a, b, transposed: false, adds: false }];
    let data = Bindings { tensors: case.tensors(), sizes: vec![] };
    let outcome = run(&program, &machine(), data, Options::default()).expect("a run");
    assert_eq!(outcome.stats.macs, 0);
}

#[test]
fn an_empty_sum_overwrites_what_was_there() {
    let case = case([2, 2, 0]);
    let mut tensors = case.tensors();
    tensors[0] = Tensor {
        data: Data::held(DType::F32, [1.0; 4].map(Scalar::F32).into_iter()),
        ..tensors[0].clone()
    };
    let outcome =
        run(&case.program(), &machine(), Bindings { tensors, sizes: vec![] }, Options::default());
    let out = &outcome.unwrap().tensors[0];
    assert!((0..4).all(|i| out.get(i) == Some(Scalar::F32(0.0))));
}

#[test]
fn time_follows_the_work_up_to_the_rate_of_the_unit() {
    let machine = machine();
    let cycles = |c: Case| c.run(&machine, CoreKind::OutOfOrder).stats.cycles;
    let (small, large) = (case([256, 128, 128]), case([512, 128, 128]));
    let (a, b) = (cycles(small), cycles(large));
    assert!((1.8..2.1).contains(&(b as f64 / a as f64)), "{a} {b}");
    let large = case([512, 256, 256]);
    let lines = large.shapes().iter().map(|s| s.iter().product::<u64>() * 4 / 64).sum();
    let of = |demand| bound(&demand, &machine);
    let unit = of(Demand { macs: large.macs(), ..Demand::default() });
    let memory = of(Demand { lines, ..Demand::default() });
    assert_eq!(unit.bound_by, Resource::MatrixUnit);
    // Nothing is fetched ahead of the window, so in the worst case compute and memory times add up.
    let found = cycles(large);
    let serial = unit.cycles + memory.cycles;
    assert!(found > unit.cycles && 5 * found < 6 * serial, "{found} {unit:?} {memory:?}");
    // A partly used tile takes as long as a whole one.
    let (whole, part) = (cycles(case([64, 64, 512])), cycles(case([64, 49, 512])));
    assert!(10 * part > 9 * whole, "{part} {whole}");
    // A dependent chain alone cannot fill the unit.
    let mut slow = machine.clone();
    slow.matrix.product_latency = 40;
    assert!(large.run(&slow, CoreKind::OutOfOrder).stats.cycles > 5 * unit.cycles);
    let in_order = large.run(&machine, CoreKind::InOrder).stats.cycles;
    assert!(in_order > found, "{in_order} {found}");
}

#[test]
fn large_operands_are_bound_by_memory() {
    let machine = machine();
    // One row times a matrix that fits only the last-level cache: every element of it is read once.
    let case = case([1, 1024, 4096]);
    let stats = case.run(&machine, CoreKind::OutOfOrder).stats;
    let lines = 1024 * 4096 * 4 / 64;
    assert!(stats.llc_misses >= lines && stats.llc_misses < lines + lines / 16, "{stats:?}");
    let least = bound(&Demand { lines, macs: case.macs(), ..Demand::default() }, &machine);
    assert_eq!(least.bound_by, Resource::DramBandwidth);
    assert!(stats.cycles >= least.cycles && stats.cycles < 4 * least.cycles, "{stats:?} {least:?}");
}

#[test]
fn energy_counts_every_multiply_add() {
    let machine = machine();
    let case = case([64, 64, 64]);
    let stats = case.run(&machine, CoreKind::OutOfOrder).stats;
    let expected = case.macs() as f64 * machine.energy.mac_pj * 1e-12;
    assert!((stats.energy.matrix - expected).abs() < 1e-9 * expected);
    assert_eq!(stats.energy_j, stats.energy.total());
}

#[test]
fn a_product_that_takes_too_long_ends() {
    let case = case([1 << 14, 1 << 14, 1 << 14]);
    let tensor = |shape| Tensor {
        dtype: DType::F32,
        shape,
        data: Data::Hashed(Hashed { seed: 1, lo: 0.0, hi: 1.0 }),
    };
    let [out, a, b] = case.shapes();
    let tensors = vec![Tensor::zeros(DType::F32, out), tensor(a), tensor(b)];
    let options = Options { max_cycles: 100_000, ..Options::default() };
    let data = Bindings { tensors, sizes: vec![] };
    let error = run(&case.program(), &machine(), data, options).unwrap_err();
    assert!(matches!(error, SimError::Cycles { .. }), "{error}");
}

#[test]
fn products_that_do_not_fit_are_refused() {
    let refuse = |program: Program, tensors: Vec<Tensor>, expected: &str| {
        let data = Bindings { tensors, sizes: vec![] };
        let error = run(&program, &machine(), data, Options::default()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let good = case([2, 3, 4]);
    let mut program = good.program();
    program.main = vec![Stmt::Matmul {
        out: Addr::whole(TensorId(0)),
        a: Addr::whole(TensorId(1)),
        b: Addr::whole(TensorId(2)),
        transposed: true,
        adds: false,
    }];
    refuse(program, good.tensors(), "shapes that do not match");
    let square = case([2, 2, 2]);
    let mut program = square.program();
    program.main = vec![Stmt::Matmul {
        out: Addr::whole(TensorId(0)),
        a: Addr::whole(TensorId(0)),
        b: Addr::whole(TensorId(2)),
        transposed: false,
        adds: false,
    }];
    refuse(program, square.tensors(), "a matrix into itself");
    let ints = Case { dtype: DType::I64, ..square };
    refuse(ints.program(), ints.tensors(), "other types than f32 or f64");
}
