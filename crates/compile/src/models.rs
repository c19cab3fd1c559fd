//! Models from files: texts, and programs of frameworks, which are imported.

use ember_import::{Imported, import, is_import};
use ember_language::diagnostic::{Checked, Diagnostic, FileId, Sources};
use ember_language::load::load;
use ember_language::rules::Definitions;
use ember_model::Model;
use std::path::Path;

/// The largest file that is imported, in bytes.
const IMPORT_LIMIT: u64 = 4 << 30;

/// Reads a model from a file, which may use operators that rule files define. A file of a framework is imported: its
/// model's text stands in the sources under the file's path.
pub fn read(
    sources: &mut Sources,
    path: &Path,
    definitions: &Definitions,
) -> Checked<(Model, FileId)> {
    if !is_import(path) {
        let file = load(sources, path)?;
        return Ok((Model::parse_with(sources, file, definitions)?, file));
    }
    let imported = imported(sources, path)?;
    let file = sources.add(path, imported.text);
    let mut model = Model::parse_with(sources, file, definitions)?;
    model.hold(&imported.weights);
    Ok((model, file))
}

/// Imports the program in a file.
pub fn imported(sources: &Sources, path: &Path) -> Checked<Imported> {
    let fail = |reason: String, help: Option<String>| {
        let error = Diagnostic::global(format!("{}: {reason}", path.display()));
        vec![Diagnostic { help, ..error }]
    };
    let bytes = sources.files().read(path, IMPORT_LIMIT).map_err(|e| fail(e.to_string(), None))?;
    import(path, &bytes).map_err(|error| fail(error.to_string(), error.problem.help()))
}
