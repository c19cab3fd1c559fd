//! The weights of a program: raw little-endian elements, one file for each storage, with strides.

use super::elem;
use super::schema::{Config, Entry, TensorMeta};
use crate::archive::Archive;
use crate::error::Problem;
use crate::graph::Elem;
use crate::limits::{DIMENSIONS, WEIGHT_BYTES};
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::DType;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The layout code of tensors with strides.
const STRIDED: u64 = 7;

/// The files of all weights.
pub(super) struct Held {
    pub(super) weights: Config,
    pub(super) constants: Config,
}

/// The storages that have been read, and their bytes together.
#[derive(Default)]
pub(super) struct Stored {
    files: BTreeMap<String, Arc<Vec<u8>>>,
    bytes: u64,
}

impl Held {
    /// Reads a weight by its name.
    pub(super) fn read(
        &self,
        archive: &mut Archive,
        name: &str,
        stored: &mut Stored,
    ) -> Result<Tensor, Problem> {
        let found = [("data/weights/", &self.weights), ("data/constants/", &self.constants)]
            .into_iter()
            .find_map(|(folder, config)| Some((folder, config.config.get(name)?)));
        let wrong =
            |reason: &str| Problem::Weight { name: name.to_owned(), reason: reason.to_owned() };
        let (folder, Entry { path_name, use_pickle, tensor_meta }) =
            found.ok_or_else(|| wrong("has no file in the archive"))?;
        let meta = tensor_meta.as_ref().filter(|_| !use_pickle);
        let meta = meta.ok_or_else(|| wrong("is saved as a Python object"))?;
        if meta.layout.is_some_and(|layout| layout != STRIDED) {
            return Err(wrong("is sparse"));
        }
        let path = format!("{folder}{path_name}");
        let bytes = match stored.files.get(&path) {
            Some(bytes) => bytes.clone(),
            None => {
                let bytes = archive.read(&path, WEIGHT_BYTES - stored.bytes.min(WEIGHT_BYTES))?;
                stored.bytes += bytes.len() as u64;
                stored.files.entry(path).or_insert(Arc::new(bytes)).clone()
            }
        };
        tensor(name, meta, &bytes)
    }
}

/// Returns the elements of a tensor in a storage.
fn tensor(name: &str, meta: &TensorMeta, bytes: &[u8]) -> Result<Tensor, Problem> {
    let wrong = |reason: String| Problem::Weight { name: name.to_owned(), reason };
    let dtype = match elem(meta.dtype, name)? {
        Elem::Of(dtype) => dtype,
        // True and false are bytes, 1 and 0.
        Elem::Bool => DType::U8,
    };
    let numbers = |items: &[super::schema::SymInt]| -> Option<Vec<u64>> {
        items.iter().map(super::schema::SymInt::number).collect()
    };
    let unknown = || wrong("has a shape that is not known".to_owned());
    let (shape, strides) =
        (numbers(&meta.sizes).ok_or_else(unknown)?, numbers(&meta.strides).ok_or_else(unknown)?);
    let first = match &meta.storage_offset {
        Some(offset) => offset.number().ok_or_else(unknown)?,
        None => 0,
    };
    if shape.len() != strides.len() || shape.len() > DIMENSIONS {
        return Err(unknown());
    }
    let size = dtype.bytes_of(1);
    let overflow = || wrong(format!("has more elements than can be counted, {shape:?}"));
    let count = shape.iter().try_fold(1u64, |n, e| n.checked_mul(*e)).ok_or_else(overflow)?;
    let mut last = Some(first);
    for (extent, stride) in shape.iter().zip(&strides) {
        let along = extent.saturating_sub(1).checked_mul(*stride);
        last = last.zip(along).and_then(|(a, b)| a.checked_add(b));
    }
    let last = last.ok_or_else(overflow)?;
    let end = last.checked_add(1).and_then(|n| n.checked_mul(size)).ok_or_else(overflow)?;
    if count > 0 && end > bytes.len() as u64 {
        let held = bytes.len();
        return Err(wrong(format!("has {held} bytes, and its shape {shape:?} needs {end}")));
    }
    // Repeated elements (strides of 0) could ask for far more memory than the file has.
    if count.saturating_mul(size) > WEIGHT_BYTES {
        return Err(wrong(format!("has {count} elements, more than are read")));
    }
    let mut row_major = vec![1u64; shape.len()];
    for at in (1..shape.len()).rev() {
        row_major[at - 1] = row_major[at].saturating_mul(shape[at]);
    }
    let data = match row_major == strides || count == 0 {
        true => {
            let range = (first * size) as usize..((first + count) * size) as usize;
            Data::of_bytes(dtype, bytes.get(range).unwrap_or_default(), true)
        }
        false => {
            let mut gathered = Vec::with_capacity((count * size) as usize);
            for n in 0..count {
                let place: u64 = shape
                    .iter()
                    .zip(&strides)
                    .zip(&row_major)
                    .map(|((extent, stride), row)| (n / row % extent) * stride)
                    .sum();
                let from = ((first + place) * size) as usize;
                gathered.extend(bytes.get(from..from + size as usize).unwrap_or_default());
            }
            Data::of_bytes(dtype, &gathered, true)
        }
    };
    Ok(Tensor { dtype, shape, data })
}
