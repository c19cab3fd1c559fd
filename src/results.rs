//! The outputs of a program as files, and their comparison with arrays from elsewhere.

use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::suggest;
use ember_model::Model;
use ember_model::data::{FileError, TensorFile};
use ember_model::reference::{Distance, Tolerance, distance};
use ember_targets::tensor::Tensor;
use itertools::Itertools;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Arrays that the outputs of a model are expected to equal.
pub struct Expected {
    /// The arrays by output, in the order of the model's outputs; `None` for an output that the file lacks.
    arrays: Vec<(String, Option<Tensor>)>,
    /// The allowed error; that of each output's element type if none is given.
    tolerance: Option<Tolerance>,
}

/// An output beside the array that it is expected to equal.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Compared {
    /// The output's name.
    pub output: String,
    /// True if every element is within the tolerance; `null` if there is no array for this output.
    pub within: Option<bool>,
    /// The distance of the two; `null` if there is no array, or none of the same shape.
    #[serde(flatten)]
    pub distance: Option<Distance>,
    /// The reason why there is no distance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Expected {
    /// Reads the arrays for the outputs of a model or kernel. An array has the name of its output, or is called `output.N`,
    /// with N counted from 0 in their order. Other arrays of the file are not used, but at least one must be an output's.
    pub fn read(
        sources: &Sources,
        file: &TensorFile,
        (of, outputs): (&str, &[String]),
        tolerance: Option<Tolerance>,
    ) -> Checked<Expected> {
        let path = file.path();
        let mut held = file.read(sources.files().as_ref()).map_err(|e| unusable(path, e))?;
        let names: Vec<String> = held.keys().cloned().collect();
        let arrays = outputs.iter().enumerate().map(|(n, output)| {
            let array = held.remove(output).or_else(|| held.remove(&format!("output.{n}")));
            (output.clone(), array)
        });
        let arrays: Vec<_> = arrays.collect();
        if arrays.iter().any(|(_, array)| array.is_some()) {
            return Ok(Expected { arrays, tolerance });
        }
        let message = format!("{}: has no array of an output of `{of}`", path.display());
        let outputs = suggest::list(arrays.iter().map(|(name, _)| name.as_str()));
        let names = suggest::list(names.iter().map(String::as_str));
        let help = format!(
            "the outputs are {outputs}, also as `output.0` and so on; the file has {names}"
        );
        Err(vec![Diagnostic::global(message).with_help(help)])
    }

    /// Compares the outputs of a run with the arrays. Outputs have the extents that the model's program gives them.
    pub fn compare(
        &self,
        model: Option<&Model>,
        outputs: &BTreeMap<String, Tensor>,
    ) -> Vec<Compared> {
        let outputs = model.map_or_else(|| outputs.clone(), |model| in_program(model, outputs));
        let compared = |(name, array): &(String, Option<Tensor>)| {
            let (output, none) =
                (name.clone(), |within, reason: String| (within, None, Some(reason)));
            let (within, distance, reason) = match (array, outputs.get(name)) {
                (None, _) => none(None, "the file has no array for it".to_owned()),
                (_, None) => none(Some(false), "the program did not compute it".to_owned()),
                (Some(array), Some(got)) => {
                    let tolerance = self.tolerance.unwrap_or_else(|| Tolerance::of(got.dtype));
                    match distance(array, got, tolerance) {
                        Some(found) => (Some(found.beyond == 0), Some(found), None),
                        None => none(Some(false), shapes(array, got)),
                    }
                }
            };
            Compared { output, within, distance, reason }
        };
        self.arrays.iter().map(compared).collect()
    }
}

fn shapes(expected: &Tensor, got: &Tensor) -> String {
    let shape = |tensor: &Tensor| format!("({})", tensor.shape.iter().join(" "));
    format!("its shape is {}, that of the file's array is {}", shape(got), shape(expected))
}

impl Compared {
    /// Returns the error of an output that is not as expected, in one line.
    pub fn wrong(&self) -> Option<String> {
        let name = &self.output;
        match (self.within?, &self.distance, &self.reason) {
            (true, _, _) => None,
            (false, Some(Distance { elements, beyond, largest: Some(at) }), _) => Some(format!(
                "output `{name}`: {beyond} of {elements} elements are not as expected, first of all {:?}: {} instead \
                 of {}, {:e} apart where {:e} is allowed",
                at.index, at.got, at.expected, at.error, at.allowed
            )),
            (false, _, reason) => {
                Some(format!("output `{name}`: {}", reason.as_deref().unwrap_or("not compared")))
            }
        }
    }
}

/// Returns outputs with the extents that they have in the program that the model was imported from.
fn in_program(model: &Model, outputs: &BTreeMap<String, Tensor>) -> BTreeMap<String, Tensor> {
    let shaped = |(name, output): (&String, &Tensor)| (name.clone(), model.as_result(name, output));
    outputs.iter().map(shaped).collect()
}

/// Returns the content of a file of outputs: those of a kernel, or of a model.
pub fn content(
    file: &TensorFile,
    model: Option<&Model>,
    outputs: &BTreeMap<String, Tensor>,
) -> Checked<Vec<u8>> {
    let outputs = model.map_or_else(|| outputs.clone(), |model| in_program(model, outputs));
    file.content(&outputs).map_err(|e| unusable(file.path(), e))
}

fn unusable(path: &Path, error: FileError) -> Vec<Diagnostic> {
    let diagnostic = Diagnostic::global(format!("{}: {error}", path.display()));
    vec![match error.help() {
        Some(help) => diagnostic.with_help(help),
        None => diagnostic,
    }]
}
