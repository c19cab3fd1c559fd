//! The meanings of the words of program text: names of the model and loop variables, by the sort that their place
//! needs.

use crate::rules::{Loop, OpInfo, Operator, Signature, Sort, SortTerm};
use crate::term::Node;
use egg::Symbol;
use ember_values::primitive::form::{Form, Number, Sequence, View};
use std::collections::{BTreeMap, BTreeSet};

/// The kinds of things in a model that have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Named {
    /// A tensor that programs only read.
    Input,
    /// A tensor that programs write.
    Output,
    /// A symbolic size.
    Size,
}

impl Named {
    /// Returns the kind of thing whose name a term takes.
    fn of<T>(form: Form<T>) -> Option<Named> {
        match form {
            Form::Root { written: false, .. } => Some(Named::Input),
            Form::Root { written: true, .. } => Some(Named::Output),
            Form::Number { value: Number::Size(_), .. } => Some(Named::Size),
            _ => None,
        }
    }
}

/// The meanings of words: the operators of a signature, and the names of a model.
#[derive(Clone, Debug)]
pub struct Words<'a> {
    pub(super) signature: &'a Signature,
    names: BTreeMap<String, BTreeSet<Named>>,
    /// For each kind of name and sort, the operator that turns the name into a term of the sort.
    roots: BTreeMap<(Named, Sort), Symbol>,
    /// For each kind of name, the operator used if the needed sort is not known, and the operator's sort.
    plain: BTreeMap<Named, (Symbol, Sort)>,
    /// For each pair of sorts, the operator that turns a number or variable of the first into a term of the second.
    over: BTreeMap<(Sort, Sort), Symbol>,
    /// For each sort of variables, the way to build them.
    makers: BTreeMap<Sort, Maker>,
    sequences: BTreeMap<Sort, Symbol>,
}

/// The way to build a variable: an operator over the variable's name (itself built from a number) and its range.
#[derive(Clone, Debug)]
pub(super) struct Maker {
    pub op: Symbol,
    pub name: Symbol,
    pub bounds: Vec<Sort>,
}

/// The meaning of a word: an operator over it, and possibly a second operator over the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stands {
    pub over: Option<Symbol>,
    pub root: Symbol,
}

impl<'a> Words<'a> {
    /// Creates the words of dialects alone, without tensors or sizes.
    pub fn new(signature: &'a Signature) -> Words<'a> {
        let mut words = Words {
            signature,
            names: BTreeMap::new(),
            roots: BTreeMap::new(),
            plain: BTreeMap::new(),
            over: BTreeMap::new(),
            makers: BTreeMap::new(),
            sequences: BTreeMap::new(),
        };
        let variables = signature.variable_sorts();
        // The first declaration counts, so that an additional dialect changes no text.
        for op in signature.operators() {
            let Some(result) = op.result.named() else { continue };
            let form = words.info(op).and_then(|info| info.form);
            if let Some(named) = form.and_then(Named::of) {
                words.roots.entry((named, result)).or_insert(op.name);
                words.plain.entry(named).or_insert((op.name, result));
            }
            if let Some(Form::Sequence(Sequence::Two(_))) = form {
                words.sequences.entry(result).or_insert(op.name);
            }
            if let [SortTerm::Is(from)] = op.args[..]
                && from != result
                && !op.boundary
                && (from.name() == Sort::VALUE || variables.contains(&from))
            {
                words.over.entry((from, result)).or_insert(op.name);
            }
        }
        for sort in variables {
            let made = signature.operators().iter().find_map(|op| words.maker_by(op, sort));
            words.makers.extend(made.map(|maker| (sort, maker)));
        }
        words
    }

    fn maker_by(&self, op: &Operator, sort: Sort) -> Option<Maker> {
        self.info(op)?.variable()?;
        let sorts: Option<Vec<Sort>> = op.args.iter().map(|sort| sort.named()).collect();
        let (SortTerm::Is(result), Some(sorts)) = (op.result, sorts) else { return None };
        let (name, bounds) = sorts.split_first()?;
        let name = *self.over.get(&(Sort::named(Sort::VALUE), *name))?;
        (result == sort).then(|| Maker { op: op.name, name, bounds: bounds.to_vec() })
    }

    /// Returns the table entry of an operator.
    pub(super) fn info(&self, op: &Operator) -> Option<&'a OpInfo> {
        self.signature.table().get(op.name, op.args.len())
    }

    /// Returns the kind of thing whose name a node takes.
    pub(super) fn named(&self, node: &Node) -> Option<Named> {
        self.signature.table().form(node).and_then(Named::of)
    }

