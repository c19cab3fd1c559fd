//! Answers the question for a model, or for separate terms.

use super::choice::Fired;
use super::stage::{Subject, list, plural, report, stuck, times};
use super::{Answer, Cause};
use crate::explain::{self, Watched};
use crate::history::{History, Plain};
use crate::progress::Line;
use crate::tuning::Tuning;
use ember_compile::pipeline::{Case, Inputs, Options};
use ember_engine::journal::Entry;
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_language::rules::{Exactness, Schedule};
use ember_language::term::Term;
use ember_language::text::Words;

/// The search for a model's program, watched, which answers the question for any rule.
pub struct Search<'a> {
    tuning: Tuning<'a>,
    searched: Watched,
    /// The searched groups of statements, with what happened in them.
    groups: Vec<(usize, History)>,
}

impl<'a> Search<'a> {
    /// Searches the program of a model, or of one of its statements, on the data of a case.
    pub fn new(
        inputs: &'a Inputs,
        options: &'a Options,
        case: &'a Case,
        statement: Option<usize>,
        progress: &Line,
    ) -> Checked<Search<'a>> {
        let tuning = Tuning::new(inputs, case, options);
        let searched = explain::choose(&tuning, true, progress)?;
        let mut groups = Vec::new();
        for group in explain::groups_of(&searched.plan, statement)? {
            let Some(chosen) = searched.chosen.groups.get(group) else { continue };
            let names = names(inputs, &searched, group);
            progress.say(format!("searching {names} again, watched"));
            let history = explain::watch(&tuning, &searched.plan, group, Some(chosen))?;
            groups.push((group, history));
        }
        Ok(Search { tuning, searched, groups })
    }

    /// Explains why a rule has no part in the chosen program, or states that it has one. Among several groups of
    /// statements, the answer is about the group in which the rule came furthest.
    pub fn why_not(&self, rule: &str) -> Checked<Answer> {
        let Search { tuning, searched, groups } = self;
        let Tuning { inputs, options, .. } = *tuning;
        let words = inputs.words();
        let at = inputs.book.require_rule(rule)?;
        let subject = Subject { book: &inputs.book, compiled: &inputs.compiled, at, words: &words };
        let schedule = inputs.schedule(&options.schedule)?;
        if let Some(answer) = not_run(subject, Some(schedule), options.exact) {
            return Ok(answer);
        }
        let plan = &searched.plan;
        let mut furthest: Option<Answer> = None;
        for (group, history) in groups {
            let Some(chosen) = searched.chosen.groups.get(*group) else { continue };
            let fired = Fired { subject, tuning, plan, group: *group, history, chosen };
            let Some(mut answer) = fired.answer().or_else(|| stuck(subject, history)) else {
                continue;
            };
            if plan.groups.len() > 1 {
                answer.evidence.insert(0, ("statement", names(inputs, searched, *group)));
            }
            if furthest.as_ref().is_none_or(|known| known.cause < answer.cause) {
                furthest = Some(answer);
            }
        }
        furthest.ok_or_else(|| vec![Diagnostic::global("the search ended before the rule's turn")])
    }
}

/// Returns the names of the statements of a group.
fn names(inputs: &Inputs, searched: &Watched, group: usize) -> String {
    let statements = searched.plan.groups[group].statements.iter();
    statements.map(|s| inputs.model.statement_name(*s)).collect::<Vec<_>>().join(", ")
}

/// Explains why a rule has no part in the program chosen for a model, or states that it has one. A rule that is not run
/// needs no search.
pub fn why_not(
    inputs: &Inputs,
    options: &Options,
    rule: &str,
    statement: Option<usize>,
    progress: &Line,
) -> Checked<Answer> {
    let at = inputs.book.require_rule(rule)?;
    let words = inputs.words();
    let subject = Subject { book: &inputs.book, compiled: &inputs.compiled, at, words: &words };
    let schedule = inputs.schedule(&options.schedule)?;
    if let Some(answer) = not_run(subject, Some(schedule), options.exact) {
        return Ok(answer);
    }
    let (case, _) = Case::to_rank(&inputs.model, options)?;
    Search::new(inputs, options, &case, statement, progress)?.why_not(rule)
}

