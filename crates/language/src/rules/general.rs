//! An index of rules that finds the rules of which another may be a special case, without comparing all pairs: a
//! discrimination tree (J. Christian, "Flatterms, discrimination nets, and fast term rewriting", 1993) over both sides
//! of each rule, read in preorder.

use super::book::Rule;
use crate::term::{Head, Node};
use egg::{ENodeOrVar, Id, Language, PatternAst};
use rustc_hash::FxHashMap;

/// The longest prefix of a rule that is indexed. Rules that agree on it are compared in full.
const LONGEST: usize = 64;

/// A node of a pattern, without its operands.
type Word = (Head, usize);

/// A prefix that some rules have in common. A variable stands for any term; that equal variables stand for equal terms
/// is not checked here.
#[derive(Default)]
pub(super) struct General {
    /// The rules whose indexed prefix ends here.
    rules: Vec<usize>,
    words: FxHashMap<Word, General>,
    variable: Option<Box<General>>,
}

/// Parts of a rule that are still to be read, the next one last.
type Rest<'a> = Vec<(&'a PatternAst<Node>, Id)>;

fn sides(rule: &Rule) -> Rest<'_> {
    [&rule.rhs, &rule.lhs].map(|side| (side, Id::from(side.len() - 1))).to_vec()
}

impl General {
    /// Adds a rule by its number.
    pub fn insert(&mut self, number: usize, rule: &Rule) {
        let (mut at, mut rest) = (self, sides(rule));
        for _ in 0..LONGEST {
            let Some((side, id)) = rest.pop() else { break };
            at = match &side[id] {
                ENodeOrVar::Var(_) => at.variable.get_or_insert_default(),
                ENodeOrVar::ENode(node) => {
                    rest.extend(node.children().iter().rev().map(|child| (side, *child)));
                    at.words.entry((node.head(), node.children().len())).or_default()
                }
            };
        }
        at.rules.push(number);
    }

    /// Returns the numbers of the rules that may be more general than a rule, in ascending order; the rule itself is
    /// one of them if it was inserted.
    pub fn of(&self, rule: &Rule) -> Vec<usize> {
        let (mut found, mut open) = (Vec::new(), vec![(self, sides(rule))]);
        while let Some((at, mut rest)) = open.pop() {
            found.extend(&at.rules);
            let Some((side, id)) = rest.pop() else { continue };
            if let Some(next) = &at.variable {
                open.push((next, rest.clone()));
            }
            if let ENodeOrVar::ENode(node) = &side[id]
                && let Some(next) = at.words.get(&(node.head(), node.children().len()))
            {
                rest.extend(node.children().iter().rev().map(|child| (side, *child)));
                open.push((next, rest));
            }
        }
        found.sort_unstable();
        found
    }
}
