//! Tensors that are stored, or of which each row is computed for every use of it: the forms of a model with operations
//! whose operand says that it may be either. The form in which all are stored is the model; the statements of the others
//! stand beside it.

use super::{Applied, Argument, Expr, Kind, Model, Op, Statement, TensorId};
use ember_language::diagnostic::{Checked, Span};
use ember_values::operation::{Kernel, Reads, Role};
use itertools::Itertools;
use std::collections::BTreeSet;

/// The maximum number of looked-up tensors that forms differ in, because the e-graph holds all forms together.
const MOST: usize = 2;

/// The operands that are computed row by row, by their spans.
#[derive(Clone)]
pub(super) enum Recomputed {
    /// All of them.
    All,
    /// These alone.
    Some(BTreeSet<Span>),
}

impl Default for Recomputed {
    fn default() -> Recomputed {
        Recomputed::Some(BTreeSet::new())
    }
}

impl Recomputed {
    /// Returns true if there may be such operands.
    pub(super) fn is_any(&self) -> bool {
        match self {
            Recomputed::All => true,
            Recomputed::Some(spans) => !spans.is_empty(),
        }
    }

    /// Returns true if the operand at a span is computed row by row.
    pub(super) fn has(&self, span: Span) -> bool {
        match self {
            Recomputed::All => true,
            Recomputed::Some(spans) => spans.contains(&span),
        }
    }
}

/// Returns the model with its other forms, which `read` reads. Where some of what is looked up is computed row by row, so is
/// all that is read by its own rows.
pub(super) fn with_forms(
    mut model: Model,
    read: impl Fn(Recomputed) -> Checked<Model>,
) -> Checked<Model> {
    let full = read(Recomputed::All)?;
    let (mut looked_up, mut by_rows) = (BTreeSet::new(), BTreeSet::new());
    for part in full.statements.iter().flat_map(|statement| statement.value.walk()) {
        for (applied, operand) in part.applied().into_iter().flat_map(kept) {
            if operand.stored().is_some() {
                continue;
            }
            match applied.kernel() {
                Kernel::Rows => looked_up.insert(operand.span),
                _ => by_rows.insert(operand.span),
            };
        }
    }
    if looked_up.is_empty() && by_rows.is_empty() {
        return Ok(model);
    }
    add(&mut model, full);
    if looked_up.len() > MOST {
        return Ok(model);
    }
    for some in looked_up.iter().copied().powerset() {
        if some.is_empty() || some.len() == looked_up.len() {
            continue;
        }
        let own = by_rows.difference(&looked_up).copied();
        add(&mut model, read(Recomputed::Some(some.into_iter().chain(own).collect()))?);
    }
    Ok(model)
}

/// Iterates over the operands of an operation that it computes row by row.
fn kept(applied: &Applied) -> impl Iterator<Item = (&Applied, &Expr)> {
    let own = applied
        .tensors()
        .filter(|(operand, _)| matches!(operand.role, Role::Tensor(_, Reads::Kept)));
    own.map(move |(_, expr)| (applied, expr))
}

/// Adds the statements of a form to the model. Tensors that both store are one; memory of its own gets a name of its own.
fn add(model: &mut Model, form: Model) {
    let inputs = model.inputs.len();
    let mut places: Vec<TensorId> = (0..inputs).map(TensorId).collect();
    for mut computed in form.computed {
        let same = model.computed.iter().enumerate().position(|(at, own)| {
            let (mine, other) = (&own.tensor, &computed.tensor);
            let is_free = !places.contains(&TensorId(inputs + at));
            let alike = own.kind == computed.kind && mine.dtype == other.dtype;
            let named = own.kind == Kind::Scratch || mine.name == other.name;
            is_free && alike && mine.shape == other.shape && named
        });
        let at = same.unwrap_or_else(|| {
            let mut names = (1_usize..).map(|n| format!("row.{n}"));
            let is_free = |name: &String| model.tensors().all(|own| own.name != *name);
            computed.tensor.name = names.find(is_free).unwrap_or_default();
            model.computed.push(computed);
            model.computed.len() - 1
        });
        places.push(TensorId(inputs + at));
    }
    let statements = form.statements.into_iter().map(|mut statement| {
        renumber(&mut statement.value, &places);
        Statement { target: places[statement.target.0], ..statement }
    });
    model.forms.push(statements.collect());
}

/// Replaces the tensors in an expression.
fn renumber(expr: &mut Expr, places: &[TensorId]) {
    match &mut expr.op {
        Op::Tensor(id) => *id = places[id.0],
        Op::Apply(applied) => {
            for argument in &mut applied.arguments {
                if let Argument::Tensor(x) = argument {
                    renumber(x, places);
                }
            }
        }
    }
}
