//! What an operator is tested on: instances with stores in which it has a meaning. The meaning is the interpreter's;
//! where that knows none, the one that a definition or an unconditional rule of the operator gives.

use super::super::bank::Bank;
use super::super::case::Case;
use super::super::compare::{LOWERED_STEPS, store_text};
use super::super::grammar::{Grammar, pattern};
use super::super::instance::Instance;
use super::super::world::World;
use super::{CASES, INSTANCES};
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_interpret::{Error, Interpreter};
use ember_language::rules::{Kind, Operator, Rule, RuleBook, Sort};
use ember_language::term::{Head, Node};
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// An instance of an operator and a case in which it has a meaning.
pub(super) struct Subject {
    pub instance: Instance,
    pub case: Case,
    /// Its operands.
    pub operands: Vec<Id>,
    /// Their kinds.
    pub kinds: Vec<Option<Kind>>,
    meaning: Rc<Meaning>,
}

/// A term of which the operator's operands are variables, by its sort.
struct Meaning {
    pattern: PatternAst<Node>,
    sort: Sort,
    parameters: Vec<Var>,
}

/// The subjects of an operator, or why there are none.
pub(super) fn subjects(
    book: &RuleBook,
    grammar: &Grammar,
    operator: &Operator,
    rng: &mut Rng,
) -> Result<Vec<Subject>, String> {
    for meaning in meanings(book, grammar, operator) {
        let found = made(grammar, operator, &Rc::new(meaning), rng);
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Err("neither the interpreter nor a rule without conditions says what it means".to_owned())
}

fn made(
    grammar: &Grammar,
    operator: &Operator,
    meaning: &Rc<Meaning>,
    rng: &mut Rng,
) -> Vec<Subject> {
    let kinds = grammar.operators().get(operator.name, operator.args.len());
    let kinds = kinds.map(|info| info.operand_kinds.clone()).unwrap_or_default();
    let mut subjects = Vec::new();
    for round in 0..INSTANCES {
        if subjects.len() == CASES {
            break;
        }
        let world = World::random(rng, false);
        let none = BTreeMap::new();
        let size = (round % 2) as u32;
        let instance = Instance::of(
            &meaning.pattern,
            &[],
            meaning.sort,
            &none,
            &[],
            grammar,
            world,
            rng,
            size,
            false,
        );
        let Some(instance) = instance else { continue };
        let operands = meaning.parameters.iter().map(|v| instance.holes.get(v).copied());
        let Some(operands) = operands.collect::<Option<Vec<Id>>>() else { continue };
        if let Some(case) = Case::random(&instance, rng, false) {
            subjects.push(Subject {
                instance,
                case,
                operands,
                kinds: kinds.clone(),
                meaning: Rc::clone(meaning),
            });
        }
    }
    subjects
}

/// What an operator may mean, the interpreter's meaning first.
fn meanings(book: &RuleBook, grammar: &Grammar, operator: &Operator) -> Vec<Meaning> {
    let value = grammar.sort(Kind::Value, None);
    let Some(sort) = operator.result.named().or(value) else { return Vec::new() };
    let parameters: Vec<Var> = (0..operator.args.len() as u32).map(Var::from_u32).collect();
    let mut meanings = vec![Meaning { pattern: pattern(operator), sort, parameters }];
    if let Some(definition) = book.definitions.get(operator.name, operator.args.len()) {
        let parameters = definition.parameters.clone();
        meanings.push(Meaning { pattern: definition.body.clone(), sort, parameters });
    }
    let free =
        |rule: &&Rule| rule.guards.is_empty() && rule.fors.is_empty() && rule.wheres.is_empty();
    for rule in book.rules.iter().filter(free) {
        let Some(parameters) = parameters_of(&rule.lhs, operator) else { continue };
        let Some(sort) = rule.sort else { continue };
        meanings.push(Meaning { pattern: rule.rhs.clone(), sort, parameters });
    }
    meanings
}

/// The variables that stand for the operands of an operator where a pattern is the operator of these alone, or an
/// element of it.
fn parameters_of(lhs: &PatternAst<Node>, operator: &Operator) -> Option<Vec<Var>> {
    let root = Id::from(lhs.len().checked_sub(1)?);
    let is = |id: Id| match &lhs[id] {
        ENodeOrVar::ENode(node) => {
            node.head() == Head::Op(operator.name) && node.children().len() == operator.args.len()
        }
        ENodeOrVar::Var(_) => false,
    };
    let ENodeOrVar::ENode(node) = &lhs[root] else { return None };
    let inner = if is(root) { root } else { *node.children().first()? };
    let others = if is(root) { &[][..] } else { &node.children()[1..] };
    let variable = |id: &Id| match &lhs[*id] {
        ENodeOrVar::Var(v) => Some(*v),
        ENodeOrVar::ENode(_) => None,
    };
    if !is(inner) || !others.iter().all(|id| variable(id).is_some()) {
        return None;
    }
    let ENodeOrVar::ENode(own) = &lhs[inner] else { return None };
    let all: Vec<Var> = own.children().iter().map(variable).collect::<Option<_>>()?;
    let distinct: BTreeSet<&Var> = all.iter().collect();
    (distinct.len() == all.len()).then_some(all)
}

/// Whether a rule says that an operator's two operands may change places.
pub(super) fn commutes(book: &RuleBook, operator: &Operator) -> bool {
    if operator.args.len() != 2 {
        return false;
    }
    book.rules.iter().any(|rule| {
        let sides = [&rule.lhs, &rule.rhs].map(|side| parameters_of(side, operator));
        let bare = rule.guards.is_empty() && rule.lhs.len() == 3 && rule.rhs.len() == 3;
        match sides {
            [Some(left), Some(right)] => bare && left[0] == right[1] && left[1] == right[0],
            _ => false,
        }
    })
}

impl Subject {
    /// What the operator means of other operands.
    pub fn of(&self, instance: &mut Instance, operands: &[Id]) -> Option<Id> {
        let parameters = self.meaning.parameters.iter().copied();
        instance.holes.extend(parameters.zip(operands.iter().copied()));
        instance.substitute(&self.meaning.pattern, &BTreeMap::new())
    }

    /// An interpreter of some terms in the environment of the case.
    pub fn interpreter(&self, bank: &Bank) -> Result<Interpreter, Error> {
        let mut interpreter =
            Interpreter::new(bank.all(), &self.instance.operators, self.case.store.clone())
                .with_step_limit(LOWERED_STEPS);
        for (variable, value) in &self.case.environment {
            interpreter.bind(*variable, *value)?;
        }
        Ok(interpreter)
    }

    /// The case and what is wrong in it, as text.
    pub fn case(&self, found: &str) -> String {
        let bank = &self.instance.bank;
        let mut text = format!("operator:   {}\n", bank.extract(self.instance.lhs));
        let mentioned = self.instance.mentioned([self.instance.lhs; 2]);
        for (variable, value) in &self.case.environment {
            if mentioned.contains(variable) {
                text.push_str(&format!("where {} = {value}\n", bank.extract(*variable)));
            }
        }
        for line in store_text(&self.case.store).lines() {
            text.push_str(&format!("where {line}\n"));
        }
        text + found
    }
}
