//! Addresses: the position of an element or vector in its tensor, and its active lanes.

use super::Error;
use super::expression::{Binding, Code, Writer};
use super::functions::Functions;
use super::vectors::Pieces;
use crate::dlc::{Addr, Expr, TensorId, Type};
use ember_values::scalar::{DType, Scalar};

impl Writer<'_> {
    /// Returns the code of a load.
    pub fn load(&mut self, addr: &Addr<Expr>) -> Result<Code, Error> {
        let dtype = self.program.tensors[addr.tensor.index()].dtype;
        let tensor = self.names.tensors[addr.tensor.index()].clone();
        let (at, active) = self.place(addr)?;
        let Some(lanes) = &addr.lanes else {
            if dtype == DType::U4 {
                let function = self.functions.plain("load_u4", Type::scalar(dtype));
                return Ok(Code::call(&function, &[&tensor, &at.text]));
            }
            return Ok(Code::atom(format!("{tensor}[{}]", at.text)));
        };
        let piece = self.piece(Type { dtype, lanes: lanes.count });
        if dtype == DType::U4 {
            let active = active.unwrap_or_else(|| piece.lanes.to_string());
            self.functions.plain("load_u4", Type::scalar(dtype));
            let function = self.functions.of_type("load_first_u4", piece);
            return Ok(Code::call(&function, &[&tensor, &at.text, &active]));
        }
        let place = format!("{tensor} + {}", at.within(Binding::Sum));
        Ok(match active {
            None => Code::call(&self.functions.of_type("load", piece), &[&place]),
            Some(active) => {
                Code::call(&self.functions.of_type("load_first", piece), &[&place, &active])
            }
        })
    }

    /// Returns the position of an element or vector in its tensor, and the number of active lanes unless all are.
    pub fn place(&mut self, addr: &Addr<Expr>) -> Result<(Code, Option<String>), Error> {
        let pieces = addr.lanes.as_ref().map(|lanes| self.pieces(lanes.count));
        let step = pieces.filter(|pieces| pieces.count > 1).map(|pieces| pieces.lanes);
        let active = self.active(addr)?;
        let mut at = self.position(addr.tensor, &addr.index, addr.lanes.is_some())?;
        if let Some(lanes) = step {
            let text = if at.text == "0" {
                format!("{lanes} * p")
            } else {
                format!("{} + {lanes} * p", at.within(Binding::Sum))
            };
            at = Code { text, binding: Binding::Sum };
        }
        Ok((at, active))
    }

    /// Returns the number of active lanes from the first lane of the current vector on, unless all are active.
    fn active(&mut self, addr: &Addr<Expr>) -> Result<Option<String>, Error> {
        let Some(lanes) = &addr.lanes else { return Ok(None) };
        let Pieces { lanes: own, count, padded } = self.pieces(lanes.count);
        let all = lanes.count.to_string();
        let active = if self.all_active(addr) {
            if !padded {
                return Ok(None);
            }
            all
        } else {
            let limit = self.value(&lanes.limit)?.within(Binding::Sum);
            let base = match addr.index.last() {
                Some(base) => self.value(base)?.within(Binding::Product),
                None => "0".to_owned(),
            };
            let rest = if base == "0" { limit } else { format!("{limit} - {base}") };
            let least =
                |functions: &mut Functions| functions.plain("least", Type::scalar(DType::I64));
            if padded { format!("{}({rest}, {all})", least(&mut self.functions)) } else { rest }
        };
        Ok(Some(if count > 1 { format!("{active} - {own} * p") } else { active }))
    }

    /// Returns the row-major position of the element at some indices.
    fn position(&mut self, tensor: TensorId, index: &[Expr], row: bool) -> Result<Code, Error> {
        let shape = &self.program.tensors[tensor.index()].shape;
        let mut at: Option<Code> = None;
        let mut folded = self.folded.contains(&tensor);
        for (index, extent) in index.iter().zip(shape) {
            let own = match std::mem::take(&mut folded) {
                true => Code::atom(self.place.as_deref().unwrap_or("0")),
                false if row => self.named(index)?,
                false => self.value(index)?,
            };
            let zero = own.text == "0";
            at = Some(match at.filter(|before| before.text != "0") {
                None => own,
                Some(before) => {
                    let extent = self.names.extent(extent);
                    let rows = format!("{} * {extent}", before.within(Binding::Product));
                    if zero {
                        Code { text: rows, binding: Binding::Product }
                    } else {
                        let text = format!("{rows} + {}", own.within(Binding::Product));
                        Code { text, binding: Binding::Sum }
                    }
                }
            });
        }
        Ok(at.unwrap_or_else(|| Code::atom("0")))
    }

    /// Returns an index, under a name of its own if it is loaded: it is the same for all vectors of a row.
    fn named(&mut self, index: &Expr) -> Result<Code, Error> {
        let mut loads = false;
        index.walk(&mut |part| loads |= matches!(part, Expr::Load(_)));
        if loads { self.ahead_of(index, "row") } else { self.value(index) }
    }

    /// Returns true if all lanes of a run are certainly active.
    fn all_active(&self, addr: &Addr<Expr>) -> bool {
        let Some(lanes) = &addr.lanes else { return true };
        let base = addr.index.last().and_then(|base| self.greatest(base));
        match (&lanes.limit, base) {
            (Expr::Const(Scalar::I64(limit)), Some(base)) => {
                base.checked_add(i64::from(lanes.count)).is_some_and(|end| end <= *limit)
            }
            _ => false,
        }
    }
}
