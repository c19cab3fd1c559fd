//! The claims of a rule about integers, and their proof by a solver.
//!
//! Both sides must reach the same leaves for the same values of the loop variables, with the same indices and equally
//! often. The order must also be the same, unless a condition of the rule makes it immaterial.

use super::claims::{Negated, Shared, of_leaf, order, pair, script};
use super::solver::{Answer, Solver, ask as ask_solver};
use super::symbolic::{Inexpressible, Translation, within};
use egg::Var;
use ember_language::rules::{Arg, Exactness, Rule, Signature, Sort};
use itertools::Itertools;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// The result of checking a rule's claims about integers.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum Integers {
    /// There are no claims: both sides compute the same indices in the same loops.
    None,
    /// The solver proved all claims.
    Proved {
        /// The number of proved formulas.
        claims: usize,
        /// The variables of the rule for whose listed values alone they are proved, since they are lanes, lengths,
        /// trips, steps or divisors; empty if they are proved for all values.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        only_for: Vec<Values>,
    },
    /// The solver found a counterexample.
    Refuted {
        /// The claim that is wrong.
        claim: String,
        /// The values of the counterexample, by name.
        values: Vec<(String, String)>,
    },
    /// The solver gave up.
    Unknown {
        /// The claim, and the reason.
        reason: String,
    },
    /// The rule cannot be expressed with loops and indices, for example because it defines an operator.
    Inexpressible {
        /// The part that cannot be expressed.
        reason: String,
    },
    /// There are claims to prove, but no solver.
    NoSolver {
        /// The number of formulas that would have been checked.
        claims: usize,
    },
}

/// A variable of a rule and some of its values.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Values {
    /// The variable.
    pub variable: String,
    /// Its values.
    pub values: Vec<i64>,
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.variable, self.values.iter().join(" "))
    }
}

/// The integers that claims are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    /// The integers of mathematics.
    Unbounded,
    /// The integers of programs: 64 bits that wrap.
    Wrapping,
}

/// The sample values of generators: lanes and tile lengths (`NUMBERS`), trip counts (`TRIPS`), and the steps of loops
/// (`STEPS`); and of constants of which one divides the other (`DIVISORS`), since solvers do not decide products of
/// unknowns.
const NUMBERS: [i64; 6] = [2, 4, 8, 16, 32, 64];
/// The lengths where integers wrap. A number that is no power of two does not divide the number of all integers.
const WRAPPING_NUMBERS: [i64; 7] = [3, 2, 4, 8, 16, 32, 64];
const TRIPS: [i64; 3] = [2, 3, 8];
const STEPS: [i64; 3] = [1, 2, 3];
const DIVISORS: [i64; 5] = [-2, 0, 2, 3, 12];

/// The limit on one query about integers that wrap, many of which solvers do not decide: about a second of z3.
const WORK: u32 = 10_000_000;

/// Conditions that make the order of effects immaterial, between statements or between iterations.
pub(super) const ORDER_FREE: [&str; 5] =
    ["independent", "independent-lanes", "interchangeable", "own-lane", "separable"];

/// The claims for one choice of numbers for the generators.
struct Chosen {
    /// A script that is unsatisfiable if the rule's conditions cannot hold; the claims are then vacuous.
    possible: String,
    claims: Vec<Claim>,
}

/// One formula that must hold.
struct Claim {
    what: String,
    /// The scripts of its negation, with declarations; the claim is proved if one of them is unsatisfiable. If there
    /// are two, the first is weaker and easier: it names the values that the second quantifies over.
    scripts: Vec<String>,
    /// The constants whose values describe a counterexample.
    constants: Vec<String>,
}

/// Asks a solver about all claims of a rule about integers.
pub(super) fn check(
    signature: &Signature,
    rule: &Rule,
    solver: Option<&dyn Solver>,
    arithmetic: Arithmetic,
) -> Integers {
    let ranges = ranges(rule, arithmetic);
    let claims = match claims(signature, rule, &ranges, arithmetic) {
        Ok(claims) => claims,
        Err(Inexpressible(reason)) => return Integers::Inexpressible { reason },
    };
    match (claims.iter().map(|chosen| chosen.claims.len()).sum(), solver) {
        (0, _) => Integers::None,
        (claims, None) => Integers::NoSolver { claims },
        (_, Some(solver)) => match ask(&claims, solver, arithmetic) {
            Ok(claims) => Integers::Proved { claims, only_for: listed(&ranges) },
            Err(answer) => answer,
        },
    }
}

/// Returns the variables of which some values stand for all.
fn listed(ranges: &Ranges) -> Vec<Values> {
    let several = ranges.iter().filter(|(_, values)| values.len() > 1);
    let listed = several.map(|(v, values)| Values {
        variable: v.to_string().trim_start_matches('?').to_owned(),
        values: values.to_vec(),
    });
    listed.collect()
}

