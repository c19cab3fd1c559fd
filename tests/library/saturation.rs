//! Compares saturation with two other engines, and tests its guarantees: limits that are exact to one application,
//! truthful stop reasons, the same result every time, one sort per class.

use ember_analysis::facts::{EGraph, Facts};
use ember_engine::CompiledRule;
use ember_engine::drive::Observer;
use ember_engine::saturate::{Limits, Saturation, StopReason, saturate, saturate_observed};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::rules::{self, RuleBook, Sort};
use ember_language::sexp;
use ember_targets::dlc::{Dim, Purpose, SizeId, TensorDecl};
use ember_values::scalar::DType;
use std::collections::BTreeMap;
use std::path::PathBuf;

const CALCULUS: [&str; 7] = [
    "(I (ln x) x)",
    "(I (+ x (cos x)) x)",
    "(I (* (cos x) x) x)",
    "(D x (+ 1 (* 2 x)))",
    "(D x (- (^ x 3) (* 7 (^ x 2))))",
    "(+ (* y (+ x y)) (- (+ x 2) (+ x x)))",
    "(/ 1 (- (/ (+ 1 (sqrt five)) 2) (/ (- 1 (sqrt five)) 2)))",
];

const LIMITS: Limits = Limits { iterations: 100, nodes: 10_000 };

fn load(path: &str) -> RuleBook {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
    rules::load(&mut Sources::new(Disk), &[path]).expect("the rules are well-formed").0
}

/// Reads rules over a small dialect of one sort, with a binary `f`, a unary `g`, and constants.
fn small(rules: &str) -> RuleBook {
    let dialect = "(dialect d \"a small dialect\" (sort Value \"a value\")
        (op f (Value Value) Value \"f\") (op g (Value) Value \"g\")
        (op a () Value \"a\") (op b () Value \"b\") (op c () Value \"c\"))";
    let mut sources = Sources::new(Disk);
    let text = format!("{dialect} (ruleset s \"a small set\") {rules}");
    let file = sources.add("<small>", text);
    rules::load_text(&mut sources, &[file]).expect("the rules are well-formed").0
}

fn add(book: &RuleBook, egraph: &mut EGraph, term: &str) -> egg::Id {
    let mut sources = Sources::new(Disk);
    let file = sources.add("<term>", term);
    let sexps = sexp::read(&sources, file).expect("balanced");
    let (term, _) = book.signature.read_term(&sexps[0]).expect("well-sorted");
    egraph.add_expr(&term)
}

fn run_on(book: &RuleBook, egraph: &mut EGraph, limits: Limits) -> Saturation {
    let compiled = ember_engine::compile(book);
    let all: Vec<&CompiledRule> = compiled.iter().collect();
    saturate(egraph, &all, &limits)
}

fn run(book: &RuleBook, terms: &[&str], limits: Limits) -> (EGraph, Saturation) {
    let mut egraph = EGraph::new(Facts::default());
    for term in terms {
        add(book, &mut egraph, term);
    }
    let saturation = run_on(book, &mut egraph, limits);
    (egraph, saturation)
}

/// Returns true if two terms are equal in an e-graph.
fn equal(book: &RuleBook, egraph: &mut EGraph, left: &str, right: &str) -> bool {
    let (left, right) = (add(book, egraph, left), add(book, egraph, right));
    egraph.find(left) == egraph.find(right)
}

/// Returns the e-graph of the embedding bag before lowering, with its declarations.
fn bag(book: &RuleBook) -> EGraph {
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
    let mut egraph = EGraph::new(Facts::new(&tensors, &sizes, operators, Default::default()));
    let term = "(slc (emb.output (out %out)
        (emb.bag mode.sum (emb.tensor (in %table)) (in %indices) (in %offsets))))";
    add(book, &mut egraph, term);
    egraph
}

