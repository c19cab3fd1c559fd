//! The next tokens of a text.

use super::{Reader, Refused};
use crate::mlir::source::{Mark, Token, Word};
use std::ops::Range;

impl<'a> Reader<'a> {
    /// Returns the next token without taking it; a zero sign at the end.
    pub(in crate::mlir) fn peek(&mut self) -> Token<'a> {
        let next = self.next();
        let token = next.0;
        self.ahead = Some(next);
        token
    }

    /// Takes the next token.
    pub(in crate::mlir) fn next(&mut self) -> (Token<'a>, Range<usize>) {
        if let Some(ahead) = self.ahead.take() {
            return ahead;
        }
        let end = self.text.len();
        let next = self.lexer.by_ref().find(|(token, _)| *token != Token::Line);
        next.unwrap_or((Mark('\0'), end..end))
    }

    /// Takes a sign if it is the next token.
    pub(in crate::mlir) fn takes(&mut self, mark: char) -> bool {
        let found = self.peek() == Mark(mark);
        if found {
            self.next();
        }
        found
    }

    /// Takes a word if it is the next token.
    pub(in crate::mlir) fn takes_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Word(own) if own == word);
        if found {
            self.next();
        }
        found
    }

    /// Takes a sign, which must be the next token.
    pub(in crate::mlir) fn expect(&mut self, mark: char) -> Result<(), Refused> {
        match self.takes(mark) {
            true => Ok(()),
            false => {
                let mark = if mark == '→' { "->".to_owned() } else { mark.to_string() };
                Err(self.refuse(format!("`{mark}` was expected")))
            }
        }
    }

    /// Takes a given word, which must be the next token.
    pub(in crate::mlir) fn expect_word(&mut self, word: &str) -> Result<(), Refused> {
        match self.takes_word(word) {
            true => Ok(()),
            false => Err(self.refuse(format!("`{word}` was expected"))),
        }
    }

    /// Takes a word.
    pub(in crate::mlir) fn word(&mut self) -> Result<(&'a str, Range<usize>), Refused> {
        match self.next() {
            (Word(word), at) => Ok((word, at)),
            (token, at) => {
                self.ahead = Some((token, at));
                Err(self.refuse("a word was expected"))
            }
        }
    }
}
