//! The data of one trial: sizes and inputs, read from text or generated, and written so that they can be read again.

use super::declare::{Declarations, Declared, Purpose};
use super::roles::{Role, Roles};
use super::sides::Side;
use crate::random::{edge, extreme};
use ember_interpret::Store;
use ember_language::diagnostic::{Checked, Diagnostic, Span};
use ember_language::rules::Operators;
use ember_language::sexp::Sexp;
use ember_targets::tensor::{Data as Elements, Tensor};
use ember_values::scalar::{DType, Scalar};
use fastrand::Rng;
use std::collections::BTreeMap;

/// The start of the numbers that written tensors hold before a program runs, if not zeros. Different tensors, and
/// neighbouring elements of one tensor, hold different numbers.
const BEFORE: u64 = 77;

/// The number of written tensors that hold different numbers before a program runs.
const TENSORS: u64 = 7;

/// The contents of written tensors before a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Zeros.
    Zeros,
    /// Other numbers, of which the first is positive and the others have alternating signs.
    Numbers,
    /// Numbers of the other sign, the greatest of them in the first tensor rather than in the last, so that each of
    /// two tensors holds the greater number in one of the two trials.
    Negated,
}

/// The greatest mentioned number that floating-point data includes.
const MOST_EXACT: u64 = 1 << 10;

/// The most elements of sampled data.
const MOST: u64 = 1 << 24;

/// Sizes and inputs.
#[derive(Clone, Debug)]
pub struct Given {
    /// The sizes by name, without the sizes that have a number added.
    pub sizes: BTreeMap<String, u64>,
    /// The inputs by name.
    pub inputs: BTreeMap<String, Tensor>,
}

/// The way in which data is generated.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fill {
    /// Small numbers that differ, rows in order, and bags of equal size.
    Plain,
    /// The n-th of all contents of index tensors, in order; other numbers as in [`Fill::Plain`].
    Counted(u64),
    /// Random data.
    Random {
        /// True if it includes real numbers that are easily handled wrongly: zeros of both signs, NaN and similar.
        edges: bool,
    },
}

/// Generates random data of some sizes for a program, from a seed; `None` if the sizes do not allow any.
pub fn sample(
    declarations: &Declarations,
    side: &Side,
    operators: &Operators,
    sizes: &BTreeMap<String, u64>,
    seed: u64,
) -> Option<Given> {
    let roles = Roles::new(declarations, &[], [side, side], operators);
    let fill = Fill::Random { edges: false };
    Given::make(declarations, &roles, (sizes, MOST), (fill, &[]), &mut Rng::with_seed(seed))
}

impl Given {
    /// Returns the initial store of a program; tensors that it writes hold zeros or other numbers.
    pub fn store(&self, declarations: &Declarations, before: Before) -> Store {
        let sizes = declarations.all_sizes(&self.sizes);
        let mut store = Store { tensors: self.inputs.clone(), sizes };
        let written = declarations.tensors.iter().filter(|t| t.purpose != Purpose::Input);
        for (number, declared) in written.enumerate() {
            let Some(shape) = shape(declared, &self.sizes) else { continue };
            let mut tensor = Tensor::zeros(declared.dtype, shape);
            if before != Before::Zeros {
                let (own, most) = (number as u64 % TENSORS, TENSORS - 1);
                let (first, level) = match before {
                    Before::Negated => (1, most - own),
                    _ => (0, own),
                };
                for at in 0..tensor.len() {
                    let size = (BEFORE + 10 * level + at % 10) as f64;
                    let positive = at % 2 == first || declared.dtype.is_storage();
                    let number = if positive { size } else { -size };
                    tensor.set(at, Scalar::from_f64(declared.dtype, number));
                }
            }
            store.tensors.insert(declared.name.clone(), tensor);
        }
        store
    }

    /// Returns the number of elements of all inputs.
    pub fn elements(&self) -> u64 {
        self.inputs.values().map(Tensor::len).sum()
    }

