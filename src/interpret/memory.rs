//! Addresses, loads and stores, and what whole tensors are.

use super::op::{At, Mode, Op};
use super::value::{Address, Place, Value};
use super::{Error, Interpreter};
use ember_targets::scalar::{BinaryOp, DType, Scalar};
use ember_targets::tensor::Tensor;

impl Interpreter {
    /// The address that the node at a position is.
    pub(super) fn address(&mut self, at: At) -> Result<Address, Error> {
        match self.program.ops[at] {
            Op::Root { tensor, writable } => {
                Ok(Address::One(Place { tensor, depth: 0, position: 0, writable }))
            }
            _ => stacker::maybe_grow(super::eval::RED_ZONE, super::eval::SEGMENT, || {
                self.compound_address(at)
            }),
        }
    }

    fn compound_address(&mut self, at: At) -> Result<Address, Error> {
        match self.program.ops[at] {
            Op::Index { address, index } => {
                let address = self.address(address)?;
                let index = self.value(index)?;
                match (address, index) {
                    (Address::One(place), Value::Scalar(i)) => {
                        self.within(place, i).map(Address::One)
                    }
                    (Address::One(place), Value::Lanes(lanes)) => {
                        let place =
                            |i: Option<Scalar>| i.map(|i| self.within(place, i)).transpose();
                        lanes.into_iter().map(place).collect::<Result<_, _>>().map(Address::Lanes)
                    }
                    (Address::Lanes(places), Value::Scalar(i)) => {
                        let place = |p: Option<Place>| p.map(|p| self.within(p, i)).transpose();
                        places.into_iter().map(place).collect::<Result<_, _>>().map(Address::Lanes)
                    }
                    (Address::Lanes(places), Value::Lanes(lanes)) => {
                        if places.len() != lanes.len() {
                            return Err(self.lanes_error(at, places.len(), lanes.len()));
                        }
                        let both = places.into_iter().zip(lanes);
                        both.map(|(p, i)| p.zip(i).map(|(p, i)| self.within(p, i)).transpose())
                            .collect::<Result<_, _>>()
                            .map(Address::Lanes)
                    }
                }
            }
            Op::Vec { v, e, n, hi, x } => {
                let mut lanes = Vec::new();
                self.block(v, e, n, hi, |this, active| {
                    lanes.push(if active { Some(this.place(x)?) } else { None });
                    Ok(())
                })?;
                Ok(Address::Lanes(lanes))
            }
            Op::Rename { x, y, t } => self.renamed(x, y, |this| this.address(t)),
            _ => Err(self.wrong(at, "an address")),
        }
    }

    /// The single place at a position.
    fn place(&mut self, at: At) -> Result<Place, Error> {
        match self.address(at)? {
            Address::One(place) => Ok(place),
            Address::Lanes(lanes) => Err(self.lanes_error(at, lanes.len(), 1)),
        }
    }

    fn tensor(&self, place: Place) -> (&str, &Tensor) {
        (&self.names[place.tensor as usize], &self.tensors[place.tensor as usize])
    }

    /// The part of a place at an index of its first free dimension.
    fn within(&self, place: Place, index: Scalar) -> Result<Place, Error> {
        let (name, tensor) = self.tensor(place);
        let depth = place.depth as usize;
        let Some(&extent) = tensor.shape.get(depth) else {
            return Err(self.rank_error(place, depth + 1));
        };
        let Scalar::I64(index) = index else {
            return Err(Error::types("at".to_string(), &[index.dtype()]));
        };
        match u64::try_from(index) {
            Ok(i) if i < extent => {
                Ok(Place { depth: place.depth + 1, position: place.position * extent + i, ..place })
            }
            _ => Err(Error::OutOfBounds {
                tensor: name.to_string(),
                dimension: depth,
                index,
                extent,
            }),
        }
    }

    fn rank_error(&self, place: Place, indices: usize) -> Error {
        let (name, tensor) = self.tensor(place);
        Error::Rank { tensor: name.to_string(), rank: tensor.shape.len(), indices }
    }

    /// The element at a place.
    fn get(&self, place: Place) -> Result<Scalar, Error> {
        let element = self.tensor(place).1;
        if place.depth as usize != element.shape.len() {
            return Err(self.rank_error(place, place.depth as usize));
        }
        element.get(place.position).ok_or_else(|| self.rank_error(place, place.depth as usize))
    }

