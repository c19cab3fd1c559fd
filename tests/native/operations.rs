//! Every operation and conversion gives the bits of the simulator, on scalars and on any number of lanes.

use ember_language::rules::Exactness;
use ember_model::reference::compare;
use ember_native::{Buffers, Compiler, Contraction, Library};
use ember_sim::{Bindings, Options, run};
use ember_targets::c::{self, Core, Error};
use ember_targets::dlc::{
    Addr, Dim, Expr, Lanes, Loop, Program, Purpose, Register, RegisterId, Stmt, TensorDecl,
    TensorId, Type,
};
use ember_targets::machine::Machine;
use ember_targets::tensor::{Data, Tensor};
use ember_targets::verify::{Limits, verify};
use ember_values::scalar::{BinaryOp, DType, EXTREMES, Scalar, UnaryOp};

/// Elements of each tensor: no multiple of any vector.
const ELEMENTS: u32 = 61;

/// The lanes of the programs: one, fewer than a vector, several vectors, and what no vector divides.
const LANES: [u32; 6] = [1, 3, 8, 16, 24, 64];

/// The vector registers that code is written for, in bytes.
const CORES: [u64; 3] = [16, 32, 64];

fn constant(n: u32) -> Expr {
    Expr::Const(Scalar::I64(i64::from(n)))
}

/// An expression over the elements of two inputs and an output of these types, made for a number of lanes.
struct Operation<'a> {
    name: String,
    inputs: [DType; 2],
    output: DType,
    of: &'a dyn Fn(Expr, Expr, u32) -> Expr,
}

/// A program that applies an operation to all elements, some lanes at a time.
fn program(operation: &Operation<'_>, lanes: u32) -> Program {
    let [a, b] = operation.inputs;
    let tensor = |name: &str, dtype, writable| TensorDecl {
        name: name.into(),
        dtype,
        shape: vec![Dim::Const(u64::from(ELEMENTS))],
        purpose: Purpose::of(writable),
    };
    let at = |tensor: u32| Addr {
        tensor: TensorId(tensor),
        index: vec![Expr::Register(RegisterId(0))],
        lanes: (lanes > 1).then(|| Lanes { count: lanes, limit: constant(ELEMENTS) }),
        rows: None,
    };
    let [x, y] = [0, 1].map(|tensor| Expr::Load(Box::new(at(tensor))));
    let body = vec![Stmt::Store(at(2), (operation.of)(x, y, lanes))];
    let var = RegisterId(0);
    let each = Loop { var, lo: constant(0), hi: constant(ELEMENTS), step: i64::from(lanes), body };
    Program {
        name: "each".into(),
        tensors: vec![
            tensor("x", a, false),
            tensor("y", b, false),
            tensor("z", operation.output, true),
        ],
        registers: vec![Register { name: "i".into(), ty: Type::scalar(DType::I64) }],
        main: vec![Stmt::For(each)],
        ..Program::default()
    }
}

/// Numbers at which operations change their behaviour, and others between.
fn numbers(dtype: DType, seed: u64) -> Tensor {
    let number = |k: u64| {
        let k = k.wrapping_mul(seed * 2 + 1);
        let special =
            [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.5, 300.25];
        match k % 3 {
            0 if dtype.is_float() => Scalar::from_f64(dtype, special[(k / 3 % 9) as usize]),
            1 if dtype.is_float() => Scalar::from_f64(dtype, (k % 4096) as f64 * 0.37 - 400.0),
            _ => dtype.extreme(k % EXTREMES),
        }
    };
    let data = Data::held(dtype, (0..u64::from(ELEMENTS)).map(number));
    Tensor { dtype, shape: vec![u64::from(ELEMENTS)], data }
}