    /// Generates data; `None` if the sizes do not allow any, or if all tensors together have more than `most` elements.
    /// Random numbers are often next to one of those that are `mentioned`.
    pub(super) fn make(
        declarations: &Declarations,
        roles: &Roles,
        (sizes, most): (&BTreeMap<String, u64>, u64),
        (fill, mentioned): (Fill, &[i64]),
        rng: &mut Rng,
    ) -> Option<Given> {
        let mut total = 0u64;
        for tensor in &declarations.tensors {
            let len = shape(tensor, sizes)?.iter().fold(1, |n: u64, e| n.saturating_mul(*e));
            total = total.saturating_add(len);
        }
        if total > most {
            return None;
        }
        let mut maker = Maker { sizes, fill, mentioned, rng, count: 0 };
        if let Fill::Counted(n) = fill {
            maker.count = n;
        }
        let mut inputs = BTreeMap::new();
        for (at, declared) in declarations.tensors.iter().enumerate() {
            if declared.purpose == Purpose::Input {
                let tensor = maker.tensor(declared, roles.of.get(&declared.name), at)?;
                inputs.insert(declared.name.clone(), tensor);
            }
        }
        Some(Given { sizes: sizes.clone(), inputs })
    }

    /// Reads the items of a `(data …)` form.
    pub(super) fn read(items: &[Sexp], declarations: &Declarations) -> Checked<Given> {
        let mut errors = Vec::new();
        let mut sizes = BTreeMap::new();
        let mut texts: BTreeMap<&str, (&[Sexp], Span)> = BTreeMap::new();
        for item in items {
            match item.form() {
                Some(("size", [name, n])) => {
                    let n = n.atom().and_then(|n| n.parse::<u64>().ok());
                    match name.atom().zip(n) {
                        Some((name, n)) => {
                            sizes.insert(name.to_owned(), n);
                        }
                        None => errors.push(usage(item.span)),
                    }
                }
                Some((name, [values])) => match values.form() {
                    Some(("values", rows)) => {
                        texts.insert(name, (rows, values.span));
                    }
                    _ => errors.push(usage(values.span)),
                },
                _ => errors.push(usage(item.span)),
            }
        }
        let mut inputs = BTreeMap::new();
        let end = items.last().map(|item| item.span);
        for declared in declarations.tensors.iter().filter(|t| t.purpose == Purpose::Input) {
            match (texts.remove(declared.name.as_str()), shape(declared, &sizes)) {
                (Some((rows, span)), Some(shape)) => match elements(declared, &shape, rows) {
                    Some(elements) => {
                        let data = Elements::held(declared.dtype, elements.into_iter());
                        let tensor = Tensor { dtype: declared.dtype, shape, data };
                        inputs.insert(declared.name.clone(), tensor);
                    }
                    None => {
                        let message = format!("not the elements of `{}`", declared.name);
                        let label = format!("its shape is {shape:?}, its type {}", declared.dtype);
                        errors.push(Diagnostic::error(message, span, label));
                    }
                },
                (None, _) => errors.push(lacks(&format!("`{}` has no data", declared.name), end)),
                (_, None) => {
                    let message = format!("a size of `{}` is not given", declared.name);
                    errors.push(lacks(&message, end));
                }
            }
        }
        for (name, (_, span)) in texts {
            errors.push(Diagnostic::error(
                format!("no input is called `{name}`"),
                span,
                "its data",
            ));
        }
        if errors.is_empty() { Ok(Given { sizes, inputs }) } else { Err(errors) }
    }

    /// Returns the data as the items of a `(data …)` form, one per line.
    pub(super) fn forms(&self, declarations: &Declarations) -> Vec<String> {
        let sizes = self.sizes.iter().map(|(name, n)| format!("(size {name} {n})"));
        let inputs = declarations.tensors.iter().filter_map(|declared| {
            let tensor = self.inputs.get(&declared.name)?;
            Some(format!("({} (values{}))", declared.name, rows(tensor, 0, 0)))
        });
        sizes.chain(inputs).collect()
    }
}

fn usage(span: Span) -> Diagnostic {
    let error = Diagnostic::error("not data", span, "not understood");
    error.with_help("write `(size NAME NUMBER)` or `(NAME (values X …))`, rows in parentheses")
}

fn lacks(message: &str, end: Option<Span>) -> Diagnostic {
    match end {
        Some(span) => Diagnostic::error(message, span, "the data ends here"),
        None => Diagnostic::global(message),
    }
}

