//! The lines of a text in Ember's dialects: names, constants, and the operations of rows.

use super::lower::NAMES;
use super::product::operation;
use super::rows::{Output, Row, Rows};
use super::types::{Elem, Type, literal};
use ember_language::sexp::Sexp;
use ember_values::scalar::{DType, Scalar};
use itertools::Itertools;
use std::collections::BTreeMap;
use thiserror::Error;

/// The reason why a program has no text in Ember's dialects.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` has no counterpart in the dialects of Ember's artifact, nor one of our own")]
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
        self.constant(format!("{} : {}", literal(scalar), Elem::of(scalar.dtype())))
    }

    /// Writes a choice of two values by a condition.
    pub(super) fn choose(&mut self, operands: [Value; 3]) -> Result<Value, NoDialect> {
        let head = self.rows.form("choice").and_then(Sexp::form).map_or("", |(head, _)| head);
        self.apply(head.trim_start_matches("scf."), operands.into())
    }

    /// Writes an operation on values. A truth value may stand where a number does, and a number where a truth value does.
    pub(super) fn apply(
        &mut self,
        operator: &str,
        operands: Vec<Value>,
    ) -> Result<Value, NoDialect> {
        let rows = self.rows;
        let unknown = || NoDialect(operator.to_owned());
        let last = operands.last().ok_or_else(unknown)?.1.clone();
        let number = last.elem().filter(|elem| *elem != Elem::Bit).unwrap_or(Elem::Index);
        let head = format!("scf.{operator}");
        let is_plain = |row: &Row| {
            row.term.form().is_some_and(|(own, parts)| {
                own == head
                    && parts
                        .iter()
                        .filter_map(|part| part.atom())
                        .eq(NAMES.into_iter().take(operands.len()))
            })
        };
        let as_number = |of: &Type| match of.elem() {
            Some(Elem::Bit) => of.of(number),
            _ => of.clone(),
        };
        let fits = |row: &Row| {
            is_plain(row)
                && row.operands.len() == operands.len()
                && !row.operands.iter().all(|class| class.is_bit())
                && row
                    .operands
                    .iter()
                    .zip(&operands)
                    .all(|(class, (_, of))| class.is_bit() || class.holds(&as_number(of)))
        };
        let (name, row) = rows.plain().find(|(_, row)| fits(row)).ok_or_else(unknown)?;
        let mut names = Vec::new();
        for (operand, class) in operands.into_iter().zip(&row.operands) {
            let wanted = if class.is_bit() { Elem::Bit } else { number };
            names.push(self.as_elem(operand, wanted)?.0);
        }
        let (operation, predicate) = rows.spelled(name);
        let predicate = predicate.map(|word| format!(" {word},")).unwrap_or_default();
        let last = last.of(number);
        let own = self.define(format!("{operation}{predicate} {} : {last}", names.join(", ")));
        let of = if row.output == Output::Bit { last.of(Elem::Bit) } else { last };
        Ok((own, of))
    }

    /// Returns a value as a truth value or number, if it is the other.
    fn as_elem(&mut self, value: Value, wanted: Elem) -> Result<Value, NoDialect> {
        let to = value.1.of(wanted);
        match value.1.elem() {
            Some(own) if own == wanted => Ok(value),
            _ if wanted != Elem::Bit => self.convert(value, wanted),
            _ => {
                let (name, of) = value;
                let zero = match &of {
                    Type::Vector(..) => self.constant(format!("dense<0> : {of}")),
                    _ => self.constant(format!("0 : {of}")),
                };
                Ok((self.define(format!("arith.cmpi ne, {name}, {zero} : {of}")), to))
            }
        }
    }

    /// Writes a conversion.
    pub(super) fn convert(&mut self, value: Value, to: Elem) -> Result<Value, NoDialect> {
        let value = match value.1.elem() {
            Some(Elem::Bit) => {
                let (name, of) = value;
                let wide = of.of(Elem::Of(DType::I64));
                (self.define(format!("arith.extui {name} : {of} to {wide}")), wide)
            }
            _ => value,
        };
        let (_, of) = &value;
        let steps = of.elem().and_then(|from| self.rows.conversions(from, to));
        let steps = steps.ok_or_else(|| NoDialect(format!("{of} as {to}")))?;
        Ok(steps.into_iter().fold(value, |(name, from), (operation, elem)| {
            let of = from.of(elem);
            (self.define(format!("{operation} {name} : {from} to {of}")), of)
        }))
    }

    /// Writes a fold of lanes. Where the order of lanes matters, they are folded half onto half.
    pub(super) fn fold(&mut self, fold: &str, (lanes, of): Value) -> Value {
        let elem = of.elem().unwrap_or(Elem::Index);
        let own = Type::Scalar(elem);
        let float = elem.dtype().is_float();
        // The words for floating-point numbers end so; sums and products of these depend on the order.
        let word = self.rows.lanes_of(fold).find(|word| word.ends_with('f') == float);
        let name = match word {
            Some(word) => {
                self.define(format!("vector.reduction <{word}>, {lanes} : {of} into {own}"))
            }
            None => self.define(half_fold(fold, (&lanes, &of), &own)),
        };
        (name, own)
    }

    /// Writes a product of whole matrices, which starts from zeros.
    pub(super) fn product(
        &mut self,
        transposed: bool,
        [out, a, b]: [Whole<'_>; 3],
    ) -> Result<(), NoDialect> {
        let operation = operation((a.rank, b.rank), transposed).ok_or_else(|| {
            NoDialect(format!("a product of tensors of {} and {} dimensions", a.rank, b.rank))
        })?;
        let zero = self.scalar(Scalar::from_f64(out.dtype, 0.0));
        let elem = Elem::of(out.dtype);
        self.line(format!("linalg.fill ins({zero} : {elem}) outs(%{} : {})", out.name, out.memory));
        self.line(format!(
            "{operation} ins(%{}, %{} : {}, {}) outs(%{} : {})",
            a.name, b.name, a.memory, b.memory, out.name, out.memory,
        ));
        Ok(())
    }
}

