//! Comparisons, and choices between elements by them. What an operation compares has the type of what it chooses from, so
//! that a comparison of other numbers is written by itself, as 1 and 0, unless its operands keep their order when they
//! are converted.

use super::{Condition, Writer};
use crate::error::Problem;
use crate::exact::{computed_with, digits, holds};
use crate::graph::Id;
use crate::layout::{Base, Laid};
use crate::words::{WHERE, WHERE_NUMBER};
use ember_model::Extent;
use ember_targets::tensor::Tensor;
use ember_values::operation::Comparison;
use ember_values::scalar::DType;

/// A comparison as an operation takes it.
struct Compared {
    word: String,
    a: Laid,
    b: Laid,
}

impl Writer<'_> {
    /// The answers of a comparison as numbers.
    pub(super) fn answers(&mut self, id: Id) -> Result<Laid, Problem> {
        let (one, zero) = (Laid::number(1.0, DType::F32), Laid::number(0.0, DType::F32));
        let shape = self.shape(id);
        self.chosen(id, one, zero, &shape, DType::F32)
    }

    /// Elements of one value where a condition holds, else of another.
    pub(super) fn choose(
        &mut self,
        [condition, x, y]: [Id; 3],
        shape: &[Extent],
        to: DType,
    ) -> Result<Laid, Problem> {
        // What is only stored is chosen from in the type that it is computed with.
        let own = computed_with(to);
        let shift = |writer: &mut Self, id: Id| -> Result<Laid, Problem> {
            let by = shape.len() - writer.graph.shape(id).len();
            let (laid, shape) = (writer.laid(id)?, writer.shape(id));
            Ok(writer.cast_laid(laid, &shape, own)?.shifted(by))
        };
        let (x, y) = (shift(self, x)?, shift(self, y)?);
        let chosen = self.chosen(condition, x, y, shape, own)?;
        self.cast_laid(chosen, shape, to)
    }

    fn chosen(
        &mut self,
        condition: Id,
        x: Laid,
        y: Laid,
        shape: &[Extent],
        to: DType,
    ) -> Result<Laid, Problem> {
        let own = self.shape(condition);
        let by = shape.len() - own.len();
        let shift = |writer: &mut Self, id: Id| -> Result<Laid, Problem> {
            let by = shape.len() - writer.graph.shape(id).len();
            let (laid, own) = (writer.laid(id)?, writer.shape(id));
            Ok(writer.cast_laid(laid, &own, to)?.shifted(by))
        };
        let compared = match self.conditions.get(&condition).cloned() {
            Some(Condition { word, a, b }) if self.keep_order(a, b, to)? => {
                Compared { word, a: shift(self, a)?, b: shift(self, b)? }
            }
            Some(Condition { a, .. }) => {
                let type_of = computed_with(self.dtype_of(a));
                let (one, zero) = (Laid::number(1.0, type_of), Laid::number(0.0, type_of));
                let answers = self.chosen(condition, one, zero, &own, type_of)?;
                let answers = self.cast_laid(answers, &own, to)?.shifted(by);
                if is_number(&x, 1.0) && is_number(&y, 0.0) {
                    return Ok(answers);
                }
                Compared { word: "ne".to_owned(), a: answers, b: Laid::number(0.0, to) }
            }
            None => {
                let (word, a) = ("ne".to_owned(), shift(self, condition)?);
                Compared { word, a, b: Laid::number(0.0, to) }
            }
        };
        self.choice(compared, x, y, shape, to)
    }

    /// The statement of a choice.
    fn choice(
        &mut self,
        Compared { mut word, mut a, mut b }: Compared,
        x: Laid,
        y: Laid,
        shape: &[Extent],
        to: DType,
    ) -> Result<Laid, Problem> {
        if matches!(a.base, Base::Number(_)) {
            (a, b) = (b, a);
            let own = Comparison::ALL.iter().find(|own| own.word() == word);
            word = own.map_or(word, |own| own.swapped().word().to_owned());
        }
        let form = self.form(&[a.clone(), b.clone(), x.clone(), y.clone()], shape)?;
        let (p, x) = (self.arrange(&a, &form, shape)?, self.arrange(&x, &form, shape)?);
        let y = self.arrange(&y, &form, shape)?;
        let name = match b.base {
            Base::Number(n) => self.step(format!("({WHERE_NUMBER} {word} {p} {n:?} {x} {y})")),
            _ => {
                let q = self.arrange(&b, &form, shape)?;
                self.step(format!("({WHERE} {word} {p} {q} {x} {y})"))
            }
        };
        Ok(self.laid_as(name, form, shape, to))
    }

    /// Returns true if a conversion to a type leaves the answers of all comparisons of two values as they are.
    fn keep_order(&mut self, a: Id, b: Id, to: DType) -> Result<bool, Problem> {
        let from = self.dtype_of(a);
        if holds(to, from) {
            return Ok(true);
        }
        if from.is_float() || !to.is_float() {
            return Ok(false);
        }
        // Rounding never exchanges two numbers, and makes none equal to one whose neighbours are both exact.
        Ok(is_below(&self.laid(a)?, digits(to)) || is_below(&self.laid(b)?, digits(to)))
    }
}

fn is_number(x: &Laid, number: f64) -> bool {
    matches!(x.base, Base::Number(own) if own == number)
}

/// Returns true for known whole numbers that are less than a power of two, but for their signs.
fn is_below(x: &Laid, power: u32) -> bool {
    let fits = |x: i64| x.unsigned_abs() < 1 << power;
    let all = |tensor: &Tensor| {
        (0..tensor.len()).all(|at| tensor.get(at).and_then(|x| x.as_i64()).is_some_and(fits))
    };
    match &x.base {
        Base::Number(x) => x.abs() < f64::from(power).exp2(),
        Base::Constant { tensor, .. } => all(tensor),
        _ => false,
    }
}
