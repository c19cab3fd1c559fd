//! Defined operators: their names, sorts and definitions. A definition is a rule from the operator to the term; it
//! belongs to a set that every saturation of every schedule includes.

use super::attributes::Attributes;
use super::book::{Exactness, Phase, Rule, RuleBook, RuleSet};
use super::dialect::{declare_operator, nameable};
use super::infer::Inference;
use super::lowering::Lowerings;
use super::operators::Operators;
use super::rule_form::RuleForm;
use super::signature::{Operator, Signature, SortTerm};
use super::syntax::{DefineForm, Word};
use super::tree::{self, Tree, TreeHead};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::rebuild::rebuild;
use crate::term::{Head, Node, Term};
use egg::{ENodeOrVar, Id, Language, PatternAst, RecExpr, Symbol, Var};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The name of the set of definitions.
pub(super) const SET: &str = "definitions";

/// The limit on the nodes of a definition, written out as a tree.
const MAX_SIZE: usize = 10_000;

/// An operator by its name and number of arguments.
type Key = (Symbol, usize);

/// The definition of an operator.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The variables in the places of the arguments.
    pub parameters: Vec<Var>,
    /// The term that the operator abbreviates, without any defined operator.
    pub body: PatternAst<Node>,
}

/// The definitions of all defined operators.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    by_operator: FxHashMap<Key, Definition>,
    operators: Arc<Operators>,
}

impl Definitions {
    /// Returns the definition of an operator by its name and number of arguments.
    pub fn get(&self, name: Symbol, arity: usize) -> Option<&Definition> {
        self.by_operator.get(&(name, arity))
    }

    /// Returns every definition with the name of its operator, by name and number of arguments.
    pub fn all(&self) -> Vec<(&'static str, &Definition)> {
        let all = self.by_operator.iter();
        let mut all: Vec<_> = all.map(|((name, _), own)| (name.as_str(), own)).collect();
        all.sort_unstable_by_key(|(name, own)| (*name, own.parameters.len()));
        all
    }

    /// Returns the operators from which definitions are built.
    pub fn operators(&self) -> &Arc<Operators> {
        &self.operators
    }

    /// Writes out every defined operator of a term.
    pub fn expand(&self, term: &Term) -> Term {
        let mut pattern: PatternAst<Node> = RecExpr::default();
        for node in term {
            pattern.add(ENodeOrVar::ENode(node.clone()));
        }
        let mut written: Term = RecExpr::default();
        for node in &self.expand_pattern(&pattern) {
            if let ENodeOrVar::ENode(node) = node {
                written.add(node.clone());
            }
        }
        written
    }

    /// Writes out every defined operator in the patterns of a rule.
    pub fn expand_rule(&self, rule: &Rule) -> Rule {
        let mut rule = rule.clone();
        if self.by_operator.is_empty() {
            return rule;
        }
        rule.lhs = self.expand_pattern(&rule.lhs);
        rule.rhs = self.expand_pattern(&rule.rhs);
        rule.wheres.iter_mut().for_each(|(_, pattern)| *pattern = self.expand_pattern(pattern));
        rule
    }

    /// Writes out every defined operator of a pattern; equal nodes are shared.
    pub(super) fn expand_pattern(&self, pattern: &PatternAst<Node>) -> PatternAst<Node> {
        let mut out = Shared::default();
        let root = rebuild(pattern.as_ref(), |_, node| {
            let definition = match &node {
                ENodeOrVar::Var(_) => None,
                ENodeOrVar::ENode(node) => match node.head() {
                    Head::Op(name) => self.get(name, node.children().len()),
                    Head::Int(_) | Head::Real(_) => None,
                },
            };
            match definition {
                Some(definition) => out.substitute(definition, node.children()),
                None => out.add(node),
            }
        });
        out.finish(root)
    }
}

