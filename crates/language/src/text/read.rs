//! Reads program text by writing it out in full: the result is an S-expression with the spans of the text, so that
//! every error is reported at its place in the text.

use super::bounds::contradictions;
use super::words::{Maker, Words};
use crate::diagnostic::{Checked, Diagnostic, Span};
use crate::erase::erased;
use crate::rules::{Operator, Operators, RuleBook, Sort};
use crate::sexp::{Kind, Sexp, deeper};
use crate::term::{Head, Node, Term, Terms, parse_head};
use egg::{Id, Language, Symbol};
use std::collections::BTreeMap;

/// The limit on the words of a text that is written out. A variable's bounds are repeated at every use of the variable,
/// which can double the size at every level.
const MOST_WORDS: usize = 1 << 20;

/// Reads a program.
pub fn read(text: &Sexp, book: &RuleBook, words: &Words) -> Checked<(Term, Sort)> {
    let full = written_out(text, words, &[])?;
    let (term, sort) = book.signature.read_term(&full)?;
    let contradictions = contradictions(&full, words);
    if !contradictions.is_empty() {
        return Err(contradictions);
    }
    Ok((book.definitions.expand(&term), sort))
}

/// Writes a text out in full. `own` defines additional words.
pub fn written_out(text: &Sexp, words: &Words, own: &[(String, Sexp)]) -> Checked<Sexp> {
    let mut names: BTreeMap<String, Sexp> = BTreeMap::new();
    for (name, full) in own {
        if words.is_name(name) || names.insert(name.clone(), full.clone()).is_some() {
            let message = format!("`{name}` cannot name an index");
            return Err(vec![Diagnostic::error(
                message,
                full.span,
                "it means something else here",
            )]);
        }
    }
    let mut reader = Reader { words, own: names, loops: Vec::new(), made: 0 };
    reader.expr(text, None)
}

/// Builds a word of a text.
pub fn word(span: Span, text: &str) -> Sexp {
    Sexp { span, kind: Kind::Atom(text.to_owned()) }
}

/// Builds a list of a text.
pub fn list(span: Span, items: Vec<Sexp>) -> Sexp {
    Sexp { span, kind: Kind::List(items) }
}

/// Wraps an operand in an operator, if there is one.
fn over(op: Option<Symbol>, of: Sexp) -> Sexp {
    match op {
        Some(op) => list(of.span, vec![word(of.span, op.as_str()), of]),
        None => of,
    }
}

/// Returns the text with another span.
fn moved(of: &Sexp, span: Span) -> Sexp {
    deeper(|| match &of.kind {
        Kind::List(items) => list(span, items.iter().map(|item| moved(item, span)).collect()),
        kind => Sexp { span, kind: kind.clone() },
    })
}

fn size(of: &Sexp) -> usize {
    deeper(|| match &of.kind {
        Kind::List(items) => 1 + items.iter().map(size).sum::<usize>(),
        _ => 1,
    })
}

/// An enclosing loop.
struct Loop {
    name: String,
    sort: Sort,
    variable: Sexp,
}

struct Reader<'a> {
    words: &'a Words<'a>,
    /// Additional words and the texts that they are short for, at any place.
    own: BTreeMap<String, Sexp>,
    loops: Vec<Loop>,
    /// The number of words written so far.
    made: usize,
}

impl<'a> Reader<'a> {
    fn expr(&mut self, text: &Sexp, sort: Option<Sort>) -> Checked<Sexp> {
        deeper(|| self.any(text, sort))
    }

