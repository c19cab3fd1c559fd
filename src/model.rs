//! Models: what is computed, on which tensors, and where their data comes from.
//!
//! ```text
//! (model embedding_bag
//!   (input table   f32 (rows 64))        ; name, element type, extents: a number, a size's name,
//!   (input indices i64 (lookups))        ; or a size and a number added
//!   (input offsets i64 ((+ bags 1)))     ; `bags+1` says the same
//!   (output out (emb.bag sum table indices offsets))
//!   (data (seed 1) (size rows 1000000) (size bags 256)
//!     (table (uniform -1.0 1.0)) (offsets (ragged (mean 80) (empty 0.05))) (indices (zipf 1.05))))
//! ```
//!
//! A [`Model`] is a checked declaration. Its data is made, or read from files, by
//! [`Model::instantiate`]; this module knows how data is described, not how it is made.

mod operation;
mod read;
mod source;

use crate::data::Locality;
use crate::diagnostic::{Checked, FileId, Sources, Span};
use crate::term::{Node, Term};
use egg::{Id, RecExpr};
use ember_targets::dlc::{Dim, SizeId, TensorDecl};
use ember_targets::scalar::{DType, Scalar};
use ember_targets::tensor::Data;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// A checked model: one operation, its inputs and output, and the description of their data.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// The inputs in the order of their declaration. Each is used once.
    pub inputs: Vec<Input>,
    /// The output.
    pub output: Output,
    /// Where the inputs' data comes from.
    pub data: DataSpec,
    /// Hand-written programs that compute the same, to compare with.
    pub programs: Vec<HandWritten>,
}

/// A hand-written program for a model.
#[derive(Clone, Debug)]
pub struct HandWritten {
    /// What it is called in reports.
    pub name: String,
    /// The file of its DLC text.
    pub path: PathBuf,
    /// Where it is named.
    pub span: Span,
}

/// An input tensor.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its name, unlike that of any other tensor or size.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// Its extents.
    pub shape: Vec<Extent>,
    /// What the operation uses it as.
    pub role: Role,
    /// Where it is named.
    pub span: Span,
    /// Where each extent is written.
    pub extent_spans: Vec<Span>,
}

/// One extent of a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A number.
    Const(u64),
    /// A size known with the data, with a number added.
    Size {
        /// The size's name.
        name: String,
        /// What is added.
        plus: u64,
    },
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Const(n) => write!(f, "{n}"),
            Extent::Size { name, plus: 0 } => f.write_str(name),
            Extent::Size { name, plus } => write!(f, "{name}+{plus}"),
        }
    }
}

impl Extent {
    /// Its value where the sizes give it one that fits `u64`.
    pub fn value(&self, sizes: &BTreeMap<String, u64>) -> Option<u64> {
        match self {
            Extent::Const(n) => Some(*n),
            Extent::Size { name, plus } => sizes.get(name)?.checked_add(*plus),
        }
    }
}

/// What an operation uses an input as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Rows to be looked up, of rank 2.
    Table,
    /// The row of each lookup, of rank 1.
    Indices,
    /// Where each bag starts and the last one ends, of rank 1: from 0, never falling, to the number
    /// of lookups.
    Offsets,
    /// A factor for each lookup, of rank 1 and the table's element type.
    Weights,
}

impl Role {
    /// How messages call an input of this role.
    pub fn name(self) -> &'static str {
        match self {
            Role::Table => "a table",
            Role::Indices => "indices",
            Role::Offsets => "offsets",
            Role::Weights => "weights",
        }
    }

    /// Whether its elements are positions, and so integers that are checked before a run.
    pub fn is_index(self) -> bool {
        matches!(self, Role::Indices | Role::Offsets)
    }
}

/// The output tensor.
#[derive(Clone, Debug)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// Its element type, the table's.
    pub dtype: DType,
    /// Its extents.
    pub shape: Vec<Extent>,
    /// What it is computed by.
    pub operation: Operation,
    /// Where it is named.
    pub span: Span,
}

/// An operation on inputs, which are given by their positions in [`Model::inputs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `emb.bag`: each row of the output combines the rows of one bag.
    Bag {
        /// How rows are combined.
        mode: Mode,
        /// The table.
        table: usize,
        /// The lookups' rows.
        indices: usize,
        /// The bags' starts and the last one's end.
        offsets: usize,
        /// The lookups' factors.
        weights: Option<usize>,
    },
    /// `emb.gather`: each row of the output is one row of the table.
    Gather {
        /// The table.
        table: usize,
        /// The lookups' rows.
        indices: usize,
    },
}

impl Operation {
    /// The table's position.
    pub fn table(self) -> usize {
        match self {
            Operation::Bag { table, .. } | Operation::Gather { table, .. } => table,
        }
    }

    /// The indices' position.
    pub fn indices(self) -> usize {
        match self {
            Operation::Bag { indices, .. } | Operation::Gather { indices, .. } => indices,
        }
    }

    /// The offsets' position, for an operation on bags.
    pub fn offsets(self) -> Option<usize> {
        match self {
            Operation::Bag { offsets, .. } => Some(offsets),
            Operation::Gather { .. } => None,
        }
    }
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

impl Mode {
    /// Every mode.
    pub const ALL: [Mode; 3] = [Mode::Sum, Mode::Mean, Mode::Max];

    /// The name in model files; terms write `mode.` before it.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Sum => "sum",
            Mode::Mean => "mean",
            Mode::Max => "max",
        }
    }
}

