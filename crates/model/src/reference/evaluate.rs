//! The evaluation of statements in order, each operation by its kernel. Operations on single elements are evaluated
//! if their elements are read, so that a table may be larger than memory; the others on whole tensors.

use super::lowered;
use super::operands::{Given, Operand, Positions};
use crate::data::Instance;
use crate::model::{Applied, Argument, Declared, Expr, Model, Op, Part, Statement, TensorId};
use ember_host::threads;
use ember_kernels::{Bounded, Kept, Number, run};
use ember_targets::tensor::{Data, Tensor};
use ember_values::operation::{Kernel, Role};
use ember_values::scalar::{DType, Scalar};
use std::any::Any;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

/// The number types that represent the floating-point types.
pub(super) trait Mode: Sync {
    type F32: Number;
    type F64: Number;
}

/// Evaluation with plain numbers.
pub(super) struct Exact;

/// Evaluation with error bounds.
pub(super) struct WithBounds;

impl Mode for Exact {
    type F32 = f32;
    type F64 = f64;
}

impl Mode for WithBounds {
    type F32 = Bounded<24>;
    type F64 = Bounded<53>;
}

/// Calls a method with the number type of an element type.
macro_rules! typed {
    ($dtype:expr, $self:ident.$method:ident($($arg:expr),*)) => {
        match $dtype {
            DType::F32 => $self.$method::<M::F32>($($arg),*),
            DType::F64 => $self.$method::<M::F64>($($arg),*),
            DType::I32 => $self.$method::<i32>($($arg),*),
            DType::I64 => $self.$method::<i64>($($arg),*),
            DType::F16 | DType::BF16 | DType::U8 | DType::U4 | DType::I8 => $self.$method::<Kept>($($arg),*),
        }
    };
}

/// The computed elements of a tensor: a vector of the numbers of their type.
type Held = Arc<dyn Any + Send + Sync>;

/// Where the elements of a tensor come from.
enum Elements {
    Input(Tensor),
    Held(Held),
    /// A kernel, of its operands.
    Computed(Kernel, Given),
}

/// A tensor with its type and shape, whose elements may be computed when they are read.
pub(super) struct Source {
    elements: Elements,
    pub(super) dtype: DType,
    pub(super) shape: Vec<u64>,
}

impl Source {
    /// Returns the number of elements in a row, which is the extent of the last dimension.
    fn columns(&self) -> usize {
        self.shape.last().map_or(1, |n| *n as usize)
    }

    fn len(&self) -> usize {
        self.shape.iter().product::<u64>() as usize
    }
}

/// The evaluation of a model on an instance.
pub(super) struct Evaluator<'a, M> {
    model: &'a Model,
    instance: &'a Instance,
    done: BTreeMap<TensorId, Held>,
    mode: PhantomData<M>,
}

impl<'a, M: Mode> Evaluator<'a, M> {
    /// Evaluates every statement; `None` for an instance of another model.
    pub(super) fn run(model: &'a Model, instance: &'a Instance) -> Option<Self> {
        let mut all = Evaluator { model, instance, done: BTreeMap::new(), mode: PhantomData };
        for statement in &model.statements {
            typed!(statement.value.dtype, all.statement(statement))?;
        }
        Some(all)
    }

    /// Returns the tensors that statements have computed, by name.
    pub(super) fn tensors(&self) -> Option<BTreeMap<String, Tensor>> {
        self.each(|dtype, shape, numbers| {
            let data = Data::held(dtype, numbers.map(|(x, _)| x));
            Tensor { dtype, shape, data }
        })
    }

    /// Returns the error bound of each element of the computed tensors, by name.
    pub(super) fn errors(&self) -> Option<BTreeMap<String, Vec<f64>>> {
        self.each(|_, _, numbers| numbers.map(|(_, error)| error).collect())
    }

    fn each<R>(
        &self,
        make: impl Fn(DType, Vec<u64>, &mut dyn Iterator<Item = (Scalar, f64)>) -> R,
    ) -> Option<BTreeMap<String, R>> {
        let mut all = BTreeMap::new();
        for (id, held) in &self.done {
            let Declared { name, dtype, .. } = self.model.tensor(*id);
            let shape = self.shape(*id)?;
            let numbers = typed!(*dtype, self.numbers(held))?;
            all.insert(name.clone(), make(*dtype, shape, &mut numbers.into_iter()));
        }
        Some(all)
    }

    fn numbers<T: Number>(&self, held: &Held) -> Option<Vec<(Scalar, f64)>> {
        Some(held.downcast_ref::<Vec<T>>()?.iter().map(|x| x.value()).collect())
    }

