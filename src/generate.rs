//! The `gen` command: writes bags, graphs, triples, block patterns or a program to files, from a few numbers and a
//! seed. [`ember_model::data`] draws the data, the same as a model file draws from the same seed; this module defines
//! the options and writes the result.
//!
//! All data is streamed: a graph needs a few numbers per node in memory, bags need one table's lookups. Compressed rows
//! of a graph (`npy`) need its edges once, since the edges of an undirected graph are not drawn in row order.

mod write;

use crate::cli::rule_paths::RulePaths;
use clap::{Args, Subcommand};
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::{rules, suggest};
use ember_model::data::blocks::BlockPattern;
use ember_model::data::graph::{
    Graph, GraphModel, Triples, graph_names, known_graph, known_triples, triples_names,
};
use ember_model::data::{Locality, bag_lookups, bag_offsets, indices_seed};
use ember_tools::progress::Line;
use ember_tools::selftest::Made;
use std::path::PathBuf;
use thiserror::Error;
use write::{Format, Outputs, each};

/// The kind of data to generate.
#[derive(Debug, Subcommand)]
pub enum What {
    /// Bags of lookups into tables that stand one after another.
    ///
    /// A lookup's locality is a distribution of reuse distances, the numbers of distinct other rows
    /// looked up since the last lookup of a row. The share of lookups below 256, 2048 and 16384 rows
    /// is 2, 5 and 15 % (low); 20, 40 and 60 % (medium); 55, 80 and 92 % (high).
    #[command(
        after_help = "Example:\n  ember-rewrite gen bags --tables 8 --rows 100000 --bags 256 \
                            --lookups 80 --locality low -o rm1.npy\n\nAs tsv, a line is a bag; as \
                            npy, NAME.offsets.npy and NAME.indices.npy."
    )]
    Bags(Bags),
    /// A graph of the size and kind of a published one.
    #[command(after_help = "Example:\n  ember-rewrite gen graph --kind wiki-Talk --scale 0.1 \
                            -o talk.mtx\n\nAs tsv, a line is an edge, counted from 0, an \
                            undirected one once; as mtx, a Matrix Market pattern; as npy, \
                            compressed rows in NAME.offsets.npy and NAME.indices.npy.")]
    Graph(GraphArgs),
    /// Triples of a knowledge graph, entities and relations Zipf-distributed.
    #[command(
        after_help = "Example:\n  ember-rewrite gen triples --kind biokg --scale 0.01\n\nAs \
                            tsv, a line is head, relation and tail; as npy, NAME.heads.npy, \
                            NAME.relations.npy and NAME.tails.npy."
    )]
    Triples(TriplesArgs),
    /// A BigBird pattern: the key blocks that each block of queries attends to.
    #[command(after_help = "Example:\n  ember-rewrite gen blocks --tokens 4096 --block-size 64 \
                            -o bigbird.npy\n\nA row holds window, global and random blocks.")]
    Blocks(Blocks),
    /// A program of one processor with its declarations, as `equiv` reads it.
    #[command(after_help = "Example:\n  ember-rewrite gen program --seed 7 --size 2")]
    Program(Program),
}

/// The destination of the generated data.
#[derive(Debug, Args)]
struct To {
    /// The seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The file; several where a format needs them [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The format [default: by the file's name, else tsv].
    #[arg(long, value_enum)]
    format: Option<Format>,
}

/// Bags.
#[derive(Debug, Args)]
pub struct Bags {
    /// Tables.
    #[arg(long, value_name = "N", default_value_t = 1)]
    tables: u64,
    /// Rows of a table.
    #[arg(long, value_name = "N")]
    rows: u64,
    /// Bags of a table.
    #[arg(long, value_name = "N")]
    bags: u64,
    /// Lookups of a bag; their mean, with `--empty`.
    #[arg(long, value_name = "N")]
    lookups: u64,
    /// Makes bags ragged: this share is empty, and the lengths of the others are uniform.
    #[arg(long, value_name = "SHARE")]
    empty: Option<f64>,
    /// The lookups' locality.
    #[arg(long, value_name = "low|medium|high", value_parser = locality, default_value = "medium")]
    locality: Locality,
    #[command(flatten)]
    to: To,
}

