//! Both sides of a search in one e-graph: watches the rules until the sides meet, or until one is found in the other's
//! class under other names of its loops.

use super::alpha;
use super::level::Level;
use super::names::captured;
use egg::Id;
use ember_analysis::facts::{EGraph, Facts};
use ember_engine::drive::{AppliedAgain, Driver, Observer};
use ember_engine::saturate::Saturation;
use ember_language::erase::erased_as_far;
use ember_language::rules::Operators;
use ember_language::term::Term;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Both sides in an e-graph, and what leads them to one class.
pub(super) struct Meeting {
    pub operators: Arc<Operators>,
    pub roots: [Id; 2],
    /// The level of the sides.
    pub level: Level,
    /// The statements of one processor that the sides were raised to.
    pub statements: [Id; 2],
    /// The model between the sides.
    pub model: Option<Id>,
    /// The sides as they are in the e-graph.
    pub terms: [Term; 2],
    /// All terms that were added to the e-graph, with the names that their variables have there.
    pub named: Vec<Term>,
    /// The sides with a name for each loop.
    pub each: [Term; 2],
    /// The rules of the first saturation, which split statements between the units.
    pub first: Vec<usize>,
    /// True if sides are matched under other names.
    pub twins: bool,
    /// A side that has just been found so.
    pub twin: Option<Twin>,
    /// The sides that the search went on with. A side that erases to both the other and the model, but that no rule leads
    /// to, would be found in either for ever.
    pub adopted: Vec<Twin>,
    /// The number of e-nodes that each rule has added.
    pub added: BTreeMap<&'static str, usize>,
}

/// A side that was found under other names: its index, and the names of its variables there.
pub(super) type Twin = (usize, BTreeMap<i64, Id>);

impl Meeting {
    pub fn is_reached(&self, egraph: &EGraph) -> bool {
        Met(self.roots).is_reached(egraph)
    }

    /// True if the variables of two nested loops have become equal.
    pub fn captured(&self, egraph: &EGraph) -> bool {
        self.named.iter().any(|term| {
            // The raised statements of programs for two units have loops with other bounds, so that they are checked as
            // well.
            let forms = [term, &erased_as_far(term, &self.operators)];
            forms.iter().any(|term| captured(term, &self.operators, egraph))
        })
    }

    /// Searches the classes that should hold a side for the side under other names.
    fn twin(&self, egraph: &EGraph) -> Option<Twin> {
        for (side, own) in self.each.iter().enumerate() {
            let own = erased_as_far(own, &self.operators);
            for class in [self.statements[1 - side]].into_iter().chain(self.model) {
                if egraph.find(class) == egraph.find(self.statements[side]) {
                    continue;
                }
                let found = alpha::found(egraph, &self.operators, class, &own);
                let twin = found.map(|names| (side, names));
                if let Some(twin) = twin.filter(|twin| !self.is_adopted(egraph, twin)) {
                    return Some(twin);
                }
            }
        }
        None
    }

    /// True if the search went on with a side under these names already.
    fn is_adopted(&self, egraph: &EGraph, (side, names): &Twin) -> bool {
        let same = |known: &BTreeMap<i64, Id>| {
            let now = |(variable, class): (&i64, &Id)| (*variable, egraph.find(*class));
            known.iter().map(now).eq(names.iter().map(now))
        };
        self.adopted.iter().any(|(own, known)| own == side && same(known))
    }

    /// Adds the loop variables of each side under the names that the other side gives to the corresponding outermost
    /// loops. Inner loops that only one side has, such as strips, are found by rules through their bounds.
    fn align(&self, egraph: &mut EGraph) {
        for side in [0, 1] {
            let own = erased_as_far(&self.each[side], &self.operators);
            let other = egraph.find(self.statements[1 - side]);
            for names in alpha::outermost(egraph, &self.operators, other, &own) {
                let term = alpha::renamed(egraph, &own, &names);
                alpha::add_variables(egraph, &term);
            }
        }
        egraph.rebuild();
    }

    /// Continues with a side under the names with which it was found.
    fn adopt(&mut self, driver: &mut Driver<'_, Facts>, (side, names): Twin) {
        self.adopted.push((side, names.clone()));
        let egraph = &mut driver.egraph;
        let term = alpha::renamed(egraph, &self.each[side], &names);
        self.statements[side] = egraph.add_expr(&erased_as_far(&term, &self.operators));
        self.roots[side] = egraph.add_expr(&term);
        self.named.push(term.clone());
        self.terms[side] = term;
        self.level.cross(self.statements[side], |node| egraph.add(node));
        egraph.rebuild();
        if self.level.is_crossed() {
            driver.apply(&self.first, &mut Met(self.roots));
        }
    }
}

impl Observer<Facts> for Meeting {
    /// Sides that meet are enough, and so is one that is found under other names.
    fn enough(&mut self, egraph: &EGraph) -> bool {
        if self.is_reached(egraph) {
            return true;
        }
        self.twin = if self.twins { self.twin(egraph) } else { None };
        self.twin.is_some()
    }

    fn starting(&mut self, driver: &mut Driver<'_, Facts>, rules: &[usize]) {
        if self.level.is_crossed() && self.first.is_empty() {
            self.first = rules.to_vec();
        }
        if self.twins {
            self.align(&mut driver.egraph);
        }
    }

    fn saturated(
        &mut self,
        driver: &mut Driver<'_, Facts>,
        _: &[usize],
        done: Saturation,
    ) -> AppliedAgain {
        for report in done.fired() {
            *self.added.entry(report.rule).or_default() += report.nodes;
        }
        let Some(twin) = self.twin.take() else { return AppliedAgain::No };
        self.adopt(driver, twin);
        AppliedAgain::Yes
    }

    fn ended(&self, driver: &Driver<'_, Facts>) -> bool {
        self.is_reached(&driver.egraph) || driver.contradictory()
    }
}

/// Waits until two classes are one.
struct Met([Id; 2]);

impl Met {
    fn is_reached(&self, egraph: &EGraph) -> bool {
        egraph.find(self.0[0]) == egraph.find(self.0[1])
    }
}

impl Observer<Facts> for Met {
    fn enough(&mut self, egraph: &EGraph) -> bool {
        self.is_reached(egraph)
    }
}
