//! The compiler's interface for other Rust programs: S-expression values in, S-expression values out. Every function
//! calls the stages, which are in other crates.

use crate::shipped::{self, Shipped};
use crate::single;
use ember_certify::Rules;
use ember_compile::pipeline::{self, Case, Inputs, Options};
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::print_term::print_term;
use ember_language::{sexp, symbolic};
use ember_prove::equiv;
use ember_sim::CoreKind;
use ember_targets::print::print;
use ember_tools::progress::Line;
use ember_tools::render::render;
use ember_tools::tuning::Tuning;
use std::fmt;
use std::path::{Path, PathBuf};
use symbolic_expressions::Sexp;

/// The names of values in messages.
const MODEL: &str = "<model>";
const PROGRAM: &str = "<program>";
const SIDES: [&str; 2] = ["<first>", "<second>"];

/// The rules and the machine that models are compiled with.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// The texts of the rules and of the machine, read from the disk once.
    sources: Sources,
    options: Options,
}

/// The program of a model at two levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Compiled {
    /// The term found by the search: statements of both units, in SLC.
    pub term: Sexp,
    /// The decoupled program, in DLC, accepted by the verifier.
    pub program: Sexp,
}

/// A simulated run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Cycles from the start to the last result; `None` if the run did not end.
    pub cycles: Option<u64>,
    /// Energy in joules.
    pub energy_j: f64,
    /// The reason why the outputs differ from the reference's; `None` if they agree.
    pub mismatch: Option<String>,
}

/// The answer of an equivalence check.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The two are equal; the independent checker accepts this certificate.
    Equal(Sexp),
    /// The two differ on the data in these forms.
    Different(Vec<Sexp>),
    /// Neither a proof nor a difference was found, for this reason.
    Unknown(String),
}

/// The errors of an input, each with its position in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Each error in one line.
    pub messages: Vec<String>,
    shown: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl std::error::Error for Error {}

impl Error {
    pub(crate) fn new(sources: &Sources, errors: &[Diagnostic]) -> Error {
        let messages = errors.iter().map(|error| error.message.clone()).collect();
        Error { messages, shown: render(sources, errors, false) }
    }
}

/// Reads one expression: a model, a program or a term.
///
/// # Errors
///
/// Fails if the text is not balanced, nests too deep, or is not one expression.
pub fn read(text: &str) -> Result<Sexp, Error> {
    with(&Sources::default(), |sources| one("<text>", text, sources))
}

impl Compiler {
    /// Reads rules, from files or folders, and a machine, by its name or from a file. The path `default` stands
    /// for the rules that come with this crate.
    ///
    /// # Errors
    ///
    /// Fails if the rules are not well-formed, or no machine has this name.
    pub fn new<P: Into<PathBuf>>(
        rules: impl IntoIterator<Item = P>,
        machine: &str,
    ) -> Result<Compiler, Error> {
        let rules = rules.into_iter().map(P::into).map(shipped::resolved).collect();
        let options = Options { rules, target: machine.to_owned(), ..Options::default() };
        let mut sources = Sources::new(Shipped::default());
        let read = ember_language::rules::load(&mut sources, &options.rules)
            .and_then(|_| ember_compile::machines::load(&mut sources, machine));
        match read {
            Ok(_) => Ok(Compiler { sources, options }),
            Err(errors) => Err(Error::new(&sources, &errors)),
        }
    }

    /// Selects another schedule of the rules instead of `search`.
    pub fn with_schedule(mut self, name: &str) -> Compiler {
        name.clone_into(&mut self.options.schedule);
        self
    }

    /// Compiles a model to the program that runs fastest in the simulator on the model's data, of those that the rules
    /// produce.
    ///
    /// # Errors
    ///
    /// Fails if the model is not well-formed, or the schedule produces no program.
    pub fn compile(&self, model: &Sexp) -> Result<Compiled, Error> {
        with(&self.sources, |sources| {
            let inputs = self.inputs(sources, model)?;
            let case = Case::new(&inputs.model, self.options.seed, self.options.exact)?;
            let schedule = inputs.book.require_schedule(&self.options.schedule)?;
            let tuning = Tuning::new(&inputs, &case, &self.options);
            let attempt = tuning.best_of(schedule, &Line::hidden())?;
            let chosen = attempt.program(&inputs, schedule)?;
            Ok(Compiled {
                term: one("<term>", &print_term(&chosen.term), sources)?,
                program: one(PROGRAM, &print(chosen.program.program()), sources)?,
            })
        })
    }

