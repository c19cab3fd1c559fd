//! Compares the e-graph with egg's own on random calls.

use super::*;
use egg::SymbolLang;

/// Pseudo-random numbers, equal in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

#[test]
fn random_calls_give_the_same_e_graph_as_eggs() {
    for seed in 0..200 {
        let mut numbers = Numbers(seed);
        let mut ours = EGraph::<SymbolLang, ()>::default();
        let mut theirs = egg::EGraph::<SymbolLang, ()>::default();
        let mut ids: Vec<Id> = Vec::new();
        for step in 0..120 {
            match numbers.below(8) {
                0..4 => {
                    let name = ["f", "g", "h"][numbers.below(3)];
                    let arity = numbers.below(3).min(ids.len());
                    let children = (0..arity).map(|_| ids[numbers.below(ids.len())]).collect();
                    let node = SymbolLang::new(name, children);
                    ids.push(ours.add_uncanonical(node.clone()));
                    let id = theirs.add(node);
                    assert_eq!(ids.last().map(|id| theirs.find(*id)), Some(id));
                }
                4 if !ids.is_empty() => {
                    let class = ids[numbers.below(ids.len())];
                    let node = SymbolLang::new("k", vec![ids[numbers.below(ids.len())]]);
                    let (id, united) = ours.add_to(class, node.clone());
                    let new = theirs.add(node);
                    assert_eq!(united, theirs.union(class, new));
                    assert_eq!(theirs.find(id), theirs.find(class));
                    ids.push(id);
                }
                5..7 if !ids.is_empty() => {
                    let (a, b) = (ids[numbers.below(ids.len())], ids[numbers.below(ids.len())]);
                    assert_eq!(ours.union(a, b), theirs.union(a, b));
                }
                _ => {
                    ours.rebuild();
                    theirs.rebuild();
                    same(&ours, &theirs, &format!("seed {seed}, step {step}"));
                }
            }
            for id in &ids {
                assert_eq!(ours.find(*id), theirs.find(*id));
            }
        }
    }
}

fn same(ours: &EGraph<SymbolLang, ()>, theirs: &egg::EGraph<SymbolLang, ()>, at: &str) {
    assert_eq!(ours.total_number_of_nodes(), theirs.total_number_of_nodes(), "{at}");
    assert_eq!(ours.number_of_classes(), theirs.number_of_classes(), "{at}");
    // If egg's classes have an order, as they do here, it must be the same.
    let order: Vec<Id> = ours.classes().map(|class| class.id).collect();
    assert_eq!(order, theirs.classes().map(|class| class.id).collect::<Vec<_>>(), "{at}");
    for class in ours.classes() {
        assert_eq!(class.nodes.as_slice(), theirs[class.id].nodes.as_slice(), "{at}");
        let parents: Vec<Id> = class.parents().collect();
        assert_eq!(parents, theirs[class.id].parents().collect::<Vec<_>>(), "{at}");
        for node in &class.nodes {
            assert_eq!(ours.lookup(node.clone()), Some(class.id), "{at}");
            let operator = node.discriminant();
            let ours: Vec<Id> = ours.classes_for_op(&operator).unwrap_or_default().to_vec();
            let theirs = theirs.classes_for_op(&operator).map(|ids| ids.collect::<Vec<_>>());
            assert_eq!(Some(ours), theirs, "{at}");
        }
    }
}

#[test]
fn the_cheapest_term_is_extracted() {
    let mut egraph = EGraph::<SymbolLang, ()>::default();
    let long = egraph.add_expr(&"(f (g (g a)) (g a))".parse().expect("a term"));
    let short = egraph.add_expr(&"(g b)".parse().expect("a term"));
    egraph.union(long, short);
    egraph.rebuild();
    let extractor = Extractor::new(&egraph, egg::AstSize);
    let (cost, term) = extractor.find_best(long).expect("a term");
    assert_eq!((cost, term.to_string()), (2, "(g b)".to_owned()));
}

#[test]
fn a_class_of_which_every_node_contains_it_has_no_term() {
    let mut egraph = EGraph::<SymbolLang, ()>::default();
    let a = egraph.add_expr(&"a".parse().expect("a term"));
    let loops = egraph.add(SymbolLang::new("f", vec![a]));
    egraph.union(a, loops);
    egraph.rebuild();
    egraph[a].nodes.retain(|node| !node.is_leaf());
    assert!(Extractor::new(&egraph, egg::AstSize).find_best(a).is_none());
}

#[test]
fn an_id_gives_the_term_that_it_was_made_from() {
    let mut egraph = EGraph::<SymbolLang, ()>::default();
    let term: RecExpr<SymbolLang> = "(f (g a) (g b))".parse().expect("a term");
    let id = egraph.add_expr(&term);
    let (a, b) = (
        egraph.lookup_expr(&"a".parse().expect("a")),
        egraph.lookup_expr(&"b".parse().expect("b")),
    );
    egraph.union(a.expect("known"), b.expect("known"));
    egraph.rebuild();
    assert_eq!(egraph.id_to_expr(id).to_string(), "(f (g a) (g b))");
}
