//! The types of operands that several operators have alike: of one shape, joined, repeated, or those of an idiom.

use super::{Draw, Form, Type};
use crate::words::MAX;

impl Draw<'_> {
    /// Types operands of one shape and one type, besides numbers; the result has it, too, or answers.
    pub(super) fn alike(
        &mut self,
        kind: usize,
        of: &[usize],
        own: bool,
        rank: Option<usize>,
    ) -> Option<Vec<usize>> {
        let kind = if own { kind } else { self.unknowns.fresh() };
        let mut dims: Option<Vec<usize>> = None;
        for at in of {
            if self.is_number(*at) {
                self.tensor(*at, None)?;
                continue;
            }
            let found = self.tensor(*at, dims.as_ref().map(Vec::len).or(rank))?;
            self.unknowns.same(kind, found.kind).then_some(())?;
            if let Some(dims) = &dims {
                self.same(dims, &found.dims)?;
            }
            dims = Some(found.dims);
        }
        dims
    }

    pub(super) fn concat(
        &mut self,
        kind: usize,
        (axis, part, list): (usize, usize, usize),
        rank: Option<usize>,
    ) -> Option<Vec<usize>> {
        let mut dims = self.shape(part, rank)?;
        let axis = match self.axis(axis, dims.len()) {
            Some(axis) if axis < dims.len() => axis,
            _ => return None,
        };
        let count = self.list(list, &Type { kind, dims: dims.clone() })?;
        let all = self.unknowns.fresh();
        let count = self.unknowns.known(count as u64);
        self.unknowns.product(&[all], &[dims[axis], count]);
        dims[axis] = all;
        Some(dims)
    }

    pub(super) fn axis(&mut self, at: usize, rank: usize) -> Option<usize> {
        let size = self.size(at)?;
        if self.unknowns.value(size).is_none() {
            let axis = self.rng.u64(..rank.max(1) as u64);
            self.unknowns.set(size, axis);
        }
        self.unknowns.value(size).map(|axis| axis as usize)
    }

    pub(super) fn list(&mut self, at: usize, part: &Type) -> Option<usize> {
        if let Some(v) = self.variable(at) {
            let count = self.rng.usize(2..4);
            self.variables.insert(v, Form::List(count, part.clone()));
            return Some(count);
        }
        match (self.node(at).0?, &self.node(at).1[..]) {
            ("then", [first, rest]) => {
                self.typed(*first, part)?;
                Some(1 + self.list(*rest, part)?)
            }
            _ => Some(0),
        }
    }

    pub(super) fn repeated(
        &mut self,
        kind: usize,
        (to, x): (usize, usize),
        rank: Option<usize>,
    ) -> Option<Vec<usize>> {
        let to = self.shape(to, rank)?;
        let most = to.len();
        let rank = if self.variable(x).is_some() { self.rng.usize(1..most + 1) } else { most };
        let own = self.tensor(x, Some(rank))?;
        self.unknowns.same(kind, own.kind).then_some(())?;
        let skipped = most.checked_sub(own.dims.len())?;
        for (axis, dim) in own.dims.iter().enumerate() {
            // A dimension of extent 1 is repeated; others are as they are.
            if self.unknowns.value(*dim) == Some(1) {
                continue;
            }
            // What only the data says is not known to be 1.
            let fits = match if self.unknowns.is_late(*dim) { 1 } else { self.rng.u8(..4) } {
                0 => self.unknowns.set(*dim, 1),
                _ => self.unknowns.same(*dim, to[axis + skipped]),
            };
            fits.then_some(())?;
        }
        Some(to)
    }

    /// Types an idiom that stands inside another one.
    pub(super) fn idiom(&mut self, name: &str, kind: usize, of: &[usize]) -> Option<Vec<usize>> {
        let dims = self.fresh(2);
        match (name.split_once('.')?.1, of) {
            ("segments" | "segments_max", [x, offsets]) => {
                let n = self.unknowns.fresh();
                let whole = self.whole();
                self.typed(*x, &Type { kind, dims: vec![n, dims[1]] })?;
                let ends = self.vector(*offsets, whole)?;
                self.unknowns.successor(dims[0], ends);
            }
            ("sum" | "mean" | MAX, [x, from, to]) => {
                let rows = self.unknowns.fresh();
                self.typed(*x, &Type { kind, dims: vec![rows, dims[1]] })?;
                let n = self.positions(*from, rows)?;
                let m = self.positions(*to, dims[0])?;
                self.unknowns.same(n, m).then_some(())?;
            }
            ("segment_softmax", [rows, to, x]) => {
                let rows = self.shape(*rows, None)?;
                let mut dims = rows.clone();
                dims[0] = self.positions(*to, *rows.first()?)?;
                self.typed(*x, &Type { kind, dims: dims.clone() })?;
                return Some(dims);
            }
            _ => return None,
        }
        Some(dims)
    }
}
