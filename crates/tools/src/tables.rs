//! Tables and numbers in readable form, and the report of an e-graph.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;

/// Creates a table with a header; all columns but the first are aligned to the right.
pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_header(header.iter().copied());
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Returns a number with its digits in groups of three.
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

/// The report of the e-graph of a search.
#[derive(Clone, Debug, Serialize)]
pub struct EGraphReport {
    /// The greatest number of e-nodes; the sum over groups if there are several.
    pub nodes: usize,
    /// The number of e-classes at that time.
    pub classes: usize,
    /// The iterations of all saturations.
    pub iterations: usize,
    /// The reason why saturation stopped.
    pub stop_reason: String,
}
