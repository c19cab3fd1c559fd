//! Sides that are the same up to the names of their loop variables.
//!
//! A side is written so that names do not matter: each loop variable as the loop that binds it, and each term of the
//! left side with what its variables stand for, except those that a condition excludes. A loop between equal numbers
//! runs nothing, a conversion to the type that a value has is the value, operators are those of one processor, and a load
//! asks for nothing else.

use super::asked::has_a_place;
use super::expanded::{expanded, text};
use super::implied::direct;
use crate::random::Types;
use crate::soundness::{left_side, ranks};
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rules::{Arg, Kind, Loop, New, Rule, Signature, Unit};
use ember_language::term::{Head, Node};
use ember_values::primitive::Typing;
use ember_values::primitive::form::{Early, Form, Operation, Sequence};
use ember_values::scalar::{DType, Linear};
use std::collections::BTreeSet;

/// Returns true if the right sides of two rules with the same conditions are the same up to names.
pub(super) fn say_the_same(signature: &Signature, rule: &Rule, other: &Rule) -> bool {
    written(signature, rule, &rule.rhs) == written(signature, other, &other.rhs)
}

/// Returns true if both sides of a rule are the same up to names, so that it is right for whatever it applies to.
pub(super) fn says_nothing(signature: &Signature, rule: &Rule) -> bool {
    let text = written(signature, rule, &rule.lhs);
    carries_all(signature, rule) && text == written(signature, rule, &rule.rhs)
}

/// Returns true if both sides of a rule are the same up to names without a variable that it makes, which then may be any
/// other one.
pub(super) fn says_nothing_without(signature: &Signature, rule: &Rule, made: &str) -> bool {
    let lacks_it = |side| !written(signature, rule, side).contains(made);
    says_nothing(signature, rule) && [&rule.lhs, &rule.rhs].into_iter().all(lacks_it)
}

/// Returns true if both sides of a rule are those of another rule up to names. What terms of the other mention under the
/// first of two names they mention here under the second.
pub(super) fn are_alike(
    signature: &Signature,
    rule: &Rule,
    other: &Rule,
    [from, to]: [&str; 2],
) -> bool {
    let sides = |rule: &Rule| {
        let text = |side| written(signature, rule, side).replace(&told(from), &told(to));
        [&rule.lhs, &rule.rhs].map(text)
    };
    carries_all(signature, rule) && carries_all(signature, other) && sides(rule) == sides(other)
}

/// The start of what is told about a variable that a term may mention.
fn told(name: &str) -> String {
    format!("\"{name}=")
}

/// Returns true if each loop of the right side has a variable that carries its bounds.
pub(super) fn carries_all(signature: &Signature, rule: &Rule) -> bool {
    let side = &expanded(signature, rule, &rule.rhs);
    Side { signature, rule, side, types: None }.all_carry(Id::from(side.len().saturating_sub(1)))
}

/// The start of the name of what a loop binds.
const COUNTER: char = '_';

/// The meanings of the variables around a term, innermost last.
type Meanings = Vec<(String, String)>;

fn written(signature: &Signature, rule: &Rule, side: &PatternAst<Node>) -> String {
    let side = &expanded(signature, rule, side);
    let types = types(signature, rule);
    let side = Side { signature, rule, side, types };
    side.text(Id::from(side.side.len().saturating_sub(1)), &Vec::new(), 0)
}

/// Returns the types that the left side of a rule requires of its variables.
fn types(signature: &Signature, rule: &Rule) -> Option<Types> {
    let (pattern, others, _) = left_side(rule);
    let of = |rank| Types::of(signature, &pattern, &others, rule.sort?, rank, &ranks(rule), 2);
    (0..=3).find_map(of)
}

struct Side<'a> {
    signature: &'a Signature,
    rule: &'a Rule,
    side: &'a PatternAst<Node>,
    types: Option<Types>,
}

/// The term that a loop which runs nothing is equal to.
const NOTHING: &str = "nothing";

