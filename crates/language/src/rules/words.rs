//! The keywords of rule files and their meanings, for editors.

use super::attributes::ATTRIBUTES;
use super::tree::{COMPUTE, COMPUTE_OPS};
use ember_values::scalar::BinaryOp;
use std::sync::LazyLock;

/// A word of the rule language.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// Its kind: a `form`, a `key` and so on.
    pub kind: &'static str,
    /// The word.
    pub name: &'static str,
    /// Its syntax, with the items that belong to it.
    pub usage: &'static str,
    /// Its meaning.
    pub doc: &'static str,
}

const fn word(
    kind: &'static str,
    name: &'static str,
    usage: &'static str,
    doc: &'static str,
) -> Word {
    Word { kind, name, usage, doc }
}

/// Every word except attributes, by kind.
const WORDS: &[Word] = &[
    word(
        "form",
        "include",
        "(include \"PATH\")",
        "The forms of another file, from the folder of this one.",
    ),
    word(
        "form",
        "dialect",
        "(dialect NAME \"doc\" [:input] (sort …) … (op …) …)",
        "Declares sorts and operators.",
    ),
    word(
        "form",
        "define",
        "(define (NAME ?a …) \"doc\" TERM)",
        "An operator that stands for a term.",
    ),
    word(
        "form",
        "ruleset",
        "(ruleset NAME \"doc\" [:phase PHASE] [:exact EXACTNESS])",
        "The set of the rules behind it.",
    ),
    word("form", "rule", "(rule NAME \"doc\" LEFT => RIGHT …)", "Two terms that mean the same."),
    word(
        "form",
        "commutes",
        "(commutes NAME OPERATOR \"why\")",
        "The rule (OPERATOR ?a ?b) => (OPERATOR ?b ?a).",
    ),
    word(
        "form",
        "derive",
        "(derive OPERATOR)",
        "The push-down rules of a boundary, or of vec, rename, fix or after, that follow from what operators are.",
    ),
    word("form", "schedule", "(schedule NAME \"doc\" STEP …)", "Which rules run, and when."),
    word(
        "form",
        "tune",
        "(tune NAME \"doc\" VALUES [:default VALUE] [:when (RELATION A B) …])",
        "A parameter that rules and schedules leave open, and that `tune` searches.",
    ),
    word("form", "steps", "(steps NAME \"doc\" STEP …)", "Steps that schedules include."),
    word(
        "declaration",
        "sort",
        "(sort SORT \"doc\" [:kind KIND] [:unit UNIT])",
        "A sort of terms: in what way they mean something, and where they run.",
    ),
    word(
        "declaration",
        "op",
        "(op NAME (SORT|(NAME SORT) …) SORT \"doc\" [:binds (VARIABLE BODY)] [:boundary] [:commutes] [:input] …)",
        "An operator: the sorts of its arguments, which may have names, its own sort, and what it does.",
    ),
    word("key", ":where", ":where ?x PATTERN", "The class of ?x must also contain PATTERN."),
    word(
        "key",
        ":with",
        ":with ?x PATTERN",
        "?x is any class of the e-graph that contains PATTERN.",
    ),
    word(
        "key",
        ":for",
        ":for ?n (GENERATOR ARG …)",
        "Once for each integer ?n that the generator gives.",
    ),
    word("key", ":let", ":let ?v TERM", "An abbreviation for the right side and later :lets."),
    word("key", ":when", ":when (PREDICATE ARG …) …", "Only where all of these hold."),
    word("key", ":default", ":default VALUE", "What a parameter is if nobody sets it."),
    word("key", ":phase", ":phase PHASE", "What the rules are for: schedules choose rules by it."),
    word("key", ":exact", ":exact EXACTNESS", "How exactly results are kept."),
    word("key", ":test", ":test (INPUT EXPECTED) …", "What the rule must do."),
    word("key", ":counter-test", ":counter-test INPUT …", "What the rule must not apply to."),
    word(
        "key",
        ":subsume",
        ":subsume",
        "The matched node leaves the search once the rule was applied to it.",
    ),
    word("key", ":kind", ":kind KIND", "In what way terms of the sort mean something."),
    word("key", ":unit", ":unit access|execute|both", "The unit that terms of the sort run on."),
    word(
        "key",
        ":binds",
        ":binds (VARIABLE BODY)",
        "Which argument is a variable, bound in which other; counted from 0.",
    ),
    word(
        "key",
        ":boundary",
        ":boundary",
        "It changes the sort and keeps the meaning; no finished program contains it.",
    ),
    word("key", ":commutes", ":commutes", "Its two arguments may be swapped."),
    word("key", ":input", ":input", "Terms that rules start from are written with it."),
    word(
        "step",
        "saturate",
        "(saturate WHAT …)",
        "Applies rules until nothing changes: sets, (phase PHASE), those of (steps NAME), or * for all.",
    ),
    word(
        "step",
        "keep",
        "(keep K)",
        "Starts again from K terms that prefetch anything, K that prefetch only vectors, and K that prefetch nothing.",
    ),
    word("step", "rank", "(rank K)", "The K best candidates are simulated."),
    word(
        "step",
        "choose",
        "(choose NAME (WORD STEP …) …)",
        "Runs the steps of the word that a parameter is set to.",
    ),
    word(
        "step",
        "permute",
        "(permute NAME STEP …)",
        "Runs steps in the order that a parameter is.",
    ),
    word("step", "repeat", "(repeat N STEP …)", "Runs steps N times."),
    word("step", "seq", "(seq STEP …)", "Runs steps in order."),
    word(
        "step",
        "until",
        "(until SKETCH STEP …)",
        "Runs steps until a term that looks so is found or nothing changes.",
    ),
    word("step", "otherwise", "(otherwise STEP …)", "Runs steps if no program is finished yet."),
    word(
        "step",
        "besides",
        "(besides SCHEDULE …)",
        "The programs of these schedules are candidates, too.",
    ),
    word("step", "steps", "(steps NAME)", "Runs the steps of this name."),
    word(
        "step",
        "attempt",
        "(attempt NAME [NODES])",
        "Runs the steps of this name as one attempt at an answer, within so many e-nodes.",
    ),
    word("sketch", "?", "?", "Anything."),
    word("sketch", "?contains", "(?contains SKETCH)", "What looks so, somewhere in it."),
    word("sketch", "?or", "(?or SKETCH …)", "One of several."),
    word("phase", "lower", ":phase lower", "To the next level."),
    word("phase", "optimise", ":phase optimise", "One program of a level for another."),
    word("phase", "decouple", ":phase decouple", "The split between the units."),
    word("phase", "refine", ":phase refine", "One finished program for another."),
    word("phase", "native", ":phase native", "Code for a core without an access unit."),
    word("exactness", "bitwise", ":exact bitwise", "The same bits."),
    word(
        "exactness",
        "reassoc",
        ":exact reassoc",
        "The same over the reals: sums may be reordered.",
    ),
    word("exactness", "approx", ":exact approx", "Nearly the same."),
];

/// The operations of `!`. Their usage is made once, and never freed.
static OPERATIONS: LazyLock<Vec<Word>> = LazyLock::new(|| {
    let operation = |op: BinaryOp| {
        let usage = format!("({COMPUTE} {} ?a ?b)", op.name()).leak();
        word("operation", op.name(), usage, "Computed from integers when the rule is applied.")
    };
    COMPUTE_OPS.into_iter().map(operation).collect()
});

/// Returns every word, including the attributes of operators.
pub fn all() -> impl Iterator<Item = &'static Word> {
    WORDS.iter().chain(OPERATIONS.iter()).chain(ATTRIBUTES)
}

/// Returns the words of a kind.
pub fn words(kind: &str) -> impl Iterator<Item = &'static Word> {
    all().filter(move |word| word.kind == kind)
}
