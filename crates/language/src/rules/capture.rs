//! Capture: what comes to stand below an operator that binds a variable must not mention that variable, unless
//! it stands below such an operator on the left side too. A condition says that it does not, or the variable is
//! made from it, since a term is no part of itself.
//!
//! A variable that the left side mentions where nothing binds it is spoken of on purpose, and may be bound.

use super::book::{Arg, Rule};
use super::operators::Kind;
use super::scope::{Left, Mentioning};
use super::signature::Signature;
use super::tree::{Tree, TreeHead};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::term::{Head, Node};
use egg::{ENodeOrVar, Id, Language, PatternAst, Symbol, Var};
use std::collections::{BTreeMap, BTreeSet};

/// Reports what a right side binds by accident; answers whether there is nothing. `rhs` is the right side as it
/// stands in the file, with its abbreviations.
pub(super) fn check(
    signature: &Signature,
    mentioning: &Mentioning,
    rule: &Rule,
    (rhs, lets): (&Tree, &BTreeMap<Symbol, Id>),
    errors: &mut Vec<Diagnostic>,
) -> bool {
    let mut left = Left::of(signature, rule);
    let numbers = left.numbers.of(&rule.rhs);
    let mut news = BTreeSet::new();
    for new in &rule.news {
        let variable = left.numbers.of(&new.variable).last().copied();
        news.extend(variable.map(|variable| (variable, new.within)));
    }
    let right = Right { signature, mentioning, rule, lets, left, numbers, news };
    let captured = right.captured();
    for (binder, within) in &captured {
        let help = right.way_out(*binder, *within);
        let [binder, within] = [*binder, *within].map(|at| right.told(at));
        let place = rhs.nodes.iter().find(|n| n.head == TreeHead::Var(Symbol::from(&within)));
        let span = place.map_or(rhs.span(), |n| n.span);
        errors.push(
            Diagnostic::error(
                format!("`{within}` may mention `{binder}`, which binds it here"),
                span,
                format!("on the left side nothing binds `{binder}` around it"),
            )
            .with_code(Code::MayCapture)
            .with_help(help),
        );
    }
    captured.is_empty()
}

struct Right<'a> {
    signature: &'a Signature,
    mentioning: &'a Mentioning,
    rule: &'a Rule,
    /// Its abbreviations, as nodes of the right side.
    lets: &'a BTreeMap<Symbol, Id>,
    left: Left<'a>,
    /// The structural numbers of the right side's nodes.
    numbers: Vec<usize>,
    /// Variables that the rule makes, by their numbers, and what they are not free in.
    news: BTreeSet<(usize, Var)>,
}

