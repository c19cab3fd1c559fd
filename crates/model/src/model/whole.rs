//! Positions that are computed of other inputs before a program runs, element by element: `(computed (floormod ids 1000))`.

use super::kinds::read_name;
use super::read::Reader;
use super::source::number;
use super::{Input, Role, Source};
use ember_language::sexp::{Sexp, deeper};
use ember_language::suggest;
use ember_values::scalar::BinaryOp;
use std::fmt;

/// Whole numbers of 64 bits, computed of those in inputs. Sums, differences and products wrap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whole {
    /// The same number everywhere.
    Number(i64),
    /// The elements of an input, repeated along dimensions that it lacks or has once.
    Input(String),
    /// An operation on the elements at the same place.
    Apply(&'static WholeOp, Vec<Whole>),
}

/// An operation on whole numbers. `scf.NAME` is the operator that programs have for it.
#[derive(Debug)]
pub struct WholeOp {
    /// The name.
    pub name: &'static str,
    /// The number of operands.
    pub operands: usize,
    value: fn(&[i64]) -> i64,
}

impl PartialEq for WholeOp {
    fn eq(&self, other: &WholeOp) -> bool {
        self.name == other.name
    }
}

impl Eq for WholeOp {}

/// The operations on whole numbers. A quotient by 0 is 0.
pub const WHOLE_OPS: [WholeOp; 12] = [
    WholeOp { name: "add", operands: 2, value: |x| BinaryOp::Add.i64(x[0], x[1]) },
    WholeOp { name: "sub", operands: 2, value: |x| BinaryOp::Sub.i64(x[0], x[1]) },
    WholeOp { name: "mul", operands: 2, value: |x| BinaryOp::Mul.i64(x[0], x[1]) },
    WholeOp { name: "div", operands: 2, value: |x| BinaryOp::Div.i64(x[0], x[1]) },
    WholeOp {
        name: "mod",
        operands: 2,
        value: |x| x[0].wrapping_sub(BinaryOp::Div.i64(x[0], x[1]).wrapping_mul(x[1])),
    },
    WholeOp { name: "floordiv", operands: 2, value: |x| floor_div(x[0], x[1]) },
    WholeOp {
        name: "floormod",
        operands: 2,
        value: |x| x[0].wrapping_sub(floor_div(x[0], x[1]).wrapping_mul(x[1])),
    },
    WholeOp { name: "max", operands: 2, value: |x| BinaryOp::Max.i64(x[0], x[1]) },
    WholeOp { name: "min", operands: 2, value: |x| BinaryOp::Min.i64(x[0], x[1]) },
    WholeOp { name: "lt", operands: 2, value: |x| i64::from(x[0] < x[1]) },
    WholeOp { name: "le", operands: 2, value: |x| i64::from(x[0] <= x[1]) },
    WholeOp { name: "select", operands: 3, value: |x| if x[0] != 0 { x[1] } else { x[2] } },
];

/// The quotient, rounded down.
fn floor_div(a: i64, b: i64) -> i64 {
    let quotient = BinaryOp::Div.i64(a, b);
    let rest = a.wrapping_sub(quotient.wrapping_mul(b));
    quotient.wrapping_sub(i64::from(rest != 0 && (rest < 0) != (b < 0) && b != 0))
}

impl WholeOp {
    /// Returns the operation with this name.
    pub fn named(name: &str) -> Option<&'static WholeOp> {
        const { &WHOLE_OPS }.iter().find(|op| op.name == name)
    }

    /// Returns the result for operands, of which there are as many as the operation has.
    pub fn of(&self, operands: &[i64]) -> i64 {
        (self.value)(operands)
    }
}

impl Whole {
    /// Returns the names of the inputs, each once, in the order in which they are first written.
    pub fn inputs(&self) -> Vec<&str> {
        let (mut names, mut open) = (Vec::new(), vec![self]);
        while let Some(own) = open.pop() {
            match own {
                Whole::Number(_) => {}
                Whole::Input(name) if names.contains(&name.as_str()) => {}
                Whole::Input(name) => names.push(name.as_str()),
                Whole::Apply(_, operands) => open.extend(operands.iter().rev()),
            }
        }
        names
    }

    /// Returns the number, where `element` gives that of an input.
    pub fn value(&self, element: &impl Fn(&str) -> i64) -> i64 {
        match self {
            Whole::Number(n) => *n,
            Whole::Input(name) => element(name),
            Whole::Apply(op, operands) => deeper(|| {
                let operands: Vec<i64> = operands.iter().map(|own| own.value(element)).collect();
                op.of(&operands)
            }),
        }
    }
}

impl fmt::Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Whole::Number(n) => write!(f, "{n}"),
            Whole::Input(name) => f.write_str(name),
            Whole::Apply(op, operands) => deeper(|| {
                write!(f, "({}", op.name)?;
                operands.iter().try_for_each(|own| write!(f, " {own}"))?;
                f.write_str(")")
            }),
        }
    }
}

/// Reads `(computed EXPRESSION)`.
pub(super) fn computed(reader: &mut Reader, input: &Input, args: &[Sexp]) -> Option<Source> {
    let [expression] = args else { return None };
    if input.tensor.dtype.is_float() {
        let label = format!("`{}` is {}", input.tensor.name, input.tensor.dtype);
        reader.error(expression.span, "only whole numbers are computed before a run", label);
        return None;
    }
    let expression = read(reader, expression)?;
    if expression.inputs().is_empty() {
        let help = "`(constant NUMBER)` is the same number everywhere";
        let message = "computed numbers need an input";
        reader.error_with_help(args[0].span, message, "made of no input", help);
        return None;
    }
    Some(Source::Computed(expression))
}

fn read(reader: &mut Reader, item: &Sexp) -> Option<Whole> {
    if let Some(n) = number::<i64>(item) {
        return Some(Whole::Number(n));
    }
    let Some((head, operands)) = item.form() else {
        let name = read_name(reader, item)?;
        let found = reader.inputs.iter_mut().find(|(own, _)| own.tensor.name == name)?;
        let (input, role) = found;
        role.get_or_insert(Role::Values);
        if input.tensor.dtype.is_float() {
            let label = format!("`{name}` is {}", input.tensor.dtype);
            reader.error(item.span, "positions are computed of whole numbers", label);
            return None;
        }
        return Some(Whole::Input(name));
    };
    // Inputs count as used even if the operation is not understood.
    let read: Vec<Option<Whole>> =
        operands.iter().map(|own| deeper(|| read(reader, own))).collect();
    let Some(op) = WholeOp::named(head) else {
        let names = WHOLE_OPS.iter().map(|op| op.name);
        let error = suggest::unknown("operation on whole numbers", head, item.span, names);
        reader.errors.push(error);
        return None;
    };
    if operands.len() != op.operands {
        let label = format!("{} operands, where `{head}` has {}", operands.len(), op.operands);
        reader.error(item.span, "another number of operands", label);
        return None;
    }
    Some(Whole::Apply(op, read.into_iter().collect::<Option<_>>()?))
}