    /// Writes the element at a place.
    fn set(&mut self, place: Place, value: Scalar) -> Result<(), Error> {
        let (name, tensor) = self.tensor(place);
        if place.depth as usize != tensor.shape.len() {
            return Err(self.rank_error(place, place.depth as usize));
        }
        if tensor.dtype != value.dtype() {
            return Err(Error::types("a store".to_string(), &[tensor.dtype, value.dtype()]));
        }
        if !place.writable {
            return Err(Error::ReadOnly(name.to_string()));
        }
        let written = self.tensors[place.tensor as usize].set(place.position, value);
        // What is left are elements that are computed on demand.
        if written { Ok(()) } else { Err(Error::ReadOnly(self.tensor(place).0.to_string())) }
    }

    /// Loads the element or the active lanes at an address.
    pub(super) fn load(&mut self, address: At, stream: bool) -> Result<Value, Error> {
        let address = self.address(address)?;
        let load = |this: &Self, place: Place| {
            if stream && place.writable {
                return Err(Error::MutableLoad(this.tensor(place).0.to_string()));
            }
            this.get(place)
        };
        match address {
            Address::One(place) => load(self, place).map(Value::Scalar),
            Address::Lanes(lanes) => lanes
                .into_iter()
                .map(|place| place.map(|place| load(self, place)).transpose())
                .collect::<Result<_, _>>()
                .map(Value::Lanes),
        }
    }

    /// Stores an element or the active lanes of a vector, in order.
    pub(super) fn store_lanes(
        &mut self,
        at: At,
        address: Address,
        value: Value,
    ) -> Result<(), Error> {
        match (address, value) {
            (Address::One(place), Value::Scalar(value)) => self.set(place, value),
            (Address::Lanes(places), Value::Lanes(lanes)) if places.len() == lanes.len() => {
                for (place, value) in places.into_iter().zip(lanes) {
                    let Some(place) = place else { continue };
                    self.set(place, value.ok_or(Error::InactiveLane)?)?;
                }
                Ok(())
            }
            (address, value) => Err(self.lanes_error(at, address.lanes(), value.lanes())),
        }
    }

    /// `element := element op value` for an element or the active lanes of a vector, in order.
    pub(super) fn accumulate(
        &mut self,
        at: At,
        op: BinaryOp,
        address: Address,
        value: Value,
    ) -> Result<(), Error> {
        if address.lanes() != value.lanes() {
            return Err(self.lanes_error(at, address.lanes(), value.lanes()));
        }
        let values = match value {
            Value::Scalar(x) => vec![Some(x)],
            Value::Lanes(lanes) => lanes,
        };
        for (place, value) in address.into_iter().zip(values) {
            // An inactive lane of the value is the operation's identity, as in a reduction.
            let (Some(place), Some(value)) = (place, value) else { continue };
            let sum = self.apply(at, op, self.get(place)?, value)?;
            self.set(place, sum)?;
        }
        Ok(())
    }

    /// `a op b` of two scalars.
    fn apply(&self, at: At, op: BinaryOp, a: Scalar, b: Scalar) -> Result<Scalar, Error> {
        op.apply(a, b).ok_or_else(|| Error::types(self.head(at), &[a.dtype(), b.dtype()]))
    }

    /// The tensor that an address is in, and how many of its indices are fixed. No index is
    /// evaluated: a shape or type is asked of tensors, not of elements.
    fn declared(&self, mut at: At) -> Result<(&Tensor, usize), Error> {
        let mut depth = 0;
        loop {
            match self.program.ops[at] {
                Op::Root { tensor, .. } => return Ok((&self.tensors[tensor as usize], depth)),
                Op::Index { address, .. } => (at, depth) = (address, depth + 1),
                Op::Vec { x, .. } | Op::Rename { t: x, .. } => at = x,
                _ => return Err(self.wrong(at, "an address")),
            }
        }
    }

    /// The element type of the tensor that an address is in.
    pub(super) fn dtype(&self, at: At) -> Result<DType, Error> {
        self.declared(at).map(|(tensor, _)| tensor.dtype)
    }

