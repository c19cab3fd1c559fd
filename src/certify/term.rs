//! The checker's terms: nodes in one list, each once and behind its operands, so that two terms are
//! equal where their numbers are.

use crate::sexp::Sexp;
use std::collections::HashMap;

/// A term, by its place in the list.
pub(super) type T = usize;

/// Stack for one level of a text or term, and by how much the stack grows where less is left.
const STACK: (usize, usize) = (64 << 10, 1 << 20);

/// What a node is, its operands aside.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Head {
    Word(String),
    Int(i64),
    /// A real number, by its bits.
    Real(u64),
}

/// Every term that was met.
#[derive(Default)]
pub(super) struct Terms {
    nodes: Vec<(Head, Vec<T>)>,
    known: HashMap<(Head, Vec<T>), T>,
}

/// What stands for a word, given its operands; nothing where it stays.
pub(super) type Replace<'a> = dyn FnMut(&mut Terms, &str, &[T]) -> Result<Option<T>, String> + 'a;

/// Runs a step that may nest deep.
pub(super) fn deeper<R>(run: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(STACK.0, STACK.1, run)
}

impl Terms {
    pub fn add(&mut self, head: Head, operands: Vec<T>) -> T {
        let key = (head, operands);
        if let Some(term) = self.known.get(&key) {
            return *term;
        }
        self.nodes.push(key.clone());
        self.known.insert(key, self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    pub fn op(&mut self, name: &str, operands: &[T]) -> T {
        self.add(Head::Word(name.to_owned()), operands.to_vec())
    }

    pub fn int(&mut self, n: i64) -> T {
        self.add(Head::Int(n), Vec::new())
    }

    pub fn head(&self, term: T) -> &Head {
        &self.nodes[term].0
    }

    /// The operator or name that a term starts with; nothing for a number.
    pub fn name(&self, term: T) -> &str {
        match &self.nodes[term].0 {
            Head::Word(name) => name,
            Head::Int(_) | Head::Real(_) => "",
        }
    }

    pub fn operands(&self, term: T) -> &[T] {
        &self.nodes[term].1
    }

    /// Reads a term.
    pub fn read(&mut self, text: &Sexp) -> Result<T, String> {
        if let Some(word) = text.atom() {
            return Ok(self.add(head(word), Vec::new()));
        }
        let Some((first, items)) = text.list().and_then(|items| items.split_first()) else {
            return Err("a term is a word or a list".to_owned());
        };
        let Some(name) = first.atom() else { return Err("a list without an operator".to_owned()) };
        let operands: Result<Vec<T>, String> =
            items.iter().map(|item| deeper(|| self.read(item))).collect();
        match head(name) {
            Head::Word(name) => Ok(self.add(Head::Word(name), operands?)),
            Head::Int(_) | Head::Real(_) => Err(format!("`{name}` is no operator")),
        }
    }

    /// A term of another list, or of this one, with some words replaced.
    pub fn write(
        &mut self,
        from: Option<&Terms>,
        term: T,
        replace: &mut Replace<'_>,
    ) -> Result<T, String> {
        let (head, operands) = from.unwrap_or(self).nodes[term].clone();
        let mut written = Vec::with_capacity(operands.len());
        for operand in operands {
            written.push(deeper(|| self.write(from, operand, replace))?);
        }
        if let Head::Word(name) = &head
            && let Some(term) = replace(self, name, &written)?
        {
            return Ok(term);
        }
        Ok(self.add(head, written))
    }

    /// The part of a term at a position, and the terms on the way to it.
    pub fn path(&self, term: T, position: &[usize]) -> Result<Vec<T>, String> {
        let mut way = vec![term];
        let mut at = term;
        for operand in position {
            at = *self.operands(at).get(*operand).ok_or("a position that is not there")?;
            way.push(at);
        }
        Ok(way)
    }

    /// A term with another part at a position, along the way to it.
    pub fn replaced(&mut self, way: &[T], position: &[usize], part: T) -> T {
        let mut part = part;
        for (term, operand) in way.iter().zip(position).rev() {
            let (head, mut operands) = self.nodes[*term].clone();
            operands[*operand] = part;
            part = self.add(head, operands);
        }
        part
    }
}

/// A number where a word spells one; numbers start with a digit, or a sign and a digit.
fn head(word: &str) -> Head {
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    if digits.starts_with(|c: char| c.is_ascii_digit()) || digits == "inf" || word == "nan" {
        if let Ok(n) = word.parse() {
            return Head::Int(n);
        }
        if let Ok(x) = word.replace("nan", "NaN").parse::<f64>() {
            return Head::Real(if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() });
        }
    }
    Head::Word(word.to_owned())
}
