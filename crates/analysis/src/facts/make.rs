//! Computes the facts of one node from the facts of its children.

use super::{AffineForm, EGraph, Fact, Facts, Interval, Known};
use crate::effects::{AddressFact, Effects};
use egg::{Id, Language, Symbol};
use ember_language::rules::{OpInfo, Operators};
use ember_language::term::{Head, Node};
use ember_targets::dlc::Dim;
use ember_values::affine::Affine;
use ember_values::primitive::form::{By, Condition, Form, Number, Operation};
use ember_values::primitive::{Typing, Width};
use ember_values::scalar::{BinaryOp, DType, LARGEST_SIZE, Linear, Scalar};
use std::collections::BTreeSet;

/// Returns true if no fact is known about a node. This is a quick check for operators without declarations.
pub(super) fn says_nothing(egraph: &EGraph, node: &Node) -> bool {
    let Head::Op(name) = node.head() else { return false };
    let children = node.children();
    if children.is_empty() || speaks(egraph.analysis.operators(), name, children.len()) {
        return false;
    }
    // Any operator passes on the free variables of its operands, unless it binds them, and the presence of a loop.
    children.iter().all(|c| {
        let below = &egraph[*c].data;
        below.is_nothing() || (below.free.is_empty() && !below.has_loop)
    })
}

/// Returns true if the declarations of an operator can yield facts about its terms, beyond the facts of its operands.
pub(super) fn speaks(operators: &Operators, name: Symbol, arity: usize) -> bool {
    operators.get(name, arity).is_some_and(|info| info.has_facts() || info.makes_variable)
}

/// Computes the facts of one node.
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

    // The free variables are the free variables of the children, without the variable bound here.
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
    // A variable is identified by its name alone, of which its bounds are no part.
    if facts.operators().makes_variable(name, children.len()) {
        fact.is_variable = true;
        fact.free = BTreeSet::from([id]);
    }
    fact.has_loop = children.iter().any(|c| egraph[*c].data.has_loop);
    let Some(info) = info.filter(|info| info.has_facts()) else {
        fact.effects = children.is_empty().then(Effects::none);
        return fact;
    };
    // A tensor's element may be lowered to a loop, so that it counts as one; a lowered form without a loop corrects
    // this.
    fact.has_loop |=
        info.looped().is_some() || info.form.is_some_and(|form| form.as_element().is_some());
    fact.address = AddressFact::make(egraph, node, info);
    fact.effects = Effects::make(egraph, node, info);
    fact.dtype = match info.typing {
        Some(Typing::I64) => Some(DType::I64),
        Some(Typing::Of(i)) => element_type(child(i), facts),
        Some(Typing::Named(i)) => children.get(i).and_then(|c| dtype_named(egraph, *c)),
        None => None,
    };
    value(egraph, info, children, id, &mut fact);
    if let Some(range) = facts.assumed.get(node).filter(|_| fact.dtype == Some(DType::I64)) {
        fact.range = fact.range.and(*range);
    }
    if fact.dtype.is_some() {
        fact.lanes = match info.width {
            Some(Width::One) => Some(1),
            Some(Width::Of(i)) => child(i).address.as_ref().map_or(child(i).lanes, |a| a.lanes),
            Some(Width::Count(i)) => child(i).integer(),
            None => None,
        };
    }
    // A constant is always a scalar; a vector of equal lanes is a different value.
    if let Some(Scalar::I64(n)) = fact.constant {
        fact.range = Interval::point(n);
        fact.affine = Some(Affine::constant(n));
    }
    if fact.constant.is_some() {
        fact.free.clear();
    }
    fact
}

/// Returns the facts of an operand; no facts if there is none, because a user's operator with a name known here may
/// have fewer operands.
fn operand<'a>(egraph: &'a EGraph, children: &[Id], i: usize) -> &'a Known {
    children.get(i).map_or(&Known::NOTHING, |child| &egraph[*child].data)
}

