//! Warnings that only `check` reports: operators without a known meaning, and rules that can never fire, that another
//! rule makes superfluous, or that build terms without end.

use super::book::{Arg, Call, Rule, RuleBook};
use super::general::General;
use super::operators::Kind;
use super::shape::{Sides, Special, growing_instance};
use super::signature::Operator;
use super::tree::COMPUTE;
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Span};
use crate::term::{Head, Node};
use egg::{ENodeOrVar, Language, PatternAst, Symbol};
use std::collections::{BTreeMap, BTreeSet};

/// Pairs of predicates that no term satisfies together.
const EXCLUSIVE: [(&str, &str); 1] = [("float", "index")];

/// Returns the warnings about the rules of a book.
pub(super) fn lints(book: &RuleBook) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    unknown_meanings(book, &mut found);
    never_asked(book, &mut found);
    never_made(book, &mut found);
    needless(book, &mut found);
    endless(book, &mut found);
    found
}

/// Finds operators that are evaluated but have no declared meaning.
fn unknown_meanings(book: &RuleBook, found: &mut Vec<Diagnostic>) {
    for op in book.signature.operators() {
        let Some(info) = book.signature.table().get(op.name, op.args.len()) else { continue };
        let evaluated = info.kind.is_some_and(Kind::is_evaluated);
        let said = info.row.is_some() || info.touches.is_some() || info.typing.is_some();
        let defined = book.definitions.get(op.name, op.args.len()).is_some();
        if !evaluated || said || defined {
            continue;
        }
        let name = op.name;
        if let Some(erased) = &op.attributes.erases {
            found.push(
                Diagnostic::error(
                    format!("nothing is known of what `{name}` does"),
                    erased.span,
                    format!("nothing is known of `{}` either", erased.text),
                )
                .with_code(Code::UnknownMeaning)
                .with_help("erase to an operator that `:means` a primitive")
                .warning(),
            );
            continue;
        }
        found.push(
            Diagnostic::error(
                format!("nothing is known of what `{name}` does"),
                op.span,
                "no condition holds of terms with it: no rule that has one fires on them, and nothing moves",
            )
            .with_code(Code::UnknownMeaning)
            .with_help(format!(
                "write `:erases OPERATOR` or `:means PRIMITIVE`, define it with `(define ({name} …) …)`, or write what \
                 it is lowered to by rules and what it yields, with `:type`, `:reads` and `:writes`"
            ))
            .warning(),
        );
    }
}

fn never(rule: &Rule, label: String) -> Diagnostic {
    Diagnostic::error(format!("`{}` can never fire", rule.name), rule.span, label)
        .with_code(Code::Never)
        .warning()
}

/// Finds rules whose conditions can never hold.
fn never_asked(book: &RuleBook, found: &mut Vec<Diagnostic>) {
    for rule in &book.rules {
        let guards = &rule.guards;
        let alone = guards.iter().find(|guard| is_false(guard)).map(written);
        let pair = || {
            let pairs = guards
                .iter()
                .enumerate()
                .flat_map(|(k, a)| guards[..k].iter().map(move |b| (b, a)));
            let (a, b) = pairs.into_iter().find(|(a, b)| exclude(a, b))?;
            Some(format!("{} and {}", written(a), written(b)))
        };
        if let Some(what) = alone.or_else(pair) {
            let warning = never(rule, format!("nothing satisfies {what}"));
            found.push(warning.with_help("remove a condition, or the rule"));
        }
    }
}

/// Returns true if a condition is false for all values of its variables.
fn is_false(guard: &Call) -> bool {
    match (guard.what.name, guard.args.as_slice()) {
        ("at-most", [Arg::Int(a), Arg::Int(b)]) => a > b,
        ("below", [Arg::Int(a), Arg::Int(b)]) => a >= b,
        ("below" | "different" | "not-free", [a, b]) => a == b,
        ("divides", [Arg::Int(a), Arg::Int(b)]) => b.checked_rem(*a) != Some(0),
        _ => false,
    }
}

/// Returns true if two conditions cannot both hold.
fn exclude(a: &Call, b: &Call) -> bool {
    let (first, second) = (a.what.name, b.what.name);
    let exclusive = EXCLUSIVE.contains(&(first, second)) || EXCLUSIVE.contains(&(second, first));
    match (a.args.as_slice(), b.args.as_slice()) {
        // An address lacks exactly one number of indices.
        ([x, Arg::Int(m)], [y, Arg::Int(n)]) if first == "rank" && second == "rank" => {
            x == y && m != n
        }
        (x, y) => exclusive && x == y,
    }
}

/// Returns a condition as it is written in a file.
fn written(guard: &Call) -> String {
    let args = guard.args.iter().map(|arg| match arg {
        Arg::Var(v) => format!(" {v}"),
        Arg::Int(n) => format!(" {n}"),
    });
    format!("({}{})", guard.what.name, args.collect::<String>())
}

