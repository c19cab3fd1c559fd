//! Tests all rules together: saturates random programs and checks that the facts and other members of their classes are
//! correct.
//!
//! Only this test lets a correct rule meet a wrong fact, because classes have many members and their facts have been
//! merged.

use super::apply::egraph;
use super::compare::{LOWERED_STEPS, Meaning, meaning};
use super::instance::{Instance, Prepared};
use super::{Case, Options, Refutation};
use crate::random::{Anywhere, Grammar, Grow, Scope, Setting, Type, World};
use egg::Id;
use ember_analysis::facts::Fact;
use ember_egraph::Extractor;
use ember_engine::CompiledRule;
use ember_engine::lottery::Lottery;
use ember_engine::saturate::{Limits, StopReason, saturate};
use ember_interpret::{Error, Value};
use ember_language::rules::{Exactness, Kind, RuleBook, Unit};
use ember_language::term::{Head, Node, Terms};
use ember_values::primitive::form::Part;
use ember_values::scalar::{DType, Scalar};
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};

/// The limits on the saturation of each program.
const LIMITS: Limits = Limits { iterations: 12, nodes: 3000 };

/// The number of other members of a program's class that are compared.
const MEMBERS: u64 = 6;

/// The numbers of comparisons made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Whole {
    /// Programs that have a meaning.
    pub programs: usize,
    /// Comparisons with other members of a program's class.
    pub members: usize,
    /// Comparisons of facts with values.
    pub facts: usize,
    /// The rules that changed something.
    pub rules: BTreeSet<&'static str>,
}

/// Saturates random programs with every exact rule, and compares facts and random members of their classes with the
/// meaning of the programs.
///
/// # Errors
/// The first program with a wrong fact or member.
pub fn check_whole(book: &RuleBook, options: &Options) -> Result<Whole, Box<Refutation>> {
    // Terms are run as they are, so that rules make what definitions stand for.
    let exact = book.claims().filter(|rule| rule.exact == Exactness::Bitwise);
    let rules: Vec<CompiledRule> = exact.map(|rule| CompiledRule::new(&rule)).collect();
    let rules: Vec<&CompiledRule> = rules.iter().collect();
    let mut rng = Rng::with_seed(options.seed);
    let mut whole = Whole::default();
    let grammar = Grammar::new(&book.signature);
    for round in 0..options.programs {
        let Some(instance) = program(&grammar, &mut rng, (round % 3) as u32) else { continue };
        let cases: Vec<Case> =
            (0..3).filter_map(|_| Case::random(&instance, &mut rng, false)).collect();
        if !cases.is_empty() {
            whole.programs += 1;
            check(&instance, &cases, &rules, &mut whole)?;
        }
    }
    Ok(whole)
}

/// Generates a random value, or a statement or embedding operation at the start of its lowering to both units.
fn program(grammar: &Grammar, rng: &mut Rng, size: u32) -> Option<Instance> {
    let world = World::random(rng, false);
    let mut terms = Terms::default();
    let setting = Anywhere::new(&world, false, rng.u8(0..4) == 0);
    let mut grow = Grow { grammar, terms: &mut terms, setting, rng };
    let around = grow.range(&Scope::default(), 1).var;
    let scope = Scope { vars: vec![around], read_only: false };
    let (kind, sort, lhs) = if grow.one_in(3) {
        let dtype = if grow.one_in(3) { DType::F32 } else { DType::I64 };
        let value = grow.value(Type { dtype, lanes: 1 }, &scope, size);
        (Kind::Value, grammar.sort(Kind::Value, None)?, value)
    } else {
        let statement = if grow.one_in(5) {
            let rank = grow.rng.usize(1..=3);
            let (to, _) = grow.memory(DType::F32, rank, true, &scope);
            let from = Anywhere::tensor(&mut grow, DType::F32, rank, &scope, 2)?;
            grow.make().output(to, Part::Whole, from)
        } else {
            grow.statement(&scope, size)
        };
        let sort = grammar.sort(Kind::Statement, Some(Unit::Both))?;
        let split = Node::new(Head::Op(grammar.boundary(sort)?), &[statement]);
        (Kind::Statement, sort, grow.terms.add(split))
    };
    Some(Instance {
        terms,
        world,
        operators: grammar.signature.table().clone(),
        sort,
        kind,
        lhs,
        others: Vec::new(),
        holes: BTreeMap::new(),
        free: vec![around],
        prepared: Prepared::default(),
    })
}

