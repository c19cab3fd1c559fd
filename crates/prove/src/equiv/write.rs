//! Writes a counterexample as a file: a model with its data, or the programs preceded by it.

use super::data::Before;
use super::refute::Counterexample;
use super::sides::{ModelFile, Sides, What};
use ember_language::diagnostic::Sources;
use ember_language::rules::Signature;
use ember_language::sexp;
use ember_language::text::program;
use ember_targets::print::print;

/// Returns the text of a file that reproduces the difference. If a side is a model, or a model contains the
/// declarations, it is that model with other data; otherwise it consists of declarations, data and both programs.
pub fn counterexample(
    sources: &Sources,
    signature: &Signature,
    sides: &Sides,
    found: &Counterexample,
) -> String {
    let difference = &found.difference;
    let what = match difference.values {
        true => format!(
            "{} is {} by the first program and {} by the second",
            difference.place(),
            difference.left,
            difference.right
        ),
        false => format!("first program: {}; second: {}", difference.left, difference.right),
    };
    let before = match found.before {
        Before::Zeros => "",
        Before::Numbers | Before::Negated => "; it shows where outputs do not hold zeros before",
    };
    let heading = format!("; {what}{before}\n");
    let data = found.given.forms(&sides.declarations).join("\n    ");
    let layouts = &sides.declarations.layouts;
    // A layout describes an input that only the other side reads; the model has no data for it.
    let model = sides.model.as_ref().filter(|_| layouts.is_empty());
    if let Some(text) = model.and_then(|file| with_data(sources, file, &data)) {
        return heading + &text;
    }
    let mut text = heading;
    for size in &sides.declarations.own_sizes {
        text += &format!("(size {size})\n");
    }
    for declared in &sides.declarations.tensors {
        text += &format!("{}\n", declared.form());
    }
    for layout in layouts {
        text += &layout.form();
    }
    for assumption in &sides.declarations.assumptions {
        text += &format!("(assume {})\n", assumption.text());
    }
    text += &format!("(data\n    {data})\n");
    let words = sides.declarations.words(signature);
    for side in [&sides.left, &sides.right] {
        match &side.what {
            What::Term { term, .. } => {
                text += &format!("\n{}\n", program(term, &words).trim_end());
            }
            What::Dlc { program, .. } => text += &format!("\n{}\n", print(program).trim_end()),
        }
    }
    text
}

/// Returns a model's text with other data, without the programs that it names, because their paths may be invalid at
/// the location of the new file.
fn with_data(sources: &Sources, file: &ModelFile, data: &str) -> Option<String> {
    let text = &sources.get(file.file).text;
    let forms = sexp::read(sources, file.file).ok()?;
    let model = forms.first()?;
    let items = model.list()?;
    let mut cut: Vec<std::ops::Range<usize>> = items
        .iter()
        .filter(|item| matches!(item.form(), Some(("data" | "programs", _))))
        .map(|item| item.span.range())
        .collect();
    cut.sort_by_key(|range| range.start);
    let whole = model.span.range();
    let mut kept = String::new();
    let mut at = whole.start;
    for range in cut {
        kept += text.get(at..range.start)?;
        at = range.end;
    }
    kept += text.get(at..whole.end.checked_sub(1)?)?;
    Some(format!("{}\n  (data (seed 1)\n    {data}))\n", kept.trim_end()))
}
