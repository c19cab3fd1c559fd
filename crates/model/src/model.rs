//! Models: the computation, its tensors, and the sources of their data.
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
//! A [`Model`] is a checked list of statements, each of which computes one tensor or a part of one. Operators that
//! consist of several others (`nn.softmax`, `nn.stack`, …) and operands that must be stored become separate statements.
//! [`Model::instantiate`] generates the data or reads it from files; this module only describes it.

mod arguments;
mod composite;
mod defined;
mod dense;
mod expression;
mod extent;
mod gathered;
mod kinds;
mod lowered;
mod names;
mod operand;
mod operator;
mod order;
mod origin;
mod placement;
mod places;
mod prepared;
mod read;
mod recompute;
mod segments;
mod share;
mod source;
mod sparse;
mod spec;
mod term;
mod uses;
mod whole;

pub(crate) use arguments::Arguments;
pub use arguments::{Held, Parameter, Step as ArgumentStep};
pub use composite::composites;
pub use expression::{Applied, Argument, Expr, Op, TensorId};
pub use extent::Extent;
pub use prepared::{Prepared, Preparing};
pub use spec::{DataSpec, GraphFrom, Origin, Part as OriginPart, Source, Values};
pub use uses::{IndexUse, OffsetsUse, SortUse};
pub use whole::{Whole, WholeOp};

use ember_language::diagnostic::{Checked, FileId, Sources, Span};
use ember_language::rules::Definitions;
use ember_language::rules::{Operators, Signature};
use ember_language::text::{Named, Words};
use ember_targets::dlc::{Dim, Purpose, SizeId, TensorDecl};
use ember_values::scalar::DType;
use itertools::Itertools;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// A checked model: its inputs, the statements that compute from them, and the description of their data.
#[derive(Clone, Debug)]
pub struct Model {
    /// The name.
    pub name: String,
    /// The inputs in the order of their declaration. Each of them is used.
    pub inputs: Vec<Input>,
    /// The tensors that statements write, in the order of the statements.
    pub computed: Vec<Computed>,
    /// The statements in order: no statement reads a tensor that a later one writes.
    pub statements: Vec<Statement>,
    /// The sources of the inputs' data.
    pub data: DataSpec,
    /// Hand-written programs of the same computation, for comparison.
    pub programs: Vec<HandWritten>,
    /// Other statements that compute the same: forms of the model in which rows of some tensors are computed for every use
    /// of them, where its operations allow that. The scratch memory of these forms is among the computed tensors.
    pub forms: Vec<Vec<Statement>>,
    /// The arguments of the program that it was imported from, if it was.
    pub(crate) imported: Option<Arguments>,
    /// The extents of outputs in the program that it was imported from, where they are others than the model's.
    pub(crate) results: BTreeMap<String, Vec<Extent>>,
    /// The operators that it was read with: what some of its operations mean stands in rules alone.
    pub(crate) operators: Arc<Operators>,
}

/// A hand-written program for a model.
#[derive(Clone, Debug)]
pub struct HandWritten {
    /// The name in reports.
    pub name: String,
    /// The files of its DLC text: the first for machines that can do all that it needs, the next for those that cannot.
    pub paths: Vec<PathBuf>,
    /// The span of the declaration.
    pub span: Span,
}

/// The properties that every tensor of a model has.
#[derive(Clone, Debug)]
pub struct Declared {
    /// The name, which differs from the names of all other tensors and sizes.
    pub name: String,
    /// The element type.
    pub dtype: DType,
    /// The extents.
    pub shape: Vec<Extent>,
    /// The span of the name.
    pub span: Span,
}

/// An input tensor.
#[derive(Clone, Debug)]
pub struct Input {
    /// The name, type and shape.
    pub tensor: Declared,
    /// The use of the tensor in the statements.
    pub role: Role,
    /// The span of each extent.
    pub extent_spans: Vec<Span>,
}

/// The use of an input in the statements. Each input has exactly one role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Elements that take part in computation or are copied: tables, weights, features.
    Values,
    /// Positions in other tensors.
    Indices,
    /// The start of each bag and the end of the last one, of rank 1. Offsets start at 0, never fall, and end at the
    /// number of lookups.
    Offsets,
}

impl Role {
    /// Returns the noun for inputs of this role in messages.
    pub fn name(self) -> &'static str {
        match self {
            Role::Values => "values",
            Role::Indices => "indices",
            Role::Offsets => "offsets",
        }
    }

    /// Returns true if the elements are positions, which are integers and checked before a run.
    pub fn is_index(self) -> bool {
        matches!(self, Role::Indices | Role::Offsets)
    }
}

/// A tensor that statements write.
#[derive(Clone, Debug)]
pub struct Computed {
    /// The name, type and shape. A tensor without a name in the model file is named after the statement that needs it,
    /// followed by a number, such as `out.1`.
    pub tensor: Declared,
    /// The purpose.
    pub kind: Kind,
}

/// The purpose of a computed tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A result of the model.
    Output,
    /// A tensor that one statement writes and later ones read.
    Temporary,
    /// Memory that a program may use within one statement; nothing reads its contents afterwards.
    Scratch,
}

