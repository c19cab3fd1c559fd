//! The values of a graph as terms of the e-graph.

use super::{LOW, TINY};
use crate::error::Problem;
use crate::graph::{Elem, Graph, Id, Op};
use crate::limits::LOWEST;
use crate::write::known;
use egg::Id as Class;
use ember_analysis::facts::EGraph;
use ember_language::rules::RuleBook;
use ember_language::term::Node;
use ember_model::Extent;
use ember_values::operation::Comparison;
use ember_values::scalar::DType;
use std::collections::BTreeSet;

/// The terms of a graph's values.
pub(super) struct Terms<'a> {
    pub(super) graph: &'a Graph,
    pub(super) book: &'a RuleBook,
    pub(super) egraph: EGraph,
    /// The classes of the values so far.
    pub(super) classes: Vec<Class>,
    /// The extents that the data says, in the order of their numbers.
    pub(super) sizes: Vec<Extent>,
    /// The values that are used as positions.
    pub(super) positions: BTreeSet<Id>,
}

impl Terms<'_> {
    fn op(&mut self, name: &str, children: &[Class]) -> Class {
        self.egraph.add(Node::op(name, children))
    }

    fn int(&mut self, n: i64) -> Class {
        self.egraph.add(Node::int(n))
    }

    fn value(&mut self, name: &str, id: Id) -> Class {
        let number = self.int(id.0 as i64);
        self.op(name, &[number])
    }

    /// Returns true if the dialect has such an operator.
    fn has(&self, name: &str, arity: usize) -> bool {
        self.book.signature.operator(name.into(), arity).is_some()
    }

    /// Returns the extents of a value; `None` if there is no such operator.
    fn shape(&mut self, shape: &[Extent]) -> Option<Class> {
        if !(1..=3).contains(&shape.len()) {
            return None;
        }
        let extents: Vec<Class> = shape.iter().map(|extent| self.extent(extent)).collect();
        Some(self.op("shape", &extents))
    }

    fn extent(&mut self, extent: &Extent) -> Class {
        if let Some(n) = extent.constant().and_then(|n| i64::try_from(n).ok()) {
            return self.int(n);
        }
        let known = self.sizes.iter().position(|size| size == extent);
        let number = known.unwrap_or(self.sizes.len());
        if known.is_none() {
            self.sizes.push(extent.clone());
        }
        let number = self.int(number as i64);
        self.op("extent", &[number])
    }

    /// Adds the term of a value whose operands are there already.
    pub(super) fn node(&mut self, id: Id) -> Result<Class, Problem> {
        let structured = self.structured(id)?;
        Ok(match structured {
            Some(class) => class,
            None => self.value("value", id),
        })
    }

    /// Returns the term of a number, or of a tensor that has it everywhere.
    fn constant(&mut self, id: Id, x: f64) -> Option<Class> {
        let node = self.graph.node(id);
        if node.elem.is_integer() || matches!(node.op, Op::Number(_)) {
            if x > 0.0 && x <= TINY {
                return Some(self.op("tiny", &[]));
            }
            let n = whole(self.graph, id).map(|n| self.int(n))?;
            return Some(self.op("number", &[n]));
        }
        let shape = self.shape(&node.shape)?;
        let word =
            [("zeros", 0.0), ("ones", 1.0), ("lowest", LOWEST), ("least", f64::NEG_INFINITY)];
        let named = word.iter().find(|(_, own)| *own == x).map(|(word, _)| self.op(word, &[shape]));
        if x > LOW {
            return named;
        }
        let number = self.int(id.0 as i64);
        let low = self.op("low", &[shape, number]);
        if let Some(named) = named {
            self.egraph.union(named, low);
        }
        Some(low)
    }

    /// The operands of a value. What is repeated to the extents of an operation on elements says so, besides numbers.
    fn operands(&mut self, node: &crate::graph::Node) -> Vec<Class> {
        let by_elements = matches!(node.op, Op::Zip(_) | Op::Compare(_) | Op::Choose);
        let graph = self.graph;
        let mut operands = Vec::new();
        for id in &node.operands {
            let class = self.classes[id.0];
            let own = graph.shape(*id);
            let repeated = by_elements && own != node.shape && !own.is_empty();
            operands.push(match self.shape(&node.shape).filter(|_| repeated) {
                Some(shape) => self.op("repeat", &[shape, class]),
                None => class,
            });
        }
        operands
    }

    fn structured(&mut self, id: Id) -> Result<Option<Class>, Problem> {
        let graph = self.graph;
        let node = graph.node(id);
        if self.positions.contains(&id)
            && whole(graph, id).is_none()
            && let Some(values) = known(graph, id)?
        {
            return Ok(Some(match triangle(&values) {
                Some(n) => {
                    let n = self.int(n);
                    self.op("below", &[n])
                }
                None => self.value("known", id),
            }));
        }
        let operands = self.operands(node);
        let shape_of = |at: usize| node.operands.get(at).map(|id| graph.shape(*id));
        let words = |word: &str, kind: &str| format!("{kind}.{word}");
        let plain = match &node.op {
            Op::Map(word) => words(word, "map"),
            Op::Zip(word) => words(word, "zip"),
            Op::Fold(word) => words(word, "fold"),
            Op::Scatter(word) => words(word, "scatter"),
            Op::Permute(order) => {
                let mut turned: Vec<usize> = (0..order.len()).collect();
                turned.reverse();
                let all = order.len();
                if all > 2 {
                    turned = (0..all - 2).chain([all - 1, all - 2]).collect();
                }
                if *order != turned {
                    return Ok(None);
                }
                "turn".to_owned()
            }
            Op::Compare(word) => words(word, "compare"),
            // A program that chooses positions itself has some below 0.
            Op::Choose if !graph.from_the_end && below_zero(graph, id) => return Ok(None),
            Op::Choose => "choose".to_owned(),
            Op::Spelled(word) if operands.is_empty() => {
                let Some(n) = node.shape.first().map(|n| self.extent(n)) else { return Ok(None) };
                return Ok(self.has(word, 1).then(|| self.op(word, &[n])));
            }
            Op::Spelled(word) => word.clone(),
            Op::Iota { first: 0, step: 1 } => {
                let n = node.shape.first().map(|n| self.extent(n));
                return Ok(n.map(|n| self.op("iota", &[n])));
            }
            // The term does not say the type, which is the other one of the two.
            Op::Cast => match node.operands.first().map(|of| (graph.node(*of).elem, node.elem)) {
                Some(types) if types == (INT, LONG) || types == (LONG, INT) => {
                    "integers".to_owned()
                }
                _ => return Ok(None),
            },
            Op::Slice { axis: 0, first } => {
                let [own] = shape_of(0).unwrap_or_default() else { return Ok(None) };
                match (first, node.shape.first() == own.less_one().as_ref()) {
                    (0, true) => "front".to_owned(),
                    (1, true) => "rest".to_owned(),
                    _ => return Ok(None),
                }
            }
            Op::Expand | Op::Number(_) if constant(graph, id).is_some() => {
                return Ok(self.constant(id, constant(graph, id).unwrap_or(0.0)));
            }
            Op::Expand => {
                let shape = self.shape(&node.shape);
                return Ok(shape.map(|shape| self.op("repeat", &[shape, operands[0]])));
            }
            Op::Reshape => {
                let from = shape_of(0).and_then(|shape| self.shape(shape));
                let (Some(to), Some(from)) = (self.shape(&node.shape), from) else {
                    return Ok(None);
                };
                return Ok(Some(self.op("view", &[to, from, operands[0]])));
            }
            Op::Gather => {
                let Some(shape) = shape_of(0).and_then(|shape| self.shape(shape)) else {
                    return Ok(None);
                };
                return Ok(Some(self.op("rows", &[shape, operands[0], operands[1]])));
            }
            Op::Concat(axis) => {
                let first = shape_of(0).unwrap_or_default();
                if node.operands.iter().any(|part| graph.shape(*part) != first) {
                    return Ok(None);
                }
                let Some(shape) = self.shape(first) else { return Ok(None) };
                let mut list = self.op("end", &[]);
                for part in operands.iter().rev() {
                    list = self.op("then", &[*part, list]);
                }
                let axis = self.int(*axis as i64);
                return Ok(Some(self.op("concat", &[axis, shape, list])));
            }
            _ => return Ok(None),
        };
        Ok(self.has(&plain, operands.len()).then(|| self.op(&plain, &operands)))
    }
}

