//! How far a rule came in a recorded search that did not let it change anything.

use super::conditions::{Match, Refusal, matches};
use super::near::{Miss, Near, nearest};
use super::show::{Show, pattern};
use super::{Answer, Cause};
use crate::explain::{Gap, Proof, line};
use crate::history::{History, Stage};
use crate::journal::Entry;
use crate::rules::{Arg, CompiledRule, Rule, RuleBook};
use crate::saturate::{RuleReport, Saturation, StopReason};
use crate::term::{Head, Node};
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use itertools::Itertools;

/// A rule, and what it belongs to.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub book: &'a RuleBook,
    pub compiled: &'a [CompiledRule],
    pub at: usize,
}

impl<'a> Subject<'a> {
    pub fn rule(&self) -> &'a Rule {
        &self.book.rules[self.at]
    }

    pub fn compiled(&self) -> &'a CompiledRule {
        &self.compiled[self.at]
    }

    pub fn answer(&self, cause: Cause, verdict: String) -> Answer {
        let rule = self.rule().name.to_string();
        Answer { rule, cause, verdict, evidence: Vec::new(), help: None }
    }
}

/// Whether a rule changed anything in a run.
pub(super) fn changed(report: &RuleReport) -> bool {
    report.applications > 0 && report.fired()
}

/// What a rule did in a run that it was part of.
pub(super) fn report<'a>(
    rules: &[usize],
    saturation: &'a Saturation,
    rule: usize,
) -> Option<&'a RuleReport> {
    let at = rules.iter().position(|known| *known == rule)?;
    saturation.rules.get(at)
}

/// Why a rule changed nothing, as told by the stage in which it came furthest; `None` where it was in
/// no stage.
pub(super) fn stuck(subject: Subject<'_>, history: &History) -> Option<Answer> {
    let mut furthest: Option<Answer> = None;
    for (_, stage, rules, saturation) in history.saturations() {
        let Some(report) = report(rules, saturation, subject.at) else { continue };
        let told = Told { subject, history, stage, saturation };
        let answer = told.answer(report);
        if furthest.as_ref().is_none_or(|known| known.cause < answer.cause) {
            furthest = Some(answer);
        }
    }
    furthest
}

struct Told<'a> {
    subject: Subject<'a>,
    history: &'a History,
    stage: &'a Stage,
    saturation: &'a Saturation,
}

