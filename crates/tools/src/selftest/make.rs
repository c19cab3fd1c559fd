//! A random program: nests of loops over the dimensions of some tensors, with stores, accumulations and
//! reductions in them. Every index is one by the way it is made, so that on the data which fits the
//! declarations no run has a fault.

use egg::Id;
use ember_language::rules::Signature;
use ember_language::term::{Head, Node, Term};
use ember_language::text::program;
use ember_model::Extent;
use ember_prove::chains::Terms;
use ember_prove::equiv::{Declarations, Declared, Purpose};
use ember_values::scalar::DType;
use fastrand::Rng;
use std::collections::BTreeSet;

/// A program and what it declares.
#[derive(Clone, Debug)]
pub struct Made {
    /// The tensors that it uses.
    pub declarations: Declarations,
    /// The program, of sort Stmt.
    pub term: Term,
    /// The extent of each dimension.
    extents: [Extent; 3],
}

/// The dimensions that tensors have and loops run over: rows, columns and the entries of ragged rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dim {
    Rows,
    Columns,
    Entries,
}

const DIMS: [Dim; 3] = [Dim::Rows, Dim::Columns, Dim::Entries];

/// Tensors of numbers, by name, with their dimensions and whether a program writes them.
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

/// Positions in columns, one a row; positions in rows, one an entry; and where each row's entries start.
const COLUMN_OF: &str = "column_of";
const ROW_OF: &str = "row_of";
pub(super) const STARTS: &str = "starts";

/// The most loops around each other.
const DEEPEST: usize = 4;

impl Made {
    /// The program of a seed, of about `size` levels of statements and values.
    pub fn random(seed: u64, size: u32) -> Made {
        let mut rng = Rng::with_seed(seed);
        let dtypes = [DType::F32, DType::F32, DType::F64, DType::I64];
        let dtype = dtypes[rng.usize(0..dtypes.len())];
        let extents = [("n", 0..7), ("m", 2..6), ("l", 0..1)].map(|(name, odds)| {
            // Most sizes are whatever the data says, and some are numbers.
            match rng.u64(0..12) {
                k if odds.contains(&k) && k > 0 => Extent::Const(k),
                _ => Extent::Size { name: name.to_owned(), plus: 0 },
            }
        });
        let (terms, around, used) = (Terms::default(), Vec::new(), BTreeSet::new());
        let mut maker = Maker { rng, terms, dtype, extents, around, used, over: BTreeSet::new() };
        let root = maker.program(size);
        let Maker { terms, extents, mut used, over, .. } = maker;
        // A size is that of some tensor.
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

    /// Where a tensor's elements are positions: the extent, and how many beyond it there may be.
    pub(super) fn positions_in(&self, tensor: &str) -> Option<(&Extent, u64)> {
        match tensor {
            COLUMN_OF => Some((&self.extents[Dim::Columns as usize], 0)),
            ROW_OF => Some((&self.extents[Dim::Rows as usize], 0)),
            STARTS => Some((&self.extents[Dim::Entries as usize], 1)),
            _ => None,
        }
    }

    /// Declarations and program as a text that `equiv` reads.
    pub fn text(&self, signature: &Signature) -> String {
        let declared = self.declarations.tensors.iter().map(|tensor| tensor.form() + "\n");
        let words = self.declarations.words(signature);
        declared.collect::<String>() + "\n" + &program(&self.term, &words)
    }
}

/// The declarations of the tensors that are used.
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

/// A loop around: its variable's value, and the dimension that it is a position in.
#[derive(Clone, Copy, Debug)]
struct Around {
    value: Id,
    dim: Dim,
}

/// Bounds of a loop over a dimension.
struct Bounds {
    lo: Id,
    hi: Id,
    step: i64,
}

struct Maker {
    rng: Rng,
    terms: Terms,
    dtype: DType,
    extents: [Extent; 3],
    around: Vec<Around>,
    used: BTreeSet<&'static str>,
    /// The dimensions that loops run over, or whose extents are mentioned.
    over: BTreeSet<usize>,
}

impl Maker {
    fn one_in(&mut self, n: u32) -> bool {
        self.rng.u32(0..n) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.usize(0..from.len())]
    }

    fn op(&mut self, name: &str, children: &[Id]) -> Id {
        self.terms.add(Node::op(name, children))
    }

    fn int(&mut self, n: i64) -> Id {
        self.terms.add(Node::int(n))
    }

    /// One nest or several, one after the other.
    fn program(&mut self, size: u32) -> Id {
        let nests = self.pick(&[1, 1, 1, 2, 2, 3]);
        let parts: Vec<Id> = (0..nests).map(|_| self.nest(size)).collect();
        self.sequence(&parts)
    }

    fn sequence(&mut self, parts: &[Id]) -> Id {
        let Some((last, first)) = parts.split_last() else { return self.op("scf.skip", &[]) };
        first.iter().rev().fold(*last, |rest, part| self.op("scf.seq", &[*part, rest]))
    }

    /// A loop.
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

    /// A loop around what is made in it.
    fn looped(&mut self, dim: Dim, bounds: Bounds, body: impl FnOnce(&mut Maker) -> Id) -> Id {
        let (var, [lo, hi, step]) = self.variable(bounds);
        let value = self.op("iv", &[var]);
        self.around.push(Around { value, dim });
        let body = body(self);
        self.around.pop();
        self.op("scf.for", &[var, lo, hi, step, body])
    }

