//! Finds the chains for a model's program, and for two separate terms.

use super::price::{Price, Prices};
use crate::history::{History, Plain};
use crate::progress::Line;
use crate::tuning::Tuning;
use egg::Id;
use ember_compile::cost::Goal;
use ember_compile::groups::{Chosen, ChosenGroup, Plan};
use ember_compile::pipeline::{self, Case, Inputs, Options};
use ember_compile::ranking::Measure;
use ember_engine::saturate::StopReason;
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_language::rules::{Kind, Operators, Unit};
use ember_language::term::{Node, Term};
use ember_prove::chains::Chain;
use ember_prove::chains::short;
use ember_prove::chains::{Gap, Proof};

/// The derivations of the programs of a model's statements.
pub struct Explained {
    /// One chain for each group of statements that was searched.
    pub groups: Vec<GroupChain>,
}

/// The derivation of the program of one group.
pub struct GroupChain {
    /// The names of its statements.
    pub statements: Vec<String>,
    /// Other statements, equal up to names, whose programs have the same derivation.
    pub alike: Vec<String>,
    /// The steps, or the reason why there are none.
    pub chain: Result<Chain, Gap>,
    /// The price of each term of the chain, including the first; `None` if the term is not a finished program.
    pub prices: Vec<Option<Price>>,
    /// The measure of the chosen program by itself, if it was run.
    pub measure: Option<Measure>,
}

/// The program that a search chose, with the groups of the search.
pub struct Watched {
    /// The division of the model into groups.
    pub plan: Plan,
    /// The program.
    pub chosen: Chosen,
}

/// Searches a model and chooses its program: among all candidates, like the main job, or only among the schedule's own.
pub(crate) fn choose(tuning: &Tuning<'_>, own: bool, line: &Line) -> Checked<Watched> {
    let schedule = tuning.inputs.schedule(&tuning.options.schedule)?;
    let attempt = match own {
        true => tuning.own(schedule, pipeline::goal(&tuning.inputs.book, schedule), line)?,
        false => tuning.best_of(schedule, line)?,
    };
    let chosen = attempt.program(tuning.inputs, schedule)?.clone();
    Ok(Watched { plan: attempt.searched.plan.clone(), chosen })
}

/// Repeats the search of a group and records it. It is an error if the search does not find the same programs again.
pub(crate) fn watch(
    tuning: &Tuning<'_>,
    plan: &Plan,
    at: usize,
    chosen: Option<&ChosenGroup>,
) -> Checked<History> {
    let Tuning { inputs, statistics, options, .. } = tuning;
    // A program that another schedule found is explained by that schedule.
    let by = chosen.map_or(options.schedule.as_str(), |c| c.candidate.schedule.as_str());
    let schedule = inputs.schedule(by)?;
    let mut history = History::default();
    let mut record = |egraph: &ember_analysis::facts::EGraph,
                      root: Id,
                      event: ember_compile::search::Event<'_>| {
        history.record(egraph, root, event);
    };
    let found = pipeline::watch(inputs, statistics, options, schedule, (plan, at), &mut record);
    let same = |chosen: &ChosenGroup| {
        found.candidates.iter().any(|candidate| candidate.term == chosen.candidate.term)
    };
    if chosen.is_none_or(same) {
        return Ok(history);
    }
    let error = Diagnostic::global("the search, run again to be watched, came to other programs");
    Err(vec![error.with_help("this is an error of the compiler; please report it")])
}

/// Returns the groups that were searched, or only the group that represents a statement.
pub(crate) fn groups_of(plan: &Plan, statement: Option<usize>) -> Checked<Vec<usize>> {
    match statement {
        Some(statement) => plan.searched_for(statement).map(|group| vec![group]),
        None => Ok(plan.searched().collect()),
    }
}

/// Explains the program that is chosen for a model, for all its statements or for one.
pub fn explain(
    inputs: &Inputs,
    options: &Options,
    statement: Option<usize>,
    line: &Line,
) -> Checked<Explained> {
    let (case, _) = Case::to_rank(&inputs.model, options)?;
    let tuning = Tuning::new(inputs, &case, options);
    let Watched { plan, chosen } = choose(&tuning, false, line)?;
    let mut groups = Vec::new();
    for at in groups_of(&plan, statement)? {
        line.say("searching again, watched");
        let history = watch(&tuning, &plan, at, chosen.groups.get(at))?;
        let Some(group) = chosen.groups.get(at) else { continue };
        line.say("looking for the rules that led there");
        let mut proof = Proof::new(&inputs.book, &inputs.compiled);
        history.egraphs().for_each(|egraph| proof.add(egraph, usize::MAX));
        let statements = &plan.groups[at].term;
        let start = match chosen.goal {
            Goal::Decoupled => decoupled(inputs.book.signature.table(), statements),
            Goal::Coupled => statements.clone(),
        };
        let chain = proof.chain(&start, &group.candidate.term);
        let chain = chain.map(|chain| short(chain, &inputs.book));
        let prices = Prices::new(inputs, &tuning.statistics, &plan.groups[at], chosen.goal);
        let prices = match &chain {
            Ok(chain) => chain.terms().map(|term| prices.of(term)).collect(),
            Err(_) => Vec::new(),
        };
        let name = |at: &usize| inputs.model.statement_name(*at);
        let like = |other: &usize| *other != at && plan.like[*other] == at;
        let alike = (0..plan.groups.len()).filter(like);
        groups.push(GroupChain {
            statements: plan.groups[at].statements.iter().map(name).collect(),
            alike: alike.flat_map(|other| plan.groups[other].statements.iter().map(name)).collect(),
            chain,
            prices,
            measure: group.measure.clone(),
        });
    }
    Ok(Explained { groups })
}

/// Returns the term from which the search of a decoupled program starts: the statement at the boundary to both units.
pub fn decoupled(operators: &Operators, statement: &Term) -> Term {
    let mut term = statement.clone();
    let boundary = operators.boundary(Kind::Statement, Unit::Both);
    if let Some((root, boundary)) = term.len().checked_sub(1).zip(boundary) {
        term.add(Node::op(boundary.as_str(), &[Id::from(root)]));
    }
    term
}

/// Explains why two terms are equal. Also returns the reason why the search ended: if a limit stopped it and there is
/// no chain, the terms may still be equal.
pub fn explain_terms(
    plain: &Plain<'_>,
    from: &Term,
    to: &Term,
) -> (Result<Chain, Gap>, StopReason) {
    let history = plain.run(&[from.clone(), to.clone()]);
    let stops = history.saturations().map(|(_, _, _, saturation)| saturation.stop.clone());
    let stop = stops.filter(|stop| *stop != StopReason::Saturated).last();
    let mut proof = Proof::new(plain.book, plain.compiled);
    // A single e-graph contains the results of all stages, in one journal.
    history.egraphs().for_each(|egraph| proof.add(egraph, usize::MAX));
    let chain = proof.chain(from, to).map(|chain| short(chain, plain.book));
    (chain, stop.unwrap_or(StopReason::Saturated))
}
