//! Chains as text and as JSON.

use super::price::Price;
use super::program::Explained;
use egg::{Id, Language, Symbol, Var};
use ember_language::print_term::print_term;
use ember_language::rules::RuleBook;
use ember_language::term::{Head, Node, Term};
use ember_prove::chains::Gap;
use ember_prove::chains::{By, Chain, Step, Terms, tree_size};
use itertools::Itertools;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::fmt::Write;

/// What a variable stands for is written out where it has at most this many words.
const SHORT: u64 = 6;

/// How many characters of a longer one are shown beside its name.
const SHOWN: usize = 88;

/// How deep a term on one line is shown at most.
const DEEPEST: usize = 16;

/// How many levels of a position are shown.
const LEVELS: usize = 4;

/// A step's two sides, with what both have in common by the names of the rule's variables.
pub struct Difference {
    /// What stood there.
    pub before: Term,
    /// What stands there now.
    pub after: Term,
    /// The names in both and what they stand for.
    pub names: Vec<(Var, Term)>,
}

/// The difference that a step makes.
pub fn difference(step: &Step) -> Difference {
    let names: Vec<(Var, Term)> = match &step.by {
        By::Rule { substitution, .. } => {
            substitution.iter().filter(|(_, term)| tree_size(term) > SHORT).cloned().collect()
        }
        By::Computed => Vec::new(),
    };
    let (before, after) = (abbreviated(&step.before, &names), abbreviated(&step.after, &names));
    let in_sight = |name: &Var| {
        let name = Head::Op(Symbol::from(name.to_string()));
        before.as_ref().iter().chain(after.as_ref()).any(|node| node.head() == name)
    };
    let names = names.into_iter().filter(|(name, _)| in_sight(name)).collect();
    Difference { before, after, names }
}

/// A term with names in the places of the terms that they stand for.
fn abbreviated(term: &Term, names: &[(Var, Term)]) -> Term {
    let by_term: FxHashMap<&Term, Var> = names.iter().map(|(name, term)| (term, *name)).collect();
    let mut out = Terms::default();
    let mut placed: FxHashMap<Id, Id> = FxHashMap::default();
    let Some(root) = term.len().checked_sub(1).map(Id::from) else { return Term::default() };
    let mut todo = vec![root];
    while let Some(&at) = todo.last() {
        if let Some(name) = by_term.get(&Terms::of(term, at)) {
            placed.insert(at, out.add(Node::op(&name.to_string(), &[])));
            todo.pop();
            continue;
        }
        let missing: Vec<Id> =
            term[at].children().iter().rev().filter(|c| !placed.contains_key(c)).copied().collect();
        if missing.is_empty() {
            let node = term[at].clone().map_children(|c| placed[&c]);
            placed.insert(at, out.add(node));
            todo.pop();
        }
        todo.extend(missing);
    }
    // What was added last is the root, unless the same leaf was there before.
    let whole = out.finish();
    Terms::of(&whole, placed[&root])
}

/// A term on one line of so many characters at most: parts that lie too deep are `…`.
pub fn line(term: &Term, most: usize) -> String {
    let Some(root) = term.len().checked_sub(1) else { return String::new() };
    let mut shown = String::new();
    for depth in 0..DEEPEST {
        let mut text = String::new();
        let whole = write_to(term, Id::from(root), depth, most, &mut text);
        if text.chars().count() > most {
            break;
        }
        shown = text;
        if whole {
            break;
        }
    }
    shown
}

/// Writes a term down to a depth, and not much more of it than so many characters. Answers whether
/// nothing was left out.
fn write_to(term: &Term, at: Id, depth: usize, most: usize, out: &mut String) -> bool {
    let node = &term[at];
    if node.is_leaf() {
        out.push_str(&node.to_string());
        return true;
    }
    if depth == 0 {
        out.push_str(&format!("({node} …)"));
        return false;
    }
    out.push_str(&format!("({node}"));
    let mut whole = true;
    for child in node.children() {
        out.push(' ');
        // A text that is too long already is thrown away.
        whole &= out.len() <= 4 * most && write_to(term, *child, depth - 1, most, out);
    }
    out.push(')');
    whole
}

/// A whole term on one line, as rules and `--term` read it.
pub fn text(term: &Term) -> String {
    print_term(term).split_whitespace().join(" ")
}

/// A position as the operators on the way to it, each with the argument that is taken.
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

fn marked(mark: char, term: &Term) -> String {
    print_term(term).trim_end().lines().map(|line| format!("   {mark} {line}\n")).collect()
}

