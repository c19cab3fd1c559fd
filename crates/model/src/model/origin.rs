//! The forms `graph` and `triples` of the data form, which provide data for several inputs, and the sources that take
//! parts of them.

use super::read::{Reader, head_span};
use super::spec::{GraphFrom, Origin, Part, Source};
use super::{Input, source};
use crate::data::graph::{
    EdgeListOptions, Graph, GraphModel, LIMIT, graph_names, is_matrix_market, known_graph,
    known_triples, triples_names,
};
use ember_language::diagnostic::{Diagnostic, Span};
use ember_language::sexp::Sexp;
use ember_language::suggest;
use std::path::PathBuf;

/// The syntax of graphs, for help texts.
const GRAPH: &str = "`(graph NAME (kind KIND))`, `(graph NAME (rmat|grid (nodes N) (edges N)))` or \
                     `(graph NAME (file \"PATH\"))`; all take `(batch ROWS)`, a drawn one also \
                     `(batch)`, a kind takes `(scale FACTOR)`, the others `(undirected)`, a list of edges \
                     `(base 0|1)` and `(nodes N)`";

/// The syntax of triples, for help texts.
const TRIPLES: &str = "`(triples NAME (kind KIND))`, with `(scale FACTOR)` and `(batch TRIPLES)`";

/// The parts of a form, each given at most once.
struct Parts<'a> {
    parts: Vec<(&'a str, &'a [Sexp], Span)>,
}

impl<'a> Parts<'a> {
    /// Reads `(HEAD …)` parts; `None` if one is unknown or given twice.
    fn read(reader: &mut Reader, items: &'a [Sexp], known: &[&str]) -> Option<Parts<'a>> {
        let mut parts: Vec<(&str, &[Sexp], Span)> = Vec::new();
        for item in items {
            let form = item.form().filter(|(head, _)| known.contains(head));
            let Some((head, rest)) = form else {
                reader.unknown_form(item, known);
                return None;
            };
            if let Some((_, _, before)) = parts.iter().find(|(other, ..)| *other == head) {
                let message = format!("`{head}` is given twice");
                let error = Diagnostic::error(message, head_span(item), "again");
                reader.errors.push(error.with_related(*before, "given here before"));
                return None;
            }
            parts.push((head, rest, item.span));
        }
        Some(Parts { parts })
    }

    /// Returns the items after a head, if the part is given.
    fn get(&self, head: &str) -> Option<&'a [Sexp]> {
        self.parts.iter().find(|(other, ..)| *other == head).map(|(_, rest, _)| *rest)
    }

    /// Returns the number after a head: `Ok(None)` if the part is not given, an error if it is not a number.
    fn number<T: std::str::FromStr>(&self, head: &str) -> Result<Option<T>, ()> {
        match self.get(head) {
            None => Ok(None),
            Some([n]) => source::number(n).map(Some).ok_or(()),
            Some(_) => Err(()),
        }
    }

    /// Returns true if a part that is only a word is given; an error if more follows the word.
    fn word(&self, head: &str) -> Result<bool, ()> {
        self.get(head).map_or(Ok(false), |rest| if rest.is_empty() { Ok(true) } else { Err(()) })
    }
}

/// Reads `(graph NAME …)` or `(triples NAME …)` into the reader's origins.
pub(super) fn read(reader: &mut Reader, item: &Sexp, head: &str, rest: &[Sexp]) {
    let before = reader.errors.len();
    let usage = if head == "graph" { GRAPH } else { TRIPLES };
    let read = rest.split_first().and_then(|(name, parts)| {
        let word = name.atom()?.to_owned();
        if let Some((_, first)) = reader.origins.get(&word) {
            let error =
                Diagnostic::error(format!("`{word}` is declared twice"), name.span, "again");
            reader.errors.push(error.with_related(*first, "first declared here"));
            return None;
        }
        let origin = if head == "graph" { graph(reader, parts) } else { triples(reader, parts) };
        Some((word, origin?))
    });
    match read {
        Some((name, origin)) => {
            reader.origins.insert(name, (origin, item.span));
        }
        None if reader.errors.len() == before => {
            let message = format!("`{head}` was not understood");
            let help = format!("write {usage}");
            reader.error_with_help(item.span, message, "not of the right form", help);
        }
        None => {}
    }
}

