//! Whole numbers that are known at import, and sizes among them: shapes, and what programs compute from shapes.

use super::Item;
use super::functions::Operands;
use crate::build::{Builder, misfit};
use crate::error::Problem;
use crate::graph::{Elem, Id};
use crate::words::{ADD, DIV, MAX, MIN, MUL, SUB};
use ember_model::Extent;
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::{DType, Scalar};

/// The most numbers that are computed with as known ones.
const MOST: usize = 4096;

/// A whole number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Whole {
    /// A number.
    Int(i64),
    /// An extent that the data says.
    Size(Extent),
}

/// Whole numbers, none or several of them in a row.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// The extents.
    pub(crate) shape: Vec<u64>,
    /// The numbers in row-major order.
    pub(crate) values: Vec<Whole>,
    /// The element type.
    pub(crate) elem: Elem,
}

impl Known {
    /// A vector of numbers.
    fn vector(values: Vec<Whole>, elem: Elem) -> Known {
        Known { shape: vec![values.len() as u64], values, elem }
    }

    /// The numbers of a shape.
    pub(crate) fn of_shape(shape: &[Extent]) -> Known {
        let value = |extent: &Extent| match extent.constant().and_then(|n| i64::try_from(n).ok()) {
            Some(n) => Whole::Int(n),
            None => Whole::Size(extent.clone()),
        };
        Known::vector(shape.iter().map(value).collect(), Elem::Of(DType::I32))
    }

    /// The only number, without dimensions.
    pub(super) fn scalar(self) -> Known {
        Known { shape: Vec::new(), ..self }
    }

    /// Returns the numbers, if none is a size.
    pub(crate) fn ints(&self) -> Option<Vec<i64>> {
        let int = |value: &Whole| match value {
            Whole::Int(n) => Some(*n),
            Whole::Size(_) => None,
        };
        self.values.iter().map(int).collect()
    }

    /// The tensor of the numbers.
    pub(crate) fn tensor(&self, builder: &mut Builder) -> Result<Id, Problem> {
        let ints =
            self.ints().ok_or_else(|| misfit("a size that the data says is computed with"))?;
        let shape: Vec<Extent> = self.shape.iter().copied().map(Extent::Const).collect();
        let rises = ints.iter().enumerate().all(|(at, n)| *n == at as i64);
        match &ints[..] {
            [_, _, ..] if rises && self.elem != Elem::Bool => {
                let places = builder.iota(0, 1, ints.len() as u64, self.elem)?;
                builder.reshape(places, shape)
            }
            [first, rest @ ..] if rest.iter().all(|n| n == first) => {
                builder.full(*first as f64, shape, self.elem)
            }
            ints => {
                let data = Data::held(DType::I64, ints.iter().map(|n| Scalar::I64(*n)));
                let tensor = Tensor { dtype: DType::I64, shape: self.shape.clone(), data };
                builder.constant(tensor, self.elem)
            }
        }
    }

    /// The numbers at these places, in other extents.
    fn picked(&self, shape: Vec<u64>, places: impl Iterator<Item = usize>) -> Option<Known> {
        let values = places.map(|at| self.values.get(at).cloned()).collect::<Option<_>>()?;
        Some(Known { shape, values, elem: self.elem })
    }
}

/// Applies a function to known numbers; `None` if it is not one of them, or an operand is a tensor.
pub(super) fn call(builder: &mut Builder, given: &Operands) -> Result<Option<Item>, Problem> {
    Ok(computed(builder, given)?.map(Item::Known))
}

