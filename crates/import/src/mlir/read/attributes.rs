//! Attributes: of operations in the generic form, and those that are left out.

use super::{Reader, Refused};
use crate::mlir::affine::Map;
use crate::mlir::source::{Literal, Mark, Operation, Text, Token, Word};
use std::rc::Rc;

/// The contents of an operation's attributes that the pretty form says in other ways.
#[derive(Default)]
pub(super) struct Attributes<'a> {
    pub(super) value: Option<Literal<'a>>,
    pub(super) step: Option<Literal<'a>>,
    pub(super) predicate: Option<Literal<'a>>,
    pub(super) kind: Option<&'a str>,
    pub(super) map: Option<Rc<Map>>,
    pub(super) bounds: [Option<Rc<Map>>; 2],
    pub(super) segments: Vec<usize>,
    pub(super) position: Vec<i64>,
    /// All others that are a word, number or text, by their names.
    pub(super) others: Vec<(&'a str, &'a str)>,
}

impl<'a> Reader<'a> {
    /// Reads `{NAME = ATTRIBUTE, …}` behind its `{`.
    pub(super) fn attributes(&mut self, found: &mut Attributes<'a>) -> Result<(), Refused> {
        let mut first = true;
        while !self.takes('}') {
            if !std::mem::take(&mut first) {
                self.expect(',')?;
            }
            let name = match self.next() {
                (Word(name) | Text(name), _) => name,
                (_, at) => return Err(self.refused("a name was expected", at, "not understood")),
            };
            if !self.takes('=') {
                continue;
            }
            match name {
                "value" => found.value = Some(self.literal()?),
                "step" => found.step = Some(self.literal()?),
                "predicate" => found.predicate = Some(self.literal()?),
                "kind" => found.kind = self.inner_word()?,
                "map" | "condition" => found.map = Some(self.map_here()?),
                "lowerBoundMap" | "lower_bound" => found.bounds[0] = Some(self.map_here()?),
                "upperBoundMap" | "upper_bound" => found.bounds[1] = Some(self.map_here()?),
                "operandSegmentSizes" | "operand_segment_sizes" => {
                    let numbers = self.numbers()?;
                    found.segments =
                        numbers.iter().map(|n| usize::try_from(*n).unwrap_or(0)).collect();
                }
                "position" => found.position = self.numbers()?,
                _ => {
                    if let Word(word) | Text(word) = self.peek() {
                        found.others.push((name, word));
                    }
                    self.skip_attribute()?;
                }
            }
            // The type of a number.
            if self.takes(':') {
                self.skip_attribute()?;
            }
        }
        Ok(())
    }

    /// Reads a number, `true`, `false`, or the one element of `dense<…>`.
    pub(super) fn literal(&mut self) -> Result<Literal<'a>, Refused> {
        let (word, at) = self.word()?;
        if word != "dense" {
            return Ok(Literal { text: word, at });
        }
        self.expect('<')?;
        let literal = match self.next() {
            (Word(text), at) => Literal { text, at },
            (_, at) => {
                let message = "a constant whose elements differ has no counterpart";
                return Err(self.refused(message, at, "not one number for all lanes"));
            }
        };
        self.expect('>')?;
        Ok(literal)
    }

    /// Reads a map, or the name of one.
    pub(super) fn map_here(&mut self) -> Result<Rc<Map>, Refused> {
        let (word, at) = self.word()?;
        match word {
            "affine_map" | "affine_set" => self.map(),
            name => self.map_named(name, at),
        }
    }

    /// Reads the word inside `#dialect<kind add>` or `#dialect.kind<add>`.
    fn inner_word(&mut self) -> Result<Option<&'a str>, Refused> {
        self.word()?;
        if !self.takes('<') {
            return Ok(None);
        }
        let mut last = None;
        while !self.takes('>') {
            match self.next() {
                (Word(word), _) => last = Some(word),
                (Mark('\0'), at) => {
                    return Err(self.refused("`>` was expected", at, "the end of the text"));
                }
                _ => {}
            }
        }
        Ok(last)
    }

    /// Reads `[1, 2]`, or `array<i64: 1, 2>`.
    fn numbers(&mut self) -> Result<Vec<i64>, Refused> {
        let mut found = Vec::new();
        let (_, start) = self.next();
        loop {
            match self.next() {
                (Mark(']' | '>'), _) => return Ok(found),
                (Word(word), _) => found.extend(word.parse::<i64>().ok()),
                (Mark('\0'), _) => {
                    return Err(self.refused("a list that does not end", start, "starts here"));
                }
                _ => {}
            }
        }
    }

    /// Skips an attribute: everything up to a sign that is not inside brackets and ends it.
    pub(super) fn skip_attribute(&mut self) -> Result<(), Refused> {
        let mut open = 0_usize;
        let mut first = true;
        loop {
            let token = self.peek();
            match token {
                Mark('(' | '[' | '{' | '<') => open += 1,
                Mark(')' | ']' | '}' | '>') if open == 0 => return Ok(()),
                Mark(')' | ']' | '}' | '>') => {
                    open -= 1;
                    if open == 0 {
                        self.next();
                        // The type of a function goes on behind its arrow, a word behind its brackets does not.
                        if self.peek() != Mark('→') {
                            return Ok(());
                        }
                        continue;
                    }
                }
                Mark(',' | ':') if open == 0 => return Ok(()),
                Mark('→') => {}
                Mark('\0') | Token::Open => return Err(self.refuse("an attribute does not end")),
                // A word behind a word belongs to the next operation.
                Word(_) | Text(_) if open == 0 && !first => return Ok(()),
                _ => {}
            }
            self.next();
            first = token == Mark('→');
        }
    }

    /// Gives an operation in the generic form what its attributes say.
    pub(super) fn described(
        &self,
        operation: &mut Operation<'a>,
        attributes: Attributes<'a>,
    ) -> Result<(), Refused> {
        let Attributes { value, step, predicate, kind, map, bounds, segments, position, others } =
            attributes;
        operation.attributes = others;
        operation.literal = value.or(step);
        operation.maps = bounds.into_iter().flatten().chain(map).collect();
        operation.groups = segments;
        operation.numbers = position;
        operation.word = kind;
        if let Some(predicate) = predicate {
            let words = self.rows.predicates(operation.name).unwrap_or_default();
            let at = predicate.text.parse::<usize>().ok();
            let word = at.and_then(|at| words.get(at)).map(String::as_str);
            let Some(word) = word else {
                return Err(self.refused("an unknown predicate", predicate.at, "not known"));
            };
            operation.word = Some(word);
        }
        Ok(())
    }
}
