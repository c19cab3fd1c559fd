//! Searches for a proof: applies rules to both sides in one e-graph until they are in one class, and finds the chain of
//! rules that connects them.

use super::alpha;
use super::certificate::Uncertified::{self, Lost};
use super::certificate::{Certificate, Proved, certify};
use super::equation::extended;
use super::join::joined;
use super::level::{Level, reached};
use super::names::{apart, captured, each, normalise};
use super::parts::{Part, parts};
use super::question::{Question, question, unparted};
use super::raise::raised;
use super::sides::{Side, Sides, Unread, What};
use egg::Id;
use ember_analysis::facts::{EGraph, Facts, VectorUnit};
use ember_certify::{Rules, check};
use ember_engine::CompiledRule;
use ember_engine::drive::{Driven, Mark, drive};
use ember_engine::saturate::{Limits, StopReason, saturate_until};
use ember_language::diagnostic::Sources;
use ember_language::rules::Operators;
use ember_language::rules::{Exactness, RuleBook, Schedule, Sketch};
use ember_language::sexp;
use ember_language::term::Term;
use ember_targets::machine::Machine;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The assumption of a comparison part by part.
const BARRIERS: &str =
    "trusted: both programs are read as parts with barriers between, in the order of the second";

/// The state in which a search stopped.
#[derive(Clone, Debug)]
pub struct Reached {
    /// The reason why it stopped.
    pub stop: StopReason,
    /// The number of e-nodes.
    pub nodes: usize,
    /// The number of e-nodes in the root class of each side.
    pub forms: [usize; 2],
    /// If both sides have parts: the number of parts proved equal before one was not, and the number of all parts.
    pub parts: Option<[usize; 2]>,
}

/// The outcome of a search.
#[derive(Debug)]
pub enum Found {
    /// The sides are equal, with the certificate or the reason why there is none.
    Equal(Result<Certificate, Uncertified>),
    /// No proof was found.
    Open(Reached),
}

/// The inputs of a search.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    /// The rule book.
    pub book: &'a RuleBook,
    /// The compiled rules, in the book's order.
    pub compiled: &'a [CompiledRule],
    /// The schedule that determines which rules run, in order.
    pub schedule: &'a Schedule,
    /// The machine, which determines vector lengths for rules.
    pub machine: &'a Machine,
    /// The exactness of the least exact rules that may run.
    pub exact: Exactness,
    /// The bounds on each saturation.
    pub limits: Limits,
    /// The rules as the checker reads them. Without them, nothing is recorded and no certificate is written.
    pub certify: Option<&'a Rules>,
}

/// Returns the terms of both sides at one level, with variables named after their loops. Returns an error if a side has
/// no term or cannot reach that level.
pub fn terms(sides: &Sides, book: &RuleBook) -> Result<[Term; 2], Unread> {
    let operators = book.signature.table().clone();
    let of = |side: &Side| -> Result<Term, Unread> {
        let sort = match &side.what {
            What::Term { sort, .. } => *sort,
            What::Dlc { .. } => sides.base.sort,
        };
        let level = &sides.level;
        let term = reached(&book.signature, level, (side.term()?, sort));
        let term = term.ok_or(Unread::Level { from: sort, to: level.sort });
        Ok(normalise(&term?, &operators))
    };
    Ok([of(&sides.left)?, of(&sides.right)?])
}

