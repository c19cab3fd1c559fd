//! Names for what a term leaves unnamed: short, and unique within their list.

use super::terms::Terms;
use egg::Id;
use ember_language::rules::Kind;
use ember_values::primitive::Primitive;
use std::collections::BTreeMap;

/// Gives out names that have not been given before.
#[derive(Default)]
pub struct Names {
    given: BTreeMap<String, u32>,
}

impl Names {
    /// `base`, or `base_2`, `base_3`, … where it is taken.
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

/// What a loop is called: `i0`, `i1`, … by depth, followed by the first letters of what was made of it, as of
/// the outer and inner loops of tiling; `t` for a loop that a rule made from a term that is no loop.
pub fn loop_name(terms: &Terms<'_>, var: Id) -> String {
    let mut suffix = String::new();
    let mut at = var;
    // Each step goes to a child, so the walk ends.
    loop {
        let children = egg::Language::children(terms.node(at));
        let Some(&first) = children.first() else { return format!("i{suffix}") };
        if terms.primitive(at) != Some(Primitive::Variable) {
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
