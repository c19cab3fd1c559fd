//! Products of extents. They do not wrap, since a tensor has at most [`ember_values::scalar::MOST_ELEMENTS`] elements.

use crate::facts::EGraph;
use egg::{Id, Symbol};
use ember_language::term::Head;
use ember_values::primitive::Primitive;
use ember_values::scalar::BinaryOp;

/// The depth to which products of products are examined.
const DEPTH: usize = 4;

/// Returns true if two values are products of different extents of one tensor, or of variables of loops below these.
pub fn are_extents(egraph: &EGraph, a: Id, b: Id) -> bool {
    let mut sizes = Vec::new();
    let known = factors(egraph, a, DEPTH, &mut sizes) && factors(egraph, b, DEPTH, &mut sizes);
    known
        && egraph.analysis.tensors().any(|tensor| {
            let mut extents: Vec<Symbol> =
                tensor.shape.iter().filter_map(|dim| egraph.analysis.size_name(*dim)).collect();
            sizes.iter().all(|size| {
                let found = extents.iter().position(|extent| extent == size);
                found.map(|at| extents.swap_remove(at)).is_some()
            })
        })
}

/// Adds the names of sizes of which the product is no less than a value; returns false if there are none.
fn factors(egraph: &EGraph, id: Id, depth: usize, sizes: &mut Vec<Symbol>) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let operators = egraph.analysis.operators();
    egraph[id].nodes.iter().any(|node| {
        if let Some([name]) = operators.parts::<1>(node, Primitive::Size) {
            let word = egraph[name].nodes.iter().find_map(|node| match node.head() {
                Head::Op(name) => Some(name),
                _ => None,
            });
            sizes.extend(word);
            return word.is_some();
        }
        if let Some([variable]) = operators.parts::<1>(node, Primitive::Iv) {
            let below = egraph[variable].data.variable;
            let below = below.filter(|(lo, ..)| egraph[*lo].data.range.min >= 0);
            return below.is_some_and(|(_, hi, _)| factors(egraph, hi, depth, sizes));
        }
        let before = sizes.len();
        let product = operators.parts::<2>(node, Primitive::Binary(BinaryOp::Mul));
        let found = product.is_some_and(|[a, b]| {
            factors(egraph, a, depth, sizes) && factors(egraph, b, depth, sizes)
        });
        if !found {
            sizes.truncate(before);
        }
        found
    })
}
