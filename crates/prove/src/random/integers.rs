//! Integers of instances that violate a condition: those that overflow, those beyond a bound that a rule asks for, and
//! those that are read from memory which the program writes.

use super::anywhere::Anywhere;
use super::build::Build;
use super::grow::Type;
use super::said::Stated;
use super::types::Hole;
use egg::{Id, Var};
use ember_language::rules::{Arg, Kind};
use ember_values::scalar::DType;

/// The side of a comparison that a term is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// It should be the lesser.
    Lesser,
    /// It should be the greater.
    Greater,
}

impl Build<'_, '_, '_, Anywhere<'_>> {
    /// Returns a loaded integer, or one that depends on it and lies in a known range, so that it may be a bound.
    pub(super) fn narrowed(&mut self, loaded: Id) -> Id {
        let least = self.grow.pick(&[0, 0, 0, -3], 0);
        let [zero, end, limit] = [least, self.grow.rng.i64(1..6), self.grow.rng.i64(0..4)]
            .map(|n| self.grow.terms.int(n));
        match self.grow.rng.u8(0..6) {
            0 => loaded,
            1..=3 => {
                let least = self.greater(loaded, zero);
                self.grow.make().least(least, end)
            }
            choice => {
                let less = self.below(loaded, limit);
                if choice == 4 { less } else { self.grow.make().sum(less, end) }
            }
        }
    }

    /// Builds the greater of two integers.
    fn greater(&mut self, a: Id, b: Id) -> Id {
        self.grow.make().greatest(a, b)
    }

    /// Returns an integer clamped to what conditions say of a variable.
    pub(super) fn clamped(&mut self, v: Var, mut value: Id) -> Id {
        if self.one_in(6) {
            return value;
        }
        for stated in self.said.numbers.get(&v).cloned().unwrap_or_default() {
            value = match stated {
                Stated::Least(n) => {
                    let n = self.grow.terms.int(n);
                    self.greater(value, n)
                }
                Stated::Most(n) => {
                    let n = self.grow.terms.int(n);
                    self.grow.make().least(value, n)
                }
                Stated::Length | Stated::Multiple | Stated::AtLeast(..) | Stated::AtMost(..) => {
                    value
                }
            };
        }
        value
    }

    /// Makes a variable of the pattern a scalar i64; `None` if it cannot be one, or must be a literal.
    fn as_index(&mut self, hole: &Hole) -> Option<()> {
        if hole.kind != Kind::Value || hole.count || hole.step {
            return None;
        }
        self.types.dtypes.set(hole.dtype, DType::I64)?;
        self.types.lanes.set(hole.lanes, 1)
    }

    /// Builds an integer near an end of i64, or one that may be any.
    pub(super) fn unbounded(&mut self, hole: &Hole) -> Option<Id> {
        self.as_index(hole)?;
        let near = self.grow.rng.i64(0..6);
        let scope = self.scope(&hole.binders, true);
        let value = match self.grow.rng.u8(0..8) {
            0..=2 => self.grow.terms.int(i64::MAX - near),
            3 => self.grow.terms.int(i64::MIN + near),
            // A few times it is a small number again.
            6 | 7 => {
                let length = self.length().filter(|_| self.grow.rng.u8(0..3) > 0);
                let times = length.unwrap_or(self.grow.pick(&[2, 3, 3, 4, 6, 8, 12], 3)).max(1);
                let whole = (1_i128 << 64) / i128::from(times) + 1;
                let whole = i64::try_from(whole).unwrap_or(i64::MIN);
                self.grow.terms.int(whole.wrapping_add(near / 2))
            }
            4 => self.grow.load(Type::INDEX, &scope, 0)?,
            _ => return None,
        };
        Some(self.wrapped(hole.sort, value))
    }

    /// Returns a length that the instance has.
    fn length(&mut self) -> Option<i64> {
        let lengths =
            self.said.numbers.iter().filter(|(_, stated)| stated.contains(&Stated::Length));
        let lengths: Vec<Var> = lengths.map(|(v, _)| *v).collect();
        let length = self.grow.rng.choice(&lengths).copied()?;
        let aim = self.aim.take();
        let term = self.hole(length);
        self.aim = aim;
        self.number(term?)
    }

    /// Builds a number that violates a comparison: it is on one side of that, and `other` on the other.
    pub(super) fn beyond(&mut self, hole: &Hole, side: Side, other: Arg) -> Option<Id> {
        let limit = match other {
            Arg::Int(n) => n,
            Arg::Var(v) => self.number(*self.holes.get(&v)?)?,
        };
        self.as_index(hole)?;
        const FAR: [i64; 6] = [1 << 31, 1 << 32, 1 << 33, 1 << 62, i64::MAX - 1, i64::MAX];
        let far = self.grow.pick(&FAR, i64::MAX);
        let near = self.grow.pick(&[0, 1, 1, 1, 1, 2, 2, 3, 5, 8], 1);
        let is_far = self.one_in(3);
        let n = match side {
            Side::Lesser if is_far => limit.saturating_add(far),
            Side::Greater if is_far => limit.saturating_sub(far),
            Side::Lesser => limit.saturating_add(near),
            Side::Greater => limit.saturating_sub(near),
        };
        let n = self.grow.terms.int(n);
        Some(self.wrapped(hole.sort, n))
    }
}
