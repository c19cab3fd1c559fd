//! The kinds of sources that fill an input, each with its syntax, its roles and its reader.

use super::read::Reader;
use super::source::number;
use super::{Input, Role, Source, Values, origin, prepared, whole};
use crate::data::blocks::BlockPattern;
use crate::data::{Locality, held};
use ember_language::diagnostic::Span;
use ember_language::sexp::Sexp;
use ember_language::suggest;
use ember_values::scalar::{DType, Scalar};
use std::ops::RangeInclusive;
use std::path::PathBuf;

use Role::{Indices, Offsets, Values as Elements};

/// A kind of source.
pub(super) struct Form {
    /// The first word.
    pub(super) head: &'static str,
    /// The syntax in help texts.
    pub(super) usage: &'static str,
    /// The roles of the inputs that it may fill.
    pub(super) roles: &'static [Role],
    /// Reads the items after the first word; `None` if they do not match the usage.
    pub(super) read: fn(&mut Reader, &Input, &[Sexp]) -> Option<Source>,
}

/// All kinds of sources.
pub(super) const FORMS: [Form; 19] = [
    Form {
        head: "uniform",
        usage: "(uniform LOW HIGH)",
        roles: &[Elements, Indices],
        read: uniform,
    },
    Form {
        head: "constant",
        usage: "(constant NUMBER)",
        roles: &[Elements, Indices, Offsets],
        read: constant,
    },
    Form {
        head: "values",
        usage: "(values NUMBER …) or (values (NUMBER …) …)",
        roles: &[Elements, Indices, Offsets],
        read: values,
    },
    Form {
        head: "file",
        usage: "(file \"PATH\" [\"TENSOR\"])",
        roles: &[Elements, Indices, Offsets],
        read: file,
    },
    Form {
        head: "ragged",
        usage: "(ragged (mean NUMBER) (empty PROBABILITY))",
        roles: &[Offsets],
        read: ragged,
    },
    Form { head: "zipf", usage: "(zipf EXPONENT)", roles: &[Indices], read: zipf },
    Form {
        head: "locality",
        usage: "(locality low|medium|high)",
        roles: &[Indices],
        read: locality,
    },
    Form { head: "fixed", usage: "(fixed NUMBER)", roles: &[Offsets], read: fixed },
    Form {
        head: "blocks",
        usage: "(blocks (window NUMBER) (global NUMBER) (random NUMBER))",
        roles: &[Indices],
        read: blocks,
    },
    Form {
        head: "offsets-of",
        usage: "(offsets-of GRAPH)",
        roles: &[Offsets],
        read: origin::offsets_of,
    },
    Form {
        head: "neighbours-of",
        usage: "(neighbours-of GRAPH)",
        roles: &[Indices],
        read: origin::neighbours_of,
    },
    Form {
        head: "values-of",
        usage: "(values-of GRAPH)",
        roles: &[Elements],
        read: origin::values_of,
    },
    Form {
        head: "heads-of",
        usage: "(heads-of TRIPLES)",
        roles: &[Indices],
        read: origin::heads_of,
    },
    Form {
        head: "relations-of",
        usage: "(relations-of TRIPLES)",
        roles: &[Indices],
        read: origin::relations_of,
    },
    Form {
        head: "tails-of",
        usage: "(tails-of TRIPLES)",
        roles: &[Indices],
        read: origin::tails_of,
    },
    Form {
        head: "computed",
        usage: "(computed EXPRESSION)",
        roles: &[Elements, Indices, Offsets],
        read: whole::computed,
    },
    Form {
        head: "running-sum",
        usage: "(running-sum LENGTHS)",
        roles: &[Offsets],
        read: prepared::running_sum,
    },
    Form {
        head: "row-offsets",
        usage: "(row-offsets POSITIONS)",
        roles: &[Offsets],
        read: prepared::row_offsets,
    },
    Form {
        head: "in-rows",
        usage: "(in-rows VALUES POSITIONS)",
        roles: &[Elements, Indices],
        read: prepared::in_rows,
    },
];

