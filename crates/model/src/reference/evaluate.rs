//! The evaluation of statements in order. Elementwise operators are evaluated when their elements are read, so that a
//! table may be larger than memory. The other operators are evaluated on whole tensors.

use super::bounded::Bounded;
use super::element::{Kept, Number};
use crate::data::Instance;
use crate::model::{Expr, Kind, Model, Op, Part, Statement, TensorId};
use ember_targets::tensor::{Data, Tensor};
use ember_values::operation::{Function, Kernel};
use ember_values::scalar::{BinaryOp, DType, Scalar};
use std::any::Any;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

/// The number types that represent the floating-point types.
pub(super) trait Mode {
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
            DType::F16 | DType::BF16 | DType::U8 | DType::U4 => $self.$method::<Kept>($($arg),*),
        }
    };
}

/// The computed elements of a tensor: a vector of the numbers of their type.
type Held = Arc<dyn Any + Send + Sync>;

/// A tensor whose elements are computed when they are read.
pub(super) enum Lazy {
    Input(Tensor),
    Held(Held),
    Convert(DType, Box<Source>),
    Map(Function, Box<Source>),
    Zip(BinaryOp, Box<Source>, Box<Source>),
    Scale(Scalar, Box<Source>),
    Bias(Box<Source>, Box<Source>),
    ByRow(BinaryOp, Box<Source>, Box<Source>),
    Dequantise(Box<Source>, Box<Source>),
}

/// A lazy tensor with its type and shape.
pub(super) struct Source {
    lazy: Lazy,
    dtype: DType,
    pub(super) shape: Vec<u64>,
}

impl Source {
    /// Returns the number of elements in a row, which is the extent of the last dimension.
    pub(super) fn columns(&self) -> usize {
        self.shape.last().map_or(1, |n| *n as usize)
    }

    pub(super) fn len(&self) -> usize {
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

    /// Returns the computed tensors by name, without scratch memory.
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
        let computed = self.model.computed.iter().enumerate();
        let mut all = BTreeMap::new();
        for (i, computed) in computed.filter(|(_, c)| c.kind != Kind::Scratch) {
            let id = TensorId(self.model.inputs.len() + i);
            let (held, dtype) = (self.done.get(&id)?, computed.tensor.dtype);
            let shape = self.shape(id)?;
            let numbers = typed!(dtype, self.numbers(held))?;
            let made = make(dtype, shape, &mut numbers.into_iter());
            all.insert(computed.tensor.name.clone(), made);
        }
        Some(all)
    }

    fn numbers<T: Number>(&self, held: &Held) -> Option<Vec<(Scalar, f64)>> {
        Some(held.downcast_ref::<Vec<T>>()?.iter().map(|x| x.value()).collect())
    }

