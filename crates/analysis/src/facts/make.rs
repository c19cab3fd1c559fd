//! The facts of one node, from those of its children.

use super::{EGraph, Fact, Facts, Interval, Known};
use crate::effects::{AddressFact, Effects};
use egg::{Id, Language, Symbol};
use ember_language::binders::Role;
use ember_language::term::{Head, Node};
use ember_targets::dlc::Dim;
use ember_values::affine::Affine;
use ember_values::scalar::{BinaryOp, DType, Scalar, UnaryOp};
use std::collections::BTreeSet;

/// Whether no fact is known of a node, which is told fast for the operators of which this project
/// knows nothing.
pub(super) fn says_nothing(egraph: &mut EGraph, node: &Node) -> bool {
    let Head::Op(name) = node.head() else { return false };
    let children = node.children();
    if children.is_empty() || spoken_of(&mut egraph.analysis, name) {
        return false;
    }
    // What is passed on from below: variables, which a binder may take away, and loops.
    children.iter().all(|c| {
        let below = &egraph[*c].data;
        below.is_nothing() || (below.free.is_empty() && !below.has_loop)
    })
}

/// Whether some fact may be known of terms of an operator besides what is passed on from below.
pub(super) fn spoken_of(facts: &mut Facts, name: Symbol) -> bool {
    *facts.spoken_of.entry(name).or_insert_with(|| {
        let name = name.as_str();
        LEVELS.iter().any(|level| name.starts_with(level))
            || OPERATORS.contains(&name)
            || DType::parse(name).is_some()
            || facts.binders.makes(Symbol::from(name))
    })
}

/// What the names of operators start with of which facts are known.
const LEVELS: [&str; 3] = ["scf.", "emb.", "nn."];

