//! The meanings of operators on tensors that only rules describe: the elements and extents that their lowering rules
//! give them. The first rule without conditions for each is the meaning; all others are claims about it.

use super::book::{Rule, RuleBook};
use super::operators::{Kind, Operators};
use super::tree::COMPUTE;
use crate::term::{Head, Node};
use egg::{ENodeOrVar, Id, Language, PatternAst, Symbol, Var};
use ember_values::operation;
use ember_values::primitive::form::Form;
use rustc_hash::{FxHashMap, FxHashSet};

/// An operator by its name and number of operands.
type Key = (Symbol, usize);

/// A meaning that a rule gives an operator, as a term over its operands and over indices.
#[derive(Clone, Debug)]
pub struct Meaning {
    /// The variables of the operands.
    pub parameters: Vec<Var>,
    /// The variables of the indices of an element, or of the number of a dimension.
    pub indices: Vec<Var>,
    /// The term.
    pub body: PatternAst<Node>,
    /// The place of the rule in the book.
    pub rule: usize,
}

/// The meaning of an operator on tensors by its lowering rules.
#[derive(Clone, Debug, Default)]
pub struct Lowering {
    /// Another tensor that it is.
    pub whole: Option<Meaning>,
    /// An element, for each number of indices.
    pub elements: Vec<Meaning>,
    /// An extent.
    pub extent: Option<Meaning>,
}

impl Lowering {
    fn meanings(&self) -> impl Iterator<Item = &Meaning> {
        self.whole.iter().chain(&self.elements).chain(&self.extent)
    }

    /// Returns true if it describes elements.
    fn is_meaning(&self) -> bool {
        self.whole.is_some() || !self.elements.is_empty()
    }
}

/// The lowerings of all operators that have one.
#[derive(Clone, Debug, Default)]
pub(super) struct Lowerings {
    by_operator: FxHashMap<Key, Lowering>,
    rules: FxHashSet<usize>,
}

impl Lowerings {
    /// The lowering of an operator.
    pub(super) fn get(&self, name: Symbol, arity: usize) -> Option<&Lowering> {
        self.by_operator.get(&(name, arity))
    }

    /// Returns true if a rule is the meaning of an operator.
    pub(super) fn has(&self, rule: usize) -> bool {
        self.rules.contains(&rule)
    }

    /// Finds what rules say of operators of which nothing else says what they mean. An operator that would mean
    /// something by way of itself means nothing.
    pub(super) fn find(book: &RuleBook) -> Lowerings {
        let mut found: FxHashMap<Key, Lowering> = FxHashMap::default();
        for (at, rule) in book.rules.iter().enumerate() {
            let Some((key, part, meaning)) = said(book, at, rule) else { continue };
            let lowering = found.entry(key).or_default();
            match part {
                None => drop(lowering.whole.get_or_insert(meaning).rule),
                Some(Form::Extent { .. }) => drop(lowering.extent.get_or_insert(meaning).rule),
                Some(_) => {
                    let same = |other: &Meaning| other.indices.len() == meaning.indices.len();
                    if !lowering.elements.iter().any(same) {
                        lowering.elements.push(meaning);
                    }
                }
            }
        }
        found.retain(|_, lowering| lowering.is_meaning());
        let mut all = Lowerings::default();
        loop {
            let ready = |lowering: &Lowering| {
                lowering
                    .meanings()
                    .flat_map(|meaning| keys(&meaning.body))
                    .all(|key| all.by_operator.contains_key(&key) || !found.contains_key(&key))
            };
            let next: Vec<Key> =
                found.iter().filter(|(_, l)| ready(l)).map(|(key, _)| *key).collect();
            if next.is_empty() {
                break;
            }
            for key in next {
                if let Some(lowering) = found.remove(&key) {
                    all.rules.extend(lowering.meanings().map(|meaning| meaning.rule));
                    all.by_operator.insert(key, lowering);
                }
            }
        }
        all
    }
}

/// The operator that a rule says something of, and the part that it describes: an element, an extent, or the whole if
/// there is no form.
fn said(book: &RuleBook, at: usize, rule: &Rule) -> Option<(Key, Option<Form<usize>>, Meaning)> {
    if !(rule.guards.is_empty() && rule.fors.is_empty() && rule.wheres.is_empty()) {
        return None;
    }
    let table = book.signature.table();
    let node = |id: Id| match &rule.lhs[id] {
        ENodeOrVar::ENode(node) => Some(node),
        ENodeOrVar::Var(_) => None,
    };
    let variable = |id: Id| match &rule.lhs[id] {
        ENodeOrVar::Var(v) => Some(*v),
        ENodeOrVar::ENode(_) => None,
    };
    let root = node(Id::from(rule.lhs.len().checked_sub(1)?))?;
    let part = table.of(root).filter(|info| info.form.and_then(Form::holder).is_some());
    let (of, indices) = match part {
        Some(info) => {
            let mut operands = info.positions().map(|at| root.children()[at]);
            let of = node(operands.next()?)?;
            let indices = operands.map(variable).collect::<Option<Vec<Var>>>()?;
            (of, indices)
        }
        None => (root, Vec::new()),
    };
    let key = key(of)?;
    let parameters = of.children().iter().map(|id| variable(*id)).collect::<Option<Vec<Var>>>()?;
    let distinct: FxHashSet<&Var> = parameters.iter().chain(&indices).collect();
    let computes = keys(&rule.rhs).any(|(name, _)| name.as_str() == COMPUTE);
    if distinct.len() != parameters.len() + indices.len()
        || computes
        || !is_open(table, key)
        || book.definitions.get(key.0, key.1).is_some()
    {
        return None;
    }
    let body = book.definitions.expand_pattern(&rule.rhs);
    Some((key, part.and_then(|info| info.form), Meaning { parameters, indices, body, rule: at }))
}

/// Returns true if an operator makes tensors that neither the dialects nor the table of operations describe.
fn is_open(table: &Operators, (name, arity): Key) -> bool {
    let made = table.get(name, arity);
    made.is_some_and(|info| info.kind == Some(Kind::Tensor) && info.row.is_none())
        && operation::named(name.as_str()).is_none()
}

fn key(node: &Node) -> Option<Key> {
    match node.head() {
        Head::Op(name) => Some((name, node.children().len())),
        Head::Int(_) | Head::Real(_) => None,
    }
}

/// The operators of a pattern.
fn keys(pattern: &PatternAst<Node>) -> impl Iterator<Item = Key> {
    pattern.as_ref().iter().filter_map(|node| match node {
        ENodeOrVar::ENode(node) => key(node),
        ENodeOrVar::Var(_) => None,
    })
}
