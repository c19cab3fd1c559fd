//! Names for parts that have none in a term: short, and unique within their list.

use super::terms::Terms;
use egg::Id;
use ember_language::rules::Kind;
use ember_values::primitive::form::Form;
use std::collections::BTreeMap;

/// A generator of unique names.
#[derive(Default)]
pub struct Names {
    given: BTreeMap<String, u32>,
}

impl Names {
    /// Returns `base`, or `base_2`, `base_3`, … if it is taken.
    pub fn fresh(&mut self, base: &str) -> String {
        let mut name = base.to_owned();
        loop {
            if !self.given.contains_key(&name) {
                self.given.insert(name.clone(), 1);
                return name;
            }
            let count = self.given.entry(base.to_owned()).or_insert(1);
            *count += 1;
            name = format!("{base}_{count}");
        }
    }
}

/// Returns the name of a loop: `i0`, `i1`, … by depth, followed by the first letters of the operators that derived it,
/// such as the outer and inner loops of tiling. Loops that a rule derived from other terms are named `t`.
pub fn loop_name(terms: &Terms<'_>, var: Id) -> String {
    let mut suffix = String::new();
    let mut at = var;
    // Each step goes to a child, so the loop ends.
    loop {
        let children = egg::Language::children(terms.node(at));
        let Some(&first) = children.first() else { return format!("i{suffix}") };
        if !matches!(terms.form(at), Some(Form::Variable { .. })) {
            let kinds = terms.info(at).map_or(&[][..], |info| &info.operand_kinds);
            match (kinds, terms.int(first)) {
                ([Some(Kind::Variable), ..], _) => {
                    suffix.insert(0, terms.name(at).chars().next().unwrap_or('i'));
                }
                ([_], Some(depth)) => return format!("i{depth}{suffix}"),
                _ => return format!("t{suffix}"),
            }
        }
        at = first;
    }
}