    /// Returns the concrete shape of a tensor.
    pub(super) fn shape(&self, id: TensorId) -> Option<Vec<u64>> {
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
    pub(super) fn whole<T: Number>(&mut self, expr: &Expr) -> Option<Vec<T>> {
        let Some(call) = expr.applied() else { return self.each_element(expr) };
        match call.kernel() {
            Kernel::Rows => self.bag(call, expr.dtype),
            Kernel::Edges => self.edges(call, expr.dtype),
            Kernel::Triples => self.triples(call),
            Kernel::Blocks => self.blocks(call),
            Kernel::Fold(op) => self.fold(op, call.value("x")?),
            Kernel::Product { transposed } => {
                self.product(call.stored("a")?, call.stored("b")?, transposed)
            }
            Kernel::Triangle => self.triangle(call.value("x")?),
            Kernel::Dequantise
            | Kernel::Convert
            | Kernel::Map(_)
            | Kernel::Zip(_)
            | Kernel::Scale
            | Kernel::Bias
            | Kernel::ByRow(_) => self.each_element(expr),
        }
    }

    /// Evaluates every element of an expression whose elements can be computed independently.
    fn each_element<T: Number>(&mut self, expr: &Expr) -> Option<Vec<T>> {
        let source = self.source(expr)?;
        let (n, columns) = (source.len(), source.columns());
        let mut out = vec![T::ZERO; n];
        for (i, row) in out.chunks_exact_mut(columns.max(1)).enumerate() {
            self.read(&source, i * columns, row)?;
        }
        Some(out)
    }

    /// Prepares an expression for reading element by element.
    pub(super) fn source(&mut self, expr: &Expr) -> Option<Source> {
        let call = match &expr.op {
            Op::Tensor(id) => return self.stored(*id),
            Op::Apply(call) => call,
        };
        let mut of = |name: &str| self.source(call.value(name)?).map(Box::new);
        let lazy = match call.kernel() {
            Kernel::Dequantise => Lazy::Dequantise(of("codes")?, of("scales")?),
            Kernel::Convert => Lazy::Convert(expr.dtype, of("x")?),
            Kernel::Map(function) => Lazy::Map(function, of("x")?),
            Kernel::Zip(op) => Lazy::Zip(op, of("a")?, of("b")?),
            Kernel::Scale => Lazy::Scale(call.number("by")?, of("x")?),
            Kernel::Bias => Lazy::Bias(of("x")?, of("bias")?),
            Kernel::ByRow(op) => Lazy::ByRow(op, of("x")?, of("numbers")?),
            _ => Lazy::Held(typed!(expr.dtype, self.held(expr))?),
        };
        let shape: Option<_> = expr.shape.iter().map(|e| e.value(&self.instance.sizes)).collect();
        Some(Source { lazy, dtype: expr.dtype, shape: shape? })
    }

    fn held<T: Number>(&mut self, expr: &Expr) -> Option<Held> {
        self.whole::<T>(expr).map(|made| Arc::new(made) as Held)
    }

    /// Returns a stored tensor: an input or a computed tensor.
    pub(super) fn stored(&self, id: TensorId) -> Option<Source> {
        let tensor = self.instance.tensors.get(&self.model.tensor(id).name)?;
        let lazy = match self.done.get(&id) {
            Some(held) => Lazy::Held(held.clone()),
            None => Lazy::Input(tensor.clone()),
        };
        Some(Source { lazy, dtype: tensor.dtype, shape: tensor.shape.clone() })
    }

    /// Reads elements of one row, starting at a row-major position.
    pub(super) fn read<T: Number>(
        &self,
        source: &Source,
        start: usize,
        out: &mut [T],
    ) -> Option<()> {
        let columns = source.columns().max(1);
        match &source.lazy {
            Lazy::Input(tensor) => T::read(tensor, start as u64, out)?,
            Lazy::Held(held) => {
                let held = held.downcast_ref::<Vec<T>>()?;
                out.copy_from_slice(held.get(start..start.checked_add(out.len())?)?);
            }
            Lazy::Convert(dtype, x) => typed!(x.dtype, self.converted(x, start, *dtype, out))?,
            Lazy::Map(function, x) => {
                self.read(x, start, out)?;
                out.iter_mut().for_each(|x| *x = T::map(*function, *x, source.dtype));
            }
            Lazy::Zip(op, a, b) => {
                self.read(a, start, out)?;
                let other = self.run_of::<T>(b, start, out.len())?;
                out.iter_mut().zip(other).for_each(|(a, b)| *a = T::apply(*op, *a, b));
            }
            Lazy::Scale(by, x) => {
                self.read(x, start, out)?;
                let by = T::convert(*by, 0.0, source.dtype);
                out.iter_mut().for_each(|x| *x = by.mul(*x));
            }
            Lazy::Bias(x, bias) => {
                self.read(x, start, out)?;
                let bias = self.run_of::<T>(bias, start % columns, out.len())?;
                out.iter_mut().zip(bias).for_each(|(x, b)| *x = x.add(b));
            }
            Lazy::ByRow(op, x, numbers) => {
                self.read(x, start, out)?;
                let by = self.run_of::<T>(numbers, start / columns, 1)?[0];
                out.iter_mut().for_each(|x| *x = T::apply(*op, *x, by));
            }
            Lazy::Dequantise(codes, scales) => {
                typed!(codes.dtype, self.converted(codes, start, source.dtype, out))?;
                let row = self.run_of::<T>(scales, start / columns * 2, 2)?;
                out.iter_mut().for_each(|x| *x = x.mul(row[0]).add(row[1]));
            }
        }
        Some(())
    }

    /// Reads elements into a vector.
    pub(super) fn run_of<T: Number>(
        &self,
        source: &Source,
        start: usize,
        n: usize,
    ) -> Option<Vec<T>> {
        let mut run = vec![T::ZERO; n];
        self.read(source, start, &mut run)?;
        Some(run)
    }

    /// Reads elements of one type into a buffer of another.
    fn converted<S: Number>(
        &self,
        source: &Source,
        start: usize,
        to: DType,
        out: &mut [impl Number],
    ) -> Option<()> {
        let run = self.run_of::<S>(source, start, out.len())?;
        for (to_fill, x) in out.iter_mut().zip(run) {
            let (x, error) = x.value();
            *to_fill = Number::convert(x, error, to);
        }
        Some(())
    }

    /// Returns the positions in an input; checked instances have no negative ones.
    pub(super) fn positions(&self, id: TensorId) -> Option<Vec<usize>> {
        let tensor = self.instance.tensors.get(&self.model.tensor(id).name)?;
        let position = |i| tensor.get(i)?.as_i64().and_then(|x| usize::try_from(x).ok());
        (0..tensor.len()).map(position).collect()
    }
}