    /// A variable, named by how many loops are around it, and its bounds.
    fn variable(&mut self, Bounds { lo, hi, step }: Bounds) -> (Id, [Id; 3]) {
        let depth = self.int(self.around.len() as i64);
        let name = self.op("depth", &[depth]);
        let step = self.int(step);
        (self.op("var", &[name, lo, hi, step]), [lo, hi, step])
    }

    fn extent(&mut self, dim: Dim) -> Id {
        match self.extents[dim as usize].clone() {
            Extent::Const(n) => self.int(n as i64),
            Extent::Size { name, .. } => {
                let name = self.op(&format!("%{name}"), &[]);
                self.op("size", &[name])
            }
        }
    }

    /// Bounds within a dimension: all of it, a part, every other position, a row's own entries, or
    /// what a loop around has left.
    fn bounds(&mut self, dim: Dim) -> Bounds {
        self.over.insert(dim as usize);
        let (zero, all) = (self.int(0), self.extent(dim));
        let rows =
            self.around.iter().filter(|a| a.dim == Dim::Rows).map(|a| a.value).collect::<Vec<_>>();
        if dim == Dim::Entries && !rows.is_empty() && !self.one_in(5) {
            let row = self.pick(&rows);
            let one = self.int(1);
            let next = self.op("scf.add", &[row, one]);
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
                    let lo = self.op("scf.add", &[other, one]);
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
                Bounds { lo: zero, hi: self.op("scf.min", &[n, all]), step: 1 }
            }
            _ => Bounds { lo: zero, hi: all, step: 1 },
        }
    }

    /// A position in a dimension; `None` where no loop around says that it has one.
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
            // The same from behind, its neighbour, the first, and every two at one place.
            0 => {
                let all = self.extent(dim);
                let last = self.op("scf.sub", &[all, one]);
                self.op("scf.sub", &[last, i])
            }
            1 => {
                let (all, next) = (self.extent(dim), self.op("scf.add", &[i, one]));
                let last = self.op("scf.sub", &[all, one]);
                self.op("scf.min", &[next, last])
            }
            2 => self.int(0),
            3 => {
                let two = self.int(2);
                self.op("scf.div", &[i, two])
            }
            _ => i,
        })
    }

    /// An element of a tensor that is written, or of any.
    fn element(&mut self, written: bool) -> Option<Id> {
        let reads = self.one_in(8);
        let fit = TENSORS.iter().filter(|(.., out)| *out == written || (!written && reads));
        let fit: Vec<_> = fit.collect();
        // A few tries: most tensors have dimensions that no loop around is over.
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
        let name = self.op(&format!("%{name}"), &[]);
        let tensor = self.op(if written { "out" } else { "in" }, &[name]);
        indices.iter().fold(tensor, |address, index| self.op("at", &[address, *index]))
    }

    fn load(&mut self, name: &'static str, indices: &[Id]) -> Id {
        let address = self.address(name, false, indices);
        self.op("scf.load", &[address])
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
                self.op("scf.skip", &[])
            };
        };
        let value = self.value(size + 1);
        if self.one_in(3) {
            let op = self.pick(&["add", "add", "max", "min", "mul"]);
            let op = self.op(op, &[]);
            return self.op("scf.accumulate", &[op, address, value]);
        }
        self.op("scf.store", &[address, value])
    }

    fn constant(&mut self) -> Id {
        let number = self.pick(&[0.0, 1.0, -1.0, 0.5, 3.0, -2.5]);
        if self.dtype == DType::I64 {
            return self.int(number as i64);
        }
        let dtype = self.op(self.dtype.name(), &[]);
        let number = self.terms.add(Node::new(Head::real(number), &[]));
        self.op("const", &[dtype, number])
    }

    fn value(&mut self, size: u32) -> Id {
        if size == 0 || self.one_in(3) {
            if !self.one_in(6)
                && let Some(address) = self.element(false)
            {
                return self.op("scf.load", &[address]);
            }
            return self.constant();
        }
        let size = size - 1;
        match self.rng.u8(0..12) {
            0..=6 => {
                let op = ["add", "add", "mul", "mul", "sub", "max", "min", "div"];
                let op = format!("scf.{}", self.pick(&op));
                let (a, b) = (self.value(size), self.value(size));
                self.op(&op, &[a, b])
            }
            7 => {
                let (i, n) = (self.around.last().map(|a| a.value), self.pick(&[1, 2, 3]));
                let (n, b) = (self.int(n), self.int(0));
                let less = self.op("scf.lt", &[i.unwrap_or(b), n]);
                let (a, b) = (self.value(size), self.value(size));
                self.op("scf.select", &[less, a, b])
            }
            8 if self.dtype.is_float() => {
                let x = self.value(size);
                let op = self.pick(&["scf.exp", "scf.sqrt"]);
                self.op(op, &[x])
            }
            9 if self.dtype.is_float() && !self.around.is_empty() => {
                let at = self.rng.usize(0..self.around.len());
                let dtype = self.op(self.dtype.name(), &[]);
                self.op("scf.cast", &[dtype, self.around[at].value])
            }
            _ if self.around.len() < DEEPEST => self.reduction(size),
            _ => self.constant(),
        }
    }

    fn reduction(&mut self, size: u32) -> Id {
        let (dim, start) = (self.pick(&DIMS), self.constant());
        let bounds = self.bounds(dim);
        let op = self.pick(&["add", "add", "max", "min", "mul"]);
        let op = self.op(op, &[]);
        let (var, [lo, hi, step]) = self.variable(bounds);
        let value = self.op("iv", &[var]);
        self.around.push(Around { value, dim });
        let body = self.value(size);
        self.around.pop();
        self.op("scf.reduce", &[op, var, lo, hi, step, start, body])
    }
}
