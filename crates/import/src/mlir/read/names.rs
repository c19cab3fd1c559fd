//! The names of values, and the values that they stand for.

use super::{Helped, Reader, Refused};
use crate::mlir::source::{Defined, Use, Value, Word};
use ember_language::diagnostic::Span;
use ember_language::suggest;
use std::ops::Range;

/// The most results of one name.
const RESULTS: usize = 64;

/// A name of results: its place, and how many results it stands for.
pub(super) type Results<'a> = (&'a str, Range<usize>, usize);

impl<'a> Reader<'a> {
    /// Reads the names of results up to `=`; `%0:2` stands for `%0#0` and `%0#1`.
    pub(in crate::mlir) fn results(&mut self) -> Result<Vec<Results<'a>>, Refused> {
        let mut found = Vec::new();
        while let Word(name) = self.peek()
            && name.starts_with('%')
        {
            let (_, at) = self.next();
            let mut count = 1;
            if self.takes(':') {
                let (number, at) = self.word()?;
                count =
                    number.parse().ok().filter(|count| (1..=RESULTS).contains(count)).ok_or_else(
                        || {
                            self.refused(
                                format!("a name stands for 1 to {RESULTS} results"),
                                at,
                                "not so many",
                            )
                        },
                    )?;
            }
            found.push((name, at, count));
            if !self.takes(',') {
                self.expect('=')?;
                break;
            }
        }
        Ok(found)
    }

    /// Adds a value to the scope.
    pub(in crate::mlir) fn define(
        &mut self,
        name: &'a str,
        at: Range<usize>,
    ) -> Result<Value, Refused> {
        self.define_all(name, at, 1)
    }

    /// Adds several values of one name to the scope, and returns the first.
    pub(in crate::mlir) fn define_all(
        &mut self,
        name: &'a str,
        at: Range<usize>,
        count: usize,
    ) -> Result<Value, Refused> {
        if !name.starts_with('%') {
            return Err(self.refused("a value was expected", at, "a value starts with `%`"));
        }
        if let Some((first, _)) = self.names.get(name) {
            let first = Span::new(self.file, self.values[*first].at.clone());
            let error =
                self.refused(format!("`{name}` is defined twice"), at, "a second time here");
            return Err(Box::new(error.with_related(first, "the first time")));
        }
        let value = self.values.len();
        let defined = || Defined { name, at: at.clone(), of: None, uses: 0 };
        self.values.extend(std::iter::repeat_with(defined).take(count));
        self.names.insert(name, (value, count));
        self.scope.push(name);
        Ok(value)
    }

    /// Returns the value with a name.
    pub(in crate::mlir) fn value_named(
        &mut self,
        name: &str,
        at: Range<usize>,
    ) -> Result<Value, Refused> {
        let (plain, number) = match name.split_once('#') {
            Some((plain, number)) => (plain, number.parse().unwrap_or(usize::MAX)),
            None => (name, 0),
        };
        let found = self.names.get(plain).copied();
        let Some((first, _)) = found.filter(|(_, count)| number < *count) else {
            let error =
                self.refused(format!("`{name}` is used before it is defined"), at, "not defined");
            let near = suggest::did_you_mean(name, self.scope.iter().rev().take(64).copied());
            return Err(near.map_or(error.clone(), |near| error.with_help_boxed(&near)));
        };
        self.values[first + number].uses += 1;
        Ok(first + number)
    }

    /// Reads a value.
    pub(in crate::mlir) fn operand(&mut self) -> Result<Use, Refused> {
        let (name, at) = self.word()?;
        Ok((self.value_named(name, at.clone())?, at))
    }
}