    fn any(&mut self, text: &Sexp, sort: Option<Sort>) -> Checked<Sexp> {
        self.count(1, text.span)?;
        if let Some(atom) = text.atom() {
            return self.word(atom, text.span, sort);
        }
        let Some((head, items)) = text.form() else { return self.items(text, &[], None) };
        let name = Symbol::from(head);
        if let ("let", [name, value, body @ ..]) = (head, items)
            && !body.is_empty()
            && self.words.signature.operators().iter().all(|op| op.name.as_str() != head)
        {
            return self.named_value(text.span, (name, value), body, sort);
        }
        if let Some(op) = self.binder(name, items, sort) {
            return self.named_loop(text, op, items, sort);
        }
        if let Some(op) = self.words.signature.operator(name, items.len()) {
            return self.items(text, &self.words.needs(op, sort), Some(op));
        }
        if let Some(op) = self.words.repeated(name, items.len()) {
            let needs = self.words.needs(op, sort);
            let mut whole = self.expr(&items[0], needs[0])?;
            for item in &items[1..] {
                let item = self.expr(item, needs[1])?;
                whole = list(text.span, vec![word(text.span, head), whole, item]);
            }
            return Ok(whole);
        }
        if let Some(op) = self.words.in_a_row(name, items.len()) {
            return self.row(text.span, items, op.result.named());
        }
        self.items(text, &[], None)
    }

    fn word(&mut self, atom: &str, span: Span, sort: Option<Sort>) -> Checked<Sexp> {
        let full = if let Some(full) = self.own.get(atom) {
            moved(full, span)
        } else if self.words.is_operator(atom, sort) {
            return Ok(word(span, atom));
        } else if let Some(around) = self.loops.iter().rev().find(|around| around.name == atom) {
            let op = self.words.over_variable(around.sort, sort);
            over(op, moved(&around.variable, span))
        } else if let Some(stands) = self.words.name(atom, sort) {
            let name = word(span, &format!("%{atom}"));
            over(stands.over, over(Some(stands.root), name))
        } else if matches!(parse_head(atom), Head::Int(_)) {
            over(self.words.over_number(sort), word(span, atom))
        } else {
            return Ok(word(span, atom));
        };
        self.count(size(&full), span)?;
        Ok(full)
    }

