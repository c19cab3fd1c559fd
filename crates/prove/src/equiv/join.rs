//! Joins the certificates of a program's parts. The parts follow each other with a barrier between them, and the proof
//! of each part is one of the part at its position.

use super::certificate::Certificate;
use super::certificate::Uncertified::{self, Lost};
use super::forms::{atom, form};
use super::level::Level;
use ember_language::rules::Exactness;
use ember_language::sexp::Sexp;

/// Returns the certificate of whole programs from the certificates of their parts in order. Each certificate must
/// repeat the declarations of the earlier ones.
pub(super) fn joined(parts: &[Certificate], level: &Level) -> Result<Certificate, Uncertified> {
    let last = parts.last().ok_or(Lost("there are no parts"))?;
    let mut forms = last.declarations().to_vec();
    for side in ["left", "right"] {
        let programs: Option<Vec<&Sexp>> = parts.iter().map(|part| part.program(side)).collect();
        forms.push(form(side, sequence(programs.ok_or(Lost("a part without a program"))?, level)));
    }
    let mut rules: Vec<(String, usize)> = Vec::new();
    let mut steps = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        // Each earlier part and its barrier are first operands, so that the path takes the second operand twice per
        // earlier part. Every part except the last is itself a first operand.
        let mut place = vec![atom("1"); 2 * at];
        place.extend((at + 1 < parts.len()).then(|| atom("0")));
        match place.is_empty() {
            true => steps.extend(part.proof().iter().cloned()),
            false if part.proof().is_empty() => {}
            false => {
                let place = std::iter::once(form("at", place));
                steps.push(form("inside", place.chain(part.proof().iter().cloned())));
            }
        }
        for (rule, n) in &part.rules {
            match rules.iter_mut().find(|(known, _)| known == rule) {
                Some((_, sum)) => *sum += n,
                None => rules.push((rule.clone(), *n)),
            }
        }
    }
    let exact = parts.iter().map(|part| part.exact).max().unwrap_or(Exactness::Bitwise);
    let digest = last.digest().ok_or(Lost("a part without rules"))?;
    let count = parts.iter().map(|part| part.steps).sum();
    Ok(Certificate { steps: count, ..Certificate::new(digest, forms, steps, rules, exact) })
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
