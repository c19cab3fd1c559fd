//! The requirements of a pattern on its variables: element type, lanes, rank, and permitted uses.
//!
//! Sorts alone leave most instances of a pattern without meaning (an i64 added to an f32, an address with too few
//! indices). This pass follows the operator table's declarations of types, lanes and operands, so that generated
//! instances have a meaning.

use super::world::{OFFSETS, SCRATCH, SPARE};
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rules::{Kind, OpInfo, Signature, Sort, SortTerm, Unit};
use ember_language::term::{Head, Node};
use ember_values::primitive::form::Form;
use ember_values::primitive::{Ask, OfRank, OfType, OfWidth, Part, Typing, Width};
use ember_values::scalar::DType;
use std::collections::BTreeMap;

/// The requirements on one variable of a pattern.
#[derive(Clone, Debug)]
pub(crate) struct Hole {
    /// The sort of the variable.
    pub sort: Sort,
    /// The kind of the sort.
    pub kind: Kind,
    /// The class of the element type.
    pub dtype: usize,
    /// The class of the number of lanes.
    pub lanes: usize,
    /// For an address, the number of missing indices; for a tensor, the number of its indices.
    pub rank: usize,
    /// True if it is a step: a literal number.
    pub step: bool,
    /// True if it is a number of lanes: a literal number that determines its class of lanes.
    pub count: bool,
    /// True if it is an address that is written.
    pub written: bool,
    /// For an address of a tensor that is reserved for a role, the tensor's name without its type.
    pub role: Option<&'static str>,
    /// True if it is an operation whose result has the type of its operands.
    pub closed: bool,
    /// True if only memory that is never written may be read.
    pub read_only: bool,
    /// The pattern variables that are bound around every occurrence of it, outermost first.
    pub binders: Vec<Var>,
}

/// Classes of properties that must be equal, and their values.
#[derive(Clone, Debug)]
pub(crate) struct Classes<T> {
    parents: Vec<usize>,
    values: Vec<Option<T>>,
}

impl<T> Default for Classes<T> {
    fn default() -> Self {
        Classes { parents: Vec::new(), values: Vec::new() }
    }
}

impl<T: Copy + PartialEq> Classes<T> {
    fn fresh(&mut self) -> usize {
        self.parents.push(self.parents.len());
        self.values.push(None);
        self.parents.len() - 1
    }

    fn find(&self, mut class: usize) -> usize {
        while self.parents[class] != class {
            class = self.parents[class];
        }
        class
    }

    /// Returns true if two classes are one.
    pub fn are_one(&self, a: usize, b: usize) -> bool {
        self.find(a) == self.find(b)
    }

    /// Returns the value of a class, if it is known.
    pub fn get(&self, class: usize) -> Option<T> {
        self.values[self.find(class)]
    }

    /// Sets the value of a class; `None` if it has a different value.
    pub fn set(&mut self, class: usize, value: T) -> Option<()> {
        let class = self.find(class);
        (*self.values[class].get_or_insert(value) == value).then_some(())
    }

    fn union(&mut self, a: usize, b: usize) -> Option<()> {
        let (a, b) = (self.find(a), self.find(b));
        match (self.values[a], self.values[b]) {
            (Some(x), Some(y)) if x != y => return None,
            (None, y) => self.values[a] = y,
            _ => {}
        }
        self.parents[b] = a;
        Some(())
    }
}

/// The requirements of a pattern on all its variables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Types {
    /// The requirements by variable.
    pub holes: BTreeMap<Var, Hole>,
    /// The classes of element types.
    pub dtypes: Classes<DType>,
    /// The classes of numbers of lanes, 1 for a scalar.
    pub lanes: Classes<usize>,
    /// The classes of lanes that a variable determines.
    pub counts: Vec<usize>,
    /// The classes of element types of memory that operations on whole tensors read integers of any type from.
    pub integers: Vec<usize>,
    /// The classes of the root's element type and number of lanes.
    pub root: (usize, usize),
}

/// The requirements on a node.
#[derive(Clone, Debug)]
struct Want {
    sort: Sort,
    dtype: usize,
    lanes: usize,
    rank: usize,
    step: bool,
    count: bool,
    written: bool,
    role: Option<&'static str>,
    closed: bool,
    read_only: bool,
    binders: Vec<Var>,
}