    /// Writes out a list item by item. The first item is an operator, even if a tensor has its name.
    fn items(
        &mut self,
        text: &Sexp,
        needs: &[Option<Sort>],
        op: Option<&Operator>,
    ) -> Checked<Sexp> {
        let Some(items) = text.list() else { return Ok(text.clone()) };
        let headed = op.is_some() || items.first().is_some_and(|item| item.atom().is_some());
        let mut full = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let need = at.checked_sub(1).and_then(|at| needs.get(at).copied().flatten());
            full.push(if at == 0 && headed { item.clone() } else { self.expr(item, need)? });
        }
        Ok(list(text.span, full))
    }

    /// Writes out terms of one sort as a sequence.
    fn row(&mut self, span: Span, items: &[Sexp], sort: Option<Sort>) -> Checked<Sexp> {
        let parts = items.iter().map(|item| self.expr(item, sort));
        let mut parts: Vec<Sexp> = parts.collect::<Checked<_>>()?;
        let Some(mut rest) = parts.pop() else { return Ok(list(span, Vec::new())) };
        let Some(sequence) = sort.and_then(|sort| self.words.sequence(sort)) else {
            return Ok(rest);
        };
        while let Some(part) = parts.pop() {
            rest = list(span, vec![word(span, sequence.as_str()), part, rest]);
        }
        Ok(rest)
    }

    /// Writes out `(let NAME VALUE BODY …)`: the body, with the value in the places of its name. The value is the same in
    /// all of them because the body does not mention any tensor that the value reads and that programs write.
    fn named_value(
        &mut self,
        span: Span,
        (name, value): (&Sexp, &Sexp),
        body: &[Sexp],
        sort: Option<Sort>,
    ) -> Checked<Sexp> {
        let plain = self.free(name)?;
        let full = self.expr(value, None)?;
        let read = full.words().filter_map(|word| word.strip_prefix('%'));
        for tensor in read.filter(|name| self.words.is_written(name)) {
            if let Some(used) = body.iter().find_map(|item| mention(item, tensor)) {
                let label = format!("`{tensor}` is used where `{plain}` is known");
                let error = Diagnostic::error(
                    format!("`{plain}` may change while its name is used: it reads `{tensor}`"),
                    used,
                    label,
                );
                let help =
                    "store the value in scratch memory, `(scratch NAME DTYPE ())`, and load it";
                return Err(vec![error.with_help(help).with_related(value.span, "its value")]);
            }
        }
        self.own.insert(plain.clone(), full);
        let inside = match body {
            [one] => self.expr(one, sort),
            row if sort.is_some() => self.row(span, row, sort),
            row => Err(vec![several(row[1].span)]),
        };
        self.own.remove(&plain);
        inside
    }

    /// Returns the operator of a loop that names its variable.
    fn binder(&self, name: Symbol, items: &[Sexp], sort: Option<Sort>) -> Option<&'a Operator> {
        let signature = self.words.signature;
        let ops = signature.operators().iter().filter(|op| op.name == name);
        let fits = |op: &&Operator| {
            let Some((variable, own, body)) = self.words.binds(op) else { return false };
            let arity = op.args.len();
            let row = items.len() > arity
                && body + 1 == arity
                && self.words.needs(op, sort)[body]
                    .is_some_and(|sort| self.words.sequence(sort).is_some());
            let maker = self.words.maker(own);
            let named = items.get(variable).is_some_and(|item| match (item.atom(), item.form()) {
                (Some(atom), _) => {
                    !atom.starts_with('?') && !self.words.is_operator(atom, Some(own))
                }
                (None, Some((head, [name, ..]))) => {
                    maker.is_some_and(|maker| maker.op.as_str() == head)
                        && name.atom().is_some_and(|name| !name.starts_with('?'))
                }
                (None, _) => false,
            });
            named && (items.len() == arity || row)
        };
        let exact = ops.clone().filter(|op| op.args.len() == items.len()).find(fits);
        exact.or_else(|| ops.filter(fits).max_by_key(|op| op.args.len()))
    }

    /// Writes out `(HEAD … NAME … BODY …)`.
    fn named_loop(
        &mut self,
        text: &Sexp,
        op: &'a Operator,
        items: &[Sexp],
        sort: Option<Sort>,
    ) -> Checked<Sexp> {
        let words = self.words;
        let Some((at, own, body)) = words.binds(op) else { return self.items(text, &[], None) };
        let Some(maker) = words.maker(own) else { return self.items(text, &[], None) };
        let needs = words.needs(op, sort);
        let (name, given) = match items[at].form() {
            Some((_, [name, given @ ..])) => (name, Some(given)),
            _ => (&items[at], None),
        };
        let plain = self.free(name)?;
        let mut full: Vec<Option<Sexp>> = vec![None; op.args.len()];
        for (arg, item) in items.iter().enumerate().take(op.args.len()) {
            if arg != at && arg != body {
                full[arg] = Some(self.expr(item, needs[arg])?);
            }
        }
        let bounds = match given {
            Some(given) if given.len() == maker.bounds.len() => {
                let sorts = maker.bounds.iter();
                let bounds = given.iter().zip(sorts).map(|(x, sort)| self.expr(x, Some(*sort)));
                bounds.collect::<Checked<Vec<Sexp>>>()?
            }
            Some(_) => return Err(vec![unclear(&items[at], maker)]),
            None => self.told(op, &full).ok_or_else(|| vec![unclear(&items[at], maker)])?,
        };
        let span = name.span;
        let number = word(span, &self.loops.len().to_string());
        let mut variable = vec![word(span, maker.op.as_str()), over(Some(maker.name), number)];
        variable.extend(bounds.iter().map(|bound| moved(bound, span)));
        let variable = list(span, variable);
        self.count(2 * size(&variable), span)?;
        self.loops.push(Loop { name: plain, sort: own, variable: variable.clone() });
        let inside = match items.len() > op.args.len() {
            true => self.row(text.span, &items[body..], needs[body]),
            false => self.expr(&items[body], needs[body]),
        };
        self.loops.pop();
        full[at] = Some(variable);
        full[body] = Some(inside?);
        let head = word(text.list().map_or(text.span, |all| all[0].span), op.name.as_str());
        Ok(list(text.span, std::iter::once(head).chain(full.into_iter().flatten()).collect()))
    }

    /// Checks that a name has no other meaning here, and returns it.
    fn free(&self, name: &Sexp) -> Checked<String> {
        let plain = name.atom().unwrap_or_default();
        let known = self.own.contains_key(plain)
            || self.words.is_name(plain)
            || self.loops.iter().any(|around| around.name == plain);
        if !known && matches!(parse_head(plain), Head::Op(_)) && !plain.starts_with('%') {
            return Ok(plain.to_owned());
        }
        let error = Diagnostic::error(
            format!("`{plain}` cannot name this loop's variable"),
            name.span,
            "it means something else here",
        );
        Err(vec![error.with_help("take a name that nothing else has")])
    }

    /// Returns the range of a loop's variable, derived from the loop's own bounds.
    fn told(&self, op: &Operator, full: &[Option<Sexp>]) -> Option<Vec<Sexp>> {
        let around = self.words.looped(op)?;
        let bound = |at: usize| {
            let bound = full.get(at)?.as_ref()?;
            let plain = plain(bound, self.words.signature.table())?;
            Some(sexp(&plain, Id::from(plain.len().checked_sub(1)?), bound.span))
        };
        [around.lo, around.hi, around.step].into_iter().map(bound).collect()
    }

    fn count(&mut self, words: usize, span: Span) -> Checked<()> {
        self.made = self.made.saturating_add(words);
        if self.made <= MOST_WORDS {
            return Ok(());
        }
        let message = format!("a program of more than {MOST_WORDS} words, bounds written out");
        Err(vec![Diagnostic::error(message, span, "too large from here on")])
    }
}

