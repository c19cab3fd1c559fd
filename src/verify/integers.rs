//! What a rule claims of integers, and whether a solver agrees.
//!
//! Both sides must reach the same leaves, for the same values of the loop variables, with the same
//! indices, as often, and in the same order where no condition of the rule makes order immaterial.

use super::solver::{Answer, Solver};
use super::symbolic::{Functions, Inexpressible, Side, Translation, Visit};
use crate::rules::Rule;
use egg::Var;
use itertools::Itertools;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What is known of a rule's claims about integers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum Integers {
    /// It claims nothing: both sides compute the same indices in the same loops.
    None,
    /// A solver found no exception.
    Proved {
        /// Formulas that were proved.
        claims: usize,
    },
    /// A solver found an exception.
    Refuted {
        /// What is not so.
        claim: String,
        /// The values for which it is not.
        values: Vec<(String, String)>,
    },
    /// A solver gave up.
    Unknown {
        /// On what, and why.
        reason: String,
    },
    /// What the rule says is not told in loops and indices: it defines an operator, say.
    Inexpressible {
        /// What is not.
        reason: String,
    },
    /// There is something to prove, and nothing to prove it with.
    NoSolver {
        /// Formulas that would have been asked.
        claims: usize,
    },
}

/// Numbers that stand for those of generators: lanes and lengths of tiles.
const NUMBERS: [i64; 6] = [2, 4, 8, 16, 32, 64];

/// Conditions that make the order of what is done immaterial, or the statements around it one.
const ORDER_FREE: [&str; 3] = ["independent", "independent-lanes", "own-lane"];

/// One formula that must hold.
struct Claim {
    what: String,
    /// Its negation, with declarations; no values may make it true. Where there are two, the first
    /// follows from the second and is easier: it names what the second says exists.
    scripts: Vec<String>,
    /// The constants whose values tell an exception.
    constants: Vec<String>,
}

/// Asks a solver about everything that a rule claims of integers.
pub(super) fn check(rule: &Rule, solver: Option<&Solver>) -> Integers {
    let claims = match claims(rule) {
        Ok(claims) => claims,
        Err(Inexpressible(reason)) => return Integers::Inexpressible { reason },
    };
    match (claims.len(), solver) {
        (0, _) => Integers::None,
        (claims, None) => Integers::NoSolver { claims },
        (_, Some(solver)) => ask(&claims, solver),
    }
}

fn ask(claims: &[Claim], solver: &Solver) -> Integers {
    for claim in claims {
        let mut answer = Answer::Unknown(String::new());
        for script in &claim.scripts {
            answer = solver.ask(script, &claim.constants);
            if answer == Answer::Unsatisfiable {
                break;
            }
        }
        match answer {
            Answer::Unsatisfiable => {}
            Answer::Satisfiable(values) => {
                return Integers::Refuted { claim: claim.what.clone(), values };
            }
            Answer::Unknown(why) => {
                return Integers::Unknown { reason: format!("{}: {why}", claim.what) };
            }
        }
    }
    Integers::Proved { claims: claims.len() }
}

/// Everything that a rule claims, for each number of its generators.
fn claims(rule: &Rule) -> Result<Vec<Claim>, Inexpressible> {
    let ranges: Vec<Vec<(Var, i64)>> =
        rule.fors.iter().map(|(v, _)| NUMBERS.map(|n| (*v, n)).to_vec()).collect();
    let choices: Vec<BTreeMap<Var, i64>> = if ranges.is_empty() {
        vec![BTreeMap::new()]
    } else {
        ranges.into_iter().multi_cartesian_product().map(BTreeMap::from_iter).collect()
    };
    let mut all = Vec::new();
    for numbers in choices {
        all.extend(claims_for(rule, &numbers)?);
    }
    Ok(all)
}