impl Side<'_> {
    fn text(&self, at: Id, around: &Meanings, depth: usize) -> String {
        let node = match &self.side[at] {
            ENodeOrVar::Var(v) => return self.hole(*v, around),
            ENodeOrVar::ENode(node) => node,
        };
        let node = &self.plain(node);
        let Some(info) = self.signature.table().of(node) else { return self.name(at) };
        if let (true, [inner]) = (info.is_transparent(), node.children()) {
            return self.text(*inner, around, depth);
        }
        let (children, kinds) = (node.children(), info.operand_kinds.as_slice());
        if let Some(own) = info.looped().and_then(|own| own.of(children)) {
            return self.looped(node, own, around, depth);
        }
        if let Some(inner) = self.same_as(node) {
            return self.text(inner, around, depth);
        }
        if let Some(Form::Loaded { address, early }) = info.form(children)
            && info.unit != Some(Unit::Access)
            && match early {
                None => true,
                Some(Early::Asked { later, again, .. }) => [later, again]
                    .into_iter()
                    .all(|asked| has_a_place(self.signature, self.side, asked, address)),
                Some(Early::Fetched(_)) => false,
            }
        {
            return format!("(load of {})", self.text(address, around, depth));
        }
        if let Some(text) = self.same_number(node, around, depth) {
            return text;
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
                // A variable that the rule makes has bounds, which its value must lie between.
                let bounds = match &self.side[children[variable]] {
                    ENodeOrVar::ENode(made) => self.bounds(made, around, depth),
                    ENodeOrVar::Var(_) => String::new(),
                };
                return bounds + &self.text(children[body], &inside, depth);
            }
            (Some(_), _) => return format!("{} {around:?}", self.name(at)),
            (None, _) => {}
        }
        let operands = node.children().iter().map(|child| self.text(*child, around, depth));
        let mut operands: Vec<String> = operands.collect();
        if matches!(info.form, Some(Form::Sequence(Sequence::Two(_))))
            && operands.len() == 2
            && let Some(at) = operands.iter().position(|operand| operand == NOTHING)
        {
            return operands.swap_remove(1 - at);
        }
        format!("({} {})", node.head(), operands.join(" "))
    }

    /// Returns a node as one processor has it. What the access unit evaluates stays, since that may fault elsewhere, and
    /// so does a loop of both units that walks elsewhere on the access unit.
    fn plain(&self, node: &Node) -> Node {
        let operators = self.signature.table();
        let text = |at: Id| self.text(at, &Vec::new(), 0);
        let access = operators.looped(node).and_then(|own| Some((own.access?, (own.lo, own.hi))));
        let differs = access.is_some_and(|(access, own)| {
            text(access.0) != text(own.0) || text(access.1) != text(own.1)
        });
        match operators.of(node) {
            Some(info) if info.unit != Some(Unit::Access) && !differs => operators.erased(node),
            _ => node.clone(),
        }
    }

    /// Returns the bounds of a variable that the rule makes.
    fn bounds(&self, made: &Node, around: &Meanings, depth: usize) -> String {
        let parts = self.signature.table().variable(made).into_iter();
        let bounds = parts.flat_map(|[_, lo, hi, step]| [lo, hi, step]);
        format!("{:?} ", bounds.map(|at| self.text(at, around, depth)).collect::<Vec<_>>())
    }

    /// Returns the operand that a node is the same as.
    fn same_as(&self, node: &Node) -> Option<Id> {
        let operators = self.signature.table();
        let Form::Carried { x, to: Some(Typing::Named(dtype)) } = operators.form(node)? else {
            return None;
        };
        let own = DType::parse(&self.name(dtype))?;
        (self.dtype(x) == Some(own)).then_some(x)
    }

    /// Returns a product or a choice of which another form is the same number: the square of a difference is that of the
    /// difference the other way round, and the least or the greatest of several integers is so in any order.
    fn same_number(&self, node: &Node, around: &Meanings, depth: usize) -> Option<String> {
        let table = self.signature.table();
        let Form::Binary(Operation::Is(op), [a, b]) = table.form(node)? else { return None };
        let text = |at: Id| self.text(at, around, depth);
        if op.linear() == Some(Linear::Product) && text(a) == text(b) {
            let ENodeOrVar::ENode(inner) = &self.side[a] else { return None };
            let mut parts = table.linear(inner, Linear::Difference)?.map(text);
            parts.sort();
            return Some(format!("(square {} {})", node.head(), parts.join(" ")));
        }
        if op.chooses().is_none() || [a, b].map(|at| self.dtype(at)) != [Some(DType::I64); 2] {
            return None;
        }
        let (mut open, mut least) = (vec![a, b], BTreeSet::new());
        while let Some(at) = open.pop() {
            let inner = match &self.side[at] {
                ENodeOrVar::ENode(inner) => table.form(inner),
                ENodeOrVar::Var(_) => None,
            };
            match inner {
                Some(Form::Binary(Operation::Is(own), parts)) if own == op => open.extend(parts),
                _ => {
                    least.insert(text(at));
                }
            }
        }
        let least: Vec<String> = least.into_iter().collect();
        match least.as_slice() {
            [one] => Some(one.clone()),
            _ => Some(format!("({} {})", node.head(), least.join(" "))),
        }
    }

    /// Returns the element type of a part, if the left side or an operator determines it.
    fn dtype(&self, at: Id) -> Option<DType> {
        match &self.side[at] {
            ENodeOrVar::Var(v) => {
                let types = self.types.as_ref()?;
                types.dtypes.get(types.holes.get(v)?.dtype)
            }
            ENodeOrVar::ENode(node) => match node.head() {
                Head::Int(_) => Some(DType::I64),
                Head::Real(_) => None,
                Head::Op(_) => match self.signature.table().of(node)?.typing? {
                    Typing::I64 => Some(DType::I64),
                    Typing::Of(at) => self.dtype(node.children()[at]),
                    Typing::Named(at) => DType::parse(&self.name(node.children()[at])),
                },
            },
        }
    }

    fn looped(&self, node: &Node, own: Loop<Id>, around: &Meanings, depth: usize) -> String {
        // A bound has one value, of whatever it is made.
        let runs = self.name(own.lo) != self.name(own.hi);
        if !runs && own.folds.is_none() && self.all_carry(own.body) && self.carries(own) {
            return NOTHING.to_owned();
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
        let own = |side: &PatternAst<Node>| expanded(self.signature, self.rule, side);
        let sides = std::iter::once(&self.rule.lhs).chain(self.rule.wheres.iter().map(|(_, p)| p));
        let found = sides.map(own).any(|side| {
            let mut loops = side.as_ref().iter();
            loops.any(|node| {
                let ENodeOrVar::ENode(node) = node else { return false };
                let own = operators.looped(node).filter(|own| side[own.variable] == *variable);
                own.is_some_and(|own| {
                    [own.lo, own.hi, own.step].map(|at| text(&side, at)) == bounds
                })
            })
        });
        found
            || self.rule.wheres.iter().any(|(x, side)| {
                let side = own(side);
                let Some(ENodeOrVar::ENode(node)) = side.as_ref().last() else { return false };
                let parts = operators.variable(node).filter(|_| ENodeOrVar::Var(*x) == *variable);
                parts
                    .is_some_and(|[_, lo, hi, st]| [lo, hi, st].map(|at| text(&side, at)) == bounds)
            })
    }

    /// Returns a term of the left side with what its variables stand for.
    fn hole(&self, v: Var, around: &Meanings) -> String {
        if let Some(number) = self.number(v) {
            return number.to_string();
        }
        // A word mentions no variable.
        if self.is_word(v) {
            return v.to_string();
        }
        let mut told: Vec<String> = Vec::new();
        for (at, (name, value)) in around.iter().enumerate() {
            let shadowed = around[at + 1..].iter().any(|(other, _)| other == name);
            // What a variable is fixed to must lie within its loop, whose bounds variables that are fixed outside of it
            // may be in.
            let needed = around[at + 1..].iter().any(|(other, _)| !self.excludes(other, v));
            let counts = self.excludes(name, v) && (value.starts_with(COUNTER) || !needed);
            let itself = *value == format!("(iv {name})");
            let hidden = shadowed && value.starts_with(COUNTER);
            if !hidden && !counts && !itself {
                told.push(format!("{name}={value}"));
            }
        }
        told.sort();
        format!("{v}{told:?}")
    }

    /// Returns true if terms of a variable are no parts of what is evaluated.
    fn is_word(&self, v: Var) -> bool {
        let sort =
            self.rule.variables.iter().find(|(own, _)| *own == v).and_then(|(_, sort)| *sort);
        let kind = sort.and_then(|sort| self.signature.sort(sort.name())?.kind);
        matches!(kind, Some(Kind::Operation | Kind::Type | Kind::Name | Kind::Number | Kind::Label))
    }

    /// Returns the variable that ranges over numbers which a term is.
    fn number(&self, v: Var) -> Option<Var> {
        let known = self.rule.fors.iter().find(|(number, call)| {
            let own = call.what.name == "length" && call.args == [Arg::Var(v)];
            *number == v || own
        });
        known.map(|(number, _)| *number)
    }

    /// Returns true if a condition excludes that a term mentions a variable, or the variable is made from it.
    fn excludes(&self, name: &str, v: Var) -> bool {
        let asked = self.rule.guards.iter().any(|guard| {
            let [Arg::Var(x), Arg::Var(within)] = guard.args.as_slice() else { return false };
            guard.what.name == "not-free" && x.to_string() == name && *within == v
        });
        let new = |new: &New| {
            new.within == v
                && expanded(self.signature, self.rule, &new.variable).to_string() == name
        };
        asked || self.rule.news.iter().any(new) || self.is_made_from(name, v)
    }

    /// Returns true if a variable that the rule makes has a term in its name or its bounds. A term is no part of itself.
    fn is_made_from(&self, name: &str, v: Var) -> bool {
        let nodes = self.side.items().filter(|(_, node)| match node {
            ENodeOrVar::ENode(node) => self.signature.table().is_variable(node),
            ENodeOrVar::Var(_) => false,
        });
        let mut made = nodes.map(|(at, _)| at).filter(|at| self.name(*at) == name);
        made.next().is_some_and(|at| direct(self.signature, self.side, at).contains(&v))
    }

    fn name(&self, at: Id) -> String {
        text(self.side, at)
    }
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
