//! Random programs: nests of loops over the dimensions of some tensors, with stores, accumulations and reductions.
//! Every index is valid by construction, so that no run faults on data that fits the declarations.

use super::grammar::{Grammar, Shape};
use super::grow::{Grow, Scope, Setting, Type};
use super::types::STEP;
use crate::equiv::{Declarations, Declared, Purpose};
use egg::Id;
use ember_language::rules::{Definitions, Kind, OpInfo, RuleBook, Signature};
use ember_language::term::{Term, Terms};
use ember_language::text::program;
use ember_model::Extent;
use ember_values::primitive::{OfRank, OfWidth, Typing};
use ember_values::scalar::{BinaryOp, DType};
use fastrand::Rng;
use std::collections::BTreeMap;

/// A program and its declarations.
#[derive(Clone, Debug)]
pub struct Made {
    /// The tensors that it uses.
    pub declarations: Declarations,
    /// The program, of sort Stmt.
    pub term: Term,
    /// The extent of each dimension.
    extents: [Extent; 3],
}

/// The dimensions of tensors and loops: rows, columns and the entries of ragged rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dim {
    Rows,
    Columns,
    Entries,
}

const DIMS: [Dim; 3] = [Dim::Rows, Dim::Columns, Dim::Entries];

/// Tensors of numbers: name, dimensions, and true if programs write them.
const TENSORS: [(&str, &[Dim], bool); 11] = [
    ("a", &[Dim::Rows, Dim::Columns], false),
    ("b", &[Dim::Rows, Dim::Columns], false),
    ("c", &[Dim::Rows], false),
    ("d", &[Dim::Rows], false),
    ("e", &[Dim::Columns], false),
    ("f", &[Dim::Entries], false),
    ("o", &[Dim::Rows, Dim::Columns], true),
    ("p", &[Dim::Rows, Dim::Columns], true),
    ("q", &[Dim::Rows], true),
    ("r", &[Dim::Columns], true),
    ("s", &[Dim::Entries], true),
];

/// Tensors of positions: one position in columns for each row, one position in rows for each entry, and the start of
/// each row's entries.
const COLUMN_OF: &str = "column_of";
const ROW_OF: &str = "row_of";
const STARTS: &str = "starts";

/// The limit on the nesting of loops.
const DEEPEST: usize = 4;

impl Made {
    /// Generates the program of a seed, with about `size` levels of statements and values. Operators with a definition
    /// are written out.
    pub fn random(book: &RuleBook, seed: u64, size: u32) -> Made {
        let mut rng = Rng::with_seed(seed);
        let dtypes = [DType::F32, DType::F32, DType::F64, DType::I64];
        let dtype = dtypes[rng.usize(0..dtypes.len())];
        let extents = [("n", 0..7), ("m", 2..6), ("l", 0..1)].map(|(name, odds)| {
            // Most sizes are symbolic, and some are numbers.
            match rng.u64(0..12) {
                k if odds.contains(&k) && k > 0 => Extent::Const(k),
                _ => Extent::Size { name: name.to_owned(), plus: 0 },
            }
        });
        let (grammar, mut terms) = (Grammar::new(&book.signature), Terms::default());
        let plan = Plan { definitions: &book.definitions, dtype, extents, over: BTreeMap::new() };
        let mut grow = Grow { grammar: &grammar, terms: &mut terms, setting: plan, rng: &mut rng };
        let root = grow.nests(size);
        let extents = grow.setting.extents;
        let term = book.definitions.expand(&terms.part(root));
        Made { declarations: declarations(&term, dtype, &extents), term, extents }
    }

    /// Returns the bound on the elements of a tensor of positions: the extent, and the number by which they may exceed
    /// it.
    pub fn positions_in(&self, tensor: &str) -> Option<(&Extent, u64)> {
        match tensor {
            COLUMN_OF => Some((&self.extents[Dim::Columns as usize], 0)),
            ROW_OF => Some((&self.extents[Dim::Rows as usize], 0)),
            STARTS => Some((&self.extents[Dim::Entries as usize], 1)),
            _ => None,
        }
    }

    /// True if the elements of a tensor are sorted.
    pub fn rises(&self, tensor: &str) -> bool {
        tensor == STARTS
    }

