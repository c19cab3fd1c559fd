//! Looking for a proof: both sides in one e-graph, rules applied to both until they are one class, and
//! the chain of rules that leads from the one to the other.

use super::certificate::{Certificate, Proved, certify};
use super::names::{apart, captured, normalise};
use super::sides::{Sides, What};
use crate::certify::{Rules, check};
use crate::diagnostic::Sources;
use crate::drive::{Driven, Mark, drive};
use crate::facts::{EGraph, Facts, VectorUnit};
use crate::rules::{CompiledRule, Exactness, RuleBook, Schedule, Sketch};
use crate::saturate::{Limits, StopReason, saturate};
use crate::sexp;
use crate::term::{Node, Term};
use egg::Id;
use ember_targets::machine::Machine;

/// Iterations after which it is looked whether the sides are equal by now.
const LOOK: usize = 2;

/// How far a search has come.
#[derive(Clone, Debug)]
pub struct Reached {
    /// Why it ended.
    pub stop: StopReason,
    /// E-nodes.
    pub nodes: usize,
    /// Forms of each side's outermost operator that were found.
    pub forms: [usize; 2],
}

/// What came of a search.
#[derive(Debug)]
pub enum Found {
    /// The sides are equal; with the certificate, or why there is none.
    Equal(Result<Certificate, String>),
    /// Not found to be equal.
    Open(Reached),
}

/// What is searched with.
pub struct Search<'a> {
    /// The rules' declarations.
    pub book: &'a RuleBook,
    /// The rules, in the book's order.
    pub compiled: &'a [CompiledRule],
    /// Which rules run, in order.
    pub schedule: &'a Schedule,
    /// The machine, of which rules ask the length of vectors.
    pub machine: &'a Machine,
    /// The least exact rules that may run.
    pub exact: Exactness,
    /// Bounds on each saturation.
    pub limits: Limits,
    /// The rules as the checker reads them; without them nothing is recorded and no certificate
    /// written.
    pub certify: Option<&'a Rules>,
}

/// The terms of both sides, with variables named by their loops; a statement beside one that is split
/// between the units is such a statement, too. `None` where a side is no term.
pub fn terms(sides: &Sides, book: &RuleBook) -> Option<[Term; 2]> {
    let binders = book.signature.binders();
    lifted(sides).map(|terms| terms.map(|term| normalise(&term, &binders)))
}

/// The same with variables as they were written.
fn lifted(sides: &Sides) -> Option<[Term; 2]> {
    let (What::Term { term: a, sort: left }, What::Term { term: b, sort: right }) =
        (&sides.left.what, &sides.right.what)
    else {
        return None;
    };
    let units = left.name() == "Slc" || right.name() == "Slc";
    let lifted = |term: &Term, sort: &str| {
        let mut term = term.clone();
        if units && sort == "Stmt" {
            let root = Id::from(term.len().saturating_sub(1));
            term.add(Node::op("slc", &[root]));
        }
        term
    };
    Some([lifted(a, left.name()), lifted(b, right.name())])
}

impl Search<'_> {
    /// Whether rules make two terms equal, without a proof.
    pub fn equal(&self, sides: &Sides, terms: &[Term; 2], record: bool) -> bool {
        self.sound(sides, terms, record).0.equal()
    }

    fn saturated(&self, sides: &Sides, terms: &[Term; 2], record: bool) -> Run<'_> {
        let context = sides.declarations.context();
        let unit = VectorUnit {
            simd_bytes: self.machine.core.simd_bytes,
            registers: self.machine.core.vector_registers,
        };
        let binders = self.book.signature.binders();
        let facts = Facts::new(&context.tensors, &context.sizes, binders, unit);
        let facts = if record { facts.recording() } else { facts };
        let mut egraph = EGraph::new(facts);
        let roots = [egraph.add_expr(&terms[0]), egraph.add_expr(&terms[1])];
        egraph.rebuild();
        let mut run = Run { search: self, egraph, roots, stop: StopReason::Saturated };
        drive(&mut run, &self.schedule.steps, self.limits.iterations);
        run
    }

    /// The same; where bounds that turned out to be the same made one variable of two, nothing that was
    /// found means anything, and variables get names that keep them apart.
    fn sound(&self, sides: &Sides, terms: &[Term; 2], record: bool) -> (Run<'_>, [Term; 2]) {
        let run = self.saturated(sides, terms, record);
        let binders = self.book.signature.binders();
        if terms.iter().all(|term| !captured(term, &binders, &run.egraph)) {
            return (run, terms.clone());
        }
        let terms = terms.each_ref().map(|term| apart(term, &binders));
        (self.saturated(sides, &terms, record), terms)
    }

    /// Searches for a proof that two terms are equal.
    pub fn run(&self, sides: &Sides, terms: &[Term; 2]) -> Found {
        let (run, terms) = self.sound(sides, terms, self.certify.is_some());
        if !run.equal() {
            return Found::Open(run.reached());
        }
        let Some(rules) = self.certify else {
            return Found::Equal(Err("none was asked for".to_owned()));
        };
        let proved = Proved {
            search: &run.egraph,
            book: self.book,
            compiled: self.compiled,
            rules,
            declarations: &sides.declarations,
            terms: &terms,
        };
        Found::Equal(certify(&proved).and_then(|certificate| {
            let mut sources = Sources::default();
            let file = sources.add("<certificate>", certificate.text.as_str());
            let forms = sexp::read(&sources, file).map_err(|_| "it is not balanced".to_owned())?;
            let form = forms.first().ok_or("it is empty")?;
            check(rules, form).map(|_| certificate)
        }))
    }
}

struct Run<'a> {
    search: &'a Search<'a>,
    egraph: EGraph,
    roots: [Id; 2],
    stop: StopReason,
}

impl Run<'_> {
    fn equal(&self) -> bool {
        self.egraph.find(self.roots[0]) == self.egraph.find(self.roots[1])
    }

    fn reached(&self) -> Reached {
        Reached {
            stop: self.stop.clone(),
            nodes: self.egraph.total_number_of_nodes(),
            forms: self.roots.map(|root| self.egraph[root].nodes.len()),
        }
    }
}

impl Driven for Run<'_> {
    fn saturate(&mut self, rules: &[usize]) {
        let Search { compiled, exact, limits, .. } = self.search;
        let rules = rules.iter().map(|rule| &compiled[*rule]).filter(|rule| rule.exact <= *exact);
        let rules: Vec<&CompiledRule> = rules.collect();
        let mut left = limits.iterations;
        while left > 0 && !self.ended() {
            let iterations = left.min(LOOK);
            left -= iterations;
            let limits = Limits { iterations, ..*limits };
            let done = saturate(&mut self.egraph, &rules, &limits, &mut |_| {});
            match done.stop {
                StopReason::IterationLimit if left > 0 => {}
                StopReason::Saturated => return,
                stop => {
                    self.stop = stop;
                    return;
                }
            }
        }
    }

    /// Nothing is to be chosen.
    fn keep(&mut self, _: usize) {}

    /// The goal of every sketch here is that the sides are equal.
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
