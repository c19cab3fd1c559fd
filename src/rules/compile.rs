//! Rules made ready for the e-graph: variables become slots of a row, the left side a compiled
//! matching program, the right side a list of steps, conditions function pointers.

use super::book::{Arg, Call, Exactness, Phase, Rule, RuleBook};
use super::shape::Numbers;
use super::tree::{COMPUTE, COMPUTE_OPS};
use crate::facts::EGraph;
use crate::term::{Head, Node};
use egg::{ENodeOrVar, Id, Language, MultiPattern, Pattern, PatternAst, Searcher, Symbol, Var};
use ember_targets::scalar::BinaryOp;
use std::collections::HashMap;

/// A rule made ready for the e-graph. A match of it is a row of classes: that of the left side,
/// then one for each variable.
#[derive(Clone, Debug)]
pub struct CompiledRule {
    /// The rule's name.
    pub name: Symbol,
    /// When it is meant to run.
    pub phase: Phase,
    /// How exactly it keeps results.
    pub exact: Exactness,
    /// Whether what was matched is taken out of the search afterwards.
    pub subsume: bool,
    /// Variables bound by matching; those of `fors` follow them.
    pub(crate) matched: usize,
    /// Conditions on matched variables.
    pub(crate) early: Vec<Test>,
    /// What the further variables range over, in order.
    pub(crate) fors: Vec<Range>,
    /// Conditions that need the further variables too.
    pub(crate) late: Vec<Test>,
    /// Builds the right side; the last step is its root.
    pub(crate) plan: Vec<Step>,
    /// Builds the left side.
    pub(crate) left: Vec<Step>,
    matcher: Matcher,
    root: <Node as Language>::Discriminant,
}

#[derive(Clone, Debug)]
enum Matcher {
    One(Pattern<Node>),
    Several(MultiPattern<Node>),
}

/// An argument of a condition.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand {
    /// The class in a slot.
    Slot(usize),
    /// An integer.
    Int(i64),
}

/// A condition.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    pub holds: fn(&EGraph, &[Id]) -> bool,
    pub args: Vec<Operand>,
}

/// What a variable ranges over.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    pub values: fn(&EGraph, &[Id]) -> Vec<i64>,
    pub args: Vec<Operand>,
}

/// A step in building a term. Children and arguments are earlier steps.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// The class in a slot.
    Slot(usize),
    /// A node; its children are the numbers of steps.
    Node(Node),
    /// The integer that an operation gives on two known integers.
    Compute(BinaryOp, usize, usize),
}

impl CompiledRule {
    /// Compiles a rule.
    pub fn new(rule: &Rule) -> CompiledRule {
        let mut slots = Slots::default();
        let lhs = slots.pattern(&rule.lhs);
        let root = root_of(&lhs);
        let wheres: Vec<(usize, PatternAst<Node>)> =
            rule.wheres.iter().map(|(x, p)| (slots.of(*x), slots.pattern(p))).collect();
        let matched = slots.count();
        let matcher = if wheres.is_empty() {
            Matcher::One(Pattern::new(lhs))
        } else {
            // The left side's own class needs a variable too; no slot has this number.
            let mut patterns = vec![(Var::from_u32(u32::MAX), lhs)];
            patterns.extend(wheres.into_iter().map(|(x, p)| (slot_variable(x), p)));
            Matcher::Several(MultiPattern::new(patterns))
        };
        let mut fors = Vec::new();
        for (x, call) in &rule.fors {
            let args = slots.operands(&call.args);
            fors.push(Range { values: call.what.values, args });
            slots.of(*x);
        }
        let (early, late) = rule.guards.iter().map(|call| slots.test(call)).partition(|test| {
            test.args.iter().all(|arg| match arg {
                Operand::Slot(slot) => *slot < matched,
                Operand::Int(_) => true,
            })
        });
        CompiledRule {
            name: rule.name,
            phase: rule.phase,
            exact: rule.exact,
            subsume: rule.subsume,
            matched,
            early,
            fors,
            late,
            plan: slots.plan(&rule.rhs),
            left: slots.plan(&rule.lhs),
            matcher,
            root,
        }
    }

    /// The number of classes in a row: that of the left side, and one for each variable.
    pub(crate) fn width(&self) -> usize {
        1 + self.matched + self.fors.len()
    }

    /// Calls `found` with every match, as the class of the left side and the classes of the
    /// matched variables, until it answers false. The e-graph must be clean.
    pub(crate) fn search(&self, egraph: &EGraph, mut found: impl FnMut(&[Id]) -> bool) {
        let Some(classes) = egraph.classes_for_op(&self.root) else { return };
        let mut row = vec![Id::from(0usize); 1 + self.matched];
        for class in classes {
            let matches = match &self.matcher {
                Matcher::One(p) => p.search_eclass_with_limit(egraph, class, usize::MAX),
                Matcher::Several(p) => p.search_eclass_with_limit(egraph, class, usize::MAX),
            };
            for subst in matches.into_iter().flat_map(|m| m.substs) {
                row[0] = class;
                for (slot, id) in row[1..].iter_mut().enumerate() {
                    *id = egraph.find(subst[slot_variable(slot)]);
                }
                if !found(&row) {
                    return;
                }
            }
        }
    }

