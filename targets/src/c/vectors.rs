//! The C types of values: scalars, and arrays of vectors of the core's width.

use crate::dlc::{Program, Type};
use ember_values::scalar::DType;

/// The division of many lanes into vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pieces {
    /// The lanes of one vector, a power of two.
    pub lanes: u32,
    /// The number of vectors.
    pub count: u32,
    /// True if the last vector has lanes that do not count.
    pub padded: bool,
}

/// The widest vectors of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Width {
    /// The most lanes of a vector, a power of two.
    lanes: u32,
}

impl Width {
    /// Returns the width that suits a core and the widest elements that a program computes with in lanes.
    pub fn of(program: &Program, vector_bytes: u64) -> Width {
        let registers = program.registers.iter().map(|register| register.ty);
        let wide = registers.filter(|ty| ty.lanes > 1).map(|ty| ty.dtype.bits()).max();
        let bytes = wide.unwrap_or(32).max(32) / 8;
        let lanes = u32::try_from(vector_bytes / bytes).unwrap_or(1).clamp(2, 64);
        Width { lanes: 1 << lanes.ilog2() }
    }

    /// Divides lanes into vectors of one length: as few as fill them exactly, unless these would be very short.
    pub fn pieces(self, lanes: u32) -> Pieces {
        if lanes == 1 {
            return Pieces { lanes, count: 1, padded: false };
        }
        let even = (1 << lanes.trailing_zeros()).min(self.lanes);
        let widest = lanes.next_power_of_two().min(self.lanes);
        let chosen = if 2 * even >= widest { even } else { widest };
        Pieces {
            lanes: chosen,
            count: lanes.div_ceil(chosen),
            padded: !lanes.is_multiple_of(chosen),
        }
    }
}

/// Returns the C type of one element.
pub(super) fn scalar(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "float",
        DType::F64 => "double",
        DType::I32 => "int32_t",
        DType::I64 => "int64_t",
        DType::F16 => "_Float16",
        DType::BF16 => "uint16_t",
        DType::U8 | DType::U4 => "uint8_t",
        DType::I8 => "int8_t",
    }
}

/// Returns the name of the C type of a number of lanes.
pub(super) fn vector(dtype: DType, lanes: u32) -> String {
    Type { dtype, lanes }.to_string()
}

/// Returns the integer type of the same size as an element, in which masks are made.
pub(super) fn mask(dtype: DType) -> (&'static str, &'static str) {
    match dtype.bits() {
        64 => ("i64", "int64_t"),
        32 => ("i32", "int32_t"),
        16 => ("i16", "int16_t"),
        _ => ("i8", "int8_t"),
    }
}