/// One step of a model: an expression and the tensor that it is written to.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The tensor that is written.
    pub target: TensorId,
    /// The written part of the target.
    pub part: Part,
    /// The value to write.
    pub value: Expr,
}

/// The part of its target that a statement writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The whole target.
    Whole,
    /// `target[b][k][e]` for every `b` and `e`.
    Slot(u64),
    /// The columns of a matrix starting from this one.
    Columns(u64),
}

impl Statement {
    /// Returns the tensors that the statement reads, sorted and without duplicates.
    pub fn reads(&self) -> Vec<TensorId> {
        let mut reads: Vec<TensorId> = self.value.walk().flat_map(Expr::tensors).collect();
        reads.sort();
        reads.dedup();
        reads
    }

    /// Returns the tensors that the statement writes: its target and the scratch memory it may use.
    pub fn writes(&self) -> Vec<TensorId> {
        let scratch = self.value.walk().flat_map(Expr::scratch);
        std::iter::once(self.target).chain(scratch).collect()
    }
}

/// The tensors and sizes that a program for a model declares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declarations {
    /// The inputs in order, then the computed tensors in order; only the latter are writable, and those that are no
    /// outputs are scratch memory. The position of a tensor is its [`TensorId`].
    pub tensors: Vec<TensorDecl>,
    /// The names of the sizes that extents mention. An extent with a number added is a separate size, such as `bags+1`.
    pub sizes: Vec<String>,
}

impl Model {
    /// Returns the vocabulary of program text for this model.
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

    /// Reads the single model of a text, and reports all errors.
    pub fn parse(sources: &Sources, file: FileId) -> Checked<Model> {
        read::read(sources, file, &Definitions::default(), BTreeSet::new())
    }

    /// [`Model::parse`] for a model that may use operators defined over tensors in rule files.
    pub fn parse_with(
        sources: &Sources,
        file: FileId,
        definitions: &Definitions,
    ) -> Checked<Model> {
        read::read(sources, file, definitions, BTreeSet::new())
    }

    /// [`Model::parse_with`], where the functions of tables at these spans are computed in advance for all rows, and the
    /// others at the lookups; [`Model::in_advance`] decides which.
    pub fn parse_placed(
        sources: &Sources,
        file: FileId,
        definitions: &Definitions,
        in_advance: BTreeSet<Span>,
    ) -> Checked<Model> {
        read::read(sources, file, definitions, in_advance)
    }

    /// Returns the name, type and shape of a tensor.
    ///
    /// # Panics
    /// If the model has no such tensor; the identifiers in its statements are valid.
    pub fn tensor(&self, id: TensorId) -> &Declared {
        match self.inputs.get(id.0) {
            Some(input) => &input.tensor,
            None => &self.computed[id.0 - self.inputs.len()].tensor,
        }
    }

    /// Returns true if the tensor is an input.
    pub fn is_input(&self, id: TensorId) -> bool {
        id.0 < self.inputs.len()
    }

    /// Iterates over the outputs in the order of the file.
    pub fn outputs(&self) -> impl Iterator<Item = &Declared> {
        let outputs = self.computed.iter().filter(|c| c.kind == Kind::Output);
        outputs.map(|c| &c.tensor).sorted_by_key(|tensor| tensor.span)
    }

    /// Iterates over all tensors in the order of their identifiers.
    pub fn tensors(&self) -> impl Iterator<Item = &Declared> {
        self.inputs.iter().map(|i| &i.tensor).chain(self.computed.iter().map(|c| &c.tensor))
    }

    /// Returns the name of a statement: the tensor that it writes, or the part of it.
    pub fn statement_name(&self, i: usize) -> String {
        let statement = &self.statements[i];
        let name = &self.tensor(statement.target).name;
        match statement.part {
            Part::Whole => name.clone(),
            Part::Slot(k) => format!("{name}[{k}]"),
            Part::Columns(k) => format!("{name} from column {k}"),
        }
    }

    /// Returns the declarations of a program for this model. Extents whose sizes are among `known` are constants. With
    /// no known sizes, the program works for all data of the declared shapes; with all sizes of an
    /// [`Instance`](crate::data::Instance), it works only for data of that instance's shapes.
    pub fn declarations(&self, known: &BTreeMap<String, u64>) -> Declarations {
        let mut all = Declarations::default();
        for (i, tensor) in self.tensors().enumerate() {
            let shape = tensor.shape.iter().map(|extent| all.dim(extent, known)).collect();
            let computed = i.checked_sub(self.inputs.len()).and_then(|at| self.computed.get(at));
            let purpose = match computed.map(|computed| computed.kind) {
                None => Purpose::Input,
                Some(Kind::Output) => Purpose::Output,
                Some(Kind::Temporary | Kind::Scratch) => Purpose::Scratch,
            };
            let (name, dtype) = (tensor.name.clone(), tensor.dtype);
            all.tensors.push(TensorDecl { name, dtype, shape, purpose });
        }
        all
    }
}

impl Declarations {
    /// Returns an extent as a constant if its value is known, else as a size, which is declared on first use.
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
