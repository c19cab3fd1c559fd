//! Reads a machine description: TOML text to checked figures, with every error at once.

use super::{Field, Figure, Kind};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// An error in a description.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineError {
    /// The byte range of the error in the text; `None` if something is missing.
    pub range: Option<Range<usize>>,
    /// The error.
    pub message: String,
    /// A suggested correction; empty if there is none beyond the message.
    pub help: String,
}

/// The sections of a description, and the laws between its numbers.
pub(super) struct Schema {
    /// The word for what is described.
    pub what: &'static str,
    /// The sections in order.
    pub sections: &'static [(&'static str, &'static [Field])],
    /// True if a description may inherit figures.
    pub inherits: bool,
    /// The checks between numbers.
    pub relations: fn(&mut Reader<'_>, &[Figure]),
}

/// A description in which every number passed its own checks and the checks between numbers.
pub(super) struct Figures {
    pub name: String,
    pub figures: Vec<Figure>,
}

/// The parts of a figure, each with true if it is required.
const PARTS: [(&str, bool); 5] = [
    ("value", true),
    ("unit", true),
    ("source", true),
    ("estimated", false),
    ("calibrated", false),
];

/// The key that names the machine whose figures a description inherits.
const INHERITS: &str = "inherits";

/// Returns the machine that a description names as its parent, with the place of the name; `None` if it names none or is
/// no description.
pub fn parent(text: &str) -> Option<(String, Range<usize>)> {
    let (root, _) = DeTable::parse_recoverable(text);
    let value = root.get_ref().get(INHERITS)?;
    Some((value.get_ref().as_str()?.to_owned(), value.span()))
}

/// Reads the text against the schema. A figure that it lacks is taken from the `inherited` ones.
pub(super) fn figures(
    text: &str,
    schema: &Schema,
    inherited: &[Figure],
) -> Result<Figures, Vec<MachineError>> {
    let (root, broken) = DeTable::parse_recoverable(text);
    let mut reader = Reader {
        schema,
        inherited,
        errors: broken
            .iter()
            .map(|e| MachineError {
                range: e.span(),
                message: e.message().to_string(),
                help: String::new(),
            })
            .collect(),
    };
    // A text that is not valid TOML cannot be searched for missing keys.
    if !reader.errors.is_empty() {
        return Err(reader.errors);
    }
    let name = reader.name(root.get_ref());
    let figures = reader.sections(root.get_ref());
    // Checks between numbers need all numbers.
    if reader.errors.is_empty() {
        (schema.relations)(&mut reader, &figures);
    }
    if reader.errors.is_empty() { Ok(Figures { name, figures }) } else { Err(reader.errors) }
}

pub(super) struct Reader<'a> {
    schema: &'a Schema,
    inherited: &'a [Figure],
    errors: Vec<MachineError>,
}

