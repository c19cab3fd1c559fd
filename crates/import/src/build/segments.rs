//! Rows combined by the segments that they belong to, as TensorFlow's operators do it.

use super::sizes::one_size;
use super::{Builder, Built, misfit};
use crate::error::Problem;
use crate::graph::{Elem, Id, Op};
use crate::limits::{LOWEST, SEGMENTS};
use crate::words::{ADD, DIV, MAX, MIN, MUL};
use ember_model::Extent;
use ember_values::scalar::DType;

impl Builder {
    /// Returns the number of segments that ascending positions name: one more than the greatest.
    pub(crate) fn segment_count(&mut self, ids: Id) -> Result<Extent, Problem> {
        let mut base = ids;
        while let (Op::Cast | Op::Reshape, [of]) =
            (&self.graph.node(base).op, &self.graph.node(base).operands[..])
        {
            base = *of;
        }
        let known = self.graph.counted.iter().find(|(_, id)| **id == base);
        let name = match known {
            Some((name, _)) => name.clone(),
            None => format!("segments.{}", self.graph.counted.len()),
        };
        self.graph.counted.insert(name.clone(), base);
        let rows = self.shape(base).first().and_then(Extent::constant).unwrap_or(SEGMENTS);
        self.graph.sizes.entry(name.clone()).or_insert(rows.clamp(1, SEGMENTS));
        Ok(Extent::Size { name, plus: 0 })
    }

    /// Rows combined by segment: `sum`, `mean`, `max`, `min`, or `sqrt` for sums over the root of the number of rows.
    /// Without rows a segment is 0, or the least number if `lowest` says so.
    pub(crate) fn by_segment(
        &mut self,
        word: &str,
        rows: Id,
        ids: Id,
        segments: Extent,
        lowest: bool,
    ) -> Built {
        let (own, of) = (self.shape(rows), self.shape(ids));
        if of.is_empty() || own.len() < of.len() {
            return Err(misfit("each row belongs to a segment"));
        }
        own.iter().zip(&of).try_for_each(|(a, b)| one_size(a, b))?;
        let (n, all) = (self.elements(&of)?, self.elements(&own[..of.len()])?);
        let ids = self.reshape(ids, vec![n])?;
        let rest = &own[of.len()..];
        let flat = std::iter::once(all).chain(rest.iter().cloned()).collect();
        let rows = self.reshape(rows, flat)?;
        let shape: Vec<Extent> = std::iter::once(segments).chain(rest.iter().cloned()).collect();
        let elem = self.elem(rows);
        let zeros = self.full(0.0, shape.clone(), elem)?;
        match word {
            "sum" => self.scatter(ADD, zeros, 0, ids, rows),
            "mean" => self.scatter_mean(zeros, 0, ids, rows, false),
            "sqrt" => {
                let sum = self.scatter(ADD, zeros, 0, ids, rows)?;
                let ones = self.full(1.0, self.shape(rows), elem)?;
                let count = self.scatter(ADD, zeros, 0, ids, ones)?;
                let one = self.number(1.0, elem)?;
                let most = self.zip(MAX, count, one)?;
                let root = self.map("sqrt", most)?;
                self.zip(DIV, sum, root)
            }
            MIN => {
                let rows = self.map("neg", rows)?;
                let most = self.by_segment(MAX, rows, ids, shape[0].clone(), lowest)?;
                self.map("neg", most)
            }
            _ if lowest => {
                let start = self.full(LOWEST, shape, elem)?;
                self.scatter(MAX, start, 0, ids, rows)
            }
            _ => self.scatter_alone(MAX, zeros, 0, ids, rows),
        }
    }

    /// An operation that only idioms contain.
    pub(crate) fn spelled(
        &mut self,
        word: &str,
        operands: Vec<Id>,
        shape: Vec<Extent>,
        elem: Elem,
    ) -> Built {
        self.add(Op::Spelled(word.to_owned()), operands, shape, elem)
    }

