//! The declarations of the dialects: sorts and operators. Also computes the sort of a term.

use super::attributes::Attributes;
use super::infer::Inference;
use super::operators::{Kind, Operators, Unit};
use super::tree;
use crate::codes::Code;
use crate::diagnostic::{Checked, Diagnostic, Span};
use crate::sexp::Sexp;
use crate::suggest::did_you_mean;
use crate::term::{Head, Node, Term};
use egg::{Id, Language, PatternAst, Symbol};
use ember_values::primitive::Price;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// A sort: the unit on which a term runs and the kind of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sort(Symbol);

impl Sort {
    /// The sort of integer literals.
    pub const VALUE: &'static str = "Value";
    /// The sort of literals with a point or an exponent, and of literals that are not finite.
    pub const REAL: &'static str = "Real";
    /// The sort of names of the model, which start with `%`.
    pub const NAME: &'static str = "Name";

    /// Returns the sort with this name, declared or not.
    pub fn named(name: &str) -> Sort {
        Sort(Symbol::from(name))
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        self.0.as_str()
    }

    /// Returns the sort of a leaf that is no operator: a number, or a name of the model.
    pub fn of_literal(head: Head) -> Option<Sort> {
        match head {
            Head::Int(_) => Some(Sort::named(Sort::VALUE)),
            Head::Real(_) => Some(Sort::named(Sort::REAL)),
            Head::Op(name) => name.as_str().starts_with('%').then(|| Sort::named(Sort::NAME)),
        }
    }
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A sort in an operator's declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortTerm {
    /// This sort.
    Is(Sort),
    /// Any sort, the same for every occurrence of the name in the declaration; written `'a`.
    Any(Symbol),
}

impl SortTerm {
    /// Returns the sort, if it is a fixed one.
    pub fn named(self) -> Option<Sort> {
        match self {
            SortTerm::Is(sort) => Some(sort),
            SortTerm::Any(_) => None,
        }
    }

    /// Returns its name in the declaration.
    pub fn name(self) -> &'static str {
        match self {
            SortTerm::Is(sort) => sort.name(),
            SortTerm::Any(name) => name.as_str(),
        }
    }
}

/// A declared sort.
#[derive(Clone, Debug)]
pub struct SortDecl {
    /// Its name.
    pub sort: Sort,
    /// The meaning of its terms, in words.
    pub doc: String,
    /// The kind of meaning of its terms, if it is declared.
    pub kind: Option<Kind>,
    /// The unit on which its terms run; `None` if they run on no unit yet.
    pub unit: Option<Unit>,
    /// The dialect that declares it.
    pub dialect: Symbol,
    /// The place of the declaration.
    pub span: Span,
}

/// A declared operator. Operators with different numbers of arguments may share a name.
#[derive(Clone, Debug)]
pub struct Operator {
    /// Its name.
    pub name: Symbol,
    /// The sorts of its arguments.
    pub args: Vec<SortTerm>,
    /// The names of its arguments, if the declaration gives them.
    pub operands: Vec<Option<Symbol>>,
    /// The sort of its result.
    pub result: SortTerm,
    /// Its meaning, in words.
    pub doc: String,
    /// The argument that is the bound variable, and the argument in which it is bound.
    pub binds: Option<(usize, usize)>,
    /// True if it only changes the sort; no finished program contains it.
    pub boundary: bool,
    /// True if the terms that rules start from are written with it.
    pub input: bool,
    /// Its other declared attributes, unresolved.
    pub(super) attributes: Attributes,
    /// The dialect that declares it.
    pub dialect: Symbol,
    /// The place of the declaration.
    pub span: Span,
}

impl Operator {
    /// Returns the cost class that the declaration gives.
    pub fn price(&self) -> Option<Price> {
        self.attributes.price
    }
}

/// The push-down of a boundary: the boundary around an operator becomes another operator, whose operands have
/// boundaries of their own.
#[derive(Clone, Debug)]
pub(super) struct Push {
    /// The boundary.
    pub boundary: Symbol,
    /// The operator inside the boundary.
    pub from: Symbol,
    /// The counterpart of the operator on the unit.
    pub to: Symbol,
    /// The boundaries of the operands; `None` for operands that stay.
    pub operands: Vec<Option<Symbol>>,
}

/// Every sort and operator of the loaded dialects.
#[derive(Clone, Debug, Default)]
pub struct Signature {
    pub(super) dialects: Vec<(Symbol, String, Span)>,
    pub(super) sorts: Vec<SortDecl>,
    pub(super) operators: Vec<Operator>,
    pub(super) sort_index: FxHashMap<Sort, usize>,
    pub(super) operator_index: FxHashMap<(Symbol, usize), usize>,
    pub(super) pushes: Vec<Push>,
    pub(super) table: Arc<Operators>,
}

impl Signature {
    /// Returns the dialects in the order in which they were read, each with its purpose.
    pub fn dialects(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.dialects.iter().map(|(name, doc, _)| (name.as_str(), doc.as_str()))
    }

    /// Returns the sorts in the order of their declarations.
    pub fn sorts(&self) -> &[SortDecl] {
        &self.sorts
    }

    /// Returns the operators in the order of their declarations.
    pub fn operators(&self) -> &[Operator] {
        &self.operators
    }

    /// Returns a sort by its name.
    pub fn sort(&self, name: &str) -> Option<&SortDecl> {
        self.sort_index.get(&Sort::named(name)).map(|&i| &self.sorts[i])
    }

    /// Returns an operator by its name and number of arguments.
    pub fn operator(&self, name: Symbol, arity: usize) -> Option<&Operator> {
        self.operator_index.get(&(name, arity)).map(|&i| &self.operators[i])
    }

