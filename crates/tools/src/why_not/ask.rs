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

/// Explains why a rule has no part in the program chosen for a model, or states that it has one. Among several groups
/// of statements, the answer is about the group in which the rule came furthest.
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
    let case = Case::new(&inputs.model, options.tune_seed.or(options.seed), options.exact)?;
    let tuning = Tuning::new(inputs, &case, options);
    let Watched { plan, chosen } = explain::choose(&tuning, true, progress)?;
    let groups = explain::groups_of(&plan, statement)?;
    let mut furthest: Option<Answer> = None;
    for group in groups {
        let Some(chosen) = chosen.groups.get(group) else { continue };
        let names = plan.groups[group].statements.iter().map(|s| inputs.model.statement_name(*s));
        let names = names.collect::<Vec<_>>().join(", ");
        progress.say(format!("searching {names} again, watched"));
        let history = explain::watch(&tuning, &plan, group, Some(chosen))?;
        let fired =
            Fired { subject, tuning: &tuning, plan: &plan, group, history: &history, chosen };
        let Some(mut answer) = fired.answer().or_else(|| stuck(subject, &history)) else {
            continue;
        };
        if plan.groups.len() > 1 {
            answer.evidence.insert(0, ("statement", names));
        }
        if furthest.as_ref().is_none_or(|known| known.cause < answer.cause) {
            furthest = Some(answer);
        }
    }
    furthest.ok_or_else(|| vec![Diagnostic::global("the search ended before the rule's turn")])
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
