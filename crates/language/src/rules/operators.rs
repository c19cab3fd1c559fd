//! The operator table: the properties of every operator, resolved once from its declaration
//! (`resolve`).
//!
//! A row holds the operator's primitive, the positions of its operands, its element type and lanes, the memory that it
//! reads and writes, and the variable that it binds. A property that is declared nowhere is unknown, and a request for
//! it returns nothing: no rule fires on the operator and nothing moves across it.

use super::lowering::{Lowering, Lowerings};
use crate::term::{Head, Node};
use egg::{Id, Language, Symbol};
pub use ember_values::primitive::form::Loop;
use ember_values::primitive::form::{Form, Number, Operation, Shape};
use ember_values::primitive::{Ask, OfRank, Price, Row, Typing, Width};
use ember_values::scalar::{BinaryOp, Linear, UnaryOp};
use rustc_hash::{FxHashMap, FxHashSet};

/// The kind of a sort: the kind of meaning that its terms have.
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

    /// Returns true if terms of this kind are evaluated, in an environment and a store.
    pub fn is_evaluated(self) -> bool {
        matches!(self, Kind::Value | Kind::Address | Kind::Statement | Kind::Tensor)
    }
}

/// The unit on which the terms of a sort run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// The access unit.
    Access,
    /// The execute unit.
    Execute,
    /// Both units: access and execute code, nested.
    Both,
}

impl Unit {
    /// Every unit with the word after `:unit`.
    pub const ALL: [(&'static str, Unit); 3] =
        [("access", Unit::Access), ("execute", Unit::Execute), ("both", Unit::Both)];
}

/// The addresses that an operator itself accesses, by the positions of its operands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touches {
    /// The addresses read.
    pub reads: Vec<usize>,
    /// The addresses written.
    pub writes: Vec<usize>,
}

/// The known properties of an operator.
#[derive(Clone, Debug)]
pub struct OpInfo {
    /// Its name.
    pub name: Symbol,
    /// The names of its operands, as far as they are known.
    pub operands: Vec<Option<Symbol>>,
    /// The kinds of its operands; `None` if the sort has no declared kind or is any sort.
    pub operand_kinds: Vec<Option<Kind>>,
    /// The units on which its operands run; `None` for an operand that runs on no unit yet.
    pub operand_units: Vec<Option<Unit>>,
    /// The kind of its result.
    pub kind: Option<Kind>,
    /// The unit on which it runs; `None` if it runs on no unit yet.
    pub unit: Option<Unit>,
    /// Its primitive's row.
    pub row: Option<&'static Row>,
    /// The operator that it erases to; the operator itself if it is declared with `:means`.
    pub erased: Option<Symbol>,
    /// The positions here of the operands of the operator that it erases to, in that operator's order.
    pub erasure: Vec<usize>,
    /// The positions here of the primitive's operands, in the order of the primitive's row.
    pub(super) parts: Vec<Option<usize>>,
    /// Its form, over the positions of its operands.
    pub form: Option<Form<usize>>,
    /// The shape of its form, by which operators are found.
    pub shape: Option<Shape>,
    /// The element type.
    pub typing: Option<Typing<usize>>,
    /// The lanes.
    pub width: Option<Width<usize>>,
    /// The memory that it accesses itself, without the accesses of its operands.
    pub touches: Option<Touches>,
    /// The rank of the tensor that it yields, if the rank is fixed.
    pub rank: Option<usize>,
    /// The demands on its operands.
    pub asks: Vec<Ask>,
    /// The operands that are literal numbers.
    pub literals: Vec<usize>,
    /// True if it works lane by lane.
    pub lanewise: bool,
    /// Its price class.
    pub price: Option<Price>,
    /// The argument that is the bound variable, and the argument in which it is bound.
    pub binds: Option<(usize, usize)>,
    /// True if it builds a variable.
    pub makes_variable: bool,
    /// True if it only changes the sort.
    pub boundary: bool,
}

impl OpInfo {
    /// Returns its form over these operands; `None` if nothing declares a form.
    #[inline]
    pub fn form<T: Copy>(&self, operands: &[T]) -> Option<Form<T>> {
        self.form?.of(operands)
    }

    /// Returns the element type that its primitive's row states, whatever the dialect declares.
    pub fn result<T: Copy>(&self, operands: &[T]) -> Option<Typing<T>> {
        self.row?.typing?.over(|name| operands.get(self.position(name)?).copied())
    }

    /// Returns the function of a scalar that it is.
    pub fn function(&self) -> Option<UnaryOp> {
        match self.form? {
            Form::Unary(Operation::Is(op), _) => Some(op),
            _ => None,
        }
    }

