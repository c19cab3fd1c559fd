//! A term as it is priced: its row of the operator table and its operands' summaries; and the prices that terms
//! of one primitive have on every unit.

use super::Summary;
use egg::{Id, Language};
use ember_analysis::facts::{EGraph, binary_op};
use ember_language::rules::{Loop, OpInfo};
use ember_language::term::{Head, Node};
use ember_values::primitive::Primitive;
use ember_values::scalar::BinaryOp;

/// A node whose operator is known, with its operands' summaries.
pub(super) struct Priced<'a> {
    pub egraph: &'a EGraph,
    pub node: &'a Node,
    pub info: &'a OpInfo,
    pub operands: &'a [&'a Summary],
}

/// An operand: its class, and the candidate that was chosen of it.
#[derive(Clone, Copy)]
pub(super) struct Operand<'a> {
    pub id: Id,
    pub summary: &'a Summary,
}

impl<'a> Priced<'a> {
    /// The primitive that the operator is.
    pub fn primitive(&self) -> Option<Primitive> {
        self.info.primitive()
    }

    /// The class of the operand at a position.
    pub fn child(&self, at: usize) -> Option<Id> {
        self.node.children().get(at).copied()
    }

    /// The first operands in the order of the primitive's row.
    pub fn parts<const N: usize>(&self) -> Option<[Operand<'a>; N]> {
        let ids: [Id; N] = self.info.parts(self.node.children())?;
        let summaries: [&Summary; N] = self.info.arranged(self.operands)?;
        Some(std::array::from_fn(|at| Operand { id: ids[at], summary: summaries[at] }))
    }

    /// The operands of a loop.
    pub fn looped(&self) -> Option<(Id, Loop<&'a Summary>)> {
        let own = self.info.looped()?;
        Some((self.child(own.variable)?, own.of(self.operands)?))
    }

    /// The binary operation that it is, or that an operand names, and what it is applied to.
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

    /// An address: a tensor, as it is or frozen, or one with one more index.
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

    /// The root of an address.
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

    /// A run of indices from a scalar one.
    pub fn run(&self) -> Option<Summary> {
        let [count, _, first] = self.parts()?;
        let (lanes, stride) = (self.lanes(count), first.summary.stride);
        Some(Summary { element: 8.0, lanes, stride, ..self.together() })
    }

    /// A scalar in every lane.
    pub fn broadcast(&self) -> Option<Summary> {
        let [count, x] = self.parts()?;
        let mut summary = Summary::merge(self.operands)?;
        (summary.element, summary.lanes) = (x.summary.element, self.lanes(count));
        Some(summary)
    }

    /// A constant on one of the units.
    pub fn constant(&self) -> Option<Summary> {
        let [number] = self.parts()?;
        number.summary.literal.then(|| Summary { element: 8.0, ..Summary::passive(&[]) })
    }

    /// The operands together, without the cost of what cannot stand together.
    fn together(&self) -> Summary {
        Summary::merge(self.operands).unwrap_or_else(|| Summary::passive(self.operands))
    }

    /// The number of lanes that an operand is.
    fn lanes(&self, count: Operand<'_>) -> f64 {
        self.egraph[count.id].data.integer().map_or(1.0, |n| n as f64)
    }
}
