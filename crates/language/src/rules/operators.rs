//! The operator table: everything that stages ask of an operator, resolved once from its declaration
//! (`resolve`).
//!
//! A row says which primitive the operator is and where its operands stand, its element type and lanes, what it
//! reads and writes, and which variable it binds. What is declared nowhere is not known, and whoever asks gets
//! nothing: no rule fires on it and nothing moves across it.

use crate::term::{Head, Node};
use egg::{Id, Language, Symbol};
use ember_values::primitive::{Ask, Price, Primitive, Row, Typing, Width};
use rustc_hash::{FxHashMap, FxHashSet};

/// The kind of the terms of a sort: in what way they mean something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A scalar or lanes.
    Value,
    /// A place in memory.
    Address,
    /// A change of memory.
    Statement,
    /// A function from indices to scalars.
    Tensor,
    /// A name of the model.
    Name,
    /// A literal real number.
    Number,
    /// A loop variable.
    Variable,
    /// An element type.
    Type,
    /// A binary operation.
    Operation,
    /// A name that only the operator around it reads.
    Label,
}

impl Kind {
    /// Every kind with the word after `:kind`.
    pub const ALL: [(&'static str, Kind); 10] = [
        ("value", Kind::Value),
        ("address", Kind::Address),
        ("statement", Kind::Statement),
        ("tensor", Kind::Tensor),
        ("name", Kind::Name),
        ("number", Kind::Number),
        ("variable", Kind::Variable),
        ("type", Kind::Type),
        ("operation", Kind::Operation),
        ("label", Kind::Label),
    ];

    /// Whether terms of this kind are evaluated, in an environment and a store.
    pub fn is_evaluated(self) -> bool {
        matches!(self, Kind::Value | Kind::Address | Kind::Statement | Kind::Tensor)
    }
}

/// Where the terms of a sort run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// On the access unit.
    Access,
    /// On the execute unit.
    Execute,
    /// On both: access and execute code, nested.
    Both,
}

impl Unit {
    /// Every unit with the word after `:unit`.
    pub const ALL: [(&'static str, Unit); 3] =
        [("access", Unit::Access), ("execute", Unit::Execute), ("both", Unit::Both)];
}

/// The operands of a loop: their positions, or what stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop<T = usize> {
    /// The variable that it binds.
    pub variable: T,
    /// The first value, on the unit that runs the body.
    pub lo: T,
    /// The bound that no value reaches.
    pub hi: T,
    /// The distance of two values.
    pub step: T,
    /// What is run for each value.
    pub body: T,
    /// Of a reduction, the operation and the start.
    pub folds: Option<(T, T)>,
    /// Of a loop of both units, lo and hi on the access unit.
    pub access: Option<(T, T)>,
}

impl Loop {
    /// What stands at these positions.
    pub fn of<T: Copy>(&self, operands: &[T]) -> Option<Loop<T>> {
        let at = |position: usize| operands.get(position).copied();
        let both = |pair: Option<(usize, usize)>| match pair {
            Some((a, b)) => Some(Some((at(a)?, at(b)?))),
            None => Some(None),
        };
        Some(Loop {
            variable: at(self.variable)?,
            lo: at(self.lo)?,
            hi: at(self.hi)?,
            step: at(self.step)?,
            body: at(self.body)?,
            folds: both(self.folds)?,
            access: both(self.access)?,
        })
    }
}

/// The addresses that an operator touches by itself, by the positions of its operands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touches {
    /// Read.
    pub reads: Vec<usize>,
    /// Written.
    pub writes: Vec<usize>,
}

