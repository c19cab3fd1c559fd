//! The execute half: registers, and one case for each callback.

use super::values::is_zero;
use super::{Halves, Helped, Meaning, Refused, position, typed, whole};
use crate::mlir::lines::{ADDS, COLUMNS, DEPTH, ROWS, TRANSPOSED};
use crate::mlir::lower::{common, fills_before};
use crate::mlir::rows::Kind;
use crate::mlir::source::{Operation, Region};
use crate::mlir::types::{Elem, Type};
use ember_targets::dlc::{
    Addr, CacheLevel, Case, Dim, Expr, Lanes, Loop, Purpose, Register, RegisterId, Side, Stmt,
    TensorDecl, TensorId, UnitId,
};

impl<'a> Halves<'_, 'a> {
    /// Declares memory of rank 0 as a register, other memory of the program's own as scratch memory.
    pub(super) fn allocate(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        if let (Some(Type::Memory(extents, elem)), [value]) =
            (operation.types.first(), &operation.results[..])
            && !extents.is_empty()
        {
            let tensor = self.scratch(operation, *value, extents, *elem)?;
            return self.give(operation, Meaning::Memory(tensor));
        }
        let of = match operation.types.first() {
            Some(Type::Memory(extents, elem)) if extents.is_empty() => Type::Scalar(*elem),
            Some(Type::Cell(lanes, elem)) => Type::Vector(*lanes, *elem),
            _ => {
                let error = self.refused("memory without a type", &operation.at);
                return Err(error.with_help_boxed("memory of rank 0 is a register"));
            }
        };
        let register = self.register(operation, &of)?;
        self.give(operation, Meaning::Register(register))
    }

    /// Declares scratch memory, called after the result of an operation. Its extents are numbers and sizes.
    fn scratch(
        &mut self,
        operation: &Operation<'a>,
        value: usize,
        extents: &[Option<u64>],
        elem: Elem,
    ) -> Result<TensorId, Refused> {
        let (mut shape, mut given) = (Vec::new(), 0);
        for extent in extents {
            shape.push(match extent {
                Some(n) => Dim::Const(*n),
                None => {
                    let Expr::Size(size) = self.number(operation, given)?.expr else {
                        return Err(self.unfit(operation, given, "a size"));
                    };
                    given += 1;
                    Dim::Size(size)
                }
            });
        }
        let name = self.names.named(self.values[value].name);
        let (dtype, purpose) = (elem.dtype(), Purpose::Scratch);
        self.program.tensors.push(TensorDecl { name, dtype, shape, purpose });
        self.tensors.push(0);
        Ok(TensorId(position(self.program.tensors.len() - 1)))
    }

    /// Declares a register, called after the result of an operation.
    fn register(&mut self, operation: &Operation<'a>, of: &Type) -> Result<RegisterId, Refused> {
        let Some(ty) = typed(of) else {
            return Err(self.refused(format!("a register of {of}"), &operation.at));
        };
        let at = self.program.registers.len();
        self.program.registers.push(Register { name: format!("r{at}"), ty });
        self.registers.push(0);
        Ok(RegisterId(position(at)))
    }

    /// Reads the cases, which callbacks call by their numbers from 1.
    pub(super) fn cases(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        // Cases run in any order, and again and again.
        operation.regions.iter().for_each(|region| self.wrote(region));
        let mut cases: Vec<(usize, Case)> = Vec::new();
        for (number, region) in operation.numbers.iter().zip(&operation.regions) {
            let mut body = Vec::new();
            self.statements(&region.operations, &mut body)?;
            let at = usize::try_from(*number).unwrap_or(0);
            cases.push((at, Case { name: format!("case{number}"), body }));
        }
        cases.sort_by_key(|(at, _)| *at);
        if !cases.iter().map(|(at, _)| *at).eq(1..=cases.len()) {
            let error = self.refused("cases have the numbers from 1 on", &operation.at);
            return Err(error.with_help_boxed("write `case 1 { … } case 2 { … }`"));
        }
        self.program.cases = cases.into_iter().map(|(_, case)| case).collect();
        Ok(())
    }

    /// Reads operations of the execute half. A product follows the operation that fills its result with zeros.
    fn statements(
        &mut self,
        operations: &[Operation<'a>],
        list: &mut Vec<Stmt>,
    ) -> Result<(), Refused> {
        let mut rest = operations.iter().peekable();
        while let Some(operation) = rest.next() {
            match rest.next_if(|next| fills_before(operation, next)) {
                Some(product) => list.push(self.product(operation, product)?),
                None => self.statement(operation, list)?,
            }
        }
        Ok(())
    }

    /// Reads a product of whole matrices that is added to zeros.
    fn product(&mut self, fill: &Operation<'a>, product: &Operation<'a>) -> Result<Stmt, Refused> {
        if !is_zero(&self.number(fill, 0)?.expr) {
            return Err(self.unfit(fill, 0, "0"));
        }
        let mut tensors = Vec::new();
        for at in [2, 0, 1] {
            let Meaning::Memory(tensor) = *self.meaning(product, at)? else {
                return Err(self.unfit(product, at, "an argument"));
            };
            tensors.push(tensor);
        }
        let common = common(&product.maps);
        if common.is_none() && !product.maps.is_empty() {
            return Err(self.refused("a product by these maps", &product.at));
        }
        let transposed = product.kind == Kind::ProductTransposed || common == Some(true);
        let (out, a, b) = (tensors[0], tensors[1], tensors[2]);
        self.stores(out);
        let [out, a, b] = [out, a, b].map(Addr::whole);
        Ok(Stmt::Matmul { out, a, b, transposed, adds: false })
    }

    /// Reads a product of matrices, of which some are each one of a batch or a block: behind its memory stands its index, and
    /// behind each index of a block the mask of its rows or columns.
    fn matrices(&mut self, operation: &Operation<'a>) -> Result<Stmt, Refused> {
        let mut at = 0;
        let mut matrices = Vec::new();
        // Behind the factors of some rows stand their bound and the first, behind those of some columns the first.
        let [rows, depth] = [ROWS, DEPTH]
            .map(|name| operation.attribute(name).and_then(|count| count.parse::<u32>().ok()));
        let [transposed, adds, columns] =
            [TRANSPOSED, ADDS, COLUMNS].map(|name| operation.attribute(name) == Some("true"));
        let sides = usize::from(rows.is_some()) + usize::from(depth.is_some());
        let behind = if sides > 0 { 2 * sides } else { usize::from(columns) };
        let all = operation.operands.len().saturating_sub(behind);
        while at < all {
            let Meaning::Memory(tensor) = *self.meaning(operation, at)? else {
                return Err(self.unfit(operation, at, "memory"));
            };
            let (mut index, mut sides) = (Vec::new(), Vec::new());
            at += 1;
            while at < all {
                match self.meaning(operation, at)? {
                    Meaning::Memory(_) => break,
                    Meaning::Mask(..) => sides.push(self.lanes(operation, at)?),
                    _ => index.push(self.number(operation, at)?.expr),
                }
                at += 1;
            }
            let lanes = sides.pop();
            let rows = sides.pop();
            if lanes.is_some() != rows.is_some() || !sides.is_empty() {
                return Err(self.refused("a block with other than two masks", &operation.at));
            }
            matrices.push(Addr { tensor, index, lanes, rows });
        }
        let Ok([mut out, mut a, mut b]) = <[Addr<Expr>; 3]>::try_from(matrices) else {
            return Err(self.refused("a product has a result and two factors", &operation.at));
        };
        if depth.is_some() && (rows.is_none() || !adds) {
            let message = "a part of the depth without rows, or that is not added";
            return Err(self.refused(message, &operation.at));
        }
        let side = |count: Option<u32>, at: usize| -> Result<Option<Side>, Refused> {
            let Some(count) = count else { return Ok(None) };
            let limit = self.number(operation, at)?.expr;
            let first = self.number(operation, at + 1)?.expr;
            Ok(Some(Side { run: Lanes { count, limit }, first }))
        };
        let (rows, depth) = (side(rows, all)?, side(depth, all + 2)?);
        if rows.is_some() {
            let of_b = depth.as_ref().map(|depth| (&mut b, [Some(depth.clone()), None]));
            let of_out = (&mut out, [rows.clone(), None]);
            for (matrix, sides) in [of_out, (&mut a, [rows, depth.clone()])].into_iter().chain(of_b)
            {
                let shape = &self.program.tensors[matrix.tensor.index()].shape;
                let whole = matrix.index.is_empty().then_some(&*matrix);
                *matrix = whole.and_then(|whole| whole.block(shape, sides)).ok_or_else(|| {
                    self.refused("rows of no matrix with a known number of columns", &operation.at)
                })?;
            }
        }
        if columns {
            let first = self.number(operation, all)?.expr;
            let shape = |of: &Addr<Expr>| &self.program.tensors[of.tensor.index()].shape;
            let matrix = if adds { &mut a } else { &mut out };
            let block = matrix.some_columns(shape(matrix), (&b, shape(&b)), &first);
            *matrix = block.ok_or_else(|| {
                self.refused("columns of matrices of unknown extents", &operation.at)
            })?;
        }
        self.stores(out.tensor);
        Ok(Stmt::Matmul { out, a, b, transposed, adds })
    }

    /// Reads a prefetch of an element, or of lanes under a mask.
    fn prefetch(&mut self, operation: &Operation<'a>) -> Result<Stmt, Refused> {
        let last = operation.operands.len().saturating_sub(1);
        let masked = matches!(self.meaning(operation, last)?, Meaning::Mask(..));
        let (places, lanes) = match masked {
            true => (1..last, Some(self.lanes(operation, last)?)),
            false => (1..last + 1, None),
        };
        let level = match operation.attribute("level").map(CacheLevel::parse) {
            None => CacheLevel::L2,
            Some(Some(level)) => level,
            Some(None) => {
                let error = self.refused("a prefetch into a cache of another level", &operation.at);
                return Err(error.with_help_boxed("`level` is \"l1\", \"l2\" or \"l3\""));
            }
        };
        Ok(Stmt::Prefetch(self.addr(operation, 0, places, lanes)?, level))
    }

    /// Reads an operation of the execute half: statements are added to a list, values are kept.
    pub(super) fn statement(
        &mut self,
        operation: &Operation<'a>,
        list: &mut Vec<Stmt>,
    ) -> Result<(), Refused> {
        match operation.kind {
            Kind::Yield => Ok(()),
            Kind::Pop => {
                let of = operation.types.first().cloned().unwrap_or(Type::Scalar(Elem::Bit));
                let register = self.register(operation, &of)?;
                list.push(Stmt::Pop(register));
                self.wrote_register(register);
                let popped = self.number_of(Expr::Register(register), of);
                self.give(operation, popped)
            }
            Kind::Store => self.store(operation, list),
            Kind::MaskedStore => {
                let value = self.number(operation, operation.operands.len().saturating_sub(1))?;
                let places = 1..operation.operands.len().saturating_sub(2);
                let lanes = self.lanes(operation, places.end)?;
                let addr = self.addr(operation, 0, places, Some(lanes))?;
                self.stored(addr, value.expr, list);
                Ok(())
            }
            Kind::Loop => self.repeated(operation, list),
            Kind::Product | Kind::ProductTransposed => {
                let error = self.refused("a product that is added to a memory", &operation.at);
                let help = "put `linalg.fill` of the memory with 0 just before it";
                Err(error.with_help_boxed(help))
            }
            Kind::Prefetch => {
                list.push(self.prefetch(operation)?);
                Ok(())
            }
            Kind::Matrix => {
                list.push(self.matrices(operation)?);
                Ok(())
            }
            _ => self.value(operation),
        }
    }

    /// Reads a store into a register or tensor.
    fn store(&mut self, operation: &Operation<'a>, list: &mut Vec<Stmt>) -> Result<(), Refused> {
        let value = self.number(operation, 0)?;
        if let Meaning::Register(register) = *self.meaning(operation, 1)? {
            // What is popped only to be kept is popped into the register.
            let is_only_use = self.values[self.operand(operation, 0)?.0].uses == 1;
            let popped = |last: &mut Stmt| matches!(last, Stmt::Pop(own) if is_only_use && value.expr == Expr::Register(*own));
            let statement = match list.pop_if(popped) {
                Some(_) => Stmt::Pop(register),
                None => Stmt::Set(register, value.expr),
            };
            list.push(statement);
            self.wrote_register(register);
            return Ok(());
        }
        let addr = self.addr(operation, 1, 2..operation.operands.len(), None)?;
        self.stored(addr, value.expr, list);
        Ok(())
    }

    /// Notes that a register is written now.
    fn wrote_register(&mut self, register: RegisterId) {
        self.clock += 1;
        if let Some(written) = self.registers.get_mut(register.index()) {
            *written = self.clock;
        }
    }

    /// Notes that a tensor is written now.
    pub(super) fn stores(&mut self, tensor: TensorId) {
        self.clock += 1;
        if let Some(written) = self.tensors.get_mut(tensor.index()) {
            *written = self.clock;
        }
    }

    /// Notes that all is written that the operations of a region write.
    fn wrote(&mut self, region: &Region<'a>) {
        self.clock += 1;
        for memory in &region.written {
            let written = match self.meanings[*memory] {
                Some(Meaning::Register(register)) => self.registers.get_mut(register.index()),
                Some(Meaning::Memory(tensor)) => self.tensors.get_mut(tensor.index()),
                _ => None,
            };
            if let Some(written) = written {
                *written = self.clock;
            }
        }
    }

    /// Adds a store into a tensor. A value that the element is an operand of is accumulated.
    fn stored(&mut self, addr: Addr<Expr>, value: Expr, list: &mut Vec<Stmt>) {
        self.stores(addr.tensor);
        list.push(match value {
            Expr::Binary(op, before, value)
                if op.folds() && *before == Expr::Load(Box::new(addr.clone())) =>
            {
                Stmt::Accumulate(op, addr, *value)
            }
            value => Stmt::Store(addr, value),
        });
    }

    /// Reads a loop; one that follows a unit says which.
    fn repeated(&mut self, operation: &Operation<'a>, list: &mut Vec<Stmt>) -> Result<(), Refused> {
        let (lo, hi) = (self.number(operation, 0)?.expr, self.number(operation, 1)?.expr);
        let Some(step) = whole(&self.number(operation, 2)?.expr).filter(|step| *step > 0) else {
            return Err(self.unfit(operation, 2, "a constant above 0"));
        };
        let region = self.region(operation, 0)?;
        let [(index, _)] = region.arguments[..] else {
            return Err(self.refused("a loop that carries values", &operation.at));
        };
        // What the body writes has changed when the next iteration starts.
        self.wrote(region);
        // The register that a body keeps its index in at once is the variable.
        let kept = region.operations.first().and_then(|first| {
            match self.meanings[first.operands.get(1)?.0] {
                Some(Meaning::Register(register))
                    if first.kind == Kind::Store && first.operands[0].0 == index =>
                {
                    Some(register)
                }
                _ => None,
            }
        });
        let index_type = Type::Scalar(Elem::Index);
        let var = match kept {
            Some(register) => register,
            None => self.register(operation, &index_type)?,
        };
        self.wrote_register(var);
        self.meanings[index] = Some(self.number_of(Expr::Register(var), index_type));
        let mut body = Vec::new();
        self.statements(&region.operations[usize::from(kept.is_some())..], &mut body)?;
        let own = Loop { var, lo, hi, step, body };
        let unit = operation.attribute("tu").and_then(|unit| unit.parse::<u32>().ok());
        list.push(match unit {
            Some(unit) => Stmt::Walk(UnitId(unit), own),
            None => Stmt::For(own),
        });
        Ok(())
    }
}
