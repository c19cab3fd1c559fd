//! The parts of the exported program's JSON that are read. Everything else is skipped while reading.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// An exported program.
#[derive(serde::Deserialize)]
pub(super) struct Program {
    pub(super) graph_module: GraphModule,
    pub(super) schema_version: SchemaVersion,
}

/// The version of the schema.
#[derive(serde::Deserialize)]
pub(super) struct SchemaVersion {
    pub(super) major: u64,
    pub(super) minor: u64,
}

/// The graph and its interface.
#[derive(serde::Deserialize)]
pub(super) struct GraphModule {
    pub(super) graph: Graph,
    pub(super) signature: Signature,
}

/// The operators in order, and the recorded types of their results.
#[derive(serde::Deserialize)]
pub(super) struct Graph {
    pub(super) outputs: Vec<Arg>,
    pub(super) nodes: Vec<Node>,
    pub(super) tensor_values: BTreeMap<String, TensorMeta>,
}

/// The interface.
#[derive(serde::Deserialize)]
pub(super) struct Signature {
    pub(super) input_specs: Vec<InputSpec>,
    pub(super) output_specs: Vec<OutputSpec>,
}

/// A call of an operator.
#[derive(serde::Deserialize)]
pub(super) struct Node {
    pub(super) target: String,
    pub(super) inputs: Vec<NamedArg>,
    pub(super) outputs: Vec<Arg>,
    #[serde(default)]
    pub(super) metadata: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) name: Option<String>,
}

/// A parameter of a call.
#[derive(serde::Deserialize)]
pub(super) struct NamedArg {
    pub(super) name: String,
    pub(super) arg: Arg,
}

/// The type and shape of a tensor.
#[derive(Clone, serde::Deserialize)]
pub(super) struct TensorMeta {
    pub(super) dtype: u64,
    pub(super) sizes: Vec<SymInt>,
    #[serde(default)]
    pub(super) strides: Vec<SymInt>,
    #[serde(default)]
    pub(super) storage_offset: Option<SymInt>,
    #[serde(default)]
    pub(super) layout: Option<u64>,
}

/// The files of weights, by the weights' names.
#[derive(Default, serde::Deserialize)]
pub(super) struct Config {
    pub(super) config: BTreeMap<String, Entry>,
}

/// The file of a weight.
#[derive(serde::Deserialize)]
pub(super) struct Entry {
    pub(super) path_name: String,
    #[serde(default)]
    pub(super) use_pickle: bool,
    #[serde(default)]
    pub(super) tensor_meta: Option<TensorMeta>,
}

/// An extent: a number, or an expression of sizes with its value in the export.
#[derive(Clone)]
pub(super) enum SymInt {
    Int(i64),
    Expr { text: String, hint: Option<i64> },
}

impl SymInt {
    /// Returns the number, if it is one.
    pub(super) fn number(&self) -> Option<u64> {
        match self {
            SymInt::Int(n) => u64::try_from(*n).ok(),
            SymInt::Expr { .. } => None,
        }
    }
}

/// A parameter or result.
pub(super) enum Arg {
    None,
    Tensor(String),
    Int(i64),
    Number(f64),
    Bool(bool),
    Word(String),
    Type(u64),
    Size,
    List(Vec<Arg>),
    Other(String),
}

impl Arg {
    /// Iterates over the names of tensors.
    pub(super) fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Arg::Tensor(name) => Box::new(std::iter::once(name.as_str())),
            Arg::List(items) => Box::new(items.iter().flat_map(|item| item.names())),
            _ => Box::new(std::iter::empty()),
        }
    }

    /// Returns true if there is a tensor in it.
    pub(super) fn has_tensor(&self) -> bool {
        self.names().next().is_some()
    }
}

/// An argument of the program, or a weight that the program takes like one.
pub(super) enum InputSpec {
    User(Arg),
    Weight { name: String, weight: String },
    Constant,
    Other(String),
}

/// A result of the program.
pub(super) enum OutputSpec {
    User,
    Other(String),
}

/// Reads a map with one key, as the schema writes one of several kinds.
struct OneOf<T>(fn(&str, Value) -> Option<T>, &'static str);

impl<'de, T> Visitor<'de> for OneOf<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.1)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let wrong = || serde::de::Error::custom(format!("not {}", self.1));
        let (kind, value) = map.next_entry::<String, Value>()?.ok_or_else(wrong)?;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        (self.0)(&kind, value).ok_or_else(wrong)
    }
}

fn name_of(value: &Value) -> Option<String> {
    Some(value.get("name")?.as_str()?.to_owned())
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(word) => match word.as_str() {
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            "NaN" => Some(f64::NAN),
            _ => None,
        },
        value => value.as_f64(),
    }
}

fn list(value: Value, item: fn(Value) -> Option<Arg>) -> Option<Arg> {
    let Value::Array(items) = value else { return None };
    items.into_iter().map(item).collect::<Option<Vec<_>>>().map(Arg::List)
}

fn sym_int(value: Value) -> Option<Arg> {
    match (value.get("as_int").and_then(Value::as_i64), value.get("as_name")) {
        (Some(n), _) => Some(Arg::Int(n)),
        (None, Some(_)) => Some(Arg::Size),
        _ => None,
    }
}

