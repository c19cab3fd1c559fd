//! Extraction: the cheapest term of an e-class, by a cost that grows with size.

use crate::{Analysis, EGraph};
use egg::{CostFunction, Id, Language, RecExpr};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;

/// The cheapest e-node of each class. Ties are always broken in the same way.
pub struct Extractor<'a, CF: CostFunction<L>, L: Language, N: Analysis<L>> {
    egraph: &'a EGraph<L, N>,
    best: FxHashMap<Id, (CF::Cost, L)>,
}

impl<'a, CF: CostFunction<L>, L: Language, N: Analysis<L>> Extractor<'a, CF, L, N> {
    /// Finds the cheapest node of every class. The e-graph must be clean.
    pub fn new(egraph: &'a EGraph<L, N>, mut cost: CF) -> Self {
        let mut best: FxHashMap<Id, (CF::Cost, L)> = FxHashMap::default();
        let mut changed = true;
        while changed {
            changed = false;
            for class in egraph.classes() {
                let mut cheapest: Option<(CF::Cost, &L)> = None;
                for node in &class.nodes {
                    if !node.all(|child| best.contains_key(&egraph.find(child))) {
                        continue;
                    }
                    let total = cost.cost(node, |child| best[&egraph.find(child)].0.clone());
                    if cheapest.as_ref().is_none_or(|(least, _)| less(&total, least)) {
                        cheapest = Some((total, node));
                    }
                }
                let Some((total, node)) = cheapest else { continue };
                if best.get(&class.id).is_none_or(|(known, _)| less(&total, known)) {
                    best.insert(class.id, (total, node.clone()));
                    changed = true;
                }
            }
        }
        Extractor { egraph, best }
    }

    /// Returns the cost of the cheapest term of a class; `None` if the class has no finite term.
    pub fn find_best_cost(&self, class: Id) -> Option<CF::Cost> {
        self.best.get(&self.egraph.find(class)).map(|(cost, _)| cost.clone())
    }

    /// Returns the cheapest term of a class and its cost; `None` if every e-node of the class contains the class
    /// itself. Equal subterms are shared.
    pub fn find_best(&self, class: Id) -> Option<(CF::Cost, RecExpr<L>)> {
        let root = self.egraph.find(class);
        let cost = self.best.get(&root)?.0.clone();
        let mut term = RecExpr::default();
        let mut placed: FxHashMap<Id, Id> = FxHashMap::default();
        // A class is placed after its children; the stack holds the classes that wait for theirs.
        let mut stack = vec![root];
        while let Some(&top) = stack.last() {
            let (_, node) = self.best.get(&top)?;
            let below = node.children().iter().map(|child| self.egraph.find(*child));
            let waiting: Vec<Id> = below.filter(|class| !placed.contains_key(class)).collect();
            if waiting.is_empty() || placed.contains_key(&top) {
                stack.pop();
                if !placed.contains_key(&top) {
                    let node = node.clone().map_children(|id| placed[&self.egraph.find(id)]);
                    placed.insert(top, term.add(node));
                }
            } else {
                stack.extend(waiting);
            }
        }
        Some((cost, term))
    }
}

fn less<T: PartialOrd>(a: &T, b: &T) -> bool {
    a.partial_cmp(b) == Some(Ordering::Less)
}
