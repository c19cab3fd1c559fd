//! Mutants of a rule's right side: another number, operator, variable or operation, exchanged operands, or a part of a
//! term in its place. Each is of the same sorts.

use super::{Kind, Mutant};
use egg::{ENodeOrVar, Id, Language, PatternAst, Symbol, Var};
use ember_language::rules::{
    COMPUTE, COMPUTE_OPS, Kind as Meaning, New, Rule, Signature, Sort, SortTerm,
};
use ember_language::term::{Head, Node};
use ember_values::scalar::BinaryOp;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A change of one node.
enum Change {
    /// Puts a node in its place.
    Node(ENodeOrVar<Node>),
    /// Puts another part of the side in its place.
    Part(Id),
}

/// Returns the mutants of a rule's right side.
pub(super) fn mutants(signature: &Signature, rule: &Arc<Rule>) -> Vec<Mutant> {
    let sites = Sites::new(signature, rule);
    let mut seen = BTreeSet::from([rule.rhs.to_string()]);
    let mut found = Vec::new();
    for at in (0..rule.rhs.len()).map(Id::from) {
        for (kind, change) in sites.changes(at) {
            let Some((rhs, news)) = changed(rule, at, change) else { continue };
            let text = rhs.to_string();
            // Two terms that are equal claim nothing.
            if text != rule.lhs.to_string() && seen.insert(text.clone()) {
                found.push(Mutant {
                    kind,
                    change: text,
                    rule: Rule { rhs, news, ..Rule::clone(rule) },
                    original: Arc::clone(rule),
                    lacking: None,
                });
            }
        }
    }
    found
}

/// Returns the right side of a rule with one node changed, and the conditions on the variables that it then makes.
fn changed(rule: &Rule, at: Id, change: Change) -> Option<(PatternAst<Node>, Vec<New>)> {
    let side = &rule.rhs;
    let part = |side: &PatternAst<Node>, at: Id| side[at].build_recexpr(|id| side[id].clone());
    let mut next = PatternAst::default();
    let mut ids: Vec<Id> = Vec::with_capacity(side.len());
    for (here, node) in side.items() {
        let node = match &change {
            Change::Node(node) if here == at => node,
            Change::Part(part) if here == at => {
                ids.push(*ids.get(usize::from(*part))?);
                continue;
            }
            _ => node,
        };
        ids.push(next.add(node.clone().map_children(|child| ids[usize::from(child)])));
    }
    let changed = |new: &New| {
        let own = new.variable.to_string();
        let place = (0..side.len()).find(|at| part(side, Id::from(*at)).to_string() == own);
        let variable = place.map_or_else(|| new.variable.clone(), |at| part(&next, ids[at]));
        New { variable, within: new.within }
    };
    let news = rule.news.iter().map(changed).collect();
    Some((part(&next, *ids.last()?), news))
}

/// The nodes, variables and literals of a side that a mutant may change.
struct Sites<'a> {
    signature: &'a Signature,
    side: &'a PatternAst<Node>,
    /// The rule's variables that a side may have, with their sorts.
    sorts: BTreeMap<Var, Option<Sort>>,
    /// The nodes that are in the name of a loop variable.
    labels: BTreeSet<Id>,
    /// The number of loop variables that the side makes.
    made: usize,
}

