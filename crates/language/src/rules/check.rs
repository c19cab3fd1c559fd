//! Checks one rule form and turns it into a rule. Every step reports its errors and continues if possible, so that all
//! errors of a rule are reported at once.

use super::binding::{Binding, named};
use super::book::{Arg, Call, Exactness, New, Phase, Rule, RuleBook, Test};
use super::calls;
use super::capture;
use super::infer::Inference;
use super::rule_form::RuleForm;
use super::scope::{self, Mentioning};
use super::shape::{Sides, instance_of_left};
use super::signature::Sort;
use super::syntax::Word;
use super::tree::{self, Tree, TreeHead};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Span};
use crate::sexp::Sexp;
use crate::suggest::unknown;
use crate::term::Node;
use egg::{ENodeOrVar, Id, PatternAst, RecExpr, Symbol, Var};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// The limit on the nodes of one side of a rule. It bounds the cost of the checks; no readable rule comes near it.
const MAX_SIDE: usize = 1_000;

/// Checks rules one after the other and adds them to a book.
pub(super) struct Checker<'a> {
    book: &'a mut RuleBook,
    errors: &'a mut Vec<Diagnostic>,
    mentioning: Mentioning,
    /// The rules by their sides, up to renaming.
    known: FxHashMap<Sides, Vec<Known>>,
    /// Rules that apply to their own result unless another rule undoes it, with their sides.
    endless: Vec<(usize, Span, Span)>,
}

/// A rule with which others that have the same sides are compared.
struct Known {
    name: Symbol,
    set: usize,
    span: Span,
    conditions: BTreeSet<String>,
}

/// A rule's terms with their places in the file.
pub(super) struct Trees {
    pub lhs: Tree,
    pub rhs: Tree,
    pub wheres: Vec<(Word, Tree)>,
    pub lets: Vec<(Word, Tree)>,
}

/// A rule's resolved conditions.
#[derive(Clone)]
pub(super) struct Conditions {
    pub fors: Vec<(Word, Call, Span)>,
    pub guards: Vec<(Call, Span)>,
}

impl Conditions {
    /// Conditions on what is matched, and those on variables that the rule makes, which `made` gives by name.
    fn split(
        &self,
        lets: &[(Word, Tree)],
        made: impl Fn(Symbol) -> PatternAst<Node>,
    ) -> (Vec<Call>, Vec<New>) {
        let (mut guards, mut news) = (Vec::new(), Vec::new());
        for (call, _) in &self.guards {
            let own = |arg: &Arg| lets.iter().find(|(x, _)| named(arg, x));
            let (x, within) = match call.args.as_slice() {
                [a, b] => match own(a) {
                    Some((x, _)) => (Some(x), b),
                    None => (own(b).map(|(x, _)| x), a),
                },
                _ => (None, &Arg::Int(0)),
            };
            match (x, within) {
                (Some(x), Arg::Var(within)) => {
                    news.push(New { variable: made(Symbol::from(&x.text)), within: *within });
                }
                _ => guards.push(call.clone()),
            }
        }
        (guards, news)
    }
}

