//! Matrix Market files in coordinate format: real, integer or pattern, general or symmetric
//! (R. Boisvert, R. Pozo, K. Remington, "The Matrix Market exchange formats", NISTIR 5935, 1996).
//!
//! The reader is written here because the existing crates trust the size line: they reserve memory for its numbers, and
//! do not report the line at which a file contradicts it.

use super::csr::{Csr, Entries, ROW_BYTES};
use super::lines::Lines;
use super::{LIMIT, Problem};
use std::io::BufRead;

/// The bytes held for each entry while it is read and placed.
const ENTRY_BYTES: u64 = 32;

/// Reads a matrix. The contents are compared with the size line, but no memory is reserved by its numbers.
pub(super) fn read<R: BufRead>(mut lines: Lines<R>) -> Result<Csr, Problem> {
    let header = Header::read(&mut lines)?;
    let [rows, columns, expected] = size(&mut lines, &header)?;
    let mut entries = Entries { mirrored: header.symmetric, ..Entries::default() };
    while let Some(line) = lines.next()? {
        if line.is_empty() || line.starts_with('%') {
            continue;
        }
        let line = line.to_owned();
        if entries.places.len() as u64 == expected {
            let help = "correct the size line, or take the entry out";
            let what = format!("an entry more than the {expected} of the size line");
            return Err(lines.problem(what).with_help(help));
        }
        let mut words = line.split_whitespace();
        let row = place::<R>(words.next(), "row", rows, &lines)?;
        let column = place::<R>(words.next(), "column", columns, &lines)?;
        if header.values {
            let Some(word) = words.next() else {
                return Err(lines.problem("ends before its value".to_owned()));
            };
            let value = word
                .parse()
                .map_err(|_| lines.problem(format!("not a number: {}", Lines::<R>::show(word))))?;
            entries.values.push(value);
        }
        if let Some(word) = words.next() {
            let what = format!("more than an entry: {}", Lines::<R>::show(word));
            return Err(lines.problem(what));
        }
        if header.symmetric && column > row {
            let problem = lines.problem("above the diagonal of a symmetric matrix".to_owned());
            return Err(problem.with_help("a symmetric file holds the lower triangle only"));
        }
        entries.places.push((row, column));
    }
    if (entries.places.len() as u64) < expected {
        let what = format!("ends after {} of {expected} entries", entries.places.len());
        let help = "the file is cut off, or its size line is wrong";
        return Err(Problem::new(what).with_help(help));
    }
    Ok(Csr::of_entries(&entries, rows, columns))
}

/// The contents of the first line.
struct Header {
    values: bool,
    symmetric: bool,
}

impl Header {
    fn read<R: BufRead>(lines: &mut Lines<R>) -> Result<Header, Problem> {
        let line = lines.next()?.unwrap_or("").to_ascii_lowercase();
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["%%matrixmarket", "matrix", format, field, symmetry] = words[..] else {
            let problem = lines.problem("not the header of a Matrix Market file".to_owned());
            let help = "it starts with `%%MatrixMarket matrix coordinate real general` or alike";
            return Err(problem.with_help(help));
        };
        let unknown = |word: &str, known: &str| {
            let what = format!("{} matrices are not read", Lines::<R>::show(word));
            Err(lines.problem(what).with_help(known))
        };
        if format != "coordinate" {
            return unknown(format, "known: `coordinate`");
        }
        let values = match field {
            "real" | "integer" => true,
            "pattern" => false,
            _ => return unknown(field, "known: `real`, `integer`, `pattern`"),
        };
        let symmetric = match symmetry {
            "general" => false,
            "symmetric" => true,
            _ => return unknown(symmetry, "known: `general`, `symmetric`"),
        };
        Ok(Header { values, symmetric })
    }
}

/// Reads the rows, columns and entries from the size line, which may follow comments.
fn size<R: BufRead>(lines: &mut Lines<R>, header: &Header) -> Result<[u64; 3], Problem> {
    let line = loop {
        match lines.next()? {
            None => return Err(Problem::new("ends before its size line")),
            Some(line) if line.is_empty() || line.starts_with('%') => {}
            Some(line) => break line.to_owned(),
        }
    };
    let numbers: Option<Vec<u64>> = line.split_whitespace().map(|w| w.parse().ok()).collect();
    let Some(&[rows, columns, entries]) = numbers.as_deref() else {
        let problem = lines.problem("not a size line".to_owned());
        return Err(problem.with_help("it says how many rows, columns and entries there are"));
    };
    let held = entries.saturating_mul(ENTRY_BYTES).saturating_add(rows.saturating_mul(ROW_BYTES));
    if rows > LIMIT || columns > LIMIT || held > crate::data::HELD_LIMIT {
        let what = format!("{rows} rows, {columns} columns and {entries} entries");
        return Err(lines.problem(what).with_help("too large to be held in memory"));
    }
    if header.symmetric && rows != columns {
        let what = format!("a symmetric matrix of {rows} rows and {columns} columns");
        return Err(lines.problem(what));
    }
    Ok([rows, columns, entries])
}

/// Parses a row or column, counted from 1 in the file and from 0 in the result.
fn place<R: BufRead>(
    word: Option<&str>,
    what: &str,
    extent: u64,
    lines: &Lines<R>,
) -> Result<u32, Problem> {
    let Some(word) = word else {
        return Err(lines.problem(format!("ends before its {what}")));
    };
    match word.parse::<u64>() {
        Ok(0) => {
            let problem = lines.problem(format!("{what} 0, but Matrix Market counts from 1"));
            Err(problem.with_help("a file that counts from 0 is a list of edges: name it `.tsv`"))
        }
        Ok(n) if n <= extent => Ok((n - 1) as u32),
        Ok(n) => Err(lines.problem(format!("{what} {n} of {extent} {what}s"))),
        Err(_) => Err(lines.problem(format!("not a {what}: {}", Lines::<R>::show(word)))),
    }
}