/// A pattern in which equal nodes are shared.
#[derive(Default)]
struct Shared {
    nodes: PatternAst<Node>,
    known: FxHashMap<ENodeOrVar<Node>, Id>,
}

impl Shared {
    fn add(&mut self, node: ENodeOrVar<Node>) -> Id {
        let nodes = &mut self.nodes;
        *self.known.entry(node.clone()).or_insert_with(|| nodes.add(node))
    }

    fn substitute(&mut self, definition: &Definition, arguments: &[Id]) -> Id {
        rebuild(definition.body.as_ref(), |_, node| {
            let argument = match &node {
                ENodeOrVar::Var(v) => definition.parameters.iter().position(|p| p == v),
                ENodeOrVar::ENode(_) => None,
            };
            argument.map_or_else(|| self.add(node), |at| arguments[at])
        })
    }

    /// Returns the pattern with the given root, which must be the last node of a pattern.
    fn finish(mut self, root: Id) -> PatternAst<Node> {
        if !self.nodes.is_empty() && usize::from(root) + 1 != self.nodes.len() {
            let node = self.nodes[root].clone();
            self.nodes.add(node);
        }
        self.nodes
    }
}

/// Declares defined operators, each after the operators that its definition uses, and returns their rules.
pub(super) fn declare(
    book: &mut RuleBook,
    forms: &[&DefineForm],
    errors: &mut Vec<Diagnostic>,
) -> Vec<(usize, RuleForm)> {
    let mut read: Vec<(&DefineForm, Tree)> = Vec::new();
    let mut places: FxHashMap<Key, usize> = FxHashMap::default();
    for form in forms {
        let key = key(form);
        if let Err(error) = nameable(&form.name) {
            errors.push(error);
        } else if let Some(&first) = places.get(&key) {
            let message = format!("`{}` is defined twice", form.name.text);
            let error = Diagnostic::error(message, form.name.span, "again here")
                .with_code(Code::DefinedTwice);
            errors.push(error.with_related(read[first].0.name.span, "first defined here"));
        } else if let Some(tree) = tree::read(&form.body, errors) {
            places.insert(key, read.len());
            read.push((form, tree));
        }
    }
    if read.is_empty() {
        return Vec::new();
    }
    let set = book.sets.len();
    book.sets.push(RuleSet {
        name: Symbol::from(SET),
        doc: "what defined operators stand for".to_owned(),
        phase: Phase::Lower,
        exact: Exactness::Bitwise,
        rules: Vec::new(),
        span: read[0].0.name.span,
    });
    let mut rules = Vec::new();
    let (order, endless) = order(&read, &places, errors);
    let ordered = order.into_iter().map(|at| (at, true));
    for (at, ends) in ordered.chain(endless.into_iter().map(|at| (at, false))) {
        let (form, tree) = &read[at];
        let (name, arity) = key(form);
        let mut sorted = ends;
        if book.signature.operator(name, arity).is_none() {
            let operator = ends.then(|| operator(&book.signature, form, tree, errors)).flatten();
            sorted = operator.is_some();
            // An operator of unknown sorts is declared all the same, so that its uses are not further errors.
            let operator = operator.unwrap_or_else(|| unknown(form));
            declare_operator(&mut book.signature, operator, errors);
        }
        if !sorted {
            continue;
        }
        let name = Word { text: form.name.text.clone(), span: form.name.span };
        let mut rule =
            RuleForm::new(name, form.doc.clone(), form.left.clone(), form.body.clone(), false);
        rule.phase = Some(Word { text: Phase::Lower.name().to_owned(), span: form.name.span });
        rules.push((set, rule));
    }
    rules
}

fn key(form: &DefineForm) -> Key {
    (Symbol::from(&form.name.text), form.parameters.len())
}

