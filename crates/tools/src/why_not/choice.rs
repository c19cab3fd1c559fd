//! Compares programs that contain a rule's results with the kept programs and the chosen one.

use super::compare::{Told, resources};
use super::forced::{NotFound, Priced, Reach, best_with, made_by};
use super::pruned::Given;
use super::removed::Removed;
use super::stage::{Subject, plural, report, times};
use super::unfinished::{Stuck, stuck, to_lower};
use super::{Answer, Cause};
use crate::explain::{decoupled, place};
use crate::history::{History, Stage, What};
use crate::show::Show;
use crate::tuning::Tuning;
use egg::{ENodeOrVar, Id};
use ember_analysis::facts::EGraph;
use ember_compile::cost::{Fetches, Goal, Model, Rates};
use ember_compile::groups::{Chooser, ChosenGroup, Plan};
use ember_compile::pipeline::{self, lower};
use ember_compile::search::Candidate;
use ember_language::rebuild::try_rebuild;
use ember_language::term::{Node, Term};
use ember_prove::chains::{Proof, Step, Terms, short};
use itertools::Itertools;
use std::collections::BTreeSet;

/// A rule that fired in the search of a group.
pub(super) struct Fired<'a> {
    pub subject: Subject<'a>,
    pub tuning: &'a Tuning<'a>,
    pub plan: &'a Plan,
    pub group: usize,
    pub history: &'a History,
    pub chosen: &'a ChosenGroup,
}

