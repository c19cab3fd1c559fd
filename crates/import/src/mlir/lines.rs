//! The lines of a text in Ember's dialects: names, constants, and the operations of rows.

use super::rows::{Output, Row, Rows};
use super::types::{Elem, Type};
use ember_values::scalar::Scalar;
use std::collections::BTreeMap;
use thiserror::Error;

/// The reason why a program has no text in Ember's dialects.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` has no counterpart in the dialects of Ember's artifact")]
pub struct NoDialect(pub String);

/// A value: its name and its type.
pub(super) type Value = (String, Type);

/// The lines of a function.
pub(super) struct Lines {
    rows: &'static Rows,
    lines: Vec<String>,
    /// The depth of regions.
    pub(super) indent: usize,
    count: usize,
    /// The names of constants by their texts.
    constants: BTreeMap<String, String>,
    /// The constants and sizes, before everything else.
    pub(super) first: Vec<String>,
}

impl Lines {
    pub(super) fn new() -> Result<Lines, NoDialect> {
        Ok(Lines {
            rows: Rows::shipped().map_err(NoDialect)?,
            lines: Vec::new(),
            indent: 1,
            count: 0,
            constants: BTreeMap::new(),
            first: Vec::new(),
        })
    }

    /// Returns the text of the function.
    pub(super) fn function(self, name: &str, arguments: &[String]) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = name.chars().map(plain).collect();
        let mut lines = vec![format!("func.func @{name}({}) {{", arguments.join(", "))];
        lines.extend(self.first.into_iter().map(|line| format!("  {line}")));
        lines.extend(self.lines);
        lines.extend(["  return".to_owned(), "}".to_owned()]);
        lines.join("\n") + "\n"
    }

    /// Returns a new name.
    pub(super) fn fresh(&mut self) -> String {
        self.count += 1;
        format!("%{}", self.count - 1)
    }

    /// Adds a line.
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        self.lines.push(format!("{}{}", "  ".repeat(self.indent), line.as_ref()));
    }

    /// Adds a line that defines a value, and returns its name.
    pub(super) fn define(&mut self, operation: impl AsRef<str>) -> String {
        let name = self.fresh();
        self.line(format!("{name} = {}", operation.as_ref()));
        name
    }

    /// Returns the name of a constant.
    pub(super) fn constant(&mut self, text: String) -> String {
        if let Some(known) = self.constants.get(&text) {
            return known.clone();
        }
        let name = self.fresh();
        self.first.push(format!("{name} = arith.constant {text}"));
        self.constants.insert(text, name.clone());
        name
    }

    /// Returns the name of a whole number.
    pub(super) fn number(&mut self, n: i64) -> String {
        self.constant(format!("{n} : index"))
    }

    /// Returns the name of a scalar.
    pub(super) fn scalar(&mut self, scalar: Scalar) -> String {
        let of = Elem::of(scalar.dtype());
        match scalar.as_f64() {
            x if !x.is_finite() => {
                let width = (scalar.dtype().bits() / 4) as usize;
                self.constant(format!("0x{:0width$X} : {of}", scalar.to_bits()))
            }
            _ => self.constant(format!("{scalar} : {of}")),
        }
    }

    /// Writes an operation on values.
    pub(super) fn apply(
        &mut self,
        operator: &str,
        operands: Vec<Value>,
    ) -> Result<Value, NoDialect> {
        let types: Vec<Type> = operands.iter().map(|(_, of)| of.clone()).collect();
        let (operation, output) = self.operation(operator, &types)?;
        let names: Vec<String> = operands.into_iter().map(|(name, _)| name).collect();
        let last = types.last().cloned().unwrap_or(Type::Scalar(Elem::Index));
        let name = self.define(format!("{operation} {} : {last}", names.join(", ")));
        let of = if output == Output::Bit { last.of(Elem::Bit) } else { last };
        Ok((name, of))
    }

    /// Writes a conversion.
    pub(super) fn convert(&mut self, value: Value, to: Elem) -> Result<Value, NoDialect> {
        let (_, of) = &value;
        let steps = of.elem().and_then(|from| self.rows.conversions(from, to));
        let steps = steps.ok_or_else(|| NoDialect(format!("{of} as {to}")))?;
        Ok(steps.into_iter().fold(value, |(name, from), (operation, elem)| {
            let of = from.of(elem);
            (self.define(format!("{operation} {name} : {from} to {of}")), of)
        }))
    }

    /// Returns the operation whose row is an operator of its operands, and its predicate.
    fn operation(&self, operator: &str, operands: &[Type]) -> Result<(String, Output), NoDialect> {
        let head = format!("scf.{operator}");
        let names = ["a", "b", "c"];
        let fits = |row: &Row| {
            row.term.list().is_some_and(|items| {
                items[0].atom() == Some(head.as_str())
                    && items[1..]
                        .iter()
                        .filter_map(|item| item.atom())
                        .eq(names.into_iter().take(operands.len()))
            }) && row.operands.len() == operands.len()
                && row.operands.iter().zip(operands).all(|(class, of)| class.holds(of))
        };
        let found = self.rows.plain().find(|(_, row)| fits(row));
        let (name, row) = found.ok_or_else(|| NoDialect(operator.to_owned()))?;
        let (name, predicate) = self.rows.spelled(name);
        let predicate = predicate.map(|word| format!(" {word},")).unwrap_or_default();
        Ok((format!("{name}{predicate}"), row.output))
    }
}
