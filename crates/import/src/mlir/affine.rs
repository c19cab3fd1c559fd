//! Affine maps and sets: expressions over dimensions and symbols, which are the operands of a map in this order.

use super::read::{Reader, Refused};
use super::source::{Mark, Word};
use std::ops::Range;
use std::rc::Rc;

/// An affine expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Affine {
    /// An operand of the map.
    Operand(usize),
    /// A number.
    Number(i64),
    /// Two expressions and what is done to them.
    Of(Sign, Box<[Affine; 2]>),
}

/// An operation of affine expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Sum,
    Difference,
    Product,
    Floor,
    Ceiling,
    Modulo,
}

/// A map: some expressions over its operands; or a set: constraints on them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Map {
    /// The number of operands.
    pub(super) operands: usize,
    /// The results; those of a set are at least 0.
    pub(super) results: Vec<Affine>,
    /// For each constraint of a set, true if it is equal to 0.
    pub(super) equal: Vec<bool>,
}

impl Map {
    /// The map of one operand to itself.
    pub(super) fn identity() -> Map {
        Map { operands: 1, results: vec![Affine::Operand(0)], equal: Vec::new() }
    }

    /// The map of no operand to a number.
    pub(super) fn number(n: i64) -> Map {
        Map { operands: 0, results: vec![Affine::Number(n)], equal: Vec::new() }
    }
}

/// The meaning of names in an expression.
enum Names<'n, 'a> {
    /// The names that a map declares.
    Declared(&'n [&'a str]),
    /// Values, which become operands in the order of their first use.
    Values(&'n mut Vec<(usize, Range<usize>)>),
}

/// The deepest nesting of expressions.
const DEEPEST: usize = 64;

impl<'a> Reader<'a> {
    /// Reads `<(d0, …)[s0, …] -> (…)>`, or `<(d0, …)[s0, …] : (… >= 0, … == 0)>`.
    pub(super) fn map(&mut self) -> Result<Rc<Map>, Refused> {
        self.expect('<')?;
        let mut names = Vec::new();
        self.expect('(')?;
        self.declared(')', &mut names)?;
        if self.takes('[') {
            self.declared(']', &mut names)?;
        }
        let set = self.takes(':');
        if !set {
            self.expect('→')?;
        }
        self.expect('(')?;
        let (mut results, mut equal) = (Vec::new(), Vec::new());
        while !self.takes(')') {
            if !results.is_empty() {
                self.expect(',')?;
            }
            results.push(self.affine(&mut Names::Declared(&names), 0)?);
            if set {
                equal.push(self.takes('='));
                if equal.last() == Some(&false) {
                    self.expect('>')?;
                }
                self.expect('=')?;
                if self.word()?.0 != "0" {
                    return Err(self.refuse("a constraint compares with 0"));
                }
            }
        }
        self.expect('>')?;
        Ok(Rc::new(Map { operands: names.len(), results, equal }))
    }

    fn declared(&mut self, close: char, names: &mut Vec<&'a str>) -> Result<(), Refused> {
        let first = names.len();
        while !self.takes(close) {
            if names.len() > first {
                self.expect(',')?;
            }
            names.push(self.word()?.0);
        }
        Ok(())
    }

    /// Reads the places between brackets, in which values stand for themselves; the bracket is open already.
    pub(super) fn places(
        &mut self,
        operands: &mut Vec<(usize, Range<usize>)>,
    ) -> Result<Rc<Map>, Refused> {
        let (mut own, mut results) = (Vec::new(), Vec::new());
        while !self.takes(']') {
            if !results.is_empty() {
                self.expect(',')?;
            }
            results.push(self.affine(&mut Names::Values(&mut own), 0)?);
        }
        let map = Map { operands: own.len(), results, equal: Vec::new() };
        operands.extend(own);
        Ok(Rc::new(map))
    }

    /// Reads a sum.
    fn affine(&mut self, names: &mut Names<'_, 'a>, depth: usize) -> Result<Affine, Refused> {
        if depth > DEEPEST {
            return Err(self.refuse(format!("expressions nest deeper than {DEEPEST}")));
        }
        let mut sum = self.product(names, depth)?;
        loop {
            let sign = match self.peek() {
                Mark('+') => Sign::Sum,
                Mark('-') => Sign::Difference,
                // A sign right before a number belongs to it.
                Word(word) if word.starts_with('-') => {
                    let right = self.product(names, depth)?;
                    sum = Affine::Of(Sign::Sum, Box::new([sum, right]));
                    continue;
                }
                _ => return Ok(sum),
            };
            self.next();
            let right = self.product(names, depth)?;
            sum = Affine::Of(sign, Box::new([sum, right]));
        }
    }

    fn product(&mut self, names: &mut Names<'_, 'a>, depth: usize) -> Result<Affine, Refused> {
        let mut product = self.factor(names, depth)?;
        loop {
            let sign = match self.peek() {
                Mark('*') => Sign::Product,
                Word("floordiv") => Sign::Floor,
                Word("ceildiv") => Sign::Ceiling,
                Word("mod") => Sign::Modulo,
                _ => return Ok(product),
            };
            self.next();
            let right = self.factor(names, depth)?;
            product = Affine::Of(sign, Box::new([product, right]));
        }
    }

    fn factor(&mut self, names: &mut Names<'_, 'a>, depth: usize) -> Result<Affine, Refused> {
        if self.takes('(') {
            let inside = self.affine(names, depth + 1)?;
            self.expect(')')?;
            return Ok(inside);
        }
        if self.takes('-') {
            let zero = Affine::Number(0);
            let inside = self.factor(names, depth + 1)?;
            return Ok(Affine::Of(Sign::Difference, Box::new([zero, inside])));
        }
        if matches!(self.peek(), Word("symbol")) {
            self.next();
            self.expect('(')?;
            let inside = self.affine(names, depth + 1)?;
            self.expect(')')?;
            return Ok(inside);
        }
        let (word, at) = self.word()?;
        if let Ok(number) = word.parse() {
            return Ok(Affine::Number(number));
        }
        match names {
            Names::Declared(names) => names.iter().position(|name| *name == word),
            Names::Values(operands) => {
                let value = self.value_named(word, at.clone())?;
                let known = operands.iter().position(|(own, _)| *own == value);
                Some(known.unwrap_or_else(|| {
                    operands.push((value, at.clone()));
                    operands.len() - 1
                }))
            }
        }
        .map(Affine::Operand)
        .ok_or_else(|| self.refused(format!("`{word}` names nothing here"), at, "not known"))
    }
}