fn claims_for(rule: &Rule, numbers: &BTreeMap<Var, i64>) -> Result<Vec<Claim>, Inexpressible> {
    let mut one = Translation::new(rule, numbers.clone(), "x");
    let left = one.side(&rule.lhs)?;
    let same = Translation::new(rule, numbers.clone(), "x").side(&rule.rhs)?;
    let (visits, again) = (&left.visits, &same.visits);
    if visits.len() == again.len() && visits.iter().zip(again).all(|(a, b)| a.same(b)) {
        return Ok(Vec::new());
    }
    let mut other = Translation::new(rule, numbers.clone(), "y");
    let right = other.side(&rule.rhs)?;
    if one.foreign != other.foreign {
        let only = one.foreign.symmetric_difference(&other.foreign).join(", ");
        return Err(Inexpressible(format!(
            "one side has an operator that the other has not: {only}"
        )));
    }
    if one.floats || other.floats {
        return Err(Inexpressible("its numbers need not be integers".to_owned()));
    }
    let pairs = pair(&left, &right)?;
    let assumed = one.assumptions();
    let mut functions = one.functions;
    functions.extend(other.functions);
    let ordered = !right.folded && !rule.guards.iter().any(|g| ORDER_FREE.contains(&g.what.name));
    let note = if numbers.is_empty() {
        String::new()
    } else {
        format!(" for {}", numbers.iter().map(|(v, n)| format!("{v} = {n}")).join(", "))
    };
    let mut claims = Vec::new();
    for (l, r) in &pairs {
        of_pair(l, r, &mut claims);
    }
    if ordered {
        for (a, b) in pairs.iter().cartesian_product(&pairs) {
            claims.push(order(*a, *b));
        }
    }
    let finish = |Negated { what, formulas, no_one, constants }: Negated| {
        let scripts = no_one.iter().map(Some).chain(no_one.is_empty().then_some(None));
        let scripts = scripts.map(|no_one| {
            let all = assumed.iter().chain(&formulas).chain(no_one).cloned();
            script(&functions, &constants, all)
        });
        Claim { scripts: scripts.collect(), what: what + &note, constants }
    };
    Ok(claims.into_iter().map(finish).collect())
}

/// A claim as what would contradict it.
struct Negated {
    what: String,
    /// All of these.
    formulas: Vec<String>,
    /// And any of these, which say that something does not exist, the easier first.
    no_one: Vec<String>,
    /// The constants that all of them speak of.
    constants: Vec<String>,
}

impl Negated {
    fn new(what: String, formulas: Vec<String>, constants: Vec<String>) -> Negated {
        Negated { what, formulas, no_one: Vec::new(), constants }
    }
}

/// Puts each visit of the left side beside that of the right side, in order.
fn pair<'a>(left: &'a Side, right: &'a Side) -> Result<Vec<(&'a Visit, &'a Visit)>, Inexpressible> {
    let leaves = |side: &'a Side| {
        let mut visits: Vec<&Visit> = side.visits.iter().collect();
        visits.sort_by(|a, b| a.leaf.cmp(&b.leaf));
        visits
    };
    let (left, right) = (leaves(left), leaves(right));
    let names = |visits: &[&Visit]| visits.iter().map(|v| v.leaf.clone()).join(", ");
    let shape = |visits: &[&Visit]| {
        visits.iter().map(|v| (v.leaf.clone(), v.args.len())).collect::<Vec<_>>()
    };
    if shape(&left) != shape(&right) {
        let reason = format!("left: {}; right: {}", names(&left), names(&right));
        return Err(Inexpressible(reason));
    }
    for (l, r) in left.iter().zip(&right) {
        let lost = l.id.keys().find(|k| !r.id.contains_key(*k) && !l.free_of.contains(*k));
        if let Some(lost) = lost {
            return Err(Inexpressible(format!("`{}` has no {lost} on the right", l.leaf)));
        }
    }
    Ok(left.into_iter().zip(right).collect())
}