    /// Returns the binary operation that it is on scalars.
    pub fn operation(&self) -> Option<BinaryOp> {
        match self.form? {
            Form::Binary(Operation::Is(op), _) => Some(op),
            _ => None,
        }
    }

    /// Returns the first of the values at its operands' positions, in the order of the primitive's row.
    #[inline]
    pub fn arranged<T: Copy, const N: usize>(&self, operands: &[T]) -> Option<[T; N]> {
        let mut positions = [0; N];
        for (at, position) in positions.iter_mut().enumerate() {
            *position = (*self.parts.get(at)?)?;
        }
        let whole = positions.iter().all(|position| *position < operands.len());
        whole.then(|| positions.map(|position| operands[position]))
    }

    /// Returns the position of the first operand of a kind.
    pub fn first_of(&self, kind: Kind) -> Option<usize> {
        self.operand_kinds.iter().position(|other| *other == Some(kind))
    }

    /// Returns the positions of all operands in the order of the primitive's row, without the operands that it lacks.
    pub fn positions(&self) -> impl Iterator<Item = usize> + '_ {
        self.parts.iter().filter_map(|part| *part)
    }

    /// Returns the position of an operand by its index in the primitive's row.
    #[inline]
    pub fn place(&self, place: usize) -> Option<usize> {
        *self.parts.get(place)?
    }

    /// Returns the position of an operand by its name in the primitive's row.
    pub fn position(&self, name: &str) -> Option<usize> {
        let at = self.row?.parts().position(|(part, _)| part == name)?;
        *self.parts.get(at)?
    }

    /// Returns the positions of the name, lo, hi and step, if it makes a loop variable from them.
    pub fn variable(&self) -> Option<[usize; 4]> {
        self.form?.as_variable().map(|(name, [lo, hi, step])| [name, lo, hi, step])
    }

    /// Returns the positions of the operation and of the lanes that it folds to a scalar.
    pub fn folded_lanes(&self) -> Option<[usize; 2]> {
        self.form?.as_fold()
    }

    /// Returns the operands of a loop, if it is one.
    pub fn looped(&self) -> Option<Loop> {
        match self.form {
            Some(Form::Loop(own)) => Some(own),
            _ => None,
        }
    }

    /// Returns the unit of its operand, if it has its operand's meaning and is no boundary.
    pub fn carries_from(&self) -> Option<Option<Unit>> {
        let carries = self.is_transparent() && !self.boundary;
        if carries { self.operand_units.first().copied() } else { None }
    }

    /// Returns true if it has its operand's meaning, on any unit.
    pub fn is_transparent(&self) -> bool {
        matches!(self.form, Some(Form::Carried { to: None, .. }))
    }

    /// Returns the rank of the tensor that it makes, from the ranks of its operands.
    pub fn rank_from(&self, rank: impl Fn(usize) -> Option<usize>) -> Option<usize> {
        self.rank.or_else(|| {
            let mut ranked = (0..self.operand_kinds.len())
                .filter(|at| matches!(self.operand_kinds[*at], Some(Kind::Tensor | Kind::Address)));
            ranked.find_map(|at| match self.asks.get(at).copied().unwrap_or_default().rank {
                OfRank::Follows => rank(at),
                OfRank::More(more) => rank(at)?.checked_add_signed(-isize::from(more)),
                OfRank::Is(_) => None,
            })
        })
    }

    /// Returns true if facts about its terms follow from the table: it runs on no unit yet and has a known meaning.
    pub fn has_facts(&self) -> bool {
        self.unit.is_none()
            && (self.row.is_some() || self.touches.is_some() || self.typing.is_some())
    }
}

/// The operators of the loaded dialects.
#[derive(Clone, Debug, Default)]
pub struct Operators {
    pub(super) rows: FxHashMap<(Symbol, usize), OpInfo>,
    pub(super) makers: FxHashSet<Symbol>,
    pub(super) named: FxHashMap<(Shape, Option<Unit>), Symbol>,
    pub(super) boundaries: FxHashMap<(Kind, Unit), Symbol>,
    pub(super) numbered: Option<Symbol>,
    /// The meanings of operators on tensors by rules alone.
    pub(super) lowerings: Lowerings,
    pub(super) names_are_variables: bool,
}

impl Operators {
    /// Returns an operator by its name and number of operands.
    #[inline]
    pub fn get(&self, name: Symbol, arity: usize) -> Option<&OpInfo> {
        self.rows.get(&(name, arity))
    }

    /// Returns the operator of a node; `None` for numbers, names of the model and undeclared operators.
    #[inline]
    pub fn of(&self, node: &Node) -> Option<&OpInfo> {
        match node.head() {
            Head::Op(name) => self.get(name, node.children().len()),
            Head::Int(_) | Head::Real(_) => None,
        }
    }

