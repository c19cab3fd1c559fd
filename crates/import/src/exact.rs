//! Conversions between element types that change no number.

use ember_values::scalar::DType;

/// Returns how many bits of a whole number a type holds, besides the sign.
pub(crate) fn digits(dtype: DType) -> u32 {
    match dtype {
        DType::U4 => 4,
        DType::I8 => 7,
        DType::U8 | DType::BF16 => 8,
        DType::F16 => 11,
        DType::F32 => 24,
        DType::I32 => 31,
        DType::F64 => 53,
        DType::I64 => 63,
    }
}

/// Returns true if a type holds every number of another one.
pub(crate) fn holds(to: DType, from: DType) -> bool {
    let unsigned = |dtype| matches!(dtype, DType::U4 | DType::U8);
    match (to.is_float(), from.is_float()) {
        _ if to == from => true,
        (false, true) => false,
        (true, true) => to == DType::F64 || (to == DType::F32 && from != DType::F64),
        (true, false) => digits(from) <= digits(to),
        (false, false) => digits(from) <= digits(to) && (unsigned(from) || !unsigned(to)),
    }
}

/// Returns the type that numbers of a type are computed with: what is only stored is converted before.
pub(crate) fn computed_with(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        DType::U4 | DType::U8 | DType::I8 => DType::I32,
        dtype => dtype,
    }
}

#[cfg(test)]
mod tests {
    use super::holds;
    use ember_values::scalar::{DType, Scalar};

    /// Returns true if a conversion keeps a number.
    fn kept(from: DType, to: DType, bits: u64) -> bool {
        let x = Scalar::from_bits(from, bits);
        let converted = x.cast(to);
        match (x.as_i64(), converted.as_i64()) {
            (Some(a), Some(b)) => a == b,
            _ => x.is_nan() || converted.cast(from).to_bits() == x.to_bits(),
        }
    }

    fn pairs() -> impl Iterator<Item = (DType, DType)> {
        DType::ALL.into_iter().flat_map(|from| DType::ALL.map(|to| (from, to)))
    }

    #[test]
    fn types_hold_every_number_of_those_that_they_are_said_to_hold() {
        let mut random = fastrand::Rng::with_seed(7);
        for (from, to) in pairs().filter(|(from, to)| holds(*to, *from)) {
            for bits in (0..2000).map(|_| random.u64(..) >> random.u32(0..64)) {
                assert!(kept(from, to, bits), "{bits:x} of {from} in {to}");
            }
        }
    }

    #[test]
    fn types_change_a_number_of_those_that_they_are_said_not_to_hold() {
        let ends = [1, 0x81, 0xff, 0x3c01, 0x7bff, 0x3f80_0001, 0x7f7f_ffff, 0x8000_0001];
        let ends: Vec<u64> = ends.into_iter().chain([u64::MAX, 0x3ff0_0000_0000_0001]).collect();
        for (from, to) in pairs().filter(|(from, to)| !holds(*to, *from)) {
            assert!(!ends.iter().all(|bits| kept(from, to, *bits)), "{from} in {to}");
        }
    }
}
