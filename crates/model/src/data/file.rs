//! Named tensors from and to files: `.npy`, `.npz` and `.safetensors`, told apart by the ending of the path.

mod npy;
mod npz;
mod safe;

use super::HELD_LIMIT;
use ember_host::Files;
use ember_language::suggest;
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::{DType, Scalar};
use safetensors::SafeTensorError;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use thiserror::Error;
use zip::result::ZipError;

/// The reason a file does not provide a tensor, or cannot hold one.
#[derive(Debug, Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error(transparent)]
    Load(#[from] ember_host::FileError),
    /// The content is not in the safetensors format, or tensors do not fit that format.
    #[error("is not a safetensors file: {0}")]
    Safetensors(#[from] SafeTensorError),
    /// The content is not a zip archive, or an array does not fit one.
    #[error("is not an .npz file: {0}")]
    Npz(#[from] ZipError),
    /// An array of an archive cannot be read.
    #[error("array `{array}` {reason}")]
    Array {
        /// The array's name.
        array: String,
        /// The reason.
        reason: Box<FileError>,
    },
    /// The arrays of an archive are larger than data may be.
    #[error("holds more than {0} bytes of elements")]
    TooLarge(u64),
    /// The file has other tensors.
    #[error("has no tensor `{name}`")]
    NoTensor {
        /// The name of the tensor.
        name: String,
        /// Advice that names the tensors of the file.
        help: Option<String>,
    },
    /// A tensor of a `.safetensors` file has an element type without a counterpart.
    #[error("holds elements of type {0:?}")]
    Elements(safetensors::Dtype),
    /// The content does not begin as an `.npy` file.
    #[error("is not an .npy file")]
    NotNpy,
    /// The content ends within its header.
    #[error("ends within its header")]
    Cut,
    /// The format has a later version.
    #[error("has the unknown format version {0}")]
    Version(u8),
    /// The header is not UTF-8.
    #[error("has a header that is not text")]
    HeaderNotText,
    /// The header lacks an entry, or an entry is malformed.
    #[error("has a malformed header")]
    Header,
    /// An array has an element type without a counterpart.
    #[error("holds elements of type {0}{words}, which a model cannot have", words = in_words(.0))]
    NpyElements(String),
    /// The header's shape and the length of the content disagree.
    #[error("holds {held} bytes of elements, which its shape {shape:?} does not")]
    Length {
        /// The bytes that follow the header.
        held: usize,
        /// The header's shape.
        shape: Vec<u64>,
    },
}

impl FileError {
    /// Returns advice on fixing the error, if there is any.
    pub fn help(self) -> Option<String> {
        match self {
            FileError::NoTensor { help, .. } => help,
            FileError::Elements(_) => Some(known_types()),
            FileError::NpyElements(descr) => Some(converted(&descr)),
            FileError::Array { reason, .. } => reason.help(),
            _ => None,
        }
    }
}

/// Returns the NumPy name of an element type in parentheses, if its description is well-formed.
fn in_words(descr: &str) -> String {
    let Some((_, code)) = descr.split_at_checked(1) else { return String::new() };
    let bits = |bytes: &str| bytes.parse::<u64>().ok().map(|n| n.saturating_mul(8));
    let kinds = [("i", "int"), ("u", "uint"), ("f", "float"), ("c", "complex")];
    let named = kinds
        .iter()
        .find_map(|(kind, name)| Some(format!(" ({name}{})", bits(code.strip_prefix(kind)?)?)));
    named.or_else(|| (code == "b1").then(|| " (bool)".to_owned())).unwrap_or_default()
}

/// Returns the advice for an array whose element type a model cannot have: the type to convert it to.
fn converted(descr: &str) -> String {
    let to = match descr.get(1..2) {
        Some("i" | "u") => "an index is i64 in the model: save `array.astype(\"int64\")`",
        Some("f" | "c") => "a value is f32 or f64 in the model: save `array.astype(\"float32\")`",
        _ => "save `array.astype(\"float32\")`, or `\"int64\"` for indices",
    };
    format!("{to}; {}", known_types())
}

fn known_types() -> String {
    let types = DType::ALL.iter().filter(|d| **d != DType::U4).map(|d| d.name());
    format!("known: {}", suggest::list(types))
}

/// The formats of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// One tensor without a name.
    Npy,
    /// Named arrays in a zip archive.
    Npz,
    /// Named tensors.
    Safetensors,
}

impl Format {
    /// Returns the format by the ending of the path; `.npy` if the ending is unknown.
    fn of(path: &Path) -> Format {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("safetensors") => Format::Safetensors,
            Some("npz") => Format::Npz,
            _ => Format::Npy,
        }
    }
}

/// Reads a tensor by its name; the name does not matter for a file that holds one tensor. If u4 is wanted, each u8
/// holds two elements, the earlier one in the low half, and the tensor has twice the columns of the file.
pub(super) fn read(
    files: &dyn Files,
    path: &Path,
    tensor: &str,
    wanted: DType,
) -> Result<Tensor, FileError> {
    let bytes = files.read(path, HELD_LIMIT)?;
    let tensor = match Format::of(path) {
        Format::Npy => npy::read(&bytes)?,
        Format::Npz => npz::read(&bytes, tensor)?,
        Format::Safetensors => safe::read(&bytes, tensor)?,
    };
    Ok(if wanted == DType::U4 { halves(tensor) } else { tensor })
}