/// The range of Zipf exponents; above it, practically every lookup accesses one row.
const EXPONENTS: RangeInclusive<f64> = 0.0..=10.0;

/// The range of mean bag lengths.
const MEANS: RangeInclusive<f64> = 0.0..=1e12;

/// Reads a number within bounds; reports an error if it is outside.
fn bounded(reader: &mut Reader, item: &Sexp, within: RangeInclusive<f64>) -> Option<f64> {
    let x = number::<f64>(item)?;
    if !within.contains(&x) {
        let label = format!("must lie between {:?} and {:?}", within.start(), within.end());
        reader.error(item.span, "a number out of range", label);
        return None;
    }
    Some(x)
}

/// Reads the name of an input; reports an error if there is none of this name.
pub(super) fn read_name(reader: &mut Reader, item: &Sexp) -> Option<String> {
    let name = reader.word("an input", item)?.to_owned();
    if !reader.inputs.iter().any(|(own, _)| own.tensor.name == name) {
        let names = reader.inputs.iter().map(|(own, _)| own.tensor.name.as_str());
        let error = suggest::unknown("input", &name, item.span, names);
        reader.errors.push(error);
        return None;
    }
    Some(name)
}

fn uniform(reader: &mut Reader, input: &Input, args: &[Sexp]) -> Option<Source> {
    let [low, high] = args else { return None };
    // The width must be finite too, so each bound is limited to half the range of a wide type.
    let (least, most) = match input.tensor.dtype {
        DType::F32 | DType::BF16 => (-f64::from(f32::MAX) / 2.0, f64::from(f32::MAX) / 2.0),
        DType::F64 => (-f64::MAX / 2.0, f64::MAX / 2.0),
        DType::I32 => (-f64::from(i32::MAX) / 2.0, f64::from(i32::MAX) / 2.0),
        DType::I64 => (-(i64::MAX as f64) / 2.0, i64::MAX as f64 / 2.0),
        DType::F16 => (-65504.0, 65504.0),
        DType::U8 => (0.0, 256.0),
        DType::U4 => (0.0, 16.0),
        DType::I8 => (-128.0, 128.0),
    };
    let [lo, hi] = [low, high].map(|item| bounded(reader, item, least..=most));
    let (lo, hi) = (lo?, hi?);
    if lo > hi {
        let span = Span { end: high.span.end, ..low.span };
        reader.error(span, "the low end is above the high end", format!("{lo} > {hi}"));
        return None;
    }
    Some(Source::Uniform { lo, hi })
}

fn constant(reader: &mut Reader, input: &Input, args: &[Sexp]) -> Option<Source> {
    let [x] = args else { return None };
    literal(reader, input.tensor.dtype, x).map(Source::Constant)
}

/// Reads a number of an element type. A real number is rounded once; `inf` and `nan` are numbers too.
fn literal(reader: &mut Reader, dtype: DType, item: &Sexp) -> Option<Scalar> {
    let scalar = item.atom().and_then(|word| dtype.number(word));
    if scalar.is_none() {
        reader.error(item.span, format!("not a number of type {dtype}"), "not such a number");
    }
    scalar
}

fn values(reader: &mut Reader, input: &Input, args: &[Sexp]) -> Option<Source> {
    let mut shape = vec![None; input.tensor.shape.len()];
    let (mut scalars, mut spans) = (Vec::new(), Vec::new());
    // The loop takes one level of nesting per dimension; the rank is small, however deep the text is nested.
    let mut level: Vec<(Option<Span>, &[Sexp])> = vec![(None, args)];
    for (dimension, extent) in shape.iter_mut().enumerate() {
        let last = dimension + 1 == input.tensor.shape.len();
        let mut next = Vec::new();
        for (span, items) in level {
            let n = items.len() as u64;
            let wanted = *extent.get_or_insert(n);
            if let Some(span) = span.filter(|_| n != wanted) {
                let label = format!("{n} here, {wanted} in the rows before");
                reader.error(span, "rows of different lengths", label);
                return None;
            }
            for item in items {
                if reader.full() {
                    return None;
                } else if last {
                    scalars.extend(literal(reader, input.tensor.dtype, item));
                    spans.push(item.span);
                } else if let Some(row) = item.list() {
                    next.push((Some(item.span), row));
                } else {
                    let message = "the rows of a table stand in parentheses";
                    reader.error(item.span, message, "not in parentheses");
                    return None;
                }
            }
        }
        level = next;
    }
    if scalars.len() < spans.len() {
        return None;
    }
    Some(Source::Values(Values {
        data: held(input.tensor.dtype, scalars.into_iter()),
        shape,
        spans,
    }))
}

