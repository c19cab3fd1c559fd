//! The syntax of names, element types and shapes in model files.

use super::Extent;
use super::read::Reader;
use ember_language::diagnostic::{Diagnostic, Span};
use ember_language::sexp::{self, Sexp};
use ember_language::suggest;
use ember_language::term::{Head, parse_head};
use ember_values::scalar::DType;

/// The maximum rank of a tensor; operations have their own, lower limits.
const MAX_RANK: usize = 8;

/// The maximum extent that is written as a number, because indices are 64-bit integers.
const MAX_EXTENT: u64 = i64::MAX as u64;

/// Words that are forms of the data form, and so cannot be names of inputs there.
const RESERVED: [&str; 4] = ["seed", "size", "graph", "triples"];

impl Reader {
    /// Reads a single word.
    pub(super) fn word<'a>(&mut self, what: &str, item: &'a Sexp) -> Option<&'a str> {
        if item.atom().is_none() {
            self.error(item.span, format!("{what} was expected"), "not a word");
        }
        item.atom()
    }

    /// Reads a name that the model introduces or mentions.
    pub(super) fn name(&mut self, what: &str, item: &Sexp) -> Option<String> {
        let fit = |word: &&str| {
            let mut chars = word.chars();
            chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
                && chars.all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
                && matches!(parse_head(word), Head::Op(_))
        };
        let name = item.atom().filter(fit);
        if name.is_none() {
            self.error_with_help(
                item.span,
                format!("not a name for a {what}"),
                "not a name",
                "a name starts with a letter or `_` and goes on with letters, digits, `_`, `-`, `.`",
            );
        }
        name.map(str::to_owned)
    }

    /// Returns true if a tensor or a size has this name.
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
            || self.sizes.contains_key(name)
            || self.computed.iter().any(|c| c.tensor.name == name)
    }

    /// Declares a tensor, and returns true if its name was free.
    pub(super) fn declare(&mut self, name: &str, span: Span) -> bool {
        if RESERVED.contains(&name) {
            let message = format!("`{name}` cannot name a tensor");
            self.error(span, message, "a word of the data form");
        } else if let Some(before) = self.tensors.get(name) {
            let error = Diagnostic::error(format!("`{name}` is declared twice"), span, "again");
            self.errors.push(error.with_related(*before, "first declared here"));
        } else if let Some(before) = self.sizes.get(name) {
            let message = format!("`{name}` names both a tensor and a size");
            let error = Diagnostic::error(message, span, "a tensor");
            self.errors.push(error.with_related(*before, "a size"));
        } else {
            self.tensors.insert(name.to_owned(), span);
            return true;
        }
        false
    }

    /// Reads an element type.
    pub(super) fn dtype(&mut self, item: &Sexp) -> Option<DType> {
        let word = self.word("an element type", item)?;
        let dtype = DType::parse(word);
        if dtype.is_none() {
            let names = DType::ALL.iter().map(|d| d.name());
            self.errors.push(suggest::unknown("element type", word, item.span, names));
        }
        dtype
    }

    /// Reads a shape: its extents, each with its span.
    pub(super) fn shape(&mut self, item: &Sexp) -> Option<Vec<(Extent, Span)>> {
        let Some(items) = item.list() else {
            self.error_with_help(
                item.span,
                "a shape is a list of extents",
                "not a list",
                "write it in parentheses, such as `(rows 64)`",
            );
            return None;
        };
        if items.first().and_then(Sexp::atom) == Some("+") {
            self.error_with_help(
                item.span,
                "a shape is a list of extents",
                "this is a single extent",
                "put another pair of parentheses around it",
            );
            return None;
        }
        if items.len() > MAX_RANK {
            let label = format!("{} extents", items.len());
            self.error(item.span, format!("a tensor has at most {MAX_RANK} dimensions"), label);
            return None;
        }
        let extents: Vec<_> = items.iter().map(|e| Some((self.extent(e)?, e.span))).collect();
        extents.into_iter().collect()
    }

    /// Reads an extent: `64`, `rows`, `bags+1` or `(+ bags 1)`.
    pub(super) fn extent(&mut self, item: &Sexp) -> Option<Extent> {
        let parts = match (item.atom(), item.form()) {
            (Some(word), _) => match word.split_once('+') {
                Some((name, plus)) if !name.is_empty() => Some((name, Some(plus))),
                _ => Some((word, None)),
            },
            (_, Some(("+", [name, plus]))) => name.atom().zip(Some(plus.atom())),
            _ => None,
        };
        let Some((word, plus)) = parts else {
            self.not_an_extent(item);
            return None;
        };
        let number = |word: &str| word.parse::<u64>().ok().filter(|n| *n <= MAX_EXTENT);
        let plus = match plus.map(number) {
            None => 0,
            Some(Some(n)) => n,
            Some(None) => {
                self.not_an_extent(item);
                return None;
            }
        };
        if word.starts_with(|c: char| c.is_ascii_digit() || "+-".contains(c)) {
            let extent =
                number(word).and_then(|n| n.checked_add(plus)).filter(|n| *n <= MAX_EXTENT);
            if extent.is_none() {
                self.not_an_extent(item);
            }
            return extent.map(Extent::Const);
        }
        let atom = Sexp { span: item.span, kind: sexp::Kind::Atom(word.to_owned()) };
        let name = self.name("size", &atom)?;
        if let Some(before) = self.tensors.get(&name) {
            let message = format!("`{name}` names both a tensor and a size");
            let error = Diagnostic::error(message, item.span, "a size");
            self.errors.push(error.with_related(*before, "a tensor"));
            return None;
        }
        self.sizes.entry(name.clone()).or_insert(item.span);
        Some(Extent::Size { name, plus })
    }

    fn not_an_extent(&mut self, item: &Sexp) {
        self.error_with_help(
            item.span,
            "not an extent",
            "not an extent",
            format!("an extent is a number from 0 to {MAX_EXTENT}, a name, or `(+ NAME NUMBER)`"),
        );
    }
}
