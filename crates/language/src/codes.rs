//! The codes by which tools identify the diagnostics of the rule language. rules/README.md documents each, and a case
//! of `tests/cases/fail/` covers it.

use std::fmt;

/// Declares the codes, each with its name.
macro_rules! codes {
    ($($code:ident $name:literal,)*) => {
        /// A kind of diagnostic of the rule language.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "rules/README.md documents each")]
        pub enum Code {
            $($code,)*
        }

        impl Code {
            /// Every code, in the order in which rules/README.md lists them.
            pub const ALL: &[Code] = &[$(Code::$code,)*];

            /// Returns the name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Code::$code => $name,)*
                }
            }
        }
    };
}

codes! {
    Unbalanced "unbalanced",
    OpenText "open-text",
    TooDeep "too-deep",
    EmptyFile "empty-file",
    NotIncluded "not-included",
    IncludeCycle "include-cycle",
    NotAForm "not-a-form",
    UnknownForm "unknown-form",
    UnknownKeyword "unknown-keyword",
    NoDoc "no-doc",
    WrongShape "wrong-shape",
    KeywordTwice "keyword-twice",
    TakesNoValue "takes-no-value",
    TooMuch "too-much",
    NoPath "no-path",
    DialectTwice "dialect-twice",
    NotADeclaration "not-a-declaration",
    UnknownDeclaration "unknown-declaration",
    SortName "sort-name",
    SortTwice "sort-twice",
    UnknownSort "unknown-sort",
    OperatorName "operator-name",
    OperatorTwice "operator-twice",
    NoArgumentSorts "no-argument-sorts",
    NoResultSort "no-result-sort",
    UndeterminedSort "undetermined-sort",
    BindsNothing "binds-nothing",
    CannotCommute "cannot-commute",
    UnknownKind "unknown-kind",
    UnknownUnit "unknown-unit",
    UnknownPrimitive "unknown-primitive",
    UnknownOperand "unknown-operand",
    UnknownBoundary "unknown-boundary",
    UnknownCost "unknown-cost",
    NoOperand "no-operand",
    TwoMeanings "means-and-erases",
    ErasesToItself "erases-itself",
    UnknownMeaning "unknown-meaning",
    NoDerivation "nothing-follows",
    NothingDefined "nothing-defined",
    NotAParameter "not-a-parameter",
    ParameterTwice "parameter-twice",
    NoDefinition "no-definition",
    DefinedTwice "defined-twice",
    DefinedByItself "defined-by-itself",
    DefinitionTooLarge "definition-too-large",
    SetTwice "set-twice",
    UnknownPhase "unknown-phase",
    UnknownExactness "unknown-exactness",
    UnknownParameter "unknown-parameter",
    NotAValue "not-a-value",
    WrongParameter "wrong-parameter",
    NoSet "no-set",
    RuleTwice "rule-twice",
    NoSide "no-side",
    NoArrow "no-arrow",
    NotATest "not-a-test",
    NotATerm "not-a-term",
    NotAnOperator "not-an-operator",
    NotApplicable "not-applicable",
    NoVariableName "no-variable-name",
    IntegerTooLarge "integer-too-large",
    UnknownOperation "unknown-operation",
    NotAnInteger "not-an-integer",
    RuleTooLarge "rule-too-large",
    UnknownOperator "unknown-operator",
    Arity "arity",
    NotAPredicate "not-a-predicate",
    NotAGenerator "not-a-generator",
    UnknownPredicate "unknown-predicate",
    UnknownGenerator "unknown-generator",
    NotAnArgument "not-an-argument",
    Unbound "unbound",
    BoundTwice "bound-twice",
    Unused "unused",
    BareVariable "bare-variable",
    ComputedPattern "computed-pattern",
    OneWay "one-way",
    Unanchored "unanchored",
    Escapes "escapes",
    MayEscape "may-escape",
    MayCapture "may-capture",
    SameSides "same-sides",
    Duplicate "duplicate",
    ContainsLeft "contains-left",
    Never "never",
    Grows "grows",
    SpecialCase "special-case",
    ScheduleTwice "schedule-twice",
    StepsTwice "steps-twice",
    UnknownSteps "unknown-steps",
    StepsCycle "steps-cycle",
    NoSteps "no-steps",
    NotAStep "not-a-step",
    UnknownStep "unknown-step",
    StepsTooDeep "steps-too-deep",
    TooManySteps "too-many-steps",
    NothingChosen "nothing-chosen",
    NotRules "not-rules",
    UnknownSet "unknown-set",
    UnknownSchedule "unknown-schedule",
    NotANumber "not-a-number",
    NotASketch "not-a-sketch",
    SketchTooLarge "sketch-too-large",
    UnknownSketch "unknown-sketch",
    TwoParts "two-parts",
    NoWord "no-word",
    Missing "missing",
    SortsDiffer "sorts-differ",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
