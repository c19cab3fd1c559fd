//! The reasons for refusing a certificate.

use ember_language::rules::Exactness;
use thiserror::Error;

/// The reason why a certificate, or a part of one, is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the message of each says what it is")]
pub enum Refusal {
    #[error("not one certificate")]
    NotOne,
    #[error("not a certificate")]
    NotACertificate,
    #[error("steps were expected")]
    NoSteps,
    #[error("its rules are not said")]
    NoRules,
    #[error(
        "it was made with other rules, of digest {0}: give those, or write (rules any) in it to check it with these"
    )]
    OtherRules(String),
    #[error("it is {0} and says otherwise")]
    OtherExactness(Exactness),
    #[error("no element type")]
    NoElementType,
    #[error("nothing that can be given")]
    NotGivable,
    #[error("no variable")]
    NoVariable,
    #[error("no bounds")]
    NoBounds,
    #[error("more than {0} loop variables")]
    TooManyVariables(usize),
    #[error("what declares nothing")]
    NoDeclaration,
    #[error("this is declared before")]
    DeclaredBefore,
    #[error("no name")]
    NoName,
    #[error("what is declared has more than that")]
    TooMuch,
    #[error("no extent: a number from 0 to 2^40, a size, or a size and a number")]
    NoExtent,
    #[error("only an input of rank 1 and type i64 rises")]
    NotRising,
    #[error("{0}: a loop variable of a program that is not called (depth N)")]
    OtherName(String),
    #[error(
        "{0}: not of fitting sorts, types and ranks, or something is written that is only read"
    )]
    IllTyped(String),
    #[error("programs of two sorts")]
    TwoSorts,
    #[error("a loop over `{0}` with other bounds than it is declared with")]
    OtherBounds(String),
    #[error(
        "`{0}` may get a value that its loop does not give it, and is not declared to be anywhere"
    )]
    OutOfRange(String),
    #[error("`{0}` comes to stand where no loop gives it a value")]
    Unbound(String),
    #[error("a program was expected")]
    NoProgram,
    #[error("{0}: loops, variables or tensors that do not fit")]
    DoesNotFit(String),
    #[error("step {number}, {rule}: {why}")]
    Step { number: usize, rule: String, why: Box<Refusal> },
    #[error("the steps lead elsewhere")]
    LeadElsewhere,
    #[error("not a step")]
    NotAStep,
    #[error("no reasons")]
    NoReasons,
    #[error("its conditions hold for other reasons: {0:?}")]
    OtherReasons(Vec<String>),
    #[error("neither forward nor backward")]
    NoDirection,
    #[error("something else stands there")]
    SomethingElse,
    #[error("not the same")]
    NotTheSame,
    #[error("no such rule")]
    NoSuchRule,
    #[error("an empty part")]
    EmptyPart,
    #[error("an empty list")]
    EmptyList,
    #[error("a word was expected")]
    NoWord,
    #[error("`{0}` cannot be applied")]
    NotApplicable(String),
    #[error("`{0}` is not known")]
    NotKnown(String),
    #[error("not checkable: `{0}`")]
    NotCheckable(String),
    #[error("what mentions `{0}` comes to stand in another loop over it, or in none")]
    Captured(String),
    #[error("`{0}` does not hold")]
    DoesNotHold(String),
}
