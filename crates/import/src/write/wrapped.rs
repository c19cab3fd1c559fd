//! Whole numbers of fewer than 64 bits, in expressions that compute with 64. Sums, differences and products have the same
//! lowest bits either way, so only what else takes them has to wrap them before: a remainder or a comparison. A position
//! itself needs it not, because one that is no row is an error.

use super::Writer;
use super::drawn::range;
use super::whole::operation;
use crate::words::{ADD, MUL, SUB};
use ember_model::{Whole, WholeOp};
use ember_values::scalar::DType;

/// The least and the greatest number that an expression may be.
type Range = (i128, i128);

/// The numbers of 64 bits.
const ALL: Range = (i64::MIN as i128, i64::MAX as i128);

/// Returns the numbers that a type of whole numbers has.
fn range_of(dtype: DType) -> Range {
    match dtype {
        DType::I32 => (i32::MIN.into(), i32::MAX.into()),
        DType::I8 => (i8::MIN.into(), i8::MAX.into()),
        DType::U8 => (0, u8::MAX.into()),
        DType::U4 => (0, 15),
        _ => ALL,
    }
}

/// Returns true if the lowest bits of a result follow from those of the operands.
pub(super) fn keeps_low_bits(op: WholeOp) -> bool {
    [ADD, SUB, MUL].contains(&op.name())
}

impl Writer<'_> {
    /// A whole number as a type holds it.
    pub(super) fn wrapped(&self, whole: Whole, dtype: DType) -> Option<Whole> {
        let (least, greatest) = range_of(dtype);
        let (low, high) = self.range(&whole);
        if least <= low && high <= greatest {
            return Some(whole);
        }
        let count = i64::try_from(greatest - least + 1).ok()?;
        let below = i64::try_from(-least).ok()?;
        let apply = |name: &str, a: Whole, b: i64| match (name, b) {
            (ADD | SUB, 0) => Some(a),
            _ => operation(name, vec![a, Whole::Number(b)]),
        };
        let rest = apply("floormod", apply(ADD, whole, below)?, count)?;
        apply(SUB, rest, below)
    }

    /// Returns the numbers among which an expression is.
    fn range(&self, whole: &Whole) -> Range {
        let element = |name: &str| self.inputs.dtype(name).map(range_of);
        let range = match whole {
            Whole::Element(name, _) => element(name),
            _ => range(whole, &element, &|_| Some(i128::MAX)),
        };
        range.unwrap_or(ALL)
    }
}