fn file(reader: &mut Reader, _: &Input, args: &[Sexp]) -> Option<Source> {
    let (path, tensor) = match args {
        [path] => (path.text()?, None),
        [path, tensor] => (path.text()?, Some(tensor.text()?.to_owned())),
        _ => return None,
    };
    let path = PathBuf::from(path);
    let kind = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    if !matches!((kind, &tensor), ("npy", None) | ("safetensors", _)) {
        let message = match kind {
            "npy" => "an .npy file holds one tensor, without a name",
            _ => "a data file is .npy or .safetensors",
        };
        reader.error(args[args.len() - 1].span, message, "not of this kind");
        return None;
    }
    Some(Source::File { path, tensor })
}

fn ragged(reader: &mut Reader, _: &Input, args: &[Sexp]) -> Option<Source> {
    let (mut mean, mut empty) = (None, None);
    for part in args {
        let (slot, within, item) = match part.form()? {
            ("mean", [item]) => (&mut mean, MEANS, item),
            ("empty", [item]) => (&mut empty, 0.0..=1.0, item),
            _ => return None,
        };
        if slot.replace(bounded(reader, item, within)?).is_some() {
            return None;
        }
    }
    let (mean, empty) = (mean?, empty.unwrap_or(0.0));
    // A non-empty bag has at least one lookup, so the mean is at least the share of non-empty bags.
    let least = 1.0 - empty;
    if mean < least || (empty == 1.0 && mean > 0.0) {
        let span = Span { end: args[args.len() - 1].span.end, ..args[0].span };
        let message = "no bag lengths have this mean and this share of empty bags";
        let help = match empty {
            1.0 => "bags that are all empty have the mean 0".to_owned(),
            _ => format!("the mean must be at least 1 - {empty} = {least}"),
        };
        reader.error_with_help(span, message, "impossible", help);
        return None;
    }
    Some(Source::Ragged { mean, empty })
}

fn zipf(reader: &mut Reader, _: &Input, args: &[Sexp]) -> Option<Source> {
    let [exponent] = args else { return None };
    Some(Source::Zipf { exponent: bounded(reader, exponent, EXPONENTS)? })
}

fn locality(reader: &mut Reader, _: &Input, args: &[Sexp]) -> Option<Source> {
    let [item] = args else { return None };
    let word = reader.word("a locality", item)?;
    let locality = Locality::ALL.into_iter().find(|l| l.name() == word);
    if locality.is_none() {
        let names = Locality::ALL.iter().map(|l| l.name());
        reader.errors.push(suggest::unknown("locality", word, item.span, names));
    }
    Some(Source::Locality(locality?))
}

fn fixed(_: &mut Reader, _: &Input, args: &[Sexp]) -> Option<Source> {
    let [lookups] = args else { return None };
    Some(Source::Fixed { lookups: number(lookups)? })
}

fn blocks(_: &mut Reader, input: &Input, args: &[Sexp]) -> Option<Source> {
    let mut counts = [None; 3];
    for part in args {
        let (head, [n]) = part.form()? else { return None };
        let at = ["window", "global", "random"].iter().position(|known| *known == head)?;
        if counts[at].replace(number(n)?).is_some() {
            return None;
        }
    }
    let [window, global, random] = counts.map(|n| n.unwrap_or(0));
    let pattern = BlockPattern { window, global, random };
    (pattern.width()? > 0 && input.tensor.shape.len() <= 2).then_some(Source::Blocks(pattern))
}
