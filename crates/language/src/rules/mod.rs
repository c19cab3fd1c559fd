//! The rule language: dialects, rule sets and schedules as data.
//!
//! [`load`] reads and checks rule files. It returns a [`RuleBook`] in which every name is resolved and every rule is
//! well-sorted and well-scoped; the engine applies the rules. The language knows nothing of embeddings: operators,
//! sorts and binders come from the files.

mod alike;
mod attributes;
mod binding;
mod book;
mod build;
mod calls;
mod capture;
mod check;
mod commutes;
mod define;
mod derive;
mod derived;
mod dialect;
mod digest;
mod files;
mod general;
mod infer;
mod lints;
mod load;
mod lowering;
mod operators;
mod parameters;
mod resolve;
mod rule_form;
mod schedule;
mod scope;
mod shape;
mod signature;
mod sketch;
mod stated;
mod steps;
mod syntax;
mod tree;
mod words;

pub use book::{Arg, Call, Exactness, New, Phase, Rule, RuleBook, RuleSet, Test};
pub use define::{Definition, Definitions};
pub use derived::derived;
pub use load::{Check, check, files, load, load_set, load_text};
pub use lowering::{Lowering, Meaning};
pub use operators::{Kind, Loop, OpInfo, Operators, Touches, Unit};
pub use parameters::{Known, Number, Parameter, Parameters, Settings, Value, Values};
pub use rule_form::RuleForm;
pub use schedule::{Attempt, MOST_STEPS, Schedule, ScheduleStep};
pub use shape::Numbers;
pub use signature::{Operator, Signature, Sort, SortDecl, SortTerm};
pub use sketch::{Part, Sketch};
pub use stated::Stated;
pub use syntax::Word as Spelled;
pub use tree::{COMPUTE, COMPUTE_OPS};
pub use words::{Word, all as all_words, words};

/// The keywords of a rule.
pub const RULE_KEYS: &[&str] = &rule_form::RULE_KEYS;
/// The keywords of a rule set.
pub const RULESET_KEYS: &[&str] = &syntax::RULESET_KEYS;
/// The keywords of an operator's declaration.
pub const OP_KEYS: &[&str] = &dialect::OP_KEYS;

#[cfg(test)]
mod tests {
    use super::{
        Exactness, Phase, attributes, dialect, parameters, rule_form, sketch, steps, syntax, tree,
    };
    use crate::conditions::{GENERATORS, PREDICATES};
    use ember_values::primitive;

    const README: &str = include_str!("../../../../rules/README.md");

    #[test]
    fn the_readme_names_every_word_of_the_language() {
        let operations = tree::COMPUTE_OPS.map(|op| op.name());
        let words = [
            &syntax::FORMS[..],
            &[syntax::INPUT],
            &syntax::RULESET_KEYS,
            &syntax::TUNE_KEYS,
            &parameters::RELATIONS,
            &rule_form::RULE_KEYS,
            &steps::STEPS,
            &sketch::WORDS,
            &dialect::ITEMS,
            &dialect::OP_KEYS,
            &dialect::SORT_KEYS,
            &operations,
            Phase::NAMES,
            Exactness::NAMES,
        ];
        for word in words.concat() {
            let quoted = format!("\"{word}\"");
            assert!(README.contains(&quoted), "the grammar in rules/README.md lacks {quoted}");
        }
    }

    #[test]
    fn every_word_of_the_language_is_documented() {
        let lists: [(&str, &[&str]); 10] = [
            ("form", &syntax::FORMS),
            ("key", &[syntax::INPUT]),
            ("key", &syntax::RULESET_KEYS),
            ("key", &syntax::TUNE_KEYS),
            ("key", &rule_form::RULE_KEYS),
            ("key", &dialect::OP_KEYS),
            ("key", &dialect::SORT_KEYS),
            ("declaration", &dialect::ITEMS),
            ("step", &steps::STEPS),
            ("sketch", &sketch::WORDS),
        ];
        for (kind, names) in lists {
            for name in names {
                let known = super::words(kind).any(|word| word.name == *name);
                assert!(known, "the {kind} `{name}` has no documentation");
            }
        }
        let operations: Vec<&str> = tree::COMPUTE_OPS.iter().map(|op| op.name()).collect();
        for (kind, names) in [
            ("operation", &operations[..]),
            ("phase", Phase::NAMES),
            ("exactness", Exactness::NAMES),
        ] {
            let known: Vec<&str> = super::words(kind).map(|word| word.name).collect();
            assert_eq!(known, names, "{kind}");
        }
    }

    #[test]
    fn the_readme_lists_attributes_and_primitives() {
        for word in attributes::ATTRIBUTES {
            let row = format!("| `{}` | {} |", word.usage.replace('|', "\\|"), word.doc);
            assert!(README.contains(&row), "rules/README.md lacks the row\n{row}");
        }
        for row in primitive::rows() {
            let operands: Vec<String> =
                row.operands.iter().map(|name| format!("`{name}`")).collect();
            let row = format!("| `{}` | {} | {} |", row.name, operands.join(" "), row.doc);
            assert!(README.contains(&row), "rules/README.md lacks the row\n{row}");
        }
    }

    #[test]
    fn the_readme_lists_what_rules_may_ask() {
        let predicates = PREDICATES.iter().map(|p| (p.name, p.sorts, p.doc));
        let generators = GENERATORS.iter().map(|g| (g.name, g.sorts, g.doc));
        for (name, sorts, doc) in predicates.chain(generators) {
            let row = format!("| `{name}` | `{}` | {doc} |", sorts.join("` `"));
            assert!(README.contains(&row), "rules/README.md lacks the row\n{row}");
        }
    }
}
