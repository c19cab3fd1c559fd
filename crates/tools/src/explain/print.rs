//! Prints chains as text and as JSON.

use super::computed::Computed;
use super::lines::lines;
use super::price::Price;
use super::program::Explained;
use egg::{Id, Language, Var};
use ember_compile::ranking::Measure;
use ember_language::print_term::print_term;
use ember_language::rebuild::rebuild;
use ember_language::rules::RuleBook;
use ember_language::term::{Node, Term};
use ember_language::text::{Names, Words, line, written};
use ember_prove::chains::Gap;
use ember_prove::chains::{By, Chain, Step, Terms, tree_size};
use itertools::Itertools;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use similar::TextDiff;

/// The number of words up to which the term of a variable is written out.
const SHORT: u64 = 6;

/// The limit on the characters of a computed term that are shown.
const SHOWN: usize = 88;

/// The number of lines shown around a change.
const AROUND: usize = 3;

/// The number of levels of a position that are shown.
const LEVELS: usize = 4;

/// Returns a step's two sides, in which the rule's variables replace their terms if these are long.
pub fn difference(step: &Step) -> (Term, Term) {
    let names: Vec<(Var, Term)> = match &step.by {
        By::Rule { substitution, .. } => {
            substitution.iter().filter(|(_, term)| tree_size(term) > SHORT).cloned().collect()
        }
        By::Computed => Vec::new(),
    };
    (abbreviated(&step.before, &names), abbreviated(&step.after, &names))
}

/// Returns a term with names in the places of their terms.
fn abbreviated(term: &Term, names: &[(Var, Term)]) -> Term {
    let by_term: FxHashMap<&Term, Var> = names.iter().map(|(name, term)| (term, *name)).collect();
    if term.is_empty() {
        return Term::default();
    }
    let mut out = Terms::default();
    let root =
        rebuild(term.as_ref(), |at, node| match by_term.get(&Terms::of(term, Id::from(at))) {
            Some(name) => out.add(Node::op(&name.to_string(), &[])),
            None => out.add(node),
        });
    out.part(root)
}

/// Returns a whole term on one line, in the form that rules and `--term` read.
pub fn text(term: &Term) -> String {
    print_term(term).split_whitespace().join(" ")
}

/// Returns a position as the operators on the way to it, each with the index of the argument.
pub fn place(whole: &Term, position: &[usize]) -> String {
    let mut words = Vec::new();
    let Some(root) = whole.len().checked_sub(1) else { return String::new() };
    let mut at = Id::from(root);
    for argument in position {
        words.push(format!("{}[{argument}]", whole[at]));
        match whole[at].children().get(*argument) {
            Some(child) => at = *child,
            None => break,
        }
    }
    let cut = words.len().saturating_sub(LEVELS);
    let start = if cut > 0 { "… > " } else { "" };
    match words.is_empty() {
        true => "the root".to_owned(),
        false => format!("{start}{}", words[cut..].join(" > ")),
    }
}

fn marked(text: &str) -> String {
    text.lines().map(|line| format!("     {line}\n")).collect()
}

/// Returns the lines that differ, each with its sign, and a few lines around them.
fn changed(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut out = String::new();
    for (at, hunk) in diff.grouped_ops(AROUND).iter().enumerate() {
        if at > 0 {
            out.push_str("     …\n");
        }
        for change in hunk.iter().flat_map(|op| diff.iter_changes(op)) {
            out.push_str(&format!("   {} {}\n", change.tag(), change.value().trim_end()));
        }
    }
    out
}

/// Returns a whole number of cycles, in groups of three digits.
pub fn cycles(x: f64) -> String {
    crate::tables::grouped(x.round().max(0.0) as u64)
}

/// The way in which chains are shown.
pub struct View<'a> {
    /// The rules.
    pub book: &'a RuleBook,
    /// The words of program text.
    pub words: &'a Words<'a>,
    /// True if each step is a line of its own, with its position.
    pub full: bool,
}

impl View<'_> {
    /// Returns a chain line by line, including the first and the last program.
    fn chain(&self, chain: &Chain, prices: &[Option<Price>]) -> (String, String) {
        let mut names = Names::default();
        let mut computed = Computed::of(chain);
        let mut text = |term: &Term| written(&computed.done(term), self.words, &mut names).lines();
        let terms: Vec<&Term> = chain.terms().collect();
        let mut before = text(&chain.start);
        let mut out = marked(&before);
        for (at, range) in lines(chain, self.book, self.full).into_iter().enumerate() {
            let steps = &chain.steps[range.clone()];
            out.push_str(&format!("{}. {}\n", at + 1, self.title(steps)));
            if let ([step], true) = (steps, self.full) {
                out.push_str(&format!("   at {}\n", place(terms[range.start], &step.position)));
            }
            let after = text(terms[range.end]);
            match steps {
                _ if before != after => out.push_str(&changed(&before, &after)),
                [Step { by: By::Computed, before, after, .. }] => {
                    let [from, to] = [before, after].map(|term| line(term, self.words, SHOWN));
                    out.push_str(&format!("   {from} is {to}\n"));
                }
                _ => out.push_str("   only in what a loop variable ranges over\n"),
            }
            let price = |at: usize| prices.get(at).copied().flatten().map(|price| price.estimate);
            match (price(range.start), price(range.end)) {
                (Some(a), Some(b)) => {
                    out.push_str(&format!("   estimate: {} -> {} cycles\n", cycles(a), cycles(b)));
                }
                (None, Some(b)) => {
                    let estimate = cycles(b);
                    out.push_str(&format!("   a finished program, estimate: {estimate} cycles\n"));
                }
                _ => {}
            }
            for doubt in steps.iter().filter_map(|step| step.doubt.as_ref()) {
                out.push_str(&format!("   not replayed: {doubt}\n"));
            }
            before = after;
        }
        (out, before)
    }

    /// Returns a line's rules with the description of the rule or of its set.
    fn title(&self, steps: &[Step]) -> String {
        let named: Vec<&Step> = steps.iter().filter(|step| step.by != By::Computed).collect();
        let Some(rule) = named.first().and_then(|step| self.book.rule(step.name())) else {
            return "computed: arithmetic on what is known".to_owned();
        };
        let rules = counted(named.iter().copied());
        if named.iter().map(|step| step.name()).all_equal() {
            let direction = if named[0].backward() { ", read backwards" } else { "" };
            return format!("{rules}{direction}: {}", rule.doc);
        }
        let set = &self.book.sets[rule.set];
        format!("{}, {} steps: {}\n   {rules}", set.name, named.len(), set.doc)
    }

    fn steps(&self, chain: &Chain) -> String {
        let plural = |n: usize, what: &str| match n {
            1 => format!("1 {what}"),
            n => format!("{n} {what}s"),
        };
        let (steps, lines) = (chain.steps.len(), lines(chain, self.book, self.full).len());
        let steps = plural(steps, "step");
        if self.full { steps } else { format!("{steps} on {}", plural(lines, "line")) }
    }
}

