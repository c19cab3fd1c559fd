//! Sketches: partial descriptions of a program. A goal is written as a sketch.
//!
//! A part with variables, ?x, is a pattern: all occurrences of a variable in this part are one term.

use super::signature::{Signature, Sort};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Span};
use crate::sexp::{Kind, Sexp};
use crate::suggest::unknown;
use crate::term::{Head, Node, parse_head};
use egg::{ENodeOrVar, PatternAst, Var};
use std::collections::BTreeMap;

/// Matches any term.
const ANY: &str = "?";
/// Matches a term that contains the sketch, possibly at its root.
const CONTAINS: &str = "?contains";
/// Matches one of several sketches.
const OR: &str = "?or";

/// The words of sketches. They start with a question mark, so that none is an operator's name.
pub(super) const WORDS: [&str; 3] = [ANY, CONTAINS, OR];

/// The limit on the parts of a sketch.
const MAX_PARTS: usize = 1_000;

/// A partial description of a term. Parts precede the parts that contain them; the last part is the whole sketch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    parts: Vec<Part>,
}

/// A part of a sketch. It refers to its own parts by their indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Any term.
    Any,
    /// An operator, a number or a name, with parts as operands.
    Node(Head, Vec<usize>),
    /// A term that fits the part or contains one that does.
    Contains(usize),
    /// A term that fits one of the parts.
    Or(Vec<usize>),
    /// A pattern, and its sort if it is known.
    Pattern(PatternAst<Node>, Option<Sort>),
}

impl Sketch {
    /// Reads a sketch and reports its errors.
    pub fn read(
        signature: &Signature,
        sexp: &Sexp,
        errors: &mut Vec<Diagnostic>,
    ) -> Option<Sketch> {
        let mut sketch = Sketch { parts: Vec::new() };
        let before = errors.len();
        // The items to be read, and (marked true) the items to be assembled once their children are read; the next one
        // last.
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

    /// Returns the sort of the terms that fit, if it is known.
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

    /// Returns the parts, each after its own parts; the last part is the whole sketch.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }
}

fn too_large(item: &Sexp) -> Diagnostic {
    let message = format!("expected a sketch of at most {MAX_PARTS} parts");
    Diagnostic::error(message, item.span, "this one is larger").with_code(Code::SketchTooLarge)
}

/// Returns true if a part is a pattern: it has variables, and contains no sketch word but `?`.
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

/// Reads a pattern. It must have none of `variables`, the variables of earlier patterns, because the terms of different
/// patterns are not compared.
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

/// Replaces each `?` of a pattern by a variable of its own; `None` if the pattern is too large.
fn named(item: &Sexp, size: &mut usize) -> Option<Sexp> {
    *size += 1;
    if *size > MAX_PARTS {
        return None;
    }
    let kind = match &item.kind {
        // A word in a file cannot contain a space, so the name is free.
        Kind::Atom(word) if word == ANY => Kind::Atom(format!("? {size}")),
        Kind::List(items) => {
            Kind::List(items.iter().map(|item| named(item, size)).collect::<Option<Vec<_>>>()?)
        }
        kind => kind.clone(),
    };
    Some(Sexp { span: item.span, kind })
}

/// Builds a part whose own parts have been read.
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
