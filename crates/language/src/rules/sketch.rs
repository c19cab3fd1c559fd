//! Sketches: what a program should look like, with parts left open. A goal is written as a sketch.
//!
//! A part with variables, ?x, is a pattern: each of them is one term, wherever it stands in that part.

use super::signature::{Signature, Sort};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Span};
use crate::sexp::{Kind, Sexp};
use crate::suggest::unknown;
use crate::term::{Head, Node, parse_head};
use egg::{ENodeOrVar, PatternAst, Var};
use std::collections::BTreeMap;

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

/// A part of a sketch. Parts that it is made of are given by their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Anything.
    Any,
    /// An operator, a number or a name over parts.
    Node(Head, Vec<usize>),
    /// The part, or anything that contains it.
    Contains(usize),
    /// One of the parts.
    Or(Vec<usize>),
    /// A pattern, and its sort where that is certain.
    Pattern(PatternAst<Node>, Option<Sort>),
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
        let mut variables: BTreeMap<Var, Span> = BTreeMap::new();
        while let Some((item, read)) = open.pop() {
            if sketch.parts.len() + open.len() > MAX_PARTS {
                errors.push(too_large(sexp));
                return None;
            }
            let children = match &item.kind {
                Kind::List(items) => items.get(1..).unwrap_or_default(),
                Kind::Atom(_) | Kind::Text(_) => &[],
            };
            if !read && is_pattern(item) {
                let part = pattern(signature, item, &mut variables, errors).unwrap_or(Part::Any);
                done.push(sketch.parts.len());
                sketch.parts.push(part);
                continue;
            }
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

    /// The sort of what looks like this, where that is certain.
    pub fn sort(&self, signature: &Signature) -> Option<Sort> {
        match self.parts.last()? {
            Part::Node(head @ Head::Op(name), children) => {
                let operator = signature.operator(*name, children.len());
                operator.map_or_else(|| Sort::of_literal(*head), |op| op.result.named())
            }
            Part::Node(head, _) => Sort::of_literal(*head),
            Part::Pattern(_, sort) => *sort,
            Part::Any | Part::Contains(_) | Part::Or(_) => None,
        }
    }

    /// Its parts, each after what it is made of; the last is the whole.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }
}

fn too_large(item: &Sexp) -> Diagnostic {
    let message = format!("expected a sketch of at most {MAX_PARTS} parts");
    Diagnostic::error(message, item.span, "this one is larger").with_code(Code::SketchTooLarge)
}

/// Whether a part is a pattern: it has variables, and no sketch but `?` in it.
fn is_pattern(item: &Sexp) -> bool {
    let mut open = vec![item];
    let mut variables = false;
    while let Some(item) = open.pop() {
        match &item.kind {
            Kind::List(items) => {
                if items.first().and_then(Sexp::atom).is_some_and(|head| head.starts_with('?')) {
                    return false;
                }
                open.extend(items);
            }
            Kind::Atom(word) => variables |= word.starts_with('?') && word != ANY,
            Kind::Text(_) => {}
        }
    }
    variables
}

/// Reads a pattern. `variables` are those of the patterns before it, of which it may have none: what they
/// stand for is not held against each other.
fn pattern(
    signature: &Signature,
    item: &Sexp,
    variables: &mut BTreeMap<Var, Span>,
    errors: &mut Vec<Diagnostic>,
) -> Option<Part> {
    let Some(named) = named(item, &mut 0) else {
        errors.push(too_large(item));
        return None;
    };
    let (pattern, sort) =
        signature.read_pattern(&named).map_err(|found| errors.extend(found)).ok()?;
    let before = variables.clone();
    for node in pattern.as_ref() {
        let ENodeOrVar::Var(variable) = node else { continue };
        if let Some(first) = before.get(variable) {
            let message = format!("`{variable}` stands in two parts of a sketch");
            let error = Diagnostic::error(message, item.span, "may be another term here")
                .with_code(Code::TwoParts);
            errors.push(error.with_related(*first, "the other part").with_help(
                "only a part without ?contains and ?or compares what stands in two places",
            ));
            return None;
        }
        variables.insert(*variable, item.span);
    }
    Some(Part::Pattern(pattern, sort))
}

/// A pattern with a variable of its own in the place of each `?`; `None` where it is too large.
fn named(item: &Sexp, size: &mut usize) -> Option<Sexp> {
    *size += 1;
    if *size > MAX_PARTS {
        return None;
    }
    let kind = match &item.kind {
        // No word of a file has a space in it.
        Kind::Atom(word) if word == ANY => Kind::Atom(format!("? {size}")),
        Kind::List(items) => {
            Kind::List(items.iter().map(|item| named(item, size)).collect::<Option<Vec<_>>>()?)
        }
        kind => kind.clone(),
    };
    Some(Sexp { span: item.span, kind })
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
        return Err(Diagnostic::error("expected a sketch", item.span, "not a sketch")
            .with_code(Code::NotASketch)
            .with_help(shapes));
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
        .with_code(Code::WrongShape)
        .with_help(shapes)),
        _ if word.starts_with('?') => Err(unknown("sketch", word, span, WORDS)
            .with_code(Code::UnknownSketch)
            .with_help(shapes)),
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