/// Where the data of a model comes from.
#[derive(Clone, Debug)]
pub struct DataSpec {
    /// The seed, unless another is given for a run.
    pub seed: u64,
    /// Sizes that are given, and where.
    pub sizes: BTreeMap<String, (u64, Span)>,
    /// The sources of the inputs that have one, by name, and where they are written.
    pub sources: BTreeMap<String, (Source, Span)>,
    /// The folder that the paths of data files start from: the model file's.
    pub directory: PathBuf,
}

/// Where one input's elements come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// `(uniform LO HI)`: uniform between the two, the second excluded.
    Uniform {
        /// The least value.
        lo: f64,
        /// The bound that values stay below.
        hi: f64,
    },
    /// `(constant X)`: the same everywhere.
    Constant(Scalar),
    /// `(values X …)`: written out, rows in parentheses.
    Values(Values),
    /// `(file "PATH")` or `(file "PATH" "TENSOR")`: read from an `.npy` or `.safetensors` file.
    File {
        /// The path, from the folder of the model file.
        path: PathBuf,
        /// The tensor in a `.safetensors` file; the input's name unless given.
        tensor: Option<String>,
    },
    /// `(ragged (mean M) (empty P))`, for offsets: see [`crate::data`].
    Ragged {
        /// The mean number of lookups of a bag.
        mean: f64,
        /// The probability that a bag is empty.
        empty: f64,
    },
    /// `(zipf S)`, for indices: the k-th most frequent row has a frequency in proportion to
    /// `1 / k^S`; 0 is uniform.
    Zipf {
        /// S.
        exponent: f64,
    },
    /// `(locality low|medium|high)`, for indices: by the distribution of reuse distances.
    Locality(Locality),
}

/// Elements written in the model file.
#[derive(Clone, Debug)]
pub struct Values {
    /// The elements in row-major order.
    pub data: Data,
    /// The extents; those inside an empty one are not known.
    pub shape: Vec<Option<u64>>,
    /// Where each element is written.
    pub spans: Vec<Span>,
}

/// The tensors and sizes that a program for a model declares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declarations {
    /// The inputs in order, then the output, which alone is writable.
    pub tensors: Vec<TensorDecl>,
    /// The names of the sizes that extents mention. An extent with a number added is a size of its
    /// own, such as `bags+1`.
    pub sizes: Vec<String>,
}

impl Model {
    /// Reads the one model of a text, and reports all that is wrong with it.
    pub fn parse(sources: &Sources, file: FileId) -> Checked<Model> {
        read::read(sources, file)
    }

    /// The statement that computes the output: `(emb.output (out %NAME) OPERATION)`, the operation
    /// being `(emb.bag MODE TABLE INDICES OFFSETS [WEIGHTS])` or `(emb.gather TABLE INDICES)`.
    pub fn root_term(&self) -> Term {
        let mut term: Term = RecExpr::default();
        let operation = match self.output.operation {
            Operation::Bag { mode, table, indices, offsets, weights } => {
                let mode = term.add(Node::op(&format!("mode.{}", mode.name()), &[]));
                let inputs = [Some(table), Some(indices), Some(offsets), weights];
                let mut args = vec![mode];
                args.extend(inputs.into_iter().flatten().map(|i| self.input_term(&mut term, i)));
                args[1] = term.add(Node::op("emb.tensor", &[args[1]]));
                Node::op("emb.bag", &args)
            }
            Operation::Gather { table, indices } => {
                let mut args = [table, indices].map(|i| self.input_term(&mut term, i));
                args[0] = term.add(Node::op("emb.tensor", &[args[0]]));
                Node::op("emb.gather", &args)
            }
        };
        let operation = term.add(operation);
        let name = term.add(Node::op(&format!("%{}", self.output.name), &[]));
        let out = term.add(Node::op("out", &[name]));
        term.add(Node::op("emb.output", &[out, operation]));
        term
    }

    fn input_term(&self, term: &mut Term, input: usize) -> Id {
        let name = term.add(Node::op(&format!("%{}", self.inputs[input].name), &[]));
        term.add(Node::op("in", &[name]))
    }

    /// What a program for this model declares. Extents whose sizes are among `known` are constants;
    /// with none known, the program is for all data of the declared shapes, with all those of an
    /// [`Instance`](crate::data::Instance), for data of its shapes only.
    pub fn declarations(&self, known: &BTreeMap<String, u64>) -> Declarations {
        let mut all = Declarations::default();
        let inputs = self.inputs.iter().map(|i| (&i.name, i.dtype, &i.shape, false));
        let output = (&self.output.name, self.output.dtype, &self.output.shape, true);
        for (name, dtype, shape, writable) in inputs.chain([output]) {
            let shape = shape.iter().map(|extent| all.dim(extent, known)).collect();
            all.tensors.push(TensorDecl { name: name.clone(), dtype, shape, writable });
        }
        all
    }
}

impl Declarations {
    /// An extent as a constant where its value is known, else as a size, declared if it is not yet.
    fn dim(&mut self, extent: &Extent, known: &BTreeMap<String, u64>) -> Dim {
        if let Some(n) = extent.value(known) {
            return Dim::Const(n);
        }
        let name = extent.to_string();
        let id = self.sizes.iter().position(|size| *size == name).unwrap_or_else(|| {
            self.sizes.push(name);
            self.sizes.len() - 1
        });
        Dim::Size(SizeId(id as u32))
    }
}
