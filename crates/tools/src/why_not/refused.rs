//! The answer for a rule all of whose matches were refused: its conditions, and the values that they saw.

use super::conditions::{Match, Refusal};
use super::missed::short;
use super::stage::{Told, plural};
use super::{Answer, Cause};
use crate::show::Show;
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rules::Arg;
use ember_language::term::Node;
use itertools::Itertools;

impl Told<'_> {
    /// Answers that it matched and that every match was refused.
    pub(super) fn refused(&self, show: &Show<'_>, found: &[Match]) -> Answer {
        let rule = self.subject.rule();
        let counts = found.iter().counts_by(|m| m.refusal);
        // The last refusal in the order of the rule's conditions belongs to the match that came furthest.
        let furthest = counts.keys().copied().max().unwrap_or(Refusal::Number);
        let (cause, what) = match furthest {
            Refusal::When(at) => (Cause::ConditionFalse, self.when(at)),
            Refusal::For(at) => (Cause::NothingToRangeOver, self.range(at)),
            Refusal::New(at) => (Cause::ConditionFalse, self.new_in(at)),
            Refusal::Number | Refusal::None => (Cause::NumberMissing, self.number()),
        };
        let all = plural(found.len(), "match", "matches");
        let mut answer = self
            .subject
            .answer(cause, format!("`{}` has {all}, and each is refused: {what}", rule.name));
        for (refusal, count) in counts.into_iter().sorted_by_key(|(refusal, _)| *refusal).rev() {
            let of = found.iter().filter(|m| m.refusal == refusal);
            let Some(example) = of.min_by_key(|m| (show.size(m.root), m.root)) else { continue };
            let (what, args, doc): (String, Vec<Var>, &str) = match refusal {
                Refusal::When(at) => {
                    let call = &rule.guards[at];
                    (self.when(at), variables(&call.args), call.what.doc)
                }
                Refusal::For(at) => {
                    let call = &rule.fors[at].1;
                    (self.range(at), variables(&call.args), call.what.doc)
                }
                Refusal::New(at) => (self.new_in(at), vec![rule.news[at].within], ""),
                Refusal::Number | Refusal::None => (self.number(), computed(&rule.rhs), ""),
            };
            answer.evidence.push(("refused", format!("{what}, {count} of {}", found.len())));
            if !doc.is_empty() {
                answer.evidence.push(("asks", doc.to_owned()));
            }
            answer.evidence.push(("match", show.term(example.root)));
            answer.evidence.push(("at", show.place(example.root)));
            for variable in args {
                if let Some(class) = example.bound.get(&variable) {
                    let text =
                        format!("{variable} = {}\n{}", show.term(*class), show.facts(*class));
                    answer.evidence.push(("saw", text));
                }
            }
        }
        answer.help = Some(match furthest {
            Refusal::When(_) | Refusal::New(_) => {
                "where the condition ought to hold, a rule that makes a simpler form of what it saw \
                 may let it"
                    .to_owned()
            }
            Refusal::For(_) => "see what the generator needs in rules/README.md".to_owned(),
            Refusal::Number | Refusal::None => {
                "numbers are computed from integers that are known, and must fit into 64 bits".to_owned()
            }
        });
        answer
    }

    fn when(&self, at: usize) -> String {
        let call = &self.subject.rule().guards[at];
        format!("{} is false", written(call.what.name, &call.args))
    }

    fn range(&self, at: usize) -> String {
        let (x, call) = &self.subject.rule().fors[at];
        format!("{} gives no {x}", written(call.what.name, &call.args))
    }

    fn new_in(&self, at: usize) -> String {
        let new = &self.subject.rule().news[at];
        let variable = short(&new.variable, Id::from(new.variable.len().saturating_sub(1)));
        format!("{} may mention {variable}", new.within)
    }

    fn number(&self) -> String {
        let pattern = &self.subject.rule().rhs;
        let computes =
            |node: &ENodeOrVar<Node>| matches!(node, ENodeOrVar::ENode(n) if n.name() == Some("!"));
        let all = pattern.as_ref().iter().positions(computes);
        let all = all.map(|at| short(pattern, Id::from(at))).join(" or ");
        format!("{all} is no number")
    }
}

/// Returns the variables among arguments.
fn variables(args: &[Arg]) -> Vec<Var> {
    let variable = |arg: &Arg| match arg {
        Arg::Var(variable) => Some(*variable),
        Arg::Int(_) => None,
    };
    args.iter().filter_map(variable).unique().collect()
}

/// Returns the variables from which the computed numbers of a pattern are computed.
fn computed(pattern: &PatternAst<Node>) -> Vec<Var> {
    let nodes = pattern.as_ref().iter();
    let computations = nodes.filter_map(|node| match node {
        ENodeOrVar::ENode(node) if node.name() == Some("!") => Some(node.children()),
        _ => None,
    });
    let variable = |id: &Id| match pattern[*id] {
        ENodeOrVar::Var(variable) => Some(variable),
        ENodeOrVar::ENode(_) => None,
    };
    computations.flatten().filter_map(variable).unique().collect()
}

/// Returns a call as it is written.
fn written(name: &str, args: &[Arg]) -> String {
    let word = |arg: &Arg| match arg {
        Arg::Var(variable) => variable.to_string(),
        Arg::Int(n) => n.to_string(),
    };
    format!("({name} {})", args.iter().map(word).join(" "))
}
