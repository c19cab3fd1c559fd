//! Operations in the pretty form.

use super::attributes::Attributes;
use super::{Helped, Reader, Refused};
use crate::mlir::affine::Map;
use crate::mlir::rows::Kind;
use crate::mlir::source::{Mark, Operation, Token, Use, Word};
use crate::mlir::types::{Elem, Type};
use std::ops::Range;
use std::rc::Rc;

/// A value that a region names before it starts.
type Argument<'a> = (&'a str, Range<usize>, Option<Type>);

impl<'a> Reader<'a> {
    /// Reads an operation behind its name.
    pub(super) fn pretty(&mut self, operation: Operation<'a>) -> Result<Operation<'a>, Refused> {
        match operation.kind {
            Kind::Module => self.module(operation),
            Kind::Function => self.function(operation),
            Kind::Loop => self.counted(operation),
            Kind::Parallel => self.parallel(operation),
            Kind::AffineLoop => self.affine_loop(operation),
            Kind::Branch | Kind::AffineBranch => self.branch(operation),
            Kind::Yield => self.ending(operation),
            Kind::Fill | Kind::Product | Kind::ProductTransposed => self.whole(operation),
            Kind::Callback | Kind::AccessHalf => self.callback(operation),
            Kind::ComputeHalf => self.cases(operation),
            Kind::Unit => self.unit(operation),
            Kind::UnitCallback | Kind::UnitOperand => self.registered(operation),
            _ => self.plain(operation),
        }
    }

    /// Reads `module @name attributes {…} { … }`.
    fn module(&mut self, mut operation: Operation<'a>) -> Result<Operation<'a>, Refused> {
        if matches!(self.peek(), Word(name) if name.starts_with('@')) {
            self.next();
        }
        if self.takes_word("attributes") {
            self.skip_dictionary()?;
        }
        self.expect('{')?;
        operation.regions.push(self.region(Vec::new())?);
        Ok(operation)
    }

    /// Reads `func.func private @name(%a: T {…}, …) -> T attributes {…} { … }`.
    fn function(&mut self, mut operation: Operation<'a>) -> Result<Operation<'a>, Refused> {
        operation.word = match self.takes_word("private") {
            true => Some("private"),
            false => {
                self.takes_word("public");
                None
            }
        };
        operation.symbol = self.word()?.0.strip_prefix('@');
        self.expect('(')?;
        let mut arguments: Vec<Argument<'a>> = Vec::new();
        let mut declared = false;
        while !self.takes(')') {
            if !arguments.is_empty() || declared {
                self.expect(',')?;
            }
            if self.at_type() {
                // A declaration names no arguments.
                declared = true;
                self.of_type()?;
            } else {
                let (name, at) = self.word()?;
                self.expect(':')?;
                arguments.push((name, at, Some(self.of_type()?)));
            }
            self.skip_dictionary()?;
        }
        if self.takes('→') {
            operation.types = self.some_types()?;
        }
        if self.takes_word("attributes") {
            self.skip_dictionary()?;
        }
        if self.takes('{') {
            operation.regions.push(self.region(arguments)?);
        }
        Ok(operation)
    }

    /// Reads `%i = %lo to %hi step %s iter_args(…) -> (T) : T { … }`.
    fn counted(&mut self, mut operation: Operation<'a>) -> Result<Operation<'a>, Refused> {
        let (name, at) = self.word()?;
        self.expect('=')?;
        operation.operands.push(self.operand()?);
        self.expect_word("to")?;
        operation.operands.push(self.operand()?);
        self.expect_word("step")?;
        operation.operands.push(self.operand()?);
        let mut arguments = vec![(name, at, None)];
        let carried = self.carried(&mut operation, &mut arguments)?;
        if self.takes(':') {
            arguments[0].2 = Some(self.of_type()?);
            // A loop of streams has the type of its variable, too.
            if self.takes('→') {
                self.of_type()?;
            }
        }
        operation.groups = vec![1, 1, 1, carried];
        self.body(&mut operation, arguments)?;
        Ok(operation)
    }

    /// Reads `(%i, %j) = (%a, %b) to (%c, %d) step (%e, %f) { … }`.
    fn parallel(&mut self, mut operation: Operation<'a>) -> Result<Operation<'a>, Refused> {
        let mut arguments: Vec<Argument<'a>> = Vec::new();
        self.expect('(')?;
        while !self.takes(')') {
            if !arguments.is_empty() {
                self.expect(',')?;
            }
            let (name, at) = self.word()?;
            arguments.push((name, at, None));
        }
        for start in ["=", "to", "step"] {
            if start == "=" {
                self.expect('=')?
            } else {
                self.expect_word(start)?
            }
            let values = self.values('(', ')')?;
            operation.groups.push(values.len());
            operation.operands.extend(values);
        }
        if matches!(self.peek(), Word("init")) {
            return Err(self.refuse("a parallel loop that reduces has no counterpart"));
        }
        self.body(&mut operation, arguments)?;
        Ok(operation)
    }

    /// Reads `%i = 0 to min #map(%a)[%b] step 2 iter_args(…) -> (T) { … }`.
    fn affine_loop(&mut self, mut operation: Operation<'a>) -> Result<Operation<'a>, Refused> {
        let (name, at) = self.word()?;
        self.expect('=')?;
        self.bound(&mut operation, "max")?;
        self.expect_word("to")?;
        self.bound(&mut operation, "min")?;
        if self.takes_word("step") {
            operation.literal = Some(self.literal()?);
        }
        let mut arguments = vec![(name, at, None)];
        let carried = self.carried(&mut operation, &mut arguments)?;
        operation.groups.push(carried);
        self.body(&mut operation, arguments)?;
        Ok(operation)
    }

    /// Reads a bound of an affine loop: a number, a value, or a map with its operands.
    fn bound(&mut self, operation: &mut Operation<'a>, several: &str) -> Result<(), Refused> {
        self.takes_word(several);
        let (word, at) = self.word()?;
        let (map, operands): (Rc<Map>, Vec<Use>) = match word {
            value if value.starts_with('%') => {
                (Rc::new(Map::identity()), vec![(self.value_named(value, at.clone())?, at)])
            }
            "affine_map" => (self.map()?, self.mapped()?),
            name if name.starts_with('#') => (self.map_named(name, at)?, self.mapped()?),
            number => {
                let number = number.parse().map_err(|_| {
                    self.refused("a bound is a number, a value or a map", at, "not understood")
                })?;
                (Rc::new(Map::number(number)), Vec::new())
            }
        };
        operation.maps.push(map);
        operation.groups.push(operands.len());
        operation.operands.extend(operands);
        Ok(())
    }

    /// Reads the operands of a map: `(%a)[%b]`.
    fn mapped(&mut self) -> Result<Vec<Use>, Refused> {
        let mut operands = self.values('(', ')')?;
        if matches!(self.peek(), Mark('[')) {
            operands.extend(self.values('[', ']')?);
        }
        Ok(operands)
    }

    /// Reads values between brackets.
    fn values(&mut self, open: char, close: char) -> Result<Vec<Use>, Refused> {
        self.expect(open)?;
        let mut found = Vec::new();
        while !self.takes(close) {
            if !found.is_empty() {
                self.expect(',')?;
            }
            found.push(self.operand()?);
        }
        Ok(found)
    }

    /// Reads `iter_args(%a = %b, …) -> (T, …)`, if a loop has it, and returns how many values it carries.
    fn carried(
        &mut self,
        operation: &mut Operation<'a>,
        arguments: &mut Vec<Argument<'a>>,
    ) -> Result<usize, Refused> {
        if !self.takes_word("iter_args") {
            return Ok(0);
        }
        let mut count = 0;
        self.expect('(')?;
        while !self.takes(')') {
            if count > 0 {
                self.expect(',')?;
            }
            let (name, at) = self.word()?;
            self.expect('=')?;
            operation.operands.push(self.operand()?);
            arguments.push((name, at, None));
            count += 1;
        }
        self.expect('→')?;
        operation.types = self.some_types()?;
        Ok(count)
    }

    /// Reads the region of a loop, and the attributes behind it.
    fn body(
        &mut self,
        operation: &mut Operation<'a>,
        arguments: Vec<Argument<'a>>,
    ) -> Result<(), Refused> {
        self.expect('{')?;
        let region = self.region(arguments)?;
        operation.regions.push(region);
        self.described_by(operation)
    }

    /// Reads the attributes of an operation, if it has some.
    pub(super) fn described_by(&mut self, operation: &mut Operation<'a>) -> Result<(), Refused> {
        if self.takes('{') {
            let mut attributes = Attributes::default();
            self.attributes(&mut attributes)?;
            operation.attributes.append(&mut attributes.others);
        }
        Ok(())
    }

    /// Reads `%c -> (T) { … } else { … }`, or the same with a set and its operands.
    fn branch(&mut self, mut operation: Operation<'a>) -> Result<Operation<'a>, Refused> {
        if operation.kind == Kind::Branch {
            operation.operands.push(self.operand()?);
        } else {
            let set = self.map_here()?;
            operation.operands = self.mapped()?;
            operation.maps.push(set);
        }
        if self.takes('→') {
            operation.types = self.some_types()?;
        }
        self.body(&mut operation, Vec::new())?;
        if self.takes_word("else") {
            self.body(&mut operation, Vec::new())?;
        }
        Ok(operation)
    }

    /// Reads the end of a region with the values that it gives: `%a, %b : T, T`.
    fn ending(&mut self, mut operation: Operation<'a>) -> Result<Operation<'a>, Refused> {
        while matches!(self.peek(), Word(name) if name.starts_with('%')) {
            operation.operands.push(self.operand()?);
            if !self.takes(',') {
                self.expect(':')?;
                self.signature(&mut operation)?;
                break;
            }
        }
        Ok(operation)
    }

    /// Reads `indexing_maps = [#a, #b, #c] ins(%a, %b : T, T) outs(%c : T)`, or the same without maps.
    fn whole(&mut self, mut operation: Operation<'a>) -> Result<Operation<'a>, Refused> {
        if self.takes_word("indexing_maps") {
            self.expect('=')?;
            self.expect('[')?;
            operation.maps.push(self.map_here()?);
            while self.takes(',') {
                operation.maps.push(self.map_here()?);
            }
            self.expect(']')?;
        }
        for word in ["ins", "outs"] {
            self.expect_word(word)?;
            self.expect('(')?;
            operation.operands.push(self.operand()?);
            while self.takes(',') {
                operation.operands.push(self.operand()?);
            }
            self.expect(':')?;
            operation.types.push(self.of_type()?);
            while self.takes(',') {
                operation.types.push(self.of_type()?);
            }
            self.expect(')')?;
        }
        Ok(operation)
    }

    /// Reads `{ … } : index`; the type may be missing.
    fn callback(&mut self, mut operation: Operation<'a>) -> Result<Operation<'a>, Refused> {
        self.body(&mut operation, Vec::new())?;
        if self.takes(':') && self.at_type() {
            self.of_type()?;
        }
        Ok(operation)
    }

    /// Reads any other operation: operands, with brackets or without, words, numbers and maps, and types behind a colon.
    fn plain(&mut self, mut operation: Operation<'a>) -> Result<Operation<'a>, Refused> {
        if operation.kind == Kind::Constant {
            self.skip_dictionary()?;
            operation.literal = Some(self.literal()?);
            match self.takes(':') {
                true => self.signature(&mut operation)?,
                false => operation.types.push(Type::Scalar(Elem::Bit)),
            }
            return Ok(operation);
        }
        let affine = operation.name.starts_with("affine.");
        loop {
            match self.peek() {
                Word(name) if name.starts_with('%') => operation.operands.push(self.operand()?),
                Word(name) if name.starts_with('#') || name.starts_with("affine_") => {
                    let map = self.map_here()?;
                    operation.maps.push(map);
                    operation.operands.extend(self.mapped()?);
                }
                Word(_) => {
                    let (word, _) = self.word()?;
                    operation.word.get_or_insert(word);
                    if self.peek() == Mark('<') {
                        self.angles()?;
                    }
                }
                Mark('<') => {
                    self.next();
                    operation.word = Some(self.word()?.0);
                    self.expect('>')?;
                }
                Mark('[') if affine => {
                    self.next();
                    let map = self.places(&mut operation.operands)?;
                    operation.maps.push(map);
                }
                Mark('[') => self.bracket(&mut operation)?,
                Mark('(') => operation.operands.extend(self.values('(', ')')?),
                Mark('{') => self.described_by(&mut operation)?,
                Mark(':') => {
                    self.next();
                    self.signature(&mut operation)?;
                    return Ok(operation);
                }
                _ => break,
            }
            // What goes on does so with a sign, or with a word that says how to compute.
            self.takes(',');
            let token = self.peek();
            let more = matches!(token, Mark(':' | '[' | '(' | '{' | '<'))
                || matches!(token, Word("fastmath" | "overflow"))
                || self.behind_comma(&operation, token);
            if !more {
                break;
            }
        }
        match operation.kind {
            Kind::Return | Kind::Apply | Kind::Least | Kind::Greatest => Ok(operation),
            _ => {
                let error = self.refuse(format!("`{}` has no type", operation.name));
                Err(error.with_help_boxed("write `: TYPE` behind its operands"))
            }
        }
    }

    /// True for an operand or word that may follow the last one. A result of the next operation looks like an operand,
    /// so operations without a type end where no comma or bracket goes on.
    fn behind_comma(&self, operation: &Operation<'a>, token: Token<'a>) -> bool {
        let typeless = matches!(operation.kind, Kind::Apply | Kind::Least | Kind::Greatest);
        let words = operation.operands.is_empty() || operation.kind == Kind::Hint;
        matches!(token, Word(word) if !typeless && (word.starts_with('%') || words))
    }

    /// Reads values and numbers between brackets.
    fn bracket(&mut self, operation: &mut Operation<'a>) -> Result<(), Refused> {
        self.expect('[')?;
        while !self.takes(']') {
            let Word(word) = self.peek() else {
                return Err(self.refuse("an index was expected"));
            };
            match word.parse() {
                Ok(number) => {
                    self.next();
                    operation.numbers.push(number);
                }
                Err(_) => operation.operands.push(self.operand()?),
            }
            if !self.takes(',') {
                self.expect(']')?;
                break;
            }
        }
        Ok(())
    }
}
