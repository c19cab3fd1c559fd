//! Products of matrices and of blocks of them, as statements.

use super::{Lift, NoStatement};
use egg::Id;
use ember_targets::dlc::{Addr, Expr, Side};
use ember_values::primitive::form::Block;
use ember_values::scalar::Scalar;

impl Lift<'_> {
    /// Returns the statement of a product of matrices, or of blocks of them: the same rows of two, columns of the output, or
    /// columns of the first factor that are added.
    pub(super) fn product(
        &mut self,
        [out, a, b]: [&Addr<Expr>; 3],
        (transposed, adds): (bool, bool),
    ) -> Result<Id, NoStatement> {
        let mut index = |l: &mut Self, i: &Expr| l.value(i);
        let are_whole = |all: &[&Addr<Expr>]| all.iter().all(|addr| addr.rows.is_none());
        if are_whole(&[out, a, b]) && !adds {
            let at = self.place(out, true, &mut index)?;
            let factors = [self.place(a, false, &mut index)?, self.place(b, false, &mut index)?];
            return Ok(self.make().product(at, factors, transposed, Block::Whole));
        }
        let (divided, others) = if adds { (a, [out, b]) } else { (out, [a, b]) };
        if transposed != adds
            && are_whole(&others)
            && let Some((matrix, first)) = self.some_columns(divided, b)
        {
            let [out, a] = if adds { [out, &matrix] } else { [&matrix, a] };
            let at = self.place(out, true, &mut index)?;
            let factors = [self.place(a, false, &mut index)?, self.place(b, false, &mut index)?];
            let first = self.value(&first)?;
            let block = if adds { Block::Added(first) } else { Block::Columns(first) };
            return Ok(self.make().product(at, factors, transposed, block));
        }
        let (Some(rows), [first, _]) = (&out.rows, &out.index[..]) else {
            return Err(NoStatement::Blocks);
        };
        let same = [out, a].iter().all(|block| {
            let shape = &self.program.tensors[block.tensor.index()].shape;
            Addr::some_rows(block.tensor, shape, rows, first).as_ref() == Some(*block)
        });
        if adds && !transposed {
            return self.part([out, a, b]);
        }
        if adds || transposed || !same || b.rows.is_some() {
            return Err(NoStatement::Blocks);
        }
        let (at, left) = (self.tensor(out.tensor, true), self.tensor(a.tensor, false));
        let right = self.place(b, false, &mut index)?;
        let (hi, first) = (self.value(&rows.limit)?, self.value(first)?);
        let count = self.make().number(Scalar::I64(rows.count.into()));
        Ok(self.make().product(at, [left, right], false, Block::Rows([count, hi, first])))
    }

    /// Returns the statement of a product of some rows, and some columns or all, over a part of the depth, which is added.
    fn part(&mut self, [out, a, b]: [&Addr<Expr>; 3]) -> Result<Id, NoStatement> {
        let block = |of: &Addr<Expr>, sides| {
            let shape = &self.program.tensors[of.tensor.index()].shape;
            Addr::whole(of.tensor).block(shape, sides).as_ref() == Some(of)
        };
        let (Some(rows), Some(depth), [row, from]) = (&a.rows, &a.lanes, &a.index[..]) else {
            return Err(NoStatement::Blocks);
        };
        let rows = Side { run: rows.clone(), first: row.clone() };
        let depth = Side { run: depth.clone(), first: from.clone() };
        let some = b.lanes.as_ref().zip(b.index.get(1));
        let some = some.map(|(run, left)| Side { run: run.clone(), first: left.clone() });
        let has_columns = |columns: &Option<Side>| {
            block(out, [Some(rows.clone()), columns.clone()])
                && block(b, [Some(depth.clone()), columns.clone()])
        };
        // All columns are a block of some, too, whose number is that of the matrix.
        let Some(columns) = [None, some].into_iter().find(has_columns) else {
            return Err(NoStatement::Blocks);
        };
        if !block(a, [Some(rows.clone()), Some(depth.clone())]) {
            return Err(NoStatement::Blocks);
        }
        let [at, left, right] =
            [(out, true), (a, false), (b, false)].map(|(of, to)| self.tensor(of.tensor, to));
        let rows = self.side(&rows)?;
        let depth = self.side(&depth)?;
        let columns = columns.map(|columns| self.side(&columns)).transpose()?;
        Ok(self.make().product(at, [left, right], false, Block::Part { rows, depth, columns }))
    }

    /// Returns the number of rows or columns, the bound that they stay below, and the first.
    fn side(&mut self, Side { run, first }: &Side) -> Result<[Id; 3], NoStatement> {
        let (hi, first) = (self.value(&run.limit)?, self.value(first)?);
        let count = self.make().number(Scalar::I64(run.count.into()));
        Ok([count, hi, first])
    }

    /// Returns the matrix and the first column of a block of some of its columns, as many as another matrix has rows.
    fn some_columns(&self, block: &Addr<Expr>, other: &Addr<Expr>) -> Option<(Addr<Expr>, Expr)> {
        let [above @ .., _, first] = &block.index[..] else { return None };
        let shape = |of: &Addr<Expr>| &self.program.tensors[of.tensor.index()].shape;
        let matrix = Addr { index: above.to_vec(), ..Addr::whole(block.tensor) };
        let made = matrix.some_columns(shape(block), (other, shape(other)), first);
        (made.as_ref() == Some(block)).then(|| (matrix, first.clone()))
    }
}
