//! The shapes of an instance, and the types of its elements, as far as the operators of a side say them.

use super::{Draw, Form, Type};
use egg::ENodeOrVar;
use ember_language::term::Head;

impl Draw<'_> {
    pub(super) fn fresh(&mut self, count: usize) -> Vec<usize> {
        (0..count).map(|_| self.unknowns.fresh()).collect()
    }

    pub(super) fn same(&mut self, a: &[usize], b: &[usize]) -> Option<()> {
        let alike = a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.unknowns.same(*a, *b));
        alike.then_some(())
    }

    pub(super) fn whole(&mut self) -> usize {
        self.unknowns.known(1)
    }

    pub(super) fn size(&mut self, at: usize) -> Option<usize> {
        if let ENodeOrVar::ENode(node) = &self.nodes()[at] {
            let Head::Int(n) = node.head() else { return None };
            return Some(self.unknowns.known(u64::try_from(n).ok()?));
        }
        let v = self.variable(at)?;
        if let Some(Form::Size(known)) = self.variables.get(&v) {
            return Some(*known);
        }
        let new = self.unknowns.fresh();
        self.variables.insert(v, Form::Size(new));
        Some(new)
    }

    pub(super) fn shape(&mut self, at: usize, rank: Option<usize>) -> Option<Vec<usize>> {
        if let Some(v) = self.variable(at) {
            if let Some(Form::Shape(known)) = self.variables.get(&v) {
                return Some(known.clone());
            }
            let rank = rank.unwrap_or_else(|| self.rng.usize(1..4));
            let dims = self.fresh(rank);
            self.variables.insert(v, Form::Shape(dims.clone()));
            return Some(dims);
        }
        let (_, children) = self.node(at);
        children.into_iter().map(|child| self.size(child)).collect()
    }

    /// Types a node of a known type.
    pub(super) fn typed(&mut self, at: usize, wanted: &Type) -> Option<()> {
        let own = self.tensor(at, Some(wanted.dims.len()))?;
        self.same(&own.dims, &wanted.dims)?;
        self.unknowns.same(own.kind, wanted.kind).then_some(())
    }

    pub(super) fn vector(&mut self, at: usize, kind: usize) -> Option<usize> {
        let dims = self.fresh(1);
        self.typed(at, &Type { kind, dims: dims.clone() })?;
        Some(dims[0])
    }

    /// Types a vector of positions among rows.
    pub(super) fn positions(&mut self, at: usize, rows: usize) -> Option<usize> {
        self.positions.push((at, rows));
        let whole = self.whole();
        self.vector(at, whole)
    }

    /// Returns the type of a tensor, of which the rank may be known.
    pub(super) fn tensor(&mut self, at: usize, rank: Option<usize>) -> Option<Type> {
        let own = self.typing(at, rank)?;
        self.forms.insert(at, Form::Tensor(own.clone()));
        Some(own)
    }

    pub(super) fn typing(&mut self, at: usize, rank: Option<usize>) -> Option<Type> {
        if let Some(v) = self.variable(at) {
            if let Some(Form::Tensor(known)) = self.variables.get(&v) {
                return Some(known.clone());
            }
            let rank = rank.unwrap_or_else(|| self.rng.usize(1..4));
            let own = Type { kind: self.unknowns.fresh(), dims: self.fresh(rank) };
            self.variables.insert(v, Form::Tensor(own.clone()));
            return Some(own);
        }
        let (name, of) = self.node(at);
        let name = name?;
        let family = name.split_once('.').map_or(name, |(family, _)| family);
        let kind = self.unknowns.fresh();
        let dims = match (family, &of[..]) {
            ("zeros" | "ones" | "lowest" | "least", [shape]) => self.shape(*shape, rank)?,
            ("low", [shape, number]) => {
                self.size(*number)?;
                self.shape(*shape, rank)?
            }
            ("number", [size]) => {
                self.size(*size)?;
                Vec::new()
            }
            ("tiny", []) => Vec::new(),
            ("view", [to, from, x]) => {
                let to = self.shape(*to, rank)?;
                let dims = self.shape(*from, None)?;
                self.unknowns.product(&to, &dims);
                self.typed(*x, &Type { kind, dims })?;
                to
            }
            ("turn", [x]) => {
                let dims = self.fresh(rank.unwrap_or(2).max(2));
                self.typed(*x, &Type { kind, dims: dims.clone() })?;
                let mut turned = dims;
                let last = turned.len() - 1;
                turned.swap(last - 1, last);
                turned
            }
            ("concat", [axis, part, list]) => self.concat(kind, (*axis, *part, *list), rank)?,
            ("repeat", [to, x]) => self.repeated(kind, (*to, *x), rank)?,
            ("iota", [n]) => {
                let whole = self.whole();
                self.unknowns.same(kind, whole).then_some(())?;
                vec![self.size(*n)?]
            }
            ("rest" | "front", [x]) => {
                let n = self.vector(*x, kind)?;
                let less = self.unknowns.fresh();
                self.unknowns.successor(less, n);
                vec![less]
            }
            ("integers" | "known", [x]) => {
                let whole = self.whole();
                self.unknowns.same(kind, whole).then_some(())?;
                let own = self.tensor(*x, rank)?;
                self.unknowns.same(own.kind, whole).then_some(())?;
                own.dims
            }
            ("unique", [x]) => {
                self.vector(*x, kind)?;
                let whole = self.whole();
                self.unknowns.same(kind, whole).then_some(())?;
                vec![self.unknowns.late()]
            }
            ("places", [x]) => {
                let whole = self.whole();
                vec![self.vector(*x, whole)?]
            }
            ("nonzero", [x]) => {
                let own = self.tensor(*x, None)?;
                vec![self.unknowns.late(), self.unknowns.known(own.dims.len() as u64)]
            }
            ("range", [x]) => {
                let (whole, own) = (self.whole(), self.tensor(*x, Some(0))?);
                let alike = self.unknowns.same(kind, whole) && self.unknowns.same(own.kind, whole);
                alike.then_some(())?;
                vec![self.unknowns.late()]
            }
            ("repeated", [x, n]) => {
                let (whole, own) = (self.whole(), self.vector(*x, kind)?);
                self.typed(*n, &Type { kind: whole, dims: vec![own] })?;
                vec![self.unknowns.late()]
            }
            ("owners", [n, offsets]) => {
                let (n, whole) = (self.size(*n)?, self.whole());
                let ends = self.vector(*offsets, whole)?;
                self.unknowns.successor(n, ends);
                vec![self.unknowns.late()]
            }
            ("below", [n]) => {
                self.size(*n)?;
                vec![self.unknowns.late()]
            }
            ("count", [n, to]) => {
                let n = self.size(*n)?;
                self.positions(*to, n)?;
                vec![n]
            }
            ("rows", [shape, x, to]) => {
                let dims = self.shape(*shape, rank)?;
                self.typed(*x, &Type { kind, dims: dims.clone() })?;
                let n = self.positions(*to, *dims.first()?)?;
                std::iter::once(n).chain(dims[1..].iter().copied()).collect()
            }
            ("scatter", [x, to, y]) => {
                let own = self.tensor(*x, rank)?;
                let n = self.positions(*to, *own.dims.first()?)?;
                let dims = std::iter::once(n).chain(own.dims[1..].iter().copied()).collect();
                self.typed(*y, &Type { kind, dims })?;
                own.dims
            }
            ("fold", [x]) => {
                let mut own = self.tensor(*x, rank.map(|rank| rank + 1))?;
                self.unknowns.same(kind, own.kind).then_some(())?;
                own.dims.pop()?;
                own.dims
            }
            ("map", [x]) => {
                let own = self.tensor(*x, rank)?;
                self.unknowns.same(kind, own.kind).then_some(())?;
                own.dims
            }
            ("zip" | "compare", [a, b]) => self.alike(kind, &[*a, *b], family == "zip", rank)?,
            ("choose", [c, x, y]) => {
                let dims = self.alike(kind, &[*x, *y], true, rank)?;
                let answers = self.tensor(*c, Some(dims.len()))?;
                self.same(&answers.dims, &dims)?;
                dims
            }
            ("idiom", of) => self.idiom(name, kind, of)?,
            _ => return None,
        };
        Some(Type { kind, dims })
    }
}
