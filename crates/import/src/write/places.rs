//! Elements at other places: extents that change, repetition, parts, and parts put together.

use super::Writer;
use crate::error::Problem;
use crate::graph::{Id, count, is_one, shown};
use crate::layout::{Base, Laid, Part, live};
use crate::words::SLICE;
use ember_model::Extent;

impl Writer<'_> {
    pub(super) fn reshape(&mut self, x: Id, shape: &[Extent]) -> Result<Laid, Problem> {
        let (laid, own) = (self.laid(x)?, self.shape(x));
        let (before, after) = (live(&own), live(shape));
        let same = before.iter().map(|axis| &own[*axis]).eq(after.iter().map(|axis| &shape[*axis]));
        if same {
            let place = |axis| before.iter().position(|own| *own == axis);
            return Ok(laid.renamed(|axis| place(axis).map(|at| after[at])));
        }
        if matches!(laid.base, Base::Number(_)) {
            return Ok(laid);
        }
        let target: Vec<Extent> = match after.is_empty() {
            true => vec![Extent::Const(1)],
            false => after.iter().map(|axis| shape[*axis].clone()).collect(),
        };
        let axes: Vec<Option<usize>> = match after.is_empty() {
            true => vec![None],
            false => after.iter().copied().map(Some).collect(),
        };
        let whole = laid.live() == before;
        let held = matches!(laid.base, Base::View { .. } | Base::Constant { .. } | Base::Whole(_));
        if whole && held {
            return Ok(Laid { extents: target, axes, ..laid });
        }
        if target.len() > 3 || before.len() > 3 {
            return Err(Problem::Rank(shown(if target.len() > 3 { shape } else { &own })));
        }
        let wanted: Vec<Option<usize>> = match before.is_empty() {
            true => vec![None],
            false => before.iter().copied().map(Some).collect(),
        };
        let name = self.arrange(&laid, &wanted, &own)?;
        let held: Vec<Extent> = match before.is_empty() {
            true => vec![Extent::Const(1)],
            false => before.iter().map(|axis| own[*axis].clone()).collect(),
        };
        let name = self.reshaped(name, &held, &target);
        Ok(Laid { base: Base::Tensor(name), extents: target, axes, dtype: laid.dtype })
    }

    pub(super) fn expand(&mut self, x: Id, shape: &[Extent]) -> Result<Laid, Problem> {
        let (laid, own) = (self.laid(x)?, self.shape(x));
        let by = shape.len() - own.len();
        // A dimension of extent 1 that is repeated is held no longer.
        let kept = |axis: usize| (own[axis] == shape[axis + by]).then_some(axis + by);
        Ok(laid.renamed(kept))
    }

    pub(super) fn slice(
        &mut self,
        x: Id,
        (axis, first): (usize, u64),
        shape: &[Extent],
    ) -> Result<Laid, Problem> {
        let laid = self.laid(x)?;
        let Some(place) = laid.place(axis) else { return Ok(laid) };
        let Some(n) = shape[axis].constant() else {
            return Err(Problem::Operands("a slice of unknown length".to_owned()));
        };
        let mut extents = laid.extents.clone();
        extents[place] = Extent::Const(n);
        match &laid.base {
            Base::View { argument, parts } => {
                // Parts are those of the argument's own dimensions, so the view must still have them.
                let own = &self.graph.arguments[*argument].shape;
                let mut taken = own.clone();
                for part in parts {
                    taken[part.axis] = Extent::Const(part.count);
                }
                if let Some(axis) = argument_axis(&taken, &laid.extents, place) {
                    let mut parts = parts.clone();
                    parts.push(Part { axis, first, count: n });
                    let base = Base::View { argument: *argument, parts };
                    return Ok(Laid { base, extents, ..laid });
                }
            }
            Base::Constant { name, tensor } => {
                let tensor = super::constants::sliced(tensor, &laid.extents, place, first, n);
                if let Some(tensor) = tensor {
                    let base = Base::Constant { name: name.clone(), tensor };
                    return Ok(Laid { base, extents, ..laid });
                }
            }
            Base::Number(_) => return Ok(laid),
            _ => {}
        }
        let own = self.shape(x);
        let (axes, held) = match laid.axes.len() {
            0..=3 => (laid.axes.clone(), laid.extents.clone()),
            _ => {
                let axes: Vec<Option<usize>> = laid.live().into_iter().map(Some).collect();
                let held = axes.iter().flatten().map(|axis| own[*axis].clone()).collect();
                (axes, held)
            }
        };
        let name = self.named(&laid, &held)?;
        let Some(at) = axes.iter().position(|own| *own == Some(axis)) else { return Ok(laid) };
        let name = self.step(format!("({SLICE} {at} {first} {n} {name})"));
        Ok(self.laid_as(name, axes, shape, laid.dtype))
    }

    pub(super) fn concat(
        &mut self,
        parts: &[Id],
        axis: usize,
        shape: &[Extent],
    ) -> Result<Laid, Problem> {
        let mut axes = live(shape);
        if !axes.contains(&axis) {
            axes.push(axis);
            axes.sort_unstable();
        }
        let at = axes.iter().position(|own| *own == axis).unwrap_or(0);
        let wanted: Vec<Option<usize>> = axes.iter().copied().map(Some).collect();
        let flat = |shape: &[Extent]| -> Result<Vec<Extent>, Problem> {
            let of = |axes: &[usize]| {
                let extents: Vec<Extent> = axes.iter().map(|axis| shape[*axis].clone()).collect();
                match extents.as_slice() {
                    [one] => Ok(one.clone()),
                    extents => count(extents).map(Extent::Const).ok_or_else(|| {
                        Problem::Operands("parts whose rows only the data counts".to_owned())
                    }),
                }
            };
            Ok(vec![of(&axes[..at])?, of(&axes[at..])?])
        };
        let mut names = Vec::new();
        let mut laid_type = None;
        if let Some(folded) = self.concat_constants(parts, axis, shape)? {
            return Ok(folded);
        }
        for part in parts {
            let (laid, own) = (self.laid(*part)?, self.shape(*part));
            laid_type = Some(laid.dtype);
            let name = self.arrange(&laid, &wanted, &own)?;
            let held: Vec<Extent> = axes.iter().map(|axis| own[*axis].clone()).collect();
            let target = flat(&own)?;
            names.push(self.reshaped(name, &held, &target));
        }
        let name = self.step(format!("(nn.concat {})", names.join(" ")));
        let held: Vec<Extent> = axes.iter().map(|axis| shape[*axis].clone()).collect();
        let target = flat(shape)?;
        let name = self.reshaped(name, &target, &held);
        let dtype = laid_type.unwrap_or(ember_values::scalar::DType::F32);
        Ok(self.laid_as(name, wanted, shape, dtype))
    }
}

/// Returns the dimension of an argument that is held at a place, if the argument is held as it is but for extents of 1.
fn argument_axis(argument: &[Extent], held: &[Extent], place: usize) -> Option<usize> {
    let live = |shape: &[Extent]| -> Vec<usize> { live(shape) };
    let (own, other) = (live(argument), live(held));
    let same =
        own.len() == other.len() && own.iter().zip(&other).all(|(a, b)| argument[*a] == held[*b]);
    if !same {
        return None;
    }
    if is_one(&held[place]) {
        return None;
    }
    other.iter().position(|at| *at == place).map(|at| own[at])
}
