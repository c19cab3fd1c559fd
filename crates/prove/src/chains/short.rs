//! Shortens chains: removes detours and orders steps by their phases.
//!
//! Two steps can be exchanged if neither touches what the other changes: their positions are disjoint, or one position
//! lies within a variable of the other's rule. If the variable occurs several times on the new side, the other copies
//! differ until the chain performs the same step there; `Ahead` tracks these places. None of this is trusted: the
//! resulting chain is applied again, step by step, and must reach the same term.

use super::rewrite::{Move, Sides, applied, sides};
use super::step::{By, Chain, Step};
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rules::{Phase, RuleBook};
use ember_language::term::Node;
use rustc_hash::FxHashMap;

/// The largest number of steps of a chain that is shortened; the time is quadratic in the number of steps.
const MOST_STEPS: usize = 1000;

/// Returns the chain without detours, with its steps ordered by phase.
pub fn short(chain: Chain, book: &RuleBook) -> Chain {
    if chain.steps.len() > MOST_STEPS {
        return chain;
    }
    let chain = straight(chain, book);
    let moves = ordered(&chain.steps, book);
    match applied(&chain.start, &moves, book).filter(|other| other.last() == chain.last()) {
        Some(ordered) => straight(ordered, book),
        None => chain,
    }
}

/// Removes steps that a later step reverses, and steps on parts that vanish later.
fn straight(mut chain: Chain, book: &RuleBook) -> Chain {
    let (mut at, mut changed) = (0, false);
    loop {
        if at == chain.steps.len() {
            // The removals may have removed obstacles to others, so that the chain is scanned again.
            if !std::mem::take(&mut changed) {
                return chain;
            }
            at = 0;
        } else if let Some(shorter) = without(&chain, at, book) {
            chain = circled(shorter);
            at = at.min(chain.steps.len());
            changed = true;
        } else {
            at += 1;
        }
    }
}

/// Removes cycles: the steps between two occurrences of the same term.
fn circled(chain: Chain) -> Chain {
    let mut steps: Vec<Step> = Vec::new();
    for step in chain.steps {
        if step.whole == chain.start {
            steps.clear();
            continue;
        }
        match steps.iter().position(|earlier| earlier.whole == step.whole) {
            Some(at) => steps.truncate(at + 1),
            None => steps.push(step),
        }
    }
    Chain { start: chain.start, steps }
}

/// Returns the chain without a step, if a later step undoes its change or removes the changed part.
fn without(chain: &Chain, at: usize, book: &RuleBook) -> Option<Chain> {
    let step = &chain.steps[at];
    let places = vec![step.position.clone()];
    let patterns = sides(step, book).map(|(old, new)| (new, old));
    let mut ahead = Ahead { places, by: Undone::Reverse(step), patterns, book };
    let (rest, taken) = ahead.follow(chain.steps[at + 1..].iter().map(Move::of))?;
    let (before, after) = (&chain.steps[..at], &chain.steps[at + 1 + taken..]);
    let start = before.last().map_or(&chain.start, |step| &step.whole);
    let rest = applied(start, &rest, book)?;
    if rest.last() != &chain.steps[at + taken].whole {
        return None;
    }
    let steps = before.iter().cloned().chain(rest.steps).chain(after.iter().cloned());
    Some(Chain { start: chain.start.clone(), steps: steps.collect() })
}

/// Orders the steps by their phases, as far as steps can be exchanged, and groups steps of one kind.
fn ordered<'a>(steps: &'a [Step], book: &RuleBook) -> Vec<Move<'a>> {
    let mut moves: Vec<Move<'a>> = steps.iter().map(Move::of).collect();
    let mut at = 1;
    while at < moves.len() {
        let mut here = at;
        while here > 0
            && phase(moves[here - 1].step, book) > phase(moves[here].step, book)
            && exchange(&mut moves, here, book)
        {
            here -= 1;
        }
        at += 1;
    }
    let mut at = 1;
    while at < moves.len() {
        let own = kind(moves[at].step, book);
        let last = moves[..at].iter().rposition(|other| kind(other.step, book) == own);
        if let Some(last) = last.filter(|last| last + 1 < at) {
            let mut together = moves.clone();
            if (last + 2..=at).rev().all(|here| exchange(&mut together, here, book)) {
                moves = together;
            }
        }
        at += 1;
    }
    moves
}

