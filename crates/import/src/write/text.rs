//! The text of a model: names, inputs, statements, arguments and data.

use super::drawn::{ascending, drawn};
use super::inputs::{Content, Input};
use super::{Step, Writer};
use crate::graph::Id;
use crate::layout::{Base, Part};
use ember_model::Extent;
use ember_targets::tensor::Tensor;
use itertools::Itertools;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A model and the tensors that it reads from a file.
pub(crate) struct Written {
    /// The model's text.
    pub(crate) text: String,
    /// The tensors by the names of inputs.
    pub(crate) weights: BTreeMap<String, Tensor>,
}

/// Makes a name of a model out of any text.
pub(crate) fn word(text: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || "_-.".contains(c) { c } else { '_' };
    let mut name: String = text.chars().map(fits).take(60).collect();
    let reserved = ["seed", "size", "graph", "triples"].contains(&name.as_str());
    let numeric = name.parse::<f64>().is_ok();
    if reserved || numeric || !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        name.insert_str(0, "t_");
    }
    name
}

/// Formats extents as models write them.
pub(crate) fn extents(shape: &[Extent]) -> String {
    format!("({})", shape.iter().map(extent).join(" "))
}

fn extent(extent: &Extent) -> String {
    match extent {
        Extent::Size { name, plus } if *plus > 0 => format!("(+ {name} {plus})"),
        extent => extent.to_string(),
    }
}

impl Writer<'_> {
    /// Returns the model with this name.
    pub(crate) fn written(&self, name: &str) -> Written {
        let file = format!("{name}.safetensors");
        let mut text = format!("(model {}\n", word(name));
        let inputs = &self.inputs.0;
        for Input { name, dtype, extents: shape, .. } in inputs {
            let _ = writeln!(text, "  (input {name} {dtype} {})", extents(shape));
        }
        for step in &self.steps {
            let form = if step.output { "output" } else { "let" };
            let _ = writeln!(text, "  ({form} {} {})", step.name, step.operation);
        }
        text += &self.arguments();
        text += &self.results();
        text += "  (data (seed 1)";
        for (name, n) in self.sizes() {
            let _ = write!(text, "\n    (size {name} {n})");
        }
        let mut weights = BTreeMap::new();
        for input in inputs {
            let source = match &input.content {
                Content::Known(tensor) => {
                    let shape: Option<Vec<u64>> =
                        input.extents.iter().map(Extent::constant).collect();
                    let shape = shape.unwrap_or_else(|| tensor.shape.clone());
                    weights.insert(input.name.clone(), Tensor { shape, ..(**tensor).clone() });
                    Some(format!("(file \"{file}\" \"{}\")", input.name))
                }
                Content::Sorted { values, positions } => {
                    Some(format!("(in-rows {values} {positions})"))
                }
                Content::Computed(whole) => Some(format!("(computed {whole})")),
                Content::Sums { lengths } => Some(format!("(running-sum {lengths})")),
                Content::Starts { positions } => Some(format!("(row-offsets {positions})")),
                Content::Fill(x) => Some(format!("(constant {x:?})").replace(".0)", ")")),
                Content::Argument { .. } => {
                    let ascending =
                        self.counted(input).and_then(|size| ascending(self.graph, input, size));
                    ascending.or_else(|| drawn(self.graph, input, inputs))
                }
            };
            if let Some(source) = source {
                let _ = write!(text, "\n    ({} {source})", input.name);
            }
        }
        Written { text: text + "))\n", weights }
    }

    /// The form that says which inputs hold which argument.
    fn arguments(&self) -> String {
        let mut text = "  (arguments".to_owned();
        if self.graph.unordered {
            text += " unordered";
        }
        for (at, argument) in self.graph.arguments.iter().enumerate() {
            let _ = write!(text, "\n    ({}", word(&argument.name));
            for input in &self.inputs.0 {
                let Content::Argument { argument, parts, closed } = &input.content else {
                    continue;
                };
                if *argument != at {
                    continue;
                }
                let part =
                    |Part { axis, first, count }: &Part| format!(" (part {axis} {first} {count})");
                let parts: String = parts.iter().map(part).collect();
                let closed = closed.as_ref().map(|end| format!(" (closed {})", extent(end)));
                let counts = self.counted(input).map(|size| format!(" (counts {size})"));
                let (closed, counts) = (closed.unwrap_or_default(), counts.unwrap_or_default());
                let _ = write!(text, " ({}{parts}{closed}{counts})", input.name);
            }
            text += ")";
        }
        text + ")\n"
    }

    /// The form that gives the extents of outputs in the program, where the model has others.
    fn results(&self) -> String {
        let outputs = self.steps.iter().filter(|step| step.output);
        let shapes = self.graph.results.iter();
        let one = |(step, shape): (&Step, &Vec<Extent>)| match shape.len() {
            1..=3 => String::new(),
            _ => {
                let extents = shape.iter().map(extent);
                format!(" ({})", std::iter::once(step.name.clone()).chain(extents).join(" "))
            }
        };
        let all: String = outputs.zip(shapes).map(one).collect();
        if all.is_empty() { all } else { format!("  (results{all})\n") }
    }

    /// Returns the size that the greatest element of an input says.
    fn counted(&self, input: &Input) -> Option<&String> {
        let Content::Argument { argument, parts, .. } = &input.content else { return None };
        let counts = |id: &Id| match &self.laid[id.0].as_ref()?.base {
            Base::View { argument: own, parts: of } => Some(own == argument && of == parts),
            _ => None,
        };
        let mut sizes = self.graph.counted.iter();
        sizes.find(|(_, id)| counts(id) == Some(true)).map(|(size, _)| size)
    }

    /// The sizes that inputs mention, with their values in the export.
    fn sizes(&self) -> Vec<(&String, u64)> {
        let mentioned: BTreeSet<String> =
            self.inputs.0.iter().flat_map(|i| &i.extents).filter_map(super::size_of).collect();
        let known = self.graph.sizes.iter().map(|(name, n)| (name, *n));
        known.filter(|(name, _)| mentioned.contains(*name)).collect()
    }
}