/// What is claimed of one leaf.
fn of_pair(l: &Visit, r: &Visit, claims: &mut Vec<Negated>) {
    let leaf = &l.leaf;
    // A vector value may be known in more lanes than the left side's; nobody looks at these.
    let value = leaf == "value";
    let same = same_id(l, r, &r.id);
    let reached = |from: &Visit, to: &Visit, sides: &str| Negated {
        what: format!("`{leaf}` of the {sides} side"),
        formulas: from.domain.clone(),
        no_one: none(to, from, &all(to.domain.iter().cloned().chain([same.clone()]))),
        constants: from.counters.clone(),
    };
    claims.push(reached(l, r, "left side is reached by the right"));
    if !value {
        claims.push(reached(r, l, "right side is reached by the left"));
        let sides = [(l, "left"), (r, "right")];
        for (side, name) in sides.into_iter().filter(|(side, _)| !side.counters.is_empty()) {
            let again = again(side);
            let differ = side
                .counters
                .iter()
                .zip(&again.counters)
                .map(|(a, b)| format!("(not (= {a} {b}))"));
            let formulas = side.domain.iter().chain(&again.domain).cloned();
            let formulas = formulas.chain([common_id(l, r, side, &again), any(differ)]);
            claims.push(Negated::new(
                format!("`{leaf}` of the {name} side is reached once"),
                formulas.collect(),
                [side.counters.clone(), again.counters.clone()].concat(),
            ));
        }
    }
    if !r.must.is_empty() {
        let idle = any(r.must.iter().map(|active| format!("(not {active})")));
        claims.push(Negated::new(
            format!("every lane in which `{leaf}` is folded is active"),
            r.domain.iter().cloned().chain([idle]).collect(),
            r.counters.clone(),
        ));
    }
    let differ: Vec<String> = l
        .args
        .iter()
        .zip(&r.args)
        .filter(|(a, b)| a != b)
        .map(|(a, b)| format!("(not (= {a} {b}))"))
        .collect();
    if !differ.is_empty() {
        claims.push(Negated::new(
            format!("`{leaf}` is reached with the same indices"),
            l.domain.iter().chain(&r.domain).cloned().chain([same, any(differ)]).collect(),
            [l.counters.clone(), r.counters.clone()].concat(),
        ));
    }
}

/// What is claimed of the order of two leaves.
fn order((la, ra): (&Visit, &Visit), (lb, rb): (&Visit, &Visit)) -> Negated {
    let (lb, rb) = (again(lb), again(rb));
    let domains = la.domain.iter().chain(&ra.domain).chain(&lb.domain).chain(&rb.domain).cloned();
    let linked = [
        same_id(la, ra, &ra.id),
        same_id(&lb, &rb, &rb.id),
        before(&la.order, &lb.order),
        format!("(not {})", before(&ra.order, &rb.order)),
    ];
    let constants = [&la.counters, &ra.counters, &lb.counters, &rb.counters];
    Negated::new(
        format!("`{}` before `{}` stays before it", la.leaf, lb.leaf),
        domains.chain(linked).collect(),
        constants.into_iter().flatten().cloned().collect(),
    )
}

/// That the loop variables which both sides have are the same.
fn same_id(l: &Visit, r: &Visit, of: &BTreeMap<String, String>) -> String {
    let common = l.id.iter().filter(|(name, _)| r.id.contains_key(*name));
    all(common.filter_map(|(name, value)| Some(format!("(= {value} {})", of.get(name)?))))
}

/// The same of two times of one side.
fn common_id(l: &Visit, r: &Visit, side: &Visit, again: &Visit) -> String {
    let common = l.id.keys().filter(|name| r.id.contains_key(*name));
    all(common
        .filter_map(|name| Some(format!("(= {} {})", side.id.get(name)?, again.id.get(name)?))))
}

/// That one place in an order is before another.
fn before(a: &[String], b: &[String]) -> String {
    let place = |k: usize| {
        let equal = (0..k).map(|i| format!("(= {} {})", a[i], b[i]));
        all(equal.chain([format!("(< {} {})", a[k], b[k])]))
    };
    any((0..a.len().min(b.len())).map(place))
}

/// The same visit another time.
fn again(visit: &Visit) -> Visit {
    let other = |name: &String| format!("{name}_again");
    let renamed = |text: &String| {
        visit.counters.iter().fold(text.clone(), |text, name| replaced(&text, name, &other(name)))
    };
    Visit {
        leaf: visit.leaf.clone(),
        counters: visit.counters.iter().map(other).collect(),
        domain: visit.domain.iter().map(renamed).collect(),
        order: visit.order.iter().map(renamed).collect(),
        id: visit.id.iter().map(|(name, value)| (name.clone(), renamed(value))).collect(),
        free_of: visit.free_of.clone(),
        witnesses: visit.witnesses.clone(),
        args: visit.args.iter().map(renamed).collect(),
        must: visit.must.iter().map(renamed).collect(),
    }
}

