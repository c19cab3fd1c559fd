//! Tensors from `.npy` and `.safetensors` files.
//!
//! The `.npy` reader is written here because the format is only a header and plain elements. The existing crates parse
//! any Python expression in the header, recursively, and multiply extents without an overflow check, so that a
//! malformed file could end the process.

use super::HELD_LIMIT;
use ember_host::Files;
use ember_language::suggest;
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::DType;
use half::{bf16, f16};
use safetensors::{SafeTensorError, SafeTensors};
use std::path::Path;
use std::sync::Arc;
use thiserror::Error;

/// The reason a file does not provide a tensor.
#[derive(Debug, Error)]
pub(super) enum FileError {
    #[error(transparent)]
    Load(#[from] ember_host::FileError),
    #[error("is not a safetensors file: {0}")]
    NotSafetensors(#[from] SafeTensorError),
    #[error("has no tensor `{name}`")]
    NoTensor { name: String, help: Option<String> },
    #[error("holds elements of type {0:?}")]
    Elements(safetensors::Dtype),
    #[error("is not an .npy file")]
    NotNpy,
    #[error("ends within its header")]
    Cut,
    #[error("has the unknown format version {0}")]
    Version(u8),
    #[error("has a header that is not text")]
    HeaderNotText,
    #[error("has a malformed header")]
    Header,
    #[error("holds elements of type {0}, not f2, f4, f8, i4, i8, u1 or V2 (bfloat16)")]
    NpyElements(String),
    #[error("holds {held} bytes of elements, which its shape {shape:?} does not")]
    Length { held: usize, shape: Vec<u64> },
}

impl FileError {
    /// Returns advice on fixing the error, if there is any.
    pub(super) fn help(self) -> Option<String> {
        match self {
            FileError::NoTensor { help, .. } => help,
            FileError::Elements(_) => Some(known_types()),
            _ => None,
        }
    }
}

/// Reads a tensor from a `.safetensors` file, or else from an `.npy` file. If u4 is wanted, each u8 holds two elements,
/// the earlier one in the low half, and the tensor has twice the columns of the file.
pub(super) fn read(
    files: &dyn Files,
    path: &Path,
    tensor: &str,
    wanted: DType,
) -> Result<Tensor, FileError> {
    let bytes = files.read(path, HELD_LIMIT)?;
    let tensor = if path.extension().is_some_and(|e| e == "safetensors") {
        read_safetensors(&bytes, tensor)?
    } else {
        read_npy(&bytes)?
    };
    Ok(if wanted == DType::U4 { halves(tensor) } else { tensor })
}

/// Splits every u8 into two u4. Returns other types unchanged, and shapes without columns or with too many.
fn halves(tensor: Tensor) -> Tensor {
    let columns = tensor.shape.last().and_then(|n| n.checked_mul(2));
    let (Data::U8(bytes), Some(columns)) = (&tensor.data, columns) else { return tensor };
    let data = Data::U4(Arc::new(bytes.iter().flat_map(|b| [b & 15, b >> 4]).collect()));
    let mut shape = tensor.shape;
    shape.pop();
    shape.push(columns);
    Tensor { dtype: DType::U4, shape, data }
}

fn read_safetensors(bytes: &[u8], name: &str) -> Result<Tensor, FileError> {
    let file = SafeTensors::deserialize(bytes)?;
    let view = file.tensor(name).map_err(|_| {
        let mut names = file.names();
        names.sort_unstable();
        FileError::NoTensor { name: name.to_owned(), help: suggest::help(name, names) }
    })?;
    let dtype = match view.dtype() {
        safetensors::Dtype::F16 => DType::F16,
        safetensors::Dtype::BF16 => DType::BF16,
        safetensors::Dtype::U8 => DType::U8,
        safetensors::Dtype::F32 => DType::F32,
        safetensors::Dtype::F64 => DType::F64,
        safetensors::Dtype::I32 => DType::I32,
        safetensors::Dtype::I64 => DType::I64,
        other => return Err(FileError::Elements(other)),
    };
    let shape = view.shape().iter().map(|n| *n as u64).collect();
    Ok(Tensor { dtype, shape, data: elements(dtype, view.data(), true) })
}

fn known_types() -> String {
    format!(
        "known: {}",
        suggest::list(DType::ALL.iter().filter(|d| **d != DType::U4).map(|d| d.name()))
    )
}

/// Reads an `.npy` file of format 1, 2 or 3 (NumPy Enhancement Proposal 1): a magic word, a version, the length and
/// text of the header, and the elements.
fn read_npy(bytes: &[u8]) -> Result<Tensor, FileError> {
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
        Some("u1") => DType::U8,
        _ => return Err(FileError::NpyElements(descr.to_owned())),
    };
    let elements_held = shape.iter().try_fold(1u64, |n, extent| n.checked_mul(*extent));
    let needed = elements_held.map(|n| dtype.bytes_of(n));
    if needed != Some(elements_bytes.len() as u64) {
        let held = elements_bytes.len();
        return Err(FileError::Length { held, shape });
    }
    let mut data = elements(dtype, elements_bytes, !descr.starts_with('>'));
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

/// Converts bytes to elements, in little-endian or big-endian order.
fn elements(dtype: DType, bytes: &[u8], little: bool) -> Data {
    macro_rules! convert {
        ($variant:ident, $t:ty) => {{
            let (chunks, _) = bytes.as_chunks();
            let read = |b: &[u8; size_of::<$t>()]| {
                if little { <$t>::from_le_bytes(*b) } else { <$t>::from_be_bytes(*b) }
            };
            Data::$variant(Arc::new(chunks.iter().map(read).collect()))
        }};
    }
    match dtype {
        DType::F32 => convert!(F32, f32),
        DType::F64 => convert!(F64, f64),
        DType::I32 => convert!(I32, i32),
        DType::I64 => convert!(I64, i64),
        DType::F16 => convert!(F16, f16),
        DType::BF16 => convert!(BF16, bf16),
        DType::U8 | DType::U4 => Data::U8(Arc::new(bytes.to_vec())),
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
        Data::Hashed(h) => Data::Hashed(h),
    }
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
        let tensor = read_npy(&npy(header, &elements)).expect("reads");
        assert_eq!((tensor.dtype, tensor.shape.as_slice()), (DType::I32, [2, 3].as_slice()));
        let rows: Vec<_> = (0..6).filter_map(|i| tensor.get(i)?.as_i64()).collect();
        assert_eq!(rows, [1, 3, 5, 2, 4, 6]);
        let header = "{'shape': (1,), 'fortran_order': False, 'descr': '<f8'}";
        let tensor = read_npy(&npy(header, &2.5f64.to_le_bytes())).expect("reads");
        assert_eq!(
            (tensor.shape.as_slice(), tensor.get(0)),
            ([1].as_slice(), Some(Scalar::F64(2.5)))
        );
    }

    #[test]
    fn reads_types_that_are_only_stored() {
        let of = |descr: &str, bytes: &[u8]| {
            let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (1, 2)}}");
            read_npy(&npy(&text, bytes)).expect("reads")
        };
        let two = |tensor: &Tensor| [0, 1].map(|i| tensor.get(i).map(Scalar::as_f64));
        let half = of("<f2", &[0x00, 0x3c, 0x00, 0xc0]);
        assert_eq!((half.dtype, two(&half)), (DType::F16, [Some(1.0), Some(-2.0)]));
        let half = of("|V2", &[0x80, 0x3f, 0x00, 0xc0]);
        assert_eq!((half.dtype, two(&half)), (DType::BF16, [Some(1.0), Some(-2.0)]));
        let bytes = of("|u1", &[0xa3, 0x0f]);
        assert_eq!((bytes.dtype, two(&bytes)), (DType::U8, [Some(163.0), Some(15.0)]));
        let packed = halves(bytes);
        let elements: Vec<_> = (0..5).map(|i| packed.get(i)).collect();
        let u4 = |x| Some(Scalar::U4(x));
        assert_eq!((packed.dtype, packed.shape.as_slice()), (DType::U4, [1, 4].as_slice()));
        assert_eq!(elements, [u4(3), u4(10), u4(15), u4(0), None]);
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
            assert!(read_npy(&bytes).is_err(), "{bytes:?}");
        }
    }
}
