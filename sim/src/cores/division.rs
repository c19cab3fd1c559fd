//! The division of a program's rows among cores, and the programs that cores run one after the other.

use crate::Bindings;
use crate::error::SimError;
use ember_targets::dlc::{Dim, Program, SizeId, TensorId};
use ember_targets::tensor::Tensor;
use std::ops::Range;

/// The most cores of a run, and the most parts.
const MOST: usize = 1 << 16;

/// The division of a program's rows into parts, and of the parts among cores.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Division {
    /// The sizes that count rows: each is the number of rows and so many more. Indices of tensors whose first extent is one of
    /// them count from the first row of a part.
    pub sizes: Vec<(SizeId, u64)>,
    /// Tensors among all of whose rows a part looks some up: only the variables of loops over its own rows, and products of
    /// whole matrices, count from its first row there.
    pub looked_up: Vec<TensorId>,
    /// Tensors that are written and of which each part has a copy: scratch that all rows use in turn.
    pub copied: Vec<TensorId>,
    /// The rows of each part.
    pub parts: Vec<Range<u64>>,
    /// The step that each part runs, among those of a [`Phase`]; empty if every part runs the whole program.
    pub steps: Vec<usize>,
    /// The columns of each part; empty if every part has all columns. Products of matrices compute these columns alone.
    pub columns: Vec<Range<u64>>,
    /// Tensors whose last indices count from the first of them.
    pub sliced: Vec<TensorId>,
    /// For each core, the parts that it runs, in order.
    pub own: Vec<Vec<usize>>,
    /// Parts that cores take after their own, in order, each by the core that is free first. Taking one costs an access
    /// of the last-level cache.
    pub shared: Vec<usize>,
}

/// A program that cores run before the next, and the division of its rows.
#[derive(Clone, Debug)]
pub struct Phase<'a> {
    /// The program.
    pub program: &'a Program,
    /// Its steps, if parts run one each: programs with the same tensors.
    pub steps: &'a [Program],
    /// Its sizes, in its order.
    pub sizes: Vec<i64>,
    /// The data of those of its tensors that no program before has, in its order. Tensors of one name are the same.
    pub tensors: Vec<Tensor>,
    /// The division among the cores, as many as in the other phases.
    pub division: Division,
}

impl<'a> Phase<'a> {
    /// Returns the only phase of a program.
    pub fn only(program: &'a Program, data: Bindings, division: Division) -> Phase<'a> {
        let Bindings { tensors, sizes } = data;
        Phase { program, steps: &[], sizes, tensors, division }
    }

    /// Returns the program that a part runs.
    pub(super) fn program_of(&self, part: usize) -> &'a Program {
        match self.division.steps.get(part) {
            Some(step) => &self.steps[*step],
            None => self.program,
        }
    }

    /// Checks that it can be run.
    pub(super) fn check(&self) -> Result<(), SimError> {
        let Phase { program, steps, sizes, division, .. } = self;
        division.check(program, sizes)?;
        let same = |step: &Program| {
            step.tensors.len() == program.tensors.len() && step.sizes == program.sizes
        };
        let known = division.steps.iter().all(|step| *step < steps.len());
        let each = division.steps.is_empty() || division.steps.len() == division.parts.len();
        match known && each && steps.iter().all(same) {
            true => Ok(()),
            false => Err(SimError::Binding {
                message: "a part runs a step that the program does not have".to_owned(),
            }),
        }
    }
}

impl Division {
    /// Returns the division of everything to the first of some cores.
    pub fn undivided(cores: usize) -> Division {
        let parts = std::iter::once(0..0).collect();
        let own = (0..cores).map(|core| if core == 0 { vec![0] } else { vec![] }).collect();
        let (sizes, looked_up, copied, shared) = (vec![], vec![], vec![], vec![]);
        let (steps, columns, sliced) = (vec![], vec![], vec![]);
        Division { sizes, looked_up, copied, parts, steps, columns, sliced, own, shared }
    }

    /// Returns what a size has more than the rows, if it counts them.
    pub(crate) fn counts(&self, size: SizeId) -> Option<u64> {
        self.sizes.iter().find(|(own, _)| *own == size).map(|(_, more)| *more)
    }

    /// Returns the values of a program's sizes if it has some rows.
    pub(super) fn sizes_of(&self, sizes: &[i64], rows: &Range<u64>) -> Vec<i64> {
        let mut sizes = sizes.to_vec();
        for (size, more) in &self.sizes {
            sizes[size.index()] = (rows.end - rows.start + more) as i64;
        }
        sizes
    }

    /// Checks that it is a division of a program's rows.
    pub(super) fn check(&self, program: &Program, sizes: &[i64]) -> Result<(), SimError> {
        let (cores, parts) = (self.own.len(), self.parts.len());
        if !(1..=MOST).contains(&cores) || !(1..=MOST).contains(&parts) {
            let message = format!("{parts} parts on {cores} cores; 1 to {MOST} are possible");
            return Err(SimError::limit(message));
        }
        let wrong = |message: &str| Err(SimError::Binding { message: message.to_owned() });
        let mut known = self.own.iter().flatten().chain(&self.shared);
        if known.any(|part| *part >= parts) {
            return wrong("a core has a part that there is not");
        }
        if program.sizes.len() != sizes.len() && !self.sizes.is_empty() {
            return wrong("the program has other sizes than the data");
        }
        let rows = |size: &SizeId| sizes.get(size.index()).copied().unwrap_or(-1);
        for (size, more) in &self.sizes {
            let fits = |rows_of: &Range<u64>| {
                let last = i64::try_from(rows_of.end.saturating_add(*more)).unwrap_or(i64::MAX);
                rows_of.start <= rows_of.end && last <= rows(size)
            };
            if !self.parts.iter().all(fits) {
                return wrong("a part has rows that there are not");
            }
        }
        let counts = |dim: &Dim| self.sizes.iter().any(|(size, _)| *dim == Dim::Size(*size));
        match program.tensors.iter().find(|tensor| tensor.shape.iter().skip(1).any(counts)) {
            Some(tensor) => {
                wrong(&format!("`{}` has rows in another extent than its first", tensor.name))
            }
            None => Ok(()),
        }
    }
}
