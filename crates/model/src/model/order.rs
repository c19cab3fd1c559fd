//! The order of statements. It follows from the dataflow alone: first what is computed from inputs, then what is computed
//! from that, and so on, so that few barriers are needed and statements that share an index stream meet. Statements of
//! one step are in the order in which the outputs need them. So a model has one form, whichever of its parts have names
//! and wherever these are declared. Temporaries with equal values are one.

use super::{Argument, Computed, Expr, Kind, Model, Op, Statement, TensorId};
use ember_values::operation::Role;
use itertools::Itertools;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Returns the model with its computed tensors and statements in the order of the dataflow.
pub(super) fn by_dataflow(mut model: Model) -> Model {
    let computed = std::mem::take(&mut model.computed);
    let mut statements: BTreeMap<TensorId, Vec<Statement>> = BTreeMap::new();
    for statement in std::mem::take(&mut model.statements) {
        statements.entry(statement.target).or_default().push(statement);
    }
    let order = order(model.inputs.len(), &computed, &statements);
    let mut made = Made { inputs: model.inputs.len(), places: BTreeMap::new(), model };
    let mut known: BTreeMap<String, TensorId> = BTreeMap::new();
    for id in order {
        let mut own = statements.remove(&id).unwrap_or_default();
        own.iter_mut().for_each(|statement| made.renumber(&mut statement.value));
        let tensor = &computed[id.0 - made.inputs];
        let value = key(&own);
        match known.get(&value) {
            Some(same) if tensor.kind == Kind::Temporary => {
                made.places.insert(id, *same);
            }
            _ => {
                for scratch in own.iter_mut().flat_map(|statement| scratch(&mut statement.value)) {
                    *scratch = made.declare(*scratch, &computed);
                }
                let target = made.declare(id, &computed);
                known.insert(value, target);
                let own = own.into_iter().map(|statement| Statement { target, ..statement });
                made.model.statements.extend(own);
            }
        }
    }
    made.model
}

/// Returns the tensors that statements write, scratch memory aside, by the most steps that lead from inputs to each.
fn order(
    inputs: usize,
    computed: &[Computed],
    statements: &BTreeMap<TensorId, Vec<Statement>>,
) -> Vec<TensorId> {
    let kept = |kind| {
        let own = computed.iter().enumerate().filter(move |(_, c)| c.kind == kind);
        own.sorted_by_key(|(_, c)| c.tensor.span).map(|(at, _)| TensorId(inputs + at))
    };
    let reads = |id: &TensorId| {
        let own = statements.get(id).into_iter().flatten();
        own.flat_map(|s| s.value.walk().flat_map(Expr::tensors)).collect::<Vec<TensorId>>()
    };
    let (mut order, mut seen) = (Vec::new(), vec![false; computed.len()]);
    let mut steps: BTreeMap<TensorId, usize> = BTreeMap::new();
    for root in kept(Kind::Output).chain(kept(Kind::Temporary)) {
        // Each tensor is open twice: before the tensors that it is computed from, and after them.
        let mut open = vec![(root, false)];
        while let Some((id, is_ready)) = open.pop() {
            let Some(at) = id.0.checked_sub(inputs) else { continue };
            if is_ready {
                let before = reads(&id).iter().filter_map(|read| steps.get(read)).max();
                steps.insert(id, before.map_or(0, |steps| steps + 1));
                order.push(id);
            } else if !std::mem::replace(&mut seen[at], true) {
                open.push((id, true));
                open.extend(reads(&id).into_iter().rev().map(|read| (read, false)));
            }
        }
    }
    order.sort_by_key(|id| steps.get(id).copied());
    order
}

/// The reordered model so far.
struct Made {
    model: Model,
    inputs: usize,
    /// The new identifiers of computed tensors.
    places: BTreeMap<TensorId, TensorId>,
}

impl Made {
    /// Declares a tensor under the next identifier.
    fn declare(&mut self, id: TensorId, computed: &[Computed]) -> TensorId {
        let new = TensorId(self.inputs + self.model.computed.len());
        self.model.computed.push(computed[id.0 - self.inputs].clone());
        self.places.insert(id, new);
        new
    }

    /// Replaces the tensors in an expression by their new identifiers, except for scratch memory.
    fn renumber(&self, expr: &mut Expr) {
        match &mut expr.op {
            Op::Tensor(id) => *id = self.places.get(id).copied().unwrap_or(*id),
            Op::Apply(applied) => {
                let operands = applied.operation.operands.iter().zip(&mut applied.arguments);
                for (operand, argument) in operands {
                    match argument {
                        Argument::Tensor(x) if !matches!(operand.role, Role::Scratch(_)) => {
                            self.renumber(x);
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}

/// Returns the scratch memory of an expression's operations, in the order in which they read.
fn scratch(expr: &mut Expr) -> Vec<&mut TensorId> {
    let Op::Apply(applied) = &mut expr.op else { return Vec::new() };
    let operands = applied.operation.operands.iter().zip(&mut applied.arguments);
    let within = operands.map(|(operand, argument)| match (&operand.role, argument) {
        (Role::Scratch(_), Argument::Tensor(Expr { op: Op::Tensor(id), .. })) => vec![id],
        (_, Argument::Tensor(x)) => scratch(x),
        _ => Vec::new(),
    });
    within.flatten().collect()
}

/// Returns a text that is the same for equal values only. It names the parts that are written, but no scratch memory.
fn key(statements: &[Statement]) -> String {
    let mut key = String::new();
    for Statement { part, value, .. } in statements {
        let _ = write!(key, "{part:?}");
        key += &value.key();
    }
    key
}
