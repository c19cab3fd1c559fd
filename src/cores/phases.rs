//! The phases of a program on several cores: the steps that each core runs on its rows without waiting for the others.
//!
//! A step that looks up rows of what is computed needs the rows of other cores. It begins a phase, behind a barrier, if the
//! phase before it computes them, or still looks up what it computes itself. Nothing else needs a barrier: a core's own rows
//! follow from its own rows.

use super::lookups::{self, Lookup};
use super::steps::{Effects, Steps};
use ember_compile::rows::Rows;
use ember_model::data::Instance;
use ember_sim::{Division, Phase};
use ember_targets::dlc::{Program, SizeId, TensorId};
use itertools::Itertools;
use thiserror::Error;

/// The work that cores divide beside rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Ways {
    /// Columns of products of matrices.
    pub(super) products: bool,
    /// Lookups of several tables.
    pub(super) tables: bool,
}

/// A program as phases.
#[derive(Clone, Debug)]
pub(super) struct Phased {
    /// The work that is divided beside rows.
    pub(super) ways: Ways,
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
#[derive(Clone, Debug)]
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
    /// Lookups of several tables, each with its program; each part has a copy of some tensors.
    Tables { lookups: Vec<Lookup>, programs: Vec<Program>, copied: Vec<TensorId> },
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

impl Work {
    /// Returns the work of a phase, one of several or the only one.
    fn of(steps: &Steps<'_>, phase: &[Effects], several: bool) -> Work {
        let written = phase.iter().flat_map(|step| &step.written);
        let copied = written.filter(|id| !steps.has_rows(id)).copied().sorted().dedup().collect();
        let product = phase.first().and_then(|step| step.product);
        match (product, steps.lookups(phase)) {
            (Some((columns, line)), _) => Work::Products { columns, line },
            (None, _) if several && phase.iter().all(|step| steps.alone(step)) => Work::Alone,
            (None, None) => Work::Rows(copied),
            (None, Some(lookups)) => {
                let programs = lookups.iter().map(|own| steps.program.only(&own.step)).collect();
                Work::Tables { lookups, programs, copied }
            }
        }
    }

    /// Returns the tensors of which each part has a copy.
    fn copied(&self) -> &[TensorId] {
        match self {
            Work::Rows(copied) | Work::Tables { copied, .. } => copied,
            Work::Alone | Work::Products { .. } => &[],
        }
    }

    /// Returns the programs of which parts run one each.
    fn steps(&self) -> &[Program] {
        match self {
            Work::Tables { programs, .. } => programs,
            _ => &[],
        }
    }
}

impl Phased {
    /// Returns a program as one phase, for one core.
    pub(super) fn whole(program: &Program, rows: &Rows) -> Phased {
        let (programs, work) = (vec![program.clone()], vec![Work::Rows(Vec::new())]);
        let (ways, sizes) = (Ways::default(), rows.sizes_of(program));
        Phased { ways, programs, work, looked_up: Vec::new(), sizes }
    }

    /// Divides a program whose rows are known, on some data, into phases. Lines of memory have so many bytes.
    pub(super) fn of(
        program: &Program,
        (rows, instance): (&Rows, &Instance),
        line_bytes: u64,
        ways: Ways,
    ) -> Result<Phased, NoPhases> {
        let steps = Steps::new(program, (rows, instance), line_bytes, ways);
        let phases = steps.phases();
        let several = phases.len() > 1;
        let work = phases.iter().map(|phase| Work::of(&steps, phase, several));
        // A program without steps is one phase that does nothing.
        let nothing = phases.is_empty().then(|| Work::Rows(Vec::new()));
        let work: Vec<Work> = work.chain(nothing).collect();
        let phases: Vec<Effects> = phases.into_iter().filter_map(Effects::together).collect();
        for (n, work) in (1..).zip(&work) {
            let read = |copy: &&TensorId| phases[n..].iter().any(|later| later.read.contains(copy));
            if let Some(tensor) = work.copied().iter().find(read) {
                return Err(NoPhases::Tensor(program.tensors[tensor.index()].name.clone()));
            }
        }
        let programs: Vec<Program> = match several {
            false => vec![program.clone()],
            true => phases.iter().map(|phase| program.only(&phase.step)).collect(),
        };
        let parts = work.iter().flat_map(Work::steps);
        if let Some(register) = programs.iter().skip(1).chain(parts).find_map(Program::unset) {
            return Err(NoPhases::Register(program.registers[register.index()].name.clone()));
        }
        let looked_up = steps.named(&rows.looked_up).collect();
        Ok(Phased { ways, programs, work, looked_up, sizes: rows.sizes_of(program) })
    }

    /// Returns true if there is something to divide in each of its ways.
    pub(super) fn has_all(&self) -> bool {
        let any = |of: fn(&Work) -> bool| self.work.iter().any(of);
        (!self.ways.products || any(|work| matches!(work, Work::Products { .. })))
            && (!self.ways.tables || any(|work| matches!(work, Work::Tables { .. })))
    }

    /// Returns the barriers between phases.
    pub(super) fn barriers(&self) -> usize {
        self.programs.len().saturating_sub(1)
    }

    /// Returns the phases on cores that have parts of the rows each, and the rest to take.
    pub(super) fn divided<'a>(
        &'a self,
        division: &Division,
        rows: &Rows,
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
                Work::Tables { lookups, copied, .. } => {
                    let copied = copied.clone();
                    Division { sizes, looked_up, copied, ..lookups::divide(lookups, rows, cores) }
                }
            }
        };
        let phase = |(program, work): (&'a Program, &'a Work)| {
            let (tensors, sizes) = (std::mem::take(&mut tensors), sizes.clone());
            Phase { program, steps: work.steps(), sizes, tensors, division: divide(work) }
        };
        self.programs.iter().zip(&self.work).map(phase).collect()
    }
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
