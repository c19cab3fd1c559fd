//! Functions and operations on elements: which form of an operation takes the operands as they are held.

use super::{Writer, dtype};
use crate::error::Problem;
use crate::exact::holds;
use crate::graph::{Id, is_one, shown};
use crate::layout::{Base, Laid};
use crate::words::{ADD, CAST, DIV, LEAKY, MAP, MUL, NEGATED, POW, SUB};
use ember_model::Extent;
use ember_values::scalar::{BinaryOp, DType, Scalar};

impl Writer<'_> {
    /// The result of a statement that keeps the places of elements.
    fn alike(&self, x: &Laid, name: String) -> Laid {
        let extents = if x.extents.is_empty() { vec![Extent::Const(1)] } else { x.extents.clone() };
        let axes = if x.axes.is_empty() { vec![None] } else { x.axes.clone() };
        Laid { base: Base::Tensor(name), extents, axes, dtype: x.dtype }
    }

    /// Returns the name of a tensor with the elements as they are held.
    fn as_held(&mut self, x: &Laid, shape: &[Extent]) -> Result<(String, Laid), Problem> {
        let held = if x.extents.is_empty() { vec![Extent::Const(1)] } else { x.extents.clone() };
        if held.len() > 3 {
            let live: Vec<Option<usize>> = x.live().into_iter().map(Some).collect();
            let name = self.arrange(x, &live, shape)?;
            let extents = x.extents.iter().filter(|e| !is_one(e)).cloned().collect();
            let base = Base::Tensor(name.clone());
            return Ok((name, Laid { base, extents, axes: live, dtype: x.dtype }));
        }
        let name = self.named(x, &held)?;
        Ok((name.clone(), self.alike(x, name)))
    }

    pub(super) fn map(&mut self, word: &str, x: Id) -> Result<Laid, Problem> {
        let (laid, shape) = (self.laid(x)?, self.shape(x));
        let (name, laid) = self.as_held(&laid, &shape)?;
        let done = self.step(match word {
            "identity" => format!("({MAP} {word} {name})"),
            _ => format!("(nn.{word} {name})"),
        });
        Ok(self.alike(&laid, done))
    }

    pub(super) fn leaky(&mut self, slope: f64, x: Id) -> Result<Laid, Problem> {
        let (laid, shape) = (self.laid(x)?, self.shape(x));
        let (name, laid) = self.as_held(&laid, &shape)?;
        let done = self.step(format!("({LEAKY} {slope:?} {name})"));
        Ok(self.alike(&laid, done))
    }

    pub(super) fn cast(&mut self, x: Id, to: DType) -> Result<Laid, Problem> {
        let (laid, shape) = (self.laid(x)?, self.shape(x));
        self.cast_laid(laid, &shape, to)
    }

    /// Returns true if an argument may be declared with another type, because reading it converts its elements as the
    /// program does: at once, or after a conversion that changes none.
    pub(super) fn is_declared_as(&self, x: &Laid, to: DType) -> bool {
        let Base::View { argument, .. } = x.base else { return false };
        let own = dtype(self.graph.arguments[argument].elem);
        holds(x.dtype, own) && (to.is_float() || !own.is_float())
    }

    /// Converts elements. What becomes an input is declared with the new type, if it can be.
    pub(super) fn cast_laid(
        &mut self,
        x: Laid,
        shape: &[Extent],
        to: DType,
    ) -> Result<Laid, Problem> {
        match x.base {
            _ if x.dtype == to => Ok(x),
            Base::Tensor(_) => {
                let (name, laid) = self.as_held(&x, shape)?;
                let done = self.step(format!("({CAST} {to} {name})"));
                Ok(Laid { dtype: to, ..self.alike(&laid, done) })
            }
            Base::Number(n) => Ok(Laid::number(converted(n, x.dtype, to), to)),
            _ if self.is_declared_as(&x, to) => Ok(Laid { dtype: to, ..x }),
            Base::Constant { ref name, ref tensor } => {
                let tensor = super::constants::converted(tensor, to);
                let base = Base::Constant { name: name.clone(), tensor };
                Ok(Laid { base, dtype: to, ..x })
            }
            _ => {
                let name = self.named(&x, &x.extents.clone())?;
                let done = self.step(format!("({CAST} {to} {name})"));
                Ok(Laid { dtype: to, ..self.alike(&x, done) })
            }
        }
    }

    /// The form in which operands are combined: that of an operand which holds every dimension, or all dimensions in
    /// order.
    pub(super) fn form(
        &self,
        operands: &[Laid],
        shape: &[Extent],
    ) -> Result<Vec<Option<usize>>, Problem> {
        let mut all: Vec<usize> = operands.iter().flat_map(Laid::live).collect();
        all.sort_unstable();
        all.dedup();
        let whole = operands.iter().filter(|x| x.live() == all && x.axes.len() <= 3);
        // The form that needs the fewest statements is the one of a computed tensor.
        let best = whole.max_by_key(|x| (matches!(x.base, Base::Tensor(_)), x.axes.len()));
        match best {
            Some(x) if !x.axes.is_empty() => Ok(x.axes.clone()),
            _ if all.is_empty() => Ok(vec![None]),
            _ if all.len() <= 3 => Ok(all.into_iter().map(Some).collect()),
            _ => Err(Problem::Rank(shown(shape))),
        }
    }

    pub(super) fn zip(&mut self, id: Id, word: &str, a: Id, b: Id) -> Result<Laid, Problem> {
        let shape = self.shape(id);
        if let Some(folded) = self.folded(word, a, b, &shape, self.dtype_of(id))? {
            return Ok(folded);
        }
        match self.whole(id) {
            Some(laid) => Ok(laid),
            None => self.combined(word, a, b, &shape),
        }
    }

    /// An operation on the elements of two values, as a statement.
    pub(super) fn combined(
        &mut self,
        word: &str,
        a: Id,
        b: Id,
        shape: &[Extent],
    ) -> Result<Laid, Problem> {
        if BinaryOp::ALL.iter().all(|op| op.name() != word) {
            let text = format!("`{word}` of numbers that are no positions");
            return Err(Problem::Operands(text));
        }
        let shift = |writer: &mut Self, id: Id| -> Result<Laid, Problem> {
            let by = shape.len() - writer.graph.shape(id).len();
            Ok(writer.laid(id)?.shifted(by))
        };
        let (x, y) = (shift(self, a)?, shift(self, b)?);
        let form = self.form(&[x.clone(), y.clone()], shape)?;
        let covers = |x: &Laid| {
            let live = x.live();
            !matches!(x.base, Base::Number(_))
                && form.iter().flatten().all(|axis| live.contains(axis) || is_one(&shape[*axis]))
        };
        let dtype = x.dtype;
        let name = match (covers(&x), covers(&y)) {
            (true, true) => {
                let (x, y) = (self.arrange(&x, &form, shape)?, self.arrange(&y, &form, shape)?);
                self.step(format!("(nn.{word} {x} {y})"))
            }
            (true, false) => {
                let name = self.arrange(&x, &form, shape)?;
                return self.zip_smaller(word, (name, form, dtype), &y, shape);
            }
            (false, true) => {
                let mut name = self.arrange(&y, &form, shape)?;
                // a - b is -b + a, and a / b is 1/b · a.
                let word = match word {
                    SUB => {
                        name = self.step(format!("({NEGATED} {name})"));
                        ADD
                    }
                    DIV => {
                        name = self.step(format!("(nn.{POW}_number {name} -1)"));
                        MUL
                    }
                    POW => {
                        let x = self.arrange(&x, &form, shape)?;
                        let name = self.step(format!("(nn.{word} {x} {name})"));
                        return Ok(self.laid_as(name, form, shape, dtype));
                    }
                    word => word,
                };
                return self.zip_smaller(word, (name, form, dtype), &x, shape);
            }
            (false, false) => {
                let name = self.arrange(&x, &form, shape)?;
                return self.zip_smaller(word, (name, form, dtype), &y, shape);
            }
        };
        Ok(self.laid_as(name, form, shape, dtype))
    }

    /// A tensor whose dimensions are these.
    pub(super) fn laid_as(
        &self,
        name: String,
        axes: Vec<Option<usize>>,
        shape: &[Extent],
        dtype: DType,
    ) -> Laid {
        let extent =
            |axis: &Option<usize>| axis.map_or(Extent::Const(1), |axis| shape[axis].clone());
        let extents = axes.iter().map(extent).collect();
        Laid { base: Base::Tensor(name), extents, axes, dtype }
    }

    /// An operation on a tensor and a value that lacks some of its dimensions.
    fn zip_smaller(
        &mut self,
        word: &str,
        (name, form, dtype): (String, Vec<Option<usize>>, DType),
        y: &Laid,
        shape: &[Extent],
    ) -> Result<Laid, Problem> {
        if let Base::Number(n) = y.base {
            let done = self.step(format!("(nn.{word}_number {name} {n:?})"));
            return Ok(self.laid_as(done, form, shape, dtype));
        }
        let (live, rank) = (y.live(), form.len());
        let last = form.last().copied().flatten();
        if rank > 1
            && last.is_some_and(|last| live.iter().all(|axis| *axis == last))
            && !live.is_empty()
        {
            let vector = self.arrange(y, &form[rank - 1..], shape)?;
            let done = self.step(format!("(nn.{word}_columns {name} {vector})"));
            return Ok(self.laid_as(done, form, shape, dtype));
        }
        if rank > 1 && live.iter().all(|axis| form[..rank - 1].contains(&Some(*axis))) {
            let rows = self.arrange(y, &form[..rank - 1], shape)?;
            let done = self.step(format!("(nn.{word}_rows {name} {rows})"));
            return Ok(self.laid_as(done, form, shape, dtype));
        }
        let whole = self.arrange(y, &form, shape)?;
        let done = self.step(format!("(nn.{word} {name} {whole})"));
        Ok(self.laid_as(done, form, shape, dtype))
    }

    /// The element type that a value has in the model.
    pub(super) fn dtype_of(&self, id: Id) -> DType {
        dtype(self.graph.node(id).elem)
    }
}

/// Converts a number of one type to another one.
pub(crate) fn converted(x: f64, from: DType, to: DType) -> f64 {
    Scalar::from_f64(from, x).cast(to).as_f64()
}
