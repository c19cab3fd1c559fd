//! Right sides that are the same up to the names of their loop variables.
//!
//! A side is written so that names do not matter: each loop variable as the loop that binds it, and each term of the
//! left side with what its variables stand for, except those that a condition excludes. A loop between equal numbers
//! runs nothing.

use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rules::{Arg, Kind, Loop, New, Rule, Signature};
use ember_language::term::Node;

/// Returns true if the right sides of two rules with the same conditions are the same up to names.
pub(super) fn say_the_same(signature: &Signature, rule: &Rule, other: &Rule) -> bool {
    written(signature, rule) == written(signature, other)
}

/// The start of the name of what a loop binds.
const COUNTER: char = '_';

/// The meanings of the variables around a term, innermost last.
type Meanings = Vec<(String, String)>;

fn written(signature: &Signature, rule: &Rule) -> String {
    let side = &rule.rhs;
    let side = Side { signature, rule, side };
    side.text(Id::from(side.side.len().saturating_sub(1)), &Vec::new(), 0)
}

struct Side<'a> {
    signature: &'a Signature,
    rule: &'a Rule,
    side: &'a PatternAst<Node>,
}

impl Side<'_> {
    fn text(&self, at: Id, around: &Meanings, depth: usize) -> String {
        let node = match &self.side[at] {
            ENodeOrVar::Var(v) => return self.hole(*v, around),
            ENodeOrVar::ENode(node) => node,
        };
        let Some(info) = self.signature.table().of(node) else { return self.name(at) };
        let (children, kinds) = (node.children(), info.operand_kinds.as_slice());
        if let Some(own) = info.looped().and_then(|own| own.of(children)) {
            return self.looped(node, own, around, depth);
        }
        let value = |at: usize| match kinds[at] {
            Some(Kind::Variable) => meaning(around, &self.name(children[at])),
            _ => self.text(children[at], around, depth),
        };
        match (info.binds, kinds) {
            (None, [Some(Kind::Variable)]) => return value(0),
            // One variable that stands for a value or for another variable in the last operand.
            (Some((variable, body)), [_, _, _]) => {
                let other = (0..3).find(|at| *at != variable && *at != body).unwrap_or_default();
                let inside = with(around, self.name(children[variable]), value(other));
                return self.text(children[body], &inside, depth);
            }
            (Some(_), _) => return format!("{} {around:?}", self.name(at)),
            (None, _) => {}
        }
        let operands = node.children().iter().map(|child| self.text(*child, around, depth));
        format!("({} {})", node.head(), operands.collect::<Vec<_>>().join(" "))
    }

    fn looped(&self, node: &Node, own: Loop<Id>, around: &Meanings, depth: usize) -> String {
        let numbers = [own.lo, own.hi].map(|at| match &self.side[at] {
            ENodeOrVar::ENode(node) if node.is_leaf() => Some(node.head()),
            _ => None,
        });
        let runs = numbers[0].is_none() || numbers[0] != numbers[1];
        if !runs && own.folds.is_none() && self.all_carry(own.body) && self.carries(own) {
            return "nothing".to_owned();
        }
        let name = self.name(own.variable);
        // A variable that does not carry the bounds of its loop is another one.
        let carries = self.carries(own);
        let inside = with(around, name.clone(), format!("{COUNTER}{depth}"));
        let operands = node.children().iter().map(|child| match *child {
            child if child == own.variable && carries => "_".to_owned(),
            child if child == own.variable => name.clone(),
            child if child == own.body => self.text(child, &inside, depth + 1),
            child => self.text(child, around, depth),
        });
        format!("({} {})", node.head(), operands.collect::<Vec<_>>().join(" "))
    }

    /// Returns true if each loop in a part has a variable that carries its bounds.
    fn all_carry(&self, at: Id) -> bool {
        let ENodeOrVar::ENode(node) = &self.side[at] else { return true };
        let own = self.signature.table().looped(node);
        own.is_none_or(|own| self.carries(own))
            && node.children().iter().all(|child| self.all_carry(*child))
    }

    /// Returns true if a variable of the rule or one that it makes has the bounds of this loop.
    fn carries(&self, own: Loop<Id>) -> bool {
        let operators = self.signature.table();
        let bounds = [own.lo, own.hi, own.step].map(|at| self.name(at));
        let variable = match &self.side[own.variable] {
            ENodeOrVar::ENode(made) => {
                let parts = operators.variable(made);
                return parts
                    .is_some_and(|[_, lo, hi, st]| [lo, hi, st].map(|at| self.name(at)) == bounds);
            }
            variable => variable,
        };
        let sides = std::iter::once(&self.rule.lhs).chain(self.rule.wheres.iter().map(|(_, p)| p));
        let mut loops = sides.flat_map(|side| side.into_iter().map(move |node| (side, node)));
        loops.any(|(side, node)| {
            let ENodeOrVar::ENode(node) = node else { return false };
            let own = operators.looped(node).filter(|own| side[own.variable] == *variable);
            own.is_some_and(|own| [own.lo, own.hi, own.step].map(|at| text(side, at)) == bounds)
        }) || self.rule.wheres.iter().any(|(x, side)| {
            let Some(ENodeOrVar::ENode(node)) = side.into_iter().last() else { return false };
            let parts = operators.variable(node).filter(|_| ENodeOrVar::Var(*x) == *variable);
            parts.is_some_and(|[_, lo, hi, st]| [lo, hi, st].map(|at| text(side, at)) == bounds)
        })
    }

    /// Returns a term of the left side with what its variables stand for.
    fn hole(&self, v: Var, around: &Meanings) -> String {
        let mut told: Vec<String> = Vec::new();
        for (at, (name, value)) in around.iter().enumerate() {
            let shadowed = around[at + 1..].iter().any(|(other, _)| other == name);
            // What a variable is fixed to must lie within its loop, whose bounds other fixed variables may be in.
            let counts = value.starts_with(COUNTER) && self.excludes(name, v);
            if !shadowed && !counts {
                told.push(format!("{name}={value}"));
            }
        }
        told.sort();
        format!("{v}{told:?}")
    }

    /// Returns true if a condition excludes that a term mentions a variable, or the variable is made from it.
    fn excludes(&self, name: &str, v: Var) -> bool {
        let asked = self.rule.guards.iter().any(|guard| {
            let [Arg::Var(x), Arg::Var(within)] = guard.args.as_slice() else { return false };
            guard.what.name == "not-free" && x.to_string() == name && *within == v
        });
        asked || {
            let new = |new: &New| new.variable.to_string() == name && new.within == v;
            self.rule.news.iter().any(new)
        }
    }

    fn name(&self, at: Id) -> String {
        text(self.side, at)
    }
}

/// Returns a part of a side as text.
fn text(side: &PatternAst<Node>, at: Id) -> String {
    side[at].build_recexpr(|id| side[id].clone()).to_string()
}

/// Returns what a variable stands for; a variable that nothing binds stands for itself.
fn meaning(around: &Meanings, name: &str) -> String {
    let bound = around.iter().rev().find(|(own, _)| own == name);
    bound.map_or_else(|| format!("(iv {name})"), |(_, value)| value.clone())
}

fn with(around: &Meanings, name: String, value: String) -> Meanings {
    let mut inside = around.clone();
    inside.push((name, value));
    inside
}
