//! Suggestions for misspelt names.

/// Help that names the known word nearest to a misspelt one, where one is near enough to be meant.
/// The first of several equally near words in the order given is taken.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, known).map(|name| format!("did you mean `{name}`?"))
}

/// The known word that differs from `word` in the fewest letters, if at most a third of them differ.
fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|name| (distance(word, name), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Letters to change; a name that only lacks its dialect (`for` for `scf.for`) is one letter away.
fn distance(word: &str, name: &str) -> usize {
    match name.rsplit_once('.') {
        Some((_, last)) if last == word => 1,
        _ => strsim::damerau_levenshtein(word, name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_what_is_near() {
        let known = ["slc.mem_stream", "slc.for", "add"];
        assert_eq!(
            did_you_mean("slc.mem_strem", known).as_deref(),
            Some("did you mean `slc.mem_stream`?")
        );
        assert_eq!(nearest("ad", known), Some("add"));
        assert_eq!(nearest("mem_stream", known), Some("slc.mem_stream"));
        assert_eq!(nearest("multiply", known), None);
    }
}
