//! Models: what is computed, on which tensors, and where their data comes from.
//!
//! ```text
//! (model embedding_bag
//!   (input table   f32 (rows 64))        ; name, element type, extents: a number, a size's name,
//!   (input indices i64 (lookups))        ; or a size and a number added
//!   (input offsets i64 ((+ bags 1)))     ; `bags+1` says the same
//!   (let pooled (emb.bag sum table indices offsets))  ; a temporary
//!   (output out (nn.relu pooled))        ; any number of either, in order
//!   (data (seed 1) (size rows 1000000) (size bags 256)
//!     (table (uniform -1.0 1.0)) (offsets (ragged (mean 80) (empty 0.05))) (indices (zipf 1.05))))
//! ```
//!
//! A [`Model`] is a checked list of statements, each of which computes one tensor or a part of one.
//! Operators that are made of several (`nn.softmax`, `nn.stack`, …) and operands that must be stored
//! have become statements of their own. Data is made, or read from files, by [`Model::instantiate`];
//! this module knows how data is described, not how it is made.

mod composite;
mod defined;
mod dense;
mod expression;
mod extent;
mod kinds;
mod lowered;
mod names;
mod operand;
mod operator;
mod origin;
mod read;
mod source;
mod sparse;
mod spec;
mod term;
mod uses;

pub use expression::{Applied, Argument, Expr, Op, TensorId};
pub use extent::Extent;
pub use spec::{DataSpec, GraphFrom, Origin, Part as OriginPart, Source, Values};
pub use uses::{IndexUse, OffsetsUse};

use ember_language::diagnostic::{Checked, FileId, Sources, Span};
use ember_language::rules::Definitions;
use ember_language::rules::{Operators, Signature};
use ember_language::text::{Named, Words};
use ember_targets::dlc::{Dim, SizeId, TensorDecl};
use ember_values::scalar::DType;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A checked model: its inputs, what is computed from them, and the description of their data.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// The inputs in the order of their declaration. Each is used.
    pub inputs: Vec<Input>,
    /// The tensors that statements write, in the order of the statements.
    pub computed: Vec<Computed>,
    /// What is computed, in order: no statement reads what a later one writes.
    pub statements: Vec<Statement>,
    /// Where the inputs' data comes from.
    pub data: DataSpec,
    /// Hand-written programs that compute the same, to compare with.
    pub programs: Vec<HandWritten>,
    /// The operators that it was read with: what some of its operations mean stands in rules alone.
    pub(crate) operators: Arc<Operators>,
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

/// What every tensor of a model has.
#[derive(Clone, Debug)]
pub struct Declared {
    /// Its name, unlike that of any other tensor or size.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// Its extents.
    pub shape: Vec<Extent>,
    /// Where it is named.
    pub span: Span,
}

/// An input tensor.
#[derive(Clone, Debug)]
pub struct Input {
    /// Name, type and shape.
    pub tensor: Declared,
    /// What the statements use it as.
    pub role: Role,
    /// Where each extent is written.
    pub extent_spans: Vec<Span>,
}

/// What statements use an input as. No input is used as two of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Elements that are computed with or copied: tables, weights, features.
    Values,
    /// Positions in other tensors.
    Indices,
    /// Where each bag starts and the last one ends, of rank 1: from 0, never falling, to the number
    /// of lookups.
    Offsets,
}

impl Role {
    /// How messages call an input of this role.
    pub fn name(self) -> &'static str {
        match self {
            Role::Values => "values",
            Role::Indices => "indices",
            Role::Offsets => "offsets",
        }
    }

    /// Whether its elements are positions, and so integers that are checked before a run.
    pub fn is_index(self) -> bool {
        matches!(self, Role::Indices | Role::Offsets)
    }
}

/// A tensor that statements write.
#[derive(Clone, Debug)]
pub struct Computed {
    /// Name, type and shape. A name that the model file does not give is that of the statement it
    /// is needed for with a number behind it, such as `out.1`.
    pub tensor: Declared,
    /// What it is for.
    pub kind: Kind,
}

/// What a computed tensor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A result of the model.
    Output,
    /// Written by a statement and read by later ones.
    Temporary,
    /// Memory that a program may use within one statement; nobody looks at what it holds.
    Scratch,
}

