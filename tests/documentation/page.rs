//! Pages: their files, their texts with everything that they include, and their fenced blocks.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the book's pages.
pub const BOOK: &str = "docs/src";

/// A page of Markdown.
#[derive(Debug, Clone)]
pub struct Page {
    /// The file, from the package's folder.
    pub name: String,
    /// The text as it is written.
    pub text: String,
}

impl Page {
    /// Reads the page of a name.
    pub fn read(name: &str) -> Self {
        let text = fs::read_to_string(root().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        Self { name: name.to_owned(), text }
    }

    /// Returns the folder of the page's file, from the package's folder.
    pub fn folder(&self) -> PathBuf {
        Path::new(&self.name).parent().map(Path::to_owned).unwrap_or_default()
    }

    /// Returns the lines of the page, each with its place in a block.
    pub fn lines(&self) -> Vec<(Place<'_>, &str)> {
        let mut block = None;
        let place = |line| match (block, fence(line)) {
            (None, Some(info)) => {
                block = Some(info);
                Place::Fence
            }
            (Some(_), Some("")) => {
                block = None;
                Place::Fence
            }
            (Some(info), _) => Place::Block(info),
            (None, None) => Place::Text,
        };
        let places: Vec<_> = self.text.lines().map(place).collect();
        places.into_iter().zip(self.text.lines()).collect()
    }

    /// Returns the text with every `{{#include PATH:LINE:}}` replaced by that file from that line on, or the files
    /// that are missing.
    pub fn complete(&self) -> Result<String, Vec<String>> {
        let mut missing = Vec::new();
        let whole = |line: &str| {
            let Some((path, first)) = included(line) else { return line.to_owned() };
            let text = fs::read_to_string(root().join(self.folder()).join(path));
            let text = text.unwrap_or_else(|e| {
                missing.push(format!("{}: includes {path}: {e}", self.name));
                String::new()
            });
            text.lines().skip(first - 1).collect::<Vec<_>>().join("\n")
        };
        let lines: Vec<String> = self.text.lines().map(whole).collect();
        if missing.is_empty() { Ok(lines.join("\n") + "\n") } else { Err(missing) }
    }
}

/// The place of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place<'a> {
    /// A line outside every fenced block.
    Text,
    /// The first or the last line of a block.
    Fence,
    /// A line of the block with this info string.
    Block(&'a str),
}

/// Returns the package's folder.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns README.md and the pages of the book, in the order of their names.
pub fn all() -> Vec<Page> {
    let mut names: Vec<String> = fs::read_dir(root().join(BOOK))
        .expect("the book")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .filter(|name| name.ends_with(".md"))
        .map(|name| format!("{BOOK}/{name}"))
        .collect();
    names.sort();
    names.insert(0, "README.md".to_owned());
    names.iter().map(|name| Page::read(name)).collect()
}

/// Returns the info string if a line is the fence of a block.
fn fence(line: &str) -> Option<&str> {
    line.strip_prefix("```").map(str::trim)
}

/// Returns the path, and the first line to take, if a line includes a file.
fn included(line: &str) -> Option<(&str, usize)> {
    let place = line.strip_prefix("{{#include ")?.strip_suffix("}}")?;
    let (path, first) = place.split_once(':').unwrap_or((place, "1:"));
    Some((path, first.trim_end_matches(':').parse().ok()?))
}