/// Returns the phase of a step's rule. Arithmetic has none and comes as early as possible.
fn phase(step: &Step, book: &RuleBook) -> Option<Phase> {
    book.rule(step.name()).map(|rule| rule.phase)
}

/// The kind of a step: a push-down of one rule set in one direction, an application of one rule, or arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Arithmetic.
    Computed,
    /// A rule, and true if it was read backwards.
    Rule(&'static str, bool),
    /// Push-downs of a rule set.
    PushDowns(usize),
}

/// Returns the kind of a step.
pub fn kind(step: &Step, book: &RuleBook) -> Kind {
    let Some(rule) = book.rule(step.name()) else { return Kind::Computed };
    match pushed(&rule.lhs, book) && !step.backward() {
        true => Kind::PushDowns(rule.set),
        false => Kind::Rule(rule.name.as_str(), step.backward()),
    }
}

/// Returns true if a rule moves the root of its left side down to the operands. The root is a boundary, or an operator
/// that keeps the sort of its operands.
fn pushed(left: &PatternAst<Node>, book: &RuleBook) -> bool {
    let Some(ENodeOrVar::ENode(root)) = left.as_ref().last() else { return false };
    let op = book.signature.operator_of(root);
    op.is_some_and(|op| op.boundary || op.result.named().is_none())
}

/// Moves a step before its predecessor. Returns false, without a change, if that is not possible.
fn exchange(moves: &mut Vec<Move>, at: usize, book: &RuleBook) -> bool {
    let Some((first, second, places)) = exchanged(&moves[at - 1], &moves[at], book) else {
        return false;
    };
    let by = Undone::Same(second.step);
    let mut ahead = Ahead { places, by, patterns: sides(second.step, book), book };
    let Some((rest, taken)) = ahead.follow(moves[at + 1..].iter().cloned()) else { return false };
    moves.splice(at - 1..at + 1 + taken, [second, first].into_iter().chain(rest));
    true
}

/// Returns the two steps in exchanged order, and the further places at which the second step is then done early.
fn exchanged<'a>(
    first: &Move<'a>,
    second: &Move<'a>,
    book: &RuleBook,
) -> Option<(Move<'a>, Move<'a>, Vec<Vec<usize>>)> {
    let (one, two) = (&first.position, &second.position);
    let (mut first_then, mut second_then) = (first.clone(), second.clone());
    let mut places = Vec::new();
    if let Some(below) = two.strip_prefix(one.as_slice()) {
        let (old, new) = sides(first.step, book)?;
        let (variable, rest) = variable_at(new, below)?;
        let [from] = &occurrences(old, variable)[..] else { return None };
        let copies = occurrences(new, variable).into_iter();
        places.extend(copies.map(|copy| joined(one, &copy, rest)).filter(|copy| copy != two));
        second_then.position = joined(one, from, rest);
    } else if let Some(below) = one.strip_prefix(two.as_slice()) {
        let (old, new) = sides(second.step, book)?;
        let (variable, rest) = variable_at(old, below)?;
        let ([_], [to]) = (&occurrences(old, variable)[..], &occurrences(new, variable)[..]) else {
            return None;
        };
        first_then.position = joined(two, to, rest);
    }
    Some((first_then, second_then, places))
}

/// Concatenates a position, a position within it, and a position within that.
fn joined(a: &[usize], b: &[usize], c: &[usize]) -> Vec<usize> {
    [a, b, c].concat()
}

/// The step that removes a difference between the new and the old chain.
enum Undone<'a> {
    /// The reverse of a step that was left out.
    Reverse(&'a Step),
    /// The corresponding step of the old chain; the new chain has done it already.
    Same(&'a Step),
}

impl Undone<'_> {
    fn is(&self, step: &Step) -> bool {
        let (known, turned) = match self {
            Undone::Reverse(known) => (known, true),
            Undone::Same(known) => (known, false),
        };
        match (&known.by, &step.by) {
            (By::Computed, By::Computed) if turned => {
                (&known.before, &known.after) == (&step.after, &step.before)
            }
            (By::Computed, By::Computed) => {
                (&known.before, &known.after) == (&step.before, &step.after)
            }
            (By::Rule { rule, direction, .. }, By::Rule { rule: other, direction: own, .. }) => {
                rule == other && (direction == own) != turned
            }
            _ => false,
        }
    }
}

