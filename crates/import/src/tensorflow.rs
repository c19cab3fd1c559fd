//! Reads graphs of TensorFlow (`.pb`): frozen ones, whose variables are constants. The graph says no shapes, so those of
//! operators follow from the arguments', and no order of its nodes, arguments or results.

mod order;
mod schema;
mod sizes;
mod tensor;

use crate::build::{Builder, misfit};
use crate::error::{ImportError, Problem};
use crate::graph::{Argument, Graph, Op, Origin, Weight};
use crate::limits::{GRAPH_FILE, OPERATORS, SEGMENTS};
use crate::table::{Call, Item, Table};
use ember_model::Extent;
use order::{Input, Order};
use schema::{Node, Value};
use sizes::Sizes;
use std::collections::BTreeMap;
use tensor::Constant;

/// The rows for the operators of TensorFlow.
const TABLE: &str = include_str!("../../../rules/import/tensorflow.rows");

/// The name of an operator that gives an argument.
const ARGUMENT: &str = "Placeholder";

/// Reads a graph. Sizes that only the data says are taken as one where they must be, and as so much greater than what
/// is taken off them: each time one more is known, the graph is read again.
pub(crate) fn read(bytes: &[u8]) -> Result<Graph, ImportError> {
    if bytes.len() as u64 > GRAPH_FILE {
        let (what, length) = ("the graph".to_owned(), bytes.len() as u64);
        return Err(Problem::TooLarge { what, length, limit: GRAPH_FILE }.into());
    }
    let nodes = schema::nodes(bytes)?;
    let table = Table::read(TABLE)?;
    let order = Order::new(&nodes)?;
    let mut sizes = Sizes::default();
    loop {
        let mut reader = Reader {
            nodes: &nodes,
            table: &table,
            sizes: &sizes,
            builder: Builder::from_the_end(),
            values: vec![None; nodes.len()],
        };
        match reader.graph(&order) {
            // Nodes stand in an order of the graph's own.
            Ok(()) => return Ok(Graph { unordered: true, ..reader.builder.graph }),
            Err(error) => {
                if !sizes.learn(&error.problem) {
                    return Err(error);
                }
            }
        }
    }
}

/// The state of reading a graph.
struct Reader<'a> {
    nodes: &'a [Node],
    table: &'a Table,
    sizes: &'a Sizes,
    builder: Builder,
    /// The value of each node that is done.
    values: Vec<Option<Item>>,
}

