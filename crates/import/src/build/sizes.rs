//! Extents that follow from others.

use super::{Builder, misfit};
use crate::error::Problem;
use crate::graph::{count, shown};
use crate::limits::OPERATORS;
use ember_model::Extent;

/// The start of the names of extents that follow from others. What they are is not known.
const MADE: &str = "made.";

/// Checks that extents which only the data says are not two where they must be one.
pub(crate) fn one_size(a: &Extent, b: &Extent) -> Result<(), Problem> {
    match (a, b) {
        (Extent::Size { name: a, plus: m }, Extent::Size { name: b, plus: n })
            if a != b && m == n && ![a, b].iter().any(|name| name.starts_with(MADE)) =>
        {
            Err(Problem::Sizes(a.clone(), b.clone()))
        }
        _ => Ok(()),
    }
}

impl Builder {
    /// Returns an extent that follows from others in a way that is not kept: one for each way.
    pub(crate) fn made(&mut self, what: String) -> Result<Extent, Problem> {
        let next = self.graph.made.len();
        if next > OPERATORS {
            return Err(misfit("too many extents follow from others"));
        }
        let name = self.graph.made.entry(what).or_insert_with(|| format!("{MADE}{next}")).clone();
        Ok(Extent::Size { name, plus: 0 })
    }

    /// Returns an extent with a number added. Less than a size is an extent only if the size is known to be greater.
    pub(crate) fn more(&mut self, extent: &Extent, by: i64) -> Result<Extent, Problem> {
        if let Some(sum) = extent.plus(by) {
            return Ok(sum);
        }
        match extent {
            Extent::Size { name, plus } if !name.starts_with(MADE) => {
                Err(Problem::Less(name.clone(), by.unsigned_abs().saturating_sub(*plus)))
            }
            Extent::Size { .. } => self.made(format!("{extent} + {by}")),
            Extent::Const(_) => Err(misfit("an extent below 0")),
        }
    }

    /// Returns the number of elements of some extents.
    pub(crate) fn elements(&mut self, shape: &[Extent]) -> Result<Extent, Problem> {
        let (mut known, mut sizes) = (Some(1u64), Vec::new());
        for extent in shape {
            match extent.constant() {
                Some(n) => known = known.and_then(|known| known.checked_mul(n)),
                None => sizes.push(extent.clone()),
            }
        }
        let known = known.ok_or_else(|| Problem::Overflow(shown(shape)))?;
        match (&sizes[..], known) {
            ([], n) => Ok(Extent::Const(n)),
            ([one], 1) => Ok(one.clone()),
            _ => {
                sizes.sort_by_key(Extent::to_string);
                self.made(format!("{known} * {}", shown(&sizes)))
            }
        }
    }

    /// Returns the extent that the elements of one shape have beside these others.
    pub(crate) fn rest(&mut self, own: &[Extent], others: &[Extent]) -> Result<Extent, Problem> {
        let mut left = own.to_vec();
        let mut open = Vec::new();
        for other in others {
            match left.iter().position(|extent| extent == other) {
                Some(at) => {
                    left.remove(at);
                }
                None => open.push(other.clone()),
            }
        }
        let fixed = |shape: &[Extent]| {
            count(&shape.iter().filter(|e| e.constant().is_some()).cloned().collect::<Vec<_>>())
        };
        let sizes: Vec<Extent> = left.iter().filter(|e| e.constant().is_none()).cloned().collect();
        let misfits = || misfit(format!("({}) has no parts of ({})", shown(own), shown(others)));
        let (Some(n), Some(m)) = (fixed(&left), count(&open)) else { return Err(misfits()) };
        let whole = n.checked_div(m).filter(|whole| whole.checked_mul(m) == Some(n));
        match (whole, &sizes[..]) {
            (Some(whole), sizes) => {
                let all: Vec<Extent> =
                    sizes.iter().cloned().chain([Extent::Const(whole)]).collect();
                self.elements(&all)
            }
            (None, _) => Err(misfits()),
        }
    }
}
