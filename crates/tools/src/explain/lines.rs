//! Groups the steps of a chain into lines: consecutive push-downs of one kind share a line, and arithmetic belongs to
//! the line before it.

use ember_language::rules::RuleBook;
use ember_prove::chains::{Chain, Kind, kind};
use std::ops::Range;

/// Returns the steps of each line of a chain; with `full`, each step is a line.
pub(super) fn lines(chain: &Chain, book: &RuleBook, full: bool) -> Vec<Range<usize>> {
    let mut lines: Vec<(Kind, Range<usize>)> = Vec::new();
    for (at, step) in chain.steps.iter().enumerate() {
        let own = kind(step, book);
        match lines.last_mut().filter(|_| !full) {
            Some((known, range)) if own == Kind::Computed || own == *known => range.end = at + 1,
            // Arithmetic at the start belongs to the first line that follows.
            Some((known @ Kind::Computed, range)) => (*known, range.end) = (own, at + 1),
            _ => lines.push((own, at..at + 1)),
        }
    }
    lines.into_iter().map(|(_, range)| range).collect()
}
