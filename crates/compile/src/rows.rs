//! The rows of a model that can be computed apart, by several cores or as a sample, and the work in each.
//!
//! They are counted by the first extent of the outputs. If every tensor that has this extent has it first, each row of a
//! result follows from the same rows of the operands, from rows that are looked up, and from tensors that all rows share. A
//! program that is right for any number of rows is then right for some of them, if what it looks up is there.

mod accesses;

pub use accesses::Accesses;

use ember_language::diagnostic::{Checked, Diagnostic, Span};
use ember_model::data::Instance;
use ember_model::{Declared, Expr, Extent, Kind, Model, OffsetsUse, TensorId};
use ember_sim::Division;
use ember_targets::Step;
use ember_targets::dlc::{
    self, Action, Dim, Expr as Value, Program, Purpose, SizeId, Stmt, StreamKind,
};
use ember_targets::tensor::{Data, Tensor};
use ember_targets::verify::Footprint;
use ember_values::operation::{Kernel, Role};
use ember_values::scalar::Scalar;
use itertools::Itertools;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The rows of a model on some data.
pub struct Rows {
    /// The size that counts them.
    pub size: String,
    /// The tensors of which rows of any number are looked up.
    pub looked_up: BTreeSet<String>,
    /// The looked-up tensors that the model computes, and the computed tensors by which it looks rows up.
    pub exchanged: BTreeSet<String>,
    /// The offsets with one bag for each row.
    pub own: Vec<OffsetsUse>,
    /// The sizes that count the lookups of the rows, each with the offsets that say which lookups are a row's.
    lookups: BTreeMap<String, String>,
    /// The indices by which rows of tensors in memory are looked up, with these tensors.
    uses: Vec<(String, Vec<String>)>,
    /// For each row, one and its lookups.
    weights: Vec<u64>,
}

impl Rows {
    /// Finds the rows of a model; an error if they depend on each other.
    pub fn of(model: &Model, instance: &Instance) -> Checked<Rows> {
        let size = independent(model)?;
        let count = instance.sizes.get(&size).copied().unwrap_or(0);
        let mut weights = vec![1; count as usize];
        let mut lookups = BTreeMap::new();
        let own: Vec<OffsetsUse> = own_offsets(model, &size).collect();
        for OffsetsUse { offsets, indices } in &own {
            let ends = integers(instance, model.tensor(*offsets));
            for (weight, ends) in weights.iter_mut().zip(ends.windows(2)) {
                *weight += ends[1].saturating_sub(ends[0]);
            }
            if let Some(Extent::Size { name, plus: 0 }) = model.tensor(*indices).shape.first() {
                lookups.insert(name.clone(), model.tensor(*offsets).name.clone());
            }
        }
        let found = looked_up(model);
        let among =
            |tensor: &&TensorId| more_than(model.tensor(**tensor).shape.first(), &size).is_some();
        let name = |tensor: &TensorId| model.tensor(*tensor).name.clone();
        let computed = |tensor: &&TensorId| !model.is_input(**tensor);
        let looked_up = found.iter().filter(among).map(name).collect();
        let exchanged = found.iter().filter(computed).map(name).collect();
        let uses = model.index_uses().into_iter();
        let uses = uses.map(|used| (name(&used.indices), used.read.iter().map(name).collect()));
        let uses = uses.collect();
        Ok(Rows { size, looked_up, exchanged, own, lookups, uses, weights })
    }

    /// Returns true if a tensor of a program has rows, or lookups of rows.
    pub fn has(&self, program: &Program, shape: &[Dim]) -> bool {
        let Some(Dim::Size(first)) = shape.first() else { return false };
        let counts = |(size, _): &(SizeId, u64)| size == first;
        let name = program.sizes.get(first.index());
        self.sizes_of(program).iter().any(counts)
            || name.is_some_and(|n| self.lookups.contains_key(n))
    }

    /// Returns true if a size counts lookups of the rows.
    pub fn counts_lookups(&self, size: &str) -> bool {
        self.lookups.contains_key(size)
    }

    /// Returns the lookups of a row.
    pub fn lookups_of(&self, row: u64) -> u64 {
        self.weights[row as usize] - 1
    }

    /// Returns true if the model looks up rows of what it computes.
    pub fn exchange(&self) -> bool {
        !self.exchanged.is_empty()
    }

    /// Returns the last of some rows, those with so much work or all of them.
    pub fn last(&self, rows: Range<u64>, work: u64) -> Range<u64> {
        let mut start = rows.end;
        let mut left = work;
        while start > rows.start && left > 0 {
            start -= 1;
            left = left.saturating_sub(self.weights[start as usize]);
        }
        start..rows.end
    }

