//! Equal parts of expressions that are computed once: the model reads as if each had been given a name and a statement of
//! its own.
//!
//! A part that occurs several times in one loop is one term, which a program computes once. A part that occurs in
//! several loops would be computed in each of them, so it is stored, unless it takes only loads and simple arithmetic:
//! then a second computation costs no more than a store and a load. What is stored for another reason is read everywhere.

use super::operand::is_cheap;
use super::{
    Argument, Computed, Declared, Expr, Extent, Kind, Model, Op, Part, Statement, TensorId,
};
use ember_language::diagnostic::Span;
use ember_values::operation::{Reads, Role};
use itertools::Itertools;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// The loop that computes a part: the statement, and the innermost operation around the part that reads other elements
/// than those at its own place.
type Place = (usize, Option<String>);

/// Returns the model with the parts stored that several loops compute. Equal tensors in it are one tensor already. Parts
/// that the file names by a temporary have their names by their spans.
pub(super) fn across_loops(mut model: Model, named: &BTreeMap<Span, String>) -> Model {
    // A stored part may itself hold a part that is computed elsewhere, too.
    while let Some(shared) = shared(&model, named) {
        let mut stored = whole(&model);
        for (key, expr) in shared {
            stored.entry(key).or_insert_with(|| store(&mut model, expr, named));
        }
        for statement in &mut model.statements {
            if statement.part == Part::Whole {
                replace_within(&mut statement.value, &stored);
            } else {
                replace(&mut statement.value, &stored);
            }
        }
    }
    model
}

/// Returns the tensors that statements compute as a whole, by the key of their value.
fn whole(model: &Model) -> BTreeMap<String, TensorId> {
    let whole = model.statements.iter().filter(|statement| statement.part == Part::Whole);
    whole.map(|statement| (statement.value.key(), statement.target)).collect()
}

/// Returns the parts that are stored already or that several loops compute, by their keys, without those that occur only
/// within another of them; `None` if there are none.
fn shared(model: &Model, named: &BTreeMap<Span, String>) -> Option<BTreeMap<String, Expr>> {
    let whole = whole(model);
    let mut parts = Parts { named, whole, places: BTreeMap::new(), found: BTreeMap::new() };
    for (at, Statement { part, value, .. }) in model.statements.iter().enumerate() {
        let place = (at, None);
        match part {
            Part::Whole => parts.add(value, &place, false),
            Part::Slot(_) | Part::Columns(_) => parts.add_part(value, &place, false),
        }
    }
    let Parts { whole, places, found, .. } = parts;
    let is_shared = |key: &String| whole.contains_key(key) || places[key].len() > 1;
    let shared: BTreeMap<String, Expr> =
        found.into_iter().filter(|(key, _)| is_shared(key)).collect();
    (!shared.is_empty()).then_some(shared)
}

/// The parts of a model's expressions that could be stored, with the places of each.
struct Parts<'a> {
    named: &'a BTreeMap<Span, String>,
    /// The tensors that are stored, by the key of their value.
    whole: BTreeMap<String, TensorId>,
    places: BTreeMap<String, BTreeSet<Place>>,
    found: BTreeMap<String, Expr>,
}

impl Parts<'_> {
    /// Adds the parts of an expression that is computed at a place, or at the lookups of its rows.
    fn add(&mut self, expr: &Expr, place: &Place, at_lookups: bool) {
        let Some(applied) = expr.applied() else { return };
        let within = match applied.kernel().is_elementwise() {
            true => place.clone(),
            false => (place.0, Some(expr.key())),
        };
        for (operand, part) in applied.tensors() {
            if let Role::Tensor(_, reads) = operand.role {
                let by_rows = matches!(reads, Reads::Rows | Reads::Kept);
                self.add_part(part, &within, at_lookups || by_rows);
            }
        }
    }

    /// [`Parts::add`] for a part, which is itself counted. The parts of a part are counted once. The placement of functions
    /// of tables decides about those whose rows are looked up, unless they are stored for another reason.
    fn add_part(&mut self, part: &Expr, place: &Place, at_lookups: bool) {
        if part.stored().is_some() {
            return;
        }
        let key = part.key();
        let is_stored = self.whole.contains_key(&key);
        if !is_stored && (at_lookups || is_cheap(part)) {
            return self.add(part, place, at_lookups);
        }
        self.places.entry(key.clone()).or_default().insert(place.clone());
        match self.found.entry(key) {
            Entry::Vacant(free) => {
                free.insert(part.clone());
                if !is_stored {
                    self.add(part, place, at_lookups);
                }
            }
            // The occurrence that the file names gives its name.
            Entry::Occupied(mut taken) if self.named.contains_key(&part.span) => {
                taken.insert(part.clone());
            }
            Entry::Occupied(_) => {}
        }
    }
}

/// Adds a temporary and the statement that computes it.
pub(super) fn store(model: &mut Model, value: Expr, named: &BTreeMap<Span, String>) -> TensorId {
    let id = TensorId(model.inputs.len() + model.computed.len());
    let Expr { dtype, shape, span, .. } = value.clone();
    let name = free_name(model, span, named);
    let tensor = Declared { name, dtype, shape, span };
    model.computed.push(Computed { tensor, kind: Kind::Temporary });
    model.statements.push(Statement { target: id, part: Part::Whole, value });
    id
}

/// Returns the name that the file gives a part, or else the name of a tensor that it is computed for, with a number.
fn free_name(model: &Model, span: Span, named: &BTreeMap<Span, String>) -> String {
    let extents = |tensor: &Declared| tensor.shape.iter().flat_map(Extent::names).collect_vec();
    let taken: BTreeSet<String> = model
        .tensors()
        .flat_map(|tensor| [vec![tensor.name.clone()], extents(tensor)].concat())
        .collect();
    let holds = |statement: &&Statement| statement.value.walk().any(|part| part.span == span);
    let owner = model.statements.iter().find(holds).map(|statement| statement.target);
    let owner = owner.map_or("", |target| &model.tensor(target).name);
    let numbered = (1_usize..).map(|n| format!("{owner}.{n}"));
    let mut names = named.get(&span).cloned().into_iter().chain(numbered);
    names.find(|name| !taken.contains(name)).unwrap_or_default()
}

/// Replaces an expression that is stored, or the parts of it that are.
fn replace(expr: &mut Expr, stored: &BTreeMap<String, TensorId>) {
    match expr.stored().is_none().then(|| stored.get(&expr.key())).flatten() {
        Some(id) => expr.op = Op::Tensor(*id),
        None => replace_within(expr, stored),
    }
}

/// Replaces the parts of an expression that are stored.
fn replace_within(expr: &mut Expr, stored: &BTreeMap<String, TensorId>) {
    let Op::Apply(applied) = &mut expr.op else { return };
    let operands = applied.operation.operands.iter().zip(&mut applied.arguments);
    for (operand, argument) in operands {
        match argument {
            Argument::Tensor(part) if matches!(operand.role, Role::Tensor(..)) => {
                replace(part, stored);
            }
            _ => {}
        }
    }
}