    /// An extent of the tensor that an address is in, counted from its first free dimension.
    pub(super) fn dimension(&mut self, of: At, k: At) -> Result<Value, Error> {
        let k = self.index(k)?;
        let (tensor, depth) = self.declared(of)?;
        let extent = usize::try_from(k).ok().and_then(|k| tensor.shape.get(depth.checked_add(k)?));
        let extent = extent.and_then(|n| i64::try_from(*n).ok());
        extent
            .map(|n| Value::Scalar(Scalar::I64(n)))
            .ok_or(Error::Sort { expected: "a dimension of the tensor", found: k.to_string() })
    }

    /// Writes every element of a tensor of rank 2, row by row.
    pub(super) fn output(&mut self, to: At, from: At) -> Result<(), Error> {
        let place = self.place(to)?;
        let shape = &self.tensor(place).1.shape[place.depth as usize..];
        let &[rows, columns] = shape else { return Err(self.rank_error(place, 2)) };
        for row in 0..rows as i64 {
            for column in 0..columns as i64 {
                let value = self.element_at(from, row, column)?;
                let to = self.within(place, Scalar::I64(row))?;
                let to = self.within(to, Scalar::I64(column))?;
                self.set(to, value)?;
            }
        }
        Ok(())
    }

    /// One element of a tensor, at positions that are terms.
    pub(super) fn element(&mut self, of: At, row: At, column: At) -> Result<Value, Error> {
        let (row, column) = (self.index(row)?, self.index(column)?);
        self.element_at(of, row, column).map(Value::Scalar)
    }

    fn element_at(&mut self, of: At, row: i64, column: i64) -> Result<Scalar, Error> {
        match self.program.ops[of] {
            Op::Gather { table, indices } => {
                let (table, indices) = (self.place(table)?, self.place(indices)?);
                self.lookup(table, indices, row, column)
            }
            Op::Bag { mode, table, indices, offsets, weights } => {
                let (table, indices) = (self.place(table)?, self.place(indices)?);
                let offsets = self.place(offsets)?;
                let weights = weights.map(|w| self.place(w)).transpose()?;
                let lo = self.at(offsets, row)?;
                let hi = self.at(offsets, row.wrapping_add(1))?;
                let (lo, hi) = (self.integer(lo)?, self.integer(hi)?);
                let dtype = self.tensor(table).1.dtype;
                let (op, start) = match mode {
                    Mode::Sum | Mode::Mean => (BinaryOp::Add, Scalar::zero(dtype)),
                    Mode::Max if lo < hi => {
                        let least = BinaryOp::Max.identity(dtype);
                        (BinaryOp::Max, least.unwrap_or(Scalar::zero(dtype)))
                    }
                    // The maximum of nothing.
                    Mode::Max => return Ok(Scalar::zero(dtype)),
                };
                let mut sum = start;
                for l in lo..hi {
                    self.step()?;
                    let x = self.lookup(table, indices, l, column)?;
                    let x = match weights {
                        Some(w) => self.apply(of, BinaryOp::Mul, self.at(w, l)?, x)?,
                        None => x,
                    };
                    sum = self.apply(of, op, sum, x)?;
                }
                if mode == Mode::Mean {
                    let rows = Scalar::I64(hi.wrapping_sub(lo).max(1)).cast(dtype);
                    sum = self.apply(of, BinaryOp::Div, sum, rows)?;
                }
                Ok(sum)
            }
            _ => Err(self.wrong(of, "a tensor")),
        }
    }

    /// `table[indices[l]][column]`.
    fn lookup(&self, table: Place, indices: Place, l: i64, column: i64) -> Result<Scalar, Error> {
        let row = self.integer(self.at(indices, l)?)?;
        let row = self.within(table, Scalar::I64(row))?;
        self.at(row, column)
    }

    /// The element of a place with one free dimension.
    fn at(&self, place: Place, index: i64) -> Result<Scalar, Error> {
        self.get(self.within(place, Scalar::I64(index))?)
    }

    /// An index that a tensor holds.
    fn integer(&self, x: Scalar) -> Result<i64, Error> {
        x.as_i64().ok_or_else(|| Error::types("an index".to_string(), &[x.dtype()]))
    }
}
