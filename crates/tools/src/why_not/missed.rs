//! The answer for a rule that never matched: how far its left side came and where, the term found instead, and the work
//! of the rules that could make the missing one.

use super::near::{Miss, Near};
use super::stage::{Told, plural, report, times};
use super::{Answer, Cause};
use crate::show::{Show, pattern};
use egg::{ENodeOrVar, Id, Language, PatternAst};
use ember_language::rules::Rule;
use ember_language::term::{Head, Node};
use itertools::Itertools;
use std::cmp::Reverse;
use std::collections::BTreeSet;

impl Told<'_> {
    /// Answers that no node has its root operator.
    pub(super) fn no_root(&self) -> Answer {
        let rule = self.subject.rule();
        let root = rule.lhs.as_ref().last();
        let Some(ENodeOrVar::ENode(node)) = root else {
            return self
                .subject
                .answer(Cause::OperatorMissing, "its left side is empty".to_owned());
        };
        let mut answer = self.subject.answer(
            Cause::OperatorMissing,
            format!(
                "`{}` never matched: there is no {} in the e-graph",
                rule.name,
                self.called(node)
            ),
        );
        answer.evidence.push(("pattern", pattern(&rule.lhs, None)));
        let (text, help) = self.makers(node);
        answer.evidence.push(("made by", text));
        answer.help = help;
        answer
    }

    /// Returns an operator in a sentence. Operators may share a name, and are distinguished by their operands.
    fn called(&self, node: &Node) -> String {
        let classes = self.stage.egraph.classes();
        let same =
            classes.flat_map(|class| &class.nodes).filter(|other| other.head() == node.head());
        let others: BTreeSet<usize> = same.map(|other| other.children().len()).collect();
        match others.is_empty() {
            true => format!("`{node}`"),
            false => format!(
                "`{node}` with {}, only with {},",
                plural(node.children().len(), "operand", "operands"),
                others.iter().join(" or ")
            ),
        }
    }

    /// Answers with a near miss.
    pub(super) fn near(&self, show: &Show<'_>, near: &Near) -> Answer {
        let rule = self.subject.rule();
        let patterns: Vec<&PatternAst<Node>> =
            std::iter::once(&rule.lhs).chain(rule.wheres.iter().map(|(_, p)| p)).collect();
        let parts: usize = patterns.iter().map(|p| p.len()).sum();
        let Some(Miss { pattern: which, part, class, differs }) = near.missing.first() else {
            // All parts exist, but the match was not found in time.
            let text = format!("`{}` matches, too late to be tried", rule.name);
            return self.subject.answer(Cause::Limit, text);
        };
        let missing = &patterns[*which][*part];
        let name = rule.name;
        let (cause, verdict) = match (differs, which) {
            (Some(_), _) => (
                Cause::TwoTerms,
                format!("`{name}` never matched: `{missing}` would stand for two different terms"),
            ),
            (None, 0) => (
                Cause::NoMatch,
                format!("`{name}` never matched: `{}` is not there", short(patterns[0], *part)),
            ),
            (None, _) => (
                Cause::WhereMissing,
                format!(
                    "`{name}` never matched: its :{} `{}` is not there",
                    keyword(rule, which - 1),
                    short(patterns[*which], *part)
                ),
            ),
        };
        let mut answer = self.subject.answer(cause, verdict);
        let (root, node) = &near.root;
        answer.evidence.push((
            "pattern",
            format!(
                "{} ({} of {parts} parts match)",
                pattern(&rule.lhs, mark(0, which, part)),
                near.matched
            ),
        ));
        for (at, (x, text)) in rule.wheres.iter().enumerate() {
            let text = pattern(text, mark(at + 1, which, part));
            answer.evidence.push((keyword(rule, at), format!("{x} {text}")));
        }
        answer.evidence.push(("nearest", show.node(node)));
        answer.evidence.push(("at", show.place(*root)));
        match differs {
            Some(first) => {
                answer.evidence.push(("first", show.term(*first)));
                answer.evidence.push(("then", show.term(*class)));
                answer.help = Some(
                    "give the two places two variables, or add the rules that make the terms equal"
                        .to_owned(),
                );
            }
            None => {
                let whole = usize::from(*part) + 1 == patterns[*which].len();
                if whole && *which > 0 && rule.is_with(which - 1) {
                    answer.evidence.push(("over", show.term(*class)));
                    answer.evidence.push(("instead", show.operators_over(*class)));
                } else {
                    let instead = format!("{} ({})", show.term(*class), show.operators(*class));
                    answer.evidence.push(("instead", instead));
                }
                if let ENodeOrVar::ENode(node) = missing {
                    let (text, help) = self.makers(node);
                    answer.evidence.push(("made by", text));
                    answer.help = help;
                }
            }
        }
        for other in near.missing.iter().skip(1).take(3) {
            let text = short(patterns[other.pattern], other.part);
            let instead = show.operators(other.class);
            answer.evidence.push(("missing too", format!("`{text}`; instead: {instead}")));
        }
        answer
    }

    /// Describes the rules that make an operator, and their work.
    fn makers(&self, node: &Node) -> (String, Option<String>) {
        if let Head::Int(_) | Head::Real(_) = node.head() {
            return ("a number, which stands in the input or is computed".to_owned(), None);
        }
        let makes = |rule: &&Rule| {
            let has = |p: &PatternAst<Node>| {
                p.as_ref().iter().any(|n| matches!(n, ENodeOrVar::ENode(n) if node.matches(n)))
            };
            has(&rule.rhs) && !has(&rule.lhs) && rule.name != self.subject.rule().name
        };
        let makers: Vec<&Rule> = self.subject.book.rules.iter().filter(makes).collect();
        if makers.is_empty() {
            let text = "no rule; it must stand in the input".to_owned();
            return (
                text,
                Some(format!("see that the input has `{node}`, or write the rule that makes it")),
            );
        }
        let mut makers: Vec<Maker> = makers.into_iter().map(|rule| self.maker(rule)).collect();
        // The rules that came furthest are listed first.
        makers.sort_by_key(|maker| Reverse((maker.applied, maker.matches, maker.runs)));
        let mut text = makers.iter().take(4).map(Maker::text).join("; ");
        match makers.len().saturating_sub(4) {
            0 => {}
            more => text += &format!("; and {more} more"),
        }
        // If one of them was applied, its results are elsewhere, and the others may be irrelevant.
        let idle = makers.first().filter(|maker| maker.runs && maker.applied == 0);
        let help = idle.map(|maker| format!("ask why `{}` did not fire", maker.name));
        (text, help)
    }

    fn maker(&self, rule: &Rule) -> Maker {
        let mut maker = Maker { name: rule.name.as_str(), runs: false, matches: 0, applied: 0 };
        let at = self.subject.book.rules.iter().position(|known| known.name == rule.name);
        for (_, _, rules, saturation) in self.history.saturations() {
            if let Some(report) = at.and_then(|at| report(rules, saturation, at)) {
                maker.runs = true;
                maker.matches += report.matches;
                maker.applied += report.applications;
            }
        }
        maker
    }
}

/// A rule that makes an operator, and its work in all saturations.
struct Maker {
    name: &'static str,
    runs: bool,
    matches: usize,
    applied: usize,
}

impl Maker {
    fn text(&self) -> String {
        let did = match (self.runs, self.matches, self.applied) {
            (false, ..) => "which does not run".to_owned(),
            (true, 0, 0) => "which never matched".to_owned(),
            (true, n, 0) => format!("which matched {} and was refused", times(n)),
            (true, _, n) => format!("applied {}", times(n)),
        };
        format!("`{}`, {did}", self.name)
    }
}

/// Returns the keyword of a pattern of a rule that is not its left side.
fn keyword(rule: &Rule, at: usize) -> &'static str {
    if rule.is_with(at) { "with" } else { "where" }
}

fn mark(at: usize, which: &usize, part: &Id) -> Option<Id> {
    (at == *which).then_some(*part)
}

/// Returns a part of a pattern as text.
pub(super) fn short(of: &PatternAst<Node>, part: Id) -> String {
    let up_to: PatternAst<Node> = of.as_ref()[..=usize::from(part)].to_vec().into();
    pattern(&up_to, None)
}
