//! The rules as the checker reads them, from the same files, with nothing of the compiler's reader but
//! S-expressions: two sides, and what must hold.

use super::term::{Head, T, Terms};
use crate::diagnostic::Sources;
use crate::load::load;
use crate::rules::Exactness;
use crate::sexp::{self, Sexp};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// A rule: its sides and conditions, over the terms of [`Rules`].
#[derive(Clone)]
pub(super) struct Rule {
    pub exact: Exactness,
    pub left: T,
    pub right: T,
    /// `:where` and `:with`: a variable and what its term must equal.
    pub wheres: Vec<(String, T)>,
    /// `:for`: a variable and what gives its number.
    pub fors: Vec<(String, T)>,
    pub guards: Vec<T>,
}

/// Every rule, and which operand of an operator binds a variable in which other.
#[derive(Default)]
pub struct Rules {
    pub(super) terms: Terms,
    pub(super) rules: HashMap<String, Rule>,
    pub(super) binders: HashMap<(String, usize), (usize, usize)>,
}

impl Rules {
    /// Reads rule files and folders of them.
    pub fn read(sources: &mut Sources, paths: &[PathBuf]) -> Result<Rules, String> {
        let mut files = Vec::new();
        for path in paths {
            if !path.is_dir() {
                files.push(path.clone());
                continue;
            }
            let entries =
                std::fs::read_dir(path).map_err(|e| format!("{}: {e}", path.display()))?;
            let mut own: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
            own.retain(|path| path.extension().is_some_and(|e| e == "rules") && path.is_file());
            own.sort();
            files.extend(own);
        }
        let mut rules = Rules::default();
        let mut seen = BTreeSet::new();
        for path in files {
            rules.file(sources, &path, &mut seen)?;
        }
        Ok(rules)
    }

    fn file(
        &mut self,
        sources: &mut Sources,
        path: &Path,
        seen: &mut BTreeSet<PathBuf>,
    ) -> Result<(), String> {
        let fault = |what: &str| format!("{}: {what}", path.display());
        if !seen.insert(std::fs::canonicalize(path).map_err(|e| fault(&e.to_string()))?) {
            return Ok(());
        }
        let file = load(sources, path).map_err(|_| fault("cannot be read"))?;
        let forms = sexp::read(sources, file).map_err(|_| fault("is not balanced"))?;
        let mut exact = Exactness::Bitwise;
        for form in &forms {
            match form.form() {
                Some(("include", [other])) => {
                    let other = path.with_file_name(other.text().unwrap_or_default());
                    super::term::deeper(|| self.file(sources, &other, seen))?;
                }
                Some(("ruleset", items)) => exact = exactness(items, Exactness::Bitwise)?,
                Some(("rule", [name, _, rest @ ..])) => {
                    self.rule(name.atom().unwrap_or_default(), rest, exact)
                        .map_err(|e| fault(&e))?;
                }
                Some(("commutes", [name, op, ..])) => {
                    self.swap(
                        name.atom().unwrap_or_default(),
                        op.atom().unwrap_or_default(),
                        exact,
                    );
                }
                Some(("define", [call, _, body])) => {
                    self.definition(call, body).map_err(|e| fault(&e))?;
                }
                Some(("dialect", items)) => self.dialect(items),
                _ => {}
            }
        }
        Ok(())
    }

    fn dialect(&mut self, items: &[Sexp]) {
        for item in items {
            let Some(("op", [name, arguments, _, _, keys @ ..])) = item.form() else { continue };
            let name = name.atom().unwrap_or_default();
            let arity = arguments.list().map_or(0, <[Sexp]>::len);
            for (at, key) in keys.iter().enumerate() {
                let numbers = keys.get(at + 1).and_then(Sexp::list).unwrap_or_default();
                let number = |i: usize| numbers.get(i)?.atom()?.parse::<usize>().ok();
                match (key.atom(), number(0), number(1)) {
                    (Some(":binds"), Some(variable), Some(body)) => {
                        self.binders.insert((name.to_owned(), arity), (variable, body));
                    }
                    (Some(":commutes"), ..) => {
                        self.swap(&format!("{name}-commutes"), name, Exactness::Bitwise);
                    }
                    _ => {}
                }
            }
        }
    }

