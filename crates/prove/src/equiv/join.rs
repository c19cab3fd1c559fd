//! Joins the certificates of a program's parts. The parts follow each other with a barrier between them, and the proof
//! of each part is one of the part at its position.

use super::certificate::Certificate;
use super::certificate::Uncertified::{self, Lost};
use super::declare::Declarations;
use super::forms::{atom, form};
use super::level::Level;
use ember_language::rules::Exactness;
use ember_language::sexp::Sexp;

/// Returns the certificate of whole programs from the certificates of their parts in order. Each certificate must
/// repeat the variables of the earlier ones.
pub(super) fn joined(
    parts: &[Certificate],
    declarations: &Declarations,
    level: &Level,
) -> Result<Certificate, Uncertified> {
    let last = parts.last().ok_or(Lost("there are no parts"))?;
    let mut forms = declarations.certified(false);
    forms.extend(last.variables().cloned());
    for side in ["left", "right"] {
        let programs: Option<Vec<&Sexp>> = parts.iter().map(|part| part.program(side)).collect();
        forms.push(form(side, sequence(programs.ok_or(Lost("a part without a program"))?, level)));
    }
    let mut rules: Vec<(String, usize)> = Vec::new();
    // Each earlier part and its barrier are first operands, so that what is behind them is the second operand of the
    // second. Every part except the last is itself a first operand.
    let mut steps: Vec<Sexp> = Vec::new();
    for (at, part) in parts.iter().enumerate().rev() {
        let own = part.proof().to_vec();
        steps = match at + 1 == parts.len() {
            true => own,
            false => inside(["0"].as_slice(), own)
                .into_iter()
                .chain(inside(["1", "1"].as_slice(), steps))
                .collect(),
        };
    }
    for (rule, n) in parts.iter().flat_map(|part| &part.rules) {
        match rules.iter_mut().find(|(known, _)| known == rule) {
            Some((_, sum)) => *sum += n,
            None => rules.push((rule.clone(), *n)),
        }
    }
    let exact = parts.iter().map(|part| part.exact).max().unwrap_or(Exactness::Bitwise);
    let digest = last.digest().ok_or(Lost("a part without rules"))?;
    let count = parts.iter().map(|part| part.steps).sum();
    Ok(Certificate { steps: count, ..Certificate::new(digest, forms, steps, rules, exact) })
}

/// Returns the step that applies steps to a part of a term, if there are some.
fn inside(place: &[&str], steps: Vec<Sexp>) -> Option<Sexp> {
    let place = form("at", place.iter().copied().map(atom));
    (!steps.is_empty()).then(|| form("inside", std::iter::once(place).chain(steps)))
}

/// Builds the sequence of parts with barriers between them.
fn sequence(mut parts: Vec<&Sexp>, level: &Level) -> Option<Sexp> {
    let mut rest = parts.pop()?.clone();
    let (seq, barrier) = level.joints()?;
    while let Some(part) = parts.pop() {
        let behind = form(seq.as_str(), [atom(barrier.as_str()), rest]);
        rest = form(seq.as_str(), [part.clone(), behind]);
    }
    Some(rest)
}
