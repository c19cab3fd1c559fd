//! Models from files: texts, and programs of frameworks, which are imported.

use ember_import::{ImportError, Imported, import, is_import, mlir};
use ember_language::diagnostic::{Checked, Diagnostic, FileId, Sources, Span};
use ember_language::load;
use ember_language::rules::Definitions;
use ember_model::Model;
use ember_targets::tensor::Tensor;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The largest file that is imported, in bytes.
const IMPORT_LIMIT: u64 = 4 << 30;

/// The endings of files of frameworks that are not imported, with what they hold.
const OTHERS: [(&str, &str); 4] = [
    ("onnx", "an ONNX model"),
    ("pt", "a PyTorch checkpoint"),
    ("pth", "a PyTorch checkpoint"),
    ("tflite", "a TensorFlow Lite model"),
];

/// Returns the content of a file of a framework that is not imported.
fn not_imported(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?;
    OTHERS.iter().find(|(known, _)| *known == ending).map(|(_, what)| *what)
}

/// The text of a model, and the weights that came with it.
pub struct Loaded {
    /// The text.
    pub file: FileId,
    weights: Option<BTreeMap<String, Tensor>>,
}

/// Loads the text of a model. A file of a framework is imported: its model's text stands in the sources under the file's
/// path.
pub fn load(sources: &mut Sources, path: &Path) -> Checked<Loaded> {
    if let Some(what) = not_imported(path) {
        let error = Diagnostic::global(format!("{}: {what} is not imported", path.display()));
        let help = "programs of PyTorch (`torch.export.save` writes .pt2), TensorFlow graphs (.pb) and StableHLO text (.mlir) are";
        return Err(vec![error.with_help(help)]);
    }
    if is_kernel(sources, path) {
        let message = format!("{}: a kernel is no model, because it has no data", path.display());
        let help = "the commands `run`, `equiv` and the main job take kernels, as does `compile` in Python, for simulated \
                    machines";
        return Err(vec![Diagnostic::global(message).with_help(help)]);
    }
    if !is_import(path) {
        return Ok(Loaded { file: load::load(sources, path)?, weights: None });
    }
    let Imported { text, weights, .. } = imported(sources, path)?;
    Ok(Loaded { file: sources.add(path, text), weights: Some(weights) })
}

impl Loaded {
    /// Reads the model, which may use operators that rule files define. `in_advance` holds the functions of tables that
    /// are computed for all rows, by their spans.
    pub fn model(
        &self,
        sources: &Sources,
        definitions: &Definitions,
        in_advance: BTreeSet<Span>,
    ) -> Checked<Model> {
        let mut model = Model::parse_placed(sources, self.file, definitions, in_advance)?;
        if let Some(weights) = &self.weights {
            model.hold(weights);
        }
        Ok(model)
    }
}

/// Reads a model from a file, with all functions of tables at the lookups.
pub fn read(
    sources: &mut Sources,
    path: &Path,
    definitions: &Definitions,
) -> Checked<(Model, FileId)> {
    let loaded = load(sources, path)?;
    Ok((loaded.model(sources, definitions, BTreeSet::new())?, loaded.file))
}

/// Returns true if a file is a kernel in MLIR text. A file that cannot be read is none, so that reading it as a model says
/// why.
pub fn is_kernel(sources: &Sources, path: &Path) -> bool {
    if path.extension().is_none_or(|ending| ending != "mlir") {
        return false;
    }
    if let Some(held) = sources.find(path) {
        return mlir::is_kernel(&sources.get(held).text);
    }
    let bytes = sources.files().read(path, load::TEXT_LIMIT);
    bytes.is_ok_and(|bytes| mlir::is_kernel(&String::from_utf8_lossy(&bytes)))
}

/// Imports the program in a file.
pub fn imported(sources: &Sources, path: &Path) -> Checked<Imported> {
    let bytes = bytes(sources, path)?;
    import(path, &bytes).map_err(|error| unimported(path, &error))
}

/// Returns the operators of a PyTorch program in a file that have no counterpart, each by the name of its result and with
/// the reason.
pub fn missing(sources: &Sources, path: &Path) -> Checked<Vec<(String, String)>> {
    let bytes = bytes(sources, path)?;
    let missing = ember_import::missing(&bytes).map_err(|error| unimported(path, &error))?;
    let named = |error: ImportError| {
        let result = error.origin.as_ref().map_or_else(String::new, |origin| origin.result.clone());
        (result, ImportError { done: None, ..error }.to_string())
    };
    Ok(missing.into_iter().map(named).collect())
}

fn bytes(sources: &Sources, path: &Path) -> Checked<Vec<u8>> {
    sources
        .files()
        .read(path, IMPORT_LIMIT)
        .map_err(|error| vec![Diagnostic::global(format!("{}: {error}", path.display()))])
}

fn unimported(path: &Path, error: &ImportError) -> Vec<Diagnostic> {
    let help = error.problem.help();
    vec![Diagnostic { help, ..Diagnostic::global(format!("{}: {error}", path.display())) }]
}