    /// Returns the division of a program into no parts yet; `None` if something that it computes has no rows, other than
    /// scratch that all rows use in turn.
    pub fn division(&self, program: &Program) -> Option<Division> {
        let has_rows = |id: &dlc::TensorId| self.has(program, &program.tensors[id.index()].shape);
        let scratch = |id: &dlc::TensorId| program.tensors[id.index()].purpose == Purpose::Scratch;
        let apart = |step: &Step| {
            let step = Footprint::of(&program.only(step));
            step.written().next().is_none() || step.written().any(|id| has_rows(&id))
        };
        let written = Footprint::of(program);
        let copied: Vec<_> = written.written().filter(|id| !has_rows(id)).collect();
        if !program.steps().iter().all(apart) || !copied.iter().all(scratch) {
            return None;
        }
        let named = |id: &dlc::TensorId| self.looked_up.contains(&program.tensors[id.index()].name);
        let looked_up = program.ids().filter(named).collect();
        let none = Division { parts: Vec::new(), own: vec![Vec::new()], ..Division::undivided(1) };
        Some(Division { sizes: self.sizes_of(program), looked_up, copied, ..none })
    }

    /// Returns true if a program does with one row after the other all that it does.
    pub fn in_turn(&self, program: &Program) -> bool {
        let sizes = self.sizes_of(program);
        let counts_rows = |size: SizeId| sizes.contains(&(size, 0));
        let bodies = program.access.iter().filter_map(|action| match action {
            Action::Callback(case) => Some(&program.cases[case.index()].body),
            _ => None,
        });
        let stmts = bodies.chain([&program.main]).flatten();
        let loops = stmts.filter_map(|stmt| match stmt {
            Stmt::For(own) => {
                let mut over_rows = false;
                own.hi.walk(&mut |x| over_rows |= matches!(x, Value::Size(s) if counts_rows(*s)));
                Some(over_rows)
            }
            Stmt::Matmul { .. } => Some(false),
            _ => None,
        });
        let traversals = program.access.iter().filter_map(|action| match action {
            Action::Traverse(unit) => {
                let mut open = vec![program.units[unit.index()].hi];
                let mut over_rows = false;
                while let Some(stream) = open.pop() {
                    match &program.streams[stream.index()].kind {
                        StreamKind::Size(size) => over_rows |= counts_rows(*size),
                        StreamKind::Alu { a, b, .. } => open.extend([*a, *b]),
                        _ => {}
                    }
                }
                Some(over_rows)
            }
            _ => None,
        });
        loops.chain(traversals).exactly_one().ok() == Some(true)
    }

    /// Returns true if the longest row has a bound of its own: what it looks up follows from inputs alone, and is apart from
    /// the rows.
    pub fn apart(&self) -> bool {
        self.looked_up.is_empty() && self.exchanged.is_empty()
    }

    /// Returns the bytes of all rows in tensors that have a row or a lookup for each, and of the rows that are looked up.
    pub fn bytes(&self, model: &Model, instance: &Instance) -> u64 {
        let own = model.tensors().filter(|tensor| match tensor.shape.first() {
            Some(Extent::Size { name, .. }) => {
                *name == self.size || self.lookups.contains_key(name)
            }
            _ => false,
        });
        let own = own.filter_map(|tensor| instance.tensors.get(&tensor.name));
        let own = own.map(|tensor| bytes_of(tensor, tensor.shape[0]));
        own.fold(self.bytes_looked_up(instance, |_| true), u64::saturating_add)
    }

    /// Returns the bytes of the rows of stored tables that are looked up by what reads tensors of some names.
    pub fn bytes_looked_up(&self, instance: &Instance, reads: impl Fn(&str) -> bool) -> u64 {
        let of = |name: &String| instance.tensors.get(name).filter(|_| reads(name));
        let looked_up = self.uses.iter().flat_map(|(indices, read)| {
            let lookups = of(indices).map_or(0, Tensor::len);
            read.iter().filter_map(of).map(move |table| bytes_of(table, lookups))
        });
        looked_up.fold(0, u64::saturating_add)
    }

    /// Returns the number of rows.
    pub fn count(&self) -> u64 {
        self.weights.len() as u64
    }

    /// Returns the work in each row.
    pub fn weights(&self) -> &[u64] {
        &self.weights
    }

