//! The reader of one parameter: its type, values, default and transform.

use crate::json::{Json, find};
use crate::parameter::{Kind, Metric, Parameter, Value as Own};
use ember_language::diagnostic::Diagnostic;
use ember_language::suggest;
use jsonc_parser::ast::{Object, ObjectPropName, Value};
use jsonc_parser::common::Ranged;

/// The most numbers and words that a parameter lists, and the most elements of a permutation.
const NUMBERS: usize = 1 << 16;
const WORDS: usize = 256;
const ELEMENTS: i64 = 32;

/// The types of parameters, the names of distances of permutations, and the transforms.
const TYPES: [&str; 5] = ["ordinal", "categorical", "permutation", "integer", "real"];
const METRICS: [(&str, Metric); 3] =
    [("spearman", Metric::Spearman), ("kendall", Metric::Kendall), ("hamming", Metric::Hamming)];
const TRANSFORMS: [&str; 2] = ["none", "log"];

/// Reads a parameter from its description.
pub fn read(
    json: Json,
    name: &ObjectPropName<'_>,
    about: &Object<'_>,
) -> Result<Parameter, Diagnostic> {
    let required = |key: &str| {
        let missing =
            || json.error(format!("parameter `{}` has no `{key}`", name.as_str()), name, "here");
        find(about, key).map(|property| &property.value).ok_or_else(missing)
    };
    let optional = |key: &str| find(about, key).map(|property| &property.value);
    let kind = required("parameter_type")?;
    let values = required("values")?;
    let kind = match json.text(kind)? {
        "ordinal" => Kind::Ordinal(numbers(json, values)?),
        "categorical" => Kind::Categorical(words(json, values)?),
        "permutation" => {
            Kind::Permutation(length(json, values)?, metric(json, optional("parametrization"))?)
        }
        "integer" => {
            let (low, high) = ends(json, values, Json::whole)?;
            Kind::Integer(low, high)
        }
        "real" => {
            let (low, high) = ends(json, values, Json::number)?;
            Kind::Real(low, high)
        }
        other => {
            return Err(suggest::unknown(
                "type of parameter",
                other,
                json.span(kind.range()),
                TYPES,
            ));
        }
    };
    let log =
        optional("transform").map_or(Ok(false), |transform| logarithmic(json, transform, &kind))?;
    let mut parameter = Parameter { name: name.as_str().to_owned(), kind, log, default: None };
    if let Some(value) = optional("parameter_default") {
        let default = parse(json, &parameter.kind, value)?;
        let outside =
            || json.error("the default is none of the parameter's values", value, "this one");
        parameter.default = Some(default.ok_or_else(outside)?);
    }
    Ok(parameter)
}

/// Returns the numbers of an ordinal parameter in ascending order.
fn numbers(json: Json, value: &Value<'_>) -> Result<Vec<f64>, Diagnostic> {
    let list = bounded(json, value, NUMBERS)?;
    let mut numbers: Vec<(f64, &Value<'_>)> = Vec::with_capacity(list.len());
    for value in list {
        numbers.push((json.number(value)?, value));
    }
    numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
    match numbers.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(twice(json, pair[0].1, pair[1].1)),
        None => Ok(numbers.into_iter().map(|(number, _)| number).collect()),
    }
}

fn words(json: Json, value: &Value<'_>) -> Result<Vec<String>, Diagnostic> {
    let list = bounded(json, value, WORDS)?;
    let mut words: Vec<String> = Vec::new();
    for (at, value) in list.iter().enumerate() {
        let word = json.text(value)?;
        if let Some(first) = words.iter().position(|other| other == word) {
            return Err(twice(json, &list[first], &list[at]));
        }
        words.push(word.to_owned());
    }
    Ok(words)
}

fn bounded<'v, 't>(
    json: Json,
    value: &'v Value<'t>,
    most: usize,
) -> Result<&'v [Value<'t>], Diagnostic> {
    match json.list(value)? {
        [] => Err(json.error("this parameter has no values", value, "an empty list")),
        list if list.len() > most => {
            Err(json.error(format!("this list has more than {most} values"), value, "too long"))
        }
        list => Ok(list),
    }
}