/// Adds the facts about a value beyond its type: its constant, its range and its affine form.
fn value(egraph: &EGraph, info: &OpInfo, children: &[Id], id: Id, fact: &mut Fact) {
    let size = Interval { min: 0, max: LARGEST_SIZE as i64 };
    let data = |id: Id| &egraph[id].data;
    let Some(form) = info.form(children) else { return };
    fact.variable = form.as_variable().map(|(_, [lo, hi, step])| (lo, hi, step));
    if let Some(variable) = form.as_iv() {
        if let Some(&key) = data(variable).free.first() {
            fact.affine = Some(Affine::variable(egraph.analysis.variable(key)));
        }
        // Where another variable has another value, this one may have none that its loop gives it.
        fact.free.extend(bounding(egraph, variable));
        fact.range = variable_range(egraph, variable);
        fact.constant = single_value(egraph, variable).map(Scalar::I64);
    }
    match form {
        Form::Number { value: Number::Size(_), .. } => {
            // A size is the same in every iteration, so that it serves as a variable of forms.
            fact.range = size;
            fact.affine = Some(Affine::variable(id));
        }
        Form::Extent { of, k } => {
            fact.range = size;
            if let Some(Dim::Const(n)) = dimension(egraph, of.operand(), k) {
                fact.constant = i64::try_from(n).ok().map(Scalar::I64);
            }
        }
        Form::Number { value: Number::Literal(number), .. } => {
            let typed = fact.dtype.zip(real(egraph, number));
            fact.constant = typed.map(|(d, x)| Scalar::from_f64(d, x));
        }
        Form::Number { value: Number::Start(op), .. } => {
            let op = op.known(|op| binary_op(egraph, op));
            fact.constant = op.zip(fact.dtype).and_then(|(op, dtype)| op.identity(dtype));
        }
        Form::Carried { x, to: Some(_) } => {
            fact.constant = fact.dtype.zip(data(x).constant).map(|(d, x)| x.cast(d));
            if fact.dtype == Some(DType::I64) && data(x).dtype == Some(DType::I64) {
                fact.range = data(x).range;
                fact.affine = data(x).affine.clone();
            }
        }
        Form::Replaced { variable, by: By::Value(value), x } => {
            let key = data(variable).free.first().map(|key| egraph.analysis.variable(*key));
            let form = |id: Id| egraph.analysis.current(data(id).affine.as_ref()?);
            let forms = form(x).zip(form(value));
            let forms = forms.filter(|(x, _)| key.is_some_and(|key| !follows(egraph, x, key)));
            let form = key.zip(forms).and_then(|(key, (x, value))| x.with(key, &value));
            fact.affine = form.filter(|_| fact.dtype == Some(DType::I64));
        }
        Form::Select { condition: Condition::NotZero(condition), of: [a, b] } => {
            // All operands are evaluated, so that a fault in one that is not chosen is the selection's, too.
            let both = data(a).constant.zip(data(b).constant);
            let chosen = both.zip(data(condition).integer());
            fact.constant = chosen.map(|((a, b), n)| if n != 0 { a } else { b });
            if fact.dtype == Some(DType::I64) {
                fact.range = data(a).range.hull(data(b).range);
            }
        }
        Form::Unary(Operation::Is(op), x) => {
            fact.constant = data(x).constant.and_then(|x| op.apply(x))
        }
        Form::Binary(Operation::Is(op), [a, b]) => {
            arithmetic(fact, op, data(a), data(b));
            if op.linear() == Some(Linear::Difference)
                && let Some(range) = remainder(egraph, a, b)
            {
                fact.range = range;
            }
        }
        _ => {}
    }
}

/// Returns the range of `x - (x / c) * c`, the remainder of a truncated division; `None` for any other difference.
fn remainder(egraph: &EGraph, x: Id, product: Id) -> Option<Interval> {
    let operators = egraph.analysis.operators();
    let mut factors = egraph[product].nodes.iter();
    let [quotient, c] = factors.find_map(|node| operators.linear(node, Linear::Product))?;
    let mut parts = egraph[quotient].nodes.iter();
    let [dividend, divisor] = parts.find_map(|node| operators.undoes(node, Linear::Product))?;
    let same = |a: Id, b: Id| egraph.find(a) == egraph.find(b);
    let divided = same(dividend, x) && same(divisor, c) && egraph[x].data.dtype == Some(DType::I64);
    divided.then(|| Interval::remainders(egraph[x].data.range, egraph[c].data.range))
}