/// A graph.
#[derive(Debug, Args)]
pub struct GraphArgs {
    /// The published graph that it is like.
    #[arg(long, value_name = "NAME", required_unless_present_all = ["nodes", "edges"])]
    kind: Option<String>,
    /// What the published graph's nodes and edges are multiplied by.
    #[arg(long, value_name = "FACTOR", value_parser = scale, default_value_t = 1.0)]
    scale: f64,
    /// Nodes of a graph of one's own.
    #[arg(long, value_name = "N", conflicts_with = "kind", requires = "edges")]
    nodes: Option<u64>,
    /// Its edges.
    #[arg(long, value_name = "N", conflicts_with = "kind", requires = "nodes")]
    edges: Option<u64>,
    /// Makes it a grid, not R-MAT.
    #[arg(long, conflicts_with = "kind")]
    grid: bool,
    /// Makes its edges lead both ways.
    #[arg(long, conflicts_with = "kind")]
    undirected: bool,
    #[command(flatten)]
    to: To,
}

/// Triples.
#[derive(Debug, Args)]
pub struct TriplesArgs {
    /// The published knowledge graph that they are like.
    #[arg(long, value_name = "NAME")]
    kind: String,
    /// What its entities and triples are multiplied by.
    #[arg(long, value_name = "FACTOR", value_parser = scale, default_value_t = 1.0)]
    scale: f64,
    #[command(flatten)]
    to: To,
}

/// A block pattern.
#[derive(Debug, Args)]
pub struct Blocks {
    /// The length of the sequence.
    #[arg(long, value_name = "N")]
    tokens: u64,
    /// Tokens of a block.
    #[arg(long, value_name = "N", default_value_t = 64)]
    block_size: u64,
    /// Blocks around each one's own place, itself among them.
    #[arg(long, value_name = "N", default_value_t = 3)]
    window: u64,
    /// Blocks at the start of the sequence.
    #[arg(long, value_name = "N", default_value_t = 2)]
    global: u64,
    /// Blocks at random.
    #[arg(long, value_name = "N", default_value_t = 3)]
    random: u64,
    #[command(flatten)]
    to: To,
}