    /// Runs a program of any level on a model's data and compares its outputs with the reference's.
    ///
    /// # Errors
    ///
    /// Fails if the program or the model is not well-formed, or they do not fit each other.
    pub fn simulate(&self, program: &Sexp, model: &Sexp) -> Result<Run, Error> {
        with(&self.sources, |sources| {
            let inputs = self.inputs(sources, model)?;
            put(sources, PROGRAM, program)?;
            let program = single::read_program(sources, Path::new(PROGRAM), &inputs)?;
            let core = CoreKind::OutOfOrder;
            let record = single::run(
                (&inputs.model, &inputs.machine),
                &self.options,
                &program,
                core,
                false,
            )?
            .record;
            Ok(Run { cycles: record.cycles, energy_j: record.energy_j, mismatch: record.mismatch })
        })
    }

    /// Proves that two models or programs compute the same on all data, or finds data on which they differ.
    ///
    /// # Errors
    ///
    /// Fails if one of them is not well-formed, or they declare different tensors.
    pub fn prove(&self, first: &Sexp, second: &Sexp) -> Result<Verdict, Error> {
        with(&self.sources, |sources| {
            let paths = equiv::rule_paths(sources.files().as_ref(), &self.options.rules);
            let book = equiv::load_rules(sources, &self.options.rules)?;
            let rules = Rules::read(sources, &paths)?;
            let machine = ember_compile::machines::load(sources, &self.options.target)?;
            for (name, side) in SIDES.into_iter().zip([first, second]) {
                put(sources, name, side)?;
            }
            let sides = SIDES.map(PathBuf::from);
            let sides = equiv::read(sources, &book, &machine, &sides, None)?;
            let compiled = ember_engine::compile(&book);
            let options = equiv::Options::default();
            let answer = equiv::compare(&sides, &book, &compiled, &rules, &machine, &options)?;
            Ok(match answer.verdict {
                equiv::Verdict::Equal(Ok(proof)) => {
                    Verdict::Equal(one("<certificate>", &proof.text(), sources)?)
                }
                equiv::Verdict::Equal(Err(reason)) => Verdict::Unknown(reason.to_string()),
                equiv::Verdict::Different(found) => {
                    let text = equiv::counterexample(sources, &book.signature, &sides, &found);
                    Verdict::Different(all("<counterexample>", &text, sources)?)
                }
                equiv::Verdict::Unknown(unknown) => Verdict::Unknown(unknown.reason()),
            })
        })
    }

    fn inputs(&self, sources: &mut Sources, model: &Sexp) -> Checked<Inputs> {
        put(sources, MODEL, model)?;
        pipeline::read(sources, Path::new(MODEL), &self.options)
    }
}

/// Runs `work` on a copy of the sources, so that calls do not see each other's texts. Errors are shown with their text.
fn with<T>(sources: &Sources, work: impl FnOnce(&mut Sources) -> Checked<T>) -> Result<T, Error> {
    let mut sources = sources.clone();
    work(&mut sources).map_err(|errors| Error::new(&sources, &errors))
}

/// Adds the text of a value to the sources, under a name.
fn put(sources: &mut Sources, name: &str, value: &Sexp) -> Checked<()> {
    sources.add(name, symbolic::text(value).map_err(|error| vec![error])?);
    Ok(())
}

/// Returns the expressions of a text.
fn all(name: &str, text: &str, sources: &mut Sources) -> Checked<Vec<Sexp>> {
    let file = sources.add(name, text);
    Ok(sexp::read(sources, file)?.iter().map(symbolic::value).collect())
}

/// Returns the one expression of a text.
fn one(name: &str, text: &str, sources: &mut Sources) -> Checked<Sexp> {
    let mut found = all(name, text, sources)?;
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        _ => Err(vec![Diagnostic::global(format!("{name}: one expression is needed"))]),
    }
}
