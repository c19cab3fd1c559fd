//! Addresses, loads, stores, and the rules for frozen tensors.

use super::error::Fault;
use super::lanes::each_lane;
use super::op::{At, Does};
use super::phases::Touched;
use super::value::{Address, Place, Value};
use super::{Error, Interpreter};
use ember_targets::tensor::Tensor;
use ember_values::primitive::form::{By, Form, View};
use ember_values::scalar::{BinaryOp, DType, Scalar};

impl Interpreter {
    /// Evaluates the node at a position to an address.
    pub(super) fn address(&mut self, at: At) -> Result<Address, Fault> {
        match self.program.ops[at].wide {
            true => self.deeper(at, Self::wide_address),
            false => self.place(at).map(Address::One),
        }
    }

    /// Evaluates the node at a position to a single place.
    pub(super) fn place(&mut self, at: At) -> Result<Place, Fault> {
        let op = &self.program.ops[at];
        match op.does {
            _ if op.wide => match self.address(at)? {
                Address::One(place) => Ok(place),
                Address::Lanes(lanes) => Err(self.lanes_error(at, lanes.len(), 1)),
            },
            Does::Root(place, writable) => {
                let tensor = self.tensor_at(place)?;
                let (depth, position) = (0, 0);
                let (frozen, beyond) = (false, false);
                Ok(Place { tensor, depth, position, writable, frozen, beyond })
            }
            _ => self.deeper(at, Self::compound_place),
        }
    }

    /// Evaluates a node that has operands to a place.
    fn compound_place(&mut self, at: At) -> Result<Place, Fault> {
        match self.program.ops[at].does {
            Does::Form(Form::View { address, view: View::At(index) }) => {
                let place = self.place(address)?;
                let index = self.scalar(index)?;
                self.within(place, index)
            }
            Does::Form(Form::View { address, view: View::ReadOnly }) => {
                self.place(address).map(frozen)
            }
            Does::Form(form @ Form::Replaced { .. }) => match self.elsewhere(form, Self::place) {
                Some(place) => place,
                None => Err(self.wrong(at, "an address")),
            },
            _ => Err(self.wrong(at, "an address")),
        }
    }

    /// Evaluates the indices of a whole address, which may lie outside of its tensor.
    pub(super) fn look(&mut self, at: At) -> Result<(), Fault> {
        let outside = std::mem::replace(&mut self.outside, true);
        let address = self.address(at);
        self.outside = outside;
        let places = match address? {
            Address::One(place) => vec![Some(place)],
            Address::Lanes(lanes) => lanes,
        };
        for place in places.into_iter().flatten() {
            if self.tensor(place).1.shape.len() != place.depth as usize {
                return Err(self.rank_error(place, place.depth as usize));
            }
        }
        Ok(())
    }

    /// Evaluates a node that may have several lanes to an address.
    fn wide_address(&mut self, at: At) -> Result<Address, Fault> {
        let Does::Form(form) = &self.program.ops[at].does else {
            return Err(self.wrong(at, "an address"));
        };
        match *form {
            Form::View { address, view: View::ReadOnly } => Ok(match self.address(address)? {
                Address::One(place) => Address::One(frozen(place)),
                Address::Lanes(lanes) => {
                    Address::Lanes(lanes.into_iter().map(|place| place.map(frozen)).collect())
                }
            }),
            Form::View { address, view: View::At(index) } => {
                let address = self.address(address)?;
                let index = self.value(index)?;
                match (address, index) {
                    (Address::One(place), Value::Scalar(i)) => {
                        self.within(place, i).map(Address::One)
                    }
                    (Address::One(place), Value::Lanes(lanes)) => {
                        each_lane(&lanes, |i| self.within(place, i)).map(Address::Lanes)
                    }
                    (Address::Lanes(places), Value::Scalar(i)) => {
                        each_lane(&places, |place| self.within(place, i)).map(Address::Lanes)
                    }
                    (Address::Lanes(places), Value::Lanes(lanes)) => {
                        if places.len() != lanes.len() {
                            return Err(self.lanes_error(at, places.len(), lanes.len()));
                        }
                        let both: Vec<Option<(Place, Scalar)>> =
                            places.into_iter().zip(lanes).map(|(p, i)| p.zip(i)).collect();
                        each_lane(&both, |(place, i)| self.within(place, i)).map(Address::Lanes)
                    }
                }
            }
            Form::Replaced { variable, by: By::Lanes { from, lanes, hi }, x } => {
                let mut places = Vec::new();
                self.block(from, variable, lanes, hi, |this, active| {
                    places.push(if active { Some(this.place(x)?) } else { None });
                    Ok(())
                })?;
                Ok(Address::Lanes(places))
            }
            form @ Form::Replaced { .. } => match self.elsewhere(form, Self::address) {
                Some(address) => address,
                None => Err(self.wrong(at, "an address")),
            },
            _ => Err(self.wrong(at, "an address")),
        }
    }

