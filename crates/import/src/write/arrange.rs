//! Brings the elements of a value into a tensor of the model with wanted dimensions in a wanted order.

use super::Writer;
use super::inputs::Use;
use super::text::extents;
use crate::error::Problem;
use crate::graph::{is_one, shown};
use crate::layout::{Base, Laid};
use crate::words::{ADD, SWAP};
use ember_model::Extent;

impl Writer<'_> {
    /// Returns the name of a tensor whose dimensions are those of the value in this order. `None` is a dimension of
    /// extent 1. All of the value's held dimensions must be among them.
    pub(super) fn arrange(
        &mut self,
        x: &Laid,
        wanted: &[Option<usize>],
        shape: &[Extent],
    ) -> Result<String, Problem> {
        let extent = |axis: &Option<usize>| match axis {
            Some(axis) => shape.get(*axis).cloned().unwrap_or(Extent::Const(1)),
            None => Extent::Const(1),
        };
        let target: Vec<Extent> = wanted.iter().map(extent).collect();
        if target.is_empty() || target.len() > 3 {
            return Err(Problem::Rank(shown(shape)));
        }
        if let Base::Number(number) = x.base {
            return Ok(self.fill(number, &target, x.dtype));
        }
        let live = x.live();
        if live.iter().any(|axis| !wanted.contains(&Some(*axis))) {
            return Err(Problem::Rank(shown(shape)));
        }
        let missing = (0..wanted.len()).rev().find(|at| {
            !is_one(&target[*at]) && wanted[*at].is_none_or(|axis| !live.contains(&axis))
        });
        if let Some(at) = missing {
            return self.repeat(x, wanted, shape, at, &target);
        }
        let order: Vec<usize> =
            wanted.iter().flatten().copied().filter(|axis| live.contains(axis)).collect();
        if order == live {
            return self.named(x, &target);
        }
        let (mut axes, mut held) = (x.axes.clone(), x.extents.clone());
        let mut name = self.named(x, &held)?;
        let key = |axis: &Option<usize>| {
            axis.and_then(|axis| order.iter().position(|own| *own == axis)).unwrap_or(usize::MAX)
        };
        // Neighbours are exchanged until all stand in order; those of extent 1 go last.
        while let Some(at) = (1..axes.len()).find(|at| key(&axes[at - 1]) > key(&axes[*at])) {
            name = self.step(format!("({SWAP} {} {name})", at - 1));
            axes.swap(at - 1, at);
            held.swap(at - 1, at);
        }
        Ok(self.reshaped(name, &held, &target))
    }

    /// Repeats a value along the wanted dimension at this place.
    fn repeat(
        &mut self,
        x: &Laid,
        wanted: &[Option<usize>],
        shape: &[Extent],
        at: usize,
        target: &[Extent],
    ) -> Result<String, Problem> {
        let (live, rank) = (x.live(), wanted.len());
        // A vector of the last dimension is added to rows of zeros.
        if rank > 1 && wanted[rank - 1].is_some_and(|last| live == [last]) {
            let vector = self.arrange(x, &wanted[rank - 1..], shape)?;
            let zeros = self.fill(0.0, target, x.dtype);
            return Ok(self.step(format!("(nn.{ADD}_columns {zeros} {vector})")));
        }
        if rank == 1 {
            // One number, repeated: as the only column of a matrix with one row.
            let one = self.arrange(x, &[None], shape)?;
            let zeros = self.fill(0.0, &[target[0].clone(), Extent::Const(1)], x.dtype);
            let column = self.step(format!("(nn.{ADD}_columns {zeros} {one})"));
            return Ok(self.reshaped(column, &[target[0].clone(), Extent::Const(1)], target));
        }
        let rest: Vec<Option<usize>> =
            (0..rank).filter(|other| *other != at).map(|other| wanted[other]).collect();
        let rows = self.arrange(x, &rest, shape)?;
        let mut held: Vec<Extent> = target.to_vec();
        let repeated = held.remove(at);
        held.push(repeated);
        let zeros = self.fill(0.0, &held, x.dtype);
        let mut name = self.step(format!("(nn.{ADD}_rows {zeros} {rows})"));
        for place in (at..rank - 1).rev() {
            name = self.step(format!("({SWAP} {place} {name})"));
        }
        Ok(name)
    }

    /// Returns the name of a tensor that holds the elements in their own order, under these extents.
    pub(super) fn named(&mut self, x: &Laid, target: &[Extent]) -> Result<String, Problem> {
        match &x.base {
            Base::Tensor(name) => Ok(self.reshaped(name.clone(), &x.extents, target)),
            Base::Number(number) => Ok(self.fill(*number, target, x.dtype)),
            Base::Whole(id) => self.spelled(*id, target),
            Base::Sorted { of, by, rows } => {
                let name = self.sorted_input((*of, *by, rows), Use::Values)?;
                Ok(self.reshaped(name, &x.extents, target))
            }
            Base::Starts { .. } | Base::Sums { .. } => {
                Err(Problem::Positions("offsets that are computed with".to_owned()))
            }
            Base::View { argument, parts } => Ok(self.values_of(*argument, parts, target, x.dtype)),
            Base::Constant { name, tensor } => {
                Ok(self.constant(name, &tensor.clone(), target, x.dtype))
            }
        }
    }

    /// Writes a tensor under other extents, if they are others.
    pub(super) fn reshaped(&mut self, name: String, own: &[Extent], target: &[Extent]) -> String {
        if own == target {
            return name;
        }
        self.step(format!("(nn.reshape {} {name})", extents(target)))
    }
}
