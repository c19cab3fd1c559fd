//! The reader of spaces, in the JSON format of BaCO. All errors are reported at once.

use crate::expression::Condition;
use crate::json::{Json, find};
use crate::parameter::Parameter;
use crate::space::Space;
use crate::values;
use ember_language::diagnostic::{Checked, Diagnostic, FileId, Sources, Span};
use ember_language::suggest;
use fastrand::Rng;
use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;

/// The most parameters, the most coordinates of a point, and the most bytes of a condition.
const PARAMETERS: usize = 256;
const COORDINATES: usize = 4096;
const CONDITION: usize = 4096;

/// The keys of a parameter. Those that concern priors are not used.
const KEYS: [&str; 8] = [
    "parameter_type",
    "values",
    "parameter_default",
    "constraints",
    "dependencies",
    "transform",
    "parametrization",
    "prior",
];

/// Reads a space from a text.
///
/// # Errors
///
/// Fails if the text is no space, or nothing meets its conditions.
pub fn read(sources: &Sources, file: FileId) -> Checked<Space> {
    let mut reader = Reader { json: Json(file), errors: Vec::new() };
    let root = reader.json.parse(&sources.get(file).text).map_err(|error| vec![error])?;
    let Some(root) = root else {
        return Err(vec![Diagnostic::error(
            "this file is empty",
            Span::new(file, 0..0),
            "no space",
        )]);
    };
    let space =
        reader.json.object(&root).map_err(|error| vec![error]).map(|root| reader.space(root))?;
    match space {
        Some(space) if reader.errors.is_empty() => Ok(space),
        _ => Err(reader.errors),
    }
}

/// A parameter in the text: its name, and what is said about it.
struct Described<'v, 't> {
    name: &'v ObjectProp<'t>,
    about: &'v Object<'t>,
}

struct Reader {
    json: Json,
    errors: Vec<Diagnostic>,
}

impl Reader {
    fn space(&mut self, root: &Object<'_>) -> Option<Space> {
        let Some(inputs) = find(root, "input_parameters") else {
            let error = self.json.error("a space has `input_parameters`", root, "none here");
            let keys = root.properties.iter().map(|property| property.name.as_str());
            let near = suggest::nearest("input_parameters", keys);
            let help = near.map(|near| format!("`{near}` is near it"));
            self.errors.push(Diagnostic { help, ..error });
            return None;
        };
        let described = self.described(inputs)?;
        let parameters: Vec<Option<Parameter>> =
            described.iter().map(|own| self.parameter(own)).collect();
        self.check_dependencies(&described);
        // Conditions on parameters that could not be read would only repeat their errors.
        let parameters: Vec<Parameter> = parameters.into_iter().collect::<Option<_>>()?;
        if parameters.iter().map(Parameter::dimensions).sum::<usize>() > COORDINATES {
            let message = "the words and permutations of this space are too many";
            self.errors.push(self.json.error(message, &inputs.name, "here"));
            return None;
        }
        let (conditions, places) = self.conditions(&described, &parameters);
        if !self.errors.is_empty() {
            return None;
        }
        let mut space = Space::new(parameters, conditions);
        self.settings(root, &mut space);
        if let Some(unmet) = space.unmet(&mut Rng::with_seed(0)) {
            let mut spans = unmet.iter().map(|at| places[*at]);
            let first = spans.next().unwrap_or_else(|| self.json.span(inputs.range()));
            let message = match space.size() {
                Some(_) => "no point meets these conditions",
                None => "no point that meets these conditions was found",
            };
            let error = Diagnostic::error(message, first, "this condition");
            let also = |error: Diagnostic, span| error.with_related(span, "and this one");
            self.errors.push(spans.fold(error, also));
        }
        Some(space)
    }

    /// Returns the parameters in the text, each with its description.
    fn described<'v, 't>(&mut self, inputs: &'v ObjectProp<'t>) -> Option<Vec<Described<'v, 't>>> {
        let object = self.try_to(|json| json.object(&inputs.value))?;
        let count = object.properties.len();
        if count == 0 || count > PARAMETERS {
            let message = format!("a space has 1 to {PARAMETERS} parameters, not {count}");
            self.errors.push(self.json.error(message, &inputs.name, "here"));
            return None;
        }
        let mut described: Vec<Described<'v, 't>> = Vec::new();
        for name in &object.properties {
            if let Some(other) =
                described.iter().find(|other| other.name.name.as_str() == name.name.as_str())
            {
                let message = format!("parameter `{}` is described twice", name.name.as_str());
                let first = self.json.span(other.name.name.range());
                let error = self.json.error(message, &name.name, "again");
                self.errors.push(error.with_related(first, "first here"));
                continue;
            }
            if let Some(about) = self.try_to(|json| json.object(&name.value)) {
                described.push(Described { name, about });
            }
        }
        Some(described)
    }

    fn parameter(&mut self, own: &Described<'_, '_>) -> Option<Parameter> {
        for property in &own.about.properties {
            let key = property.name.as_str();
            if !KEYS.contains(&key) && key != "prior_parameters" {
                let span = self.json.span(property.name.range());
                self.errors.push(suggest::unknown("key", key, span, KEYS));
            }
        }
        self.try_to(|json| values::read(json, &own.name.name, own.about))
    }

