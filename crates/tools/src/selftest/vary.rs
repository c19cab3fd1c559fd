//! Makes equal variants of a program: randomly chosen rules are applied to it, and a random member of its class is
//! taken.

use super::data::{Data, Relation, Run};
use egg::{Id, Language};
use ember_analysis::facts::{EGraph, Facts, VectorUnit};
use ember_egraph::Extractor;
use ember_engine::CompiledRule;
use ember_engine::lottery::{DEAR, Lottery};
use ember_engine::saturate::{Limits, saturate};
use ember_language::make::Make;
use ember_language::rules::{Exactness, Kind, Operators, Phase, RuleBook, Unit};
use ember_language::term::{Head, Node, Term};
use ember_prove::chains::{Terms, tree_size};
use ember_prove::equiv::{captured, normalise};
use ember_prove::random::Made;
use ember_targets::machine::Machine;
use ember_values::primitive::Price;
use fastrand::Rng;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The level of the wanted programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Loops of one processor.
    Scf,
    /// Split between the access and the execute unit.
    Slc,
}

/// The limits of the saturation with some rules, and of the saturation that splits a program.
const LIMITS: Limits = Limits { iterations: 3, nodes: 4000 };
const SPLITTING: Limits = Limits { iterations: 12, nodes: 12_000 };

/// The number of members of a class that are examined.
const MEMBERS: usize = 6;

/// The factor by which a member may be larger than the program.
const LARGER: u64 = 4;

/// A program that rules make of another and that differs from it by more than names; `Ok(None)` where none
/// was found. Rules are those that prove programs equal, and bitwise.
///
/// # Errors
/// Returns a program that is equal by the rules but has other results, and the difference.
pub fn vary(
    made: &Made,
    level: Level,
    (book, compiled, machine): (&RuleBook, &[CompiledRule], &Machine),
    (data, expected): (&Data, &[Run]),
    rng: &mut Rng,
) -> Result<Option<Term>, (Term, String)> {
    let schedule = match level {
        Level::Scf => "equiv",
        Level::Slc => "equiv-units",
    };
    let Some(schedule) = book.schedule(schedule) else { return Ok(None) };
    let splits = |rule: usize| book.rules[rule].phase == Phase::Decouple;
    let sets: BTreeSet<usize> = (0..book.sets.len()).filter(|_| rng.u8(0..4) > 0).collect();
    let rules = schedule.rules().into_iter().filter(|rule| {
        let own = &book.rules[*rule];
        own.exact == Exactness::Bitwise && (splits(*rule) || sets.contains(&own.set))
    });
    let rules: Vec<usize> = rules.collect();
    let (finish, first): (Vec<usize>, Vec<usize>) = rules.iter().partition(|rule| splits(**rule));
    let of =
        |rules: &[usize]| -> Vec<&CompiledRule> { rules.iter().map(|r| &compiled[*r]).collect() };

    let operators = book.signature.table().clone();
    let mut egraph = start(made, operators.clone(), machine);
    let written = normalise(&made.term, &operators);
    let mut root = egraph.add_expr(&written);
    others(&mut egraph, &operators, &written, rng);
    if level == Level::Slc {
        let Some(split) = operators.boundary(Kind::Statement, Unit::Both) else { return Ok(None) };
        root = egraph.add(Node::new(Head::Op(split), &[root]));
    }
    egraph.rebuild();
    let iterations = rng.usize(1..=LIMITS.iterations);
    saturate(&mut egraph, &of(&first), &Limits { iterations, ..LIMITS });
    if level == Level::Slc {
        saturate(&mut egraph, &of(&finish), &SPLITTING);
    }
    if captured(&written, &operators, &egraph) {
        return Ok(None);
    }
    for _ in 0..MEMBERS {
        let salt = rng.u64(..);
        // No program contains what is folded or pushed down, and words that only rules define have no meaning.
        let avoid = |node: &Node| {
            let arity = node.children().len();
            let word =
                node.name().is_some_and(|name| book.definitions.get(name.into(), arity).is_some());
            let info = operators.of(node);
            word || info.is_some_and(|info| info.boundary || info.price == Some(Price::Folded))
        };
        let found = Extractor::new(&egraph, Lottery { salt, avoid }).find_best(root);
        let Some((price, member)) = found else { continue };
        let Some(last) = member.len().checked_sub(1) else { continue };
        let member = Terms::of(&member, Id::from(last));
        let fits = price < DEAR && tree_size(&member) <= LARGER * tree_size(&made.term);
        if !fits || !closed(&member, &operators) || normalise(&member, &operators) == written {
            continue;
        }
        match data.relation(expected, &data.of_term(&member)) {
            Relation::Same(_) => return Ok(Some(member)),
            // Extraction rejects some members, because it knows which unit feeds which; a fault of such a member proves
            // nothing.
            Relation::Fault(_) if level == Level::Slc => {}
            Relation::Different(why) | Relation::Fault(why) => return Err((member, why)),
        }
    }
    Ok(None)
}

