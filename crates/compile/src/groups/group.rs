//! The groups of statements that are searched together, and the groups that are equal up to names.

use super::rename::{Names, renamed, thawed};
use crate::decouple::ModelContext;
use crate::workload::Statistics;
use egg::{Language, RecExpr, Symbol};
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_language::make::Make;
use ember_language::rebuild::rebuild;
use ember_language::rules::Operators;
use ember_language::term::{Head, Term};
use ember_model::{Expr, Model, Part, Statement, TensorId};
use ember_targets::dlc::{Dim, Purpose, SizeId, TensorDecl};
use ember_values::operation::Kernel;
use ember_values::primitive::Typing;
use ember_values::primitive::form::{self, Form};
use itertools::Itertools;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The maximum number of statements of a group, because the e-graph holds every way of joining them.
const MOST: usize = 4;

/// The maximum number of statements of a group that feed each other: they are joined in their order alone.
const MOST_FED: usize = 8;

/// Returns the name of the size that replaces the slot number of a group's `k`-th statement, so that statements that
/// differ only in the slot are equal. No model can use this name.
fn slot_name(k: usize) -> String {
    format!("slot {k}")
}

/// A group of statements that are searched together.
#[derive(Clone, Debug)]
pub struct Group {
    /// The positions of the statements in the model, in order.
    pub statements: Vec<usize>,
    /// The statements in sequence; the slot that a statement writes is a symbolic size.
    pub term: Term,
    /// Other terms that do the same: the forms of the model in which rows are computed for every use of them.
    pub forms: Vec<Term>,
    /// The tensors and sizes of the statements. Tensors that the statements do not write are read-only.
    pub context: ModelContext,
    /// The tensors, by their names in terms, that statements of the model compute, for this group or one that is equal up to
    /// names.
    pub computed: BTreeSet<Symbol>,
    /// The names of tensors and sizes, in the order of their occurrence in the term.
    names: Names,
    /// The numbers of the symbolic slots.
    slots: BTreeMap<Symbol, i64>,
}

/// The groups of a model.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The groups, in an order in which they can run.
    pub groups: Vec<Group>,
    /// For each group, the first group that is equal up to names, which may be the group itself.
    pub like: Vec<usize>,
    operators: Arc<Operators>,
}

impl Plan {
    /// Groups the statements of a model. Groups whose sizes differ in magnitude on the given data count as different,
    /// because their best programs may differ too.
    pub fn new(operators: &Arc<Operators>, model: &Model, statistics: &Statistics<'_>) -> Plan {
        let sizes = statistics.sizes();
        // Without an operator for sequences, each statement is its own group.
        let two = Form::Sequence(form::Sequence::Two([(); 2]));
        let most = if operators.named(two, None).is_some() { MOST } else { 1 };
        let groups = grouped(model, most).into_iter();
        let groups: Vec<Group> = groups.map(|g| Group::new(operators, model, g)).collect();
        let groups = match Group::of_forms(operators, model, &groups, most) {
            Some(group) => vec![group],
            None => groups,
        };
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        let keys = groups.iter().map(|group| group.key(sizes));
        let like = keys.enumerate().map(|(at, key)| *known.entry(key).or_insert(at)).collect();
        Plan { groups, like, operators: operators.clone() }.with_computed(model)
    }

    /// Names the tensors of each searched group that statements compute.
    fn with_computed(mut self, model: &Model) -> Plan {
        let computed =
            model.computed.iter().map(|own| Symbol::from(format!("%{}", own.tensor.name)));
        let computed: BTreeSet<Symbol> = computed.collect();
        for (at, first) in self.like.iter().enumerate() {
            let names = self.groups[at].names.iter().zip(&self.groups[*first].names);
            let own = names.filter(|(name, _)| computed.contains(name)).map(|(_, name)| *name);
            let own: Vec<Symbol> = own.collect();
            self.groups[*first].computed.extend(own);
        }
        self
    }

