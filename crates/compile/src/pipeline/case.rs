//! The data of one seed with the results of the reference, and the runs of programs on it.

use super::sample::{Estimate, NoSample, Sample};
use super::{Inputs, NoProgram, Options};
use crate::ranking::{Ended, Measure, Ranking};
use crate::workload::Statistics;
use ember_interpret::Store;
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_language::rules::Exactness;
use ember_model::Model;
use ember_model::data::Instance;
use ember_model::reference::{Mismatch, compare, error_bounds, evaluate};
use ember_sim::{Bindings, CoreKind, Outcome, SimError, Values};
use ember_targets::dlc::{Program, Purpose, TensorDecl};
use ember_targets::machine::Machine;
use ember_targets::print::print;
use ember_targets::tensor::Tensor;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The cycles up to which a program is short: which of its few lookups wait for each other differs from seed to seed, and
/// so does the fastest program.
const SHORT: u64 = 20_000;

/// The distance of further seeds from the first, so that they are not those that users write.
const APART: u64 = 0x9E37_79B9_7F4A_7C15;

/// The number of further seeds. The ratio of two programs' cycles for a bag of 4,000 cycles has a standard deviation of 4 %
/// from seed to seed, which sixteen seeds bring down to 1 %.
const FURTHER: u64 = 15;

/// The data of one seed, with the results of the reference.
pub struct Case {
    /// The tensors and sizes.
    pub instance: Instance,
    /// The tensors and sizes for the interpreter of terms.
    pub store: Store,
    /// The tensors that the model computes, by name.
    pub expected: BTreeMap<String, Tensor>,
    /// The names of the outputs among the computed tensors.
    outputs: Vec<String>,
    /// True if rules alone say what some output is.
    unreferenced: bool,
    /// The error bounds of their elements, if programs need not be exact.
    errors: BTreeMap<String, Vec<f64>>,
    /// The measures of programs that were ranked on this data.
    ranking: Ranking,
    /// The most cycles of a run.
    pub(super) cycle_limit: u64,
    /// The data of further seeds, on which short programs are ranked too.
    further: Option<Further>,
    /// The windows of rows on which programs are ranked in place of all rows.
    sample: Option<Sample>,
}

/// The data of further seeds, generated when the first short program is ranked.
struct Further {
    model: Model,
    cases: OnceLock<Vec<Case>>,
}

impl Further {
    fn cases(&self, seed: u64) -> &[Case] {
        self.cases.get_or_init(|| {
            let seeds = (1..=FURTHER).map(|k| seed.wrapping_add(k.wrapping_mul(APART)));
            // Nothing is compared with the reference there, so that it needs no error bounds.
            let case = |seed| Case::new(&self.model, Some(seed), Exactness::Bitwise);
            seeds.flat_map(case).collect()
        })
    }
}

impl Case {
    /// Generates the data of a seed, checks it, and evaluates the model on it.
    pub fn new(model: &Model, seed: Option<u64>, exact: Exactness) -> Checked<Case> {
        let instance = model.instantiate(seed)?;
        let fail = || vec![Diagnostic::global("the model's data does not fit its operation")];
        let expected = evaluate(model, &instance).ok_or_else(fail)?;
        let errors = match exact {
            Exactness::Bitwise => BTreeMap::new(),
            Exactness::Reassoc | Exactness::Approx => {
                error_bounds(model, &instance).ok_or_else(fail)?
            }
        };
        let store = store(&instance);
        let outputs: Vec<String> = model.outputs().map(|out| out.name.clone()).collect();
        let unreferenced = model.unreferenced();
        let unreferenced =
            unreferenced.iter().any(|tensor| outputs.contains(&model.tensor(*tensor).name));
        Ok(Case {
            instance,
            store,
            expected,
            outputs,
            unreferenced,
            errors,
            ranking: Ranking::default(),
            cycle_limit: ember_sim::CYCLES,
            further: None,
            sample: None,
        })
    }

    /// Returns the data on which candidates are ranked, and the reason if it is not sampled though it should be.
    pub fn to_rank(model: &Model, options: &Options) -> Checked<(Case, Option<NoSample>)> {
        let case = Case::new(model, options.tune_seed.or(options.seed), options.exact)?;
        let case = case.with_cycle_limit(options.cycle_limit);
        let case = match options.tunes_apart(model) {
            true => case.with_further_seeds(model),
            false => case,
        };
        let Some(error) = options.sample else { return Ok((case, None)) };
        match Sample::of(model, &case.instance, error) {
            Ok(sample) => Ok((Case { sample: Some(sample), ..case }, None)),
            Err(why) => Ok((case, Some(why))),
        }
    }