/// Runs an operation in C and in the simulator, and returns how many programs there were.
fn check(operation: &Operation<'_>) -> usize {
    let compiler = Compiler::find().expect("a C compiler");
    let machine = Machine::plus().expect("a machine");
    let mut checked = 0;
    for (lanes, vector_bytes) in LANES.into_iter().zip(CORES.into_iter().cycle()) {
        let name = format!("{} on {lanes} lanes, vectors of {vector_bytes} bytes", operation.name);
        let program = verify(program(operation, lanes), &Limits::NONE).expect("is well-formed");
        let source = match c::print(
            &program,
            &[],
            &[],
            Core { vector_bytes, threads: 1, approximate: false, row_swap: 2, llc_bytes: 0 },
        ) {
            Ok(source) => source,
            Err(Error::HalfBytes(_)) => continue,
            Err(error) => panic!("{name}: {error}"),
        };
        let path =
            compiler.compile(&source, Contraction::Off).unwrap_or_else(|e| panic!("{name}: {e}"));
        let library = Library::load(&path, &source).expect("loads");
        let [a, b] = operation.inputs;
        let tensors = vec![numbers(a, 1), numbers(b, 5), numbers(operation.output, 2)];
        let mut buffers = Buffers::new(&program, &tensors, &[]).expect("is small");
        library.call(&mut buffers).expect("nothing is required");
        let bindings = Bindings { tensors, sizes: Vec::new() };
        let outcome = run(&program, &machine, bindings, Options::default()).expect("runs");
        let (native, simulated) = (&buffers.tensors()[2], &outcome.tensors[2]);
        if let Err(mismatch) = compare("z", simulated, native, Exactness::Bitwise, &[]) {
            panic!("{name}: {mismatch}");
        }
        checked += 1;
    }
    checked
}

/// Checks all operations, and that nearly all of their programs have C.
fn check_all<'a>(operations: impl Iterator<Item = Operation<'a>>) {
    let (mut programs, mut checked) = (0, 0);
    for operation in operations {
        programs += LANES.len();
        checked += check(&operation);
    }
    assert!(checked * 2 > programs, "of {programs} programs only {checked} have C");
}

#[test]
fn binary_operations() {
    let operations = BinaryOp::ALL.into_iter().flat_map(|op| DType::ARITHMETIC.map(|ty| (op, ty)));
    for (op, ty) in operations {
        let of = move |a: Expr, b: Expr, _| Expr::Binary(op, Box::new(a), Box::new(b));
        let name = format!("{} of {ty}", op.name());
        check(&Operation { name, inputs: [ty, ty], output: op.result(ty), of: &of });
    }
}

#[test]
fn unary_operations() {
    for op in UnaryOp::ALL {
        for ty in DType::ARITHMETIC.into_iter().filter(|ty| op.takes(*ty)) {
            let of = move |a: Expr, _, _| Expr::Unary(*op, Box::new(a));
            let name = format!("{} of {ty}", op.name());
            check(&Operation { name, inputs: [ty, ty], output: ty, of: &of });
        }
    }
}

/// Returns a bound on the distance of two numbers in units in the last place.
fn units(a: f32, b: f32) -> u64 {
    let order = |x: f32| i64::from(x.to_bits() as i32 & i32::MAX) * if x < 0.0 { -1 } else { 1 };
    if a.is_nan() && b.is_nan() { 0 } else { order(a).abs_diff(order(b)) }
}

/// Numbers at which steps of the exponential change, and many others.
fn exponents() -> Vec<f32> {
    let special = [0.0, -0.0, 88.7, 88.73, 100.0, -87.4, -103.9, -104.1, f32::NAN, 1e-30];
    let ends = [f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN];
    let steps: [u32; 7] =
        [0x3900_0000, 0x3eb1_7218, 0x3f85_1592, 0x42ae_ac50, 0x42b1_7218, 0x42cf_f1b5, 0x42d0_0000];
    let around = steps.into_iter().flat_map(|bits| bits - 3..=bits + 3);
    let around = around.flat_map(|bits| [f32::from_bits(bits), -f32::from_bits(bits)]);
    let random = (0..20_000u32).map(|k| f32::from_bits(k.wrapping_mul(2_654_435_761)));
    let even = (0..100_000).map(|k| k as f32 * 0.002 - 105.0);
    special.into_iter().chain(ends).chain(around).chain(random).chain(even).collect()
}

