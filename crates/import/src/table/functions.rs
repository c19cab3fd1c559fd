//! The functions that rows of a table may use.

use super::known::{self, Known};
use super::{Item, by_place, rows, sized, wrong};
use crate::build::{Builder, misfit};
use crate::error::Problem;
use crate::graph::{Elem, Id};
use crate::limits::RESULTS;
use crate::words::{DIV, MAX, MIN};
use ember_model::Extent;
use ember_values::scalar::DType;

/// The operands of a function.
pub(super) struct Operands<'a> {
    pub(super) function: &'a str,
    items: &'a [Item],
}

impl Operands<'_> {
    pub(super) fn item(&self, at: usize) -> &Item {
        self.items.get(at).unwrap_or(&Item::None)
    }

    pub(super) fn wrong(&self, at: usize, what: &str) -> Problem {
        misfit(format!("the operand {at} of `{}` is not {what}", self.function))
    }

    pub(super) fn word(&self, at: usize) -> Result<&str, Problem> {
        match self.item(at) {
            Item::Word(word) => Ok(word),
            _ => Err(self.wrong(at, "a word")),
        }
    }

    /// A tensor; numbers become one.
    pub(super) fn tensor(&self, builder: &mut Builder, at: usize) -> Result<Id, Problem> {
        match self.item(at) {
            Item::Tensor(id) => Ok(*id),
            Item::Known(known) => known.tensor(builder),
            Item::Int(n) => builder.whole_number(*n),
            Item::Number(x) => builder.number(*x, Elem::Of(DType::F32)),
            Item::Bool(b) => builder.number(f64::from(u8::from(*b)), Elem::Bool),
            _ => Err(self.wrong(at, "a tensor")),
        }
    }

    pub(super) fn optional(&self, builder: &mut Builder, at: usize) -> Result<Option<Id>, Problem> {
        match self.item(at) {
            Item::None => Ok(None),
            _ => self.tensor(builder, at).map(Some),
        }
    }

    pub(super) fn tensors(&self, builder: &mut Builder, at: usize) -> Result<Vec<Id>, Problem> {
        let Item::List(items) = self.item(at) else { return Err(self.wrong(at, "a list")) };
        let mut tensor = |item: &Item| match item {
            Item::Tensor(id) => Ok(*id),
            Item::Known(known) => known.tensor(builder),
            _ => Err(self.wrong(at, "a list of tensors")),
        };
        items.iter().map(&mut tensor).collect()
    }

    /// All operands from a place on, as tensors.
    pub(super) fn tensors_from(
        &self,
        builder: &mut Builder,
        at: usize,
    ) -> Result<Vec<Id>, Problem> {
        (at..self.items.len()).map(|at| self.tensor(builder, at)).collect()
    }

    pub(super) fn number(&self, at: usize) -> Result<f64, Problem> {
        self.item(at).number().ok_or_else(|| self.wrong(at, "a number"))
    }

    /// A whole number. A list without elements stands for the greatest one.
    pub(super) fn int(&self, at: usize) -> Result<i64, Problem> {
        match self.item(at) {
            Item::Int(n) => Ok(*n),
            Item::List(items) if items.is_empty() => Ok(i64::MAX),
            Item::List(items) => match items[..] {
                [Item::Int(n)] => Ok(n),
                _ => Err(self.wrong(at, "one whole number")),
            },
            Item::Known(known) => match known.ints().as_deref() {
                Some([n]) => Ok(*n),
                _ => Err(self.wrong(at, "one whole number")),
            },
            _ => Err(self.wrong(at, "a whole number")),
        }
    }

    pub(super) fn ints(&self, at: usize) -> Result<Vec<i64>, Problem> {
        let int = |item: &Item| match item {
            Item::Int(n) => Ok(*n),
            _ => Err(self.wrong(at, "a list of whole numbers")),
        };
        match self.item(at) {
            Item::List(items) => items.iter().map(int).collect(),
            Item::Known(known) => {
                known.ints().ok_or_else(|| self.wrong(at, "a list of whole numbers"))
            }
            item => Ok(vec![int(item)?]),
        }
    }

    /// Two lists of whole numbers; none of them if there is nothing.
    pub(super) fn pair(&self, at: usize) -> Result<(Vec<i64>, Vec<i64>), Problem> {
        match self.item(at) {
            Item::None => Ok((Vec::new(), Vec::new())),
            Item::List(lists) if lists.len() == 2 => {
                let of = |at: usize| Operands { function: self.function, items: lists }.ints(at);
                Ok((of(0)?, of(1)?))
            }
            _ => Err(self.wrong(at, "two lists")),
        }
    }

    pub(super) fn truth(&self, at: usize) -> Result<bool, Problem> {
        match self.item(at) {
            Item::Bool(b) => Ok(*b),
            Item::Int(n) => Ok(*n != 0),
            _ => Err(self.wrong(at, "true or false")),
        }
    }

    fn elem(&self, at: usize) -> Result<Elem, Problem> {
        match self.item(at) {
            Item::Type(elem) => Ok(*elem),
            _ => Err(self.wrong(at, "an element type")),
        }
    }

    pub(super) fn shape(&self, at: usize) -> Result<Vec<Extent>, Problem> {
        match self.item(at) {
            Item::Shape(shape) => Ok(shape.clone()),
            _ => Err(self.wrong(at, "a shape")),
        }
    }
}