/// Orders the definitions so that each follows the ones that it uses. The second list holds the definitions without a
/// place in this order: they use themselves, which is reported, or use others that do.
fn order(
    read: &[(&DefineForm, Tree)],
    places: &FxHashMap<Key, usize>,
    errors: &mut Vec<Diagnostic>,
) -> (Vec<usize>, Vec<usize>) {
    let needs: Vec<Vec<usize>> = read
        .iter()
        .map(|(_, tree)| {
            let place = |node: &tree::TreeNode| match node.head {
                TreeHead::Head(Head::Op(name)) => places.get(&(name, node.children.len())).copied(),
                _ => None,
            };
            tree.nodes.iter().filter_map(place).collect()
        })
        .collect();
    let mut waits: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut used_by: Vec<Vec<usize>> = vec![Vec::new(); read.len()];
    for (at, needs) in needs.iter().enumerate() {
        needs.iter().for_each(|&need| used_by[need].push(at));
    }
    let mut order: Vec<usize> = (0..read.len()).filter(|at| waits[*at] == 0).collect();
    let mut done = 0;
    while let Some(&next) = order.get(done) {
        done += 1;
        for &user in &used_by[next] {
            waits[user] -= 1;
            if waits[user] == 0 {
                order.push(user);
            }
        }
    }
    // Each remaining definition uses another remaining one, so following the uses leads into a cycle.
    let mut seen = vec![false; read.len()];
    for start in (0..read.len()).filter(|at| waits[*at] > 0) {
        let (mut path, mut at) = (Vec::new(), start);
        while !seen[at] {
            seen[at] = true;
            path.push(at);
            let next = needs[at].iter().copied().find(|need| waits[*need] > 0);
            at = next.unwrap_or(at);
        }
        if let Some(from) = path.iter().position(|p| *p == at) {
            let circle = &path[from..];
            let name = &read[circle[0]].0.name;
            let message = format!("`{}` is defined by itself", name.text);
            let error = Diagnostic::error(message, name.span, "a definition must come to an end")
                .with_code(Code::DefinedByItself);
            errors.push(circle[1..].iter().fold(error, |error, at| {
                error.with_related(read[*at].0.name.span, "by way of this one")
            }));
        }
    }
    let endless = (0..read.len()).filter(|at| waits[*at] > 0).collect();
    (order, endless)
}

/// Returns the operator with the sorts that follow from its definition.
fn operator(
    signature: &Signature,
    form: &DefineForm,
    tree: &Tree,
    errors: &mut Vec<Diagnostic>,
) -> Option<Operator> {
    let before = errors.len();
    let mut inference = Inference::new(signature);
    let root = inference.tree(tree, errors);
    let parameters = form.parameters.iter();
    let cells: Vec<_> =
        parameters.map(|x| inference.variable(Symbol::from(&x.text), x.span)).collect();
    if errors.len() > before {
        // The check of the rule would report the same errors again.
        return None;
    }
    let mut sort = |cell, what: &str, span| {
        let sort = inference.sort(cell);
        if sort.is_none() {
            let message = format!("the sort of {what} is not determined");
            let error = Diagnostic::error(message, span, "the definition fits any")
                .with_code(Code::UndeterminedSort);
            errors.push(error.with_help("declare the operator with (op …) in a dialect"));
        }
        sort.map(SortTerm::Is)
    };
    let result = sort(root, "the result", form.name.span);
    let cells = form.parameters.iter().zip(cells);
    let args: Vec<_> =
        cells.map(|(x, cell)| sort(cell, &format!("`{}`", x.text), x.span)).collect();
    Some(Operator {
        args: args.into_iter().collect::<Option<_>>()?,
        result: result?,
        ..unknown(form)
    })
}

/// Returns an operator whose sorts are all unknown.
fn unknown(form: &DefineForm) -> Operator {
    let name = &form.name.text;
    let sorts = (0..form.parameters.len()).map(|k| SortTerm::Any(Symbol::from(format!("'{k}"))));
    Operator {
        name: Symbol::from(name),
        args: sorts.collect(),
        result: SortTerm::Any(Symbol::from("'result")),
        doc: form.doc.clone(),
        operands: vec![None; form.parameters.len()],
        attributes: Attributes::default(),
        binds: None,
        boundary: false,
        input: false,
        dialect: Symbol::from(name.split_once('.').map_or(SET, |(dialect, _)| dialect)),
        span: form.name.span,
    }
}

