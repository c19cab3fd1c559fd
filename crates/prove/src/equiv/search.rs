//! Searches for a proof: applies rules to both sides in one e-graph until they are in one class, and finds the chain of
//! rules that connects them.

use super::certificate::Uncertified::{self, Lost};
use super::certificate::{Certificate, Proved, certify};
use super::equation::extended;
use super::join::joined;
use super::level::reached;
use super::meeting::Meeting;
use super::names::{apart, each, normalise};
use super::parts::{Part, parts};
use super::question::{Question, question, unparted};
use super::sides::{Side, Sides, Unread, What};
use ember_analysis::facts::{EGraph, VectorUnit};
use ember_certify::{Rules, check};
use ember_engine::CompiledRule;
use ember_engine::drive::Driver;
use ember_engine::saturate::{Limits, StopReason};
use ember_language::diagnostic::Sources;
use ember_language::erase::erased_as_far;
use ember_language::rules::{Attempt, Exactness, RuleBook, Schedule};
use ember_language::sexp::{self, Sexp};
use ember_language::term::Term;
use ember_targets::machine::Machine;
use std::collections::BTreeMap;

/// The assumption of a comparison part by part.
const BARRIERS: &str =
    "trusted: both programs are read as parts with barriers between, in the order of the second";

/// The outcome of one attempt of the schedule.
#[derive(Clone, Debug)]
pub struct Phase {
    /// The name of the attempt.
    pub name: &'static str,
    /// Its purpose.
    pub doc: String,
    /// The reason why it stopped.
    pub stop: StopReason,
    /// The number of e-nodes at the end.
    pub nodes: usize,
    /// The rule that added most of the e-nodes, and their number.
    pub heaviest: Option<(&'static str, usize)>,
    /// True if it proved the sides, or one part of them, equal.
    pub proved: bool,
}

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

/// The outcome of a search, and the attempts that led to it, in order.
pub(super) type Sought = (Found, Vec<Phase>);

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
            let question = unparted(question, &forgetful);
            let attempts = search.schedule.attempts();
            attempts.iter().any(|attempt| search.sound(question, attempt, record, true).equal())
        })
    }

    /// Searches for a proof that two terms are equal.
    pub fn run(&self, sides: &Sides, terms: &[Term; 2]) -> Found {
        self.sought(sides, terms).0
    }

    /// Does the same, and tells what each attempt came to.
    pub(super) fn sought(&self, sides: &Sides, terms: &[Term; 2]) -> Sought {
        self.with_layouts(sides, |search| search.proved(sides, terms))
    }

    /// Runs a search with the equations of layouts and assumptions as additional rules.
    fn with_layouts<R>(&self, sides: &Sides, run: impl FnOnce(&Search<'_>) -> R) -> R {
        if !sides.declarations.restricts() {
            return run(self);
        }
        let book = extended(self.book, sides.declarations.equations());
        let compiled = ember_engine::compile(&book);
        let schedule = book.schedule(self.schedule.name.as_str()).unwrap_or(self.schedule);
        run(&Search { book: &book, compiled: &compiled, schedule, ..*self })
    }

    /// Proves both sides part by part if they have parts, then as a whole.
    fn proved(&self, sides: &Sides, terms: &[Term; 2]) -> Sought {
        let between = self.between(sides);
        let question = question(sides, terms, between.as_ref());
        let operators = self.book.signature.table().clone();
        let mut trusted: Vec<String> =
            [&sides.left, &sides.right].into_iter().filter_map(Side::reading).collect();
        let facts = question.egraph(&operators, self.vectors(), self.exact, false);
        let forgetful = question.forgetful(&operators);
        let whole = || self.whole(unparted(question, &forgetful));
        let ((found, phases), parts) = match parts(&question, facts) {
            None => (whole(), None),
            Some(parts) => match self.each(question, &parts) {
                (sought @ (Found::Equal(Ok(_)), _), _) => {
                    trusted.push(BARRIERS.to_owned());
                    (sought, None)
                }
                ((_, mut phases), proved) => {
                    let (found, more) = whole();
                    phases.extend(more);
                    ((found, phases), Some(proved))
                }
            },
        };
        let found = match found {
            Found::Open(reached) => Found::Open(Reached { parts, ..reached }),
            Found::Equal(certificate) => Found::Equal(certificate.map(|certificate| {
                let trusted = certificate.assumed().chain(trusted).collect();
                Certificate { trusted, ..certificate }
            })),
        };
        (found, phases)
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
    fn each(&self, question: Question<'_>, parts: &[Part]) -> (Sought, [usize; 2]) {
        let mut certificates: Vec<Certificate> = Vec::new();
        let mut phases = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let between = part.between.as_ref();
            let before: Vec<Sexp> =
                certificates.last().into_iter().flat_map(Certificate::variables).cloned().collect();
            // The time for a part must not depend on the number of other parts.
            let own = question.declarations.of(&part.names(&before));
            let own = Question {
                declarations: &own,
                terms: &part.terms,
                between,
                before: &before,
                ..question
            };
            let (found, more) = self.whole(own);
            phases.extend(more);
            match found {
                Found::Equal(Ok(certificate)) => certificates.push(certificate),
                other => return ((other, phases), [at, parts.len()]),
            }
        }
        let whole = joined(&certificates, question.declarations, question.level);
        let whole = whole.and_then(|found| self.checked(&found).map(|()| found));
        ((Found::Equal(whole), phases), [parts.len(); 2])
    }

    /// Makes the attempts of the schedule, in order, until one gives a certificate. Otherwise the outcome is that of
    /// the last attempt that found the sides equal, or of the last one.
    fn whole(&self, question: Question<'_>) -> Sought {
        let mut phases: Vec<Phase> = Vec::new();
        let mut best = None;
        for attempt in self.schedule.attempts() {
            // With more e-nodes, what has saturated comes to the same.
            let same = |done: &Phase| done.name == attempt.name.as_str();
            if phases.iter().any(|done| same(done) && done.stop == StopReason::Saturated) {
                continue;
            }
            let (found, phase) = self.attempted(question, &attempt);
            phases.push(phase);
            let contradicts =
                |reached: &Reached| matches!(reached.stop, StopReason::Contradiction { .. });
            match &found {
                Found::Equal(Ok(_) | Err(Uncertified::NotAsked)) => return (found, phases),
                Found::Open(reached) if contradicts(reached) => return (found, phases),
                Found::Open(_) if matches!(best, Some(Found::Equal(_))) => {}
                _ => best = Some(found),
            }
        }
        (best.unwrap_or(Found::Equal(Err(Lost("there is nothing to attempt")))), phases)
    }

    /// Searches for a proof in one e-graph. The first search matches programs up to the names of loops; if it gives no
    /// certificate, a second search renames loops by rules.
    fn attempted(&self, question: Question<'_>, attempt: &Attempt) -> (Found, Phase) {
        let first = self.proof(question, attempt, true);
        if self.certify.is_some() && matches!(first.0, Found::Equal(Err(_))) {
            // Renaming adds many forms, so that only small searches are worthwhile.
            let limits = Limits { nodes: self.limits.nodes / 4, ..self.limits };
            let second = Search { limits, ..*self }.proof(question, attempt, false);
            if matches!(second.0, Found::Equal(Ok(_))) {
                return second;
            }
        }
        first
    }

    fn proof(&self, question: Question<'_>, attempt: &Attempt, twins: bool) -> (Found, Phase) {
        let run = self.sound(question, attempt, self.certify.is_some(), twins);
        let found = self.certified(question, &run);
        let proved = matches!(found, Found::Equal(_));
        (found, run.phase(attempt, proved))
    }

    /// Writes the certificate of a run that found the sides equal.
    fn certified(&self, question: Question<'_>, run: &Run) -> Found {
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
            terms: &run.meeting.terms,
            before: question.before,
            rows: question.rows,
        };
        let certificate = certify(&proved);
        Found::Equal(certificate.and_then(|found| self.checked(&found).map(|()| found)))
    }

    /// Runs one attempt. If bounds that turned out to be equal have merged the variables of nested loops, the result
    /// is meaningless, and the search is repeated with names that keep the variables apart. If `twins` is true, sides
    /// are matched up to the names of their variables.
    fn sound(&self, question: Question<'_>, attempt: &Attempt, record: bool, twins: bool) -> Run {
        let run = self.saturated(question, attempt, record, twins);
        if !run.captured {
            return run;
        }
        let operators = self.book.signature.table().clone();
        let terms = question.terms.each_ref().map(|term| apart(term, &operators));
        let between = question.between.map(|model| apart(model, &operators));
        let question = Question { terms: &terms, between: between.as_ref(), ..question };
        self.saturated(question, attempt, record, twins)
    }

    fn saturated(
        &self,
        question: Question<'_>,
        attempt: &Attempt,
        record: bool,
        twins: bool,
    ) -> Run {
        let Question { level, terms, between, .. } = question;
        let operators = self.book.signature.table().clone();
        let mut egraph = question.egraph(&operators, self.vectors(), self.exact, record);
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
            adopted: Vec::new(),
            added: BTreeMap::new(),
        };
        let nodes = attempt.nodes.map_or(self.limits.nodes, |nodes| nodes.min(self.limits.nodes));
        let mut driver = Driver::new(egraph, self.compiled, Limits { nodes, ..self.limits })
            .allowing(|_, rule| rule.exact <= self.exact);
        driver.run(&attempt.steps, &mut meeting);
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

    fn phase(&self, attempt: &Attempt, proved: bool) -> Phase {
        let heaviest = self.meeting.added.iter().max_by_key(|(_, nodes)| **nodes);
        Phase {
            name: attempt.name.as_str(),
            doc: attempt.doc.clone(),
            stop: self.stop.clone(),
            nodes: self.egraph.total_number_of_nodes(),
            heaviest: heaviest.map(|(rule, nodes)| (*rule, *nodes)),
            proved,
        }
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
