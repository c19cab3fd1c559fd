//! Tests that the grammar in rules/README.md agrees with the reader: sentences drawn from it are read without a syntax
//! error.

use ember_host::Disk;
use ember_language::codes::Code;
use ember_language::diagnostic::Sources;
use ember_language::rules;
use std::collections::{BTreeMap, BTreeSet};

const README: &str = include_str!("../../rules/README.md");

/// The codes of syntax errors; the other errors concern the meaning of names.
const OF_FORM: [Code; 38] = [
    Code::Unbalanced,
    Code::OpenText,
    Code::NotAForm,
    Code::UnknownForm,
    Code::UnknownKeyword,
    Code::NoDoc,
    Code::WrongShape,
    Code::TakesNoValue,
    Code::TooMuch,
    Code::NoPath,
    Code::NotADeclaration,
    Code::UnknownDeclaration,
    Code::NoArgumentSorts,
    Code::NoResultSort,
    Code::NothingDefined,
    Code::NotAParameter,
    Code::NoDefinition,
    Code::UnknownPhase,
    Code::UnknownExactness,
    Code::NoSide,
    Code::NoArrow,
    Code::NotATest,
    Code::NotATerm,
    Code::NotAnOperator,
    Code::NotApplicable,
    Code::UnknownOperation,
    Code::NotAPredicate,
    Code::NotAGenerator,
    Code::NotAnArgument,
    Code::NoSteps,
    Code::NotAStep,
    Code::UnknownStep,
    Code::NothingChosen,
    Code::NotRules,
    Code::NotASketch,
    Code::UnknownSketch,
    Code::NoWord,
    Code::Missing,
];

/// The nesting depth from which a sentence takes the shortest way out.
const DEPTH: usize = 12;

/// A linear congruential generator, so that every run draws the same sentences.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        let Random(state) = self;
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) as usize % n
    }
}

/// The right side of a production.
#[derive(Debug)]
enum Rule {
    Word(String),
    Other(String),
    Sequence(Vec<Rule>),
    OneOf(Vec<Rule>),
    Optional(Box<Rule>),
    Any(Box<Rule>),
}

/// Returns the productions of an EBNF text, by name.
fn productions(text: &str) -> BTreeMap<String, Rule> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let productions = words.split(|word| *word == ";").filter(|words| !words.is_empty());
    productions
        .map(|words| {
            assert_eq!(words[1], "=", "{words:?}");
            let mut rest = &words[2..];
            let rule = one_of(&mut rest);
            assert!(rest.is_empty(), "{rest:?} is left of {words:?}");
            (words[0].to_owned(), rule)
        })
        .collect()
}

fn one_of(words: &mut &[&str]) -> Rule {
    let mut choices = vec![sequence(words)];
    while let Some(("|", rest)) = words.split_first().map(|(word, rest)| (*word, rest)) {
        *words = rest;
        choices.push(sequence(words));
    }
    Rule::OneOf(choices)
}

fn sequence(words: &mut &[&str]) -> Rule {
    let mut items = Vec::new();
    while let Some((word, rest)) = words.split_first() {
        if ["|", ")", "]", "}"].contains(word) {
            break;
        }
        *words = rest;
        let mut inner = |end: &str| {
            let rule = Box::new(one_of(words));
            let (last, rest) = words.split_first().expect("an end");
            assert_eq!(*last, end);
            *words = rest;
            rule
        };
        items.push(match *word {
            "[" => Rule::Optional(inner("]")),
            "{" => Rule::Any(inner("}")),
            "(" => *inner(")"),
            word => match word.strip_prefix('"').and_then(|word| word.strip_suffix('"')) {
                Some(word) => Rule::Word(word.to_owned()),
                None => Rule::Other(word.to_owned()),
            },
        });
    }
    Rule::Sequence(items)
}

/// Draws sentences, and records the words used.
struct Writer<'a> {
    grammar: &'a BTreeMap<String, Rule>,
    random: Random,
    used: BTreeSet<&'a str>,
}

impl<'a> Writer<'a> {
    fn write(&mut self, rule: &'a Rule, depth: usize, out: &mut Vec<String>) {
        let deep = depth > DEPTH;
        match rule {
            Rule::Word(word) => {
                self.used.insert(word);
                out.push(word.clone());
            }
            Rule::Other(name) => match self.grammar.get(name) {
                Some(rule) => self.write(rule, depth + 1, out),
                None => out.push(self.word(name)),
            },
            Rule::Sequence(rules) => rules.iter().for_each(|rule| self.write(rule, depth, out)),
            // The first choice of a production that nests does not nest itself.
            Rule::OneOf(rules) => {
                let at = if deep { 0 } else { self.random.below(rules.len()) };
                self.write(&rules[at], depth, out);
            }
            Rule::Optional(rule) => {
                if self.random.below(2) == 0 {
                    self.write(rule, depth, out);
                }
            }
            Rule::Any(rule) => {
                let times = if deep { 0 } else { self.random.below(3) };
                (0..times).for_each(|_| self.write(rule, depth, out));
            }
        }
    }

    /// Returns a word of a kind that has no production.
    fn word(&mut self, kind: &str) -> String {
        let words: &[&str] = match kind {
            "NAME" => &["scf.add", "iv", "at", "rank", "my.op"],
            "SORT" => &["Value", "Stmt", "'a"],
            "TEXT" => &["\"it says\""],
            "VARIABLE" => &["?x", "?y", "?z"],
            "INTEGER" => &["1", "2", "31"],
            "REAL" => &["0.5", "-1e3"],
            _ => panic!("no production {kind}"),
        };
        words[self.random.below(words.len())].to_owned()
    }
}

/// Returns the words of the grammar.
fn words(rule: &Rule) -> Vec<&str> {
    match rule {
        Rule::Word(word) => vec![word],
        Rule::Other(_) => Vec::new(),
        Rule::Sequence(rules) | Rule::OneOf(rules) => rules.iter().flat_map(words).collect(),
        Rule::Optional(rule) | Rule::Any(rule) => words(rule),
    }
}

#[test]
fn what_the_grammar_says_is_what_is_read() {
    let text = README.split("```ebnf").nth(1).and_then(|text| text.split("```").next());
    let grammar = productions(text.expect("a grammar"));
    let mut writer = Writer { grammar: &grammar, random: Random(1), used: BTreeSet::new() };
    for _ in 0..4_000 {
        let mut out = Vec::new();
        writer.write(&grammar["form"], 0, &mut out);
        let text = out.join(" ");
        let mut sources = Sources::new(Disk);
        sources.add("drawn.rules", text.clone());
        let diagnostics = rules::check(&mut sources, &["drawn.rules".into()]).diagnostics;
        for diagnostic in diagnostics {
            let of_form = diagnostic.code.is_some_and(|code| OF_FORM.contains(&code));
            assert!(!of_form, "{diagnostic:?}\n{text}");
        }
    }
    let unused: Vec<&str> =
        grammar.values().flat_map(words).filter(|word| !writer.used.contains(word)).collect();
    assert!(unused.is_empty(), "never drawn: {unused:?}");
}