    /// Sets the most cycles that a program may run.
    pub fn with_cycle_limit(self, cycle_limit: u64) -> Case {
        Case { cycle_limit, ..self }
    }

    /// Ranks short programs by their mean time on this data and on that of further seeds, for programs that are judged on
    /// other data than this.
    pub fn with_further_seeds(self, model: &Model) -> Case {
        let further = Some(Further { model: model.clone(), cases: OnceLock::new() });
        Case { further, ..self }
    }

    /// Returns true if programs are ranked on some of the rows.
    pub fn is_sampled(&self) -> bool {
        self.sample.is_some()
    }

    /// Estimates what a program takes from some of the rows; `None` if it is ranked on all of them.
    pub fn estimate(
        &self,
        program: &Program,
        machine: &Machine,
    ) -> Option<Result<Estimate, NoProgram>> {
        self.estimate_within(program, machine, self.cycle_limit)
    }

    fn estimate_within(
        &self,
        program: &Program,
        machine: &Machine,
        cycles: u64,
    ) -> Option<Result<Estimate, NoProgram>> {
        let limit = cycles.min(self.cycle_limit);
        self.sample.as_ref()?.estimate(program, machine, (self, &print(program), limit))
    }

    /// Returns the statistics of the data for the loops and loads of programs for the model.
    pub fn statistics<'a>(&'a self, inputs: &Inputs) -> Statistics<'a> {
        Statistics::new(&inputs.model, &self.instance, &self.store, &inputs.machine)
    }

    /// Returns the statistics for estimates of finished programs.
    pub fn statistics_of_finished<'a>(&'a self, inputs: &Inputs) -> Statistics<'a> {
        self.statistics(inputs).of_finished(&inputs.model, &self.instance, &inputs.machine)
    }

    /// Measures a program on this data; an error if it does not finish.
    pub fn rank(&self, program: &Program, machine: &Machine) -> Result<Measure, NoProgram> {
        self.rank_within(program, machine, self.cycle_limit, Values::All)
    }

    /// [`rank`](Case::rank) of a program that is of interest only if it takes at most `cycles`; it is not run further.
    /// A program that is likely to be the choice computes all values, so that it need not run again for its results.
    pub fn rank_within(
        &self,
        program: &Program,
        machine: &Machine,
        cycles: u64,
        values: Values,
    ) -> Result<Measure, NoProgram> {
        if let Some(estimate) = self.estimate_within(program, machine, cycles) {
            return Ok(estimate?.measure);
        }
        let Some(further) = &self.further else {
            return self.measure(program, machine, cycles, values);
        };
        // Slow here, a program may still be fast in the mean.
        let first = self.measure(program, machine, cycles.max(SHORT), values)?;
        let further = match first.cycles <= SHORT {
            true => further.cases(self.instance.seed),
            false => &[],
        };
        let further =
            further.iter().map(|case| case.rank_within(program, machine, u64::MAX, values));
        let measures: Vec<Measure> =
            std::iter::once(Ok(first)).chain(further).collect::<Result<_, _>>()?;
        let mean = Measure::mean(&measures);
        let limit = cycles.min(self.cycle_limit);
        match mean.cycles <= limit {
            true => Ok(mean),
            false => Err(NoProgram::Run(Failure::Run(SimError::Cycles { limit }))),
        }
    }

    /// Measures a program on this data alone.
    fn measure(
        &self,
        program: &Program,
        machine: &Machine,
        cycles: u64,
        values: Values,
    ) -> Result<Measure, NoProgram> {
        let max_cycles = cycles.min(self.cycle_limit);
        let options = ember_sim::Options { max_cycles, values, ..ember_sim::Options::default() };
        let run = || Ok(self.ended(program, &simulate_with(program, machine, self, options)?));
        self.ranking.measure(&print(program), max_cycles, run).map_err(NoProgram::Run)
    }

    /// Returns the part of a run's outcome that is kept. Its results are those of the reference if the tensors at the
    /// end, as far as the program writes them, are the reference's to the bit.
    fn ended(&self, program: &Program, outcome: &Outcome) -> Ended {
        let mut tensors = program.tensors.iter().zip(&outcome.tensors);
        let expected = outcome.tensors.len() == program.tensors.len()
            && tensors.all(|(tensor, data)| {
                let same = |expected: &Tensor| expected.same_bits(data);
                let result = tensor.purpose == Purpose::Output;
                !result || self.expected.get(&tensor.name).is_some_and(same)
            });
        Ended { stats: outcome.stats.clone(), expected }
    }

    /// Binds a program to this data. Tensors that the reference computes have its values if `computed` says so of their
    /// declaration, for a program of some of the statements reads what the others compute.
    fn bind(
        &self,
        program: &Program,
        computed: impl Fn(&TensorDecl) -> bool,
    ) -> Result<Bindings, Failure> {
        let (mut tensors, sizes) = self.instance.bind(program).map_err(Failure::Input)?;
        for (decl, tensor) in program.tensors.iter().zip(&mut tensors) {
            if let Some(expected) = self.expected.get(&decl.name).filter(|_| computed(decl)) {
                *tensor = expected.clone();
            }
        }
        Ok(Bindings { tensors, sizes })
    }

    /// Binds a program to this data, with nothing computed yet.
    pub fn bindings(&self, program: &Program) -> Result<Bindings, Failure> {
        self.bind(program, |tensor| !tensor.writable())
    }

    /// Returns the model's outputs from the tensors at the end of a program's run, by name.
    pub fn outputs(&self, program: &Program, tensors: &[Tensor]) -> BTreeMap<String, Tensor> {
        let at = |name: &String| program.tensors.iter().position(|tensor| tensor.name == *name);
        let output = |name: &String| Some((name.clone(), tensors.get(at(name)?)?.clone()));
        self.outputs.iter().filter_map(output).collect()
    }

    /// Compares the outputs among the tensors at the end of a program's run with the reference, or with what rules say
    /// where there is none. An output that is known to be wrong comes before one that cannot be judged.
    pub fn compare(
        &self,
        program: &Program,
        tensors: &[Tensor],
        exact: Exactness,
    ) -> Result<(), Mismatch> {
        let mut unjudged = None;
        for name in &self.outputs {
            let Some(expected) = self.expected.get(name) else { continue };
            let at = program.tensors.iter().position(|tensor| tensor.name == *name);
            match at.and_then(|at| tensors.get(at)) {
                Some(output) => {
                    let errors = self.errors.get(name).map_or(&[][..], Vec::as_slice);
                    match compare(name, expected, output, exact, errors) {
                        Err(mismatch) if !mismatch.is_wrong() => unjudged = Some(mismatch),
                        compared => compared?,
                    }
                }
                None => return Err(Mismatch::Missing { name: name.clone() }),
            }
        }
        let unreferenced = self.unreferenced.then_some(Mismatch::Unreferenced);
        unjudged.or(unreferenced).map_or(Ok(()), Err)
    }
}