/// A program.
#[derive(Debug, Args)]
pub struct Program {
    /// About how many levels of statements and of values it has.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(..=6))]
    size: u32,
    /// The seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    rules: RulePaths,
    /// The file [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The error of a word on the command line that an option does not accept.
#[derive(Clone, Debug, PartialEq, Eq, Error)]

pub enum NotAWord {
    #[error("{0}")]
    Locality(String),
    #[error("not a number")]
    NotANumber,
    #[error("not above 0")]
    NotPositive,
}

fn locality(word: &str) -> Result<Locality, NotAWord> {
    let known = || Locality::ALL.into_iter();
    known().find(|l| l.name() == word).ok_or_else(|| {
        let help = suggest::help(word, known().map(Locality::name));
        NotAWord::Locality(help.unwrap_or_else(|| "no such locality".to_owned()))
    })
}

/// Parses a factor of sizes on the command line.
pub fn scale(word: &str) -> Result<f64, NotAWord> {
    let scale: f64 = word.parse().map_err(|_| NotAWord::NotANumber)?;
    if scale.is_finite() && scale > 0.0 { Ok(scale) } else { Err(NotAWord::NotPositive) }
}

fn error(message: impl Into<String>, help: Option<String>) -> Vec<Diagnostic> {
    vec![Diagnostic { help, ..Diagnostic::global(message) }]
}

/// Generates and writes. Sizes beyond what can be drawn, unknown names and files that cannot be
/// written are errors.
pub fn run(sources: &mut Sources, what: &What, line: &Line) -> Checked<()> {
    match what {
        What::Bags(bags) => bags.run(line),
        What::Graph(graph) => graph.run(line),
        What::Triples(triples) => triples.run(line),
        What::Blocks(blocks) => blocks.run(),
        What::Program(Program { size, seed, rules, output }) => {
            let (book, _) = rules::load(sources, &rules.rules)?;
            let text = Made::random(&book, *seed, *size).text(&book.signature);
            let outputs = Outputs::of(output, Some(Format::Tsv), &[Format::Tsv])?;
            outputs.text(|out| out.words(format_args!("{}", text.trim_end())))
        }
    }
}

impl Bags {
    fn run(&self, line: &Line) -> Checked<()> {
        let outputs = Outputs::of(&self.to.output, self.to.format, &[Format::Tsv, Format::Npy])?;
        if self.empty.is_some_and(|empty| !(0.0..1.0).contains(&empty)) {
            return Err(error("a share of empty bags is at least 0 and below 1", None));
        }
        if self.rows == 0 && self.bags > 0 && self.lookups > 0 {
            return Err(error("a table without rows takes no lookups", None));
        }
        let whole = [self.rows, self.bags].map(|n| n.checked_mul(self.tables));
        if whole.iter().any(|n| n.is_none_or(|n| n >= i64::MAX as u64)) {
            return Err(error("more rows or bags than 64-bit integers count", None));
        }
        // Bags are drawn twice, once for their starts and once for their lookups, so that no two tables are in memory
        // at a time.
        let starts = |table: u64| {
            bag_offsets(self.bags, self.lookups, self.empty, self.to.seed, table)
                .ok_or_else(|| error("more lookups of a table than memory holds", None))
        };
        let lookups = |table: u64, count: u64| {
            let drawn = bag_lookups(self.locality, self.rows, count, self.to.seed, table);
            drawn.into_iter().map(move |row| row + (table * self.rows) as i64)
        };
        let say = |table: u64| line.part(table as usize, self.tables as usize, "tables");
        if outputs.format == Format::Tsv {
            return outputs.text(|out| {
                for table in 0..self.tables {
                    say(table);
                    let starts = starts(table)?;
                    let mut drawn = lookups(table, starts.last().map_or(0, |n| *n as u64));
                    for bounds in starts.windows(2) {
                        let bag = drawn.by_ref().take((bounds[1] - bounds[0]) as usize);
                        out.line(bag)?;
                    }
                }
                Ok(())
            });
        }
        let mut total = 0;
        outputs.array("offsets", &[self.tables * self.bags + 1], |out| {
            out.number(0)?;
            for table in 0..self.tables {
                let starts = starts(table)?;
                each(&starts[1..], |end| out.number(total + end))?;
                total += starts.last().copied().unwrap_or(0);
            }
            Ok(())
        })?;
        outputs.array("indices", &[total as u64], |out| {
            for table in 0..self.tables {
                say(table);
                let count = starts(table)?.last().map_or(0, |n| *n as u64);
                each(lookups(table, count), |row| out.number(row))?;
            }
            Ok(())
        })
    }
}

impl GraphArgs {
    fn graph(&self) -> Checked<Graph> {
        match (&self.kind, self.nodes, self.edges) {
            (Some(kind), _, _) => known_graph(kind, self.scale).ok_or_else(|| {
                error(format!("unknown graph `{kind}`"), suggest::help(kind, graph_names()))
            }),
            (None, nodes, edges) => Ok(Graph {
                nodes: nodes.unwrap_or(0),
                edges: edges.unwrap_or(0),
                directed: !self.undirected,
                model: if self.grid { GraphModel::Grid } else { GraphModel::RMat },
            }),
        }
    }

