//! Whole tensors: element types, shapes and single elements. Statements that write whole tensors are in
//! [`super::outputs`].

use super::eval::{RED_ZONE, SEGMENT};
use super::op::{At, Does, Op};
use super::value::Value;
use super::{Error, Interpreter};
use ember_values::operation::{Function, Kernel, Mode, Score};
use ember_values::primitive::Primitive;
use ember_values::scalar::{BinaryOp, DType, Scalar, UnaryOp};

/// A tensor as a function of its indices.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whole {
    /// The tensor stored at an address.
    Stored(At),
    /// A tensor computed by a kernel.
    Computed(Kernel, Op),
}

impl Interpreter {
    /// Returns the tensor of the node at a position.
    pub(super) fn whole(&self, at: At) -> Result<Whole, Error> {
        let op = self.program.ops[at];
        match op.does {
            Does::Primitive(Primitive::Stored) => {
                let [address] = op.parts();
                Ok(Whole::Stored(address))
            }
            Does::Operation(operation) => Ok(Whole::Computed(operation.kernel, op)),
            _ => Err(self.wrong(at, "a tensor")),
        }
    }

    /// Returns the operands with these names, of an operation on whole tensors.
    pub(super) fn named<const N: usize>(
        &self,
        op: &Op,
        names: [&'static str; N],
    ) -> Result<[At; N], Error> {
        let mut found = [0; N];
        for (at, name) in found.iter_mut().zip(names) {
            *at =
                op.named(name).ok_or(Error::Sort { expected: "an operand", found: name.into() })?;
        }
        Ok(found)
    }

    /// Returns the element type of the tensor at a position.
    pub(super) fn element_type(&self, at: At) -> Result<DType, Error> {
        let (kernel, op) = match self.whole(at)? {
            Whole::Stored(address) => return self.dtype(address),
            Whole::Computed(kernel, op) => (kernel, op),
        };
        let of = match kernel {
            Kernel::Convert => {
                let [to] = self.named(&op, ["dtype"])?;
                return self.program.dtype(to);
            }
            Kernel::Dequantise => "scales",
            Kernel::Rows | Kernel::Blocks => "table",
            Kernel::Edges => "right",
            Kernel::Triples => "entities",
            Kernel::Zip(_) | Kernel::Product { .. } => "a",
            Kernel::Map(_)
            | Kernel::Scale
            | Kernel::Bias
            | Kernel::Fold(_)
            | Kernel::ByRow(_)
            | Kernel::Triangle => "x",
        };
        let [of] = self.named(&op, [of])?;
        stacker::maybe_grow(RED_ZONE, SEGMENT, || self.dtype(of))
    }

    /// Returns the free extents of an address.
    pub(super) fn extents(&self, at: At) -> Result<Vec<i64>, Error> {
        let (tensor, depth) = self.declared(at)?;
        Ok(tensor.shape.iter().skip(depth).map(|n| i64::try_from(*n).unwrap_or(i64::MAX)).collect())
    }

    /// Returns the extents of a tensor.
    pub(super) fn shape(&self, at: At) -> Result<Vec<i64>, Error> {
        let whole = self.whole(at)?;
        stacker::maybe_grow(RED_ZONE, SEGMENT, || match whole {
            Whole::Stored(address) => self.extents(address),
            Whole::Computed(kernel, op) => self.computed_shape(kernel, &op),
        })
    }

    fn computed_shape(&self, kernel: Kernel, op: &Op) -> Result<Vec<i64>, Error> {
        let first = |at: At| self.extent_of(&self.extents(at)?, 0);
        match kernel {
            Kernel::Rows => {
                let [table, indices] = self.named(op, ["table", "indices"])?;
                let rows = match op.named("offsets") {
                    Some(offsets) => first(offsets)?.saturating_sub(1),
                    None => first(indices)?,
                };
                Ok(vec![rows, self.extent_of(&self.shape(table)?, 1)?])
            }
            Kernel::Edges => {
                let [right, indices, offsets] = self.named(op, ["right", "indices", "offsets"])?;
                match op.named("edge") {
                    Some(_) => {
                        let rows = first(offsets)?.saturating_sub(1);
                        Ok(vec![rows, self.extent_of(&self.shape(right)?, 1)?])
                    }
                    None => Ok(vec![first(indices)?]),
                }
            }
            Kernel::Triples => {
                let [heads] = self.named(op, ["heads"])?;
                Ok(vec![first(heads)?])
            }
            Kernel::Blocks => {
                let [table, indices] = self.named(op, ["table", "indices"])?;
                let (indices, table) = (self.extents(indices)?, self.shape(table)?);
                let (rows, columns) = (self.extent_of(&table, 1)?, self.extent_of(&table, 2)?);
                let rows = indices.get(1).map_or(rows, |blocks| blocks.saturating_mul(rows));
                Ok(vec![self.extent_of(&indices, 0)?, rows, columns])
            }
            Kernel::Dequantise => {
                let [codes] = self.named(op, ["codes"])?;
                self.extents(codes)
            }
            Kernel::Convert | Kernel::Map(_) | Kernel::Scale | Kernel::Bias | Kernel::ByRow(_) => {
                let [x] = self.named(op, ["x"])?;
                self.shape(x)
            }
            Kernel::Zip(_) => {
                let [a] = self.named(op, ["a"])?;
                self.shape(a)
            }
            Kernel::Fold(_) => {
                let [x] = self.named(op, ["x"])?;
                let mut shape = self.shape(x)?;
                shape.pop();
                Ok(shape)
            }
            Kernel::Product { transposed } => {
                let [a, b] = self.named(op, ["a", "b"])?;
                let (mut a, b) = (self.extents(a)?, self.extents(b)?);
                a.pop();
                a.push(self.extent_of(&b, b.len().wrapping_sub(1 + usize::from(transposed)))?);
                Ok(a)
            }
            Kernel::Triangle => {
                let [x] = self.named(op, ["x"])?;
                let x = self.shape(x)?;
                let n = self.extent_of(&x, 1)?;
                Ok(vec![self.extent_of(&x, 0)?, n.saturating_mul(n.saturating_sub(1)) / 2])
            }
        }
    }

    pub(super) fn extent_of(&self, shape: &[i64], k: usize) -> Result<i64, Error> {
        let found = || format!("one of {} dimensions", shape.len());
        shape.get(k).copied().ok_or_else(|| Error::Sort { expected: "a tensor", found: found() })
    }

    /// Returns an extent of a tensor as a value.
    pub(super) fn extent(&mut self, of: At, k: At) -> Result<Value, Error> {
        let k = usize::try_from(self.index(k)?).unwrap_or(usize::MAX);
        let shape = self.shape(of)?;
        self.extent_of(&shape, k).map(|n| Value::Scalar(Scalar::I64(n)))
    }

    /// Evaluates one element of a tensor; the indices are terms.
    pub(super) fn element(&mut self, of: At, index: &[At]) -> Result<Value, Error> {
        let index: Vec<i64> = index.iter().map(|i| self.index(*i)).collect::<Result<_, _>>()?;
        self.element_at(of, &index).map(Value::Scalar)
    }

    pub(super) fn element_at(&mut self, of: At, index: &[i64]) -> Result<Scalar, Error> {
        self.step()?;
        stacker::maybe_grow(RED_ZONE, SEGMENT, || self.computed(of, index))
    }

    fn computed(&mut self, of: At, index: &[i64]) -> Result<Scalar, Error> {
        let (kernel, op) = match self.whole(of)? {
            Whole::Stored(address) => {
                let mut place = self.place(address)?;
                for i in index {
                    place = self.within(place, Scalar::I64(*i))?;
                }
                return self.get(place);
            }
            Whole::Computed(kernel, op) => (kernel, op),
        };
        match (kernel, index) {
            (Kernel::Rows, &[row, column]) => self.row_element(of, &op, row, column),
            (Kernel::Edges, index) => self.edge_element(of, &op, index),
            (Kernel::Triples, &[at]) => {
                let indices = self.named(&op, ["heads", "rels", "tails"])?;
                let rows = indices.map(|indices| self.looked_up(indices, at));
                let [head, relation, tail] = rows;
                let rows = [head?, relation?, tail?];
                let [score, entities, relations] =
                    self.named(&op, ["score", "entities", "relations"])?;
                let score = Score::parse(self.program.name(score))
                    .ok_or_else(|| self.program.unexpected(score, "a score"))?;
                self.triple(of, score, [entities, relations, entities], rows)
            }
            (Kernel::Blocks, &[at, row, column]) => {
                let [table, indices] = self.named(&op, ["table", "indices"])?;
                let place = self.place(indices)?;
                if self.extents(indices)?.len() == 1 {
                    let block = self.looked_up(indices, at)?;
                    return self.element_at(table, &[block, row, column]);
                }
                let rows = self.extent_of(&self.shape(table)?, 1)?.max(1);
                let place = self.within(place, Scalar::I64(at))?;
                let block = self.at(place, row.div_euclid(rows))?;
                let block = self.integer(block)?;
                self.element_at(table, &[block, row.rem_euclid(rows), column])
            }
            (Kernel::Dequantise, &[row, column]) => {
                let [codes, scales] = self.named(&op, ["codes", "scales"])?;
                let (to, codes, scales) =
                    (self.dtype(scales)?, self.place(codes)?, self.place(scales)?);
                let (codes, scales) =
                    (self.within(codes, Scalar::I64(row))?, self.within(scales, Scalar::I64(row))?);
                let (scale, bias) = (self.at(scales, 0)?, self.at(scales, 1)?);
                let x = self.at(codes, column)?.cast(to);
                let x = self.apply(of, BinaryOp::Mul, x, scale)?;
                self.apply(of, BinaryOp::Add, x, bias)
            }
            (Kernel::Convert, index) => {
                let [to, x] = self.named(&op, ["dtype", "x"])?;
                Ok(self.element_at(x, index)?.cast(self.program.dtype(to)?))
            }
            (Kernel::Map(function), index) => {
                let [x] = self.named(&op, ["x"])?;
                let x = self.element_at(x, index)?;
                self.mapped(of, function, x)
            }
            (Kernel::Zip(f), index) => {
                let [a, b] = self.named(&op, ["a", "b"])?;
                let (a, b) = (self.element_at(a, index)?, self.element_at(b, index)?);
                self.apply(of, f, a, b)
            }
            (Kernel::Scale, index) => {
                let [by, x] = self.named(&op, ["by", "x"])?;
                let (by, x) = (self.scalar(by)?, self.element_at(x, index)?);
                self.apply(of, BinaryOp::Mul, by, x)
            }
            (Kernel::Bias, &[.., column]) => {
                let [x, bias] = self.named(&op, ["x", "bias"])?;
                let x = self.element_at(x, index)?;
                let bias = self.place(bias)?;
                let bias = self.at(bias, column)?;
                self.apply(of, BinaryOp::Add, x, bias)
            }
            (Kernel::Fold(f), index) => {
                let [x] = self.named(&op, ["x"])?;
                let shape = self.shape(x)?;
                let mut sum = self.start(f, x)?;
                let mut index = index.to_vec();
                for column in 0..self.extent_of(&shape, index.len())? {
                    index.push(column);
                    let x = self.element_at(x, &index)?;
                    index.pop();
                    sum = self.apply(of, f, sum, x)?;
                }
                Ok(sum)
            }
            (Kernel::ByRow(f), &[ref row @ .., _]) => {
                let [x, numbers] = self.named(&op, ["x", "numbers"])?;
                let (x, number) = (self.element_at(x, index)?, self.element_at(numbers, row)?);
                self.apply(of, f, x, number)
            }
            (Kernel::Product { transposed }, index) => {
                let [a, b] = self.named(&op, ["a", "b"])?;
                self.product(of, (a, b, transposed), index)
            }
            (Kernel::Triangle, &[b, at]) => {
                let [x] = self.named(&op, ["x"])?;
                let mut row = 1;
                let mut first = 0;
                while first + row <= at {
                    self.step()?;
                    first += row;
                    row += 1;
                }
                self.element_at(x, &[b, row, at - first])
            }
            _ => Err(self.wrong(of, "a tensor of this rank")),
        }
    }

    /// Evaluates an element of rows that are looked up: copied, or combined over a bag.
    fn row_element(&mut self, of: At, op: &Op, row: i64, column: i64) -> Result<Scalar, Error> {
        let [table, indices] = self.named(op, ["table", "indices"])?;
        let Some(offsets) = op.named("offsets") else {
            let row = self.looked_up(indices, row)?;
            return self.element_at(table, &[row, column]);
        };
        let mode = match op.named("mode") {
            Some(mode) => Mode::parse(self.program.name(mode))
                .ok_or_else(|| self.program.unexpected(mode, "a mode"))?,
            None => Mode::Sum,
        };
        self.bag(of, (mode, table, indices, offsets, op.named("weights")), row, column)
    }

    /// Evaluates an element of the products of edges, or of the rows that they sum up.
    fn edge_element(&mut self, of: At, op: &Op, index: &[i64]) -> Result<Scalar, Error> {
        let [offsets, indices, left, right] =
            self.named(op, ["offsets", "indices", "left", "right"])?;
        match (op.named("edge").is_some(), index) {
            (false, &[entry]) => {
                let row = self.row_of(offsets, entry)?;
                let column = self.looked_up(indices, entry)?;
                self.dot(of, left, row, right, column)
            }
            (true, &[row, column]) => {
                let mut sum = self.start(BinaryOp::Add, right)?;
                for (l, edge) in self.edges(of, op, row)? {
                    let other = self.looked_up(indices, l)?;
                    let y = self.element_at(right, &[other, column])?;
                    let message = self.apply(of, BinaryOp::Mul, edge, y)?;
                    sum = self.apply(of, BinaryOp::Add, sum, message)?;
                }
                Ok(sum)
            }
            _ => Err(self.wrong(of, "a tensor of this rank")),
        }
    }

    /// Returns the start value of a fold over elements of a tensor or an address.
    fn start(&self, op: BinaryOp, like: At) -> Result<Scalar, Error> {
        let dtype = self.dtype(like)?;
        op.identity(dtype).ok_or_else(|| Error::types(op.name().to_string(), &[dtype]))
    }

    /// Evaluates an element of a bag.
    fn bag(
        &mut self,
        of: At,
        (mode, table, indices, offsets, weights): (Mode, At, At, At, Option<At>),
        bag: i64,
        column: i64,
    ) -> Result<Scalar, Error> {
        let (lo, hi) = self.lookups(offsets, bag)?;
        let dtype = self.dtype(table)?;
        let (op, start) = match mode {
            Mode::Sum | Mode::Mean => (BinaryOp::Add, self.start(BinaryOp::Add, table)?),
            Mode::Max if lo < hi => (BinaryOp::Max, self.start(BinaryOp::Max, table)?),
            // The maximum of an empty bag is 0.
            Mode::Max => return self.start(BinaryOp::Add, table),
        };
        let mut sum = start;
        for l in lo..hi {
            self.step()?;
            let row = self.looked_up(indices, l)?;
            let x = self.element_at(table, &[row, column])?;
            let x = match weights {
                Some(weights) => {
                    let weights = self.place(weights)?;
                    let weight = self.at(weights, l)?;
                    self.apply(of, BinaryOp::Mul, weight, x)?
                }
                None => x,
            };
            sum = self.apply(of, op, sum, x)?;
        }
        if mode == Mode::Mean {
            let rows = Scalar::I64(hi.wrapping_sub(lo).max(1)).cast(dtype);
            sum = self.apply(of, BinaryOp::Div, sum, rows)?;
        }
        Ok(sum)
    }

    /// Returns the range of lookups of a row, as first and end.
    pub(super) fn lookups(&mut self, offsets: At, row: i64) -> Result<(i64, i64), Error> {
        Ok((self.looked_up(offsets, row)?, self.looked_up(offsets, row.wrapping_add(1))?))
    }

    /// Reads an index at an address of rank 1.
    fn looked_up(&mut self, indices: At, at: i64) -> Result<i64, Error> {
        let place = self.place(indices)?;
        let index = self.at(place, at)?;
        self.integer(index)
    }

    /// Finds the row that contains an entry of a matrix in CSR form.
    fn row_of(&mut self, offsets: At, entry: i64) -> Result<i64, Error> {
        let rows = self.extent_of(&self.extents(offsets)?, 0)?.saturating_sub(1);
        for row in 0..rows {
            self.step()?;
            let (lo, hi) = self.lookups(offsets, row)?;
            if lo <= entry && entry < hi {
                return Ok(row);
            }
        }
        Err(Error::Offsets(entry))
    }

    /// Computes `Σ a[i][k] · b[j][k]` over the columns of `a`.
    fn dot(&mut self, of: At, a: At, i: i64, b: At, j: i64) -> Result<Scalar, Error> {
        let mut sum = self.start(BinaryOp::Add, a)?;
        for k in 0..self.extent_of(&self.shape(a)?, 1)? {
            let (a, b) = (self.element_at(a, &[i, k])?, self.element_at(b, &[j, k])?);
            let product = self.apply(of, BinaryOp::Mul, a, b)?;
            sum = self.apply(of, BinaryOp::Add, sum, product)?;
        }
        Ok(sum)
    }

    /// Returns the edges of a row, each with the edge function's value of its product.
    pub(super) fn edges(&mut self, of: At, op: &Op, row: i64) -> Result<Vec<(i64, Scalar)>, Error> {
        let [edge, offsets, indices, left, right, scratch] =
            self.named(op, ["edge", "offsets", "indices", "left", "right", "scratch"])?;
        let function = self.function(edge)?;
        let (lo, hi) = self.lookups(offsets, row)?;
        let mut edges = Vec::new();
        for l in lo..hi {
            // A lowering may store the value in the scratch memory, so the index must be in bounds.
            let place = self.place(scratch)?;
            self.within(place, Scalar::I64(l))?;
            let other = self.looked_up(indices, l)?;
            let product = self.dot(of, left, row, right, other)?;
            edges.push((l, self.mapped(of, function, product)?));
        }
        Ok(edges)
    }

    /// Computes the score of a triple from its rows of the tables.
    fn triple(
        &mut self,
        of: At,
        score: Score,
        tables: [At; 3],
        rows: [i64; 3],
    ) -> Result<Scalar, Error> {
        let zero = self.start(BinaryOp::Add, tables[0])?;
        let columns = self.extent_of(&self.shape(tables[0])?, 1)?;
        let half = columns / 2;
        let complex = matches!(score, Score::ComplEx | Score::RotatE);
        let (add, sub, mul) = (BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul);
        let mut sum = zero;
        for k in 0..if complex { half } else { columns } {
            let mut real = [zero; 3];
            let mut imaginary = [zero; 3];
            for at in 0..3 {
                real[at] = self.element_at(tables[at], &[rows[at], k])?;
                if complex {
                    imaginary[at] = self.element_at(tables[at], &[rows[at], half + k])?;
                }
            }
            let ([h, r, t], [hi, ri, ti]) = (real, imaginary);
            let op = |op, a, b| self.apply(of, op, a, b);
            let x = match score {
                Score::TransE => {
                    let x = op(sub, op(add, h, r)?, t)?;
                    op(BinaryOp::Max, x, op(sub, zero, x)?)?
                }
                Score::DistMult => op(mul, op(mul, h, r)?, t)?,
                Score::ComplEx | Score::RotatE => {
                    let re = op(sub, op(mul, h, r)?, op(mul, hi, ri)?)?;
                    let im = op(add, op(mul, h, ri)?, op(mul, hi, r)?)?;
                    if score == Score::ComplEx {
                        op(add, op(mul, re, t)?, op(mul, im, ti)?)?
                    } else {
                        let (x, y) = (op(sub, re, t)?, op(sub, im, ti)?);
                        let x = op(add, op(mul, x, x)?, op(mul, y, y)?)?;
                        self.unary(of, UnaryOp::Sqrt, x)?
                    }
                }
            };
            sum = self.apply(of, add, sum, x)?;
        }
        match score {
            Score::TransE | Score::RotatE => self.apply(of, sub, zero, sum),
            Score::DistMult | Score::ComplEx => Ok(sum),
        }
    }

    /// Evaluates an element of a matrix product.
    pub(super) fn product(
        &mut self,
        of: At,
        (a, b, transposed): (At, At, bool),
        index: &[i64],
    ) -> Result<Scalar, Error> {
        let &[ref batch @ .., i, j] = index else {
            return Err(self.wrong(of, "a tensor of this rank"));
        };
        let batched = self.extents(b)?.len() > 2;
        let inner = self.extents(a)?;
        let inner = self.extent_of(&inner, inner.len().wrapping_sub(1))?;
        let start = self.start(BinaryOp::Add, a)?;
        let (mut a, mut b) = (self.place(a)?, self.place(b)?);
        for n in batch {
            a = self.within(a, Scalar::I64(*n))?;
            b = if batched { self.within(b, Scalar::I64(*n))? } else { b };
        }
        let mut sum = start;
        let a = self.within(a, Scalar::I64(i))?;
        for k in 0..inner {
            self.step()?;
            let (row, column) = if transposed { (j, k) } else { (k, j) };
            let x = self.at(a, k)?;
            let row = self.within(b, Scalar::I64(row))?;
            let y = self.at(row, column)?;
            let product = self.apply(of, BinaryOp::Mul, x, y)?;
            sum = self.apply(of, BinaryOp::Add, sum, product)?;
        }
        Ok(sum)
    }

    /// Returns the function of one scalar that an operand names.
    pub(super) fn function(&self, at: At) -> Result<Function, Error> {
        let function = Function::parse(self.program.name(at));
        function.ok_or_else(|| self.program.unexpected(at, "an edge function"))
    }

    /// Applies a function of one scalar.
    pub(super) fn mapped(&self, at: At, f: Function, x: Scalar) -> Result<Scalar, Error> {
        let constant = |value| Scalar::from_f64(x.dtype(), value);
        match f {
            Function::Identity => Ok(x),
            Function::Relu => self.apply(at, BinaryOp::Max, x, constant(0.0)),
            Function::Exp => self.unary(at, UnaryOp::Exp, x),
            Function::Sigmoid => {
                let negated = self.apply(at, BinaryOp::Sub, constant(0.0), x)?;
                let power = self.unary(at, UnaryOp::Exp, negated)?;
                let sum = self.apply(at, BinaryOp::Add, constant(1.0), power)?;
                self.apply(at, BinaryOp::Div, constant(1.0), sum)
            }
        }
    }

    fn unary(&self, at: At, op: UnaryOp, x: Scalar) -> Result<Scalar, Error> {
        op.apply(x).ok_or_else(|| Error::types(self.head(at), &[x.dtype()]))
    }
}