#[test]
fn exponentials() {
    let compiler = Compiler::find().expect("a C compiler");
    let of = |a: Expr, _: Expr, _: u32| Expr::Unary(UnaryOp::Exp, Box::new(a));
    let ty = DType::F32;
    let operation = Operation { name: "exp".into(), inputs: [ty, ty], output: ty, of: &of };
    for (approximate, lanes, vector_bytes) in
        [(true, 16, 32), (true, 1, 32), (false, 16, 64), (false, 8, 16), (false, 1, 64)]
    {
        let program = verify(program(&operation, lanes), &Limits::NONE).expect("is well-formed");
        let source = c::print(
            &program,
            &[],
            &[],
            Core { vector_bytes, threads: 1, approximate, row_swap: 2, llc_bytes: 0 },
        )
        .expect("C");
        assert!(source.replaceable.is_empty(), "no function of the C library is called");
        let (contraction, most) =
            if approximate { (Contraction::Fast, 2) } else { (Contraction::Off, 0) };
        let path = compiler.compile(&source, contraction).expect("compiles");
        let library = Library::load(&path, &source).expect("loads");
        for own in exponents().chunks(ELEMENTS as usize) {
            let mut own = own.to_vec();
            own.resize(ELEMENTS as usize, 0.0);
            let tensor = |x: &[f32]| Tensor {
                dtype: ty,
                shape: vec![u64::from(ELEMENTS)],
                data: Data::F32(std::sync::Arc::new(x.to_vec())),
            };
            let tensors = [tensor(&own), tensor(&own), tensor(&own)];
            let mut buffers = Buffers::new(&program, &tensors, &[]).expect("is small");
            library.call(&mut buffers).expect("nothing is required");
            let Data::F32(found) = &buffers.tensors()[2].data else { panic!("of f32") };
            for (x, y) in own.iter().zip(&**found) {
                let exact = UnaryOp::Exp.f32(*x);
                assert!(units(exact, *y) <= most, "exp({x}) is {exact}, not {y}");
            }
        }
    }
}

#[test]
fn absolute_values_and_folds_of_vectors() {
    for ty in [DType::F32, DType::F64] {
        let zero = Scalar::from_f64(ty, 0.0);
        let wide =
            move |x: Expr, lanes| if lanes == 1 { x } else { Expr::Broadcast(lanes, Box::new(x)) };
        let abs = move |a: Expr, _: Expr, lanes: u32| {
            let zero = wide(Expr::Const(zero), lanes);
            let negated = Expr::Binary(BinaryOp::Sub, Box::new(zero), Box::new(a.clone()));
            Expr::Binary(BinaryOp::Max, Box::new(a), Box::new(negated))
        };
        check(&Operation { name: format!("abs of {ty}"), inputs: [ty, ty], output: ty, of: &abs });
        for op in [BinaryOp::Add, BinaryOp::Mul, BinaryOp::Max, BinaryOp::Min] {
            let fold = move |a: Expr, _: Expr, lanes: u32| match lanes {
                1 => a,
                _ => wide(Expr::Fold(op, Box::new(a)), lanes),
            };
            let name = format!("fold of {ty} by {}", op.name());
            check(&Operation { name, inputs: [ty, ty], output: ty, of: &fold });
        }
    }
}

#[test]
fn conversions() {
    let pairs = DType::ALL.into_iter().flat_map(|from| DType::ALL.map(|to| (from, to)));
    let cast = |to: DType| move |a: Expr, _: Expr, _: u32| Expr::Cast(to, Box::new(a));
    let casts: Vec<_> = pairs.map(|(from, to)| (from, to, cast(to))).collect();
    check_all(casts.iter().map(|(from, to, of)| Operation {
        name: format!("{from} to {to}"),
        inputs: [*from, *from],
        output: *to,
        of,
    }));
}

#[test]
fn choices_folds_and_copies() {
    for ty in DType::ARITHMETIC {
        let less = |a: Expr, b: Expr| Expr::Binary(BinaryOp::Lt, Box::new(a), Box::new(b));
        let chosen = |a: Expr, b: Expr, _: u32| {
            Expr::Select(Box::new(less(a.clone(), b.clone())), Box::new(a), Box::new(b))
        };
        let of = &chosen;
        check(&Operation { name: format!("choice of {ty}"), inputs: [ty, ty], output: ty, of });
        let folded = |a: Expr, b: Expr, lanes: u32| {
            let sum = |x: Expr| Expr::Fold(BinaryOp::Add, Box::new(x));
            if lanes == 1 { a } else { Expr::Broadcast(lanes, Box::new(sum(b))) }
        };
        let of = &folded;
        check(&Operation { name: format!("fold of {ty}"), inputs: [ty, ty], output: ty, of });
    }
}
