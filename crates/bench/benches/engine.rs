//! Compares saturation in this project with saturation in egglog:
//! `cargo bench --manifest-path crates/bench/Cargo.toml --bench engine [-- RUNS]`.
//!
//! Both engines run eleven iterations on the rules and terms of symbolic mathematics, with every rule in each
//! iteration. egglog gets the same rules in its own syntax. Both must end with the same e-graph. The runs alternate, so
//! that other load on the machine affects both engines. The benchmark prints medians.

use egg::{ENodeOrVar, Language, RecExpr};
use ember_analysis::facts::{EGraph, Facts};
use ember_engine::CompiledRule;
use ember_engine::saturate::{Limits, saturate};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::rules::{self, RuleBook};
use ember_language::term::{Head, Node};
use ember_tools::system::{self, Root};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::time::{Duration, Instant};

const ITERATIONS: usize = 11;
/// The number of e-nodes after all iterations, which egg and egglog also find.
const NODES: usize = 1_047_896;
/// The number of runs of each engine, and the thread counts to measure.
const RUNS: usize = 9;
const THREADS: [usize; 2] = [1, 2];

fn main() {
    let runs = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(RUNS);
    let mut sources = Sources::new(Disk);
    let (book, _) = rules::load(&mut sources, &[project("rules/extra/math.rules")])
        .expect("the rules are well-formed");
    let terms = project("examples/terms/calculus.sexp");
    let terms = system::read(&mut sources, &terms, &book.signature).expect("well-sorted");
    let program = in_egglog(&book, &terms);
    println!("{ITERATIONS} iterations, {NODES} e-nodes, {runs} runs of each engine in turn");
    for threads in THREADS {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            ours.push(ours_once(&book, &terms, &pool));
            theirs.push(egglog_once(&program, threads));
        }
        let (ours, theirs) = (median(ours), median(theirs));
        println!(
            "{threads} thread{}: ours {:>8.1} ms, egglog {:>8.1} ms, ours / egglog {:.3}",
            if threads == 1 { " " } else { "s" },
            ours.as_secs_f64() * 1e3,
            theirs.as_secs_f64() * 1e3,
            ours.as_secs_f64() / theirs.as_secs_f64()
        );
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn ours_once(book: &RuleBook, terms: &[Root], pool: &ThreadPool) -> Duration {
    let compiled = ember_engine::compile(book);
    let rules: Vec<&CompiledRule> = compiled.iter().collect();
    let mut egraph = EGraph::new(Facts::default());
    for root in terms {
        egraph.add_expr(&root.term);
    }
    let limits = Limits { iterations: ITERATIONS, nodes: 10_000_000 };
    let start = Instant::now();
    let result = pool.install(|| saturate(&mut egraph, &rules, &limits));
    let time = start.elapsed();
    assert_eq!(result.nodes, NODES);
    time
}

fn egglog_once(program: &str, threads: usize) -> Duration {
    let mut egraph = egglog::EGraph::default().with_num_threads(threads);
    assert_eq!(egraph.num_threads(), threads);
    egraph.parse_and_run_program(None, program).expect("a program");
    let start = Instant::now();
    egraph.parse_and_run_program(None, &format!("(run {ITERATIONS})")).expect("a run");
    let time = start.elapsed();
    assert_eq!(egraph.num_tuples(), NODES);
    time
}

/// Returns the rules and terms as an egglog program. Each operator with arguments becomes its own constructor. Integers
/// and operators without arguments become leaves of two further constructors.
fn in_egglog(book: &RuleBook, terms: &[Root]) -> String {
    let mut program = String::from("(datatype M (Number i64) (Leaf String)");
    for (at, operator) in book.signature.operators().iter().enumerate() {
        if !operator.args.is_empty() {
            program += &format!(" (F{at}{})", " M".repeat(operator.args.len()));
        }
    }
    program += ")\n";
    for rule in &book.rules {
        let (left, right) = (words(book, &rule.lhs), words(book, &rule.rhs));
        program += &format!("(rewrite {left} {right})\n");
    }
    for root in terms {
        let term: Vec<ENodeOrVar<Node>> =
            root.term.iter().cloned().map(ENodeOrVar::ENode).collect();
        program += &format!("{}\n", words(book, &RecExpr::from(term)));
    }
    program
}

fn words(book: &RuleBook, pattern: &RecExpr<ENodeOrVar<Node>>) -> String {
    let operators = book.signature.operators();
    let mut texts: Vec<String> = Vec::new();
    for node in pattern {
        texts.push(match node {
            ENodeOrVar::Var(variable) => variable.to_string().replace('?', "v"),
            ENodeOrVar::ENode(node) => match node.head() {
                Head::Int(n) => format!("(Number {n})"),
                _ if node.is_leaf() => format!("(Leaf \"{node}\")"),
                _ => {
                    let name = node.name().expect("an operator");
                    let at = operators.iter().position(|op| op.name.as_str() == name);
                    let children = node.children().iter().map(|c| texts[usize::from(*c)].as_str());
                    let children: Vec<&str> = children.collect();
                    format!("(F{} {})", at.expect("declared"), children.join(" "))
                }
            },
        });
    }
    texts.pop().expect("not empty")
}