/// Returns an instance as a store for the interpreter of terms.
pub fn store(instance: &Instance) -> Store {
    Store {
        tensors: instance.tensors.clone(),
        sizes: instance.sizes.iter().map(|(name, n)| (name.clone(), *n as i64)).collect(),
    }
}

/// Runs a program on the data of a case. A program that has run there already, with the reference's results, does not run
/// again.
pub fn simulate(
    program: &Program,
    machine: &Machine,
    case: &Case,
    core: CoreKind,
    recorded: bool,
) -> Result<Outcome, Failure> {
    let max_cycles = case.cycle_limit;
    let options = ember_sim::Options { core, values: Values::All, recorded, max_cycles };
    let run = || simulate_with(program, machine, case, options);
    if core != ember_sim::Options::default().core || recorded {
        return run();
    }
    let text = print(program);
    let mut outcome = None;
    case.ranking
        .measure(&text, case.cycle_limit, || Ok(case.ended(program, outcome.insert(run()?))))?;
    if let Some(outcome) = outcome {
        return Ok(outcome);
    }
    let Some(stats) = case.ranking.expected(&text) else { return run() };
    let Bindings { tensors, .. } = case.bind(program, |_| true)?;
    Ok(Outcome { tensors, stats, recording: None })
}

fn simulate_with(
    program: &Program,
    machine: &Machine,
    case: &Case,
    options: ember_sim::Options,
) -> Result<Outcome, Failure> {
    let data = case.bindings(program)?;
    ember_sim::run(program, machine, data, options).map_err(Failure::Run)
}

/// The reason a program has no result.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The data does not fit the program.
    Input(Vec<Diagnostic>),
    /// The program did not finish.
    Run(SimError),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Input(errors) => f.write_str(
                &errors.iter().map(|e| e.message.as_str()).collect::<Vec<_>>().join("; "),
            ),
            Failure::Run(error) => error.fmt(f),
        }
    }
}
