//! Brings values of more than three dimensions into three: neighbouring dimensions become one. Models have no tensors of
//! more, besides dimensions of extent 1.
//!
//! An operation on elements works on groups of dimensions that all of its operands have or lack together. An operation on
//! one dimension sees those before it and those behind it as one each. An order of dimensions is made of exchanges of two
//! neighbours; what stands in front of them and behind them stays, so that such an exchange moves whole rows.

use crate::build::{Builder, misfit};
use crate::error::{ImportError, Problem};
use crate::graph::{Elem, Graph, Id, Node, Op, count, is_one, shown};
use crate::layout::live;
use ember_model::Extent;
use ember_values::scalar::DType;

/// The most dimensions that a model's tensor has.
const MOST: usize = 3;

/// The state of rewriting a graph.
struct Flattener<'a> {
    from: &'a Graph,
    builder: Builder,
    /// The value for each value of the graph: of its own shape, or if that has too many dimensions, of its flat one.
    places: Vec<Id>,
}

/// Returns true if a shape has more dimensions than tensors of models.
fn is_deep(shape: &[Extent]) -> bool {
    live(shape).len() > MOST
}

/// Gives every value at most three dimensions that are not 1.
pub(crate) fn flatten(graph: &mut Graph) -> Result<(), ImportError> {
    if !graph.nodes.iter().any(|node| is_deep(&node.shape)) {
        return Ok(());
    }
    let from = std::mem::take(graph);
    let own = Graph { nodes: Vec::new(), outputs: Vec::new(), ..from.clone() };
    let mut flattener = Flattener { from: &from, builder: Builder::on(own), places: Vec::new() };
    for node in &from.nodes {
        flattener.builder.continue_with(node.origin);
        let place = flattener.node(node).map_err(|problem| {
            let origin = node.origin.and_then(|at| from.origins.get(at)).cloned().map(Box::new);
            ImportError { problem, origin, done: node.origin.map(|at| (at, from.origins.len())) }
        })?;
        flattener.places.push(place);
    }
    let Flattener { builder, places, .. } = flattener;
    let place = |id: &Id| places[id.0];
    let outputs = from.outputs.iter().map(|(name, id)| (name.clone(), place(id))).collect();
    let counted = from.counted.iter().map(|(size, id)| (size.clone(), place(id))).collect();
    *graph = Graph { outputs, counted, ..builder.graph };
    Ok(())
}

/// Returns the extent of several dimensions as one, if it is a number or one of them.
fn merged(shape: &[Extent]) -> Option<Extent> {
    let live: Vec<&Extent> = shape.iter().filter(|extent| !is_one(extent)).collect();
    match &live[..] {
        [one] => Some((*one).clone()),
        _ => count(shape).map(Extent::Const),
    }
}

/// Returns the shape with neighbouring dimensions as one, from each of these places to the next.
fn grouped(shape: &[Extent], starts: &[usize]) -> Option<Vec<Extent>> {
    let ends = starts.iter().skip(1).copied().chain([shape.len()]);
    starts.iter().zip(ends).map(|(start, end)| merged(&shape[*start..end])).collect()
}

/// Returns the shape in which a value is held: its own, or one of three dimensions, of which the last two are the
/// value's own where that can be.
fn flat(shape: &[Extent]) -> Result<Vec<Extent>, Problem> {
    if !is_deep(shape) {
        return Ok(shape.to_vec());
    }
    let axes = live(shape);
    let ways = (2..axes.len()).rev().flat_map(|last| (1..last).rev().map(move |at| (at, last)));
    let mut found = ways.filter_map(|(at, last)| grouped(shape, &[0, axes[at], axes[last]]));
    found.next().ok_or_else(|| Problem::Rank(shown(shape)))
}

