//! What a rule claims of integers, and whether a solver agrees.
//!
//! Both sides must reach the same leaves, for the same values of the loop variables, with the same
//! indices, as often, and in the same order where no condition of the rule makes order immaterial.

use super::claims::{Negated, of_pair, order, pair, script};
use super::solver::{Answer, Solver};
use super::symbolic::{Inexpressible, Translation};
use crate::rules::Rule;
use egg::Var;
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
