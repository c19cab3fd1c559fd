//! Random programs: nests of loops over the dimensions of some tensors, with stores, accumulations and reductions.
//! Every index is valid by construction, so that no run faults on data that fits the declarations.

use egg::{Id, Symbol};
use ember_language::rules::{Kind, OpInfo, Operators, Signature};
use ember_language::term::{Head, Node, Term};
use ember_language::text::program;
use ember_model::Extent;
use ember_prove::chains::Terms;
use ember_prove::equiv::{Declarations, Declared, Purpose};
use ember_values::primitive::{Ask, Primitive, Typing};
use ember_values::scalar::{BinaryOp, DType};
use fastrand::Rng;
use std::collections::BTreeSet;

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
pub(super) const STARTS: &str = "starts";

/// The limit on the nesting of loops.
const DEEPEST: usize = 4;

impl Made {
    /// The program of a seed, of about `size` levels of statements and values.
    pub fn random(operators: &Operators, seed: u64, size: u32) -> Made {
        let mut rng = Rng::with_seed(seed);
        let dtypes = [DType::F32, DType::F32, DType::F64, DType::I64];
        let dtype = dtypes[rng.usize(0..dtypes.len())];
        let extents = [("n", 0..7), ("m", 2..6), ("l", 0..1)].map(|(name, odds)| {
            // Most sizes are symbolic and given by the data; some are constants.
            match rng.u64(0..12) {
                k if odds.contains(&k) && k > 0 => Extent::Const(k),
                _ => Extent::Size { name: name.to_owned(), plus: 0 },
            }
        });
        let (terms, around, used) = (Terms::default(), Vec::new(), BTreeSet::new());
        let (one, two) = (computing(operators, dtype, 1), computing(operators, dtype, 2));
        let mut maker = Maker {
            operators,
            one,
            two,
            rng,
            terms,
            dtype,
            extents,
            around,
            used,
            over: BTreeSet::new(),
        };
        let root = maker.program(size);
        let Maker { terms, extents, mut used, over, .. } = maker;
        // Every size needs a tensor that determines it.
        for (name, dims, _) in TENSORS.into_iter().filter(|(_, dims, _)| dims.len() == 1) {
            let has = |(known, of, _): &(&str, &[Dim], bool)| {
                used.contains(known) && of.contains(&dims[0])
            };
            if over.contains(&(dims[0] as usize)) && !TENSORS.iter().any(has) {
                used.insert(name);
            }
        }
        let term = Terms::of(&terms.finish(), root);
        Made { declarations: declarations(&used, dtype, &extents), term, extents }
    }

    /// Returns the bound on the elements of a tensor of positions: the extent, and the number by which they may exceed
    /// it.
    pub(super) fn positions_in(&self, tensor: &str) -> Option<(&Extent, u64)> {
        match tensor {
            COLUMN_OF => Some((&self.extents[Dim::Columns as usize], 0)),
            ROW_OF => Some((&self.extents[Dim::Rows as usize], 0)),
            STARTS => Some((&self.extents[Dim::Entries as usize], 1)),
            _ => None,
        }
    }

    /// Returns declarations and program as a text that `equiv` reads.
    pub fn text(&self, signature: &Signature) -> String {
        let declared = self.declarations.tensors.iter().map(|tensor| tensor.form() + "\n");
        let words = self.declarations.words(signature);
        declared.collect::<String>() + "\n" + &program(&self.term, &words)
    }
}

/// Returns the declarations of the tensors that are used.
fn declarations(used: &BTreeSet<&str>, dtype: DType, extents: &[Extent; 3]) -> Declarations {
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
    let used = |tensor: &Declared| used.contains(tensor.name.as_str());
    let tensors = numbers.chain(positions).filter(used).collect();
    Declarations { tensors, layouts: Vec::new() }
}

/// An enclosing loop: its variable's value, and the dimension that it runs over.
#[derive(Clone, Copy, Debug)]
struct Around {
    value: Id,
    dim: Dim,
}

/// The bounds of a loop over a dimension.
struct Bounds {
    lo: Id,
    hi: Id,
    step: i64,
}

