//! Short spellings in program texts: loops with plain names, tensors and sizes without their
//! wrapping, several indices and statements in a row.
//!
//! ```text
//! (scf.for i 0 n 1 S T)     (scf.for VAR 0 (size %n) 1 (scf.seq S T)), where VAR is the loop variable
//!                           with these bounds, named by how many loops stand around it
//! i                         (iv VAR), inside of that loop
//! (at a i j)                (at (at (in %a) (iv …)) (iv …))
//! (scf.seq S T U)           (scf.seq S (scf.seq T U))
//! ```
//!
//! What is written out in full is left as it is. The result is an S-expression with the spans of the
//! text, so that whatever is wrong with it is shown where it stands.

use super::declare::{Declarations, Purpose};
use ember_language::diagnostic::{Checked, Diagnostic, Span};
use ember_language::sexp::{Kind, Sexp, deeper};
use std::collections::BTreeMap;

/// A text with more words than this, written out, is not read: bounds are repeated wherever their
/// variable is used, which can double the size at every level.
const MOST_WORDS: usize = 1 << 20;

/// Writes a program out in full.
pub(super) fn written_out(text: &Sexp, declarations: &Declarations) -> Checked<Sexp> {
    written_out_with(text, declarations, &[])
}

/// Writes a text out in full in which some words stand for more.
pub(super) fn written_out_with(
    text: &Sexp,
    declarations: &Declarations,
    own: &[(String, Sexp)],
) -> Checked<Sexp> {
    let mut names: BTreeMap<String, Sexp> = BTreeMap::new();
    let span = text.span;
    for size in declarations.sizes() {
        let of = word(span, &format!("%{size}"));
        names.insert(size, list(span, vec![word(span, "size"), of]));
    }
    for tensor in &declarations.tensors {
        let root = if tensor.purpose == Purpose::Input { "in" } else { "out" };
        let of = word(span, &format!("%{}", tensor.name));
        names.insert(tensor.name.clone(), list(span, vec![word(span, root), of]));
    }
    for (name, full) in own {
        if names.insert(name.clone(), full.clone()).is_some() {
            let message = format!("`{name}` cannot name an index");
            return Err(vec![Diagnostic::error(
                message,
                full.span,
                "it means something else here",
            )]);
        }
    }
    let mut surface = Surface { names, words: 0, loops: 0 };
    surface.expr(text)
}

pub(super) fn word(span: Span, text: &str) -> Sexp {
    Sexp { span, kind: Kind::Atom(text.to_owned()) }
}

pub(super) fn list(span: Span, items: Vec<Sexp>) -> Sexp {
    Sexp { span, kind: Kind::List(items) }
}

/// The same text at another place.
fn moved(of: &Sexp, span: Span) -> Sexp {
    deeper(|| match &of.kind {
        Kind::List(items) => list(span, items.iter().map(|item| moved(item, span)).collect()),
        kind => Sexp { span, kind: kind.clone() },
    })
}

fn words(of: &Sexp) -> usize {
    deeper(|| match &of.kind {
        Kind::List(items) => 1 + items.iter().map(words).sum::<usize>(),
        _ => 1,
    })
}

struct Surface {
    /// What plain words stand for.
    names: BTreeMap<String, Sexp>,
    words: usize,
    /// Named loops around.
    loops: usize,
}

impl Surface {
    fn expr(&mut self, text: &Sexp) -> Checked<Sexp> {
        deeper(|| self.any(text))
    }

