//! Numbers at which the arithmetic of a type changes its behaviour.

use super::{DType, Scalar};

/// The number of different choices of [`DType::extreme`].
pub const EXTREMES: u64 = 8 * 64;

/// The number of magnitudes of floating-point numbers.
const MAGNITUDES: usize = 18;

impl DType {
    /// Returns the `k`-th of the type's extremes; `k` is taken modulo [`EXTREMES`].
    ///
    /// Of integers, these are powers of two, their neighbours, and numbers next to the middle of two neighbouring
    /// floating-point numbers, of both signs, from the ends of the type downwards, so that small `k` give the ends. Of
    /// floating-point types, they are the finite numbers at which results overflow, become denormal, or are rounded.
    pub fn extreme(self, k: u64) -> Scalar {
        if self.is_float() {
            let magnitudes = self.magnitudes();
            let bits = magnitudes[(k % EXTREMES / 2) as usize % MAGNITUDES];
            let sign = if k.is_multiple_of(2) { 0 } else { 1 << (self.bits() - 1) };
            return Scalar::from_bits(self, bits | sign);
        }
        let order = (self.bits() - 1).saturating_sub(k % EXTREMES / 8);
        let power = 1_i64 << order;
        let near = match k % 8 / 2 {
            0 => power.wrapping_sub(1),
            1 => power,
            2 => power.wrapping_add(1),
            // Rounded to binary32 by way of binary64, the result is another than without it.
            _ => power.wrapping_add(power.unsigned_abs().wrapping_shr(24) as i64 + 1),
        };
        let number = if k.is_multiple_of(2) { near } else { near.wrapping_neg() };
        Scalar::I64(number).cast(self)
    }

    /// Returns the bits of the positive numbers of a floating-point type at which its arithmetic changes.
    fn magnitudes(self) -> [u64; MAGNITUDES] {
        let bits = |x: f64| Scalar::from_f64(self, x).to_bits();
        let (one, infinity) = (bits(1.0), bits(f64::INFINITY));
        // Bits rise with the number: a binade has this many numbers, which is also the first that is not denormal.
        let binade = bits(2.0) - one;
        // Above one, halfway between two numbers of bf16, of f16, and of f32.
        let [bf16, f16, f32] = [8, 11, 24].map(|digits| bits(1.0 + 0.5_f64.powi(digits)));
        // From here on, not all integers are numbers of the type.
        let integers = bits((2 * binade) as f64);
        [
            infinity - 1,
            infinity - binade / 2,
            infinity - binade,
            infinity - binade - 1,
            1,
            3,
            binade - 1,
            binade,
            binade + 1,
            one - 1,
            one + 1,
            bf16,
            bf16 + 1,
            f16,
            f16 + 1,
            f32 + 1,
            integers - 1,
            integers + 1,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_both_integer_types_come_first() {
        let first =
            |dtype: DType| (0..8).filter_map(|k| dtype.extreme(k).as_i64()).collect::<Vec<_>>();
        for end in [i64::MIN, i64::MIN + 1, i64::MAX] {
            assert!(first(DType::I64).contains(&end));
        }
        for end in [i32::MIN, i32::MIN + 1, i32::MAX] {
            assert!(first(DType::I32).contains(&i64::from(end)));
        }
        let all: Vec<Scalar> = (0..EXTREMES).map(|k| DType::I64.extreme(k)).collect();
        for order in 0..63 {
            for near in [(1 << order) - 1, 1 << order, (1 << order) + 1] {
                assert!(all.contains(&Scalar::I64(near)) && all.contains(&Scalar::I64(-near)));
            }
        }
    }

    #[test]
    fn some_integers_are_rounded_twice() {
        let twice = |n: i64| (n as f64) as f32 != n as f32;
        assert!((0..EXTREMES).filter_map(|k| DType::I64.extreme(k).as_i64()).any(twice));
    }

    #[test]
    fn floating_point_extremes_overflow_lose_digits_and_are_rounded_twice() {
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            let all: Vec<f64> = (0..EXTREMES).map(|k| dtype.extreme(k).as_f64()).collect();
            assert!(all.iter().all(|x| x.is_finite() && *x != 0.0));
            let stored = |x: f64| Scalar::from_f64(dtype, x).as_f64();
            assert!(all.iter().any(|&x| x > 0.0 && stored(x * 2.0).is_infinite()), "{dtype}");
            assert!(all.iter().any(|&x| stored(stored(x * 0.5) * 2.0) != x), "{dtype}");
            assert!(all.iter().any(|&x| x > 1.0 && x < 1.1) && all.iter().any(|&x| x < -1.0));
        }
        let twice = |dtype: DType, to: DType| {
            let through = |x: Scalar| x.cast(DType::F32).cast(to);
            (0..EXTREMES).map(|k| dtype.extreme(k)).any(|x| through(x) != x.cast(to))
        };
        assert!(twice(DType::F64, DType::F16) && twice(DType::F64, DType::BF16));
    }
}