    /// Iterates over the groups that are searched, which are the first of their kinds.
    pub fn searched(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.groups.len()).filter(|at| self.like[*at] == *at)
    }

    /// Returns the group that is searched for a statement; an error if the model has no such statement.
    pub fn searched_for(&self, statement: usize) -> Checked<usize> {
        let at = self.groups.iter().position(|group| group.statements.contains(&statement));
        let count: usize = self.groups.iter().map(|group| group.statements.len()).sum();
        at.map(|at| self.like[at]).ok_or_else(|| {
            let error = Diagnostic::global(format!("there is no statement {statement}"));
            vec![error.with_help(format!("the model has {count}, counted from 0"))]
        })
    }

    /// Returns the term of a group, from the term that was found for the group it equals.
    pub fn term(&self, group: usize, found: &Term) -> Term {
        let (own, searched) = (&self.groups[group], &self.groups[self.like[group]]);
        let names: BTreeMap<Symbol, Symbol> =
            searched.names.iter().copied().zip(own.names.iter().copied()).collect();
        renamed(&self.operators, found, &names, &own.slots)
    }
}

/// Returns the statements of each group, with at most `most` statements in a group.
fn grouped(model: &Model, most: usize) -> Vec<Vec<usize>> {
    let fed = if most > 1 { MOST_FED } else { 1 };
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, statement) in model.statements.iter().enumerate() {
        let shares = |group: &Vec<usize>| {
            let mut reads = group.iter().flat_map(|s| model.statements[*s].reads());
            let own = statement.reads();
            reads.any(|tensor| is_index(model, tensor) && own.contains(&tensor))
        };
        // A statement that joins a group runs before everything after the group.
        let free = |group: &Vec<usize>| {
            group.iter().all(|other| independent(&model.statements[*other], statement))
        };
        let home = groups.iter().rposition(|group| group.len() < most && shares(group));
        match home.filter(|home| groups[*home..].iter().all(free)) {
            Some(home) => groups[home].push(at),
            None => {
                let feeds = |group: &Vec<usize>| group.len() < fed && is_fed(model, group, at);
                let home = groups.iter().rposition(feeds);
                match home.filter(|home| groups[home + 1..].iter().all(free)) {
                    Some(home) => groups[home].push(at),
                    None => groups.push(vec![at]),
                }
            }
        }
    }
    let mut joined = Vec::new();
    for group in groups {
        joined.push(group);
        join_last(model, &mut joined, fed);
    }
    joined
}

/// Joins the last group to the one before as long as its last statement reads what both write.
fn join_last(model: &Model, groups: &mut Vec<Vec<usize>>, most: usize) {
    while let [.., before, last] = &mut groups[..]
        && let Some((at, rest)) = last.split_last()
        && before.len() + last.len() <= most
        && [&before[..], rest].iter().all(|group| feeds(model, group, *at))
        && is_fed(model, &[&before[..], rest].concat(), *at)
    {
        before.append(last);
        groups.pop();
    }
}

/// Returns true if a statement reads what the statements of a group write, and one loop over rows may run them all: each
/// row of its result depends on the same rows of what they write.
fn is_fed(model: &Model, group: &[usize], statement: usize) -> bool {
    let own = &model.statements[statement];
    let given = |factor: &Expr| {
        let stored = factor.stored();
        stored.is_some_and(|stored| group.iter().all(|at| model.statements[*at].target != stored))
    };
    // Whole products, one after another, are divided by columns among cores; strips are for what is aggregated by rows.
    let is_aggregated = |at: &usize| {
        let mut parts = model.statements[*at].value.walk();
        parts.any(|part| part.kernel() == Some(Kernel::Rows))
    };
    let summed = group.iter().chain([&statement]).any(is_aggregated);
    let keeps_rows = |expr: &Expr| match expr.kernel() {
        Some(Kernel::Product { .. }) => {
            // A row of a product of two matrices depends on that of the first. Of the second, batches have their own.
            let mut factors = ["a", "b"].into_iter().filter_map(|name| expr.applied()?.value(name));
            let rank = factors.next().map_or(0, |left| left.shape.len());
            factors.all(|right| right.shape.len() == 3 || (rank == 3 || summed) && given(right))
        }
        // Of blocks that a product reads, every one may be any row's.
        Some(Kernel::Blocks) => {
            let table = expr.applied().and_then(|blocks| blocks.value("table"));
            table.is_some_and(given)
        }
        Some(kernel) => kernel.is_rowwise(),
        None => true,
    };
    let gathers = |expr: &Expr| {
        matches!(expr.kernel(), Some(Kernel::Blocks | Kernel::Rows)) || keeps_rows(expr)
    };
    let rows = |at: &usize| {
        let statement = &model.statements[*at];
        let whole = statement.part == Part::Whole && statement.value.walk().all(gathers);
        model.tensor(statement.target).shape.first().filter(|_| whole)
    };
    let alike = rows(&statement).is_some_and(|own| group.iter().all(|at| rows(at) == Some(own)));
    feeds(model, group, statement) && alike && own.value.walk().all(keeps_rows)
}