/// What is known of an operator.
#[derive(Clone, Debug)]
pub struct OpInfo {
    /// Its name.
    pub name: Symbol,
    /// What its operands are called, where that is known.
    pub operands: Vec<Option<Symbol>>,
    /// The kinds of its operands; `None` for a sort of no declared kind, and for any sort.
    pub operand_kinds: Vec<Option<Kind>>,
    /// Where its operands run; `None` for what runs nowhere yet.
    pub operand_units: Vec<Option<Unit>>,
    /// The kind of the whole.
    pub kind: Option<Kind>,
    /// Where it runs; `None` for what runs nowhere yet.
    pub unit: Option<Unit>,
    /// Its primitive's row.
    pub row: Option<&'static Row>,
    /// The operator that it erases to; itself, where it says `:means`.
    pub erased: Option<Symbol>,
    /// Of the operands of that operator, in their order, the positions here.
    pub erasure: Vec<usize>,
    /// Of the primitive's operands, in the order of its row, the positions here.
    pub(super) parts: Vec<Option<usize>>,
    /// The element type.
    pub typing: Option<Typing<usize>>,
    /// The lanes.
    pub width: Option<Width<usize>>,
    /// What it touches by itself, besides what its operands do.
    pub touches: Option<Touches>,
    /// The rank of the tensor that it is, if it is always the same.
    pub rank: Option<usize>,
    /// Demands on its operands.
    pub asks: Vec<Ask>,
    /// Operands that are literal numbers.
    pub literals: Vec<usize>,
    /// Whether it works lane by lane.
    pub lanewise: bool,
    /// Its cost class.
    pub price: Option<Price>,
    /// The argument that is a variable which it binds, and the argument in which it is bound.
    pub binds: Option<(usize, usize)>,
    /// Whether it makes a variable.
    pub makes_variable: bool,
    /// Whether it only changes the sort.
    pub boundary: bool,
}

impl OpInfo {
    /// The primitive that it is.
    #[inline]
    pub fn primitive(&self) -> Option<Primitive> {
        self.row.map(|row| row.primitive)
    }

    /// Whether it is a primitive.
    #[inline]
    pub fn is(&self, primitive: Primitive) -> bool {
        self.primitive() == Some(primitive)
    }

    /// The first operands in the order of the primitive's row.
    #[inline]
    pub fn parts<const N: usize>(&self, children: &[Id]) -> Option<[Id; N]> {
        self.arranged(children)
    }

    /// The first of what stands in its operands' places, in the order of the primitive's row.
    #[inline]
    pub fn arranged<T: Copy, const N: usize>(&self, operands: &[T]) -> Option<[T; N]> {
        let mut positions = [0; N];
        for (at, position) in positions.iter_mut().enumerate() {
            *position = (*self.parts.get(at)?)?;
        }
        let whole = positions.iter().all(|position| *position < operands.len());
        whole.then(|| positions.map(|position| operands[position]))
    }

    /// The position of the first operand of a kind.
    pub fn first_of(&self, kind: Kind) -> Option<usize> {
        self.operand_kinds.iter().position(|other| *other == Some(kind))
    }

    /// The positions of all operands in the order of the primitive's row; those that it lacks are missing.
    pub fn positions(&self) -> impl Iterator<Item = usize> + '_ {
        self.parts.iter().filter_map(|part| *part)
    }

    /// The position of an operand by its place in the primitive's row.
    #[inline]
    pub fn place(&self, place: usize) -> Option<usize> {
        *self.parts.get(place)?
    }

    /// The position of an operand by its name in the primitive's row.
    pub fn position(&self, name: &str) -> Option<usize> {
        let at = self.row?.parts().position(|(part, _)| part == name)?;
        *self.parts.get(at)?
    }

    /// The operands of a loop, if it is one.
    pub fn looped(&self) -> Option<Loop> {
        let at = |name: &str| self.position(name);
        let folds = match self.primitive()? {
            Primitive::For => None,
            Primitive::Reduce => Some((at("op")?, at("start")?)),
            _ => return None,
        };
        Some(Loop {
            variable: at("variable")?,
            lo: at("lo")?,
            hi: at("hi")?,
            step: at("step")?,
            body: at("body")?,
            folds,
            access: at("access-lo").zip(at("access-hi")),
        })
    }

    /// Where its operand runs, if it means what its operand means and is no boundary.
    pub fn carries_from(&self) -> Option<Option<Unit>> {
        let carries = self.is_transparent() && !self.boundary;
        if carries { self.operand_units.first().copied() } else { None }
    }

    /// Whether it means what its operand means, on whatever unit.
    pub fn is_transparent(&self) -> bool {
        self.is(Primitive::Same)
    }

    /// Whether rules make its facts: what runs nowhere yet.
    pub fn has_facts(&self) -> bool {
        self.unit.is_none()
            && (self.row.is_some() || self.touches.is_some() || self.typing.is_some())
    }
}

