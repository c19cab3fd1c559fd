//! The parameters of rule files: which of them matter for a model, and their space in the format that spaces are read from.

use ember_compile::pipeline::{self, Case, Inputs, Options};
use ember_language::diagnostic::{Checked, Sources};
use ember_language::rules::{
    Known, Number, Parameter, RuleBook, Schedule, Settings, Value, Values,
};
use ember_tune::Space;
use ember_values::scalar::DType;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;

/// The path of the text of a space in messages.
const PATH: &str = "<parameters>";

/// Returns those of a schedule's parameters that matter for a model: the schedule's steps depend on them, or a rule does
/// that fires with the values that are set, and the defaults of the others.
///
/// # Errors
///
/// Fails if there is no data for the model.
pub fn that_matter<'a>(
    inputs: &Inputs,
    options: &Options,
    schedule: &Schedule,
    parameters: &[&'a Parameter],
) -> Checked<Vec<&'a Parameter>> {
    let (case, _) = Case::to_rank(&inputs.model, options)?;
    let (book, statistics) = (&inputs.book, case.statistics(inputs));
    let goal = pipeline::goal(book, schedule);
    let fired = pipeline::search(inputs, &statistics, options, schedule, goal, &|_| ()).fired();
    let fired = book.rules.iter().filter(|rule| fired.contains(rule.name.as_str()));
    let of_rules = fired.flat_map(|rule| rule.parameters.iter().copied());
    let used: BTreeSet<_> = of_rules.chain(schedule.parameters()).collect();
    Ok(parameters.iter().copied().filter(|own| used.contains(&own.name)).collect())
}

/// Returns the space of some parameters, and its text. Others have the values that are set, or their defaults.
///
/// # Errors
///
/// Fails if no point meets the conditions.
pub fn space(
    sources: &mut Sources,
    book: &RuleBook,
    (parameters, set): (&[&Parameter], &Settings),
    objective: &str,
) -> Checked<(Space, String)> {
    let is_tuned = |name: &str| parameters.iter().any(|own| own.name.as_str() == name);
    let number = |name: &str| {
        if is_tuned(name) {
            return Some(name.to_owned());
        }
        let default = || match book.parameters.named(name)?.default.as_ref()? {
            Value::Number(number) => Some(number.to_string()),
            Value::Word(_) | Value::Order(_) => None,
        };
        set.get(name).cloned().or_else(default)
    };
    let mut described = Map::new();
    for own in parameters {
        let mentions = |known: &&Known| names(known).contains(&own.name.as_str());
        let conditions = book.parameters.known.iter().filter(mentions);
        let conditions: Vec<String> =
            conditions.filter_map(|known| condition(known, &number)).collect();
        let mut about = values(own);
        about["constraints"] = json!(conditions);
        described.insert(own.name.to_string(), about);
    }
    let text = json!({
        "optimization_objectives": [objective],
        "log_transform_output": true,
        "design_of_experiment": { "number_of_samples": 2 * parameters.len() + 1 },
        "input_parameters": described,
    });
    let text = text.to_string();
    let file = sources.add(PATH, text.as_str());
    Ok((ember_tune::read(sources, file)?, text))
}

/// Returns a point as the settings of parameters.
pub fn settings(point: &Map<String, Json>) -> Settings {
    let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    point.iter().map(|(name, value)| (name.clone(), text(value))).collect()
}

/// Describes the values of a parameter.
fn values(own: &Parameter) -> Json {
    let mut about = match &own.values {
        // Of numbers above 0 the ratio counts, as of lengths and distances.
        Values::Ordinal(numbers) => {
            let ratio = numbers.first().is_some_and(|least| *least > 0);
            let transform = if ratio { "log" } else { "none" };
            json!({ "parameter_type": "ordinal", "values": numbers, "transform": transform })
        }
        Values::Categorical(words) => json!({ "parameter_type": "categorical", "values": words }),
        Values::Permutation(n) => json!({ "parameter_type": "permutation", "values": [n] }),
    };
    if let Some(default) = &own.default {
        about["parameter_default"] = match default {
            Value::Number(number) => json!(number),
            Value::Word(word) => json!(word),
            Value::Order(order) => json!(order),
        };
    }
    about
}

/// Returns the names of the parameters in a condition.
fn names(known: &Known) -> Vec<&str> {
    let (mut found, mut open) = (Vec::new(), known.sides.iter().collect::<Vec<_>>());
    while let Some(number) = open.pop() {
        match number {
            Number::Given(_) => {}
            Number::Of(name) => found.push(name.as_str()),
            Number::Computed(_, sides) => open.extend(sides.iter()),
        }
    }
    found
}

/// Writes a condition; `None` if it mentions a parameter that has no number.
fn condition(known: &Known, number: &impl Fn(&str) -> Option<String>) -> Option<String> {
    let [a, b] = &known.sides;
    let (a, b) = (written(a, number)?, written(b, number)?);
    Some(match known.relation {
        "at-most" => format!("{a} <= {b}"),
        "below" => format!("{a} < {b}"),
        "divides" => format!("{b} % {a} == 0"),
        _ => format!("{a} != {b}"),
    })
}

fn written(side: &Number, number: &impl Fn(&str) -> Option<String>) -> Option<String> {
    match side {
        Number::Given(given) => Some(given.to_string()),
        Number::Of(name) => number(name.as_str()),
        Number::Computed(op, sides) => {
            let (a, b) = (written(&sides[0], number)?, written(&sides[1], number)?);
            let signs = [DType::F64, DType::I64].map(|dtype| op.infix(dtype));
            Some(match signs {
                [Some(sign), Some(_)] => format!("({a} {sign} {b})"),
                // The quotient of whole numbers is whole.
                [Some(sign), None] => format!("({a} {sign}{sign} {b})"),
                [None, _] => format!("{}({a}, {b})", op.name()),
            })
        }
    }
}
