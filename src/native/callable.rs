//! A model as a library for callers that have its tensors in memory of their own: what bindings to other languages are
//! made of.

use super::{compiled, complete, failed};
use ember_compile::pipeline::{Inputs, Options};
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_language::sexp::deeper;
use ember_model::{
    ArgumentStep, Declared, Extent, Held, Model, Parameter, Prepared, Preparing, TensorId, Whole,
};
use ember_native::{Compiler, replacement};
use ember_targets::dlc::{Dim, Program};
use ember_targets::tensor::{Data, Tensor};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

/// A compiled library, and the way from arguments to the parameters of its function.
#[derive(Clone, Debug, Serialize)]
pub struct Callable {
    /// The model's name.
    pub model: String,
    /// The name of the machine's description.
    pub target: String,
    /// The library.
    pub path: PathBuf,
    /// The function: it takes the sizes and the tensors, and returns 0 or the number of what does not hold.
    /// `SYMBOL_unchecked` does not look at the data.
    pub symbol: String,
    /// The C compiler, in its own words.
    pub compiler: String,
    /// The milliseconds from the model to the library.
    pub time_ms: f64,
    /// The threads that share the rows of loops.
    pub threads: u32,
    /// The program.
    pub text: String,
    /// The header of the library.
    pub header: String,
    /// The parameters of the function that are sizes.
    pub sizes: Vec<Number>,
    /// The later arguments, which are tensors.
    pub tensors: Vec<Place>,
    /// The inputs of the model, which arguments hold.
    pub inputs: Vec<Place>,
    /// The inputs that are prepared of others, in an order in which they can be prepared.
    pub prepared: Vec<Made>,
    /// The arguments of the model.
    pub arguments: Vec<Argument>,
    /// The outputs in their order.
    pub outputs: Vec<Output>,
    /// The symbols of function pointers to set, with the addresses of this process's functions.
    pub replaceable: Vec<(String, usize)>,
    /// The tensors that are no arguments, such as the weights of an imported model.
    #[serde(skip)]
    pub constants: BTreeMap<String, Tensor>,
}

/// An extent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Number {
    /// A number.
    Const(u64),
    /// A size that is known with the data.
    Size {
        /// Its name.
        size: String,
        /// The number that is added.
        plus: u64,
    },
}

/// A tensor of the program.
#[derive(Clone, Debug, Serialize)]
pub struct Place {
    /// Its name in the model.
    pub name: String,
    /// The type of its elements.
    pub dtype: &'static str,
    /// Its extents.
    pub shape: Vec<Number>,
    /// True if the program writes it.
    pub written: bool,
}

/// An input that is prepared of others before a call.
#[derive(Clone, Debug, Serialize)]
pub struct Made {
    /// The input.
    pub input: String,
    /// The inputs that it is made of, and how.
    #[serde(flatten)]
    pub by: MadeBy,
}

/// The way to prepare an input.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MadeBy {
    /// Whole numbers, element by element.
    Computed(Computed),
    /// Where bags start, and the end of the last one.
    Sums {
        /// The input with the lengths of the bags.
        lengths: String,
    },
    /// Edges in the order of the rows that they lead to, those of one row in their own order.
    Sorted {
        /// The input with the row that each edge leads to.
        positions: String,
        /// The input that is sorted; `None` for the offsets of the rows.
        values: Option<String>,
    },
}

/// A whole number of each element.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Computed {
    /// A number, for every element.
    Number(i64),
    /// The elements of an input, repeated along dimensions that it lacks or has once.
    Input(String),
    /// An input, and the place of the element in row-major order.
    Element {
        /// The input.
        element: String,
        /// The place.
        place: Box<Computed>,
    },
    /// The name of an operation, and its operands.
    Apply(&'static str, Vec<Computed>),
}

impl Computed {
    fn of(whole: &Whole) -> Computed {
        match whole {
            Whole::Number(n) => Computed::Number(*n),
            Whole::Input(name) => Computed::Input(name.clone()),
            Whole::Element(name, place) => deeper(|| Computed::Element {
                element: name.clone(),
                place: Box::new(Computed::of(place)),
            }),
            Whole::Apply(op, operands) => {
                deeper(|| Computed::Apply(op.name(), operands.iter().map(Computed::of).collect()))
            }
        }
    }
}

/// An argument, and the inputs that hold it or parts of it.
#[derive(Clone, Debug, Serialize)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// The names of inputs, each with the steps that lead to it.
    pub held: Vec<(String, Vec<Step>)>,
}

/// A step from an argument to an input.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// So many elements of a dimension, from one on: the dimension, the first and the number.
    Part(usize, u64, u64),
    /// A last element after all others.
    Closed(Number),
}

/// An output.
#[derive(Clone, Debug, Serialize)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// Its extents as the model's caller sees them.
    pub shape: Vec<Number>,
}

