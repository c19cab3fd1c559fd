//! Writes DLC programs in the dialects of the public Ember artifact: `slc` and `slcvec` for streams, `dlc` for the two
//! halves. What the artifact has no operation for is refused.
//!
//! Registers of the execute unit, which hold their values from one callback to the next, are memory of rank 0.

mod access;
mod compute;

use super::rows::{Output, Rows};
use super::types::{Elem, Type};
use ember_targets::dlc::{self, Dim, Program, TensorDecl};
use ember_values::scalar::Scalar;
use std::collections::BTreeMap;
use thiserror::Error;

/// The reason why a program has no text in Ember's dialects.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` has no counterpart in the dialects of Ember's artifact")]
pub struct NoDialect(pub String);

/// The state of writing.
struct Writer<'a> {
    rows: &'static Rows,
    program: &'a Program,
    lines: Vec<String>,
    indent: usize,
    count: usize,
    /// The names of constants by their texts.
    constants: BTreeMap<String, String>,
    /// The constants and sizes, before everything else.
    first: Vec<String>,
    sizes: Vec<String>,
    streams: Vec<String>,
    units: Vec<String>,
}

/// Returns the text of a program.
pub fn dlc_text(program: &Program) -> Result<String, NoDialect> {
    let rows = Rows::shipped().map_err(NoDialect)?;
    let mut writer = Writer {
        rows,
        program,
        lines: Vec::new(),
        indent: 1,
        count: 0,
        constants: BTreeMap::new(),
        first: Vec::new(),
        sizes: Vec::new(),
        streams: Vec::new(),
        units: Vec::new(),
    };
    let (mut arguments, mut sizes) = (Vec::new(), Vec::new());
    for tensor in &program.tensors {
        arguments.push(format!("%{}: {}", tensor.name, memory(tensor)));
    }
    for (at, name) in program.sizes.iter().enumerate() {
        let extent = |dim: &Dim| matches!(dim, Dim::Size(id) if id.index() == at);
        let holder = program
            .tensors
            .iter()
            .find_map(|tensor| Some((tensor, tensor.shape.iter().position(extent)?)));
        sizes.push(match holder {
            Some((tensor, dimension)) => {
                let dimension = writer.number(i64::try_from(dimension).unwrap_or(0));
                let own = writer.fresh();
                let of = memory(tensor);
                writer
                    .first
                    .push(format!("{own} = memref.dim %{}, {dimension} : {of}", tensor.name));
                own
            }
            None => {
                arguments.push(format!("%{name}: index"));
                format!("%{name}")
            }
        });
    }
    writer.sizes = sizes;
    writer.access()?;
    writer.compute()?;
    let name: String =
        program.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let mut lines = vec![format!("func.func @{name}({}) {{", arguments.join(", "))];
    lines.extend(writer.first.into_iter().map(|line| format!("  {line}")));
    lines.extend(writer.lines);
    lines.extend(["  return".to_owned(), "}".to_owned()]);
    Ok(lines.join("\n") + "\n")
}

impl Writer<'_> {
    /// Returns a new name.
    fn fresh(&mut self) -> String {
        self.count += 1;
        format!("%{}", self.count - 1)
    }

    /// Adds a line.
    fn line(&mut self, line: impl AsRef<str>) {
        self.lines.push(format!("{}{}", "  ".repeat(self.indent), line.as_ref()));
    }

    /// Adds a line that defines a value, and returns its name.
    fn define(&mut self, operation: impl AsRef<str>) -> String {
        let name = self.fresh();
        self.line(format!("{name} = {}", operation.as_ref()));
        name
    }

    /// Returns the name of a constant.
    fn constant(&mut self, text: String) -> String {
        if let Some(known) = self.constants.get(&text) {
            return known.clone();
        }
        let name = self.fresh();
        self.first.push(format!("{name} = arith.constant {text}"));
        self.constants.insert(text, name.clone());
        name
    }

    /// Returns the name of a whole number.
    fn number(&mut self, n: i64) -> String {
        self.constant(format!("{n} : index"))
    }

    /// Returns the name of a scalar.
    fn scalar(&mut self, scalar: Scalar) -> String {
        let of = elem(scalar.dtype());
        match scalar.as_f64() {
            x if !x.is_finite() => {
                let width = (scalar.dtype().bits() / 4) as usize;
                self.constant(format!("0x{:0width$X} : {of}", scalar.to_bits()))
            }
            _ => self.constant(format!("{scalar} : {of}")),
        }
    }

    /// Returns the operation whose row is an operator of its operands, and its predicate.
    fn operation(&self, operator: &str, operands: &[Type]) -> Result<(String, Output), NoDialect> {
        let head = format!("scf.{operator}");
        let names = ["a", "b", "c"];
        let fits = |row: &super::rows::Row| {
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

/// Returns the type of elements.
fn elem(dtype: ember_values::scalar::DType) -> Elem {
    if dtype == Elem::Index.dtype() { Elem::Index } else { Elem::Of(dtype) }
}

/// Returns the type of a stream's or register's elements.
fn typed(of: dlc::Type) -> Type {
    match of.lanes {
        1 => Type::Scalar(elem(of.dtype)),
        lanes => Type::Vector(u64::from(lanes), elem(of.dtype)),
    }
}

/// Returns the type of a tensor.
fn memory(tensor: &TensorDecl) -> String {
    let extents = tensor.shape.iter().map(|dim| match dim {
        Dim::Const(n) => format!("{n}x"),
        Dim::Size(_) => "?x".to_owned(),
    });
    format!("memref<{}{}>", extents.collect::<String>(), elem(tensor.dtype))
}
