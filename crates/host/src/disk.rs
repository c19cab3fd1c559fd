//! The files of the system's disk.

use crate::files::{FileError, Files, Opened, normal};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The disk, addressed by the system's paths.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Files for Disk {
    fn open(&self, path: &Path) -> Result<Opened, FileError> {
        let meta = fs::metadata(path)?;
        if meta.is_dir() {
            return Err(FileError::Folder);
        }
        // A pipe or device may never end, so only regular files are opened.
        if !meta.is_file() {
            return Err(FileError::Irregular);
        }
        let file = File::open(path)?;
        Ok(Opened { length: file.metadata()?.len(), bytes: Box::new(file) })
    }

    fn folder(&self, path: &Path) -> Option<Result<Vec<PathBuf>, FileError>> {
        path.is_dir().then(|| {
            let paths = fs::read_dir(path)?.map(|entry| Ok(entry?.path()));
            let mut files: Vec<PathBuf> = paths.collect::<Result<_, FileError>>()?;
            files.retain(|path| path.is_file());
            files.sort();
            Ok(files)
        })
    }

    /// Returns the path with links resolved, or the path normalised by its text alone if no file exists there.
    fn key(&self, path: &Path) -> PathBuf {
        fs::canonicalize(path).unwrap_or_else(|_| normal(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_why_a_file_is_not_read() {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(Disk.read(&root.join("no-such.sexp"), 3), Err(FileError::Missing));
        assert_eq!(Disk.read(&root.join("src"), 3), Err(FileError::Folder));
        assert_eq!(Disk.read(&root.join("Cargo.toml"), 3), Err(FileError::TooLarge { limit: 3 }));
    }
}