/// Returns the element type of a tensor, an address or a value.
fn element_type(fact: &Fact, facts: &Facts) -> Option<DType> {
    fact.address.as_ref().map_or(fact.dtype, |a| a.dtype(facts))
}

/// Adds the facts about `a op b`.
fn arithmetic(fact: &mut Fact, op: BinaryOp, a: &Fact, b: &Fact) {
    fact.dtype = a.dtype.or(b.dtype).map(|d| op.result(d));
    fact.constant = a.constant.zip(b.constant).and_then(|(x, y)| op.apply(x, y));
    if fact.dtype == Some(DType::I64) {
        fact.range = Interval::apply(op, a.range, b.range);
        let forms = a.affine.as_ref().zip(b.affine.as_ref());
        fact.affine = forms.and_then(|(x, y)| Affine::apply(op, x, y));
    }
}

/// Returns the range of the values that a loop may give its variable. A loop that never runs yields no facts: anything
/// follows from an empty range, and the consequences would merge closed terms everywhere.
fn variable_range(egraph: &EGraph, var: Id) -> Interval {
    let Some((lo, hi, _)) = egraph[var].data.variable else { return Interval::ALL };
    let (lo, hi) = (egraph[lo].data.range, egraph[hi].data.range);
    if hi.max <= lo.min {
        return Interval::ALL;
    }
    Interval { min: lo.min, max: hi.max - 1 }
}

/// Iterates over the variables that the bounds of a loop variable depend on, and with them the values that it has.
fn bounding(egraph: &EGraph, variable: Id) -> impl Iterator<Item = Id> {
    let bounds = egraph[variable].data.variable.map(|(lo, hi, _)| [lo, hi]);
    let free = bounds.into_iter().flatten().flat_map(|bound| &egraph[bound].data.free);
    free.map(|key| egraph.analysis.variable(*key))
}

/// Returns true if a form mentions variables whose values depend on those of another variable.
pub fn follows(egraph: &EGraph, form: &AffineForm, variable: Id) -> bool {
    form.terms.keys().any(|known| bounding(egraph, *known).any(|key| key == variable))
}

/// Returns the one value of a loop variable whose loop runs exactly once, whatever the data.
pub fn single_value(egraph: &EGraph, var: Id) -> Option<i64> {
    let (lo, hi, step) = egraph[var].data.variable?;
    let integer = |id: Id| egraph[id].data.integer();
    let (lo, hi, step) = (integer(lo)?, integer(hi)?, integer(step)?);
    (lo < hi && hi <= lo.checked_add(step)?).then_some(lo)
}

/// Returns extent `k` of an address, counted from the first dimension that it does not index yet.
pub fn dimension(egraph: &EGraph, address: Id, k: Id) -> Option<Dim> {
    let address = egraph[address].data.address.as_ref()?;
    let k = usize::try_from(egraph[k].data.integer()?).ok()?;
    egraph.analysis.tensor(address.tensor)?.shape.get(address.index.len() + k).copied()
}

/// Returns the element type that a class names.
pub fn dtype_named(egraph: &EGraph, id: Id) -> Option<DType> {
    egraph[id].nodes.iter().find_map(|n| DType::parse(n.name()?))
}

/// Returns the binary operation that a class names.
pub fn binary_op(egraph: &EGraph, id: Id) -> Option<BinaryOp> {
    egraph[id].nodes.iter().find_map(|n| BinaryOp::parse(n.name()?))
}

/// Returns the literal real number of a class.
fn real(egraph: &EGraph, id: Id) -> Option<f64> {
    egraph[id].nodes.iter().find_map(|n| match n.head() {
        Head::Real(bits) => Some(f64::from_bits(bits)),
        _ => None,
    })
}
