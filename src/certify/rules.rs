//! Rules and operators as the checker reads them, from the same files, with nothing of the compiler's
//! reader but which files there are. Patterns stay texts; they become terms where they are applied.

use super::EXACTNESS;
use crate::diagnostic::{FileId, Sources};
use crate::rules;
use crate::sexp::{self, Sexp, clauses};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Dialects of whose operators more is known than which variables they bind.
const KNOWN: [&str; 5] = ["core", "emb", "equiv", "nn", "scf"];

/// A rule: its left side, an arrow, its right side, and keywords.
pub(super) struct Rule {
    pub exact: usize,
    pub items: Vec<Sexp>,
}

/// An operator: the sorts of its operands and its own, all empty where its dialect is not known; and
/// which operand is a variable that it binds in which other.
#[derive(Default)]
pub(super) struct Operator {
    pub sorts: Vec<String>,
    pub sort: String,
    pub binds: Option<(usize, usize)>,
}

/// Every rule and every operator, by name; operators of one name differ in how many operands they have.
#[derive(Default)]
pub struct Rules {
    pub(super) rules: HashMap<String, Arc<Rule>>,
    operators: HashMap<String, Vec<Operator>>,
    unknown: Operator,
}

impl Rules {
    /// Reads rule files and folders of them.
    pub fn read(sources: &mut Sources, paths: &[PathBuf]) -> Result<Rules, String> {
        let mut rules = Rules::default();
        for file in rules::files(sources, paths).map_err(|e| e[0].message.clone())? {
            let read = rules.file(sources, file);
            read.ok_or_else(|| format!("cannot read {}", sources.get(file).path.display()))?;
        }
        Ok(rules)
    }

    pub(super) fn operator(&self, name: &str, operands: usize) -> &Operator {
        let alike = self.operators.get(name).into_iter().flatten();
        alike.rev().find(|own| own.sorts.len() == operands).unwrap_or(&self.unknown)
    }

    fn file(&mut self, sources: &Sources, file: FileId) -> Option<()> {
        // How exact the rules of a set are that do not say it.
        let mut set = 0;
        for form in sexp::read(sources, file).ok()? {
            let (name, items) = match form.form()? {
                ("rule", [name, _, items @ ..]) => (name.atom()?, items),
                ("define", items) => (items.first()?.form()?.0, items),
                (head, items) => {
                    set = if head == "ruleset" { exactness(items, 0)? } else { set };
                    let known = KNOWN.contains(&items.first()?.atom().unwrap_or_default());
                    let declared = items.iter().filter(|_| head == "dialect");
                    declared.filter_map(|item| self.declare(known, item)).for_each(drop);
                    continue;
                }
            };
            let rule = Rule { exact: exactness(items, set)?, items: items.to_vec() };
            self.rules.insert(name.to_owned(), Arc::new(rule));
        }
        Some(())
    }

    /// Takes over what a dialect says of an operator.
    fn declare(&mut self, known: bool, item: &Sexp) -> Option<()> {
        let ("op", [name, operands, own, _, keys @ ..]) = item.form()? else { return None };
        let operands = operands.list()?;
        let word = |sort: &Sexp| sort.atom().filter(|_| known).unwrap_or_default().to_owned();
        let number = |n: &Sexp| n.atom()?.parse().ok().filter(|n| *n < operands.len());
        let binds = clauses(keys).find(|(key, _)| *key == ":binds").and_then(|(_, at)| {
            let [variable, body] = at.first()?.list()? else { return None };
            Some((number(variable)?, number(body)?))
        });
        let (sorts, sort) = (operands.iter().map(word).collect(), word(own));
        let alike = self.operators.entry(name.atom()?.to_owned()).or_default();
        alike.push(Operator { sorts, sort, binds });
        Some(())
    }
}

/// How exact keywords say that rules are, or what holds where they say nothing.
fn exactness(keys: &[Sexp], otherwise: usize) -> Option<usize> {
    match clauses(keys).find(|(key, _)| *key == ":exact") {
        Some((_, [said])) => EXACTNESS.iter().position(|exact| said.atom() == Some(exact)),
        Some(_) => None,
        None => Some(otherwise),
    }
}
