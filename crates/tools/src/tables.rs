//! Tables and numbers as people read them, and what is reported of an e-graph.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;

/// A table with a header, numbers to the right.
pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_header(header.iter().copied());
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A number with its thousands apart.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// The e-graph of the search.
#[derive(Clone, Debug, Serialize)]
pub struct EGraphReport {
    /// The most e-nodes it had; over all groups together, where there are several.
    pub nodes: usize,
    /// The e-classes it had then.
    pub classes: usize,
    /// Iterations of all saturations.
    pub iterations: usize,
    /// Why saturation stopped.
    pub stop_reason: String,
}
