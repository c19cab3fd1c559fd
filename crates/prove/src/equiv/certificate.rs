//! Writes certificates: the chain of a proof with everything that is needed to check it independently.

use super::chain::{AppliedTo, Hidden, is_word};
use super::declare::Declarations;
use super::forms::{atom, form, printed, text};
use super::means::{Means, root, written};
use crate::chains::{Gap, Link, subterm};
use Uncertified::Lost;
use egg::{ENodeOrVar, Id, Symbol};
use ember_analysis::facts::EGraph;
use ember_certify::{Applied, Checker, Refusal, Rules};
use ember_engine::CompiledRule;
use ember_language::rules::{Exactness, Operators, Rule, RuleBook};
use ember_language::sexp::Sexp;
use ember_language::term::Term;
use itertools::Itertools;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// The greatest nesting depth of proofs within proofs.
const DEEPEST: usize = 6;

/// The inputs from which a certificate is written.
pub struct Proved<'a> {
    /// The e-graph of the search with its journal.
    pub search: &'a EGraph,
    /// The rules.
    pub book: &'a RuleBook,
    /// The compiled rules.
    pub compiled: &'a [CompiledRule],
    /// The rules as the checker reads them.
    pub rules: &'a Rules,
    /// The tensors.
    pub declarations: &'a Declarations,
    /// Both programs, with variables named after their loops.
    pub terms: &'a [Term; 2],
    /// The declarations of the certificates of earlier parts of the programs.
    pub before: &'a [Sexp],
    /// True if the search knew that offsets never decrease.
    pub rows: bool,
}

/// The reason why there is no certificate of a proof.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Uncertified {
    /// No certificate was requested. Without the rules as the checker reads them, nothing is recorded.
    #[error("none was asked for")]
    NotAsked,
    /// The chain has too many terms, or terms that are too large.
    #[error("the chain is too long to be written out")]
    TooLong,
    /// The proofs of bounds and patterns nest too deep.
    #[error("proofs nest too deep")]
    TooDeep,
    /// Two terms of the search could not be proved equal again.
    #[error("no chain from {0} to {1}")]
    NoChain(Term, Term),
    /// A part that the search or the certificate should contain is missing.
    #[error("{0}")]
    Lost(&'static str),
    /// The checker cannot verify a condition.
    #[error("{rule}: {why}")]
    Condition {
        /// The rule.
        rule: &'static str,
        /// The checker's reason.
        why: Refusal,
    },
    /// The checker refuses the certificate or a part of it.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// A certificate and a summary of its contents.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The S-expression of the certificate.
    pub(super) form: Sexp,
    /// The assumptions that it trusts apart from its rules, one per line.
    pub trusted: Vec<String>,
    /// The rules of its steps, each with the number of its applications.
    pub rules: Vec<(String, usize)>,
    /// The number of its steps, without steps nested in others and without names.
    pub steps: usize,
    /// The exactness of its least exact rule.
    pub exact: Exactness,
}

impl Certificate {
    /// Builds a certificate from the digest of the rules, the declarations and both programs, and the steps that lead
    /// from one program to the other.
    pub(super) fn new(
        digest: &str,
        mut forms: Vec<Sexp>,
        steps: Vec<Sexp>,
        rules: Vec<(String, usize)>,
        exact: Exactness,
    ) -> Certificate {
        let count = steps.iter().filter(|step| step.items("renamed").is_none()).count();
        let exact_and_rules = [form("exact", [atom(exact.name())]), form("rules", [atom(digest)])];
        forms.splice(0..0, exact_and_rules);
        forms.push(form("steps", steps));
        let form = form("certificate", forms);
        Certificate { form, trusted: Vec::new(), rules, steps: count, exact }
    }

    /// Returns the text of the certificate.
    pub fn text(&self) -> String {
        let trusted = self.trusted.iter().map(|line| format!("; {line}\n"));
        trusted.collect::<String>() + &printed(&self.form)
    }

