//! Terms during pricing: the row of the operator table with the summaries of the operands, and the prices of primitives
//! that are the same on every unit.

use super::Summary;
use egg::{Id, Language};
use ember_analysis::facts::{EGraph, binary_op};
use ember_language::rules::{Loop, OpInfo};
use ember_language::term::{Head, Node};
use ember_values::primitive::Primitive;
use ember_values::scalar::BinaryOp;

/// A node with a known operator and the summaries of its operands.
pub(super) struct Priced<'a> {
    pub egraph: &'a EGraph,
    pub node: &'a Node,
    pub info: &'a OpInfo,
    pub operands: &'a [&'a Summary],
}

/// An operand: its e-class, and the candidate that was chosen for it.
#[derive(Clone, Copy)]
pub(super) struct Operand<'a> {
    pub id: Id,
    pub summary: &'a Summary,
}

impl<'a> Priced<'a> {
    /// Returns the primitive of the operator.
    pub fn primitive(&self) -> Option<Primitive> {
        self.info.primitive()
    }

    /// Returns the e-class of the operand at a position.
    pub fn child(&self, at: usize) -> Option<Id> {
        self.node.children().get(at).copied()
    }

    /// Returns the first operands in the order of the primitive's row.
    pub fn parts<const N: usize>(&self) -> Option<[Operand<'a>; N]> {
        let ids: [Id; N] = self.info.parts(self.node.children())?;
        let summaries: [&Summary; N] = self.info.arranged(self.operands)?;
        Some(std::array::from_fn(|at| Operand { id: ids[at], summary: summaries[at] }))
    }

    /// Returns the variable and the operands of a loop.
    pub fn looped(&self) -> Option<(Id, Loop<&'a Summary>)> {
        let own = self.info.looped()?;
        Some((self.child(own.variable)?, own.of(self.operands)?))
    }

    /// Returns the binary operation of the operator, or the one that an operand names, with its two operands.
    pub fn binary(&self) -> Option<(BinaryOp, &'a Summary, &'a Summary)> {
        match self.primitive()? {
            Primitive::Binary(op) => {
                let [a, b] = self.parts()?;
                Some((op, a.summary, b.summary))
            }
            Primitive::Apply => {
                let [op, a, b] = self.parts()?;
                Some((binary_op(self.egraph, op.id)?, a.summary, b.summary))
            }
            _ => None,
        }
    }

    /// Prices an address: a tensor, possibly frozen, or an address with one more index.
    pub fn address(&self) -> Option<Summary> {
        match self.primitive()? {
            Primitive::Root(_) => self.parts().map(|[name]| self.tensor(name.id)),
            Primitive::Freeze => self.parts().map(|[address]| address.summary.clone()),
            Primitive::Index => self.parts().map(|[address, index]| Summary {
                tensor: address.summary.tensor,
                element: address.summary.element,
                lanes: index.summary.lanes.max(address.summary.lanes),
                stride: index.summary.stride,
                ..self.together()
            }),
            _ => None,
        }
    }

    /// Prices the root of an address.
    fn tensor(&self, name: Id) -> Summary {
        let name = self.egraph[name].nodes.iter().find_map(|n| match n.head() {
            Head::Op(name) => Some(name),
            _ => None,
        });
        let element = name
            .and_then(|name| self.egraph.analysis.tensor(name))
            .map_or(8.0, |tensor| tensor.dtype.bits() as f64 / 8.0);
        Summary { tensor: name, element, ..Summary::passive(self.operands) }
    }

    /// Prices a run of indices that starts at a scalar.
    pub fn run(&self) -> Option<Summary> {
        let [count, _, first] = self.parts()?;
        let (lanes, stride) = (self.lanes(count), first.summary.stride);
        Some(Summary { element: 8.0, lanes, stride, ..self.together() })
    }

    /// Prices a scalar that is broadcast to all lanes.
    pub fn broadcast(&self) -> Option<Summary> {
        let [count, x] = self.parts()?;
        let mut summary = Summary::merge(self.operands)?;
        (summary.element, summary.lanes) = (x.summary.element, self.lanes(count));
        Some(summary)
    }

    /// Prices a constant on one of the units.
    pub fn constant(&self) -> Option<Summary> {
        let [number] = self.parts()?;
        number.summary.literal.then(|| Summary { element: 8.0, ..Summary::passive(&[]) })
    }

    /// Returns the operands combined, or a summary without cost if they cannot be combined.
    fn together(&self) -> Summary {
        Summary::merge(self.operands).unwrap_or_else(|| Summary::passive(self.operands))
    }

    /// Returns the literal number of lanes in an operand.
    fn lanes(&self, count: Operand<'_>) -> f64 {
        self.egraph[count.id].data.integer().map_or(1.0, |n| n as f64)
    }
}
