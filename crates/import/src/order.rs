//! Brings edges into the order of the rows that they lead to, where an idiom adds them row by row. What is computed for
//! each edge is computed in that order, from arguments and constants on, so that nothing is sorted that is computed.

use crate::graph::{Elem, Graph, Id, Node, Op, is_one};
use crate::words::{ADD, MAX, MIN, MUL};
use ember_model::Extent;
use std::collections::{BTreeMap, BTreeSet};

/// Idioms over edges in any order, and the same over edges in the order of rows.
pub(crate) const SORTED: [(&str, &str); 4] =
    [("spmm", "csr"), ("sum", "bag"), ("mean", "bag_mean"), (MAX, "bag_zero_max")];

/// The idiom that is a number for each edge.
pub(crate) const SOFTMAX: &str = "segment_softmax";

/// The words of an idiom that is an operation on the number of each edge and that of its row.
pub(crate) const SPREAD: &str = "segment_map identity";

/// A graph whose edges are being sorted.
struct Sorter<'a> {
    from: &'a Graph,
    nodes: Vec<Node>,
    /// The new places of the nodes so far.
    places: Vec<Id>,
    /// Nodes in the order of rows, by the node and by the positions.
    ordered: BTreeMap<(Id, Id), Id>,
}

/// Sorts the edges of idioms. An idiom whose edges cannot be sorted is what the program spelled out.
pub(crate) fn by_rows(graph: &mut Graph) {
    let from = std::mem::take(graph);
    let mut sorter =
        Sorter { from: &from, nodes: Vec::new(), places: Vec::new(), ordered: BTreeMap::new() };
    for (at, node) in from.nodes.iter().enumerate() {
        let place = sorter.node(Id(at), node);
        sorter.places.push(place);
    }
    let Sorter { nodes, places, .. } = sorter;
    let place = |id: &Id| places[id.0];
    let outputs = from.outputs.iter().map(|(name, id)| (name.clone(), place(id))).collect();
    let counted = from.counted.iter().map(|(size, id)| (size.clone(), place(id))).collect();
    *graph = Graph { nodes, outputs, counted, spelled: BTreeMap::new(), ..from };
}

