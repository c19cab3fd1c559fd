//! Reads the operations of a text in the pretty and the generic form. Names are resolved at once, since a value is
//! defined before it is used.

mod attributes;
mod generic;
mod halves;
mod names;
mod pretty;
mod tokens;
mod types;

use super::affine::Map;
use super::rows::{Kind, Rows};
use super::source::{Defined, Mark, Operation, Region, Text, Token, Value, Word};
use super::types::Type;
use crate::lex::{self, Lexer};
use ember_language::diagnostic::{Diagnostic, FileId, Span};
use ember_language::suggest;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::rc::Rc;

/// The reason why a text is refused.
pub(super) type Refused = Box<Diagnostic>;

/// The most operations of a text.
const OPERATIONS: usize = 1 << 18;

/// The deepest nesting of regions.
const DEEPEST: usize = 128;

/// The reader of a text.
pub(super) struct Reader<'a> {
    pub(super) file: FileId,
    pub(super) text: &'a str,
    rows: &'static Rows,
    lexer: Lexer<'a>,
    ahead: Option<(Token<'a>, Range<usize>)>,
    /// All values so far.
    pub(super) values: Vec<Defined<'a>>,
    /// The values in scope by their names, with the number of values that a name stands for, and these names in the order
    /// of their definition.
    names: FxHashMap<&'a str, (Value, usize)>,
    scope: Vec<&'a str>,
    /// The maps and sets that have names.
    aliases: FxHashMap<&'a str, Rc<Map>>,
    operations: usize,
    depth: usize,
}