    fn swap(&mut self, name: &str, op: &str, exact: Exactness) {
        let (a, b) = (self.terms.op("?a", &[]), self.terms.op("?b", &[]));
        let (left, right) = (self.terms.op(op, &[a, b]), self.terms.op(op, &[b, a]));
        let none = (Vec::new(), Vec::new(), Vec::new());
        let (wheres, fors, guards) = none;
        self.rules.insert(name.to_owned(), Rule { exact, left, right, wheres, fors, guards });
    }

    fn definition(&mut self, call: &Sexp, body: &Sexp) -> Result<(), String> {
        let (left, right) = (self.terms.read(call)?, self.terms.read(body)?);
        let name = self.terms.name(left).to_owned();
        let (exact, wheres) = (Exactness::Bitwise, Vec::new());
        let rule = Rule { exact, left, right, wheres, fors: Vec::new(), guards: Vec::new() };
        self.rules.insert(name, rule);
        Ok(())
    }

    fn rule(&mut self, name: &str, items: &[Sexp], exact: Exactness) -> Result<(), String> {
        let [left, arrow, right, clauses @ ..] = items else { return Err("no rule".to_owned()) };
        let left = self.terms.read(left)?;
        let mut right = self.terms.read(right)?;
        let exact = exactness(clauses, exact)?;
        let (mut wheres, mut fors, mut guards) = (Vec::new(), Vec::new(), Vec::new());
        let mut lets: BTreeMap<String, T> = BTreeMap::new();
        let mut rest = clauses;
        while let Some((key, values)) = rest.split_first() {
            rest = values;
            let pair = || values[0].atom().map(str::to_owned).zip(values.get(1));
            match key.atom() {
                Some(":where" | ":with") if values.len() > 1 => {
                    let (v, term) = pair().ok_or("a pattern without a variable")?;
                    wheres.push((v, self.terms.read(term)?));
                }
                Some(":for") if values.len() > 1 => {
                    let (v, term) = pair().ok_or("a number without a variable")?;
                    fors.push((v, self.terms.read(term)?));
                }
                Some(":let") if values.len() > 1 => {
                    let (v, term) = pair().ok_or("an abbreviation without a name")?;
                    let term = self.terms.read(term)?;
                    let term = self.abbreviated(term, &lets)?;
                    lets.insert(v, term);
                }
                Some(":when") => {
                    let calls = values.iter().take_while(|value| value.list().is_some());
                    for call in calls {
                        guards.push(self.terms.read(call)?);
                    }
                }
                _ => {}
            }
        }
        right = self.abbreviated(right, &lets)?;
        let rule = Rule { exact, left, right, wheres, fors, guards };
        if arrow.atom() == Some("<=>") {
            let back = Rule { left: right, right: left, ..rule.clone() };
            self.rules.insert(format!("{name}-rev"), back);
        }
        self.rules.insert(name.to_owned(), rule);
        Ok(())
    }

    /// A term with abbreviations written out.
    fn abbreviated(&mut self, term: T, lets: &BTreeMap<String, T>) -> Result<T, String> {
        self.terms.write(None, term, &mut |_, name, _| Ok(lets.get(name).copied()))
    }

    /// The variables of a rule.
    pub(super) fn variables(&self, rule: &Rule) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let patterns = rule.wheres.iter().chain(&rule.fors);
        found.extend(patterns.clone().map(|(v, _)| v.clone()));
        let mut open = vec![rule.left, rule.right];
        open.extend(patterns.map(|(_, term)| *term).chain(rule.guards.iter().copied()));
        while let Some(term) = open.pop() {
            if let Head::Word(name) = self.terms.head(term)
                && name.starts_with('?')
            {
                found.insert(name.clone());
            }
            open.extend(self.terms.operands(term));
        }
        found
    }
}

fn exactness(items: &[Sexp], otherwise: Exactness) -> Result<Exactness, String> {
    let at = items.iter().position(|item| item.atom() == Some(":exact"));
    let Some(at) = at else { return Ok(otherwise) };
    let word = items.get(at + 1).and_then(Sexp::atom).unwrap_or_default();
    Exactness::parse(word).ok_or_else(|| format!("`{word}` is no exactness"))
}