fn twice(json: Json, first: &Value<'_>, second: &Value<'_>) -> Diagnostic {
    let error = json.error("this value is listed twice", second, "again");
    error.with_related(json.span(first.range()), "first here")
}

/// Returns the number of elements of a permutation.
fn length(json: Json, value: &Value<'_>) -> Result<usize, Diagnostic> {
    let [elements] = json.list(value)? else {
        return Err(json.error(
            "a permutation has one value, the number of its elements",
            value,
            "here",
        ));
    };
    match json.whole(elements)? {
        n @ 1..=ELEMENTS => Ok(n as usize),
        _ => {
            let message = format!("a permutation has 1 to {ELEMENTS} elements");
            Err(json.error(message, elements, "this number"))
        }
    }
}

fn metric(json: Json, value: Option<&Value<'_>>) -> Result<Metric, Diagnostic> {
    let Some(value) = value else { return Ok(Metric::Spearman) };
    let name = json.text(value)?;
    let known = METRICS.iter().find(|(known, _)| *known == name).map(|(_, metric)| *metric);
    let names = METRICS.iter().map(|(name, _)| *name);
    known.ok_or_else(|| suggest::unknown("distance", name, json.span(value.range()), names))
}

/// Returns the first and last of a range.
fn ends<T: PartialOrd>(
    json: Json,
    value: &Value<'_>,
    read: impl Fn(Json, &Value<'_>) -> Result<T, Diagnostic>,
) -> Result<(T, T), Diagnostic> {
    let [low, high] = json.list(value)? else {
        return Err(json.error(
            "a range has two values, the least and the greatest",
            value,
            "here",
        ));
    };
    let ends = (read(json, low)?, read(json, high)?);
    if ends.0 > ends.1 {
        return Err(json.error("this range is empty: the least value stands first", value, "here"));
    }
    Ok(ends)
}

fn logarithmic(json: Json, transform: &Value<'_>, kind: &Kind) -> Result<bool, Diagnostic> {
    let name = json.text(transform)?;
    if !TRANSFORMS.contains(&name) {
        return Err(suggest::unknown("transform", name, json.span(transform.range()), TRANSFORMS));
    }
    let least = match kind {
        Kind::Ordinal(values) => values[0],
        Kind::Integer(low, _) => *low as f64,
        Kind::Real(low, _) => *low,
        _ => 1.0,
    };
    if name == "log" && least <= 0.0 {
        let message = format!("{least} has no logarithm: all values should be above 0");
        return Err(json.error(message, transform, "this transform"));
    }
    Ok(name == "log" && !matches!(kind, Kind::Categorical(_) | Kind::Permutation(..)))
}

/// Reads a value of a parameter; `None` is none of its values.
fn parse(json: Json, kind: &Kind, value: &Value<'_>) -> Result<Option<Own>, Diagnostic> {
    Ok(match kind {
        Kind::Ordinal(values) => {
            let number = json.number(value)?;
            values.iter().position(|other| *other == number).map(Own::Listed)
        }
        Kind::Categorical(words) => {
            let word = json.text(value)?;
            words.iter().position(|other| other == word).map(Own::Listed)
        }
        Kind::Permutation(n, _) => {
            let elements = json.list(value)?.iter().map(|value| json.whole(value));
            let elements: Vec<i64> = elements.collect::<Result<_, _>>()?;
            let mut sorted = elements.clone();
            sorted.sort_unstable();
            let whole = sorted.into_iter().eq(0..*n as i64);
            whole.then(|| Own::Order(elements.into_iter().map(|element| element as u16).collect()))
        }
        Kind::Integer(low, high) => Some(json.whole(value)?)
            .filter(|number| (*low..=*high).contains(number))
            .map(Own::Integer),
        Kind::Real(low, high) => Some(json.number(value)?)
            .filter(|number| (*low..=*high).contains(number))
            .map(Own::Real),
    })
}