impl Right<'_> {
    /// Variables that are bound, and what they may come to bind, each as a node of the right side.
    fn captured(&self) -> Vec<(Id, Id)> {
        let side = &self.rule.rhs;
        let mut found: BTreeMap<(usize, usize), (Id, Id)> = BTreeMap::new();
        // What stands in each node: variables of the rule, and loop variables that it makes.
        let mut inside: Vec<BTreeSet<Id>> = Vec::with_capacity(side.len());
        for (at, node) in side.into_iter().enumerate() {
            let mut here = BTreeSet::new();
            match node {
                ENodeOrVar::Var(_) => {
                    here.insert(Id::from(at));
                }
                ENodeOrVar::ENode(node) if self.is_variable(node) => {
                    here.insert(Id::from(at));
                }
                ENodeOrVar::ENode(node) => {
                    let children = node.children();
                    for child in children {
                        here.extend(inside[usize::from(*child)].iter().copied());
                    }
                    let binds = self.signature.operator_of(node).and_then(|op| op.binds);
                    if let Some((variable, body)) = binds {
                        let binder = children[variable];
                        for within in &inside[usize::from(children[body])] {
                            if !self.apart(binder, *within) {
                                let key = [binder, *within].map(|at| self.numbers[usize::from(at)]);
                                found.entry((key[0], key[1])).or_insert((binder, *within));
                            }
                        }
                    }
                }
            }
            inside.push(here);
        }
        let mut reached = vec![false; side.len()];
        if let Some(root) = reached.last_mut() {
            *root = true;
        }
        for (at, node) in side.as_ref().iter().enumerate().rev() {
            if reached[at] {
                node.children().iter().for_each(|child| reached[usize::from(*child)] = true);
            }
        }
        found.into_values().filter(|(binder, _)| reached[usize::from(*binder)]).collect()
    }

    /// Returns true if the term below a binder of the right side is known not to mention the binder's variable, except
    /// where the left side binds it there, too.
    fn apart(&self, binder: Id, within: Id) -> bool {
        let side = &self.rule.rhs;
        let [own, other] = [binder, within].map(|at| self.numbers[usize::from(at)]);
        if own == other {
            return true;
        }
        match (&side[binder], &side[within]) {
            (ENodeOrVar::Var(v), ENodeOrVar::Var(x)) => {
                let asked = self.rule.guards.iter().any(|guard| {
                    let names = |v: Var| guard.args.contains(&Arg::Var(v));
                    match guard.what.name {
                        "not-free" => guard.args.first() == Some(&Arg::Var(*v)) && names(*x),
                        "different" => names(*v) && names(*x),
                        _ => false,
                    }
                });
                asked || self.harmless(own, *x) || self.left.free.contains(v)
            }
            (ENodeOrVar::ENode(_), ENodeOrVar::Var(x)) => {
                self.news.contains(&(own, *x))
                    || self.harmless(own, *x)
                    || self.made_from(binder, other)
            }
            (ENodeOrVar::Var(v), ENodeOrVar::ENode(_)) => {
                self.news.contains(&(other, *v)) || self.made_from(within, own)
            }
            (ENodeOrVar::ENode(_), ENodeOrVar::ENode(_)) => {
                self.made_from(binder, other)
                    || self.made_from(within, own)
                    || self.unlike(binder, within)
            }
        }
    }

    /// Returns true if a variable of the rule stands below the same binder on the left side, or mentions no variable.
    fn harmless(&self, binder: usize, x: Var) -> bool {
        let sort = self.rule.variables.iter().find(|(v, _)| *v == x).and_then(|(_, sort)| *sort);
        let number = self.rule.fors.iter().any(|(v, _)| *v == x);
        let mentions = sort.is_none_or(|sort| self.mentioning.all.contains(&sort));
        let around = self.left.scopes.get(&x).is_some_and(|around| around.contains(&binder));
        number || !mentions || around
    }

    fn is_variable(&self, node: &Node) -> bool {
        let result = self.signature.operator_of(node).and_then(|op| op.result.named());
        result.is_some_and(|sort| self.mentioning.variables.contains(&sort))
    }

    /// Returns true if an operator makes variables or their names, which no rule rewrites.
    fn makes(&self, node: &Node) -> bool {
        let result = self.signature.operator_of(node).and_then(|op| op.result.named());
        let kind = result.and_then(|sort| self.signature.sort(sort.name())?.kind);
        kind == Some(Kind::Label) || self.is_variable(node)
    }

    /// Returns true if a variable that the right side makes is made directly from a part. Below other operators the
    /// part does not count: their terms may be equal to terms without the part.
    fn made_from(&self, made: Id, part: usize) -> bool {
        let mut open = vec![made];
        while let Some(at) = open.pop() {
            if self.numbers[usize::from(at)] == part {
                return true;
            }
            match &self.rule.rhs[at] {
                ENodeOrVar::ENode(node) if self.makes(node) => open.extend(node.children()),
                ENodeOrVar::ENode(_) | ENodeOrVar::Var(_) => {}
            }
        }
        false
    }

    /// Returns true if two variables that the right side makes differ in their names, whatever these are made from.
    fn unlike(&self, a: Id, b: Id) -> bool {
        let side: &PatternAst<Node> = &self.rule.rhs;
        let mut open = vec![(a, b)];
        while let Some((a, b)) = open.pop() {
            let (ENodeOrVar::ENode(x), ENodeOrVar::ENode(y)) = (&side[a], &side[b]) else {
                continue;
            };
            let constructed = self.makes(x) && self.makes(y);
            let alike = x.head() == y.head() && x.children().len() == y.children().len();
            match (x.head(), y.head()) {
                (Head::Int(m), Head::Int(n)) if m != n => return true,
                _ if constructed && !alike => return true,
                _ if constructed => {
                    open.extend(x.children().iter().copied().zip(y.children().iter().copied()));
                }
                _ => {}
            }
        }
        false
    }

    /// Returns advice about a variable that may capture another.
    fn way_out(&self, binder: Id, within: Id) -> String {
        let [variable, other] = [binder, within].map(|at| self.told(at));
        let made = |at: Id| matches!(self.rule.rhs[at], ENodeOrVar::ENode(_));
        let is_variable = match &self.rule.rhs[within] {
            ENodeOrVar::Var(x) => {
                let sort = self.rule.variables.iter().find(|(v, _)| v == x).and_then(|(_, s)| *s);
                sort.is_some_and(|sort| self.mentioning.variables.contains(&sort))
            }
            ENodeOrVar::ENode(_) => true,
        };
        match (made(binder), made(within)) {
            (true, true) => {
                format!("make the names of `{variable}` and `{other}` with different numbers")
            }
            _ if is_variable => format!("add the condition `(different {variable} {other})`"),
            (true, false) => format!(
                "add the condition `(not-free {variable} {other})`, or make the name of `{variable}` from `{other}`"
            ),
            (false, _) => format!("add the condition `(not-free {variable} {other})`"),
        }
    }

    /// Returns the rule's name of a variable, or of one that it makes.
    fn told(&self, at: Id) -> String {
        match &self.rule.rhs[at] {
            ENodeOrVar::Var(v) => v.to_string(),
            ENodeOrVar::ENode(_) => {
                let own = self.numbers[usize::from(at)];
                let name = self.lets.iter().find(|(_, at)| self.numbers[usize::from(**at)] == own);
                name.map_or_else(|| "?NAME".to_owned(), |(name, _)| name.to_string())
            }
        }
    }
}
