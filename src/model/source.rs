//! The `data` form: the seed, sizes, and a source of elements for each input.

use super::read::{Reader, head_span};
use super::{DataSpec, Input, Role, Source, Values, origin};
use crate::data::blocks::BlockPattern;
use crate::data::{Locality, held};
use crate::diagnostic::{Diagnostic, Span};
use crate::sexp::Sexp;
use crate::suggest;
use ember_targets::scalar::{DType, Scalar};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use Role::{Indices, Offsets, Values as Elements};

/// A kind of source.
struct Form {
    /// Its first word.
    head: &'static str,
    /// How it is written.
    usage: &'static str,
    /// What it may fill.
    roles: &'static [Role],
    /// Reads what follows the first word; `None` where that does not fit the usage.
    read: fn(&mut Reader, &Input, &[Sexp]) -> Option<Source>,
}

const FORMS: [Form; 15] = [
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
];

/// The forms of the data form that give no input's data.
const OTHERS: [&str; 5] = ["seed", "size", "batch", "graph", "triples"];

/// Zipf exponents that are drawn from; above, practically every lookup is of one row.
const EXPONENTS: RangeInclusive<f64> = 0.0..=10.0;

/// Mean bag lengths that are generated.
const MEANS: RangeInclusive<f64> = 0.0..=1e12;

/// Reads what follows `data`; without the form, there is no data.
pub(super) fn read(reader: &mut Reader, items: Option<&[Sexp]>, directory: PathBuf) -> DataSpec {
    let mut spec = DataSpec::empty(directory);
    let mut seen: BTreeMap<(bool, &str), Span> = BTreeMap::new();
    let items = items.unwrap_or_default();
    // What inputs take their data from may stand behind them.
    for item in items {
        if let Some((head @ ("graph" | "triples"), rest)) = item.form() {
            origin::read(reader, item, head, rest);
        }
    }
    spec.origins = reader.origins.clone();
    for item in items {
        if reader.full() {
            break;
        }
        let Some((head, rest)) = item.form() else {
            let names: Vec<_> = reader.inputs.iter().map(|(i, _)| i.tensor.name.clone()).collect();
            let names: Vec<_> = names.iter().map(String::as_str).chain(OTHERS).collect();
            reader.unknown_form(item, &names);
            continue;
        };
        // What is given: the seed, a size or an input.
        let (is_size, given) = match (head, rest) {
            ("graph" | "triples", _) => continue,
            ("size" | "batch", [name, ..]) => (true, name.atom().unwrap_or(head)),
            _ => (false, head),
        };
        if let Some(before) = seen.insert((is_size, given), head_span(item)) {
            let error =
                Diagnostic::error(format!("`{given}` is given twice"), head_span(item), "again");
            reader.errors.push(error.with_related(before, "given here before"));
            continue;
        }
        match head {
            "seed" => match rest {
                [n] if number::<u64>(n).is_some() => {
                    spec.seed = number(n).unwrap_or(0);
                }
                _ => reader.error_with_help(
                    item.span,
                    "not a seed",
                    "not understood",
                    format!("write `(seed NUMBER)`, a number from 0 to {}", u64::MAX),
                ),
            },
            "size" | "batch" => {
                if let Some((name, n, span)) = size(reader, item, head, rest) {
                    if head == "batch" {
                        spec.batches.insert(name.clone());
                    }
                    spec.sizes.insert(name, (n, span));
                }
            }
            _ => {
                if let Some(source) = entry(reader, item, head, rest) {
                    spec.sources.insert(head.to_owned(), (source, item.span));
                }
            }
        }
    }
    spec
}

fn size(
    reader: &mut Reader,
    item: &Sexp,
    head: &str,
    rest: &[Sexp],
) -> Option<(String, u64, Span)> {
    let read = match rest {
        [name, n] => name.atom().zip(number::<u64>(n).filter(|n| i64::try_from(*n).is_ok())),
        _ => None,
    };
    let Some((name, n)) = read else {
        let help = format!("write `({head} NAME NUMBER)`, a number from 0 to {}", i64::MAX);
        reader.error_with_help(item.span, "not a size", "not understood", help);
        return None;
    };
    if !reader.sizes.contains_key(name) {
        let names = reader.sizes.keys().map(String::as_str);
        let error = suggest::unknown("size", name, rest[0].span, names);
        reader.errors.push(error);
        return None;
    }
    Some((name.to_owned(), n, item.span))
}

