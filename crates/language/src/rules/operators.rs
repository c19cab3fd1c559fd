//! The operator table: the properties of every operator, resolved once from its declaration.
//!
//! A row holds the operator's primitive, the positions of its operands, its element type and lanes, the memory that it
//! reads and writes, and the variable that it binds. A property that is declared nowhere is unknown, and a request for
//! it returns nothing: no rule fires on the operator and nothing moves across it.

use super::attributes::Attributes;
use super::signature::{Operator, Signature, Sort, SortTerm};
use super::syntax::Word;
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Span};
use crate::suggest::unknown;
use crate::term::{Head, Node};
use egg::{Id, Language, Symbol};
use ember_values::primitive::{Ask, Price, Primitive, Row, Typing, Width};
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

/// The operands of a loop: their positions, or values at these positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop<T = usize> {
    /// The loop variable.
    pub variable: T,
    /// The lower bound, on the unit that runs the body.
    pub lo: T,
    /// The exclusive upper bound.
    pub hi: T,
    /// The distance between consecutive values.
    pub step: T,
    /// The term that is run for each value.
    pub body: T,
    /// The operation and the start value of a reduction; `None` for other loops.
    pub folds: Option<(T, T)>,
    /// The lower and upper bound on the access unit, for a loop of both units.
    pub access: Option<(T, T)>,
}

impl Loop {
    /// Returns the values at these positions.
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
    parts: Vec<Option<usize>>,
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
    /// Returns its primitive.
    #[inline]
    pub fn primitive(&self) -> Option<Primitive> {
        self.row.map(|row| row.primitive)
    }

    /// Returns true if it means this primitive.
    #[inline]
    pub fn is(&self, primitive: Primitive) -> bool {
        self.primitive() == Some(primitive)
    }

