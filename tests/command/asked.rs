//! Tests the questions about a search: why a rule did not fire, how a program was derived, what each rule did, and the
//! form of the e-graph. The answers must agree with the search itself.

use crate::common::{OPT, ember, inputs, options};
use crate::samples::samples;
use egg::{Id, Language};
use egraph_serialize::EGraph;
use ember_compile::pipeline::{Case, Options, search, store};
use ember_compile::workload::Statistics;
use ember_language::term::Term;
use ember_prove::chains::{By, Step, subterm};
use ember_tools::explain::{self};
use ember_tools::progress::Line;
use ember_tools::why_not::{self, Cause};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// One or more models of every family.
const MODELS: [&str; 7] =
    ["bag", "bag_quantised", "gather_two", "mp_sigmoid", "block_gather", "kg_rotate", "dense"];

fn path(model: &str) -> String {
    format!("tests/models/{model}.sexp")
}

/// Returns options that rank without running candidates.
fn unranked() -> Options {
    Options { rank: false, ..options() }
}

#[test]
fn every_answer_agrees_with_what_the_search_reports() {
    let (inputs, options) = (inputs(&path("gather")), unranked());
    let instance = inputs.model.instantiate(None).expect("data");
    let store = store(&instance);
    let statistics = Statistics::new(&inputs.model, &instance, &store, &inputs.machine);
    let schedule = inputs.schedule(&options.schedule).expect("a schedule");
    let goal = ember_compile::cost::Goal::Decoupled;
    let searched = search(&inputs, &statistics, &options, schedule, goal, &|_| ());
    let mut applied: BTreeMap<&str, usize> = BTreeMap::new();
    for saturation in searched.found.values().flat_map(|found| &found.saturations) {
        for report in &saturation.rules {
            *applied.entry(report.rule).or_default() += report.applications;
        }
    }
    let fired = searched.fired();
    let mut seen = BTreeSet::new();
    let case = Case::new(&inputs.model, options.seed, options.exact).expect("data");
    let asked = why_not::Search::new(&inputs, &options, &case, None, &Line::hidden());
    let asked = asked.unwrap_or_else(|errors| panic!("{errors:?}"));
    for rule in &inputs.book.rules {
        let name = rule.name.as_str();
        let answer = asked.why_not(name);
        let answer = answer.unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
        let expected = match answer.cause {
            Cause::NotInSchedule | Cause::NotExact => !applied.contains_key(name),
            Cause::KnownAlready => applied[name] > 0 && !fired.contains(name),
            Cause::NotFinished | Cause::Pruned | Cause::NotChosen | Cause::Fired | Cause::Used => {
                fired.contains(name)
            }
            _ => applied[name] == 0,
        };
        assert!(expected, "{answer:#?}\napplied: {:?}", applied.get(name));
        seen.insert(answer.cause);
    }
    assert!(seen.len() >= 8, "{seen:?}");
}

/// Returns the text of a term with the subterm at a position replaced.
fn replaced(whole: &Term, position: &[usize], part: &Term) -> String {
    fn write(term: &Term, at: Id, position: Option<&[usize]>, part: &str, text: &mut String) {
        if position == Some(&[]) {
            return text.push_str(part);
        }
        let node = &term[at];
        let (open, close) = if node.children().is_empty() { ("", "") } else { ("(", ")") };
        text.push_str(open);
        text.push_str(&node.to_string());
        for (argument, child) in node.children().iter().enumerate() {
            let below = position.filter(|p| p[0] == argument).map(|p| &p[1..]);
            text.push(' ');
            write(term, *child, below, part, text);
        }
        text.push_str(close);
    }
    let mut text = String::new();
    let root = Id::from(whole.len() - 1);
    write(whole, root, Some(position), &explain::text(part), &mut text);
    text
}

fn check(step: &Step, before: &Term, what: &str) {
    assert_eq!(step.doubt, None, "{what}: {step:?}");
    assert_eq!(subterm(before, &step.position).as_ref(), Some(&step.before), "{what}");
    assert_eq!(replaced(before, &step.position, &step.after), explain::text(&step.whole), "{what}");
    if let By::Rule { substitution, .. } = &step.by {
        assert!(!substitution.is_empty() || step.before.len() == 1, "{what}: {step:?}");
    }
}

