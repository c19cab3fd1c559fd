//! The operator table: everything that stages ask of an operator, resolved once from its declaration.
//!
//! A row says which primitive the operator is and where its operands stand, its element type and lanes, what it
//! reads and writes, and which variable it binds. What is declared nowhere is not known, and whoever asks gets
//! nothing: no rule fires on it and nothing moves across it.

use super::attributes::Attributes;
use super::lowering::{Lowering, Lowerings};
use super::signature::{Operator, Signature, Sort, SortTerm};
use super::syntax::Word;
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Span};
use crate::suggest::unknown;
use crate::term::{Head, Node};
use egg::{Id, Language, Symbol};
use ember_values::primitive::{Ask, OfRank, Price, Primitive, Row, Typing, Width};
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
    parts: Vec<Option<usize>>,
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
        let carries = self.is(Primitive::Same) && !self.boundary;
        if carries { self.operand_units.first().copied() } else { None }
    }

    /// Whether it means what its operand means, on whatever unit.
    pub fn is_transparent(&self) -> bool {
        self.is(Primitive::Same)
    }

    /// The rank of the tensor that it is, from the ranks of its operands.
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

    /// Whether rules make its facts: what runs nowhere yet.
    pub fn has_facts(&self) -> bool {
        self.unit.is_none()
            && (self.row.is_some() || self.touches.is_some() || self.typing.is_some())
    }
}

/// The operators of the dialects that were loaded.
#[derive(Clone, Debug, Default)]
pub struct Operators {
    rows: FxHashMap<(Symbol, usize), OpInfo>,
    makers: FxHashSet<Symbol>,
    named: FxHashMap<(Primitive, Option<Unit>), Symbol>,
    boundaries: FxHashMap<(Kind, Unit), Symbol>,
    numbered: Option<Symbol>,
    /// What operators on tensors mean by rules alone.
    pub(super) lowerings: Lowerings,
    names_are_variables: bool,
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

    /// What an operator on tensors means, if rules alone say so.
    pub fn lowering(&self, name: Symbol, arity: usize) -> Option<&Lowering> {
        self.lowerings.get(name, arity)
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

    /// Resolves what a signature declares.
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
            operators.rows.insert((op.name, op.args.len()), info);
        }
        operators.index(signature);
        operators
    }

    /// Finds operators by what they are. One that says itself which primitive it is comes before those that erase to
    /// it, and the boundaries that count are those of sorts of which such operators make terms: a level of one's own
    /// may stand between.
    fn index(&mut self, signature: &Signature) {
        let declared = || {
            let all = signature.operators().iter();
            all.filter_map(|op| Some((op, self.rows.get(&(op.name, op.args.len()))?)))
        };
        let says = |info: &OpInfo| info.erased == Some(info.name);
        let is_own = |info: &OpInfo| says(info) && !info.is_transparent();
        let basic: FxHashSet<Sort> = declared()
            .filter(|(_, info)| is_own(info))
            .filter_map(|(op, _)| op.result.named())
            .collect();
        let (mut named, mut boundaries) = (FxHashMap::default(), FxHashMap::default());
        let (own, erasing): (Vec<_>, Vec<_>) = declared().partition(|(_, info)| says(info));
        for (op, info) in own.into_iter().chain(erasing) {
            if let Some(primitive) = info.primitive().filter(|_| !info.boundary) {
                named.entry((primitive, info.unit)).or_insert(op.name);
            }
            let of_basic = || match &op.args[..] {
                [of] => of.named().is_none_or(|sort| basic.contains(&sort)),
                _ => false,
            };
            if let (true, Some(kind), Some(unit), [None]) =
                (info.boundary, info.kind, info.unit, &info.operand_units[..])
                && of_basic()
            {
                boundaries.entry((kind, unit)).or_insert(op.name);
            }
        }
        (self.named, self.boundaries) = (named, boundaries);
        self.numbered = self.find_numbered(signature);
    }

    /// The first operator that makes of a number what a loop variable is called by.
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

/// An operator's name, and where it is declared.
type Spot = (Symbol, Span);

/// The positions of a primitive's operands in an operator, and the names of the operator's own.
type Placed = (Vec<Option<usize>>, Vec<Option<Symbol>>);

/// A primitive's row, and of its operands the positions in an operator.
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
        // What a barrier parts does not change places, so that its effects are none that a set could say.
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

    /// The primitive of an operator that says `:means` or `:erases`, and where its operands stand. `above` are the
    /// operators that erase to it, which have their own errors.
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
                // The primitive's operands that the target has must be here as well.
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

    /// An error of the operator that is resolved; those of operators that it erases to are their own.
    fn report(&mut self, above: &[Spot], error: Diagnostic) {
        if above.is_empty() {
            self.errors.push(error);
        }
    }

    /// The operator that another erases to: the one of this name, with as many operands if there are several.
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
        // Who only leads into a circle is not part of it.
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

    /// The positions of a primitive's operands in an operator, by their names, and what its operands are called.
    /// Operands without names are the primitive's in its order.
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
            // Operands that may be missing are there only where none before them is.
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
