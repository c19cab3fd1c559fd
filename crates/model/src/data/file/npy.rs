//! `.npy` files (NumPy Enhancement Proposal 1), read and written.
//!
//! The reader is written here because the format is only a header and plain elements. The existing crates parse any
//! Python expression in the header, recursively, and multiply extents without an overflow check, so that a malformed
//! file could end the process.

use super::{FileError, bytes};
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::DType;
use itertools::Itertools;
use std::sync::Arc;

/// Reads an `.npy` file of format 1, 2 or 3 (NumPy Enhancement Proposal 1): a magic word, a version, the length and
/// text of the header, and the elements.
pub(super) fn read(bytes: &[u8]) -> Result<Tensor, FileError> {
    let cut = || FileError::Cut;
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or(FileError::NotNpy)?;
    let (version, rest) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
    let (length, rest) = match version[0] {
        1 => {
            let (length, rest) = rest.split_first_chunk().ok_or_else(cut)?;
            (u64::from(u16::from_le_bytes(*length)), rest)
        }
        2 | 3 => {
            let (length, rest) = rest.split_first_chunk().ok_or_else(cut)?;
            (u64::from(u32::from_le_bytes(*length)), rest)
        }
        other => return Err(FileError::Version(other)),
    };
    let (header, elements_bytes) = rest.split_at_checked(length as usize).ok_or_else(cut)?;
    let header = std::str::from_utf8(header).map_err(|_| FileError::HeaderNotText)?;
    let Header { descr, fortran, shape } = Header::parse(header).ok_or(FileError::Header)?;
    let dtype = match descr.get(1..) {
        Some("f4") => DType::F32,
        Some("f8") => DType::F64,
        Some("i4") => DType::I32,
        Some("i8") => DType::I64,
        Some("f2") => DType::F16,
        // NumPy has no bfloat16; the package ml_dtypes writes its elements as opaque pairs of bytes.
        Some("V2") => DType::BF16,
        // True and false are bytes, 1 and 0.
        Some("u1" | "b1") => DType::U8,
        Some("i1") => DType::I8,
        _ => return Err(FileError::NpyElements(descr.to_owned())),
    };
    let elements_held = shape.iter().try_fold(1u64, |n, extent| n.checked_mul(*extent));
    let needed = elements_held.map(|n| dtype.bytes_of(n));
    if needed != Some(elements_bytes.len() as u64) {
        let held = elements_bytes.len();
        return Err(FileError::Length { held, shape });
    }
    let mut data = Data::of_bytes(dtype, elements_bytes, !descr.starts_with('>'));
    if fortran {
        data = row_major(data, &shape);
    }
    Ok(Tensor { dtype, shape, data })
}

/// The header of an `.npy` file: `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
struct Header<'a> {
    descr: &'a str,
    fortran: bool,
    shape: Vec<u64>,
}

impl Header<'_> {
    /// Parses the three entries, in any order.
    fn parse(text: &str) -> Option<Header<'_>> {
        let value = |key: &str| {
            let after = text.split_once(&format!("'{key}'"))?.1;
            Some(after.trim_start().strip_prefix(':')?.trim_start())
        };
        let descr = value("descr")?.strip_prefix('\'')?.split_once('\'')?.0;
        let fortran = match value("fortran_order")? {
            word if word.starts_with("True") => true,
            word if word.starts_with("False") => false,
            _ => return None,
        };
        let extents = value("shape")?.strip_prefix('(')?.split_once(')')?.0;
        let extents = extents.trim().trim_end_matches(',');
        let shape = match extents {
            "" => Vec::new(),
            _ => extents.split(',').map(|n| n.trim().parse().ok()).collect::<Option<_>>()?,
        };
        Some(Header { descr, fortran, shape })
    }
}

/// Converts column-major elements to row-major order.
fn row_major(data: Data, shape: &[u64]) -> Data {
    fn reorder<T: Copy>(from: &[T], shape: &[u64]) -> Arc<Vec<T>> {
        // The index of the next element to write; the last dimension is the fastest.
        let mut index = vec![0; shape.len()];
        let strides =
            shape.iter().scan(1, |stride, n| Some(std::mem::replace(stride, *stride * n)));
        let strides: Vec<u64> = strides.collect();
        let mut out = Vec::with_capacity(from.len());
        for _ in 0..from.len() {
            let at: u64 = index.iter().zip(&strides).map(|(i, stride)| i * stride).sum();
            out.extend(from.get(at as usize));
            for (i, n) in index.iter_mut().zip(shape).rev() {
                *i += 1;
                if *i < *n {
                    break;
                }
                *i = 0;
            }
        }
        Arc::new(out)
    }
    match data {
        Data::F32(v) => Data::F32(reorder(&v, shape)),
        Data::F64(v) => Data::F64(reorder(&v, shape)),
        Data::I32(v) => Data::I32(reorder(&v, shape)),
        Data::I64(v) => Data::I64(reorder(&v, shape)),
        Data::F16(v) => Data::F16(reorder(&v, shape)),
        Data::BF16(v) => Data::BF16(reorder(&v, shape)),
        Data::U8(v) => Data::U8(reorder(&v, shape)),
        Data::U4(v) => Data::U4(reorder(&v, shape)),
        Data::I8(v) => Data::I8(reorder(&v, shape)),
        Data::Hashed(h) => Data::Hashed(h),
    }
}