    /// Returns the concrete shape of a tensor.
    fn shape(&self, id: TensorId) -> Option<Vec<u64>> {
        Some(self.instance.tensors.get(&self.model.tensor(id).name)?.shape.clone())
    }

    fn statement<T: Number>(&mut self, statement: &Statement) -> Option<()> {
        let made: Vec<T> = self.whole(&statement.value)?;
        let shape = self.shape(statement.target)?;
        let len = shape.iter().product::<u64>() as usize;
        // The start of the part's first row in the target, the distance between rows, and the length of a row.
        let (first, stride, width) = match statement.part {
            Part::Whole => {
                self.done.insert(statement.target, Arc::new(made));
                return Some(());
            }
            Part::Slot(k) => {
                let [_, slots, columns] = shape[..] else { return None };
                (k * columns, slots * columns, columns)
            }
            Part::Columns(k) => {
                let [_, columns] = shape[..] else { return None };
                let rows = made.len() as u64 / shape[0].max(1);
                (k, columns, rows)
            }
        };
        let held = self.done.entry(statement.target).or_insert(Arc::new(vec![T::ZERO; len]));
        let target = Arc::get_mut(held)?.downcast_mut::<Vec<T>>()?;
        for (row, part) in made.chunks_exact((width as usize).max(1)).enumerate() {
            let start = row * stride as usize + first as usize;
            target.get_mut(start..start + part.len())?.copy_from_slice(part);
        }
        Some(())
    }

    /// Evaluates every element of an expression, with the number type `T`.
    fn whole<T: Number>(&mut self, expr: &Expr) -> Option<Vec<T>> {
        let source = match expr.applied() {
            Some(call) if call.kernel() == Kernel::Lowered => return self.lowered(call),
            Some(call) => self.computed(call, expr)?,
            None => self.source(expr)?,
        };
        let (n, columns) = (source.len(), source.columns());
        let mut out = vec![T::ZERO; n];
        // A result without columns has no rows to be read, and nothing to compute either.
        let this = &*self;
        threads::fill(&mut out, columns, |i, row| this.read(&source, i * columns, row))?;
        Some(out)
    }

    /// An expression to be read row by row: it is computed before, unless its elements can each be had on their own.
    fn source(&mut self, expr: &Expr) -> Option<Source> {
        let call = match &expr.op {
            Op::Tensor(id) => return self.stored(*id),
            Op::Apply(call) => call,
        };
        if call.kernel().is_elementwise() {
            return self.computed(call, expr);
        }
        let elements = Elements::Held(typed!(expr.dtype, self.held(expr))?);
        Some(Source { elements, dtype: expr.dtype, shape: self.extents(expr)? })
    }

    fn extents(&self, expr: &Expr) -> Option<Vec<u64>> {
        expr.shape.iter().map(|e| e.value(&self.instance.sizes)).collect()
    }

    fn held<T: Number>(&mut self, expr: &Expr) -> Option<Held> {
        self.whole::<T>(expr).map(|made| Arc::new(made) as Held)
    }

    /// An operation whose elements its kernel computes when they are read.
    fn computed(&mut self, call: &Applied, expr: &Expr) -> Option<Source> {
        let mut kernel = call.kernel();
        let mut operands = Vec::with_capacity(call.arguments.len());
        for (operand, argument) in call.operation.operands.iter().zip(&call.arguments) {
            operands.push(match (&operand.role, argument) {
                (_, Argument::Word(at)) => Operand::Word(*at),
                (_, Argument::Number(number)) => Operand::Number(*number),
                (_, Argument::DType(_)) | (Role::Scratch(_), _) => Operand::Unread,
                (Role::Indices(..) | Role::Offsets(_), Argument::Tensor(x)) => {
                    let id = x.stored()?;
                    Operand::Positions(Positions::new(self.positions(id)?, self.shape(id)?))
                }
                (_, Argument::Tensor(x)) => Operand::Tensor(self.source(x)?),
            });
        }
        // Rows of a matrix that stands still are read again and again, so that it is turned round but once.
        if kernel == (Kernel::Product { transposed: true }) {
            let second = call.operation.place("b").and_then(|at| operands.get_mut(at));
            if let Some(Operand::Tensor(second)) = second {
                *second = typed!(second.dtype, self.turned(second))?;
            }
            kernel = Kernel::Product { transposed: false };
        }
        let given = Given { operation: call.operation.clone(), operands };
        let elements = Elements::Computed(kernel, given);
        Some(Source { elements, dtype: expr.dtype, shape: self.extents(expr)? })
    }