/// Returns the extents of a tensor; `None` if an extent is unknown or the tensor is too large.
fn shape(declared: &Declared, sizes: &BTreeMap<String, u64>) -> Option<Vec<u64>> {
    let shape: Vec<u64> =
        declared.shape.iter().map(|extent| extent.value(sizes)).collect::<Option<_>>()?;
    let len = shape.iter().try_fold(1u64, |n, extent| n.checked_mul(*extent))?;
    (len <= 1 << 32).then_some(shape)
}

/// Parses the elements in nested lists, row by row.
fn elements(declared: &Declared, shape: &[u64], rows: &[Sexp]) -> Option<Vec<Scalar>> {
    let mut level: Vec<&[Sexp]> = vec![rows];
    if shape.is_empty() && rows.len() != 1 {
        return None;
    }
    for (dimension, extent) in shape.iter().enumerate() {
        if level.iter().any(|items| items.len() as u64 != *extent) {
            return None;
        }
        if dimension + 1 < shape.len() {
            level = level.into_iter().flatten().map(Sexp::list).collect::<Option<_>>()?;
        }
    }
    let number = |item: &Sexp| declared.dtype.number(item.atom()?);
    level.into_iter().flatten().map(number).collect()
}

/// Prints a part of a tensor as nested lists, with a space before each item.
fn rows(tensor: &Tensor, dimension: usize, part: u64) -> String {
    let element = |at| tensor.get(at).map(|x| format!(" {x}")).unwrap_or_default();
    let Some(extent) = tensor.shape.get(dimension) else { return element(part) };
    let last = dimension + 1 == tensor.shape.len();
    let item = |i: u64| {
        let at = part * extent + i;
        if last {
            return element(at);
        }
        format!(" ({})", rows(tensor, dimension + 1, at).trim_start())
    };
    (0..*extent).map(item).collect()
}

struct Maker<'a> {
    sizes: &'a BTreeMap<String, u64>,
    fill: Fill,
    mentioned: &'a [i64],
    rng: &'a mut Rng,
    /// The remaining digits of the number that selects a counted content.
    count: u64,
}