/// Applies a function to operands.
pub(super) fn call(builder: &mut Builder, function: &str, items: &[Item]) -> Result<Item, Problem> {
    let given = Operands { function, items };
    if function == "product"
        && let Item::Sparse { indices, values, shape } = given.item(0)
    {
        let dense = given.tensor(builder, 1)?;
        return builder.sparse_product(*indices, *values, shape, dense).map(Item::Tensor);
    }
    if let Some(known) = known::call(builder, &given)? {
        return Ok(known);
    }
    if let Some(known) = measured(builder, &given)? {
        return Ok(Item::Known(known));
    }
    if let Some(several) = several(builder, &given)? {
        return Ok(Item::List(several.into_iter().map(Item::Tensor).collect()));
    }
    if function == "part" {
        // One of several results.
        let (Item::List(parts), at) = (given.item(0), given.int(1)?) else {
            return Err(given.wrong(0, "a list"));
        };
        let part = usize::try_from(at).ok().and_then(|at| parts.get(at).cloned());
        return part.ok_or_else(|| given.wrong(1, "the number of a part"));
    }
    if function == "list" {
        return Ok(Item::List(items.to_vec()));
    }
    if function == "sparse" {
        let (indices, values) = (given.tensor(builder, 0)?, given.tensor(builder, 1)?);
        let extent = |n: i64| u64::try_from(n).map(Extent::Const);
        let shape: Result<Vec<Extent>, _> = given.ints(2)?.into_iter().map(extent).collect();
        let shape = shape.map_err(|_| given.wrong(2, "a shape"))?;
        return Ok(Item::Sparse { indices, values, shape });
    }
    let done = elements(builder, &given)?;
    let done = match done {
        None => rows::call(builder, &given)?,
        done => done,
    };
    let done = match done {
        None => sized::call(builder, &given)?,
        done => done,
    };
    let done = match done {
        None => by_place::call(builder, &given)?,
        done => done,
    };
    done.map(Item::Tensor).ok_or_else(|| wrong(&format!("no function `{function}`")))
}

/// The extents of a value, their number, and that of the elements.
fn measured(builder: &mut Builder, given: &Operands) -> Result<Option<Known>, Problem> {
    let ("extents" | "rank" | "count") = given.function else { return Ok(None) };
    let shape = match given.item(0) {
        Item::Known(known) => known.shape.iter().copied().map(Extent::Const).collect(),
        _ => {
            let x = given.tensor(builder, 0)?;
            builder.shape(x)
        }
    };
    Ok(Some(match given.function {
        "extents" => Known::of_shape(&shape),
        "rank" => Known::of_shape(&[Extent::Const(shape.len() as u64)]).scalar(),
        _ => Known::of_shape(&[builder.elements(&shape)?]).scalar(),
    }))
}