/// The operators that compute values of a type from so many values of it alone, by name.
fn computing(operators: &Operators, dtype: DType, operands: usize) -> Vec<Symbol> {
    let takes = |info: &&OpInfo| {
        let defined = match info.primitive() {
            Some(Primitive::Unary(op)) => op.takes(dtype),
            Some(_) => true,
            None => false,
        };
        let plain = |kind: &Option<Kind>| *kind == Some(Kind::Value);
        defined
            && info.lanewise
            && info.unit.is_none()
            && matches!(info.typing, Some(Typing::Of(_)))
            && info.operand_kinds.len() == operands
            && info.operand_kinds.iter().all(plain)
            && info.asks.iter().all(|ask| *ask == Ask::default())
    };
    let mut names: Vec<&str> =
        operators.iter().filter(takes).map(|info| info.name.as_str()).collect();
    names.sort_unstable();
    names.into_iter().map(Symbol::from).collect()
}

struct Maker<'a> {
    operators: &'a Operators,
    /// The operators that compute a value from one, and from two.
    one: Vec<Symbol>,
    two: Vec<Symbol>,
    rng: Rng,
    terms: Terms,
    dtype: DType,
    extents: [Extent; 3],
    around: Vec<Around>,
    used: BTreeSet<&'static str>,
    /// The dimensions that loops run over, or whose extents occur.
    over: BTreeSet<usize>,
}