/// The places at which the new chain differs from the old one while both are followed.
struct Ahead<'a> {
    places: Vec<Vec<usize>>,
    by: Undone<'a>,
    /// The sides of the pattern at these places: in the old chain, and in the new chain.
    patterns: Option<Sides<'a>>,
    book: &'a RuleBook,
}

impl Ahead<'_> {
    /// Follows the old chain until nothing differs. Returns the steps of the new chain, and the number of steps of the
    /// old chain that they replace.
    fn follow<'m>(
        &mut self,
        mut moves: impl Iterator<Item = Move<'m>>,
    ) -> Option<(Vec<Move<'m>>, usize)> {
        let mut own = Vec::new();
        let mut taken = 0;
        while !self.places.is_empty() {
            own.extend(self.next(moves.next()?)?);
            taken += 1;
        }
        Some((own, taken))
    }

    /// Returns the new chain's counterpart of a step of the old chain; `Some(None)` if the step is done already, and
    /// `None` on failure.
    fn next<'m>(&mut self, next: Move<'m>) -> Option<Option<Move<'m>>> {
        let position = &next.position;
        if let Some(at) = self.places.iter().position(|place| place == position)
            && self.by.is(next.step)
        {
            self.places.remove(at);
            return Some(None);
        }
        // The step happens within one of the places, inside a variable of the pattern there.
        let around = self.places.iter().find(|place| position.starts_with(place));
        if let Some(place) = around {
            let (old, new) = self.patterns?;
            let (variable, rest) = variable_at(old, &position[place.len()..])?;
            let ([_], [to]) = (&occurrences(old, variable)[..], &occurrences(new, variable)[..])
            else {
                return None;
            };
            return Some(Some(Move { position: joined(place, to, rest), ..next }));
        }
        // Some places lie within the step's position, inside variables of its rule, and move with them.
        let (inside, mut outside): (Vec<_>, Vec<_>) =
            self.places.drain(..).partition(|place| place.starts_with(position));
        if !inside.is_empty() {
            outside.extend(moved(&inside, &next, self.book)?);
        }
        self.places = outside;
        Some(Some(next))
    }
}

/// Returns the new positions of places after a step around them. All copies of a variable must contain the same
/// differences.
fn moved(inside: &[Vec<usize>], by: &Move, book: &RuleBook) -> Option<Vec<Vec<usize>>> {
    let (old, new) = sides(by.step, book)?;
    let from = &by.position;
    let mut found: Vec<Vec<usize>> = Vec::new();
    for place in inside {
        let (variable, rest) = variable_at(old, &place[from.len()..])?;
        let at = |copy: &Vec<usize>| joined(from, copy, rest);
        if !occurrences(old, variable).iter().all(|copy| inside.contains(&at(copy))) {
            return None;
        }
        for copy in occurrences(new, variable) {
            let to = at(&copy);
            if !found.contains(&to) {
                found.push(to);
            }
        }
    }
    Some(found)
}

/// Returns the variable of a pattern that contains a position, and the rest of the position within it.
fn variable_at<'p>(
    pattern: &PatternAst<Node>,
    position: &'p [usize],
) -> Option<(Var, &'p [usize])> {
    let mut at = Id::from(pattern.len().checked_sub(1)?);
    let mut rest = position;
    loop {
        match (&pattern[at], rest) {
            (ENodeOrVar::Var(variable), rest) => return Some((*variable, rest)),
            (ENodeOrVar::ENode(node), [argument, below @ ..]) => {
                at = *node.children().get(*argument)?;
                rest = below;
            }
            (ENodeOrVar::ENode(_), []) => return None,
        }
    }
}

/// Returns the positions at which a variable occurs in a pattern.
fn occurrences(pattern: &PatternAst<Node>, variable: Var) -> Vec<Vec<usize>> {
    let mut known: FxHashMap<Id, Vec<Vec<usize>>> = FxHashMap::default();
    for (at, node) in pattern.as_ref().iter().enumerate() {
        let found = match node {
            ENodeOrVar::Var(own) if *own == variable => vec![Vec::new()],
            ENodeOrVar::Var(_) => Vec::new(),
            ENodeOrVar::ENode(node) => {
                let below = node.children().iter().enumerate().flat_map(|(k, child)| {
                    known[child].iter().map(move |way| [&[k], &way[..]].concat())
                });
                below.collect()
            }
        };
        known.insert(Id::from(at), found);
    }
    let root = pattern.len().checked_sub(1).map(Id::from);
    root.and_then(|root| known.remove(&root)).unwrap_or_default()
}