impl<'a> Checker<'a> {
    /// Creates a checker for a book whose signature and sets are complete.
    pub fn new(book: &'a mut RuleBook, errors: &'a mut Vec<Diagnostic>) -> Checker<'a> {
        let mentioning = Mentioning::new(&book.signature);
        Checker { book, errors, mentioning, known: FxHashMap::default(), endless: Vec::new() }
    }

    /// Checks a rule and adds it to its set; a `<=>` rule becomes two rules.
    pub fn rule(&mut self, set: usize, form: &RuleForm) {
        self.unique_name(&form.name.text, form.name.span);
        let trees = self.trees(form);
        let conditions = calls::resolve(form, &self.book.parameters, self.errors);
        let phase =
            self.closed(&form.phase, ("phase", Code::UnknownPhase), Phase::NAMES, Phase::parse);
        let exact = self.closed(
            &form.exact,
            ("exactness", Code::UnknownExactness),
            Exactness::NAMES,
            Exactness::parse,
        );
        let Some(trees) = trees else { return };
        let variables = self.sorts(&trees, &conditions);
        let tests = self.tests(form);
        if !Binding::new(self.errors).check(form, &trees, &conditions) {
            return;
        }

        let (phase, exact) = {
            let set = &self.book.sets[set];
            (phase.unwrap_or(set.phase), exact.unwrap_or(set.exact))
        };
        let root_sort = variables.root;
        let mut abbreviations = BTreeMap::new();
        let mut rhs = RecExpr::default();
        for (name, tree) in &trees.lets {
            let id: Id = tree.add_to(&mut rhs, &abbreviations);
            abbreviations.insert(Symbol::from(&name.text), id);
        }
        let (guards, news) = conditions.split(&trees.lets, |name| {
            let nodes: &[ENodeOrVar<Node>] = rhs.as_ref();
            let root = abbreviations.get(&name).map_or(0, |id| usize::from(*id) + 1);
            RecExpr::from(nodes[..root].to_vec())
        });
        trees.rhs.add_to(&mut rhs, &abbreviations);
        if let TreeHead::Var(name) = trees.rhs.nodes[trees.rhs.root()].head
            && let Some(&id) = abbreviations.get(&name)
        {
            // The root of a pattern is its last node.
            let root = rhs[id].clone();
            rhs.add(root);
        }
        let variable = |w: &Word| Var::from(Symbol::from(&w.text));
        let rule = Rule {
            name: Symbol::from(&form.name.text),
            doc: form.doc.clone(),
            set,
            phase,
            exact,
            sort: root_sort,
            lhs: trees.lhs.pattern(),
            wheres: trees.wheres.iter().map(|(x, t)| (variable(x), t.pattern())).collect(),
            fors: conditions.fors.iter().map(|(x, c, _)| (variable(x), c.clone())).collect(),
            guards,
            news,
            parameters: calls::parameters(form),
            rhs,
            variables: variables.sorts,
            subsume: form.subsume.is_some(),
            tests,
            span: form.name.span,
        };
        if form.both_ways {
            let reverse = Rule {
                name: Symbol::from(format!("{}-rev", form.name.text)),
                lhs: rule.rhs.clone(),
                rhs: rule.lhs.clone(),
                tests: Vec::new(),
                ..rule.clone()
            };
            self.add(rule, &trees.lhs, &trees.rhs, &abbreviations);
            self.add(reverse, &trees.rhs, &trees.lhs, &abbreviations);
        } else {
            self.add(rule, &trees.lhs, &trees.rhs, &abbreviations);
        }
    }

    /// Runs the last checks of one direction, on the finished rule, and adds it.
    fn add(&mut self, rule: Rule, lhs: &Tree, rhs: &Tree, lets: &BTreeMap<Symbol, Id>) {
        let in_scope =
            scope::check(&self.book.signature, &self.mentioning, &rule, rhs, self.errors)
                && capture::check(
                    &self.book.signature,
                    &self.mentioning,
                    &rule,
                    (rhs, lets),
                    self.errors,
                );
        let (sides, conditions) = Sides::of(&rule);
        if sides.equal() {
            self.errors.push(
                Diagnostic::error(
                    format!("both sides of `{}` are the same", rule.name),
                    rhs.span(),
                    "nothing changes",
                )
                .with_code(Code::SameSides)
                .with_related(lhs.span(), "the left side"),
            );
            return;
        }
        if !in_scope {
            return;
        }
        if rule.guards.is_empty() && instance_of_left(&rule, &[]) {
            self.endless.push((self.book.rules.len(), lhs.span(), rhs.span()));
        }
        let known = self.known.entry(sides).or_default();
        let same = known.iter().find(|k| k.conditions == conditions);
        let weaker = known.iter().find(|k| {
            k.set == rule.set
                && (k.conditions.is_subset(&conditions) || conditions.is_subset(&k.conditions))
        });
        if let Some(other) = same.or(weaker) {
            let twice = format!("`{}` has the same sides as `{}`", rule.name, other.name);
            let label = if same.is_some() { "the same rule" } else { "the conditions overlap" };
            let overlap = Diagnostic::error(twice, rule.span, label)
                .with_code(Code::Duplicate)
                .with_related(other.span, format!("`{}` is here", other.name))
                .with_help("the one with fewer conditions does the work of both");
            self.errors.push(if same.is_some() { overlap } else { overlap.warning() });
        }
        known.push(Known { name: rule.name, set: rule.set, span: rule.span, conditions });
        self.book.sets[rule.set].rules.push(self.book.rules.len());
        self.book.rules.push(rule);
    }

    /// Reports the warnings that depend on all rules.
    pub fn finish(self) {
        let rules = &self.book.rules;
        for (at, lhs, rhs) in self.endless {
            let rule = &rules[at];
            if instance_of_left(rule, rules) {
                let message = format!("the right side of `{}` contains its left side", rule.name);
                let label = "the rule applies to its own result, without end";
                let warning =
                    Diagnostic::error(message, rhs, label).with_code(Code::ContainsLeft).warning();
                let warning = warning.with_related(lhs, "the left side");
                self.errors.push(warning.with_help("add a :when that fails on the result"));
            }
        }
    }

    fn unique_name(&mut self, name: &str, span: Span) {
        if let Some(first) = self.book.rule(name) {
            self.errors.push(
                Diagnostic::error(format!("rule `{name}` is defined twice"), span, "again here")
                    .with_code(Code::RuleTwice)
                    .with_related(first.span, "first defined here"),
            );
        }
    }

    /// Parses a word of a closed list, if one was given.
    fn closed<T>(
        &mut self,
        word: &Option<Word>,
        (what, code): (&str, Code),
        names: &[&str],
        parse: fn(&str) -> Option<T>,
    ) -> Option<T> {
        let word = word.as_ref()?;
        let parsed = parse(&word.text);
        if parsed.is_none() {
            let error = unknown(what, &word.text, word.span, names.iter().copied());
            self.errors.push(error.with_code(code));
        }
        parsed
    }

    fn tree(&mut self, sexp: &Sexp) -> Option<Tree> {
        let tree = tree::read(sexp, self.errors)?;
        if tree.nodes.len() > MAX_SIDE {
            self.errors.push(
                Diagnostic::error(
                    format!("a term of a rule has more than {MAX_SIDE} nodes"),
                    sexp.span,
                    format!("this one has {}", tree.nodes.len()),
                )
                .with_code(Code::RuleTooLarge)
                .with_help("split the rule"),
            );
            return None;
        }
        Some(tree)
    }

    /// Reads every term of the rule; `None` if one cannot be read.
    fn trees(&mut self, form: &RuleForm) -> Option<Trees> {
        let lhs = self.tree(&form.lhs);
        let rhs = self.tree(&form.rhs);
        let mut named = |items: &[(Word, Sexp)]| {
            let read: Vec<_> =
                items.iter().map(|(x, s)| Some((x.clone(), self.tree(s)?))).collect();
            read.into_iter().collect::<Option<Vec<_>>>()
        };
        let (wheres, lets) = (named(&form.wheres), named(&form.lets));
        Some(Trees { lhs: lhs?, rhs: rhs?, wheres: wheres?, lets: lets? })
    }

    /// Infers the sorts of all terms of the rule.
    fn sorts(&mut self, trees: &Trees, conditions: &Conditions) -> VariableSorts {
        let errors = &mut *self.errors;
        let mut inference = Inference::new(&self.book.signature);
        let root = inference.tree(&trees.lhs, errors);
        for (x, tree) in trees.wheres.iter().chain(&trees.lets) {
            let cell = inference.tree(tree, errors);
            let variable = inference.variable(Symbol::from(&x.text), x.span);
            if let Err(sorts) = inference.unify(cell, variable) {
                errors.push(inference.mismatch(tree, tree.root(), sorts));
            }
        }
        let rhs = inference.tree(&trees.rhs, errors);
        if let Err(sorts) = inference.unify(rhs, root) {
            errors.push(
                inference
                    .mismatch(&trees.rhs, trees.rhs.root(), sorts)
                    .with_related(trees.lhs.span(), "both sides of a rule have one sort")
                    .with_help("a boundary operator takes a term from one sort to another"),
            );
        }
        calls::infer(&mut inference, conditions, errors);
        let mut seen: Vec<(Var, Option<Sort>)> = Vec::new();
        let mut note = |name: Symbol, span: Span| {
            let variable = Var::from(name);
            let cell = inference.variable(name, span);
            if !seen.iter().any(|(v, _)| *v == variable) {
                seen.push((variable, inference.sort(cell)));
            }
        };
        let patterns = trees.wheres.iter().map(|(_, t)| t);
        for tree in [&trees.lhs].into_iter().chain(patterns) {
            tree.variables().into_iter().for_each(|(name, span)| note(name, span));
        }
        for (x, _) in &trees.wheres {
            note(Symbol::from(&x.text), x.span);
        }
        for (x, ..) in &conditions.fors {
            note(Symbol::from(&x.text), x.span);
        }
        VariableSorts { root: inference.sort(root), sorts: seen }
    }

    /// Reads the tests: terms over the rule's own signature, in which variables are opaque.
    fn tests(&mut self, form: &RuleForm) -> Vec<Test> {
        let mut tests = Vec::new();
        let pairs = form.tests.iter().map(|(input, expected)| (input, Some(expected)));
        let counter = form.counter_tests.iter().map(|input| (input, None));
        for (input, expected) in pairs.chain(counter) {
            let input_tree = tree::read(input, self.errors);
            let expected_tree = expected.map(|e| tree::read(e, self.errors));
            let Some(input_tree) = input_tree else { continue };
            let mut inference = Inference::new(&self.book.signature);
            let root = inference.tree(&input_tree, self.errors);
            let expected = match expected_tree {
                None => None,
                Some(None) => continue,
                Some(Some(tree)) => {
                    let cell = inference.tree(&tree, self.errors);
                    if let Err(sorts) = inference.unify(cell, root) {
                        self.errors.push(inference.mismatch(&tree, tree.root(), sorts));
                    }
                    Some(tree.term())
                }
            };
            tests.push(Test { input: input_tree.term(), expected, span: input.span });
        }
        tests
    }
}

/// The sorts of a rule and its variables, as far as they are determined.
struct VariableSorts {
    root: Option<Sort>,
    sorts: Vec<(Var, Option<Sort>)>,
}
