//! Operations on whole tensors, by their kernels: the reference of models, on operands that are checked as they are
//! read. What does not fit is a fault.

use super::error::Fault;
use super::eval::grow;
use super::op::{At, Does, Op};
use super::{Error, Interpreter};
use ember_kernels::{Kept, Number, Operands, run};
use ember_values::operation::{Function, Kernel, Reads, Role, Score};
use ember_values::scalar::{DType, Scalar};

impl Interpreter {
    /// A run of elements of what a kernel computes: at an index of all dimensions but the last, so many from the first.
    ///
    /// Operations fault on wrong operands and indices on open memory, too; a product keeps within its operands by
    /// itself.
    pub(super) fn computed(
        &mut self,
        of: At,
        op: Op,
        at: (&[i64], i64, usize),
        found: impl FnMut(Scalar),
    ) -> Result<(), Fault> {
        if let Does::Operation(operation) = op.does
            && matches!(operation.kernel, Kernel::Product { .. })
        {
            return self.computed_within(of, op, at, found);
        }
        let beyond = self.beyond.take();
        let computed = self.computed_within(of, op, at, found);
        self.beyond = beyond;
        computed
    }

    fn computed_within(
        &mut self,
        of: At,
        op: Op,
        at: (&[i64], i64, usize),
        found: impl FnMut(Scalar),
    ) -> Result<(), Fault> {
        let Does::Operation(operation) = op.does else { return Err(self.wrong(of, "a tensor")) };
        let dtype = match operation.kernel {
            // The statement that is a product says no type of its own.
            Kernel::Product { .. } => {
                let [a] = self.named(&op, ["a"])?;
                self.dtype(a)?
            }
            _ => self.element_type(of)?,
        };
        self.fits_kernel(of, operation.kernel, &op, dtype)?;
        self.edges_stand(operation.kernel, &op, at)?;
        self.rows_stand(&op)?;
        if op.named("order").is_some() {
            // The shape is that of an operation with a place to sort in.
            self.shape(of)?;
        }
        self.moved_from(of, operation.kernel, &op, at)?;
        let reading = Reading { interpreter: self, of, op, dtype };
        match dtype {
            DType::F32 => reading.run::<f32>(operation.kernel, at, found),
            DType::F64 => reading.run::<f64>(operation.kernel, at, found),
            DType::I32 => reading.run::<i32>(operation.kernel, at, found),
            DType::I64 => reading.run::<i64>(operation.kernel, at, found),
            DType::F16 | DType::BF16 | DType::U8 | DType::U4 | DType::I8 => {
                reading.run::<Kept>(operation.kernel, at, found)
            }
        }
    }

    /// Checks that the words of an operation are valid, and that its kernel computes with a type.
    fn fits_kernel(&self, of: At, kernel: Kernel, op: &Op, dtype: DType) -> Result<(), Fault> {
        if let Does::Operation(operation) = op.does {
            for (place, operand) in operation.operands.iter().enumerate() {
                if let (Role::Word(words), Some(at)) = (&operand.role, op.part(place))
                    && words.parse(self.program.name(at)).is_none()
                {
                    return Err(self.program.unexpected(at, "a word of the operation"));
                }
            }
        }
        let word = |name: &str| op.named(name).map(|at| self.program.name(at));
        let function = match kernel {
            Kernel::Map(Some(function)) => Some(function),
            Kernel::Map(None) | Kernel::Spread => word("function").and_then(Function::parse),
            _ => word("edge").and_then(Function::parse),
        };
        let copies = match kernel {
            Kernel::Rows => op.named("offsets").is_none(),
            Kernel::Map(_) => function == Some(Function::Identity),
            kernel => kernel.moves() || kernel == Kernel::Convert,
        };
        let is_float = function.is_some_and(Function::is_float)
            || word("score").and_then(Score::parse).is_some_and(Score::has_roots);
        let fits = match (copies, is_float) {
            (_, true) => matches!(dtype, DType::F32 | DType::F64),
            (copies, false) => copies || !dtype.is_storage(),
        };
        if fits { Ok(()) } else { Err(Error::types(self.head(of), &[dtype])) }
    }

