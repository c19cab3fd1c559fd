//! Folding: the shorter node that a class is also equal to, where facts or declarations tell it.

use super::make::{dimension, dtype_named};
use super::{EGraph, Fact};
use egg::{Id, Language, Symbol};
use ember_language::term::{Head, Node};
use ember_values::primitive::Primitive;
use ember_values::scalar::{DType, Scalar};

/// The most nodes that folding one class adds: a cast with its type, and its constant.
pub const FOLDED_NODES: usize = 5;

/// Adds to a class the shorter nodes that it is equal to.
pub(super) fn fold(egraph: &mut EGraph, id: Id) {
    if egraph[id].data.is_nothing() {
        return;
    }
    if let Some(simpler) = simplified(egraph, id) {
        if !matches!(simpler, Simplified::Same(_)) && !room_to_fold(egraph) {
            return;
        }
        let simpler = match simpler {
            Simplified::Same(other) => other,
            Simplified::Size(operator, name) => {
                let name = egraph.add(Node::new(Head::Op(name), &[]));
                egraph.add(Node::new(Head::Op(operator), &[name]))
            }
            Simplified::Cast(operator, dtype, value) => {
                let dtype = egraph.add(Node::op(dtype.name(), &[]));
                egraph.add(Node::new(Head::Op(operator), &[dtype, value]))
            }
        };
        if egraph.union(id, simpler) {
            egraph.analysis.journal.computed(id, simpler);
        }
    }
    let Some(node) = folded(&egraph[id].data) else { return };
    let is_folded = egraph[id].nodes.iter().any(|n| match node {
        Folded::Int(value) => n.head() == Head::Int(value),
        Folded::Const(..) => egraph.analysis.operators().primitive(n) == Some(Primitive::Constant),
    });
    if is_folded || !room_to_fold(egraph) {
        return;
    }
    let folded = match node {
        Folded::Int(n) => egraph.add(Node::int(n)),
        Folded::Const(dtype, bits) => {
            let Some(operator) = egraph.analysis.operators().named(Primitive::Constant, None)
            else {
                return;
            };
            let dtype = egraph.add(Node::op(dtype.name(), &[]));
            let real = egraph.add(Node::new(Head::Real(bits), &[]));
            egraph.add(Node::new(Head::Op(operator), &[dtype, real]))
        }
    };
    if egraph.union(id, folded) {
        egraph.analysis.journal.computed(id, folded);
    }
}

/// Whether the ceiling leaves room to fold a class; that it did not is remembered.
fn room_to_fold(egraph: &mut EGraph) -> bool {
    let made = egraph.nodes().len().saturating_add(FOLDED_NODES + egraph.analysis.node_reserve);
    let room = egraph.analysis.node_ceiling.is_none_or(|ceiling| made <= ceiling);
    egraph.analysis.ceiling_reached |= !room;
    room
}

/// What a class means in fewer words, where only the declarations of tensors can tell.
enum Simplified {
    /// This class.
    Same(Id),
    /// An operator of a name.
    Size(Symbol, Symbol),
    /// An operator, a type and what is converted to it.
    Cast(Symbol, DType, Id),
}

/// The simplification of the node that a new class was made from.
fn simplified(egraph: &EGraph, id: Id) -> Option<Simplified> {
    let [node] = egraph[id].nodes.as_slice() else { return None };
    let operators = egraph.analysis.operators();
    let info = operators.of(node)?;
    let children = node.children();
    match info.primitive()? {
        Primitive::Dim => {
            let [address, k] = info.parts(children)?;
            let name = egraph.analysis.size_name(dimension(egraph, address, k)?)?;
            Some(Simplified::Size(operators.named(Primitive::Size, None)?, name))
        }
        Primitive::Convert => {
            let [_, value] = info.parts(children)?;
            let operator = operators.named(Primitive::Cast, None)?;
            Some(Simplified::Cast(operator, egraph[id].data.dtype?, value))
        }
        Primitive::Cast if info.unit.is_none() => {
            let [dtype, value] = info.parts(children)?;
            let from = egraph[value].data.dtype?;
            (dtype_named(egraph, dtype)? == from).then_some(Simplified::Same(value))
        }
        _ => None,
    }
}

/// A constant as the node that stands for it.
enum Folded {
    Int(i64),
    Const(DType, u64),
}

/// The node of a class's constant. Only a closed value is folded: a union with a term of another
/// environment would carry that environment's facts along.
fn folded(fact: &Fact) -> Option<Folded> {
    Some(match fact.constant? {
        Scalar::I64(n) => Folded::Int(n),
        Scalar::I32(n) => Folded::Const(DType::I32, f64::from(n).to_bits()),
        Scalar::F32(x) => Folded::Const(DType::F32, bits(f64::from(x))),
        Scalar::F64(x) => Folded::Const(DType::F64, bits(x)),
        other => Folded::Const(other.dtype(), bits(other.as_f64())),
    })
}

fn bits(x: f64) -> u64 {
    match Head::real(x) {
        Head::Real(bits) => bits,
        Head::Int(_) | Head::Op(_) => x.to_bits(),
    }
}
