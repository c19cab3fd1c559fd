//! What the words of program text stand for: names of the model and loop variables, by the sort that their
//! place needs.

use crate::rules::{Loop, OpInfo, Operator, Signature, Sort, SortTerm};
use crate::term::Node;
use egg::Symbol;
use ember_values::primitive::Primitive;
use std::collections::{BTreeMap, BTreeSet};

/// The things of a model that have names.
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
    /// The things of which a primitive takes the name.
    fn of(primitive: Primitive) -> Option<Named> {
        match primitive {
            Primitive::Root(false) => Some(Named::Input),
            Primitive::Root(true) => Some(Named::Output),
            Primitive::Size => Some(Named::Size),
            _ => None,
        }
    }
}

/// What words stand for: the operators of a signature, and the names of a model.
#[derive(Clone, Debug)]
pub struct Words<'a> {
    pub(super) signature: &'a Signature,
    names: BTreeMap<String, BTreeSet<Named>>,
    /// The operator over a name of the model that makes a term of the sort.
    roots: BTreeMap<(Named, Sort), Symbol>,
    /// The same where the sort is not known.
    plain: BTreeMap<Named, (Symbol, Sort)>,
    /// The operator over a number or variable alone that makes a term of the second sort.
    over: BTreeMap<(Sort, Sort), Symbol>,
    /// How variables of a sort are made.
    makers: BTreeMap<Sort, Maker>,
    sequences: BTreeMap<Sort, Symbol>,
}

/// How a variable is made: of its name, which is made of a number, and what it ranges over.
#[derive(Clone, Debug)]
pub(super) struct Maker {
    pub op: Symbol,
    pub name: Symbol,
    pub bounds: Vec<Sort>,
}

/// What a word stands for: an operator over it, and one over that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stands {
    pub over: Option<Symbol>,
    pub root: Symbol,
}

impl<'a> Words<'a> {
    /// The words of dialects alone: no tensors, no sizes.
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
        // The first that is declared counts, so that a further dialect changes no text.
        for op in signature.operators() {
            let Some(result) = op.result.named() else { continue };
            let primitive = words.info(op).and_then(OpInfo::primitive);
            if let Some(named) = primitive.and_then(Named::of) {
                words.roots.entry((named, result)).or_insert(op.name);
                words.plain.entry(named).or_insert((op.name, result));
            }
            if primitive == Some(Primitive::Seq) {
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
        self.info(op).filter(|info| info.is(Primitive::Variable))?;
        let sorts: Option<Vec<Sort>> = op.args.iter().map(|sort| sort.named()).collect();
        let (SortTerm::Is(result), Some(sorts)) = (op.result, sorts) else { return None };
        let (name, bounds) = sorts.split_first()?;
        let name = *self.over.get(&(Sort::named(Sort::VALUE), *name))?;
        (result == sort).then(|| Maker { op: op.name, name, bounds: bounds.to_vec() })
    }

    /// Everything that is known of an operator.
    pub(super) fn info(&self, op: &Operator) -> Option<&'a OpInfo> {
        self.signature.table().get(op.name, op.args.len())
    }

    /// The things of a model of which a node takes the name.
    pub(super) fn named(&self, node: &Node) -> Option<Named> {
        self.signature.table().primitive(node).and_then(Named::of)
    }