    /// Returns the work in some rows.
    pub fn weight(&self, rows: &Range<u64>) -> u64 {
        self.weights[rows.start as usize..rows.end as usize].iter().sum()
    }

    /// Returns the first row with the most work.
    pub fn heaviest(&self) -> Option<u64> {
        (0..).zip(&self.weights).max_by_key(|(row, weight)| (**weight, Reverse(*row))).map(|r| r.0)
    }

    /// Returns the sizes of a program that count rows, each with what it has more.
    pub fn sizes_of(&self, program: &Program) -> Vec<(SizeId, u64)> {
        let extent = |plus| Extent::Size { name: self.size.clone(), plus };
        let named = |name: &String| (0..=1).find(|plus| extent(*plus).to_string() == *name);
        let sizes = (0..).zip(&program.sizes);
        sizes.filter_map(|(at, name)| Some((SizeId(at), named(name)?))).collect()
    }

    /// Returns the data of some rows alone.
    pub fn part(&self, rows: Range<u64>, model: &Model, instance: &Instance) -> Instance {
        let mut parts = BTreeMap::from([(self.size.as_str(), rows.clone())]);
        for OffsetsUse { offsets, indices } in &self.own {
            let ends = integers(instance, model.tensor(*offsets));
            let end = |at: u64| ends.get(at as usize).copied().unwrap_or(0);
            if let Some(Extent::Size { name, plus: 0 }) = model.tensor(*indices).shape.first() {
                parts.insert(name, end(rows.start)..end(rows.end));
            }
        }
        let mut part = instance.clone();
        for tensor in model.tensors() {
            let is_offsets =
                self.own.iter().any(|own| model.tensor(own.offsets).name == tensor.name);
            for (at, extent) in tensor.shape.iter().enumerate() {
                let Extent::Size { name, plus } = extent else { continue };
                let Some(Range { start, end }) = parts.get(name.as_str()).cloned() else {
                    continue;
                };
                part.sizes.insert(name.clone(), end - start);
                part.sizes.insert(extent.to_string(), end - start + plus);
                let data = part.tensors.get_mut(&tensor.name).filter(|_| at == 0);
                if let Some(data) = data {
                    *data = rows_of(data, start..end + plus, is_offsets);
                }
            }
        }
        part
    }
}

/// Returns some rows of a tensor, as numbers from the first on if they are offsets. Values that are computed on demand may
/// be others.
pub fn rows_of(tensor: &Tensor, rows: Range<u64>, offsets: bool) -> Tensor {
    let width: u64 = tensor.shape.iter().skip(1).product();
    let extents =
        std::iter::once(rows.end - rows.start).chain(tensor.shape.iter().skip(1).copied());
    let positions = rows.start * width..rows.end * width;
    let first = tensor.get(positions.start).and_then(Scalar::as_i64).filter(|_| offsets);
    let moved = |x: Scalar| match first.zip(x.as_i64()) {
        Some((first, x)) => Scalar::I64(x - first).cast(tensor.dtype),
        None => x,
    };
    let data = match tensor.data {
        Data::Hashed(hashed) => Data::Hashed(hashed),
        _ => Data::held(tensor.dtype, positions.filter_map(|at| tensor.get(at)).map(moved)),
    };
    Tensor { dtype: tensor.dtype, shape: extents.collect(), data }
}

/// Returns the bytes of some rows of a tensor.
fn bytes_of(tensor: &Tensor, rows: u64) -> u64 {
    let elements = tensor.shape.iter().skip(1).copied().fold(rows, u64::saturating_mul);
    tensor.dtype.bytes_of(elements)
}

/// Returns the tensors of which rows are looked up, directly or for rows that are computed of them.
fn looked_up(model: &Model) -> BTreeSet<TensorId> {
    let mut found = BTreeSet::new();
    for applied in model.expressions().filter_map(Expr::applied) {
        for (operand, _) in applied.tensors() {
            let Role::Indices(_, of) = &operand.role else { continue };
            let table = applied.value(of);
            found.extend(table.into_iter().flat_map(Expr::walk).flat_map(Expr::tensors));
        }
    }
    found
}

/// Returns the offsets with one bag for each row.
fn own_offsets(model: &Model, size: &str) -> impl Iterator<Item = OffsetsUse> {
    let uses = model.offsets_uses().into_iter();
    let own =
        uses.filter(|used| more_than(model.tensor(used.offsets).shape.first(), size) == Some(1));
    own.collect::<Vec<_>>().into_iter()
}

