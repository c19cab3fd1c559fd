//! The checker's terms: nodes in one list, each once and behind its operands, so that two terms are
//! equal where their numbers are. Knows nothing of what operators mean.

use crate::sexp::Sexp;
use std::collections::HashMap;

/// A term, by its place in the list.
pub(super) type T = usize;

/// Stack for one level of a text or term, and by how much the stack grows where less is left.
const STACK: (usize, usize) = (64 << 10, 1 << 20);

/// Every term that was met: an operator, name or number, and its operands.
#[derive(Default)]
pub(super) struct Terms {
    nodes: Vec<(String, Vec<T>)>,
    known: HashMap<(String, Vec<T>), T>,
}

/// What stands for a word with its operands, where it does not stay; nothing where that is not there.
pub(super) type Replace<'a> = dyn FnMut(&mut Terms, &str, &[T]) -> Option<Option<T>> + 'a;

/// Runs a step that may nest deep.
pub(super) fn deeper<R>(run: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(STACK.0, STACK.1, run)
}

impl Terms {
    pub fn add(&mut self, name: &str, operands: &[T]) -> T {
        let node = (name.to_owned(), operands.to_vec());
        *self.known.entry(node).or_insert_with_key(|node| {
            self.nodes.push(node.clone());
            self.nodes.len() - 1
        })
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn node(&self, term: T) -> (&str, &[T]) {
        let (name, operands) = &self.nodes[term];
        (name, operands)
    }

    pub fn name(&self, term: T) -> &str {
        self.node(term).0
    }

    /// Reads a term, operands first.
    pub fn read(&mut self, text: &Sexp, replace: &mut Replace<'_>) -> Result<T, String> {
        let (first, items) = match text.list() {
            None => (text, &[][..]),
            Some(list) => list.split_first().ok_or("an empty list")?,
        };
        let name = canonical(first.atom().ok_or("a word was expected")?);
        let mut operands = Vec::with_capacity(items.len());
        for item in items {
            operands.push(deeper(|| self.read(item, replace))?);
        }
        match replace(self, &name, &operands) {
            Some(other) => other.ok_or_else(|| format!("`{name}` is not known")),
            None => Ok(self.add(&name, &operands)),
        }
    }

    /// A term with another part at a position, where the one that is expected stands.
    pub fn replaced(&mut self, whole: T, way: &[Sexp], old: T, new: T) -> Option<T> {
        let Some((first, rest)) = way.split_first() else { return (whole == old).then_some(new) };
        let (name, mut operands) = self.nodes[whole].clone();
        let below = operands.get_mut(first.atom()?.parse::<usize>().ok()?)?;
        *below = deeper(|| self.replaced(*below, rest, old, new))?;
        Some(self.add(&name, &operands))
    }
}

/// A number in the one way in which it is spelled here; any other word as it is.
fn canonical(word: &str) -> String {
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    match (word.parse::<i64>(), word.parse::<f64>()) {
        (Ok(n), _) => n.to_string(),
        (_, Ok(x)) if digits.starts_with(|c: char| c.is_ascii_digit()) => format!("{x:?}"),
        _ => word.to_owned(),
    }
}
