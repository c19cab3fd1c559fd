//! Imports programs of frameworks as models: it takes the bytes of a file and gives a model's text, and the weights that
//! the model reads. It opens no files, prints nothing, and knows nothing of rules, machines or programs: what it writes
//! is a model like one that a person writes.
//!
//! A reader (`torch`, `tensorflow`, `stablehlo`) turns a file into a [`graph`](Graph) of a few operations, by the rows of a table in
//! `rules/import/`; `idioms` finds what programs spell out, by rules; `order` sorts the edges of
//! those, `flat` gives values at most three dimensions, and `write` turns the graph into statements.
//!
//! ```
//! let error = ember_import::import("model.pt2", b"PK").expect_err("is cut off");
//! assert!(error.to_string().starts_with("is not a zip archive"));
//! assert!(error.problem.help().is_some());
//! ```

mod archive;
mod build;
pub mod check;
mod error;
mod exact;
mod flat;
mod graph;
mod idioms;
mod layout;
mod lex;
mod limits;
pub mod mlir;
mod order;
mod stablehlo;
mod table;
mod tensorflow;
mod torch;
mod words;
mod write;

pub use error::{ImportError, Problem};
pub use graph::{Argument, Elem, Graph, Id, Node, Op, Origin, Weight};

use ember_targets::tensor::Tensor;
use std::collections::BTreeMap;
use std::path::Path;

/// The endings of files that can be imported.
pub const ENDINGS: [&str; 4] = ["pt2", "pb", "mlir", "stablehlo"];

/// An imported program.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The model's name.
    pub name: String,
    /// The model's text. It reads its weights from the file `NAME.safetensors`.
    pub text: String,
    /// The tensors of that file, by name, which is also that of the input.
    pub weights: BTreeMap<String, Tensor>,
}

/// Returns true if the path ends like a file that can be imported.
pub fn is_import(path: &Path) -> bool {
    path.extension().and_then(|ending| ending.to_str()).is_some_and(|e| ENDINGS.contains(&e))
}

/// Returns the name of the model that is made of a file.
pub fn model_name(path: &Path) -> String {
    write::word(&path.file_stem().unwrap_or_default().to_string_lossy())
}

/// Returns a PyTorch program without weights as a `.pt2` file, given its graph as JSON.
pub fn torch_archive(name: &str, program: &str) -> Vec<u8> {
    archive::with_file(&format!("{name}/models/{name}.json"), program.as_bytes())
}

/// The most operators that are found to have no counterpart only when a program is written.
const WRITTEN: usize = 256;

/// Returns the operators of a PyTorch program (`.pt2`) that have no counterpart, each with the reason, in order. All others
/// can be imported in parts between them.
pub fn missing(bytes: &[u8]) -> Result<Vec<ImportError>, ImportError> {
    let mut found: BTreeMap<usize, ImportError> = BTreeMap::new();
    loop {
        let places = found.keys().copied().collect();
        let without = torch::Without::of(places);
        let (graph, missing) = torch::read_without(bytes, Some(without))?;
        let place = |error: &ImportError| error.done.map(|(at, _)| at);
        found.extend(missing.into_iter().filter_map(|error| Some((place(&error)?, error))));
        // Some are found only when the graph is written.
        let Err(error) = written(graph, "parts") else { break };
        match place(&error) {
            Some(at) if found.len() < WRITTEN && !found.contains_key(&at) => {
                found.insert(at, error);
            }
            _ => return Err(error),
        }
    }
    Ok(found.into_values().collect())
}

/// Imports a program. The path says the format and the model's name.
pub fn import(path: impl AsRef<Path>, bytes: &[u8]) -> Result<Imported, ImportError> {
    let path = path.as_ref();
    let graph = match path.extension().and_then(|ending| ending.to_str()) {
        Some("pt2") => torch::read(bytes)?,
        Some("pb") => tensorflow::read(bytes)?,
        Some("mlir" | "stablehlo") => stablehlo::read(bytes)?,
        _ => return Err(Problem::Format.into()),
    };
    let name = model_name(path);
    let write::Written { text, weights } = written(graph, &name)?;
    Ok(Imported { name, text, weights })
}

/// Writes a graph as a model.
fn written(mut graph: Graph, name: &str) -> Result<write::Written, ImportError> {
    graph.results = graph.outputs.iter().map(|(_, id)| graph.shape(*id).to_vec()).collect();
    idioms::find(&mut graph)?;
    order::by_rows(&mut graph);
    flat::flatten(&mut graph)?;
    write::write(&graph, name)
}
