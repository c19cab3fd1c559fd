//! Why a file cannot be imported: the problem, its place, and what can be done.

use crate::graph::Origin;
use ember_language::suggest;
use thiserror::Error;
use zip::result::ZipError;

/// The reason why a file is not a model.
#[derive(Debug, Error)]
pub enum Problem {
    /// The content is in none of the known formats.
    #[error("is none of the formats that can be imported")]
    Format,
    /// The content is larger than any file that is read.
    #[error("{what} has {length} bytes, more than {limit}")]
    TooLarge {
        /// The thing that is too large.
        what: String,
        /// Its length in bytes.
        length: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The archive is cut off or damaged.
    #[error("is not a zip archive: {0}")]
    Zip(#[from] ZipError),
    /// The graph's messages are cut off or damaged.
    #[error("is not a graph of TensorFlow: {0}")]
    Graph(#[from] prost::DecodeError),
    /// A text is not of the known form.
    #[error("line {line}: {what}")]
    Text {
        /// The line, counted from 1.
        line: usize,
        /// The thing that was found.
        what: &'static str,
    },
    /// The archive lacks a file.
    #[error("has no file `{0}` inside")]
    Member(String),
    /// A file of the archive cannot be decompressed.
    #[error("the file `{member}` inside cannot be read: {reason}")]
    Damaged {
        /// The file's name.
        member: String,
        /// The reason in the words of the decompressor.
        reason: std::io::Error,
    },
    /// A JSON text is not of the known form.
    #[error("`{member}` inside is not of the known form: {reason}")]
    Json {
        /// The file's name.
        member: String,
        /// The reason, with line and column.
        reason: serde_json::Error,
    },
    /// The file was written in a version that is not known.
    #[error("{what} has the version {found}; known is {known}")]
    Version {
        /// The thing that has a version.
        what: &'static str,
        /// The version.
        found: String,
        /// The versions that are known.
        known: &'static str,
    },
    /// The weights are in a form that is not read.
    #[error("the weight `{name}` {reason}")]
    Weight {
        /// The weight's name.
        name: String,
        /// The reason.
        reason: String,
    },
    /// A value has an element type without a counterpart.
    #[error("`{name}` has elements of type {dtype}, which have no counterpart")]
    Elements {
        /// The value's name.
        name: String,
        /// The type in the framework's words.
        dtype: String,
    },
    /// An extent is written in a way that is not understood.
    #[error(
        "an extent of `{name}` is `{extent}`; an extent is a number, a size, or a size plus a number"
    )]
    Extent {
        /// The value's name.
        name: String,
        /// The extent as the file has it.
        extent: String,
    },
    /// More elements than can be counted.
    #[error("a tensor of shape ({0}) has more elements than can be counted")]
    Overflow(String),
    /// A value is used that nothing computes before.
    #[error("`{0}` is used before it is computed, or never is")]
    Order(String),
    /// The graph's interface has something besides tensors.
    #[error("{0}")]
    Interface(String),
    /// An operator has no row in the table.
    #[error("the operator `{operator}` has no counterpart")]
    Operator {
        /// The operator.
        operator: String,
        /// Similar operators that have one.
        near: Option<String>,
    },
    /// An operator is used in a way that no row allows.
    #[error("the operator `{operator}` with {arguments} has no counterpart")]
    Arguments {
        /// The operator.
        operator: String,
        /// The arguments that stand in the way.
        arguments: String,
    },
    /// An operation is applied to operands that it does not take.
    #[error("{0}")]
    Operands(String),
    /// A tensor is used as indices or offsets and is computed.
    #[error("positions are computed: {0}")]
    Positions(String),
    /// A tensor has more dimensions than operations take.
    #[error("a tensor of shape ({0}) has more than 3 dimensions that are not 1")]
    Rank(String),
    /// A tensor is changed in place and used again under another name.
    #[error("a tensor is changed in place, and `{0}` has the elements that it had before")]
    Overwritten(String),
    /// Two extents that only the data says must be one.
    #[error("the sizes `{0}` and `{1}` are used as one")]
    Sizes(String, String),
    /// An extent is less than a size of the data.
    #[error("an extent is {1} less than the size `{0}`")]
    Less(String, u64),
    /// A value is understood only as a part of what idioms consist of.
    #[error("the operator `{0}` has no counterpart outside of lookups and ragged tensors")]
    Spelled(String),
    /// The table of operators has an error.
    #[error("the table of operators: {0}")]
    Table(String),
}

impl Problem {
    /// Returns what can be done about it.
    pub fn help(&self) -> Option<String> {
        let text = match self {
            Problem::Format => {
                "PyTorch programs end in .pt2, TensorFlow graphs in .pb, StableHLO text in .mlir or .stablehlo"
            }
            Problem::Zip(_)
            | Problem::Member(_)
            | Problem::Damaged { .. }
            | Problem::Json { .. } => {
                "write the file again with `torch.export.save(torch.export.export(module, inputs), \"model.pt2\")`"
            }
            Problem::Version { .. } => {
                "export it again with a PyTorch whose version is known: 2.8 or later"
            }
            Problem::Order(_) => "export the program again: what the file says is no program",
            Problem::Graph(_) => {
                "write the file again with `tf.io.write_graph(convert_variables_to_constants_v2(function).graph, folder, \"model.pb\", as_text=False)`"
            }
            Problem::Text { .. } => {
                "text that `jax.export` writes is read, with shapes that are numbers"
            }
            Problem::TooLarge { .. } => "export a smaller part of the module",
            Problem::Interface(_) => {
                "export a module that takes tensors, returns tensors and changes none"
            }
            Problem::Weight { .. } => "save contiguous tensors of plain element types",
            Problem::Elements { .. } => {
                "convert it before the export, as in `tensor.float()` or `tensor.long()`"
            }
            Problem::Extent { .. } => {
                "export with this dimension fixed, or independent of others: leave it out of `dynamic_shapes`"
            }
            Problem::Operator { near: Some(near), .. } => return Some(near.clone()),
            Problem::Operator { .. } | Problem::Arguments { .. } | Problem::Spelled(_) => {
                "write this line of the module with operators that docs/src/import.md lists, or import the part before it"
            }
            Problem::Positions(_) => {
                "positions are checked before a run: make them arguments, constants, or whole numbers of these"
            }
            Problem::Overwritten(_) => {
                "export with `torch.export.export(module, inputs).run_decompositions({})`, which changes no tensor in place"
            }
            Problem::Rank(_) => "merge dimensions before this line, as in `x.flatten(0, 1)`",
            _ => return None,
        };
        Some(text.to_owned())
    }