/// A formula with one name in the place of another.
fn replaced(text: &str, from: &str, to: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\n']) {
        if c.is_whitespace() || c == '(' || c == ')' {
            out.push_str(if word == from { to } else { &word });
            word.clear();
            out.push(c);
        } else {
            word.push(c);
        }
    }
    out.pop();
    out
}

fn all(formulas: impl IntoIterator<Item = String>) -> String {
    joined("and", "true", formulas)
}

fn any(formulas: impl IntoIterator<Item = String>) -> String {
    joined("or", "false", formulas)
}

fn joined(word: &str, nothing: &str, formulas: impl IntoIterator<Item = String>) -> String {
    let formulas = formulas.into_iter().collect_vec();
    match &formulas[..] {
        [] => nothing.to_owned(),
        [one] => one.clone(),
        several => format!("({word} {})", several.join(" ")),
    }
}

/// That no values of a visit's counters make a formula true: for the values that follow from another
/// visit's loop variables, and then for all.
fn none(visit: &Visit, from: &Visit, formula: &str) -> Vec<String> {
    if visit.counters.is_empty() {
        return vec![format!("(not {formula})")];
    }
    let bound = visit.counters.iter().map(|name| format!("({name} Int)")).join(" ");
    let every = format!("(forall ({bound}) (not {formula}))");
    match witnessed(visit, from, formula) {
        Some(one) => vec![format!("(not {one})"), every],
        None => vec![every],
    }
}

/// A formula with the values of a visit's counters that follow from another visit's loop variables.
fn witnessed(visit: &Visit, from: &Visit, formula: &str) -> Option<String> {
    let mut formula = formula.to_owned();
    let mut known: Vec<(&String, String)> = Vec::new();
    for (counter, witness) in visit.counters.iter().zip(&visit.witnesses) {
        let names = |name: &str| witness.of.split([' ', '(', ')']).any(|word| word == name);
        let (_, value) = from.id.iter().find(|(name, _)| names(name))?;
        let start = known.iter().fold(witness.from.clone(), |text, (c, v)| replaced(&text, c, v));
        let value = match witness.step {
            1 => format!("(- {value} {start})"),
            n => format!("(div (- {value} {start}) {n})"),
        };
        formula = replaced(&formula, counter, &value);
        known.push((counter, value));
    }
    Some(formula)
}

/// Operations of the language that the solver has other names for, or none.
const OPERATIONS: [(&str, &str); 4] = [
    ("int_min", "(define-fun int_min ((a Int) (b Int)) Int (ite (<= a b) a b))"),
    ("int_max", "(define-fun int_max ((a Int) (b Int)) Int (ite (>= a b) a b))"),
    // Truncated, and 0 where the divisor is 0.
    (
        "int_div",
        "(define-fun int_div ((a Int) (b Int)) Int\n  (ite (= b 0) 0 (ite (>= a 0) (div a b) (- (div (- a) b)))))",
    ),
    (
        "int_mod",
        "(define-fun int_mod ((a Int) (b Int)) Int\n  (ite (= b 0) a (ite (>= a 0) (mod a b) (- (mod (- a) b)))))",
    ),
];

/// Declarations and assertions.
fn script(
    functions: &Functions,
    constants: &[String],
    formulas: impl Iterator<Item = String>,
) -> String {
    let formulas = formulas.collect_vec();
    let mut script = String::new();
    for (name, definition) in OPERATIONS {
        if formulas.iter().any(|formula| super::symbolic::mentions(formula, name)) {
            let _ = writeln!(script, "{definition}");
        }
    }
    for (name, (arity, predicate)) in functions {
        let sort = if *predicate { "Bool" } else { "Int" };
        let _ = writeln!(script, "(declare-fun {name} ({}) {sort})", vec!["Int"; *arity].join(" "));
    }
    for name in constants {
        let _ = writeln!(script, "(declare-const {name} Int)");
    }
    for formula in formulas {
        let _ = writeln!(script, "(assert {formula})");
    }
    script
}