/// Explains why a rule changes nothing in a term, or states that it does.
pub fn why_not_terms(plain: &Plain<'_>, rule: &str, terms: &[Term]) -> Checked<Answer> {
    let at = plain.book.require_rule(rule)?;
    let words = Words::new(&plain.book.signature);
    let subject = Subject { book: plain.book, compiled: plain.compiled, at, words: &words };
    if let Some(answer) = not_run(subject, plain.schedule, plain.exact) {
        return Ok(answer);
    }
    let history = plain.run(terms);
    let told = fired(subject, &history).or_else(|| stuck(subject, &history));
    told.ok_or_else(|| vec![Diagnostic::global("the search ended before the rule's turn")])
}

/// Returns the answer if a rule changed something and there is nothing to choose.
fn fired(subject: Subject<'_>, history: &History) -> Option<Answer> {
    let rule = subject.rule();
    for (_, stage, rules, saturation) in history.saturations() {
        let Some(report) = report(rules, saturation, subject.at).filter(|r| subject.changed(r))
        else {
            continue;
        };
        let text = format!(
            "`{}` fired: it was applied {} and made {}",
            rule.name,
            times(report.applications),
            plural(report.nodes, "e-node", "e-nodes")
        );
        let mut answer = subject.answer(Cause::Fired, text);
        let entries = stage.egraph.analysis.journal().entries();
        let own = |e: &&Entry| matches!(e, Entry::Rule { rule: name, united: true, .. } if *name == rule.name);
        let mut proof = ember_prove::chains::Proof::new(subject.book, subject.compiled);
        let sides = entries.iter().find(own).and_then(|entry| proof.sides(&stage.egraph, entry));
        if let Some((left, right)) = sides {
            answer.evidence.push(("left", subject.line(&left)));
            answer.evidence.push(("right", subject.line(&right)));
        }
        return Some(answer);
    }
    None
}

/// Returns the answer if a rule is not even tried.
fn not_run(subject: Subject<'_>, schedule: Option<&Schedule>, exact: Exactness) -> Option<Answer> {
    let rule = subject.rule();
    let set = &subject.book.sets[rule.set];
    let runs = |schedule: &Schedule| schedule.rules().contains(&subject.at);
    if let Some(schedule) = schedule.filter(|schedule| !runs(schedule)) {
        let text = format!("`{}` is not run by schedule `{}`", rule.name, schedule.name);
        let mut answer = subject.answer(Cause::NotInSchedule, text);
        let place = format!("set `{}`, phase `{}`", set.name, rule.phase);
        answer.evidence.push(("rule", place));
        let others = subject.book.schedules.iter().filter(|schedule| runs(schedule));
        let others: Vec<&str> = others.map(|schedule| schedule.name.as_str()).collect();
        answer.evidence.push((
            "run by",
            match others.as_slice() {
                [] => "no schedule".to_owned(),
                some => list(some.iter().copied()),
            },
        ));
        let wanted = format!("add `{}` to a (saturate …) of `{}`", set.name, schedule.name);
        answer.help = Some(match others.first() {
            Some(other) => format!("give --schedule {other}, or {wanted}"),
            None => wanted,
        });
        return Some(answer);
    }
    if rule.exact > exact {
        let text = format!(
            "`{}` may not run: it is `{}`, and only `{exact}` is allowed",
            rule.name, rule.exact
        );
        let mut answer = subject.answer(Cause::NotExact, text);
        answer.evidence.push(("rule", format!("set `{}`", set.name)));
        answer.help = Some(format!("give --exact {}", rule.exact));
        return Some(answer);
    }
    None
}