    /// The problem of an operator that no row describes.
    pub(crate) fn unknown<'a>(operator: &str, known: impl Iterator<Item = &'a str>) -> Problem {
        let near = suggest::help(operator, known.collect::<Vec<_>>());
        Problem::Operator { operator: operator.to_owned(), near }
    }
}

/// A problem with its place in the imported program.
#[derive(Debug, Error)]
#[error("{problem}{}", place(.origin.as_deref(), *.done))]
pub struct ImportError {
    /// The problem.
    pub problem: Problem,
    /// The operator and source line where it is, if it is in the graph.
    pub origin: Option<Box<Origin>>,
    /// How many operators were imported before, and how many there are.
    pub done: Option<(usize, usize)>,
}

/// Describes where a problem is, and how far the import got.
fn place(origin: Option<&Origin>, done: Option<(usize, usize)>) -> String {
    let mut text = String::new();
    if let Some(origin) = origin {
        text += &format!(", in `{}`", origin.name);
        if let Some(line) = &origin.line {
            text += &format!(" ({line})");
        }
    }
    if let Some((done, all)) = done {
        text += &format!("; {done} of {all} operators were imported before");
    }
    text
}

impl From<Problem> for ImportError {
    fn from(problem: Problem) -> ImportError {
        ImportError { problem, origin: None, done: None }
    }
}
