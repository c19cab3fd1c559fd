//! Lines of C with their indentation.

/// The text of a function's body in progress.
#[derive(Debug, Default)]
pub(super) struct Lines {
    text: String,
    depth: usize,
}

impl Lines {
    /// Returns no lines yet, at a depth of indentation.
    pub fn at(depth: usize) -> Lines {
        Lines { text: String::new(), depth }
    }

    /// Adds a line.
    pub fn line(&mut self, line: impl AsRef<str>) {
        for _ in 0..self.depth {
            self.text.push_str("  ");
        }
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    /// Adds a line that opens a block.
    pub fn open(&mut self, line: impl AsRef<str>) {
        self.line(format!("{} {{", line.as_ref()).trim_start());
        self.depth += 1;
    }

    /// Closes the innermost block.
    pub fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.line("}");
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }
}