/// The magic word and version 1.0 that an `.npy` file begins with.
const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";

/// Elements start at a multiple of this many bytes, which the format asks for.
const ALIGNED: usize = 64;

/// Returns the content of an `.npy` file of version 1.0.
pub(super) fn write(tensor: &Tensor) -> Vec<u8> {
    let descr = match tensor.dtype {
        DType::F32 => "<f4",
        DType::F64 => "<f8",
        DType::I32 => "<i4",
        DType::I64 => "<i8",
        DType::F16 => "<f2",
        DType::BF16 => "<V2",
        DType::U8 | DType::U4 => "|u1",
        DType::I8 => "|i1",
    };
    let extents = match tensor.shape.as_slice() {
        [n] => format!("{n},"),
        shape => shape.iter().join(", "),
    };
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({extents}), }}");
    let before = MAGIC.len() + size_of::<u16>();
    // The header ends with a line feed, after spaces that fill it up.
    let length = (before + header.len() + 1).next_multiple_of(ALIGNED) - before;
    let mut out = MAGIC.to_vec();
    // A header is short: even 64 extents take about 1,400 characters.
    out.extend((length as u16).to_le_bytes());
    out.extend(format!("{header:<width$}\n", width = length - 1).bytes());
    out.extend(bytes(tensor));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use ember_values::scalar::Scalar;

    fn npy(header: &str, elements: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(elements);
        bytes
    }

    #[test]
    fn reads_npy() {
        let elements: Vec<u8> = (1..=6i32).flat_map(i32::to_be_bytes).collect();
        let header = "{'descr': '>i4', 'fortran_order': True, 'shape': (2, 3), }\n";
        let tensor = read(&npy(header, &elements)).expect("reads");
        assert_eq!((tensor.dtype, tensor.shape.as_slice()), (DType::I32, [2, 3].as_slice()));
        let rows: Vec<_> = (0..6).filter_map(|i| tensor.get(i)?.as_i64()).collect();
        assert_eq!(rows, [1, 3, 5, 2, 4, 6]);
        let header = "{'shape': (1,), 'fortran_order': False, 'descr': '<f8'}";
        let tensor = read(&npy(header, &2.5f64.to_le_bytes())).expect("reads");
        assert_eq!(
            (tensor.shape.as_slice(), tensor.get(0)),
            ([1].as_slice(), Some(Scalar::F64(2.5)))
        );
    }

    #[test]
    fn reads_types_that_are_only_stored() {
        let of = |descr: &str, bytes: &[u8]| {
            let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (1, 2)}}");
            read(&npy(&text, bytes)).expect("reads")
        };
        let two = |tensor: &Tensor| [0, 1].map(|i| tensor.get(i).map(Scalar::as_f64));
        let half = of("<f2", &[0x00, 0x3c, 0x00, 0xc0]);
        assert_eq!((half.dtype, two(&half)), (DType::F16, [Some(1.0), Some(-2.0)]));
        let half = of("|V2", &[0x80, 0x3f, 0x00, 0xc0]);
        assert_eq!((half.dtype, two(&half)), (DType::BF16, [Some(1.0), Some(-2.0)]));
        let bytes = of("|u1", &[0xa3, 0x0f]);
        assert_eq!((bytes.dtype, two(&bytes)), (DType::U8, [Some(163.0), Some(15.0)]));
        let truths = of("|b1", &[0x01, 0x00]);
        assert_eq!((truths.dtype, two(&truths)), (DType::U8, [Some(1.0), Some(0.0)]));
    }

    #[test]
    fn malformed_npy_files_are_errors() {
        let huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 9)}";
        for bytes in [
            b"\x93NUMP".to_vec(),
            b"\x93NUMPY\x01\x00\xff\xff{".to_vec(),
            b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(),
            npy("{}", &[]),
            npy(&"(".repeat(60_000), &[]),
            npy(huge, &[]),
            npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", &[0; 5]),
            npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", &[0; 8]),
        ] {
            assert!(read(&bytes).is_err(), "{bytes:?}");
        }
    }
}
