//! The phases of a program on several cores: the steps that each core runs on its rows without waiting for the others.
//!
//! A step that looks up rows of what is computed needs the rows of other cores. It begins a phase, behind a barrier, if the
//! phase before it computes them, or still looks up what it computes itself. Nothing else needs a barrier: a core's own rows
//! follow from its own rows.

use ember_compile::rows::Rows;
use ember_sim::{Division, Phase};
use ember_targets::Step;
use ember_targets::dlc::{Action, Dim, Program, SizeId, Stmt, TensorId};
use ember_targets::verify::Footprint;
use itertools::Itertools;
use std::collections::BTreeSet;
use thiserror::Error;

/// A program as phases.
#[derive(Clone, Debug)]
pub(super) struct Phased {
    /// The program of each phase.
    pub(super) programs: Vec<Program>,
    /// The work of each phase.
    work: Vec<Work>,
    /// The tensors of which rows are looked up.
    looked_up: Vec<TensorId>,
    /// The sizes that count rows.
    sizes: Vec<(SizeId, u64)>,
}

/// The work that cores divide in a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Work {
    /// Rows; each part has a copy of some tensors.
    Rows(Vec<TensorId>),
    /// Nothing: it computes nothing with rows, and one core does it for all.
    Alone,
    /// So many columns of products of matrices.
    Products {
        columns: u64,
        /// The columns of a line of memory.
        line: u64,
    },
}

/// The reason why a program cannot be divided at its barriers.
#[derive(Clone, Debug, Error)]
pub(super) enum NoPhases {
    /// A register is read behind a barrier and set before it.
    #[error("the register `{0}` keeps its value over a barrier between cores")]
    Register(String),
    /// A tensor without rows is read behind a barrier, and computed before it together with rows.
    #[error("`{0}` has no rows, and is computed together with rows before a barrier between cores")]
    Tensor(String),
}

/// Some steps that follow each other, and what they read and write.
struct Effects {
    step: Step,
    read: BTreeSet<TensorId>,
    written: BTreeSet<TensorId>,
    /// The columns, and those of a line, if it is products of matrices whose columns are to be divided.
    product: Option<(u64, u64)>,
}

impl Effects {
    /// Returns those of a step; products are divided by columns if lines have so many bytes.
    fn of(program: &Program, step: Step, line_bytes: Option<u64>) -> Effects {
        let own = program.only(&step);
        let footprint = Footprint::of(&own);
        let product = line_bytes.and_then(|bytes| product(&own, bytes));
        let (read, written) = (footprint.read().collect(), footprint.written().collect());
        Effects { read, written, product, step }
    }

    /// Returns these steps and the following ones.
    fn before(mut self, next: Effects) -> Effects {
        self.read.extend(next.read);
        self.written.extend(next.written);
        Effects { step: self.step.to(&next.step), ..self }
    }
}

impl Phased {
    /// Returns a program as one phase, for one core.
    pub(super) fn whole(program: &Program, rows: &Rows) -> Phased {
        let (programs, work) = (vec![program.clone()], vec![Work::Rows(Vec::new())]);
        Phased { programs, work, looked_up: Vec::new(), sizes: rows.sizes_of(program) }
    }

