//! Prints the best program of a model at a level.
//!
//! The rules of some phases lead to a level: `lower` turns tensors into sequential loops, `optimise` turns loops into
//! lanes, and `decouple` and `refine` divide a program between the units. SCF is the best sequential program of a
//! schedule. SLC is the best divided program without the phase `optimise`, so that all its values are scalars. SLCV is
//! the best program of all, from which the DLC program is lowered.

use crate::progress::Line;
use crate::tuning::Tuning;
use ember_compile::cost::Goal;
use ember_compile::groups::Chosen;
use ember_compile::native;
use ember_compile::pipeline::{Case, Inputs, Options, compile_by, goal};
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_language::rules::{Phase, RuleBook, Schedule};
use ember_language::text;
use ember_prove::equiv::{self, Declarations};
use ember_targets::print::print;

/// A level of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Sequential loops.
    Scf,
    /// Scalar code of both units.
    Slc,
    /// Code of both units with lanes.
    Slcv,
    /// The two halves.
    Dlc,
    /// Sequential loops as MLIR text.
    Mlir,
    /// The two halves, in the dialects of Ember's artifact.
    MlirDlc,
    /// Scalar code of both units, in the dialects of Ember's artifact.
    MlirSlc,
    /// Code of both units with lanes, in the dialects of Ember's artifact.
    MlirSlcv,
    /// A program for one core in C.
    C,
    /// The header of that program.
    Header,
}

/// Returns the text of the best program at a level.
pub fn program(inputs: &Inputs, options: &Options, level: Level) -> Checked<String> {
    written(inputs, options, level, &chosen(inputs, options, level)?)
}

/// Returns the best program at a level.
pub fn chosen(inputs: &Inputs, options: &Options, level: Level) -> Checked<Chosen> {
    let schedule = inputs.schedule(&options.schedule)?;
    let sequential = matches!(level, Level::Scf | Level::Mlir | Level::C | Level::Header);
    if !sequential && level != Level::Dlc {
        divides(&inputs.book, schedule)?;
    }
    let goal = if sequential { Goal::Coupled } else { Goal::Decoupled };
    match level {
        Level::Dlc | Level::MlirDlc if options.rank => {
            let (case, _) = Case::to_rank(&inputs.model, options)?;
            let tuning = Tuning::new(inputs, &case, options);
            let attempt = tuning.best_of(schedule, &Line::hidden())?;
            attempt.program(inputs, schedule).cloned()
        }
        Level::Slc | Level::MlirSlc => {
            let scalar = of_phases(inputs, schedule, |phase| phase != Phase::Optimise);
            best(inputs, options, &scalar, goal)
        }
        // The simulator's choice would be for another core.
        Level::C | Level::Header => compile_by(inputs, options, schedule, goal),
        Level::Scf | Level::Mlir | Level::Slcv | Level::Dlc | Level::MlirDlc | Level::MlirSlcv => {
            best(inputs, options, schedule, goal)
        }
    }
}

/// Returns the text of a program at a level, which was chosen at this level or at one of the same program.
pub fn written(
    inputs: &Inputs,
    options: &Options,
    level: Level,
    chosen: &Chosen,
) -> Checked<String> {
    Ok(match level {
        Level::Dlc => print(chosen.program.program()),
        Level::C => native::source(inputs, &chosen.program, options)?.text,
        Level::Header => native::source(inputs, &chosen.program, options)?.header,
        Level::MlirSlc | Level::MlirSlcv => {
            let declarations = Declarations::of_model(&inputs.model);
            equiv::slc_text(&inputs.model.name, &declarations, &chosen.term)
                .map_err(|why| unprinted(&why))?
        }
        Level::MlirDlc => {
            equiv::dlc_text(chosen.program.program()).map_err(|why| unprinted(&why))?
        }
        Level::Scf | Level::Slc | Level::Slcv => text::program(&chosen.term, &inputs.words()),
        Level::Mlir => {
            let declarations = Declarations::of_model(&inputs.model);
            equiv::mlir_text(&inputs.model.name, &declarations, &chosen.term)
                .map_err(|why| vec![Diagnostic::global(why.to_string())])?
        }
    })
}

/// Returns the error for a program without a text in MLIR.
pub(crate) fn unprinted(why: &impl ToString) -> Vec<Diagnostic> {
    let error = Diagnostic::global(why.to_string());
    let help = "`--emit mlir-dlc` prints every program that is divided between the units, and `--emit mlir` its loops";
    vec![error.with_help(help)]
}

/// Returns the best programs before and after a phase, as two programs that `equiv` reads.
pub fn around(inputs: &Inputs, options: &Options, phase: Phase) -> Checked<String> {
    let earlier = Phase::ALL.iter().filter(|earlier| **earlier < phase).max();
    let before = match earlier {
        Some(earlier) => after(inputs, options, *earlier)?,
        None => {
            let statements = inputs
                .book
                .definitions
                .expand(&inputs.model.root_term(inputs.book.signature.table()));
            text::program(&statements, &inputs.words())
        }
    };
    let after = after(inputs, options, phase)?;
    Ok(format!("; before {phase}\n{before}\n; after {phase}\n{after}"))
}

/// Returns the best program that the rules of a phase and of the earlier phases make.
fn after(inputs: &Inputs, options: &Options, last: Phase) -> Checked<String> {
    let schedule = inputs.schedule(&options.schedule)?;
    let schedule = of_phases(inputs, schedule, |phase| phase <= last);
    let goal = if last < Phase::Decouple { Goal::Coupled } else { Goal::Decoupled };
    Ok(text::program(&best(inputs, options, &schedule, goal)?.term, &inputs.words()))
}

/// Checks that a schedule divides programs between the units.
pub(crate) fn divides(book: &RuleBook, schedule: &Schedule) -> Checked<()> {
    if goal(book, schedule) == Goal::Decoupled {
        return Ok(());
    }
    let name = schedule.name;
    let error = Diagnostic::global(format!("schedule `{name}` makes programs of one processor"));
    let help = "give `--emit` scf, mlir, dlc or c, or a `--schedule` that divides programs between the units, such as \
                `search`";
    Err(vec![error.with_help(help)])
}

/// Returns a schedule restricted to the rules of some phases.
fn of_phases(inputs: &Inputs, schedule: &Schedule, keep: impl Fn(Phase) -> bool) -> Schedule {
    schedule.only(|rule| keep(inputs.book.rules[rule].phase))
}

/// Returns the best program of a kind that a schedule finds itself.
fn best(inputs: &Inputs, options: &Options, schedule: &Schedule, goal: Goal) -> Checked<Chosen> {
    if !options.rank {
        return compile_by(inputs, options, schedule, goal);
    }
    let (case, _) = Case::to_rank(&inputs.model, options)?;
    let tuning = Tuning::new(inputs, &case, options);
    let attempt = tuning.own(schedule, goal, &Line::hidden())?;
    attempt.program(inputs, schedule).cloned()
}
