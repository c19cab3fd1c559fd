//! Bounds on integers that follow from sizes and from the ends of loops, where nothing overflows.

use crate::facts::{AffineForm, EGraph};
use crate::predicates::{is_scalar, known_range};
use egg::{Id, Symbol};
use ember_language::rules::Operators;
use ember_language::term::Node;
use ember_values::primitive::form::{Form, Number, Operation};
use ember_values::scalar::{DType, LARGEST_SIZE};

/// The largest number that is bounded.
const BOUND: u64 = 1 << 50;

/// The depth to which terms are examined to find bounds on their values.
pub(crate) const DEPTH: usize = 8;

/// The largest distance from 0 that an integer may have, where it is evaluated.
pub(crate) fn magnitude(egraph: &EGraph, id: Id, depth: usize) -> Option<u64> {
    let fact = &egraph[id].data;
    let depth = depth.checked_sub(1)?;
    if fact.dtype != Some(DType::I64) || !is_scalar(egraph, id) {
        return None;
    }
    let known = fact.range.min.unsigned_abs().max(fact.range.max.unsigned_abs());
    if known <= BOUND {
        return Some(known);
    }
    let operators = egraph.analysis.operators();
    let of = |id: Id| magnitude(egraph, id, depth);
    egraph[id].nodes.iter().find_map(|node| {
        if let Some(variable) = operators.iv(node) {
            let (lo, hi, _) = egraph[variable].data.variable?;
            return Some(of(lo)?.max(of(hi)?));
        }
        match operators.form(node)? {
            Form::Binary(Operation::Is(op), [a, b]) => op.magnitude(of(a), of(b)),
            Form::Loaded { address, early: None } => {
                // Offsets that never fall end at a size.
                let tensor = egraph[address].data.address.as_ref()?.tensor;
                egraph.analysis.rises(tensor).then_some(LARGEST_SIZE)
            }
            _ => None,
        }
    })
}

/// The largest product, apart from numbers of elements, that is taken not to overflow with a number below a factor more.
const PRODUCT: u64 = 1 << 62;

/// Returns true if a class is an integer within 2^50 of 0.
pub(crate) fn is_bounded(egraph: &EGraph, id: Id) -> bool {
    magnitude(egraph, id, DEPTH).is_some_and(|n| n <= BOUND)
}

/// Returns a number that the second of two bounded numbers is more than the first, at least, as loop variables are
/// below the ends of their loops.
pub(crate) fn distance_in_loop(egraph: &EGraph, a: Id, b: Id) -> Option<i64> {
    if !is_bounded(egraph, a) || !is_bounded(egraph, b) {
        return None;
    }
    let current = |id: Id| egraph.analysis.current(egraph[id].data.affine.as_ref()?);
    let mut distance = current(b)?.sub(&current(a)?)?;
    // The distance is least where a variable of the lesser number is next to the end of its loop.
    for (variable, _) in distance.terms.clone().iter().filter(|(_, by)| **by < 0) {
        let Some(end) = end_of(egraph, *variable) else { continue };
        let last = current(end)?.sub(&AffineForm::constant(1))?;
        distance = distance.with(*variable, &last)?;
    }
    distance.as_constant()
}

/// Returns the end of the loop over a variable, where that is one bounded number for all iterations of other loops.
fn end_of(egraph: &EGraph, variable: Id) -> Option<Id> {
    let (_, end, _) = egraph[variable].data.variable?;
    let fixed = &egraph[end].data;
    let fixed = fixed.free.is_empty() && fixed.effects.as_ref().is_some_and(|own| own.is_empty());
    (fixed && is_bounded(egraph, end)).then_some(end)
}

/// Returns true if the product of two integers does not overflow. A number up to the second factor may be added to it.
pub(crate) fn bounded_product(egraph: &EGraph, a: Id, b: Id) -> bool {
    let both = magnitude(egraph, a, DEPTH).zip(magnitude(egraph, b, DEPTH));
    let product = both.and_then(|(a, b)| a.checked_mul(b));
    product.is_some_and(|product| product <= PRODUCT) || are_extents(egraph, a, b) == Some(true)
}

/// Returns true if two sizes are the extents of a tensor of rank 2, whose elements are at most as many as the largest
/// size. The value of a loop variable is below the end of its loop.
fn are_extents(egraph: &EGraph, a: Id, b: Id) -> Option<bool> {
    let operators = egraph.analysis.operators();
    let counted = egraph[a].nodes.iter().find_map(|node| {
        let (lo, _, _) = egraph[operators.iv(node)?].data.variable?;
        (known_range(egraph, &[lo]) && egraph[lo].data.range.min >= 0)
            .then(|| end_of(egraph, operators.iv(node)?))?
    });
    let sizes = [counted.unwrap_or(a), b].map(|id| size(egraph, operators, id));
    let [Some(a), Some(b)] = sizes else { return None };
    Some(egraph.analysis.tensors().any(|(_, tensor)| {
        let named = |dim: usize| egraph.analysis.size_name(tensor.shape[dim]);
        tensor.shape.len() == 2
            && [[0, 1], [1, 0]].iter().any(|[x, y]| [named(*x), named(*y)] == [Some(a), Some(b)])
    }))
}

/// Returns the name of a size.
fn size(egraph: &EGraph, operators: &Operators, id: Id) -> Option<Symbol> {
    egraph[id].nodes.iter().find_map(|node: &Node| match operators.form(node)? {
        Form::Number { value: Number::Size(name), .. } => {
            egraph[name].nodes.iter().find_map(|node| node.name()).map(Symbol::from)
        }
        _ => None,
    })
}