#[test]
fn explanations_lead_from_the_model_to_the_program() {
    for (first, model) in MODELS.into_iter().enumerate() {
        let inputs = inputs(&path(model));
        let some = OPT.into_iter().cycle().skip(first).take(samples(1).min(OPT.len()));
        for schedule in some.chain(["search"]) {
            let what = format!("{model}, {schedule}");
            let options = Options { schedule: schedule.to_owned(), ..unranked() };
            let explained = explain::explain(&inputs, &options, None, &Line::hidden());
            let explained = explained.unwrap_or_else(|errors| panic!("{what}: {errors:?}"));
            for group in &explained.groups {
                let chain = group.chain.as_ref().unwrap_or_else(|gap| panic!("{what}: {gap:?}"));
                assert!(!chain.steps.is_empty(), "{what}");
                for (step, before) in chain.steps.iter().zip(chain.terms()) {
                    check(step, before, &what);
                }
                assert_eq!(group.prices.len(), chain.steps.len() + 1, "{what}");
                let last = group.prices.last().copied().flatten();
                assert!(last.is_some(), "{what}: the last term is no finished program");
            }
        }
    }
}

fn run(words: &[&str]) -> String {
    let ran = ember(words);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{words:?}");
    ran.out
}

#[test]
fn the_trace_adds_up() {
    let ran = run(&["--trace", "--json", &path("bag")]);
    let report: Value = serde_json::from_str(&ran).expect("JSON");
    let groups = report["trace"].as_array().expect("a trace");
    assert_eq!(groups[0]["statements"][0], "out");
    for stage in groups.iter().flat_map(|group| group["stages"].as_array().expect("stages")) {
        for rule in stage["rules"].as_array().expect("rules") {
            let count = |key: &str| rule[key].as_u64().expect("a count");
            let growth = rule["growth"].as_array().expect("growth");
            let grown: u64 = growth.iter().filter_map(Value::as_u64).sum();
            assert_eq!(grown, count("nodes"), "{rule}");
            assert!(
                growth.len() as u64 <= stage["iterations"].as_u64().expect("a count"),
                "{rule}"
            );
            assert!(count("unions") <= count("applications"), "{rule}");
            assert!(rule["time_ms"].is_f64(), "{rule}");
        }
    }
    let text = run(&["--trace", &path("bag")]);
    assert!(text.contains("Saturation 1 of out: "), "{text}");
    let without = run(&["--json", &path("bag")]);
    let without: Value = serde_json::from_str(&without).expect("JSON");
    assert!(without.get("trace").is_none());
}

#[test]
fn e_graphs_are_written_for_viewers() {
    for words in [["--schedule", "emb-opt1", "bag"], ["--statement", "0", "gcn"]] {
        let [option, value, model] = words;
        let model = path(model);
        let text = run(&["--emit", "egraph-json", option, value, &model]);
        assert_eq!(text, run(&["--emit", "egraph-json", option, value, &model]));
        let egraph: EGraph = serde_json::from_str(&text).expect("what the crate reads");
        egraph.test_round_trip();
        let children = || egraph.nodes.values().flat_map(|node| &node.children);
        assert!(children().all(|child| egraph.nodes.contains_key(child)));
        let [root] = egraph.root_eclasses.as_slice() else { panic!("one root") };
        assert!(egraph.classes().contains_key(root));
        let data = &egraph.class_data[root];
        assert_eq!(data.typ.as_deref(), Some("Slc"));
        assert!(data.extra.contains_key("estimate_cycles") && data.extra.contains_key("best"));
        assert!(egraph.class_data.values().all(|class| class.typ.is_some()));

        let dot = run(&["--emit", "dot", option, value, &model]);
        assert_eq!(declared(&dot), egraph.nodes.len());
        assert_eq!(dot.matches(" -> ").count(), children().count());
    }
}

/// Checks the form of Graphviz text: brackets and quotes are closed and both ends of every edge are declared. Returns
/// the number of nodes.
fn declared(dot: &str) -> usize {
    let (mut open, mut quoted, mut escaped) = (Vec::new(), false, false);
    for c in dot.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' | '[' if !quoted => open.push(c),
            '}' if !quoted => assert_eq!(open.pop(), Some('{')),
            ']' if !quoted => assert_eq!(open.pop(), Some('[')),
            '\n' => assert!(!quoted),
            _ => {}
        }
    }
    assert!(open.is_empty() && !quoted);
    let name = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
    let is_node = |line: &&str| line.starts_with("    n");
    let nodes: BTreeSet<String> = dot.lines().filter(is_node).map(name).collect();
    for (from, to) in dot.lines().filter_map(|line| line.split_once(" -> ")) {
        assert!(nodes.contains(from.trim()) && nodes.contains(&name(to)), "{from} -> {to}");
    }
    nodes.len()
}
