//! Functions of rows: folds, products, lookups, and rows combined where positions say.

use super::Item;
use super::functions::Operands;
use crate::build::{Builder, Lookup};
use crate::error::Problem;
use crate::graph::Id;

/// Applies a function; `None` if there is none of this name.
pub(super) fn call(b: &mut Builder, given: &Operands) -> Result<Option<Id>, Problem> {
    let done = match given.function {
        "fold" => {
            let x = given.tensor(b, 1)?;
            b.fold(given.word(0)?, x, &given.ints(2)?, given.truth(3)?)?
        }
        "norm" => {
            let x = given.tensor(b, 0)?;
            b.norm(x, given.number(1)?, &given.ints(2)?, given.truth(3)?)?
        }
        "variance" => {
            let x = given.tensor(b, 0)?;
            b.variance(x, &given.ints(1)?, given.number(2)?, given.truth(3)?)?
        }
        "softmax" => {
            let x = given.tensor(b, 0)?;
            b.softmax(x, given.int(1)?)?
        }
        "log_softmax" => {
            let x = given.tensor(b, 0)?;
            b.log_softmax(x, given.int(1)?)?
        }
        "log_sum_exp" => {
            let x = given.tensor(b, 0)?;
            b.log_sum_exp(x, &given.ints(1)?, given.truth(2)?)?
        }
        "normalise" => {
            let x = given.tensor(b, 0)?;
            b.normalise(x, given.ints(1)?.len(), given.number(2)?)?
        }
        "product" => {
            let (x, y) = (given.tensor(b, 0)?, given.tensor(b, 1)?);
            b.product(x, y)?
        }
        "dot" => {
            let (x, y) = (given.tensor(b, 0)?, given.tensor(b, 1)?);
            let (batch, over) = (given.pair(2)?, given.pair(3)?);
            b.dot(x, y, (&batch.0, &batch.1), (&over.0, &over.1))?
        }
        "lookup" => {
            let (x, index) = (given.tensor(b, 0)?, given.tensor(b, 1)?);
            let dims = Lookup {
                offsets: given.ints(2)?,
                collapsed: given.ints(3)?,
                mapped: given.ints(4)?,
                vector: given.int(5)?,
                batch: (given.ints(6)?, given.ints(7)?),
                sizes: given.ints(8)?,
            };
            b.lookup(x, index, &dims)?
        }
        "combine" => {
            let tensors = [given.tensor(b, 1)?, given.tensor(b, 2)?, given.tensor(b, 3)?];
            let dims = [&given.ints(4)?[..], &given.ints(5)?, &given.ints(6)?];
            b.combine(given.word(0)?, tensors, dims, given.int(7)?)?
        }
        "attention" => {
            let operands = [given.tensor(b, 0)?, given.tensor(b, 1)?, given.tensor(b, 2)?];
            let mask = given.optional(b, 3)?;
            b.attention(operands, mask, given.truth(4)?, given.item(5).number())?
        }
        "gather" => {
            let (x, index) = (given.tensor(b, 0)?, given.tensor(b, 2)?);
            b.gather(x, given.int(1)?, index)?
        }
        "pick" => {
            let (x, index) = (given.tensor(b, 0)?, given.tensor(b, 2)?);
            b.pick(x, given.int(1)?, index)?
        }
        "index" => {
            let x = given.tensor(b, 0)?;
            let Item::List(items) = given.item(1) else { return Err(given.wrong(1, "a list")) };
            let index = |item: &Item| match item {
                Item::Tensor(id) => Ok(Some(*id)),
                Item::None => Ok(None),
                _ => Err(given.wrong(1, "a list of tensors")),
            };
            let indices: Result<Vec<Option<Id>>, Problem> = items.iter().map(index).collect();
            b.index(x, &indices?, true)?
        }
        "scatter" => {
            let (table, index) = (given.tensor(b, 1)?, given.tensor(b, 3)?);
            let rows = given.tensor(b, 4)?;
            b.scatter(given.word(0)?, table, given.int(2)?, index, rows)?
        }
        "scatter_mean" => {
            let (table, index) = (given.tensor(b, 0)?, given.tensor(b, 2)?);
            let rows = given.tensor(b, 3)?;
            b.scatter_mean(table, given.int(1)?, index, rows, given.truth(4)?)?
        }
        "scatter_alone" => {
            let (table, index) = (given.tensor(b, 1)?, given.tensor(b, 3)?);
            let rows = given.tensor(b, 4)?;
            b.scatter_alone(given.word(0)?, table, given.int(2)?, index, rows)?
        }
        "put" => {
            let (table, index) = (given.tensor(b, 0)?, given.tensor(b, 2)?);
            let rows = given.tensor(b, 3)?;
            b.put(table, given.int(1)?, index, rows)?
        }
        "sums" => {
            let lengths = given.tensor(b, 0)?;
            b.sums(lengths)?
        }
        "running_sum" => {
            let (lengths, axis) = (given.tensor(b, 0)?, given.int(1)?);
            b.running_sum(lengths, axis)?
        }
        "segments" => {
            let (data, offsets) = (given.tensor(b, 1)?, given.tensor(b, 2)?);
            b.segments_from(given.word(0)?, data, offsets, given.item(3).number())?
        }
        "bag" => {
            let (table, indices) = (given.tensor(b, 1)?, given.tensor(b, 2)?);
            let (offsets, weights) = (given.optional(b, 3)?, given.optional(b, 4)?);
            b.bag(given.word(0)?, table, indices, offsets, weights, given.truth(5)?)?
        }
        "bag_padded" => {
            let (table, indices) = (given.tensor(b, 1)?, given.tensor(b, 2)?);
            let (offsets, weights) = (given.optional(b, 3)?, given.optional(b, 4)?);
            let (word, closed) = (given.word(0)?, given.truth(5)?);
            b.bag_padded(word, table, indices, offsets, weights, closed, given.int(6)?)?
        }
        _ => return Ok(None),
    };
    Ok(Some(done))
}