    pub(super) fn tensor(&self, place: Place) -> (&str, &Tensor) {
        (&self.names[place.tensor as usize], &self.tensors[place.tensor as usize])
    }

    /// Returns the part of a place at an index of its first free dimension.
    #[inline]
    pub(super) fn within(&self, place: Place, index: Scalar) -> Result<Place, Fault> {
        let (name, tensor) = self.tensor(place);
        let depth = place.depth as usize;
        let Some(&extent) = tensor.shape.get(depth) else {
            return Err(self.rank_error(place, depth + 1));
        };
        let Scalar::I64(index) = index else {
            return Err(Error::types("an index".to_string(), &[index.dtype()]));
        };
        match u64::try_from(index) {
            _ if place.beyond => Ok(place.beyond(index)),
            Ok(i) if i < extent => {
                Ok(Place { depth: place.depth + 1, position: place.position * extent + i, ..place })
            }
            _ if self.outside || self.beyond.is_some() => Ok(place.beyond(index)),
            _ => {
                let (tensor, dimension) = (name.to_string(), depth);
                Err(Error::OutOfBounds { tensor, dimension, index, extent }.into())
            }
        }
    }

    pub(super) fn rank_error(&self, place: Place, indices: usize) -> Fault {
        let (name, tensor) = self.tensor(place);
        Error::Rank { tensor: name.to_string(), rank: tensor.shape.len(), indices }.into()
    }

    /// Ends a phase: tensors written before the barrier may be read as frozen after it.
    pub(super) fn barrier(&mut self) {
        let (written, frozen) = (&self.written, &self.frozen);
        self.first
            .get_or_insert_with(|| Touched { written: written.clone(), frozen: frozen.clone() });
        self.written.fill(false);
        self.frozen.fill(false);
    }

    /// Reads the element at a place.
    #[inline]
    pub(super) fn get(&mut self, place: Place) -> Result<Scalar, Fault> {
        if place.frozen {
            if self.written[place.tensor as usize] {
                return Err(Error::Unfrozen(self.tensor(place).0.to_string()).into());
            }
            self.frozen[place.tensor as usize] = true;
        }
        if self.trace.is_some() {
            self.record(place.tensor, place.position, false);
        }
        let element = self.tensor(place).1;
        if place.depth as usize != element.shape.len() {
            return Err(self.rank_error(place, place.depth as usize));
        }
        if let (true, Some(beyond)) = (place.beyond, &self.beyond) {
            return Ok(beyond.get((place.tensor, place.position), element.dtype));
        }
        element.get(place.position).ok_or_else(|| self.rank_error(place, place.depth as usize))
    }

    /// Writes the element at a place.
    pub(super) fn set(&mut self, place: Place, value: Scalar) -> Result<(), Fault> {
        let (name, tensor) = self.tensor(place);
        if place.depth as usize != tensor.shape.len() {
            return Err(self.rank_error(place, place.depth as usize));
        }
        if tensor.dtype != value.dtype() {
            return Err(Error::types("a store".to_string(), &[tensor.dtype, value.dtype()]));
        }
        if !place.writable {
            return Err(Error::ReadOnly(name.to_string()).into());
        }
        if self.frozen[place.tensor as usize] {
            return Err(Error::Unfrozen(name.to_string()).into());
        }
        self.written[place.tensor as usize] = true;
        if let (true, Some(beyond)) = (place.beyond, &mut self.beyond) {
            beyond.set((place.tensor, place.position), value);
            return Ok(());
        }
        if self.trace.is_some() {
            self.record(place.tensor, place.position, true);
        }
        let written = self.tensors[place.tensor as usize].set(place.position, value);
        // Writing still fails for tensors whose elements are computed on demand.
        if written { Ok(()) } else { Err(Error::ReadOnly(self.tensor(place).0.to_string()).into()) }
    }

    /// Loads the element or the active lanes at an address.
    pub(super) fn load(&mut self, address: At, stream: bool) -> Result<Value, Fault> {
        match self.inside(address, Self::address)? {
            Address::One(place) => self.loaded(place, stream).map(Value::Scalar),
            Address::Lanes(lanes) => {
                each_lane(&lanes, |place| self.loaded(place, stream)).map(Value::Lanes)
            }
        }
    }

    /// Loads the element at an address that is a single place.
    pub(super) fn load_one(&mut self, address: At, stream: bool) -> Result<Scalar, Fault> {
        let place = self.inside(address, Self::place)?;
        self.loaded(place, stream)
    }

    /// Evaluates an address that is loaded: it lies in its tensor, whatever the loaded value is an index of.
    fn inside<T>(
        &mut self,
        address: At,
        evaluate: fn(&mut Self, At) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let outside = std::mem::replace(&mut self.outside, false);
        let address = evaluate(self, address);
        self.outside = outside;
        address
    }