#[test]
fn calculus_has_as_many_nodes_as_other_engines_find() {
    let book = load("rules/extra/math.rules");
    for (iterations, nodes) in [(8, 8_113), (11, 1_047_896)] {
        let limits = Limits { iterations, nodes: 2_000_000 };
        let (egraph, saturation) = run(&book, &CALCULUS, limits);
        assert_eq!(saturation.stop, StopReason::IterationLimit);
        assert_eq!(egraph.total_number_of_nodes(), nodes);
        assert_eq!(saturation.nodes, nodes);
    }
}

#[test]
fn the_node_limit_holds_to_one_application() {
    let grows = small("(rule r \"grows\" (g ?x) => (g (f ?x ?x)))");
    let calculus = load("rules/extra/math.rules");
    for nodes in [20, 21, 22, 23, 1_000] {
        let (egraph, saturation) = run(&grows, &["(g a)"], Limits { iterations: 2_000, nodes });
        assert_eq!(saturation.stop, StopReason::NodeLimit { rule: "r" });
        // An application adds two nodes.
        assert!((nodes - 1..=nodes).contains(&egraph.total_number_of_nodes()));
    }
    for nodes in [100, 999, 12_345] {
        let (egraph, saturation) = run(&calculus, &CALCULUS, Limits { iterations: 50, nodes });
        assert!(matches!(saturation.stop, StopReason::NodeLimit { .. }), "{}", saturation.stop);
        assert!(egraph.total_number_of_nodes() <= nodes);
        assert!(egraph.total_number_of_nodes() >= nodes - nodes / 32 - 4);
    }
}

#[test]
fn folding_keeps_to_the_node_limit_too() {
    let book = load("rules");
    let unlimited = Limits { iterations: 100, nodes: 100_000 };
    let most = run_on(&book, &mut bag(&book), unlimited).nodes;
    for nodes in 20..most {
        let mut egraph = bag(&book);
        let saturation = run_on(&book, &mut egraph, Limits { iterations: 100, nodes });
        assert!(matches!(saturation.stop, StopReason::NodeLimit { .. }), "{}", saturation.stop);
        assert!(egraph.total_number_of_nodes() <= nodes);
    }
}

#[test]
fn a_limit_that_is_just_enough_does_not_stop_a_run() {
    let book = small("(commutes r f \"f commutes\")");
    let limits = Limits { iterations: 100, nodes: 4 };
    assert_eq!(run(&book, &["(f a b)"], limits).1.stop, StopReason::Saturated);
    let limits = Limits { iterations: 100, nodes: 3 };
    assert_eq!(run(&book, &["(f a b)"], limits).1.stop, StopReason::NodeLimit { rule: "r" });
}

#[test]
fn stop_reasons_are_truthful() {
    let book = small("(rule r \"unwraps\" (g ?x) => ?x)");
    let deep = "(g (g (g (g a))))";
    let limits = |iterations| Limits { iterations, nodes: 1_000 };
    assert_eq!(run(&book, &[deep], limits(0)).1.stop, StopReason::IterationLimit);
    assert_eq!(run(&book, &[deep], limits(1)).1.stop, StopReason::IterationLimit);
    let (egraph, saturation) = run(&book, &[deep], limits(2));
    assert_eq!(saturation.stop, StopReason::Saturated);
    assert_eq!((saturation.iterations, egraph.number_of_classes()), (2, 1));
    assert_eq!(saturation.rules[0].unions, 4);
}

/// Has enough of so many nodes.
struct Grown(usize);

impl Observer<Facts> for Grown {
    fn enough(&mut self, egraph: &EGraph) -> bool {
        egraph.total_number_of_nodes() >= self.0
    }
}