/// The path of a file of named tensors: `.safetensors` or `.npz`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorFile {
    path: PathBuf,
    format: Named,
}

/// The formats of files with named tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Npz,
    Safetensors,
}

/// The error of a path whose ending names no format of named tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the path must end in .safetensors or .npz, which says the format")]
pub struct NoFormat;

impl FromStr for TensorFile {
    type Err = NoFormat;

    fn from_str(path: &str) -> Result<TensorFile, NoFormat> {
        let path = PathBuf::from(path);
        let format = match Format::of(&path) {
            Format::Npy => return Err(NoFormat),
            Format::Npz => Named::Npz,
            Format::Safetensors => Named::Safetensors,
        };
        Ok(TensorFile { path, format })
    }
}

impl TensorFile {
    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads every tensor, by name.
    pub fn read(&self, files: &dyn Files) -> Result<BTreeMap<String, Tensor>, FileError> {
        self.decode(&files.read(&self.path, HELD_LIMIT)?)
    }

    fn decode(&self, content: &[u8]) -> Result<BTreeMap<String, Tensor>, FileError> {
        match self.format {
            Named::Npz => npz::read_all(content),
            Named::Safetensors => safe::read_all(content),
        }
    }

    /// Returns the content of the file with the given tensors. Elements of 4 bits take a byte each. Equal tensors give
    /// equal bytes.
    pub fn content(&self, tensors: &BTreeMap<String, Tensor>) -> Result<Vec<u8>, FileError> {
        match self.format {
            Named::Npz => npz::write_all(tensors),
            Named::Safetensors => safe::write_all(tensors),
        }
    }
}

/// Returns the error for a name that the file does not have.
fn no_tensor<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> FileError {
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    FileError::NoTensor { name: name.to_owned(), help: suggest::help(name, names) }
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

/// Returns the elements of a tensor as little-endian bytes, in row-major order.
fn bytes(tensor: &Tensor) -> Vec<u8> {
    let mut out = Vec::with_capacity(tensor.dtype.bytes_of(tensor.len()) as usize);
    for element in (0..tensor.len()).filter_map(|i| tensor.get(i)) {
        match element {
            Scalar::F32(x) => out.extend(x.to_le_bytes()),
            Scalar::F64(x) => out.extend(x.to_le_bytes()),
            Scalar::I32(x) => out.extend(x.to_le_bytes()),
            Scalar::I64(x) => out.extend(x.to_le_bytes()),
            Scalar::F16(x) => out.extend(x.to_le_bytes()),
            Scalar::BF16(x) => out.extend(x.to_le_bytes()),
            Scalar::U8(x) | Scalar::U4(x) => out.push(x),
            Scalar::I8(x) => out.extend(x.to_le_bytes()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    fn of(dtype: DType, shape: Vec<u64>, values: &[f64]) -> Tensor {
        let elements = values.iter().map(|x| Scalar::F64(*x).cast(dtype));
        Tensor { dtype, shape, data: Data::held(dtype, elements) }
    }

    fn equal(a: &Tensor, b: &Tensor) -> bool {
        let bits = |t: &Tensor| bytes(t);
        (a.dtype, &a.shape, bits(a)) == (b.dtype, &b.shape, bits(b))
    }

    quickcheck! {
        fn what_is_written_reads_back(values: Vec<f64>, rows: u8) -> bool {
            let rows = u64::from(rows % 3) + 1;
            let columns = values.len() as u64 / rows;
            let values = &values[..(rows * columns) as usize];
            let types = DType::ALL.into_iter().filter(|dtype| *dtype != DType::U4);
            let tensors: BTreeMap<String, Tensor> = types
                .map(|dtype| (format!("of {dtype}"), of(dtype, vec![rows, columns], values)))
                .collect();
            ["t.npz", "t.safetensors"].iter().all(|path| {
                let file: TensorFile = path.parse().expect("has a known ending");
                let read = file.decode(&file.content(&tensors).expect("writes")).expect("reads");
                let same = |(a, b): ((&String, &Tensor), (&String, &Tensor))| {
                    a.0 == b.0 && equal(a.1, b.1)
                };
                read.len() == tensors.len() && read.iter().zip(&tensors).all(same)
            })
        }
    }

    #[test]
    fn a_file_of_other_tensors_says_which() {
        let tensors = BTreeMap::from([("table".to_owned(), of(DType::F32, vec![1], &[1.0]))]);
        for path in ["t.npz", "t.safetensors"] {
            let file: TensorFile = path.parse().expect("has a known ending");
            let content = file.content(&tensors).expect("writes");
            let read = match file.format {
                Named::Npz => npz::read(&content, "tabel"),
                Named::Safetensors => safe::read(&content, "tabel"),
            };
            let error = read.expect_err("has no such tensor");
            assert_eq!(error.to_string(), "has no tensor `tabel`");
            assert_eq!(error.help().as_deref(), Some("did you mean `table`?"));
        }
    }

    #[test]
    fn halves_are_two_elements_a_byte() {
        let packed = halves(of(DType::U8, vec![1, 2], &[163.0, 15.0]));
        let elements: Vec<_> = (0..5).map(|i| packed.get(i)).collect();
        let u4 = |x| Some(Scalar::U4(x));
        assert_eq!((packed.dtype, packed.shape.as_slice()), (DType::U4, [1, 4].as_slice()));
        assert_eq!(elements, [u4(3), u4(10), u4(15), u4(0), None]);
    }
}