    fn loaded(&mut self, place: Place, stream: bool) -> Result<Scalar, Fault> {
        if stream && place.writable {
            return Err(Error::MutableLoad(self.tensor(place).0.to_string()).into());
        }
        self.get(place)
    }

    /// Stores a value at a place, or folds it into the element there.
    pub(super) fn write(
        &mut self,
        at: At,
        op: Option<BinaryOp>,
        place: Place,
        value: Scalar,
    ) -> Result<(), Fault> {
        let value = match op {
            Some(op) => {
                let element = self.get(place)?;
                self.apply(at, op, element, value)?
            }
            None => value,
        };
        self.set(place, value)
    }

    /// Stores an element or the active lanes of a vector, in order.
    pub(super) fn store_lanes(
        &mut self,
        at: At,
        address: Address,
        value: Value,
    ) -> Result<(), Fault> {
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

    /// Computes `element := element op value` for an element or the active lanes of a vector, in order.
    pub(super) fn accumulate(
        &mut self,
        at: At,
        op: BinaryOp,
        address: Address,
        value: Value,
    ) -> Result<(), Fault> {
        if address.lanes() != value.lanes() {
            return Err(self.lanes_error(at, address.lanes(), value.lanes()));
        }
        let values = match value {
            Value::Scalar(x) => vec![Some(x)],
            Value::Lanes(lanes) => lanes,
        };
        for (place, value) in address.into_iter().zip(values) {
            // An inactive lane of the value acts as the identity of the operation, as in a reduction.
            let (Some(place), Some(value)) = (place, value) else { continue };
            self.write(at, Some(op), place, value)?;
        }
        Ok(())
    }

    /// Returns `a op b` of two scalars.
    pub(super) fn apply(
        &self,
        at: At,
        op: BinaryOp,
        a: Scalar,
        b: Scalar,
    ) -> Result<Scalar, Fault> {
        self.computed_from(at, [a, b], op.apply(a, b))
    }

    /// Returns the tensor of an address and the number of its fixed indices. No index is evaluated, because shapes and
    /// types belong to tensors, not to elements.
    pub(super) fn declared(&self, mut at: At) -> Result<(&Tensor, usize), Fault> {
        let mut depth = 0;
        loop {
            let op = &self.program.ops[at];
            at = match op.does {
                Does::Root(place, _) => {
                    return Ok((&self.tensors[self.tensor_at(place)? as usize], depth));
                }
                Does::Form(Form::View { address, view: view @ (View::At(_) | View::ReadOnly) }) => {
                    depth += usize::from(view.index().is_some());
                    address
                }
                Does::Form(Form::Replaced { x, .. }) => x,
                _ => return Err(self.wrong(at, "an address")),
            };
        }
    }

    /// Fills a written tensor, given without indices, with zeros.
    pub(super) fn clear(&mut self, at: At) -> Result<(), Fault> {
        let Does::Root(place, true) = self.program.ops[at].does else {
            return Err(self.wrong(at, "a tensor that is written, without indices"));
        };
        let tensor = self.tensor_at(place)?;
        for at in 0..self.tensors[tensor as usize].len() {
            self.record(tensor, at, true);
        }
        if let Some(beyond) = &mut self.beyond {
            beyond.clear(tensor);
        }
        let tensor = &mut self.tensors[tensor as usize];
        *tensor = Tensor::zeros(tensor.dtype, tensor.shape.clone());
        Ok(())
    }

    /// Returns the element type of an address or a tensor.
    pub(super) fn dtype(&self, at: At) -> Result<DType, Fault> {
        match self.is_tensor(at) {
            true => self.element_type(at),
            false => self.declared(at).map(|(tensor, _)| tensor.dtype),
        }
    }

    /// Returns an extent of the tensor of an address, counted from its first free dimension.
    pub(super) fn dimension(&mut self, of: At, k: At) -> Result<i64, Fault> {
        let k = self.index(k)?;
        let (tensor, depth) = self.declared(of)?;
        let extent = usize::try_from(k).ok().and_then(|k| tensor.shape.get(depth.checked_add(k)?));
        let extent = extent.and_then(|n| i64::try_from(*n).ok());
        extent.ok_or_else(|| {
            Error::Sort { expected: "a dimension of the tensor", found: k.to_string() }.into()
        })
    }

    /// Returns an element of a tensor as an index.
    pub(super) fn integer(&self, x: Scalar) -> Result<i64, Fault> {
        x.as_i64().ok_or_else(|| Error::types("an index".to_string(), &[x.dtype()]))
    }
}

/// Returns the place as a read-only one that may be read only after a barrier.
fn frozen(place: Place) -> Place {
    Place { writable: false, frozen: true, ..place }
}
