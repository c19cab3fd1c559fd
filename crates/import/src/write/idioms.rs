//! Idioms, which rules find in a graph.

use super::Writer;
use super::inputs::Use;
use crate::error::Problem;
use crate::graph::Id;
use crate::layout::{Base, Laid, live};
use crate::limits::{FOLDED, LOWEST};
use crate::words::{ADD, BAG, BLOCK_GATHER, GATHER, KG, MAX, SPMM, TRIANGLE, WHERE_NUMBER};
use ember_model::Extent;
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::DType;
use std::sync::Arc;

/// Edges in the order of the rows that they are added to.
struct Sorted {
    /// The places of the edges before.
    order: Vec<u64>,
    /// The first edge of each row, and the number of edges.
    offsets: Vec<i64>,
    /// The other end of each edge.
    from: Vec<i64>,
}

/// Returns a vector of whole numbers.
fn vector(values: Vec<i64>) -> Arc<Tensor> {
    let shape = vec![values.len() as u64];
    Arc::new(Tensor { dtype: DType::I64, shape, data: Data::I64(Arc::new(values)) })
}

impl Writer<'_> {
    /// Writes an idiom by its word.
    pub(super) fn idiom(
        &mut self,
        word: &str,
        operands: &[Id],
        shape: &[Extent],
    ) -> Result<Laid, Problem> {
        match (word, operands) {
            ("stack", parts) => self.stack(parts, shape),
            ("triangle", [x]) => {
                let (laid, own) = (self.laid(*x)?, self.shape(*x));
                let x = self.arrange(&laid, &[Some(0), Some(1), Some(2)], &own)?;
                let name = self.step(format!("({TRIANGLE} {x})"));
                Ok(self.laid_as(name, vec![Some(0), Some(1)], shape, laid.dtype))
            }
            ("blocks", [x, index]) => self.blocks(*x, *index, shape),
            ("spmm", [x, from, to, weights]) => self.edges(*x, (*from, *to), Some(*weights), shape),
            ("segments", [x, offsets]) => self.segments("sum", *x, *offsets, shape),
            ("segments_max", [x, offsets]) => {
                let most = self.segments(MAX, *x, *offsets, shape)?;
                let (rows, places) = self.each_row(*x)?;
                self.or_lowest(most, (rows, places), *offsets, shape)
            }
            ("bag", [x, from, offsets]) => self.bag("sum", true, &[*x, *from, *offsets]),
            ("bag_max", [x, from, offsets]) => {
                let most = self.bag(MAX, true, &[*x, *from, *offsets])?;
                let rows = self.shape(*x)[0].clone();
                let from = self.positions(*from, &rows)?;
                self.or_lowest(most, (rows, from), *offsets, shape)
            }
            ("csr", [x, from, offsets, weights]) => {
                let lookups = self.shape(*from).first().cloned().unwrap_or(Extent::Const(1));
                let (laid, own) = (self.laid(*x)?, self.shape(*x));
                let from = self.positions(*from, &own[0])?;
                let offsets = self.offsets(*offsets, &lookups, true)?;
                let (w, of) = (self.laid(*weights)?, self.shape(*weights));
                let w = self.arrange(&w, &[Some(0)], &of)?;
                let table = self.arrange(&laid, &[Some(0), Some(1)], &own)?;
                let name = self.step(format!("({SPMM} {table} {from} {offsets} {w})"));
                Ok(self.laid_as(name, vec![Some(0), Some(1)], shape, laid.dtype))
            }
            ("sum", [x, from, to]) => self.edges(*x, (*from, *to), None, shape),
            (score, [e, r, h, k, t]) => self.score(score, [*e, *r], [*h, *k, *t], shape),
            _ => Err(Problem::Table(format!("no idiom `{word}`"))),
        }
    }

    /// Rows combined by bag, each row once and in order.
    fn segments(
        &mut self,
        mode: &str,
        x: Id,
        offsets: Id,
        shape: &[Extent],
    ) -> Result<Laid, Problem> {
        let (rows, places) = self.each_row(x)?;
        let (laid, own) = (self.laid(x)?, self.shape(x));
        let offsets = self.offsets(offsets, &rows, true)?;
        let table = self.arrange(&laid, &[Some(0), Some(1)], &own)?;
        let name = self.step(format!("({BAG} {mode} {table} {places} {offsets})"));
        Ok(self.laid_as(name, vec![Some(0), Some(1)], shape, laid.dtype))
    }

    /// Returns the number of rows of a value, and the positions of all of them.
    fn each_row(&mut self, x: Id) -> Result<(Extent, String), Problem> {
        let rows = self.shape(x).first().cloned().unwrap_or(Extent::Const(1));
        let Some(n) = rows.constant().filter(|n| *n <= FOLDED) else {
            let text = "bags of computed rows that are many, or of which only the data says how many there are";
            return Err(Problem::Operands(text.to_owned()));
        };
        let used = Use::Positions(vec![rows.clone()]);
        let places = self.known_input("places", vector((0..n as i64).collect()), &rows, used);
        Ok((rows, places))
    }

    /// Rows of bags, where those of empty bags are the least number in place of 0.
    fn or_lowest(
        &mut self,
        most: Laid,
        (rows, places): (Extent, String),
        offsets: Id,
        shape: &[Extent],
    ) -> Result<Laid, Problem> {
        let lookups = self.inputs.0.iter().find(|input| input.name == places);
        let n = lookups.and_then(|input| input.extents.first().cloned()).unwrap_or(rows.clone());
        let offsets = self.offsets(offsets, &n, true)?;
        let ones = self.fill(1.0, &[rows, Extent::Const(1)], most.dtype);
        let column = [shape[0].clone(), Extent::Const(1)];
        let lengths = self.step(format!("({BAG} sum {ones} {places} {offsets})"));
        let lengths = self.reshaped(lengths, &column, &shape[..1]);
        let zeros = self.fill(0.0, shape, most.dtype);
        let lowest = self.fill(LOWEST, shape, most.dtype);
        let lengths = self.step(format!("(nn.{ADD}_rows {zeros} {lengths})"));
        let name = self.named(&most, shape)?;
        // The least number is greater than -∞.
        let name = self.step(format!("(nn.{MAX}_number {name} {LOWEST:?})"));
        let name = self.step(format!("({WHERE_NUMBER} eq {lengths} 0.0 {lowest} {name})"));
        Ok(self.laid_as(name, vec![Some(0), Some(1)], shape, most.dtype))
    }

    fn stack(&mut self, parts: &[Id], shape: &[Extent]) -> Result<Laid, Problem> {
        let (mut names, mut dtype) = (Vec::new(), DType::F32);
        for part in parts {
            let (laid, own) = (self.laid(*part)?, self.shape(*part));
            dtype = laid.dtype;
            names.push(self.arrange(&laid, &[Some(0), Some(1)], &own)?);
        }
        let name = self.step(format!("(nn.stack {})", names.join(" ")));
        Ok(self.laid_as(name, vec![Some(0), Some(1), Some(2)], shape, dtype))
    }

    fn blocks(&mut self, x: Id, index: Id, shape: &[Extent]) -> Result<Laid, Problem> {
        let (laid, own) = (self.laid(x)?, self.shape(x));
        let all = vec![Some(0), Some(1), Some(2)];
        let index = self.positions_of_rows(index, &own[0])?;
        let name = self.arrange(&laid, &all, &own)?;
        let name = self.step(format!("({BLOCK_GATHER} {name} {index})"));
        Ok(self.laid_as(name, all, shape, laid.dtype))
    }

    fn score(
        &mut self,
        word: &str,
        tables: [Id; 2],
        [heads, relations, tails]: [Id; 3],
        shape: &[Extent],
    ) -> Result<Laid, Problem> {
        let mut names = Vec::new();
        let mut rows = Vec::new();
        let dtype = self.dtype_of(tables[0]);
        for table in tables {
            let (laid, own) = (self.laid(table)?, self.shape(table));
            rows.push(own[0].clone());
            names.push(self.arrange(&laid, &[Some(0), Some(1)], &own)?);
        }
        for (index, table) in [(heads, 0), (relations, 1), (tails, 0)] {
            names.push(self.positions(index, &rows[table])?);
        }
        let name = self.step(format!("({KG} {word} {})", names.join(" ")));
        let axes = match live(shape).first() {
            Some(axis) => vec![Some(*axis)],
            None => vec![None],
        };
        Ok(self.laid_as(name, axes, shape, dtype))
    }

    /// Sorts edges that are known by the rows that they are added to.
    fn sorted(&mut self, from: Id, to: Id, rows: u64) -> Result<Sorted, Problem> {
        let mut known = |id: Id| -> Result<Vec<i64>, Problem> {
            let tensor = self.known_positions(id, None)?;
            let values = |tensor: Arc<Tensor>| {
                (0..tensor.len()).filter_map(|i| tensor.get(i)?.as_i64()).collect()
            };
            tensor.map(values).ok_or_else(|| Problem::Positions("edges".to_owned()))
        };
        let (from, to) = (known(from)?, known(to)?);
        if from.len() != to.len() || to.iter().any(|row| *row < 0 || *row as u64 >= rows) {
            return Err(Problem::Operands("edges lead to rows that are not there".to_owned()));
        }
        let mut order: Vec<u64> = (0..to.len() as u64).collect();
        order.sort_by_key(|edge| to[*edge as usize]);
        let mut offsets = vec![0i64; rows as usize + 1];
        for row in &to {
            offsets[*row as usize + 1] += 1;
        }
        for row in 0..rows as usize {
            offsets[row + 1] += offsets[row];
        }
        let from = order.iter().map(|edge| from[*edge as usize]).collect();
        Ok(Sorted { order, offsets, from })
    }

    /// Rows of a table, times weights if there are any, added to the rows that edges lead to.
    fn edges(
        &mut self,
        x: Id,
        (from, to): (Id, Id),
        weights: Option<Id>,
        shape: &[Extent],
    ) -> Result<Laid, Problem> {
        let Some(rows) = shape[0].constant() else {
            return Err(Problem::Operands("known edges, in a graph of unknown size".to_owned()));
        };
        let (laid, own) = (self.laid(x)?, self.shape(x));
        let Sorted { order, offsets, from } = self.sorted(from, to, rows)?;
        let n = Extent::Const(order.len() as u64);
        let used = Use::Positions(vec![own[0].clone()]);
        let from = self.known_input("neighbours", vector(from), &n, used);
        let ends = Extent::Const(offsets.len() as u64);
        let offsets = self.known_input("offsets", vector(offsets), &ends, Use::Offsets(n.clone()));
        let table = self.arrange(&laid, &[Some(0), Some(1)], &own)?;
        let name = match weights {
            None => self.step(format!("({BAG} sum {table} {from} {offsets})")),
            Some(weights) => {
                let (w, of) = (self.laid(weights)?, self.shape(weights));
                let sorted = order.is_sorted();
                let name = match &w.base {
                    _ if sorted => self.arrange(&w, &[Some(0)], &of)?,
                    Base::Constant { name, tensor } => {
                        let moved = order.iter().filter_map(|edge| tensor.get(*edge));
                        let data = Data::held(w.dtype, moved);
                        let shape = vec![order.len() as u64];
                        let tensor = Arc::new(Tensor { dtype: w.dtype, shape, data });
                        let name = name.clone();
                        self.constant(&name, &tensor, &[n], w.dtype)
                    }
                    // The weights of each run are brought into the order of the edges.
                    _ => {
                        let column = self.arrange(&w, &[Some(0), None], &of)?;
                        let order = order.iter().map(|edge| *edge as i64).collect();
                        let used = Use::Positions(vec![n.clone()]);
                        let order = self.known_input("order", vector(order), &n, used);
                        let moved = self.step(format!("({GATHER} {column} {order})"));
                        self.reshaped(moved, &[n.clone(), Extent::Const(1)], &[n])
                    }
                };
                self.step(format!("({SPMM} {table} {from} {offsets} {name})"))
            }
        };
        Ok(self.laid_as(name, vec![Some(0), Some(1)], shape, laid.dtype))
    }
}