impl Fired<'_> {
    /// Returns the fate of the rule's results; `None` if it changed nothing.
    pub fn answer(&self) -> Option<Answer> {
        let evidence = self.firing()?;
        let answer = self.used().or_else(|| self.removed()).or_else(|| self.taken());
        let mut answer = answer.unwrap_or_else(|| self.lost());
        answer.evidence.insert(0, ("fired", evidence));
        Some(answer)
    }

    /// Returns the runs in which it changed something.
    fn firing(&self) -> Option<String> {
        let mut told = Vec::new();
        for (k, (_, _, rules, saturation)) in self.history.saturations().enumerate() {
            let report = report(rules, saturation, self.subject.at);
            if let Some(report) = report.filter(|report| self.subject.changed(report)) {
                told.push(format!(
                    "in saturation {}, {}; it made {}",
                    k + 1,
                    times(report.applications),
                    plural(report.nodes, "e-node", "e-nodes")
                ));
            }
        }
        (!told.is_empty()).then(|| told.join("\n"))
    }

    /// Returns the answer if it contributed to the chosen program.
    fn used(&self) -> Option<Answer> {
        let rule = self.subject.rule();
        let mut proof = Proof::new(self.subject.book, self.subject.compiled);
        self.history.egraphs().for_each(|egraph| proof.add(egraph, usize::MAX));
        let start =
            decoupled(self.subject.book.signature.table(), &self.plan.groups[self.group].term);
        let long = proof.chain(&start, &self.chosen.candidate.term).ok()?;
        let own = |step: &Step| step.name() == rule.name.as_str();
        let chain = Some(short(long.clone(), self.subject.book));
        let chain = chain.filter(|chain| chain.steps.iter().any(own)).unwrap_or(long);
        let own: Vec<usize> = chain.steps.iter().positions(own).collect();
        let first = *own.first()?;
        let mut answer = self.subject.answer(
            Cause::Used,
            format!(
                "`{}` has a part in the chosen program: {} of the {} steps that lead to it",
                rule.name,
                own.len(),
                chain.steps.len()
            ),
        );
        let (step, whole) = (&chain.steps[first], chain.terms().nth(first)?);
        answer.evidence.push(("step", format!("{} of {}", first + 1, chain.steps.len())));
        answer.evidence.push(("at", place(whole, &step.position)));
        let (before, after) = crate::explain::difference(step);
        answer.evidence.push(("before", self.subject.line(&before)));
        answer.evidence.push(("after", self.subject.line(&after)));
        answer.evidence.push(("without it", self.without()));
        Some(answer)
    }

    /// Returns the kind of program that the schedule is for.
    fn goal(&self) -> Goal {
        let Tuning { inputs, options, .. } = self.tuning;
        let schedule = inputs.schedule(&options.schedule);
        schedule.map_or(Goal::Decoupled, |schedule| pipeline::goal(&inputs.book, schedule))
    }

    /// Describes the choice if the rule is left out.
    fn without(&self) -> String {
        let Tuning { inputs, case, statistics, options, .. } = self.tuning;
        let Ok(schedule) = inputs.schedule(&options.schedule) else { return String::new() };
        let schedule = schedule.only(|rule| rule != self.subject.at);
        let group = (self.plan, self.group);
        let found =
            pipeline::watch(inputs, statistics, options, &schedule, group, &mut |_, _, _| ());
        let rank = options.rank.then_some(*case);
        let chooser = Chooser::new(inputs, rank, self.goal());
        match chooser.best_of(self.plan, self.group, &found.candidates) {
            Err(_) => "no program that runs is found".to_owned(),
            Ok(other) if other.candidate.term == self.chosen.candidate.term => {
                "the same program is found, in another way".to_owned()
            }
            Ok(other) => {
                let here = Told::of(&self.chosen.candidate, self.chosen.measure.as_ref());
                let there = Told::of(&other.candidate, other.measure.as_ref());
                format!("{}, which is {}", there.text(), there.own_speed(&here))
            }
        }
    }

    /// Returns the answer if it removed other terms from the search.
    fn removed(&self) -> Option<Answer> {
        let name = self.subject.rule().name;
        let own = |stage: &&Stage| {
            Removed::all(self.subject.compiled, &stage.egraph).iter().any(|own| own.by == name)
        };
        let stage = self.history.stages.iter().find(own)?;
        let removed = Removed::all(self.subject.compiled, &stage.egraph);
        let removed: Vec<&Removed> = removed.iter().filter(|own| own.by == name).collect();
        let text = format!(
            "`{name}` has a part in the choice: it removed {} from the search",
            plural(removed.len(), "term", "terms")
        );
        let mut answer = self.subject.answer(Cause::Used, text);
        let show = Show::new(&stage.egraph, stage.root, self.subject.words);
        answer.evidence.push(("removed", show.node(&removed.first()?.node)));
        answer.evidence.push(("at", show.place(removed.first()?.class)));
        answer.evidence.push(("without it", self.without()));
        Some(answer)
    }

    /// Returns the answer if another rule removed what it made from the search.
    fn taken(&self) -> Option<Answer> {
        let name = self.subject.rule().name;
        self.history.stages.iter().find_map(|stage| {
            let made = self.made_in(&stage.egraph, []);
            let removed = Removed::all(self.subject.compiled, &stage.egraph);
            let own = removed.iter().filter(|own| own.by != name && made.contains(&own.node));
            let own: Vec<&Removed> = own.collect();
            let first = own.first()?;
            let text =
                format!("`{name}` fired, and `{}` removed what it made from the search", first.by);
            let mut answer = self.subject.answer(Cause::Removed, text);
            let show = Show::new(&stage.egraph, stage.root, self.subject.words);
            answer.evidence.push(("made", show.node(&first.node)));
            answer.evidence.push(("at", show.place(first.class)));
            answer.evidence.push(("removed", times(own.len())));
            answer.help = Some(format!("leave `{}` out", first.by));
            Some(answer)
        })
    }

    /// Returns the answer if the chosen program was derived without it.
    fn lost(&self) -> Answer {
        let mut carried: Vec<Term> = Vec::new();
        for stage in &self.history.stages {
            let What::Extracted { asked, candidates, last } = &stage.what else { continue };
            let carried_over = carried.iter().filter_map(|term| root_node(&stage.egraph, term));
            let marked = self.made_in(&stage.egraph, carried_over);
            let Tuning { inputs, statistics, .. } = self.tuning;
            let workload = statistics.workload(&stage.egraph);
            let rates = Rates::of(&inputs.machine);
            let model = Model::for_choice(self.goal(), &rates, &workload, Fetches::Each);
            let best = best_with(&stage.egraph, stage.root, &model, &marked);
            if marked.is_empty() && !last {
                continue;
            }
            let best = match best {
                Ok(best) => best,
                Err(none) => return self.not_finished(stage, &marked, &model, &none),
            };
            let with: Vec<Term> = candidates
                .iter()
                .flat_map(|candidate| parts(&candidate.term, &stage.egraph, &marked))
                .collect();
            if *last {
                return self.not_chosen(stage, candidates, &best, &marked, &rates);
            }
            if with.is_empty() {
                let why = Given::up(stage, &model, &marked, (*asked, candidates), &best);
                return why.answer(self.subject, candidates, &best, &rates);
            }
            carried = with;
        }
        self.subject.answer(Cause::NotFinished, "the search came to no programs".to_owned())
    }

    /// Returns the nodes that the rule made, and the nodes that other rules made from these or from carried-over nodes.
    fn made_in(&self, egraph: &EGraph, carried: impl IntoIterator<Item = Node>) -> BTreeSet<Node> {
        let compiled = self.subject.compiled.iter().map(|rule| (rule.name, rule)).collect();
        made_by(egraph, self.subject.rule().name, &compiled, carried)
    }

    fn not_finished(
        &self,
        stage: &Stage,
        made: &BTreeSet<Node>,
        model: &Model<'_>,
        none: &NotFound,
    ) -> Answer {
        let rule = self.subject.rule();
        if let Some(ENodeOrVar::Var(_)) = rule.rhs.as_ref().last() {
            let text = format!(
                "`{}` fired, and the chosen program came about without the equalities that it found",
                rule.name
            );
            return self.subject.answer(Cause::NotChosen, text);
        }
        let contains = match none.certain {
            true => "no finished program contains",
            false => "no finished program was found that contains",
        };
        let mut answer = self.subject.answer(
            Cause::NotFinished,
            format!(
                "`{}` fired, and {contains} what it made, or what others made of it",
                rule.name
            ),
        );
        if !none.certain {
            let text = "not all were looked at: a part has too many forms".to_owned();
            answer.evidence.push(("programs", text));
        }
        let show = Show::new(&stage.egraph, stage.root, self.subject.words);
        let signature = &self.subject.book.signature;
        let reach = Reach::new(&stage.egraph, stage.root, model, made);
        match stuck(&show, signature, &reach, made) {
            None => {}
            Some(Stuck::Above { class, form, refused_by }) => {
                answer.evidence.push(("reaches", self.subject.line(&form)));
                answer.evidence.push(("at", show.place(class)));
                for node in refused_by.iter().take(3) {
                    answer.evidence.push(("refused by", show.node(node)));
                }
                answer.help = Some(
                    "a program binds streams by loops of the access unit alone, hands over nothing \
                     but streams, and neither unit writes what the other touches"
                        .to_owned(),
                );
            }
            Some(Stuck::Below { node, part }) => {
                answer.evidence.push(("made", show.node(&node)));
                answer.evidence.push(("unfinished", show.term(part)));
                answer.evidence.push(("at", show.place(part)));
                answer.help = Some(format!(
                    "ask why the rules that lower {} did not fire there, or write the one that does",
                    to_lower(&show, signature, part)
                ));
            }
        }
        answer
    }

    fn not_chosen(
        &self,
        stage: &Stage,
        candidates: &[Candidate],
        best: &Priced,
        marked: &BTreeSet<Node>,
        rates: &Rates,
    ) -> Answer {
        let Tuning { inputs, case, options, .. } = self.tuning;
        let name = self.subject.rule().name;
        let chosen = &self.chosen.candidate;
        if !parts(&chosen.term, &stage.egraph, marked).is_empty() {
            let text = format!("`{name}` fired, and the chosen program contains what it made");
            let mut answer = self.subject.answer(Cause::Used, text);
            answer.evidence.push(("but", "other rules made the same in another way".to_owned()));
            answer.evidence.push(("without it", self.without()));
            return answer;
        }
        let term = self.plan.term(self.group, &best.term);
        let context = &self.plan.groups[self.group].context;
        let program =
            lower(inputs.book.signature.table(), &inputs.machine, &term, context, self.goal());
        let measure = match (&program, options.rank) {
            (Err(why), _) => {
                let text =
                    format!("`{name}` fired, and the best program with it cannot run: {why}");
                let mut answer = self.subject.answer(Cause::NotChosen, text);
                answer.evidence.push(("program", self.subject.line(&best.term)));
                return answer;
            }
            (Ok(_), false) => None,
            (Ok(program), true) => case.rank(program.program(), &inputs.machine).ok(),
        };
        let with = Told { estimate: best.estimate, measure: measure.as_ref() };
        let own = Told::of(chosen, self.chosen.measure.as_ref());
        let mut answer = self.subject.answer(
            Cause::NotChosen,
            match own.own_speed(&with).as_str() {
                "as fast" => format!(
                    "`{name}` fired, and the best program with it is as fast as the chosen one: {}",
                    with.text()
                ),
                speed => format!(
                    "`{name}` fired, and the chosen program is {speed}: the best with it takes {}",
                    with.text()
                ),
            },
        );
        answer.evidence.push(("chosen", own.text()));
        answer.evidence.push(("with it", with.text()));
        answer.evidence.push(("resources", resources(rates, best, chosen)));
        let ranked = candidates.iter().any(|candidate| candidate.term == best.term);
        answer.evidence.push((
            "ranked",
            match (ranked, options.rank) {
                (_, false) => "by the cost model alone".to_owned(),
                (true, true) => "both were run".to_owned(),
                (false, true) => format!(
                    "it was not among the {} that were run; it was run now",
                    candidates.len()
                ),
            },
        ));
        answer.evidence.push(("program", self.subject.line(&best.term)));
        if with.better(&own) {
            answer.help = Some(
                "the cost model passed a faster program over: give a larger --candidates"
                    .to_owned(),
            );
        }
        answer
    }
}

/// Returns the parts of a term whose root is a marked node.
pub(super) fn parts(term: &Term, egraph: &EGraph, marked: &BTreeSet<Node>) -> Vec<Term> {
    let mut found = Vec::new();
    try_rebuild(term.as_ref(), |at, mut node| {
        let class = egraph.lookup(&mut node)?;
        if marked.contains(&node) {
            found.push(Terms::of(term, Id::from(at)));
        }
        Some(class)
    });
    found
}

/// Returns the root of a term as a node of an e-graph.
fn root_node(egraph: &EGraph, term: &Term) -> Option<Node> {
    let mut last = None;
    try_rebuild(term.as_ref(), |_, mut node| {
        let class = egraph.lookup(&mut node)?;
        last = Some(node);
        Some(class)
    })?;
    last
}