impl Search<'_> {
    /// Returns true if rules make two terms equal, without writing a proof.
    pub fn equal(&self, sides: &Sides, terms: &[Term; 2], record: bool) -> bool {
        self.with_layouts(sides, |search| {
            let between = search.between(sides);
            let question = question(sides, terms, between.as_ref());
            let forgetful = question.forgetful(&search.book.signature.table().clone());
            search.sound(unparted(question, &forgetful), record, true).equal()
        })
    }

    /// Searches for a proof that two terms are equal.
    pub fn run(&self, sides: &Sides, terms: &[Term; 2]) -> Found {
        self.with_layouts(sides, |search| search.proved(sides, terms))
    }

    /// Runs a search with the equations of layouts as additional rules.
    fn with_layouts<R>(&self, sides: &Sides, run: impl FnOnce(&Search<'_>) -> R) -> R {
        if sides.declarations.layouts.is_empty() {
            return run(self);
        }
        let book = extended(self.book, sides.declarations.equations());
        let compiled = ember_engine::compile(&book);
        let schedule = book.schedule(self.schedule.name.as_str()).unwrap_or(self.schedule);
        run(&Search { book: &book, compiled: &compiled, schedule, ..*self })
    }

    /// Proves both sides part by part if they have parts, then as a whole.
    fn proved(&self, sides: &Sides, terms: &[Term; 2]) -> Found {
        let between = self.between(sides);
        let question = question(sides, terms, between.as_ref());
        let operators = self.book.signature.table().clone();
        let mut trusted: Vec<String> =
            [&sides.left, &sides.right].into_iter().filter_map(Side::reading).collect();
        let facts = question.egraph(&operators, self.vectors(), false);
        let of_parts = parts(&question, facts).map(|parts| self.each(question, &parts));
        let forgetful = question.forgetful(&operators);
        let whole = || self.whole(unparted(question, &forgetful));
        let (found, parts) = match of_parts {
            Some((found @ Found::Equal(Ok(_)), _)) => {
                trusted.push(BARRIERS.to_owned());
                (found, None)
            }
            Some((_, proved)) => (whole(), Some(proved)),
            None => (whole(), None),
        };
        match found {
            Found::Open(reached) => Found::Open(Reached { parts, ..reached }),
            Found::Equal(certificate) => Found::Equal(certificate.map(|certificate| {
                let trusted = certificate.assumed().chain(trusted).collect();
                Certificate { trusted, ..certificate }
            })),
        }
    }

    /// Returns the model that is not a side, with variables named after their loops.
    fn between(&self, sides: &Sides) -> Option<Term> {
        let operators = self.book.signature.table().clone();
        sides.between.as_ref().map(|model| normalise(model, &operators))
    }

    fn vectors(&self) -> VectorUnit {
        let core = &self.machine.core;
        VectorUnit { simd_bytes: core.simd_bytes, registers: core.vector_registers }
    }

    /// Checks that a certificate is valid.
    fn checked(&self, certificate: &Certificate) -> Result<(), Uncertified> {
        let Some(rules) = self.certify else { return Ok(()) };
        let mut sources = Sources::default();
        let file = sources.add("<certificate>", certificate.text().as_str());
        let forms = sexp::read(&sources, file).map_err(|_| Lost("it is not balanced"))?;
        let form = forms.first().ok_or(Lost("it is empty"))?;
        Ok(check(rules, form).map(drop)?)
    }

    /// Proves parts one by one until one fails. Also returns the number of parts proved and the number of all parts.
    fn each(&self, question: Question<'_>, parts: &[Part]) -> (Found, [usize; 2]) {
        let mut certificates: Vec<Certificate> = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let between = part.between.as_ref();
            let before = certificates.last().map_or(&[][..], Certificate::declarations);
            match self.whole(Question { terms: &part.terms, between, before, ..question }) {
                Found::Equal(Ok(certificate)) => certificates.push(certificate),
                other => return (other, [at, parts.len()]),
            }
        }
        let whole = joined(&certificates, question.level);
        let whole = whole.and_then(|found| self.checked(&found).map(|()| found));
        (Found::Equal(whole), [parts.len(); 2])
    }

    /// Searches for a proof in one e-graph. The first search matches programs up to the names of loops; if it gives no
    /// certificate, a second search renames loops by rules.
    fn whole(&self, question: Question<'_>) -> Found {
        let first = self.proof(question, true);
        if self.certify.is_some() && matches!(first, Found::Equal(Err(_))) {
            // Renaming adds many forms, so that only small searches are worthwhile.
            let limits = Limits { nodes: self.limits.nodes / 4, ..self.limits };
            let second = Search { limits, ..*self }.proof(question, false);
            if matches!(second, Found::Equal(Ok(_))) {
                return second;
            }
        }
        first
    }

    fn proof(&self, question: Question<'_>, twins: bool) -> Found {
        let run = self.sound(question, self.certify.is_some(), twins);
        if !run.equal() {
            return Found::Open(run.reached());
        }
        let Some(rules) = self.certify else {
            return Found::Equal(Err(Uncertified::NotAsked));
        };
        let proved = Proved {
            search: &run.egraph,
            book: self.book,
            compiled: self.compiled,
            rules,
            declarations: question.declarations,
            terms: &run.terms,
            before: question.before,
            rows: question.rows,
        };
        let certificate = certify(&proved);
        Found::Equal(certificate.and_then(|found| self.checked(&found).map(|()| found)))
    }

    /// Runs the schedule. If bounds that turned out to be equal have merged the variables of nested loops, the result
    /// is meaningless, and the search is repeated with names that keep the variables apart. If `twins` is true, sides
    /// are matched up to the names of their variables.
    fn sound(&self, question: Question<'_>, record: bool, twins: bool) -> Run<'_> {
        let run = self.saturated(question, record, twins);
        if !run.captured {
            return run;
        }
        let operators = self.book.signature.table().clone();
        let terms = question.terms.each_ref().map(|term| apart(term, &operators));
        let between = question.between.map(|model| apart(model, &operators));
        let question = Question { terms: &terms, between: between.as_ref(), ..question };
        self.saturated(question, record, twins)
    }

    fn saturated(&self, question: Question<'_>, record: bool, twins: bool) -> Run<'_> {
        let Question { level, terms, between, .. } = question;
        let operators = self.book.signature.table().clone();
        let mut egraph = question.egraph(&operators, self.vectors(), record);
        let roots = [egraph.add_expr(&terms[0]), egraph.add_expr(&terms[1])];
        // The raised statements let the rules work from both ends: from statements of one processor down to both
        // programs, and between the statements.
        let statements = terms.each_ref().map(|term| egraph.add_expr(&raised(term, &operators)));
        let model = between.map(|m| egraph.add_expr(m));
        for statement in statements.into_iter().chain(model) {
            level.cross(statement, |node| egraph.add(node));
        }
        egraph.rebuild();
        let mut run = Run {
            search: self,
            each: terms.each_ref().map(|term| each(term, &operators)),
            operators,
            egraph,
            roots,
            level: level.clone(),
            statements,
            model,
            terms: terms.clone(),
            named: terms.iter().chain(between).cloned().collect(),
            first: Vec::new(),
            twins,
            stop: StopReason::Saturated,
            captured: false,
        };
        drive(&mut run, &self.schedule.steps, self.limits.iterations);
        run.captured = run.named.iter().any(|term| {
            // The raised statements of programs for two units have loops with other bounds, so that they are checked as
            // well.
            [term, &raised(term, &run.operators)]
                .iter()
                .any(|term| captured(term, &run.operators, &run.egraph))
        });
        run
    }
}

struct Run<'a> {
    search: &'a Search<'a>,
    operators: Arc<Operators>,
    egraph: EGraph,
    roots: [Id; 2],
    /// The level of the sides.
    level: Level,
    /// The statements of one processor that the sides were raised to.
    statements: [Id; 2],
    /// The model between the sides.
    model: Option<Id>,
    /// The sides as they are in the e-graph.
    terms: [Term; 2],
    /// All terms that were added to the e-graph, with the names that their variables have there.
    named: Vec<Term>,
    /// The sides with a name for each loop.
    each: [Term; 2],
    /// The rules of the first saturation, which split statements between the units.
    first: Vec<usize>,
    /// True if sides are matched under other names.
    twins: bool,
    stop: StopReason,
    /// True if the variables of two nested loops have become equal.
    captured: bool,
}