    /// Returns its declarations in order.
    pub(super) fn declarations(&self) -> &[Sexp] {
        match self.form.items("certificate") {
            Some([_, _, declarations @ .., _, _, _]) => declarations,
            _ => &[],
        }
    }

    /// Returns the digest of its rules.
    pub(super) fn digest(&self) -> Option<&str> {
        let [_, rules, ..] = self.form.items("certificate")? else { return None };
        rules.items("rules")?.first()?.atom()
    }

    /// Returns the declarations of its loop variables.
    pub(super) fn variables(&self) -> impl Iterator<Item = &Sexp> {
        self.declarations().iter().filter(|form| form.items("variable").is_some())
    }

    /// Returns its assumptions about data, one per line.
    pub(super) fn assumed(&self) -> impl Iterator<Item = String> {
        self.declarations().iter().filter_map(|declaration| {
            let ("input", [name, _, _, rises]) = declaration.form()? else { return None };
            let ([end], name) = (rises.items("rises-to")?, name.atom()?) else { return None };
            Some(format!(
                "assumed: `{name}` starts from 0, never falls and ends at {}",
                end.atom()?
            ))
        })
    }

    /// Returns the program of one side.
    pub(super) fn program(&self, side: &str) -> Option<&Sexp> {
        let forms = self.form.items("certificate")?;
        forms.iter().find_map(|form| form.items(side))?.first()
    }

    /// Returns its steps.
    pub(super) fn proof(&self) -> &[Sexp] {
        let forms = self.form.items("certificate").unwrap_or_default();
        forms.last().and_then(|form| form.items("steps")).unwrap_or_default()
    }
}

/// Writes the certificate of a proof, or returns the reason why there is none. It assumes that offsets never decrease
/// only if that is needed.
pub fn certify(proved: &Proved<'_>) -> Result<Certificate, Uncertified> {
    let rises = proved.rows && proved.declarations.rising().next().is_some();
    let first = certify_with(proved, (AppliedTo::Shortest, false));
    let terms = [AppliedTo::Shortest, AppliedTo::OfPrograms, AppliedTo::Matched];
    let ways = terms.into_iter().cartesian_product([false, true]).skip(1);
    let others = ways.filter(|(_, assumed)| rises || !assumed);
    others.fold(first, |found, way| found.or_else(|why| certify_with(proved, way).map_err(|_| why)))
}

/// Writes the certificate, with rules applied to these terms, and offsets assumed to rise or not. Writing
/// shows which loop variables may get values outside of their loops; the certificate is written again with those
/// declared, until no more are found.
fn certify_with(proved: &Proved<'_>, way: (AppliedTo, bool)) -> Result<Certificate, Uncertified> {
    let mut anywhere = BTreeSet::new();
    loop {
        let mut writer = Writer::new(proved, way.0, anywhere.clone());
        let written = writer.write(proved, way.1);
        let more = writer.loose.difference(&anywhere).count();
        if more == 0 {
            return written;
        }
        anywhere.extend(writer.loose);
    }
}

impl<'a> Writer<'a> {
    fn new(proved: &'a Proved<'a>, applied: AppliedTo, anywhere: BTreeSet<Id>) -> Writer<'a> {
        Writer {
            book: proved.book,
            compiled: proved.compiled.iter().map(|rule| (rule.name, rule)).collect(),
            hidden: Hidden::new(proved.search, (proved.book, proved.compiled), applied),
            checker: Checker::new(proved.rules),
            names: BTreeMap::new(),
            spellings: FxHashMap::default(),
            words: FxHashMap::default(),
            declared: Vec::new(),
            programs: FxHashMap::default(),
            erased: Vec::new(),
            anywhere,
            loose: BTreeSet::new(),
            counts: Vec::new(),
        }
    }
}

