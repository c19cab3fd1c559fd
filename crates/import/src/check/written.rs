//! An idiom written as a model of its own, whose arguments are the operands.

use super::draw::{Bound, evaluate};
use super::meaning::Meaning;
use super::whole::Whole;
use crate::graph::{Argument, Elem, Graph, Id, Node, Op, Weight};
use crate::order::SOFTMAX;
use egg::{ENodeOrVar, Language};
use ember_language::diagnostic::{Diagnostic, Sources};
use ember_language::rules::{self, Definitions, RuleBook};
use ember_language::term::Node as TermNode;
use ember_model::reference;
use ember_model::{Extent, Model};
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::{DType, Scalar};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Returns what the reference of the model says, or why there is none; `None` if the side is no idiom.
pub(super) fn written(
    side: &[ENodeOrVar<TermNode>],
    bound: &Bound,
    shape: &[u64],
) -> Option<Result<Whole, String>> {
    let Some(ENodeOrVar::ENode(root)) = side.last() else { return None };
    let word = root.name()?.strip_prefix(crate::idioms::IDIOM)?;
    let mut graph = Graph::default();
    let mut arrays = BTreeMap::new();
    let mut operands = Vec::new();
    for child in root.children() {
        let part = &side[..=usize::from(*child)];
        let known = matches!(part.last(), Some(ENodeOrVar::ENode(x)) if x.name() == Some("known"));
        match evaluate(part, bound, &[])? {
            // Nothing does not say what type its elements have.
            Meaning::Tensor(x) if x.cells.is_empty() => return None,
            Meaning::Tensor(x) => operands.push(operand(&mut graph, &mut arrays, x, known)),
            Meaning::List(parts) => {
                let parts = parts.into_iter().map(|x| operand(&mut graph, &mut arrays, x, known));
                operands.extend(parts.collect::<Vec<_>>());
            }
            _ => return None,
        }
    }
    let extents: Vec<Extent> = shape.iter().map(|n| Extent::Const(*n)).collect();
    let op = Op::Idiom(word.to_owned());
    let elem = Elem::Of(DType::F32);
    graph.nodes.push(Node { op, operands, shape: extents, elem, origin: None });
    if word == SOFTMAX {
        let to = &side[..=usize::from(*root.children().get(1)?)];
        let Meaning::Tensor(to) = evaluate(to, bound, &[])? else { return None };
        // Models have the softmax of one number for each edge.
        if shape[1..].iter().any(|n| *n != 1) {
            return None;
        }
        return Some(of_edges(graph, arrays, &to));
    }
    graph.outputs.push(("result".to_owned(), Id(graph.nodes.len() - 1)));
    // A model of nothing has no operation, and what it would compute is nothing.
    if shape.contains(&0) {
        return None;
    }
    Some(computed(graph, arrays, shape))
}

/// A number for each edge, which is no result of its own: the weights of edges from the rows of a unit matrix, each to
/// its row.
fn of_edges(
    mut graph: Graph,
    mut arrays: BTreeMap<String, Tensor>,
    to: &Whole,
) -> Result<Whole, String> {
    let weights = Id(graph.nodes.len() - 1);
    let own = graph.nodes[weights.0].shape.iter().filter_map(Extent::constant).collect();
    let positions = graph.nodes[weights.0].operands.first().copied().ok_or("no positions")?;
    let edges = to.cells.len();
    let unit = (0..edges * edges).map(|at| Scalar::F32(f32::from(at % (edges + 1) == 0)));
    let shape = vec![edges as u64, edges as u64];
    let unit = Whole { shape: shape.clone(), cells: unit.collect() };
    let unit = operand(&mut graph, &mut arrays, unit, false);
    let each = (0..edges as i64).map(Scalar::I64).collect();
    let each =
        operand(&mut graph, &mut arrays, Whole { shape: shape[..1].to_vec(), cells: each }, false);
    let rows: Vec<u64> =
        to.cells.iter().filter_map(|row| row.as_i64()).map(i64::unsigned_abs).collect();
    let count = rows.iter().max().map_or(0, |most| most + 1);
    let wide = [count, edges as u64];
    let extents = wide.iter().map(|n| Extent::Const(*n)).collect();
    let (op, elem) = (Op::Idiom("spmm".to_owned()), Elem::Of(DType::F32));
    let operands = vec![unit, each, positions, weights];
    graph.nodes.push(Node { op, operands, shape: extents, elem, origin: None });
    graph.outputs.push(("result".to_owned(), Id(graph.nodes.len() - 1)));
    let sums = computed(graph, arrays, &wide)?;
    let found = rows.iter().enumerate().map(|(edge, row)| sums.cells[*row as usize * edges + edge]);
    Ok(Whole { shape: own, cells: found.collect() })
}

