//! The rules of operators declared with `:commutes`.

use super::book::{Exactness, Phase, RuleBook, RuleSet};
use super::dialect::Commuting;
use super::rule_form::RuleForm;
use super::syntax::Word;

/// Returns one rule for each operator, called OPERATOR-commutes, in the set with the dialect's name. The set is created
/// if it does not exist.
pub(super) fn rules(book: &mut RuleBook, commuting: &[Commuting]) -> Vec<(usize, RuleForm)> {
    let mut rules = Vec::new();
    for Commuting { op, dialect } in commuting {
        let known = book.sets.iter().position(|set| set.name == *dialect);
        let set = known.unwrap_or_else(|| {
            book.sets.push(RuleSet {
                name: *dialect,
                doc: format!("what the dialect `{dialect}` says of its operators"),
                phase: Phase::Optimise,
                exact: Exactness::Bitwise,
                rules: Vec::new(),
                span: op.span,
            });
            book.sets.len() - 1
        });
        let name = Word { text: format!("{}-commutes", op.text), span: op.span };
        let doc = format!("the order of the operands of `{}` does not matter", op.text);
        rules.push((set, RuleForm::swap(name, doc, op)));
    }
    rules
}
