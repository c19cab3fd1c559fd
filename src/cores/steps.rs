//! The steps of a program, with what they read and write, and the phases that they form.

use super::lookups::Lookup;
use super::phases::Ways;
use ember_compile::rows::Rows;
use ember_model::data::Instance;
use ember_targets::Step;
use ember_targets::dlc::{Action, Dim, Program, Stmt, TensorId};
use ember_targets::elements::Elements;
use ember_targets::verify::Footprint;
use itertools::Itertools;
use std::collections::BTreeSet;
use std::ops::Range;

/// Some steps that follow each other, and what they read and write.
pub(super) struct Effects {
    pub(super) step: Step,
    pub(super) read: BTreeSet<TensorId>,
    pub(super) written: BTreeSet<TensorId>,
    /// The columns, and those of a line, if it is products of matrices whose columns are to be divided.
    pub(super) product: Option<(u64, u64)>,
    /// The lookups of several tables that it is part of one of: a number of all, and one of its own.
    tables: Option<(usize, usize)>,
}

impl Effects {
    /// Returns those of a step; products are divided by columns if lines have so many bytes.
    fn of(program: &Program, step: Step, line_bytes: Option<u64>) -> Effects {
        let own = program.only(&step);
        let footprint = Footprint::of(&own);
        let product = line_bytes.and_then(|bytes| product(&own, bytes));
        let (read, written) = (footprint.read().collect(), footprint.written().collect());
        Effects { read, written, product, tables: None, step }
    }

    /// Returns steps that follow each other as one; `None` if there are none.
    pub(super) fn together(steps: Vec<Effects>) -> Option<Effects> {
        steps.into_iter().reduce(|before, next| Effects {
            step: before.step.to(&next.step),
            read: before.read.union(&next.read).copied().collect(),
            written: before.written.union(&next.written).copied().collect(),
            ..before
        })
    }
}

/// A program, the rows that it computes, and what is divided.
pub(super) struct Steps<'a> {
    pub(super) program: &'a Program,
    rows: &'a Rows,
    instance: &'a Instance,
    /// The tensors of which a core may need the rows of others.
    exchanged: BTreeSet<TensorId>,
    line_bytes: u64,
    ways: Ways,
}

