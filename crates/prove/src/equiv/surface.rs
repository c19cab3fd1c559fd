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
use super::primitives::{name, written};
use ember_language::diagnostic::{Checked, Diagnostic, Span};
use ember_language::rules::{Loop, OpInfo, Operators, Signature};
use ember_language::sexp::{Kind, Sexp, deeper};
use ember_language::term::{Head, parse_head};
use ember_values::primitive::Primitive;
use std::collections::BTreeMap;

/// A text with more words than this, written out, is not read: bounds are repeated wherever their
/// variable is used, which can double the size at every level.
const MOST_WORDS: usize = 1 << 20;

/// Writes a program out in full.
pub(super) fn written_out(
    text: &Sexp,
    declarations: &Declarations,
    signature: &Signature,
) -> Checked<Sexp> {
    written_out_with(text, (declarations, signature), &[])
}

/// Writes a text out in full in which some words stand for more.
pub(super) fn written_out_with(
    text: &Sexp,
    (declarations, signature): (&Declarations, &Signature),
    own: &[(String, Sexp)],
) -> Checked<Sexp> {
    let operators = signature.table();
    let mut names: BTreeMap<String, Sexp> = BTreeMap::new();
    let span = text.span;
    for size in declarations.sizes() {
        let of = word(span, &format!("%{size}"));
        names.insert(size, written(operators, span, Primitive::Size, vec![of]));
    }
    for tensor in &declarations.tensors {
        let root = Primitive::Root(tensor.purpose != Purpose::Input);
        let of = word(span, &format!("%{}", tensor.name));
        names.insert(tensor.name.clone(), written(operators, span, root, vec![of]));
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
    let mut surface = Surface::new(signature, names);
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

struct Surface<'a> {
    signature: &'a Signature,
    operators: &'a Operators,
    /// The operators that may be written shorter, by their names.
    short: BTreeMap<&'static str, &'a OpInfo>,
    /// What plain words stand for.
    names: BTreeMap<String, Sexp>,
    words: usize,
    /// Named loops around.
    loops: usize,
}

impl<'a> Surface<'a> {
    fn new(signature: &'a Signature, names: BTreeMap<String, Sexp>) -> Surface<'a> {
        let operators = signature.table();
        let declared = signature.operators().iter();
        let declared = declared.filter_map(|op| operators.get(op.name, op.args.len()));
        let short = declared.filter(|info| {
            let row = matches!(info.primitive(), Some(Primitive::Index | Primitive::Seq));
            info.unit.is_none() && (row || info.looped().is_some())
        });
        let short = short.map(|info| (info.name.as_str(), info)).collect();
        Surface { signature, operators, short, names, words: 0, loops: 0 }
    }

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
        let Some(items) = text.list() else { return Ok(text.clone()) };
        let short = text.form().and_then(|(head, items)| Some((*self.short.get(head)?, items)));
        if let Some((info, items)) = short {
            match (info.primitive(), info.looped()) {
                (Some(Primitive::Index), _) if items.len() > 2 => return self.indexed(text, items),
                (Some(Primitive::Seq), _) if items.len() > 2 => {
                    return self.sequence(text.span, info.name.as_str(), items);
                }
                (_, Some(own)) if names_variable(info, &own, items) => {
                    return self.named_loop(text, (info, &own), items);
                }
                _ => {}
            }
        }
        let mut full = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            // What stands first is an operator, whatever tensors are called.
            let operator = at == 0 && item.atom().is_some();
            full.push(if operator { item.clone() } else { self.expr(item)? });
        }
        Ok(list(text.span, full))
    }

    /// `(HEAD ADDRESS INDEX INDEX …)`.
    fn indexed(&mut self, text: &Sexp, items: &[Sexp]) -> Checked<Sexp> {
        let parts: Vec<Sexp> = items.iter().map(|item| self.expr(item)).collect::<Checked<_>>()?;
        let mut parts = parts.into_iter();
        let Some(mut address) = parts.next() else { return Ok(text.clone()) };
        for index in parts {
            address = written(self.operators, text.span, Primitive::Index, vec![address, index]);
        }
        Ok(address)
    }

    /// A loop with a plain name in the place of its variable, and of statements several in the place of its body.
    fn named_loop(
        &mut self,
        text: &Sexp,
        (info, own): (&OpInfo, &Loop),
        items: &[Sexp],
    ) -> Checked<Sexp> {
        let variable = &items[own.variable];
        let (Some(head), Some(plain)) = (text.list().and_then(|l| l.first()), variable.atom())
        else {
            return Ok(text.clone());
        };
        if self.names.contains_key(plain) || !matches!(parse_head(plain), Head::Op(_)) {
            let error = Diagnostic::error(
                format!("`{plain}` cannot name this loop's variable"),
                variable.span,
                "it means something else here",
            );
            return Err(vec![error.with_help("take a name that nothing else has")]);
        }
        let mut full = vec![head.clone()];
        for (at, item) in items[..own.body].iter().enumerate() {
            full.push(if at == own.variable { item.clone() } else { self.expr(item)? });
        }
        let span = variable.span;
        let number = word(span, &self.loops.to_string());
        let called = self.operators.numbered().map_or("", |name| name.as_str());
        let mut parts = vec![list(span, vec![word(span, called), number])];
        parts.extend([own.lo, own.hi, own.step].map(|at| moved(&full[1 + at], span)));
        let known = written(self.operators, span, Primitive::Variable, parts);
        self.count(2 * words(&known), span)?;
        let value = written(self.operators, span, Primitive::Iv, vec![known.clone()]);
        self.names.insert(plain.to_owned(), value);
        full[1 + own.variable] = known;
        self.loops += 1;
        let body = match own.folds {
            Some(_) => self.expr(&items[own.body]),
            None => {
                let seq = self.sequence_in(info, own);
                self.sequence(text.span, seq, &items[own.body..])
            }
        };
        self.loops -= 1;
        self.names.remove(plain);
        full.push(body?);
        Ok(list(text.span, full))
    }

    /// What puts statements in a row where a loop has its body.
    fn sequence_in(&self, info: &OpInfo, own: &Loop) -> &'static str {
        let declared = |info: &OpInfo| self.signature.operator(info.name, info.operands.len());
        let body = declared(info).map(|op| op.args[own.body]);
        let fits =
            |info: &&&OpInfo| info.is(Primitive::Seq) && declared(info).map(|op| op.result) == body;
        let found = self.short.values().find(fits).map(|info| info.name.as_str());
        found.unwrap_or_else(|| name(self.operators, Primitive::Seq))
    }

    fn sequence(&mut self, span: Span, seq: &str, items: &[Sexp]) -> Checked<Sexp> {
        let mut parts: Vec<Sexp> =
            items.iter().map(|item| self.expr(item)).collect::<Checked<_>>()?;
        let Some(mut rest) = parts.pop() else {
            return Ok(written(self.operators, span, Primitive::Skip, Vec::new()));
        };
        while let Some(part) = parts.pop() {
            rest = list(span, vec![word(span, seq), part, rest]);
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

/// Whether a loop that runs nowhere yet is written with a plain name in the place of its variable.
fn names_variable(info: &OpInfo, own: &Loop, items: &[Sexp]) -> bool {
    let last = own.body + 1 == info.operands.len();
    let whole = match own.folds {
        Some(_) => items.len() == info.operands.len(),
        None => items.len() >= info.operands.len(),
    };
    last && whole && items[own.variable].atom().is_some()
}