#[test]
fn a_run_that_found_enough_says_so() {
    let book = small("(rule r \"grows\" (g ?x) => (g (f ?x ?x)))");
    let compiled = ember_engine::compile(&book);
    let rules: Vec<&CompiledRule> = compiled.iter().collect();
    let mut egraph = EGraph::new(Facts::default());
    add(&book, &mut egraph, "(g a)");
    let limits = Limits { iterations: 3, nodes: 1_000 };
    // The goal takes precedence over the iteration limit.
    for nodes in [0, 4, 8] {
        let run = saturate_observed(&mut egraph, &rules, &limits, &mut Grown(nodes));
        assert_eq!(run.stop, StopReason::Enough);
        assert!(egraph.total_number_of_nodes() <= nodes.max(2));
    }
    let run = saturate(&mut egraph, &rules, &limits);
    assert_eq!(run.stop, StopReason::IterationLimit);
}

#[test]
fn saturated_means_that_another_run_changes_nothing() {
    let book = load("rules");
    let mut egraph = bag(&book);
    let first = run_on(&book, &mut egraph, LIMITS);
    assert_eq!(first.stop, StopReason::Saturated);
    let again = run_on(&book, &mut egraph, LIMITS);
    assert_eq!((again.iterations, again.nodes, again.classes), (1, first.nodes, first.classes));
    assert!(again.fired().next().is_none());
    assert_eq!(again.exact, None);
}

