//! The preparation of a run: a counting sort of edges into the rows that they lead to, as programs of the execute unit
//! that run before the model's. What they yield is compared with the data that the model's program reads.

use crate::coupled::coupled;
use crate::decouple::ModelContext;
use crate::pipeline::Inputs;
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::sexp;
use ember_language::text::{self, Named, Words};
use ember_model::data::Instance;
use ember_model::{Prepared, TensorId};
use ember_sim::{Bindings, Options};
use ember_targets::dlc::{Dim, SizeId, TensorDecl};
use ember_targets::tensor::Tensor;
use ember_targets::verify::{Limits, verify};
use ember_values::scalar::DType;
use itertools::Itertools;

/// Where the edges of each row start.
const ROW_OFFSETS: &str = include_str!("preparation/row_offsets.scf");

/// The values of edges, row by row.
const IN_ROWS: &str = include_str!("preparation/in_rows.scf");

/// The sizes of both programs.
const SIZES: [&str; 3] = ["edges", "rows", "ends"];

/// An input that was prepared.
#[derive(Clone, Debug)]
pub struct Preparation {
    /// The name of the input.
    pub input: String,
    /// The name of the input that says the row of each edge.
    pub positions: String,
    /// The cycles that it took.
    pub cycles: u64,
}

/// A tensor of a program: its name, its elements, its size by its place, and whether the program writes it.
type Operand = (&'static str, Tensor, usize, bool);

/// Prepares the inputs of a model that are prepared of others.
pub fn prepare(inputs: &Inputs, instance: &Instance) -> Checked<Vec<Preparation>> {
    let name = |id: TensorId| inputs.model.tensor(id).name.clone();
    let tensor = |id: TensorId| instance.tensors.get(&name(id)).cloned();
    let mut done = Vec::new();
    for Prepared { input, positions, values } in inputs.model.prepared() {
        let (Some(wanted), Some(of)) = (tensor(input), tensor(positions)) else { continue };
        let edges = of.len();
        let (text, sorted, operands, rows) = match values {
            None => {
                let ends = wanted.len();
                let offsets = Tensor::zeros(DType::I64, vec![ends]);
                let operands: Vec<Operand> =
                    vec![("positions", of, 0, false), ("offsets", offsets, 2, true)];
                (ROW_OFFSETS, 1, operands, ends.saturating_sub(1))
            }
            Some(values) => {
                let Some(values) = tensor(values) else { continue };
                let offsets = ends(&of);
                let rows = offsets.len() - 1;
                let next = Tensor::zeros(DType::I64, vec![rows]);
                let sorted = Tensor::zeros(wanted.dtype, vec![edges]);
                let operands: Vec<Operand> = vec![
                    ("positions", of, 0, false),
                    ("offsets", offsets, 2, false),
                    ("values", values, 0, false),
                    ("next", next, 1, true),
                    ("sorted", sorted, 0, true),
                ];
                (IN_ROWS, 4, operands, rows)
            }
        };
        let sizes = vec![edges as i64, rows as i64, rows as i64 + 1];
        let (cycles, tensors) = run(inputs, text, operands, sizes)?;
        if !tensors.get(sorted).is_some_and(|found| same(found, &wanted)) {
            return Err(failed(format!("`{}` is not what was prepared", name(input))));
        }
        done.push(Preparation { input: name(input), positions: name(positions), cycles });
    }
    Ok(done)
}

/// Where the edges of each row start, for as many rows as edges lead to.
fn ends(positions: &Tensor) -> Tensor {
    let all = || (0..positions.len()).filter_map(|at| positions.get(at)?.as_i64());
    let rows = all().max().map_or(0, |most| most.max(-1) + 1) as usize;
    let mut ends = vec![0i64; rows + 1];
    all().for_each(|row| ends[row.max(0) as usize + 1] += 1);
    (0..rows).for_each(|row| ends[row + 1] += ends[row]);
    let shape = vec![ends.len() as u64];
    let data = ember_targets::tensor::Data::I64(ends.into());
    Tensor { dtype: DType::I64, shape, data }
}

fn same(found: &Tensor, wanted: &Tensor) -> bool {
    let mut places = 0..wanted.len();
    let value = |x: &Tensor, at| x.get(at).map(|x| x.to_bits());
    found.len() == wanted.len() && places.all(|at| value(found, at) == value(wanted, at))
}

/// Runs a program on tensors, and returns its cycles and the tensors after it.
fn run(
    inputs: &Inputs,
    text: &str,
    operands: Vec<Operand>,
    sizes: Vec<i64>,
) -> Checked<(u64, Vec<Tensor>)> {
    let mut sources = Sources::default();
    let file = sources.add("preparation", text);
    let forms = sexp::read(&sources, file)?;
    let [form] = &forms[..] else { return Err(failed("no program".to_owned())) };
    let mut words = Words::new(&inputs.book.signature);
    SIZES.iter().for_each(|size| words.add(size, Named::Size));
    for (name, _, _, writable) in &operands {
        words.add(name, if *writable { Named::Output } else { Named::Input });
    }
    let (term, _) = text::read(form, &inputs.book, &words)?;
    let declared = |(name, tensor, size, writable): &Operand| TensorDecl {
        name: (*name).to_owned(),
        dtype: tensor.dtype,
        shape: vec![Dim::Size(SizeId(*size as u32))],
        writable: *writable,
    };
    let context = ModelContext {
        name: "preparation".to_owned(),
        sizes: SIZES.map(str::to_owned).to_vec(),
        tensors: operands.iter().map(declared).collect(),
    };
    let program = coupled(inputs.book.signature.table(), &term, &context);
    let program = program.map_err(|error| failed(error.message))?;
    let program = verify(program, &Limits::of(&inputs.machine));
    let program = program.map_err(|errors| failed(errors.iter().join("; ")))?.into_program();
    let tensors = operands.into_iter().map(|(_, tensor, ..)| tensor).collect();
    let data = Bindings { tensors, sizes };
    let outcome = ember_sim::run(&program, &inputs.machine, data, Options::default());
    let outcome = outcome.map_err(|error| failed(error.to_string()))?;
    Ok((outcome.stats.cycles, outcome.tensors))
}

fn failed(why: String) -> Vec<Diagnostic> {
    vec![Diagnostic::global(format!("the edges could not be sorted: {why}"))]
}
