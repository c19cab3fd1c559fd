//! Tests of conversions, functions and folds of scalars.

use super::*;

/// Returns a stream of pseudo-random numbers from SplitMix64.
fn random(seed: u64) -> impl Iterator<Item = u64> {
    (1..).map(move |n: u64| {
        let mut z = seed.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

const HALVES: [DType; 2] = [DType::F16, DType::BF16];

#[test]
fn every_half_keeps_its_bits_through_every_wider_type_and_text() {
    for dtype in HALVES {
        for bits in 0..=u64::from(u16::MAX) {
            let half = Scalar::from_bits(dtype, bits);
            assert_eq!(Scalar::from_f64(dtype, half.as_f64()), half);
            assert_eq!(half.cast(DType::F32).cast(dtype), half);
            assert_eq!(dtype.number(&half.to_string()), Some(half));
        }
    }
}

/// Returns true if `found` is the value of a half type nearest to `x`; of two equally near, the even one.
fn nearest(found: Scalar, x: f64) -> bool {
    let value = |bits: u64| Scalar::from_bits(found.dtype(), bits).as_f64();
    let magnitude = found.to_bits() & 0x7fff;
    // Beyond the greatest finite value, the distance to the value that would follow it decides.
    let step = |bits: u64| {
        if value(bits).is_finite() { value(bits) } else { 2.0 * value(bits - 1) - value(bits - 2) }
    };
    let distance = |bits: u64| (step(bits) - x.abs()).abs();
    let beats = |other: u64| {
        let (here, there) = (distance(magnitude), distance(other));
        here < there || here == there && magnitude.is_multiple_of(2)
    };
    (x < 0.0) == (found.to_bits() >> 15 == 1)
        && (magnitude == 0 || beats(magnitude - 1))
        && (!value(magnitude).is_finite() || beats(magnitude + 1))
}

#[test]
fn halves_are_rounded_once_from_every_type() {
    for dtype in HALVES {
        let span = if dtype == DType::F16 { 50 } else { 300 };
        for bits in random(1).take(200_000) {
            let exponent = bits % span;
            let fraction = f64::from_bits(bits >> 12 | 0x3ff0_0000_0000_0000);
            let sign = if bits & 1 << 60 == 0 { 1.0 } else { -1.0 };
            let x =
                sign * fraction * 2f64.powi(exponent as i32 - if span == 50 { 30 } else { 150 });
            assert!(nearest(Scalar::from_f64(dtype, x), x), "{x:e} as {dtype}");
            let narrow = x as f32;
            let found = Scalar::F32(narrow).cast(dtype);
            assert!(nearest(found, f64::from(narrow)), "{narrow:e} as {dtype}");
            // A tie and its neighbours, which only a wider type distinguishes.
            let half = Scalar::from_f64(dtype, x);
            let (low, high) =
                (half.as_f64(), Scalar::from_bits(dtype, half.to_bits() + 1).as_f64());
            let tie = (low + high) / 2.0;
            for near in [tie.next_down(), tie, tie.next_up()] {
                if near.is_finite() {
                    assert!(nearest(Scalar::from_f64(dtype, near), near), "{near:e} as {dtype}");
                }
            }
        }
    }
    let f32_to_f16 = |x: f32| Scalar::F32(x).cast(DType::F16);
    for bits in random(2).take(100_000) {
        let x = f32::from_bits(bits as u32);
        assert_eq!(f32_to_f16(x), Scalar::F16(f16::from_f32(x)), "{x:e}");
        assert_eq!(Scalar::F32(x).cast(DType::BF16), Scalar::BF16(bf16::from_f32(x)), "{x:e}");
    }
    // 2^62 + 2^54 lies halfway between two values of bf16, and adding 1 decides the rounding.
    let tie = (1i64 << 62) + (1 << 54);
    let [low, high] = [tie, tie + 1].map(|x| Scalar::I64(x).cast(DType::BF16).as_f64());
    assert_eq!((low, high), (2f64.powi(62), 2f64.powi(62) + 2f64.powi(55)));
    assert_eq!(f32_to_f16(65_519.0), Scalar::F16(f16::MAX));
    assert_eq!(f32_to_f16(65_520.0), Scalar::F16(f16::INFINITY));
}

#[test]
fn small_integers_truncate_and_saturate_from_floats_and_wrap_from_integers() {
    let cast = |x: Scalar, to| x.cast(to).as_i64();
    for (x, u8, u4) in [(-1.0, 0, 0), (7.9, 7, 7), (15.5, 15, 15), (16.0, 16, 15), (1e9, 255, 15)] {
        assert_eq!(cast(Scalar::F32(x), DType::U8), Some(u8));
        assert_eq!(cast(Scalar::F32(x), DType::U4), Some(u4));
    }
    assert_eq!(cast(Scalar::F64(f64::NAN), DType::U4), Some(0));
    assert_eq!(cast(Scalar::I64(-1), DType::U8), Some(255));
    assert_eq!(cast(Scalar::I32(0x123), DType::U4), Some(3));
    assert_eq!(cast(Scalar::U8(0xab), DType::U4), Some(0xb));
    assert_eq!(Scalar::U4(9).cast(DType::F32), Scalar::F32(9.0));
    assert_eq!((DType::U4.number("15"), DType::U4.number("16")), (Some(Scalar::U4(15)), None));
    assert_eq!((DType::U8.number("256"), DType::U8.number("-1")), (None, None));
    let signed = [(-1e9, -128), (-7.9, -7), (127.5, 127), (1e9, 127)];
    assert!(signed.iter().all(|(x, to)| cast(Scalar::F32(*x), DType::I8) == Some(*to)));
    assert_eq!(cast(Scalar::I64(200), DType::I8), Some(-56));
    assert_eq!(Scalar::from_bits(DType::I8, Scalar::I8(-3).to_bits()), Scalar::I8(-3));
    assert_eq!((DType::I8.number("-128"), DType::I8.number("128")), (Some(Scalar::I8(-128)), None));
}

#[test]
fn sizes_count_bits() {
    assert_eq!([0, 1, 2, 3].map(|n| DType::U4.bytes_of(n)), [0, 1, 1, 2]);
    assert_eq!(DType::F16.bytes_of(3), 6);
    assert_eq!(DType::I64.bytes_of(u64::MAX), u64::MAX);
    assert_eq!(DType::ALL.map(|d| d.elements_in(64)), [16, 8, 16, 8, 32, 32, 64, 128, 64]);
    assert!(DType::ALL.iter().all(|d| d.bits().is_power_of_two()));
    assert!(DType::ALL.iter().all(|d| d.is_storage() != DType::ARITHMETIC.contains(d)));
}

#[test]
fn functions_are_those_of_libm_and_of_ieee() {
    for bits in random(3).take(100_000) {
        let (x, y) = (f32::from_bits(bits as u32), f64::from_bits(bits));
        let apply = |op: UnaryOp, x| op.apply(x);
        assert_eq!(apply(UnaryOp::Exp, Scalar::F32(x)), Some(Scalar::F32(libm::expf(x))));
        assert_eq!(apply(UnaryOp::Exp, Scalar::F64(y)), Some(Scalar::F64(libm::exp(y))));
        assert_eq!(apply(UnaryOp::Sqrt, Scalar::F32(x)), Some(Scalar::F32(x.sqrt())));
        assert_eq!(apply(UnaryOp::Sqrt, Scalar::F64(y)), Some(Scalar::F64(y.sqrt())));
        // The result must be within two units in the last place of the true value.
        let (exact, found) = (f64::from(x).exp(), f64::from(libm::expf(x)));
        if exact.is_finite() && exact > 1e-37 && exact < 3e38 {
            assert!((found - exact).abs() <= exact * 2.4e-7, "exp {x:e}");
        }
    }
    assert_eq!(UnaryOp::Exp.apply(Scalar::F32(0.0)), Some(Scalar::F32(1.0)));
    assert_eq!(UnaryOp::Exp.apply(Scalar::F32(f32::NEG_INFINITY)), Some(Scalar::F32(0.0)));
    assert_eq!(UnaryOp::Sqrt.apply(Scalar::F32(-0.0)), Some(Scalar::F32(-0.0)));
    assert_eq!(UnaryOp::Sqrt.apply(Scalar::I64(4)), None);
    assert_eq!(UnaryOp::Exp.apply(Scalar::F16(f16::ONE)), None);
}

#[test]
fn folds_combine_halves() {
    let name = |n: usize| {
        let mut lanes: Vec<u64> = (0..n as u64).collect();
        // The digits in base 10 identify the operands in the order in which they meet.
        let mut steps = Vec::new();
        fold_lanes(&mut lanes, |a, b| {
            steps.push((a, b));
            a
        });
        steps
    };
    assert_eq!(name(1), []);
    assert_eq!(name(4), [(0, 2), (1, 3), (0, 1)]);
    assert_eq!(name(5), [(0, 3), (1, 4), (0, 2), (0, 1)]);
    let f32s = |x: &[f32]| x.iter().copied().map(Scalar::F32).collect::<Vec<_>>();
    let lanes = f32s(&[1e8, 1.0, -1e8, 1.0]);
    assert_eq!(BinaryOp::Add.fold(&lanes), Some(Scalar::F32(2.0)));
    assert_eq!(BinaryOp::Max.fold(&lanes), Some(Scalar::F32(1e8)));
    assert_eq!(BinaryOp::Sub.fold(&lanes), None);
    assert_eq!(BinaryOp::Add.fold(&[]), None);
    assert_eq!(BinaryOp::Add.fold(&[Scalar::U8(1)]), None);
    assert_eq!(BinaryOp::Add.fold(&[Scalar::I64(1), Scalar::F32(1.0)]), None);
}

#[test]
fn there_is_no_arithmetic_on_storage_types() {
    for dtype in DType::ALL.into_iter().filter(|d| d.is_storage()) {
        let x = Scalar::from_f64(dtype, 1.0);
        for op in BinaryOp::ALL {
            assert_eq!((op.apply(x, x), op.identity(dtype)), (None, None));
        }
    }
}

#[test]
fn ranges_hold_all_results_and_are_no_wider() {
    let bounds = || (-4..=4).flat_map(|least| (least..=4).map(move |most| (least, most)));
    for op in BinaryOp::ALL {
        for (a, b) in bounds().flat_map(|a| bounds().map(move |b| (a, b))) {
            let all = (a.0..=a.1).flat_map(|x| (b.0..=b.1).map(move |y| op.checked(x, y)));
            let all: Option<Vec<i64>> = all.collect();
            let expected = all.and_then(|all| Some((*all.iter().min()?, *all.iter().max()?)));
            match op {
                BinaryOp::Div if b.0 <= 0 => assert_eq!(op.range(a, b), None),
                BinaryOp::Pow => assert_eq!(op.range(a, b), None),
                _ => assert_eq!(op.range(a, b), expected, "{op:?} {a:?} {b:?}"),
            }
        }
    }
    assert_eq!(BinaryOp::Add.range((0, i64::MAX), (1, 1)), None);
    assert_eq!(BinaryOp::Div.checked(i64::MIN, -1), None);
}

/// Evaluates an SMT-LIB term over `a` and `b` as solvers of integer arithmetic do. Returns the value and the words
/// after the term.
fn solved<'t>(words: &'t [&'t str], (a, b): (i128, i128)) -> (i128, &'t [&'t str]) {
    let (word, mut rest) = words.split_first().expect("a word");
    let value = match *word {
        "a" => a,
        "b" => b,
        "(" => {
            let (operator, after) = rest.split_first().expect("an operator");
            let mut operands = Vec::new();
            rest = after;
            while rest.first() != Some(&")") {
                let (operand, after) = solved(rest, (a, b));
                operands.push(operand);
                rest = after;
            }
            rest = &rest[1..];
            match (*operator, operands.as_slice()) {
                ("+", [x, y]) => x + y,
                ("-", [x]) => -x,
                ("-", [x, y]) => x - y,
                ("*", [x, y]) => x * y,
                // The divisor is 0 only if a condition discards the quotient.
                ("div", [x, y]) => x.checked_div_euclid(*y).unwrap_or(0),
                ("=", [x, y]) => i128::from(x == y),
                ("<", [x, y]) => i128::from(x < y),
                ("<=", [x, y]) => i128::from(x <= y),
                (">=", [x, y]) => i128::from(x >= y),
                ("ite", [condition, x, y]) => {
                    if *condition != 0 {
                        *x
                    } else {
                        *y
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        number => number.parse().expect("a number"),
    };
    (value, rest)
}

#[test]
fn solvers_are_told_what_operations_on_integers_compute() {
    let edges =
        [i64::MIN, i64::MIN + 1, -7, -2, -1, 0, 1, 2, 3, 7, 1 << 31, i64::MAX - 1, i64::MAX];
    let more = random(3).take(200).map(|bits| bits as i64 >> (bits % 61));
    let numbers: Vec<i64> = edges.into_iter().chain(more).collect();
    for op in BinaryOp::ALL {
        let Some(solver) = op.solver() else { continue };
        let spaced = solver.replace('(', "( ").replace(')', " )");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        for a in &numbers {
            for b in &numbers {
                let (told, rest) = solved(&words, (i128::from(*a), i128::from(*b)));
                assert!(rest.is_empty(), "{solver}");
                let case = format!("{} of {a} and {b}", op.name());
                match i64::try_from(told) {
                    Ok(told) => assert_eq!(told, op.i64(*a, *b), "{case}"),
                    // Solvers use integers of any size. The operation wraps, and `checked` returns `None`.
                    Err(_) => assert_eq!(op.checked(*a, *b), None, "{case}"),
                }
                if let Some(checked) = op.checked(*a, *b) {
                    assert_eq!(told, i128::from(checked), "{case}");
                }
            }
        }
    }
}

#[test]
fn a_result_is_off_by_no_more_than_is_passed_on() {
    for op in UnaryOp::ALL {
        for bits in random(4).take(20_000) {
            let x = (bits % 4096) as f64 / 256.0;
            let error = x * ((bits >> 20) % 1024) as f64 / 2048.0;
            let Some(passed) = op.passed(x, error) else { continue };
            let y = op.f64(x);
            for other in [x - error, x - error / 3.0, x + error / 2.0, x + error] {
                let off = (op.f64(other) - y).abs();
                let slack = op.roundings() * f64::EPSILON * (y.abs() + off);
                assert!(off.is_nan() || off <= passed + slack, "{} of {x} ± {error}", op.name());
            }
        }
    }
}
