//! The state of one run, and the application of one rule to one match: conditions, the node limit, new nodes and the
//! union.

use super::plan::{Found, are_new};
use super::rows::RowSet;
use super::subsumed::Subsumed;
use super::touched::Touched;
use super::{Limits, RuleReport, StopReason, blame};
use crate::knowledge::{EGraph, Knowledge};
use crate::{CompiledRule, Operand, Step};
use egg::{Id, Language};
use ember_language::term::Node;
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::time::Duration;

/// The number of matches whose memory is prefetched together before they are applied.
const BLOCK: usize = 32;

/// A row of classes; the rows of all but the widest rules are stored inline.
pub(super) type Row = SmallVec<[Id; 8]>;

/// A run of saturation.
pub(super) struct Run<'a, A: Knowledge> {
    pub egraph: &'a mut EGraph<A>,
    pub rules: &'a [&'a CompiledRule],
    pub limits: &'a Limits,
    pub(super) reports: Vec<RuleReport>,
    /// For each rule with conditions, the matches that it was applied to; applying it to them again would change
    /// nothing. Rules without conditions only ever receive new matches.
    pub(super) applied: Vec<RowSet>,
    /// For each rule, the refused matches that it may still apply to once more is known of their classes.
    pub(super) waiting: Vec<Vec<Id>>,
    pub(super) touched: Touched,
    /// Every union: the two classes, and the rule that found them equal.
    unions: Vec<(Id, Id, usize)>,
    /// Nodes removed from the search.
    subsumed: Subsumed,
    /// The number of nodes in the e-graph, and of nodes ever made, when congruence was last restored.
    counted: (usize, usize),
    /// The right side being built, as far as it was looked up.
    found: Found,
    /// The class of each step built so far.
    built: Vec<Id>,
}

