//! Where bags start, of their lengths: running sums, which programs write in several ways.

use super::{Builder, Built, misfit};
use crate::error::Problem;
use crate::graph::{Elem, Id, Op};
use crate::words::SUB;
use crate::write::known;
use ember_values::scalar::DType;

/// A part of the starts of bags.
struct Part {
    /// All of them, with the end of the last bag.
    sums: Id,
    /// The first of the part.
    first: u64,
}

impl Builder {
    /// Where bags of these lengths start, and the end of the last one.
    pub(crate) fn sums(&mut self, lengths: Id) -> Built {
        self.positions(lengths)?;
        let [bags] = &self.shape(lengths)[..] else {
            return Err(misfit("lengths of bags have one dimension"));
        };
        let ends = bags.plus(1).ok_or_else(|| misfit("very many bags"))?;
        self.add(Op::Sums, vec![lengths], vec![ends], Elem::Of(DType::I64))
    }

    /// The sums of whole numbers up to each of them.
    pub(crate) fn running_sum(&mut self, x: Id, axis: i64) -> Built {
        let shape = self.shape(x);
        self.axis(axis, shape.len())?;
        if shape.len() != 1 || !self.elem(x).is_integer() {
            return Err(misfit(
                "running sums have no counterpart, besides those of whole numbers in one dimension",
            ));
        }
        let sums = self.sums(x)?;
        self.slice(sums, 0, 1, i64::MAX, 1)
    }

    fn part_of_sums(&self, id: Id) -> Option<Part> {
        let (mut id, mut first) = (id, 0);
        loop {
            let node = self.graph.node(id);
            match (&node.op, &node.operands[..]) {
                (Op::Sums, _) => return Some(Part { sums: id, first }),
                (Op::Slice { axis: 0, first: own }, [of]) => (id, first) = (*of, first + own),
                (Op::Cast, [of]) if node.elem.is_integer() => id = *of,
                _ => return None,
            }
        }
    }

    /// A 0 in front of running sums, which are starts of bags then; `None` for other parts.
    pub(super) fn starts_behind_zero(&mut self, parts: &[Id]) -> Result<Option<Id>, Problem> {
        let [zero, rest] = parts else { return Ok(None) };
        let Some(Part { sums, first: 1 }) = self.part_of_sums(*rest) else { return Ok(None) };
        let is_zero = self.graph.node(*zero).elem.is_integer()
            && known(&self.graph, *zero)?.is_some_and(|numbers| numbers == [0]);
        let shape = self.shape(*rest)[0].plus(1).map(|starts| vec![starts]);
        let (true, Some(shape)) = (is_zero, shape) else { return Ok(None) };
        if shape == self.shape(sums) {
            return Ok(Some(sums));
        }
        self.add(Op::Slice { axis: 0, first: 0 }, vec![sums], shape, self.elem(sums)).map(Some)
    }

    /// The starts of bags with the end of the last one, for starts without; `None` if it is not known.
    pub(super) fn with_end(&self, starts: Id) -> Option<Id> {
        let node = self.graph.node(starts);
        let part = match (&node.op, &node.operands[..]) {
            // The sum up to each length, without it.
            (Op::Zip(word), [sum, length]) if word == SUB => {
                let part = self.part_of_sums(*sum)?;
                let of = self.graph.node(part.sums).operands.first();
                (part.first == 1 && of == Some(length)).then_some(Part { first: 0, ..part })?
            }
            _ => self.part_of_sums(starts)?,
        };
        let bags = self.graph.shape(part.sums)[0].less_one()?;
        (part.first == 0 && node.shape == [bags]).then_some(part.sums)
    }
}
