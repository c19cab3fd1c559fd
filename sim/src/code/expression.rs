//! Compiles the execute unit's expressions and addresses.

use super::execute::{Compiler, Inst, Place, Reg};
use super::{Address, address, check_index, check_lanes};
use crate::core::Port;
use crate::error::SimError;
use ember_targets::dlc::{Addr, Expr, Lanes, Type};
use ember_values::scalar::{BinaryOp, DType, Latency, Scalar};

impl Compiler<'_> {
    /// Evaluates an expression into `into`, or into any register, and returns the register.
    pub(super) fn expr(&mut self, expr: &Expr, into: Option<Reg>) -> Result<Reg, SimError> {
        self.deeper()?;
        let reg = self.expr_inner(expr, into)?;
        self.depth -= 1;
        Ok(reg)
    }

    fn expr_inner(&mut self, expr: &Expr, into: Option<Reg>) -> Result<Reg, SimError> {
        let src = match expr {
            Expr::Register(r) => self.register(*r)?,
            Expr::Const(value) => self.constant(*value, 1)?,
            Expr::Size(size) => {
                let size = self.context.size(*size)?;
                self.constant(Scalar::I64(size), 1)?
            }
            Expr::Broadcast(n, x) if fixed(x) => {
                check_lanes(*n, &self.place)?;
                let value = match **x {
                    Expr::Size(size) => Scalar::I64(self.context.size(size)?),
                    Expr::Const(value) => value,
                    _ => return Err(self.invalid("broadcasts something unknown")),
                };
                self.constant(value, *n)?
            }
            Expr::Load(addr) => {
                let (addr, ty) = self.addr(addr, false)?;
                return self.emit(into, ty, |dst| Inst::Load { dst, addr });
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.expr(a, None)?, self.expr(b, None)?);
                let ty = a.ty;
                self.same(ty, b.ty, "operates on two types")?;
                self.computes(ty)?;
                let (port, latency) = self.binary(*op, ty);
                let result = Type { dtype: op.result(ty.dtype), lanes: ty.lanes };
                self.code.mixes |= ty.dtype.is_float() && !result.dtype.is_float();
                let op = *op;
                return self.emit(into, result, |dst| Inst::Binary {
                    op,
                    dst,
                    a,
                    b,
                    port,
                    latency,
                });
            }
            Expr::Unary(op, x) => {
                let src = self.expr(x, None)?;
                let (op, ty) = (*op, src.ty);
                self.same(op.takes(ty.dtype), true, "takes a function of a type without it")?;
                return self.emit(into, ty, |dst| Inst::Unary { op, dst, src });
            }
            Expr::Fold(op, x) => {
                let src = self.expr(x, None)?;
                let (op, ty) = (*op, src.ty);
                self.same(op.folds(), true, "folds lanes by an operation whose order matters")?;
                self.computes(ty)?;
                let (port, latency) = self.binary(op, ty);
                let scalar = Type::scalar(ty.dtype);
                return self.emit(into, scalar, |dst| Inst::Fold { op, dst, src, port, latency });
            }
            Expr::Select(c, a, b) => {
                let c = self.expr(c, None)?;
                let (a, b) = (self.expr(a, None)?, self.expr(b, None)?);
                let ty = a.ty;
                self.same(ty, b.ty, "selects between two types")?;
                let mask = Type { dtype: DType::I64, lanes: ty.lanes };
                self.same(c.ty, mask, "selects by something that is no mask")?;
                let port = port(ty);
                return self.emit(into, ty, |dst| Inst::Select { dst, c, a, b, port });
            }
            Expr::Cast(dtype, x) => {
                let src = self.expr(x, None)?;
                let ty = Type { dtype: *dtype, lanes: src.ty.lanes };
                self.code.mixes |= src.ty.dtype.is_float() && !dtype.is_float();
                let scalar_int = ty.lanes == 1 && !dtype.is_float() && !src.ty.dtype.is_float();
                let port = if scalar_int { Port::Int } else { Port::Vector };
                return self.emit(into, ty, |dst| Inst::Cast { dst, src, port });
            }
            Expr::Broadcast(n, x) => {
                check_lanes(*n, &self.place)?;
                let src = self.expr(x, None)?;
                let ty = Type { dtype: src.ty.dtype, lanes: *n };
                self.same(src.ty.lanes, 1, "broadcasts lanes")?;
                return self.emit(into, ty, |dst| Inst::Broadcast { dst, src });
            }
            Expr::Iota(n, x) => {
                check_lanes(*n, &self.place)?;
                let src = self.expr(x, None)?;
                self.same(src.ty, Type::scalar(DType::I64), "counts lanes from no i64")?;
                let ty = Type { dtype: DType::I64, lanes: *n };
                return self.emit(into, ty, |dst| Inst::Iota { dst, src });
            }
        };
        // The value already has a register.
        match into {
            None => Ok(src),
            Some(dst) => {
                self.same(src.ty, dst.ty, "sets a register to another type")?;
                self.code.insts.push(Inst::Copy { dst, src, free: false });
                Ok(dst)
            }
        }
    }

    fn emit(
        &mut self,
        into: Option<Reg>,
        ty: Type,
        inst: impl FnOnce(Reg) -> Inst,
    ) -> Result<Reg, SimError> {
        let dst = match into {
            Some(dst) => {
                self.same(ty, dst.ty, "sets a register to another type")?;
                dst
            }
            None => self.reg(ty)?,
        };
        self.code.insts.push(inst(dst));
        Ok(dst)
    }

    pub(super) fn addr(
        &mut self,
        addr: &Addr<Expr>,
        written: bool,
    ) -> Result<(Address<Place>, Type), SimError> {
        let place = self.place.clone();
        let ty = self.context.addressed(addr, &place)?;
        if written {
            self.context.writable(addr.tensor, &place)?;
        }
        let mut index = Vec::new();
        let limit = addr.lanes.as_ref().map(|l| &l.limit);
        for e in addr.index.iter().chain(limit) {
            let r = self.expr(e, None)?;
            check_index(r.ty, &place)?;
            index.push(Place { slot: r.slot, piece: r.piece });
        }
        let own = || addr.index.first().is_some_and(|index| self.own(index));
        let from = self.context.from(addr.tensor, own);
        let from = (from, self.context.column(addr.tensor));
        Ok((address(addr, &place, from, self.address_uops(addr), index), ty))
    }

    /// Returns true if an expression counts the rows that the program runs on.
    pub(super) fn own(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Register(register) if self.rows.contains(register))
    }

    /// Returns the number of micro-operations that compute an address: one multiply-add for every leading index if any
    /// of them changes in the innermost loop (the last is an addressing mode), and one for the mask of a run if it
    /// changes.
    fn address_uops(&self, addr: &Addr<Expr>) -> u32 {
        let (leading, last) = match addr.index.split_last() {
            Some((last, leading)) => (leading, Some(last)),
            None => (&[][..], None),
        };
        let rows = if leading.iter().any(|e| self.varies(e)) { leading.len() as u32 } else { 0 };
        let masked =
            |l: &Lanes<Expr>| self.varies(&l.limit) || last.is_some_and(|e| self.varies(e));
        rows + u32::from(addr.lanes.as_ref().is_some_and(masked))
    }

    fn varies(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Register(r) => self.varying.as_ref().is_none_or(|v| v.contains(r)),
            Expr::Const(_) | Expr::Size(_) => false,
            Expr::Load(_) => true,
            Expr::Binary(_, a, b) => self.varies(a) || self.varies(b),
            Expr::Select(c, a, b) => self.varies(c) || self.varies(a) || self.varies(b),
            Expr::Unary(_, x)
            | Expr::Fold(_, x)
            | Expr::Cast(_, x)
            | Expr::Broadcast(_, x)
            | Expr::Iota(_, x) => self.varies(x),
        }
    }

    /// Checks that a type supports arithmetic.
    pub(super) fn computes(&self, ty: Type) -> Result<(), SimError> {
        self.same(ty.dtype.is_storage(), false, "computes with a type that is only stored")
    }

    pub(super) fn binary(&self, op: BinaryOp, ty: Type) -> (Port, u64) {
        let core = self.core;
        let port = port(ty);
        let vector = port == Port::Vector;
        let latency = match (op.latency(), vector) {
            (Latency::Exponential, _) => core.exp_latency,
            (Latency::Root, _) => core.sqrt_latency,
            (Latency::Product, true) => core.float_mul_latency,
            (Latency::Product, false) => core.int_mul_latency,
            (Latency::Quotient, true) => core.float_div_latency,
            (Latency::Quotient, false) => core.int_div_latency,
            (Latency::Sum, true) => core.float_add_latency,
            (Latency::Sum, false) => core.int_latency,
        };
        (port, latency)
    }
}

/// Returns the port of an operation on a type: floating-point scalars share the vector pipes.
fn port(ty: Type) -> Port {
    if ty.dtype.is_float() || ty.lanes > 1 { Port::Vector } else { Port::Int }
}

/// Returns true if an expression is known before the program runs.
fn fixed(expr: &Expr) -> bool {
    matches!(expr, Expr::Const(_) | Expr::Size(_))
}