    /// Matrices with rows and columns exchanged, held.
    fn turned<T: Number>(&self, source: &Source) -> Option<Source> {
        let mut shape = source.shape.clone();
        let (rank, columns) = (shape.len(), source.columns());
        let rows = *shape.get(rank.checked_sub(2)?)? as usize;
        shape.swap(rank - 1, rank - 2);
        let mut matrix = vec![T::ZERO; rows * columns];
        let mut turned = Vec::with_capacity(source.len());
        for start in (0..source.len()).step_by((rows * columns).max(1)) {
            for (row, into) in matrix.chunks_exact_mut(columns.max(1)).enumerate() {
                self.read(source, start + row * columns, into)?;
            }
            let column = |j| (0..rows).map(move |i| i * columns + j);
            turned.extend((0..columns).flat_map(column).map(|at| matrix[at]));
        }
        Some(Source { elements: Elements::Held(Arc::new(turned)), dtype: source.dtype, shape })
    }

    /// Returns a stored tensor: an input or a computed tensor.
    fn stored(&self, id: TensorId) -> Option<Source> {
        let tensor = self.instance.tensors.get(&self.model.tensor(id).name)?;
        let elements = match self.done.get(&id) {
            Some(held) => Elements::Held(held.clone()),
            None => Elements::Input(tensor.clone()),
        };
        Some(Source { elements, dtype: tensor.dtype, shape: tensor.shape.clone() })
    }

    /// Reads elements of one row, starting at a row-major position.
    pub(super) fn read<T: Number>(
        &self,
        source: &Source,
        start: usize,
        out: &mut [T],
    ) -> Option<()> {
        match &source.elements {
            Elements::Input(tensor) => T::read(tensor, start as u64, out),
            Elements::Held(held) => {
                let held = held.downcast_ref::<Vec<T>>()?;
                out.copy_from_slice(held.get(start..start.checked_add(out.len())?)?);
                Some(())
            }
            Elements::Computed(kernel, given) => {
                let (index, first) = given.unravelled(start, &source.shape);
                run(*kernel, source.dtype, &mut given.reading(self), &index, first, out).ok()
            }
        }
    }

    /// Reads elements as numbers of another type.
    pub(super) fn read_as<T: Number>(
        &self,
        source: &Source,
        start: usize,
        dtype: DType,
        out: &mut [T],
    ) -> Option<()> {
        if source.dtype == dtype {
            return self.read(source, start, out);
        }
        typed!(source.dtype, self.converted(source, start, dtype, out))
    }

    /// Reads elements of one type into a buffer of another.
    fn converted<S: Number>(
        &self,
        source: &Source,
        start: usize,
        to: DType,
        out: &mut [impl Number],
    ) -> Option<()> {
        let mut run = vec![S::ZERO; out.len()];
        self.read(source, start, &mut run)?;
        for (to_fill, x) in out.iter_mut().zip(run) {
            let (x, error) = x.value();
            *to_fill = Number::convert(x, error, to);
        }
        Some(())
    }

    /// An operation that rules alone say the meaning of: interpreted on tensors, each bit for bit what its elements
    /// are in the rules' own order.
    fn lowered<T: Number>(&mut self, call: &Applied) -> Option<Vec<T>> {
        let mut tensors = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            tensors.push(match argument {
                Argument::Tensor(x) => Some(typed!(x.dtype, self.tensor(x))?),
                _ => None,
            });
        }
        let elements = lowered::elements(call, tensors, &self.model.operators)?;
        let number = |x: Scalar| T::convert(x, 0.0, x.dtype());
        Some(elements.into_iter().map(number).collect())
    }

    /// An expression as a tensor.
    fn tensor<T: Number>(&mut self, expr: &Expr) -> Option<Tensor> {
        if let Op::Tensor(id) = expr.op
            && !self.done.contains_key(&id)
        {
            return self.instance.tensors.get(&self.model.tensor(id).name).cloned();
        }
        let elements: Vec<T> = self.whole(expr)?;
        let data =
            Data::held(expr.dtype, elements.into_iter().map(|x| x.value().0.cast(expr.dtype)));
        Some(Tensor { dtype: expr.dtype, shape: self.extents(expr)?, data })
    }

    /// The positions that an input holds.
    fn positions(&self, id: TensorId) -> Option<Vec<i64>> {
        let tensor = self.instance.tensors.get(&self.model.tensor(id).name)?;
        (0..tensor.len()).map(|i| tensor.get(i)?.as_i64()).collect()
    }
}
