//! The nodes of a graph that results need, in an order in which operands come first.

use super::ARGUMENT;
use super::schema::Node;
use crate::error::Problem;
use std::collections::{BTreeMap, BTreeSet};

/// Operators without a counterpart that only check, or order others.
const EFFECTS: [&str; 3] = ["NoOp", "Assert", "Print"];

/// An input of a node: the place of another one, and the number of its result.
pub(super) type Input = (usize, usize);

/// The nodes that results need, with operands first.
pub(super) struct Order {
    /// The places of the nodes.
    pub(super) needed: Vec<usize>,
    /// The inputs of each node.
    pub(super) inputs: Vec<Vec<Input>>,
    /// The places of the results.
    pub(super) results: Vec<usize>,
}

impl Order {
    pub(super) fn new(nodes: &[Node]) -> Result<Order, Problem> {
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
