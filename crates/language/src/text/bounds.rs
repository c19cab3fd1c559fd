//! A loop and its variable tell the same range. Facts about a variable come from what it ranges over, so that a loop
//! which runs otherwise would have wrong ones.

use super::read::plain;
use super::words::Words;
use crate::diagnostic::Diagnostic;
use crate::rules::OpInfo;
use crate::sexp::{Sexp, deeper};
use crate::term::{Head, parse_head};

/// Returns an error for each loop of a program, written out in full, with a number in its bounds that is another one in
/// its variable's range. Bounds that are computed are not compared.
pub(super) fn contradictions(program: &Sexp, words: &Words) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    visit(program, words, &mut found);
    found
}

fn visit(text: &Sexp, words: &Words, found: &mut Vec<Diagnostic>) {
    let Some((head, items)) = text.form() else { return };
    found.extend(contradiction(head, items, words));
    items.iter().for_each(|item| deeper(|| visit(item, words, found)));
}

fn contradiction(head: &str, items: &[Sexp], words: &Words) -> Option<Diagnostic> {
    let table = words.signature.table();
    let own = table.get(head.into(), items.len()).and_then(OpInfo::looped)?;
    let (_, [_, range @ ..]) = items[own.variable].form()? else { return None };
    let bounds = [("starts at", own.lo), ("ends at", own.hi), ("has the step", own.step)];
    bounds.iter().zip(range).find_map(|((does, at), told)| {
        let told = integer(parse_head(told.atom()?))?;
        let term = plain(&items[*at], table)?;
        let runs = integer(term.as_ref().last()?.head()).filter(|runs| *runs != told)?;
        let label = format!("the loop {does} {runs}, and its variable's range {does} {told}");
        let message = "a loop runs otherwise than its variable says";
        let help = "write the name alone, which then ranges over the loop's own bounds";
        Some(Diagnostic::error(message, items[*at].span, label).with_help(help))
    })
}

fn integer(head: Head) -> Option<i64> {
    match head {
        Head::Int(n) => Some(n),
        Head::Op(_) | Head::Real(_) => None,
    }
}