    /// The operators.
    pub fn signature(&self) -> &'a Signature {
        self.signature
    }

    /// Adds a name of the model.
    pub fn add(&mut self, name: &str, named: Named) {
        self.names.entry(name.to_owned()).or_default().insert(named);
    }

    /// Whether a tensor or size has this name.
    pub(super) fn is_name(&self, word: &str) -> bool {
        self.names.contains_key(word)
    }

    /// Whether this is an operator without operands where such a sort is needed.
    pub(super) fn is_operator(&self, word: &str, sort: Option<Sort>) -> bool {
        let op = self.signature.operator(Symbol::from(word), 0);
        op.is_some_and(|op| sort.is_none_or(|sort| op.result.named().is_none_or(|r| r == sort)))
    }

    /// What a name of the model stands for where such a sort is needed.
    pub(super) fn name(&self, word: &str, sort: Option<Sort>) -> Option<Stands> {
        let kinds = self.names.get(word).filter(|_| !self.is_operator(word, sort))?;
        let fitting = sort.and_then(|sort| kinds.iter().find_map(|kind| self.fitting(*kind, sort)));
        let (root, _) = self.plain.get(kinds.first()?)?;
        // What fits nowhere is left to the check of sorts, which says so.
        Some(fitting.unwrap_or(Stands { over: None, root: *root }))
    }

    fn fitting(&self, named: Named, sort: Sort) -> Option<Stands> {
        if let Some(root) = self.roots.get(&(named, sort)) {
            return Some(Stands { over: None, root: *root });
        }
        let (root, own) = *self.plain.get(&named)?;
        Some(Stands { over: Some(*self.over.get(&(own, sort))?), root })
    }

    /// The operator over a number where such a sort is needed; `None` if there is none or need be none.
    pub(super) fn over_number(&self, sort: Option<Sort>) -> Option<Symbol> {
        self.over.get(&(Sort::named(Sort::VALUE), sort?)).copied()
    }

    /// The operator over a variable of a sort where such a sort is needed; `None` for the variable itself.
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

    /// How variables of a sort are made.
    pub(super) fn maker(&self, sort: Sort) -> Option<&Maker> {
        self.makers.get(&sort)
    }

    /// The operator that runs one term of a sort after another.
    pub(super) fn sequence(&self, sort: Sort) -> Option<Symbol> {
        self.sequences.get(&sort).copied()
    }

    /// The sorts that an operator's arguments need where the whole needs such a sort.
    pub(super) fn needs(&self, op: &Operator, sort: Option<Sort>) -> Vec<Option<Sort>> {
        let own = |arg: &SortTerm| match arg {
            SortTerm::Is(own) => Some(*own),
            SortTerm::Any(_) if *arg == op.result => sort,
            SortTerm::Any(_) => None,
        };
        op.args.iter().map(own).collect()
    }

    /// The operator that a longer list of operands is short for, by its name and their number: one of two
    /// operands of which the first has the sort of the whole, and the other has not.
    pub(super) fn repeated(&self, name: Symbol, operands: usize) -> Option<&'a Operator> {
        let op = self.signature.operator(name, 2).filter(|_| operands > 2)?;
        let chained = op.args[0] == op.result && op.args[1] != op.result;
        let free = self.signature.operator(name, operands).is_none();
        (chained && free && op.result.named().is_some()).then_some(op)
    }

    /// The operator that a longer list of operands is short for, one after the other.
    pub(super) fn in_a_row(&self, name: Symbol, operands: usize) -> Option<&'a Operator> {
        let op = self.signature.operator(name, 2).filter(|_| operands > 2)?;
        let free = self.signature.operator(name, operands).is_none();
        (self.is_sequence(op) && free).then_some(op)
    }

    /// The argument that holds an operator's variable, its sort, and the argument in which it is bound; only
    /// of an operator whose variables are made of names.
    pub(super) fn binds(&self, op: &Operator) -> Option<(usize, Sort, usize)> {
        let (variable, body) = op.binds?;
        let sort = op.args[variable].named()?;
        self.makers.contains_key(&sort).then_some((variable, sort, body))
    }

    /// Whether an operator runs its first operand and then its second.
    pub(super) fn is_sequence(&self, op: &Operator) -> bool {
        op.result.named().and_then(|sort| self.sequence(sort)) == Some(op.name)
    }

    /// The operands of a loop, if it says what its variable ranges over.
    pub(super) fn looped(&self, op: &Operator) -> Option<Loop> {
        self.binds(op)?;
        self.info(op)?.looped()
    }
}
