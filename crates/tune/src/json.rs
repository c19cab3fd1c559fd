//! JSON with places: typed access to its values, with an error where one is missing or of another type.

use ember_language::diagnostic::{Diagnostic, FileId, Span};
use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

/// The largest number whose neighbours are distinct: larger ones would be rounded.
const LARGEST: f64 = (1u64 << 53) as f64;

/// JSON as standardised, without the freedoms that the crate grants by default.
const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A file whose values are read.
#[derive(Clone, Copy, Debug)]
pub struct Json(pub FileId);

impl Json {
    /// Parses a text; `None` is an empty one.
    pub fn parse<'t>(self, text: &'t str) -> Result<Option<Value<'t>>, Diagnostic> {
        let parsed = parse_to_ast(text, &CollectOptions::default(), &STRICT);
        parsed.map(|parsed| parsed.value).map_err(|error| {
            let message = error.kind().to_string();
            let message = format!("this is not JSON: {}", lowered(&message));
            Diagnostic::error(message, self.span(error.range()), "here")
        })
    }

    /// Returns the place of a part of the file.
    pub fn span(self, range: Range) -> Span {
        Span::new(self.0, range.start..range.end)
    }

    /// Creates an error at a value.
    pub fn error(self, message: impl Into<String>, at: &impl Ranged, label: &str) -> Diagnostic {
        Diagnostic::error(message, self.span(at.range()), label)
    }

    /// Returns a value as an object.
    pub fn object<'v, 't>(self, value: &'v Value<'t>) -> Result<&'v Object<'t>, Diagnostic> {
        value.as_object().ok_or_else(|| self.wrong(value, "an object, `{…}`"))
    }

    /// Returns a value as a list.
    pub fn list<'v, 't>(self, value: &'v Value<'t>) -> Result<&'v [Value<'t>], Diagnostic> {
        let list = value.as_array().map(|array| array.elements.as_slice());
        list.ok_or_else(|| self.wrong(value, "a list, `[…]`"))
    }

    /// Returns a value as a text.
    pub fn text<'v>(self, value: &'v Value<'_>) -> Result<&'v str, Diagnostic> {
        let text = value.as_string_lit().map(|text| text.value.as_ref());
        text.ok_or_else(|| self.wrong(value, "a text in quotes"))
    }

    /// Returns a value as a truth value.
    pub fn truth(self, value: &Value<'_>) -> Result<bool, Diagnostic> {
        let truth = value.as_boolean_lit().map(|truth| truth.value);
        truth.ok_or_else(|| self.wrong(value, "`true` or `false`"))
    }

    /// Returns a value as a number, which is represented exactly enough.
    pub fn number(self, value: &Value<'_>) -> Result<f64, Diagnostic> {
        let literal = value.as_number_lit().ok_or_else(|| self.wrong(value, "a number"))?;
        match literal.value.parse::<f64>() {
            Ok(number) if number.abs() <= LARGEST => Ok(number),
            _ => Err(self.error("this number is too large", value, "above 2^53")),
        }
    }

    /// Returns a value as a whole number.
    pub fn whole(self, value: &Value<'_>) -> Result<i64, Diagnostic> {
        match self.number(value)? {
            number if number.fract() == 0.0 => Ok(number as i64),
            _ => Err(self.wrong(value, "a whole number")),
        }
    }

    fn wrong(self, value: &Value<'_>, wants: &str) -> Diagnostic {
        let is = match value {
            Value::StringLit(_) => "a text",
            Value::NumberLit(_) => "a number",
            Value::BooleanLit(_) => "a truth value",
            Value::Object(_) => "an object",
            Value::Array(_) => "a list",
            Value::NullKeyword(_) => "`null`",
        };
        self.error(format!("{wants} should stand here"), value, is)
    }
}

/// Returns the value of a key, the last one if there are several.
pub fn find<'v, 't>(object: &'v Object<'t>, key: &str) -> Option<&'v ObjectProp<'t>> {
    object.properties.iter().rfind(|property| property.name.as_str() == key)
}

fn lowered(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().map(|first| first.to_lowercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
