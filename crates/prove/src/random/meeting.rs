//! Instances whose terms touch the same tensor, each at a place next to the others': statements that write what another
//! one reads in an earlier iteration of a loop, or in a later one, so that it matters which of them a condition names
//! first.

use super::again::Used;
use super::anywhere::Anywhere;
use super::build::Build;
use super::grow::Type;
use super::types::Hole;
use super::world::tensor_name;
use egg::{Id, Var};
use ember_language::rules::Kind;
use ember_values::scalar::DType;

impl Build<'_, '_, '_, Anywhere<'_>> {
    /// Builds a term that touches the tensor where the terms of the instance meet; `None` if the instance is none of
    /// this kind, or if no such term fits.
    pub(super) fn meeting(&mut self, v: Var, hole: &Hole) -> Option<Id> {
        if !self.meets || hole.read_only || self.one_in(5) {
            return None;
        }
        let root = self.grow.make().root(&tensor_name(true, DType::I64, 1), true);
        let term = match hole.kind {
            Kind::Statement => self.meeting_statement(v, hole, root),
            Kind::Value if !hole.count && !hole.step => {
                self.as_integer(hole)?;
                let place = self.place_of(v, hole, root);
                self.grow.make().load(place)
            }
            Kind::Address if hole.rank == 0 && hole.role.is_none() => {
                self.as_integer(hole)?;
                let address = self.place_of(v, hole, root);
                let used = Used { ty: Type::INDEX, missing: 0, writable: true, address };
                self.grow.setting.used.push(used);
                address
            }
            _ => return None,
        };
        Some(self.wrapped(hole.sort, term))
    }

    /// Makes a variable of the pattern one of scalar integers; `None` if it is another.
    fn as_integer(&mut self, hole: &Hole) -> Option<()> {
        let dtype = self.types.dtypes.get(hole.dtype).is_none_or(|dtype| dtype == DType::I64);
        let lanes = self.types.lanes.get(hole.lanes).is_none_or(|lanes| lanes == 1);
        if !dtype || !lanes {
            return None;
        }
        self.types.dtypes.set(hole.dtype, DType::I64)?;
        self.types.lanes.set(hole.lanes, 1)
    }

    /// Builds a statement that writes the tensor, one that reads it and writes where nothing else does, or one that does
    /// not touch it.
    fn meeting_statement(&mut self, v: Var, hole: &Hole, root: Id) -> Id {
        let (reads, writes) = self.grow.pick(
            &[
                (false, true),
                (false, true),
                (true, false),
                (true, false),
                (true, true),
                (false, false),
            ],
            (true, true),
        );
        let value = if reads {
            let from = self.place_of(v, hole, root);
            self.grow.make().load(from)
        } else {
            let n = self.grow.rng.i64(1..5);
            self.grow.terms.int(n)
        };
        let to = if writes {
            self.place_of(v, hole, root)
        } else {
            let apart = self.grow.make().root(&tensor_name(true, DType::I64, 2), true);
            let row = self.grow.terms.int(0);
            let row = self.grow.make().at(apart, &[row]);
            let at = match self.around(v, hole) {
                Some(variable) => self.grow.make().iv(variable),
                None => self.grow.terms.int(0),
            };
            self.grow.make().at(row, &[at])
        };
        self.grow.make().write(None, to, value)
    }

    /// Returns the variable whose iterations a term is compared across, or another one around it.
    fn around(&mut self, v: Var, hole: &Hole) -> Option<Id> {
        let own = self.said.own_places(v).filter(|own| hole.binders.contains(own));
        let own = own.or_else(|| self.grow.rng.choice(&hole.binders).copied())?;
        self.holes.get(&own).copied()
    }

    /// Builds the address of an element: mostly the one of this iteration or one next to it.
    fn place_of(&mut self, v: Var, hole: &Hole, root: Id) -> Id {
        let variable = self.around(v, hole).filter(|_| !self.grow.one_in(6));
        let index = match variable {
            Some(variable) => {
                let value = self.grow.make().iv(variable);
                match self.grow.pick(&[0, 0, 1, 1, -1], 0) {
                    0 => value,
                    n => {
                        let n = self.grow.terms.int(n);
                        self.grow.make().sum(value, n)
                    }
                }
            }
            None => {
                let n = self.grow.pick(&[0, 0, 1, 2], 0);
                self.grow.terms.int(n)
            }
        };
        self.grow.make().at(root, &[index])
    }
}