impl<'a, A: Knowledge> Run<'a, A> {
    pub fn new(
        egraph: &'a mut EGraph<A>,
        rules: &'a [&'a CompiledRule],
        limits: &'a Limits,
    ) -> Run<'a, A> {
        Run {
            reports: rules.iter().map(|rule| RuleReport::new(rule.name.as_str())).collect(),
            applied: rules.iter().map(|rule| RowSet::new(rule.width() - 1)).collect(),
            waiting: vec![Vec::new(); rules.len()],
            touched: Touched::default(),
            egraph,
            rules,
            limits,
            unions: Vec::new(),
            subsumed: Subsumed::default(),
            counted: (0, 0),
            found: Found::default(),
            built: Vec::new(),
        }
    }

    /// Makes the e-graph clean and adds the integers that occur in conditions.
    pub fn start(&mut self) -> Result<(), StopReason> {
        self.rebuild()?;
        for rule in 0..self.rules.len() {
            let integers: BTreeSet<i64> = self.rules[rule].integers().collect();
            for n in integers {
                self.literal(rule, n)?;
            }
        }
        self.rebuild()
    }

    /// Leaves the e-graph clean and without a ceiling.
    pub fn finish(mut self) -> Vec<RuleReport> {
        // The reason for the end of the run is already known.
        let _ = self.rebuild();
        self.egraph.analysis.set_node_ceiling(None);
        self.reports
    }

    /// Returns a number that grows with every change of the e-graph.
    pub fn changes(&self) -> usize {
        self.egraph.nodes().len() + self.unions.len()
    }

    /// Returns the number of nodes in the e-graph. Nodes that became equal count separately until congruence is
    /// restored.
    pub fn nodes(&self) -> usize {
        let (nodes, made) = self.counted;
        nodes + (self.egraph.nodes().len() - made)
    }

    /// Returns true if the e-graph is too large for the cache.
    pub fn is_large(&self) -> bool {
        self.egraph.nodes().len() >= 1 << 15
    }

    /// Restores congruence.
    pub fn rebuild(&mut self) -> Result<(), StopReason> {
        self.egraph.rebuild();
        self.subsumed.remove(self.egraph);
        let made = self.egraph.nodes().len();
        self.counted = (self.egraph.total_number_of_nodes(), made);
        let room = self.limits.nodes.saturating_sub(self.counted.0);
        self.egraph.analysis.set_node_ceiling(Some(made.saturating_add(room)));
        self.contradiction()
    }

    /// Records the time that applying a rule took in this iteration, and the number of nodes that it added.
    pub fn applied_in(&mut self, rule: usize, time: Duration) {
        let report = &mut self.reports[rule];
        report.time.0 += time;
        let before: usize = report.growth.iter().sum();
        report.growth.push(report.nodes - before);
    }

    /// Applies a rule to matches, one row after the other.
    pub fn apply_all(&mut self, rule: usize, rows: &[Id]) -> Result<(), StopReason> {
        let width = 1 + self.rules[rule].matched;
        let mut slots = Vec::with_capacity(self.rules[rule].width());
        for block in rows.chunks(width * BLOCK) {
            if self.is_large() {
                self.warm(rule, block, width);
            }
            for row in block.chunks_exact(width) {
                slots.clear();
                slots.extend(row[1..].iter().map(|id| self.egraph.find(*id)));
                self.apply(rule, row, &mut slots)?;
            }
        }
        Ok(())
    }

    /// Prefetches the memory that adding the nodes of a block reads first. In a large e-graph almost every look-up
    /// waits for memory; nothing depends on the values read here, so the whole block waits once.
    fn warm(&self, rule: usize, block: &[Id], width: usize) {
        let compiled = self.rules[rule];
        let over =
            |node: &Node, row: &[Id]| node.clone().map_children(|slot| row[1 + usize::from(slot)]);
        for row in block.chunks_exact(width) {
            compiled.first.iter().for_each(|node| self.egraph.touch(over(node, row)));
            row.iter().for_each(|id| self.egraph.touch_class(*id));
        }
    }

    /// Applies a rule to a match. `slots` holds the canonical classes of the row's variables.
    fn apply(&mut self, rule: usize, row: &[Id], slots: &mut Vec<Id>) -> Result<(), StopReason> {
        let compiled = self.rules[rule];
        let early = compiled
            .early
            .iter()
            .all(|t| A::holds(self.egraph, t.predicate, &self.args(&t.args, slots)));
        if !early {
            self.reports[rule].refused += 1;
        } else if !compiled.fors.is_empty() {
            self.range(rule, row[0], slots)?;
        } else if !are_new(self.egraph, &compiled.news, slots) {
            self.reports[rule].refused += 1;
        } else if self.instantiate(rule, row[0], slots)? {
            if compiled.conditional() {
                self.applied[rule].insert(&row[1..]);
            }
            return Ok(());
        }
        // The match may apply later, when a condition holds or a generator produces another number.
        self.waiting[rule].extend_from_slice(row);
        Ok(())
    }

    /// Gives the variables of `:for` their values, one after the other, and applies the rule.
    fn range(&mut self, rule: usize, root: Id, slots: &mut Vec<Id>) -> Result<(), StopReason> {
        let compiled = self.rules[rule];
        if let Some(range) = compiled.fors.get(slots.len() - compiled.matched) {
            let values = A::values(self.egraph, range.generator, &self.args(&range.args, slots));
            for value in values {
                let literal = self.literal(rule, value)?;
                slots.push(literal);
                self.range(rule, root, slots)?;
                slots.pop();
            }
            return Ok(());
        }
        let row: Row = slots.iter().map(|id| self.egraph.find(*id)).collect();
        if self.applied[rule].contains(&row) {
            return Ok(());
        }
        let late = compiled
            .late
            .iter()
            .all(|t| A::holds(self.egraph, t.predicate, &self.args(&t.args, &row)));
        if !late || !are_new(self.egraph, &compiled.news, &row) {
            self.reports[rule].refused += 1;
        } else if self.instantiate(rule, root, &row)? {
            self.applied[rule].insert(&row);
        }
        Ok(())
    }

    /// Returns the classes of a condition's arguments. The integers among them were added to the e-graph at the start.
    fn args(&self, args: &[Operand], slots: &[Id]) -> Row {
        let class = |arg: &Operand| match arg {
            Operand::Slot(slot) => slots.get(*slot).map(|id| self.egraph.find(*id)),
            Operand::Int(n) => self.egraph.lookup(Node::int(*n)),
        };
        args.iter().filter_map(class).collect()
    }

    /// Returns the class of an integer, and adds the integer if it is not known.
    fn literal(&mut self, rule: usize, n: i64) -> Result<Id, StopReason> {
        let node = Node::int(n);
        if let Some(id) = self.egraph.lookup(node.clone()) {
            return Ok(id);
        }
        self.make_room(rule, 1)?;
        self.reports[rule].nodes += 1;
        Ok(self.egraph.add(node))
    }

    /// Ends the run unless this many nodes can be added. Returns true if congruence was restored to make room.
    fn make_room(&mut self, rule: usize, new: usize) -> Result<bool, StopReason> {
        let before = self.nodes();
        if before.saturating_add(new) <= self.limits.nodes {
            return Ok(false);
        }
        let stop = StopReason::NodeLimit { rule: self.rules[rule].name.as_str() };
        if self.egraph.clean {
            return Err(stop);
        }
        self.rebuild()?;
        // Restoring congruence costs a pass over the whole e-graph, so it must free a share of the limit.
        let freed = before.saturating_sub(self.nodes());
        if freed < new.max(self.limits.nodes / 64) { Err(stop) } else { Ok(true) }
    }

    /// Builds the right side and unites it with the class of the left side. Returns false if the rule does not apply,
    /// because a number that it computes does not exist.
    fn instantiate(&mut self, rule: usize, root: Id, slots: &[Id]) -> Result<bool, StopReason> {
        let compiled = self.rules[rule];
        let made = self.egraph.nodes().len();
        let most = compiled.plan.len().saturating_mul(1 + A::FOLDED_NODES);
        if !compiled.computes && self.nodes().saturating_add(most) <= self.limits.nodes {
            // There is room even if every node is new and folded, so no look-up is needed beforehand.
            self.found.clear();
        } else {
            let Some(missing) = self.found.look_up(self.egraph, &compiled.plan, slots) else {
                self.reports[rule].refused += 1;
                return Ok(false);
            };
            if missing > 0 && self.make_room(rule, missing)? {
                self.found.look_up(self.egraph, &compiled.plan, slots);
            }
        }
        let built = self.build(compiled, slots, root);
        self.egraph.analysis.reserve_nodes(0);
        let Some((new, united)) = built else { return Ok(false) };
        if united {
            self.unions.push((root, new, rule));
        }
        self.egraph.analysis.journal().applied(compiled.name, root, slots, new, united);
        let report = &mut self.reports[rule];
        report.applications += 1;
        report.unions += usize::from(united);
        report.nodes += self.egraph.nodes().len() - made;
        if compiled.subsume {
            self.subsumed.add(compiled.root(self.egraph, slots));
        }
        if self.egraph.analysis.ceiling_reached() {
            return Err(StopReason::NodeLimit { rule: compiled.name.as_str() });
        }
        self.contradiction()?;
        Ok(true)
    }

    /// Adds the missing nodes of the right side, the last one to the class of the left side. Returns its id, and true
    /// if it was not in that class.
    fn build(&mut self, rule: &CompiledRule, slots: &[Id], root: Id) -> Option<(Id, bool)> {
        let mut missing = self.found.classes.iter().filter(|class| class.is_none()).count();
        self.built.clear();
        for (i, step) in rule.plan.iter().enumerate() {
            let known = self.found.classes.get(i).copied().flatten();
            if known.is_none() {
                // The nodes that folding this step adds must leave room for the remaining steps.
                missing = missing.saturating_sub(1);
                self.egraph.analysis.reserve_nodes(missing);
            }
            let id = match (known, step) {
                (Some(known), _) => known,
                (None, Step::Slot(slot)) => *slots.get(*slot)?,
                (None, Step::Node(node)) => {
                    let built = &self.built;
                    let node = node.clone().map_children(|child| built[usize::from(child)]);
                    if i + 1 == rule.plan.len() {
                        return Some(self.egraph.add_to(root, node));
                    }
                    self.egraph.add(node)
                }
                (None, Step::Compute(..)) => {
                    self.egraph.add(Node::int(self.found.numbers.get(i).copied()??))
                }
            };
            self.built.push(id);
        }
        let new = *self.built.last()?;
        Some((new, self.egraph.union(root, new)))
    }

    fn contradiction(&self) -> Result<(), StopReason> {
        match self.egraph.analysis.contradiction() {
            None => Ok(()),
            Some(constants) => {
                Err(blame::contradiction(self.egraph, constants, &self.unions, &|rule| {
                    self.rules[rule].name.as_str()
                }))
            }
        }
    }
}
