//! Measures the time of saturation, and of egg's runner on the same terms:
//! `cargo bench --manifest-path crates/bench/Cargo.toml --bench saturation`.
//!
//! Prints one line for each measurement: the median time of several runs, the number of e-nodes, and the reason the run
//! stopped.

use egg::{Pattern, Rewrite, Runner, SimpleScheduler};
use ember_analysis::facts::{EGraph, Facts};
use ember_engine::CompiledRule;
use ember_engine::saturate::{Limits, saturate};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::rules::{self, RuleBook, ScheduleStep};
use ember_language::sexp;
use ember_language::term::{Node, Term};
use ember_targets::dlc::{Dim, Purpose, SizeId, TensorDecl};
use ember_values::scalar::DType;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const CALCULUS: [&str; 7] = [
    "(I (ln x) x)",
    "(I (+ x (cos x)) x)",
    "(I (* (cos x) x) x)",
    "(D x (+ 1 (* 2 x)))",
    "(D x (- (^ x 3) (* 7 (^ x 2))))",
    "(+ (* y (+ x y)) (- (+ x 2) (+ x x)))",
    "(/ 1 (- (/ (+ 1 (sqrt five)) 2) (/ (- 1 (sqrt five)) 2)))",
];

const BAG: &str = "(slc (emb.output (out %out) (emb.bag mode.sum (emb.tensor (in %table)) (in %indices) (in %offsets))))";

fn main() {
    let bag = load("rules");
    for schedule in ["emb-opt3", "search-unpruned"] {
        report(&format!("bag, {schedule}"), 51, || saturate_bag(&bag, schedule));
    }
    let calculus = load("rules/extra/math.rules");
    let terms = CALCULUS.map(|text| term(&calculus, text));
    report("calculus, 11 iterations", 5, || saturate_calculus(&calculus, &terms));
    report("calculus, egg's runner", 5, || egg_calculus(&calculus, &terms));
}

/// Runs a measurement several times and prints the median time with its e-node count and stop reason.
fn report(name: &str, runs: usize, mut run: impl FnMut() -> (Duration, usize, String)) {
    let mut results: Vec<_> = (0..runs).map(|_| run()).collect();
    results.sort();
    let (time, nodes, stop) = &results[runs / 2];
    println!("{name:<26} {:>9.2} ms {nodes:>9} nodes, {stop}", time.as_secs_f64() * 1e3);
}

fn load(path: &str) -> RuleBook {
    rules::load(&mut Sources::new(Disk), &[project(path)]).expect("the rules are well-formed").0
}

fn term(book: &RuleBook, text: &str) -> Term {
    let mut sources = Sources::new(Disk);
    let file = sources.add("<term>", text);
    let sexps = sexp::read(&sources, file).expect("balanced");
    book.signature.read_term(&sexps[0]).expect("well-sorted").0
}

/// Saturates an embedding bag with rows of 64 floats by the `saturate` steps of a schedule.
fn saturate_bag(book: &RuleBook, schedule: &str) -> (Duration, usize, String) {
    let tensor = |name: &str, dtype, shape, writable| TensorDecl {
        name: name.into(),
        dtype,
        shape,
        purpose: Purpose::of(writable),
    };
    let size = |n| Dim::Size(SizeId(n));
    let tensors = [
        tensor("table", DType::F32, vec![size(0), Dim::Const(64)], false),
        tensor("indices", DType::I64, vec![size(1)], false),
        tensor("offsets", DType::I64, vec![size(2)], false),
        tensor("out", DType::F32, vec![size(3), Dim::Const(64)], true),
    ];
    let sizes = ["rows", "lookups", "bags+1", "bags"].map(String::from);
    let operators = book.signature.table().clone();
    let compiled = ember_engine::compile(book);
    let term = term(book, BAG);
    let start = Instant::now();
    let mut egraph = EGraph::new(Facts::new(&tensors, &sizes, operators, Default::default()));
    egraph.add_expr(&term);
    let mut stop = String::new();
    for step in &book.schedule(schedule).expect("a schedule of the folder").steps {
        if let ScheduleStep::Saturate(rules) = step {
            let rules: Vec<&CompiledRule> = rules.iter().map(|&rule| &compiled[rule]).collect();
            let limits = Limits { iterations: 100, nodes: 100_000 };
            stop = saturate(&mut egraph, &rules, &limits).stop.to_string();
        }
    }
    (start.elapsed(), egraph.total_number_of_nodes(), stop)
}

fn saturate_calculus(book: &RuleBook, terms: &[Term]) -> (Duration, usize, String) {
    let compiled = ember_engine::compile(book);
    let rules: Vec<&CompiledRule> = compiled.iter().collect();
    let start = Instant::now();
    let mut egraph = EGraph::new(Facts::default());
    for term in terms {
        egraph.add_expr(term);
    }
    let limits = Limits { iterations: 11, nodes: 10_000_000 };
    let result = saturate(&mut egraph, &rules, &limits);
    (start.elapsed(), result.nodes, result.stop.to_string())
}

/// [`saturate_calculus`] with the runner of `egg`, the crate that provides the e-graph, and without facts.
fn egg_calculus(book: &RuleBook, terms: &[Term]) -> (Duration, usize, String) {
    let rules: Vec<Rewrite<Node, ()>> = book
        .rules
        .iter()
        .map(|rule| {
            let (left, right) = (Pattern::new(rule.lhs.clone()), Pattern::new(rule.rhs.clone()));
            Rewrite::new(rule.name, left, right).expect("every variable is bound")
        })
        .collect();
    let start = Instant::now();
    let mut runner = Runner::<Node, (), ()>::new(())
        .with_scheduler(SimpleScheduler)
        .with_iter_limit(11)
        .with_node_limit(10_000_000)
        .with_time_limit(Duration::from_secs(1_000));
    for term in terms {
        runner = runner.with_expr(term);
    }
    let runner = runner.run(&rules);
    let stop = runner.stop_reason.map(|stop| format!("{stop:?}")).unwrap_or_default();
    (start.elapsed(), runner.egraph.total_number_of_nodes(), stop)
}
