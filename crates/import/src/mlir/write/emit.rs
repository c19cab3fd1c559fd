//! The lines of the text.

use super::{LINES, Unwritten};
use std::collections::BTreeMap;

/// The text so far.
#[derive(Default)]
pub(super) struct Text {
    /// The constants and extents, before everything else.
    pub(super) first: Vec<String>,
    /// The statements.
    pub(super) lines: Vec<String>,
    /// The depth of regions.
    pub(super) indent: usize,
    /// The names of constants by what they are.
    constants: BTreeMap<String, String>,
    /// The names of extents by their texts.
    pub(super) sizes: BTreeMap<String, String>,
    count: usize,
}

impl Text {
    /// Returns a new name.
    pub(super) fn fresh(&mut self) -> String {
        self.count += 1;
        format!("%{}", self.count - 1)
    }

    /// Adds a line.
    pub(super) fn line(&mut self, line: &str) -> Result<(), Unwritten> {
        if self.lines.len() >= LINES {
            return Err(Unwritten::Long);
        }
        self.lines.push(format!("{}{line}", "  ".repeat(self.indent + 1)));
        Ok(())
    }

    /// Adds a line that defines a value, and returns its name.
    pub(super) fn define(&mut self, operation: &str) -> Result<String, Unwritten> {
        let name = self.fresh();
        self.line(&format!("{name} = {operation}"))?;
        Ok(name)
    }

    /// Returns the name of a constant.
    pub(super) fn constant(&mut self, constant: &str) -> String {
        if let Some(name) = self.constants.get(constant) {
            return name.clone();
        }
        let name = self.fresh();
        self.first.push(format!("  {name} = arith.constant {constant}"));
        self.constants.insert(constant.to_owned(), name.clone());
        name
    }

    /// Returns the name of an extent; `operation` computes it.
    pub(super) fn size(&mut self, extent: &str, operation: String) -> String {
        let name = self.fresh();
        self.first.push(format!("  {name} = {operation}"));
        self.sizes.insert(extent.to_owned(), name.clone());
        name
    }
}