    /// Returns declarations and program as a text that `equiv` reads.
    pub fn text(&self, signature: &Signature) -> String {
        let declared = self.declarations.tensors.iter().map(|tensor| tensor.form() + "\n");
        let words = self.declarations.words(signature);
        declared.collect::<String>() + "\n" + &program(&self.term, &words)
    }
}

fn declarations(term: &Term, dtype: DType, extents: &[Extent; 3]) -> Declarations {
    let extent = |dim: &Dim| extents[*dim as usize].clone();
    let one_more = match extent(&Dim::Rows) {
        Extent::Const(n) => Extent::Const(n + 1),
        Extent::Size { name, plus } => Extent::Size { name, plus: plus + 1 },
    };
    let numbers = TENSORS.iter().map(|(name, dims, written)| Declared {
        name: (*name).to_owned(),
        dtype,
        shape: dims.iter().map(extent).collect(),
        purpose: if *written { Purpose::Output } else { Purpose::Input },
        rises_to: None,
    });
    let positions =
        [(COLUMN_OF, extent(&Dim::Rows)), (ROW_OF, extent(&Dim::Entries)), (STARTS, one_more)];
    let positions = positions.into_iter().map(|(name, extent)| Declared {
        name: name.to_owned(),
        dtype: DType::I64,
        shape: vec![extent],
        purpose: Purpose::Input,
        rises_to: None,
    });
    let mentioned = |name: &str| {
        let mut names = term.as_ref().iter().filter_map(|node| node.name()?.strip_prefix('%'));
        names.any(|other| other == name)
    };
    let all: Vec<Declared> = numbers.chain(positions).collect();
    let (mut tensors, others): (Vec<Declared>, Vec<Declared>) =
        all.into_iter().partition(|tensor| mentioned(&tensor.name));
    // A size must be that of some tensor.
    for extent in extents {
        let Extent::Size { name, .. } = extent else { continue };
        let has = |tensor: &Declared| tensor.shape.contains(extent);
        if mentioned(name) && !tensors.iter().any(has) {
            tensors.extend(others.iter().find(|tensor| tensor.shape == [extent.clone()]).cloned());
        }
    }
    Declarations { tensors, ..Declarations::default() }
}

/// The setting of programs in which no run faults: every index is a position in its dimension.
struct Plan<'a> {
    definitions: &'a Definitions,
    /// The element type of the numbers.
    dtype: DType,
    extents: [Extent; 3],
    /// The dimension that a loop with these bounds runs over.
    over: BTreeMap<[Id; 2], Dim>,
}