/// Returns the number of proved claims, or the answer if one of them is not proved.
fn ask(chosen: &[Chosen], solver: &dyn Solver, arithmetic: Arithmetic) -> Result<usize, Integers> {
    let work = (arithmetic == Arithmetic::Wrapping).then_some(WORK);
    let mut proved = 0;
    for Chosen { possible, claims } in chosen {
        if ask_solver(solver, possible, &[], work) == Answer::Unsatisfiable {
            continue;
        }
        let mut unknown = None;
        for claim in claims {
            let mut answer = Answer::Unknown(String::new());
            for script in &claim.scripts {
                answer = ask_solver(solver, script, &claim.constants, work);
                if answer == Answer::Unsatisfiable {
                    break;
                }
            }
            match answer {
                Answer::Unsatisfiable => proved += 1,
                Answer::Satisfiable(values) => {
                    return Err(Integers::Refuted { claim: claim.what.clone(), values });
                }
                Answer::Unknown(why) => {
                    let reason = format!("{}: {why}", claim.what);
                    unknown.get_or_insert(Integers::Unknown { reason });
                }
            }
        }
        // Another claim for the same numbers may be wrong.
        if let Some(unknown) = unknown {
            return Err(unknown);
        }
    }
    if proved == 0 {
        return Err(Integers::Unknown { reason: "its conditions never hold together".to_owned() });
    }
    Ok(proved)
}

/// The values of variables of a rule for which claims are made.
type Ranges = BTreeMap<Var, &'static [i64]>;

/// Returns the variables of a rule that claims need numbers for, with their sample values.
fn ranges(rule: &Rule, arithmetic: Arithmetic) -> Ranges {
    let mut ranges = Ranges::new();
    let lengths: &'static [i64] = match arithmetic {
        Arithmetic::Unbounded => &NUMBERS,
        Arithmetic::Wrapping => &WRAPPING_NUMBERS,
    };
    for (v, call) in &rule.fors {
        let numbers: &'static [i64] = match call.what.name {
            "one-trip" => &[1],
            "few-trips" => &TRIPS,
            _ => lengths,
        };
        ranges.insert(*v, numbers);
        // A trip count requires a division by the step, which is easy only if the step is a number.
        if let ("one-trip" | "few-trips" | "half-way", [.., Arg::Var(step)]) =
            (call.what.name, &call.args[..])
        {
            ranges.insert(*step, &STEPS);
        }
    }
    for guard in rule.guards.iter().filter(|guard| guard.what.name == "divides") {
        if let [Arg::Var(a), Arg::Var(b)] = guard.args[..]
            && rule.fors.iter().all(|(v, _)| *v != a)
        {
            ranges.extend([(a, &DIVISORS[..]), (b, &DIVISORS[..])]);
        }
    }
    // Which element of a product a pair is takes products of unknowns, unless one factor is a number.
    let products = rule.guards.iter().filter(|guard| guard.what.name == "bounded-product");
    for guard in products.filter(|_| rule.sort != Some(Sort::named(Sort::VALUE))) {
        ranges.extend(guard.args.iter().rev().find_map(|factor| match factor {
            Arg::Var(factor) => Some((*factor, &NUMBERS[..])),
            Arg::Int(_) => None,
        }));
    }
    ranges
}

/// Returns all claims of a rule, for each choice of numbers.
fn claims(
    signature: &Signature,
    rule: &Rule,
    ranges: &Ranges,
    arithmetic: Arithmetic,
) -> Result<Vec<Chosen>, Inexpressible> {
    let choices = ranges.iter().map(|(v, numbers)| numbers.iter().map(move |n| (*v, *n)));
    let choices: Vec<BTreeMap<Var, i64>> = if choices.len() == 0 {
        vec![BTreeMap::new()]
    } else {
        choices.multi_cartesian_product().map(BTreeMap::from_iter).collect()
    };
    choices.iter().map(|numbers| claims_for(signature, rule, numbers, arithmetic)).collect()
}

fn claims_for(
    signature: &Signature,
    rule: &Rule,
    numbers: &BTreeMap<Var, i64>,
    arithmetic: Arithmetic,
) -> Result<Chosen, Inexpressible> {
    let translation = |prefix| {
        let mut one = Translation::new(signature, rule, numbers.clone(), prefix);
        one.wraps = arithmetic == Arithmetic::Wrapping;
        one
    };
    let mut one = translation("x");
    let left = one.side(&rule.lhs)?;
    let same = translation("x").side(&rule.rhs)?;
    let (visits, again) = (&left.visits, &same.visits);
    if visits.len() == again.len() && visits.iter().zip(again).all(|(a, b)| a.same(b)) {
        return Ok(Chosen { possible: String::new(), claims: Vec::new() });
    }
    let mut other = translation("y");
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
    let shared = pair(&left, &right)?;
    let mut assumed = one.assumptions();
    // If sums may be reordered, the values of a reduction may be as well.
    let regrouped = right.folded || rule.exact > Exactness::Bitwise && one.reduction().is_some();
    let mut functions = one.functions;
    functions.extend(other.functions);
    if arithmetic == Arithmetic::Wrapping {
        let constants = functions.iter().filter(|(_, (arity, _))| *arity == 0);
        assumed.extend(constants.map(|(name, _)| within(name, i64::MIN, i64::MAX)));
    }
    let ordered = !regrouped && !rule.guards.iter().any(|g| ORDER_FREE.contains(&g.what.name));
    let note = if numbers.is_empty() {
        String::new()
    } else {
        format!(" for {}", numbers.iter().map(|(v, n)| format!("{v} = {n}")).join(", "))
    };
    let mut claims = Vec::new();
    for one in &shared {
        of_leaf(one, &mut claims);
    }
    if ordered {
        let pairs = shared.iter().flat_map(Shared::pairs).collect_vec();
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
    let possible = script(&functions, &[], assumed.iter().cloned());
    Ok(Chosen { possible, claims: claims.into_iter().map(finish).collect() })
}