impl<'a> Sites<'a> {
    fn new(signature: &'a Signature, rule: &'a Rule) -> Sites<'a> {
        let side = &rule.rhs;
        let mut labels = BTreeSet::new();
        let mut made = BTreeSet::new();
        for (id, node) in side.items() {
            let ENodeOrVar::ENode(node) = node else { continue };
            let Some(info) = signature.table().of(node) else { continue };
            if info.kind == Some(Meaning::Label) && !node.is_leaf() {
                labels.insert(id);
                labels.extend(node.children());
            }
            if info.makes_variable {
                made.insert(id);
            }
        }
        Sites {
            signature,
            side,
            sorts: rule.variables.iter().copied().collect(),
            labels,
            made: made.len(),
        }
    }

    fn changes(&self, at: Id) -> Vec<(Kind, Change)> {
        // The name of a variable says nothing but that it differs from others.
        if self.labels.contains(&at) && (self.made < 2 || !self.side[at].is_leaf()) {
            return Vec::new();
        }
        match &self.side[at] {
            ENodeOrVar::Var(_) if self.labels.contains(&at) => Vec::new(),
            ENodeOrVar::Var(v) => self.variables(*v),
            ENodeOrVar::ENode(node) => match node.head() {
                Head::Int(n) => self.numbers(at, n),
                Head::Real(bits) => {
                    let x = f64::from_bits(bits);
                    let real = |x: f64| Node::new(Head::real(x), &[]);
                    let others = [real(x + 1.0), real(-x)];
                    others
                        .map(|node| (Kind::Constant, Change::Node(ENodeOrVar::ENode(node))))
                        .into()
                }
                Head::Op(_) if self.computes(at) => self.computations(at),
                Head::Op(_) => self.operators(node),
            },
        }
    }

    /// Another variable of the rule, of the same sort.
    fn variables(&self, v: Var) -> Vec<(Kind, Change)> {
        let Some(Some(own)) = self.sorts.get(&v) else { return Vec::new() };
        let others = self.sorts.iter().filter(|(w, sort)| **w != v && **sort == Some(*own));
        others.map(|(w, _)| (Kind::Variable, Change::Node(ENodeOrVar::Var(*w)))).collect()
    }

    /// The numbers next to one; a literal operand, such as a step, stays positive.
    fn numbers(&self, at: Id, n: i64) -> Vec<(Kind, Change)> {
        let table = self.signature.table();
        let literal = self.side.as_ref().iter().any(|node| match node {
            ENodeOrVar::ENode(node) => table.of(node).is_some_and(|info| {
                info.literals.iter().any(|operand| node.children().get(*operand) == Some(&at))
            }),
            ENodeOrVar::Var(_) => false,
        });
        let others = [n.wrapping_sub(1), n.wrapping_add(1)].into_iter();
        let others =
            others.filter(|n| *n >= 1 || !literal && (*n >= 0 || !self.labels.contains(&at)));
        others.map(|n| (Kind::Constant, Change::Node(ENodeOrVar::ENode(Node::int(n))))).collect()
    }

    fn operators(&self, node: &Node) -> Vec<(Kind, Change)> {
        let children = node.children();
        let named =
            |name: Symbol| Change::Node(ENodeOrVar::ENode(Node::new(Head::Op(name), children)));
        let swapped = |i: usize, j: usize| {
            let mut children = children.to_vec();
            children.swap(i, j);
            Change::Node(ENodeOrVar::ENode(Node::new(node.head(), &children)))
        };
        let mut found = Vec::new();
        if let (Some(COMPUTE), [op, a, b]) = (node.name(), children) {
            if !self.operation(*op).is_some_and(BinaryOp::folds) {
                found.push((Kind::Operands, swapped(1, 2)));
            }
            found.extend([*a, *b].map(|part| (Kind::Part, Change::Part(part))));
            return found;
        }
        let Some(info) = self.signature.table().of(node) else { return found };
        found.extend(self.signature.table().instead(info).map(|op| (Kind::Operator, named(op))));
        let Some(operator) = self.signature.operator_of(node) else { return found };
        let pairs = (0..children.len()).flat_map(|j| (0..j).map(move |i| (i, j)));
        for (i, j) in pairs {
            let alike = operator.args[i] == operator.args[j] && children[i] != children[j];
            let named = children.len() == 3 && info.operand_kinds[0] == Some(Meaning::Operation);
            let commutes = named && self.operation(children[0]).is_some_and(BinaryOp::folds);
            if alike && !info.commutes() && !commutes {
                found.push((Kind::Operands, swapped(i, j)));
            }
        }
        for (at, child) in children.iter().enumerate() {
            if operator.args[at] == operator.result && self.is_whole(operator.result) {
                found.push((Kind::Part, Change::Part(*child)));
            }
        }
        found
    }

    /// Returns true if a node is the operation of a computed number.
    fn computes(&self, at: Id) -> bool {
        self.side.as_ref().iter().any(|node| match node {
            ENodeOrVar::ENode(node) => {
                node.name() == Some(COMPUTE) && node.children().first() == Some(&at)
            }
            ENodeOrVar::Var(_) => false,
        })
    }

    fn operation(&self, at: Id) -> Option<BinaryOp> {
        match &self.side[at] {
            ENodeOrVar::ENode(op) => BinaryOp::parse(op.name()?),
            ENodeOrVar::Var(_) => None,
        }
    }

    /// Another operation of a computed number.
    fn computations(&self, at: Id) -> Vec<(Kind, Change)> {
        let own = COMPUTE_OPS.iter().position(|op| Some(*op) == self.operation(at));
        let other = own.map(|own| COMPUTE_OPS[(own + 1) % COMPUTE_OPS.len()]);
        let change = |op: BinaryOp| Change::Node(ENodeOrVar::ENode(Node::op(op.name(), &[])));
        other.map(|op| (Kind::Operator, change(op))).into_iter().collect()
    }

    /// Returns true if terms of this sort are evaluated.
    fn is_whole(&self, sort: SortTerm) -> bool {
        match sort {
            SortTerm::Is(sort) => {
                let declared = self.signature.sort(sort.name()).and_then(|sort| sort.kind);
                declared.is_none_or(Meaning::is_evaluated)
            }
            SortTerm::Any(_) => true,
        }
    }
}
