//! The preparation of a run: positions that are computed, and a counting sort of edges into the rows that they lead to,
//! as programs of the execute unit that run before the model's. What they yield is compared with the data that the
//! model's program reads.

use crate::coupled::coupled;
use crate::decouple::ModelContext;
use crate::pipeline::Inputs;
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::sexp::{self, deeper};
use ember_language::text::{self, Named, Words};
use ember_model::data::{Instance, broadcast};
use ember_model::{Prepared, Preparing, TensorId, Whole};
use ember_sim::{Bindings, Options};
use ember_targets::dlc::{Dim, Purpose, TensorDecl};
use ember_targets::tensor::Tensor;
use ember_targets::verify::{Limits, verify};
use ember_values::scalar::DType;
use itertools::Itertools;

/// Where the edges of each row start.
const ROW_OFFSETS: &str = include_str!("preparation/row_offsets.scf");

/// A whole number of an input, with the words TENSOR and INDICES to fill in.
const ELEMENT: &str = include_str!("preparation/element.scf");

/// A computed number, with the words INDICES, DTYPE and VALUE to fill in.
const COMPUTED: &str = include_str!("preparation/computed.scf");

/// A loop along a dimension, with the words VARIABLE, EXTENT and BODY to fill in.
const ALONG: &str = include_str!("preparation/along.scf");

/// Where bags of given lengths start.
const RUNNING_SUM: &str = include_str!("preparation/running_sum.scf");

/// The values of edges, row by row.
const IN_ROWS: &str = include_str!("preparation/in_rows.scf");

/// An input that was prepared.
#[derive(Clone, Debug)]
pub struct Preparation {
    /// The name of the input.
    pub input: String,
    /// The name of the input that says the row of each edge; `None` for computed numbers.
    pub positions: Option<String>,
    /// The cycles that it took.
    pub cycles: u64,
}

/// A program and what it runs on.
struct Prepare {
    text: String,
    operands: Vec<Operand>,
    sizes: Vec<(&'static str, u64)>,
}

/// A tensor of a program.
struct Operand {
    name: String,
    tensor: Tensor,
    /// True if the program writes it.
    written: bool,
}

impl Operand {
    fn read(name: &str, tensor: Tensor) -> Operand {
        Operand { name: name.to_owned(), tensor, written: false }
    }