impl<'a> Steps<'a> {
    /// Returns those of a program on some data, in lines of so many bytes.
    pub(super) fn new(
        program: &'a Program,
        (rows, instance): (&'a Rows, &'a Instance),
        line_bytes: u64,
        ways: Ways,
    ) -> Steps<'a> {
        let exchanged = BTreeSet::new();
        let steps = Steps { program, rows, instance, exchanged, line_bytes, ways };
        Steps { exchanged: steps.named(&rows.exchanged).collect(), ..steps }
    }

    /// Returns the tensors of some names.
    pub(super) fn named(&self, names: &BTreeSet<String>) -> impl Iterator<Item = TensorId> {
        self.program.ids().filter(|id| names.contains(&self.program.tensors[id.index()].name))
    }

    pub(super) fn has_rows(&self, id: &TensorId) -> bool {
        self.rows.has(self.program, &self.program.tensors[id.index()].shape)
    }

    /// Returns true for steps that write nothing with rows: one core computes it, in a phase of its own.
    pub(super) fn alone(&self, steps: &Effects) -> bool {
        !steps.written.iter().any(|id| self.has_rows(id))
    }

    /// Returns the phases: a step begins one if it must be apart from a step of the last one.
    pub(super) fn phases(&self) -> Vec<Vec<Effects>> {
        let mut phases: Vec<Vec<Effects>> = Vec::new();
        for step in self.effects() {
            match phases.last_mut().filter(|last| !last.iter().any(|last| self.apart(last, &step)))
            {
                Some(last) => last.push(step),
                None => phases.push(vec![step]),
            }
            // A barrier may be earlier, so that registers are set behind it.
            while let [.., before, last] = &mut phases[..]
                && let (Some(first), Some(end)) = (last.first(), last.last())
                && self.program.only(&first.step.to(&end.step)).unset().is_some()
                && let Some(moved) =
                    before.pop_if(|moved| !last.iter().any(|l| self.apart(moved, l)))
            {
                last.insert(0, moved);
            }
            phases.retain(|phase| !phase.is_empty());
        }
        phases
    }

    /// Returns the lookups of a phase that does nothing but look up rows of several tables.
    pub(super) fn lookups(&self, phase: &[Effects]) -> Option<Vec<Lookup>> {
        let working = phase.iter().filter(|step| !step.written.is_empty());
        let steps = working.map(|step| Some((step.tables?.1, step))).collect::<Option<Vec<_>>>()?;
        let lookups = steps.chunk_by(|(a, _), (b, _)| a == b).map(|own| Lookup {
            step: own[0].1.step.to(&own[own.len() - 1].1.step),
            bytes: own.iter().map(|(_, step)| self.bytes_looked_up(step)).sum(),
        });
        Some(lookups.collect()).filter(|lookups: &Vec<_>| lookups.len() > 1)
    }

    /// Returns what each step reads and writes.
    fn effects(&self) -> Vec<Effects> {
        let line_bytes = Some(self.line_bytes).filter(|_| self.ways.products);
        let steps = self.program.steps().into_iter();
        let mut steps: Vec<Effects> =
            steps.map(|step| Effects::of(self.program, step, line_bytes)).collect();
        if self.ways.tables {
            let together = self.tables(&steps);
            for (all, lookups) in together.into_iter().enumerate() {
                for (own, lookup) in lookups.into_iter().enumerate() {
                    steps[lookup].iter_mut().for_each(|step| step.tables = Some((all, own)));
                }
            }
        }
        steps
    }

    /// Returns true if a step may not be in the same phase as an earlier one.
    fn apart(&self, last: &Effects, next: &Effects) -> bool {
        let both = !last.written.is_empty() && !next.written.is_empty();
        let all = |steps: &Effects| steps.tables.map(|(all, _)| all);
        let kind = |steps: &Effects| (self.alone(steps), steps.product, all(steps));
        let products = last.product.or(next.product).is_some();
        let meet = |a: &BTreeSet<TensorId>, b: &BTreeSet<TensorId>| {
            a.intersection(b).any(|tensor| products || self.exchanged.contains(tensor))
        };
        meet(&next.read, &last.written)
            || meet(&next.written, &last.read)
            || (both && kind(last) != kind(next))
    }

    /// Returns the bytes of the rows that steps with rows look up in stored tables.
    fn bytes_looked_up(&self, steps: &Effects) -> u64 {
        let tensor = |id: &TensorId| &self.program.tensors[id.index()].name;
        let reads = |name: &str| steps.read.iter().any(|id| tensor(id) == name);
        match self.alone(steps) {
            true => 0,
            false => self.rows.bytes_looked_up(self.instance, reads),
        }
    }

    /// Returns the lookups of several tables that follow each other and do not need each other. A lookup is one step or more:
    /// what begins it and what ends it are steps that need it and none of the others.
    fn tables(&self, steps: &[Effects]) -> Vec<Vec<Range<usize>>> {
        let elements = |step: &Effects| Elements::of(&self.program.only(&step.step));
        let elements: Vec<Elements> = steps.iter().map(elements).collect();
        let free = |of: &Range<usize>, at: usize| {
            of.clone().all(|before| elements[before].apart(&elements[at]))
        };
        let mut groups: Vec<Vec<Range<usize>>> = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            let mut group = groups.pop().unwrap_or_default();
            let needed = group.iter().positions(|of| !free(of, at)).collect_vec();
            let last = group.len().saturating_sub(1);
            let joins = |of: &Range<usize>| !steps[of.clone()].iter().any(|b| self.apart(b, step));
            match needed[..] {
                [] => group.push(at..at + 1),
                [only] if only == last && joins(&group[last]) => group[last].end = at + 1,
                _ => {
                    groups.push(group);
                    group = std::iter::once(at..at + 1).collect();
                }
            }
            groups.push(group);
        }
        let looks_up = |of: &Range<usize>| {
            let steps = &steps[of.clone()];
            let rows = steps.iter().all(|step| step.product.is_none() && !self.alone(step));
            rows && steps.iter().any(|step| self.bytes_looked_up(step) > 0)
        };
        let lookups = groups.iter().flat_map(|group| group.split(|of| !looks_up(of)));
        lookups.filter(|lookups| lookups.len() > 1).map(<[_]>::to_vec).collect()
    }
}

/// Returns the columns of a step that multiplies matrices and does nothing else, and those of a line of so many bytes; `None`
/// if they are fewer than two lines.
fn product(step: &Program, line_bytes: u64) -> Option<(u64, u64)> {
    let alone = |action: &Action| matches!(action, Action::Callback(_) | Action::Barrier);
    let columns = |stmt: &Stmt| match stmt {
        Stmt::Matmul { out, a, b, .. } if [out, a, b].iter().all(|addr| addr.index.is_empty()) => {
            let out = &step.tensors[out.tensor.index()];
            match out.shape[..] {
                [_, Dim::Const(columns)] => {
                    Some((columns, (line_bytes / out.dtype.bytes_of(1)).max(1)))
                }
                _ => None,
            }
        }
        _ => None,
    };
    let free = |stmt: &&Stmt| !matches!(stmt, Stmt::Set(..));
    let stmts = step.bodies().into_iter().flatten().filter(free).map(columns);
    let (columns, line) = stmts.collect::<Option<Vec<_>>>()?.into_iter().all_equal_value().ok()?;
    (step.access.iter().all(alone) && columns >= 2 * line).then_some((columns, line))
}
