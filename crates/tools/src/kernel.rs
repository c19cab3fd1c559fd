//! Compiles and runs kernels in MLIR text. A kernel describes no data: without arrays for its arguments, extents are
//! [`SIZE`] and elements random. The cost model chooses the program.

mod arrays;

use crate::emit::{Level, divides, unprinted};
use ember_analysis::facts::{Facts, VectorUnit};
use ember_compile::cost::Rates;
use ember_compile::machines;
use ember_compile::pipeline::{Options, goal, lower};
use ember_compile::search::Search;
use ember_compile::workload::Statistics;
use ember_engine::saturate::Limits;
use ember_interpret::{Interpreter, Store};
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::rules::{self, Phase, RuleBook};
use ember_language::term::Term;
use ember_language::text;
use ember_model::reference::{Mismatch, compare};
use ember_prove::equiv::{self, Declarations, Given, Purpose, Side};
use ember_sim::{Bindings, CoreKind, Outcome};
use ember_targets::machine::Machine;
use ember_targets::print::print;
use ember_targets::tensor::Tensor;
use ember_targets::verify::{self, Verified};
use std::collections::BTreeMap;
use std::path::Path;

/// The value of every extent; a size that is an argument has half of it, so that loops up to it stay within tensors.
pub const SIZE: u64 = 64;

/// The help where random data does not do.
const OWN_DATA: &str = "give arrays for its arguments, `run KERNEL --inputs FILE`, or a model with data for them, \
                        `run KERNEL MODEL`";

/// A kernel with what it is compiled by.
pub struct Kernel {
    book: RuleBook,
    /// The machine.
    pub machine: Machine,
    declarations: Declarations,
    side: Side,
    term: Term,
    name: String,
}

/// The data of a kernel.
pub struct Data {
    given: Given,
    store: Store,
}

/// A run of a kernel.
pub struct Ran {
    /// The measurements and the tensors at the end.
    pub outcome: Outcome,
    /// The comparison of the outputs with those of the kernel as it was read.
    pub compared: Result<(), Mismatch>,
    /// The outputs by name.
    pub outputs: BTreeMap<String, Tensor>,
}

/// Reads a kernel, the rules and the machine.
pub fn read(sources: &mut Sources, path: &Path, options: &Options) -> Checked<Kernel> {
    let (book, _) = rules::load(sources, &options.rules)?;
    let machine = machines::load(sources, &options.target)?;
    let limits = verify::Limits::of(&machine);
    let (declarations, side) =
        equiv::read_kernel(sources, &book, &limits, path, std::iter::empty())?;
    let term = side.term().map_err(|why| vec![Diagnostic::global(why.to_string())])?.clone();
    let name = path.file_stem().map_or("kernel".into(), |name| name.to_string_lossy().into_owned());
    Ok(Kernel { book, machine, declarations, side, term, name })
}

impl Kernel {
    /// Returns the kernel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the kernel at a level, compiled for data if there is any.
    pub fn program(&self, options: &Options, level: Level, data: Option<&Data>) -> Checked<String> {
        let sizes = self.declarations.all_sizes(&self.sizes());
        let unknown = Store { tensors: BTreeMap::new(), sizes };
        let store = data.map_or(&unknown, |data| &data.store);
        let words = self.declarations.words(&self.book.signature);
        Ok(match level {
            Level::Scf => {
                let forms = self.declarations.tensors.iter().map(|own| own.form() + "\n");
                let sizes =
                    self.declarations.own_sizes.iter().map(|size| format!("(size {size})\n"));
                let declared: String = forms.chain(sizes).collect();
                format!("{declared}{}", text::program(&self.term, &words))
            }
            Level::Mlir => equiv::mlir_text(&self.name, &self.declarations, &self.term)
                .map_err(|why| vec![Diagnostic::global(why.to_string())])?,
            Level::Dlc => print(self.best(options, level, store)?.1.program()),
            Level::MlirSlc | Level::MlirSlcv => equiv::slc_text(
                &self.name,
                &self.declarations,
                &self.best(options, level, store)?.0,
            )
            .map_err(|why| unprinted(&why))?,
            Level::MlirDlc => equiv::dlc_text(self.best(options, level, store)?.1.program())
                .map_err(|why| unprinted(&why))?,
            Level::Slc | Level::Slcv => text::program(&self.best(options, level, store)?.0, &words),
            Level::C | Level::Header => {
                let error = Diagnostic::global("C is made of models, not of kernels");
                return Err(vec![error.with_help("give `--emit dlc`, or a model")]);
            }
        })
    }