impl Told<'_> {
    fn answer(&self, report: &RuleReport) -> Answer {
        if report.applications > 0 {
            return self.known_already(report);
        }
        let egraph = &self.stage.egraph;
        let show = Show::new(egraph, self.stage.root);
        let found = matches(egraph, self.subject.rule(), self.subject.compiled());
        if found.iter().any(|m| m.refusal == Refusal::None) {
            return self.limit(&show, &found);
        }
        if !found.is_empty() {
            return self.refused(&show, &found);
        }
        let mut answer = match nearest(&show, self.subject.rule()) {
            None => self.no_root(),
            Some(near) => self.near(&show, &near),
        };
        if self.saturation.stop != StopReason::Saturated {
            let stop = format!("the run was cut short ({}); more may match", self.saturation.stop);
            answer.evidence.push(("limit", stop));
        }
        answer
    }

    /// It was applied, and nothing changed.
    fn known_already(&self, report: &RuleReport) -> Answer {
        let rule = self.subject.rule();
        let mut answer = self.subject.answer(
            Cause::KnownAlready,
            format!(
                "`{}` was applied {} and changed nothing: its right side was known to be equal",
                rule.name,
                times(report.applications)
            ),
        );
        let egraph = &self.stage.egraph;
        let entries = egraph.analysis.journal().entries();
        let own = entries
            .iter()
            .position(|e| matches!(e, Entry::Rule { rule: r, .. } if *r == rule.name));
        let Some(at) = own else { return answer };
        let mut proof = Proof::new(self.subject.book, self.subject.compiled);
        proof.add(egraph, at);
        let Some((left, right)) = proof.sides(egraph, &entries[at]) else { return answer };
        answer.evidence.push(("left", line(&left, super::show::WIDTH)));
        answer.evidence.push(("right", line(&right, super::show::WIDTH)));
        match proof.chain(&left, &right) {
            Ok(chain) if chain.steps.is_empty() => {
                answer.evidence.push(("equal", "both sides are the same term".to_owned()));
            }
            Ok(chain) => {
                let rules: Vec<&str> = chain.steps.iter().map(|s| s.name()).unique().collect();
                let first = list(rules.iter().copied());
                answer
                    .evidence
                    .push(("equal", format!("by {first}, {}", steps(chain.steps.len()))));
                answer.help = Some(format!(
                    "it is implied where {first} run; take it out, or run it without them"
                ));
            }
            Err(Gap::NotEqual | Gap::TooLong) => {}
        }
        answer
    }

    /// It would apply now.
    fn limit(&self, show: &Show<'_>, found: &[Match]) -> Answer {
        let rule = self.subject.rule();
        let open = found.iter().filter(|m| m.refusal == Refusal::None);
        let count = open.clone().count();
        let mut answer = self.subject.answer(
            Cause::Limit,
            format!(
                "`{}` has {} left and was not applied: the run ended before it could ({})",
                rule.name,
                plural(count, "match", "matches"),
                self.saturation.stop
            ),
        );
        if let Some(smallest) = open.min_by_key(|m| (show.size(m.root), m.root)) {
            answer.evidence.push(("match", show.term(smallest.root)));
            answer.evidence.push(("at", show.place(smallest.root)));
        }
        let most = self.saturation.rules.iter().max_by_key(|r| r.nodes);
        if let Some(most) = most.filter(|most| most.nodes > 0) {
            let all: usize = self.saturation.rules.iter().map(|r| r.nodes).sum();
            answer.evidence.push((
                "used up by",
                format!(
                    "`{}`, which made {} of the {all} e-nodes that rules made, in {}",
                    most.rule,
                    most.nodes,
                    plural(self.saturation.iterations, "iteration", "iterations")
                ),
            ));
        }
        answer.help = Some(match &self.saturation.stop {
            StopReason::IterationLimit => "give a larger --iter-limit".to_owned(),
            StopReason::Contradiction { .. } => "correct the rules that contradict".to_owned(),
            _ => {
                "give a larger --node-limit, or run the rules that grow in a later step".to_owned()
            }
        });
        answer
    }

    /// It matched, and something refused every match.
    fn refused(&self, show: &Show<'_>, found: &[Match]) -> Answer {
        let rule = self.subject.rule();
        let counts = found.iter().counts_by(|m| m.refusal);
        // The refusal that comes last among the rule's conditions is of the match that came furthest.
        let furthest = counts.keys().copied().max().unwrap_or(Refusal::Number);
        let (cause, what) = match furthest {
            Refusal::When(at) => (Cause::ConditionFalse, self.when(at)),
            Refusal::For(at) => (Cause::NothingToRangeOver, self.range(at)),
            Refusal::Number | Refusal::None => {
                (Cause::NumberMissing, "a number that it computes does not exist".to_owned())
            }
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
                Refusal::Number | Refusal::None => {
                    ("the number does not exist".to_owned(), computed(&rule.rhs), "")
                }
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
            Refusal::When(_) => {
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

    /// Nothing has the operator at its root.
    fn no_root(&self) -> Answer {
        let rule = self.subject.rule();
        let root = rule.lhs.as_ref().last();
        let Some(ENodeOrVar::ENode(node)) = root else {
            return self
                .subject
                .answer(Cause::OperatorMissing, "its left side is empty".to_owned());
        };
        let mut answer = self.subject.answer(
            Cause::OperatorMissing,
            format!("`{}` never matched: there is no `{node}` in the e-graph", rule.name),
        );
        answer.evidence.push(("pattern", pattern(&rule.lhs, None)));
        let (text, help) = self.makers(node);
        answer.evidence.push(("made by", text));
        answer.help = help;
        answer
    }

    /// A near miss.
    fn near(&self, show: &Show<'_>, near: &Near) -> Answer {
        let rule = self.subject.rule();
        let patterns: Vec<&PatternAst<Node>> =
            std::iter::once(&rule.lhs).chain(rule.wheres.iter().map(|(_, p)| p)).collect();
        let parts: usize = patterns.iter().map(|p| p.len()).sum();
        let Some(Miss { pattern: which, part, class, differs }) = near.missing.first() else {
            // Everything is there one by one, and a match was not found in time.
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
                    "`{name}` never matched: its :where `{}` is not there",
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
            answer.evidence.push(("where", format!("{x} {text}")));
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
                answer.evidence.push((
                    "instead",
                    format!("{} ({})", show.term(*class), show.operators(*class)),
                ));
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

    /// The rules that make an operator, and what they did.
    fn makers(&self, node: &Node) -> (String, Option<String>) {
        if let Head::Int(_) | Head::Real(_) = node.head {
            return ("a number, which stands in the input or is computed".to_owned(), None);
        }
        let makes = |rule: &&Rule| {
            let has = |p: &PatternAst<Node>| {
                p.as_ref().iter().any(|n| matches!(n, ENodeOrVar::ENode(n) if node.matches(n)))
            };
            has(&rule.rhs) && !has(&rule.lhs)
        };
        let makers: Vec<&Rule> = self.subject.book.rules.iter().filter(makes).collect();
        if makers.is_empty() {
            let text = "no rule; it must stand in the input".to_owned();
            return (
                text,
                Some(format!("see that the input has `{node}`, or write the rule that makes it")),
            );
        }
        let mut idle = None;
        let tell = |rule: &&Rule| {
            let at = self.subject.book.rules.iter().position(|r| r.name == rule.name);
            let reports = self
                .history
                .saturations()
                .filter_map(|(_, _, rules, saturation)| report(rules, saturation, at?));
            let reports: Vec<&RuleReport> = reports.collect();
            let applied: usize = reports.iter().map(|r| r.applications).sum();
            match (reports.is_empty(), applied) {
                (true, _) => format!("`{}`, which does not run", rule.name),
                (false, 0) => {
                    idle.get_or_insert(rule.name);
                    format!("`{}`, which was never applied", rule.name)
                }
                (false, n) => format!("`{}`, applied {}", rule.name, times(n)),
            }
        };
        let more = makers.len().saturating_sub(4);
        let mut text = makers.iter().take(4).map(tell).join("; ");
        if more > 0 {
            text += &format!("; and {more} more");
        }
        let help = idle.map(|rule| format!("ask why `{rule}` did not fire"));
        (text, help)
    }
}

fn mark(at: usize, which: &usize, part: &Id) -> Option<Id> {
    (at == *which).then_some(*part)
}

/// A part of a pattern as text.
fn short(of: &PatternAst<Node>, part: Id) -> String {
    let up_to: PatternAst<Node> = of.as_ref()[..=usize::from(part)].to_vec().into();
    pattern(&up_to, None)
}

/// The variables among arguments.
fn variables(args: &[Arg]) -> Vec<Var> {
    let variable = |arg: &Arg| match arg {
        Arg::Var(variable) => Some(*variable),
        Arg::Int(_) => None,
    };
    args.iter().filter_map(variable).unique().collect()
}

/// The variables that computed numbers of a pattern are computed from.
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

/// A call as it is written.
fn written(name: &str, args: &[Arg]) -> String {
    let word = |arg: &Arg| match arg {
        Arg::Var(variable) => variable.to_string(),
        Arg::Int(n) => n.to_string(),
    };
    format!("({name} {})", args.iter().map(word).join(" "))
}

/// Names in a sentence.
pub(super) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    crate::suggest::list(names)
}

/// A count with its noun.
pub(super) fn plural(n: usize, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

pub(super) fn times(n: usize) -> String {
    if n == 1 { "once".to_owned() } else { format!("{n} times") }
}

fn steps(n: usize) -> String {
    plural(n, "step", "steps")
}