/// A certificate that is being written.
pub(super) struct Writer<'a> {
    book: &'a RuleBook,
    compiled: FxHashMap<Symbol, &'a CompiledRule>,
    pub(super) hidden: Hidden<'a>,
    pub(super) checker: Checker<'a>,
    /// The name of the variable of each class.
    pub(super) names: BTreeMap<Id, String>,
    /// For each variable, its spelling in its declaration, and the bounds that the checker knows to be equal.
    pub(super) spellings: FxHashMap<Id, (Sexp, Vec<[Term; 3]>)>,
    /// The words of variables for each text that spells them: several only if the variables have names by depth.
    pub(super) words: FxHashMap<String, Vec<String>>,
    /// The declarations so far, in order.
    declared: Vec<Sexp>,
    /// The variables of the programs in all ways in which they are spelled there.
    pub(super) programs: FxHashMap<Id, Vec<[Term; 4]>>,
    /// The variables of units' loops, with the bounds that one processor computes.
    pub(super) erased: Vec<(Id, [Term; 3])>,
    /// The variables that may have values which their loops do not give them, and those that get such values.
    pub(super) anywhere: BTreeSet<Id>,
    loose: BTreeSet<Id>,
    counts: Vec<(String, usize)>,
}

impl<'a> Writer<'a> {
    fn write(&mut self, proved: &Proved<'_>, rises: bool) -> Result<Certificate, Uncertified> {
        let declarations = proved.declarations.certified(rises);
        for declaration in declarations.into_iter().chain(proved.before.iter().cloned()) {
            self.say(declaration)?;
        }
        let known = self.declared.len();
        for term in proved.terms {
            self.remember(term);
        }
        let lost = || Lost("a program is not in the search");
        let start = self.hidden.hide(&proved.terms[0]).ok_or_else(lost)?;
        let end = self.hidden.hide(&proved.terms[1]).ok_or_else(lost)?;
        let named = [self.term(&start)?, self.term(&end)?];
        let mut numbered = Vec::new();
        for term in [&start, &end] {
            numbered.push(self.numbered(term)?);
        }
        for term in proved.terms {
            self.spell_program(term)?;
        }
        self.spell_units()?;
        let links = self.hidden.chain(&start, &end).map_err(|gap| match gap {
            Gap::TooLong => Uncertified::TooLong,
            Gap::NotEqual => Lost("the chain was not found again"),
        })?;
        let mut steps = Vec::new();
        let whole = || form("at", []);
        let renamed = |from: &Sexp, to: &Sexp| {
            let other = printed(from) != printed(to);
            other.then(|| form("renamed", [whole(), from.clone(), to.clone()]))
        };
        steps.extend(renamed(&numbered[0], &named[0]));
        self.steps(&start, links, (0, &[]), &mut steps)?;
        steps.extend(renamed(&named[1], &numbered[1]));
        let programs = ["left", "right"].into_iter().zip(numbered);
        let programs = programs.map(|(head, term)| form(head, [term]));
        let mut forms = std::mem::take(&mut self.declared);
        // Earlier parts have steps of their own, so that their declarations do not count.
        let exact = self.exactness(forms.iter().skip(known).chain(&steps));
        forms.extend(programs);
        let counts = std::mem::take(&mut self.counts);
        Ok(Certificate::new(proved.rules.digest(), forms, steps, counts, exact))
    }

