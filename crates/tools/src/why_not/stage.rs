//! Finds how far a rule came in a recorded search in which it changed nothing.

use super::conditions::{Match, Refusal, matches};
use super::near::nearest;
use super::removed::Removed;
use super::{Answer, Cause};
use crate::history::{History, Stage};
use crate::show::Show;
use ember_engine::CompiledRule;
use ember_engine::journal::Entry;
use ember_engine::saturate::{RuleReport, Saturation, StopReason};
use ember_language::rules::{Rule, RuleBook};
use ember_language::term::Term;
use ember_language::text::{Words, line};
use ember_prove::chains::{Gap, Proof};
use itertools::Itertools;

/// A rule with its book.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub book: &'a RuleBook,
    pub compiled: &'a [CompiledRule],
    pub at: usize,
    /// The words of program text.
    pub words: &'a Words<'a>,
}

impl<'a> Subject<'a> {
    /// Returns a term on one line.
    pub fn line(&self, term: &Term) -> String {
        line(term, self.words, crate::show::WIDTH)
    }

    pub fn rule(&self) -> &'a Rule {
        &self.book.rules[self.at]
    }

    pub fn compiled(&self) -> &'a CompiledRule {
        &self.compiled[self.at]
    }

    /// Returns true if the rule changed anything in a run: it found an equality, or removed what it matched.
    pub fn changed(&self, report: &RuleReport) -> bool {
        report.fired() || report.applications > 0 && self.compiled().subsume
    }

    pub fn answer(&self, cause: Cause, verdict: String) -> Answer {
        let rule = self.rule().name.to_string();
        Answer { rule, cause, verdict, evidence: Vec::new(), help: None }
    }
}

/// Returns the report of a rule in a run; `None` if the run did not include it.
pub(super) fn report<'a>(
    rules: &[usize],
    saturation: &'a Saturation,
    rule: usize,
) -> Option<&'a RuleReport> {
    let at = rules.iter().position(|known| *known == rule)?;
    saturation.rules.get(at)
}

/// Explains why a rule changed nothing, for the stage in which it came furthest; `None` if no stage included it.
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
    let furthest = furthest?;
    let early = furthest.cause < Cause::OutOfTurn;
    Some(early.then(|| out_of_turn(subject, history)).flatten().unwrap_or(furthest))
}

/// Returns the answer if a rule applies to the result of a run that does not include it.
fn out_of_turn(subject: Subject<'_>, history: &History) -> Option<Answer> {
    let rule = subject.rule();
    let runs = |rules: &[usize]| rules.contains(&subject.at);
    let own = history.saturations().positions(|(_, _, rules, _)| runs(rules));
    let own = own.map(|at| at + 1).join(", ");
    for (at, (_, stage, rules, _)) in history.saturations().enumerate() {
        if runs(rules) {
            continue;
        }
        let found = matches(&stage.egraph, rule, subject.compiled());
        let show = Show::new(&stage.egraph, stage.root, subject.words);
        let open = found.iter().filter(|m| m.refusal == Refusal::None);
        let reached = open.filter(|m| show.depth(m.root).is_some());
        let Some(smallest) = reached.min_by_key(|m| (show.size(m.root), m.root)) else { continue };
        let mut answer = subject.answer(
            Cause::OutOfTurn,
            format!(
                "`{}` runs in saturation {own} and never applied there; it would after saturation {}, \
                 which it has no part in",
                rule.name,
                at + 1
            ),
        );
        let set = &subject.book.sets[rule.set];
        answer.evidence.push(("rule", format!("set `{}`, phase `{}`", set.name, rule.phase)));
        answer.evidence.push(("match", show.term(smallest.root)));
        answer.evidence.push(("at", show.place(smallest.root)));
        answer.help = Some(format!("run `{}` in saturation {} too, or after it", set.name, at + 1));
        return Some(answer);
    }
    None
}