    fn any(&mut self, text: &Sexp) -> Checked<Sexp> {
        self.count(1, text.span)?;
        if let Some(atom) = text.atom() {
            let Some(full) = self.names.get(atom) else { return Ok(text.clone()) };
            let full = moved(full, text.span);
            self.count(words(&full), text.span)?;
            return Ok(full);
        }
        match text.form() {
            Some(("scf.for", items)) if items.len() >= 5 && items[0].atom().is_some() => {
                let (bounds, body) = items[1..].split_at(3);
                self.named_loop(text, &[], &items[0], bounds, &[], body)
            }
            Some(("scf.reduce", [op, name, lo, hi, step, start, body]))
                if name.atom().is_some() =>
            {
                let bounds = [lo.clone(), hi.clone(), step.clone()];
                self.named_loop(
                    text,
                    std::slice::from_ref(op),
                    name,
                    &bounds,
                    std::slice::from_ref(start),
                    std::slice::from_ref(body),
                )
            }
            Some(("at", items)) if items.len() > 2 => {
                let mut items = items.iter();
                let Some(first) = items.next() else { return Ok(text.clone()) };
                let mut address = self.expr(first)?;
                for index in items {
                    let index = self.expr(index)?;
                    address = list(text.span, vec![word(text.span, "at"), address, index]);
                }
                Ok(address)
            }
            Some(("scf.seq", items)) if items.len() > 2 => self.sequence(text.span, items),
            _ => {
                let Some(items) = text.list() else { return Ok(text.clone()) };
                let mut full = Vec::with_capacity(items.len());
                for (at, item) in items.iter().enumerate() {
                    // What stands first is an operator, whatever tensors are called.
                    let operator = at == 0 && item.atom().is_some();
                    full.push(if operator { item.clone() } else { self.expr(item)? });
                }
                Ok(list(text.span, full))
            }
        }
    }

    /// `(HEAD BEFORE… NAME LO HI STEP BETWEEN… BODY…)`
    fn named_loop(
        &mut self,
        text: &Sexp,
        before: &[Sexp],
        name: &Sexp,
        bounds: &[Sexp],
        between: &[Sexp],
        body: &[Sexp],
    ) -> Checked<Sexp> {
        let (Some(head), Some(plain)) = (text.list().and_then(|l| l.first()), name.atom()) else {
            return Ok(text.clone());
        };
        if self.names.contains_key(plain)
            || !matches!(ember_language::term::parse_head(plain), ember_language::term::Head::Op(_))
        {
            let error = Diagnostic::error(
                format!("`{plain}` cannot name this loop's variable"),
                name.span,
                "it means something else here",
            );
            return Err(vec![error.with_help("take a name that nothing else has")]);
        }
        let bounds: Vec<Sexp> = bounds.iter().map(|x| self.expr(x)).collect::<Checked<_>>()?;
        let between: Vec<Sexp> = between.iter().map(|x| self.expr(x)).collect::<Checked<_>>()?;
        let span = name.span;
        let depth = list(span, vec![word(span, "depth"), word(span, &self.loops.to_string())]);
        let mut variable = vec![word(span, "var"), depth];
        variable.extend(bounds.iter().map(|bound| moved(bound, span)));
        let variable = list(span, variable);
        self.count(2 * words(&variable), span)?;
        let value = list(span, vec![word(span, "iv"), variable.clone()]);
        self.names.insert(plain.to_owned(), value);
        self.loops += 1;
        let body = self.sequence(text.span, body);
        self.loops -= 1;
        self.names.remove(plain);
        let mut full = vec![head.clone()];
        full.extend(before.iter().cloned());
        full.push(variable);
        full.extend(bounds);
        full.extend(between);
        full.push(body?);
        Ok(list(text.span, full))
    }

    fn sequence(&mut self, span: Span, items: &[Sexp]) -> Checked<Sexp> {
        let mut parts: Vec<Sexp> =
            items.iter().map(|item| self.expr(item)).collect::<Checked<_>>()?;
        let Some(mut rest) = parts.pop() else { return Ok(word(span, "scf.skip")) };
        while let Some(part) = parts.pop() {
            rest = list(span, vec![word(span, "scf.seq"), part, rest]);
        }
        Ok(rest)
    }

    fn count(&mut self, words: usize, span: Span) -> Checked<()> {
        self.words = self.words.saturating_add(words);
        if self.words <= MOST_WORDS {
            return Ok(());
        }
        let message = format!("a program of more than {MOST_WORDS} words, bounds written out");
        Err(vec![Diagnostic::error(message, span, "too large from here on")])
    }
}
