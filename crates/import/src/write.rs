//! Writes a graph as a model: each value becomes statements with the operations of models, in the order of the graph.

mod arrange;
mod compared;
mod constants;
mod drawn;
mod elements;
mod idioms;
mod inputs;
mod places;
mod rows;
mod sorted;
mod text;
mod whole;
mod wrapped;

use crate::error::{ImportError, Problem};
use crate::graph::{Elem, Graph, Id, Node, Op};
use crate::layout::{Base, Laid};
use crate::limits::KNOWN;
use crate::words::{CENTRE, MAP, NORMALISE, SOFTMAX};
use ember_model::Extent;
use ember_targets::tensor::Tensor;
use ember_values::scalar::DType;
use inputs::Inputs;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(crate) use elements::converted;
pub(crate) use sorted::vector;
pub(crate) use text::{Written, word};

/// A statement of the model.
struct Step {
    name: String,
    operation: String,
    output: bool,
}

/// A comparison that has not been written, because what it decides is part of the operation.
#[derive(Clone)]
struct Condition {
    word: String,
    a: Id,
    b: Id,
}

/// The model that is being written.
pub(crate) struct Writer<'g> {
    graph: &'g Graph,
    laid: Vec<Option<Laid>>,
    conditions: BTreeMap<Id, Condition>,
    /// The tensors of whole numbers that are computed with.
    spelled: BTreeMap<Id, Laid>,
    steps: Vec<Step>,
    inputs: Inputs,
    names: BTreeSet<String>,
    weights: BTreeMap<usize, Arc<Tensor>>,
    /// The name that the next statement takes if it is free.
    hint: String,
}

/// The element type of a value in the model; answers of comparisons are 1 and 0.
fn dtype(elem: Elem) -> DType {
    match elem {
        Elem::Of(dtype) => dtype,
        Elem::Bool => DType::F32,
    }
}

/// Writes a graph as a model with this name.
pub(crate) fn write(graph: &Graph, name: &str) -> Result<Written, ImportError> {
    let mut writer = Writer::new(graph);
    for argument in &graph.arguments {
        writer.names.extend(argument.shape.iter().filter_map(size_of));
    }
    let needed = needed(graph);
    for (at, node) in graph.nodes.iter().enumerate().filter(|(at, _)| needed[*at]) {
        let origin = node.origin.and_then(|origin| graph.origins.get(origin));
        writer.hint = origin.map(|origin| origin.result.clone()).unwrap_or_default();
        writer.node(Id(at), node).map_err(|problem| placed(graph, problem, node))?;
    }
    writer.outputs()?;
    if graph.made.values().any(|size| writer.mentions(size)) {
        let text =
            "an extent follows from data in another way than as a size, or a size plus a number";
        return Err(Problem::Operands(text.to_owned()).into());
    }
    Ok(writer.written(name))
}

/// Returns the error of a value, with the operator that it comes from.
fn placed(graph: &Graph, problem: Problem, node: &Node) -> ImportError {
    let origin = node.origin.and_then(|origin| graph.origins.get(origin));
    let done = node.origin.map(|done| (done, graph.origins.len()));
    ImportError { problem, origin: origin.map(|origin| Box::new(origin.clone())), done }
}

fn size_of(extent: &Extent) -> Option<String> {
    match extent {
        Extent::Size { name, .. } => Some(name.clone()),
        Extent::Const(_) => None,
    }
}

/// Returns the whole numbers that a value is, if they are known at import.
pub(crate) fn known(graph: &Graph, id: Id) -> Result<Option<Vec<i64>>, Problem> {
    let (mut all, mut open) = (BTreeSet::new(), vec![id]);
    while let Some(id) = open.pop() {
        let node = graph.node(id);
        if !node.elem.is_integer() || matches!(node.op, Op::Argument(_) | Op::Spelled(_)) {
            return Ok(None);
        }
        if all.len() > KNOWN {
            return Ok(None);
        }
        if all.insert(id) {
            open.extend(&node.operands);
        }
    }
    let mut writer = Writer::new(graph);
    for id in all {
        writer.node(id, graph.node(id))?;
        if !writer.steps.is_empty() {
            return Ok(None);
        }
    }
    writer.known(id, graph.shape(id))
}

/// Returns which values the results need.
fn needed(graph: &Graph) -> Vec<bool> {
    let mut needed = vec![false; graph.nodes.len()];
    let mut open: Vec<Id> = graph.outputs.iter().map(|(_, id)| *id).collect();
    while let Some(id) = open.pop() {
        if !std::mem::replace(&mut needed[id.0], true) {
            open.extend(&graph.node(id).operands);
        }
    }
    needed
}

impl<'g> Writer<'g> {
    fn new(graph: &'g Graph) -> Writer<'g> {
        Writer {
            graph,
            laid: vec![None; graph.nodes.len()],
            conditions: BTreeMap::new(),
            spelled: BTreeMap::new(),
            steps: Vec::new(),
            inputs: Inputs::default(),
            names: graph.sizes.keys().cloned().collect(),
            weights: BTreeMap::new(),
            hint: String::new(),
        }
    }
}

impl Writer<'_> {
    /// Returns true if the model has this size.
    fn mentions(&self, size: &str) -> bool {
        let mut extents = self.inputs.0.iter().flat_map(|input| &input.extents);
        extents.any(|extent| size_of(extent).is_some_and(|own| own == size))
            || self.steps.iter().any(|step| step.operation.contains(size))
    }

    /// Returns where a value is.
    fn laid(&mut self, id: Id) -> Result<Laid, Problem> {
        if let Some(laid) = &self.laid[id.0] {
            return Ok(laid.clone());
        }
        // What is not laid out is a comparison.
        let laid = self.answers(id)?;
        self.laid[id.0] = Some(laid.clone());
        Ok(laid)
    }