    /// Checks that the edges of a kernel belong to a row, and have a place in scratch memory.
    fn edges_stand(
        &mut self,
        kernel: Kernel,
        op: &Op,
        (above, first, count): (&[i64], i64, usize),
    ) -> Result<(), Fault> {
        if !matches!(kernel, Kernel::Edges | Kernel::Spread) {
            return Ok(());
        }
        let [offsets] = self.named(op, ["offsets"])?;
        let (Some(scratch), Some(row)) = (op.named("scratch"), above.first()) else {
            return (0..count as i64).try_for_each(|k| self.row_of(offsets, first + k));
        };
        // A lowering may put an edge's value there.
        let (from, to) = self.lookups(offsets, *row)?;
        for l in from..to {
            self.step()?;
            let place = self.place(scratch)?;
            self.within(place, Scalar::I64(l))?;
        }
        Ok(())
    }

    /// Checks that rows of an operand that may be computed for every use of them have a place in scratch memory.
    fn rows_stand(&mut self, op: &Op) -> Result<(), Fault> {
        let Does::Operation(operation) = op.does else { return Ok(()) };
        let kept = |role: &Role| matches!(role, Role::Tensor(_, Reads::Kept));
        let place = operation.operands.iter().position(|operand| kept(&operand.role));
        let (Some(place), Some(scratch)) = (place, op.named("scratch")) else { return Ok(()) };
        let Some(operand) = op.part(place) else { return Ok(()) };
        let expected = self.extents(scratch)?;
        let found = grow(|| self.shape(operand))?;
        if found == expected { Ok(()) } else { Err(Error::Shape { expected, found }.into()) }
    }

    /// Checks that indices have a place in scratch memory where a lowering may sort them, also if the result, of this
    /// shape, has no elements.
    pub(super) fn order_stands(&mut self, op: &Op, shape: &[i64]) -> Result<(), Fault> {
        let (Some(order), Some(starts)) = (op.named("order"), op.named("starts")) else {
            return Ok(());
        };
        let [indices] = self.named(op, ["indices"])?;
        let entries = self.extent_of(&self.extents(indices)?, 0)?;
        let rows = self.extent_of(shape, 0)?;
        for (memory, elements) in [(order, entries), (starts, rows.saturating_add(1))] {
            self.place(memory)?;
            let (dtype, found) = (self.dtype(memory)?, self.extents(memory)?);
            if dtype != DType::I64 {
                return Err(Error::types("scratch memory".to_string(), &[dtype]));
            }
            if found.len() != 1 || found[0] < elements {
                return Err(Error::Shape { expected: vec![elements], found }.into());
            }
        }
        Ok(())
    }

    /// Checks that elements that come from other places are within their own tensor: what is outside of it may still
    /// be inside of the operand.
    fn moved_from(
        &mut self,
        of: At,
        kernel: Kernel,
        op: &Op,
        (above, first, count): (&[i64], i64, usize),
    ) -> Result<(), Fault> {
        if !matches!(kernel, Kernel::Swap | Kernel::Slice | Kernel::Split | Kernel::Merge) {
            return Ok(());
        }
        let shape = self.moved_shape(kernel, op)?;
        let last = first.saturating_add(count as i64).saturating_sub(1);
        let (low, high) = ([above, &[first]].concat(), [above, &[last]].concat());
        if low.len() != shape.len() {
            return Err(self.wrong(of, "a tensor of this rank"));
        }
        let places = low.iter().chain(&high).zip(shape.iter().cycle()).enumerate();
        for (at, (index, extent)) in places {
            if !(0..*extent).contains(index) {
                let (tensor, dimension) = (self.head(of), at % shape.len());
                let extent = u64::try_from(*extent).unwrap_or(0);
                return Err(Error::OutOfBounds { tensor, dimension, index: *index, extent }.into());
            }
        }
        Ok(())
    }

    /// Returns the range of lookups of a row, as first and end.
    pub(super) fn lookups(&mut self, offsets: At, row: i64) -> Result<(i64, i64), Fault> {
        Ok((self.looked_up(offsets, &[row])?, self.looked_up(offsets, &[row.wrapping_add(1)])?))
    }

    /// A position that an address holds.
    fn looked_up(&mut self, positions: At, at: &[i64]) -> Result<i64, Fault> {
        self.step()?;
        let position = self.stored_at(positions, at)?;
        self.integer(position)
    }

    /// Checks that a row contains an entry of a matrix in CSR form.
    fn row_of(&mut self, offsets: At, entry: i64) -> Result<(), Fault> {
        let rows = self.extent_of(&self.extents(offsets)?, 0)?.saturating_sub(1);
        for row in 0..rows {
            let (lo, hi) = self.lookups(offsets, row)?;
            if lo <= entry && entry < hi {
                return Ok(());
            }
        }
        Err(Error::Offsets(entry).into())
    }

