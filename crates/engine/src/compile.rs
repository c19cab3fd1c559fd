//! Compiles rules for the e-graph: variables become slots of a row, the left side a matching program, the right side a
//! list of steps, and conditions indices into the lists of predicates and generators.

use crate::knowledge::{EGraph, Knowledge};
use crate::matcher::{Compiler, Matcher};
use egg::{ENodeOrVar, Id, Language, PatternAst, Symbol, Var};
use ember_language::rules::Numbers;
use ember_language::rules::{Arg, Call, Exactness, Phase, Rule, RuleBook};
use ember_language::rules::{COMPUTE, COMPUTE_OPS};
use ember_language::term::Node;
use ember_values::scalar::BinaryOp;
use rustc_hash::FxHashMap;

/// A compiled rule. A match of it is a row of classes: the class of the left side, then one class per variable.
#[derive(Clone, Debug)]
pub struct CompiledRule {
    /// The rule's name.
    pub name: Symbol,
    /// The phase in which it is meant to run.
    pub phase: Phase,
    /// The degree of exactness with which it preserves results.
    pub exact: Exactness,
    /// True if the matched node is removed from the search after the rule was applied.
    pub subsume: bool,
    /// The variables in the order of their slots: those bound by matching, then those of `fors`.
    pub variables: Vec<Var>,
    /// The number of variables bound by matching; they come first in `variables`.
    pub matched: usize,
    /// The conditions on matched variables.
    pub early: Vec<Test>,
    /// The ranges of the `fors` variables, in order.
    pub fors: Vec<Range>,
    /// The conditions that refer to `fors` variables.
    pub late: Vec<Test>,
    /// Conditions on loop variables that the right side makes.
    pub news: Vec<New>,
    /// The steps that build the right side; the last step is the root.
    pub plan: Vec<Step>,
    /// The nodes of the right side whose children are all matched variables; the children are slots.
    pub first: Vec<Node>,
    /// True if the right side contains computed numbers.
    pub computes: bool,
    /// The steps that build the left side.
    pub left: Vec<Step>,
    matcher: Matcher,
}

/// An argument of a condition.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// The class in a slot.
    Slot(usize),
    /// An integer.
    Int(i64),
}

/// A condition of a rule.
#[derive(Clone, Debug)]
pub struct Test {
    /// The index of the predicate in the list of predicates.
    pub predicate: usize,
    /// The arguments of the predicate.
    pub args: Vec<Operand>,
}

/// That what a slot holds does not depend on a loop variable which the right side makes.
#[derive(Clone, Debug)]
pub struct New {
    /// Builds the variable; the last step is its root.
    pub variable: Vec<Step>,
    /// The slot.
    pub within: usize,
}

/// The range of a `fors` variable.
#[derive(Clone, Debug)]
pub struct Range {
    /// The index of the generator in the list of generators.
    pub generator: usize,
    /// The arguments of the generator.
    pub args: Vec<Operand>,
}

/// A step in building a term. Its children and arguments are earlier steps.
#[derive(Clone, Debug)]
pub enum Step {
    /// The class in a slot.
    Slot(usize),
    /// A node; its children are indices of steps.
    Node(Node),
    /// The integer that results from an operation on two known integers.
    Compute(BinaryOp, usize, usize),
}

impl CompiledRule {
    /// Returns the node that the rule was applied to, given the classes of its variables; `None` if the left side is a
    /// variable.
    pub fn root<A: Knowledge>(&self, egraph: &EGraph<A>, slots: &[Id]) -> Option<Node> {
        let mut classes: Vec<Option<Id>> = Vec::with_capacity(self.left.len());
        let mut root = None;
        for step in &self.left {
            let (class, node) = match step {
                Step::Slot(slot) => (slots.get(*slot).copied(), None),
                Step::Node(node) => {
                    let node = with_children(node, &classes);
                    (node.clone().and_then(|node| egraph.lookup(node)), node)
                }
                Step::Compute(..) => (None, None),
            };
            classes.push(class);
            root = node;
        }
        root
    }

    /// Compiles a rule.
    pub fn new(rule: &Rule) -> CompiledRule {
        let mut compiler = Compiler::new(&rule.lhs);
        rule.wheres.iter().for_each(|(x, pattern)| compiler.also(*x, pattern));
        let (matcher, bound) = compiler.finish();
        let mut variables = bound.clone();
        variables.extend(rule.fors.iter().map(|(x, _)| *x));
        let mut slots = Slots { known: bound.into_iter().zip(0..).collect() };
        let matched = slots.known.len();
        let mut fors = Vec::new();
        for (x, call) in &rule.fors {
            let args = slots.operands(&call.args);
            fors.push(Range { generator: call.what.index(), args });
            slots.of(*x);
        }
        let (early, late) = rule.guards.iter().map(|call| slots.test(call)).partition(|test| {
            test.args.iter().all(|arg| match arg {
                Operand::Slot(slot) => *slot < matched,
                Operand::Int(_) => true,
            })
        });
        let new = |slots: &mut Slots, new: &ember_language::rules::New| New {
            variable: slots.plan(&new.variable),
            within: slots.of(new.within),
        };
        let news = rule.news.iter().map(|own| new(&mut slots, own)).collect();
        let plan = slots.plan(&rule.rhs);
        CompiledRule {
            name: rule.name,
            phase: rule.phase,
            exact: rule.exact,
            subsume: rule.subsume,
            variables,
            matched,
            early,
            fors,
            late,
            news,
            first: plan.iter().filter_map(|step| over_slots(&plan, step, matched)).collect(),
            computes: plan.iter().any(|step| matches!(step, Step::Compute(..))),
            plan,
            left: slots.plan(&rule.lhs),
            matcher,
        }
    }