    fn shape(&self, id: Id) -> Vec<Extent> {
        self.graph.shape(id).to_vec()
    }

    /// Adds a statement, and returns the name of its result.
    fn step(&mut self, operation: String) -> String {
        let hint = std::mem::take(&mut self.hint);
        let name = self.unique(if hint.is_empty() { "t" } else { &hint });
        self.hint = hint;
        self.steps.push(Step { name: name.clone(), operation, output: false });
        name
    }

    /// Returns a name that no other tensor or size has.
    fn unique(&mut self, wanted: &str) -> String {
        let name = text::word(wanted);
        let mut numbered = (1u64..).map(|n| format!("{name}.{n}"));
        let mut own = name.clone();
        while self.names.contains(&own) {
            own = numbered.next().unwrap_or_default();
        }
        self.names.insert(own.clone());
        own
    }

    /// Writes a value.
    fn node(&mut self, id: Id, node: &Node) -> Result<(), Problem> {
        let (shape, dtype) = (node.shape.clone(), dtype(node.elem));
        let operand = |at: usize| {
            node.operands
                .get(at)
                .copied()
                .ok_or_else(|| Problem::Operands("an operand is missing".to_owned()))
        };
        let laid = match &node.op {
            Op::Compare(word) => {
                let (a, b) = (operand(0)?, operand(1)?);
                self.conditions.insert(id, Condition { word: word.clone(), a, b });
                return Ok(());
            }
            Op::Argument(at) => {
                let base = Base::View { argument: *at, parts: Vec::new() };
                Laid::plain(base, &shape, dtype)
            }
            Op::Weight(at) => self.weight(*at, &shape, dtype)?,
            Op::Number(x) => Laid::number(*x, dtype),
            Op::Iota { first, step } => self.iota(*first, *step, &shape)?,
            Op::Map(word) => self.map(word, operand(0)?)?,
            Op::Leaky(slope) => self.leaky(*slope, operand(0)?)?,
            Op::Zip(word) => self.zip(id, word, operand(0)?, operand(1)?)?,
            Op::Choose => match self.whole(id) {
                Some(laid) => laid,
                None => self.choose([operand(0)?, operand(1)?, operand(2)?], &shape, dtype)?,
            },
            Op::Cast => match self.whole(id) {
                Some(laid) => laid,
                None => self.cast(operand(0)?, dtype)?,
            },
            Op::Fold(word) => self.fold(word, operand(0)?)?,
            Op::Softmax => self.by_rows(operand(0)?, |x| format!("({SOFTMAX} {x})"))?,
            Op::Normalise(epsilon) => {
                let epsilon = *epsilon;
                self.by_rows(operand(0)?, |x| format!("({NORMALISE} {epsilon:?} ({CENTRE} {x}))"))?
            }
            Op::Product => self.product(operand(0)?, operand(1)?, &shape)?,
            Op::Reshape => self.reshape(operand(0)?, &shape)?,
            Op::Permute(order) => {
                let x = self.laid(operand(0)?)?;
                x.renamed(|axis| order.iter().position(|own| *own == axis))
            }
            Op::Expand => self.expand(operand(0)?, &shape)?,
            Op::Slice { axis, first } => self.slice(operand(0)?, (*axis, *first), &shape)?,
            Op::Concat(axis) => self.concat(&node.operands, *axis, &shape)?,
            Op::Gather => match self.whole(id) {
                Some(laid) => laid,
                None => self.gather(operand(0)?, operand(1)?)?,
            },
            Op::Scatter(word) => self.scatter(word, operand(0)?, operand(1)?, operand(2)?)?,
            Op::Ordered { rows } => self.ordered(operand(0)?, operand(1)?, rows)?,
            Op::Sums => self.sums(operand(0)?, &shape)?,
            Op::Starts => self.starts(operand(0)?, &shape)?,
            Op::Spelled(_) => {
                let origin = node.origin.and_then(|at| self.graph.origins.get(at));
                let name = origin.map_or("a value", |origin| origin.name.as_str());
                return Err(Problem::Spelled(name.to_owned()));
            }
            Op::Idiom(word) => self.idiom(word, &node.operands, &shape)?,
            Op::Bag { mode, closed } => self.bag(mode, *closed, &node.operands)?,
        };
        self.laid[id.0] = Some(laid);
        Ok(())
    }

    /// Makes the results outputs, in the order of the graph.
    fn outputs(&mut self) -> Result<(), ImportError> {
        let mut last = None;
        for (name, id) in &self.graph.outputs {
            self.hint.clone_from(name);
            let held = self.output(*id);
            let held = held.map_err(|problem| placed(self.graph, problem, self.graph.node(*id)))?;
            let mut at = self.steps.iter().position(|step| step.name == held);
            // An output is a statement of its own, behind the outputs before it.
            if at.is_none_or(|at| self.steps[at].output || last.is_some_and(|last| at < last)) {
                self.step(format!("({MAP} identity {held})"));
                at = Some(self.steps.len() - 1);
            }
            if let Some(at) = at {
                self.steps[at].output = true;
                last = Some(at);
            }
        }
        Ok(())
    }

    /// Returns the tensor with a result.
    fn output(&mut self, id: Id) -> Result<String, Problem> {
        let (laid, shape) = (self.laid(id)?, self.shape(id));
        let wanted: Vec<Option<usize>> = match shape.len() {
            0 => vec![None],
            1..=3 => (0..shape.len()).map(Some).collect(),
            _ => crate::layout::live(&shape).into_iter().map(Some).collect(),
        };
        self.arrange(&laid, &wanted, &shape)
    }
}
