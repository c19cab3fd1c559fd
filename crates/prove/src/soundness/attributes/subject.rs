//! The subjects of a test: instances of an operator with stores in which they have a meaning. The interpreter gives the
//! meaning; if it has none, a definition or an unconditional rule of the operator does.

use super::super::case::Case;
use super::super::compare::{LOWERED_STEPS, Memory, store_text};
use super::super::instance::Instance;
use super::{CASES, INSTANCES};
use crate::random::{Grammar, Said, World, pattern};
use egg::{ENodeOrVar, Id, Language, PatternAst, Symbol, Var};
use ember_interpret::Interpreter;
use ember_language::rules::{Kind, Operator, Rule, RuleBook, Sort};
use ember_language::term::{Head, Node};
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use thiserror::Error;

/// An instance of an operator, and a case in which it has a meaning.
pub(super) struct Subject {
    pub instance: Instance,
    pub case: Case,
    /// The operands of the operator.
    pub operands: Vec<Id>,
    /// The indices at which its meaning takes an element, if a rule says what its elements are.
    pub indices: Vec<Id>,
    /// The kinds of the operands.
    pub kinds: Vec<Option<Kind>>,
    meaning: Rc<Meaning>,
}

/// The meaning of an operator as a pattern: its sort, and the variables for the operator's operands and for the indices
/// of an element.
struct Meaning {
    operator: Symbol,
    pattern: PatternAst<Node>,
    sort: Sort,
    parameters: Vec<Var>,
    indices: Vec<Var>,
}

/// The error that nothing says what an operator means.
#[derive(Clone, Copy, Debug, Error)]
#[error("neither the interpreter nor a rule without conditions says what it means")]
pub(super) struct NoMeaning;

/// Returns the subjects of an operator, or the reason why there are none.
pub(super) fn subjects(
    book: &RuleBook,
    grammar: &Grammar,
    operator: &Operator,
    rng: &mut Rng,
) -> Result<Vec<Subject>, NoMeaning> {
    for meaning in meanings(book, grammar, operator) {
        let found = made(grammar, operator, &Rc::new(meaning), rng);
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Err(NoMeaning)
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
            &Said::default(),
            &BTreeMap::new(),
            grammar,
            world,
            rng,
            size,
            false,
            None,
        );
        let Some(instance) = instance else { continue };
        let terms = |variables: &[Var]| -> Option<Vec<Id>> {
            variables.iter().map(|v| instance.holes.get(v).copied()).collect()
        };
        let Some(operands) = terms(&meaning.parameters) else { continue };
        // An index that the pattern does not mention is not evaluated.
        let indices =
            meaning.indices.iter().filter_map(|v| instance.holes.get(v).copied()).collect();
        let case = Case::random(&instance, rng, false);
        if let Some(case) = case.filter(|case| case.memory == Memory::Bounded) {
            subjects.push(Subject {
                instance,
                case,
                operands,
                indices,
                kinds: kinds.clone(),
                meaning: Rc::clone(meaning),
            });
        }
    }
    subjects
}

/// Returns the possible meanings of an operator, starting with the interpreter's.
fn meanings(book: &RuleBook, grammar: &Grammar, operator: &Operator) -> Vec<Meaning> {
    let value = grammar.sort(Kind::Value, None);
    let Some(sort) = operator.result.named().or(value) else { return Vec::new() };
    let parameters: Vec<Var> = (0..operator.args.len() as u32).map(Var::from_u32).collect();
    let of = |pattern, sort, (parameters, indices)| {
        let operator = operator.name;
        Meaning { operator, pattern, sort, parameters, indices }
    };
    let mut meanings = Vec::new();
    // The interpreter has no other meaning for a lowered operator than its rules, which a message should show.
    if book.signature.table().lowering(operator.name, operator.args.len()).is_none() {
        meanings.push(of(pattern(operator), sort, (parameters, Vec::new())));
    }
    if let Some(definition) = book.definitions.get(operator.name, operator.args.len()) {
        let parameters = definition.parameters.clone();
        meanings.push(of(definition.body.clone(), sort, (parameters, Vec::new())));
    }
    let free =
        |rule: &&Rule| rule.guards.is_empty() && rule.fors.is_empty() && rule.wheres.is_empty();
    for rule in book.rules.iter().filter(free) {
        let Some(variables) = variables_of(&rule.lhs, operator) else { continue };
        let Some(sort) = rule.sort else { continue };
        meanings.push(of(rule.rhs.clone(), sort, variables));
    }
    meanings
}

/// Returns the variables for the operands of an operator if a pattern applies the operator to distinct variables, or
/// takes an element of that; and the variables for the indices of the element.
fn variables_of(lhs: &PatternAst<Node>, operator: &Operator) -> Option<(Vec<Var>, Vec<Var>)> {
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
    if !is(inner) {
        return None;
    }
    let indices: Vec<Var> = others.iter().map(variable).collect::<Option<_>>()?;
    let ENodeOrVar::ENode(own) = &lhs[inner] else { return None };
    let all: Vec<Var> = own.children().iter().map(variable).collect::<Option<_>>()?;
    let distinct: BTreeSet<&Var> = all.iter().collect();
    (distinct.len() == all.len()).then_some((all, indices))
}

/// Returns true if a rule states that an operator's two operands commute.
pub(super) fn commutes(book: &RuleBook, operator: &Operator) -> bool {
    if operator.args.len() != 2 {
        return false;
    }
    book.rules.iter().any(|rule| {
        let sides = [&rule.lhs, &rule.rhs].map(|side| variables_of(side, operator));
        let bare = rule.guards.is_empty() && rule.lhs.len() == 3 && rule.rhs.len() == 3;
        match sides {
            [Some((left, _)), Some((right, _))] => {
                bare && left[0] == right[1] && left[1] == right[0]
            }
            _ => false,
        }
    })
}

impl Subject {
    /// Builds the meaning of the operator for other operands.
    pub fn of(&self, instance: &mut Instance, operands: &[Id]) -> Option<Id> {
        let parameters = self.meaning.parameters.iter().copied();
        instance.holes.extend(parameters.zip(operands.iter().copied()));
        instance.substitute(&self.meaning.pattern, &BTreeMap::new())
    }

    /// Creates an interpreter for the terms of an instance in the environment of the case.
    pub fn interpreter(&self, of: &Instance) -> Result<Interpreter, ember_interpret::Error> {
        let interpreter = of.interpreter(&self.case.store);
        let mut interpreter = interpreter.with_step_limit(LOWERED_STEPS);
        for (variable, value) in &self.case.environment {
            interpreter.bind(*variable, *value)?;
        }
        Ok(interpreter)
    }

    /// Returns the case and its error as text.
    pub fn case(&self, found: &str) -> String {
        let terms = &self.instance.terms;
        let (mut named, means) = (terms.clone(), terms.part(self.instance.lhs));
        let operator = named.add(Node::new(Head::Op(self.meaning.operator), &self.operands));
        let mut text = format!("operator:   {}\n", named.part(operator));
        if operator != self.instance.lhs {
            text.push_str(&format!("means:      {means}\n"));
        }
        let mentioned = self.instance.mentioned([self.instance.lhs; 2]);
        for (variable, value) in &self.case.environment {
            if mentioned.contains(variable) {
                text.push_str(&format!("where {} = {value}\n", terms.part(*variable)));
            }
        }
        for line in store_text(&self.case.store).lines() {
            text.push_str(&format!("where {line}\n"));
        }
        text + found
    }
}
