//! What inputs are for: positions in other tensors, offsets, or numbers. Models say it; of programs it
//! is told by how they use what they load. It decides only which data is tried.

use super::data::Given;
use super::declare::Declarations;
use super::sides::{ModelFile, Side};
use egg::{Id, Language};
use ember_language::term::{Head, Node, Term};
use ember_model::model::Extent;
use std::collections::BTreeMap;

/// What the elements of an input are.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// Positions below an extent.
    Indices(Extent),
    /// Where each bag starts and the last one ends: from 0, never falling, to an extent.
    Offsets(Extent),
    /// Where loops start or end, up to an extent.
    Bounds(Extent),
}

/// The roles of inputs, by name; others hold any numbers.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    /// The roles.
    pub of: BTreeMap<String, Role>,
}

/// Operators that load from an address, which is their last operand.
const LOADS: [&str; 3] = ["scf.load", "slc.mem_stream", "exe.load"];

/// Operators that pass an integer on.
const PASSING: [&str; 7] =
    ["val", "str", "slc.from_stream", "slc.index_cast", "scf.cast", "exe.cast", "slc.const"];

impl Roles {
    /// The roles that models and programs give.
    pub(super) fn new(
        declarations: &Declarations,
        models: &[ModelFile],
        sides: [&Side; 2],
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
                roles.add_uses(term, declarations);
            }
        }
        roles
    }

    /// Whether data is as models ask for it: offsets from 0, never falling.
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

    /// The roles that a program's own loads say.
    fn add_uses(&mut self, term: &Term, declarations: &Declarations) {
        let extent = |address: Id| {
            let (name, indices) = place(term, address)?;
            declarations.tensor(name)?.shape.get(indices).cloned()
        };
        // The extent that each variable indexes, if there is one.
        let mut indexed: BTreeMap<Id, Extent> = BTreeMap::new();
        for node in term {
            let (Some("at" | "slc.at" | "exe.at"), &[address, index]) =
                (node.name(), node.children())
            else {
                continue;
            };
            let Some(extent) = extent(address) else { continue };
            for leaf in leaves(term, index) {
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
            let bounds: &[Id] = match (node.name(), node.children()) {
                (Some("scf.for" | "slc.for" | "exe.for"), [v, lo, hi, ..]) => &[*v, *lo, *hi],
                (Some("scf.reduce" | "exe.reduce"), [_, v, lo, hi, ..]) => &[*v, *lo, *hi],
                (Some("exe.walk"), [v, lo, hi, ..]) => &[*v, *lo, *hi],
                (Some("exe.walk_reduce"), [_, v, lo, hi, ..]) => &[*v, *lo, *hi],
                _ => continue,
            };
            let Some(extent) = indexed.get(&bounds[0]) else { continue };
            for bound in &bounds[1..] {
                for leaf in leaves(term, *bound) {
                    if let Leaf::Loaded(name) = leaf {
                        self.add(name.to_owned(), Role::Bounds(extent.clone()));
                    }
                }
            }
        }
    }
}

/// What an index is made of.
enum Leaf {
    Variable(Id),
    Loaded(&'static str),
}

/// The variables and loads of which an index is the sum, at most.
fn leaves(term: &Term, index: Id) -> Vec<Leaf> {
    const MOST: usize = 64;
    let mut found = Vec::new();
    let mut open = vec![index];
    for _ in 0..MOST {
        let Some(id) = open.pop() else { break };
        let node = &term[id];
        match (node.name(), node.children()) {
            (Some("iv" | "slc.iv" | "exe.counter"), [variable]) => {
                found.push(Leaf::Variable(*variable));
            }
            (Some(load), [.., address]) if LOADS.contains(&load) => {
                found.extend(place(term, *address).map(|(name, _)| Leaf::Loaded(name)));
            }
            (Some(passing), [.., x]) if PASSING.contains(&passing) => open.push(*x),
            (
                Some("scf.add" | "exe.add" | "scf.min" | "scf.max" | "slc.alu_stream"),
                [.., a, b],
            ) => {
                open.extend([*a, *b]);
            }
            (Some("scf.lanes" | "slc.lanes" | "exe.lanes"), [_, _, x]) => open.push(*x),
            _ => {}
        }
    }
    found
}

/// The tensor of an address and how many indices it has.
fn place(term: &Term, address: Id) -> Option<(&'static str, usize)> {
    let mut at = address;
    let mut indices = 0;
    loop {
        let node: &Node = &term[at];
        match (node.name()?, node.children()) {
            ("at" | "slc.at" | "exe.at", [of, _]) => {
                at = *of;
                indices += 1;
            }
            ("freeze" | "slc.freeze" | "exe.freeze" | "sad" | "ead", [of]) => at = *of,
            ("in" | "out" | "slc.in" | "slc.out" | "exe.in" | "exe.out", [name]) => {
                let Head::Op(name) = term[*name].head() else { return None };
                return Some((name.as_str().strip_prefix('%')?, indices));
            }
            _ => return None,
        }
    }
}
