//! The forms of certificates: constructors and printing of S-expressions.

use super::chain::is_word;
use egg::{Id, Language};
use ember_language::diagnostic::{FileId, Span};
use ember_language::sexp::{Kind, Sexp, deeper, quoted};
use ember_language::term::Term;
use ember_values::layout::WIDTH;
use ember_values::layout::{Keep, Layout};
use std::collections::BTreeMap;

fn span() -> Span {
    Span::new(FileId::default(), 0..0)
}

pub(super) fn atom(text: impl Into<String>) -> Sexp {
    Sexp { span: span(), kind: Kind::Atom(text.into()) }
}

pub(super) fn list(items: Vec<Sexp>) -> Sexp {
    Sexp { span: span(), kind: Kind::List(items) }
}

pub(super) fn form(head: &str, items: impl IntoIterator<Item = Sexp>) -> Sexp {
    list(std::iter::once(atom(head)).chain(items).collect())
}

pub(super) fn text(text: String) -> Sexp {
    Sexp { span: span(), kind: Kind::Text(text) }
}

/// Returns a term as text, with names for the words of variables.
pub(super) fn shown(term: &Term, names: &BTreeMap<Id, String>) -> Sexp {
    let mut made: Vec<Sexp> = Vec::with_capacity(term.len());
    for node in term {
        let name = is_word(node).and_then(|class| names.get(&class).cloned());
        let head = atom(name.unwrap_or_else(|| node.to_string()));
        made.push(match node.children() {
            [] => head,
            children => {
                let parts = children.iter().map(|c| made[usize::from(*c)].clone());
                list(std::iter::once(head).chain(parts).collect())
            }
        });
    }
    made.pop().unwrap_or_else(|| list(Vec::new()))
}

/// Prints a form.
pub(super) fn printed(whole: &Sexp) -> String {
    fn put(of: &Sexp, out: &mut Layout, depth: usize) {
        deeper(|| match &of.kind {
            Kind::Atom(word) => out.atom(word.clone()),
            Kind::Text(text) => out.atom(quoted(text)),
            Kind::List(items) => {
                // A list need not start with a word: a tensor without dimensions has an empty shape.
                let word = items.first().and_then(Sexp::atom);
                let lines = depth == 0 || word == Some("steps");
                let keep = if lines { Keep::Items(1) } else { Keep::Fitting };
                match word {
                    Some(word) => out.head(keep, word),
                    None => out.open(keep),
                }
                let rest = items.iter().skip(usize::from(word.is_some()));
                rest.for_each(|item| put(item, out, depth + 1));
                out.close();
            }
        });
    }
    let mut out = Layout::default();
    put(whole, &mut out, 0);
    out.render(WIDTH)
}