/// One saturation of a search, and the rule that changed nothing in it.
pub(super) struct Told<'a> {
    pub subject: Subject<'a>,
    pub history: &'a History,
    pub stage: &'a Stage,
    pub saturation: &'a Saturation,
}

impl Told<'_> {
    fn answer(&self, report: &RuleReport) -> Answer {
        if report.applications > 0 {
            return self.known_already(report);
        }
        let egraph = &self.stage.egraph;
        let show = Show::new(egraph, self.stage.root, self.subject.words);
        let found = matches(egraph, self.subject.rule(), self.subject.compiled());
        if found.iter().any(|m| m.refusal == Refusal::None) {
            return self.limit(&show, &found);
        }
        if !found.is_empty() {
            return self.refused(&show, &found);
        }
        if let Some(answer) = self.removed() {
            return answer;
        }
        let mut answer = match nearest(&show, self.subject.rule()) {
            None => self.no_root(),
            Some(near) => self.near(&show, &near),
        };
        if self.saturation.stop != StopReason::Saturated {
            let stop = format!("the run was cut short ({}); more may match", self.saturation.stop);
            answer.evidence.push(("limit", stop));
            answer.help = Some(self.longer());
        }
        answer
    }

    /// Answers that it was applied and that nothing changed.
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
        answer.evidence.push(("left", self.subject.line(&left)));
        answer.evidence.push(("right", self.subject.line(&right)));
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
                answer.help =
                    Some(format!("it follows from {first}; take it out, or run it without"));
            }
            Err(Gap::NotEqual | Gap::TooLong) => {}
        }
        answer
    }

    /// Answers that it would apply to what another rule removed from the search.
    fn removed(&self) -> Option<Answer> {
        let Told { subject, stage, .. } = self;
        let (rule, compiled) = (subject.rule(), subject.compiled());
        let all = Removed::all(subject.compiled, &stage.egraph);
        let others = all.iter().map(|own| own.by).unique().filter(|other| *other != rule.name);
        others.into_iter().find_map(|other| {
            let own: Vec<&Removed> = all.iter().filter(|own| own.by == other).collect();
            let egraph = Removed::restored(&own, &stage.egraph);
            let found = matches(&egraph, rule, compiled);
            let open = found.iter().filter(|m| m.refusal == Refusal::None);
            let show = Show::new(&egraph, stage.root, subject.words);
            let smallest = open.min_by_key(|m| (show.size(m.root), m.root))?;
            let mut answer = subject.answer(
                Cause::Removed,
                format!(
                    "`{}` would match, and `{other}` removed what it matches from the search",
                    rule.name
                ),
            );
            answer.evidence.push(("match", show.term(smallest.root)));
            answer.evidence.push(("at", show.place(smallest.root)));
            answer.evidence.push(("removed", format!("by `{other}`, {}", times(own.len()))));
            let set = &subject.book.sets[rule.set];
            let help =
                format!("run `{}` in a step before `{other}`, or leave `{other}` out", set.name);
            answer.help = Some(help);
            Some(answer)
        })
    }

    /// Suggests how a run can continue.
    fn longer(&self) -> String {
        match &self.saturation.stop {
            StopReason::IterationLimit => "give a larger --iter-limit".to_owned(),
            StopReason::Contradiction { .. } => "correct the rules that contradict".to_owned(),
            _ => {
                "give a larger --node-limit, or run the rules that grow in a later step".to_owned()
            }
        }
    }

    /// Answers that it would apply now, but a limit ended the run.
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
        answer.help = Some(self.longer());
        answer
    }
}

/// Returns names in a sentence.
pub(super) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    ember_language::suggest::list(names)
}

/// Returns a count with its noun.
pub(super) fn plural(n: usize, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

pub(super) fn times(n: usize) -> String {
    if n == 1 { "once".to_owned() } else { format!("{n} times") }
}

fn steps(n: usize) -> String {
    plural(n, "step", "steps")
}