fn computed(builder: &mut Builder, given: &Operands) -> Result<Option<Known>, Problem> {
    let known = |at: usize| match given.item(at) {
        Item::Known(known) => Some(known),
        _ => None,
    };
    Ok(match given.function {
        "zip" => match (known(1), known(2)) {
            (Some(x), Some(y)) => zip(builder, given.word(0)?, x, y)?,
            _ => None,
        },
        "floor_div" => match (known(0), known(1)) {
            (Some(x), Some(y)) => zip(builder, given.function, x, y)?,
            _ => None,
        },
        "cast" => match (known(1), given.item(0)) {
            (Some(x), Item::Type(elem)) if elem.is_integer() => {
                Some(Known { elem: *elem, ..x.clone() })
            }
            _ => None,
        },
        "fold_over" => match known(1) {
            Some(x) if x.shape.len() <= 1 => fold(builder, given.word(0)?, x, given.truth(3)?)?,
            _ => None,
        },
        "concat" | "stack" => {
            let Item::List(parts) = given.item(0) else { return Ok(None) };
            let rank = usize::from(given.function == "concat");
            let mut values = Vec::new();
            let mut elem = None;
            for part in parts {
                match part {
                    Item::Known(known) if known.shape.len() == rank => {
                        elem = Some(known.elem);
                        values.extend(known.values.iter().cloned());
                    }
                    // A computed number beside known ones is an extent, too.
                    Item::Tensor(id) if rank == 0 && builder.elem(*id).is_integer() => {
                        values.push(Whole::Size(builder.made(format!("elements {}", id.0))?));
                    }
                    _ => return Ok(None),
                }
            }
            elem.map(|elem| Known::vector(values, elem))
        }
        "strided" => match (known(0), given.range()?) {
            // A number without dimensions has only a new one to take.
            (Some(x), _) if x.shape.is_empty() => match given.int(7)? {
                0 => Some(x.clone()),
                1 => x.picked(vec![1], 0..1),
                _ => None,
            },
            (Some(x), Some(range)) if x.shape.len() == 1 => {
                let places = range.places(x.values.len());
                let shape = if range.single { Vec::new() } else { vec![places.len() as u64] };
                x.picked(shape, places.into_iter())
            }
            _ => None,
        },
        "gather" => match (known(0), known(2).and_then(Known::ints)) {
            (Some(x), Some(at)) if x.shape.len() == 1 => {
                let shape = known(2).map(|known| known.shape.clone()).unwrap_or_default();
                x.picked(shape, at.into_iter().map(|at| usize::try_from(at).unwrap_or(usize::MAX)))
            }
            _ => None,
        },
        "reshape_to" | "squeeze" | "expand_dims" if known(0).is_some() => {
            let Some(x) = known(0).filter(|x| x.values.len() <= 1 || x.shape.len() == 1) else {
                return Ok(None);
            };
            let own: Vec<Extent> = x.shape.iter().copied().map(Extent::Const).collect();
            let shape = given.target(builder, &own)?;
            let shape = shape.iter().map(Extent::constant).collect::<Option<Vec<u64>>>();
            shape.and_then(|shape| x.picked(shape, 0..x.values.len()))
        }
        "repeat_to" | "fill" => {
            let (shape, x) = match given.function {
                "fill" => (known(0), known(1)),
                _ => (known(1), known(0)),
            };
            let (Some(shape), Some(x)) = (shape.and_then(Known::ints), x) else { return Ok(None) };
            let (n, one) = (shape.iter().product::<i64>(), x.values.len() == 1);
            let fits = shape.len() <= 1 && (0..=MOST as i64).contains(&n);
            let same = x.values.len() as i64 == n;
            let shape = shape.into_iter().map(i64::unsigned_abs).collect();
            match fits && (one || same) {
                true => x.picked(shape, (0..n as usize).map(|at| if one { 0 } else { at })),
                false => None,
            }
        }
        "range" => match (known(0), known(1), known(2)) {
            (Some(first), Some(end), Some(step)) => {
                let ints = [first, end, step].map(Known::ints);
                let [Some(first), Some(end), Some(step)] = ints else { return Ok(None) };
                let ([first], [end], [step]) = (&first[..], &end[..], &step[..]) else {
                    return Ok(None);
                };
                if *step <= 0 {
                    return Ok(None);
                }
                let all = (*first..*end).step_by(*step as usize).take(MOST + 1).map(Whole::Int);
                let all: Vec<Whole> = all.collect();
                (all.len() <= MOST)
                    .then(|| Known::vector(all, known(0).map_or(Elem::Bool, |x| x.elem)))
            }
            _ => None,
        },
        _ => None,
    })
}