fn arg(kind: &str, value: Value) -> Option<Arg> {
    let tensor = |value: Value| name_of(&value).map(Arg::Tensor);
    let optional = |value: Value| match value.get("as_tensor") {
        Some(tensor) => name_of(tensor).map(Arg::Tensor),
        None => Some(Arg::None),
    };
    Some(match kind {
        "as_none" => Arg::None,
        "as_tensor" => tensor(value)?,
        "as_tensors" => list(value, tensor)?,
        "as_optional_tensor" => optional(value)?,
        "as_optional_tensors" => list(value, optional)?,
        "as_int" => Arg::Int(value.as_i64()?),
        "as_ints" => list(value, |n| n.as_i64().map(Arg::Int))?,
        "as_float" => Arg::Number(number(&value)?),
        "as_floats" => list(value, |x| number(&x).map(Arg::Number))?,
        "as_bool" => Arg::Bool(value.as_bool()?),
        "as_bools" => list(value, |b| b.as_bool().map(Arg::Bool))?,
        "as_string" => Arg::Word(value.as_str()?.to_owned()),
        "as_scalar_type" => Arg::Type(value.as_u64()?),
        "as_sym_int" => sym_int(value)?,
        "as_sym_ints" => list(value, sym_int)?,
        _ => Arg::Other(kind.to_owned()),
    })
}

impl<'de> Deserialize<'de> for Arg {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Arg, D::Error> {
        deserializer.deserialize_map(OneOf(arg, "an argument"))
    }
}

impl<'de> Deserialize<'de> for SymInt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SymInt, D::Error> {
        let read = |kind: &str, value: Value| match kind {
            "as_int" => value.as_i64().map(SymInt::Int),
            "as_expr" => {
                let text = value.get("expr_str")?.as_str()?.to_owned();
                let hint = value.get("hint").and_then(|hint| hint.get("as_int")?.as_i64());
                Some(match text.parse() {
                    Ok(n) => SymInt::Int(n),
                    Err(_) => SymInt::Expr { text, hint },
                })
            }
            _ => None,
        };
        deserializer.deserialize_map(OneOf(read, "an extent"))
    }
}

impl<'de> Deserialize<'de> for InputSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<InputSpec, D::Error> {
        let read = |kind: &str, mut value: Value| {
            let given = value.get_mut("arg").map(Value::take);
            let weight = |key: &str| {
                let (name, weight) = (name_of(given.as_ref()?)?, value.get(key)?.as_str()?);
                Some(InputSpec::Weight { name, weight: weight.to_owned() })
            };
            match kind {
                "user_input" => {
                    let Some(Value::Object(given)) = given else { return None };
                    let (kind, value) = given.into_iter().next()?;
                    arg(&kind, value).map(InputSpec::User)
                }
                "parameter" => weight("parameter_name"),
                "buffer" => weight("buffer_name"),
                "tensor_constant" => weight("tensor_constant_name"),
                "constant_input" => Some(InputSpec::Constant),
                _ => Some(InputSpec::Other(kind.to_owned())),
            }
        };
        deserializer.deserialize_map(OneOf(read, "an argument of the program"))
    }
}

impl<'de> Deserialize<'de> for OutputSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OutputSpec, D::Error> {
        let read = |kind: &str, _: Value| {
            Some(match kind {
                "user_output" => OutputSpec::User,
                _ => OutputSpec::Other(kind.to_owned()),
            })
        };
        deserializer.deserialize_map(OneOf(read, "a result of the program"))
    }
}

/// Returns the size of an extent's expression, and the number that is added: `s0`, `s0 + 1`, or what SymPy writes for
/// them, `Symbol('s0', …)` and `Add(Symbol('s0', …), Integer(1))`.
pub(super) fn size(text: &str) -> Option<(String, i64)> {
    let text = text.trim();
    if let Some(terms) = text.strip_prefix("Add(").and_then(|rest| rest.strip_suffix(')')) {
        // Only the commas of the sum's own operands matter: a number comes last or first.
        let (first, last) = (terms.split_once(", ")?, terms.rsplit_once(", ")?);
        return sum(first.0, first.1).or_else(|| sum(last.1, last.0));
    }
    match (text.split_once('+'), text.split_once(" - ")) {
        (Some((a, b)), _) => sum(a, b).or_else(|| sum(b, a)),
        (None, Some((a, b))) => sum(b, a).map(|(size, less)| (size, -less)),
        (None, None) => Some((symbol(text)?, 0)),
    }
}

fn sum(number: &str, size: &str) -> Option<(String, i64)> {
    let number = number.trim();
    let inner = number.strip_prefix("Integer(").and_then(|rest| rest.strip_suffix(')'));
    Some((symbol(size.trim())?, inner.unwrap_or(number).parse().ok()?))
}

fn symbol(text: &str) -> Option<String> {
    let name = match text.strip_prefix("Symbol('") {
        Some(rest) => {
            let (name, rest) = rest.split_once('\'')?;
            // One symbol alone, not the first of several.
            (rest.matches('(').count() == 0 && rest.ends_with(')')).then_some(name)?
        }
        None => text,
    };
    let fits = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    fits.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_read_in_both_spellings() {
        let s = |plus| Some(("s0".to_owned(), plus));
        assert_eq!(size("s0"), s(0));
        assert_eq!(size("1 + s0"), s(1));
        assert_eq!(size("s0 - 1"), s(-1));
        assert_eq!(size("Symbol('s0', positive=True, integer=True)"), s(0));
        assert_eq!(size("Add(Symbol('s0', positive=True, integer=True), Integer(1))"), s(1));
        assert_eq!(size("Mul(Integer(2), Symbol('s0', integer=True))"), None);
        assert_eq!(size("s0*2"), None);
    }
}