    fn written(name: &str, dtype: DType, shape: Vec<u64>) -> Operand {
        Operand { name: name.to_owned(), tensor: Tensor::zeros(dtype, shape), written: true }
    }
}

/// Prepares the inputs of a model that are prepared of others. The last operand of each program is the input.
pub fn prepare(inputs: &Inputs, instance: &Instance) -> Checked<Vec<Preparation>> {
    let name = |id: TensorId| inputs.model.tensor(id).name.clone();
    let tensor = |id: TensorId| instance.tensors.get(&name(id)).cloned();
    let mut done = Vec::new();
    for Prepared { input, by } in inputs.model.prepared() {
        let Some(wanted) = tensor(input) else { continue };
        let (made, positions) = match &by {
            Preparing::Computed(whole) => (computed(whole, instance, &wanted), None),
            Preparing::Sums { lengths } => {
                (tensor(*lengths).map(|of| running_sum(of, wanted.dtype)), None)
            }
            Preparing::Offsets { positions } => {
                (tensor(*positions).map(|of| offsets(of, wanted.len())), Some(*positions))
            }
            Preparing::InRows { values, positions } => {
                let of = tensor(*values).zip(tensor(*positions));
                (of.map(|(values, positions)| in_rows(values, positions)), Some(*positions))
            }
        };
        let Some(made) = made else { continue };
        let (cycles, found) = run(inputs, made)?;
        if !found.is_some_and(|found| same(&found, &wanted)) {
            return Err(failed(format!("`{}` is not what was prepared", name(input))));
        }
        done.push(Preparation { input: name(input), positions: positions.map(name), cycles });
    }
    Ok(done)
}

fn running_sum(lengths: Tensor, dtype: DType) -> Prepare {
    let bags = lengths.len();
    let offsets = Operand::written("offsets", dtype, vec![bags + 1]);
    let operands = vec![Operand::read("lengths", lengths), offsets];
    Prepare { text: RUNNING_SUM.to_owned(), operands, sizes: vec![("bags", bags)] }
}

fn offsets(positions: Tensor, ends: u64) -> Prepare {
    let sizes = vec![("edges", positions.len()), ("rows", ends.saturating_sub(1)), ("ends", ends)];
    let offsets = Operand::written("offsets", DType::I64, vec![ends]);
    let operands = vec![Operand::read("positions", positions), offsets];
    Prepare { text: ROW_OFFSETS.to_owned(), operands, sizes }
}

fn in_rows(values: Tensor, positions: Tensor) -> Prepare {
    let (edges, dtype, offsets) = (positions.len(), values.dtype, ends(&positions));
    let rows = offsets.len() - 1;
    let operands = vec![
        Operand::read("positions", positions),
        Operand::read("offsets", offsets),
        Operand::read("values", values),
        Operand::written("next", DType::I64, vec![rows]),
        Operand::written("sorted", dtype, vec![edges]),
    ];
    let sizes = vec![("edges", edges), ("rows", rows)];
    Prepare { text: IN_ROWS.to_owned(), operands, sizes }
}

/// A loop over all elements, for each dimension one; `None` if the inputs do not fit, which the data would not either.
fn computed(whole: &Whole, instance: &Instance, wanted: &Tensor) -> Option<Prepare> {
    let of: Vec<(&str, &Tensor)> = whole
        .inputs()
        .into_iter()
        .map(|name| Some((name, instance.tensors.get(name)?)))
        .collect::<Option<_>>()?;
    let in_place = whole.in_place();
    let spread = of.iter().filter(|(name, _)| in_place.contains(name));
    let shape = broadcast(spread.map(|(_, tensor)| &tensor.shape[..]))?;
    // Names of the model may be words of the program, which has one row of what is read at computed places.
    let named = |at: usize| format!("of{at}");
    let in_a_row = |at: usize| format!("row{at}");
    let loaded = |name: &str, place: Option<String>| {
        let found = of.iter().enumerate().find(|(_, (own, _))| *own == name);
        let (at, own) = found.map_or((0, &[][..]), |(at, (_, tensor))| (at, &tensor.shape[..]));
        if let Some(place) = place {
            let indices = format!(" {place}");
            return filled(ELEMENT, &[("TENSOR", &in_a_row(at)), ("INDICES", &indices)]);
        }
        let first = shape.len() - own.len();
        let index = |(k, n): (usize, &u64)| match *n == 1 && shape[first + k] != 1 {
            true => " 0".to_owned(),
            false => format!(" i{}", first + k),
        };
        let indices: String = own.iter().enumerate().map(index).collect();
        filled(ELEMENT, &[("TENSOR", &named(at)), ("INDICES", &indices)])
    };
    let indices: String = (0..shape.len()).map(|k| format!(" i{k}")).collect();
    let (dtype, value) = (wanted.dtype.to_string(), written(whole, &loaded));
    let mut text = filled(COMPUTED, &[("INDICES", &indices), ("DTYPE", &dtype), ("VALUE", &value)]);
    for (k, extent) in shape.iter().enumerate().rev() {
        let (variable, extent) = (format!("i{k}"), extent.to_string());
        text = filled(ALONG, &[("VARIABLE", &variable), ("EXTENT", &extent), ("BODY", &text)]);
    }
    let at_places =
        |name: &str| whole.parts().any(|own| matches!(own, Whole::Element(of, _) if of == name));
    let read = of.iter().enumerate().flat_map(|(at, (name, tensor))| {
        let own = in_place.contains(name).then(|| Operand::read(&named(at), (*tensor).clone()));
        let row = || Tensor { shape: vec![tensor.len()], ..(*tensor).clone() };
        let row = at_places(name).then(|| Operand::read(&in_a_row(at), row()));
        own.into_iter().chain(row)
    });
    let made = Operand::written("computed", wanted.dtype, shape.clone());
    Some(Prepare { text, operands: read.chain([made]).collect(), sizes: Vec::new() })
}

/// Returns the expression of a text, without its comment, with words filled in.
fn filled(text: &str, words: &[(&str, &str)]) -> String {
    let lines = text.lines().filter(|line| !line.starts_with(';')).join(" ");
    words.iter().fold(lines, |text, (word, own)| text.replacen(word, own, 1))
}

/// Writes a number with the operators of programs.
fn written(whole: &Whole, loaded: &impl Fn(&str, Option<String>) -> String) -> String {
    match whole {
        Whole::Number(n) => n.to_string(),
        Whole::Input(name) => loaded(name, None),
        Whole::Element(name, place) => deeper(|| loaded(name, Some(written(place, loaded)))),
        Whole::Apply(op, operands) => deeper(|| {
            let operands = operands.iter().map(|own| written(own, loaded)).join(" ");
            format!("(scf.{} {operands})", op.name())
        }),
    }
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

/// Runs a program, and returns its cycles and the last tensor after it.
fn run(inputs: &Inputs, made: Prepare) -> Checked<(u64, Option<Tensor>)> {
    let Prepare { text, operands, sizes } = made;
    let mut sources = Sources::default();
    let file = sources.add("preparation", &text);
    let forms = sexp::read(&sources, file)?;
    let [form] = &forms[..] else { return Err(failed("no program".to_owned())) };
    let mut words = Words::new(&inputs.book.signature);
    sizes.iter().for_each(|(size, _)| words.add(size, Named::Size));
    for Operand { name, written, .. } in &operands {
        words.add(name, if *written { Named::Output } else { Named::Input });
    }
    let (term, _) = text::read(form, &inputs.book, &words)?;
    let declared = |own: &Operand| TensorDecl {
        name: own.name.clone(),
        dtype: own.tensor.dtype,
        shape: own.tensor.shape.iter().map(|n| Dim::Const(*n)).collect(),
        purpose: Purpose::of(own.written),
    };
    let context = ModelContext {
        name: "preparation".to_owned(),
        sizes: sizes.iter().map(|(name, _)| (*name).to_owned()).collect(),
        tensors: operands.iter().map(declared).collect(),
    };
    let program = coupled(inputs.book.signature.table(), &term, &context);
    let program = program.map_err(|error| failed(error.message))?;
    let program = verify(program, &Limits::of(&inputs.machine));
    let program = program.map_err(|errors| failed(errors.iter().join("; ")))?.into_program();
    let tensors = operands.into_iter().map(|own| own.tensor).collect();
    let sizes = sizes.into_iter().map(|(_, n)| n as i64).collect();
    let data = Bindings { tensors, sizes };
    let outcome = ember_sim::run(&program, &inputs.machine, data, Options::default());
    let mut outcome = outcome.map_err(|error| failed(error.to_string()))?;
    Ok((outcome.stats.cycles, outcome.tensors.pop()))
}

fn failed(why: String) -> Vec<Diagnostic> {
    vec![Diagnostic::global(format!("an input could not be prepared: {why}"))]
}