impl Reader<'_> {
    fn error(&mut self, range: Option<Range<usize>>, message: String, help: String) {
        self.errors.push(MachineError { range, message, help });
    }

    fn name(&mut self, root: &DeTable<'_>) -> String {
        match root.get("name").map(|v| (v.span(), v.get_ref().as_str())) {
            Some((_, Some(name))) => name.to_string(),
            Some((span, None)) => {
                self.error(Some(span), "`name` is not a text".into(), String::new());
                String::new()
            }
            None => {
                let help = "begin the file with `name = \"…\"`".to_string();
                let message = format!("the {} has no `name`", self.schema.what);
                self.error(None, message, help);
                String::new()
            }
        }
    }

    fn sections(&mut self, root: &DeTable<'_>) -> Vec<Figure> {
        let schema = self.schema;
        let known = || schema.sections.iter().map(|(name, _)| *name);
        let inherits = schema.inherits.then_some(INHERITS);
        self.unknown_keys(root, "section", known().chain(["name"]).chain(inherits));
        if let Some(value) = root.get(INHERITS).filter(|value| value.get_ref().as_str().is_none()) {
            let help = "write `inherits = \"tmu-cpu\"`, or the path of a description".to_string();
            self.error(Some(value.span()), format!("`{INHERITS}` is not a text"), help);
        }
        let mut figures = Vec::new();
        for (name, fields) in schema.sections {
            let Some(value) = root.get(*name) else {
                let inherited = self.inherited.iter().filter(|figure| figure.section == *name);
                let before = figures.len();
                figures.extend(inherited.cloned());
                if figures.len() > before {
                    continue;
                }
                let keys: Vec<&str> = fields.iter().map(|f| f.key).collect();
                let help = format!("it has the keys {}", keys.join(", "));
                self.error(None, format!("section `[{name}]` is missing"), help);
                continue;
            };
            let Some(table) = value.get_ref().as_table() else {
                self.error(Some(value.span()), format!("`{name}` is not a section"), String::new());
                continue;
            };
            self.unknown_keys(table, "key", fields.iter().map(|f| f.key));
            for field in *fields {
                let same = |figure: &&Figure| figure.section == *name && figure.key == field.key;
                let inherited = self.inherited.iter().find(same);
                match (table.get(field.key), inherited) {
                    (Some(value), _) => figures.extend(self.figure(name, field, value)),
                    (None, Some(figure)) => figures.push(figure.clone()),
                    (None, None) => self.error(
                        Some(value.span()),
                        format!("section `[{name}]` lacks `{}`", field.key),
                        format!("add `{}`", written(field)),
                    ),
                }
            }
        }
        figures
    }

    fn unknown_keys(
        &mut self,
        table: &DeTable<'_>,
        what: &str,
        known: impl Iterator<Item = &'static str> + Clone,
    ) {
        for key in table.keys() {
            let name: &str = key.get_ref();
            if !known.clone().any(|k| k == name) {
                let help = nearest(name, known.clone())
                    .map_or(String::new(), |k| format!("did you mean `{k}`?"));
                self.error(Some(key.span()), format!("unknown {what} `{name}`"), help);
            }
        }
    }

    fn figure(
        &mut self,
        section: &str,
        field: &Field,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<Figure> {
        let before = self.errors.len();
        let key = field.key;
        let Some(table) = value.get_ref().as_table() else {
            let help = format!("write `{}`", written(field));
            self.error(Some(value.span()), format!("`{key}` does not state its source"), help);
            return None;
        };
        self.unknown_keys(table, "part", PARTS.iter().map(|(part, _)| *part));
        for (part, needed) in PARTS {
            let needed = needed && !(part == "unit" && field.kind == Kind::Flag);
            if needed && table.get(part).is_none() {
                self.error(
                    Some(value.span()),
                    format!("`{key}` lacks its `{part}`"),
                    String::new(),
                );
            }
        }
        let number = table.get("value").and_then(|v| self.number(field, v)).unwrap_or(f64::NAN);
        let mut text = |part: &str| {
            let v = table.get(part)?;
            let text = v.get_ref().as_str().map(str::to_string);
            if text.as_deref().is_none_or(|t| t.trim().is_empty()) {
                let message = format!("the {part} of `{key}` is not a text");
                self.error(Some(v.span()), message, String::new());
            }
            text.map(|t| (t, v.span()))
        };
        let unit = text("unit");
        let source = text("source");
        if let Some((unit, span)) = &unit
            && unit != field.unit
        {
            let message = format!("the unit of `{key}` is {}, not {unit}", field.unit);
            self.error(Some(span.clone()), message, String::new());
        }
        let estimated = match table.get("estimated").map(|v| (v.get_ref().as_bool(), v.span())) {
            None => false,
            Some((Some(flag), _)) => flag,
            Some((None, span)) => {
                let message = format!("`estimated` of `{key}` is neither true nor false");
                self.error(Some(span), message, String::new());
                false
            }
        };
        let calibrated = table.get("calibrated").and_then(|v| self.range(field, v, number));
        (self.errors.len() == before).then(|| Figure {
            section: section.to_string(),
            key: key.to_string(),
            value: number,
            unit: field.unit.to_string(),
            source: source.map_or(String::new(), |(s, _)| s),
            // A fitted number was not read from its source, so it counts as an estimate.
            estimated: estimated || calibrated.is_some(),
            calibrated,
        })
    }

    /// Reads the range within which a number was fitted; the number must lie in it.
    fn range(
        &mut self,
        field: &Field,
        value: &Spanned<DeValue<'_>>,
        number: f64,
    ) -> Option<[f64; 2]> {
        let key = field.key;
        let ends = value.get_ref().as_array().filter(|ends| ends.len() == 2);
        let Some(ends) = ends else {
            let help = "write `calibrated = [LOW, HIGH]`".to_string();
            let message = format!("`calibrated` of `{key}` is not a range");
            self.error(Some(value.span()), message, help);
            return None;
        };
        let low = self.number(field, ends.first()?)?;
        let high = self.number(field, ends.get(1)?)?;
        if number < low || number > high {
            let message = format!("`{key}` is {number}, outside of its range {low} to {high}");
            self.error(Some(value.span()), message, String::new());
        }
        Some([low, high])
    }

    /// Returns the number if the schema admits it.
    fn number(&mut self, field: &Field, value: &Spanned<DeValue<'_>>) -> Option<f64> {
        let is_flag = field.kind == Kind::Flag;
        let number = match value.get_ref() {
            DeValue::Boolean(flag) if is_flag => Some(f64::from(u8::from(*flag))),
            _ if is_flag => None,
            DeValue::Integer(i) if i.radix() == 10 => i.as_str().parse::<f64>().ok(),
            DeValue::Float(x) => x.as_str().parse::<f64>().ok(),
            _ => None,
        };
        let key = field.key;
        let Some(x) = number else {
            let kind = if is_flag { "true or false" } else { "a decimal number" };
            let message = format!("the value of `{key}` is not {kind}");
            self.error(Some(value.span()), message, String::new());
            return None;
        };
        let whole = x.fract() == 0.0;
        let reason = if !(field.min..=field.max).contains(&x) {
            format!("it must lie between {} and {} {}", field.min, field.max, field.unit)
        } else if field.kind != Kind::Real && !whole {
            "it must be a whole number".to_string()
        } else if field.kind == Kind::Power && !(x as u64).is_power_of_two() {
            "it must be a power of two".to_string()
        } else {
            return Some(x);
        };
        self.error(Some(value.span()), format!("`{key}` is {x}: {reason}"), String::new());
        None
    }
}