    /// Returns the best divided program by the cost model: its term, and the program.
    fn best(&self, options: &Options, level: Level, store: &Store) -> Checked<(Term, Verified)> {
        let schedule = self.book.require_schedule(&options.schedule)?;
        if level != Level::Dlc {
            divides(&self.book, schedule)?;
        }
        let scalar = schedule.only(|rule| {
            !matches!(level, Level::Slc | Level::MlirSlc)
                || self.book.rules[rule].phase != Phase::Optimise
        });
        let mut context = self.declarations.context();
        context.name.clone_from(&self.name);
        let core = &self.machine.core;
        let unit = VectorUnit { simd_bytes: core.simd_bytes, registers: core.vector_registers };
        let operators = self.book.signature.table();
        let facts = Facts::new(&context.tensors, &context.sizes, operators.clone(), unit)
            .rounding(options.exact);
        let compiled = ember_engine::compile(&self.book);
        let goal = goal(&self.book, schedule);
        let search = Search {
            book: &self.book,
            rules: &compiled,
            schedule: &scalar,
            without: None,
            exact: options.exact,
            goal,
            facts: &facts,
            statistics: &Statistics::of_store(store),
            rates: &Rates::of(&self.machine),
            limits: Limits { iterations: options.iter_limit, nodes: options.node_limit },
            bounded: false,
            best: options.ranked(schedule),
        };
        let found = search.run(&self.term, &mut |_| {});
        let mut refused = format!("no program was found: {}", found.stop);
        for candidate in found.candidates {
            match lower(operators, &self.machine, &candidate.term, &context, goal) {
                Ok(program) => return Ok((candidate.term, program)),
                Err(why) => refused = why.to_string(),
            }
        }
        let message = format!("schedule `{}`: {refused}", options.schedule);
        let error = Diagnostic::global(message);
        Err(vec![error.with_help("`--schedule coupled` makes a program of one processor")])
    }

    /// Returns the value of each size.
    fn sizes(&self) -> BTreeMap<String, u64> {
        let own = &self.declarations.own_sizes;
        let value = |name: &String| if own.contains(name) { SIZE / 2 } else { SIZE };
        let sizes = self.declarations.sizes();
        sizes.into_iter().map(|name| (name.clone(), value(&name))).collect()
    }

    /// Returns the names of the arguments, in order.
    pub fn arguments(&self) -> &[String] {
        &self.declarations.arguments
    }

    /// Returns the data that the options give, or random data.
    ///
    /// # Errors
    ///
    /// Fails if the arrays do not fit the arguments, or no random data fits the kernel.
    pub fn data(&self, sources: &Sources, options: &Options) -> Checked<Data> {
        let declarations = &self.declarations;
        let (given, before) = match &options.inputs {
            Some(arrays) => arrays::given(declarations, arrays.read(sources)?)?,
            None => {
                let operators = self.book.signature.table();
                let (sizes, seed) = (self.sizes(), options.seed.unwrap_or(1));
                let given = equiv::sample(declarations, &self.side, operators, &sizes, seed);
                let given = given.ok_or_else(|| {
                    let error =
                        Diagnostic::global(format!("no data of size {SIZE} fits the kernel"));
                    vec![error.with_help(OWN_DATA)]
                })?;
                (given, BTreeMap::new())
            }
        };
        let store = arrays::store(declarations, &given, before);
        Ok(Data { given, store })
    }

    /// Compiles the kernel for some data.
    ///
    /// # Errors
    ///
    /// Fails if the schedule makes no program.
    pub fn compiled(&self, options: &Options, data: &Data) -> Checked<Verified> {
        Ok(self.best(options, Level::Dlc, &data.store)?.1)
    }

    /// Runs a program of the kernel on data, and compares its outputs with those of the kernel as it was read.
    ///
    /// # Errors
    ///
    /// Fails if the kernel faults on the data, or the run does not end.
    pub fn run(
        &self,
        program: &Verified,
        data: &Data,
        options: &Options,
        core: CoreKind,
    ) -> Checked<Ran> {
        let operators = self.book.signature.table();
        let mut reference = Interpreter::new(&self.term, operators, data.store.clone());
        reference.run(reference.root()).map_err(|fault| {
            let error = Diagnostic::global(match options.inputs {
                Some(_) => format!("the kernel faults on this data: {fault}"),
                None => format!("the kernel faults on data where every extent is {SIZE}: {fault}"),
            });
            vec![if options.inputs.is_some() { error } else { error.with_help(OWN_DATA) }]
        })?;
        let expected = reference.into_store();
        let outcome = self.simulated(program, data, (options, core))?;
        let mut compared = Ok(());
        let mut outputs = BTreeMap::new();
        for (decl, tensor) in program.program().tensors.iter().zip(&outcome.tensors) {
            let output = self.declarations.tensor(&decl.name);
            if output.is_some_and(|own| own.purpose == Purpose::Output)
                && let Some(expected) = expected.tensors.get(&decl.name)
            {
                let own = compare(&decl.name, expected, tensor, options.exact, &[]);
                compared = compared.and(own);
                outputs.insert(decl.name.clone(), tensor.clone());
            }
        }
        Ok(Ran { outcome, compared, outputs })
    }

    /// Returns the names of the tensors that the kernel writes, in order.
    pub fn outputs(&self) -> Vec<String> {
        self.declarations.outputs()
    }

    /// Runs a program on the simulator.
    fn simulated(
        &self,
        program: &Verified,
        Data { given, store }: &Data,
        (options, core): (&Options, CoreKind),
    ) -> Checked<Outcome> {
        let program = program.program();
        let sizes = self.declarations.all_sizes(&given.sizes);
        let tensors =
            program.tensors.iter().filter_map(|own| store.tensors.get(&own.name).cloned());
        let sizes = program.sizes.iter().map(|name| sizes.get(name).copied().unwrap_or(0));
        let bindings = Bindings { tensors: tensors.collect(), sizes: sizes.collect() };
        let max_cycles = options.cycle_limit;
        let limits = ember_sim::Options { core, max_cycles, ..ember_sim::Options::default() };
        ember_sim::run(program, &self.machine, bindings, limits)
            .map_err(|why| vec![Diagnostic::global(why.to_string())])
    }
}
