//! Whole numbers that are computed of arguments. What is used as positions becomes an input that is computed before the
//! model runs; what is computed with becomes statements, like all other values.

use super::inputs::{Content, Input, Use};
use super::wrapped::keeps_low_bits;
use super::{Condition, Writer};
use crate::error::Problem;
use crate::graph::{Elem, Id, Op, is_one, shown};
use crate::layout::{Base, Laid, live};
use crate::words::{ADD, MAX, MIN, SUB};
use ember_language::sexp::deeper;
use ember_model::{Extent, Whole, WholeOp};
use ember_values::operation::Comparison;
use ember_values::scalar::DType;

/// The most operations in one expression.
const OPERATIONS: usize = 256;

/// The most comparisons within one another.
const COMPARISONS: usize = 8;

/// Returns the operation with this name.
pub(super) fn operation(name: &str, operands: Vec<Whole>) -> Option<Whole> {
    WholeOp::named(name).map(|op| Whole::Apply(op, operands))
}

/// Returns true for what is 1 or 0.
fn is_answer(whole: &Whole) -> bool {
    let all = |operands: &[Whole]| operands.iter().all(|own| deeper(|| is_answer(own)));
    match whole {
        Whole::Number(n) => [0, 1].contains(n),
        Whole::Input(_) | Whole::Element(..) => false,
        Whole::Apply(WholeOp::Scalar(op), operands) => {
            op.compares() || ([MAX, MIN].contains(&op.name()) && all(operands))
        }
        Whole::Apply(WholeOp::Choice, operands) => all(&operands[1..]),
        Whole::Apply(..) => false,
    }
}

/// A comparison as a number; `None` if there is none of this name.
fn compared(word: &str, a: Whole, b: Whole) -> Option<Whole> {
    let comparison = Comparison::ALL.iter().find(|own| own.word() == word)?;
    if let Some(op) = WholeOp::named(word) {
        return Some(Whole::Apply(op, vec![a, b]));
    }
    if let Some(op) = WholeOp::named(comparison.swapped().word()) {
        return Some(Whole::Apply(op, vec![b, a]));
    }
    // Numbers are equal if their difference is 0, even if it wraps.
    let [differing, equal] = if comparison.holds(&0, &0) { [0, 1] } else { [1, 0] };
    if differing == 1 && is_answer(&a) && b == Whole::Number(0) {
        return Some(a);
    }
    let operands =
        vec![operation(SUB, vec![a, b])?, Whole::Number(differing), Whole::Number(equal)];
    Some(Whole::Apply(WholeOp::Choice, operands))
}

