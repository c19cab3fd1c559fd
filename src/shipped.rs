//! The files that the command carries inside: rules, descriptions of machines and hand-written programs. They have
//! paths under a root of their own, so that includes and diagnostics treat them like files on the disk.

use clap::builder::{PathBufValueParser, TypedValueParser};
use ember_host::{Disk, FileError, Files, Memory, Opened};
use include_dir::{Dir, File, include_dir};
use rustc_hash::FxHasher;
use siphasher::sip::SipHasher13;
use std::collections::BTreeSet;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The root of the paths of shipped files. No disk has a relative path of this name but by intent.
pub(crate) const ROOT: &str = "default:";

/// The word that stands for the shipped rules in place of a path.
pub(crate) const DEFAULT: &str = "default";

/// The shipped folders, by their names under the root.
static FOLDERS: [(&str, Dir<'_>); 3] = [
    ("rules", include_dir!("$CARGO_MANIFEST_DIR/rules")),
    ("targets", include_dir!("$CARGO_MANIFEST_DIR/targets")),
    ("programs", include_dir!("$CARGO_MANIFEST_DIR/programs")),
];

/// The extensions of files that are shipped. Everything else in their folders belongs to the sources, cases included,
/// which use models of the tests.
const EXTENSIONS: [&str; 3] = ["rules", "toml", "dlc"];

/// The shipped files, and all others as they are on the disk.
#[derive(Clone, Debug)]
pub(crate) struct Shipped(Memory);

impl Default for Shipped {
    fn default() -> Shipped {
        Shipped(files().fold(Memory::default(), |memory, (path, bytes)| {
            memory.with(Path::new(ROOT).join(path), bytes)
        }))
    }
}

impl Files for Shipped {
    fn open(&self, path: &Path) -> Result<Opened, FileError> {
        if path.starts_with(ROOT) {
            return self.0.open(path);
        }
        let opened = Disk.open(path)?;
        read().insert(Disk.key(path));
        Ok(opened)
    }

    fn folder(&self, path: &Path) -> Option<Result<Vec<PathBuf>, FileError>> {
        match path.starts_with(ROOT) {
            true => self.0.folder(path),
            false => Disk.folder(path),
        }
    }

    fn key(&self, path: &Path) -> PathBuf {
        match path.starts_with(ROOT) {
            true => self.0.key(path),
            false => Disk.key(path),
        }
    }
}

/// The files of the disk that this process has read.
static READ: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn read() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // A thread that panicked has left a set of paths all the same.
    READ.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns true if this process has read the file.
pub(crate) fn was_read(path: &Path) -> bool {
    read().contains(&Disk.key(path))
}

/// Every shipped file with its path under the root, in the order of paths.
pub(crate) fn files() -> impl Iterator<Item = (PathBuf, &'static [u8])> {
    let mut files = Vec::new();
    for (name, folder) in &FOLDERS {
        collect(folder, Path::new(name), &mut files);
    }
    files.sort();
    files.into_iter()
}

/// The version of the command with a digest of the shipped files: what decides its results.
pub(crate) fn version() -> String {
    let mut hasher = SipHasher13::new();
    files().for_each(|file| file.hash(&mut hasher));
    format!("{} {:016x}", env!("CARGO_PKG_VERSION"), hasher.finish())
}

/// Writes every shipped file into a folder, and returns how many there are.
///
/// # Errors
/// The path that could not be written, with the system's reason.
pub(crate) fn write_to(folder: &Path) -> Result<usize, (PathBuf, io::Error)> {
    let mut count = 0;
    for (path, bytes) in files() {
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(|error| (parent.to_owned(), error))?;
        fs::write(&path, bytes).map_err(|error| (path, error))?;
        count += 1;
    }
    Ok(count)
}

/// The shipped rules as a folder of the disk, for programs that open files by themselves, as editors do. It is made
/// once in the user's folder for caches, under a name that depends on what is shipped; `None` if that cannot be.
pub(crate) fn on_disk() -> Option<PathBuf> {
    let mut hasher = FxHasher::default();
    files().for_each(|file| file.hash(&mut hasher));
    let caches = dirs::cache_dir()?.join("ember-rewrite");
    let folder = caches.join(format!("{:016x}", hasher.finish()));
    if !folder.is_dir() {
        // Another process may make the same folder: the first whole one counts.
        let unfinished = caches.join(format!("{:016x}.{}", hasher.finish(), std::process::id()));
        write_to(&unfinished).ok()?;
        if fs::rename(&unfinished, &folder).is_err() {
            fs::remove_dir_all(&unfinished).ok()?;
        }
    }
    folder.is_dir().then(|| folder.join("rules"))
}

fn collect(folder: &Dir<'static>, name: &Path, files: &mut Vec<(PathBuf, &'static [u8])>) {
    let shipped = |file: &&File<'static>| {
        let extension = file.path().extension().and_then(|extension| extension.to_str());
        // Targets are a crate, whose manifest describes no machine.
        extension.is_some_and(|e| EXTENSIONS.contains(&e)) && !file.path().ends_with("Cargo.toml")
    };
    files.extend(
        folder.files().filter(shipped).map(|file| (name.join(file.path()), file.contents())),
    );
    for inner in folder.dirs() {
        collect(inner, name, files);
    }
}

/// The folder of the shipped rules.
pub(crate) fn rules() -> PathBuf {
    Path::new(ROOT).join("rules")
}

/// A path of rules, with `default` for the folder of the shipped ones.
pub(crate) fn resolved(path: PathBuf) -> PathBuf {
    if path == Path::new(DEFAULT) { rules() } else { path }
}

/// Parses a path of rules.
pub(crate) fn path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(resolved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ember_language::diagnostic::Sources;
    use ember_language::rules::Stated;

    #[test]
    fn shipped_rules_are_those_of_the_folder() {
        let digest = |files: Shipped, folder: PathBuf| {
            let paths = [folder.clone(), folder.join("equiv")];
            let stated = Stated::read(&mut Sources::new(files), &paths).expect("well-formed rules");
            stated.digest().to_owned()
        };
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
        assert_eq!(digest(Shipped::default(), rules()), digest(Shipped::default(), folder));
    }

    #[test]
    fn no_source_code_is_shipped() {
        assert!(files().any(|(path, _)| path == Path::new("targets/tmu-cpu.toml")));
        assert!(files().all(|(path, _)| !path.ends_with("Cargo.toml")));
    }
}
