//! Writing a certificate: the chain of a proof, with all that is needed to check it by itself.

use super::chain::{Hidden, class_of, is_word};
use super::declare::Declarations;
use super::means::{Means, root, written};
use crate::certify::{Checker, Rules};
use crate::diagnostic::{FileId, Span};
use crate::explain::{Gap, Link, Terms, subterm};
use crate::facts::EGraph;
use crate::model::Extent;
use crate::rules::{CompiledRule, Exactness, Rule, RuleBook};
use crate::sexp::{Kind, Sexp};
use crate::term::{Node, Term};
use egg::{ENodeOrVar, Id, Language, PatternAst, Symbol};
use ember_targets::layout::{Keep, Layout};
use ember_targets::print::WIDTH;
use std::collections::{BTreeMap, HashMap};

/// Stack for one level of a term, and by how much the stack grows where less is left.
const RED_ZONE: usize = 64 << 10;
const SEGMENT: usize = 1 << 20;

/// How deep proofs may stand within proofs.
const DEEPEST: usize = 6;

/// What a certificate is written from.
pub struct Proved<'a> {
    /// The e-graph of the search, recorded.
    pub search: &'a EGraph,
    /// The rules.
    pub book: &'a RuleBook,
    /// The same, compiled.
    pub compiled: &'a [CompiledRule],
    /// The same, as the checker reads them.
    pub rules: &'a Rules,
    /// The tensors.
    pub declarations: &'a Declarations,
    /// Both programs as they were written.
    pub written: [&'a Term; 2],
    /// Both with variables named by their loops.
    pub terms: &'a [Term; 2],
}

/// A certificate.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// Its text.
    pub text: String,
    /// The rules of its steps, and how often each was applied.
    pub rules: Vec<(String, usize)>,
    /// Its steps, those within others aside.
    pub steps: usize,
    /// The least exact of its rules.
    pub exact: Exactness,
}

/// Writes the certificate of a proof; an error says why there is none.
pub fn certify(proved: &Proved<'_>) -> Result<Certificate, String> {
    certify_with(proved, true).or_else(|why| certify_with(proved, false).map_err(|_| why))
}

fn certify_with(proved: &Proved<'_>, short: bool) -> Result<Certificate, String> {
    let mut writer = Writer {
        book: proved.book,
        compiled: proved.compiled.iter().map(|rule| (rule.name, rule)).collect(),
        hidden: Hidden::new(proved.search, proved.compiled, short),
        checker: Checker::new(proved.rules),
        names: BTreeMap::new(),
        spellings: HashMap::new(),
        variables: Vec::new(),
        programs: HashMap::new(),
        counts: Vec::new(),
    };
    writer.write(proved)
}

struct Writer<'a> {
    book: &'a RuleBook,
    compiled: HashMap<Symbol, &'a CompiledRule>,
    hidden: Hidden<'a>,
    checker: Checker<'a>,
    /// What the variable of a class is called.
    names: BTreeMap<Id, String>,
    /// The bounds of a variable that the checker knows to be the same.
    spellings: HashMap<Id, Vec<[Term; 3]>>,
    /// The declarations of variables, in order.
    variables: Vec<Sexp>,
    /// The variables of the programs as they stand there.
    programs: HashMap<Id, [Term; 4]>,
    counts: Vec<(String, usize)>,
}

fn span() -> Span {
    Span::new(FileId::default(), 0..0)
}

fn atom(text: impl Into<String>) -> Sexp {
    Sexp { span: span(), kind: Kind::Atom(text.into()) }
}

fn list(items: Vec<Sexp>) -> Sexp {
    Sexp { span: span(), kind: Kind::List(items) }
}

fn form(head: &str, items: impl IntoIterator<Item = Sexp>) -> Sexp {
    list(std::iter::once(atom(head)).chain(items).collect())
}

fn text(text: String) -> Sexp {
    Sexp { span: span(), kind: Kind::Text(text) }
}

