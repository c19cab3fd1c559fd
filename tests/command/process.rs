//! Running the command as a user does, in the package's folder or in an empty one.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The result of running the command.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; `None` if a signal ended the process.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Ran {
    /// Parses standard output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}\n{self:#?}"))
    }
}

/// Runs the command in the package's folder.
pub fn ember<S: AsRef<str>>(words: &[S]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_ember-rewrite"))
        .args(words.iter().map(AsRef::as_ref))
        .current_dir(root())
        .output()
        .expect("the command starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Returns the package's folder.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Creates an empty folder that only this test uses.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("is removed");
    }
    std::fs::create_dir_all(&folder).expect("is made");
    folder
}

/// Returns the path as an argument.
pub fn word(path: &Path) -> String {
    path.to_str().expect("UTF-8").to_owned()
}
