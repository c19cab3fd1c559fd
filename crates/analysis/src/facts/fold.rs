//! Folding: adds to a class the shorter node that facts or declarations prove equal to it.

use super::make::{dimension, dtype_named};
use super::{EGraph, Fact};
use egg::{Id, Language, Symbol};
use ember_language::term::{Head, Node};
use ember_values::primitive::Typing;
use ember_values::primitive::form::{Form, Number, Shape};
use ember_values::scalar::{DType, Scalar};

/// The largest number of nodes that folding one class adds: a cast with its type, and a constant with its type.
pub const FOLDED_NODES: usize = 5;

/// Adds to a class the shorter nodes that are equal to it.
pub(super) fn fold(egraph: &mut EGraph, id: Id) {
    if egraph[id].data.is_nothing() {
        return;
    }
    unite_forms(egraph, id);
    if let Some(simpler) = simplified(egraph, id) {
        if !matches!(simpler, Simplified::Same(_)) && !room_to_fold(egraph) {
            return;
        }
        let simpler = match simpler {
            Simplified::Same(other) => other,
            Simplified::Size(name) => {
                let name = egraph.add(Node::new(Head::Op(name), &[]));
                add(egraph, size(name))
            }
            Simplified::Cast(dtype, x) => {
                let dtype = egraph.add(Node::op(dtype.name(), &[]));
                add(egraph, cast(dtype, x))
            }
        };
        if egraph.union(id, simpler) {
            egraph.analysis.journal.computed(id, simpler);
        }
    }
    let Some(node) = folded(&egraph[id].data) else { return };
    let is_folded = egraph[id].nodes.iter().any(|n| match node {
        Folded::Int(value) => n.head() == Head::Int(value),
        Folded::Const(..) => egraph.analysis.operators().literal(n).is_some(),
    });
    if is_folded || !room_to_fold(egraph) {
        return;
    }
    let folded = match node {
        Folded::Int(n) => egraph.add(Node::int(n)),
        Folded::Const(dtype, bits) => {
            if !is_declared(egraph, literal((), ())) {
                return;
            }
            let dtype = egraph.add(Node::op(dtype.name(), &[]));
            let real = egraph.add(Node::new(Head::Real(bits), &[]));
            add(egraph, literal(dtype, real))
        }
    };
    if egraph.union(id, folded) {
        egraph.analysis.journal.computed(id, folded);
    }
}

fn literal<T>(dtype: T, number: T) -> Form<T> {
    Form::Number { value: Number::Literal(number), dtype: Typing::Named(dtype) }
}

fn size<T>(name: T) -> Form<T> {
    Form::Number { value: Number::Size(name), dtype: Typing::I64 }
}

fn cast<T>(dtype: T, x: T) -> Form<T> {
    Form::Carried { x, to: Some(Typing::Named(dtype)) }
}

/// Returns true if a dialect declares the operator of a form.
fn is_declared(egraph: &EGraph, shape: Shape) -> bool {
    egraph.analysis.operators().named(shape, None).is_some()
}

fn add(egraph: &mut EGraph, form: Form<Id>) -> Id {
    let node = egraph.analysis.operators().node(form, None);
    egraph.add(node)
}

/// Notes a new node whose affine form follows from its operator and from operands of which that is true, so that it
/// can be computed again without the equalities of this e-graph.
pub(super) fn note_form(egraph: &mut EGraph, node: &Node, id: Id, fact: &Fact) {
    let Some(forms) = &egraph.analysis.forms else { return };
    let operands = || node.children().iter().filter(|id| egraph[**id].data.dtype.is_some());
    let literal = matches!(node.head(), Head::Int(_));
    // The only value of a loop variable is known from its loop, and not from its operator.
    let known = literal || fact.constant.is_none() || operands().next().is_some();
    let is_plain = fact.affine.is_some() && known && operands().all(|id| forms.plain.contains(id));
    if is_plain && let Some(forms) = &mut egraph.analysis.forms {
        forms.plain.insert(id);
    }
}

/// Unites a new class with the first one of its affine form. Sums of loop variables and sizes are equal modulo 2^64 if
/// their forms are; a literal has its own class.
fn unite_forms(egraph: &mut EGraph, id: Id) {
    let form = egraph[id].data.affine.clone().filter(|_| egraph[id].nodes.len() == 1);
    let (Some(form), Some(forms)) = (form, &mut egraph.analysis.forms) else { return };
    if form.as_constant().is_some() || !forms.plain.contains(&id) {
        return;
    }
    let first = *forms.first.entry(form).or_insert(id);
    if egraph.union(id, first) {
        egraph.analysis.journal.computed(id, first);
    }
}

/// Returns true if the ceiling leaves room to fold a class; otherwise records that the ceiling was reached.
fn room_to_fold(egraph: &mut EGraph) -> bool {
    let made = egraph.nodes().len().saturating_add(FOLDED_NODES + egraph.analysis.node_reserve);
    let room = egraph.analysis.node_ceiling.is_none_or(|ceiling| made <= ceiling);
    egraph.analysis.ceiling_reached |= !room;
    room
}

/// A shorter form of a class that follows from the declarations of tensors and element types.
enum Simplified {
    /// An existing class.
    Same(Id),
    /// The size with a name.
    Size(Symbol),
    /// The conversion of an operand to a type.
    Cast(DType, Id),
}

/// Returns the simplification of the node that a new class was made from.
fn simplified(egraph: &EGraph, id: Id) -> Option<Simplified> {
    let [node] = egraph[id].nodes.as_slice() else { return None };
    let operators = egraph.analysis.operators();
    let info = operators.of(node)?;
    match info.form(node.children())? {
        Form::Extent { of, k } => {
            let name = egraph.analysis.size_name(dimension(egraph, of.operand(), k)?)?;
            is_declared(egraph, size(())).then_some(Simplified::Size(name))
        }
        Form::Carried { x: value, to: Some(to) } => match to {
            Typing::Of(_) => {
                let dtype = egraph[id].data.dtype?;
                is_declared(egraph, cast((), ())).then_some(Simplified::Cast(dtype, value))
            }
            Typing::Named(dtype) if info.unit.is_none() => {
                let dtype = dtype_named(egraph, dtype)?;
                (Some(dtype) == egraph[value].data.dtype).then_some(Simplified::Same(value))
            }
            Typing::Named(_) | Typing::I64 => None,
        },
        _ => None,
    }
}

/// The node that represents a constant.
enum Folded {
    Int(i64),
    Const(DType, u64),
}

/// Returns the node of a class's constant. Only a closed value is folded: a union with a term of another environment
/// would carry that environment's facts along.
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
