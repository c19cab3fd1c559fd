//! `.npz` files: zip archives with an `.npy` file for each array, as `numpy.savez` and `numpy.savez_compressed` write.

use super::{FileError, no_tensor, npy};
use crate::data::HELD_LIMIT;
use ember_targets::tensor::Tensor;
use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// The ending of an array's name in the archive.
const ENDING: &str = ".npy";

/// Reads an array by its name.
pub(super) fn read(content: &[u8], name: &str) -> Result<Tensor, FileError> {
    let mut archive = ZipArchive::new(Cursor::new(content))?;
    match archive.index_for_name(&format!("{name}{ENDING}")) {
        Some(at) => Ok(array(&mut archive, at, &mut { HELD_LIMIT })?.1),
        None => {
            let names: Vec<_> = archive.file_names().filter_map(Result::ok).collect();
            Err(no_tensor(name, names.iter().filter_map(|name| name.strip_suffix(ENDING))))
        }
    }
}

/// Reads every array, by name.
pub(super) fn read_all(content: &[u8]) -> Result<BTreeMap<String, Tensor>, FileError> {
    let mut archive = ZipArchive::new(Cursor::new(content))?;
    let mut left = HELD_LIMIT;
    (0..archive.len()).map(|at| array(&mut archive, at, &mut left)).collect()
}

/// Reads one array with its name. A few compressed bytes may stand for any number of zeros, so all arrays together may
/// take no more than the bytes that are `left`.
fn array(
    archive: &mut ZipArchive<Cursor<&[u8]>>,
    at: usize,
    left: &mut u64,
) -> Result<(String, Tensor), FileError> {
    let file = archive.by_index(at)?;
    let name = file.name()?.into_owned();
    let name = name.strip_suffix(ENDING).map_or(name.clone(), str::to_owned);
    let mut content = Vec::new();
    file.take(left.saturating_add(1))
        .read_to_end(&mut content)
        .map_err(ember_host::FileError::from)?;
    *left = left.checked_sub(content.len() as u64).ok_or(FileError::TooLarge(HELD_LIMIT))?;
    match npy::read(&content) {
        Ok(tensor) => Ok((name, tensor)),
        Err(reason) => Err(FileError::Array { array: name, reason: Box::new(reason) }),
    }
}

/// Returns the content of an archive with these arrays, not compressed and without the time of writing.
pub(super) fn write_all(tensors: &BTreeMap<String, Tensor>) -> Result<Vec<u8>, FileError> {
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, tensor) in tensors {
        let content = npy::write(tensor);
        let large = content.len() as u64 >= u64::from(u32::MAX);
        archive.start_file(format!("{name}{ENDING}"), options.large_file(large))?;
        archive.write_all(&content).map_err(ember_host::FileError::from)?;
    }
    Ok(archive.finish()?.into_inner())
}
