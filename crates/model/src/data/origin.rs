//! Inputs that take their data from a graph or from triples. A graph or a set of triples is built once for all its
//! inputs, and its extents are bound to sizes.

use super::graph::{self, Problem};
use super::instantiate::Maker;
use super::{HELD_LIMIT, held};
use crate::model::{Extent, GraphFrom, Origin, OriginPart as Part, Source};
use ember_language::diagnostic::{Diagnostic, Span};
use ember_targets::tensor::Tensor;
use ember_values::scalar::Scalar;

/// A graph or triples after building.
pub(super) enum Built {
    /// The rows of a graph.
    Graph(graph::Csr),
    /// Heads, relations and tails of triples, with the numbers of entities and relations.
    Triples { parts: [Vec<i64>; 3], entities: u64, relations: u64 },
    /// A graph or triples that could not be built, which has already been reported.
    Broken,
}

impl<'a> Maker<'a> {
    /// Takes an input's data from a graph or from triples, which are built on first use.
    pub(super) fn take_part(&mut self, at: usize, of: &'a str, part: Part, span: Span) {
        let Some((origin, declared)) = self.model.data.origins.get(of) else { return };
        if !self.built.contains_key(of) {
            let built = self.build(origin).unwrap_or_else(|problem| {
                let error = Diagnostic::error(problem.what, *declared, "not usable");
                self.errors.push(Diagnostic { help: problem.help, ..error });
                Built::Broken
            });
            self.built.insert(of, built);
        }
        let input = self.input(at);
        let Some(elements) = self.built.get(of).and_then(|built| built.part(part)) else { return };
        let len = elements.len();
        let rank = input.tensor.shape.len();
        if rank != 1 {
            let message = format!("`{}` is of rank {rank}", input.tensor.name);
            let label = format!("what is taken of `{of}` is of rank 1");
            let error = Diagnostic::error(message, span, label);
            self.errors.push(error.with_related(input.tensor.span, "declared here"));
            return;
        }
        self.bind(input, &[Some(len as u64)], span);
        if !self.hold(&input.tensor, len as u64, 8, span) {
            return;
        }
        let dtype = input.tensor.dtype;
        let data = match elements {
            Elements::Integers(values) => self.integers(input, values, span),
            Elements::Reals(values) => Some(held(dtype, values.into_iter().map(Scalar::F64))),
        };
        if let Some(data) = data {
            self.made.insert(at, Tensor { dtype, shape: vec![len as u64], data });
        }
    }

    fn build(&self, origin: &Origin) -> Result<Built, Problem> {
        match origin {
            Origin::Graph { from: GraphFrom::Drawn(drawn), batch, copies } => {
                let rows = batch.unwrap_or(drawn.nodes);
                // The estimate assumes that rows of the batch have the average number of entries.
                let share = rows.min(drawn.nodes) as f64 / drawn.nodes.max(1) as f64;
                let copies = copies.unwrap_or(1);
                let held = drawn.nodes as f64 * 24.0 + drawn.edges as f64 * share * 16.0;
                let held = held * copies as f64;
                if held > HELD_LIMIT as f64 {
                    let (nodes, edges) = (drawn.nodes, drawn.edges);
                    let message = match copies {
                        1 => format!("a graph of {nodes} nodes and {edges} edges"),
                        _ => format!("{copies} graphs of {nodes} nodes and {edges} edges"),
                    };
                    let help = "too large to be held in memory; take a part: `(batch ROWS)`";
                    return Err(Problem::new(message).with_help(help));
                }
                drawn.generate(self.seed)?.matrix(rows).side_by_side(copies).map(Built::Graph)
            }
            Origin::Graph { from: GraphFrom::File { path, options }, batch, .. } => {
                let full = self.model.data.directory.join(path);
                let read = graph::read(self.model.data.files.as_ref(), &full, options);
                let mut graph = read.map_err(|problem| Problem {
                    what: format!("{}: {problem}", full.display()),
                    ..problem
                })?;
                graph.truncate(batch.unwrap_or(u64::MAX));
                Ok(Built::Graph(graph))
            }
            Origin::Triples { from, batch } => {
                let count = batch.unwrap_or(u64::MAX).min(from.triples);
                if count > HELD_LIMIT / 32 {
                    return Err(Problem::new(format!("{count} triples are too many to be held")));
                }
                let mut parts = [(); 3].map(|()| Vec::with_capacity(count as usize));
                for triple in from.generate(self.seed).take(count as usize) {
                    for (part, n) in parts.iter_mut().zip(triple) {
                        part.push(n as i64);
                    }
                }
                Ok(Built::Triples { parts, entities: from.entities, relations: from.relations })
            }
        }
    }

    /// Binds sizes that indices from graphs and triples point into and that nothing else determines: the columns of the
    /// graph, or the entities or relations of the triples.
    pub(super) fn bind_pointed(&mut self) {
        for used in self.model.index_uses() {
            let Some((Source::Part { of, part }, span)) = self.source(used.indices.0) else {
                continue;
            };
            let count = self.built.get(of.as_str()).and_then(|built| built.pointed(*part));
            if let (Some(count), Extent::Size { name, plus }) = (count, &used.rows)
                && let Some(n) = count.checked_sub(*plus)
            {
                self.give(name, n, *span);
            }
        }
    }
}

/// The elements of a part of a graph or of triples.
enum Elements {
    Integers(Vec<i64>),
    Reals(Vec<f64>),
}

impl Elements {
    fn len(&self) -> usize {
        match self {
            Elements::Integers(values) => values.len(),
            Elements::Reals(values) => values.len(),
        }
    }
}

impl Built {
    fn part(&self, part: Part) -> Option<Elements> {
        let integers = match (self, part) {
            (Built::Graph(graph), Part::Offsets) => {
                graph.offsets.iter().map(|n| *n as i64).collect()
            }
            (Built::Graph(graph), Part::Neighbours) => {
                graph.columns.iter().map(|n| i64::from(*n)).collect()
            }
            (Built::Graph(graph), Part::Values) => {
                let ones = || vec![1.0; graph.columns.len()];
                return Some(Elements::Reals(graph.values.clone().unwrap_or_else(ones)));
            }
            (Built::Triples { parts, .. }, Part::Heads) => parts[0].clone(),
            (Built::Triples { parts, .. }, Part::Relations) => parts[1].clone(),
            (Built::Triples { parts, .. }, Part::Tails) => parts[2].clone(),
            _ => return None,
        };
        Some(Elements::Integers(integers))
    }

    /// Returns the number of positions that a part's elements index; `None` if they are not indices.
    fn pointed(&self, part: Part) -> Option<u64> {
        match (self, part) {
            (Built::Graph(graph), Part::Neighbours) => Some(graph.width),
            (Built::Triples { entities, .. }, Part::Heads | Part::Tails) => Some(*entities),
            (Built::Triples { relations, .. }, Part::Relations) => Some(*relations),
            _ => None,
        }
    }
}
