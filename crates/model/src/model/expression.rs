//! Expressions: the value of a statement as a checked tree of operations on whole tensors, with the type and shape of
//! every part. [`crate::reference`] defines their meaning.

use super::Extent;
use ember_language::diagnostic::Span;
use ember_values::operation::{Element, Kernel, Mode, Operand, Operation, Reads, Role};
use ember_values::scalar::{DType, Scalar};
use itertools::Itertools;
use std::borrow::Cow;
use std::fmt::Write;

/// A tensor of a model, as its position among the inputs followed by the computed tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorId(pub usize);

/// A tensor that is computed or stored, with its element type and extents.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The computation.
    pub op: Op,
    /// The element type.
    pub dtype: DType,
    /// The extents, 1 to 3 of them.
    pub shape: Vec<Extent>,
    /// The span in the model file.
    pub span: Span,
}

/// The computation of a tensor.
#[derive(Clone, Debug)]
pub enum Op {
    /// A stored tensor.
    Tensor(TensorId),
    /// An operation.
    Apply(Applied),
}

/// An operation with its operands.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The row of the table.
    pub operation: Cow<'static, Operation>,
    /// The operands in the order of the row.
    pub arguments: Vec<Argument>,
}

/// An operand.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A tensor. It is a stored one if the role requires storage, and an input for indices and offsets.
    Tensor(Expr),
    /// A word, as its position among the words of the row.
    Word(usize),
    /// An element type.
    DType(DType),
    /// A number.
    Number(Scalar),
}

impl Applied {
    /// Returns the kernel that computes the operation.
    pub fn kernel(&self) -> Kernel {
        self.operation.kernel
    }

    /// Finds an operand by its name in the row.
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        self.arguments.get(self.operation.place(name)?)
    }

    /// Finds an operand that is a tensor, possibly computed in place.
    pub fn value(&self, name: &str) -> Option<&Expr> {
        match self.argument(name)? {
            Argument::Tensor(expr) => Some(expr),
            _ => None,
        }
    }

    /// Finds an operand that is stored: a tensor, an input of positions or scratch memory.
    pub fn stored(&self, name: &str) -> Option<TensorId> {
        self.value(name)?.stored()
    }

    /// Returns the word of an operand.
    pub fn word<T: Copy>(&self, name: &str, words: &[T]) -> Option<T> {
        match self.argument(name)? {
            Argument::Word(at) => words.get(*at).copied(),
            _ => None,
        }
    }

    /// Returns the number of an operand.
    pub fn number(&self, name: &str) -> Option<Scalar> {
        match self.argument(name)? {
            Argument::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the mode that combines the rows of a bag; `None` if there are no bags.
    pub fn mode(&self) -> Option<Mode> {
        let given = self.word("mode", Mode::ALL);
        given.or_else(|| self.argument("offsets").map(|_| Mode::Sum))
    }

    /// Iterates over the operands that are tensors, with their rows' operand declarations, in the order of the row.
    pub fn tensors(&self) -> impl Iterator<Item = (&Operand, &Expr)> {
        self.operation.operands.iter().zip(&self.arguments).filter_map(|(operand, argument)| {
            match argument {
                Argument::Tensor(expr) => Some((operand, expr)),
                _ => None,
            }
        })
    }
}

impl Expr {
    /// Returns the operation that computes the tensor; `None` if it is stored.
    pub fn applied(&self) -> Option<&Applied> {
        match &self.op {
            Op::Apply(applied) => Some(applied),
            Op::Tensor(_) => None,
        }
    }

    /// Returns the kernel that computes the tensor; `None` if it is stored.
    pub fn kernel(&self) -> Option<Kernel> {
        self.applied().map(Applied::kernel)
    }

    /// Returns the stored tensor; `None` if it is computed.
    pub fn stored(&self) -> Option<TensorId> {
        match self.op {
            Op::Tensor(id) => Some(id),
            Op::Apply(_) => None,
        }
    }

    /// Returns the cost class of one element.
    pub fn element(&self) -> Element {
        self.applied().map_or(Element::Cheap, |applied| applied.operation.element)
    }

    /// Returns the operands that are expressions, in order.
    pub fn operands(&self) -> Vec<&Expr> {
        self.of_role(|role| matches!(role, Role::Tensor(..)))
    }

    /// Returns the tensors that the operation itself reads, in order, without the ones that its operands read.
    pub fn tensors(&self) -> Vec<TensorId> {
        let positions =
            |role: &Role| matches!(role, Role::Stored(_) | Role::Indices(..) | Role::Offsets(_));
        let own = self.of_role(positions).into_iter().filter_map(Expr::stored);
        self.stored().into_iter().chain(own).collect()
    }

    /// Returns the scratch tensors that programs may use for the operation.
    pub fn scratch(&self) -> Vec<TensorId> {
        let scratch = self.of_role(|role| matches!(role, Role::Scratch(_)));
        scratch.into_iter().filter_map(Expr::stored).collect()
    }

    fn of_role(&self, fits: impl Fn(&Role) -> bool) -> Vec<&Expr> {
        let tensors = self.applied().into_iter().flat_map(Applied::tensors);
        tensors.filter(|(operand, _)| fits(&operand.role)).map(|(_, expr)| expr).collect()
    }

    /// Iterates over this expression and all expressions within it, each before its operands.
    pub fn walk(&self) -> impl Iterator<Item = &Expr> {
        let mut open = vec![self];
        std::iter::from_fn(move || {
            let next = open.pop()?;
            open.extend(next.operands().into_iter().rev());
            Some(next)
        })
    }

    /// Returns a text that is the same for equal expressions only. It names no scratch memory.
    pub fn key(&self) -> String {
        let mut key = String::new();
        self.add_key(&mut key);
        key
    }

    fn add_key(&self, key: &mut String) {
        let Op::Apply(applied) = &self.op else {
            let _ = write!(key, " {:?}", self.op);
            return;
        };
        let _ = write!(key, " ({}", applied.operation.name);
        for (operand, argument) in applied.operation.operands.iter().zip(&applied.arguments) {
            match argument {
                Argument::Tensor(_) if matches!(operand.role, Role::Scratch(_)) => {}
                Argument::Tensor(x) => x.add_key(key),
                Argument::Number(number) => {
                    let _ = write!(key, " {number:?}");
                }
                Argument::Word(_) | Argument::DType(_) => {
                    let _ = write!(key, " {argument:?}");
                }
            }
        }
        key.push(')');
    }

    /// Returns the tensor that the rows originate from, through conversions, for use in messages.
    pub fn source(&self) -> Option<TensorId> {
        let Op::Apply(applied) = &self.op else { return self.stored() };
        match applied.kernel() {
            Kernel::Convert => applied.value("x")?.source(),
            Kernel::Dequantise => applied.stored("codes"),
            _ => None,
        }
    }

    /// Returns the tensors in memory of which a row is read for a row of this one: itself, or those that it is an
    /// elementwise function of. Tensors that all rows share are not among them.
    pub fn by_row(&self) -> Vec<TensorId> {
        let Op::Apply(applied) = &self.op else { return self.stored().into_iter().collect() };
        if !applied.kernel().is_elementwise() {
            return Vec::new();
        }
        let own = |operand: &Operand| {
            matches!(operand.role, Role::Tensor(_, Reads::Once))
                || applied.kernel() == Kernel::Dequantise
        };
        let operands = applied.tensors().filter(|(operand, _)| own(operand));
        operands.flat_map(|(_, operand)| operand.by_row()).unique().collect()
    }
}
