//! Integers at which arithmetic changes its behaviour, for tests of everything that computes with them.

use super::{DType, Scalar};

/// The number of different choices of [`DType::extreme`].
pub const EXTREMES: u64 = 6 * 64;

impl DType {
    /// Returns the `k`-th of the type's extremes: powers of two and their neighbours, of both signs, from the ends of
    /// the type downwards, so that small `k` give the ends. `k` is taken modulo [`EXTREMES`].
    pub fn extreme(self, k: u64) -> Scalar {
        let order = (self.bits() - 1).saturating_sub(k % EXTREMES / 6);
        let near = (1_i64 << order).wrapping_add(k as i64 % 3 - 1);
        let number = if (k / 3).is_multiple_of(2) { near } else { near.wrapping_neg() };
        Scalar::I64(number).cast(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_both_integer_types_come_first() {
        let first =
            |dtype: DType| (0..6).filter_map(|k| dtype.extreme(k).as_i64()).collect::<Vec<_>>();
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
}
