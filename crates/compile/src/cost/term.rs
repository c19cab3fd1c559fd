//! Terms during pricing: the row of the operator table with the summaries of the operands, and the prices of primitives
//! that are the same on every unit.

use super::Summary;
use egg::{Id, Language};
use ember_analysis::facts::{EGraph, binary_op};
use ember_language::rules::{Loop, OpInfo};
use ember_language::term::{Head, Node};
use ember_values::primitive::form::{Form, Operation};
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
    /// Returns the form of the term.
    pub fn form(&self) -> Option<Form<Operand<'a>>> {
        let operand =
            |at: usize| Some(Operand { id: self.child(at)?, summary: *self.operands.get(at)? });
        self.info.form?.over(operand)
    }

    /// Returns the e-class of the operand at a position.
    pub fn child(&self, at: usize) -> Option<Id> {
        self.node.children().get(at).copied()
    }

    /// Returns the variable and the operands of a loop.
    pub fn looped(&self) -> Option<(Id, Loop<&'a Summary>)> {
        let own = self.info.looped()?;
        Some((self.child(own.variable)?, own.of(self.operands)?))
    }

    /// Returns a binary operation, which an operand may name.
    pub fn operation(&self, op: Operation<Operand<'a>>) -> Option<BinaryOp> {
        op.known(|op| binary_op(self.egraph, op.id))
    }

    /// Prices an address with one more index.
    pub fn indexed(&self, address: &Summary, index: &Summary) -> Summary {
        Summary {
            tensor: address.tensor,
            indices: address.indices + 1,
            element: address.element,
            lanes: index.lanes.max(address.lanes),
            stride: index.stride,
            row: address.stride.filter(|_| index.whole),
            ..self.together()
        }
    }

    /// Prices the root of an address.
    pub fn tensor(&self, name: Id) -> Summary {
        let name = self.egraph[name].nodes.iter().find_map(|n| match n.head() {
            Head::Op(name) => Some(name),
            _ => None,
        });
        let element = name
            .and_then(|name| self.egraph.analysis.tensor(name))
            .map_or(8.0, |tensor| tensor.dtype.bits() as f64 / 8.0);
        Summary { tensor: name, element, ..Summary::passive(self.operands) }
    }

    /// Prices a run of indices that starts at a scalar. Those from `below` on are not used, which leaves lanes empty in
    /// the last of the runs from 0 on.
    pub fn run(&self, lanes: Operand<'_>, first: Operand<'_>, below: Operand<'_>) -> Summary {
        let (lanes, stride) = (self.lanes(lanes), first.summary.stride);
        let mut summary = Summary { element: 8.0, lanes, stride, ..self.together() };
        if let Some(used) = self.number(below.id).filter(|used| *used > 0) {
            let used = used as f64;
            summary.share *= used / ((used / lanes).ceil() * lanes);
            summary.whole = first.summary.literal && used <= lanes;
        }
        summary
    }

    /// Prices a scalar that is broadcast to all lanes.
    pub fn broadcast(&self, lanes: Operand<'_>, x: Operand<'_>) -> Option<Summary> {
        let mut summary = Summary::merge(self.operands)?;
        (summary.element, summary.lanes) = (x.summary.element, self.lanes(lanes));
        Some(summary)
    }

    /// Prices a constant on one of the units.
    pub fn constant(&self, number: Operand<'_>) -> Option<Summary> {
        let dtype = self.egraph[number.id].data.dtype;
        let element = dtype.map_or(8.0, |dtype| dtype.bits() as f64 / 8.0);
        let literal = number.summary.literal;
        literal.then(|| Summary { element, literal, ..Summary::passive(&[]) })
    }

    /// Returns the operands combined, or a summary without cost if they cannot be combined.
    fn together(&self) -> Summary {
        Summary::merge(self.operands).unwrap_or_else(|| Summary::passive(self.operands))
    }

    /// Returns the number that a class is, on any unit.
    pub fn number(&self, class: Id) -> Option<i64> {
        let operators = self.egraph.analysis.operators();
        let carried = |node: &Node| match operators.form(node)? {
            Form::Carried { x, to: None } => self.egraph[x].data.integer(),
            _ => None,
        };
        let class = &self.egraph[class];
        class.data.integer().or_else(|| class.nodes.iter().find_map(carried))
    }

    /// Returns the literal number of lanes in an operand.
    fn lanes(&self, count: Operand<'_>) -> f64 {
        self.egraph[count.id].data.integer().map_or(1.0, |n| n as f64)
    }
}