    /// The distinct elements of a vector, and the place of each element among them.
    pub(crate) fn unique(&mut self, x: Id, places: Elem) -> Result<Vec<Id>, Problem> {
        let (shape, elem) = (self.shape(x), self.elem(x));
        let n = self.made(format!("unique {}", x.0))?;
        let values = self.spelled("unique", vec![x], vec![n], elem)?;
        Ok(vec![values, self.spelled("places", vec![x], shape, places)?])
    }

    /// The positions of what is true, one row each.
    pub(crate) fn nonzero(&mut self, x: Id) -> Built {
        let rank = self.shape(x).len() as u64;
        let n = self.made(format!("nonzero {}", x.0))?;
        let shape = vec![n, Extent::Const(rank)];
        self.spelled("nonzero", vec![x], shape, Elem::Of(DType::I64))
    }

    /// Whole numbers from 0 on, so many as a computed number says.
    pub(crate) fn range(&mut self, limit: Id) -> Built {
        let n = self.made(format!("elements {}", limit.0))?;
        let elem = self.elem(limit);
        self.spelled("range", vec![limit], vec![n], elem)
    }

    /// A quotient that is 0 where the divisor is.
    pub(crate) fn quotient_or_zero(&mut self, x: Id, y: Id) -> Built {
        let elem = self.elem(y);
        let zero = self.number(0.0, elem)?;
        let none = self.compare("eq", y, zero)?;
        let shape = self.shape(y);
        let one = self.full(1.0, shape, elem)?;
        let divisor = self.choose(none, one, y)?;
        let quotient = self.zip(DIV, x, divisor)?;
        // 0 times what is not finite would be no number, so the choice comes last.
        self.choose(none, zero, quotient)
    }

    /// Rows at positions of several dimensions, the last of which has one position for each dimension.
    pub(crate) fn gather_nd(&mut self, x: Id, index: Id) -> Built {
        let positions = self.last_unbound(index)?;
        let positions: Vec<Option<Id>> = positions.into_iter().map(Some).collect();
        self.index(x, &positions, false)
    }

    /// A table with rows added at positions of its first dimensions, which the last dimension of the positions holds.
    pub(crate) fn scatter_nd(&mut self, word: &str, table: Id, index: Id, rows: Id) -> Built {
        let positions = self.last_unbound(index)?;
        self.scatter_at(word, table, &positions, rows)
    }

    /// A table with rows combined into those at positions of its first dimensions; `put` takes the place of rows.
    pub(super) fn scatter_at(
        &mut self,
        word: &str,
        table: Id,
        positions: &[Id],
        rows: Id,
    ) -> Built {
        let own = self.shape(table);
        let mut at: Option<Id> = None;
        for (axis, index) in positions.iter().enumerate() {
            at = Some(match at {
                None => *index,
                Some(at) => {
                    let n = own.get(axis).and_then(Extent::constant);
                    let n =
                        n.ok_or_else(|| misfit("positions in a dimension of unknown extent"))?;
                    let n = self.number(n as f64, self.elem(at))?;
                    let before = self.zip(MUL, at, n)?;
                    self.zip(ADD, before, *index)?
                }
            });
        }
        let at = at.ok_or_else(|| misfit("positions in no dimension"))?;
        let first =
            own.get(..positions.len()).ok_or_else(|| misfit("more positions than dimensions"))?;
        let (n, m) = (self.elements(first)?, self.elements(&self.shape(at))?);
        let rest = own[positions.len()..].to_vec();
        let with = |n: Extent| std::iter::once(n).chain(rest.iter().cloned()).collect::<Vec<_>>();
        let at = self.reshape(at, vec![m.clone()])?;
        let (flat, rows) = (self.reshape(table, with(n))?, self.reshape(rows, with(m))?);
        let done = match word {
            "put" => self.put(flat, 0, at, rows)?,
            _ => self.scatter(word, flat, 0, at, rows)?,
        };
        self.reshape(done, own)
    }

    /// Returns the parts of the last dimension.
    fn last_unbound(&mut self, x: Id) -> Result<Vec<Id>, Problem> {
        let last = self.shape(x).last().and_then(Extent::constant).filter(|n| *n <= 8);
        let last = last.ok_or_else(|| misfit("positions of an unknown number of dimensions"))?;
        (0..last as i64).map(|at| self.select(x, -1, at)).collect()
    }
}