fn check(
    instance: &Instance,
    cases: &[Case],
    rules: &[&CompiledRule],
    whole: &mut Whole,
) -> Result<(), Box<Refutation>> {
    let mut egraph = egraph(instance, Exactness::Bitwise);
    let root = egraph.add_expr(&instance.terms.part(instance.lhs));
    let variables: Vec<(Id, Id)> =
        instance.variables().map(|v| (v, egraph.add_expr(&instance.terms.part(v)))).collect();
    egraph.rebuild();
    let run = saturate(&mut egraph, rules, &LIMITS);
    if let StopReason::Contradiction { .. } = run.stop {
        return Err(Box::new(Refutation::contradiction(instance, run.stop.to_string())));
    }
    whole.rules.extend(run.fired().map(|report| report.rule));
    for case in cases {
        if let Meaning::Value(value) = &case.left {
            whole.facts += 1;
            let fact = &egraph[root].data;
            let value_of = |key: Id| {
                let class = |id: &(Id, Id)| egraph.analysis.variable(egraph.find(id.1));
                let bound = variables.iter().find(|v| class(v) == egraph.analysis.variable(key))?.0;
                case.environment.iter().find(|(v, _)| *v == bound).map(|(_, x)| *x)
            };
            if let Some(found) = untrue(fact, value, value_of) {
                let refutation = Refutation::new(instance, None, case, (value.to_string(), found));
                return Err(Box::new(refutation));
            }
        }
    }
    for salt in 0..MEMBERS {
        let extractor = Extractor::new(&egraph, Lottery { salt, avoid: |_: &Node| false });
        let mut other = instance.clone();
        let Some((_, member)) = extractor.find_best(root) else { continue };
        let member = other.terms.put(&member);
        let names: BTreeMap<Id, Id> = variables
            .iter()
            .filter_map(|(v, class)| Some((*v, other.terms.put(&extractor.find_best(*class)?.1))))
            .collect();
        for case in cases {
            let value = |(v, x): &(Id, i64)| Some((*names.get(v)?, *x));
            let environment: Vec<(Id, i64)> = case.environment.iter().filter_map(value).collect();
            let limits = (case.memory, LOWERED_STEPS);
            match meaning(&other, member, &case.store, &environment, limits) {
                // Extraction chooses members by the binders and the unit around them. A member chosen at random may
                // refer to a variable or an operand that does not exist there.
                Err(Error::Unfed(_) | Error::Unbound(_) | Error::StepLimit(_)) => {}
                right => {
                    whole.members += 1;
                    Refutation::judge(&other, member, case, right)?;
                }
            }
        }
    }
    Ok(())
}

/// Returns the first fact that contradicts a value.
fn untrue(fact: &Fact, value: &Value, value_of: impl Fn(Id) -> Option<i64>) -> Option<String> {
    let Value::Scalar(x) = value else {
        return (fact.lanes.is_some_and(|n| n != value.lanes() as i64))
            .then(|| format!("a fact of {:?} lanes", fact.lanes));
    };
    let wrong = |what: String| Some(format!("the fact {what}"));
    if let Some(constant) = fact.constant.filter(|c| c != x) {
        return wrong(format!("that it is {constant}"));
    }
    if let Some(dtype) = fact.dtype.filter(|d| *d != x.dtype()) {
        return wrong(format!("that it is an {dtype}"));
    }
    if let Some(lanes) = fact.lanes.filter(|n| *n != 1) {
        return wrong(format!("that it has {lanes} lanes"));
    }
    let Scalar::I64(n) = x else { return None };
    let range = fact.range;
    if *n < range.min || *n > range.max {
        return wrong(format!("that it is in {}..={}", range.min, range.max));
    }
    let form = fact.affine.as_ref()?;
    let terms: Option<Vec<i64>> =
        form.terms.iter().map(|(v, k)| Some(k.wrapping_mul(value_of(*v)?))).collect();
    let sum = terms?.iter().fold(form.constant, |sum, x| sum.wrapping_add(*x));
    if sum == *n { None } else { wrong(format!("that it is {form:?}, which is {sum}")) }
}