/// The functions with several results.
fn several(builder: &mut Builder, given: &Operands) -> Result<Option<Vec<Id>>, Problem> {
    let parts = match given.function {
        "split" => {
            let x = given.tensor(builder, 0)?;
            builder.split(x, given.int(1)?, given.int(2)?)?
        }
        "chunk" => {
            let (x, chunks, axis) = (given.tensor(builder, 0)?, given.int(1)?, given.int(2)?);
            let at = builder.axis(axis, builder.shape(x).len())?;
            let extent = builder.shape(x)[at].constant().and_then(|n| i64::try_from(n).ok());
            let size = extent.filter(|_| chunks > 0).map(|n| n.saturating_add(chunks - 1) / chunks);
            builder.split(
                x,
                size.ok_or_else(|| given.wrong(0, "of known extents"))?.max(1),
                axis,
            )?
        }
        "parts" => {
            let (x, sizes, axis) = (given.tensor(builder, 0)?, given.ints(1)?, given.int(2)?);
            let (mut first, mut parts) = (0i64, Vec::new());
            for size in sizes.into_iter().take(RESULTS) {
                let end = first.saturating_add(size);
                parts.push(builder.slice(x, axis, first, end, 1)?);
                first = end;
            }
            parts
        }
        "even_parts" => {
            let (x, count, axis) = (given.tensor(builder, 0)?, given.int(1)?, given.int(2)?);
            let at = builder.axis(axis, builder.shape(x).len())?;
            let n = builder.shape(x)[at].constant().and_then(|n| i64::try_from(n).ok());
            let n = n.filter(|_| (1..=RESULTS as i64).contains(&count));
            let n = n.ok_or_else(|| misfit("a dimension of unknown extent is split"))?;
            // The first parts have one element more.
            let first = |k: i64| k * (n / count) + k.min(n % count);
            let part = |k: i64| builder.slice(x, axis, first(k), first(k + 1), 1);
            (0..count).map(part).collect::<Result<_, _>>()?
        }
        "unique" => {
            let x = given.tensor(builder, 0)?;
            builder.unique(x, given.elem(1)?)?
        }
        "unbind" => {
            let (x, axis) = (given.tensor(builder, 0)?, given.int(1)?);
            let at = builder.axis(axis, builder.shape(x).len())?;
            let parts = builder.split(x, 1, axis)?;
            parts.into_iter().map(|part| builder.squeeze(part, at)).collect::<Result<_, _>>()?
        }
        _ => return Ok(None),
    };
    Ok(Some(parts))
}