    /// Returns the operator of a node; `None` for numbers and names of the model.
    pub fn operator_of(&self, node: &Node) -> Option<&Operator> {
        match node.head() {
            Head::Op(name) => self.operator(name, node.children().len()),
            Head::Int(_) | Head::Real(_) => None,
        }
    }

    /// Returns the sorts of variables: the sorts of the arguments that operators bind.
    pub fn variable_sorts(&self) -> BTreeSet<Sort> {
        let bound = self.operators.iter().filter_map(|op| op.args.get(op.binds?.0));
        bound.filter_map(|sort| sort.named()).collect()
    }

    /// Resolves the declarations of the operators; called after the last declaration.
    pub(super) fn resolve(&mut self, errors: &mut Vec<Diagnostic>) {
        self.table = Arc::new(Operators::resolve(self, errors));
    }

    /// Returns the counterparts of an operator on the units.
    pub fn counterparts(&self, name: Symbol, arity: usize) -> impl Iterator<Item = Symbol> {
        let own = move |push: &&Push| push.from == name && push.operands.len() == arity;
        self.pushes.iter().filter(own).map(|push| push.to)
    }

    /// Returns the operator table.
    pub fn table(&self) -> &Arc<Operators> {
        &self.table
    }

    /// Returns the sort of a node from the sorts of its children; `None` if the node is not well-sorted.
    pub fn node_sort(&self, node: &Node, child: impl Fn(Id) -> Option<Sort>) -> Option<Sort> {
        let Some(op) = self.operator_of(node) else {
            return Sort::of_literal(node.head()).filter(|_| node.is_leaf());
        };
        let mut bound: BTreeMap<&str, Sort> = BTreeMap::new();
        for (declared, &arg) in op.args.iter().zip(node.children()) {
            let found = child(arg)?;
            let fits = match declared {
                SortTerm::Is(sort) => *sort == found,
                SortTerm::Any(name) => *bound.entry(name.as_str()).or_insert(found) == found,
            };
            if !fits {
                return None;
            }
        }
        match op.result {
            SortTerm::Is(sort) => Some(sort),
            SortTerm::Any(name) => bound.get(name.as_str()).copied(),
        }
    }

    /// Returns the sort of a term; `None` if it is not well-sorted.
    pub fn sort_of(&self, term: &Term) -> Option<Sort> {
        let mut sorts: Vec<Option<Sort>> = Vec::with_capacity(term.len());
        for node in term {
            let sort = self.node_sort(node, |id| sorts[usize::from(id)]);
            sorts.push(sort);
        }
        sorts.last().copied().flatten()
    }

    /// Reads a term without variables and checks its sorts. Reports all errors at once.
    pub fn read_term(&self, sexp: &Sexp) -> Checked<(Term, Sort)> {
        let mut errors = Vec::new();
        let result = tree::read(sexp, &mut errors).and_then(|tree| {
            for (name, span) in tree.variables() {
                errors.push(
                    Diagnostic::error(
                        format!("`{name}` in a term without variables"),
                        span,
                        "a variable of a rule",
                    )
                    .with_help("variables stand in rules only"),
                );
            }
            let mut inference = Inference::new(self);
            let root = inference.tree(&tree, &mut errors);
            let sort = inference.sort(root)?;
            Some((tree.term(), sort))
        });
        match result {
            Some(read) if errors.is_empty() => Ok(read),
            _ => Err(errors),
        }
    }

    /// Reads a pattern and checks its sorts. The sort of the pattern is `None` for a single variable. Reports all
    /// errors at once.
    pub fn read_pattern(&self, sexp: &Sexp) -> Checked<(PatternAst<Node>, Option<Sort>)> {
        let mut errors = Vec::new();
        let result = tree::read(sexp, &mut errors).map(|tree| {
            let mut inference = Inference::new(self);
            let root = inference.tree(&tree, &mut errors);
            (tree.pattern(), inference.sort(root))
        });
        match result {
            Some(read) if errors.is_empty() => Ok(read),
            _ => Err(errors),
        }
    }

    /// Returns the error for an operator that is not declared with this number of arguments.
    pub(super) fn unknown_operator(&self, name: Symbol, arity: usize, span: Span) -> Diagnostic {
        let same_name: Vec<&Operator> =
            self.operators.iter().filter(|op| op.name == name).collect();
        if let Some(first) = same_name.first() {
            let mut arities: Vec<usize> = same_name.iter().map(|op| op.args.len()).collect();
            arities.sort_unstable();
            let arities: Vec<String> = arities.iter().map(usize::to_string).collect();
            return Diagnostic::error(
                format!("wrong number of arguments for `{name}`"),
                span,
                format!("{} expected, {arity} given", arities.join(" or ")),
            )
            .with_code(Code::Arity)
            .with_related(first.span, "declared here")
            .with_help(format!("`{name}`: {}", first.doc));
        }
        let error =
            Diagnostic::error(format!("unknown operator `{name}`"), span, "no dialect declares it")
                .with_code(Code::UnknownOperator);
        match did_you_mean(name.as_str(), self.operators.iter().map(|op| op.name.as_str())) {
            Some(help) => error.with_help(help),
            None => error.with_help("declare it in a (dialect …), or write ?x for a variable"),
        }
    }

    /// Returns the error for a sort that is not declared.
    pub(super) fn unknown_sort(&self, name: &str, span: Span) -> Diagnostic {
        let error =
            Diagnostic::error(format!("unknown sort `{name}`"), span, "no dialect declares it")
                .with_code(Code::UnknownSort);
        match did_you_mean(name, self.sorts.iter().map(|s| s.sort.name())) {
            Some(help) => error.with_help(help),
            None => error.with_help(format!("declare it: (sort {name} \"…\") in a dialect")),
        }
    }
}
