//! The hand-written programs of a model.

use super::NoProgram;
use ember_compile::dlc_text::DlcText;
use ember_compile::pipeline::Inputs;
use ember_language::diagnostic::{Checked, Diagnostic, Sources};
use ember_language::load::load;
use ember_targets::dlc::Program;
use ember_targets::verify::{Limits, lacking};
use ember_values::capability::Capabilities;

/// Returns the hand-written programs that the model names, verified: of each, the first form that the machine is able to
/// run.
pub(super) fn hand_written(
    sources: &mut Sources,
    inputs: &Inputs,
) -> Checked<Vec<(String, Result<Program, NoProgram>)>> {
    let limits = Limits { capabilities: Capabilities::ALL, ..Limits::of(&inputs.machine) };
    let mut errors = Vec::new();
    let mut programs = Vec::new();
    for named in &inputs.model.programs {
        let mut program = None;
        for path in &named.paths {
            let form = load(sources, path)
                .and_then(|file| DlcText::read(sources, file))
                .and_then(|text| text.verify(&limits));
            match form {
                Ok(form) => match lacking(&form, &inputs.machine) {
                    None => {
                        program = Some(Ok(form.into_program()));
                        break;
                    }
                    Some(capability) => {
                        let message = format!("needs {}, which the target lacks", capability.doc());
                        program.get_or_insert(Err(NoProgram(Diagnostic::global(message))));
                    }
                },
                Err(found) => errors.extend(found),
            }
        }
        programs.extend(program.map(|program| (named.name.clone(), program)));
    }
    if errors.is_empty() { Ok(programs) } else { Err(errors) }
}
