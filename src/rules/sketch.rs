//! Sketches: what a program should look like, with parts left open. A goal is written as a sketch.

use super::signature::Signature;
use crate::diagnostic::Diagnostic;
use crate::facts::EGraph;
use crate::sexp::{Kind, Sexp};
use crate::suggest::unknown;
use crate::term::{Head, Node, parse_head};
use egg::{Id, Language};
use std::collections::HashSet;

/// Anything.
const ANY: &str = "?";
/// Somewhere in it, itself included.
const CONTAINS: &str = "?contains";
/// One of several.
const OR: &str = "?or";

/// The words of sketches. They start with a question mark, so that none is an operator's name.
pub(super) const WORDS: [&str; 3] = [ANY, CONTAINS, OR];

/// The most parts of a sketch.
const MAX_PARTS: usize = 1_000;

/// What a term should look like. Parts stand before what they are parts of; the last is the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Any,
    /// An operator, a number or a name over parts.
    Node(Head, Vec<usize>),
    Contains(usize),
    Or(Vec<usize>),
}

impl Sketch {
    /// Reads a sketch; what is wrong with it is reported.
    pub fn read(
        signature: &Signature,
        sexp: &Sexp,
        errors: &mut Vec<Diagnostic>,
    ) -> Option<Sketch> {
        let mut sketch = Sketch { parts: Vec::new() };
        let before = errors.len();
        // What is left to read, and then to put together, the last first.
        let mut open: Vec<(&Sexp, bool)> = vec![(sexp, false)];
        let mut done: Vec<usize> = Vec::new();
        while let Some((item, read)) = open.pop() {
            if sketch.parts.len() + open.len() > MAX_PARTS {
                let message = format!("expected a sketch of at most {MAX_PARTS} parts");
                errors.push(Diagnostic::error(message, sexp.span, "this one is larger"));
                return None;
            }
            let children = match &item.kind {
                Kind::List(items) => items.get(1..).unwrap_or_default(),
                Kind::Atom(_) | Kind::Text(_) => &[],
            };
            if !read && !children.is_empty() {
                open.push((item, true));
                open.extend(children.iter().rev().map(|child| (child, false)));
                continue;
            }
            let below = done.split_off(done.len() - children.len());
            match part(signature, item, below) {
                Ok(part) => sketch.parts.push(part),
                Err(error) => {
                    errors.push(error);
                    sketch.parts.push(Part::Any);
                }
            }
            done.push(sketch.parts.len() - 1);
        }
        (errors.len() == before).then_some(sketch)
    }

    /// Whether a class has a term that looks like this. The e-graph must be clean.
    pub fn holds(&self, egraph: &EGraph, class: Id) -> bool {
        let mut holds: Vec<HashSet<Id>> = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let here = |node: &Node, head: Head, children: &[usize]| {
                node.head() == head
                    && node.children().len() == children.len()
                    && node.children().iter().zip(children).all(|(child, part)| {
                        self.parts[*part] == Part::Any
                            || holds[*part].contains(&egraph.find(*child))
                    })
            };
            let found = match part {
                Part::Any => HashSet::new(),
                Part::Node(head, children) => {
                    let classes = egraph.classes();
                    let any = classes
                        .filter(|class| class.nodes.iter().any(|node| here(node, *head, children)));
                    any.map(|class| class.id).collect()
                }
                Part::Contains(inner) => above(egraph, self.classes(egraph, *inner, &holds)),
                Part::Or(parts) => {
                    parts.iter().flat_map(|part| self.classes(egraph, *part, &holds)).collect()
                }
            };
            holds.push(found);
        }
        let whole = self.parts.len() - 1;
        self.parts[whole] == Part::Any || holds[whole].contains(&egraph.find(class))
    }

    /// The classes of a part that has been looked for.
    fn classes(&self, egraph: &EGraph, part: usize, holds: &[HashSet<Id>]) -> HashSet<Id> {
        match self.parts[part] {
            Part::Any => egraph.classes().map(|class| class.id).collect(),
            _ => holds[part].clone(),
        }
    }
}

/// Classes, and those that have a node over one of them, and so on.
fn above(egraph: &EGraph, mut classes: HashSet<Id>) -> HashSet<Id> {
    let mut open: Vec<Id> = classes.iter().copied().collect();
    while let Some(class) = open.pop() {
        for parent in egraph[class].parents() {
            let parent = egraph.find(parent);
            if classes.insert(parent) {
                open.push(parent);
            }
        }
    }
    classes
}

/// A part whose own parts have been read.
fn part(signature: &Signature, item: &Sexp, below: Vec<usize>) -> Result<Part, Diagnostic> {
    let shapes = "a sketch is ?, (?contains SKETCH), (?or SKETCH …) or (OPERATOR SKETCH …)";
    let head = match &item.kind {
        Kind::Atom(word) => Some((word.as_str(), item.span)),
        Kind::List(items) => items.first().and_then(|head| Some((head.atom()?, head.span))),
        Kind::Text(_) => None,
    };
    let Some((word, span)) = head else {
        return Err(
            Diagnostic::error("expected a sketch", item.span, "not a sketch").with_help(shapes)
        );
    };
    match (word, below.as_slice()) {
        (ANY, []) => Ok(Part::Any),
        (CONTAINS, [inner]) => Ok(Part::Contains(*inner)),
        (OR, [_, ..]) => Ok(Part::Or(below)),
        (ANY | CONTAINS | OR, _) => Err(Diagnostic::error(
            format!("`{word}` has the wrong shape"),
            item.span,
            "in a sketch",
        )
        .with_help(shapes)),
        _ if word.starts_with('?') => Err(unknown("sketch", word, span, WORDS).with_help(shapes)),
        _ => match parse_head(word) {
            Head::Op(name) if !word.starts_with('%') => {
                match signature.operator(name, below.len()) {
                    Some(_) => Ok(Part::Node(Head::Op(name), below)),
                    None => Err(signature.unknown_operator(name, below.len(), span)),
                }
            }
            head => Ok(Part::Node(head, below)),
        },
    }
}