impl Writer<'_> {
    fn write(&mut self, proved: &Proved<'_>) -> Result<Certificate, String> {
        let mut forms = Vec::new();
        for declared in &proved.declarations.tensors {
            let shape = declared.shape.iter().map(|e: &Extent| atom(e.to_string())).collect();
            let [head, name, dtype] = declared.words().map(atom);
            let shape = list(shape);
            let writable = head.atom() != Some("input");
            self.checker.declare(writable, &name, &dtype, &shape)?;
            forms.push(list(vec![head, name, dtype, shape]));
        }
        for term in proved.terms {
            self.remember(term);
        }
        let lost = || "a program is not in the search".to_owned();
        let start = self.hidden.hide(&proved.terms[0]).ok_or_else(lost)?;
        let end = self.hidden.hide(&proved.terms[1]).ok_or_else(lost)?;
        let start_text = self.term(&start)?;
        let links = self.hidden.chain(&start, &end).map_err(|gap| match gap {
            Gap::TooLong => "the chain is too long to be written out".to_owned(),
            Gap::NotEqual => "the chain was not found again".to_owned(),
        })?;
        let mut steps = Vec::new();
        self.steps(&start, links, (0, &[]), &mut steps)?;
        // What the second program says of its variables.
        self.spell_program(&proved.terms[1], &mut steps)?;
        let exact = steps.iter().filter_map(|step| self.book.rule(step.form()?.0)).map(|r| r.exact);
        let exact = exact.max().unwrap_or(Exactness::Bitwise);
        let mut all = vec![form("exact", [atom(exact.name())])];
        all.extend(forms);
        all.append(&mut self.variables);
        for (head, term) in ["left", "right"].into_iter().zip(proved.written) {
            all.push(form(head, [plain(term)]));
        }
        all.push(form("start", [start_text]));
        let count = steps.len();
        all.extend(steps);
        let certificate = form("certificate", all);
        let rules = std::mem::take(&mut self.counts);
        Ok(Certificate { text: printed(&certificate), rules, steps: count, exact })
    }

    /// Remembers how a program spells its variables.
    fn remember(&mut self, program: &Term) {
        for (at, node) in program.as_ref().iter().enumerate() {
            let (Some("var"), [name, lo, hi, step]) = (node.name(), node.children()) else {
                continue;
            };
            let part = |id: &Id| self.hidden.hide(&Terms::of(program, *id));
            let class = self.hidden.hide(&Terms::of(program, Id::from(at)));
            let class = class.and_then(|word| class_of(word.as_ref().last()?.name()?));
            if let (Some(class), Some(name), Some(lo), Some(hi), Some(step)) =
                (class, part(name), part(lo), part(hi), part(step))
            {
                self.programs.entry(class).or_insert([name, lo, hi, step]);
            }
        }
    }

    /// Proves the bounds with which a program spells its variables.
    fn spell_program(&mut self, program: &Term, steps: &mut Vec<Sexp>) -> Result<(), String> {
        for (at, node) in program.as_ref().iter().enumerate() {
            let (Some("var"), [_, lo, hi, step]) = (node.name(), node.children()) else { continue };
            let lost = "a variable is not in the search";
            let word = self.hidden.hide(&Terms::of(program, Id::from(at))).ok_or(lost)?;
            let class = word.as_ref().last().and_then(|n| class_of(n.name()?)).ok_or(lost)?;
            let mut bounds = Vec::new();
            for part in [lo, hi, step] {
                bounds.push(self.hidden.hide(&Terms::of(program, *part)).ok_or(lost)?);
            }
            let Ok(bounds) = bounds.try_into() else { continue };
            self.declare(class)?;
            self.spell(class, bounds, 0, steps)?;
        }
        Ok(())
    }

    /// A term as text; variables that it mentions are declared.
    fn term(&mut self, term: &Term) -> Result<Sexp, String> {
        for node in term {
            if let Some(class) = is_word(node) {
                self.declare(class)?;
            }
        }
        Ok(shown(term, &self.names))
    }

    /// Declares the variable of a class as a program spells it, or as it is shortest.
    fn declare(&mut self, class: Id) -> Result<(), String> {
        if self.names.contains_key(&class) {
            return Ok(());
        }
        let known = self.programs.get(&class).cloned();
        let parts =
            known.or_else(|| self.hidden.variable(class)).ok_or("a variable without bounds")?;
        self.declare_as(class, parts)
    }

    fn declare_as(&mut self, class: Id, [name, lo, hi, step]: [Term; 4]) -> Result<(), String> {
        let mut parts = Vec::new();
        for part in [&name, &lo, &hi, &step] {
            parts.push(self.term(part)?);
        }
        let word = format!("@{}", self.names.len());
        self.checker.variable(&atom(&word), &parts)?;
        self.variables.push(form("variable", std::iter::once(atom(&word)).chain(parts)));
        self.names.insert(class, word);
        self.spellings.insert(class, vec![[lo, hi, step]]);
        Ok(())
    }

    /// Adds the steps of a chain.
    fn steps(
        &mut self,
        from: &Term,
        links: Vec<Link>,
        (depth, within): (usize, &[usize]),
        steps: &mut Vec<Sexp>,
    ) -> Result<(), String> {
        if depth > DEEPEST {
            return Err("proofs nest too deep".to_owned());
        }
        let mut before = from.clone();
        for Link { whole, at } in links {
            let Some((position, name, forward)) = at else { continue };
            let part = |term: &Term| subterm(term, &position).ok_or("a position that is not there");
            let (old, new) = (part(&before)?, part(&whole)?);
            let place = [within, &position[..]].concat();
            let at = form("at", place.iter().map(|n| atom(n.to_string())));
            match self.hidden.applied(name) {
                None => {
                    let new = self.term(&new)?;
                    steps.push(form("computed", [at, new]));
                    self.count("computed", depth);
                }
                Some(applied) => {
                    let rule =
                        self.book.rule(applied.rule.as_str()).ok_or("a rule without a name")?;
                    let sides = if forward { [&old, &new] } else { [&new, &old] };
                    let direction = atom(if forward { "forward" } else { "backward" });
                    let mut means = Means::default();
                    means.fit(&rule.lhs, sides[0]);
                    means.fit(&rule.rhs, sides[1]);
                    let before = steps.len();
                    match self.application(rule, &applied.slots, &mut means, depth, steps) {
                        Ok(parts) => {
                            let parts = [direction, at].into_iter().chain(parts);
                            steps.push(form(rule.name.as_str(), parts));
                        }
                        Err(_) if depth < DEEPEST => {
                            steps.truncate(before);
                            let links = (&old, &new, direction, at);
                            self.detour(
                                rule,
                                &applied.slots,
                                means,
                                links,
                                (depth, &place),
                                steps,
                            )?;
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

    fn count(&mut self, name: &str, depth: usize) {
        if depth > 0 {
            return;
        }
        match self.counts.iter_mut().find(|(known, _)| known == name) {
            Some((_, n)) => *n += 1,
            None => self.counts.push((name.to_owned(), 1)),
        }
    }

    /// Applies a rule to the shortest terms that its variables may stand for, of which more is known than
    /// of those that stand there; with steps to them before, and from what it makes of them after.
    fn detour(
        &mut self,
        rule: &Rule,
        slots: &[Id],
        mut means: Means,
        (old, new, direction, at): (&Term, &Term, Sexp, Sexp),
        (depth, place): (usize, &[usize]),
        steps: &mut Vec<Sexp>,
    ) -> Result<(), String> {
        let compiled = *self.compiled.get(&rule.name).ok_or("a rule that was not compiled")?;
        for (v, class) in compiled.variables.iter().zip(slots) {
            let term = self.hidden.smallest(*class).ok_or("a class without terms")?;
            means.of.insert(*v, term);
        }
        let sides = [&rule.lhs, &rule.rhs].map(|side| means.build(side, root(side)));
        let [Some(left), Some(right)] = sides else {
            return Err("a side without a term".to_owned());
        };
        let forward = direction.atom() == Some("forward");
        let (from, to) = if forward { (left, right) } else { (right, left) };
        let lost = |_| "no chain to a shorter term".to_owned();
        if *old != from {
            let links = self.hidden.chain(old, &from).map_err(lost)?;
            self.steps(old, links, (depth + 1, place), steps)?;
        }
        let parts = self.application(rule, slots, &mut means, depth, steps)?;
        steps.push(form(rule.name.as_str(), [direction, at].into_iter().chain(parts)));
        if to != *new {
            let links = self.hidden.chain(&to, new).map_err(lost)?;
            self.steps(&to, links, (depth + 1, place), steps)?;
        }
        Ok(())
    }

    /// What the variables of a rule stand for, and why its conditions hold.
    fn application(
        &mut self,
        rule: &Rule,
        slots: &[Id],
        means: &mut Means,
        depth: usize,
        steps: &mut Vec<Sexp>,
    ) -> Result<Vec<Sexp>, String> {
        let compiled = *self.compiled.get(&rule.name).ok_or("a rule that was not compiled")?;
        for (v, class) in compiled.variables.iter().zip(slots) {
            if !means.of.contains_key(v) {
                let term = self.hidden.smallest(*class).ok_or("a class without terms")?;
                means.of.insert(*v, term);
            }
        }
        for (v, pattern) in &rule.wheres {
            // A loop variable is a word, which tells nothing of its parts.
            if let (Some(word), ENodeOrVar::ENode(node)) =
                (means.of.get(v).and_then(|t| is_word(t.as_ref().last()?)), &pattern[root(pattern)])
                && node.name() == Some("var")
            {
                means.targets.push((written(pattern, root(pattern)), word));
            }
        }
        let patterns = [&rule.lhs, &rule.rhs].into_iter().chain(rule.wheres.iter().map(|(_, p)| p));
        for pattern in patterns {
            self.variables_of(pattern, means, depth, steps)?;
        }
        let mut items = Vec::new();
        let mut named = Vec::new();
        for (v, term) in &means.of {
            let term = self.term(term)?;
            named.push((v.to_string(), term.clone()));
            items.push(form(&v.to_string(), [term]));
        }
        for (v, pattern) in &rule.wheres {
            let to =
                means.build(pattern, root(pattern)).ok_or("a pattern that cannot be written")?;
            let from = means.of.get(v).ok_or("a variable without a term")?.clone();
            if from != to {
                let mut inner = Vec::new();
                self.lead(&from, &to, depth + 1, &mut inner)?;
                items.push(form("equals", std::iter::once(atom(v.to_string())).chain(inner)));
            }
        }
        let reasons = self.checker.reasons(rule.name.as_str(), &named);
        let reasons = reasons.map_err(|e| format!("{}: {e}", rule.name))?;
        items.extend(reasons.into_iter().map(|why| form("because", [text(why)])));
        Ok(items)
    }

    /// Declares the loop variables that a pattern makes, or proves their bounds as it spells them.
    fn variables_of(
        &mut self,
        pattern: &PatternAst<Node>,
        means: &Means,
        depth: usize,
        steps: &mut Vec<Sexp>,
    ) -> Result<(), String> {
        for (at, node) in pattern.as_ref().iter().enumerate() {
            let ENodeOrVar::ENode(node) = node else { continue };
            if node.name() != Some("var") {
                continue;
            }
            let Some(class) = means.target(pattern, Id::from(at)) else { continue };
            let parts = node.children().iter().map(|c| means.build(pattern, *c));
            let parts: Option<Vec<Term>> = parts.collect();
            let Some(Ok([name, lo, hi, step])) = parts.map(<[Term; 4]>::try_from) else {
                return Err("a variable that cannot be written".to_owned());
            };
            if !self.names.contains_key(&class) && !self.programs.contains_key(&class) {
                self.declare_as(class, [name, lo, hi, step])?;
            } else {
                self.declare(class)?;
                self.spell(class, [lo, hi, step], depth, steps)?;
            }
        }
        Ok(())
    }

    /// Adds the steps from one term to another.
    fn lead(
        &mut self,
        from: &Term,
        to: &Term,
        depth: usize,
        steps: &mut Vec<Sexp>,
    ) -> Result<(), String> {
        let links =
            self.hidden.chain(from, to).map_err(|_| format!("no chain from {from} to {to}"))?;
        self.steps(from, links, (depth, &[]), steps)
    }

    /// Proves that a variable's bounds may be spelled in another way.
    fn spell(
        &mut self,
        class: Id,
        bounds: [Term; 3],
        depth: usize,
        steps: &mut Vec<Sexp>,
    ) -> Result<(), String> {
        let known = self.spellings.get(&class).cloned().unwrap_or_default();
        if known.contains(&bounds) {
            return Ok(());
        }
        let Some(first) = known.first().cloned() else { return Err("unknown bounds".to_owned()) };
        let mut items = Vec::new();
        for part in &bounds {
            items.push(self.term(part)?);
        }
        for (head, (from, to)) in ["lo", "hi", "step"].into_iter().zip(first.iter().zip(&bounds)) {
            let mut inner = Vec::new();
            if from != to {
                self.lead(from, to, depth + 1, &mut inner)?;
            }
            items.push(form(head, inner));
        }
        let word = self.names.get(&class).cloned().unwrap_or_default();
        let step = form("spelled", std::iter::once(atom(word)).chain(items));
        self.checker.learn(&step)?;
        steps.push(step);
        self.spellings.entry(class).or_default().push(bounds);
        Ok(())
    }
}

/// A term as it is written.
fn plain(term: &Term) -> Sexp {
    shown(term, &BTreeMap::new())
}

/// A term as text, with names for the words of variables.
fn shown(term: &Term, names: &BTreeMap<Id, String>) -> Sexp {
    let mut made: Vec<Sexp> = Vec::with_capacity(term.len());
    for node in term {
        let name = is_word(node).and_then(|class| names.get(&class).cloned());
        let head = atom(name.unwrap_or_else(|| node.to_string()));
        made.push(match node.children() {
            [] => head,
            children => {
                let parts = children.iter().map(|c| made[usize::from(*c)].clone());
                list(std::iter::once(head).chain(parts).collect())
            }
        });
    }
    made.pop().unwrap_or_else(|| list(Vec::new()))
}

/// The text of a form.
fn printed(whole: &Sexp) -> String {
    fn put(of: &Sexp, out: &mut Layout, depth: usize) {
        stacker::maybe_grow(RED_ZONE, SEGMENT, || match &of.kind {
            Kind::Atom(word) => out.atom(word.clone()),
            Kind::Text(text) => out.atom(format!("{text:?}")),
            Kind::List(items) => {
                let head = items.first().and_then(Sexp::atom).unwrap_or_default();
                out.head(if depth == 0 { Keep::Items(1) } else { Keep::Fitting }, head);
                items.iter().skip(1).for_each(|item| put(item, out, depth + 1));
                out.close();
            }
        });
    }
    let mut out = Layout::default();
    put(whole, &mut out, 0);
    out.render(WIDTH)
}
