//! Rewrites a term with sets of rules and lists every form of the term after saturation.
//!
//! A case consists of `(rules SET …)`, `(model "FILE")` for the tensors that the term mentions, and the term. Each
//! e-node of the term's class is one form, its operands written as their smallest terms.

use egg::{AstSize, Language, RecExpr};
use ember_analysis::facts::{EGraph, Facts, VectorUnit};
use ember_compile::pipeline::{self, Inputs, Options};
use ember_egraph::Extractor;
use ember_engine::CompiledRule;
use ember_engine::saturate::{Limits, saturate};
use ember_host::Disk;
use ember_language::diagnostic::{Diagnostic, Sources};
use ember_language::load::load;
use ember_language::print_term::print_term;
use ember_language::sexp::{self, Sexp};
use ember_language::term::{Node, Term};
use ember_tools::render::render;
use std::path::Path;

/// Returns the forms of a case's term.
pub fn forms(path: &Path) -> Result<String, String> {
    let mut sources = Sources::new(Disk);
    let file = load(&mut sources, path).map_err(|e| show(&sources, &e))?;
    let parts = sexp::read(&sources, file).map_err(|e| show(&sources, &e))?;
    let [rules, model, term] = parts.as_slice() else {
        return Err("a case is (rules SET …) (model \"FILE\") TERM".to_owned());
    };
    let model = argument(model, "model").and_then(Sexp::text).ok_or("expected (model \"FILE\")")?;
    let read = pipeline::read(&mut sources, Path::new(model), &Options::default());
    let inputs = read.map_err(|e| show(&sources, &e))?;
    let rules = chosen(&inputs, rules)?;
    let (term, _) = inputs.book.signature.read_term(term).map_err(|e| show(&sources, &e))?;
    let (egraph, stop) = saturated(&inputs, &rules, &term);
    let root = egraph.lookup_expr(&term).ok_or("the term is gone")?;
    Ok(format!("; {stop}\n{}", listed(&egraph, root)))
}

fn argument<'a>(form: &'a Sexp, head: &str) -> Option<&'a Sexp> {
    match form.form() {
        Some((found, [only])) if found == head => Some(only),
        _ => None,
    }
}

fn chosen<'a>(inputs: &'a Inputs, form: &Sexp) -> Result<Vec<&'a CompiledRule>, String> {
    let Some(("rules", sets)) = form.form() else { return Err("expected (rules SET …)".into()) };
    let mut rules = Vec::new();
    for name in sets {
        let name = name.atom().ok_or("expected the name of a set")?;
        let set = inputs.book.set(name).ok_or_else(|| format!("no rule set is named {name}"))?;
        rules.extend(set.rules.iter().map(|rule| &inputs.compiled[*rule]));
    }
    Ok(rules)
}

fn saturated(inputs: &Inputs, rules: &[&CompiledRule], term: &Term) -> (EGraph, String) {
    let context = inputs.context();
    let operators = inputs.book.signature.table().clone();
    let facts = Facts::new(&context.tensors, &context.sizes, operators, VectorUnit::default());
    let mut egraph = EGraph::new(facts);
    egraph.add_expr(term);
    egraph.rebuild();
    let limits = Limits { iterations: 30, nodes: 10_000 };
    let stop = saturate(&mut egraph, rules, &limits).stop.to_string();
    (egraph, stop)
}

/// Returns the nodes of a class, in the order of their texts.
fn listed(egraph: &EGraph, class: egg::Id) -> String {
    let smallest = Extractor::new(egraph, AstSize);
    let form = |node: &Node| {
        let mut term = RecExpr::default();
        let node = node.clone().map_children(|child| {
            let (_, operand) = smallest.find_best(child).expect("a finite term");
            append(&mut term, &operand)
        });
        term.add(node);
        format!("\n{}\n", print_term(&term).trim_end())
    };
    let mut forms: Vec<String> = egraph[class].nodes.iter().map(form).collect();
    forms.sort();
    forms.concat()
}

/// Appends a term to another and returns its root there.
fn append(to: &mut Term, term: &Term) -> egg::Id {
    let mut ids: Vec<egg::Id> = Vec::with_capacity(term.len());
    for node in term {
        let node = node.clone().map_children(|child| ids[usize::from(child)]);
        ids.push(to.add(node));
    }
    ids.last().copied().unwrap_or_default()
}

fn show(sources: &Sources, errors: &[Diagnostic]) -> String {
    render(sources, errors, false)
}