/// A whole number of cycles, in groups of three digits.
pub fn cycles(x: f64) -> String {
    crate::tables::grouped(x.round().max(0.0) as u64)
}

fn print_chain(
    out: &mut String,
    book: &RuleBook,
    chain: &Chain,
    prices: &[Option<Price>],
) -> std::fmt::Result {
    for (at, (step, before)) in chain.steps.iter().zip(chain.terms()).enumerate() {
        let doc = book.rule(step.name()).map_or("arithmetic on what is known", |rule| &rule.doc);
        let direction = if step.backward() { ", read backwards" } else { "" };
        writeln!(out, "{}. {}{direction}: {doc}", at + 1, step.name())?;
        writeln!(out, "   at {}", place(before, &step.position))?;
        let Difference { before, after, names } = difference(step);
        out.push_str(&marked('-', &before));
        out.push_str(&marked('+', &after));
        for (name, term) in names {
            writeln!(out, "     {name} = {}", line(&term, SHOWN))?;
        }
        match (prices.get(at).copied().flatten(), prices.get(at + 1).copied().flatten()) {
            (Some(a), Some(b)) => {
                let (a, b) = (cycles(a.estimate), cycles(b.estimate));
                writeln!(out, "   estimate: {a} -> {b} cycles")?;
            }
            (None, Some(b)) => {
                writeln!(out, "   a finished program, estimate: {} cycles", cycles(b.estimate))?;
            }
            _ => {}
        }
        if let Some(doubt) = &step.doubt {
            writeln!(out, "   not replayed: {doubt}")?;
        }
    }
    Ok(())
}

/// How often each rule was used, the most used first.
fn used(chain: &Chain) -> String {
    let counts = chain.steps.iter().counts_by(Step::name);
    let most = counts.into_iter().sorted_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    most.map(|(name, n)| if n == 1 { name.to_owned() } else { format!("{name} x{n}") }).join(", ")
}

fn steps(chain: &Chain) -> String {
    match chain.steps.len() {
        1 => "1 step".to_owned(),
        n => format!("{n} steps"),
    }
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

/// A chain between two terms as text.
pub fn print_terms(book: &RuleBook, chain: &Chain) -> String {
    let mut out = String::new();
    let (steps, rules) = (steps(chain), used(chain));
    // Writing to a text cannot fail.
    let _ = writeln!(out, "equal, in {steps}, {}: {rules}\n", replayed(chain));
    out.push_str(&marked(' ', &chain.start));
    let _ = print_chain(&mut out, book, chain, &[]);
    out
}

/// The program's chains as text.
pub fn print(book: &RuleBook, explained: &Explained) -> String {
    let mut out = String::new();
    for group in &explained.groups {
        let _ = print_group(&mut out, book, group);
    }
    out
}

fn print_group(out: &mut String, book: &RuleBook, group: &super::GroupChain) -> std::fmt::Result {
    write!(out, "{}", group.statements.join(", "))?;
    if !group.alike.is_empty() {
        write!(out, " (and, up to names, {})", group.alike.join(", "))?;
    }
    match &group.chain {
        Err(why) => writeln!(out, ": {}\n", gap(*why)),
        Ok(chain) => {
            writeln!(out, ": {}, {}", steps(chain), replayed(chain))?;
            writeln!(out, "rules: {}\n", used(chain))?;
            out.push_str(&marked(' ', &chain.start));
            print_chain(out, book, chain, &group.prices)?;
            writeln!(out, "\nwhich gives")?;
            if let Some(last) = chain.terms().last() {
                out.push_str(&marked(' ', last));
            }
            if let Some(simulated) = group.cycles {
                writeln!(out, "simulated: {} cycles", crate::tables::grouped(simulated))?;
            }
            writeln!(out)
        }
    }
}

/// A chain as JSON: where it starts, and its steps.
pub fn chain_json(chain: &Chain, prices: &[Option<Price>]) -> Value {
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

/// The program's chains as JSON.
pub fn to_json(explained: &Explained) -> Value {
    let group = |group: &super::GroupChain| {
        json!({
            "statements": group.statements,
            "alike": group.alike,
            "cycles": group.cycles,
            "chain": group.chain.as_ref().ok().map(|chain| chain_json(chain, &group.prices)),
            "gap": group.chain.as_ref().err().map(|why| gap(*why)),
        })
    };
    Value::Array(explained.groups.iter().map(group).collect())
}
