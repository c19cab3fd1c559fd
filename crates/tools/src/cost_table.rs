//! Cost tables: a number for each operator, from a TOML file, and the cheapest term of a class.
//!
//! The cost of a term is the cost of its operator and of all its operands, as a tree: a subterm that occurs twice
//! counts twice. The machine's costs, which depend on the context of a term, are in [`ember_compile::cost`].

use egg::{CostFunction, Id, Language, Symbol};
use ember_analysis::facts::EGraph;
use ember_egraph::Extractor;
use ember_language::diagnostic::{Checked, Diagnostic, FileId, Sources, Span};
use ember_language::load::load;
use ember_language::rules::Signature;
use ember_language::suggest;
use ember_language::term::{Head, Node, Term};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Costs by operator, none below zero.
#[derive(Clone, Debug)]
pub struct Costs {
    /// The cost of operators that are not listed, of numbers and of names.
    default: f64,
    /// The costs of operators by name, for any number of arguments.
    listed: FxHashMap<Symbol, f64>,
}

/// The greatest cost of an operator, so that sums stay finite.
const MOST: f64 = 1e100;

const KEYS: [&str; 2] = ["default", "costs"];

impl Costs {
    /// Reads a table: `default = 1.0` (1 if it is missing), and a section `[costs]` with lines `"OPERATOR" = COST`.
    /// Reports all unknown operators and all costs that are not numbers of at least 0 at once.
    pub fn load(sources: &mut Sources, path: &Path, signature: &Signature) -> Checked<Costs> {
        let file = load(sources, path)?;
        let text = sources.get(file).text.clone();
        let (root, broken) = DeTable::parse_recoverable(&text);
        let mut reader = Reader { file, errors: Vec::new() };
        for error in &broken {
            reader.error(error.span().unwrap_or_default(), error.message(), "not TOML");
        }
        // A text that is not TOML gives no further meaningful errors.
        let costs = if broken.is_empty() {
            reader.costs(root.get_ref(), signature)
        } else {
            Costs { default: 1.0, listed: FxHashMap::default() }
        };
        reader.errors.sort_by_key(|error| error.at.as_ref().map(|(span, _)| span.start));
        if reader.errors.is_empty() { Ok(costs) } else { Err(reader.errors) }
    }

    /// Returns the cost of a node without its operands.
    fn of(&self, node: &Node) -> f64 {
        match node.head() {
            Head::Op(name) => self.listed.get(&name).copied().unwrap_or(self.default),
            Head::Int(_) | Head::Real(_) => self.default,
        }
    }

    /// Returns the cost of a term.
    pub fn of_term(&self, term: &Term) -> f64 {
        let mut costs: Vec<f64> = Vec::with_capacity(term.len());
        for node in term {
            let below: f64 = node.children().iter().map(|c| costs[usize::from(*c)]).sum();
            costs.push(self.of(node) + below);
        }
        costs.last().copied().unwrap_or(0.0)
    }

    /// Returns the cheapest term of each class with its cost. Ties are always broken in the same way. `None` if the
    /// nodes removed from the search leave no finite term. The e-graph must be clean.
    pub fn cheapest(&self, egraph: &EGraph, classes: &[Id]) -> Vec<Option<(f64, Term)>> {
        let extractor = Extractor::new(egraph, Paid(self));
        classes.iter().map(|class| extractor.find_best(*class)).collect()
    }
}

/// Adapts the costs to the extractor.
struct Paid<'a>(&'a Costs);

impl CostFunction<Node> for Paid<'_> {
    type Cost = f64;

    fn cost<C: FnMut(Id) -> f64>(&mut self, node: &Node, costs: C) -> f64 {
        self.0.of(node) + node.children().iter().copied().map(costs).sum::<f64>()
    }
}

struct Reader {
    file: FileId,
    errors: Vec<Diagnostic>,
}

impl Reader {
    fn error(&mut self, range: Range<usize>, message: impl Into<String>, label: &str) {
        let span = Span::new(self.file, range);
        self.errors.push(Diagnostic::error(message, span, label));
    }

    fn costs(&mut self, root: &DeTable<'_>, signature: &Signature) -> Costs {
        for (key, _) in root {
            if !KEYS.contains(&key.get_ref().as_ref()) {
                let span = Span::new(self.file, key.span());
                self.errors.push(suggest::unknown("key", key.get_ref(), span, KEYS));
            }
        }
        let default = root.get("default").and_then(|value| self.cost("default", value));
        let mut costs = Costs { default: default.unwrap_or(1.0), listed: FxHashMap::default() };
        let Some(section) = root.get("costs") else { return costs };
        let Some(table) = section.get_ref().as_table() else {
            self.error(section.span(), "`costs` is not a section", "not a section");
            return costs;
        };
        for (name, value) in table {
            let known = signature.operators().iter().map(|op| op.name.as_str());
            let operator = name.get_ref().as_ref();
            if !known.clone().any(|known| known == operator) {
                let span = Span::new(self.file, name.span());
                let error = Diagnostic::error(
                    format!("unknown operator `{operator}`"),
                    span,
                    "no dialect declares it",
                );
                self.errors.push(match suggest::did_you_mean(operator, known) {
                    Some(help) => error.with_help(help),
                    None => error,
                });
            }
            if let Some(cost) = self.cost(operator, value) {
                costs.listed.insert(Symbol::from(operator), cost);
            }
        }
        costs
    }

    fn cost(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<f64> {
        let number = match value.get_ref() {
            DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
            DeValue::Integer(number) => {
                i64::from_str_radix(number.as_str(), number.radix()).ok().map(|n| n as f64)
            }
            _ => None,
        };
        match number {
            Some(cost) if (0.0..=MOST).contains(&cost) => return Some(cost),
            Some(_) => {
                let what = format!("the cost of `{key}` is not between 0 and {MOST:e}");
                self.error(value.span(), what, "out of range");
            }
            None => {
                let what = format!("the cost of `{key}` is not a number");
                self.error(value.span(), what, "not a number");
            }
        }
        None
    }
}
