//! Read access to files: the bytes of a path, the files of a folder, and the reasons for a failure. Nothing is written.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::{Cursor, Read};
use std::path::{Component, Path, PathBuf};
use thiserror::Error;

/// A source of files.
pub trait Files: Debug + Send + Sync {
    /// Opens a regular file.
    fn open(&self, path: &Path) -> Result<Opened, FileError>;

    /// Returns the paths of the regular files directly in a folder, in order; `None` if the path is no folder.
    fn folder(&self, path: &Path) -> Option<Result<Vec<PathBuf>, FileError>>;

    /// Returns a key for the path. Two paths to one file have equal keys.
    fn key(&self, path: &Path) -> PathBuf {
        normal(path)
    }

    /// Reads a regular file of at most `limit` bytes.
    fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
        let file = self.open(path)?;
        let mut bytes = Vec::new();
        if file.length <= limit {
            file.bytes.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        }
        match file.length > limit || bytes.len() as u64 > limit {
            true => Err(FileError::TooLarge { limit }),
            false => Ok(bytes),
        }
    }
}

/// An open file.
pub struct Opened {
    /// Its length in bytes according to the file system.
    pub length: u64,
    /// Its bytes; they can be read only once.
    pub bytes: Box<dyn Read>,
}

/// The reason why a file could not be read. Common reasons have the same wording on every system.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FileError {
    /// The path does not exist.
    #[error("no such file")]
    Missing,
    /// The system denies access.
    #[error("no permission to read it")]
    Denied,
    /// The path is a folder.
    #[error("is a directory, not a file")]
    Folder,
    /// The path is a pipe or a device, which may never end.
    #[error("is not a regular file")]
    Irregular,
    /// The file is larger than its reader allows.
    #[error("is larger than {limit} bytes")]
    TooLarge {
        /// The largest length accepted, in bytes.
        limit: u64,
    },
    /// A reason in the system's words.
    #[error("{0}")]
    Other(String),
}

impl From<std::io::Error> for FileError {
    fn from(error: std::io::Error) -> FileError {
        match error.kind() {
            std::io::ErrorKind::NotFound => FileError::Missing,
            std::io::ErrorKind::PermissionDenied => FileError::Denied,
            _ => FileError::Other(error.to_string()),
        }
    }
}

/// Files in memory; initially none.
#[derive(Clone, Debug, Default)]
pub struct Memory(BTreeMap<PathBuf, Vec<u8>>);

impl Memory {
    /// Adds a file with these bytes.
    pub fn with(mut self, path: impl AsRef<Path>, bytes: impl Into<Vec<u8>>) -> Memory {
        self.0.insert(normal(path.as_ref()), bytes.into());
        self
    }
}

impl Files for Memory {
    fn open(&self, path: &Path) -> Result<Opened, FileError> {
        let Some(bytes) = self.0.get(&normal(path)) else {
            let folder = self.folder(path).is_some();
            return Err(if folder { FileError::Folder } else { FileError::Missing });
        };
        Ok(Opened { length: bytes.len() as u64, bytes: Box::new(Cursor::new(bytes.clone())) })
    }

    fn folder(&self, path: &Path) -> Option<Result<Vec<PathBuf>, FileError>> {
        let folder = normal(path);
        let within = || self.0.keys().filter(|file| file.starts_with(&folder) && **file != folder);
        within().next()?;
        let direct = within().filter(|file| file.parent() == Some(&folder));
        Some(Ok(direct.filter_map(|file| Some(path.join(file.file_name()?))).collect()))
    }
}

/// Returns a path without `.` and `x/..`.
pub fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(normal.components().next_back(), Some(Component::Normal(_))) =>
            {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_memory_stand_in_folders() {
        let files = Memory::default().with("a/one", "1").with("a/b/two", "2");
        let folder = |path: &str| files.folder(Path::new(path)).and_then(Result::ok);
        assert_eq!(folder("./a"), Some(vec![PathBuf::from("./a/one")]));
        assert_eq!(folder("a/b/two"), None);
        let read = |path: &str, limit| files.read(Path::new(path), limit);
        assert_eq!(read("a/b/../one", 1), Ok(b"1".to_vec()));
        assert_eq!(read("a/one", 0), Err(FileError::TooLarge { limit: 0 }));
        assert_eq!(read("a", 1), Err(FileError::Folder));
        assert_eq!(read("b", 1), Err(FileError::Missing));
    }
}
