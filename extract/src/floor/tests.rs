//! Tests of the bound on random e-graphs, whose least terms are known: the costs of the two units are added up.

use super::*;
use egg::SymbolLang;
use quickcheck::{Gen, QuickCheck, TestResult};

/// A node `fA,B` costs A of one unit and B of the other.
struct Sum;

impl Sum {
    fn own(node: &SymbolLang) -> [u64; 2] {
        let digits: Vec<u64> =
            node.op.as_str().bytes().filter_map(|c| c.checked_sub(b'0').map(u64::from)).collect();
        [digits[0], digits[1]]
    }
}

impl Relaxation<SymbolLang, ()> for Sum {
    type Summary = [u64; 2];

    fn combine(
        &self,
        _: &EGraph<SymbolLang, ()>,
        node: &SymbolLang,
        children: &[&[u64; 2]],
    ) -> Option<[u64; 2]> {
        let own = Sum::own(node);
        Some([0, 1].map(|unit| own[unit] + children.iter().map(|child| child[unit]).sum::<u64>()))
    }

    fn dominates(&self, a: &[u64; 2], b: &[u64; 2]) -> bool {
        a[0] <= b[0] && a[1] <= b[1]
    }

    fn meet(&self, a: &[u64; 2], b: &[u64; 2]) -> Option<[u64; 2]> {
        Some([a[0].min(b[0]), a[1].min(b[1])])
    }

    fn cost(&self, summary: &[u64; 2]) -> f64 {
        (summary[0] + summary[1]) as f64
    }

    fn is_finished(&self, _: &[u64; 2]) -> bool {
        true
    }
}

/// Returns an e-graph of eight classes with one to four nodes each, which may form cycles, and its root.
fn random(seed: u64) -> (EGraph<SymbolLang, ()>, Id) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut egraph = EGraph::<SymbolLang, ()>::new(());
    let leaf = |at: u64| SymbolLang::leaf(format!("l{}{}", 9 - at % 9, 1 + at));
    let classes: Vec<Id> = (0..8).map(|at| egraph.add(leaf(at))).collect();
    for class in &classes {
        for _ in 0..rng.usize(1..4) {
            let children = (0..rng.usize(1..3)).map(|_| classes[rng.usize(..8)]).collect();
            let op = format!("f{}{}", rng.u8(..3), rng.u8(1..4));
            let node = egraph.add(SymbolLang::new(op, children));
            egraph.union(*class, node);
        }
    }
    egraph.rebuild();
    let root = egraph.find(classes[7]);
    (egraph, root)
}

/// Returns the least cost of a term that begins with each node of a class, by relaxing all nodes until nothing changes.
fn least(egraph: &EGraph<SymbolLang, ()>, root: Id) -> Vec<f64> {
    let mut costs: BTreeMap<Id, f64> = BTreeMap::new();
    let of = |costs: &BTreeMap<Id, f64>, node: &SymbolLang| {
        let child = |id: &Id| costs.get(&egraph.find(*id)).copied().unwrap_or(f64::INFINITY);
        let own: u64 = Sum::own(node).iter().sum();
        own as f64 + node.children().iter().map(child).sum::<f64>()
    };
    for _ in egraph.classes() {
        for class in egraph.classes() {
            let best =
                class.nodes.iter().map(|node| of(&costs, node)).fold(f64::INFINITY, f64::min);
            costs.insert(class.id, best);
        }
    }
    egraph[root].nodes.iter().map(|node| of(&costs, node)).collect()
}

fn bounds(limits: FloorLimits, seed: u64) -> (Vec<f64>, Vec<f64>) {
    let (egraph, root) = random(seed);
    let found = floor(&egraph, root, &Sum, &limits).expect("few combinations");
    let cost = |summary: Option<[u64; 2]>| summary.map_or(f64::INFINITY, |s| Sum.cost(&s));
    (found.into_iter().map(cost).collect(), least(&egraph, root))
}

fn holds(property: fn(u64) -> TestResult) {
    QuickCheck::new().rng(Gen::from_size_and_seed(100, 1)).tests(1000).quickcheck(property);
}

#[test]
fn bounds_are_no_higher_than_the_least_cost() {
    holds(|seed| {
        let (bounds, least) = bounds(FloorLimits { per_class: 2, ..FloorLimits::default() }, seed);
        TestResult::from_bool(bounds.iter().zip(least).all(|(bound, least)| *bound <= least))
    });
}

#[test]
fn with_room_for_all_candidates_bounds_are_the_least_costs() {
    holds(|seed| {
        let all = FloorLimits { per_class: 1000, most: 1000, ..FloorLimits::default() };
        let (bounds, least) = bounds(all, seed);
        TestResult::from_bool(bounds == least)
    });
}

/// The costs of [`Sum`], where the common bound of two candidates is no lower than either, as by rounding.
struct Rounded;

impl Relaxation<SymbolLang, ()> for Rounded {
    type Summary = [u64; 2];

    fn combine(
        &self,
        egraph: &EGraph<SymbolLang, ()>,
        node: &SymbolLang,
        children: &[&[u64; 2]],
    ) -> Option<[u64; 2]> {
        Sum.combine(egraph, node, children)
    }

    fn dominates(&self, a: &[u64; 2], b: &[u64; 2]) -> bool {
        Sum.dominates(a, b)
    }

    fn meet(&self, a: &[u64; 2], _: &[u64; 2]) -> Option<[u64; 2]> {
        Some([a[0] + 1, a[1] + 1])
    }

    fn cost(&self, summary: &[u64; 2]) -> f64 {
        Sum.cost(summary)
    }

    fn is_finished(&self, _: &[u64; 2]) -> bool {
        true
    }
}

#[test]
fn common_bounds_that_replace_no_candidate_come_to_an_end() {
    let limits = FloorLimits { per_class: 2, most: 16, ..FloorLimits::default() };
    let found = (0..100).filter(|seed| {
        let (egraph, root) = random(*seed);
        floor(&egraph, root, &Rounded, &limits).is_some()
    });
    assert!(found.count() > 0, "none is found");
}

#[test]
fn what_takes_too_long_has_no_bound() {
    let (egraph, root) = random(1);
    assert!(
        floor(&egraph, root, &Sum, &FloorLimits { work: 3, ..FloorLimits::default() }).is_none()
    );
}