/// Further operators of which facts are known.
const OPERATORS: [&str; 18] = [
    "after", "forget", "at", "const", "depth", "dim", "fix", "fresh", "freeze", "in", "inner",
    "iv", "out", "outer", "rename", "size", "var", "vec",
];

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

    // Free variables: those of the children, less the one bound here.
    let role = facts.binders.role(name, children.len());
    for (i, &c) in children.iter().enumerate() {
        match role {
            Some(Role::Binds(variable, _)) if i == variable => {}
            Some(Role::Binds(variable, body)) if i == body => {
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
    if role == Some(Role::Variable) {
        fact.is_variable = true;
        fact.free = BTreeSet::from([id]);
    }
    // Whether a tensor's element takes a loop is not known before it has been lowered; a form
    // without one then says so.
    fact.has_loop = children.iter().any(|c| egraph[*c].data.has_loop)
        || matches!(name.as_str(), "scf.for" | "scf.reduce" | "emb.element");
    fact.address = AddressFact::make(egraph, node);
    fact.effects = Effects::make(egraph, node);

    match name.as_str() {
        "var" if children.len() == 4 => {
            fact.variable = Some((children[1], children[2], children[3]));
        }
        "iv" if children.len() == 1 => {
            fact.dtype = Some(DType::I64);
            if let Some(&key) = child(0).free.first() {
                fact.affine = Some(Affine::variable(facts.variable(key)));
            }
            fact.range = variable_range(egraph, children[0]);
            fact.constant = single_value(egraph, children[0]).map(Scalar::I64);
        }
        "size" => {
            fact.dtype = Some(DType::I64);
            fact.range = Interval { min: 0, max: i64::MAX };
        }
        "dim" => {
            fact.dtype = Some(DType::I64);
            fact.range = Interval { min: 0, max: i64::MAX };
            if let Some(Dim::Const(n)) = dimension(egraph, node) {
                fact.constant = i64::try_from(n).ok().map(Scalar::I64);
            }
        }
        "const" if children.len() == 2 => {
            let dtype = dtype_named(egraph, children[0]);
            fact.dtype = dtype;
            fact.constant =
                dtype.zip(real(egraph, children[1])).map(|(d, x)| Scalar::from_f64(d, x));
        }
        "scf.load" => fact.dtype = child(0).address.as_ref().and_then(|a| a.dtype(facts)),
        "scf.identity" if children.len() == 2 => {
            let dtype = element_type(child(1), facts);
            fact.dtype = dtype;
            fact.constant = binary_op(egraph, children[0])
                .zip(dtype)
                .and_then(|(op, dtype)| op.identity(dtype));
        }
        "scf.cast" | "scf.convert" if children.len() == 2 => {
            let dtype = if name.as_str() == "scf.cast" {
                dtype_named(egraph, children[0])
            } else {
                element_type(child(0), facts)
            };
            fact.dtype = dtype;
            fact.constant = dtype.zip(child(1).constant).map(|(d, x)| x.cast(d));
            if dtype == Some(DType::I64) && child(1).dtype == Some(DType::I64) {
                fact.range = child(1).range;
                fact.affine = child(1).affine.clone();
            }
        }
        "scf.mod" if children.len() == 2 => {
            fact.dtype = child(0).dtype.or(child(1).dtype);
            if fact.dtype == Some(DType::I64) {
                fact.range = Interval::remainder(child(0).range, child(1).range);
            }
        }
        "scf.one" => {
            fact.dtype = child(0).dtype;
            fact.constant = child(0).dtype.map(|dtype| Scalar::from_f64(dtype, 1.0));
        }
        "scf.select" | "scf.fold" | "emb.edge" => fact.dtype = child(1).dtype,
        "scf.exp" | "scf.sqrt" => {
            let op = name.as_str().strip_prefix("scf.").and_then(UnaryOp::parse);
            fact.dtype = child(0).dtype;
            fact.constant = op.zip(child(0).constant).and_then(|(op, x)| op.apply(x));
        }
        "scf.reduce" => fact.dtype = child(5).dtype,
        "scf.broadcast" => fact.dtype = child(1).dtype,
        "vec" => fact.dtype = child(4).dtype,
        "rename" | "fix" => fact.dtype = child(2).dtype,
        "after" => fact.dtype = child(1).dtype,
        "scf.lanes" => fact.dtype = Some(DType::I64),
        "emb.element" => fact.dtype = child(0).dtype,
        "emb.extent" => {
            fact.dtype = Some(DType::I64);
            fact.range = Interval { min: 0, max: i64::MAX };
        }
        tensor if is_tensor(tensor) => fact.dtype = tensor_type(egraph, tensor, children),
        other => {
            if let Some(op) = other.strip_prefix("scf.").and_then(BinaryOp::parse) {
                arithmetic(&mut fact, op, child(0), child(1));
            }
        }
    }
    if fact.dtype.is_some() {
        fact.lanes = lanes(egraph, name.as_str(), children);
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

/// The lanes of a value of this operator: made by a run, a block or a broadcast, kept by the rest.
fn lanes(egraph: &EGraph, name: &str, children: &[Id]) -> Option<i64> {
    let of = |i: usize| operand(egraph, children, i).lanes;
    match name {
        "scf.lanes" | "scf.broadcast" => operand(egraph, children, 0).integer(),
        "vec" => operand(egraph, children, 2).integer(),
        "rename" | "fix" => of(2),
        "after" => of(1),
        "iv" | "size" | "dim" | "const" | "scf.identity" | "scf.one" => Some(1),
        "scf.load" => {
            let address = operand(egraph, children, 0).address.as_ref()?;
            address.lanes
        }
        "scf.cast" | "scf.convert" => of(1),
        "scf.reduce" => of(5),
        "scf.select" => of(1),
        "emb.element" | "emb.extent" | "emb.edge" | "scf.fold" => Some(1),
        name if is_tensor(name) => None,
        _ => of(0),
    }
}

/// Whether an operator makes a tensor: one of those that neither write one nor ask for its parts.
fn is_tensor(name: &str) -> bool {
    let parts = ["element", "extent", "edge", "output", "output_slot", "output_columns"];
    name.starts_with("nn.") || name.strip_prefix("emb.").is_some_and(|op| !parts.contains(&op))
}

/// The element type of a tensor of this operator: that of the operand that holds what is combined.
fn tensor_type(egraph: &EGraph, name: &str, children: &[Id]) -> Option<DType> {
    let of = |i: usize| element_type(&egraph[*children.get(i)?].data, &egraph.analysis);
    match name {
        "nn.cast" => dtype_named(egraph, *children.first()?),
        "emb.bag" | "emb.kg" | "emb.dequantise" | "nn.scale" => of(1),
        "emb.spmm" => of(3),
        "emb.sddmm" => of(2),
        "emb.mp" => of(4),
        _ => of(0),
    }
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

/// The extent that a `(dim address k)` node asks for.
pub fn dimension(egraph: &EGraph, node: &Node) -> Option<Dim> {
    let [address, k] = node.children() else { return None };
    let address = egraph[*address].data.address.as_ref()?;
    let k = usize::try_from(egraph[*k].data.integer()?).ok()?;
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