fn graph(reader: &mut Reader, items: &[Sexp]) -> Option<Origin> {
    let known = ["kind", "rmat", "grid", "file", "scale", "base", "nodes", "undirected", "batch"];
    let parts = Parts::read(reader, items, &known)?;
    let is_whole = parts.get("batch").is_some_and(<[Sexp]>::is_empty);
    let copies = is_whole.then_some(1);
    let batch = if is_whole { None } else { parts.number("batch").ok()? };
    let undirected = parts.word("undirected").ok()?;
    let only = |allowed: &[&str]| {
        parts.parts.iter().all(|(head, ..)| allowed.contains(head) || *head == "batch")
    };
    if let Some([kind]) = parts.get("kind") {
        let scale = scale(&parts)?;
        let word = reader.word("a kind of graph", kind)?;
        let graph = known_graph(word, scale);
        if graph.is_none() {
            reader.errors.push(suggest::unknown("kind", word, kind.span, graph_names()));
        }
        let from = GraphFrom::Drawn(graph?);
        return only(&["kind", "scale"]).then_some(Origin::Graph { from, batch, copies });
    }
    for (head, model) in [("rmat", GraphModel::RMat), ("grid", GraphModel::Grid)] {
        let Some(inner) = parts.get(head) else { continue };
        let inner = Parts::read(reader, inner, &["nodes", "edges"])?;
        let (nodes, edges) = (inner.number("nodes").ok()??, inner.number("edges").ok()??);
        let from = GraphFrom::Drawn(Graph { nodes, edges, directed: !undirected, model });
        return only(&[head, "undirected"]).then_some(Origin::Graph { from, batch, copies });
    }
    let [path] = parts.get("file")? else { return None };
    let path = PathBuf::from(path.text()?);
    let (base, nodes) = (parts.number("base").ok()?, parts.number("nodes").ok()?);
    if is_matrix_market(&path)
        && let Some((head, _, span)) =
            parts.parts.iter().find(|p| !["file", "batch"].contains(&p.0))
    {
        let label = format!("`{head}` is for lists of edges");
        reader.error(*span, "a Matrix Market file says this itself", label);
        return None;
    }
    let fits = base.is_none_or(|base: u32| base <= 1)
        && nodes.is_none_or(|nodes| nodes <= LIMIT)
        && only(&["file", "base", "nodes", "undirected"])
        && !is_whole;
    let options = EdgeListOptions { base: base.unwrap_or(0), nodes, undirected };
    fits.then_some(Origin::Graph { from: GraphFrom::File { path, options }, batch, copies })
}

fn triples(reader: &mut Reader, items: &[Sexp]) -> Option<Origin> {
    let parts = Parts::read(reader, items, &["kind", "scale", "batch"])?;
    let batch = parts.number("batch").ok()?;
    let scale = scale(&parts)?;
    let [kind] = parts.get("kind")? else { return None };
    let word = reader.word("a kind of triples", kind)?;
    let triples = known_triples(word, scale);
    if triples.is_none() {
        reader.errors.push(suggest::unknown("kind", word, kind.span, triples_names()));
    }
    Some(Origin::Triples { from: triples?, batch })
}

/// Returns the scale, 1 if not given; `None` if it is not above 0.
fn scale(parts: &Parts) -> Option<f64> {
    let scale = parts.number("scale").ok()?.unwrap_or(1.0);
    (f64::is_finite(scale) && scale > 0.0).then_some(scale)
}

/// Declares the readers of sources that take a part of an origin.
macro_rules! parts {
    ($($name:ident => $part:ident),*) => {$(
        pub(super) fn $name(reader: &mut Reader, _: &Input, args: &[Sexp]) -> Option<Source> {
            part(reader, args, Part::$part)
        }
    )*};
}

parts! {
    offsets_of => Offsets, neighbours_of => Neighbours, values_of => Values,
    heads_of => Heads, relations_of => Relations, tails_of => Tails
}

fn part(reader: &mut Reader, args: &[Sexp], part: Part) -> Option<Source> {
    let [name] = args else { return None };
    let word = reader.word("a name", name)?.to_owned();
    let what = if part.of_graph() { "graph" } else { "triples" };
    match reader.origins.get(&word) {
        Some((origin, _)) if matches!(origin, Origin::Graph { .. }) == part.of_graph() => {
            Some(Source::Part { of: word, part })
        }
        Some((_, declared)) => {
            let message = format!("`{word}` is not a {what}").replace("a triples", "triples");
            let error = Diagnostic::error(message, name.span, "of another kind");
            reader.errors.push(error.with_related(*declared, "declared here"));
            None
        }
        None => {
            let names = reader.origins.keys().map(String::as_str);
            let error = suggest::unknown(what, &word, name.span, names);
            let help = format!("add `({what} {word} …)` to the data form");
            let help = error.help.clone().unwrap_or(help);
            reader.errors.push(error.with_help(help));
            None
        }
    }
}