impl Want {
    fn of(self, kind: Kind) -> Hole {
        let Want {
            sort,
            dtype,
            lanes,
            rank,
            step,
            count,
            written,
            role,
            closed,
            read_only,
            binders,
        } = self;
        Hole {
            sort,
            kind,
            dtype,
            lanes,
            rank,
            step,
            count,
            written,
            role,
            closed,
            read_only,
            binders,
        }
    }
}

/// Returns true if terms of a kind represent parts of tensors.
pub(crate) fn is_address(kind: Kind) -> bool {
    matches!(kind, Kind::Address | Kind::Name)
}

/// Returns true if terms of a kind have an element type or name one.
fn is_typed(kind: Kind) -> bool {
    is_address(kind) || matches!(kind, Kind::Value | Kind::Tensor | Kind::Type)
}

impl Types {
    /// Derives the requirements of a pattern whose root has this sort and, if it is an address, lacks `rank` indices.
    /// `others` are further nodes of the pattern outside of its root, `ranks` are the ranks that a rule requires of its
    /// variables, and `open` is that of tensors which may have any. Returns `None` if the requirements are
    /// contradictory.
    pub fn of(
        signature: &Signature,
        pattern: &PatternAst<Node>,
        others: &[Id],
        sort: Sort,
        rank: usize,
        ranks: &BTreeMap<Var, usize>,
        open: usize,
    ) -> Option<Types> {
        let mut types = Types::default();
        let (dtype, lanes) = (types.dtypes.fresh(), types.lanes.fresh());
        types.root = (dtype, lanes);
        let want = Want {
            sort,
            dtype,
            lanes,
            rank,
            step: false,
            count: false,
            written: false,
            role: None,
            closed: false,
            read_only: false,
            binders: Vec::new(),
        };
        let mut visit = Visit { signature, pattern, ranks, open, types: &mut types };
        visit.node(Id::from(pattern.len().checked_sub(1)?), want.clone())?;
        for other in others {
            let ENodeOrVar::ENode(node) = &pattern[*other] else { continue };
            let sort = match signature.operator_of(node)?.result {
                SortTerm::Is(sort) => sort,
                SortTerm::Any(_) => want.sort,
            };
            let (dtype, lanes) = (visit.types.dtypes.fresh(), visit.types.lanes.fresh());
            visit.node(*other, Want { sort, dtype, lanes, rank: 0, ..want.clone() })?;
        }
        Some(types)
    }
}

impl Types {
    /// Sets the type and lanes of the root. Returns `None` if they do not fit.
    pub fn decide(&mut self, dtype: DType, lanes: usize) -> Option<()> {
        self.dtypes.set(self.root.0, dtype)?;
        self.lanes.set(self.root.1, lanes)
    }

    /// Returns true if a class of element types is one of integers.
    pub fn is_integer(&self, class: usize) -> bool {
        self.integers.iter().any(|own| self.dtypes.are_one(*own, class))
    }

    /// Sets the type and lanes of all variables for which they are still open.
    pub fn decide_others(&mut self, dtype: DType, lanes: usize) -> Option<()> {
        for hole in self.holes.values() {
            if self.dtypes.get(hole.dtype).is_none() {
                let dtype = if self.is_integer(hole.dtype) { DType::I64 } else { dtype };
                self.dtypes.set(hole.dtype, dtype)?;
            }
            if self.lanes.get(hole.lanes).is_none() {
                self.lanes.set(hole.lanes, lanes)?;
            }
        }
        Some(())
    }

    /// Returns true if a variable determines a class of lanes.
    pub fn counted(&self, class: usize) -> bool {
        self.counts.iter().any(|c| self.lanes.find(*c) == self.lanes.find(class))
    }
}

struct Visit<'a> {
    signature: &'a Signature,
    pattern: &'a PatternAst<Node>,
    ranks: &'a BTreeMap<Var, usize>,
    open: usize,
    types: &'a mut Types,
}

