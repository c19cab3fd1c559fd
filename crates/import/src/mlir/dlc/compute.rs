//! The execute half: one case for each callback.

use super::{NoDialect, Writer, memory, typed};
use crate::mlir::lines::{
    ADDS, TRANSPOSED, Value, Whole, holds, own_operation, product_of_matrices,
};
use crate::mlir::types::{Elem, Type};
use ember_targets::dlc::{
    Addr, CacheLevel, Expr, Lanes, Loop, Program, RegisterId, Stmt, TensorId,
};
use ember_values::scalar::{BinaryOp, Linear, Scalar};

impl Writer<'_> {
    /// Writes the execute half.
    pub(super) fn compute(&mut self) -> Result<(), NoDialect> {
        let program = self.program;
        for register in &program.registers {
            let of = typed(register.ty);
            self.out.line(format!("%reg_{} = memref.alloca() : memref<{of}>", register.name));
        }
        self.statements(&program.main)?;
        self.out.line("dlc.compute_loop");
        for (at, case) in program.cases.iter().enumerate() {
            self.out.line(format!("case {} {{", at + 1));
            self.out.indent += 1;
            self.statements(&case.body)?;
            self.out.line("dlc.yield");
            self.out.indent -= 1;
            self.out.line("}");
        }
        Ok(())
    }

    fn statements(&mut self, statements: &[Stmt]) -> Result<(), NoDialect> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    /// Returns a register as memory, and its type.
    fn register(&self, id: RegisterId) -> Value {
        let register = &self.program.registers[id.index()];
        (format!("%reg_{}", register.name), typed(register.ty))
    }

    fn statement(&mut self, statement: &Stmt) -> Result<(), NoDialect> {
        match statement {
            Stmt::Set(id, value) => {
                let (value, of) = self.value(value)?;
                let (register, _) = self.register(*id);
                self.out.line(format!("memref.store {value}, {register}[] : memref<{of}>"));
            }
            Stmt::Pop(id) => {
                let (register, of) = self.register(*id);
                let popped = self.out.define(format!("dlc.pop_operand : {of}"));
                self.out.line(format!("memref.store {popped}, {register}[] : memref<{of}>"));
            }
            Stmt::Store(addr, value) => {
                let value = self.value(value)?;
                let place = self.place(addr)?;
                self.store(addr, &place, &value)?;
            }
            Stmt::Accumulate(op, addr, value) => {
                let place = self.place(addr)?;
                let before = self.load(addr, &place)?;
                let value = self.value(value)?;
                let after = self.binary(*op, before, value)?;
                self.store(addr, &place, &after)?;
            }
            Stmt::Prefetch(addr, level) => self.prefetch(addr, *level)?,
            Stmt::Matmul { out, a, b, transposed, adds } => {
                if *adds || [out, a, b].iter().any(|addr| !addr.index.is_empty()) {
                    let mut operands = Vec::new();
                    for addr in [out, a, b] {
                        operands.extend(self.part(addr)?);
                    }
                    let attributes = [holds(TRANSPOSED, *transposed), holds(ADDS, *adds)];
                    let attributes: Vec<String> = attributes.into_iter().flatten().collect();
                    self.out.line(product_of_matrices(&operands, &attributes));
                    return Ok(());
                }
                let program = self.program;
                self.out
                    .product(*transposed, [out, a, b].map(|addr| whole(program, addr.tensor)))?;
            }
            Stmt::For(own) => self.repeated(own, "")?,
            Stmt::Walk(unit, own) => {
                self.repeated(own, &format!(" {{tu = {} : i64}}", unit.index()))?;
            }
        }
        Ok(())
    }

    /// Writes a prefetch of an element, or of lanes under a mask.
    fn prefetch(&mut self, addr: &Addr<Expr>, level: CacheLevel) -> Result<(), NoDialect> {
        let mut operands = self.indexed(addr)?;
        if let Some(lanes) = &addr.lanes {
            let (base, _) = operands.last().cloned().unwrap_or_default();
            let mask = self.mask(&base, lanes)?;
            operands.push((mask, format!("vector<{}xi1>", lanes.count)));
        }
        self.out.line(own_operation(
            "prefetch",
            &operands,
            &[format!("level = \"{}\"", level.name())],
            "()",
        ));
        Ok(())
    }

    /// Returns the memory and the indices of an operand of a product, with their types as text. Behind each index of a block
    /// stands the mask of its rows or columns.
    fn part(&mut self, addr: &Addr<Expr>) -> Result<Vec<(String, String)>, NoDialect> {
        let indexed = self.indexed(addr)?;
        let first = indexed.len().saturating_sub(2);
        let mut operands = Vec::new();
        for (at, operand) in indexed.into_iter().enumerate() {
            operands.push(operand.clone());
            let sides = [&addr.rows, &addr.lanes];
            let side = at.checked_sub(first).and_then(|side| sides[side].as_ref());
            if let Some(lanes) = side.filter(|_| addr.rows.is_some()) {
                let mask = self.mask(&operand.0, lanes)?;
                operands.push((mask, format!("vector<{}xi1>", lanes.count)));
            }
        }
        Ok(operands)
    }

    /// Returns the memory and the indices of an address, with their types as text.
    fn indexed(&mut self, addr: &Addr<Expr>) -> Result<Vec<(String, String)>, NoDialect> {
        let tensor = &self.program.tensors[addr.tensor.index()];
        let mut operands = vec![(format!("%{}", tensor.name), memory(tensor))];
        for index in &addr.index {
            let (name, of) = self.value(index)?;
            operands.push((name, of.to_string()));
        }
        Ok(operands)
    }

    /// Writes the mask of lanes from an index on.
    fn mask(&mut self, base: &str, lanes: &Lanes<Expr>) -> Result<String, NoDialect> {
        let (limit, _) = self.value(&lanes.limit)?;
        let (zero, one) = (self.out.number(0), self.out.number(1));
        Ok(self.out.define(format!(
            "slcvec.mask {base} {zero} {limit} {one} : vector<{}xi1>",
            lanes.count
        )))
    }

    /// Writes a loop with attributes.
    fn repeated(&mut self, own: &Loop, attributes: &str) -> Result<(), NoDialect> {
        let (lo, _) = self.value(&own.lo)?;
        let (hi, _) = self.value(&own.hi)?;
        let step = self.out.number(own.step);
        let index = self.out.fresh();
        self.out.line(format!("scf.for {index} = {lo} to {hi} step {step} {{"));
        self.out.indent += 1;
        let (register, of) = self.register(own.var);
        self.out.line(format!("memref.store {index}, {register}[] : memref<{of}>"));
        self.statements(&own.body)?;
        self.out.indent -= 1;
        self.out.line(format!("}}{attributes}"));
        Ok(())
    }

    /// Returns the indices of an address as text, and the mask of its lanes.
    fn place(&mut self, addr: &Addr<Expr>) -> Result<(String, Option<String>), NoDialect> {
        let mut places = Vec::new();
        for index in &addr.index {
            places.push(self.value(index)?.0);
        }
        let mask = match &addr.lanes {
            Some(lanes) => {
                let base = places.last().cloned().unwrap_or_default();
                Some(self.mask(&base, lanes)?)
            }
            None => None,
        };
        let tensor = &self.program.tensors[addr.tensor.index()];
        Ok((format!("%{}[{}]", tensor.name, places.join(", ")), mask))
    }

    /// Returns the type of a tensor, and the type of what an address holds.
    fn held(&self, tensor: TensorId, lanes: Option<&Lanes<Expr>>) -> (String, Type) {
        let tensor = &self.program.tensors[tensor.index()];
        let own = Elem::of(tensor.dtype);
        let of = match lanes {
            Some(lanes) => Type::Vector(u64::from(lanes.count), own),
            None => Type::Scalar(own),
        };
        (memory(tensor), of)
    }

    fn load(
        &mut self,
        addr: &Addr<Expr>,
        (place, mask): &(String, Option<String>),
    ) -> Result<Value, NoDialect> {
        let (memory, of) = self.held(addr.tensor, addr.lanes.as_ref());
        let name = match (mask, &of) {
            (Some(mask), Type::Vector(lanes, own)) => {
                let zero = if own.dtype().is_float() { "0.0" } else { "0" };
                let pass = self.out.constant(format!("dense<{zero}> : {of}"));
                self.out.define(format!(
                    "vector.maskedload {place}, {mask}, {pass} : {memory}, vector<{lanes}xi1>, {of} into {of}"
                ))
            }
            _ => self.out.define(format!("memref.load {place} : {memory}")),
        };
        Ok((name, of))
    }

    fn store(
        &mut self,
        addr: &Addr<Expr>,
        (place, mask): &(String, Option<String>),
        (value, _): &Value,
    ) -> Result<(), NoDialect> {
        let (memory, of) = self.held(addr.tensor, addr.lanes.as_ref());
        match (mask, &of) {
            (Some(mask), Type::Vector(lanes, _)) => self.out.line(format!(
                "vector.maskedstore {place}, {mask}, {value} : {memory}, vector<{lanes}xi1>, {of}"
            )),
            _ => self.out.line(format!("memref.store {value}, {place} : {memory}")),
        }
        Ok(())
    }

    fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Result<Value, NoDialect> {
        self.out.apply(op.name(), vec![a, b])
    }

    /// Writes an expression.
    fn value(&mut self, expr: &Expr) -> Result<Value, NoDialect> {
        let index = Type::Scalar(Elem::Index);
        Ok(match expr {
            Expr::Register(id) => {
                let (register, of) = self.register(*id);
                (self.out.define(format!("memref.load {register}[] : memref<{of}>")), of)
            }
            Expr::Const(scalar) => {
                (self.out.scalar(*scalar), Type::Scalar(Elem::of(scalar.dtype())))
            }
            Expr::Size(id) => (self.sizes[id.index()].clone(), index),
            Expr::Load(addr) => {
                let place = self.place(addr)?;
                self.load(addr, &place)?
            }
            Expr::Unary(op, x) => {
                let x = self.value(x)?;
                self.out.apply(op.name(), vec![x])?
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                self.binary(*op, a, b)?
            }
            Expr::Broadcast(lanes, x) => {
                let (x, of) = self.value(x)?;
                let to = Type::Vector(u64::from(*lanes), of.elem().unwrap_or(Elem::Index));
                (self.out.define(format!("vector.broadcast {x} : {of} to {to}")), to)
            }
            Expr::Fold(op, lanes) => {
                let lanes = self.value(lanes)?;
                self.out.fold(op.name(), lanes)
            }
            Expr::Select(condition, a, b) => {
                let operands = [self.value(condition)?, self.value(a)?, self.value(b)?];
                self.out.choose(operands)?
            }
            Expr::Cast(dtype, x) => {
                let x = self.value(x)?;
                self.out.convert(x, Elem::of(*dtype))?
            }
            Expr::Iota(lanes, base) => {
                let of = Type::Vector(u64::from(*lanes), Elem::Index);
                let step = self.out.define(format!("vector.step : {of}"));
                match base.as_ref() {
                    Expr::Const(Scalar::I64(0)) => (step, of),
                    base => {
                        let (base, own) = self.value(base)?;
                        let base =
                            self.out.define(format!("vector.broadcast {base} : {own} to {of}"));
                        self.out.apply(
                            const { Linear::Sum.operation() }.name(),
                            vec![(base, of.clone()), (step, of)],
                        )?
                    }
                }
            }
        })
    }
}

/// Returns a tensor as a whole.
fn whole(program: &Program, id: TensorId) -> Whole<'_> {
    let tensor = &program.tensors[id.index()];
    let (rank, memory) = (tensor.shape.len(), memory(tensor));
    Whole { name: &tensor.name, dtype: tensor.dtype, rank, memory }
}
