//! The files that a sweep names, which are those of its folder here, and those that came with a task elsewhere.

use crate::shipped::{ROOT, Shipped};
use ember_host::{FileError, Files, Memory, Opened};
use siphasher::sip128::{Hasher128, SipHasher13};
use std::collections::BTreeSet;
use std::hash::Hasher;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The bytes of a file that are hashed at once.
const BLOCK: usize = 1 << 16;

/// The files within reach of a sweep. Paths are relative to the sweep's folder, so that results are the same wherever it
/// is; shipped files keep their paths.
#[derive(Clone, Debug)]
pub struct Reach {
    shipped: Arc<Shipped>,
    place: Place,
    opened: Arc<Mutex<BTreeSet<PathBuf>>>,
}

/// The place of the files that are not shipped.
#[derive(Clone, Debug)]
enum Place {
    Folder(PathBuf),
    Carried(Memory),
}

impl Reach {
    /// Returns the files of a folder.
    pub fn folder(folder: &Path) -> Reach {
        Reach::of(Place::Folder(folder.to_owned()))
    }

    /// Returns files that came with a task, with their paths.
    pub fn carried(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Reach {
        let memory = files.into_iter();
        let memory =
            memory.fold(Memory::default(), |memory, (path, bytes)| memory.with(path, bytes));
        Reach::of(Place::Carried(memory))
    }

    fn of(place: Place) -> Reach {
        Reach { shipped: Arc::default(), place, opened: Arc::default() }
    }

    /// Returns the paths that were opened since the last call; shipped files do not count.
    pub(crate) fn take_opened(&self) -> Vec<PathBuf> {
        std::mem::take(&mut *self.opened()).into_iter().collect()
    }

    /// Returns the paths that a pattern stands for, in order: `*` in the name of a file fits any characters.
    pub(crate) fn matching(&self, pattern: &str) -> Vec<String> {
        let (folder, name) = pattern.split_at(pattern.rfind('/').map_or(0, |at| at + 1));
        if !name.contains('*') {
            return vec![pattern.to_owned()];
        }
        let place = if folder.is_empty() { "." } else { folder };
        let files = self.folder(Path::new(place)).and_then(Result::ok);
        let names = files.into_iter().flatten().filter_map(|path| {
            path.file_name().and_then(|name| name.to_str()).map(ToOwned::to_owned)
        });
        names.filter(|other| fits(name, other)).map(|name| format!("{folder}{name}")).collect()
    }

    /// Opens a file that is not shipped, without a note of it.
    fn find(&self, path: &Path) -> std::result::Result<Opened, FileError> {
        match &self.place {
            Place::Folder(folder) => self.shipped.open(&folder.join(path)),
            Place::Carried(memory) => memory.open(path),
        }
    }

    fn opened(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        // A thread that panicked has left a set of paths all the same.
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a digest of the contents and paths of files.
    pub(crate) fn digest(
        &self,
        paths: &[PathBuf],
    ) -> std::result::Result<u128, (PathBuf, FileError)> {
        let mut hasher = SipHasher13::new();
        for path in paths {
            hasher.write(path.as_os_str().as_encoded_bytes());
            hasher.write_u8(0);
            let hashed = self.find(path).and_then(|file| hash(&mut hasher, file.bytes));
            hasher.write_u64(hashed.map_err(|error| (path.clone(), error))?);
        }
        Ok(hasher.finish128().as_u128())
    }
}

/// Hashes all bytes of a file, and returns their number.
fn hash(hasher: &mut SipHasher13, mut bytes: Box<dyn Read>) -> std::result::Result<u64, FileError> {
    let (mut block, mut length) = (vec![0; BLOCK], 0);
    loop {
        let read = bytes.read(&mut block)?;
        if read == 0 {
            return Ok(length);
        }
        hasher.write(&block[..read]);
        length += read as u64;
    }
}

impl Files for Reach {
    fn open(&self, path: &Path) -> std::result::Result<Opened, FileError> {
        if path.starts_with(ROOT) {
            return self.shipped.open(path);
        }
        let file = self.find(path)?;
        self.opened().insert(path.to_owned());
        Ok(file)
    }

    fn folder(&self, path: &Path) -> Option<std::result::Result<Vec<PathBuf>, FileError>> {
        match &self.place {
            _ if path.starts_with(ROOT) => self.shipped.folder(path),
            Place::Carried(memory) => memory.folder(path),
            Place::Folder(folder) => {
                let within = |file: PathBuf| match file.strip_prefix(folder) {
                    Ok(within) => within.to_owned(),
                    Err(_) => file,
                };
                let files = self.shipped.folder(&folder.join(path))?;
                Some(files.map(|files| files.into_iter().map(within).collect()))
            }
        }
    }

    fn key(&self, path: &Path) -> PathBuf {
        match &self.place {
            Place::Folder(folder) if !path.starts_with(ROOT) => {
                self.shipped.key(&folder.join(path))
            }
            Place::Carried(memory) => memory.key(path),
            Place::Folder(_) => self.shipped.key(path),
        }
    }
}

/// Returns true if a name fits a pattern, in which `*` stands for any characters.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn stars_stand_for_any_characters() {
        for name in ["ab.sexp", "a.sexp", "a.b.sexp"] {
            assert!(fits("a*.sexp", name) && fits("*", name) && fits("*a*p", name), "{name}");
        }
        for (pattern, name) in
            [("a", "ab"), ("a*a", "a"), ("*b", "a"), ("b*", "ab"), ("a*b*c", "acb")]
        {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }
}