/// One step of a model: an expression and the tensor that it is written to.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The tensor that is written.
    pub target: TensorId,
    /// Which part of it.
    pub part: Part,
    /// What is written.
    pub value: Expr,
}

/// The part of its target that a statement writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// `target[b][k][e]` for every `b` and `e`.
    Slot(u64),
    /// The columns of a matrix from this one on.
    Columns(u64),
}

impl Statement {
    /// The tensors that it reads, in order, each once.
    pub fn reads(&self) -> Vec<TensorId> {
        let mut reads: Vec<TensorId> = self.value.walk().flat_map(Expr::tensors).collect();
        reads.sort();
        reads.dedup();
        reads
    }

    /// The tensors that it writes: its target and the scratch memory it may use.
    pub fn writes(&self) -> Vec<TensorId> {
        let scratch = self.value.walk().flat_map(Expr::scratch);
        std::iter::once(self.target).chain(scratch).collect()
    }
}

/// The tensors and sizes that a program for a model declares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declarations {
    /// The inputs in order, then the computed tensors in order, which alone are writable. A tensor
    /// stands at its [`TensorId`].
    pub tensors: Vec<TensorDecl>,
    /// The names of the sizes that extents mention. An extent with a number added is a size of its
    /// own, such as `bags+1`.
    pub sizes: Vec<String>,
}

impl Model {
    /// The words of program text for this model.
    pub fn words<'a>(&self, signature: &'a Signature) -> Words<'a> {
        let mut words = Words::new(signature);
        let inputs = self.inputs.iter().map(|input| (&input.tensor, Named::Input));
        let computed = self.computed.iter().map(|computed| (&computed.tensor, Named::Output));
        for (tensor, named) in inputs.chain(computed) {
            words.add(&tensor.name, named);
            for extent in &tensor.shape {
                extent.names().for_each(|name| words.add(&name, Named::Size));
            }
        }
        words
    }

    /// Reads the one model of a text, and reports all that is wrong with it.
    pub fn parse(sources: &Sources, file: FileId) -> Checked<Model> {
        read::read(sources, file, &Definitions::default())
    }

    /// The same, where the model may use operators that rule files define over tensors.
    pub fn parse_with(
        sources: &Sources,
        file: FileId,
        definitions: &Definitions,
    ) -> Checked<Model> {
        read::read(sources, file, definitions)
    }

    /// A tensor's name, type and shape.
    ///
    /// # Panics
    /// If the model has no such tensor; the identifiers in its statements are valid.
    pub fn tensor(&self, id: TensorId) -> &Declared {
        match self.inputs.get(id.0) {
            Some(input) => &input.tensor,
            None => &self.computed[id.0 - self.inputs.len()].tensor,
        }
    }

    /// Whether a tensor is an input.
    pub fn is_input(&self, id: TensorId) -> bool {
        id.0 < self.inputs.len()
    }

    /// The outputs in order.
    pub fn outputs(&self) -> impl Iterator<Item = &Declared> {
        self.computed.iter().filter(|c| c.kind == Kind::Output).map(|c| &c.tensor)
    }

    /// Every tensor in the order of their identifiers.
    pub fn tensors(&self) -> impl Iterator<Item = &Declared> {
        self.inputs.iter().map(|i| &i.tensor).chain(self.computed.iter().map(|c| &c.tensor))
    }

    /// What a statement is called: the tensor that it writes, or the part of it.
    pub fn statement_name(&self, i: usize) -> String {
        let statement = &self.statements[i];
        let name = &self.tensor(statement.target).name;
        match statement.part {
            Part::Whole => name.clone(),
            Part::Slot(k) => format!("{name}[{k}]"),
            Part::Columns(k) => format!("{name} from column {k}"),
        }
    }

    /// What a program for this model declares. Extents whose sizes are among `known` are constants;
    /// with none known, the program is for all data of the declared shapes, with all those of an
    /// [`Instance`](crate::data::Instance), for data of its shapes only.
    pub fn declarations(&self, known: &BTreeMap<String, u64>) -> Declarations {
        let mut all = Declarations::default();
        for (i, tensor) in self.tensors().enumerate() {
            let shape = tensor.shape.iter().map(|extent| all.dim(extent, known)).collect();
            let writable = i >= self.inputs.len();
            let (name, dtype) = (tensor.name.clone(), tensor.dtype);
            all.tensors.push(TensorDecl { name, dtype, shape, writable });
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