/// Returns the place of a word in a text.
fn mention(text: &Sexp, word: &str) -> Option<Span> {
    deeper(|| match text.list() {
        Some(items) => items.iter().find_map(|item| mention(item, word)),
        None => (text.atom() == Some(word)).then_some(text.span),
    })
}

/// Returns the error for a second statement in a `let` that is the whole program.
fn several(second: Span) -> Diagnostic {
    let error = Diagnostic::error("one statement was expected", second, "a second one");
    error.with_help("put several statements into a sequence")
}

/// Returns the error for a loop that leaves the range of its variable undefined.
fn unclear(variable: &Sexp, maker: &Maker) -> Diagnostic {
    let label = "this loop's own bounds do not say it";
    let message = "it is not clear what the variable ranges over";
    let help = format!("write `({} NAME …)` with what it ranges over", maker.op);
    Diagnostic::error(message, variable.span, label).with_help(help)
}

/// Returns a text that is written out in full as a term of one processor.
pub(super) fn plain(text: &Sexp, operators: &Operators) -> Option<Term> {
    let mut terms = Terms::default();
    let root = add(&mut terms, text)?;
    erased(&terms.part(root), operators)
}

/// Adds a text that is written out in full.
fn add(terms: &mut Terms, text: &Sexp) -> Option<Id> {
    deeper(|| match (text.atom(), text.form()) {
        (Some(atom), _) => Some(terms.add(Node::new(parse_head(atom), &[]))),
        (None, Some((head, items))) => {
            let parts: Option<Vec<Id>> = items.iter().map(|item| add(terms, item)).collect();
            Some(terms.add(Node::op(head, &parts?)))
        }
        (None, None) => None,
    })
}

/// Returns the S-expression of a part of a term, written out in full.
fn sexp(term: &Term, at: Id, span: Span) -> Sexp {
    deeper(|| {
        let node = &term[at];
        let head = word(span, &node.to_string());
        if node.is_leaf() {
            return head;
        }
        let parts = node.children().iter().map(|child| sexp(term, *child, span));
        list(span, std::iter::once(head).chain(parts).collect())
    })
}