/// The operators of the dialects that were loaded.
#[derive(Clone, Debug, Default)]
pub struct Operators {
    pub(super) rows: FxHashMap<(Symbol, usize), OpInfo>,
    pub(super) makers: FxHashSet<Symbol>,
    pub(super) named: FxHashMap<(Primitive, Option<Unit>), Symbol>,
    pub(super) boundaries: FxHashMap<(Kind, Unit), Symbol>,
    pub(super) numbered: Option<Symbol>,
    pub(super) names_are_variables: bool,
}

impl Operators {
    /// An operator by its name and number of operands.
    #[inline]
    pub fn get(&self, name: Symbol, arity: usize) -> Option<&OpInfo> {
        self.rows.get(&(name, arity))
    }

    /// The operator of a node; `None` for numbers, names of the model and what is declared nowhere.
    #[inline]
    pub fn of(&self, node: &Node) -> Option<&OpInfo> {
        match node.head() {
            Head::Op(name) => self.get(name, node.children().len()),
            Head::Int(_) | Head::Real(_) => None,
        }
    }

    /// The operands of a node that is a primitive, in the order of the primitive's row.
    #[inline]
    pub fn parts<const N: usize>(&self, node: &Node, primitive: Primitive) -> Option<[Id; N]> {
        self.of(node).filter(|info| info.is(primitive))?.parts(node.children())
    }

    /// The primitive of a node.
    #[inline]
    pub fn primitive(&self, node: &Node) -> Option<Primitive> {
        self.of(node)?.primitive()
    }

    /// Which argument of an operator is a variable that it binds, and in which other.
    #[inline]
    pub fn binds(&self, name: Symbol, arity: usize) -> Option<(usize, usize)> {
        self.get(name, arity)?.binds
    }

    /// Whether an operator makes a variable. A name of the model may be one.
    #[inline]
    pub fn makes_variable(&self, name: Symbol, arity: usize) -> bool {
        match self.get(name, arity) {
            Some(info) => info.makes_variable,
            None => arity == 0 && self.names_are_variables && name.as_str().starts_with('%'),
        }
    }

    /// Whether an operator of this name makes variables, with whatever number of operands.
    pub fn makes_variables(&self, name: Symbol) -> bool {
        self.makers.contains(&name)
    }

    /// The operator that is a primitive on a unit; where several are, the first that was declared.
    pub fn named(&self, primitive: Primitive, unit: Option<Unit>) -> Option<Symbol> {
        self.named.get(&(primitive, unit)).copied()
    }

    /// The boundary that terms of a kind which run nowhere yet have to a unit; where several are, the first that
    /// was declared.
    pub fn boundary(&self, kind: Kind, unit: Unit) -> Option<Symbol> {
        self.boundaries.get(&(kind, unit)).copied()
    }

    /// The numbers of operands with which an operator of this name is declared, the least first.
    pub fn arities(&self, name: Symbol) -> Vec<usize> {
        let mut arities: Vec<usize> =
            self.rows.keys().filter(|(other, _)| *other == name).map(|(_, n)| *n).collect();
        arities.sort_unstable();
        arities
    }

    /// The operator that names a loop variable by a number.
    pub fn numbered(&self) -> Option<Symbol> {
        self.numbered
    }

    /// Every operator, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &OpInfo> {
        self.rows.values()
    }

    /// Whether a node is a loop variable.
    #[inline]
    pub fn is_variable(&self, node: &Node) -> bool {
        self.primitive(node) == Some(Primitive::Variable)
    }

    /// The name, lo, hi and step of a loop variable.
    pub fn variable(&self, node: &Node) -> Option<[Id; 4]> {
        self.parts(node, Primitive::Variable)
    }

    /// Whether a node means what its operand means, on whatever unit.
    pub fn is_transparent(&self, node: &Node) -> bool {
        self.of(node).is_some_and(OpInfo::is_transparent)
    }

    /// The operands of a loop.
    pub fn looped(&self, node: &Node) -> Option<Loop<Id>> {
        self.of(node)?.looped()?.of(node.children())
    }
}
