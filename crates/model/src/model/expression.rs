//! Expressions: what a statement computes, as a tree of operators on whole tensors, checked and with
//! the type and shape of every part. What they mean is defined by [`crate::reference`].

use super::Extent;
use ember_language::diagnostic::Span;
use ember_values::scalar::{BinaryOp, DType, Scalar};

/// A tensor of a model by its position among the inputs and, after them, the computed tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorId(pub usize);

/// An operator with its operands, its element type and its extents.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The operator and its operands.
    pub op: Op,
    /// The element type of the result.
    pub dtype: DType,
    /// The extents of the result, 1 to 3 of them.
    pub shape: Vec<Extent>,
    /// Where it is written.
    pub span: Span,
}

/// The operators. Operands that need not be stored are expressions; the others are tensors, and
/// indices and offsets are inputs.
#[derive(Clone, Debug)]
pub enum Op {
    /// A tensor itself.
    Tensor(TensorId),
    /// `emb.bag`: `[bags, d]`, each row combining the rows of one bag.
    Bag {
        /// How rows are combined.
        mode: Mode,
        /// `[rows, d]`.
        table: Box<Expr>,
        /// The lookups' rows.
        indices: TensorId,
        /// The bags' starts and the last one's end.
        offsets: TensorId,
        /// The lookups' factors.
        weights: Option<TensorId>,
    },
    /// `emb.gather`: `[lookups, d]`, each row one row of the table.
    Gather {
        /// `[rows, d]`.
        table: Box<Expr>,
        /// The lookups' rows.
        indices: TensorId,
    },
    /// `emb.spmm`: a sparse matrix in CSR times a dense one, `[bags, d]`.
    Spmm {
        /// The dense matrix, `[columns, d]`.
        table: Box<Expr>,
        /// The columns of the sparse matrix's elements.
        indices: TensorId,
        /// Its rows' starts and the last one's end.
        offsets: TensorId,
        /// Its elements.
        values: TensorId,
    },
    /// `emb.sddmm`: for each edge the inner product of a row of either, `[edges]`.
    Sddmm {
        /// The rows of the edges' first ends, `[bags, d]`.
        left: Box<Expr>,
        /// The rows of their second ends, `[nodes, d]`.
        right: Box<Expr>,
        /// The edges' second ends.
        indices: TensorId,
        /// Where the edges of each first end start and the last ones end.
        offsets: TensorId,
    },
    /// `emb.mp`: message passing, the spmm whose values are an edge function of an sddmm.
    Mp {
        /// The edge function.
        edge: Edge,
        /// As of [`Op::Sddmm`].
        left: Box<Expr>,
        /// As of [`Op::Sddmm`]; also the rows that are added up.
        right: Box<Expr>,
        /// The edges' second ends.
        indices: TensorId,
        /// Where the edges of each first end start and the last ones end.
        offsets: TensorId,
        /// A computed tensor, `[edges]`, that programs may keep edge values in.
        scratch: TensorId,
    },
    /// `emb.kg`: the scores of triples, `[triples]`; a higher one is better.
    Kg {
        /// The score.
        score: Score,
        /// `[entities, d]`.
        entities: Box<Expr>,
        /// `[relations, d]`.
        relations: Box<Expr>,
        /// The row of each triple's head among the entities.
        heads: TensorId,
        /// The row of its relation.
        rels: TensorId,
        /// The row of its tail among the entities.
        tails: TensorId,
    },
    /// `emb.block_gather`: blocks of rows copied, `[n, B, d]` for indices `[n]`, and one after
    /// another in `[q, j B, d]` for indices `[q, j]`.
    BlockGather {
        /// `[blocks, B, d]`.
        table: Box<Expr>,
        /// The blocks.
        indices: TensorId,
    },
    /// `emb.dequantise`: integers times their row's scale plus its bias, in f32.
    Dequantise {
        /// The integers, `[rows, d]`.
        codes: TensorId,
        /// Scale and bias of each row, `[rows, 2]`.
        scales: TensorId,
    },
    /// `nn.cast`: conversion to the type of the result.
    Cast(Box<Expr>),
    /// `nn.relu`, `nn.sigmoid`, `nn.exp`.
    Unary(Unary, Box<Expr>),
    /// `nn.add`, `nn.sub`, `nn.mul` of two tensors of one shape.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `nn.scale`: times a number.
    Scale(Scalar, Box<Expr>),
    /// `nn.bias`: plus a vector, in every row.
    Bias(Box<Expr>, TensorId),
    /// `nn.row_sum`, `nn.row_max`: the last dimension folded by an operation.
    Row(BinaryOp, Box<Expr>),
    /// `nn.sub_rows`, `nn.div_rows`: an operation with one number for each row.
    Rows(BinaryOp, Box<Expr>, Box<Expr>),
    /// `nn.matmul`: `[m, k]` times `[k, n]`, either with a batch in front; transposed, the second
    /// is `[n, k]`.
    Matmul {
        /// The first.
        a: TensorId,
        /// The second, of rank 2 or with the batch of the first.
        b: TensorId,
        /// `nn.matmul_t`: the second is given transposed.
        transposed: bool,
    },
    /// `nn.triangle`: what stands under the diagonal of each of a batch of matrices, by rows.
    Triangle(Box<Expr>),
}