impl Setting for Plan<'_> {
    const VALUES: u32 = 1;

    /// Loops are chosen most often, and stores more often than accumulations. What reads or writes more than elements is left out.
    fn weight(grow: &Grow<Self>, shape: &Shape, scope: &Scope, depth: u32) -> usize {
        let (info, plan) = (shape.info, &grow.setting);
        let around = scope.vars.len();
        if !plan.admits(info) || info.looped().is_some() && around == DEEPEST {
            return 0;
        }
        match (info.kind, shape.operands(Kind::Statement), shape.operands(Kind::Value)) {
            (Some(Kind::Statement), 1.., _) if depth == 0 => 0,
            (Some(Kind::Statement), ..) if info.looped().is_some() => 8,
            (Some(Kind::Statement), ..) if around == 0 => 0,
            (Some(Kind::Statement), 1.., _) => 2,
            (Some(Kind::Statement), 0, 0) => 0,
            (Some(Kind::Statement), ..) if info.first_of(Kind::Operation).is_some() => 2,
            (Some(Kind::Statement), ..) => 4,
            _ if info.looped().is_some() => 3,
            (_, _, 2..) => 2,
            // Conversions are of positions.
            _ if matches!(info.typing, Some(Typing::Named(_))) && !plan.dtype.is_float() => 0,
            _ => 1,
        }
    }

    fn folds(&self, op: BinaryOp) -> bool {
        op.folds()
    }

    fn leaf(grow: &mut Grow<Self>, ty: Type, scope: &Scope, depth: u32) -> Option<Id> {
        if depth > 0 && !grow.one_in(3) {
            return None;
        }
        let numbers = ty.dtype == grow.setting.dtype;
        if numbers
            && !grow.one_in(6)
            && let Some(load) = grow.load(ty, scope, 0)
        {
            return Some(load);
        }
        match scope.vars.last() {
            Some(variable) if !numbers && ty.dtype == DType::I64 && !grow.one_in(3) => {
                Some(grow.make().iv(*variable))
            }
            _ => Some(grow.constant(ty)),
        }
    }

    fn constant(grow: &mut Grow<Self>, dtype: DType) -> Id {
        let x = grow.pick(&[0.0, 1.0, -1.0, 0.5, 3.0, -2.5], 0.0);
        grow.literal(dtype, if dtype.is_float() { x } else { x.trunc() })
    }

    fn address(
        grow: &mut Grow<Self>,
        ty: Type,
        missing: usize,
        written: bool,
        scope: &Scope,
        _: u32,
    ) -> Option<Id> {
        let fits = ty.dtype == grow.setting.dtype && ty.lanes == 1 && missing == 0;
        if fits { grow.element(written, scope) } else { None }
    }

    /// Generates bounds within a dimension: all of it, a part, a row's own entries, or the rest of a loop around it.
    fn bounds(grow: &mut Grow<Self>, scope: &Scope, _: u32) -> [Id; 2] {
        let dim = grow.pick(&DIMS, Dim::Rows);
        let (zero, one, all) = (grow.terms.int(0), grow.terms.int(1), grow.extent(dim));
        let (rows, same) = (grow.over(scope, Dim::Rows), grow.over(scope, dim));
        let bounds = if dim == Dim::Entries && !rows.is_empty() && !grow.one_in(5) {
            let row = grow.pick(&rows, zero);
            let next = grow.make().sum(row, one);
            [row, next].map(|row| grow.position(STARTS, row))
        } else if !same.is_empty() && grow.one_in(2) {
            let other = grow.pick(&same, zero);
            match grow.rng.u8(0..3) {
                0 => [zero, other],
                1 => [other, all],
                _ => [grow.make().sum(other, one), all],
            }
        } else {
            match grow.rng.u8(0..12) {
                0 => [one, all],
                1 => {
                    let n = grow.pick(&[2, 3, 4], 2);
                    let n = grow.terms.int(n);
                    [zero, grow.make().least(n, all)]
                }
                _ => [zero, all],
            }
        };
        grow.setting.over.insert(bounds, dim);
        bounds
    }

    fn step(grow: &mut Grow<Self>) -> Id {
        let n = if grow.one_in(12) { grow.pick(&[2, 3, 4], 1) } else { 1 };
        grow.terms.int(n)
    }

    /// Loops are told apart by how many are around them.
    fn number(&mut self, around: usize) -> i64 {
        around as i64
    }

    fn dtype(grow: &mut Grow<Self>, _: bool) -> DType {
        grow.setting.dtype
    }

    fn computed(grow: &mut Grow<Self>) -> Type {
        Type { dtype: grow.setting.dtype, lanes: 1 }
    }
}

impl Plan<'_> {
    /// True if programs may have an operator: one that touches elements alone, and whose meaning is known.
    fn admits(&self, info: &OpInfo) -> bool {
        let operand = |at: usize| match info.operand_kinds[at] {
            Some(Kind::Address) => info.asks[at].rank == OfRank::Is(0),
            Some(Kind::Value) => {
                let step = info.position(STEP) == Some(at);
                (step || !info.literals.contains(&at)) && info.asks[at].width != OfWidth::Several
            }
            Some(Kind::Statement | Kind::Variable | Kind::Type | Kind::Operation) => true,
            _ => false,
        };
        let operands = info.operand_kinds.len();
        let means = info.row.is_some() || self.definitions.get(info.name, operands).is_some();
        means && info.touches.is_some() && (0..operands).all(operand)
    }
}

impl Grow<'_, Plan<'_>> {
    /// Generates one nest of loops or several, one after the other.
    fn nests(&mut self, size: u32) -> Id {
        let nests = self.pick(&[1, 1, 1, 2, 2, 3], 1);
        let nests: Vec<Id> =
            (0..nests).map(|_| self.statement(&Scope::default(), size + 1)).collect();
        self.make().sequence(&nests)
    }

    /// Returns an extent as a term.
    fn extent(&mut self, dim: Dim) -> Id {
        match self.setting.extents[dim as usize].clone() {
            Extent::Const(n) => self.terms.int(n as i64),
            Extent::Size { name, .. } => self.make().size(&name),
        }
    }