impl Visit<'_> {
    fn node(&mut self, id: Id, want: Want) -> Option<()> {
        match &self.pattern[id] {
            ENodeOrVar::Var(v) => self.hole(*v, want),
            ENodeOrVar::ENode(node) => match node.head() {
                Head::Int(n) => {
                    self.types.dtypes.set(want.dtype, DType::I64)?;
                    let lanes = if want.count { usize::try_from(n).ok()? } else { 1 };
                    self.types.lanes.set(want.lanes, lanes)
                }
                Head::Real(_) => Some(()),
                Head::Op(_) => self.operator(node.clone(), want),
            },
        }
    }

    fn hole(&mut self, v: Var, want: Want) -> Option<()> {
        if let Some(known) = self.types.holes.get_mut(&v) {
            if known.sort != want.sort || known.rank != want.rank {
                return None;
            }
            known.step |= want.step;
            known.count |= want.count;
            known.written |= want.written;
            known.role = known.role.or(want.role);
            known.closed |= want.closed;
            known.read_only |= want.read_only;
            known.binders.retain(|b| want.binders.contains(b));
            let (dtype, lanes) = (known.dtype, known.lanes);
            self.types.dtypes.union(dtype, want.dtype)?;
            return self.types.lanes.union(lanes, want.lanes);
        }
        if want.count {
            self.types.counts.push(want.lanes);
        }
        let kind = self.signature.sort(want.sort.name())?.kind?;
        self.types.holes.insert(v, want.of(kind));
        Some(())
    }

    fn operator(&mut self, node: Node, want: Want) -> Option<()> {
        let signature = self.signature;
        let (operator, info) = (signature.operator_of(&node)?, signature.table().of(&node)?);
        let sorts = operator.args.iter().map(|sort| sort.named().unwrap_or(want.sort));
        let operands: Vec<Operand> = sorts
            .zip(node.children())
            .map(|(sort, child)| {
                let sort = signature.sort(sort.name())?;
                Some(Operand { sort: sort.sort, kind: sort.kind?, unit: sort.unit, child: *child })
            })
            .collect::<Option<_>>()?;
        let mut wants = self.wants(info, &operands, &want)?;
        if let Some((variable, body)) = operator.binds
            && let ENodeOrVar::Var(v) = &self.pattern[operands[variable].child]
        {
            wants[body].binders.push(*v);
        }
        self.result(info, &operands, &want, &wants)?;
        operands.iter().zip(wants).try_for_each(|(operand, want)| self.node(operand.child, want))
    }

    /// Applies the operator's declared type and lanes to its result.
    fn result(
        &mut self,
        info: &OpInfo,
        operands: &[Operand],
        want: &Want,
        wants: &[Want],
    ) -> Option<()> {
        match info.typing {
            Some(Typing::I64) => self.types.dtypes.set(want.dtype, DType::I64)?,
            Some(Typing::Of(at) | Typing::Named(at)) if is_typed(operands[at].kind) => {
                self.types.dtypes.union(want.dtype, wants[at].dtype)?;
            }
            _ => {}
        }
        match info.width {
            Some(Width::One) => self.types.lanes.set(want.lanes, 1)?,
            Some(Width::Of(at)) if is_typed(operands[at].kind) => {
                self.types.lanes.union(want.lanes, wants[at].lanes)?;
            }
            _ => {}
        }
        // The name of a type determines the element type of its class.
        if let (Some(Kind::Type), Some(dtype)) = (info.kind, DType::parse(info.name.as_str())) {
            self.types.dtypes.set(want.dtype, dtype)?;
        }
        Some(())
    }

    /// Returns the requirements of an operator on its operands. An operand without a declared demand has the
    /// requirements of the operator itself.
    fn wants(&mut self, info: &OpInfo, operands: &[Operand], want: &Want) -> Option<Vec<Want>> {
        let whole = |kind| kind == Kind::Tensor;
        let statement = info.kind == Some(Kind::Statement);
        // The classes that the operands share with each other but not with the result.
        let own = (self.types.dtypes.fresh(), self.types.lanes.fresh());
        let rank = self.base_rank(operands, want);
        let mut wants = Vec::with_capacity(operands.len());
        for (at, operand) in operands.iter().enumerate() {
            let Ask { typing, width, rank: of_rank, part } = info.asks[at];
            let (address, typed) = (is_address(operand.kind), is_typed(operand.kind));
            let count = info.width == Some(Width::Count(at));
            let literal = info.literals.contains(&at);
            let dtype = match typing {
                _ if literal || count => self.index(),
                // Scratch memory has the type that is written to it; positions may have any.
                OfType::I64
                    if address && info.kind.is_some_and(whole) && part != Some(Part::Scratch) =>
                {
                    self.integer()
                }
                OfType::I64 => self.index(),
                OfType::Follows if typed => match info.typing {
                    _ if statement => own.0,
                    Some(Typing::I64) => own.0,
                    Some(Typing::Named(name)) if name != at => own.0,
                    _ => want.dtype,
                },
                OfType::Follows | OfType::Any => self.types.dtypes.fresh(),
            };
            let counted = matches!(info.width, Some(Width::Count(_)));
            let of_tensors =
                info.kind.is_some_and(whole) || operands.iter().any(|other| whole(other.kind));
            let lanes = match width {
                _ if count => want.lanes,
                _ if literal || width == OfWidth::One => self.one(),
                OfWidth::Several => self.several(),
                _ if !typed => self.types.lanes.fresh(),
                _ if counted || of_tensors => self.one(),
                _ if statement => own.1,
                _ => want.lanes,
            };
            let rank = match of_rank {
                _ if !address && !whole(operand.kind) => 0,
                OfRank::Follows => rank,
                OfRank::More(n) => rank.checked_add_signed(isize::from(n))?,
                OfRank::Is(n) => usize::from(n),
            };
            let writes = info.touches.as_ref().is_some_and(|t| t.writes.contains(&at));
            let written = writes
                || address
                    && (want.written
                        || matches!(info.form, Some(Form::Root { written: true, .. })));
            // The access unit reads only memory that is never written.
            let streamed = operand.kind == Kind::Address
                && operand.unit == Some(Unit::Access)
                && info.kind != Some(Kind::Address);
            let role = match part {
                Some(Part::Offsets) => Some(OFFSETS),
                Some(Part::Scratch) => {
                    let before = info.asks[..at].iter().filter(|ask| ask.part == part).count();
                    Some(if before == 0 { SCRATCH } else { SPARE })
                }
                Some(Part::Closed) | None => None,
            };
            wants.push(Want {
                sort: operand.sort,
                dtype,
                lanes,
                rank: self.asked(operand.child).unwrap_or(rank),
                step: info.position(STEP) == Some(at),
                count,
                written,
                role: role.or(want.role.filter(|_| address)),
                closed: part == Some(Part::Closed),
                read_only: want.read_only || streamed && !written,
                binders: want.binders.clone(),
            });
        }
        Some(wants)
    }

    /// Creates a class of integers.
    fn integer(&mut self) -> usize {
        let class = self.types.dtypes.fresh();
        self.types.integers.push(class);
        class
    }

    /// Creates a class of element type i64.
    fn index(&mut self) -> usize {
        let class = self.types.dtypes.fresh();
        // A fresh class has no other value, so that this cannot fail.
        let _ = self.types.dtypes.set(class, DType::I64);
        class
    }

    /// Creates a class of one lane.
    fn one(&mut self) -> usize {
        let class = self.types.lanes.fresh();
        let _ = self.types.lanes.set(class, 1);
        class
    }

    /// Creates a class of several lanes.
    fn several(&mut self) -> usize {
        let class = self.types.lanes.fresh();
        self.types.counts.push(class);
        class
    }

    /// Returns the rank of operands without a declared rank: the result's rank, or the rank of a tensor operand.
    fn base_rank(&self, operands: &[Operand], want: &Want) -> usize {
        let Some(tensor) = operands.iter().find(|operand| operand.kind == Kind::Tensor) else {
            return want.rank;
        };
        let kind = self.signature.sort(want.sort.name()).and_then(|sort| sort.kind);
        if kind == Some(Kind::Tensor) {
            return want.rank;
        }
        let asked = operands.iter().find_map(|operand| self.asked(operand.child));
        asked.unwrap_or_else(|| self.rank(tensor.child))
    }

    /// Returns the rank that a rule requires of a variable.
    fn asked(&self, id: Id) -> Option<usize> {
        match &self.pattern[id] {
            ENodeOrVar::Var(v) => self.ranks.get(v).copied(),
            ENodeOrVar::ENode(_) => None,
        }
    }

    /// Returns the rank of a tensor at a position that allows any rank.
    fn rank(&self, id: Id) -> usize {
        let own = match &self.pattern[id] {
            ENodeOrVar::Var(_) => None,
            ENodeOrVar::ENode(node) => self.signature.table().of(node),
        };
        let lowers = |info: &OpInfo| info.asks.iter().any(|ask| ask.rank == OfRank::More(1));
        let open = |info: &OpInfo| self.open.saturating_sub(usize::from(lowers(info)));
        own.map_or(self.open, |info| info.rank.unwrap_or_else(|| open(info)))
    }
}

/// The name of the operand of loops and loop variables that is a positive number.
pub(super) const STEP: &str = "step";

/// An operand of an operator in a pattern.
struct Operand {
    sort: Sort,
    kind: Kind,
    unit: Option<Unit>,
    child: Id,
}