/// Returns a product of matrices, of which some are each one of a batch: the result and the factors, each memory with its
/// index behind it.
pub(super) fn product_of_matrices(operands: &[(String, String)], attributes: &[String]) -> String {
    own_operation("matmul", operands, attributes, "()")
}

/// Returns the attribute that says that something holds, if it does.
pub(super) fn holds(name: &str, holds: bool) -> Option<String> {
    holds.then(|| format!("{name} = true"))
}

/// The attribute of a product of matrices whose second factor is taken transposed.
pub(super) const TRANSPOSED: &str = "transposed";

/// The attribute of a product that is added to what its result holds.
pub(super) const ADDS: &str = "adds";

/// The attribute of some rows of a product: their number. The bound that they stay below and the first are behind the
/// factors.
pub(super) const ROWS: &str = "rows";

/// The attribute of a product over a part of the depth: its number. The bound that it stays below and the first are behind
/// those of the rows.
pub(super) const DEPTH: &str = "deep";

/// Returns the rows of a product, and its part of the depth if it is over one, with their attributes.
pub(super) fn sides<T>(rows: T, depth: Option<T>) -> impl Iterator<Item = (&'static str, T)> {
    std::iter::once((ROWS, rows)).chain(depth.map(|depth| (DEPTH, depth)))
}

/// The attribute of a product of some columns: of the result, or of the first factor if it is added. The first of them is
/// behind the factors.
pub(super) const COLUMNS: &str = "columns";

/// Names of values with their types as text.
pub(super) type Operands = Vec<(String, String)>;

/// A tensor as a whole.
pub(super) struct Whole<'a> {
    pub(super) name: &'a str,
    pub(super) dtype: DType,
    pub(super) rank: usize,
    /// Its type as text.
    pub(super) memory: String,
}

/// Returns a load of the access unit: operands are the memory and the indices; `end` is what lanes end below.
pub(super) fn loaded(
    operands: &[(String, String)],
    attributes: &[String],
    result: &str,
    end: Option<&str>,
) -> String {
    let (memories, indices) = operands.split_at(1.min(operands.len()));
    let list = |part: fn(&(String, String)) -> &str| {
        let inside: Vec<&str> = indices.iter().map(part).collect();
        format!("{}[{}]", memories.first().map_or("", part), inside.join(", "))
    };
    let (places, types) = (list(|(name, _)| name), list(|(_, of)| of));
    let (dialect, note) = match end {
        Some(end) => ("slcvec", format!(" // lanes below {end}")),
        None => ("slc", String::new()),
    };
    let attributes = braced(attributes);
    format!("{dialect}.mem_stream {places}{attributes} : {types} into {result}{note}")
}

/// Returns attributes in braces, or nothing for none.
fn braced(attributes: &[String]) -> String {
    match attributes {
        [] => String::new(),
        some => format!(" {{{}}}", some.join(", ")),
    }
}

/// Returns the fold of lanes, half onto half.
pub(super) fn half_fold(fold: &str, (lanes, of): (&str, &Type), result: &Type) -> String {
    let operands = [(lanes.to_owned(), of.to_string())];
    own_operation("fold", &operands, &[format!("fold = \"{fold}\"")], &result.to_string())
}

/// Returns an operation of our own dialect, which stands for what neither the artifact nor MLIR has.
pub(super) fn own_operation(
    name: &str,
    operands: &[(String, String)],
    attributes: &[String],
    result: &str,
) -> String {
    let names: Vec<&str> = operands.iter().map(|(name, _)| name.as_str()).collect();
    let types: Vec<&str> = operands.iter().map(|(_, of)| of.as_str()).collect();
    let attributes = braced(attributes);
    let (names, types) = (names.join(", "), types.join(", "));
    format!("\"dae.{name}\"({names}){attributes} : ({types}) -> {result}")
}

/// Returns the lines of a loop of our own dialect before and after its region: the operation, the arguments of the region,
/// and the types.
pub(super) fn own_loop(
    name: &str,
    operands: &[(String, String)],
    arguments: &[(String, String)],
    result: &str,
) -> [String; 3] {
    let names = operands.iter().map(|(name, _)| name.as_str()).join(", ");
    let types = operands.iter().map(|(_, of)| of.as_str()).join(", ");
    let inside = arguments.iter().map(|(name, of)| format!("{name}: {of}")).join(", ");
    let first = format!("\"dae.{name}\"({names}) ({{");
    [first, format!("^bb0({inside}):"), format!("}}) : ({types}) -> {result}")]
}
