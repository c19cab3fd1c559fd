//! The roles of inputs: positions in other tensors, offsets, or numbers. Models declare them; for programs they are
//! inferred from the uses of loaded values. They only affect which data is tried.

use super::data::Given;
use super::declare::Declarations;
use super::sides::{ModelFile, Side};
use egg::Id;
use ember_language::rules::Operators;
use ember_language::term::{Head, Term};
use ember_model::Extent;
use ember_values::primitive::form::{Form, Operation, View};
use ember_values::scalar::Linear;
use std::collections::BTreeMap;

/// The role of an input's elements.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// Positions below an extent.
    Indices(Extent),
    /// The start of each bag and the end of the last: from 0, never decreasing, to an extent.
    Offsets(Extent),
    /// Lower or upper bounds of loops, up to an extent.
    Bounds(Extent),
}

/// The roles of inputs, by name; an input without a role may hold any numbers.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    /// The roles by name.
    pub of: BTreeMap<String, Role>,
}

impl Roles {
    /// Collects the roles from models and programs.
    pub(super) fn new(
        declarations: &Declarations,
        models: &[ModelFile],
        sides: [&Side; 2],
        operators: &Operators,
    ) -> Roles {
        let mut roles = Roles::default();
        for declared in &declarations.tensors {
            if let Some(end) = &declared.rises_to {
                roles.add(declared.name.clone(), Role::Offsets(end.clone()));
            }
        }
        for ModelFile { model, .. } in models {
            let name = |id| model.tensor(id).name.clone();
            for used in model.index_uses() {
                roles.add(name(used.indices), Role::Indices(used.rows));
            }
            for used in model.offsets_uses() {
                if let Some(extent) = model.tensor(used.indices).shape.first() {
                    roles.add(name(used.offsets), Role::Offsets(extent.clone()));
                }
            }
        }
        for side in sides {
            if let Ok(term) = side.term() {
                roles.add_uses(term, declarations, operators);
            }
        }
        roles
    }

    /// Returns true if data satisfies the requirements of the models: offsets start at 0, never decrease and end at
    /// their extent.
    pub(super) fn fit(&self, given: &Given) -> bool {
        self.of.iter().all(|(name, role)| {
            let Some(tensor) = given.inputs.get(name) else { return true };
            let elements = (0..tensor.len()).map(|i| tensor.get(i).and_then(|x| x.as_i64()));
            let elements: Vec<i64> = elements.map(|x| x.unwrap_or(0)).collect();
            let value =
                |extent: &Extent| extent.value(&given.sizes).and_then(|n| n.try_into().ok());
            match role {
                Role::Offsets(end) => {
                    let ends = elements.last().copied() == value(end);
                    elements.first() == Some(&0) && ends && elements.is_sorted()
                }
                Role::Indices(_) | Role::Bounds(_) => true,
            }
        })
    }

    fn add(&mut self, name: String, role: Role) {
        self.of.entry(name).or_insert(role);
    }

    /// Infers roles from the loads of a program.
    fn add_uses(&mut self, term: &Term, declarations: &Declarations, operators: &Operators) {
        let used = Used { term, operators };
        let extent = |address: Id| {
            let (name, indices) = used.place(address)?;
            declarations.tensor(name)?.shape.get(indices).cloned()
        };
        // The extent that each loop variable indexes, if there is one.
        let mut indexed: BTreeMap<Id, Extent> = BTreeMap::new();
        for node in term {
            let Some(Form::View { address, view: View::At(index) }) = operators.form(node) else {
                continue;
            };
            let Some(extent) = extent(address) else { continue };
            for leaf in used.leaves(index) {
                match leaf {
                    Leaf::Variable(variable) => {
                        indexed.entry(variable).or_insert_with(|| extent.clone());
                    }
                    Leaf::Loaded(name) => {
                        self.add(name.to_owned(), Role::Indices(extent.clone()));
                    }
                }
            }
        }
        for node in term {
            let Some(own) = operators.looped(node) else { continue };
            let (lo, hi) = own.access.unwrap_or((own.lo, own.hi));
            let Some(extent) = indexed.get(&own.variable) else { continue };
            for bound in [lo, hi] {
                for leaf in used.leaves(bound) {
                    if let Leaf::Loaded(name) = leaf {
                        self.add(name.to_owned(), Role::Bounds(extent.clone()));
                    }
                }
            }
        }
    }
}

/// A summand of an index.
enum Leaf {
    Variable(Id),
    Loaded(&'static str),
}

/// A program with the operators to interpret it.
struct Used<'a> {
    term: &'a Term,
    operators: &'a Operators,
}

impl Used<'_> {
    /// Returns the variables and loads that an index is a sum of, after visiting a limited number of nodes.
    fn leaves(&self, index: Id) -> Vec<Leaf> {
        const MOST: usize = 64;
        let mut found = Vec::new();
        let mut open = vec![index];
        for _ in 0..MOST {
            let Some(id) = open.pop() else { break };
            let node = &self.term[id];
            found.extend(self.operators.iv(node).map(Leaf::Variable));
            match self.operators.form(node) {
                Some(Form::Loaded { address, early: None }) => {
                    found.extend(self.place(address).map(|(name, _)| Leaf::Loaded(name)));
                }
                Some(Form::Carried { x, .. } | Form::Spread { x, below: Some(_), .. }) => {
                    open.push(x);
                }
                Some(Form::Binary(op, operands)) if self.keeps(op) => {
                    open.extend(operands);
                }
                _ => {}
            }
        }
        found
    }

    /// Returns true if an operand of an operation may stand for the result; an operation that an operand names may be
    /// any.
    fn keeps(&self, op: Operation<Id>) -> bool {
        match op {
            Operation::Is(op) => op.linear() == Some(Linear::Sum) || op.chooses().is_some(),
            Operation::Named(_) => true,
        }
    }

    /// Returns the tensor of an address and the number of its indices.
    fn place(&self, address: Id) -> Option<(&'static str, usize)> {
        let mut at = address;
        let mut indices = 0;
        loop {
            match self.operators.form(&self.term[at])? {
                Form::Carried { x, to: None } => at = x,
                Form::View { address, view: view @ (View::At(_) | View::ReadOnly) } => {
                    at = address;
                    indices += usize::from(view.index().is_some());
                }
                Form::Root { name, .. } => {
                    let Head::Op(name) = self.term[name].head() else { return None };
                    return Some((name.as_str().strip_prefix('%')?, indices));
                }
                _ => return None,
            }
        }
    }
}