#[test]
fn a_contradiction_names_the_rules_that_met() {
    let book = small(
        "(rule left \"wrong\" (f ?x ?y) => 1)
         (rule right \"as wrong\" (f ?x ?x) => 2)
         (rule unrelated \"harmless\" (g ?x) => ?x)",
    );
    let (_, saturation) = run(&book, &["(f a b)", "(f a (g a))", "(g c)"], LIMITS);
    let StopReason::Contradiction { rules, class, .. } = &saturation.stop else {
        panic!("{}", saturation.stop)
    };
    assert_eq!(rules, &["right", "left"]);
    assert!(class.contains("(f a"), "{class}");
}

#[test]
fn the_same_input_gives_the_same_e_graph() {
    let book = load("rules");
    let dump = || {
        let mut egraph = bag(&book);
        let saturation = run_on(&book, &mut egraph, LIMITS);
        (format!("{:?}", egraph.dump()), saturation)
    };
    assert_eq!(dump(), dump());
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let book = load("rules/extra/math.rules");
    // The e-graph is large enough for every thread to match a part; one run reaches the iteration limit, the other the
    // node limit.
    for limits in [(10, 1_000_000), (20, 100_000)] {
        let limits = Limits { iterations: limits.0, nodes: limits.1 };
        let dump = |threads| {
            let pool =
                rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            let (egraph, saturation) = pool.install(|| run(&book, &CALCULUS, limits));
            (format!("{:?}", egraph.dump()), saturation)
        };
        let one = dump(1);
        for threads in [2, 3] {
            assert!(one == dump(threads), "{threads} threads");
        }
    }
}

#[test]
fn every_class_has_one_sort() {
    let book = load("rules");
    let mut egraph = bag(&book);
    run_on(&book, &mut egraph, LIMITS);
    // Sorts propagate up from the leaves; a class without an acyclic term would get none.
    let mut sorts: BTreeMap<egg::Id, Sort> = BTreeMap::new();
    while sorts.len() < egraph.number_of_classes() {
        let before = sorts.len();
        for class in egraph.classes() {
            let sort = |id| sorts.get(&egraph.find(id)).copied();
            if let Some(sort) = class.nodes.iter().find_map(|n| book.signature.node_sort(n, sort)) {
                sorts.insert(class.id, sort);
            }
        }
        assert!(sorts.len() > before, "some class has no sort");
    }
    for class in egraph.classes() {
        for node in &class.nodes {
            let sort = book.signature.node_sort(node, |id| sorts.get(&egraph.find(id)).copied());
            assert_eq!(sort, Some(sorts[&class.id]), "{node} in {:?}", class.nodes);
        }
    }
}

#[test]
fn where_asks_for_a_second_form_of_a_class() {
    let book = small(
        "(rule r \"g forgets a sum of equals\" (g ?x) => ?y :where ?x (f ?y ?y))
         (rule s \"a = f b b\" a => (f b b))",
    );
    let (mut egraph, _) = run(&book, &["(g a)", "(g c)"], LIMITS);
    assert!(equal(&book, &mut egraph, "(g a)", "b"));
    assert!(!equal(&book, &mut egraph, "(g c)", "b"));
}

#[test]
fn numbers_are_computed_and_computing_may_fail() {
    let book = small(
        "(rule r \"adds\" (f ?x ?y) => (! add ?x (! mul 2 ?y)) :when (divides 1 ?x) (divides 1 ?y))
         (rule s \"divides\" (g ?x) => (f c (! div 12 ?x)) :when (divides 1 ?x))",
    );
    let terms = ["(f 3 4)", "(f a 4)", "(g 5)", "(g 0)", "(f 9223372036854775807 1)"];
    let (mut egraph, saturation) = run(&book, &terms, LIMITS);
    assert_eq!(saturation.stop, StopReason::Saturated);
    assert!(equal(&book, &mut egraph, "(f 3 4)", "11"));
    assert!(equal(&book, &mut egraph, "(g 5)", "(f c 2)"));
    assert_eq!(saturation.rules[0].applications, 1);
    assert_eq!(saturation.rules[1].applications, 1);
}

#[test]
fn what_was_subsumed_is_matched_no_more() {
    let late = small("(rule late \"matches f\" (f ?x ?y) => (g ?x))");
    for (flag, matched) in [("", true), (":subsume", false)] {
        let book =
            small(&format!("(rule r \"f = c\" (f ?x ?y) => c {flag}) (rule s \"a\" a => b)"));
        // Congruence merges the two nodes after both were subsumed.
        let (mut egraph, saturation) = run(&book, &["(f a b)", "(f b b)", "(f c c)"], LIMITS);
        assert_eq!(saturation.stop, StopReason::Saturated);
        assert!(equal(&book, &mut egraph, "c", "(f a b)"));
        let saturation = run_on(&late, &mut egraph, LIMITS);
        assert_eq!(saturation.rules[0].applications > 0, matched);
    }
}

#[test]
fn both_ways_makes_two_rules() {
    let book = small("(rule r \"g g = f\" (g (g ?x)) <=> (f ?x a))");
    assert_eq!(book.rules.iter().map(|r| r.name.as_str()).collect::<Vec<_>>(), ["r", "r-rev"]);
    let (mut egraph, _) = run(&book, &["(g (g b))", "(f c a)"], LIMITS);
    assert!(equal(&book, &mut egraph, "(g (g b))", "(f b a)"));
    assert!(equal(&book, &mut egraph, "(g (g c))", "(f c a)"));
}

#[test]
fn tests_in_rules_are_run() {
    let book = small(
        "(rule r \"f x x = x\" (f ?x ?x) => ?x
           :test ((f ?p ?p) ?p) ((g (f a a)) (g a)) ((f a b) a) :counter-test (f a b) (f (g a) (g a)))",
    );
    let failing = ember_engine::failing_tests(&book, &Facts::default());
    let labels: Vec<&str> =
        failing.iter().map(|d| d.at.as_ref().map_or("", |(_, label)| label)).collect();
    assert_eq!(
        labels,
        ["the rule does not match this", "the rule must not apply to this, and does"]
    );
}

#[test]
fn terms_nested_to_the_readers_limit_are_read() {
    let book = small("(rule r \"unwraps\" (g ?x) => ?x)");
    let depth = sexp::MAX_DEPTH;
    let deep = format!("{}a{}", "(g ".repeat(depth), ")".repeat(depth));
    let (egraph, saturation) = run(&book, &[&deep], Limits { iterations: 3, nodes: 20_000 });
    assert_eq!(saturation.stop, StopReason::Saturated);
    assert_eq!(egraph.number_of_classes(), 1);
}
