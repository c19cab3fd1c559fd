//! Tables and numbers in readable form, and the report of an e-graph.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use schemars::JsonSchema;
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

/// The columns of a terminal that readable reports fit into.
pub const COLUMNS: usize = 80;

/// Creates a [`table`] of at most [`COLUMNS`] columns: cells that do not fit are broken.
pub fn narrow(header: &[&str]) -> Table {
    let mut table = table(header);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(COLUMNS as u16);
    table
}

/// The space at which no line is broken.
const TIE: &str = "\u{a0}";

/// The characters of the longest unit that is held together with its number.
const UNIT: usize = 2;

/// Breaks a line between words so that it fits into [`COLUMNS`] columns; further lines are indented by two. A number stays
/// with its unit.
pub fn wrapped(line: &str) -> String {
    let options = textwrap::Options::new(COLUMNS).subsequent_indent("  ").break_words(false);
    textwrap::fill(&tied(line), options).replace(TIE, " ")
}

/// Ties every word that begins with a digit to the next one, if that is as short as a unit or goes on with the digits.
fn tied(line: &str) -> String {
    let mut words = line.split(' ').peekable();
    let mut out = String::new();
    while let Some(word) = words.next() {
        out.push_str(word);
        let Some(next) = words.peek() else { break };
        let digits = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
        let unit = next.trim_end_matches([',', '.', ';', ')']);
        let fits = (1..=UNIT).contains(&unit.chars().count()) || digits(next);
        out.push_str(if digits(word) && fits { TIE } else { " " });
    }
    out
}

/// Returns a quantity with three digits and the prefix of its unit: `0.00012` of `s` is `120 µs`.
pub fn prefixed(quantity: f64, unit: &str) -> String {
    const PREFIXES: [(f64, &str); 5] =
        [(1e-12, "p"), (1e-9, "n"), (1e-6, "µ"), (1e-3, "m"), (1.0, "")];
    // The next prefix begins where three digits would be rounded to four.
    let fits = |(scale, _): &&(f64, &str)| quantity < 999.5 * scale;
    let (scale, prefix) = PREFIXES.iter().find(fits).unwrap_or(&PREFIXES[PREFIXES.len() - 1]);
    let shown = quantity / scale;
    let digits = usize::from(shown < 99.95) + usize::from(shown < 9.995);
    format!("{shown:.digits$} {prefix}{unit}")
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
#[derive(Clone, Debug, JsonSchema, Serialize)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_three_digits() {
        for (quantity, shown) in [
            (0.0, "0.00 pJ"),
            (1.2e-10, "120 pJ"),
            (9.994e-6, "9.99 µJ"),
            (9.996e-6, "10.0 µJ"),
            (9.996e-4, "1.00 mJ"),
            (2.0, "2.00 J"),
            (5e4, "50000 J"),
        ] {
            assert_eq!(prefixed(quantity, "J"), shown);
        }
    }

    #[test]
    fn narrow_tables_and_wrapped_lines_fit() {
        let mut table = narrow(&["a", "b"]);
        table.add_row(["word ".repeat(30), "x".repeat(70)]);
        let text = format!("{table}\n{}", wrapped(&"some words ".repeat(20)));
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
    }

    #[test]
    fn numbers_stay_with_their_units() {
        for fill in 60..COLUMNS {
            let text = wrapped(&format!("{} is 1 234 567 ms, 0.07 % of all", "x".repeat(fill)));
            let whole = text.contains("1 234 567 ms,") && text.contains("0.07 %");
            assert!(whole && !text.contains(TIE), "{text}");
        }
    }
}