/// Returns what an extent has more than a size.
fn more_than(extent: Option<&Extent>, size: &str) -> Option<u64> {
    match extent {
        Some(Extent::Size { name, plus }) if name == size => Some(*plus),
        _ => None,
    }
}

/// Returns the elements of a tensor of offsets.
pub fn integers(instance: &Instance, tensor: &Declared) -> Vec<u64> {
    let Some(data) = instance.tensors.get(&tensor.name) else { return Vec::new() };
    let at = |position| u64::try_from(data.get(position)?.as_i64()?).ok();
    (0..data.len()).map_while(at).collect()
}

/// Returns the size that counts independent rows; an error with what makes them depend on each other.
fn independent(model: &Model) -> Checked<String> {
    let refuse = |span: Span, label: String, help: &str| {
        let message = format!("the rows of `{}` cannot be divided", model.name);
        Err(vec![Diagnostic::error(message, span, label).with_help(help)])
    };
    let mut size: Option<&str> = None;
    for output in model.outputs() {
        match output.shape.first() {
            Some(Extent::Size { name, plus: 0 }) if size.is_none_or(|size| size == name) => {
                size = Some(name);
            }
            _ => {
                let label = match size {
                    Some(size) => format!("`{size}` is not the number of its rows"),
                    None => "the number of its rows is no size".to_owned(),
                };
                let help =
                    "cores divide the first extent of the outputs, a size that all of them have";
                return refuse(output.span, label, help);
            }
        }
    }
    let Some(size) = size else {
        return Err(vec![Diagnostic::global(format!("`{}` has no output", model.name))]);
    };
    let help = "if these are other rows than those of the output, give their number another name, as \
                `rows` and `nodes` in workloads/SpMM; otherwise use one core";
    let offsets: Vec<_> = own_offsets(model, size).map(|used| used.offsets).collect();
    let is_offsets = |tensor: &Declared| {
        offsets.iter().any(|offsets| model.tensor(*offsets).name == tensor.name)
    };
    let inner = |shape: &[Extent]| shape.iter().skip(1).any(|e| more_than(Some(e), size).is_some());
    // Scratch memory is that of a statement, which is looked at below.
    let computed = model.computed.iter().filter(|own| own.kind != Kind::Scratch);
    let inputs = model.inputs.iter().map(|own| &own.tensor);
    for tensor in inputs.chain(computed.map(|own| &own.tensor)) {
        let more = more_than(tensor.shape.first(), size);
        if inner(&tensor.shape) || (more.is_some_and(|more| more > 0) && !is_offsets(tensor)) {
            let label = format!("has `{size}` in an extent that is not divided");
            return refuse(tensor.span, label, help);
        }
    }
    for used in model.offsets_uses() {
        if more_than(model.tensor(used.indices).shape.first(), size).is_some() {
            let label = format!("tells where rows begin among the `{size}` that are divided");
            return refuse(model.tensor(used.offsets).span, label, help);
        }
    }
    for statement in &model.statements {
        let target = model.tensor(statement.target);
        let divided = |expr: &Expr| more_than(expr.shape.first(), size).is_some();
        let reads = |expr: &Expr| {
            let mut read = expr.walk().flat_map(Expr::tensors);
            read.any(|tensor| more_than(model.tensor(tensor).shape.first(), size).is_some())
        };
        let mixes = |expr: &Expr| inner(&expr.shape) || (reads(expr) && !divided(expr));
        if statement.value.walk().any(|expr| expr.kernel() == Some(Kernel::Lowered)) {
            let label = "rules alone say what this is".to_owned();
            let help = "of such an operation it is not known which rows depend on each other";
            return refuse(target.span, label, help);
        }
        let scatters =
            |expr: &Expr| matches!(expr.kernel(), Some(Kernel::Scatter(_) | Kernel::Columns));
        if statement.value.walk().any(|expr| scatters(expr) && divided(expr)) {
            let label = format!("adds to rows among the `{size}` that are divided, in any order");
            return refuse(target.span, label, help);
        }
        if statement.value.walk().any(mixes) {
            let label = format!("is made of several rows of the `{size}` that are divided");
            return refuse(target.span, label, help);
        }
    }
    Ok(size.to_owned())
}

impl Rows {
    /// Returns rows of the given work, which are those of no model.
    pub fn weighing(weights: Vec<u64>) -> Rows {
        let none = BTreeSet::new;
        let (looked_up, exchanged, lookups) = (none(), none(), BTreeMap::new());
        let (size, own, uses) = ("rows".to_owned(), Vec::new(), Vec::new());
        Rows { size, looked_up, exchanged, own, lookups, uses, weights }
    }
}
