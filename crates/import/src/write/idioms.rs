//! Idioms, which rules find in a graph.

use super::Writer;
use super::inputs::Use;
use super::sorted::vector;
use crate::error::Problem;
use crate::graph::Id;
use crate::layout::{Laid, live};
use crate::limits::{FOLDED, LOWEST};
use crate::order::{SOFTMAX, SPREAD};
use crate::words::{ADD, BAG, BLOCK_GATHER, KG, MAX, SPMM, TRIANGLE, WHERE_NUMBER};
use ember_model::Extent;
use ember_values::scalar::DType;

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
            ("segments", [x, offsets]) => self.segments("sum", *x, *offsets, shape),
            ("segments_max", [x, offsets]) => {
                let most = self.segments(MAX, *x, *offsets, shape)?;
                let (rows, places) = self.each_row(*x)?;
                self.or_lowest(most, (rows, places), *offsets, shape)
            }
            ("bag", [x, from, offsets]) => self.bag("sum", true, &[*x, *from, *offsets]),
            ("bag_mean", [x, from, offsets]) => self.bag("mean", true, &[*x, *from, *offsets]),
            ("bag_zero_max", [x, from, offsets]) => self.bag(MAX, true, &[*x, *from, *offsets]),
            (SOFTMAX, [x, offsets]) => {
                let name = self.segmented(*x, *offsets)?;
                let name = self.step(format!("(emb.{word} {})", name.join(" ")));
                Ok(self.laid_as(name, vec![Some(0)], shape, self.dtype_of(*x)))
            }
            (word, [x, numbers, offsets]) if word.starts_with(SPREAD) => {
                let [values, offsets] = self.segmented(*x, *offsets)?;
                let (laid, own) = (self.laid(*numbers)?, self.shape(*numbers));
                let numbers = self.arrange(&laid, &[Some(0)], &own)?;
                let name = self.step(format!("(emb.{word} {values} {numbers} {offsets})"));
                Ok(self.laid_as(name, vec![Some(0)], shape, self.dtype_of(*x)))
            }
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

    /// Returns the numbers of edges, and the offsets that divide them.
    fn segmented(&mut self, x: Id, offsets: Id) -> Result<[String; 2], Problem> {
        let (laid, own) = (self.laid(x)?, self.shape(x));
        let lookups = own.first().cloned().unwrap_or(Extent::Const(1));
        let x = self.arrange(&laid, &[Some(0)], &own)?;
        Ok([x, self.offsets(offsets, &lookups, true)?])
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
}