/// Adds an operand: an argument, or elements that the file holds.
fn operand(graph: &mut Graph, arrays: &mut BTreeMap<String, Tensor>, x: Whole, known: bool) -> Id {
    let dtype = x.cells.first().map_or(DType::F32, |x| x.dtype());
    let (shape, data) = (x.shape, Data::held(dtype, x.cells.into_iter()));
    let extents: Vec<Extent> = shape.iter().map(|n| Extent::Const(*n)).collect();
    let tensor = Tensor { dtype, shape, data };
    let (elem, id) = (Elem::Of(dtype), Id(graph.nodes.len()));
    let op = if known {
        graph.weights.push(Weight { name: format!("known{}", id.0), tensor });
        Op::Weight(graph.weights.len() - 1)
    } else {
        let name = format!("argument{}", id.0);
        arrays.insert(name.clone(), tensor);
        graph.arguments.push(Argument { name, elem, shape: extents.clone() });
        Op::Argument(graph.arguments.len() - 1)
    };
    graph.nodes.push(Node { op, operands: Vec::new(), shape: extents, elem, origin: None });
    id
}

/// The dialects of models, which define some of the operators that are written.
const DIALECTS: [(&str, &str); 5] = [
    ("dialect-core.rules", include_str!("../../../../rules/dialect-core.rules")),
    ("dialect-scf.rules", include_str!("../../../../rules/dialect-scf.rules")),
    ("dialect-emb.rules", include_str!("../../../../rules/dialect-emb.rules")),
    ("dialect-nn.rules", include_str!("../../../../rules/dialect-nn.rules")),
    ("names.rules", include_str!("../../../../rules/names.rules")),
];

/// The operators that the dialects of models define.
fn definitions() -> Result<&'static Definitions, String> {
    static BOOK: OnceLock<Result<RuleBook, String>> = OnceLock::new();
    let book = BOOK.get_or_init(|| {
        let mut sources = Sources::default();
        let files = DIALECTS.map(|(name, text)| sources.add(name, text));
        let read = rules::load_text(&mut sources, &files).map(|(book, _)| book);
        read.map_err(|errors| errors.first().map_or_else(String::new, |e| e.message.clone()))
    });
    book.as_ref().map(|book| &book.definitions).map_err(Clone::clone)
}

fn computed(
    mut graph: Graph,
    mut arrays: BTreeMap<String, Tensor>,
    shape: &[u64],
) -> Result<Whole, String> {
    let first = |errors: Vec<Diagnostic>| {
        errors.first().map_or_else(String::new, |error| error.message.clone())
    };
    crate::order::by_rows(&mut graph);
    let model = crate::write::write(&graph, "idiom").map_err(|error| error.to_string())?;
    let mut sources = Sources::default();
    let file = sources.add("idiom.sexp", &model.text);
    let mut read = Model::parse_with(&sources, file, definitions()?).map_err(first)?;
    if !arrays.is_empty() {
        read.give(std::mem::take(&mut arrays)).map_err(first)?;
    }
    read.hold(&model.weights);
    let data = read.instantiate(None).map_err(first)?;
    let outputs = reference::evaluate(&read, &data).ok_or("no reference")?;
    let name = read.outputs().next().map(|output| output.name.as_str());
    let out = name.and_then(|name| outputs.get(name)).ok_or("no output")?;
    let cells: Vec<Scalar> = (0..out.len()).filter_map(|at| out.get(at)).collect();
    Ok(Whole { shape: shape.to_vec(), cells })
}