/// Returns an error at a place.
pub(super) fn refused(
    file: FileId,
    message: impl Into<String>,
    at: Range<usize>,
    label: impl Into<String>,
) -> Refused {
    Box::new(Diagnostic::error(message, Span::new(file, at), label))
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: FileId, text: &'a str, rows: &'static Rows) -> Reader<'a> {
        Reader {
            file,
            text,
            rows,
            lexer: lex::tokens(text),
            ahead: None,
            values: Vec::new(),
            names: FxHashMap::default(),
            scope: Vec::new(),
            aliases: FxHashMap::default(),
            operations: 0,
            depth: 0,
        }
    }

    /// Reads the whole text: operations, between the definitions of maps and locations.
    pub(super) fn all(&mut self) -> Result<Vec<Operation<'a>>, Refused> {
        let mut found = Vec::new();
        loop {
            match self.peek() {
                Word(alias) if alias.starts_with('#') => self.alias(alias)?,
                Mark('\0') => return Ok(found),
                _ => found.push(self.operation()?),
            }
        }
    }

    /// Reads `#name = affine_map<…>`; the definition of anything else is left out.
    fn alias(&mut self, name: &'a str) -> Result<(), Refused> {
        self.next();
        self.expect('=')?;
        match self.peek() {
            Word("affine_map" | "affine_set") => {
                self.next();
                let map = self.map()?;
                self.aliases.insert(name, map);
                Ok(())
            }
            _ => self.skip_attribute(),
        }
    }

    /// Returns a map by its name.
    pub(super) fn map_named(&mut self, name: &str, at: Range<usize>) -> Result<Rc<Map>, Refused> {
        let found = self.aliases.get(name).cloned();
        found.ok_or_else(|| self.refused(format!("`{name}` is no map or set"), at, "not defined"))
    }

    /// Reads an operation with its regions.
    fn operation(&mut self) -> Result<Operation<'a>, Refused> {
        self.operations += 1;
        if self.operations > OPERATIONS {
            return Err(self.refuse(format!("more than {OPERATIONS} operations")));
        }
        let results = self.results()?;
        let (token, at) = self.next();
        let mut operation = match token {
            Text(name) => {
                let kind = self.kind(name, &at)?;
                self.generic(Operation::new(kind, name, at))?
            }
            Word(name) => {
                let kind = self.kind(name, &at)?;
                self.pretty(Operation::new(kind, name, at))?
            }
            _ => return Err(self.refused("an operation was expected", at, "not one")),
        };
        if matches!(self.peek(), Word("loc")) {
            self.next();
            self.skip_attribute()?;
        }
        for (name, at, count) in results {
            let first = self.define_all(name, at, count)?;
            operation.results.extend(first..first + count);
        }
        if let (Kind::View, [result], [(of, _), ..]) =
            (operation.kind, &operation.results[..], &operation.operands[..])
        {
            self.values[*result].of = Some(self.root(*of));
        }
        Ok(operation)
    }

    /// Returns the kind of an operation, or the error for one without a counterpart.
    fn kind(&self, name: &str, at: &Range<usize>) -> Result<Kind, Refused> {
        self.rows.kind(name).ok_or_else(|| {
            let message = format!("the operation `{name}` has no counterpart");
            let error = self.refused(message, at.clone(), "not known");
            let dialect = name.split_once('.').map_or(name, |(dialect, _)| dialect);
            let of_dialect = |known: &&str| known.split('.').next() == Some(dialect);
            let known: Vec<&str> = self.rows.operations().filter(of_dialect).collect();
            let near = match known.as_slice() {
                [] => suggest::did_you_mean(name, self.rows.operations()),
                known => suggest::did_you_mean(name, known.iter().copied()),
            };
            let help = near.unwrap_or_else(|| match known.as_slice() {
                [] => "kernels of the dialects func, arith, math, memref, scf, affine, vector, slc and slcvec are read".to_owned(),
                known => format!("known of this dialect: {}", suggest::list(known.iter().copied())),
            });
            error.with_help_boxed(&help)
        })
    }

    /// Reads the operations of a region whose `{` was read; `arguments` are those that the operation before it names.
    pub(super) fn region(
        &mut self,
        arguments: Vec<(&'a str, Range<usize>, Option<Type>)>,
    ) -> Result<Region<'a>, Refused> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.refuse(format!("regions nest deeper than {DEEPEST}")));
        }
        let mark = self.scope.len();
        let mut region = Region::default();
        for (name, at, of) in arguments {
            region.arguments.push((self.define(name, at)?, of));
        }
        if let Word(label) = self.peek()
            && label.starts_with('^')
        {
            self.label(&mut region)?;
        }
        while !self.takes('}') {
            match self.peek() {
                Word(label) if label.starts_with('^') => {
                    return Err(self.refuse("a region of several blocks has no counterpart"));
                }
                Mark('\0') => return Err(self.refuse("a region is never closed")),
                _ => region.operations.push(self.operation()?),
            }
        }
        for name in self.scope.drain(mark..) {
            self.names.remove(name);
        }
        self.depth -= 1;
        region.written = self.written(&region);
        Ok(region)
    }

    /// Reads `^bb0(%a: T, …):`.
    fn label(&mut self, region: &mut Region<'a>) -> Result<(), Refused> {
        self.next();
        if self.takes('(') {
            while !self.takes(')') {
                if !region.arguments.is_empty() {
                    self.expect(',')?;
                }
                let (name, at) = self.word()?;
                self.expect(':')?;
                let of = self.of_type()?;
                region.arguments.push((self.define(name, at)?, Some(of)));
            }
        }
        self.expect(':')
    }

    /// Returns the memories that a region writes.
    fn written(&self, region: &Region<'a>) -> Vec<Value> {
        let mut found: Vec<Value> = Vec::new();
        for operation in &region.operations {
            let written = operation.writes().and_then(|at| operation.operands.get(at));
            found.extend(written.map(|(memory, _)| self.root(*memory)));
            found.extend(operation.regions.iter().flat_map(|inner| &inner.written));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the memory that a value is a view of.
    pub(super) fn root(&self, value: Value) -> Value {
        self.values[value].of.unwrap_or(value)
    }

    /// Returns an error at the next token.
    pub(super) fn refuse(&mut self, message: impl Into<String>) -> Refused {
        let (token, at) = self.next();
        let label = match token {
            Token::Open => "a text that does not end",
            Mark('\0') => "the end of the text",
            _ => "not understood",
        };
        self.refused(message, at, label)
    }

    /// Returns an error at a place.
    pub(super) fn refused(
        &self,
        message: impl Into<String>,
        at: Range<usize>,
        label: impl Into<String>,
    ) -> Refused {
        refused(self.file, message, at, label)
    }
}

/// Help for a boxed diagnostic.
pub(super) trait Helped {
    /// Sets the suggested correction.
    fn with_help_boxed(self, help: &str) -> Self;
}

impl Helped for Refused {
    fn with_help_boxed(self, help: &str) -> Refused {
        Box::new(self.with_help(help))
    }
}
