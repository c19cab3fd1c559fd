//! The `extract` command: runs extractors on an e-graph in JSON and compares what they find.

use super::output::{write_output, write_result};
use clap::Args;
use clap::builder::PossibleValuesParser;
use ember_extract::{Costs, Extractor, Fault, Graph, Selection, check, extractors, forced};
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_tools::tables::{narrow, prefixed};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// The word for every extractor.
const ALL: &str = "all";

/// The largest e-graph that is read, in bytes: some ten million nodes.
const LIMIT: u64 = 1 << 30;

/// The number of faults that are reported.
const FAULTS: usize = 20;

/// Options of `extract`.
#[derive(Debug, Args)]
pub(super) struct ExtractArgs {
    /// The e-graph: JSON in the format of `egraph-serialize`.
    file: PathBuf,
    /// An extractor to run; may be given again.
    #[arg(long = "extractor", value_name = "NAME", default_value = ALL, value_parser = names())]
    extractors: Vec<String>,
    /// Write the selection of least DAG cost to a file, as an e-graph with one node in each class.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print a JSON array with an object for each extractor.
    #[arg(long)]
    json: bool,
}

fn names() -> PossibleValuesParser {
    let names = extractors().into_iter().map(|extractor| extractor.name());
    PossibleValuesParser::new(names.chain([ALL]))
}

/// The result of one extractor.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Extract")]
pub(super) struct Row {
    /// The extractor.
    extractor: &'static str,
    /// The sum of the costs of the roots' terms, with a subterm as often as it occurs; `null` if it is above every
    /// double.
    tree_cost: f64,
    /// The sum of the costs of the chosen nodes, each once.
    dag_cost: f64,
    /// Milliseconds of the extraction alone.
    time_ms: f64,
    /// The share of the bound by which the DAG cost may be above the least one; `null` if the bound is 0 and the cost is
    /// not.
    gap: Option<f64>,
    /// The highest DAG cost that some extractor has shown no selection to be below.
    bound: f64,
    /// The limit that ended the extractor before its end, if one did.
    unfinished: Option<&'static str>,
}

impl ExtractArgs {
    pub(super) fn run(&self, sources: &Sources) -> Checked<ExitCode> {
        let graph = read(sources, &self.file)?;
        let asked = |name: &str| self.extractors.iter().any(|asked| asked == name || asked == ALL);
        let found: Vec<(Row, Selection)> = extractors()
            .iter()
            .filter(|extractor| asked(extractor.name()))
            .map(|extractor| row(&graph, &**extractor))
            .collect::<Checked<_>>()?;
        let bound = found.iter().map(|(row, _)| row.bound).fold(forced(&graph), f64::max);
        let best = found.iter().min_by(|(a, _), (b, _)| a.dag_cost.total_cmp(&b.dag_cost));
        if let (Some(path), Some((_, selection))) = (&self.output, best) {
            write_output(path, graph.to_json(selection))?;
        }
        let rows: Vec<Row> = found.into_iter().map(|(row, _)| row.with(bound)).collect();
        let text = if self.json { json(&rows) } else { text(&graph, &rows) };
        write_result(None, &text)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn read(sources: &Sources, path: &Path) -> Checked<Graph> {
    let shown = path.display();
    let fail = |reason: String| Diagnostic::global(format!("{shown}: {reason}"));
    let bytes = sources.files().read(path, LIMIT).map_err(|e| vec![fail(e.to_string())])?;
    let text = String::from_utf8(bytes)
        .map_err(|_| vec![fail("not UTF-8 text".to_owned()).with_help("save the file as UTF-8")])?;
    Graph::from_json(&text).map_err(|faults| {
        let error = |fault: &Fault| fail(fault.to_string()).with_help(fault.help());
        let mut errors: Vec<Diagnostic> = faults.iter().take(FAULTS).map(error).collect();
        if faults.len() > FAULTS {
            errors.push(fail(format!("{} more errors", faults.len() - FAULTS)));
        }
        errors
    })
}

/// Runs an extractor.
fn row(graph: &Graph, extractor: &dyn Extractor) -> Checked<(Row, Selection)> {
    let start = Instant::now();
    let found = extractor.extract(graph);
    let time_ms = start.elapsed().as_secs_f64() * 1e3;
    let name = extractor.name();
    let Costs { tree, dag } = check(graph, &found.selection)
        .map_err(|broken| vec![Diagnostic::global(format!("`{name}` failed: {broken}"))])?;
    let row = Row {
        extractor: name,
        tree_cost: tree,
        dag_cost: dag,
        time_ms,
        gap: None,
        bound: found.bound,
        unfinished: found.unfinished,
    };
    Ok((row, found.selection))
}

impl Row {
    /// Sets the bound that is known in the end, and the gap to it.
    fn with(self, bound: f64) -> Row {
        // Sums in another order differ in their last bits.
        let above = (self.dag_cost - bound).max(0.0);
        let gap = if above <= 1e-9 * bound { Some(0.0) } else { Some(above / bound) };
        Row { bound, gap: gap.filter(|gap| gap.is_finite()), ..self }
    }
}

fn json(rows: &[Row]) -> String {
    // Plain data with string keys cannot fail to be written.
    serde_json::to_string_pretty(rows).map(|text| text + "\n").unwrap_or_default()
}

fn text(graph: &Graph, rows: &[Row]) -> String {
    let mut table = narrow(&["extractor", "tree cost", "DAG cost", "gap", "time"]);
    for row in rows {
        let gap = row.gap.map_or("-".to_owned(), |gap| format!("{:.2} %", gap * 100.0));
        let costs = [row.tree_cost, row.dag_cost].map(number);
        let [tree, dag] = costs;
        table.add_row([row.extractor.to_owned(), tree, dag, gap, prefixed(row.time_ms / 1e3, "s")]);
    }
    let bound = rows.first().map_or(0.0, |row| row.bound);
    let (classes, nodes) = (graph.classes().len(), graph.nodes().len());
    let mut text = format!(
        "{table}\nneeded: {nodes} nodes in {classes} classes; no DAG cost is below {}\n",
        number(bound)
    );
    for row in rows {
        let unfinished = row.unfinished.map(|limit| format!("{}: {limit}\n", row.extractor));
        text += &unfinished.unwrap_or_default();
    }
    text
}

/// Formats a cost in few characters.
fn number(cost: f64) -> String {
    match cost {
        _ if cost.is_infinite() => "above 1.8e308".to_owned(),
        _ if cost >= 1e9 => format!("{cost:.4e}"),
        _ => {
            let text = format!("{cost:.3}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}
