//! Numbers at which arithmetic or a rule changes its behaviour: the ends of integer types, and those next to the numbers
//! that the rule mentions.

use super::anywhere::Anywhere;
use super::grow::{Grow, Type};
use super::world::{edge, extreme};
use egg::Id;
use ember_values::scalar::{DType, Scalar};

/// The ends of integer types and the numbers next to them.
const ENDS: [i64; 11] = [
    i64::MAX,
    i64::MIN,
    i64::MAX - 1,
    i64::MIN + 1,
    i32::MAX as i64,
    i32::MIN as i64,
    i32::MAX as i64 + 1,
    i32::MIN as i64 - 1,
    u32::MAX as i64,
    1 << 32,
    1 << 62,
];

impl Grow<'_, Anywhere<'_>> {
    /// Generates a constant at which something changes, in every lane.
    pub(super) fn corner(&mut self, ty: Type, literals: &[i64]) -> Id {
        let x = match ty.dtype {
            DType::I64 | DType::I32 => Scalar::I64(self.turn(ty.dtype, literals)).cast(ty.dtype),
            dtype if self.setting.tame => return self.constant(Type { dtype, ..ty }),
            dtype => edge(self.rng, dtype),
        };
        let x = self.make().number(x);
        if ty.lanes == 1 { x } else { self.make().broadcast(ty.lanes, x) }
    }

    /// Draws an integer at which something changes.
    fn turn(&mut self, dtype: DType, literals: &[i64]) -> i64 {
        let turn = match self.rng.u8(0..10) {
            0..=1 if !literals.is_empty() => {
                let near = self.rng.i64(-1..=1);
                let n = self.pick(literals, 0).wrapping_add(near);
                if self.one_in(6) { n.wrapping_neg() } else { n }
            }
            0..=2 => self.rng.i64(-9..=9),
            3 => {
                let order = self.rng.u32(4..40);
                self.rng.i64(0..1 << order)
            }
            4 => extreme(self.rng, dtype).as_i64().unwrap_or(0),
            // Conversions give two neighbours one result.
            5..=6 => self.setting.turn.wrapping_add(self.rng.i64(-1..=1)),
            _ => self.pick(&ENDS, 0),
        };
        self.setting.turn = turn;
        turn
    }
}