impl Sorter<'_> {
    fn add(&mut self, op: Op, operands: Vec<Id>, like: &Node) -> Id {
        self.nodes.push(Node { op, operands, ..like.clone() });
        Id(self.nodes.len() - 1)
    }

    fn place(&self, id: Id) -> Id {
        self.places[id.0]
    }

    fn node(&mut self, id: Id, node: &Node) -> Id {
        let (mut op, mut operands) = (node.op.clone(), node.operands.clone());
        if let Op::Idiom(word) = &node.op {
            if let Some(sorted) = SORTED.iter().find(|(own, _)| own == word)
                && let Some(done) = self.edges(sorted.1, node)
            {
                return done;
            }
            let spelled = self.from.spelled.get(&id);
            let over_edges = word == SOFTMAX || SORTED.iter().any(|(own, _)| own == word);
            if let Some((own, of)) = spelled.filter(|_| over_edges) {
                (op, operands) = (own.clone(), of.clone());
            }
        }
        let operands = operands.iter().map(|id| self.place(*id)).collect();
        self.add(op, operands, node)
    }

    /// An idiom over edges that are sorted.
    fn edges(&mut self, word: &str, node: &Node) -> Option<Id> {
        let (x, from, to) = match node.operands[..] {
            [x, from, to] | [x, from, to, _] => (x, from, to),
            _ => return None,
        };
        let rows = node.shape.first()?.clone();
        if !self.is_given(to) {
            return None;
        }
        let starts = self.starts(to, &rows)?;
        let mut operands = vec![self.place(x), self.ordered(from, to, &rows)?, starts];
        if let Some(weights) = node.operands.get(3) {
            operands.push(self.ordered(*weights, to, &rows)?);
        }
        Some(self.add(Op::Idiom(word.to_owned()), operands, node))
    }

    /// Where the edges of each row start.
    fn starts(&mut self, to: Id, rows: &Extent) -> Option<Id> {
        let positions = self.from.node(to);
        let shape = vec![rows.plus(1)?];
        let like = Node { shape, ..positions.clone() };
        Some(self.add(Op::Starts, vec![self.place(to)], &like))
    }

    /// A value of each edge in the order of the rows that positions say; `None` if it cannot be had.
    fn ordered(&mut self, id: Id, to: Id, rows: &Extent) -> Option<Id> {
        if let Some(known) = self.ordered.get(&(id, to)) {
            return Some(*known);
        }
        let done = self.reordered(id, to, rows)?;
        self.ordered.insert((id, to), done);
        Some(done)
    }

    fn reordered(&mut self, id: Id, to: Id, rows: &Extent) -> Option<Id> {
        let node = self.from.node(id).clone();
        let edges = self.from.shape(to).first()?;
        if node.shape.first() != Some(edges) {
            // What is the same for every edge has no order.
            return Some(self.place(id));
        }
        let rank = node.shape.len();
        let is_vector = node.shape[1..].iter().all(is_one);
        let keeps = |own: &Id| {
            let shape = self.from.shape(*own);
            shape.len() < rank
                || shape.first() == Some(edges)
                || shape.first() == Some(&Extent::Const(1))
        };
        let sorted = |sorter: &mut Self| {
            let op = Op::Ordered { rows: rows.clone() };
            Some(sorter.add(op, vec![sorter.place(id), sorter.place(to)], &node))
        };
        // Whole numbers are computed first, and then sorted.
        if is_vector && node.elem.is_integer() && self.is_given(id) {
            return sorted(self);
        }
        match (&node.op, &node.operands[..]) {
            (Op::Idiom(word), [own, x]) if word == SOFTMAX && *own == to && is_vector => {
                let (x, starts) = (self.ordered(*x, to, rows)?, self.starts(to, rows)?);
                Some(self.add(node.op.clone(), vec![x, starts], &node))
            }
            (Op::Zip(word), [a, b]) if is_vector => {
                let spread = self.spread(word, (*a, *b), to, rows, &node);
                if spread.is_some() { spread } else { self.each(&node, to, rows) }
            }
            (
                Op::Map(_)
                | Op::Leaky(_)
                | Op::Cast
                | Op::Zip(_)
                | Op::Compare(_)
                | Op::Choose
                | Op::Expand,
                of,
            ) if of.iter().all(keeps) => self.each(&node, to, rows),
            (Op::Reshape | Op::Fold(_), [x]) if self.from.shape(*x).first() == Some(edges) => {
                self.each(&node, to, rows)
            }
            (Op::Gather, [x, places]) => {
                let operands = vec![self.place(*x), self.ordered(*places, to, rows)?];
                Some(self.add(Op::Gather, operands, &node))
            }
            (Op::Number(_), _) => Some(self.place(id)),
            _ => {
                let fits = is_vector && node.elem != Elem::Bool && self.is_given(id);
                if fits { sorted(self) } else { None }
            }
        }
    }

    /// Returns true for an argument, a part of one, or what the file holds, and for whole numbers that are computed of
    /// these.
    fn is_given(&self, id: Id) -> bool {
        let (mut seen, mut open) = (BTreeSet::from([id]), vec![id]);
        let mut computes = false;
        while let Some(id) = open.pop() {
            let node = self.from.node(id);
            let whole = node.elem.is_integer() || node.elem == Elem::Bool;
            let fits = match &node.op {
                Op::Argument(_) | Op::Weight(_) | Op::Iota { .. } | Op::Number(_) => true,
                Op::Reshape | Op::Slice { .. } => true,
                Op::Cast => node.operands.iter().all(|own| self.from.node(*own).elem.is_integer()),
                Op::Zip(_) | Op::Choose | Op::Compare(_) | Op::Expand => {
                    computes = true;
                    whole
                }
                _ => false,
            };
            if !fits {
                return false;
            }
            open.extend(node.operands.iter().filter(|own| seen.insert(**own)));
        }
        let whole = |id: &Id| !matches!(self.from.node(*id).elem, Elem::Of(of) if of.is_float());
        !computes
            || seen.iter().all(|id| whole(id) || matches!(self.from.node(*id).op, Op::Number(_)))
    }

    /// An operation on values of each edge, in the order of rows.
    fn each(&mut self, node: &Node, to: Id, rows: &Extent) -> Option<Id> {
        let of = node.operands.iter().map(|own| self.ordered(*own, to, rows));
        let of = of.collect::<Option<Vec<Id>>>()?;
        Some(self.add(node.op.clone(), of, node))
    }

    /// An operation on a number of each edge and the number of the row that it leads to.
    fn spread(
        &mut self,
        word: &str,
        (a, b): (Id, Id),
        to: Id,
        rows: &Extent,
        node: &Node,
    ) -> Option<Id> {
        let numbers = |id: Id| match (&self.from.node(id).op, &self.from.node(id).operands[..]) {
            (Op::Gather, [x, places]) if *places == to => Some(*x),
            _ => None,
        };
        let (values, numbers) = match (numbers(b), numbers(a)) {
            (Some(x), _) => (a, x),
            (None, Some(x)) if [ADD, MUL, MAX, MIN].contains(&word) => (b, x),
            _ => return None,
        };
        let fits = self.from.shape(values).first() == node.shape.first()
            && self.from.node(numbers).elem == node.elem;
        if !fits {
            return None;
        }
        let (values, starts) = (self.ordered(values, to, rows)?, self.starts(to, rows)?);
        let operands = vec![values, self.place(numbers), starts];
        Some(self.add(Op::Idiom(format!("{SPREAD} {word}")), operands, node))
    }
}