    /// Returns the operators.
    pub fn signature(&self) -> &'a Signature {
        self.signature
    }

    /// Adds a name of the model.
    pub fn add(&mut self, name: &str, named: Named) {
        self.names.entry(name.to_owned()).or_default().insert(named);
    }

    /// Returns true if a tensor or size has this name.
    pub(super) fn is_name(&self, word: &str) -> bool {
        self.names.contains_key(word)
    }

    /// Returns true if a tensor that programs write has this name.
    pub(super) fn is_written(&self, word: &str) -> bool {
        self.names.get(word).is_some_and(|kinds| kinds.contains(&Named::Output))
    }

    /// Returns true if the word is an operator without operands that fits the needed sort.
    pub(super) fn is_operator(&self, word: &str, sort: Option<Sort>) -> bool {
        let op = self.signature.operator(Symbol::from(word), 0);
        op.is_some_and(|op| sort.is_none_or(|sort| op.result.named().is_none_or(|r| r == sort)))
    }

    /// Returns the meaning of a name of the model at a place that needs the sort.
    pub(super) fn name(&self, word: &str, sort: Option<Sort>) -> Option<Stands> {
        let kinds = self.names.get(word).filter(|_| !self.is_operator(word, sort))?;
        let fitting = sort.and_then(|sort| kinds.iter().find_map(|kind| self.fitting(*kind, sort)));
        let (root, _) = self.plain.get(kinds.first()?)?;
        // A name that fits nowhere is left to the check of sorts, which reports it.
        Some(fitting.unwrap_or(Stands { over: None, root: *root }))
    }

    fn fitting(&self, named: Named, sort: Sort) -> Option<Stands> {
        if let Some(root) = self.roots.get(&(named, sort)) {
            return Some(Stands { over: None, root: *root });
        }
        let (root, own) = *self.plain.get(&named)?;
        Some(Stands { over: Some(*self.over.get(&(own, sort))?), root })
    }

    /// Returns the operator to be put over a number at a place that needs the sort; `None` if none exists or none is
    /// needed.
    pub(super) fn over_number(&self, sort: Option<Sort>) -> Option<Symbol> {
        self.over.get(&(Sort::named(Sort::VALUE), sort?)).copied()
    }

    /// Returns the operator to be put over a variable of the sort `own` at a place that needs `sort`; `None` for the
    /// variable itself.
    pub(super) fn over_variable(&self, own: Sort, sort: Option<Sort>) -> Option<Symbol> {
        if sort == Some(own) {
            return None;
        }
        let fitting = sort.and_then(|sort| self.over.get(&(own, sort)));
        let declared = || {
            let ops = self.signature.operators().iter();
            let name = |op: &Operator| self.over.get(&(own, op.result.named()?)).copied();
            ops.filter_map(|op| name(op).filter(|name| *name == op.name)).next()
        };
        fitting.copied().or_else(declared)
    }

    /// Returns the way to build variables of a sort.
    pub(super) fn maker(&self, sort: Sort) -> Option<&Maker> {
        self.makers.get(&sort)
    }

    /// Returns the operator that runs one term of a sort after another.
    pub(super) fn sequence(&self, sort: Sort) -> Option<Symbol> {
        self.sequences.get(&sort).copied()
    }

    /// Returns the sorts that an operator's arguments need if the result needs `sort`.
    pub(super) fn needs(&self, op: &Operator, sort: Option<Sort>) -> Vec<Option<Sort>> {
        let own = |arg: &SortTerm| match arg {
            SortTerm::Is(own) => Some(*own),
            SortTerm::Any(_) if *arg == op.result => sort,
            SortTerm::Any(_) => None,
        };
        op.args.iter().map(own).collect()
    }

    /// Returns the operator that another number of operands abbreviates, by its name and this number. It has two
    /// operands, of which only the first has the sort of the result. An index alone has none: it is an address of a
    /// tensor of rank 0.
    pub(super) fn repeated(&self, name: Symbol, operands: usize) -> Option<&'a Operator> {
        let form = |op: &Operator| self.info(op)?.form;
        let op = self.signature.operator(name, 2)?;
        (operands > 2
            || operands == 1 && matches!(form(op), Some(Form::View { view: View::At(_), .. })))
        .then_some(())?;
        let chained = op.args[0] == op.result && op.args[1] != op.result;
        let free = self.signature.operator(name, operands).is_none();
        (chained && free && op.result.named().is_some()).then_some(op)
    }

    /// Returns the sequence operator that a longer list of operands abbreviates.
    pub(super) fn in_a_row(&self, name: Symbol, operands: usize) -> Option<&'a Operator> {
        let op = self.signature.operator(name, 2).filter(|_| operands > 2)?;
        let free = self.signature.operator(name, operands).is_none();
        (self.is_sequence(op) && free).then_some(op)
    }

    /// Returns the index of the argument that holds an operator's variable, the variable's sort, and the index of the
    /// argument in which it is bound; `None` if the operator's variables are not built from names.
    pub(super) fn binds(&self, op: &Operator) -> Option<(usize, Sort, usize)> {
        let (variable, body) = op.binds?;
        let sort = op.args[variable].named()?;
        self.makers.contains_key(&sort).then_some((variable, sort, body))
    }

    /// Returns true if the operator runs its first operand and then its second.
    pub(super) fn is_sequence(&self, op: &Operator) -> bool {
        op.result.named().and_then(|sort| self.sequence(sort)) == Some(op.name)
    }

    /// Returns the operands of a loop that determines the range of its variable.
    pub(super) fn looped(&self, op: &Operator) -> Option<Loop> {
        self.binds(op)?;
        self.info(op)?.looped()
    }
}
