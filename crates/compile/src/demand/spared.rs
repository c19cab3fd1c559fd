//! The expressions whose own operation no program has to do, because the rules that lower a model prove that something
//! else has the same result: all of `a - a` and `a` in `x + (a - a)` of integers, and the sum in `a + (x - a)`.

use crate::groups::{Group, Plan};
use crate::pipeline::{Inputs, facts};
use egg::{Id, Language};
use ember_analysis::facts::EGraph;
use ember_engine::drive::Driver;
use ember_engine::saturate::Limits;
use ember_language::rules::{Kind, Phase};
use ember_language::term::Node;
use ember_model::{Applied, Expr};
use ember_values::operation::Role;
use itertools::Itertools;
use std::collections::BTreeSet;

/// The limits of a saturation. Lowering alone needs a small part of them.
const LIMITS: Limits = Limits { iterations: 30, nodes: 20_000 };

/// The expressions of each statement whose own operation is spared, by their keys.
#[derive(Clone, Debug, Default)]
pub struct Spared(Vec<BTreeSet<String>>);

impl Spared {
    /// Finds the expressions in the e-graphs of a model's groups, each saturated with the rules that lower it.
    pub fn of(inputs: &Inputs, plan: &Plan) -> Spared {
        let mut spared = vec![BTreeSet::new(); inputs.model.statements.len()];
        for searched in plan.searched() {
            let places = places(inputs, &plan.groups[searched]);
            let alike = plan.groups.iter().zip(&plan.like).filter(|(_, like)| **like == searched);
            for (group, _) in alike {
                // Groups that are equal up to names have the same expressions in the same order.
                let all = expressions(inputs, group);
                for (statement, expr) in places.iter().filter_map(|place| all.get(*place)) {
                    spared[*statement].insert(expr.key());
                }
            }
        }
        Spared(spared)
    }

    /// Returns true if the operation of a statement's expression is spared.
    pub(super) fn contains(&self, statement: usize, key: &str) -> bool {
        self.0.get(statement).is_some_and(|spared| spared.contains(key))
    }
}

/// Returns true if an expression reads rows at positions.
fn looks_up(expr: &Expr) -> bool {
    let mut operands = expr.applied().into_iter().flat_map(Applied::tensors);
    operands.any(|(operand, _)| matches!(operand.role, Role::Indices(..)))
}

/// Returns the expressions of a group with their statements, each before its operands.
fn expressions<'a>(inputs: &'a Inputs, group: &Group) -> Vec<(usize, &'a Expr)> {
    let statements = &inputs.model.statements;
    let of = |at: &usize| statements[*at].value.walk().map(|expr| (*at, expr)).collect_vec();
    group.statements.iter().flat_map(of).collect()
}

/// Returns the places of the spared expressions among a group's expressions.
fn places(inputs: &Inputs, group: &Group) -> Vec<usize> {
    let rules = &inputs.book.rules;
    let lowering = |rule: &usize| inputs.book.sets[rules[*rule].set].phase == Phase::Lower;
    let lowering: Vec<usize> = (0..rules.len()).filter(lowering).collect();
    let mut egraph = EGraph::new(facts(inputs, group));
    let root = egraph.add_expr(&group.term);
    egraph.rebuild();
    let mut driver = Driver::new(egraph, &inputs.compiled, LIMITS);
    driver.apply(&lowering, &mut ());
    let lowered = Lowered { inputs, egraph: &driver.egraph, root };
    let all = expressions(inputs, group).into_iter().enumerate();
    let statements = all.chunk_by(|(_, (statement, _))| *statement);
    let statements = statements.into_iter();
    statements.flat_map(|(_, of)| lowered.spared(of.map(|(at, (_, expr))| (at, expr)))).collect()
}

/// A group of statements after lowering.
struct Lowered<'a> {
    inputs: &'a Inputs,
    egraph: &'a EGraph,
    root: Id,
}

impl Lowered<'_> {
    /// Returns the places of the spared expressions of one statement, given each before its operands.
    fn spared<'e>(&self, expressions: impl Iterator<Item = (usize, &'e Expr)>) -> Vec<usize> {
        let with_elements = |(place, expr)| (place, expr, self.elements(expr));
        let all: Vec<(usize, &Expr, BTreeSet<Id>)> = expressions.map(with_elements).collect();
        // A statement has to build its elements; itself if it has none, or if it computes them in memory only.
        let none = BTreeSet::new();
        let value = all.first().map(|(_, _, elements)| elements.clone()).filter(|e| !e.is_empty());
        let whole = BTreeSet::from([self.egraph.find(self.root)]);
        let mut roots = value.into_iter().chain([whole]);
        let Some(roots) = roots.find(|roots| self.builds(roots, &none)) else { return Vec::new() };
        // Of expressions with the same elements, the innermost computes them.
        let mut computed: BTreeSet<Id> = BTreeSet::new();
        let mut spared = Vec::new();
        for (place, expr, elements) in all.iter().rev().unique_by(|(_, expr, _)| expr.key()) {
            // The rows that a lookup reads are counted with the lookup, not with the table.
            let inner = if looks_up(expr) { &none } else { &computed };
            let known = |id: &Id| inner.contains(id) || self.egraph[*id].data.constant.is_some();
            let is_known = elements.iter().all(known);
            // Elements that are computed in memory only are in no term that could do without them.
            let is_spared =
                || is_known || self.builds(elements, &none) && self.builds(&roots, elements);
            if !elements.is_empty() && is_spared() {
                spared.push(*place);
            }
            computed.extend(elements);
        }
        spared
    }

    /// Returns the classes of an expression's elements.
    fn elements(&self, expr: &Expr) -> BTreeSet<Id> {
        let operators = self.egraph.analysis.operators();
        let tensor = self.inputs.model.expression_term(expr, operators);
        let Some(tensor) = self.egraph.lookup_expr(&tensor) else { return BTreeSet::new() };
        // An extent is also a number that is made of a tensor, but of a dimension that is written out.
        let is_element = |node: &Node| {
            let info = operators.of(node).filter(|info| info.literals.is_empty());
            let info = info.filter(|info| info.kind == Some(Kind::Value));
            let of = info.and_then(|info| info.operand_kinds.first()) == Some(&Some(Kind::Tensor));
            of && self.egraph.find(node.children()[0]) == tensor
        };
        let classes = self.egraph.classes().filter(|class| class.nodes.iter().any(is_element));
        classes.map(|class| class.id).collect()
    }

    /// Returns true if all of the `roots` have terms without operations on whole tensors, and without the classes
    /// `without`.
    fn builds(&self, roots: &BTreeSet<Id>, without: &BTreeSet<Id>) -> bool {
        let operators = self.egraph.analysis.operators();
        let kind = |node: &Node| operators.of(node).and_then(|info| info.kind);
        let mut built: BTreeSet<Id> = BTreeSet::new();
        loop {
            let has = |child: &Id| built.contains(&self.egraph.find(*child));
            let ready = |node: &Node| match kind(node) {
                Some(Kind::Tensor) => false,
                // A label is made of terms that it must not occur in, and computes nothing.
                Some(Kind::Label) => true,
                _ => node.children().iter().all(has),
            };
            let left = |id: &Id| !built.contains(id) && !without.contains(id);
            let open = self.egraph.classes().filter(|class| left(&class.id));
            let new = open.filter(|class| class.nodes.iter().any(ready)).map(|class| class.id);
            let new: Vec<Id> = new.collect();
            if new.is_empty() {
                return roots.is_subset(&built);
            }
            built.extend(new);
        }
    }
}
