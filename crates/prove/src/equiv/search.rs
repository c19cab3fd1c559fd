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
use super::sides::{Side, Sides, Unread, What};
use egg::Id;
use ember_analysis::facts::{EGraph, Facts, VectorUnit};
use ember_certify::{Rules, check};
use ember_engine::CompiledRule;
use ember_engine::drive::{AppliedAgain, Driver, Observer};
use ember_engine::saturate::{Limits, Saturation, StopReason};
use ember_language::diagnostic::Sources;
use ember_language::erase::erased_as_far;
use ember_language::rules::Operators;
use ember_language::rules::{Exactness, RuleBook, Schedule};
use ember_language::sexp;
use ember_language::term::Term;
use ember_targets::machine::Machine;
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
        let Run { meeting, egraph, .. } = run;
        let Some(rules) = self.certify else {
            return Found::Equal(Err(Uncertified::NotAsked));
        };
        let proved = Proved {
            search: &egraph,
            book: self.book,
            compiled: self.compiled,
            rules,
            declarations: question.declarations,
            terms: &meeting.terms,
            before: question.before,
            rows: question.rows,
        };
        let certificate = certify(&proved);
        Found::Equal(certificate.and_then(|found| self.checked(&found).map(|()| found)))
    }

    /// Runs the schedule. If bounds that turned out to be equal have merged the variables of nested loops, the result
    /// is meaningless, and the search is repeated with names that keep the variables apart. If `twins` is true, sides
    /// are matched up to the names of their variables.
    fn sound(&self, question: Question<'_>, record: bool, twins: bool) -> Run {
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

    fn saturated(&self, question: Question<'_>, record: bool, twins: bool) -> Run {
        let Question { level, terms, between, .. } = question;
        let operators = self.book.signature.table().clone();
        let mut egraph = question.egraph(&operators, self.vectors(), record);
        let roots = [egraph.add_expr(&terms[0]), egraph.add_expr(&terms[1])];
        // The raised statements let the rules work from both ends: from statements of one processor down to both
        // programs, and between the statements.
        let statements =
            terms.each_ref().map(|term| egraph.add_expr(&erased_as_far(term, &operators)));
        let model = between.map(|m| egraph.add_expr(m));
        for statement in statements.into_iter().chain(model) {
            level.cross(statement, |node| egraph.add(node));
        }
        egraph.rebuild();
        let mut meeting = Meeting {
            each: terms.each_ref().map(|term| each(term, &operators)),
            operators,
            roots,
            level: level.clone(),
            statements,
            model,
            terms: terms.clone(),
            named: terms.iter().chain(between).cloned().collect(),
            first: Vec::new(),
            twins,
            twin: None,
        };
        let mut driver = Driver::new(egraph, self.compiled, self.limits)
            .allowing(|_, rule| rule.exact <= self.exact);
        driver.run(&self.schedule.steps, &mut meeting);
        let Driver { egraph, stop, .. } = driver;
        let captured = meeting.captured(&egraph);
        Run { meeting, egraph, stop, captured }
    }
}

/// A run of a schedule, ended.
struct Run {
    meeting: Meeting,
    egraph: EGraph,
    stop: StopReason,
    /// True if the variables of two nested loops have become equal.
    captured: bool,
}

impl Run {
    fn equal(&self) -> bool {
        !self.captured && self.meeting.is_reached(&self.egraph)
    }

    fn reached(&self) -> Reached {
        Reached {
            stop: self.stop.clone(),
            nodes: self.egraph.total_number_of_nodes(),
            forms: self.meeting.roots.map(|root| self.egraph[root].nodes.len()),
            parts: None,
        }
    }
}

/// Both sides in an e-graph, and what leads them to one class.
struct Meeting {
    operators: Arc<Operators>,
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
    /// A side that has just been found so.
    twin: Option<Twin>,
}

/// A side that was found under other names: its index, and the names of its variables there.
type Twin = (usize, BTreeMap<i64, Id>);

impl Meeting {
    fn is_reached(&self, egraph: &EGraph) -> bool {
        Met(self.roots).is_reached(egraph)
    }

    /// True if the variables of two nested loops have become equal.
    fn captured(&self, egraph: &EGraph) -> bool {
        self.named.iter().any(|term| {
            // The raised statements of programs for two units have loops with other bounds, so that they are checked as
            // well.
            let forms = [term, &erased_as_far(term, &self.operators)];
            forms.iter().any(|term| captured(term, &self.operators, egraph))
        })
    }

    /// Searches the classes that should hold a side for the side under other names.
    fn twin(&self, egraph: &EGraph) -> Option<Twin> {
        for (side, own) in self.each.iter().enumerate() {
            let own = erased_as_far(own, &self.operators);
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
    fn align(&self, egraph: &mut EGraph) {
        for side in [0, 1] {
            let own = erased_as_far(&self.each[side], &self.operators);
            let other = egraph.find(self.statements[1 - side]);
            for names in alpha::outermost(egraph, &self.operators, other, &own) {
                let term = alpha::renamed(egraph, &own, &names);
                alpha::add_variables(egraph, &term);
            }
        }
        egraph.rebuild();
    }

    /// Continues with a side under the names with which it was found.
    fn adopt(&mut self, driver: &mut Driver<'_, Facts>, (side, names): Twin) {
        let egraph = &mut driver.egraph;
        let term = alpha::renamed(egraph, &self.each[side], &names);
        self.statements[side] = egraph.add_expr(&erased_as_far(&term, &self.operators));
        self.roots[side] = egraph.add_expr(&term);
        self.named.push(term.clone());
        self.terms[side] = term;
        self.level.cross(self.statements[side], |node| egraph.add(node));
        egraph.rebuild();
        if self.level.is_crossed() {
            driver.apply(&self.first, &mut Met(self.roots));
        }
    }
}

impl Observer<Facts> for Meeting {
    /// Sides that meet are enough, and so is one that is found under other names.
    fn enough(&mut self, egraph: &EGraph) -> bool {
        if self.is_reached(egraph) {
            return true;
        }
        self.twin = if self.twins { self.twin(egraph) } else { None };
        self.twin.is_some()
    }

    fn starting(&mut self, driver: &mut Driver<'_, Facts>, rules: &[usize]) {
        if self.level.is_crossed() && self.first.is_empty() {
            self.first = rules.to_vec();
        }
        if self.twins {
            self.align(&mut driver.egraph);
        }
    }

    fn saturated(
        &mut self,
        driver: &mut Driver<'_, Facts>,
        _: &[usize],
        _: Saturation,
    ) -> AppliedAgain {
        let Some(twin) = self.twin.take() else { return AppliedAgain::No };
        self.adopt(driver, twin);
        AppliedAgain::Yes
    }

    fn ended(&self, driver: &Driver<'_, Facts>) -> bool {
        self.is_reached(&driver.egraph) || driver.contradictory()
    }
}

/// Waits until two classes are one.
struct Met([Id; 2]);

impl Met {
    fn is_reached(&self, egraph: &EGraph) -> bool {
        egraph.find(self.0[0]) == egraph.find(self.0[1])
    }
}

impl Observer<Facts> for Met {
    fn enough(&mut self, egraph: &EGraph) -> bool {
        self.is_reached(egraph)
    }
}