/// Compiles a model for callers.
pub(crate) fn callable(mut inputs: Inputs, options: &Options) -> Checked<Callable> {
    let started = Instant::now();
    complete(&mut inputs.machine)?;
    let model = &inputs.model;
    let compiler = Compiler::find().map_err(failed)?;
    let (program, source, path) = compiled(&inputs, options, &compiler, &options.schedule)?;
    let arguments = model.arguments().iter().map(argument).collect::<Checked<Vec<Argument>>>()?;
    let given =
        |name: &str| arguments.iter().flat_map(|own| &own.held).any(|(input, _)| input == name);
    let prepared = prepared(model);
    let is_constant = |name: &str| {
        let is_prepared = prepared.iter().any(|own| own.input == name);
        model.inputs.iter().any(|input| input.tensor.name == name) && !given(name) && !is_prepared
    };
    let instance = model.instantiate(options.seed)?;
    let (data, _) = instance.bind(&program)?;
    let bound = || program.tensors.iter().zip(&data);
    let constants = bound().filter(|(own, _)| is_constant(&own.name));
    let outputs = model.outputs().map(|output| {
        let tensor = bound().find(|(own, _)| own.name == output.name).map(|(_, tensor)| tensor);
        let seen = tensor.map(|tensor| model.as_result(&output.name, tensor).shape);
        let shape = match (seen, tensor) {
            (Some(seen), Some(tensor)) if seen != tensor.shape => {
                seen.into_iter().map(Number::Const).collect()
            }
            _ => output.shape.iter().map(Number::of).collect(),
        };
        Output { name: output.name.clone(), shape }
    });
    Ok(Callable {
        model: model.name.clone(),
        target: inputs.machine.name.clone(),
        path,
        symbol: source.name,
        compiler: compiler.version().to_owned(),
        threads: options.threads,
        outputs: outputs.collect(),
        constants: constants.map(|(own, tensor)| (own.name.clone(), held(tensor))).collect(),
        inputs: model.inputs.iter().map(|input| Place::of(&input.tensor)).collect(),
        prepared,
        sizes: program.sizes.iter().map(|name| size(model, name)).collect(),
        tensors: places(model, &program),
        replaceable: source
            .replaceable
            .iter()
            .map(|own| (own.symbol.clone(), replacement(own).addr()))
            .collect(),
        text: source.text,
        header: source.header,
        arguments,
        time_ms: started.elapsed().as_secs_f64() * 1e3,
    })
}

impl Place {
    fn of(tensor: &Declared) -> Place {
        Place {
            name: tensor.name.clone(),
            dtype: tensor.dtype.name(),
            shape: tensor.shape.iter().map(Number::of).collect(),
            written: false,
        }
    }
}

/// Returns the inputs that are prepared of others.
fn prepared(model: &Model) -> Vec<Made> {
    let name = |id: TensorId| model.tensor(id).name.clone();
    let ready = |Prepared { input, by }| {
        let by = match by {
            Preparing::Computed(whole) => MadeBy::Computed(Computed::of(&whole)),
            Preparing::Sums { lengths } => MadeBy::Sums { lengths: name(lengths) },
            Preparing::Offsets { positions } => {
                MadeBy::Sorted { positions: name(positions), values: None }
            }
            Preparing::InRows { values, positions } => {
                MadeBy::Sorted { positions: name(positions), values: Some(name(values)) }
            }
        };
        Made { input: name(input), by }
    };
    model.prepared().into_iter().map(ready).collect()
}

/// Returns a tensor with its elements in memory.
fn held(tensor: &Tensor) -> Tensor {
    match tensor.data {
        Data::Hashed(_) => {
            let elements = (0..tensor.len()).filter_map(|at| tensor.get(at));
            Tensor { data: Data::held(tensor.dtype, elements), ..tensor.clone() }
        }
        _ => tensor.clone(),
    }
}

/// Returns the tensors of a program.
fn places(model: &Model, program: &Program) -> Vec<Place> {
    let extent = |dim: &Dim| match dim {
        Dim::Const(n) => Number::Const(*n),
        Dim::Size(id) => size(model, &program.sizes[id.index()]),
    };
    let place = |tensor: &ember_targets::dlc::TensorDecl| Place {
        name: tensor.name.clone(),
        dtype: tensor.dtype.name(),
        shape: tensor.shape.iter().map(extent).collect(),
        written: tensor.writable(),
    };
    program.tensors.iter().map(place).collect()
}

/// Returns the size of a program, which is called as an extent of the model is written.
fn size(model: &Model, name: &str) -> Number {
    let tensors = model.inputs.iter().map(|input| &input.tensor);
    let tensors = tensors.chain(model.computed.iter().map(|computed| &computed.tensor));
    let mut extents = tensors.flat_map(|tensor| &tensor.shape);
    let found = extents.find(|extent| extent.to_string() == name).map(Number::of);
    found.unwrap_or_else(|| Number::Size { size: name.to_owned(), plus: 0 })
}

impl Number {
    fn of(extent: &Extent) -> Number {
        match extent {
            Extent::Const(n) => Number::Const(*n),
            Extent::Size { name, plus } => Number::Size { size: name.clone(), plus: *plus },
        }
    }
}

/// Returns an argument; an error if it takes more than moving elements.
fn argument(parameter: &Parameter) -> Checked<Argument> {
    let held = parameter.held.iter().map(|Held { input, steps, .. }| {
        let steps = steps.iter().map(|step| match step {
            ArgumentStep::Part { axis, first, count } => Ok(Step::Part(*axis, *first, *count)),
            ArgumentStep::Closed(extent) => Ok(Step::Closed(Number::of(extent))),
            ArgumentStep::Counts(size) => {
                let message = format!("the size `{size}` depends on the elements of an argument");
                let help = "give it as the extent of an argument";
                Err(vec![Diagnostic::global(message).with_help(help)])
            }
        });
        Ok((input.clone(), steps.collect::<Checked<Vec<Step>>>()?))
    });
    Ok(Argument { name: parameter.name.clone(), held: held.collect::<Checked<_>>()? })
}
