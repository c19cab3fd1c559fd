//! What a rule claims of integers, and whether a solver agrees.
//!
//! Both sides must reach the same leaves, for the same values of the loop variables, with the same
//! indices, as often, and in the same order where no condition of the rule makes order immaterial.

use super::claims::{Negated, of_leaf, order, pair, script};
use super::solver::{Answer, Solver, ask as ask_solver};
use super::symbolic::{Inexpressible, Translation};
use egg::Var;
use ember_language::rules::{Arg, Exactness, Rule, Signature};
use itertools::Itertools;
use serde::Serialize;
use std::collections::BTreeMap;

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

/// Numbers that stand for those of generators: lanes and lengths of tiles; trips of loops, and their steps.
const NUMBERS: [i64; 6] = [2, 4, 8, 16, 32, 64];
const TRIPS: [i64; 3] = [2, 3, 8];
const STEPS: [i64; 3] = [1, 2, 3];

/// Conditions that make the order of what is done immaterial, or the statements around it one.
const ORDER_FREE: [&str; 3] = ["independent", "independent-lanes", "own-lane"];

/// What is claimed where the generators give some numbers.
struct Chosen {
    /// Whether the rule's conditions can hold at all; where they cannot, the rest says nothing.
    possible: String,
    claims: Vec<Claim>,
}

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
pub(super) fn check(signature: &Signature, rule: &Rule, solver: Option<&dyn Solver>) -> Integers {
    let claims = match claims(signature, rule) {
        Ok(claims) => claims,
        Err(Inexpressible(reason)) => return Integers::Inexpressible { reason },
    };
    match (claims.iter().map(|chosen| chosen.claims.len()).sum(), solver) {
        (0, _) => Integers::None,
        (claims, None) => Integers::NoSolver { claims },
        (_, Some(solver)) => ask(&claims, solver),
    }
}

fn ask(chosen: &[Chosen], solver: &dyn Solver) -> Integers {
    let mut proved = 0;
    for Chosen { possible, claims } in chosen {
        if ask_solver(solver, possible, &[]) == Answer::Unsatisfiable {
            continue;
        }
        for claim in claims {
            let mut answer = Answer::Unknown(String::new());
            for script in &claim.scripts {
                answer = ask_solver(solver, script, &claim.constants);
                if answer == Answer::Unsatisfiable {
                    break;
                }
            }
            match answer {
                Answer::Unsatisfiable => proved += 1,
                Answer::Satisfiable(values) => {
                    return Integers::Refuted { claim: claim.what.clone(), values };
                }
                Answer::Unknown(why) => {
                    return Integers::Unknown { reason: format!("{}: {why}", claim.what) };
                }
            }
        }
    }
    if proved == 0 {
        return Integers::Unknown { reason: "its conditions never hold together".to_owned() };
    }
    Integers::Proved { claims: proved }
}

/// Everything that a rule claims, for each number of its generators.
fn claims(signature: &Signature, rule: &Rule) -> Result<Vec<Chosen>, Inexpressible> {
    let mut ranges: BTreeMap<Var, &[i64]> = BTreeMap::new();
    for (v, call) in &rule.fors {
        let numbers: &[i64] = match call.what.name {
            "one-trip" => &[1],
            "few-trips" => &TRIPS,
            _ => &NUMBERS,
        };
        ranges.insert(*v, numbers);
        // How often a loop runs is told by division, which is easy by a number only.
        if let ("one-trip" | "few-trips", [.., Arg::Var(step)]) = (call.what.name, &call.args[..]) {
            ranges.insert(*step, &STEPS);
        }
    }
    let choices = ranges.into_iter().map(|(v, numbers)| numbers.iter().map(move |n| (v, *n)));
    let choices: Vec<BTreeMap<Var, i64>> = if rule.fors.is_empty() {
        vec![BTreeMap::new()]
    } else {
        choices.multi_cartesian_product().map(BTreeMap::from_iter).collect()
    };
    choices.iter().map(|numbers| claims_for(signature, rule, numbers)).collect()
}

fn claims_for(
    signature: &Signature,
    rule: &Rule,
    numbers: &BTreeMap<Var, i64>,
) -> Result<Chosen, Inexpressible> {
    let translation = |prefix| Translation::new(signature, rule, numbers.clone(), prefix);
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
    let pairs = pair(&left, &right)?;
    let assumed = one.assumptions();
    // Where sums may be reordered, so may the values of a reduction.
    let regrouped = right.folded || rule.exact > Exactness::Bitwise && one.reduction().is_some();
    let mut functions = one.functions;
    functions.extend(other.functions);
    let ordered = !regrouped && !rule.guards.iter().any(|g| ORDER_FREE.contains(&g.what.name));
    let note = if numbers.is_empty() {
        String::new()
    } else {
        format!(" for {}", numbers.iter().map(|(v, n)| format!("{v} = {n}")).join(", "))
    };
    let mut claims = Vec::new();
    for (l, rs) in &pairs {
        of_leaf(l, rs, &mut claims);
    }
    if ordered {
        let pairs = pairs.iter().flat_map(|(l, rs)| rs.iter().map(|r| (*l, *r))).collect_vec();
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
