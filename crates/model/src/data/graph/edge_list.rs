//! Lists of edges: one pair of nodes per line, separated by white space or commas, with an optional third number, the
//! edge's value. Lines that start with `#` or `%` are comments. SNAP's files have this format.

use super::csr::{Csr, Entries, ROW_BYTES};
use super::lines::Lines;
use super::{LIMIT, Problem};
use std::io::BufRead;

/// The bytes held for each edge while it is read and placed.
const EDGE_BYTES: u64 = 48;

/// The properties that the text of an edge list does not contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeListOptions {
    /// The number of the first node, 0 or 1.
    pub base: u32,
    /// The number of nodes; one more than the highest node if not given.
    pub nodes: Option<u64>,
    /// True if edges are undirected.
    pub undirected: bool,
}

/// Reads a list of edges.
pub(super) fn read<R: BufRead>(
    mut lines: Lines<R>,
    options: &EdgeListOptions,
) -> Result<Csr, Problem> {
    let mut entries = Entries { mirrored: options.undirected, ..Entries::default() };
    let mut highest = None;
    while let Some(line) = lines.next()? {
        if line.is_empty() || line.starts_with(['#', '%']) {
            continue;
        }
        let line = line.to_owned();
        let mut words = line.split(|c: char| c.is_whitespace() || c == ',');
        let mut words = words.by_ref().filter(|word| !word.is_empty());
        let from = node::<R>(words.next(), options, &lines)?;
        let to = node::<R>(words.next(), options, &lines)?;
        let value =
            match words.next() {
                None => None,
                Some(word) => Some(word.parse::<f64>().map_err(|_| {
                    lines.problem(format!("not a number: {}", Lines::<R>::show(word)))
                })?),
            };
        if let Some(word) = words.next() {
            return Err(lines.problem(format!("more than an edge: {}", Lines::<R>::show(word))));
        }
        if !entries.places.is_empty() && value.is_some() == entries.values.is_empty() {
            return Err(lines.problem("values at some edges only".to_owned()));
        }
        entries.values.extend(value);
        entries.places.push((from, to));
        highest = highest.max(Some(u64::from(from.max(to))));
        if entries.places.len() as u64 > crate::data::HELD_LIMIT / EDGE_BYTES {
            return Err(lines.problem("too many edges to be held in memory".to_owned()));
        }
    }
    let nodes = options.nodes.unwrap_or(highest.map_or(0, |n| n + 1));
    // One edge between large numbers makes a graph of many nodes.
    if nodes.saturating_mul(ROW_BYTES) > crate::data::HELD_LIMIT {
        let problem = Problem::new(format!("a graph of {nodes} nodes"));
        return Err(problem
            .with_help("too large to be held in memory: number the nodes from 0 without gaps"));
    }
    Ok(Csr::of_entries(&entries, nodes, nodes))
}

/// Parses a node, numbered from the list's base in the file and from 0 in the result.
fn node<R: BufRead>(
    word: Option<&str>,
    options: &EdgeListOptions,
    lines: &Lines<R>,
) -> Result<u32, Problem> {
    let Some(word) = word else { return Err(lines.problem("not a pair of nodes".to_owned())) };
    let Ok(n) = word.parse::<u64>() else {
        let problem = lines.problem(format!("not a node: {}", Lines::<R>::show(word)));
        return Err(problem.with_help("an edge is a pair of numbers"));
    };
    let base = u64::from(options.base);
    let Some(node) = n.checked_sub(base) else {
        let problem = lines.problem(format!("node {n}, but the list counts from {base}"));
        return Err(problem.with_help("give `(base 0)` if it does not"));
    };
    match options.nodes {
        Some(nodes) if node >= nodes => {
            let last = (nodes + base).saturating_sub(1);
            let problem = lines.problem(format!("node {n}, but the last of {nodes} is {last}"));
            Err(match base == 0 && n == nodes {
                true => problem.with_help("give `(base 1)` if it counts from 1"),
                false => problem,
            })
        }
        _ if node >= LIMIT => Err(lines.problem(format!("node {n} is above {LIMIT}"))),
        _ => Ok(node as u32),
    }
}