/// How a bag combines its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// Added in order, from +0.0.
    Sum,
    /// The sum divided by the number of rows; 0 where there are none.
    Mean,
    /// IEEE 754-2019 maximum; 0 where there are no rows.
    Max,
}

/// What message passing makes of an inner product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Edge {
    /// Itself.
    Identity,
    /// Nothing below 0.
    Relu,
    /// The logistic function.
    Sigmoid,
    /// The exponential.
    Exp,
}

/// How triples of a knowledge graph are scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Score {
    /// Translation: minus the 1-norm of head + relation - tail.
    TransE,
    /// The sum of the products of the three.
    DistMult,
    /// The real part of the same with complex numbers and the tail's conjugate.
    ComplEx,
    /// Rotation: minus the sum of the moduli of head times relation minus tail, all complex.
    RotatE,
}

/// A function of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unary {
    /// Nothing below 0.
    Relu,
    /// The logistic function.
    Sigmoid,
    /// The exponential.
    Exp,
}

macro_rules! names {
    ($type:ident, $prefix:literal, $what:literal, $($variant:ident $name:literal),*) => {
        impl $type {
            #[doc = concat!("Every ", $what, ".")]
            pub const ALL: [$type; [$($name),*].len()] = [$($type::$variant),*];

            #[doc = concat!("The name in model files; terms write `", $prefix, "` before it.")]
            pub fn name(self) -> &'static str {
                match self { $($type::$variant => $name),* }
            }
        }
    };
}

names!(Mode, "mode.", "mode", Sum "sum", Mean "mean", Max "max");
names!(Edge, "edge.", "edge function", Identity "identity", Relu "relu", Sigmoid "sigmoid", Exp "exp");
names!(Score, "score.", "score", TransE "transe", DistMult "distmult", ComplEx "complex", RotatE "rotate");
names!(Unary, "nn.", "function", Relu "relu", Sigmoid "sigmoid", Exp "exp");

impl Score {
    /// Whether rows hold complex numbers: the real parts in the first half, the imaginary ones in
    /// the second.
    pub fn is_complex(self) -> bool {
        matches!(self, Score::ComplEx | Score::RotatE)
    }
}

impl Expr {
    /// The operands that are expressions, in their order.
    pub fn operands(&self) -> Vec<&Expr> {
        match &self.op {
            Op::Tensor(_) | Op::Dequantise { .. } | Op::Matmul { .. } => Vec::new(),
            Op::Bag { table, .. }
            | Op::Gather { table, .. }
            | Op::Spmm { table, .. }
            | Op::BlockGather { table, .. } => vec![table],
            Op::Sddmm { left, right, .. } | Op::Mp { left, right, .. } => vec![left, right],
            Op::Kg { entities, relations, .. } => vec![entities, relations],
            Op::Cast(x)
            | Op::Unary(_, x)
            | Op::Scale(_, x)
            | Op::Bias(x, _)
            | Op::Row(_, x)
            | Op::Triangle(x) => vec![x],
            Op::Binary(_, a, b) | Op::Rows(_, a, b) => vec![a, b],
        }
    }

    /// The tensors that this operator itself reads, in their order, without those of its operands.
    pub fn tensors(&self) -> Vec<TensorId> {
        match &self.op {
            Op::Tensor(x) | Op::Bias(_, x) => vec![*x],
            Op::Bag { indices, offsets, weights, .. } => {
                [Some(*indices), Some(*offsets), *weights].into_iter().flatten().collect()
            }
            Op::Gather { indices, .. } | Op::BlockGather { indices, .. } => vec![*indices],
            Op::Spmm { indices, offsets, values, .. } => vec![*indices, *offsets, *values],
            Op::Sddmm { indices, offsets, .. } | Op::Mp { indices, offsets, .. } => {
                vec![*indices, *offsets]
            }
            Op::Kg { heads, rels, tails, .. } => vec![*heads, *rels, *tails],
            Op::Dequantise { codes, scales } => vec![*codes, *scales],
            Op::Matmul { a, b, .. } => vec![*a, *b],
            Op::Cast(_)
            | Op::Unary(..)
            | Op::Binary(..)
            | Op::Scale(..)
            | Op::Row(..)
            | Op::Rows(..)
            | Op::Triangle(_) => Vec::new(),
        }
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

    /// The tensor that the rows come from, looking through casts, which is what messages name.
    pub fn source(&self) -> Option<TensorId> {
        match &self.op {
            Op::Tensor(x) | Op::Dequantise { codes: x, .. } => Some(*x),
            Op::Cast(x) => x.source(),
            _ => None,
        }
    }
}
