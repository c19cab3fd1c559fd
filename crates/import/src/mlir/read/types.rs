//! Types, and lists of them.

use super::{Reader, Refused};
use crate::mlir::source::{Mark, Operation, Word};
use crate::mlir::types::{Elem, Type};

impl Reader<'_> {
    /// Reads a type.
    pub(in crate::mlir) fn of_type(&mut self) -> Result<Type, Refused> {
        let (word, at) = self.word()?;
        match word {
            "memref" | "vector" => {
                let start = self.lexer_place();
                let end = self.angles()?;
                let inside = &self.text[start..end];
                let start = at.start;
                Type::shaped(word, inside)
                    .map_err(|why| self.refused(why, start..end + 1, "not known"))
            }
            // A program that runs in order has the value in place of its stream.
            "!slc.stream" => {
                self.expect('<')?;
                let of = self.of_type()?;
                self.expect('>')?;
                Ok(of)
            }
            "!llvm.struct" => {
                self.angles()?;
                Ok(Type::Struct)
            }
            "!dlc.tu" => Ok(Type::Unit),
            word => Elem::parse(word).map(Type::Scalar).ok_or_else(|| {
                self.refused(format!("the type `{word}` has no counterpart"), at, "not known")
            }),
        }
    }

    /// Returns the byte behind the next token, which is a bracket.
    fn lexer_place(&mut self) -> usize {
        self.peek();
        self.ahead.as_ref().map_or(self.text.len(), |(_, at)| at.end)
    }

    /// Skips `<…>` with what it nests, and returns the byte where its last `>` is.
    pub(in crate::mlir) fn angles(&mut self) -> Result<usize, Refused> {
        self.expect('<')?;
        let mut open = 1;
        loop {
            match self.next() {
                (Mark('<'), _) => open += 1,
                (Mark('>'), at) => {
                    open -= 1;
                    if open == 0 {
                        return Ok(at.start);
                    }
                }
                (Mark('\0'), at) => {
                    return Err(self.refused("`>` was expected", at, "the end of the text"));
                }
                _ => {}
            }
        }
    }

    /// Reads the types behind the colon of an operation: a list of types, or the type of a function.
    pub(super) fn signature(&mut self, operation: &mut Operation<'_>) -> Result<(), Refused> {
        if self.peek() == Mark('(') {
            operation.ins = Some(self.some_types()?);
            self.expect('→')?;
            operation.types = self.some_types()?;
            return Ok(());
        }
        loop {
            operation.types.push(self.of_type()?);
            // The types of indices.
            if self.takes('[') {
                while !self.takes(']') {
                    self.of_type()?;
                    self.takes(',');
                }
            }
            let more = self.takes(',')
                || self.takes('→')
                || self.takes_word("to")
                || self.takes_word("into");
            if !more {
                return Ok(());
            }
        }
    }

    /// Reads one type, or several in parentheses.
    pub(super) fn some_types(&mut self) -> Result<Vec<Type>, Refused> {
        if !self.takes('(') {
            return Ok(vec![self.of_type()?]);
        }
        let mut types = Vec::new();
        while !self.takes(')') {
            if !types.is_empty() {
                self.expect(',')?;
            }
            types.push(self.of_type()?);
            self.skip_dictionary()?;
        }
        Ok(types)
    }

    /// Skips `{…}`, if it is next, with what it nests.
    pub(super) fn skip_dictionary(&mut self) -> Result<(), Refused> {
        if matches!(self.peek(), Mark('{')) { self.skip_attribute() } else { Ok(()) }
    }

    /// Returns true if the next word starts a type.
    pub(super) fn at_type(&mut self) -> bool {
        matches!(self.peek(), Word(word) if word == "memref" || word == "vector" || Elem::parse(word).is_some())
    }
}
