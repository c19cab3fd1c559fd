//! Statements and reductions of the execute unit, and the loops that both units run.

use super::DecoupleError;
use super::builder::Lowering;
use super::frames::{Fetches, FrameKind, Walk};
use super::names::loop_name;
use super::values::{Typed, broadcast};
use egg::Id;
use ember_language::rules::Loop;
use ember_targets::dlc::{
    Action, Addr, Expr, Lanes, Loop as Counted, RegisterId, Side, Stmt, StreamId, TraversalUnit,
    Type, UnitId,
};
use ember_values::primitive::form::{Block, Form, Sequence};
use ember_values::scalar::{BinaryOp, DType};
use std::collections::BTreeMap;

impl Lowering<'_> {
    /// Appends a statement to the current body.
    pub(super) fn statement(&mut self, id: Id) -> Result<(), DecoupleError> {
        // The previous statement may have changed memory that the values of this one load.
        let outer = std::mem::replace(&mut self.kept, vec![BTreeMap::new()]);
        let result = self.deeper(id, |l| l.statement_here(id));
        self.kept = outer;
        result
    }

    fn statement_here(&mut self, id: Id) -> Result<(), DecoupleError> {
        match self.terms.on(id, self.runs_on) {
            Some(Form::Sequence(Sequence::Empty)) => Ok(()),
            // A single unit runs in order, so it needs no barrier.
            Some(Form::Sequence(Sequence::Barrier)) if self.runs_on.is_none() => Ok(()),
            Some(Form::Sequence(Sequence::Two([first, second]))) => {
                self.statement(first)?;
                self.statement(second)
            }
            Some(Form::Write { op, address, value }) => {
                let op = op.map(|op| self.binary_op(op)).transpose()?;
                // The value is lowered first, because it may be a reduction, whose loop precedes the store.
                let value = self.value(value)?;
                let (addr, ty) = self.target(address)?;
                self.same_type(id, ty, &value)?;
                self.block.push(match op {
                    Some(op) => Stmt::Accumulate(op, addr, value.expr),
                    None => Stmt::Store(addr, value.expr),
                });
                Ok(())
            }
            Some(Form::Product { out, factors: [a, b], block, transposed }) => {
                let (mut out, mut a, mut b) = (self.matrix(out)?, self.matrix(a)?, self.matrix(b)?);
                match block {
                    Block::Whole => {}
                    Block::Rows(rows) => self.rows(id, rows, [&mut out, &mut a])?,
                    Block::Columns(first) => self.columns(id, first, &mut out, &b)?,
                    Block::Added(first) => self.columns(id, first, &mut a, &b)?,
                    Block::Part { rows, depth, columns } => {
                        self.part(id, [Some(rows), columns], &mut out)?;
                        self.part(id, [Some(rows), Some(depth)], &mut a)?;
                        self.part(id, [Some(depth), columns], &mut b)?;
                    }
                }
                let adds = matches!(block, Block::Added(_) | Block::Part { .. });
                self.block.push(Stmt::Matmul { out, a, b, transposed, adds });
                Ok(())
            }
            Some(Form::Loop(own)) if own.folds.is_none() => {
                self.looped(own, |l| l.statement(own.body))
            }
            _ => match self.terms.carried(id, self.runs_on, self.runs_on) {
                Some(same) => self.statement(same),
                None => Err(self.unexpected(id, "statement")),
            },
        }
    }

    /// Lowers an operand of a product: a tensor, or one matrix of a batch.
    fn matrix(&mut self, operand: Id) -> Result<Addr<Expr>, DecoupleError> {
        let (tensor, indices) = self.address_parts(operand)?;
        let mut matrix = Addr::whole(tensor);
        for index in indices {
            matrix.index.push(self.index_value(index)?.expr);
        }
        Ok(matrix)
    }

    /// Makes blocks of some rows of matrices.
    fn rows<const N: usize>(
        &mut self,
        id: Id,
        rows: [Id; 3],
        matrices: [&mut Addr<Expr>; N],
    ) -> Result<(), DecoupleError> {
        matrices.into_iter().try_for_each(|matrix| self.part(id, [Some(rows), None], matrix))
    }

    /// Makes a block of some rows and columns of a matrix, or of all that it has.
    fn part(
        &mut self,
        id: Id,
        sides: [Option<[Id; 3]>; 2],
        matrix: &mut Addr<Expr>,
    ) -> Result<(), DecoupleError> {
        let mut read = |side: Option<[Id; 3]>| -> Result<Option<Side>, DecoupleError> {
            let Some([count, hi, first]) = side else { return Ok(None) };
            let count = self.lanes(count)?;
            let (limit, first) = (self.index_value(hi)?.expr, self.index_value(first)?.expr);
            Ok(Some(Side { run: Lanes { count, limit }, first }))
        };
        let [rows, columns] = sides;
        let sides = [read(rows)?, read(columns)?];
        let shape = &self.program.tensors[matrix.tensor.index()].shape;
        let whole = matrix.index.is_empty().then_some(&*matrix);
        *matrix = whole.and_then(|whole| whole.block(shape, sides)).ok_or_else(|| {
            self.terms.error(id, "has rows of no matrix with a known number of columns")
        })?;
        Ok(())
    }

    /// Makes a block of some columns of a matrix, as many as another one has rows.
    fn columns(
        &mut self,
        id: Id,
        first: Id,
        matrix: &mut Addr<Expr>,
        other: &Addr<Expr>,
    ) -> Result<(), DecoupleError> {
        let first = self.index_value(first)?.expr;
        let shape = |of: &Addr<Expr>| &self.program.tensors[of.tensor.index()].shape;
        let block = matrix.some_columns(shape(matrix), (other, shape(other)), &first);
        *matrix = block
            .ok_or_else(|| self.terms.error(id, "has blocks of matrices of unknown extents"))?;
        Ok(())
    }

    /// Returns the error for a term that is not allowed at this point of a program.
    pub(super) fn unexpected(&self, id: Id, kind: &str) -> DecoupleError {
        let of = if self.runs_on.is_none() { "a coupled program" } else { "the execute unit" };
        self.terms.unexpected(id, &format!("a {kind} of {of}"))
    }

    fn same_type(&self, id: Id, place: Type, value: &Typed) -> Result<(), DecoupleError> {
        if place == value.ty {
            return Ok(());
        }
        let error = self.terms.error(id, format!("writes {} where {place} stands", value.ty));
        Err(error.with_help("cast or broadcast the value"))
    }

    /// Lowers a reduction to a register and a loop before its use.
    pub(super) fn reduce(&mut self, id: Id, own: Loop<Id>) -> Result<Typed, DecoupleError> {
        let Some((op, start)) = own.folds else {
            return Err(self.terms.error(id, "folds nothing"));
        };
        let op = self.binary_op(op)?;
        let start = self.value(start)?;
        self.folded(id, op, start, |l, fold| {
            l.looped(own, |l| {
                let x = l.value(own.body)?;
                fold(l, x)
            })
        })
    }

    /// Folds values into an accumulator. `run` builds the loop, and passes each value to its last argument.
    fn folded(
        &mut self,
        id: Id,
        op: BinaryOp,
        start: Typed,
        run: impl FnOnce(
            &mut Self,
            &dyn Fn(&mut Self, Typed) -> Result<RegisterId, DecoupleError>,
        ) -> Result<RegisterId, DecoupleError>,
    ) -> Result<Typed, DecoupleError> {
        // The accumulator has the type of the body, which is known only inside the loop.
        let accumulator = run(self, &|l, x| {
            let register = l.register("acc", x.ty);
            let ty = x.ty;
            let sum = l.binary(id, op, Typed::leaf(Expr::Register(register), ty), x)?;
            if sum.ty != ty {
                return Err(l.terms.error(id, "folds with a comparison"));
            }
            l.block.push(Stmt::Set(register, sum.expr));
            Ok(register)
        })?;
        let ty = self.program.registers[accumulator.index()].ty;
        let start =
            if start.ty.lanes == 1 && ty.lanes > 1 { broadcast(ty.lanes, start) } else { start };
        if start.ty != ty {
            let types = format!("starts with {} and folds {ty}", start.ty);
            return Err(self.terms.error(id, types));
        }
        // The loop is the statement that was written last.
        let at = self.block.len().saturating_sub(1);
        self.block.insert(at, Stmt::Set(accumulator, start.expr));
        Ok(Typed::leaf(Expr::Register(accumulator), ty))
    }

    /// Lowers a loop of both units if it has access bounds, or else a loop of the execute unit alone.
    fn looped<T>(
        &mut self,
        own: Loop<Id>,
        body: impl FnOnce(&mut Self) -> Result<T, DecoupleError>,
    ) -> Result<T, DecoupleError> {
        match own.access {
            Some(access) => self.walk(own, access, body),
            None => self.counted(own, body),
        }
    }

    /// Lowers a loop of the execute unit alone.
    fn counted<T>(
        &mut self,
        Loop { variable: var, lo, hi, step, .. }: Loop<Id>,
        body: impl FnOnce(&mut Self) -> Result<T, DecoupleError>,
    ) -> Result<T, DecoupleError> {
        let (lo, hi) = (self.index_value(lo)?.expr, self.index_value(hi)?.expr);
        let step = self.step(step)?;
        let register = self.register(&loop_name(&self.terms, var), Type::scalar(DType::I64));
        self.enter(var, FrameKind::Execute(register))?;
        let outer = std::mem::take(&mut self.block);
        self.kept.push(BTreeMap::new());
        let result = body(self)?;
        self.kept.pop();
        self.frames.pop();
        let body = std::mem::replace(&mut self.block, outer);
        self.block.push(Stmt::For(Counted { var: register, lo, hi, step, body }));
        Ok(result)
    }

    /// Lowers a loop of both units.
    fn walk<T>(
        &mut self,
        Loop { variable: var, lo, hi, step, .. }: Loop<Id>,
        access: (Id, Id),
        body: impl FnOnce(&mut Self) -> Result<T, DecoupleError>,
    ) -> Result<T, DecoupleError> {
        if self.frames.iter().any(|f| matches!(f.kind, FrameKind::Execute(_))) {
            let error =
                self.terms.error(var, "a walk stands inside a loop of the execute unit alone");
            return Err(error.with_help("the access unit would not know how often to push"));
        }
        let lo = self.index_value(lo)?;
        let lo = self.asked_for("from", lo);
        let hi = self.index_value(hi)?;
        let hi = self.asked_for("to", hi);
        let (unit, step) = self.unit(var, access, step)?;
        let register = self.register(&loop_name(&self.terms, var), Type::scalar(DType::I64));
        let fetches = Fetches::default();
        let walk = Walk { unit, register, fetches, pops: Vec::new(), actions: Vec::new() };
        self.enter(var, FrameKind::Walk(walk))?;
        let outer = std::mem::take(&mut self.block);
        self.kept.push(BTreeMap::new());
        let result = body(self)?;
        self.kept.pop();
        let statements = std::mem::replace(&mut self.block, outer);
        let Some(FrameKind::Walk(walk)) = self.frames.pop().map(|f| f.kind) else {
            return Err(self.terms.error(var, "the walk was left twice"));
        };
        let mut body = pops(&walk.pops);
        body.extend(walk.fetches.loads);
        body.extend(statements);
        let ite = &mut self.program.units[unit.index()].ite;
        ite.extend(walk.fetches.prefetches);
        ite.extend(operands(&walk.pops));
        ite.extend(walk.actions);
        let counted = Counted { var: register, lo: lo.expr, hi: hi.expr, step, body };
        self.block.push(Stmt::Walk(unit, counted));
        self.marshal(Action::Traverse(unit));
        Ok(result)
    }

    /// Returns a bound of a loop. A bound that is loaded is requested first, so that other work before the loop
    /// overlaps with its latency.
    fn asked_for(&mut self, name: &str, bound: Typed) -> Typed {
        match bound.expr {
            Expr::Load(..) => self.in_register(name, bound),
            _ => bound,
        }
    }

    /// Creates a traversal unit without actions, and returns it with its step.
    pub(super) fn unit(
        &mut self,
        var: Id,
        (lo, hi): (Id, Id),
        step: Id,
    ) -> Result<(UnitId, i64), DecoupleError> {
        let (lo, hi) = (self.index_stream(lo)?, self.index_stream(hi)?);
        let step = self.step(step)?;
        let name = self.unit_names.fresh(&loop_name(&self.terms, var));
        self.program.units.push(TraversalUnit {
            name,
            lo,
            hi,
            step,
            beg: Vec::new(),
            ite: Vec::new(),
            end: Vec::new(),
        });
        Ok((UnitId(self.program.units.len() as u32 - 1), step))
    }
}

/// Returns the statements that pop streams.
pub(super) fn pops(popped: &[(StreamId, RegisterId)]) -> Vec<Stmt> {
    popped.iter().map(|(_, register)| Stmt::Pop(*register)).collect()
}

/// Returns the actions that marshal the streams that [`pops`] pops.
pub(super) fn operands(popped: &[(StreamId, RegisterId)]) -> Vec<Action> {
    popped.iter().map(|(stream, _)| Action::Operand(*stream)).collect()
}