fn start(made: &Made, operators: Arc<Operators>, machine: &Machine) -> EGraph {
    let context = made.declarations.context();
    let unit = VectorUnit {
        simd_bytes: machine.core.simd_bytes,
        registers: machine.core.vector_registers,
    };
    EGraph::new(Facts::new(&context.tensors, &context.sizes, operators, unit))
}

/// Adds loop variables that the other side of a proof might have: of strips, of a part, and of another name.
fn others(egraph: &mut EGraph, operators: &Operators, term: &Term, rng: &mut Rng) {
    const MOST: usize = 3;
    let variables = term.as_ref().iter();
    let variables: Vec<[Id; 4]> = variables.filter_map(|node| operators.variable(node)).collect();
    for (k, [_, lo, hi, step]) in variables.into_iter().take(MOST).enumerate() {
        let n = [2, 3, 4, 8, 16][rng.usize(0..5)];
        let mut part = |id: Id| egraph.add_expr(&Terms::of(term, id));
        let (lo, hi, step) = (part(lo), part(hi), part(step));
        let mut make = Make::new(operators, |node| egraph.add(node));
        // The numbers of the names are above those of all loops around each other.
        let named = |at: i64| 40 + 3 * k as i64 + at;
        let number = make.int(n);
        match rng.u8(0..4) {
            0 => drop(make.variable(named(0), [lo, hi, step])),
            1 => drop(make.variable(named(0), [number, hi, step])),
            _ => {
                let strips = make.variable(named(0), [lo, hi, number]);
                let at = make.iv(strips);
                let end = make.sum(at, number);
                let end = if rng.u8(0..4) == 0 { end } else { make.least(end, hi) };
                make.variable(named(1), [at, end, step]);
            }
        }
    }
}

/// Returns true if every loop variable of a term is bound by an enclosing loop.
fn closed(term: &Term, operators: &Arc<Operators>) -> bool {
    let mut free: Vec<BTreeSet<Id>> = Vec::with_capacity(term.len());
    for (at, node) in term.as_ref().iter().enumerate() {
        let children = node.children();
        let bound = match node.head() {
            Head::Op(name) => operators.binds(name, children.len()),
            Head::Int(_) | Head::Real(_) => None,
        };
        let mut own: BTreeSet<Id> = BTreeSet::new();
        for (k, child) in children.iter().enumerate() {
            match bound {
                // The variable's bounds belong to the loop.
                Some((variable, _)) if k == variable => {}
                Some((variable, body)) if k == body => {
                    let inner = free[usize::from(*child)].iter().copied();
                    own.extend(inner.filter(|v| *v != children[variable]));
                }
                _ => own.extend(free[usize::from(*child)].iter().copied()),
            }
        }
        if operators.is_variable(node) {
            own.insert(Id::from(at));
        }
        free.push(own);
    }
    free.last().is_none_or(BTreeSet::is_empty)
}