/// Writes out what the checked definitions stand for, and finds what other operators on tensors mean by their rules.
pub(super) fn finish(book: &mut RuleBook, errors: &mut Vec<Diagnostic>) {
    write_out(book, errors);
    let lowerings = Lowerings::find(book);
    Arc::make_mut(&mut book.signature.table).lowerings = lowerings;
    book.definitions.operators = book.signature.table().clone();
}

fn write_out(book: &mut RuleBook, errors: &mut Vec<Diagnostic>) {
    let Some(set) = book.set(SET) else { return };
    let rules = set.rules.clone();
    let mut sizes: FxHashMap<Key, Size> = FxHashMap::default();
    for at in rules {
        let rule = &book.rules[at];
        let Some(ENodeOrVar::ENode(left)) = rule.lhs.as_ref().last() else { continue };
        let Head::Op(name) = left.head() else { continue };
        let parameter = |child: &Id| match &rule.lhs[*child] {
            ENodeOrVar::Var(v) => Some(*v),
            ENodeOrVar::ENode(_) => None,
        };
        let Some(parameters) = left.children().iter().map(parameter).collect::<Option<Vec<_>>>()
        else {
            continue;
        };
        let key = (name, parameters.len());
        let size = Size::of(&rule.rhs, &parameters, &sizes);
        if size.total() > MAX_SIZE {
            let message = format!("`{name}` stands for more than {MAX_SIZE} operators");
            let error = Diagnostic::error(message, rule.span, "written out, with all within it")
                .with_code(Code::DefinitionTooLarge);
            errors.push(error.with_help("define it by rules, step by step"));
            continue;
        }
        sizes.insert(key, size);
        let body = book.definitions.expand_pattern(&rule.rhs);
        book.definitions.by_operator.insert(key, Definition { parameters, body });
    }
}

/// The size of a definition, written out as a tree: its own nodes, and the number of occurrences of each parameter.
struct Size {
    own: usize,
    uses: Vec<usize>,
}

impl Size {
    fn of(pattern: &PatternAst<Node>, parameters: &[Var], known: &FxHashMap<Key, Size>) -> Size {
        let mut sizes: Vec<Size> = Vec::with_capacity(pattern.len());
        for node in pattern {
            let mut size = Size { own: 0, uses: vec![0; parameters.len()] };
            match node {
                ENodeOrVar::Var(v) => {
                    parameters
                        .iter()
                        .zip(&mut size.uses)
                        .for_each(|(p, n)| *n = usize::from(p == v));
                }
                ENodeOrVar::ENode(node) => {
                    let key = match node.head() {
                        Head::Op(name) => Some((name, node.children().len())),
                        Head::Int(_) | Head::Real(_) => None,
                    };
                    let definition = key.and_then(|key| known.get(&key));
                    size.own = definition.map_or(1, |definition| definition.own);
                    for (k, child) in node.children().iter().enumerate() {
                        let times = definition.map_or(1, |definition| definition.uses[k]);
                        let below = &sizes[usize::from(*child)];
                        size.own = size.own.saturating_add(below.own.saturating_mul(times));
                        for (all, n) in size.uses.iter_mut().zip(&below.uses) {
                            *all = all.saturating_add(n.saturating_mul(times));
                        }
                    }
                }
            }
            sizes.push(size);
        }
        sizes.pop().unwrap_or(Size { own: 0, uses: vec![0; parameters.len()] })
    }

    fn total(&self) -> usize {
        self.uses.iter().fold(self.own, |sum, n| sum.saturating_add(*n))
    }
}
