//! Which statements are searched together, and which groups are equal up to names.

use super::rename::{Names, renamed};
use crate::decouple::ModelContext;
use crate::workload::Statistics;
use egg::{Id, Language, RecExpr, Symbol};
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_language::rules::Operators;
use ember_language::term::{Head, Node, Term};
use ember_model::{Model, Part, Statement, TensorId};
use ember_targets::dlc::{Dim, SizeId, TensorDecl};
use ember_values::primitive::Primitive;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Statements of one group at most: the e-graph holds every way of joining them.
const MOST: usize = 4;

/// The name of a size that stands for the slot that a group's `k`-th statement writes, so that
/// statements which differ in nothing else are equal. No model can name it.
fn slot_name(k: usize) -> String {
    format!("slot {k}")
}

/// Statements that are searched together.
#[derive(Clone, Debug)]
pub struct Group {
    /// Their places in the model, in order.
    pub statements: Vec<usize>,
    /// What they do, one after the other; a slot that one writes is a symbolic size.
    pub term: Term,
    /// The tensors and sizes that they mention. What they do not write is read-only.
    pub context: ModelContext,
    /// The names of tensors and sizes, in the order in which the term mentions them.
    names: Names,
    /// The numbers that the symbolic slots stand for.
    slots: BTreeMap<Symbol, i64>,
}

/// The groups of a model.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The groups, in an order in which they can run.
    pub groups: Vec<Group>,
    /// For each group, the first that is equal up to names; itself, if there is none before it.
    pub like: Vec<usize>,
    operators: Arc<Operators>,
}

impl Plan {
    /// Groups a model's statements. Groups are told apart where the sizes of the data at hand differ
    /// in magnitude, since what is best may too.
    pub fn new(operators: &Arc<Operators>, model: &Model, statistics: &Statistics<'_>) -> Plan {
        let sizes = statistics.sizes();
        // Where nothing puts statements one after the other, each is a group of its own.
        let most = if operators.named(Primitive::Seq, None).is_some() { MOST } else { 1 };
        let groups = grouped(model, most).into_iter();
        let groups: Vec<Group> = groups.map(|g| Group::new(operators, model, g)).collect();
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        let keys = groups.iter().map(|group| group.key(sizes));
        let like = keys.enumerate().map(|(at, key)| *known.entry(key).or_insert(at)).collect();
        Plan { groups, like, operators: operators.clone() }
    }

    /// The groups that are searched: the first of each kind.
    pub fn searched(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.groups.len()).filter(|at| self.like[*at] == *at)
    }

    /// The group that is searched for a statement; an error if the model has no such statement.
    pub fn searched_for(&self, statement: usize) -> Checked<usize> {
        let at = self.groups.iter().position(|group| group.statements.contains(&statement));
        let count: usize = self.groups.iter().map(|group| group.statements.len()).sum();
        at.map(|at| self.like[at]).ok_or_else(|| {
            let error = Diagnostic::global(format!("there is no statement {statement}"));
            vec![error.with_help(format!("the model has {count}, counted from 0"))]
        })
    }

    /// The term of a group, made of the term that was found for the group that it is like.
    pub fn term(&self, group: usize, found: &Term) -> Term {
        let (own, searched) = (&self.groups[group], &self.groups[self.like[group]]);
        let names: BTreeMap<Symbol, Symbol> =
            searched.names.iter().copied().zip(own.names.iter().copied()).collect();
        renamed(&self.operators, found, &names, &own.slots)
    }
}

/// The statements of each group, so many at most.
fn grouped(model: &Model, most: usize) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, statement) in model.statements.iter().enumerate() {
        let shares = |group: &Vec<usize>| {
            let mut reads = group.iter().flat_map(|s| model.statements[*s].reads());
            let own = statement.reads();
            reads.any(|tensor| is_index(model, tensor) && own.contains(&tensor))
        };
        // To join a group is to run before all that came after it.
        let free = |group: &Vec<usize>| {
            group.iter().all(|other| independent(&model.statements[*other], statement))
        };
        let home = groups.iter().rposition(|group| group.len() < most && shares(group));
        match home.filter(|home| groups[*home..].iter().all(free)) {
            Some(home) => groups[home].push(at),
            None => groups.push(vec![at]),
        }
    }
    groups
}

/// Whether a tensor is an input that holds positions.
fn is_index(model: &Model, tensor: TensorId) -> bool {
    model.inputs.get(tensor.0).is_some_and(|input| input.role.is_index())
}

/// Whether two statements do the same in either order.
fn independent(a: &Statement, b: &Statement) -> bool {
    let parts = a.target == b.target && a.part != Part::Whole && a.part != b.part;
    let apart = |x: &Statement, y: &Statement| {
        let touched: BTreeSet<TensorId> = y.reads().into_iter().chain(y.writes()).collect();
        x.writes().iter().all(|t| !touched.contains(t) || (parts && *t == a.target))
    };
    apart(a, b) && apart(b, a)
}

/// The place of the number of the slot in a statement's term, and that number. It stands nowhere
/// else in the term.
fn slot_of(operators: &Operators, term: &Term, part: Part) -> Option<(usize, i64)> {
    let Part::Slot(number) = part else { return None };
    let [_, place, _] = operators.parts(term.as_ref().last()?, Primitive::OutputSlot)?;
    let uses = term.as_ref().iter().flat_map(Language::children).filter(|c| **c == place).count();
    (uses == 1).then_some((usize::from(place), i64::try_from(number).ok()?))
}

