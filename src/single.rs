//! Runs one program (SCF, SLC or DLC text) on a model's data, with its time, and compares its outputs.

use crate::report::Record;
use ember_compile::coupled::coupled;
use ember_compile::decouple::decouple;
use ember_compile::dlc_text::DlcText;
use ember_compile::models;
use ember_compile::pipeline::{Case, Failure, Inputs, Options, simulate};
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::load::load;
use ember_language::rules::{Kind, Unit};
use ember_language::sexp;
use ember_language::text;
use ember_model::Model;
use ember_prove::equiv::{self, Declarations, Declared, Purpose, What};
use ember_sim::{CoreKind, Recording};
use ember_targets::machine::Machine;
use ember_targets::tensor::Tensor;
use ember_targets::verify::{Limits, Verified, verify};
use itertools::Itertools;
use std::collections::BTreeMap;
use std::path::Path;

/// Reads a program of any level, or a kernel in MLIR text, and verifies it. A text that starts with `(dlc` is a DLC program;
/// any other is a statement of one processor, run as a coupled loop nest, or of both units, which is decoupled.
pub fn read_program(sources: &mut Sources, path: &Path, inputs: &Inputs) -> Checked<Verified> {
    let limits = Limits::of(&inputs.machine);
    if models::is_kernel(sources, path) {
        return read_kernel(sources, path, inputs, &limits);
    }
    let file = load(sources, path)?;
    let forms = sexp::read(sources, file)?;
    let [form] = forms.as_slice() else {
        let message = format!("{}: a program is one expression", path.display());
        return Err(vec![Diagnostic::global(message)]);
    };
    if form.form().is_some_and(|(head, _)| head == "dlc") {
        return DlcText::read(sources, file)?.verify(&limits);
    }
    let (term, sort) = text::read(form, &inputs.book, &inputs.words())?;
    let context = inputs.context();
    let operators = inputs.book.signature.table();
    let declared = inputs.book.signature.sort(sort.name());
    let program = match declared.map(|sort| (sort.kind, sort.unit)) {
        Some((Some(Kind::Statement), None)) => coupled(operators, &term, &context),
        Some((Some(Kind::Statement), Some(Unit::Both))) => decouple(operators, &term, &context),
        _ => {
            let found = format!("this has the sort {}", sort.name());
            let error = Diagnostic::error("not a program", form.span, found);
            let help = "a program is `(dlc …)`, or a statement of one processor or of both units";
            return Err(vec![error.with_help(help)]);
        }
    };
    let program = program.map_err(|e| {
        let error = Diagnostic::error(e.message, form.span, format!("at `{}`", e.operator));
        vec![match e.help {
            Some(help) => error.with_help(help),
            None => error,
        }]
    })?;
    verify(program, &limits).map_err(|errors| {
        errors
            .iter()
            .map(|e| Diagnostic::error(e.to_string(), form.span, "once it is decoupled"))
            .collect()
    })
}

/// Reads a program in MLIR text, whose arguments are tensors of the model: a kernel as a coupled loop nest, or both halves.
fn read_kernel(
    sources: &mut Sources,
    path: &Path,
    inputs: &Inputs,
    limits: &Limits,
) -> Checked<Verified> {
    let model = Declarations::of_model(&inputs.model);
    let (own, side) =
        equiv::read_kernel(sources, &inputs.book, limits, path, std::iter::once(&model))?;
    let fail = |message: String| {
        let error = Diagnostic::global(format!("{}: {message}", path.display()));
        let help = "the arguments have the names, types and extents of the model's tensors, or their order";
        vec![error.with_help(help)]
    };
    // A program with both halves has scratch memory of its own.
    let is_own = |tensor: &Declared| {
        matches!(side.what, What::Dlc { .. }) && tensor.purpose == Purpose::Scratch
    };
    let known = |tensor: &Declared| model.tensor(&tensor.name).is_some() || is_own(tensor);
    if let Some(other) = own.tensors.iter().find(|tensor| !known(tensor)) {
        return Err(fail(format!("the model has no tensor for {}", other.form())));
    }
    let program = match &side.what {
        What::Dlc { program, .. } => program.as_ref().clone(),
        What::Term { term, .. } => coupled(inputs.book.signature.table(), term, &inputs.context())
            .map_err(|e| fail(e.message))?,
    };
    verify(program, limits).map_err(|errors| fail(errors.iter().join("; ")))
}

/// One program's run.
pub struct Ran {
    /// Its measurements and their judgement.
    pub record: Record,
    /// The model's outputs, by name; none if the run did not end.
    pub outputs: BTreeMap<String, Tensor>,
    /// The course of the run, if it was to be recorded.
    pub recording: Option<Recording>,
}

/// Runs a program on a model's data on a machine, recorded if requested.
pub fn run(
    (model, machine): (&Model, &Machine),
    options: &Options,
    program: &Verified,
    core: CoreKind,
    recorded: bool,
) -> Checked<Ran> {
    let case = Case::new(model, options.seed, options.exact)?.with_cycle_limit(options.cycle_limit);
    let mut record = Record {
        name: program.program().name.clone(),
        exactness: options.exact.name().to_owned(),
        ..Record::default()
    };
    let program = program.program();
    Ok(match simulate(program, machine, &case, core, recorded) {
        Ok(outcome) => {
            let compared = case.compare(program, &outcome.tensors, options.exact);
            record.compare(compared);
            record.measure(&outcome.stats, machine);
            let outputs = case.outputs(program, &outcome.tensors);
            Ran { record, outputs, recording: outcome.recording }
        }
        Err(Failure::Input(errors)) => return Err(errors),
        Err(failure) => {
            record.fail(&failure);
            Ran { record, outputs: BTreeMap::new(), recording: None }
        }
    })
}