    /// Checks that dependencies are parameters, and that none depends on itself.
    fn check_dependencies(&mut self, described: &[Described<'_, '_>]) {
        let names = || described.iter().map(|own| own.name.name.as_str());
        let mut edges: Vec<Vec<(usize, Span)>> = Vec::new();
        for own in described {
            let mut own_edges = Vec::new();
            for value in self.texts(own.about, "dependencies") {
                let (text, span) = value;
                match names().position(|name| name == text) {
                    Some(other) => own_edges.push((other, span)),
                    None => self.errors.push(suggest::unknown("parameter", &text, span, names())),
                }
            }
            edges.push(own_edges);
        }
        if let Some(cycle) = cycle(&edges) {
            let text = |at: &usize| format!("`{}`", described[*at].name.name.as_str());
            let path: Vec<String> = cycle.iter().map(|(at, _)| text(at)).collect();
            let message = format!("these parameters depend on each other: {}", path.join(", "));
            let mut spans = cycle.iter().map(|(_, span)| *span);
            let first = spans.next().unwrap_or(Span::new(self.json.0, 0..0));
            let error = Diagnostic::error(message, first, "this dependency");
            let error = spans.fold(error, |error, span| error.with_related(span, "and this one"));
            self.errors.push(error.with_help(
                "a condition belongs to one of its parameters, which depends on the others",
            ));
        }
    }

    /// Returns the conditions of all parameters with their places.
    fn conditions(
        &mut self,
        described: &[Described<'_, '_>],
        parameters: &[Parameter],
    ) -> (Vec<Condition>, Vec<Span>) {
        let (mut conditions, mut places) = (Vec::new(), Vec::new());
        for own in described {
            for (text, span) in self.texts(own.about, "constraints") {
                if text.len() > CONDITION {
                    let message = format!("a condition has at most {CONDITION} bytes");
                    self.errors.push(Diagnostic::error(message, span, "longer"));
                    continue;
                }
                match Condition::read(&text, parameters) {
                    Ok(condition) => {
                        conditions.push(condition);
                        places.push(span);
                    }
                    Err(error) => {
                        // With escapes, places in the text are not those in the file.
                        let exact = span.end - span.start == text.len() as u32 + 2;
                        let start = span.start as usize + 1;
                        let at =
                            start + error.at.start..start + error.at.end.max(error.at.start + 1);
                        let at = if exact { Span::new(span.file, at) } else { span };
                        let shown = Diagnostic::error(error.message, at, "in this condition");
                        self.errors.push(Diagnostic { help: error.help, ..shown });
                    }
                }
            }
        }
        (conditions, places)
    }

    /// Returns the texts of a list, each with its place; none if there is no list.
    fn texts(&mut self, about: &Object<'_>, key: &str) -> Vec<(String, Span)> {
        let Some(property) = find(about, key) else { return Vec::new() };
        let list = self.try_to(|json| json.list(&property.value)).unwrap_or(&[]);
        let text = |value: &Value<'_>| {
            let text = self.try_to(|json| json.text(value))?.to_owned();
            Some((text, self.json.span(value.range())))
        };
        list.iter().filter_map(text).collect()
    }

    /// Reads the settings of the search that are used.
    fn settings(&mut self, root: &Object<'_>, space: &mut Space) {
        if let Some(property) = find(root, "log_transform_output") {
            space.log_output = self.try_to(|json| json.truth(&property.value)).unwrap_or(false);
        }
        let objectives = self.texts(root, "optimization_objectives");
        if let Some((_, second)) = objectives.get(1) {
            let message = "there should be one objective: points are ordered by one result";
            self.errors.push(Diagnostic::error(message, *second, "another one"));
        }
        if let Some((name, _)) = objectives.into_iter().next() {
            space.objective = name;
        }
        let design = find(root, "design_of_experiment");
        let design = design.and_then(|design| self.try_to(|json| json.object(&design.value)));
        space.initial = design.and_then(|design| self.count(design, "number_of_samples"));
        space.iterations = self.count(root, "optimization_iterations");
    }

    /// Returns the number of a key that counts something.
    fn count(&mut self, object: &Object<'_>, key: &str) -> Option<usize> {
        let property = find(object, key)?;
        let count = self.try_to(|json| json.whole(&property.value))?;
        let negative =
            |json: Json| json.error("this should be 0 or more", &property.value, "below");
        self.try_to(|json| usize::try_from(count).map_err(|_| negative(json)))
    }

    /// Collects the error of an attempt.
    fn try_to<T>(&mut self, read: impl FnOnce(Json) -> Result<T, Diagnostic>) -> Option<T> {
        read(self.json).map_err(|error| self.errors.push(error)).ok()
    }
}

/// Returns a cycle of dependencies, each with the place that states it.
fn cycle(edges: &[Vec<(usize, Span)>]) -> Option<Vec<(usize, Span)>> {
    let mut done = vec![false; edges.len()];
    for start in 0..edges.len() {
        // The path from the start, each node with the next of its edges to follow.
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        while let Some((node, next)) = path.last_mut() {
            let (node, edge) = (*node, edges[*node].get(*next));
            *next += 1;
            match edge {
                _ if done[node] => _ = path.pop(),
                None => {
                    done[node] = true;
                    path.pop();
                }
                Some((to, _)) => match path.iter().position(|(on, _)| on == to) {
                    Some(first) => {
                        let edge =
                            |(node, next): &(usize, usize)| (*node, edges[*node][next - 1].1);
                        return Some(path[first..].iter().map(edge).collect());
                    }
                    None => path.push((*to, 0)),
                },
            }
        }
    }
    None
}