/// An operation on numbers, the single one of either side repeated.
fn zip(builder: &mut Builder, word: &str, x: &Known, y: &Known) -> Result<Option<Known>, Problem> {
    let n = x.values.len().max(y.values.len());
    if x.values.is_empty()
        || y.values.is_empty()
        || [x, y].iter().any(|k| ![1, n].contains(&k.values.len()))
    {
        return Ok(None);
    }
    let shape =
        if x.shape.len() >= y.shape.len() && x.values.len() == n { &x.shape } else { &y.shape };
    let mut values = Vec::new();
    for at in 0..n {
        let (a, b) = (&x.values[at % x.values.len()], &y.values[at % y.values.len()]);
        let Some(value) = apply(builder, word, a, b)? else { return Ok(None) };
        // Narrower numbers would wrap.
        let narrow = x.elem == Elem::Of(DType::I32);
        if matches!(value, Whole::Int(n) if narrow && i32::try_from(n).is_err()) {
            return Ok(None);
        }
        values.push(value);
    }
    Ok(Some(Known { shape: shape.clone(), values, elem: x.elem }))
}

fn apply(
    builder: &mut Builder,
    word: &str,
    a: &Whole,
    b: &Whole,
) -> Result<Option<Whole>, Problem> {
    let size = |extent: Result<Extent, Problem>| extent.map(|extent| Some(Whole::Size(extent)));
    match (word, a, b) {
        (_, Whole::Int(a), Whole::Int(b)) => Ok(match word {
            ADD => a.checked_add(*b),
            SUB => a.checked_sub(*b),
            MUL => a.checked_mul(*b),
            // Whole numbers are divided downwards.
            "floor_div" => (*b != 0).then(|| a.div_euclid(*b)).filter(|_| *b > 0),
            DIV => None,
            MAX => Some(*a.max(b)),
            MIN => Some(*a.min(b)),
            _ => None,
        }
        .map(Whole::Int)),
        (ADD, Whole::Size(n), Whole::Int(by)) | (ADD, Whole::Int(by), Whole::Size(n)) => {
            size(builder.more(n, *by))
        }
        (SUB, Whole::Size(n), Whole::Int(by)) => size(builder.more(n, by.saturating_neg())),
        (MUL, Whole::Size(n), Whole::Int(1)) | (MUL, Whole::Int(1), Whole::Size(n)) => {
            Ok(Some(Whole::Size(n.clone())))
        }
        (MAX, Whole::Size(n), Whole::Int(..=0)) | (MAX, Whole::Int(..=0), Whole::Size(n)) => {
            Ok(Some(Whole::Size(n.clone())))
        }
        (MUL, Whole::Size(n), Whole::Int(by @ 2..))
        | (MUL, Whole::Int(by @ 2..), Whole::Size(n)) => {
            size(builder.elements(&[n.clone(), Extent::Const(by.unsigned_abs())]))
        }
        (MUL, Whole::Size(a), Whole::Size(b)) => size(builder.elements(&[a.clone(), b.clone()])),
        (MAX | MIN, Whole::Size(a), Whole::Size(b)) if a == b => Ok(Some(Whole::Size(a.clone()))),
        _ => Ok(None),
    }
}

/// A fold of all numbers of a vector.
fn fold(
    builder: &mut Builder,
    word: &str,
    x: &Known,
    keep: bool,
) -> Result<Option<Known>, Problem> {
    let word = match word {
        "sum" => ADD,
        "prod" => MUL,
        MAX | MIN => word,
        _ => return Ok(None),
    };
    let mut all = x.values.iter().cloned();
    let first = match (all.next(), word) {
        (Some(first), _) => first,
        (None, ADD) => Whole::Int(0),
        (None, MUL) => Whole::Int(1),
        (None, _) => return Ok(None),
    };
    let mut done = first;
    for value in all {
        let Some(next) = apply(builder, word, &done, &value)? else { return Ok(None) };
        done = next;
    }
    let shape = if keep && !x.shape.is_empty() { vec![1] } else { Vec::new() };
    Ok(Some(Known { shape, values: vec![done], elem: x.elem }))
}
