//! The reason why a schedule has no program for a model: the operation that no rule takes, or the limit that was reached.

use super::choose::Unfinished;
use super::searched::Searched;
use crate::pipeline::Inputs;
use egg::Symbol;
use ember_engine::saturate::StopReason;
use ember_language::diagnostic::Diagnostic;
use ember_language::rules::Schedule;
use ember_model::Expr;
use itertools::Itertools;
use std::collections::BTreeSet;

/// Returns the error for a schedule without a program. Its place is the first operation that no rule of the schedule
/// mentions, or else the value of the first statement of the group.
pub fn no_program(
    inputs: &Inputs,
    schedule: &Schedule,
    searched: &Searched,
    unfinished: &Unfinished,
) -> Diagnostic {
    let name = schedule.name;
    let message = format!("schedule `{name}` finds no program for this model");
    let statements = searched.plan.groups[unfinished.group].statements.iter();
    let values: Vec<&Expr> = statements.map(|at| &inputs.model.statements[*at].value).collect();
    let rules = schedule.rules();
    let taken: BTreeSet<Symbol> =
        rules.iter().flat_map(|rule| inputs.book.rules[*rule].matched()).collect();
    let operation = |part: &Expr| Some(part.applied()?.operation.name);
    let untaken = values.iter().flat_map(|value| value.walk()).find(|part| {
        operation(part).is_some_and(|operation| !taken.contains(&Symbol::from(operation)))
    });
    let sets = rules.iter().map(|rule| inputs.book.sets[inputs.book.rules[*rule].set].name);
    let tried = format!("its rule sets are {}", sets.unique().join(", "));
    let stop = searched.stop();
    let (span, label, way) = match (untaken, values.first()) {
        (Some(part), _) => (
            part.span,
            format!("no rule of the schedule takes `{}`", operation(part).unwrap_or_default()),
            "add a rule for the operation to one of them, or choose another `--schedule`",
        ),
        (None, Some(value)) => {
            let label = match (unfinished.rejected.first(), &stop) {
                (Some(first), _) => format!("the best candidate: {first}"),
                (None, StopReason::Saturated) => {
                    let parts = value.walk().filter_map(operation).unique().join(", ");
                    format!("its rules reach no program of {parts} together")
                }
                (None, stop) => format!("the search ended early: {stop}"),
            };
            if unfinished.rejected.first().is_some_and(|first| first.takes_more_than(0)) {
                return Diagnostic::error(message, value.span, label)
                    .with_help("`--cycle-limit` allows more");
            }
            let way = match stop {
                StopReason::Saturated => "add rules for them, or choose another `--schedule`",
                _ => {
                    "give it more with `--node-limit` and `--iter-limit`, or choose another `--schedule`"
                }
            };
            (value.span, label, way)
        }
        (None, None) => return Diagnostic::global(message).with_help(tried),
    };
    Diagnostic::error(message, span, label).with_help(format!("{tried}; {way}"))
}
