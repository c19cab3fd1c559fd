//! Finds operations of models that a program spells out: the graph is put into an e-graph, rules run on it, and a value
//! whose class has an idiom becomes that operation.

mod found;
mod terms;

use crate::error::Problem;
use crate::graph::{Elem, Graph, Id, Op};
use crate::limits::KNOWN;
use ember_analysis::facts::{EGraph, Facts};
use ember_engine::drive::Driver;
use ember_engine::saturate::Limits;
use ember_language::diagnostic::Sources;
use ember_language::rules::{self, ScheduleStep};
use ember_model::Extent;
use found::Found;
use terms::Terms;

/// The dialect of graphs and the rules.
const RULES: &str = include_str!("../../../rules/import/idioms.rules");

/// The most that a saturation does. Graphs that reach a limit have fewer idioms.
const LIMITS: Limits = Limits { iterations: 12, nodes: 60_000 };

/// The greatest number that makes no difference to a sum of 1 or more.
const TINY: f64 = 1e-8;

/// The greatest number that is less than what programs compute with.
const LOW: f64 = -1e30;

/// The prefix of the operators that values are written with.
pub(crate) const IDIOM: &str = "idiom.";

/// Gives values the operations that they spell out.
pub(crate) fn find(graph: &mut Graph) -> Result<(), Problem> {
    let mut sources = Sources::default();
    let file = sources.add("idioms.rules", RULES);
    let (book, _) = rules::load_text(&mut sources, &[file]).map_err(|errors| {
        Problem::Table(errors.first().map_or_else(String::new, |error| error.message.clone()))
    })?;
    let table = book.signature.table().clone();
    let egraph = EGraph::new(Facts::new(&[], &[], table, Default::default()));
    let lookups = graph.nodes.iter().filter(|n| matches!(n.op, Op::Gather | Op::Scatter(_)));
    let positions = lookups.filter_map(|node| node.operands.get(1).copied()).take(KNOWN).collect();
    let mut terms =
        Terms { graph, book: &book, egraph, classes: Vec::new(), sizes: Vec::new(), positions };
    for at in 0..graph.nodes.len() {
        let class = terms.node(Id(at))?;
        terms.classes.push(class);
    }
    let Terms { mut egraph, classes, .. } = terms;
    egraph.rebuild();
    let compiled = ember_engine::compile(&book);
    let mut driver = Driver::new(egraph, &compiled, LIMITS);
    driver.run(&[ScheduleStep::all(&book)], &mut ());
    let found = Found::new(&driver.egraph, &classes);
    let shapes: Vec<Vec<Extent>> = graph.nodes.iter().map(|node| node.shape.clone()).collect();
    // Numbers of two types are one term.
    let elems: Vec<Elem> = graph.nodes.iter().map(|node| node.elem).collect();
    // A value is taken from the first that is equal to it.
    let first = |id: &Id| found.values.get(&found.egraph.find(classes[id.0])).copied();
    for node in &mut graph.nodes {
        let shape = |graph: &[Vec<Extent>], id: Id| graph[id.0].clone();
        for operand in &mut node.operands {
            if let Some(other) = first(operand).filter(|other| other.0 < operand.0)
                && shape(&shapes, other) == shape(&shapes, *operand)
                && elems[other.0] == elems[operand.0]
            {
                *operand = other;
            }
        }
    }
    let idioms: Vec<(Id, Op, Vec<Id>)> = (0..graph.nodes.len())
        .filter_map(|at| {
            let (op, operands) = found.idiom(classes[at]).or_else(|| {
                let (op, operands) = found.simpler(classes[at], &graph.nodes[at].op)?;
                // A simpler form takes values of the same extents.
                let own = &graph.nodes[at].operands;
                let mut pairs = own.iter().zip(&operands);
                // Of a table, only the rows must be alike.
                let table = |a: &[Extent], b: &[Extent]| a.get(1..) == b.get(1..);
                let rows = matches!(graph.nodes[at].op, Op::Gather)
                    && pairs.next().is_some_and(|(a, b)| table(&shapes[a.0], &shapes[b.0]));
                let alike = pairs.all(|(a, b)| shapes[a.0] == shapes[b.0]);
                let fits = own.len() == operands.len()
                    && alike
                    && (rows || !matches!(graph.nodes[at].op, Op::Gather));
                fits.then_some((op, operands))
            })?;
            // An idiom is made of values before it.
            operands.iter().all(|id| id.0 < at).then_some((Id(at), op, operands))
        })
        .collect();
    for (id, op, operands) in idioms {
        let node = &mut graph.nodes[id.0];
        let op = std::mem::replace(&mut node.op, op);
        let operands = std::mem::replace(&mut node.operands, operands);
        graph.spelled.insert(id, (op, operands));
    }
    Ok(())
}