/// A side that was found under other names: its index, and the names of its variables there.
type Twin = (usize, BTreeMap<i64, Id>);

impl Run<'_> {
    fn equal(&self) -> bool {
        !self.captured && self.egraph.find(self.roots[0]) == self.egraph.find(self.roots[1])
    }

    /// Searches the classes that should hold a side for the side under other names.
    fn twin(&self, egraph: &EGraph) -> Option<Twin> {
        for (side, own) in self.each.iter().enumerate() {
            let own = raised(own, &self.operators);
            for class in [self.statements[1 - side]].into_iter().chain(self.model) {
                if egraph.find(class) == egraph.find(self.statements[side]) {
                    continue;
                }
                if let Some(names) = alpha::found(egraph, &self.operators, class, &own) {
                    return Some((side, names));
                }
            }
        }
        None
    }

    /// Adds the loop variables of each side under the names that the other side gives to the corresponding outermost
    /// loops. Inner loops that only one side has, such as strips, are found by rules through their bounds.
    fn align(&mut self) {
        for side in [0, 1] {
            let own = raised(&self.each[side], &self.operators);
            let other = self.egraph.find(self.statements[1 - side]);
            for names in alpha::outermost(&self.egraph, &self.operators, other, &own) {
                let term = alpha::renamed(&self.egraph, &own, &names);
                alpha::add_variables(&mut self.egraph, &term);
            }
        }
        self.egraph.rebuild();
    }

    /// Continues with a side under the names with which it was found.
    fn adopt(&mut self, (side, names): Twin) {
        let term = alpha::renamed(&self.egraph, &self.each[side], &names);
        self.statements[side] = self.egraph.add_expr(&raised(&term, &self.operators));
        self.roots[side] = self.egraph.add_expr(&term);
        self.named.push(term.clone());
        self.terms[side] = term;
        self.level.cross(self.statements[side], |node| self.egraph.add(node));
        self.egraph.rebuild();
        if self.level.is_crossed() {
            let first = self.first.clone();
            self.apply(&first, false);
        }
    }

    /// Applies rules until nothing changes, a limit is reached or the sides meet. Returns a side found under other
    /// names.
    fn apply(&mut self, rules: &[usize], twins: bool) -> Option<Twin> {
        let Search { compiled, exact, limits, .. } = self.search;
        let rules = rules.iter().map(|rule| &compiled[*rule]).filter(|rule| rule.exact <= *exact);
        let rules: Vec<&CompiledRule> = rules.collect();
        let mut egraph = std::mem::replace(&mut self.egraph, EGraph::new(Facts::default()));
        let twin = RefCell::new(None);
        let met = |egraph: &EGraph| {
            if egraph.find(self.roots[0]) == egraph.find(self.roots[1]) {
                return true;
            }
            twin.replace(if twins { self.twin(egraph) } else { None });
            twin.borrow().is_some()
        };
        let done = saturate_until(&mut egraph, &rules, limits, &met, &mut |_| {});
        self.egraph = egraph;
        self.stop = done.stop;
        twin.into_inner()
    }

    fn reached(&self) -> Reached {
        Reached {
            stop: self.stop.clone(),
            nodes: self.egraph.total_number_of_nodes(),
            forms: self.roots.map(|root| self.egraph[root].nodes.len()),
            parts: None,
        }
    }
}

impl Driven for Run<'_> {
    fn saturate(&mut self, rules: &[usize]) {
        if self.level.is_crossed() && self.first.is_empty() {
            self.first = rules.to_vec();
        }
        if self.twins {
            self.align();
        }
        while let Some(twin) = self.apply(rules, self.twins) {
            self.adopt(twin);
            if self.ended() {
                return;
            }
        }
    }

    /// This search makes no choices.
    fn keep(&mut self, _: usize) {}

    /// The only goal of this search is the equality of the sides.
    fn found(&self, _: &Sketch) -> bool {
        false
    }

    fn mark(&self) -> Mark {
        Mark::of(&self.egraph, 0)
    }

    fn ended(&self) -> bool {
        self.equal() || matches!(self.stop, StopReason::Contradiction { .. })
    }

    fn cut_short(&mut self) {
        self.stop = StopReason::IterationLimit;
    }
}
