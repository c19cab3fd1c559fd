//! The rules as the checker reads them, from the same files, with nothing of the compiler's reader but
//! which files there are. Patterns stay texts; they become terms where they are applied.

use super::EXACTNESS;
use super::term::T;
use crate::diagnostic::{FileId, Sources};
use crate::rules;
use crate::sexp::{self, Sexp};
use std::collections::HashMap;
use std::path::PathBuf;

/// Keywords, each with what follows it.
type Clauses = Vec<(String, Vec<Sexp>)>;

/// A rule: its sides and what it says besides.
pub(super) struct Rule {
    pub exact: usize,
    pub left: Sexp,
    pub right: Sexp,
    pub clauses: Clauses,
}

/// Every rule, and which operand of an operator binds a variable in which other.
#[derive(Default)]
pub struct Rules {
    pub(super) rules: HashMap<String, Rule>,
    binders: HashMap<(String, usize), (usize, usize)>,
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

    /// The variable and the body among an operator's operands.
    pub(super) fn binder(&self, name: &str, operands: &[T]) -> Option<(usize, usize)> {
        self.binders.get(&(name.to_owned(), operands.len())).copied()
    }

    fn file(&mut self, sources: &Sources, file: FileId) -> Option<()> {
        // How exact the rules of a set are that do not say it.
        let mut set = 0;
        for form in sexp::read(sources, file).ok()? {
            let (name, left, right, keys) = match form.form()? {
                ("rule", [name, _, left, _, right, keys @ ..]) => (name.atom()?, left, right, keys),
                ("define", [left, _, right]) => (left.form()?.0, left, right, &[][..]),
                (head, items) => {
                    if head == "ruleset" {
                        set = exactness(&clauses(items)).unwrap_or(Some(0))?;
                    }
                    // Only dialects declare operators.
                    items.iter().filter_map(|item| self.operator(item)).for_each(drop);
                    continue;
                }
            };
            let (left, right, clauses) = (left.clone(), right.clone(), clauses(keys));
            let exact = exactness(&clauses).unwrap_or(Some(set))?;
            self.rules.insert(name.to_owned(), Rule { exact, left, right, clauses });
        }
        Some(())
    }

    /// What a dialect says of the variables of an operator.
    fn operator(&mut self, item: &Sexp) -> Option<()> {
        let ("op", [name, operands, _, _, keys @ ..]) = item.form()? else { return None };
        let keys = clauses(keys);
        let (_, binds) = keys.iter().find(|(key, _)| key == ":binds")?;
        let number = |n: &Sexp| n.atom()?.parse::<usize>().ok();
        let [variable, body] = binds.first()?.list()? else { return None };
        let (variable, body) = (number(variable)?, number(body)?);
        let key = (name.atom()?.to_owned(), operands.list()?.len());
        if variable.max(body) < key.1 {
            self.binders.insert(key, (variable, body));
        }
        Some(())
    }
}

fn clauses(items: &[Sexp]) -> Clauses {
    let mut clauses = Clauses::new();
    for item in items {
        match (item.atom().filter(|word| word.starts_with(':')), clauses.last_mut()) {
            (Some(key), _) => clauses.push((key.to_owned(), Vec::new())),
            (None, last) => last.into_iter().for_each(|(_, values)| values.push(item.clone())),
        }
    }
    clauses
}

/// What clauses say of how exact a rule is, and nothing where that is no such word.
fn exactness(clauses: &Clauses) -> Option<Option<usize>> {
    let (_, values) = clauses.iter().find(|(key, _)| key == ":exact")?;
    Some(EXACTNESS.iter().position(|e| Some(*e) == values.first().and_then(Sexp::atom)))
}
