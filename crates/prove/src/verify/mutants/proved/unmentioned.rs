//! Variables that replace nothing: they only get values, in terms that do not mention them.

use egg::{ENodeOrVar, Language, Var};
use ember_language::rules::{Arg, New, Rule, Signature};
use ember_values::primitive::form::{By, Form};

/// Returns true if a made variable may be another variable of the rule, since that one gets its values only in terms
/// which do not mention the made variable. Under either name it changes nothing there.
pub(super) fn is_unmentioned(signature: &Signature, rule: &Rule, new: &New) -> bool {
    let made = new.variable.to_string();
    let lacks_it = |x: Var| {
        rule.news.iter().any(|other| other.within == x && other.variable.to_string() == made)
    };
    let is_asked = rule
        .guards
        .iter()
        .any(|guard| guard.what.name != "different" && guard.args.contains(&Arg::Var(new.within)));
    let own = ENodeOrVar::Var(new.within);
    let sides = [&rule.lhs, &rule.rhs].into_iter();
    let sides: Vec<_> = sides.chain(rule.wheres.iter().map(|(_, side)| side)).collect();
    let uses = sides.iter().flat_map(|side| {
        let inner = side.as_ref().iter().filter_map(|node| match node {
            ENodeOrVar::ENode(node) => Some((*side, node)),
            ENodeOrVar::Var(_) => None,
        });
        inner.filter(|(side, node)| node.children().iter().any(|at| side[*at] == own))
    });
    let mut uses = uses.peekable();
    !is_asked
        && uses.peek().is_some()
        && uses.all(|(side, node)| match signature.table().form(node) {
            Some(Form::Replaced { variable, by: By::Variable(value) | By::Value(value), x }) => {
                let replaced = side[variable] == own && side[value] != own;
                replaced && matches!(side[x], ENodeOrVar::Var(x) if lacks_it(x))
            }
            _ => false,
        })
}