    /// Returns the function of one scalar that an operand names.
    pub(super) fn function(&self, at: At) -> Result<Function, Fault> {
        let function = Function::parse(self.program.name(at));
        function.ok_or_else(|| self.program.unexpected(at, "an edge function"))
    }

    /// Applies a function of one scalar.
    pub(super) fn mapped(&self, at: At, f: Function, x: Scalar) -> Result<Scalar, Fault> {
        self.computed_from(at, [x], ember_kernels::map(f, x))
    }
}

/// The operands of an operation, read as its kernel asks for them.
struct Reading<'a> {
    interpreter: &'a mut Interpreter,
    of: At,
    op: Op,
    /// The element type of the result.
    dtype: DType,
}

impl Reading<'_> {
    /// Runs the kernel for some elements.
    fn run<T: Number>(
        mut self,
        kernel: Kernel,
        (above, first, count): (&[i64], i64, usize),
        mut found: impl FnMut(Scalar),
    ) -> Result<(), Fault> {
        let mut out = vec![T::ZERO; count];
        run(kernel, self.dtype, &mut self, above, first, &mut out)?;
        out.into_iter().for_each(|x| found(x.value().0));
        Ok(())
    }

    /// Returns true if the kernel converts an operand to the type of the result.
    fn is_converted(&self, of: At) -> bool {
        match self.op.does {
            Does::Operation(operation) => match operation.kernel {
                Kernel::Convert => true,
                Kernel::Dequantise => self.op.named("codes") == Some(of),
                _ => false,
            },
            _ => false,
        }
    }

    /// A number of the result's type.
    fn typed(&self, x: Scalar) -> Result<Scalar, Fault> {
        if x.dtype() == self.dtype {
            return Ok(x);
        }
        Err(Error::types(self.interpreter.head(self.of), &[self.dtype, x.dtype()]))
    }
}

impl Operands for Reading<'_> {
    type Error = Fault;
    type Operand = At;

    fn operand(&self, name: &str) -> Option<At> {
        self.op.named(name)
    }

    fn word(&self, name: &str) -> Option<usize> {
        let Does::Operation(operation) = self.op.does else { return None };
        let place = operation.place(name)?;
        match &operation.operands[place].role {
            Role::Word(words) => words.parse(self.interpreter.program.name(self.op.part(place)?)),
            _ => None,
        }
    }

    fn missing(&self) -> Fault {
        self.interpreter.wrong(self.of, "a tensor of this rank")
    }

    fn number(&mut self, of: At) -> Result<Scalar, Fault> {
        let number = self.interpreter.scalar(of)?;
        self.typed(number)
    }

    fn natural(&mut self, of: At) -> Result<Option<i64>, Fault> {
        Ok(self.interpreter.scalar(of)?.as_i64())
    }

    fn extents(&mut self, of: At) -> Result<Vec<i64>, Fault> {
        self.interpreter.extents_of(of)
    }

    fn position(&mut self, of: At, at: &[i64]) -> Result<i64, Fault> {
        self.interpreter.looked_up(of, at)
    }

    fn read<T: Number>(
        &mut self,
        of: At,
        at: &[i64],
        first: i64,
        dtype: DType,
        out: &mut [T],
    ) -> Result<(), Fault> {
        if out.is_empty() {
            return Ok(());
        }
        // An address is evaluated once for a row.
        let row = match self.interpreter.stored(of)? {
            Some(address) => Some(self.interpreter.stored_part(address, at)?),
            None => None,
        };
        let (converted, counted) = (self.is_converted(of), self.interpreter.is_tensor(of));
        let mut index = [at, &[0]].concat();
        for (k, x) in out.iter_mut().enumerate() {
            let last = first.saturating_add(k as i64);
            let element = match row {
                Some(row) => {
                    if counted {
                        self.interpreter.step()?;
                    }
                    let place = self.interpreter.within(row, Scalar::I64(last))?;
                    self.interpreter.get(place)?
                }
                None => {
                    index[at.len()] = last;
                    self.interpreter.element_at(of, &index)?
                }
            };
            let element = if converted { element } else { self.typed(element)? };
            *x = T::convert(element, 0.0, dtype);
        }
        Ok(())
    }
}