/// Functions of elements, and of their places.
fn elements(builder: &mut Builder, given: &Operands) -> Result<Option<Id>, Problem> {
    let b = builder;
    let done = match given.function {
        "map" => {
            let x = given.tensor(b, 1)?;
            b.map(given.word(0)?, x)?
        }
        "leaky" => {
            let x = given.tensor(b, 0)?;
            b.leaky(x, given.number(1)?)?
        }
        "zip" => {
            let (x, y) = (given.tensor(b, 1)?, given.tensor(b, 2)?);
            b.zip(given.word(0)?, x, y)?
        }
        "integer" => {
            let (x, y) = (given.tensor(b, 1)?, given.tensor(b, 2)?);
            b.whole(given.word(0)?, x, y)?
        }
        "floor_div" => {
            let (x, y) = (given.tensor(b, 0)?, given.tensor(b, 1)?);
            b.whole("floordiv", x, y)?
        }
        "quotient" => {
            let (x, y) = (given.tensor(b, 0)?, given.tensor(b, 1)?);
            let both = b.elem(x).is_integer() && b.elem(y).is_integer();
            if both { b.whole(DIV, x, y)? } else { b.zip(DIV, x, y)? }
        }
        "truths" => {
            let (x, y) = (given.tensor(b, 1)?, given.tensor(b, 2)?);
            if [x, y].iter().any(|own| b.elem(*own) != Elem::Bool) {
                // The lowest bits are a remainder.
                let mask =
                    b.number_of(y).filter(|n| n.fract() == 0.0 && (0.0..2f64.powi(52)).contains(n));
                return match mask.map(|n| n as u64 + 1).filter(|n| n.is_power_of_two()) {
                    Some(n) if given.word(0)? == MIN => {
                        let n = b.number(n as f64, b.elem(x))?;
                        b.whole("floormod", x, n).map(Some)
                    }
                    _ => Err(misfit("the bits of numbers")),
                };
            }
            b.zip(given.word(0)?, x, y)?
        }
        "clamp" => {
            let mut x = given.tensor(b, 0)?;
            for (at, word) in [(1, MAX), (2, MIN)] {
                if let Some(bound) = given.optional(b, at)? {
                    x = b.zip(word, x, bound)?;
                }
            }
            x
        }
        "power" => {
            let (x, y) = (given.tensor(b, 0)?, given.tensor(b, 1)?);
            b.power(x, y)?
        }
        "compare" => {
            let (x, y) = (given.tensor(b, 1)?, given.tensor(b, 2)?);
            b.compare(given.word(0)?, x, y)?
        }
        "choose" => {
            let condition = given.tensor(b, 0)?;
            let (x, y) = (given.tensor(b, 1)?, given.tensor(b, 2)?);
            b.choose(condition, x, y)?
        }
        "cast" => {
            let x = given.tensor(b, 1)?;
            b.cast(x, given.elem(0)?)?
        }
        "full" => b.full(given.number(0)?, given.shape(1)?, given.elem(2)?)?,
        "iota" => {
            let shape = given.shape(2)?;
            let n = shape.first().and_then(Extent::constant);
            let n = n.ok_or_else(|| misfit("as many numbers in a row as only the data says"))?;
            let whole = b.iota(given.int(0)?, given.int(1)?, n, Elem::Of(DType::I64))?;
            b.cast(whole, given.elem(3)?)?
        }
        "channels" => {
            let (x, of) = (given.tensor(b, 0)?, given.tensor(b, 1)?);
            b.channels(x, of)?
        }
        "reshape" => {
            let x = given.tensor(b, 0)?;
            b.reshape(x, given.shape(1)?)?
        }
        "expand" => {
            let x = given.tensor(b, 0)?;
            b.expand(x, given.shape(1)?)?
        }
        "transpose" => {
            let x = given.tensor(b, 0)?;
            // A vector stays as it is.
            if b.shape(x).len() < 2 { x } else { b.transpose(x, given.int(1)?, given.int(2)?)? }
        }
        "permute" => {
            let (x, order) = (given.tensor(b, 0)?, given.ints(1)?);
            let rank = b.shape(x).len();
            let order: Result<Vec<usize>, Problem> =
                order.into_iter().map(|axis| b.axis(axis, rank)).collect();
            b.permute(x, order?)?
        }
        "slice" => {
            let x = given.tensor(b, 0)?;
            b.slice(x, given.int(1)?, given.int(2)?, given.int(3)?, given.int(4)?)?
        }
        "narrow" => {
            let (x, first) = (given.tensor(b, 0)?, given.int(2)?);
            b.slice(x, given.int(1)?, first, first.saturating_add(given.int(3)?), 1)?
        }
        "select" => {
            let x = given.tensor(b, 0)?;
            b.select(x, given.int(1)?, given.int(2)?)?
        }
        "broadcast" => {
            let x = given.tensor(b, 0)?;
            b.broadcast_in(x, &given.ints(1)?, given.shape(2)?)?
        }
        "slices" => {
            let x = given.tensor(b, 0)?;
            b.slices(x, &given.ints(1)?, &given.ints(2)?, &given.ints(3)?)?
        }
        "iota_along" => b.iota_along(given.int(0)?, given.shape(1)?, given.elem(2)?)?,
        "concat" => {
            let parts = given.tensors(b, 0)?;
            b.concat(parts, given.int(1)?)?
        }
        "stack" => {
            let parts = given.tensors(b, 0)?;
            b.stack(parts, given.int(1)?)?
        }
        _ => return Ok(None),
    };
    Ok(Some(done))
}