impl Reader<'_> {
    fn graph(&mut self, order: &Order) -> Result<(), ImportError> {
        for (at, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.op == ARGUMENT) {
            let item = self.argument(node)?;
            self.values[at] = Some(item);
        }
        let rest = order.needed.iter().filter(|at| self.nodes[**at].op != ARGUMENT);
        let rest: Vec<usize> = rest.copied().collect();
        for (done, at) in rest.iter().enumerate() {
            let node = &self.nodes[*at];
            let name = node.name.rsplit('/').next().unwrap_or_default().to_owned();
            let line = Some(format!("the node `{}`", node.name));
            let origin = Origin { name: node.op.clone(), result: name, line };
            self.builder.begin(origin.clone());
            let done = Some((done, rest.len()));
            let failed = |problem| ImportError { problem, origin: Some(Box::new(origin)), done };
            let item = self.node(node, &order.inputs[*at]).map_err(failed)?;
            self.values[*at] = Some(item);
        }
        for at in &order.results {
            let id = match self.value((*at, 0))? {
                Item::Tensor(id) => id,
                Item::Known(known) => known.tensor(&mut self.builder)?,
                _ => return Err(Problem::Interface("a result is no tensor".to_owned()).into()),
            };
            self.builder.graph.outputs.push((self.nodes[*at].name.clone(), id));
        }
        Ok(())
    }

    /// Declares an argument.
    fn argument(&mut self, node: &Node) -> Result<Item, Problem> {
        let attribute = |name: &str| node.attr.get(name).and_then(|attr| attr.value.as_ref());
        let Some(Value::Type(dtype)) = attribute("dtype") else {
            return Err(Problem::Interface(format!("the argument `{}` has no type", node.name)));
        };
        let elem = tensor::elem(*dtype, &node.name)?;
        let Some(Value::Shape(shape)) = attribute("shape")
            .filter(|shape| matches!(shape, Value::Shape(shape) if !shape.unknown))
        else {
            return Err(Problem::Interface(format!("the argument `{}` has no shape", node.name)));
        };
        let name = crate::write::word(&node.name);
        let mut extents = Vec::new();
        for (axis, dim) in shape.dims.iter().enumerate().take(OPERATORS) {
            extents.push(match u64::try_from(dim.size) {
                Ok(n) => Extent::Const(n),
                Err(_) => self.sizes.extent(&format!("{name}_{axis}")),
            });
        }
        for extent in &extents {
            if let Extent::Size { name, .. } = extent {
                self.builder.graph.sizes.insert(name.clone(), SEGMENTS);
            }
        }
        let arguments = &mut self.builder.graph.arguments;
        arguments.push(Argument { name, elem, shape: extents.clone() });
        let op = Op::Argument(arguments.len() - 1);
        self.builder.add(op, Vec::new(), extents, elem).map(Item::Tensor)
    }

    /// Returns a result of a node.
    fn value(&self, (at, result): Input) -> Result<Item, Problem> {
        let unknown = || Problem::Order(format!("{}:{result}", self.nodes[at].name));
        match (self.values[at].as_ref().ok_or_else(unknown)?, result) {
            (Item::List(items), result) => items.get(result).cloned().ok_or_else(unknown),
            (item, 0) => Ok(item.clone()),
            _ => Err(unknown()),
        }
    }

    /// Imports a node. Its operands are called a, b, c and so on, those that are one list by one letter.
    fn node(&mut self, node: &Node, inputs: &[Input]) -> Result<Item, Problem> {
        if node.op == "Const" {
            return self.constant(node);
        }
        let mut operands = Vec::new();
        for input in inputs {
            operands.push(self.value(*input)?);
        }
        let mut given = BTreeMap::new();
        let mut listed = None;
        for (name, attribute) in &node.attr {
            let Some(value) = &attribute.value else { continue };
            match (name.as_str(), value) {
                ("N", Value::Int(n)) => listed = usize::try_from(*n).ok(),
                ("T", Value::List(_)) => listed = Some(operands.len()),
                (name, _) if name.starts_with('_') => {}
                (name, value) => {
                    given.insert(name.to_owned(), item(value, &node.name));
                }
            }
        }
        if let Some(n) = listed {
            let few = || misfit(format!("{} inputs, not {n}", operands.len()));
            let rest = operands.split_off(operands.get(..n).ok_or_else(few)?.len());
            operands = std::iter::once(Item::List(operands)).chain(rest).collect();
        }
        given.extend(('a'..='z').map(String::from).zip(operands));
        let elem = ["DstT", "out_type", "out_idx", "dtype"].iter().find_map(|name| {
            match given.get(*name) {
                Some(Item::Type(elem)) => Some(*elem),
                _ => None,
            }
        });
        let call = Call { operator: &node.op, given, shape: None, elem };
        self.table.apply(&mut self.builder, &call)
    }

    fn constant(&mut self, node: &Node) -> Result<Item, Problem> {
        let attribute = node.attr.get("value").and_then(|attr| attr.value.as_ref());
        let Some(Value::Tensor(tensor)) = attribute else {
            return Err(Problem::Interface(format!("the constant `{}` has no value", node.name)));
        };
        let id = match tensor::constant(&node.name, tensor)? {
            Constant::Known(item) => return Ok(item),
            Constant::Full(x, shape, elem) => self.builder.full(x, shape, elem)?,
            Constant::Tensor(tensor, elem) => {
                self.builder.weight(Weight { name: node.name.clone(), tensor }, elem)?
            }
        };
        Ok(Item::Tensor(id))
    }
}

/// Returns the meaning of an attribute.
fn item(value: &Value, name: &str) -> Item {
    match value {
        Value::Int(n) => Item::Int(*n),
        Value::Number(x) => Item::Number(f64::from(*x)),
        Value::Bool(b) => Item::Bool(*b),
        Value::Text(text) => Item::Word(String::from_utf8_lossy(text).into_owned()),
        Value::Type(code) => {
            tensor::elem(*code, name).map_or(Item::Word("other".to_owned()), Item::Type)
        }
        Value::List(list) => Item::List(list.ints.iter().map(|n| Item::Int(*n)).collect()),
        Value::Shape(_) | Value::Tensor(_) => Item::Word("tensor".to_owned()),
    }
}