type Key = (Symbol, usize);

/// Returns the operators of a pattern, without numbers, names and computations.
fn operators(pattern: &PatternAst<Node>) -> impl Iterator<Item = Key> + '_ {
    pattern.as_ref().iter().filter_map(|node| match node {
        ENodeOrVar::ENode(node) => match node.head() {
            Head::Op(name) if !name.as_str().starts_with('%') && name.as_str() != COMPUTE => {
                Some((name, node.children().len()))
            }
            Head::Op(_) | Head::Int(_) | Head::Real(_) => None,
        },
        ENodeOrVar::Var(_) => None,
    })
}

/// Finds rules that match an operator that no input contains and no rule that fires builds.
fn never_made(book: &RuleBook, found: &mut Vec<Diagnostic>) {
    let declared = book.signature.operators();
    // If no dialect declares its inputs, any operator may be an input.
    let any = declared.iter().all(|op| !op.input);
    let defined = |op: &Operator| book.definitions.get(op.name, op.args.len()).is_some();
    let inputs = declared.iter().filter(|op| op.input || any || defined(op));
    let mut made: BTreeSet<Key> = inputs.map(|op| (op.name, op.args.len())).collect();
    let needs: Vec<BTreeSet<Key>> = book
        .rules
        .iter()
        .map(|rule| {
            let patterns = rule.wheres.iter().map(|(_, pattern)| pattern);
            patterns.chain([&rule.lhs]).flat_map(operators).collect()
        })
        .collect();
    let mut users: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    for (at, needs) in needs.iter().enumerate() {
        needs.iter().for_each(|key| users.entry(*key).or_default().push(at));
    }
    let lacks = |needs: &BTreeSet<Key>, made: &BTreeSet<Key>| {
        needs.iter().filter(|key| !made.contains(*key)).count()
    };
    let mut waits: Vec<usize> = needs.iter().map(|needs| lacks(needs, &made)).collect();
    let mut fires: Vec<usize> = (0..waits.len()).filter(|at| waits[*at] == 0).collect();
    while let Some(at) = fires.pop() {
        for key in operators(&book.rules[at].rhs) {
            if made.insert(key) {
                for user in users.get(&key).into_iter().flatten() {
                    waits[*user] -= 1;
                    if waits[*user] == 0 {
                        fires.push(*user);
                    }
                }
            }
        }
    }
    for (rule, needs) in book.rules.iter().zip(&needs) {
        let missing = needs.iter().filter(|key| !made.contains(*key));
        // Symbols are ordered by their creation, but a reader expects the order of names.
        let missing = missing.min_by_key(|(name, arity)| (name.as_str(), *arity));
        if let Some((name, arity)) = missing {
            let warning =
                never(rule, format!("no input has `{name}`, and no rule that fires makes one"));
            let place = book.signature.operator(*name, *arity).map(|op| op.span);
            let warning = with_place(warning, place, "declared here");
            found.push(
                warning.with_help("add a rule that makes it, or say :input where it is declared"),
            );
        }
    }
}

fn with_place(warning: Diagnostic, place: Option<Span>, label: &str) -> Diagnostic {
    match place {
        Some(span) => warning.with_related(span, label),
        None => warning,
    }
}

/// Finds rules that another rule of the same set makes superfluous.
fn needless(book: &RuleBook, found: &mut Vec<Diagnostic>) {
    let mut index = General::default();
    let sides: Vec<Sides> = book.rules.iter().map(|rule| Sides::of(rule).0).collect();
    for (at, rule) in book.rules.iter().enumerate() {
        index.insert(at, rule);
    }
    for (at, rule) in book.rules.iter().enumerate() {
        let mut others = index.of(rule).into_iter().map(|other| (other, &book.rules[other]));
        let special = Special::new(rule);
        let general = others.find(|(other, general)| {
            *other != at
                && general.set == rule.set
                && general.phase == rule.phase
                && general.exact <= rule.exact
                && sides[*other] != sides[at]
                && special.of(general)
        });
        if let Some((_, general)) = general {
            let message = format!("`{}` does nothing that `{}` does not", rule.name, general.name);
            let warning = Diagnostic::error(message, rule.span, "a special case of the other")
                .with_code(Code::SpecialCase)
                .warning();
            let warning = warning.with_related(general.span, "the general case");
            found.push(warning.with_help("remove it"));
        }
    }
}

/// Finds rules with conditions that apply to their own result without end.
fn endless(book: &RuleBook, found: &mut Vec<Diagnostic>) {
    for rule in book.rules.iter().filter(|rule| !rule.guards.is_empty()) {
        if growing_instance(rule, &book.rules) {
            let message = format!("`{}` grows without end", rule.name);
            let label = "its right side contains its left side, of which the same conditions hold";
            let warning =
                Diagnostic::error(message, rule.span, label).with_code(Code::Grows).warning();
            found.push(warning.with_help("add a condition that fails on the result"));
        }
    }
}
