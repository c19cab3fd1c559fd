//! Explains why a rule did not fire, or fired without a part in the chosen program.
//!
//! `stage` finds how far a rule came in a recorded search: `near` finds its nearest misses and `missed` describes them;
//! `conditions` finds the refusals of its conditions and `refused` describes them. For a rule that fired, `choice`
//! compares the best program that contains its results with the chosen one, `removed` finds what it or another rule took
//! out of the search, `pruned` compares it with the kept
//! programs, and `unfinished` finds where it got stuck. `ask` combines these answers, and `print` writes the result.

mod ask;
mod choice;
mod compare;
mod conditions;
mod forced;
mod missed;
mod near;
mod print;
mod pruned;
mod refused;
mod removed;
mod stage;
mod unfinished;

pub use ask::{Search, why_not, why_not_terms};
pub use print::{print, to_json};

/// The answer to the question why a rule did not fire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The rule.
    pub rule: String,
    /// The obstacle that stopped it, if any.
    pub cause: Cause,
    /// The answer in a sentence.
    pub verdict: String,
    /// The evidence, each item with a word for its kind; a text may have several lines.
    pub evidence: Vec<(&'static str, String)>,
    /// A suggestion.
    pub help: Option<String>,
}

/// The obstacle that stopped a rule, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The schedule does not run it.
    NotInSchedule,
    /// It is less exact than the run permits.
    NotExact,
    /// No term has the root operator of its left side.
    OperatorMissing,
    /// A part of its left side is missing below the parts that match.
    NoMatch,
    /// A variable that occurs twice would be two different terms.
    TwoTerms,
    /// A `:where` pattern is missing.
    WhereMissing,
    /// A `:when` is false.
    ConditionFalse,
    /// A `:for` has no value.
    NothingToRangeOver,
    /// A number that it computes does not exist.
    NumberMissing,
    /// Another rule removed what it would match from the search.
    Removed,
    /// It would match in a run that does not include it.
    OutOfTurn,
    /// A limit ended the run before it was applied.
    Limit,
    /// Its result was known already.
    KnownAlready,
    /// It fired, and no finished program with its result was found.
    NotFinished,
    /// Its result was pruned when the best programs were kept.
    Pruned,
    /// Its result was kept to the end, and another program was chosen.
    NotChosen,
    /// It fired, and there was nothing to choose.
    Fired,
    /// It contributed to the chosen program.
    Used,
}

impl Cause {
    /// Returns the name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Cause::NotInSchedule => "not-in-schedule",
            Cause::NotExact => "not-exact",
            Cause::OperatorMissing => "operator-missing",
            Cause::NoMatch => "no-match",
            Cause::TwoTerms => "two-terms",
            Cause::WhereMissing => "where-missing",
            Cause::ConditionFalse => "condition-false",
            Cause::NothingToRangeOver => "nothing-to-range-over",
            Cause::NumberMissing => "number-missing",
            Cause::Removed => "removed",
            Cause::OutOfTurn => "out-of-turn",
            Cause::Limit => "limit",
            Cause::KnownAlready => "known-already",
            Cause::NotFinished => "not-finished",
            Cause::Pruned => "pruned",
            Cause::NotChosen => "not-chosen",
            Cause::Fired => "fired",
            Cause::Used => "used",
        }
    }

    /// Returns true if nothing stopped the rule.
    pub fn is_none(self) -> bool {
        matches!(self, Cause::Fired | Cause::Used)
    }
}
