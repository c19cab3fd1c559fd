//! The plans of a run: each split of some cores with each program that it may have.

use super::columns::Columns;
use super::cut::{Cut, even};
use super::phases::{NoPhases, Phased, Ways};
use super::{Candidate, Programs, Split};
use ember_compile::pipeline::{Case, Inputs};
use ember_compile::rows::Rows;
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_language::rules::Exactness;
use ember_model::data::Instance;
use ember_sim::Division;
use itertools::Itertools;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A program with its phases.
pub(super) struct Own<'a> {
    /// Its number among all.
    number: usize,
    pub(super) candidate: &'a Candidate,
    phases: Phased,
    /// Its phases if columns of products are divided, or lookups of tables, or both, if it has some.
    others: Vec<Phased>,
}

impl Own<'_> {
    /// Returns its phases if tables are divided, or else columns of products alone.
    fn others(&self, tables: bool) -> impl Iterator<Item = &Phased> {
        self.others.iter().filter(move |phases| phases.ways.tables == tables)
    }
}

/// The programs of a run.
pub(super) struct Owned<'a> {
    /// The first as a whole, for one core.
    alone: Own<'a>,
    /// The programs for all columns.
    all: Vec<Own<'a>>,
    /// The programs for slices of columns.
    slices: BTreeMap<u64, Own<'a>>,
}

impl Owned<'_> {
    /// Returns true if a program divides lookups of tables, or columns of products alone.
    fn have_others(&self, tables: bool) -> bool {
        self.all.iter().any(|own| own.others(tables).next().is_some())
    }
}

/// A split of some cores with a program.
pub(super) struct Plan<'a> {
    pub(super) cores: u64,
    pub(super) split: Split,
    pub(super) own: &'a Own<'a>,
    pub(super) phases: &'a Phased,
    pub(super) division: Division,
    /// The rows that are cut, if some are.
    pub(super) cut: Option<Arc<Cut>>,
    /// The cycles to expect, if another run says so.
    pub(super) expected: Option<u64>,
}

/// The key of a plan's run, by which runs are told apart: the number of the program, the borders between cores if rows are cut
/// there, what is divided beside rows, and the division.
pub(super) type Key = (usize, Option<Vec<u64>>, Ways, Division);

impl Plan<'_> {
    /// Returns what distinguishes its run from others.
    pub(super) fn key(&self) -> Key {
        let cut = self.cut.as_ref().map(|cut| cut.borders.clone());
        (self.own.number, cut, self.phases.ways, self.division.clone())
    }

    /// Returns the barriers of its run.
    pub(super) fn barriers(&self) -> usize {
        self.phases.barriers() + usize::from(self.cut.is_some())
    }
}

/// The ways in which several cores may compute a row of a model.
pub(super) struct Pieces {
    columns: Option<Columns>,
    cut: bool,
}

impl Pieces {
    pub(super) fn of(inputs: &Inputs, rows: &Rows, exact: Exactness) -> Pieces {
        let columns = Columns::of(&inputs.model, &inputs.machine);
        Pieces { columns, cut: Cut::fits(&inputs.model, rows, exact) }
    }

    /// Returns true if there is a way.
    pub(super) fn any(&self) -> bool {
        self.columns.is_some() || self.cut
    }

    /// Returns the rows cut for each number of cores; an error if nothing else is asked for and cannot be had.
    pub(super) fn cuts(
        &self,
        inputs: &Inputs,
        case: &Case,
        rows: &Rows,
        owned: &Owned<'_>,
        (cores, splits): (&[u64], &[Split]),
    ) -> Checked<BTreeMap<u64, Arc<Cut>>> {
        let borders = splits.iter().filter(|split| split.has_borders()).count();
        let (message, help) = match splits {
            [Split::Cut] if !self.cut => (
                "rows of this model are not cut",
                "a row may be cut if the model is one sum over the lookups of each row, in f32, and `--exact` allows \
                 other roundings: `reassoc` or `approx`",
            ),
            [Split::Columns] if self.columns.is_none() && !owned.have_others(false) => (
                "columns of this model are not divided",
                "columns may be divided if the model combines looked-up rows of one stored table, or its program \
                 multiplies matrices, and they are a fixed number that takes at least two lines of memory",
            ),
            [Split::Tables] if !owned.have_others(true) => (
                "tables of this model are not divided",
                "tables may be divided if the program looks up rows of several stored tables, one lookup after the other, \
                 and no lookup needs another",
            ),
            _ if splits.contains(&Split::Balanced) && borders == 1 => (
                "there are no borders between cores to move",
                "`balanced` moves those of the fastest of `contiguous`, `non-zeros` and `cut`: ask for one of these, too",
            ),
            _ => ("", ""),
        };
        if !message.is_empty() {
            return Err(vec![Diagnostic::global(message).with_help(help)]);
        }
        if !self.cut || !splits.contains(&Split::Cut) {
            return Ok(BTreeMap::new());
        }
        let several = cores.iter().filter(|cores| **cores > 1);
        let cut = |cores: &u64| {
            let cut = Cut::of(&inputs.model, rows, case, &even(rows, *cores))?;
            Some((*cores, Arc::new(cut)))
        };
        Ok(several.filter_map(cut).collect())
    }
}

