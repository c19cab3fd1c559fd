//! Expressions: what a statement computes, as a tree of operations on whole tensors, checked and with
//! the type and shape of every part. What they mean is defined by [`crate::reference`].

use super::Extent;
use ember_language::diagnostic::Span;
use ember_values::operation::{Element, Kernel, Mode, Operand, Operation, Role};
use ember_values::scalar::{DType, Scalar};
use std::borrow::Cow;

/// A tensor of a model by its position among the inputs and, after them, the computed tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorId(pub usize);

/// A tensor that is computed or stored, with its element type and extents.
#[derive(Clone, Debug)]
pub struct Expr {
    /// How it is computed.
    pub op: Op,
    /// The element type.
    pub dtype: DType,
    /// The extents, 1 to 3 of them.
    pub shape: Vec<Extent>,
    /// Where it is written.
    pub span: Span,
}

/// How a tensor is computed.
#[derive(Clone, Debug)]
pub enum Op {
    /// It is stored.
    Tensor(TensorId),
    /// By an operation.
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
    /// A tensor: what is stored is a stored one, indices and offsets are inputs.
    Tensor(Expr),
    /// A word, by its place among the words of the row.
    Word(usize),
    /// An element type.
    DType(DType),
    /// A number.
    Number(Scalar),
}

impl Applied {
    /// What computes it.
    pub fn kernel(&self) -> Kernel {
        self.operation.kernel
    }

    /// An operand by its name in the row.
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        self.arguments.get(self.operation.place(name)?)
    }

    /// An operand that is a tensor, perhaps computed in place.
    pub fn value(&self, name: &str) -> Option<&Expr> {
        match self.argument(name)? {
            Argument::Tensor(expr) => Some(expr),
            _ => None,
        }
    }

    /// An operand that is stored, an input of positions or scratch memory.
    pub fn stored(&self, name: &str) -> Option<TensorId> {
        self.value(name)?.stored()
    }

    /// The word that an operand is.
    pub fn word<T: Copy>(&self, name: &str, words: &[T]) -> Option<T> {
        match self.argument(name)? {
            Argument::Word(at) => words.get(*at).copied(),
            _ => None,
        }
    }

    /// The number that an operand is.
    pub fn number(&self, name: &str) -> Option<Scalar> {
        match self.argument(name)? {
            Argument::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// How the rows of a bag are combined; nothing, if there are no bags.
    pub fn mode(&self) -> Option<Mode> {
        let given = self.word("mode", Mode::ALL);
        given.or_else(|| self.argument("offsets").map(|_| Mode::Sum))
    }

    /// The tensors among the operands with what they are to the operation, in the order of the row.
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
    /// The operation that computes it, unless it is stored.
    pub fn applied(&self) -> Option<&Applied> {
        match &self.op {
            Op::Apply(applied) => Some(applied),
            Op::Tensor(_) => None,
        }
    }

    /// The kernel that computes it, unless it is stored.
    pub fn kernel(&self) -> Option<Kernel> {
        self.applied().map(Applied::kernel)
    }

    /// The tensor that it is, if it is stored.
    pub fn stored(&self) -> Option<TensorId> {
        match self.op {
            Op::Tensor(id) => Some(id),
            Op::Apply(_) => None,
        }
    }

    /// What one element of it takes.
    pub fn element(&self) -> Element {
        self.applied().map_or(Element::Cheap, |applied| applied.operation.element)
    }

    /// The operands that are expressions, in their order.
    pub fn operands(&self) -> Vec<&Expr> {
        self.of_role(|role| matches!(role, Role::Tensor(..)))
    }

    /// The tensors that it reads itself, in their order, without those of its operands.
    pub fn tensors(&self) -> Vec<TensorId> {
        let positions =
            |role: &Role| matches!(role, Role::Stored(_) | Role::Indices(..) | Role::Offsets(_));
        let own = self.of_role(positions).into_iter().filter_map(Expr::stored);
        self.stored().into_iter().chain(own).collect()
    }

    /// The tensors that programs may use as memory for it.
    pub fn scratch(&self) -> Vec<TensorId> {
        let scratch = self.of_role(|role| matches!(role, Role::Scratch));
        scratch.into_iter().filter_map(Expr::stored).collect()
    }

    fn of_role(&self, fits: impl Fn(&Role) -> bool) -> Vec<&Expr> {
        let tensors = self.applied().into_iter().flat_map(Applied::tensors);
        tensors.filter(|(operand, _)| fits(&operand.role)).map(|(_, expr)| expr).collect()
    }

    /// This expression and all within it, each before its operands.
    pub fn walk(&self) -> impl Iterator<Item = &Expr> {
        let mut open = vec![self];
        std::iter::from_fn(move || {
            let next = open.pop()?;
            open.extend(next.operands().into_iter().rev());
            Some(next)
        })
    }

    /// The tensor that the rows come from, through conversions, which is what messages name.
    pub fn source(&self) -> Option<TensorId> {
        let Op::Apply(applied) = &self.op else { return self.stored() };
        match applied.kernel() {
            Kernel::Convert => applied.value("x")?.source(),
            Kernel::Dequantise => applied.stored("codes"),
            _ => None,
        }
    }
}
