//! The rules of operators that say `:commutes`.

use super::book::{Exactness, Phase, RuleBook, RuleSet};
use super::dialect::Commuting;
use super::rule_form::RuleForm;
use super::syntax::Word;

/// One rule an operator, called OPERATOR-commutes, in the set that is called like the dialect; where
/// there is no such set, there is one now.
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