/// Returns true if a statement reads what one of a group writes.
fn feeds(model: &Model, group: &[usize], statement: usize) -> bool {
    let reads = model.statements[statement].reads();
    group.iter().any(|other| reads.contains(&model.statements[*other].target))
}

/// Returns true if a tensor is an input of positions.
fn is_index(model: &Model, tensor: TensorId) -> bool {
    model.inputs.get(tensor.0).is_some_and(|input| input.role.is_index())
}

/// Returns true if the order of two statements does not matter.
fn independent(a: &Statement, b: &Statement) -> bool {
    let parts = a.target == b.target && a.part != Part::Whole && a.part != b.part;
    let apart = |x: &Statement, y: &Statement| {
        let touched: BTreeSet<TensorId> = y.reads().into_iter().chain(y.writes()).collect();
        x.writes().iter().all(|t| !touched.contains(t) || (parts && *t == a.target))
    };
    apart(a, b) && apart(b, a)
}

/// Returns the terms of groups one after another, with a barrier before each that may read what was written before.
fn in_order(operators: &Operators, groups: &[Group]) -> Term {
    let mut term = RecExpr::default();
    let mut parts = Vec::new();
    for group in groups {
        if !parts.is_empty() {
            parts.push(Make::new(operators, |node| term.add(node)).barrier());
        }
        parts.push(rebuild(group.term.as_ref(), |_, node| term.add(node)));
    }
    Make::new(operators, |node| term.add(node)).sequence(&parts);
    term
}

/// Returns the node of the slot number in a statement's term, and the number; `None` if the node is also used elsewhere
/// in the term.
fn slot_of(operators: &Operators, term: &Term, part: Part) -> Option<(usize, i64)> {
    let Part::Slot(number) = part else { return None };
    let form = operators.form(term.as_ref().last()?)?;
    let Form::Output { part: form::Part::Slot(place), .. } = form else { return None };
    let uses = term.as_ref().iter().flat_map(Language::children).filter(|c| **c == place).count();
    (uses == 1).then_some((usize::from(place), i64::try_from(number).ok()?))
}

impl Group {
    fn new(operators: &Operators, model: &Model, statements: Vec<usize>) -> Group {
        let size = Form::Number { value: form::Number::Size(()), dtype: Typing::I64 };
        let sized = operators.named(size, None).is_some();
        let mut term = RecExpr::default();
        let mut slots = BTreeMap::new();
        let mut parts = Vec::new();
        for (k, at) in statements.iter().enumerate() {
            let one = model.statement_term(*at, operators);
            let slot = slot_of(operators, &one, model.statements[*at].part).filter(|_| sized);
            parts.push(rebuild(one.as_ref(), |i, node| match slot {
                Some((place, number)) if place == i => {
                    slots.insert(Symbol::from(format!("%{}", slot_name(k))), number);
                    Make::new(operators, |node| term.add(node)).size(&slot_name(k))
                }
                _ => term.add(node),
            }));
        }
        Make::new(operators, |node| term.add(node)).sequence(&parts);
        // What one statement writes is not read-only for the next.
        let written = statements.iter().map(|at| &model.tensor(model.statements[*at].target).name);
        let written = written.map(|name| Symbol::from(format!("%{name}"))).collect();
        let term = thawed(operators, &term, &written);
        let names = super::rename::names(&term);
        let context = context(model, &statements, &names);
        let (forms, computed) = (Vec::new(), BTreeSet::new());
        Group { statements, term, forms, context, computed, names, slots }.with_sizes()
    }

