//! Saturation against what two other engines find, and its promises about limits.

use ember_rewrite::diagnostic::Sources;
use ember_rewrite::facts::{EGraph, Facts};
use ember_rewrite::rules::{self, CompiledRule, RuleBook};
use ember_rewrite::saturate::{Limits, Saturation, StopReason, saturate};
use ember_rewrite::sexp;
use std::path::PathBuf;

const TERMS: [&str; 7] = [
    "(I (ln x) x)",
    "(I (+ x (cos x)) x)",
    "(I (* (cos x) x) x)",
    "(D x (+ 1 (* 2 x)))",
    "(D x (- (^ x 3) (* 7 (^ x 2))))",
    "(+ (* y (+ x y)) (- (+ x 2) (+ x x)))",
    "(/ 1 (- (/ (+ 1 (sqrt five)) 2) (/ (- 1 (sqrt five)) 2)))",
];

fn math() -> RuleBook {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("rules/extra/math.rules");
    let mut sources = Sources::default();
    rules::load(&mut sources, &[path]).expect("the rules are well-formed").0
}

fn run(book: &RuleBook, terms: &[&str], limits: Limits) -> (EGraph, Saturation) {
    let compiled = book.compile();
    let all: Vec<&CompiledRule> = compiled.iter().collect();
    let mut egraph = EGraph::new(Facts::default());
    let mut sources = Sources::default();
    for term in terms {
        let file = sources.add("<term>", *term);
        let sexps = sexp::read(&sources, file).expect("balanced");
        let (term, _) = book.signature.read_term(&sexps[0]).expect("well-sorted");
        egraph.add_expr(&term);
    }
    let saturation = saturate(&mut egraph, &all, &limits, &mut |_| {});
    (egraph, saturation)
}

#[test]
fn math_has_as_many_nodes_as_other_engines_find() {
    let limits = Limits { iterations: 11, nodes: 2_000_000 };
    let (egraph, saturation) = run(&math(), &TERMS, limits);
    assert_eq!(saturation.stop, StopReason::IterationLimit);
    assert_eq!(egraph.total_number_of_nodes(), 1_047_896);
    assert_eq!(saturation.nodes, 1_047_896);
}
