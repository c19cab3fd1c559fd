//! The facts of one node, from those of its children.

use super::{EGraph, Fact, Facts, Interval, Known};
use crate::effects::{AddressFact, Effects};
use egg::{Id, Language, Symbol};
use ember_language::rules::{OpInfo, Operators};
use ember_language::term::{Head, Node};
use ember_targets::dlc::Dim;
use ember_values::affine::Affine;
use ember_values::primitive::{Primitive, Typing, Width};
use ember_values::scalar::{BinaryOp, DType, LARGEST_SIZE, Scalar};
use std::collections::BTreeSet;

/// Whether no fact is known of a node: quickly decided for operators of which nothing is declared.
pub(super) fn says_nothing(egraph: &EGraph, node: &Node) -> bool {
    let Head::Op(name) = node.head() else { return false };
    let children = node.children();
    if children.is_empty() || speaks(egraph.analysis.operators(), name, children.len()) {
        return false;
    }
    // What is passed on from below: variables, which a binder may take away, and loops.
    children.iter().all(|c| {
        let below = &egraph[*c].data;
        below.is_nothing() || (below.free.is_empty() && !below.has_loop)
    })
}

/// Whether some fact may be known of terms of an operator besides those of its operands.
pub(super) fn speaks(operators: &Operators, name: Symbol, arity: usize) -> bool {
    operators.get(name, arity).is_some_and(|info| info.has_facts() || info.makes_variable)
}

/// The facts of one node.
pub(super) fn make(egraph: &EGraph, node: &Node, id: Id) -> Fact {
    let mut fact = Fact::UNKNOWN;
    let facts = &egraph.analysis;
    let children = node.children();
    let child = |i: usize| operand(egraph, children, i);
    let name = match node.head() {
        Head::Int(n) => {
            fact.constant = Some(Scalar::I64(n));
            fact.dtype = Some(DType::I64);
            fact.lanes = Some(1);
            fact.range = Interval::point(n);
            fact.affine = Some(Affine::constant(n));
            fact.effects = Some(Effects::none());
            return fact;
        }
        Head::Real(_) => {
            fact.effects = Some(Effects::none());
            return fact;
        }
        Head::Op(name) => name,
    };
    let info = facts.operators().get(name, children.len());

    // Free variables: those of the children, less the one bound here.
    let binds = info.and_then(|info| info.binds);
    for (i, &c) in children.iter().enumerate() {
        match binds {
            Some((variable, _)) if i == variable => {}
            Some((variable, body)) if i == body => {
                let bound: BTreeSet<Id> =
                    child(variable).free.iter().map(|k| facts.variable(*k)).collect();
                let free = egraph[c].data.free.iter().map(|k| facts.variable(*k));
                fact.free.extend(free.filter(|k| !bound.contains(k)));
            }
            _ => fact.free.extend(egraph[c].data.free.iter().map(|k| facts.variable(*k))),
        }
    }
    // What a variable is made from is its name alone: to mention the variable is to depend on nothing else,
    // a loop's bounds included.
    if facts.operators().makes_variable(name, children.len()) {
        fact.is_variable = true;
        fact.free = BTreeSet::from([id]);
    }
    fact.has_loop = children.iter().any(|c| egraph[*c].data.has_loop);
    let Some(info) = info.filter(|info| info.has_facts()) else {
        fact.effects = children.is_empty().then(Effects::none);
        return fact;
    };
    // Whether a tensor's element takes a loop is not known before it has been lowered; a form
    // without one then says so.
    fact.has_loop |= info.looped().is_some() || info.is(Primitive::Element);
    fact.address = AddressFact::make(egraph, node, info);
    fact.effects = Effects::make(egraph, node, info);
    fact.dtype = match info.typing {
        Some(Typing::I64) => Some(DType::I64),
        Some(Typing::Of(i)) => element_type(child(i), facts),
        Some(Typing::Named(i)) => children.get(i).and_then(|c| dtype_named(egraph, *c)),
        None => None,
    };
    value(egraph, info, children, &mut fact);
    if fact.dtype.is_some() {
        fact.lanes = match info.width {
            Some(Width::One) => Some(1),
            Some(Width::Of(i)) => child(i).address.as_ref().map_or(child(i).lanes, |a| a.lanes),
            Some(Width::Count(i)) => child(i).integer(),
            None => None,
        };
    }
    // A constant is a scalar; lanes of it are another value.
    if let Some(Scalar::I64(n)) = fact.constant {
        fact.range = Interval::point(n);
        fact.affine = Some(Affine::constant(n));
    }
    if fact.constant.is_some() {
        fact.free.clear();
    }
    fact
}

/// The facts of an operand; none where there is no such operand, since a user's operator of a name that
/// is known here may have fewer.
fn operand<'a>(egraph: &'a EGraph, children: &[Id], i: usize) -> &'a Known {
    children.get(i).map_or(&Known::NOTHING, |child| &egraph[*child].data)
}

