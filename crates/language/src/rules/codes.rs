//! The codes of the diagnostics of the rule language: what tools know them by.

use crate::diagnostic::Diagnostic;

/// A code, and the messages that have it: `…` stands for what differs from one to the next.
pub(super) const CODES: &[(&str, &str)] = &[
    ("unbalanced", "`)` without its `(`"),
    ("unbalanced", "`(` without its `)`"),
    ("open-text", r#"text without its closing `"`"#),
    ("too-deep", "parentheses nest deeper than …"),
    ("empty-file", "`…` has no forms in it"),
    ("not-included", "cannot include `…`"),
    ("include-cycle", "files include each other"),
    ("not-a-form", "expected a form"),
    ("unknown-form", "unknown form `…`"),
    ("unknown-keyword", "unknown keyword `…`"),
    ("no-doc", "the documentation text is missing"),
    ("no-doc", "expected a documentation text"),
    ("wrong-shape", "`…` has the wrong shape"),
    ("keyword-twice", "`…` is given twice"),
    ("takes-no-value", "`…` takes no value"),
    ("too-much", "unexpected item"),
    ("no-path", "expected the path of a file"),
    ("dialect-twice", "dialect `…` is declared twice"),
    ("not-a-declaration", "expected a declaration"),
    ("unknown-declaration", "unknown declaration `…`"),
    ("sort-name", "a sort cannot be called `…`"),
    ("sort-twice", "sort `…` is declared twice"),
    ("unknown-sort", "unknown sort `…`"),
    ("operator-name", "an operator cannot be called `…`"),
    ("operator-twice", "operator `…` is declared twice with … arguments"),
    ("no-argument-sorts", "the sorts of the arguments are missing"),
    ("no-result-sort", "the sort of the result is missing"),
    ("undetermined-sort", "the sort of … is not determined"),
    ("binds-nothing", "no arguments that `:binds` could mean"),
    ("cannot-commute", "`…` cannot commute"),
    ("unknown-kind", "unknown kind `…`"),
    ("unknown-unit", "unknown unit `…`"),
    ("unknown-primitive", "unknown primitive `…`"),
    ("unknown-operand", "unknown operand `…`"),
    ("unknown-boundary", "unknown boundary `…`"),
    ("unknown-cost", "unknown cost `…`"),
    ("no-operand", "`…` has no operand `…`"),
    ("means-and-erases", "`…` says both `:means` and `:erases`"),
    ("erases-itself", "`…` erases to itself"),
    ("unknown-meaning", "nothing is known of what `…` does"),
    ("nothing-follows", "no rules follow from what `…` is"),
    ("nothing-defined", "what is defined is missing"),
    ("not-a-parameter", "expected a variable"),
    ("parameter-twice", "parameter `…` stands twice"),
    ("no-definition", "the definition is missing"),
    ("defined-twice", "`…` is defined twice"),
    ("defined-by-itself", "`…` is defined by itself"),
    ("definition-too-large", "`…` stands for more than … operators"),
    ("set-twice", "rule set `…` is defined twice"),
    ("unknown-phase", "unknown phase `…`"),
    ("unknown-exactness", "unknown exactness `…`"),
    ("no-set", "rule `…` belongs to no set"),
    ("rule-twice", "rule `…` is defined twice"),
    ("no-side", "the … side of the rule is missing"),
    ("no-arrow", "the arrow of the rule is missing"),
    ("no-arrow", "expected `=>` or `<=>`"),
    ("not-a-test", "a test is a pair of terms"),
    ("not-a-term", "expected a term"),
    ("not-an-operator", "expected an operator"),
    ("not-applicable", "`…` cannot be applied"),
    ("no-variable-name", "a variable needs a name"),
    ("integer-too-large", "the integer is too large"),
    ("unknown-operation", "unknown operation `…`"),
    ("not-an-integer", "this is not a known integer"),
    ("rule-too-large", "a term of a rule has more than … nodes"),
    ("unknown-operator", "unknown operator `…`"),
    ("arity", "wrong number of arguments for `…`"),
    ("not-a-predicate", "expected a predicate"),
    ("not-a-generator", "expected a generator"),
    ("unknown-predicate", "unknown predicate `…`"),
    ("unknown-generator", "unknown generator `…`"),
    ("not-an-argument", "expected a variable or an integer"),
    ("unbound", "`…` is not bound"),
    ("bound-twice", "`…` is bound twice"),
    ("unused", "`…` is not used"),
    ("bare-variable", "a left side of `…` alone"),
    ("computed-pattern", "`!` in a pattern"),
    ("one-way", "`…` in a `<=>` rule"),
    ("unanchored", "nothing leads to `…`"),
    ("escapes", "`…` escapes its binder"),
    ("may-escape", "`…` may mention …, which escapes its binder"),
    ("same-sides", "both sides of `…` are the same"),
    ("duplicate", "`…` has the same sides as `…`"),
    ("contains-left", "the right side of `…` contains its left side"),
    ("never", "`…` can never fire"),
    ("grows", "`…` grows without end"),
    ("special-case", "`…` does nothing that `…` does not"),
    ("schedule-twice", "schedule `…` is defined twice"),
    ("no-steps", "no steps"),
    ("not-a-step", "expected a step"),
    ("unknown-step", "unknown step `…`"),
    ("steps-too-deep", "steps nest deeper than …"),
    ("too-many-steps", "… takes more than … steps"),
    ("nothing-chosen", "no rules are chosen"),
    ("not-rules", "expected rules to apply"),
    ("unknown-set", "unknown rule set `…`"),
    ("not-a-number", "expected a number"),
    ("not-a-sketch", "expected a sketch"),
    ("sketch-too-large", "expected a sketch of at most … parts"),
    ("unknown-sketch", "unknown sketch `…`"),
    ("two-parts", "`…` stands in two parts of a sketch"),
    ("no-word", "expected the name of …"),
    ("no-word", "expected the operator that commutes"),
    ("no-word", "expected a sort"),
    ("missing", "… is missing"),
    ("sorts-differ", "expected …, found …"),
];

/// The code of a diagnostic of the rule language or of reading S-expressions; `None` for others.
pub fn code(diagnostic: &Diagnostic) -> Option<&'static str> {
    let fits = |shape: &str| fits(shape, &diagnostic.message);
    CODES.iter().find(|(_, shape)| fits(shape)).map(|(code, _)| *code)
}

/// Every code, in the order in which rules/README.md lists them.
pub fn codes() -> Vec<&'static str> {
    let mut codes: Vec<&'static str> = CODES.iter().map(|(code, _)| *code).collect();
    codes.dedup();
    codes
}

/// Whether a message is a shape with its gaps filled.
fn fits(shape: &str, message: &str) -> bool {
    let mut parts = shape.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = message.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}
