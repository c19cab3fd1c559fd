//! Suggestions: the known name nearest to an unknown one, and the diagnostics that offer it.

use crate::diagnostic::{Diagnostic, Span};
use itertools::Itertools;

/// The length above which a name gets no suggestion: the distance takes quadratic time, and names of this length are
/// not typing errors.
const LONGEST: usize = 64;

/// Returns the candidate nearest to a word, if it is near enough to be meant: at most one edit for every three letters,
/// with a transposition as one edit. The letters of a dialect that both have do not count, and a word without its dialect
/// (`mem_stream`) is near the full name (`slc.mem_stream`). Among equally near candidates, the first one is returned.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST {
        return None;
    }
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= LONGEST && *candidate != word)
        .filter_map(|candidate| Some((edits(word, candidate)?, candidate)))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Returns the number of edits between a word and a candidate that is near enough.
fn edits(word: &str, candidate: &str) -> Option<usize> {
    let (word, candidate) = match (word.rsplit_once('.'), candidate.rsplit_once('.')) {
        (Some((own, word)), Some((other, name))) if own == other => (word, name),
        _ => (word, candidate),
    };
    let edits = distance(word, candidate);
    let allowed = (word.chars().count() / 3).max(1);
    (edits <= allowed && edits < candidate.chars().count()).then_some(edits)
}

/// Returns the number of edits between a word and a candidate; a missing dialect counts as one.
fn distance(word: &str, candidate: &str) -> usize {
    let whole = strsim::damerau_levenshtein(word, candidate);
    match candidate.rsplit_once('.') {
        Some((_, name)) if !word.contains('.') => {
            whole.min(1 + strsim::damerau_levenshtein(word, name))
        }
        _ => whole,
    }
}

/// Returns a help text with the known word nearest to a misspelt one, if it is near enough to be meant.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, known).map(|name| format!("did you mean `{name}`?"))
}

/// Returns the help for an unknown word: the nearest candidate, or all candidates if they are few.
pub fn help<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let candidates = candidates.into_iter().collect_vec();
    match did_you_mean(word, candidates.iter().copied()) {
        Some(help) => Some(help),
        None => {
            (1..=16).contains(&candidates.len()).then(|| format!("known: {}", list(candidates)))
        }
    }
}

/// Formats names for a message: `` `a`, `b`, `c` ``.
pub fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).join(", ")
}

/// Returns the error for an unknown word: ``unknown {what} `word` ``, with a suggestion.
pub fn unknown<'a>(
    what: &str,
    word: &str,
    span: Span,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Diagnostic {
    let error = Diagnostic::error(format!("unknown {what} `{word}`"), span, "not known");
    match help(word, candidates) {
        Some(help) => error.with_help(help),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_name() {
        let names = ["table", "indices", "offsets", "slc.mem_stream"];
        assert_eq!(nearest("tabel", names), Some("table"));
        assert_eq!(nearest("ofsets", names), Some("offsets"));
        assert_eq!(nearest("mem_stream", names), Some("slc.mem_stream"));
        assert_eq!(nearest("slc.memstream", names), Some("slc.mem_stream"));
        assert_eq!(nearest("weights", names), None);
        assert_eq!(nearest("slc.bar", ["slc.for", "slc.barrier"]), None, "`slc` tells nothing");
        assert_eq!(nearest("x", ["y"]), None, "a name with every letter changed is another name");
        assert_eq!(nearest(&"a".repeat(1_000_000), names), None);
    }

    #[test]
    fn few_candidates_are_listed() {
        assert_eq!(help("q", ["sum", "mean"]).as_deref(), Some("known: `sum`, `mean`"));
        assert_eq!(help("q", []), None);
    }
}
