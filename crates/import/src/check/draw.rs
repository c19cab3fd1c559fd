//! Instances of a side of a rule: shapes that fit together, and tensors of these shapes, full of edge cases.

use super::meaning::{Meaning, Whole, apply, elements};
use super::unknowns::Unknowns;
use crate::words::MAX;
use egg::{ENodeOrVar, Id, Language, Var};
use ember_language::rules::Rule;
use ember_language::term::{Head, Node};
use ember_values::scalar::Scalar;
use fastrand::Rng;
use std::collections::BTreeMap;

/// What the variables of a rule stand for.
pub(super) type Bound = BTreeMap<Var, Meaning>;

/// The extents of a tensor and the kind of its elements: 0 for numbers with a fraction, 1 for whole ones.
#[derive(Clone, Debug)]
struct Type {
    kind: usize,
    dims: Vec<usize>,
}

/// What a node stands for, as far as it is known before values are drawn.
#[derive(Clone, Debug)]
enum Form {
    Size(usize),
    Shape(Vec<usize>),
    Tensor(Type),
    List(usize, Type),
}

/// An instance that is being made.
struct Draw<'a> {
    rule: &'a Rule,
    rng: &'a mut Rng,
    unknowns: Unknowns,
    variables: BTreeMap<Var, Form>,
    forms: BTreeMap<usize, Form>,
    /// Nodes that are positions, each with how many rows there are.
    positions: Vec<(usize, usize)>,
}

/// Draws what the variables of a rule's left side stand for, and returns it with what the left side is; `None` if the
/// choices do not fit together, or the left side computes nothing of them. Tame numbers have no extremes.
pub(super) fn draw(rule: &Rule, rng: &mut Rng, tame: bool) -> Option<(Bound, Whole)> {
    let (unknowns, variables) = (Unknowns::default(), BTreeMap::new());
    let (forms, positions) = (BTreeMap::new(), Vec::new());
    let mut draw = Draw { rule, rng, unknowns, variables, forms, positions };
    let root = draw.nodes().len() - 1;
    draw.tensor(root, None)?;
    draw.numbers();
    draw.drawn()?;
    draw.evaluated(tame)
}

/// Returns what a side is, given what its variables stand for; `None` if it computes nothing.
pub(super) fn evaluate(
    nodes: &[ENodeOrVar<Node>],
    bound: &Bound,
    shape: &[u64],
) -> Option<Meaning> {
    let mut done: Vec<Meaning> = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        let root = at + 1 == nodes.len();
        let of = |id: &Id| &done[usize::from(*id)];
        done.push(match node {
            ENodeOrVar::Var(v) => bound.get(v)?.clone(),
            ENodeOrVar::ENode(node) => match node.head() {
                Head::Int(n) => Meaning::Size(n),
                Head::Real(_) => return None,
                Head::Op(name) => {
                    let operands: Vec<&Meaning> = node.children().iter().map(of).collect();
                    apply(name.as_str(), &operands, root.then_some(shape))?
                }
            },
        });
    }
    done.pop()
}