/// What is known of a value besides its type: its constant, its range and its affine form.
fn value(egraph: &EGraph, info: &OpInfo, children: &[Id], fact: &mut Fact) {
    let size = Interval { min: 0, max: LARGEST_SIZE as i64 };
    let data = |id: Id| &egraph[id].data;
    match info.primitive() {
        Some(Primitive::Variable) => {
            fact.variable = info.parts(children).map(|[_, lo, hi, step]| (lo, hi, step));
        }
        Some(Primitive::Iv) => {
            let Some([variable]) = info.parts(children) else { return };
            if let Some(&key) = data(variable).free.first() {
                fact.affine = Some(Affine::variable(egraph.analysis.variable(key)));
            }
            fact.range = variable_range(egraph, variable);
            fact.constant = single_value(egraph, variable).map(Scalar::I64);
        }
        Some(Primitive::Size | Primitive::Extent) => fact.range = size,
        Some(Primitive::Dim) => {
            fact.range = size;
            let extent =
                info.parts(children).and_then(|[address, k]| dimension(egraph, address, k));
            if let Some(Dim::Const(n)) = extent {
                fact.constant = i64::try_from(n).ok().map(Scalar::I64);
            }
        }
        Some(Primitive::Constant) => {
            let number = info.parts(children).and_then(|[_, number]| real(egraph, number));
            fact.constant = fact.dtype.zip(number).map(|(d, x)| Scalar::from_f64(d, x));
        }
        Some(Primitive::Identity) => {
            let op = info.parts(children).and_then(|[op, _]| binary_op(egraph, op));
            fact.constant = op.zip(fact.dtype).and_then(|(op, dtype)| op.identity(dtype));
        }
        Some(Primitive::One) => {
            fact.constant = fact.dtype.map(|dtype| Scalar::from_f64(dtype, 1.0));
        }
        Some(Primitive::Cast | Primitive::Convert) => {
            let Some([_, x]) = info.parts(children) else { return };
            fact.constant = fact.dtype.zip(data(x).constant).map(|(d, x)| x.cast(d));
            if fact.dtype == Some(DType::I64) && data(x).dtype == Some(DType::I64) {
                fact.range = data(x).range;
                fact.affine = data(x).affine.clone();
            }
        }
        Some(Primitive::Unary(op)) => {
            let Some([x]) = info.parts(children) else { return };
            fact.constant = data(x).constant.and_then(|x| op.apply(x));
        }
        Some(Primitive::Binary(op)) => {
            let Some([a, b]) = info.parts(children) else { return };
            arithmetic(fact, op, data(a), data(b));
            if let (BinaryOp::Sub, Some(range)) = (op, remainder(egraph, a, b)) {
                fact.range = range;
            }
        }
        _ => {}
    }
}

/// The range of `x - (x / c) * c`, the remainder of a truncated division; `None` for another difference.
fn remainder(egraph: &EGraph, x: Id, product: Id) -> Option<Interval> {
    let operators = egraph.analysis.operators();
    let parts = |class: Id, op: BinaryOp| {
        let primitive = Primitive::Binary(op);
        egraph[class].nodes.iter().find_map(|node| operators.parts::<2>(node, primitive))
    };
    let [quotient, c] = parts(product, BinaryOp::Mul)?;
    let [dividend, divisor] = parts(quotient, BinaryOp::Div)?;
    let same = |a: Id, b: Id| egraph.find(a) == egraph.find(b);
    let divided = same(dividend, x) && same(divisor, c) && egraph[x].data.dtype == Some(DType::I64);
    divided.then(|| Interval::remainder(egraph[x].data.range, egraph[c].data.range))
}

/// The element type of what a tensor, an address or a value holds.
fn element_type(fact: &Fact, facts: &Facts) -> Option<DType> {
    fact.address.as_ref().map_or(fact.dtype, |a| a.dtype(facts))
}

/// The facts of `a op b`.
fn arithmetic(fact: &mut Fact, op: BinaryOp, a: &Fact, b: &Fact) {
    fact.dtype = a.dtype.or(b.dtype).map(|d| op.result(d));
    fact.constant = a.constant.zip(b.constant).and_then(|(x, y)| op.apply(x, y));
    if fact.dtype == Some(DType::I64) {
        fact.range = Interval::apply(op, a.range, b.range);
        let forms = a.affine.as_ref().zip(b.affine.as_ref());
        fact.affine = forms.and_then(|(x, y)| Affine::apply(op, x, y));
    }
}

/// The range of a loop variable's value. A loop that may be empty gives no facts: from an empty
/// range anything follows, and what follows would merge closed terms everywhere.
fn variable_range(egraph: &EGraph, var: Id) -> Interval {
    let Some((lo, hi, _)) = egraph[var].data.variable else { return Interval::ALL };
    let (lo, hi) = (egraph[lo].data.range, egraph[hi].data.range);
    if hi.min <= lo.max {
        return Interval::ALL;
    }
    Interval { min: lo.min, max: hi.max.saturating_sub(1) }
}

/// The one value of the variable of a loop that runs exactly once, whatever the data.
pub fn single_value(egraph: &EGraph, var: Id) -> Option<i64> {
    let (lo, hi, step) = egraph[var].data.variable?;
    let integer = |id: Id| egraph[id].data.integer();
    let (lo, hi, step) = (integer(lo)?, integer(hi)?, integer(step)?);
    (lo < hi && hi <= lo.checked_add(step)?).then_some(lo)
}

/// The extent of an address by its position among those of the indices that it lacks.
pub fn dimension(egraph: &EGraph, address: Id, k: Id) -> Option<Dim> {
    let address = egraph[address].data.address.as_ref()?;
    let k = usize::try_from(egraph[k].data.integer()?).ok()?;
    egraph.analysis.tensor(address.tensor)?.shape.get(address.index.len() + k).copied()
}

/// The element type that a class names.
pub fn dtype_named(egraph: &EGraph, id: Id) -> Option<DType> {
    egraph[id].nodes.iter().find_map(|n| DType::parse(n.name()?))
}

/// The binary operation that a class names.
pub fn binary_op(egraph: &EGraph, id: Id) -> Option<BinaryOp> {
    egraph[id].nodes.iter().find_map(|n| BinaryOp::parse(n.name()?))
}

/// The literal real number of a class; an integer literal stands for the number it names.
fn real(egraph: &EGraph, id: Id) -> Option<f64> {
    egraph[id].nodes.iter().find_map(|n| match n.head() {
        Head::Real(bits) => Some(f64::from_bits(bits)),
        _ => None,
    })
}
