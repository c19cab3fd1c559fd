//! Names of loop variables: a letter for the kind of range, and a number if the letter is taken.

use super::words::{Named, Words};
use crate::term::{Head, Term, Terms};
use egg::{Id, Language, Symbol};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// The names given so far, so that a variable keeps its name in the next text.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The names, by variable and by the number of earlier loops over it in the same text.
    known: FxHashMap<(Term, usize), String>,
    /// The names used in the current text.
    taken: BTreeSet<String>,
    /// For each variable, the number of loops over it in the current text.
    loops: FxHashMap<Term, usize>,
}

impl Names {
    /// Starts another text.
    pub(super) fn start(&mut self) {
        self.taken.clear();
        self.loops.clear();
    }

    /// Returns the name of the variable of the next loop over it.
    pub(super) fn next(&mut self, term: &Term, variable: Id, words: &Words) -> String {
        let own = Terms::of(term, variable);
        let before = self.loops.entry(own.clone()).or_default();
        let key = (own, *before);
        *before += 1;
        if let Some(known) = self.known.get(&key)
            && self.taken.insert(known.clone())
        {
            return known.clone();
        }
        let letter = letter(&key.0, words);
        let used = |name: &String| {
            self.taken.contains(name)
                || words.is_name(name)
                || words.signature.operators().iter().any(|op| op.name.as_str() == name)
                || self.known.values().any(|known| known == name)
        };
        let numbered = (2..).map(|n: u64| format!("{letter}{n}"));
        let mut names = std::iter::once(letter.to_string()).chain(numbered);
        let name = names.find(|name| !used(name)).unwrap_or_default();
        self.taken.insert(name.clone());
        self.known.insert(key, name.clone());
        name
    }
}

/// Returns the letter for a variable: `v` if its step is a number other than 1. Otherwise the end of its range decides:
/// the first letter of a size, `l` (lookups) for an end loaded from data, `e` (elements) for a number.
fn letter(variable: &Term, words: &Words) -> char {
    let Some(node) = variable.as_ref().last() else { return 'e' };
    let [_, bounds @ ..] = node.children() else { return 'e' };
    let steps = |id: &Id| matches!(variable[*id].head(), Head::Int(step) if step != 1);
    if bounds.len() > 2 && bounds.last().is_some_and(steps) {
        return 'v';
    }
    let mut open: Vec<Id> = bounds.iter().take(2).copied().collect();
    let mut seen: BTreeSet<Id> = BTreeSet::new();
    while let Some(at) = open.pop() {
        let node = &variable[at];
        let op = words.signature.operator_of(node);
        let name = node.children().first().and_then(|name| variable[*name].name());
        match (words.named(node), name) {
            (Some(Named::Size), Some(name)) => return initial(Symbol::from(name)),
            (Some(Named::Input | Named::Output), _) => return 'l',
            _ => {}
        }
        // The range of another variable does not count.
        let other = op.and_then(|op| op.result.named()).is_some_and(|s| words.maker(s).is_some());
        if !other {
            open.extend(node.children().iter().rev().filter(|child| seen.insert(**child)));
        }
    }
    'e'
}

/// Returns the first letter of a size's name, in lower case.
fn initial(name: Symbol) -> char {
    let first = name.as_str().chars().find(char::is_ascii_alphabetic);
    first.map_or('e', |letter| letter.to_ascii_lowercase())
}
