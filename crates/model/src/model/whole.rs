//! Positions that are computed of other inputs before a program runs, element by element: `(computed (floormod ids 1000))`.

use super::kinds::read_name;
use super::read::Reader;
use super::source::number;
use super::{Input, Role, Source};
use ember_language::sexp::{Sexp, deeper};
use ember_language::suggest;
use ember_values::scalar::BinaryOp;
use itertools::Itertools;
use std::fmt;

/// Whole numbers of 64 bits, computed of those in inputs. Sums, differences and products wrap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whole {
    /// A number, for every element.
    Number(i64),
    /// The elements of an input, repeated along dimensions that it lacks or has once.
    Input(String),
    /// The element of an input at a place that is computed, counted in row-major order of all of its elements.
    Element(String, Box<Whole>),
    /// An operation on the elements at the same place.
    Apply(WholeOp, Vec<Whole>),
}

/// An operation on whole numbers. `scf.NAME` is the operator that programs have for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WholeOp {
    /// An operation that is one of scalars, too: sums, products, comparisons and the like.
    Scalar(BinaryOp),
    /// A quotient that is rounded down; 0 for a divisor of 0.
    QuotientDown,
    /// The rest of a quotient that is rounded down.
    RestDown,
    /// The rest of a quotient that is truncated.
    Rest,
    /// The second operand where the first is not 0, else the third.
    Choice,
}

/// The operations that are not of scalars, with their names.
const OTHERS: [(WholeOp, &str); 4] = [
    (WholeOp::QuotientDown, "floordiv"),
    (WholeOp::RestDown, "floormod"),
    (WholeOp::Rest, "mod"),
    (WholeOp::Choice, "select"),
];

/// The quotient, truncated; 0 for a divisor of 0.
fn truncated(a: i64, b: i64) -> i64 {
    if b == 0 { 0 } else { a.wrapping_div(b) }
}

/// The quotient, rounded down.
fn down(a: i64, b: i64) -> i64 {
    let quotient = truncated(a, b);
    let rest = a.wrapping_sub(quotient.wrapping_mul(b));
    quotient.wrapping_sub(i64::from(rest != 0 && (rest < 0) != (b < 0) && b != 0))
}

impl WholeOp {
    /// Iterates over all operations. Those of scalars are the ones that integer arithmetic has.
    pub fn all() -> impl Iterator<Item = WholeOp> {
        let scalar = BinaryOp::ALL.into_iter().filter(|op| op.solver().is_some());
        scalar.map(WholeOp::Scalar).chain(OTHERS.into_iter().map(|(op, _)| op))
    }

    /// Returns the operation with this name.
    pub fn named(name: &str) -> Option<WholeOp> {
        WholeOp::all().find(|op| op.name() == name)
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            WholeOp::Scalar(op) => op.name(),
            _ => OTHERS.iter().find(|(op, _)| *op == self).map_or("", |(_, name)| name),
        }
    }

    /// Returns the number of operands.
    pub fn operands(self) -> usize {
        if self == WholeOp::Choice { 3 } else { 2 }
    }

    /// Returns the result for operands, of which there are as many as the operation has.
    pub fn of(self, operands: &[i64]) -> i64 {
        match (self, operands) {
            (WholeOp::Scalar(op), [a, b]) => op.i64(*a, *b),
            (WholeOp::QuotientDown, [a, b]) => down(*a, *b),
            (WholeOp::RestDown, [a, b]) => a.wrapping_sub(down(*a, *b).wrapping_mul(*b)),
            (WholeOp::Rest, [a, b]) => a.wrapping_sub(truncated(*a, *b).wrapping_mul(*b)),
            (WholeOp::Choice, [condition, a, b]) => {
                if *condition != 0 {
                    *a
                } else {
                    *b
                }
            }
            _ => 0,
        }
    }
}

/// The word of an element at a computed place.
const ELEMENT: &str = "element";

impl Whole {
    /// Iterates over the expression and its parts, in the order in which they are written.
    pub fn parts(&self) -> impl Iterator<Item = &Whole> {
        let mut open = vec![self];
        std::iter::from_fn(move || {
            let own = open.pop()?;
            match own {
                Whole::Number(_) | Whole::Input(_) => {}
                Whole::Element(_, place) => open.push(place),
                Whole::Apply(_, operands) => open.extend(operands.iter().rev()),
            }
            Some(own)
        })
    }

    /// Returns the names of the inputs, each once, in the order in which they are first written.
    pub fn inputs(&self) -> Vec<&str> {
        let names = self.parts().filter_map(|own| match own {
            Whole::Input(name) | Whole::Element(name, _) => Some(name.as_str()),
            _ => None,
        });
        names.unique().collect()
    }

    /// Returns the names of the inputs whose elements are used at their own places, each once. They say how many numbers
    /// are computed.
    pub fn in_place(&self) -> Vec<&str> {
        let names = self.parts().filter_map(|own| match own {
            Whole::Input(name) => Some(name.as_str()),
            _ => None,
        });
        names.unique().collect()
    }

    /// Returns the number, where `element` gives that of an input: at a place, or at its own without one.
    pub fn value(&self, element: &impl Fn(&str, Option<i64>) -> i64) -> i64 {
        match self {
            Whole::Number(n) => *n,
            Whole::Input(name) => element(name, None),
            Whole::Element(name, place) => deeper(|| element(name, Some(place.value(element)))),
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
            Whole::Element(name, place) => deeper(|| write!(f, "({ELEMENT} {name} {place})")),
            Whole::Apply(op, operands) => deeper(|| {
                write!(f, "({}", op.name())?;
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
    if expression.in_place().is_empty() {
        let help = "`(constant NUMBER)` is the same number everywhere";
        let message = "computed numbers need an input";
        reader.error_with_help(args[0].span, message, "no input says how many there are", help);
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
        let (input, role) = reader.inputs.iter_mut().find(|(own, _)| own.tensor.name == name)?;
        role.get_or_insert(Role::Values);
        if input.tensor.dtype.is_float() {
            let label = format!("`{name}` is {}", input.tensor.dtype);
            reader.error(item.span, "positions are computed of whole numbers", label);
            return None;
        }
        return Some(Whole::Input(name));
    };
    // Inputs count as used even if the operation is not understood.
    let mut read: Vec<Option<Whole>> =
        operands.iter().map(|own| deeper(|| read(reader, own))).collect();
    let op = WholeOp::named(head);
    let wanted = match op {
        Some(op) => op.operands(),
        None if head == ELEMENT => 2,
        None => {
            let names = WholeOp::all().map(WholeOp::name).chain([ELEMENT]);
            let error = suggest::unknown("operation on whole numbers", head, item.span, names);
            reader.errors.push(error);
            return None;
        }
    };
    if operands.len() != wanted {
        let label = format!("{} operands, where `{head}` has {wanted}", operands.len());
        reader.error(item.span, "another number of operands", label);
        return None;
    }
    let Some(op) = op else {
        let place = read.pop()??;
        let Whole::Input(name) = read.pop()?? else {
            let help =
                "`(element NAME PLACE)`: PLACE counts the elements of NAME in row-major order";
            let message = "elements are those of an input";
            reader.error_with_help(operands[0].span, message, "computed, too", help);
            return None;
        };
        return Some(Whole::Element(name, Box::new(place)));
    };
    Some(Whole::Apply(op, read.into_iter().collect::<Option<_>>()?))
}
