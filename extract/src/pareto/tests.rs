//! Tests of extraction over two resources: the candidates kept, the choice at the root, the limits reported.

use super::*;
use egg::SymbolLang;

/// A cost model of two resources; a finished program costs the larger of the two.
struct TwoUnits;

/// The cost of a candidate that is not finished, on the first unit.
const OPEN: f64 = 0.25;

impl CostModel<SymbolLang, ()> for TwoUnits {
    type Summary = [f64; 2];

    fn combine(
        &self,
        _: &EGraph<SymbolLang, ()>,
        node: &SymbolLang,
        children: &[&[f64; 2]],
    ) -> Option<[f64; 2]> {
        let own = match node.op.as_str() {
            // A boundary represents a choice and is never chosen itself.
            "x" | "y" => return None,
            "left" => [3.0, 0.0],
            "right" => [0.0, 3.0],
            "both" => [2.0, 2.0],
            "almost" => [2.95, 0.2],
            "mixed" => [2.1, 3.05],
            "late" => [0.0, 3.06],
            "loop" => [0.5, 0.5],
            "open" => [OPEN, 3.5],
            _ => [0.0, 0.0],
        };
        let sum = |i: usize| own[i] + children.iter().map(|c| c[i]).sum::<f64>();
        Some([sum(0), sum(1)])
    }

    fn dominates(&self, a: &[f64; 2], b: &[f64; 2]) -> bool {
        a[0] <= b[0] && a[1] <= b[1]
    }

    fn rank(&self, s: &[f64; 2]) -> f64 {
        s[0].max(s[1])
    }

    fn alike(&self, a: &[f64; 2], b: &[f64; 2]) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 0.6)
    }

    /// Separates the candidates that use the first unit from the others.
    fn kind(&self, s: &[f64; 2]) -> u64 {
        u64::from(s[0] > 1.0)
    }

    fn is_finished(&self, s: &[f64; 2]) -> bool {
        s[0] != OPEN
    }
}

fn union(egraph: &mut EGraph<SymbolLang, ()>, a: &str, b: &str) -> Id {
    let (a, b) = (a.parse().expect("a term"), b.parse().expect("a term"));
    let (a, b) = (egraph.add_expr(&a), egraph.add_expr(&b));
    egraph.union(a, b);
    a
}

#[test]
fn balances_two_units_where_each_greedy_choice_would_not() {
    let mut egraph = EGraph::<SymbolLang, ()>::default();
    union(&mut egraph, "(x 1)", "(left 1)");
    union(&mut egraph, "(x 1)", "(both 1)");
    union(&mut egraph, "(y 1)", "(right 1)");
    union(&mut egraph, "(y 1)", "(both 2)");
    let root = egraph.add_expr(&"(pair (x 1) (y 1))".parse().expect("a term"));
    egraph.rebuild();
    let extraction = extract(&egraph, root, &TwoUnits, &Limits::default());
    let best = extraction.ranked()[0];
    assert_eq!(extraction.term(best).to_string(), "(pair (left 1) (right 1))");
    assert_eq!(TwoUnits.rank(extraction.summary(best)), 3.0);
    assert!(!extraction.truncated);
    assert!(is_member(&egraph, root, &extraction.term(best)));
}

#[test]
fn a_cycle_in_the_graph_ends_and_is_never_chosen() {
    let mut egraph = EGraph::<SymbolLang, ()>::default();
    let root = union(&mut egraph, "(both 1)", "(loop (both 1))");
    egraph.rebuild();
    let extraction = extract(&egraph, root, &TwoUnits, &Limits::default());
    assert_eq!(extraction.term(extraction.ranked()[0]).to_string(), "(both 1)");
    assert_eq!(extraction.ranked().len(), 1);
}

#[test]
fn keeps_both_ends_of_a_trade_until_the_context_decides() {
    let mut egraph = EGraph::<SymbolLang, ()>::default();
    let choice = union(&mut egraph, "(left 1)", "(right 1)");
    let other = egraph.add_expr(&"(right 2)".parse().expect("a term"));
    let root = egraph.add(SymbolLang::new("pair", vec![choice, other]));
    egraph.rebuild();
    let extraction = extract(&egraph, root, &TwoUnits, &Limits::default());
    let best = extraction.ranked()[0];
    assert_eq!(extraction.summary(best), &[3.0, 3.0]);
    assert_eq!(extraction.term(best).to_string(), "(pair (left 1) (right 2))");
}

#[test]
fn the_root_may_keep_more_than_other_classes() {
    let mut egraph = EGraph::<SymbolLang, ()>::default();
    union(&mut egraph, "(left 1)", "(right 1)");
    let root = union(&mut egraph, "(left 1)", "(both 2)");
    let above = egraph.add(SymbolLang::new("pair", vec![root, root]));
    egraph.rebuild();
    let kept = |from, at_root| {
        let limits = Limits { per_class: 1, at_root, ..Limits::default() };
        extract(&egraph, from, &TwoUnits, &limits).of(egraph.find(root)).len()
    };
    assert_eq!([kept(root, 0), kept(root, 2), kept(above, 2)], [1, 2, 1]);
}

#[test]
fn what_is_not_finished_takes_no_place_of_a_program_at_the_root() {
    let mut egraph = EGraph::<SymbolLang, ()>::default();
    union(&mut egraph, "(left 1)", "(open 1)");
    let root = union(&mut egraph, "(left 1)", "(right (right 1))");
    let above = egraph.add(SymbolLang::new("pair", vec![root]));
    egraph.rebuild();
    let kept = |from| {
        let limits = Limits { per_class: 2, at_root: 2, ..Limits::default() };
        let extraction = extract(&egraph, from, &TwoUnits, &limits);
        let all = extraction.of(egraph.find(root)).iter();
        all.map(|c| extraction.term(*c).to_string()).collect::<Vec<_>>()
    };
    assert_eq!(kept(root), ["(left 1)", "(right (right 1))"]);
    assert_eq!(kept(above), ["(left 1)", "(open 1)"]);
}

#[test]
fn a_bound_on_candidates_is_reported() {
    let mut egraph = EGraph::<SymbolLang, ()>::default();
    union(&mut egraph, "(left 1)", "(right 1)");
    let root = union(&mut egraph, "(left 1)", "(both 1)");
    egraph.rebuild();
    let limits = Limits { per_class: 1, at_root: 1, ..Limits::default() };
    let extraction = extract(&egraph, root, &TwoUnits, &limits);
    assert!(extraction.truncated);
    assert_eq!(extraction.ranked().len(), 1);
}

/// Returns the best forms of a class that holds these members and keeps two of them.
fn best_two(members: [&str; 3]) -> Vec<String> {
    let mut egraph = EGraph::<SymbolLang, ()>::default();
    union(&mut egraph, members[0], members[1]);
    let root = union(&mut egraph, members[0], members[2]);
    egraph.rebuild();
    let limits = Limits { per_class: 2, at_root: 2, ..Limits::default() };
    let extraction = extract(&egraph, root, &TwoUnits, &limits);
    assert!(extraction.truncated);
    extraction.ranked().iter().map(|c| extraction.term(*c).to_string()).collect()
}

#[test]
fn what_is_like_a_better_one_leaves_before_what_is_worse() {
    assert_eq!(best_two(["(almost 1)", "(left 1)", "(late 1)"]), ["(almost 1)", "(late 1)"]);
}

#[test]
fn the_best_of_another_kind_comes_before_the_second_of_one() {
    assert_eq!(best_two(["(left 1)", "(mixed 1)", "(late 1)"]), ["(left 1)", "(late 1)"]);
}