/// Returns the number of uses of each rule, the most used first.
fn counted<'a>(steps: impl Iterator<Item = &'a Step>) -> String {
    let counts = steps.counts_by(Step::name);
    let most = counts.into_iter().sorted_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    most.map(|(name, n)| if n == 1 { name.to_owned() } else { format!("{name} x{n}") }).join(", ")
}

fn replayed(chain: &Chain) -> String {
    match chain.steps.iter().filter(|step| step.doubt.is_some()).count() {
        0 => "every step replayed".to_owned(),
        n => format!("{n} not replayed"),
    }
}

fn gap(gap: Gap) -> &'static str {
    match gap {
        Gap::NotEqual => "no recorded equalities lead there",
        Gap::TooLong => "the chain is too long to be written out",
    }
}

/// Prints a chain between two terms.
pub fn print_terms(view: &View, chain: &Chain) -> String {
    let (steps, rules) = (view.steps(chain), counted(chain.steps.iter()));
    format!("equal, in {steps}, {}: {rules}\n\n{}", replayed(chain), view.chain(chain, &[]).0)
}

/// Prints the chains of a program.
pub fn print(view: &View, explained: &Explained) -> String {
    explained.groups.iter().map(|group| print_group(view, group)).collect()
}

fn print_group(view: &View, group: &super::GroupChain) -> String {
    let mut out = group.statements.join(", ");
    if !group.alike.is_empty() {
        out.push_str(&format!(" (and, up to names, {})", group.alike.join(", ")));
    }
    let chain = match &group.chain {
        Err(why) => return out + &format!(": {}\n\n", gap(*why)),
        Ok(chain) => chain,
    };
    out.push_str(&format!(": {}, {}\n", view.steps(chain), replayed(chain)));
    out.push_str(&format!("rules: {}\n\n", counted(chain.steps.iter())));
    let (steps, last) = view.chain(chain, &group.prices);
    out.push_str(&format!("{steps}\nwhich gives\n{}", marked(&last)));
    if let Some(Measure { cycles, sampled, .. }) = &group.measure {
        let on = if *sampled { " on samples" } else { "" };
        out.push_str(&format!("simulated{on}: {} cycles\n", crate::tables::grouped(*cycles)));
    }
    out + "\n"
}

/// Returns a chain as JSON: its start, and its steps, each with the number of its line.
pub fn chain_json(book: &RuleBook, chain: &Chain, prices: &[Option<Price>]) -> Value {
    let lines = lines(chain, book, false);
    let of = |at: usize| lines.iter().position(|range| range.contains(&at)).map(|at| at + 1);
    let estimate = |at: usize| prices.get(at).copied().flatten().map(|price| price.estimate);
    let step = |(at, step): (usize, &Step)| {
        let substitution: serde_json::Map<String, Value> = match &step.by {
            By::Rule { substitution, .. } => {
                let pair = |(v, t): &(Var, Term)| (v.to_string(), Value::from(text(t)));
                substitution.iter().map(pair).collect()
            }
            By::Computed => serde_json::Map::new(),
        };
        json!({
            "line": of(at),
            "rule": step.name(),
            "computed": step.by == By::Computed,
            "direction": if step.backward() { "backward" } else { "forward" },
            "position": step.position,
            "before": text(&step.before),
            "after": text(&step.after),
            "substitution": substitution,
            "estimate": estimate(at + 1),
            "replayed": step.doubt.is_none(),
        })
    };
    let steps: Vec<Value> = chain.steps.iter().enumerate().map(step).collect();
    json!({ "start": text(&chain.start), "estimate": estimate(0), "steps": steps })
}

/// Returns the chains of a program as a JSON object with a list of `groups`.
pub fn to_json(book: &RuleBook, explained: &Explained) -> Value {
    let group = |group: &super::GroupChain| {
        json!({
            "statements": group.statements,
            "alike": group.alike,
            "cycles": group.measure.as_ref().map(|measure| measure.cycles),
            "chain": group.chain.as_ref().ok().map(|chain| chain_json(book, chain, &group.prices)),
            "gap": group.chain.as_ref().err().map(|why| gap(*why)),
        })
    };
    json!({ "groups": explained.groups.iter().map(group).collect::<Vec<_>>() })
}