    /// Returns the first operands in the order of the primitive's row.
    #[inline]
    pub fn parts<const N: usize>(&self, children: &[Id]) -> Option<[Id; N]> {
        self.arranged(children)
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

    /// Returns the operands of a loop, if it is one.
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

    /// Returns the unit of its operand, if it has its operand's meaning and is no boundary.
    pub fn carries_from(&self) -> Option<Option<Unit>> {
        let carries = self.is(Primitive::Same) && !self.boundary;
        if carries { self.operand_units.first().copied() } else { None }
    }

    /// Returns true if it has its operand's meaning, on any unit.
    pub fn is_transparent(&self) -> bool {
        self.is(Primitive::Same)
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
    rows: FxHashMap<(Symbol, usize), OpInfo>,
    makers: FxHashSet<Symbol>,
    named: FxHashMap<(Primitive, Option<Unit>), Symbol>,
    boundaries: FxHashMap<(Kind, Unit), Symbol>,
    numbered: Option<Symbol>,
    names_are_variables: bool,
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

    /// Returns the operands of a node with this primitive, in the order of the primitive's row.
    #[inline]
    pub fn parts<const N: usize>(&self, node: &Node, primitive: Primitive) -> Option<[Id; N]> {
        self.of(node).filter(|info| info.is(primitive))?.parts(node.children())
    }

    /// Returns the primitive of a node.
    #[inline]
    pub fn primitive(&self, node: &Node) -> Option<Primitive> {
        self.of(node)?.primitive()
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

    /// Returns the operator that means a primitive on a unit; the first one declared if there are several.
    pub fn named(&self, primitive: Primitive, unit: Option<Unit>) -> Option<Symbol> {
        self.named.get(&(primitive, unit)).copied()
    }

    /// Returns the boundary from terms of a kind that run on no unit yet to a unit; the first one declared if there are
    /// several.
    pub fn boundary(&self, kind: Kind, unit: Unit) -> Option<Symbol> {
        self.boundaries.get(&(kind, unit)).copied()
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

    /// Resolves the declarations of a signature.
    pub(super) fn resolve(signature: &Signature, errors: &mut Vec<Diagnostic>) -> Operators {
        let variables = signature.variable_sorts();
        let mut operators = Operators {
            names_are_variables: variables.contains(&Sort::named(Sort::NAME)),
            ..Operators::default()
        };
        for op in signature.operators() {
            let makes_variable =
                op.binds.is_none() && op.result.named().is_some_and(|s| variables.contains(&s));
            if makes_variable {
                operators.makers.insert(op.name);
            }
            let info = Resolver { signature, errors }.operator(op, makes_variable);
            if let Some(primitive) = info.primitive().filter(|_| !info.boundary) {
                operators.named.entry((primitive, info.unit)).or_insert(op.name);
            }
            if let (true, Some(kind), Some(unit), [None]) =
                (info.boundary, info.kind, info.unit, &info.operand_units[..])
            {
                operators.boundaries.entry((kind, unit)).or_insert(op.name);
            }
            operators.rows.insert((op.name, op.args.len()), info);
        }
        operators.numbered = operators.find_numbered(signature);
        operators
    }

    /// Finds the first operator that builds the name of a loop variable from a number.
    fn find_numbered(&self, signature: &Signature) -> Option<Symbol> {
        let mut all = signature.operators().iter();
        let called = all.find_map(|op| {
            let info = self.get(op.name, op.args.len())?;
            let name = info.position("name").filter(|_| info.is(Primitive::Variable))?;
            op.args.get(name)?.named()
        })?;
        let number = SortTerm::Is(Sort::named(Sort::VALUE));
        let mut all = signature.operators().iter();
        let found = all.find(|op| op.result == SortTerm::Is(called) && op.args == [number]);
        found.map(|op| op.name)
    }
}

struct Resolver<'a> {
    signature: &'a Signature,
    errors: &'a mut Vec<Diagnostic>,
}

/// An operator's name and the place of its declaration.
type Spot = (Symbol, Span);

/// The positions of a primitive's operands in an operator, and the names of the operator's operands.
type Placed = (Vec<Option<usize>>, Vec<Option<Symbol>>);

/// A primitive's row, and the positions of its operands in an operator.
#[derive(Clone, Default)]
struct Arranged {
    row: Option<&'static Row>,
    erased: Option<Symbol>,
    erasure: Vec<usize>,
    parts: Vec<Option<usize>>,
    operands: Vec<Option<Symbol>>,
}

impl Resolver<'_> {
    fn operator(&mut self, op: &Operator, makes_variable: bool) -> OpInfo {
        let kind_of = |sort: &SortTerm| self.signature.sort(sort.named()?.name())?.kind;
        let kind = kind_of(&op.result);
        let operand_kinds: Vec<Option<Kind>> = op.args.iter().map(kind_of).collect();
        let unit_of = |sort: &SortTerm| self.signature.sort(sort.named()?.name())?.unit;
        let unit = unit_of(&op.result);
        let operand_units = op.args.iter().map(unit_of).collect();
        let mut arranged = self.arrange(op, &mut Vec::new()).unwrap_or_default();
        if arranged.row.is_none()
            && matches!(kind, Some(Kind::Label | Kind::Type | Kind::Operation))
        {
            arranged.row = Row::named("label");
        }
        if arranged.operands.is_empty() {
            arranged.operands.clone_from(&op.operands);
        }
        let Arranged { row, erased, erasure, parts, operands } = arranged;
        let at = |name: &str| {
            let part = row?.parts().position(|(part, _)| part == name)?;
            parts.get(part).copied().flatten()
        };
        let attributes = &op.attributes;
        let own = |word: &Word| {
            operands.iter().position(|name| name.is_some_and(|n| n.as_str() == word.text))
        };
        let mut named = |word: &Word| {
            let found = own(word);
            if found.is_none() {
                let names = operands.iter().flatten().map(|name| name.as_str());
                let error = unknown("operand", &word.text, word.span, names);
                self.errors.push(match operands.iter().any(Option::is_some) {
                    true => error.with_code(Code::UnknownOperand),
                    false => error
                        .with_code(Code::UnknownOperand)
                        .with_help("name the operands: (NAME SORT)"),
                });
            }
            found
        };
        let typing = match &attributes.typing {
            Some(Typing::I64) => Some(Typing::I64),
            Some(Typing::Of(word)) => named(word).map(Typing::Of),
            Some(Typing::Named(word)) => named(word).map(Typing::Named),
            None => row.and_then(|row| row.typing).and_then(|typing| {
                Some(match typing {
                    Typing::I64 => Typing::I64,
                    Typing::Of(name) => Typing::Of(at(name)?),
                    Typing::Named(name) => Typing::Named(at(name)?),
                })
            }),
        };
        let width = match &attributes.width {
            Some(Width::One) => Some(Width::One),
            Some(Width::Of(word)) => named(word).map(Width::Of),
            Some(Width::Count(word)) => named(word).map(Width::Count),
            None => row.and_then(|row| row.width).and_then(|width| {
                Some(match width {
                    Width::One => Width::One,
                    Width::Of(name) => Width::Of(at(name)?),
                    Width::Count(name) => Width::Count(at(name)?),
                })
            }),
        };
        let mut asks = vec![Ask::default(); op.args.len()];
        for (name, words) in row.into_iter().flat_map(|row| row.asks) {
            if let (Some(at), Some(ask)) = (at(name), Ask::parse(words)) {
                asks[at] = ask;
            }
        }
        for (word, ask) in &attributes.asks {
            if let Some(at) = named(word) {
                asks[at] = *ask;
            }
        }
        let mut list =
            |words: &Option<Vec<Word>>, of_row: fn(&Row) -> &'static [&'static str]| match words {
                Some(words) => words.iter().filter_map(&mut named).collect(),
                None => row.into_iter().flat_map(of_row).filter_map(|name| at(name)).collect(),
            };
        let reads: Vec<usize> = list(&attributes.reads, |row| row.reads);
        let writes: Vec<usize> = list(&attributes.writes, |row| row.writes);
        // A barrier separates memory accesses without accessing addresses itself, so no set of addresses describes its
        // effect.
        let said = attributes.reads.is_some() || attributes.writes.is_some() || row.is_some();
        let parts_memory = row.is_some_and(|row| row.primitive == Primitive::Barrier);
        let literals = row.into_iter().flat_map(|row| row.literals).filter_map(|name| at(name));
        OpInfo {
            name: op.name,
            kind,
            unit,
            row,
            erased,
            erasure,
            typing,
            width,
            touches: (said && !parts_memory).then_some(Touches { reads, writes }),
            rank: attributes.rank,
            asks,
            literals: literals.collect(),
            lanewise: attributes.lanewise || row.is_some_and(|row| row.lanewise),
            price: attributes.price.or(row.map(|row| row.price)),
            binds: op.binds,
            makes_variable,
            boundary: op.boundary,
            operand_kinds,
            operand_units,
            operands,
            parts,
        }
    }

    /// Returns the primitive of an operator declared with `:means` or `:erases`, and the positions of its operands.
    /// `above` lists the operators that erase to it, whose errors are reported separately.
    fn arrange(&mut self, op: &Operator, above: &mut Vec<Spot>) -> Option<Arranged> {
        let Attributes { means, erases, .. } = &op.attributes;
        match (means, erases) {
            (Some(_), Some(word)) => {
                let message = format!("`{}` says both `:means` and `:erases`", op.name);
                let error = Diagnostic::error(message, word.span, "one of them is enough");
                let help =
                    format!("keep `:erases` if `{}` is another form of `{}`", op.name, word.text);
                self.report(above, error.with_help(help).with_code(Code::TwoMeanings));
                None
            }
            (Some(word), None) => {
                let row = Row::named(&word.text)?;
                let names: Vec<(&str, bool)> = row.parts().collect();
                let (parts, operands) = self.place(op, word, &names, above)?;
                let erasure = (0..op.args.len()).collect();
                Some(Arranged { row: Some(row), erased: Some(op.name), erasure, parts, operands })
            }
            (None, Some(word)) => {
                let target = self.target(op, word, above)?;
                above.push((op.name, op.span));
                let below = self.arrange(&target, above);
                above.pop();
                let below = below?;
                let row = below.row?;
                // The operator must have all of the primitive's operands that its target has.
                let names: Vec<(&str, bool)> = row
                    .parts()
                    .zip(&below.parts)
                    .map(|((name, _), part)| (name, part.is_some()))
                    .collect();
                let (parts, operands) = self.place(op, word, &names, above)?;
                let here = |at: &usize| {
                    let part = below.parts.iter().position(|part| part == &Some(*at))?;
                    parts[part]
                };
                let erasure = below.erasure.iter().map(here).collect::<Option<_>>()?;
                Some(Arranged { row: Some(row), erased: below.erased, erasure, parts, operands })
            }
            (None, None) => None,
        }
    }

    /// Reports an error of the operator being resolved. The errors of an operator that it erases to are reported when
    /// that operator is resolved.
    fn report(&mut self, above: &[Spot], error: Diagnostic) {
        if above.is_empty() {
            self.errors.push(error);
        }
    }

    /// Returns the operator that another erases to: the operator of this name, with the same number of operands if
    /// there are several.
    fn target(&mut self, op: &Operator, word: &Word, above: &[Spot]) -> Option<Operator> {
        let name = Symbol::from(&word.text);
        let own = (op.name, op.span);
        let mut chain = above.iter().chain([&own]);
        if let Some((first, span)) = chain.next().filter(|(first, _)| *first == name) {
            self.errors.push(
                Diagnostic::error(format!("`{first}` erases to itself"), *span, "in a circle")
                    .with_code(Code::ErasesToItself)
                    .with_help("erase one of them to an operator that `:means` a primitive"),
            );
            return None;
        }
        // An operator that only leads into the cycle is not part of it.
        if chain.any(|(passed, _)| *passed == name) {
            return None;
        }
        let same = self.signature.operator(name, op.args.len());
        let any = || self.signature.operators().iter().find(|other| other.name == name);
        let found = same.or_else(any).cloned();
        if found.is_none() {
            let names = self.signature.operators().iter();
            let names = names.map(|other| other.name).filter(|other| *other != op.name);
            let error = unknown("operator", &word.text, word.span, names.map(|name| name.as_str()));
            self.report(above, error.with_code(Code::UnknownOperator));
        }
        found
    }

    /// Returns the positions of a primitive's operands in an operator, by their names, and the names of the operator's
    /// operands. Operands without names have the order of the primitive's row.
    fn place(
        &mut self,
        op: &Operator,
        word: &Word,
        names: &[(&str, bool)],
        above: &[Spot],
    ) -> Option<Placed> {
        let required = names.iter().filter(|(_, required)| *required).count();
        let unnamed = op.operands.iter().all(Option::is_none);
        if unnamed && (required..=names.len()).contains(&op.args.len()) {
            // An optional operand is present only if all operands before it are.
            let order = names.iter().filter(|(_, required)| *required);
            let order: Vec<&str> = match op.args.len() == required {
                true => order.map(|(name, _)| *name).collect(),
                false => names.iter().take(op.args.len()).map(|(name, _)| *name).collect(),
            };
            let place = |(name, _): &(&str, bool)| order.iter().position(|own| own == name);
            let operands = order.iter().map(|name| Some(Symbol::from(*name))).collect();
            return Some((names.iter().map(place).collect(), operands));
        }
        let place = |name: &str| {
            op.operands.iter().position(|own| own.is_some_and(|own| own.as_str() == name))
        };
        let missing = names.iter().find(|(name, required)| *required && place(name).is_none());
        if let Some((name, _)) = missing {
            let order = names.iter().map(|(name, required)| match required {
                true => format!("({name} SORT)"),
                false => format!("[({name} SORT)]"),
            });
            let order = order.collect::<Vec<_>>().join(" ");
            let error = Diagnostic::error(
                format!("`{}` has no operand `{name}`", op.name),
                word.span,
                format!("`{}` has one", word.text),
            );
            self.report(
                above,
                error
                    .with_code(Code::NoOperand)
                    .with_help(format!("name the operands, in any order: {order}")),
            );
            return None;
        }
        Some((names.iter().map(|(name, _)| place(name)).collect(), op.operands.clone()))
    }
}
