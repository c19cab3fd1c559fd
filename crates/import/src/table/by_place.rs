//! Functions in which the place of an element decides, and those that give dimensions other extents.

use super::Item;
use super::functions::Operands;
use crate::build::{Builder, misfit};
use crate::error::Problem;
use crate::graph::Id;
use ember_model::Extent;

/// Applies a function; `None` if there is none of this name.
pub(super) fn call(b: &mut Builder, given: &Operands) -> Result<Option<Id>, Problem> {
    let done = match given.function {
        "gather_each" => {
            let (x, index) = (given.tensor(b, 0)?, given.tensor(b, 2)?);
            b.gather_each(x, given.int(1)?, index, given.int(3)?)?
        }
        "unsqueeze" => {
            let x = given.tensor(b, 0)?;
            let axis = b.axis(given.int(1)?, b.shape(x).len() + 1)?;
            b.unsqueeze(x, axis)?
        }
        "triangle" => {
            let x = given.tensor(b, 1)?;
            b.triangle(given.word(0)?, x, given.int(2)?)?
        }
        "triangle_places" => {
            b.triangle_places(given.word(0)?, given.int(1)?, given.int(2)?, given.int(3)?)?
        }
        "roll" => {
            let (mut x, axes) = (given.tensor(b, 0)?, given.ints(2)?);
            if axes.is_empty() {
                return Err(misfit("all elements are moved on; say in which dimensions"));
            }
            for (by, axis) in given.ints(1)?.into_iter().zip(axes) {
                x = b.roll(x, by, axis)?;
            }
            x
        }
        "flip" => {
            let x = given.tensor(b, 0)?;
            b.flip(x, &given.ints(1)?)?
        }
        "repeat" => {
            let x = given.tensor(b, 0)?;
            let (mut times, rank) = (given.ints(1)?, b.shape(x).len());
            while times.len() < rank {
                times.insert(0, 1);
            }
            b.repeat(x, &times)?
        }
        "margins" => {
            let x = given.tensor(b, 0)?;
            b.margins(x, &given.ints(1)?, given.item(2).number().unwrap_or(0.0))?
        }
        "padded" => {
            let (x, number) = (given.tensor(b, 0)?, given.tensor(b, 1)?);
            let number =
                b.number_of(number).ok_or_else(|| misfit("a margin of a computed number"))?;
            if !matches!(given.item(4), Item::None) && given.ints(4)?.iter().any(|n| *n != 0) {
                return Err(misfit("margins between elements"));
            }
            let sides = given.ints(2)?.into_iter().zip(given.ints(3)?).rev();
            let margins: Vec<i64> = sides.flat_map(|(low, high)| [low, high]).collect();
            b.margins(x, &margins, number)?
        }
        "replaced" => {
            let (x, part) = (given.tensor(b, 0)?, given.tensor(b, 1)?);
            b.replaced(x, part, given.int(2)?, given.int(3)?)?
        }
        "moved" => {
            let x = given.tensor(b, 0)?;
            let rank = b.shape(x).len();
            let axes = |at: usize| -> Result<Vec<usize>, Problem> {
                given.ints(at)?.into_iter().map(|axis| b.axis(axis, rank)).collect()
            };
            let (from, to) = (axes(1)?, axes(2)?);
            let mut pairs: Vec<(usize, usize)> = to.into_iter().zip(from.iter().copied()).collect();
            pairs.sort_unstable();
            let mut order: Vec<usize> = (0..rank).filter(|axis| !from.contains(axis)).collect();
            for (to, from) in pairs {
                order.insert(to.min(order.len()), from);
            }
            b.permute(x, order)?
        }
        "groups" => {
            let x = given.tensor(b, 0)?;
            b.groups(x, given.int(1)?)?
        }
        "side_by_side" => {
            let parts = given.tensors(b, 0)?;
            let vectors = parts.iter().all(|part| b.shape(*part).len() < 2);
            b.concat(parts, i64::from(!vectors))?
        }
        "above_each_other" => {
            let mut parts = given.tensors(b, 0)?;
            for part in &mut parts {
                if b.shape(*part).len() < 2 {
                    *part = b.unsqueeze(*part, 0)?;
                }
            }
            b.concat(parts, 0)?
        }
        "one_of" => {
            let (x, classes) = (given.tensor(b, 0)?, given.int(1)?);
            let shape = b.shape(x);
            let rank = shape.len();
            let n =
                u64::try_from(classes).map_err(|_| misfit("as many classes as the data says"))?;
            let places = b.iota(0, 1, n, b.elem(x))?;
            let x = b.unsqueeze(x, rank)?;
            b.compare("eq", x, places)?
        }
        "index_put" => {
            let (x, rows) = (given.tensor(b, 0)?, given.tensor(b, 2)?);
            let Item::List(items) = given.item(1) else { return Err(given.wrong(1, "a list")) };
            let [Item::Tensor(index)] = items[..] else {
                return Err(misfit("elements are put at positions in several dimensions"));
            };
            let shape: Vec<Extent> =
                b.shape(index).into_iter().chain(b.shape(x).into_iter().skip(1)).collect();
            let rows = b.expand(rows, shape)?;
            match given.truth(3)? {
                true => b.scatter(crate::words::ADD, x, 0, index, rows)?,
                false => b.put(x, 0, index, rows)?,
            }
        }
        _ => return Ok(None),
    };
    Ok(Some(done))
}