    /// Divides a program whose rows are known into phases. With lines of so many bytes, columns of products are divided.
    pub(super) fn of(
        program: &Program,
        rows: &Rows,
        line_bytes: Option<u64>,
    ) -> Result<Phased, NoPhases> {
        let named = |names: &BTreeSet<String>| -> Vec<TensorId> {
            let of = |id: &TensorId| names.contains(&program.tensors[id.index()].name);
            program.ids().filter(of).collect()
        };
        let looked_up = named(&rows.looked_up);
        let exchanged: BTreeSet<TensorId> = named(&rows.exchanged).into_iter().collect();
        let has_rows = |id: &TensorId| rows.has(program, &program.tensors[id.index()].shape);
        let meets = |a: &BTreeSet<TensorId>, b: &BTreeSet<TensorId>| {
            a.intersection(b).any(|tensor| exchanged.contains(tensor))
        };
        // What has no rows is computed by one core, in a phase of its own.
        let alone = |steps: &Effects| !steps.written.iter().any(has_rows);
        let apart = |last: &Effects, next: &Effects| {
            let both = !last.written.is_empty() && !next.written.is_empty();
            let kind = |steps: &Effects| (alone(steps), steps.product);
            let products = last.product.or(next.product).is_some();
            let whole = |a: &BTreeSet<TensorId>, b| products && !a.is_disjoint(b);
            meets(&next.read, &last.written)
                || meets(&next.written, &last.read)
                || whole(&next.read, &last.written)
                || whole(&next.written, &last.read)
                || (both && kind(last) != kind(next))
        };
        let steps = program.steps().into_iter();
        let mut phases: Vec<Vec<Effects>> = Vec::new();
        for step in steps.map(|step| Effects::of(program, step, line_bytes)) {
            match phases.last_mut().filter(|last| !last.iter().any(|last| apart(last, &step))) {
                Some(last) => last.push(step),
                None => phases.push(vec![step]),
            }
            // A barrier may be earlier, so that registers are set behind it.
            while let [.., before, last] = &mut phases[..]
                && let (Some(first), Some(end)) = (last.first(), last.last())
                && program.only(&first.step.to(&end.step)).unset().is_some()
                && let Some(moved) = before.pop_if(|moved| !last.iter().any(|l| apart(moved, l)))
            {
                last.insert(0, moved);
            }
            phases.retain(|phase| !phase.is_empty());
        }
        let phases: Vec<Effects> = phases
            .into_iter()
            .filter_map(|steps| steps.into_iter().reduce(Effects::before))
            .collect();
        let works = |phase: &Effects| {
            let copies: Vec<TensorId> =
                phase.written.iter().filter(|id| !has_rows(id)).copied().collect();
            let alone = copies.len() == phase.written.len() && phases.len() > 1;
            match phase.product {
                Some((columns, line)) => Work::Products { columns, line },
                None if alone => Work::Alone,
                None => Work::Rows(copies),
            }
        };
        let work: Vec<Work> = phases.iter().map(works).collect();
        let copies = |(n, work): (usize, &Work)| match work {
            Work::Rows(copies) => copies.iter().map(|tensor| (n, *tensor)).collect(),
            _ => Vec::new(),
        };
        for (n, tensor) in work.iter().enumerate().flat_map(copies) {
            if phases[n + 1..].iter().any(|later| later.read.contains(&tensor)) {
                return Err(NoPhases::Tensor(program.tensors[tensor.index()].name.clone()));
            }
        }
        let programs: Vec<Program> = match phases.len() {
            0 | 1 => vec![program.clone()],
            _ => phases.iter().map(|phase| program.only(&phase.step)).collect(),
        };
        if let Some(register) = programs.iter().skip(1).find_map(Program::unset) {
            return Err(NoPhases::Register(program.registers[register.index()].name.clone()));
        }
        Ok(Phased { programs, work, looked_up, sizes: rows.sizes_of(program) })
    }

    /// Returns true if columns of products are divided.
    pub(super) fn has_products(&self) -> bool {
        self.work.iter().any(|work| matches!(work, Work::Products { .. }))
    }

    /// Returns the barriers between phases.
    pub(super) fn barriers(&self) -> usize {
        self.programs.len().saturating_sub(1)
    }

    /// Returns the phases on cores that have parts of the rows each, and the rest to take.
    pub(super) fn divided<'a>(
        &'a self,
        division: &Division,
        data: ember_sim::Bindings,
    ) -> Vec<Phase<'a>> {
        let ember_sim::Bindings { mut tensors, sizes } = data;
        let divide = |work: &Work| {
            let (sizes, looked_up) = (self.sizes.clone(), self.looked_up.clone());
            let cores = division.own.len();
            match work {
                Work::Rows(copied) => {
                    Division { sizes, looked_up, copied: copied.clone(), ..division.clone() }
                }
                Work::Alone => Division::undivided(cores),
                Work::Products { columns, line } => by_columns(cores, *columns, *line),
            }
        };
        let mut divisions: Vec<Division> = self.work.iter().map(divide).collect();
        divisions.resize_with(self.programs.len(), || divide(&Work::Rows(Vec::new())));
        let phase = |(program, division)| {
            let tensors = std::mem::take(&mut tensors);
            Phase { program, sizes: sizes.clone(), tensors, division }
        };
        self.programs.iter().zip(divisions).map(phase).collect()
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

/// Divides columns evenly among as many cores as have a line, in whole lines.
fn by_columns(cores: usize, columns: u64, line: u64) -> Division {
    let lines = columns.div_ceil(line);
    let parts = lines.min(cores as u64);
    let at = |part: u64| (lines * part / parts * line).min(columns);
    let own = (0..cores).map(|core| if (core as u64) < parts { vec![core] } else { vec![] });
    Division {
        parts: (0..parts).map(|_| 0..0).collect(),
        columns: (0..parts).map(|part| at(part)..at(part + 1)).collect(),
        own: own.collect(),
        ..Division::undivided(0)
    }
}