impl Draw<'_> {
    /// Draws extents, those of the variables' tensors first.
    fn drawn(&mut self) -> Option<()> {
        let dims = |form: &Form| match form {
            Form::Size(_) | Form::Shape(_) => Vec::new(),
            Form::Tensor(own) | Form::List(_, own) => own.dims.clone(),
        };
        let first: Vec<usize> = self.variables.values().flat_map(dims).collect();
        self.unknowns.draw(self.rng, &first).then_some(())
    }

    /// Decides that tensors of which nothing is known hold numbers with a fraction.
    fn numbers(&mut self) {
        for form in self.variables.values().chain(self.forms.values()) {
            if let Form::Tensor(own) | Form::List(_, own) = form
                && self.unknowns.value(own.kind).is_none()
            {
                self.unknowns.set(own.kind, 0);
            }
        }
    }

    fn nodes(&self) -> &[ENodeOrVar<Node>] {
        self.rule.lhs.as_ref()
    }

    fn node(&self, at: usize) -> (Option<&'static str>, Vec<usize>) {
        match &self.nodes()[at] {
            ENodeOrVar::ENode(node) => {
                (node.name(), node.children().iter().map(|id| usize::from(*id)).collect())
            }
            ENodeOrVar::Var(_) => (None, Vec::new()),
        }
    }

    fn variable(&self, at: usize) -> Option<Var> {
        match &self.nodes()[at] {
            ENodeOrVar::Var(v) => Some(*v),
            ENodeOrVar::ENode(_) => None,
        }
    }

    /// Returns true for a number that a program writes, which takes any shape and type.
    fn is_number(&self, at: usize) -> bool {
        matches!(self.node(at).0, Some("number" | "tiny"))
    }

    fn fresh(&mut self, count: usize) -> Vec<usize> {
        (0..count).map(|_| self.unknowns.fresh()).collect()
    }

    fn same(&mut self, a: &[usize], b: &[usize]) -> Option<()> {
        let alike = a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.unknowns.same(*a, *b));
        alike.then_some(())
    }

    fn whole(&mut self) -> usize {
        self.unknowns.known(1)
    }

    fn size(&mut self, at: usize) -> Option<usize> {
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

    fn shape(&mut self, at: usize, rank: Option<usize>) -> Option<Vec<usize>> {
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
    fn typed(&mut self, at: usize, wanted: &Type) -> Option<()> {
        let own = self.tensor(at, Some(wanted.dims.len()))?;
        self.same(&own.dims, &wanted.dims)?;
        self.unknowns.same(own.kind, wanted.kind).then_some(())
    }

    fn vector(&mut self, at: usize, kind: usize) -> Option<usize> {
        let dims = self.fresh(1);
        self.typed(at, &Type { kind, dims: dims.clone() })?;
        Some(dims[0])
    }

    /// Types a vector of positions among rows.
    fn positions(&mut self, at: usize, rows: usize) -> Option<usize> {
        self.positions.push((at, rows));
        let whole = self.whole();
        self.vector(at, whole)
    }

    /// Returns the type of a tensor, of which the rank may be known.
    fn tensor(&mut self, at: usize, rank: Option<usize>) -> Option<Type> {
        let own = self.typing(at, rank)?;
        self.forms.insert(at, Form::Tensor(own.clone()));
        Some(own)
    }

    fn typing(&mut self, at: usize, rank: Option<usize>) -> Option<Type> {
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

    /// Types operands of one shape and one type, besides numbers; the result has it, too, or answers.
    fn alike(
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

    fn concat(
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

    fn axis(&mut self, at: usize, rank: usize) -> Option<usize> {
        let size = self.size(at)?;
        if self.unknowns.value(size).is_none() {
            let axis = self.rng.u64(..rank.max(1) as u64);
            self.unknowns.set(size, axis);
        }
        self.unknowns.value(size).map(|axis| axis as usize)
    }

    fn list(&mut self, at: usize, part: &Type) -> Option<usize> {
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

    fn repeated(
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
    fn idiom(&mut self, name: &str, kind: usize, of: &[usize]) -> Option<Vec<usize>> {
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

    /// Evaluates the left side, drawing the tensors of variables as soon as their extents are known.
    fn evaluated(mut self, tame: bool) -> Option<(Bound, Whole)> {
        let (mut bound, mut done) = (Bound::new(), BTreeMap::<usize, Meaning>::new());
        let bounds = self.bounds();
        let root = self.nodes().len() - 1;
        loop {
            let before = done.len();
            for (v, form) in self.variables.clone() {
                if !bound.contains_key(&v)
                    && let Some(meaning) = self.content(&form, bounds.get(&v), tame)
                {
                    bound.insert(v, meaning?);
                }
            }
            for at in 0..=root {
                if done.contains_key(&at) {
                    continue;
                }
                let found = match self.nodes()[at].clone() {
                    ENodeOrVar::Var(v) => bound.get(&v).cloned(),
                    ENodeOrVar::ENode(node) => {
                        let of = node.children().iter().map(|id| done.get(&usize::from(*id)));
                        match (of.collect::<Option<Vec<_>>>(), node.head()) {
                            (None, _) => None,
                            (_, Head::Int(n)) => Some(Meaning::Size(n)),
                            (Some(of), Head::Op(name)) => {
                                let shape = match self.forms.get(&at) {
                                    Some(Form::Tensor(own)) => self.unknowns.values(&own.dims),
                                    _ => None,
                                };
                                Some(apply(name.as_str(), &of, shape.as_deref())?)
                            }
                            _ => return None,
                        }
                    }
                };
                let Some(found) = found else { continue };
                if let (Meaning::Tensor(x), Some(Form::Tensor(own))) = (&found, self.forms.get(&at))
                {
                    let fits = self.is_number(at)
                        || own.dims.len() == x.shape.len()
                            && own
                                .dims
                                .clone()
                                .iter()
                                .zip(&x.shape)
                                .all(|(d, n)| self.unknowns.set(*d, *n));
                    fits.then_some(())?;
                    self.drawn()?;
                }
                done.insert(at, found);
            }
            if let Some(Meaning::Tensor(x)) = done.get(&root) {
                return Some((bound, x.clone()));
            }
            if done.len() == before {
                return None;
            }
        }
    }

    /// How many rows there are for the tensors that positions are made of.
    fn bounds(&self) -> BTreeMap<Var, usize> {
        let mut bounds = BTreeMap::new();
        for (at, rows) in &self.positions {
            let mut open = vec![*at];
            while let Some(at) = open.pop() {
                if let Some(v) = self.variable(at) {
                    bounds.entry(v).or_insert(*rows);
                }
                let (name, children) = self.node(at);
                // These are positions of their own, whatever their operands are.
                if !matches!(name, Some("owners" | "repeated" | "places" | "nonzero")) {
                    open.extend(children);
                }
            }
        }
        bounds
    }

    /// Draws what a variable stands for; `None` while its extents are not known, and inside if nothing fits.
    fn content(
        &mut self,
        form: &Form,
        rows: Option<&usize>,
        tame: bool,
    ) -> Option<Option<Meaning>> {
        let rows = match rows {
            Some(rows) => Some(self.unknowns.value(*rows)?),
            None => None,
        };
        Some(match form {
            Form::Size(n) => Some(Meaning::Size(self.unknowns.value(*n)? as i64)),
            Form::Shape(dims) => Some(Meaning::Shape(self.unknowns.values(dims)?)),
            Form::Tensor(own) => {
                let shape = self.unknowns.values(&own.dims)?;
                let whole = self.unknowns.value(own.kind) == Some(1);
                self.elements(shape, whole, rows, tame).map(Meaning::Tensor)
            }
            Form::List(count, part) => {
                let shape = self.unknowns.values(&part.dims)?;
                let whole = self.unknowns.value(part.kind) == Some(1);
                let parts = (0..*count).map(|_| self.elements(shape.clone(), whole, rows, tame));
                parts.collect::<Option<_>>().map(Meaning::List)
            }
        })
    }

    fn elements(
        &mut self,
        shape: Vec<u64>,
        whole: bool,
        rows: Option<u64>,
        tame: bool,
    ) -> Option<Whole> {
        let n = elements(&shape);
        if !whole {
            let extreme = !tame && self.rng.bool();
            let cells = (0..n).map(|_| Scalar::F32(number(self.rng, extreme))).collect();
            return Some(Whole { shape, cells });
        }
        let numbers: Vec<i64> = match rows {
            Some(0) if n > 0 => return None,
            Some(rows) => (0..n).map(|_| self.rng.i64(0..rows.max(1) as i64)).collect(),
            // Those that are no positions may be offsets, which rise from 0.
            None => {
                let mut sum = 0;
                let steps = (0..n).map(|i| if i == 0 { 0 } else { self.rng.i64(0..4) });
                steps
                    .map(|step| {
                        sum += step;
                        sum
                    })
                    .collect()
            }
        };
        Some(Whole { shape, cells: numbers.into_iter().map(Scalar::I64).collect() })
    }
}

/// A number: a small one, so that equal ones occur, or one at the ends.
fn number(rng: &mut Rng, extreme: bool) -> f32 {
    const EXTREMES: [f32; 10] = [
        0.0,
        -0.0,
        1e30,
        -1e30,
        f32::MAX,
        f32::MIN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        1e-40,
    ];
    match rng.u8(..4) {
        0 if extreme => EXTREMES[rng.usize(..EXTREMES.len())],
        1 => rng.i32(-3..4) as f32,
        _ => (rng.f32() - 0.5) * 8.0,
    }
}