impl Writer<'_> {
    /// Returns the place of whole numbers, or of answers about them, that need no statement unless they are computed with;
    /// `None` for others.
    pub(super) fn whole(&self, id: Id) -> Option<Laid> {
        let node = self.graph.node(id);
        let whole = |id| self.is_whole(id, COMPARISONS);
        let fits = match (&node.op, &node.operands[..]) {
            (Op::Zip(word), [a, b]) => {
                WholeOp::named(word).is_some() && [a, b].iter().all(|own| whole(**own))
            }
            (Op::Choose, [condition, x, y]) => [condition, x, y].iter().all(|own| whole(**own)),
            (Op::Gather, [of, places]) => self.row_of(*of).is_some() && whole(*places),
            // Other conversions are those of inputs, or need none.
            (Op::Cast, [x]) => self.laid[x.0].as_ref().is_some_and(|laid| match laid.base {
                Base::Whole(_) => whole(*x),
                Base::View { .. } => whole(*x) && !self.is_declared_as(laid, self.dtype_of(id)),
                _ => false,
            }),
            _ => false,
        };
        let fits = fits && (node.elem.is_integer() || node.elem == Elem::Bool);
        fits.then(|| Laid::plain(Base::Whole(id), &node.shape, self.dtype_of(id)))
    }

    /// Returns whole numbers that are arguments or known, if they are in one row; `None` for others.
    fn row_of(&self, id: Id) -> Option<&Laid> {
        let laid = self.laid[id.0].as_ref()?;
        let held = matches!(laid.base, Base::View { .. } | Base::Constant { .. });
        let row = self.graph.shape(id).len() == 1 && laid.live() == [0];
        (held && row && !laid.dtype.is_float()).then_some(laid)
    }

    fn is_whole(&self, id: Id, depth: usize) -> bool {
        if let Some(Condition { word, a, b }) = self.conditions.get(&id) {
            let known = compared(word, Whole::Number(0), Whole::Number(0)).is_some();
            return known && depth > 0 && [a, b].iter().all(|own| self.is_whole(**own, depth - 1));
        }
        let Some(laid) = &self.laid[id.0] else { return false };
        match laid.base {
            Base::Whole(_) => laid.in_order(),
            Base::View { .. } | Base::Constant { .. } => !laid.dtype.is_float() && laid.in_order(),
            Base::Number(x) => x.fract() == 0.0,
            _ => false,
        }
    }

    /// Writes the statements of whole numbers that are computed with, and returns the name of a tensor of all of them in
    /// their order.
    pub(super) fn spelled(&mut self, id: Id, target: &[Extent]) -> Result<String, Problem> {
        let (node, shape) = (self.graph.node(id), self.shape(id));
        let laid = match (self.spelled.get(&id), &node.op, &node.operands[..]) {
            (Some(laid), ..) => laid.clone(),
            (_, Op::Zip(word), [a, b]) => self.combined(word, *a, *b, &shape)?,
            (_, Op::Choose, [condition, x, y]) => {
                self.choose([*condition, *x, *y], &shape, self.dtype_of(id))?
            }
            (_, Op::Gather, [of, places]) => self.gather(*of, *places)?,
            (_, Op::Cast, [x]) => self.cast(*x, self.dtype_of(id))?,
            _ => return Err(self.computed(id)),
        };
        self.spelled.insert(id, laid.clone());
        let dims = live(&shape);
        let wanted: Vec<Option<usize>> = match dims.is_empty() {
            true => vec![None],
            false => dims.iter().copied().map(Some).collect(),
        };
        let held: Vec<Extent> = match dims.is_empty() {
            true => vec![Extent::Const(1)],
            false => dims.iter().map(|axis| shape[*axis].clone()).collect(),
        };
        let name = self.arrange(&laid, &wanted, &shape)?;
        Ok(self.reshaped(name, &held, target))
    }

    /// The input of whole numbers that are computed before the model runs, in a use of positions.
    pub(super) fn computed_input(
        &mut self,
        id: Id,
        extents: &[Extent],
        used: Use,
    ) -> Result<String, Problem> {
        let shape = self.shape(id);
        let laid = Laid::plain(Base::Whole(id), &shape, DType::I64);
        let mut left = OPERATIONS;
        let whole = self.expression(&laid, &shape, &mut left)?.ok_or_else(|| self.computed(id))?;
        let whole = self.repeated(whole, &shape)?;
        let origin = self.graph.node(id).origin.and_then(|at| self.graph.origins.get(at));
        let wanted = origin.map_or("computed", |origin| origin.result.as_str()).to_owned();
        let (dtype, extents) = (DType::I64, extents.to_vec());
        let content = Content::Computed(whole);
        Ok(self.input(&wanted, Input { name: String::new(), dtype, extents, content, used }))
    }

    /// An expression that has all dimensions of a shape: those that no input has are an input's whose elements are 0.
    fn repeated(&mut self, whole: Whole, shape: &[Extent]) -> Result<Whole, Problem> {
        let has = |axis: usize, extents: &[Extent]| {
            (axis + extents.len()).checked_sub(shape.len()).is_some_and(|at| !is_one(&extents[at]))
        };
        let in_place = whole.in_place();
        let own = self.inputs.0.iter().filter(|own| in_place.contains(&own.name.as_str()));
        let (held, lacking): (Vec<usize>, Vec<usize>) = live(shape)
            .into_iter()
            .partition(|axis| own.clone().any(|own| has(*axis, &own.extents)));
        let Some(first) = lacking.first().copied() else { return Ok(whole) };
        let extents =
            shape[first..].iter().zip(first..).map(|(extent, axis)| match held.contains(&axis) {
                true => Extent::Const(1),
                false => extent.clone(),
            });
        let extents: Vec<Extent> = extents.collect();
        if extents.len() > 3 {
            return Err(Problem::Rank(shown(shape)));
        }
        let zeros = Whole::Input(self.fill(0.0, &extents, DType::I64));
        let sum = operation(ADD, vec![whole, zeros]);
        sum.ok_or_else(|| Problem::Operands("positions that are repeated".to_owned()))
    }

    /// Whole numbers as an expression over inputs with the dimensions of a shape, or some of them; `None` for what cannot
    /// be written so.
    fn expression(
        &mut self,
        x: &Laid,
        shape: &[Extent],
        left: &mut usize,
    ) -> Result<Option<Whole>, Problem> {
        let held = |axis: usize| match x.live().contains(&axis) {
            true => shape[axis].clone(),
            false => Extent::Const(1),
        };
        let all: Vec<Extent> = (0..shape.len()).map(held).collect();
        let lacking = all.iter().take_while(|extent| is_one(extent)).count();
        let extents = &all[lacking.min(all.len().saturating_sub(1))..];
        if !x.in_order() {
            return Ok(None);
        }
        match &x.base {
            Base::Number(n) if n.fract() == 0.0 => Ok(Some(Whole::Number(*n as i64))),
            Base::Constant { tensor, .. } if tensor.len() == 1 && !x.dtype.is_float() => {
                Ok(tensor.get(0).and_then(|n| n.as_i64()).map(Whole::Number))
            }
            Base::Whole(id) => self.operation(*id, x, shape, left),
            _ if x.dtype.is_float() => Ok(None),
            _ if extents.is_empty() || extents.len() > 3 => Err(Problem::Rank(shown(shape))),
            _ => Ok(self.whole_input(x, extents.to_vec()).map(Whole::Input)),
        }
    }

    /// The input of whole numbers that others are computed of; `None` if they are neither arguments nor known.
    fn whole_input(&mut self, x: &Laid, extents: Vec<Extent>) -> Option<String> {
        let (wanted, content) = match &x.base {
            Base::View { argument, parts } => {
                let (argument, parts) = (*argument, parts.clone());
                let wanted = self.graph.arguments[argument].name.clone();
                (wanted, Content::Argument { argument, parts, closed: None })
            }
            Base::Constant { name, tensor } => (name.clone(), Content::Known(tensor.clone())),
            _ => return None,
        };
        let (name, used) = (String::new(), Use::Whole);
        Some(self.input(&wanted, Input { name, dtype: x.dtype, extents, content, used }))
    }

    /// The expression of an operation on whole numbers, seen as a part of a shape.
    fn operation(
        &mut self,
        id: Id,
        x: &Laid,
        shape: &[Extent],
        left: &mut usize,
    ) -> Result<Option<Whole>, Problem> {
        let node = self.graph.node(id);
        // Under other extents, the elements stand at other places.
        if *left == 0 || x.extents != node.shape {
            return Ok(None);
        }
        *left -= 1;
        if let (Op::Gather, [of, places]) = (&node.op, &node.operands[..]) {
            let place = self.operand(*places, (node.shape.len(), &x.axes[..]), shape, left)?;
            let Some(laid) = self.row_of(*of).cloned() else { return Ok(None) };
            let name = self.whole_input(&laid, self.shape(*of));
            return Ok(name.zip(place).map(|(name, at)| Whole::Element(name, Box::new(at))));
        }
        let dims = (node.shape.len(), &x.axes[..]);
        if let (Op::Cast, [of]) = (&node.op, &node.operands[..]) {
            let (from, to) = (self.dtype_of(*of), self.dtype_of(id));
            let whole = self.operand(*of, dims, shape, left)?;
            let widens = to.bits() > from.bits();
            return Ok(whole.and_then(|x| if widens { self.wrapped(x, from) } else { Some(x) }));
        }
        let (op, operands) = match (&node.op, &node.operands[..]) {
            (Op::Zip(word), operands) => (WholeOp::named(word), operands),
            (Op::Choose, operands) => (Some(WholeOp::Choice), operands),
            _ => return Ok(None),
        };
        let Some(op) = op else { return Ok(None) };
        let mut wholes = Vec::new();
        for (at, own) in operands.iter().enumerate() {
            let Some(whole) = self.operand(*own, dims, shape, left)? else { return Ok(None) };
            // What is chosen from is no more wrapped than the choice.
            let keeps = keeps_low_bits(op) || (op == WholeOp::Choice && at > 0);
            let whole =
                if keeps { Some(whole) } else { self.wrapped(whole, self.whole_type(*own)) };
            let Some(whole) = whole else { return Ok(None) };
            wholes.push(whole);
        }
        Ok(Some(Whole::Apply(op, wholes)))
    }

    /// Returns the type of whole numbers, or of answers, in expressions.
    fn whole_type(&self, id: Id) -> DType {
        match self.graph.node(id).elem {
            Elem::Of(dtype) => dtype,
            Elem::Bool => DType::I64,
        }
    }

    /// The expression of an operand, or of its answers, of an operation with so many dimensions, which are these of a shape.
    fn operand(
        &mut self,
        id: Id,
        (rank, axes): (usize, &[Option<usize>]),
        shape: &[Extent],
        left: &mut usize,
    ) -> Result<Option<Whole>, Problem> {
        if let Some(Condition { word, a, b }) = self.conditions.get(&id).cloned() {
            let Some(rest) = left.checked_sub(1) else { return Ok(None) };
            *left = rest;
            let mut side = |id: Id| -> Result<Option<Whole>, Problem> {
                let whole = deeper(|| self.operand(id, (rank, axes), shape, left))?;
                Ok(whole.and_then(|whole| self.wrapped(whole, self.whole_type(id))))
            };
            let (a, b) = (side(a)?, side(b)?);
            return Ok(a.zip(b).and_then(|(a, b)| compared(&word, a, b)));
        }
        let laid = self.laid(id)?.shifted(rank - self.graph.shape(id).len());
        let laid = laid.renamed(|axis| axes.get(axis).copied().flatten());
        deeper(|| self.expression(&laid, shape, left))
    }
}