impl Flattener<'_> {
    fn place(&self, id: Id) -> Id {
        self.places[id.0]
    }

    /// Returns a value under a shape, which has its elements in order.
    fn viewed(&mut self, id: Id, shape: Vec<Extent>) -> Result<Id, Problem> {
        self.builder.reshape(id, shape)
    }

    /// Returns a value as held, given its elements under any shape.
    fn held(&mut self, id: Id, shape: &[Extent]) -> Result<Id, Problem> {
        let flat = flat(shape)?;
        self.viewed(id, flat)
    }

    fn node(&mut self, node: &Node) -> Result<Id, Problem> {
        let from = self.from;
        let deep = is_deep(&node.shape) || node.operands.iter().any(|id| is_deep(from.shape(*id)));
        if !deep {
            let operands = node.operands.iter().map(|id| self.place(*id)).collect();
            return self.builder.add(node.op.clone(), operands, node.shape.clone(), node.elem);
        }
        let shape = &node.shape[..];
        match &node.op {
            Op::Argument(_) | Op::Weight(_) => {
                let whole =
                    self.builder.add(node.op.clone(), Vec::new(), node.shape.clone(), node.elem)?;
                self.held(whole, shape)
            }
            Op::Zip(_) | Op::Compare(_) | Op::Choose => self.by_elements(node),
            Op::Map(_) | Op::Leaky(_) | Op::Cast => {
                let x = self.operand(node, 0)?;
                let flat = self.builder.shape(x);
                self.builder.add(node.op.clone(), vec![x], flat, node.elem)
            }
            Op::Reshape => {
                let x = self.operand(node, 0)?;
                self.held(x, shape)
            }
            Op::Expand => {
                let own = from.shape(node.operands[0]).to_vec();
                let x = self.operand(node, 0)?;
                self.expanded(x, &own, shape)
            }
            Op::Permute(order) => {
                let own = from.shape(node.operands[0]).to_vec();
                let x = self.operand(node, 0)?;
                self.permuted(x, &own, order)
            }
            Op::Fold(_) | Op::Softmax | Op::Normalise(_) => self.by_rows(node),
            Op::Slice { axis, first } => {
                let own = from.shape(node.operands[0]).to_vec();
                let x = self.operand(node, 0)?;
                let (x, mut part) = (self.around(x, &own, *axis)?, self.sides(&own, *axis)?);
                part[1] = shape[*axis].clone();
                let op = Op::Slice { axis: 1, first: *first };
                let part = self.builder.add(op, vec![x], part, node.elem)?;
                self.held(part, shape)
            }
            Op::Concat(axis) => {
                let mut parts = Vec::new();
                for (at, id) in node.operands.iter().enumerate() {
                    let own = from.shape(*id).to_vec();
                    let x = self.operand(node, at)?;
                    parts.push(self.around(x, &own, *axis)?);
                }
                let whole = self.sides(shape, *axis)?;
                let whole = self.builder.add(Op::Concat(1), parts, whole, node.elem)?;
                self.held(whole, shape)
            }
            Op::Gather => {
                let own = from.shape(node.operands[0]).to_vec();
                let (x, index) = (self.operand(node, 0)?, self.operand(node, 1)?);
                let width = merged(&own[1..]).ok_or_else(|| Problem::Rank(shown(&own)))?;
                let x = self.viewed(x, vec![own[0].clone(), width.clone()])?;
                let rows = vec![shape[0].clone(), width];
                let rows = self.builder.add(Op::Gather, vec![x, index], rows, node.elem)?;
                self.held(rows, shape)
            }
            _ => Err(Problem::Rank(shown(shape))),
        }
    }

    fn operand(&self, node: &Node, at: usize) -> Result<Id, Problem> {
        let id = node.operands.get(at).ok_or_else(|| misfit("an operand is missing"))?;
        Ok(self.place(*id))
    }

    /// Returns the extents before a dimension as one, the dimension, and those behind it as one.
    fn sides(&self, shape: &[Extent], axis: usize) -> Result<Vec<Extent>, Problem> {
        let parts = [&shape[..axis], &shape[axis..=axis], &shape[axis + 1..]];
        let sides: Option<Vec<Extent>> = parts.into_iter().map(merged).collect();
        sides.ok_or_else(|| Problem::Rank(shown(shape)))
    }

    fn around(&mut self, x: Id, shape: &[Extent], axis: usize) -> Result<Id, Problem> {
        let sides = self.sides(shape, axis)?;
        self.viewed(x, sides)
    }

    /// An operation on elements: on groups of dimensions, or on values that are repeated to the whole shape before.
    fn by_elements(&mut self, node: &Node) -> Result<Id, Problem> {
        let (from, shape) = (self.from, &node.shape[..]);
        let padded: Vec<Vec<Extent>> = node
            .operands
            .iter()
            .map(|id| {
                let own = from.shape(*id);
                let front = std::iter::repeat_n(Extent::Const(1), shape.len() - own.len());
                front.chain(own.iter().cloned()).collect()
            })
            .collect();
        let lacks =
            |axis: usize| -> Vec<bool> { padded.iter().map(|own| is_one(&own[axis])).collect() };
        let axes = live(shape);
        let mut starts: Vec<usize> = Vec::new();
        let mut before: Option<Vec<bool>> = None;
        for axis in &axes {
            let own = lacks(*axis);
            if before.as_ref() != Some(&own) {
                starts.push(if starts.is_empty() { 0 } else { *axis });
            }
            before = Some(own);
        }
        let whole = (starts.len() <= MOST).then(|| grouped(shape, &starts)).flatten();
        let mut operands = Vec::new();
        let result = match whole {
            Some(whole) => {
                for (id, own) in node.operands.iter().zip(&padded) {
                    let x = self.place(*id);
                    let is_number = from.shape(*id).is_empty();
                    let own = grouped(own, &starts).ok_or_else(|| Problem::Rank(shown(own)))?;
                    operands.push(if is_number { x } else { self.viewed(x, own)? });
                }
                whole
            }
            None => {
                for (id, own) in node.operands.iter().zip(&padded) {
                    let x = self.place(*id);
                    let is_number = from.shape(*id).is_empty();
                    operands.push(if is_number { x } else { self.expanded(x, own, shape)? });
                }
                flat(shape)?
            }
        };
        let done = self.builder.add(node.op.clone(), operands, result, node.elem)?;
        self.held(done, shape)
    }

    /// A fold or another operation of rows, which are the last dimension.
    fn by_rows(&mut self, node: &Node) -> Result<Id, Problem> {
        let own = self.from.shape(node.operands[0]).to_vec();
        let last = own.len() - 1;
        let x = self.operand(node, 0)?;
        let axes = live(&own[..last]);
        // The rows are those of any two groups.
        let ways = axes.iter().skip(1).rev();
        let mut found = ways.filter_map(|at| grouped(&own, &[0, *at, last]));
        let rows = found.next().or_else(|| grouped(&own, &[0, last]));
        let mut rows = rows.ok_or_else(|| Problem::Rank(shown(&own)))?;
        let x = self.viewed(x, rows.clone())?;
        if matches!(node.op, Op::Fold(_)) {
            rows.pop();
        }
        let done = self.builder.add(node.op.clone(), vec![x], rows, node.elem)?;
        self.held(done, &node.shape)
    }

    /// Repetition along dimensions of extent 1, a run of them at a time, from the last one on.
    fn expanded(&mut self, x: Id, own: &[Extent], shape: &[Extent]) -> Result<Id, Problem> {
        let front = shape.len() - own.len();
        let mut own: Vec<Extent> =
            std::iter::repeat_n(Extent::Const(1), front).chain(own.iter().cloned()).collect();
        let elem = self.builder.elem(x);
        let mut x = x;
        let mut end = shape.len();
        while end > 0 {
            let repeated = |axis: usize| is_one(&own[axis]) && !is_one(&shape[axis]);
            if !repeated(end - 1) {
                end -= 1;
                continue;
            }
            let mut start = end - 1;
            while start > 0 && is_one(&own[start - 1]) {
                start -= 1;
            }
            let parts = [merged(&own[..start]), merged(&shape[start..end]), merged(&own[end..])];
            let [Some(before), Some(run), Some(behind)] = parts else {
                return Err(Problem::Rank(shown(shape)));
            };
            let narrow = vec![before.clone(), Extent::Const(1), behind.clone()];
            let narrow = self.viewed(x, narrow)?;
            x = self.builder.add(Op::Expand, vec![narrow], vec![before, run, behind], elem)?;
            own[start..end].clone_from_slice(&shape[start..end]);
            end = start;
        }
        self.held(x, shape)
    }

    /// Dimensions in another order. Dimensions that stay together count as one.
    fn permuted(&mut self, x: Id, own: &[Extent], order: &[usize]) -> Result<Id, Problem> {
        let moved: Vec<usize> = order.iter().copied().filter(|axis| !is_one(&own[*axis])).collect();
        let axes = live(own);
        let rank = |axis: usize| axes.iter().position(|own| *own == axis).unwrap_or(0);
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for axis in moved {
            match groups.last_mut() {
                Some(group) if group.last().is_some_and(|last| rank(*last) + 1 == rank(axis)) => {
                    group.push(axis);
                }
                _ => groups.push(vec![axis]),
            }
        }
        let extent = |group: &Vec<usize>| {
            let extents: Vec<Extent> = group.iter().map(|axis| own[*axis].clone()).collect();
            merged(&extents).ok_or_else(|| Problem::Rank(shown(own)))
        };
        // Groups as they are held, each with its place in the wanted order.
        let mut held: Vec<(usize, Extent)> = Vec::new();
        for (place, group) in groups.iter().enumerate() {
            held.push((place, extent(group)?));
        }
        held.sort_by_key(|(place, _)| groups[*place].first().map(|axis| rank(*axis)));
        let wanted: Vec<Extent> = order.iter().map(|axis| own[*axis].clone()).collect();
        let mut x = x;
        if held.len() <= MOST {
            let shape: Vec<Extent> = held.iter().map(|(_, extent)| extent.clone()).collect();
            x = self.viewed(x, shape)?;
            let mut order: Vec<usize> = (0..held.len()).collect();
            order.sort_by_key(|at| held[*at].0);
            x = self.builder.permute(x, order)?;
            return self.held(x, &wanted);
        }
        // The last dimension is moved by exchanges of three, which cost less than rows of one element.
        while let Some(at) = (1..held.len()).rev().find(|at| held[at - 1].0 > held[*at].0) {
            x = self.exchanged(x, &held, at)?;
            held.swap(at - 1, at);
        }
        self.held(x, &wanted)
    }

    /// Exchanges a group with the one before it.
    fn exchanged(&mut self, x: Id, held: &[(usize, Extent)], at: usize) -> Result<Id, Problem> {
        let extents: Vec<Extent> = held.iter().map(|(_, extent)| extent.clone()).collect();
        let whole = || Problem::Rank(shown(&extents));
        let before = merged(&extents[..at - 1]).ok_or_else(whole)?;
        let behind = merged(&extents[at + 1..]).ok_or_else(whole)?;
        let (a, b) = (extents[at - 1].clone(), extents[at].clone());
        if is_one(&behind) || is_one(&before) {
            let (shape, order) = match is_one(&behind) {
                true => (vec![before, a, b], vec![0, 2, 1]),
                false => (vec![a, b, behind], vec![1, 0, 2]),
            };
            let x = self.viewed(x, shape)?;
            return self.builder.permute(x, order);
        }
        // Rows of what stands behind, looked up in the wanted order.
        let (Some(m), Some(n)) = (a.constant(), b.constant()) else { return Err(whole()) };
        if m.checked_mul(n).is_none_or(|all| all > crate::limits::FOLDED) {
            return Err(whole());
        }
        let columns = merged(&[a, b]).ok_or_else(whole)?;
        let position = |k: u64| (k % m * n + k / m) as i64;
        let (places, x, axis) =
            match before.constant().and_then(|o| Some((o, o.checked_mul(m * n)?))) {
                Some((outer, all)) if all <= crate::limits::FOLDED => {
                    let of = |o: u64| (0..m * n).map(move |k| (o * m * n) as i64 + position(k));
                    let places: Vec<i64> = (0..outer).flat_map(of).collect();
                    (places, self.viewed(x, vec![Extent::Const(all), behind])?, 0)
                }
                _ => {
                    let places = (0..m * n).map(position).collect();
                    (places, self.viewed(x, vec![before, columns, behind])?, 1)
                }
            };
        let index = self.builder.positions_of(places)?;
        self.builder.gather(x, axis, index)
    }
}

impl Builder {
    /// Known positions.
    fn positions_of(&mut self, places: Vec<i64>) -> Result<Id, Problem> {
        let tensor = crate::write::vector(places);
        self.constant(std::sync::Arc::unwrap_or_clone(tensor), Elem::Of(DType::I64))
    }
}