    fn run(&self, line: &Line) -> Checked<()> {
        let formats = [Format::Tsv, Format::Mtx, Format::Npy];
        let outputs = Outputs::of(&self.to.output, self.to.format, &formats)?;
        let graph = self.graph()?;
        line.say(format!("counting the edges of {} nodes", graph.nodes));
        let edges =
            graph.generate(self.to.seed).map_err(|problem| error(problem.what, problem.help))?;
        let name = self.kind.as_deref().unwrap_or("graph");
        let say = |row: u64| {
            if row.is_multiple_of(1 << 14) {
                line.part(row as usize, graph.nodes as usize, "nodes");
            }
        };
        match outputs.format {
            Format::Tsv => outputs.text(|out| {
                let ways = if graph.directed { "directed" } else { "undirected" };
                out.words(format_args!("# {name}, seed {}, {ways}", self.to.seed))?;
                out.words(format_args!("# Nodes: {} Edges: {}", graph.nodes, graph.edges))?;
                for (from, row) in (0..).zip(edges.rows()) {
                    say(from);
                    each(row, |to| out.line([from as i64, i64::from(to)]))?;
                }
                Ok(())
            }),
            Format::Mtx => outputs.text(|out| {
                let symmetry = if graph.directed { "general" } else { "symmetric" };
                out.words(format_args!("%%MatrixMarket matrix coordinate pattern {symmetry}"))?;
                out.words(format_args!("% {name}, seed {}", self.to.seed))?;
                out.words(format_args!("{0} {0} {1}", graph.nodes, graph.edges))?;
                for (from, row) in (0..).zip(edges.rows()) {
                    say(from);
                    for to in row.into_iter().map(u64::from) {
                        // A symmetric file holds the lower triangle.
                        let swap = !graph.directed && to > from;
                        let (row, column) = if swap { (to, from) } else { (from, to) };
                        out.words(format_args!("{} {}", row + 1, column + 1))?;
                    }
                }
                Ok(())
            }),
            Format::Npy => {
                let matrix = edges.matrix(graph.nodes);
                outputs.array("offsets", &[matrix.offsets.len() as u64], |out| {
                    each(&matrix.offsets, |n| out.number(*n as i64))
                })?;
                outputs.array("indices", &[matrix.columns.len() as u64], |out| {
                    each(&matrix.columns, |n| out.number(i64::from(*n)))
                })
            }
        }
    }
}

impl TriplesArgs {
    fn run(&self, line: &Line) -> Checked<()> {
        let outputs = Outputs::of(&self.to.output, self.to.format, &[Format::Tsv, Format::Npy])?;
        let known: Triples = known_triples(&self.kind, self.scale).ok_or_else(|| {
            let help = suggest::help(&self.kind, triples_names());
            error(format!("unknown knowledge graph `{}`", self.kind), help)
        })?;
        line.say(format!("{} triples", known.triples));
        let drawn = || known.generate(self.to.seed).map(|triple| triple.map(|n| n as i64));
        if outputs.format == Format::Tsv {
            return outputs.text(|out| each(drawn(), |triple| out.line(triple)));
        }
        for (part, name) in ["heads", "relations", "tails"].into_iter().enumerate() {
            let write = |out: &mut write::Out| each(drawn(), |triple| out.number(triple[part]));
            outputs.array(name, &[known.triples], write)?;
        }
        Ok(())
    }
}

impl Blocks {
    fn run(&self) -> Checked<()> {
        let outputs = Outputs::of(&self.to.output, self.to.format, &[Format::Tsv, Format::Npy])?;
        let pattern =
            BlockPattern { window: self.window, global: self.global, random: self.random };
        if self.block_size == 0 || !self.tokens.is_multiple_of(self.block_size) {
            let message = format!("{} tokens in blocks of {}", self.tokens, self.block_size);
            return Err(error(message, Some("the sequence consists of whole blocks".to_owned())));
        }
        let blocks = self.tokens / self.block_size;
        let Some(width) = pattern.width().filter(|width| *width <= blocks) else {
            let message = format!("a pattern wider than the sequence of {blocks} blocks");
            let help = "the blocks of a row all differ".to_owned();
            return Err(error(message, Some(help)));
        };
        let rows =
            || (0..blocks).map(|query| pattern.row(query, blocks, indices_seed(self.to.seed)));
        if outputs.format == Format::Tsv {
            return outputs.text(|out| each(rows(), |row| out.line(row.iter().map(|n| *n as i64))));
        }
        outputs.array("", &[blocks, width], |out| {
            each(rows().flatten(), |block| out.number(block as i64))
        })
    }
}