    /// Returns a value times a number.
    fn times(&mut self, number: i64, value: Id) -> Id {
        let number = self.terms.int(number);
        self.make().times(number, value)
    }

    /// Returns the last position of a dimension.
    fn last(&mut self, dim: Dim) -> Id {
        let (all, less) = (self.extent(dim), self.terms.int(-1));
        self.make().sum(all, less)
    }

    /// Returns the values of the loop variables in scope that run over a dimension.
    fn over(&mut self, scope: &Scope, dim: Dim) -> Vec<Id> {
        let operators = self.grammar.operators();
        let runs = |variable: &&Id| {
            let parts = operators.variable(&self.terms[**variable]);
            parts.is_some_and(|[_, lo, hi, _]| self.setting.over.get(&[lo, hi]) == Some(&dim))
        };
        let variables: Vec<Id> = scope.vars.iter().filter(runs).copied().collect();
        variables.into_iter().map(|variable| self.make().iv(variable)).collect()
    }

    /// Returns true for the value of a loop variable in scope that takes the multiples of 4.
    fn counts_by_fours(&mut self, value: Id, scope: &Scope) -> bool {
        let [zero, four] = [0, 4].map(|n| self.terms.int(n));
        let mut variables = scope.vars.iter().copied();
        let own = variables.find(|variable| self.make().iv(*variable) == value);
        let parts = own.and_then(|own| self.grammar.operators().variable(&self.terms[own]));
        parts.is_some_and(|[_, lo, _, step]| lo == zero && step == four)
    }

    /// Adds an element of a tensor of positions.
    fn position(&mut self, tensor: &str, index: Id) -> Id {
        let tensor = self.make().root(tensor, false);
        let element = self.make().at(tensor, &[index]);
        self.make().load(element)
    }

    /// Generates a position in a dimension; `None` if no loop in scope gives one.
    fn index(&mut self, dim: Dim, scope: &Scope) -> Option<Id> {
        let [own, rows, entries] = [dim, Dim::Rows, Dim::Entries].map(|dim| self.over(scope, dim));
        let zero = self.terms.int(0);
        match dim {
            Dim::Columns if !rows.is_empty() && (own.is_empty() || self.one_in(8)) => {
                let row = self.pick(&rows, zero);
                return Some(self.position(COLUMN_OF, row));
            }
            Dim::Rows if !entries.is_empty() && (own.is_empty() || self.one_in(4)) => {
                let entry = self.pick(&entries, zero);
                return Some(self.position(ROW_OF, entry));
            }
            _ => {}
        }
        let (last, one) = (own.last().copied()?, self.terms.int(1));
        let i = if self.one_in(4) { self.pick(&own, last) } else { last };
        if self.counts_by_fours(i, scope) && self.one_in(2) {
            // The product wraps: it is 0 in every iteration, which is a position where the loop runs.
            return Some(self.times(1 << 62, i));
        }
        Some(match self.rng.u8(0..24) {
            // The position counted from the end, the next one, the first, and half of it.
            0 => {
                let (last, negated) = (self.last(dim), self.times(-1, i));
                self.make().sum(last, negated)
            }
            1 => {
                let last = self.last(dim);
                let next = self.make().sum(i, one);
                self.make().least(next, last)
            }
            2 => zero,
            3 => {
                let two = self.terms.int(2);
                self.make().quotient(i, two)
            }
            _ => i,
        })
    }

    /// Generates an element of a tensor that is written, or of any tensor.
    fn element(&mut self, written: bool, scope: &Scope) -> Option<Id> {
        let reads = self.one_in(8);
        let fit = TENSORS.iter().filter(|(.., out)| *out == written || (!written && reads));
        let fit: Vec<_> = fit.collect();
        // Several are tried, because most tensors have dimensions that no loop in scope runs over.
        for _ in 0..8 {
            let (name, dims, out) = self.rng.choice(&fit)?;
            let indices: Option<Vec<Id>> = dims.iter().map(|dim| self.index(*dim, scope)).collect();
            if let Some(indices) = indices {
                let tensor = self.make().root(name, *out);
                return Some(self.make().at(tensor, &indices));
            }
        }
        None
    }
}