    /// Returns the number of classes in a row: one for the left side, and one for each variable.
    pub fn width(&self) -> usize {
        1 + self.matched + self.fors.len()
    }

    /// Returns the greatest depth below a match's root of a class that decides whether it matches.
    pub fn reach(&self) -> u16 {
        self.matcher.reach()
    }

    /// Returns true if a match that was refused once may be accepted later.
    pub fn conditional(&self) -> bool {
        let asks = !(self.early.is_empty() && self.late.is_empty() && self.news.is_empty());
        self.computes || asks || !self.fors.is_empty()
    }

    /// Returns the classes in which a match may have its root.
    pub fn roots<'a, A: Knowledge>(&self, egraph: &'a EGraph<A>) -> &'a [Id] {
        self.matcher.roots(egraph)
    }

    /// Calls `found` with every new match whose root is in `classes`, as the class of the left side followed by the
    /// classes of the matched variables, until `found` returns false. A match is new if a class that it inspects
    /// changed. `level` returns the distance of a class above the nearest changed class, exact up to
    /// [`CompiledRule::reach`]. The e-graph must be clean.
    pub fn search<A: Knowledge>(
        &self,
        egraph: &EGraph<A>,
        classes: &[Id],
        level: impl Fn(Id) -> u16,
        found: impl FnMut(&[Id]) -> bool,
    ) {
        self.matcher.search(egraph, classes, level, found);
    }

    /// Returns the integers that occur in conditions; they must be in the e-graph before a condition is evaluated.
    pub fn integers(&self) -> impl Iterator<Item = i64> + '_ {
        let tests = self.early.iter().chain(&self.late).flat_map(|t| &t.args);
        tests.chain(self.fors.iter().flat_map(|f| &f.args)).filter_map(|arg| match arg {
            Operand::Int(n) => Some(*n),
            Operand::Slot(_) => None,
        })
    }
}

/// Compiles every rule of a book, in order.
pub fn compile(book: &RuleBook) -> Vec<CompiledRule> {
    book.rules.iter().map(CompiledRule::new).collect()
}

/// The slots of a rule's variables, in the order of their binding.
struct Slots {
    known: FxHashMap<Var, usize>,
}

impl Slots {
    fn of(&mut self, variable: Var) -> usize {
        let next = self.known.len();
        *self.known.entry(variable).or_insert(next)
    }

    fn operands(&mut self, args: &[Arg]) -> Vec<Operand> {
        args.iter()
            .map(|arg| match arg {
                Arg::Var(v) => Operand::Slot(self.of(*v)),
                Arg::Int(n) => Operand::Int(*n),
            })
            .collect()
    }

    fn test(&mut self, call: &Call) -> Test {
        Test { predicate: call.what.index(), args: self.operands(&call.args) }
    }

    /// Returns the steps that build a pattern, with each distinct node once.
    fn plan(&mut self, pattern: &PatternAst<Node>) -> Vec<Step> {
        let numbers = Numbers::default().of(pattern);
        let needed = needed(pattern);
        let mut step_of: FxHashMap<usize, usize> = FxHashMap::default();
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

/// Returns the node of a step with slots for children, if all its children are matched variables.
fn over_slots(plan: &[Step], step: &Step, matched: usize) -> Option<Node> {
    let Step::Node(node) = step else { return None };
    let mut node = node.clone();
    for child in node.children_mut() {
        match plan[usize::from(*child)] {
            Step::Slot(slot) if slot < matched => *child = Id::from(slot),
            Step::Slot(_) | Step::Node(_) | Step::Compute(..) => return None,
        }
    }
    (!node.is_leaf()).then_some(node)
}

/// Marks the nodes of a pattern that its root needs. Unused abbreviations are not needed, nor is the operation's name
/// in a computation.
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

/// Returns the operation and the arguments of a `!` node.
fn computation(pattern: &PatternAst<Node>, node: &Node) -> Option<(BinaryOp, Id, Id)> {
    let [op, a, b] = node.children() else { return None };
    if node.name() != Some(COMPUTE) {
        return None;
    }
    let ENodeOrVar::ENode(op) = &pattern[*op] else { return None };
    let op = COMPUTE_OPS.into_iter().find(|known| Some(known.name()) == op.name())?;
    Some((op, *a, *b))
}

/// Returns a node with other children, given by their positions; `None` if one does not exist.
pub(crate) fn with_children(node: &Node, built: &[Option<Id>]) -> Option<Node> {
    let mut node = node.clone();
    for child in node.children_mut() {
        *child = built.get(usize::from(*child)).copied().flatten()?;
    }
    Some(node)
}