/// The two types of whole numbers that are computed with.
const INT: Elem = Elem::Of(DType::I32);
const LONG: Elem = Elem::Of(DType::I64);

/// Returns the number that a value is everywhere.
fn constant(graph: &Graph, id: Id) -> Option<f64> {
    let mut node = graph.node(id);
    while let (Op::Expand | Op::Reshape | Op::Cast, Some(of)) = (&node.op, node.operands.first()) {
        node = graph.node(*of);
    }
    match node.op {
        Op::Number(x) => Some(x),
        _ => None,
    }
}

/// Returns true for a choice of whole numbers by which of some are below 0.
fn below_zero(graph: &Graph, choice: Id) -> bool {
    let node = graph.node(choice);
    let condition = node.operands.first().map(|id| graph.node(*id));
    condition.is_some_and(|condition| match (&condition.op, &condition.operands[..]) {
        (Op::Compare(word), [_, number]) => {
            node.elem.is_integer()
                && word == Comparison::Less.word()
                && whole(graph, *number) == Some(0)
        }
        _ => false,
    })
}

/// Returns the whole number that a value is everywhere.
fn whole(graph: &Graph, id: Id) -> Option<i64> {
    let whole = constant(graph, id).filter(|x| x.fract() == 0.0 && x.abs() < 1e15);
    whole.map(|x| x as i64)
}

/// Returns n if the positions are i·n + j for all i > j, row by row.
fn triangle(values: &[i64]) -> Option<i64> {
    let n = (2..=4096i64).find(|n| n * (n - 1) / 2 >= values.len() as i64)?;
    let all = (0..n).flat_map(|i| (0..i).map(move |j| i * n + j));
    all.eq(values.iter().copied()).then_some(n)
}