    /// The integers that conditions name; they must be in the e-graph to be asked about.
    pub(crate) fn integers(&self) -> impl Iterator<Item = i64> + '_ {
        let tests = self.early.iter().chain(&self.late).flat_map(|t| &t.args);
        tests.chain(self.fors.iter().flat_map(|f| &f.args)).filter_map(|arg| match arg {
            Operand::Int(n) => Some(*n),
            Operand::Slot(_) => None,
        })
    }
}

impl RuleBook {
    /// Compiles every rule, in order.
    pub fn compile(&self) -> Vec<CompiledRule> {
        self.rules.iter().map(CompiledRule::new).collect()
    }
}

/// The slots of a rule's variables, in the order in which they are bound.
#[derive(Default)]
struct Slots {
    known: HashMap<Var, usize>,
}

impl Slots {
    fn of(&mut self, variable: Var) -> usize {
        let next = self.known.len();
        *self.known.entry(variable).or_insert(next)
    }

    fn count(&self) -> usize {
        self.known.len()
    }

    /// A pattern with its variables named by their slots.
    fn pattern(&mut self, pattern: &PatternAst<Node>) -> PatternAst<Node> {
        pattern
            .into_iter()
            .map(|node| match node {
                ENodeOrVar::Var(v) => ENodeOrVar::Var(slot_variable(self.of(*v))),
                ENodeOrVar::ENode(node) => ENodeOrVar::ENode(node.clone()),
            })
            .collect()
    }

    fn operands(&mut self, args: &[Arg]) -> Vec<Operand> {
        args.iter()
            .map(|arg| match arg {
                Arg::Var(v) => Operand::Slot(self.of(*v)),
                Arg::Int(n) => Operand::Int(*n),
            })
            .collect()
    }

    fn test(&mut self, call: &Call<crate::predicates::Predicate>) -> Test {
        Test { holds: call.what.holds, args: self.operands(&call.args) }
    }

    /// The steps that build a pattern, each distinct node once.
    fn plan(&mut self, pattern: &PatternAst<Node>) -> Vec<Step> {
        let numbers = Numbers::default().of(pattern);
        let needed = needed(pattern);
        let mut step_of: HashMap<usize, usize> = HashMap::new();
        let mut steps = Vec::new();
        for (i, node) in pattern.into_iter().enumerate() {
            let last = i + 1 == pattern.len();
            if !needed[i] || (step_of.contains_key(&numbers[i]) && !last) {
                continue;
            }
            let step = |id: &Id| step_of[&numbers[usize::from(*id)]];
            let built = match node {
                ENodeOrVar::Var(v) => Step::Slot(self.of(*v)),
                ENodeOrVar::ENode(node) => match computation(pattern, node) {
                    Some((op, a, b)) => Step::Compute(op, step(&a), step(&b)),
                    None => Step::Node(node.clone().map_children(|child| Id::from(step(&child)))),
                },
            };
            step_of.insert(numbers[i], steps.len());
            steps.push(built);
        }
        steps
    }
}

/// Which nodes of a pattern its root is made of; abbreviations that are not used are not, nor is
/// the operation's name in a computation.
fn needed(pattern: &PatternAst<Node>) -> Vec<bool> {
    let mut needed = vec![false; pattern.len()];
    if let Some(root) = needed.last_mut() {
        *root = true;
    }
    for (i, node) in pattern.as_ref().iter().enumerate().rev() {
        if needed[i] {
            let computed = match node {
                ENodeOrVar::ENode(node) => computation(pattern, node).is_some(),
                ENodeOrVar::Var(_) => false,
            };
            for child in node.children().iter().skip(usize::from(computed)) {
                needed[usize::from(*child)] = true;
            }
        }
    }
    needed
}

/// The operation and arguments of a `!` node.
fn computation(pattern: &PatternAst<Node>, node: &Node) -> Option<(BinaryOp, Id, Id)> {
    let [op, a, b] = node.children() else { return None };
    if node.name() != Some(COMPUTE) {
        return None;
    }
    let ENodeOrVar::ENode(op) = &pattern[*op] else { return None };
    let op = COMPUTE_OPS.into_iter().find(|known| Some(known.name()) == op.name())?;
    Some((op, *a, *b))
}

fn slot_variable(slot: usize) -> Var {
    Var::from_u32(slot as u32)
}

/// What the root of a left side is; a checked rule's is never a variable.
fn root_of(pattern: &PatternAst<Node>) -> <Node as Language>::Discriminant {
    match pattern.as_ref().last() {
        Some(ENodeOrVar::ENode(node)) => node.discriminant(),
        Some(ENodeOrVar::Var(_)) | None => (Head::Op(Symbol::from("?")), 0),
    }
}
