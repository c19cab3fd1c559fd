//! Products of whole matrices.

use super::{Helped, Lowering, Meaning, Refused};
use crate::mlir::affine::{Affine, Map};
use crate::mlir::lines::{ADDS, COLUMNS, DEPTH, ROWS, TRANSPOSED};
use crate::mlir::product::{BATCHES, COMMON};
use crate::mlir::rows::Kind;
use crate::mlir::source::Operation;
use ember_values::scalar::Scalar;
use std::rc::Rc;

/// True for an operation that fills the memory which the next one adds a product to.
pub(in crate::mlir) fn fills_before(operation: &Operation<'_>, next: &Operation<'_>) -> bool {
    let written = |own: &Operation<'_>| own.operands.get(own.writes()?).map(|(memory, _)| *memory);
    operation.kind == Kind::Fill
        && matches!(next.kind, Kind::Product | Kind::ProductTransposed)
        && written(operation) == written(next)
}

/// Returns true or false for the maps of products that have the second factor in common: whether it is transposed.
pub(in crate::mlir) fn common(maps: &[Rc<Map>]) -> Option<bool> {
    let is = |map: &Map, places: &[usize]| {
        let wanted = places.iter().map(|at| Affine::Operand(*at));
        map.operands == 4 && map.results.iter().cloned().eq(wanted)
    };
    let [first, second, out] = maps else { return None };
    let [a, c] = BATCHES;
    let (_, transposed) = COMMON.into_iter().find(|(places, _)| is(second, places))?;
    (is(first, &a) && is(out, &c)).then_some(transposed)
}

impl<'a> Lowering<'_, 'a> {
    /// Lowers a product that is added to zeros. Each element is a sum in the order of the dimension that is summed over, as
    /// the loops of these operations are.
    pub(super) fn product(
        &mut self,
        fill: &Operation<'a>,
        product: &Operation<'a>,
    ) -> Result<(), Refused> {
        let [first, second, out] = &product.operands[..] else {
            return Err(self.refused("a product has two factors", &product.at));
        };
        let mut memories = Vec::new();
        let mut elems = Vec::new();
        for (at, operand) in [out, first, second].into_iter().enumerate() {
            // The text has the types of the factors first.
            elems.push(self.memory_type(operand, product.types.get((at + 2) % 3))?);
            memories.push(self.memory(operand)?);
        }
        let ranks: Vec<usize> =
            memories.iter().map(|memory| self.memories[*memory].tensor.shape.len()).collect();
        let common = common(&product.maps);
        let wanted = match (product.name.contains("batch"), common) {
            (false, None) if product.maps.is_empty() => [2, 2, 2],
            (true, None) if product.maps.is_empty() => [3, 3, 3],
            (true, Some(_)) if product.kind == Kind::Product => [3, 3, 2],
            _ => return Err(self.refused("a product by these maps", &product.at)),
        };
        if ranks != wanted || !elems.iter().all(|elem| *elem == elems[0]) {
            let [result, first, second] = wanted;
            let message = format!(
                "a product of {first} and {second} dimensions into {result}, of one type of elements, is read"
            );
            return Err(self.refused(message, &product.at));
        }
        if memories[1..].contains(&memories[0]) {
            return Err(self.refused("a product that is stored in a factor", &product.at));
        }
        self.afresh();
        let (value, _) = self.number(self.operand(fill, 0)?)?;
        if value != self.scalar(Scalar::from_f64(elems[0].dtype(), 0.0))? {
            return Err(self.refused("a product that is added to another number than 0", &fill.at));
        }
        self.clock += 1;
        self.memories[memories[0]].written = self.clock;
        let mut parts = Vec::new();
        for (name, memory) in ["result", "first", "second"].into_iter().zip(&memories) {
            parts.push((name, self.address_of(*memory)?));
        }
        match (product.kind, common) {
            (Kind::ProductTransposed, _) | (_, Some(true)) => {
                self.state("matrix-product-transposed", &parts)
            }
            _ => self.state("matrix-product", &parts),
        }
    }

    /// Lowers a product of matrices, of which some are each one of a batch: behind its memory stands its index.
    pub(super) fn matrices(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let (mut at, mut memories, mut elems, mut parts) = (0, Vec::new(), Vec::new(), Vec::new());
        // Behind the factors of some rows stand their bound and the first, behind those of some columns the first.
        let [rows, depth] = [ROWS, DEPTH]
            .map(|name| operation.attribute(name).and_then(|count| count.parse::<i64>().ok()));
        let [transposed, adds, columns] =
            [TRANSPOSED, ADDS, COLUMNS].map(|name| operation.attribute(name) == Some("true"));
        let sides = usize::from(rows.is_some()) + usize::from(depth.is_some());
        let behind = if sides > 0 { 2 * sides } else { usize::from(columns) };
        let all = operation.operands.len().saturating_sub(behind);
        for name in ["result", "first", "second"] {
            let operand = self.operand(operation, at)?.clone();
            let said = operation.ins.as_ref().and_then(|ins| ins.get(at));
            elems.push(self.memory_type(&operand, said)?);
            let memory = self.memory(&operand)?;
            let mut places = Vec::new();
            at += 1;
            while let Some(place) = operation.operands[..all].get(at)
                && !matches!(self.meanings[place.0], Some(Meaning::Memory(_)))
            {
                places.push(self.index(place)?);
                at += 1;
            }
            let rank = self.memories[memory].tensor.shape.len();
            if rank != places.len() + 2 {
                let message = format!("{} indices of memory of {rank} dimensions", places.len());
                return Err(self
                    .refused(message, &operand.1)
                    .with_help_boxed("behind a batch of matrices stands the index of one"));
            }
            parts.push((name, self.placed(memory, &places)?));
            memories.push(memory);
        }
        if at != all || !elems.iter().all(|elem| *elem == elems[0]) {
            let message = "a product has two factors, all of one type of elements";
            return Err(self.refused(message, &operation.at));
        }
        if memories[1..].contains(&memories[0]) {
            return Err(self.refused("a product that is stored in a factor", &operation.at));
        }
        self.clock += 1;
        self.memories[memories[0]].written = self.clock;
        if depth.is_some() && rows.is_none() {
            return Err(self.refused("a part of the depth without rows", &operation.at));
        }
        if let Some(rows) = rows {
            parts.push(("count", self.scalar(Scalar::I64(rows))?));
            if let Some(depth) = depth {
                parts.push(("deep", self.scalar(Scalar::I64(depth))?));
            }
            let names = ["end", "place", "deep-end", "deep-place"];
            for (name, operand) in names.into_iter().zip(&operation.operands[all..]) {
                parts.push((name, self.index(operand)?));
            }
            return match (depth, adds) {
                (None, false) => self.state("matrix-product-rows", &parts),
                (Some(_), true) => self.state("matrix-product-part", &parts),
                _ => Err(self.refused("a product of these rows", &operation.at)),
            };
        }
        if let (true, Some(first)) = (columns, operation.operands[all..].first()) {
            parts.push(("place", self.index(first)?));
        }
        match (columns, adds, transposed) {
            (true, false, true) => self.state("matrix-product-columns", &parts),
            (true, true, false) => self.state("matrix-product-added", &parts),
            (false, false, true) => self.state("matrix-product-transposed", &parts),
            (false, false, false) => self.state("matrix-product", &parts),
            _ => Err(self.refused("a product of these columns", &operation.at)),
        }
    }
}