/// Checks the numbers of a machine against each other.
pub(super) fn relations(reader: &mut Reader<'_>, figures: &[Figure]) {
    let get = |section: &str, key: &str| {
        let found = figures.iter().find(|f| f.section == section && f.key == key);
        found.map_or(0.0, |f| f.value)
    };
    let line = get("dram", "line_bytes");
    for cache in ["l1", "l2", "llc"] {
        let (bytes, ways) = (get(cache, "bytes"), get(cache, "ways"));
        let sets = ways * line * get(cache, "sharers").max(1.0);
        if bytes % sets != 0.0 {
            let message = format!("`[{cache}]` has {bytes} bytes, not whole sets of {ways} lines");
            let help = format!("make `bytes` a multiple of {sets}");
            reader.error(None, message, help);
        }
    }
    for core in ["core", "in_order"] {
        let simd = get(core, "simd_bytes");
        if simd > line {
            let message = format!("`[{core}]` has vectors of {simd} bytes, wider than a line");
            reader.error(None, message, format!("make `simd_bytes` at most {line}"));
        }
    }
    let (entries, ways) = (get("tlb", "entries"), get("tlb", "ways"));
    if entries % ways != 0.0 {
        let message = format!("`[tlb]` has {entries} pages, not whole sets of {ways}");
        reader.error(None, message, format!("make `entries` a multiple of {ways}"));
    }
    let blocks = [("queue", "chunk_bytes"), ("dram", "row_bytes"), ("dram", "interleave_bytes")];
    for (section, key) in blocks {
        if get(section, key) < line {
            let message = format!("`{key}` is smaller than a line of {line} bytes");
            reader.error(None, message, String::new());
        }
    }
}

/// Returns the form of a field in a description.
fn written(field: &Field) -> String {
    let Field { key, unit, .. } = field;
    match field.kind {
        Kind::Flag => format!("{key} = {{ value = true, source = \"…\" }}"),
        _ => format!("{key} = {{ value = …, unit = \"{unit}\", source = \"…\" }}"),
    }
}

/// Returns the known name nearest to a misspelt one, if any is near.
fn nearest(name: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    known
        .map(|k| (strsim::damerau_levenshtein(name, k), k))
        .filter(|(distance, k)| *distance <= 2.max(k.len() / 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, k)| k)
}