    /// Returns the position of the variable that an operator binds, and the position of the operand in which it is
    /// bound.
    #[inline]
    pub fn binds(&self, name: Symbol, arity: usize) -> Option<(usize, usize)> {
        self.get(name, arity)?.binds
    }

    /// Returns true if the operator builds a variable. A name of the model may be one.
    #[inline]
    pub fn makes_variable(&self, name: Symbol, arity: usize) -> bool {
        match self.get(name, arity) {
            Some(info) => info.makes_variable,
            None => arity == 0 && self.names_are_variables && name.as_str().starts_with('%'),
        }
    }

    /// Returns true if an operator of this name builds variables, for any number of operands.
    pub fn makes_variables(&self, name: Symbol) -> bool {
        self.makers.contains(&name)
    }

    /// Returns the operator whose form has a shape on a unit; the first one declared if there are several.
    pub fn named(&self, shape: Shape, unit: Option<Unit>) -> Option<Symbol> {
        self.named.get(&(shape, unit)).copied()
    }

    /// Returns the operator that makes loop variables that run on no unit yet.
    pub fn declarer(&self) -> Option<Symbol> {
        self.named(Form::variable((), [(); 3]), None)
    }

    /// Returns the boundary from terms of a kind that run on no unit yet to a unit; the first one declared if there are
    /// several.
    pub fn boundary(&self, kind: Kind, unit: Unit) -> Option<Symbol> {
        self.boundaries.get(&(kind, unit)).copied()
    }

    /// Returns the meaning of an operator on tensors, if rules alone state it.
    pub fn lowering(&self, name: Symbol, arity: usize) -> Option<&Lowering> {
        self.lowerings.get(name, arity)
    }

    /// Returns the numbers of operands with which an operator of this name is declared, in ascending order.
    pub fn arities(&self, name: Symbol) -> Vec<usize> {
        let mut arities: Vec<usize> =
            self.rows.keys().filter(|(other, _)| *other == name).map(|(_, n)| *n).collect();
        arities.sort_unstable();
        arities
    }

    /// Returns the operator that names a loop variable by a number.
    pub fn numbered(&self) -> Option<Symbol> {
        self.numbered
    }

    /// Returns every operator, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &OpInfo> {
        self.rows.values()
    }

    /// Returns the form of a node.
    #[inline]
    pub fn form(&self, node: &Node) -> Option<Form<Id>> {
        self.of(node)?.form(node.children())
    }

    /// Returns true for a loop variable.
    #[inline]
    pub fn is_variable(&self, node: &Node) -> bool {
        self.variable(node).is_some()
    }

    /// Returns the name, lo, hi and step of a loop variable.
    pub fn variable(&self, node: &Node) -> Option<[Id; 4]> {
        let places = self.of(node)?.variable()?;
        Some(places.map(|at| node.children()[at]))
    }

    /// Returns the address of a load without anything before it.
    pub fn loaded(&self, node: &Node) -> Option<Id> {
        match self.form(node)? {
            Form::Loaded { address, early: None } => Some(address),
            _ => None,
        }
    }

    /// Returns the variable of which a node is the value.
    pub fn iv(&self, node: &Node) -> Option<Id> {
        self.form(node)?.as_iv()
    }

    /// Returns the literal number of a typed constant.
    pub fn literal(&self, node: &Node) -> Option<Id> {
        match self.form(node)? {
            Form::Number { value: Number::Literal(number), .. } => Some(number),
            _ => None,
        }
    }

    /// Returns the operands of a node that does this to linear forms.
    pub fn linear(&self, node: &Node, effect: Linear) -> Option<[Id; 2]> {
        self.binary(node, |op| op.linear() == Some(effect))
    }

    /// Returns the operands of a node that undoes this effect on linear forms.
    pub fn undoes(&self, node: &Node, effect: Linear) -> Option<[Id; 2]> {
        self.binary(node, |op| op.undoes() == Some(effect))
    }

    /// Returns the operands of a node that is such an operation.
    fn binary(&self, node: &Node, is: impl Fn(BinaryOp) -> bool) -> Option<[Id; 2]> {
        match self.form(node)? {
            Form::Binary(Operation::Is(op), operands) => is(op).then_some(operands),
            _ => None,
        }
    }

    /// Returns true for a node that has its operand's meaning, on any unit.
    pub fn is_transparent(&self, node: &Node) -> bool {
        self.of(node).is_some_and(OpInfo::is_transparent)
    }

    /// Returns the operands of a loop.
    pub fn looped(&self, node: &Node) -> Option<Loop<Id>> {
        self.of(node)?.looped()?.of(node.children())
    }
}