/// Returns programs with their phases, without those that cannot be divided; an error if there are no others.
pub(super) fn owned<'a>(
    programs: &'a Programs,
    (rows, instance): (&Rows, &Instance),
    line_bytes: u64,
) -> Checked<Owned<'a>> {
    let Programs { candidates, slices, .. } = programs;
    let [first, ..] = &candidates[..] else {
        return Err(vec![Diagnostic::global("there is no program to run")]);
    };
    let whole = Phased::whole(&first.program, rows);
    let alone = Own { number: 0, candidate: first, phases: whole, others: Vec::new() };
    let own = |(number, candidate): (usize, &'a Candidate)| {
        let phases = |ways| Phased::of(&candidate.program, (rows, instance), line_bytes, ways);
        let others = [(true, false), (false, true), (true, true)].into_iter();
        let others = others.filter_map(|(products, tables)| phases(Ways { products, tables }).ok());
        let others = others.filter(Phased::has_all).collect();
        Ok(Own { number, candidate, phases: phases(Ways::default())?, others })
    };
    let (all, not): (Vec<_>, Vec<NoPhases>) =
        candidates.iter().enumerate().map(own).partition_result();
    if let (true, Some(why)) = (all.is_empty(), not.first()) {
        let message = format!("the program cannot be divided among cores: {why}");
        return Err(vec![Diagnostic::global(message)]);
    }
    let numbered = slices.iter().zip(candidates.len()..);
    let slices = numbered.filter_map(|((slices, candidate), number)| {
        Some((*slices, own((number, candidate)).ok()?))
    });
    Ok(Owned { alone, all, slices: slices.collect() })
}

/// Returns the plans of some cores, but those that follow from runs of others.
pub(super) fn plans<'a>(
    inputs: &Inputs,
    rows: &Rows,
    (owned, cuts, pieces): (&'a Owned<'a>, &BTreeMap<u64, Arc<Cut>>, &Pieces),
    (cores, splits): (u64, &[Split]),
) -> Vec<Plan<'a>> {
    let plan = |split: Split, own: &'a Own<'a>, division: Division| Plan {
        cores,
        split,
        own,
        phases: &own.phases,
        division,
        cut: None,
        expected: None,
    };
    if cores == 1 {
        let split = Split::Contiguous;
        return vec![plan(split, &owned.alone, split.divide(rows, cores))];
    }
    let with_all = |split: Split| match split {
        Split::Cut => cuts.get(&cores).map(|cut| (split, cut.division.clone(), Some(cut.clone()))),
        _ => Some((split, split.divide(rows, cores), None)),
    };
    let sliced = |columns: &Columns, slices: u64| {
        let own = owned.slices.get(&slices)?;
        let program = &own.candidate.program;
        let division = columns.divide(&inputs.model, rows, program, (cores, slices));
        Some(plan(Split::Columns, own, division))
    };
    let columns = |columns| Columns::slices(columns, cores).filter_map(|n| sliced(columns, n));
    let others = |split: Split| {
        let each = owned.all.iter().flat_map(move |own| {
            own.others(split == Split::Tables).map(move |phases| (own, phases))
        });
        each.map(move |(own, phases)| Plan {
            phases,
            ..plan(split, own, split.divide(rows, cores))
        })
    };
    let of = |split: &Split| match split {
        Split::Columns => {
            let sliced = pieces.columns.iter().flat_map(columns);
            sliced.chain(others(Split::Columns)).collect_vec()
        }
        Split::Tables => others(Split::Tables).collect(),
        Split::Balanced => Vec::new(),
        _ => with_all(*split)
            .into_iter()
            .cartesian_product(&owned.all)
            .map(|((split, division, cut), own)| Plan { cut, ..plan(split, own, division) })
            .collect(),
    };
    splits.iter().flat_map(of).collect()
}