    /// Returns the whole model as one group, which has all of its forms; `None` for a model without other forms, or of which
    /// a statement writes a slot. The groups of a form stand one after another in its term.
    fn of_forms(
        operators: &Operators,
        model: &Model,
        groups: &[Group],
        most: usize,
    ) -> Option<Group> {
        let has_slots = groups.iter().any(|group| !group.slots.is_empty());
        if most == 1 || has_slots || model.forms.is_empty() {
            return None;
        }
        let term = |groups: &[Group]| in_order(operators, groups);
        let forms: Vec<Term> = model
            .forms
            .iter()
            .map(|statements| {
                let mut form = model.clone();
                form.statements.clone_from(statements);
                let groups = grouped(&form, most).into_iter();
                term(&groups.map(|g| Group::new(operators, &form, g)).collect::<Vec<Group>>())
            })
            .collect();
        let statements: Vec<usize> = (0..model.statements.len()).collect();
        let term = term(groups);
        let names = std::iter::once(&term).chain(&forms).flat_map(super::rename::names);
        let names: Names = names.unique().collect();
        let written = model.statements.iter().chain(model.forms.iter().flatten());
        let written = written.flat_map(Statement::writes).collect();
        let context = declared(model, &written, &BTreeSet::new(), &names);
        let (computed, slots) = (BTreeSet::new(), BTreeMap::new());
        Some(Group { statements, term, forms, context, computed, names, slots }.with_sizes())
    }

    /// Names the sizes that occur only in shapes, in an order that follows the term.
    fn with_sizes(mut self) -> Group {
        let Group { names, context, .. } = &mut self;
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
        self
    }

    /// Returns every symbolic size in the term, including the slots.
    pub fn sizes(&self) -> Vec<String> {
        let slots = self.slots.keys().filter_map(|name| name.as_str().strip_prefix('%'));
        self.context.sizes.iter().cloned().chain(slots.map(str::to_owned)).collect()
    }

    /// Returns a key that is the same for groups that are equal up to names.
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
                key += &format!("{} {shape:?} {};", tensor.dtype, tensor.writable());
            } else {
                // Values are compared by magnitude, rounded to the nearest power of two.
                let value = sizes.get(name.as_str().trim_start_matches('%'));
                key += &format!("{:?};", value.map(|n| (*n as f64).log2().round()));
            }
        }
        key
    }
}

/// Returns the declarations of a program for some of the statements: the names in their term, and the sizes in the
/// shapes.
fn context(model: &Model, statements: &[usize], names: &[Symbol]) -> ModelContext {
    let written: BTreeSet<TensorId> =
        statements.iter().flat_map(|at| model.statements[*at].writes()).collect();
    // What other statements read is a result of these.
    let elsewhere: BTreeSet<TensorId> = (0..model.statements.len())
        .filter(|at| !statements.contains(at))
        .flat_map(|at| model.statements[at].reads())
        .collect();
    declared(model, &written, &elsewhere, names)
}

/// Returns the declarations of a program that writes some tensors, of which others read some `elsewhere`: those that are
/// named.
fn declared(
    model: &Model,
    written: &BTreeSet<TensorId>,
    elsewhere: &BTreeSet<TensorId>,
    names: &[Symbol],
) -> ModelContext {
    let all = model.declarations(&BTreeMap::new());
    let purpose = |tensor: TensorId| match written.contains(&tensor) {
        true if elsewhere.contains(&tensor) => Purpose::Output,
        true => all.tensors[tensor.0].purpose,
        false => Purpose::Input,
    };
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
            purpose: purpose(TensorId(at)),
            ..tensor.clone()
        });
    }
    context
}