/// The source of one input's elements.
fn entry(reader: &mut Reader, item: &Sexp, name: &str, rest: &[Sexp]) -> Option<Source> {
    let found = reader.inputs.iter().find(|(input, _)| input.tensor.name == name);
    let Some((input, role)) = found.map(|(input, role)| (input.clone(), *role)) else {
        if !reader.broken.contains(name) {
            let inputs = reader.inputs.iter().map(|(input, _)| input.tensor.name.as_str());
            let error = suggest::unknown("input", name, head_span(item), inputs.chain(OTHERS));
            reader.errors.push(error);
        }
        return None;
    };
    let fits = |form: &&Form| role.is_none_or(|role| form.roles.contains(&role));
    let [source] = rest else {
        let usage = FORMS.iter().filter(fits).map(|form| form.usage);
        let help = format!("write one of {}", suggest::list(usage));
        let label = format!("{} sources", rest.len());
        reader.error_with_help(item.span, "an input has one source of data", label, help);
        return None;
    };
    let form = source.form().and_then(|(head, _)| FORMS.iter().find(|form| form.head == head));
    let (Some(form), Some((_, args))) = (form, source.form()) else {
        let heads: Vec<_> = FORMS.iter().filter(fits).map(|form| form.head).collect();
        match source.form() {
            Some((head, _)) => {
                let span = head_span(source);
                reader.errors.push(suggest::unknown("source of data", head, span, heads));
            }
            None => reader.unknown_form(source, &heads),
        }
        return None;
    };
    if let Some(role) = role.filter(|role| !form.roles.contains(role)) {
        let heads = FORMS.iter().filter(fits).map(|form| form.usage);
        reader.error_with_help(
            source.span,
            format!("`{}` cannot make {}", form.head, role.name()),
            format!("`{name}` is used as {}", role.name()),
            format!("write one of {}", suggest::list(heads)),
        );
        return None;
    }
    let before = reader.errors.len();
    let read = (form.read)(reader, &input, args);
    if read.is_none() && reader.errors.len() == before {
        let message = format!("`{}` was not understood", form.head);
        let help = format!("write {}", form.usage);
        reader.error_with_help(source.span, message, "not of the right form", help);
    }
    read
}

/// A number of any type that is read from text.
pub(super) fn number<T: std::str::FromStr>(item: &Sexp) -> Option<T> {
    item.atom()?.parse().ok()
}

/// A number within bounds; outside, an error.
fn bounded(reader: &mut Reader, item: &Sexp, within: RangeInclusive<f64>) -> Option<f64> {
    let x = number::<f64>(item)?;
    if !within.contains(&x) {
        let label = format!("must lie between {:?} and {:?}", within.start(), within.end());
        reader.error(item.span, "a number out of range", label);
        return None;
    }
    Some(x)
}

fn uniform(reader: &mut Reader, input: &Input, args: &[Sexp]) -> Option<Source> {
    let [low, high] = args else { return None };
    // The width must be finite too, so each bound stays within half the range of a wide type.
    let (least, most) = match input.tensor.dtype {
        DType::F32 | DType::BF16 => (-f64::from(f32::MAX) / 2.0, f64::from(f32::MAX) / 2.0),
        DType::F64 => (-f64::MAX / 2.0, f64::MAX / 2.0),
        DType::I32 => (-f64::from(i32::MAX) / 2.0, f64::from(i32::MAX) / 2.0),
        DType::I64 => (-(i64::MAX as f64) / 2.0, i64::MAX as f64 / 2.0),
        DType::F16 => (-65504.0, 65504.0),
        DType::U8 => (0.0, 256.0),
        DType::U4 => (0.0, 16.0),
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

/// A number of an element type. A real number is rounded once; `inf` and `nan` are numbers too.
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
    // One level of nesting a dimension; the rank is small, whatever the nesting of the text.
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
    // A bag that is not empty has a lookup, so this many lookups there are on average at least.
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