impl Group {
    fn new(operators: &Operators, model: &Model, statements: Vec<usize>) -> Group {
        let size = operators.named(Primitive::Size, None);
        let seq = operators.named(Primitive::Seq, None);
        let mut term = RecExpr::default();
        let mut slots = BTreeMap::new();
        let mut parts = Vec::new();
        for (k, at) in statements.iter().enumerate() {
            let one = model.statement_term(*at, operators);
            let slot = size.zip(slot_of(operators, &one, model.statements[*at].part));
            let mut ids: Vec<Id> = Vec::with_capacity(one.as_ref().len());
            for (i, node) in one.as_ref().iter().enumerate() {
                let node = match slot {
                    Some((size, (place, number))) if place == i => {
                        let name = Symbol::from(format!("%{}", slot_name(k)));
                        slots.insert(name, number);
                        Node::new(Head::Op(size), &[term.add(Node::new(Head::Op(name), &[]))])
                    }
                    _ => node.clone().map_children(|c| ids[usize::from(c)]),
                };
                ids.push(term.add(node));
            }
            parts.extend(ids.last().copied());
        }
        if let (Some(mut rest), Some(seq)) = (parts.pop(), seq) {
            while let Some(part) = parts.pop() {
                rest = term.add(Node::new(Head::Op(seq), &[part, rest]));
            }
        }
        let mut names = super::rename::names(&term);
        let context = context(model, &statements, &names);
        // The sizes that only shapes mention have names too, in an order that follows the term's.
        for at in 0..names.len() {
            let is =
                |t: &&TensorDecl| Some(t.name.as_str()) == names[at].as_str().strip_prefix('%');
            for dim in context.tensors.iter().find(is).map_or(&[][..], |t| &t.shape) {
                if let Dim::Size(size) = dim {
                    let size = Symbol::from(format!("%{}", context.sizes[size.index()]));
                    if !names.contains(&size) {
                        names.push(size);
                    }
                }
            }
        }
        Group { statements, term, context, names, slots }
    }

    /// Every symbolic size that the term mentions, the slots among them.
    pub fn sizes(&self) -> Vec<String> {
        let slots = self.slots.keys().filter_map(|name| name.as_str().strip_prefix('%'));
        self.context.sizes.iter().cloned().chain(slots.map(str::to_owned)).collect()
    }

    /// What groups that are equal up to names have in common.
    fn key(&self, sizes: &BTreeMap<String, i64>) -> String {
        let place = |name: &Symbol| self.names.iter().position(|n| n == name);
        let known = |size: &String| Symbol::from(format!("%{size}"));
        let mut key = String::new();
        for node in self.term.as_ref() {
            match node.head() {
                Head::Op(name) if name.as_str().starts_with('%') => {
                    key += &format!("%{:?}", place(&name));
                }
                head => key += &format!("{head}{:?}", node.children()),
            }
            key.push(' ');
        }
        for name in &self.names {
            let tensor = self.context.tensors.iter().find(|t| known(&t.name) == *name);
            if let Some(tensor) = tensor {
                let shape = tensor.shape.iter().map(|dim| match dim {
                    Dim::Const(n) => format!("{n}"),
                    Dim::Size(size) => {
                        format!("%{:?}", place(&known(&self.context.sizes[size.index()])))
                    }
                });
                let shape: Vec<String> = shape.collect();
                key += &format!("{} {shape:?} {};", tensor.dtype, tensor.writable);
            } else {
                // Values are compared by magnitude: to the nearest power of two.
                let value = sizes.get(name.as_str().trim_start_matches('%'));
                key += &format!("{:?};", value.map(|n| (*n as f64).log2().round()));
            }
        }
        key
    }
}

/// What a program for some of the statements declares: what their term names, and the sizes of
/// those shapes.
fn context(model: &Model, statements: &[usize], names: &[Symbol]) -> ModelContext {
    let all = model.declarations(&BTreeMap::new());
    let written: BTreeSet<TensorId> =
        statements.iter().flat_map(|at| model.statements[*at].writes()).collect();
    let named = |name: &str| names.iter().any(|n| n.as_str().strip_prefix('%') == Some(name));
    let mut context = ModelContext { name: model.name.clone(), ..ModelContext::default() };
    let mut sizes: BTreeMap<SizeId, SizeId> = BTreeMap::new();
    for (at, name) in all.sizes.iter().enumerate() {
        let id = SizeId(at as u32);
        let shapes = all.tensors.iter().filter(|t| named(&t.name)).flat_map(|t| &t.shape);
        if named(name) || shapes.into_iter().any(|dim| *dim == Dim::Size(id)) {
            sizes.insert(id, SizeId(context.sizes.len() as u32));
            context.sizes.push(name.clone());
        }
    }
    for (at, tensor) in all.tensors.iter().enumerate().filter(|(_, t)| named(&t.name)) {
        let shape = tensor.shape.iter().map(|dim| match dim {
            Dim::Size(size) => Dim::Size(sizes[size]),
            constant => *constant,
        });
        context.tensors.push(TensorDecl {
            shape: shape.collect(),
            writable: written.contains(&TensorId(at)),
            ..tensor.clone()
        });
    }
    context
}
