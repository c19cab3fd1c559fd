//! Addresses of the execute unit: chains of indices over a tensor. The last index may be a run of lanes, and any index
//! may be one value in every lane.

use super::DecoupleError;
use super::builder::Lowering;
use super::values::{Typed, broadcast};
use egg::Id;
use ember_language::rules::Unit;
use ember_targets::dlc::{Addr, Expr, Lanes, TensorId, Type};
use ember_values::primitive::form::{Form, Operation, View};
use ember_values::scalar::{BinaryOp, DType, Linear};

/// One index of an address.
struct Index {
    base: Typed,
    /// The number of lanes of a run, and the limit of the active lanes.
    run: Option<(u32, Typed)>,
    /// The number of lanes that share this index.
    spread: Option<u32>,
}

impl Lowering<'_> {
    /// Returns the tensor that an address starts from, and its indices, first dimension first.
    pub(super) fn address_parts(&self, id: Id) -> Result<(TensorId, Vec<Id>), DecoupleError> {
        let mut indices = Vec::new();
        let mut at = id;
        loop {
            match self.terms.form(at) {
                // A written tensor becomes read-only at a barrier, but its location does not change.
                Some(Form::View { address, view: view @ (View::At(_) | View::ReadOnly) }) => {
                    indices.extend(view.index());
                    at = address;
                }
                Some(Form::Carried { x: address, to: None }) if !self.terms.is_boundary(at) => {
                    at = address
                }
                Some(Form::Root { name, .. }) => {
                    indices.reverse();
                    return Ok((self.tensor(name)?, indices));
                }
                _ => return Err(self.terms.unexpected(at, "an address")),
            }
        }
    }

    /// Finds a tensor by its name.
    fn tensor(&self, id: Id) -> Result<TensorId, DecoupleError> {
        let known = self
            .terms
            .name(id)
            .strip_prefix('%')
            .and_then(|name| self.context.tensors.iter().position(|t| t.name == name));
        known
            .map(|at| TensorId(at as u32))
            .ok_or_else(|| self.terms.error(id, "the model has no such tensor"))
    }

    /// Returns the element type of the tensor of an address.
    pub(super) fn tensor_dtype(&self, address: Id) -> Result<DType, DecoupleError> {
        let (tensor, _) = self.address_parts(address)?;
        Ok(self.program.tensors[tensor.index()].dtype)
    }

    /// Returns the tensor and indices of a complete address.
    pub(super) fn full_address(&self, id: Id) -> Result<(TensorId, Vec<Id>), DecoupleError> {
        let (tensor, indices) = self.address_parts(id)?;
        let decl = &self.program.tensors[tensor.index()];
        if indices.len() != decl.shape.len() {
            let counts = format!(
                "`{}` has {} dimensions, and {} indices are given",
                decl.name,
                decl.shape.len(),
                indices.len()
            );
            return Err(self.terms.error(id, counts));
        }
        Ok((tensor, indices))
    }

    /// Lowers a load of the execute unit.
    pub(super) fn load(&mut self, id: Id) -> Result<Typed, DecoupleError> {
        let (addr, ty, spread) = self.address(id)?;
        let value = Typed::leaf(Expr::Load(Box::new(addr)), ty);
        Ok(match spread {
            Some(lanes) => broadcast(lanes, value),
            None => value,
        })
    }

    /// Lowers the address of a store; an error if all lanes have the same address.
    pub(super) fn target(&mut self, id: Id) -> Result<(Addr<Expr>, Type), DecoupleError> {
        match self.address(id)? {
            (addr, ty, None) => Ok((addr, ty)),
            _ => Err(self.terms.error(id, "writes one element from several lanes")),
        }
    }

    /// Lowers an address, and returns it with the type of its element and the number of lanes that share the address.
    fn address(&mut self, id: Id) -> Result<(Addr<Expr>, Type, Option<u32>), DecoupleError> {
        let (tensor, indices) = self.full_address(id)?;
        let dtype = self.program.tensors[tensor.index()].dtype;
        let mut index = Vec::with_capacity(indices.len());
        let mut lanes = None;
        let mut spread = None;
        let last = indices.len().saturating_sub(1);
        for (at, &i) in indices.iter().enumerate() {
            let one = self.index(i)?;
            if let Some((count, limit)) = one.run {
                if at != last {
                    let message = "gives each lane another row; lanes are contiguous elements";
                    return Err(self.terms.error(i, message));
                }
                lanes = Some(Lanes { count, limit: limit.expr });
            }
            spread = spread.or(one.spread);
            index.push(one.base.expr);
        }
        let count = lanes.as_ref().map_or(1, |l| l.count);
        if lanes.is_some() && spread.is_some_and(|n| n != count) {
            return Err(self.terms.error(id, "its indices have different numbers of lanes"));
        }
        let spread = if lanes.is_some() { None } else { spread };
        Ok((Addr { tensor, index, lanes, rows: None }, Type { dtype, lanes: count }, spread))
    }

    fn index(&mut self, id: Id) -> Result<Index, DecoupleError> {
        self.deeper(id, |l| l.index_here(id))
    }

    fn index_here(&mut self, id: Id) -> Result<Index, DecoupleError> {
        let scalar = |base| Index { base, run: None, spread: None };
        if let Some(index) = self.popped_lanes(id)? {
            return Ok(index);
        }
        match self.terms.on(id, self.runs_on) {
            Some(Form::Spread { lanes, x, below }) => {
                let count = self.lanes(lanes)?;
                let (run, spread) = match below {
                    Some(hi) => (Some((count, self.index_value(hi)?)), None),
                    None => (None, Some(count)),
                };
                Ok(Index { base: self.index_value(x)?, run, spread })
            }
            Some(Form::Binary(Operation::Is(op), [a, b])) if is_shift(op) => {
                if !self.is_lanewise(a) && !self.is_lanewise(b) {
                    return Ok(scalar(self.index_value(id)?));
                }
                let (a, b) = (self.index(a)?, self.index(b)?);
                self.shifted(id, op, a, b)
            }
            _ => Ok(scalar(self.index_value(id)?)),
        }
    }

    /// Lowers a run that the execute unit pops, whose base and limit are streams.
    fn popped_lanes(&mut self, id: Id) -> Result<Option<Index>, DecoupleError> {
        let popped = self.terms.carried(id, Some(Unit::Execute), Some(Unit::Access));
        let run = popped.and_then(|stream| self.terms.run(stream));
        let Some([n, hi, x]) = run else { return Ok(None) };
        let count = self.lanes(n)?;
        let (hi, x) = (self.index_stream(hi)?, self.index_stream(x)?);
        let (limit, base) = (self.stream_value(hi), self.stream_value(x));
        Ok(Some(Index { base, run: Some((count, limit)), spread: None }))
    }

    /// Shifts a run, or a value in every lane, by a value that is the same in every lane.
    fn shifted(&self, id: Id, op: BinaryOp, a: Index, b: Index) -> Result<Index, DecoupleError> {
        let (a, b) =
            if op.linear() == Some(Linear::Sum) && b.run.is_some() { (b, a) } else { (a, b) };
        let count = |i: &Index| i.run.as_ref().map(|r| r.0).or(i.spread);
        if b.run.is_some() || count(&a) != count(&b) {
            return Err(self.terms.error(id, "these lanes are not contiguous elements"));
        }
        let shift = b.base;
        let run = match a.run {
            Some((n, limit)) => Some((n, self.binary(id, op, limit, shift.clone())?)),
            None => None,
        };
        Ok(Index { base: self.binary(id, op, a.base, shift)?, run, spread: a.spread })
    }

    /// Returns true if an index is given lane by lane.
    fn is_lanewise(&self, id: Id) -> bool {
        let mut rest = vec![id];
        while let Some(id) = rest.pop() {
            match self.terms.on(id, self.runs_on) {
                Some(Form::Spread { .. }) => return true,
                Some(Form::Binary(Operation::Is(op), operands)) if is_shift(op) => {
                    rest.extend(operands);
                }
                _ => {}
            }
        }
        false
    }
}

/// Returns true if an operation moves a run of indices by an index.
fn is_shift(op: BinaryOp) -> bool {
    matches!(op.linear(), Some(Linear::Sum | Linear::Difference))
}