impl Maker<'_> {
    fn one_in(&mut self, n: u32) -> bool {
        self.rng.u32(0..n) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.usize(0..from.len())]
    }

    /// A word: a name of the model, a type or an operation.
    fn word(&mut self, word: &str) -> Id {
        self.terms.add(Node::op(word, &[]))
    }

    /// A primitive of operands in the order of its row.
    fn make(&mut self, primitive: Primitive, operands: &[Id]) -> Id {
        self.terms.add(self.operators.node(primitive, None, operands))
    }

    fn binary(&mut self, op: BinaryOp, a: Id, b: Id) -> Id {
        self.make(Primitive::Binary(op), &[a, b])
    }

    /// An operation that folds values.
    fn fold(&mut self) -> Id {
        let folds = BinaryOp::ALL.into_iter().filter(|op| op.folds());
        let op = self.pick(&folds.map(BinaryOp::name).collect::<Vec<_>>());
        self.word(op)
    }

    /// One of some operators, of values of about `size` levels.
    fn computed(&mut self, from: &[Symbol], operands: usize, size: u32) -> Id {
        if from.is_empty() {
            return self.constant();
        }
        let name = self.pick(from);
        let operands: Vec<Id> = (0..operands).map(|_| self.value(size)).collect();
        self.terms.add(Node::new(Head::Op(name), &operands))
    }

    fn int(&mut self, n: i64) -> Id {
        self.terms.add(Node::int(n))
    }

    /// Makes one nest of loops or several in sequence.
    fn program(&mut self, size: u32) -> Id {
        let nests = self.pick(&[1, 1, 1, 2, 2, 3]);
        let parts: Vec<Id> = (0..nests).map(|_| self.nest(size)).collect();
        self.sequence(&parts)
    }

    fn sequence(&mut self, parts: &[Id]) -> Id {
        let Some((last, first)) = parts.split_last() else {
            return self.make(Primitive::Skip, &[]);
        };
        first.iter().rev().fold(*last, |rest, part| self.make(Primitive::Seq, &[*part, rest]))
    }

    /// Makes a nest of loops.
    fn nest(&mut self, size: u32) -> Id {
        let dim = self.pick(&DIMS);
        let bounds = self.bounds(dim);
        self.looped(dim, bounds, |maker| {
            if maker.one_in(3) && maker.around.len() < DEEPEST {
                return maker.statement(size.saturating_sub(1));
            }
            let parts: Vec<Id> = (0..maker.pick(&[1, 1, 1, 2]))
                .map(|_| maker.statement(size.saturating_sub(1)))
                .collect();
            maker.sequence(&parts)
        })
    }

    /// Makes a loop around the body that `body` makes.
    fn looped(&mut self, dim: Dim, bounds: Bounds, body: impl FnOnce(&mut Maker) -> Id) -> Id {
        let (var, [lo, hi, step]) = self.variable(bounds);
        let value = self.make(Primitive::Iv, &[var]);
        self.around.push(Around { value, dim });
        let body = body(self);
        self.around.pop();
        self.make(Primitive::For, &[var, lo, hi, step, body])
    }

    /// Makes a variable, named by the number of its enclosing loops, and its bounds.
    fn variable(&mut self, Bounds { lo, hi, step }: Bounds) -> (Id, [Id; 3]) {
        let depth = self.int(self.around.len() as i64);
        let name = self.terms.add(self.operators.numbered_node(depth));
        let step = self.int(step);
        (self.make(Primitive::Variable, &[name, lo, hi, step]), [lo, hi, step])
    }

    fn extent(&mut self, dim: Dim) -> Id {
        match self.extents[dim as usize].clone() {
            Extent::Const(n) => self.int(n as i64),
            Extent::Size { name, .. } => {
                let name = self.word(&format!("%{name}"));
                self.make(Primitive::Size, &[name])
            }
        }
    }

    /// Makes bounds within a dimension: all of it, a part, every other position, a row's own entries, or the range that
    /// an enclosing loop has left.
    fn bounds(&mut self, dim: Dim) -> Bounds {
        self.over.insert(dim as usize);
        let (zero, all) = (self.int(0), self.extent(dim));
        let rows =
            self.around.iter().filter(|a| a.dim == Dim::Rows).map(|a| a.value).collect::<Vec<_>>();
        if dim == Dim::Entries && !rows.is_empty() && !self.one_in(5) {
            let row = self.pick(&rows);
            let one = self.int(1);
            let next = self.binary(BinaryOp::Add, row, one);
            let (lo, hi) = (self.load(STARTS, &[row]), self.load(STARTS, &[next]));
            return Bounds { lo, hi, step: 1 };
        }
        let same = self.around.iter().filter(|a| a.dim == dim).map(|a| a.value).collect::<Vec<_>>();
        if !same.is_empty() && self.one_in(2) {
            let other = self.pick(&same);
            return match self.rng.u8(0..3) {
                0 => Bounds { lo: zero, hi: other, step: 1 },
                1 => Bounds { lo: other, hi: all, step: 1 },
                _ => {
                    let one = self.int(1);
                    let lo = self.binary(BinaryOp::Add, other, one);
                    Bounds { lo, hi: all, step: 1 }
                }
            };
        }
        match self.rng.u8(0..12) {
            0 => Bounds { lo: self.int(1), hi: all, step: 1 },
            1 => Bounds { lo: zero, hi: all, step: self.pick(&[2, 3, 4]) },
            2 => {
                let n = self.pick(&[2, 3, 4]);
                let n = self.int(n);
                Bounds { lo: zero, hi: self.binary(BinaryOp::Min, n, all), step: 1 }
            }
            _ => Bounds { lo: zero, hi: all, step: 1 },
        }
    }

    /// Makes a position in a dimension; `None` if no enclosing loop provides one.
    fn index(&mut self, dim: Dim) -> Option<Id> {
        let of = |around: &[Around], dim: Dim| -> Vec<Id> {
            around.iter().filter(|a| a.dim == dim).map(|a| a.value).collect()
        };
        let (own, rows, entries) =
            (of(&self.around, dim), of(&self.around, Dim::Rows), of(&self.around, Dim::Entries));
        match dim {
            Dim::Columns if !rows.is_empty() && (own.is_empty() || self.one_in(8)) => {
                let row = self.pick(&rows);
                return Some(self.load(COLUMN_OF, &[row]));
            }
            Dim::Rows if !entries.is_empty() && (own.is_empty() || self.one_in(4)) => {
                let entry = self.pick(&entries);
                return Some(self.load(ROW_OF, &[entry]));
            }
            _ => {}
        }
        let (last, one) = (own.last().copied()?, self.int(1));
        let i = if self.one_in(4) { self.pick(&own) } else { last };
        Some(match self.rng.u8(0..24) {
            // The variants are: counted from the end, the neighbour, the first position, and every two iterations at
            // one position.
            0 => {
                let all = self.extent(dim);
                let last = self.binary(BinaryOp::Sub, all, one);
                self.binary(BinaryOp::Sub, last, i)
            }
            1 => {
                let (all, next) = (self.extent(dim), self.binary(BinaryOp::Add, i, one));
                let last = self.binary(BinaryOp::Sub, all, one);
                self.binary(BinaryOp::Min, next, last)
            }
            2 => self.int(0),
            3 => {
                let two = self.int(2);
                self.binary(BinaryOp::Div, i, two)
            }
            _ => i,
        })
    }

    /// Makes an element of a tensor that is written, or of any tensor.
    fn element(&mut self, written: bool) -> Option<Id> {
        let reads = self.one_in(8);
        let fit = TENSORS.iter().filter(|(.., out)| *out == written || (!written && reads));
        let fit: Vec<_> = fit.collect();
        // Several tries are needed, because most tensors have dimensions that no enclosing loop runs over.
        for _ in 0..8 {
            let (name, dims, out) = *self.pick(&fit);
            let indices: Option<Vec<Id>> = dims.iter().map(|dim| self.index(*dim)).collect();
            if let Some(indices) = indices {
                return Some(self.address(name, out, &indices));
            }
        }
        None
    }

    fn address(&mut self, name: &'static str, written: bool, indices: &[Id]) -> Id {
        self.used.insert(name);
        let name = self.word(&format!("%{name}"));
        let tensor = self.make(Primitive::Root(written), &[name]);
        indices
            .iter()
            .fold(tensor, |address, index| self.make(Primitive::Index, &[address, *index]))
    }

    fn load(&mut self, name: &'static str, indices: &[Id]) -> Id {
        let address = self.address(name, false, indices);
        self.make(Primitive::Load, &[address])
    }

    fn statement(&mut self, size: u32) -> Id {
        let deeper = self.around.len() < DEEPEST && size > 0;
        if deeper && self.one_in(2) {
            return self.nest(size);
        }
        let Some(address) = self.element(true) else {
            return if self.around.len() < DEEPEST {
                self.nest(size)
            } else {
                self.make(Primitive::Skip, &[])
            };
        };
        let value = self.value(size + 1);
        if self.one_in(3) {
            let op = self.fold();
            return self.make(Primitive::Accumulate, &[op, address, value]);
        }
        self.make(Primitive::Store, &[address, value])
    }

    fn constant(&mut self) -> Id {
        let number = self.pick(&[0.0, 1.0, -1.0, 0.5, 3.0, -2.5]);
        if self.dtype == DType::I64 {
            return self.int(number as i64);
        }
        let dtype = self.word(self.dtype.name());
        let number = self.terms.add(Node::new(Head::real(number), &[]));
        self.make(Primitive::Constant, &[dtype, number])
    }

    fn value(&mut self, size: u32) -> Id {
        if size == 0 || self.one_in(3) {
            if !self.one_in(6)
                && let Some(address) = self.element(false)
            {
                return self.make(Primitive::Load, &[address]);
            }
            return self.constant();
        }
        let size = size - 1;
        match self.rng.u8(0..12) {
            0..=6 => self.computed(&self.two.clone(), 2, size),
            7 => {
                let (i, n) = (self.around.last().map(|a| a.value), self.pick(&[1, 2, 3]));
                let (n, b) = (self.int(n), self.int(0));
                let less = self.binary(BinaryOp::Lt, i.unwrap_or(b), n);
                let (a, b) = (self.value(size), self.value(size));
                self.make(Primitive::Select, &[less, a, b])
            }
            8 if self.dtype.is_float() => self.computed(&self.one.clone(), 1, size),
            9 if self.dtype.is_float() && !self.around.is_empty() => {
                let at = self.rng.usize(0..self.around.len());
                let dtype = self.word(self.dtype.name());
                self.make(Primitive::Cast, &[dtype, self.around[at].value])
            }
            _ if self.around.len() < DEEPEST => self.reduction(size),
            _ => self.constant(),
        }
    }

    fn reduction(&mut self, size: u32) -> Id {
        let (dim, start) = (self.pick(&DIMS), self.constant());
        let bounds = self.bounds(dim);
        let op = self.fold();
        let (var, [lo, hi, step]) = self.variable(bounds);
        let value = self.make(Primitive::Iv, &[var]);
        self.around.push(Around { value, dim });
        let body = self.value(size);
        self.around.pop();
        self.make(Primitive::Reduce, &[op, var, lo, hi, step, start, body])
    }
}