    pub(super) fn operators(&self) -> &'a Operators {
        self.book.signature.table()
    }

    /// Returns the exactness of the least exact rule that is applied anywhere.
    fn exactness<'f>(&self, forms: impl Iterator<Item = &'f Sexp>) -> Exactness {
        let mut exact = Exactness::Bitwise;
        let mut open: Vec<&Sexp> = forms.collect();
        while let Some(next) = open.pop() {
            if let Some((name, [_, direction, ..])) = next.form()
                && matches!(direction.atom(), Some("forward" | "backward"))
            {
                exact = self.book.rule(name).map_or(exact, |rule| exact.max(rule.exact));
            }
            open.extend(next.list().unwrap_or_default());
        }
        exact
    }

    /// Adds a declaration, which the checker must accept.
    pub(super) fn say(&mut self, declaration: Sexp) -> Result<(), Uncertified> {
        self.checker.declare(&declaration)?;
        if let Some([word, bounds, ..]) = declaration.items("variable") {
            let words = self.words.entry(printed(bounds)).or_default();
            words.push(word.atom().unwrap_or_default().to_owned());
        }
        self.declared.push(declaration);
        Ok(())
    }

    /// Adds the steps of a chain.
    fn steps(
        &mut self,
        from: &Term,
        links: Vec<Link>,
        (depth, within): (usize, &[usize]),
        steps: &mut Vec<Sexp>,
    ) -> Result<(), Uncertified> {
        if depth > DEEPEST {
            return Err(Uncertified::TooDeep);
        }
        let mut before = from.clone();
        for Link { whole, at } in links {
            let Some((position, name, forward)) = at else { continue };
            let part =
                |term: &Term| subterm(term, &position).ok_or(Lost("a position that is not there"));
            let (old, new) = (part(&before)?, part(&whole)?);
            let place = [within, &position[..]].concat();
            let at = placed(&place);
            match self.hidden.applied(name) {
                None => {
                    self.computed((&old, &new), (depth, &place), steps)?;
                    self.count("computed", depth);
                }
                Some(applied) => {
                    let rule = self
                        .book
                        .rule(applied.rule.as_str())
                        .ok_or(Lost("a rule without a name"))?;
                    let sides = if forward { [&old, &new] } else { [&new, &old] };
                    let operators = self.operators();
                    let mut means = Means::new(operators);
                    means.fit(&rule.lhs, sides[0]);
                    means.fit(&rule.rhs, sides[1]);
                    match self.application(rule, forward, &applied.slots, &mut means, depth) {
                        Ok(parts) => steps.push(self.step(rule, at, forward, parts)),
                        Err(_) if depth < DEEPEST => {
                            let links = (&old, &new, forward, at);
                            let within = (depth, &place[..]);
                            self.detour(rule, &applied.slots, means, links, within, steps)?;
                        }
                        Err(why) => return Err(why),
                    }
                    self.count(rule.name.as_str(), depth);
                }
            }
            before = whole;
        }
        Ok(())
    }

    /// Builds a step that applies a rule. The reverse of a rule with two directions is written as the rule itself, read
    /// in the other direction.
    fn step(&self, rule: &Rule, at: Sexp, forward: bool, parts: Vec<Sexp>) -> Sexp {
        let (name, forward) = self.stated(rule, forward);
        let direction = atom(if forward { "forward" } else { "backward" });
        form(name, [at, direction].into_iter().chain(parts))
    }

    /// The name under which a rule stands in its file, and whether it is applied forward there.
    fn stated<'r>(&self, rule: &'r Rule, forward: bool) -> (&'r str, bool) {
        let name = rule.name.as_str();
        let base = name.strip_suffix("-rev").filter(|base| {
            let sides = self.book.rule(base).map(|base| (&base.lhs, &base.rhs));
            sides == Some((&rule.rhs, &rule.lhs))
        });
        base.map_or((name, forward), |base| (base, !forward))
    }

    fn count(&mut self, name: &str, depth: usize) {
        if depth > 0 {
            return;
        }
        match self.counts.iter_mut().find(|(known, _)| known == name) {
            Some((_, n)) => *n += 1,
            None => self.counts.push((name.to_owned(), 1)),
        }
    }

    /// Applies a rule to the shortest terms of its variables, about which more is known than about the matched terms.
    /// Adds the steps to these terms before the application, and the steps back after it.
    fn detour(
        &mut self,
        rule: &Rule,
        slots: &[Id],
        mut means: Means<'_>,
        (old, new, forward, at): (&Term, &Term, bool, Sexp),
        (depth, place): (usize, &[usize]),
        steps: &mut Vec<Sexp>,
    ) -> Result<(), Uncertified> {
        let compiled =
            *self.compiled.get(&rule.name).ok_or(Lost("a rule that was not compiled"))?;
        for (v, class) in compiled.variables.iter().zip(slots) {
            let term = self.hidden.smallest(*class).ok_or(Lost("a class without terms"))?;
            means.of.insert(*v, term);
        }
        let sides = [&rule.lhs, &rule.rhs].map(|side| means.build(side, root(side)));
        let [Some(left), Some(right)] = sides else {
            return Err(Lost("a side without a term"));
        };
        let (from, to) = if forward { (left, right) } else { (right, left) };
        let lost = |_| Lost("no chain to a shorter term");
        if *old != from {
            let links = self.hidden.chain(old, &from).map_err(lost)?;
            self.steps(old, links, (depth + 1, place), steps)?;
        }
        let parts = self.application(rule, forward, slots, &mut means, depth)?;
        steps.push(self.step(rule, at, forward, parts));
        if to != *new {
            let links = self.hidden.chain(&to, new).map_err(lost)?;
            self.steps(&to, links, (depth + 1, place), steps)?;
        }
        Ok(())
    }

    /// Returns the terms of a rule's variables, and the reasons why its conditions hold.
    fn application(
        &mut self,
        rule: &Rule,
        forward: bool,
        slots: &[Id],
        means: &mut Means<'_>,
        depth: usize,
    ) -> Result<Vec<Sexp>, Uncertified> {
        let compiled =
            *self.compiled.get(&rule.name).ok_or(Lost("a rule that was not compiled"))?;
        for (v, class) in compiled.variables.iter().zip(slots) {
            if !means.of.contains_key(v) {
                let term = self.hidden.smallest(*class).ok_or(Lost("a class without terms"))?;
                means.of.insert(*v, term);
            }
        }
        for (v, pattern) in &rule.wheres {
            // A loop variable is a word, which does not show its parts, so that the pattern is matched with its
            // declaration.
            if let (Some(word), ENodeOrVar::ENode(node)) =
                (means.of.get(v).and_then(|t| is_word(t.as_ref().last()?)), &pattern[root(pattern)])
                && self.operators().is_variable(node)
            {
                means.targets.push((written(pattern, root(pattern)), word));
            }
        }
        let patterns = [&rule.lhs, &rule.rhs].into_iter().chain(rule.wheres.iter().map(|(_, p)| p));
        for pattern in patterns {
            self.variables_of(pattern, means, depth)?;
        }
        let sides = if forward { [&rule.lhs, &rule.rhs] } else { [&rule.rhs, &rule.lhs] };
        self.bounds_of(sides, means, depth)?;
        let mut items = Vec::new();
        for (v, term) in &means.of {
            let mut item = vec![self.term(term)?];
            if let Some((_, pattern)) = rule.wheres.iter().find(|(known, _)| known == v) {
                let to = means.build(pattern, root(pattern));
                let to = to.ok_or(Lost("a pattern that cannot be written"))?;
                if *term != to {
                    self.lead(term, &to, (depth + 1, &[]), &mut item)?;
                }
            }
            items.push(form(&v.to_string(), item));
        }
        let (name, forward) = self.stated(rule, forward);
        let applied = self.checker.applied(name, &items, forward);
        let Applied { reasons, loose, .. } =
            applied.map_err(|why| Uncertified::Condition { rule: rule.name.as_str(), why })?;
        self.note_loose(&loose);
        items.insert(0, form("because", reasons.into_iter().map(text)));
        Ok(items)
    }

    /// Notes variables that get values which their loops do not give them.
    pub(super) fn note_loose(&mut self, loose: &[String]) {
        let classes = self.names.iter().filter(|(_, word)| loose.contains(word));
        self.loose.extend(classes.map(|(class, _)| *class));
    }

    /// Adds the steps from one term to another, nested in an enclosing proof.
    pub(super) fn lead(
        &mut self,
        from: &Term,
        to: &Term,
        (depth, within): (usize, &[usize]),
        steps: &mut Vec<Sexp>,
    ) -> Result<(), Uncertified> {
        let links = self.hidden.chain(from, to);
        let links = links.map_err(|_| Uncertified::NoChain(from.clone(), to.clone()))?;
        self.steps(from, links, (depth, within), steps)
    }
}

/// Returns a place in a term, by the numbers of operands that lead to it.
pub(super) fn placed(place: &[usize]) -> Sexp {
    form("at", place.iter().map(|n| atom(n.to_string())))
}