impl Maker<'_> {
    fn tensor(&mut self, declared: &Declared, role: Option<&Role>, at: usize) -> Option<Tensor> {
        let shape = shape(declared, self.sizes)?;
        let mut tensor = Tensor::zeros(declared.dtype, shape);
        let len = tensor.len();
        let integers = match role {
            Some(Role::Indices(below)) => self.indices(len, below.value(self.sizes)?)?,
            Some(Role::Offsets(end)) => self.offsets(len, end.value(self.sizes)?, true)?,
            Some(Role::Bounds(end)) => self.offsets(len, end.value(self.sizes)?, false)?,
            None => {
                let integer = !declared.dtype.is_float() && !declared.dtype.is_storage();
                let random = matches!(self.fill, Fill::Random { .. });
                let extremes = integer && random && self.rng.u8(0..4) == 0;
                for i in 0..len {
                    let x = match extremes {
                        true => extreme(self.rng, declared.dtype),
                        false => self.number(declared.dtype, at as u64 + i),
                    };
                    tensor.set(i, x);
                }
                return Some(tensor);
            }
        };
        for (i, n) in integers.into_iter().enumerate() {
            tensor.set(i as u64, Scalar::I64(n).cast(declared.dtype));
        }
        Some(tensor)
    }

    /// Returns the next number below a bound.
    fn below(&mut self, bound: u64) -> u64 {
        match self.fill {
            Fill::Counted(_) => {
                let digit = self.count % bound;
                self.count /= bound;
                digit
            }
            _ => self.rng.u64(0..bound),
        }
    }

    fn indices(&mut self, len: u64, rows: u64) -> Option<Vec<i64>> {
        if rows == 0 {
            return (len == 0).then(Vec::new);
        }
        let all = self.rng.u8(0..6);
        let one = |maker: &mut Self, i: u64| match (maker.fill, all) {
            (Fill::Plain, _) => i % rows,
            (Fill::Random { .. }, 0) => rows - 1,
            (Fill::Random { .. }, 1) => 0,
            _ => maker.below(rows),
        };
        Some((0..len).map(|i| one(self, i) as i64).collect())
    }

    /// Generates offsets (`strict`: they start at 0, never decrease and end at `end`), or arbitrary loop bounds, some
    /// of them next to an end of i64.
    fn offsets(&mut self, len: u64, end: u64, strict: bool) -> Option<Vec<i64>> {
        let Some(last) = len.checked_sub(1) else { return Some(Vec::new()) };
        if !strict && matches!(self.fill, Fill::Random { .. }) && self.rng.u8(0..8) == 0 {
            let flip = if self.rng.bool() { -1 } else { 0 };
            let mut bound = || (i64::MAX - self.rng.i64(0..8)) ^ flip;
            return Some((0..len).map(|_| bound()).collect());
        }
        if last == 0 && strict {
            return (end == 0).then(|| vec![0]);
        }
        let mut offsets: Vec<u64> = match self.fill {
            Fill::Plain => (0..len).map(|i| (i * end).div_ceil(last.max(1))).collect(),
            _ => (0..len).map(|_| self.below(end + 1)).collect(),
        };
        let random = matches!(self.fill, Fill::Random { .. });
        if strict || !(random && self.rng.u8(0..4) == 0) {
            offsets.sort_unstable();
        }
        if strict || (random && self.rng.bool()) {
            offsets[0] = 0;
            offsets[last as usize] = end;
        }
        let mut offsets: Vec<i64> = offsets.into_iter().map(|n| n as i64).collect();
        if !strict
            && random
            && let Some(n) = self.mentioned()
        {
            let at = self.rng.usize(0..offsets.len());
            offsets[at] = n;
        }
        Some(offsets)
    }

    /// Returns a number next to a mentioned one, once in a while.
    fn mentioned(&mut self) -> Option<i64> {
        if self.mentioned.is_empty() || self.rng.u8(0..4) > 0 {
            return None;
        }
        let n = self.rng.choice(self.mentioned)?;
        Some(n.saturating_add(self.rng.i64(-1..=1)))
    }

    fn number(&mut self, dtype: DType, at: u64) -> Scalar {
        let is_random = matches!(self.fill, Fill::Random { .. });
        if let Some(n) = is_random.then(|| self.mentioned()).flatten() {
            // Sums of larger numbers may be rounded.
            if !dtype.is_float() || n.unsigned_abs() <= MOST_EXACT {
                return Scalar::I64(n).cast(dtype);
            }
        }
        let plain = (at * 3 % 7 + 1) as f64;
        let x = match self.fill {
            Fill::Plain | Fill::Counted(_) => plain,
            Fill::Random { edges: true } if dtype.is_float() => {
                return edge(self.rng, dtype);
            }
            // Any of the few numbers that there are, and small ones as often.
            Fill::Random { .. } if dtype.is_storage() && !dtype.is_float() && self.rng.bool() => {
                return Scalar::from_bits(dtype, self.rng.u64(..) & ((1 << dtype.bits()) - 1));
            }
            Fill::Random { .. } if dtype.is_storage() => self.rng.u8(0..15).into(),
            Fill::Random { .. } => f64::from(self.rng.i8(-4..=8)),
        };
        Scalar::from_f64(dtype, x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ember_language::diagnostic::Sources;
    use ember_language::sexp;

    #[test]
    fn what_is_written_reads_back() {
        let mut sources = Sources::default();
        let text = "(input a f32 (n 2)) (input o i64 ((+ n 1))) (input b f64 (3))";
        let file = sources.add("a", text);
        let mut declarations = Declarations::default();
        for form in sexp::read(&sources, file).expect("it is balanced") {
            declarations.read(&form, |_| false).expect("a declaration");
        }
        let mut rng = Rng::with_seed(7);
        for n in 0..3 {
            let sizes = BTreeMap::from([("n".to_owned(), n)]);
            let fill = Fill::Random { edges: true };
            let made = Given::make(
                &declarations,
                &Roles::default(),
                (&sizes, 1 << 13),
                (fill, &[40, i64::MIN, i64::MAX]),
                &mut rng,
            );
            let made = made.expect("it fits");
            let written = made.forms(&declarations).join("\n");
            let file = sources.add("b", written.clone());
            let items = sexp::read(&sources, file).expect("it is balanced");
            let read = Given::read(&items, &declarations).expect("it reads back");
            assert_eq!(read.forms(&declarations).join("\n"), written);
            assert_eq!(read.elements(), n * 2 + n + 4);
        }
    }
}
