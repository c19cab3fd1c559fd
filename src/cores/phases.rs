//! The phases of a program on several cores: the steps that each core runs on its rows without waiting for the others.
//!
//! A step that looks up rows of what is computed needs the rows of other cores. It begins a phase, behind a barrier, if the
//! phase before it computes them, or still looks up what it computes itself. Nothing else needs a barrier: a core's own rows
//! follow from its own rows.

use super::rows::Rows;
use ember_sim::{Division, Phase};
use ember_targets::Step;
use ember_targets::dlc::{Program, SizeId, TensorId};
use ember_targets::verify::Footprint;
use std::collections::BTreeSet;
use thiserror::Error;

/// A program as phases.
#[derive(Clone, Debug)]
pub(super) struct Phased {
    /// The program of each phase.
    pub(super) programs: Vec<Program>,
    /// For each phase, the tensors of which each part has a copy; `None` if it computes nothing with rows, which one core
    /// does for all.
    copied: Vec<Option<Vec<TensorId>>>,
    /// The tensors of which rows are looked up.
    looked_up: Vec<TensorId>,
    /// The sizes that count rows.
    sizes: Vec<(SizeId, u64)>,
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
}

impl Effects {
    fn of(program: &Program, step: Step) -> Effects {
        let footprint = Footprint::of(&program.only(&step));
        Effects { read: footprint.read().collect(), written: footprint.written().collect(), step }
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
        let (programs, copied) = (vec![program.clone()], vec![Some(Vec::new())]);
        Phased { programs, copied, looked_up: Vec::new(), sizes: rows.sizes_of(program) }
    }

    /// Divides a program whose rows are known into phases.
    pub(super) fn of(program: &Program, rows: &Rows) -> Result<Phased, NoPhases> {
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
            meets(&next.read, &last.written)
                || meets(&next.written, &last.read)
                || (both && alone(last) != alone(next))
        };
        let steps = program.steps().into_iter();
        let mut phases: Vec<Vec<Effects>> = Vec::new();
        for step in steps.map(|step| Effects::of(program, step)) {
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
        let copies = |phase: &Effects| {
            let copies: Vec<TensorId> =
                phase.written.iter().filter(|id| !has_rows(id)).copied().collect();
            let alone = copies.len() == phase.written.len() && phases.len() > 1;
            (!alone).then_some(copies)
        };
        let copied: Vec<Option<Vec<TensorId>>> = phases.iter().map(copies).collect();
        for (n, tensor) in
            copied.iter().enumerate().flat_map(|(n, all)| all.iter().flatten().map(move |t| (n, t)))
        {
            if phases[n + 1..].iter().any(|later| later.read.contains(tensor)) {
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
        Ok(Phased { programs, copied, looked_up, sizes: rows.sizes_of(program) })
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
        let divide = |copied: &Option<Vec<TensorId>>| {
            let (sizes, looked_up) = (self.sizes.clone(), self.looked_up.clone());
            match copied {
                Some(copied) => {
                    Division { sizes, looked_up, copied: copied.clone(), ..division.clone() }
                }
                None => Division::undivided(division.own.len()),
            }
        };
        let mut divisions: Vec<Division> = self.copied.iter().map(divide).collect();
        divisions.resize_with(self.programs.len(), || divide(&Some(Vec::new())));
        let phase = |(program, division)| {
            let tensors = std::mem::take(&mut tensors);
            Phase { program, sizes: sizes.clone(), tensors, division }
        };
        self.programs.iter().zip(divisions).map(phase).collect()
    }
}
