//! Why a rule did not fire, or fired and has no part in the program that was chosen.
//!
//! `stage` finds how far a rule came in a recorded search: `near` finds what almost matched and `missed`
//! tells of it, `conditions` finds what its conditions saw and `refused` tells of that. Of a rule that
//! fired, `choice` compares the best program that has what it made with the chosen one, `pruned` with
//! those that were kept, and `unfinished` finds where it got stuck. `ask` puts it all together, and
//! `print` writes the answer.

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
mod stage;
mod unfinished;

pub use ask::{why_not, why_not_terms};
pub use print::{print, to_json};

/// The answer to why a rule did not fire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The rule.
    pub rule: String,
    /// What stopped it, or nothing.
    pub cause: Cause,
    /// The answer in a sentence.
    pub verdict: String,
    /// What supports it, each with a word for what it is; a text may have several lines.
    pub evidence: Vec<(&'static str, String)>,
    /// What to do about it.
    pub help: Option<String>,
}

/// What stopped a rule, from the first hurdle to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The schedule does not run it.
    NotInSchedule,
    /// It is less exact than what may run.
    NotExact,
    /// No term has the operator that its left side starts with.
    OperatorMissing,
    /// A part of its left side is nowhere below what does match.
    NoMatch,
    /// A variable that stands twice would be two different terms.
    TwoTerms,
    /// A `:where` pattern is not there.
    WhereMissing,
    /// A `:when` is false.
    ConditionFalse,
    /// A `:for` gives no number.
    NothingToRangeOver,
    /// A number that it computes does not exist.
    NumberMissing,
    /// It would match in a run that it is no part of.
    OutOfTurn,
    /// A limit ended the run before it was applied.
    Limit,
    /// What it would add was known.
    KnownAlready,
    /// It fired, and no finished program contains what it made.
    NotFinished,
    /// What it made was given up when the best programs were kept.
    Pruned,
    /// What it made was there to the end, and another program was chosen.
    NotChosen,
    /// It fired; nothing was to be chosen.
    Fired,
    /// It has a part in the chosen program.
    Used,
}

impl Cause {
    /// The name used in JSON.
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

    /// Whether nothing stopped the rule.
    pub fn is_none(self) -> bool {
        matches!(self, Cause::Fired | Cause::Used)
    }
}
