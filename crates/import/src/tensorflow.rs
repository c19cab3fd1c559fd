//! Reads graphs of TensorFlow (`.pb`): frozen ones, whose variables are constants. The graph says no shapes, so those of
//! operators follow from the arguments', and no order of its nodes, arguments or results.

mod schema;
mod tensor;

use crate::build::{Builder, misfit};
use crate::error::{ImportError, Problem};
use crate::graph::{Argument, Graph, Op, Origin, Weight};
use crate::limits::{GRAPH_FILE, OPERATORS, RESULTS, SEGMENTS};
use crate::table::{Call, Item, Table};
use ember_model::Extent;
use schema::{Node, Value};
use std::collections::{BTreeMap, BTreeSet};
use tensor::Constant;

/// The rows for the operators of TensorFlow.
const TABLE: &str = include_str!("../../../rules/import/tensorflow.rows");

/// Operators without a counterpart that only check, or order others.
const EFFECTS: [&str; 3] = ["NoOp", "Assert", "Print"];

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
            builder: Builder::default(),
            values: vec![None; nodes.len()],
        };
        match reader.graph(&order) {
            Ok(()) => return Ok(reader.builder.graph),
            Err(error) => {
                if !sizes.learn(&error.problem) {
                    return Err(error);
                }
            }
        }
    }
}

/// The facts about sizes that operators need.
#[derive(Default)]
struct Sizes {
    /// The sizes that are others.
    same: BTreeMap<String, String>,
    /// The least value of sizes.
    least: BTreeMap<String, u64>,
}

impl Sizes {
    /// Notes what a problem says about sizes; returns false if that is nothing new.
    fn learn(&mut self, problem: &Problem) -> bool {
        if self.same.len() + self.least.len() > RESULTS {
            return false;
        }
        match problem {
            // Only extents of arguments may be one: others are found out to be, if they are.
            Problem::Sizes(a, b) if [a, b].iter().all(|name| !is_derived(name)) => {
                let (first, second) = if a < b { (a, b) } else { (b, a) };
                self.same.insert(base(second).to_owned(), base(first).to_owned()).is_none()
            }
            Problem::Less(name, by) if !is_derived(name) => {
                let least = self.least.entry(base(name).to_owned()).or_default();
                *least += by;
                *least <= SEGMENTS
            }
            _ => false,
        }
    }

    /// Returns the extent of a dimension that the data says.
    fn extent(&self, name: &str) -> Extent {
        let mut name = name;
        for _ in 0..=self.same.len() {
            name = self.same.get(name).map_or(name, String::as_str);
        }
        match self.least.get(name) {
            Some(least) => Extent::Size { name: format!("{name}{LESS}{least}"), plus: *least },
            None => Extent::Size { name: name.to_owned(), plus: 0 },
        }
    }
}

/// The sign between the name of a size and what was taken off it.
const LESS: &str = "_less_";

/// Returns the name of a size without what was taken off it.
fn base(name: &str) -> &str {
    name.rsplit_once(LESS).map_or(name, |(name, _)| name)
}

/// Returns true if a size follows from values.
fn is_derived(name: &str) -> bool {
    name.starts_with("made.") || name.starts_with("segments.")
}

/// An input of a node: the place of another one, and the number of its result.
type Input = (usize, usize);

/// The nodes that results need, with operands first.
struct Order {
    /// The places of the nodes.
    needed: Vec<usize>,
    /// The inputs of each node.
    inputs: Vec<Vec<Input>>,
    /// The places of the results.
    results: Vec<usize>,
}

impl Order {
    fn new(nodes: &[Node]) -> Result<Order, Problem> {
        let mut places = BTreeMap::new();
        for (at, node) in nodes.iter().enumerate() {
            if places.insert(node.name.as_str(), at).is_some() {
                return Err(Problem::Interface(format!("two nodes are called `{}`", node.name)));
            }
        }
        let input = |text: &String| -> Result<Input, Problem> {
            let unknown = || Problem::Order(text.clone());
            let (name, result) = match text.rsplit_once(':') {
                Some((name, result)) => (name, result.parse().map_err(|_| unknown())?),
                None => (text.as_str(), 0),
            };
            places.get(name).map(|at| (*at, result)).ok_or_else(unknown)
        };
        let data = |node: &Node| -> Result<Vec<Input>, Problem> {
            node.input.iter().filter(|text| !text.starts_with('^')).map(input).collect()
        };
        let inputs = nodes.iter().map(data).collect::<Result<Vec<_>, _>>()?;
        let used: BTreeSet<usize> = inputs.iter().flatten().map(|(at, _)| *at).collect();
        let is_result = |at: &usize| {
            let op = nodes[*at].op.as_str();
            !used.contains(at) && !EFFECTS.contains(&op) && op != ARGUMENT && op != "Const"
        };
        let mut results: Vec<usize> = (0..nodes.len()).filter(is_result).collect();
        if results.is_empty() {
            return Err(Problem::Interface("the graph has no result".to_owned()));
        }
        // The results of a function are called `Identity`, `Identity_1` and so on.
        let number = |at: &usize| match nodes[*at].name.strip_prefix("Identity") {
            Some("") => Some(0),
            Some(rest) => rest.strip_prefix('_')?.parse().ok(),
            None => None,
        };
        if results.iter().all(|at| number(at).is_some()) {
            results.sort_by_key(|at| number(at).unwrap_or(0u64));
        }
        let needed = ordered(nodes, &inputs, &results)?;
        Ok(Order { needed, inputs, results })
    }
}

/// Returns the nodes that results need, with operands first, else in the order of the file.
fn ordered(
    nodes: &[Node],
    inputs: &[Vec<Input>],
    results: &[usize],
) -> Result<Vec<usize>, Problem> {
    let mut needed = vec![false; nodes.len()];
    let mut open = results.to_vec();
    while let Some(at) = open.pop() {
        if !std::mem::replace(&mut needed[at], true) {
            open.extend(inputs[at].iter().map(|(at, _)| *at));
        }
    }
    let (mut done, mut order) = (vec![false; nodes.len()], Vec::new());
    for start in (0..nodes.len()).filter(|at| needed[*at]) {
        // The nodes on the way, each with the number of its inputs that were looked at.
        let mut way = vec![(start, 0usize)];
        let mut entered = BTreeSet::from([start]);
        while let Some((at, looked)) = way.pop() {
            if done[at] {
                continue;
            }
            match inputs[at].get(looked) {
                None => {
                    done[at] = true;
                    entered.remove(&at);
                    order.push(at);
                }
                Some((next, _)) => {
                    way.push((at, looked + 1));
                    if !done[*next] {
                        if !entered.insert(*next) {
                            return Err(Problem::Order(nodes[*next].name.clone()));
                        }
                        way.push((*next, 0));
                    }
                }
            }
        }
    }
    Ok(order)
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
