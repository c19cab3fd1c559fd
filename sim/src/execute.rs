//! The execute unit: interprets instructions and schedules their micro-operations.

mod matrix;
mod transfer;

use crate::code::{ExecuteCode, Inst, Reg};
use crate::core::{Port, Ready};
use crate::data::{raw, scalar};
use crate::error::SimError;
use crate::fetch::apply;
use crate::scheduler::{BURST, Sim, Status, Wait};
use crate::timeline::Stall;
use ember_targets::dlc::Type;
use ember_values::scalar::{BinaryOp, DType, Latency, ScalarPrice, UseF32, fold_lanes};
use matrix::Multiplication;
use std::cell::Cell;

/// The state of the execute unit.
#[derive(Debug)]
pub(crate) struct Execution {
    inst: usize,
    /// True if it has ended its case and takes a token next.
    idle: bool,
    /// The case it runs; `None` in `main`.
    pub(crate) case: Option<usize>,
    /// The lanes of all registers.
    lanes: Vec<u64>,
    /// The ready time of each piece of each register.
    ready: Vec<Ready>,
    /// For each loop, its previous trip count, and the current count so far.
    trips: Vec<(u64, u64)>,
    /// Scratch space for lanes that are being folded.
    folded: Vec<u64>,
    /// A product in progress.
    product: Option<Box<Multiplication>>,
    /// The line of the data queue that was read last.
    queue_line: u64,
    /// The cycle in which all popped operands have been read.
    popped: u64,
    /// The cycles of each instruction, if the run is recorded.
    pub(crate) spent: Option<Vec<u64>>,
}

impl Execution {
    pub(crate) fn new(code: &ExecuteCode, recorded: bool) -> Execution {
        Execution {
            inst: 0,
            idle: false,
            case: None,
            lanes: code.init.clone(),
            ready: vec![Ready::default(); code.pieces],
            trips: vec![(u64::MAX, 0); code.loops],
            folded: Vec::new(),
            product: None,
            queue_line: u64::MAX,
            popped: 0,
            spent: recorded.then(|| vec![0; code.insts.len()]),
        }
    }

    fn index(&self, reg: &Reg) -> i64 {
        self.lanes[reg.slot] as i64
    }

    /// Returns the time when all of a register is ready.
    #[inline]
    fn all(&self, reg: &Reg) -> Ready {
        if reg.pieces == 1 {
            return self.ready[reg.piece];
        }
        let pieces = &self.ready[reg.piece..reg.piece + reg.pieces];
        pieces.iter().copied().fold(Ready::default(), Ready::max)
    }

    /// Returns the time when the part of a register is ready that piece `p` of a result with `pieces` pieces needs.
    #[inline]
    fn part(&self, reg: &Reg, p: usize, pieces: usize) -> Ready {
        if reg.pieces == pieces { self.ready[reg.piece + p] } else { self.all(reg) }
    }
}

impl Sim<'_> {
    /// Runs the execute unit until it waits or its clock passes the horizon.
    pub(crate) fn execute(&mut self) -> Result<(), SimError> {
        let me = self.execute_id();
        for _ in 0..BURST {
            if self.core.clock > self.horizon {
                break;
            }
            let goes_on = match self.execution.spent {
                None => self.go_on()?,
                Some(_) => self.go_on_recorded()?,
            };
            if !goes_on {
                break;
            }
        }
        self.clocks[me] = self.core.clock;
        Ok(())
    }

    /// Takes a token or runs one instruction. Returns false if it must wait.
    #[inline(always)]
    fn go_on(&mut self) -> Result<bool, SimError> {
        if self.execution.idle { Ok(self.dispatch()) } else { self.instruction() }
    }

    /// [`Sim::go_on`], with its cycles counted for its instruction.
    #[inline(never)]
    fn go_on_recorded(&mut self) -> Result<bool, SimError> {
        let (inst, before) = (self.execution.inst, self.core.retired.cycle());
        let goes_on = self.go_on()?;
        if let Some(spent) = &mut self.execution.spent {
            spent[inst] += self.core.retired.cycle() - before;
        }
        Ok(goes_on)
    }

    /// Takes a token. Returns false if there is none.
    #[inline(always)]
    fn dispatch(&mut self) -> bool {
        let me = self.execute_id();
        let Some((case, visible)) = self.control.pop() else {
            if self.status[self.marshaller_id()] == Status::Done {
                self.status[me] = Status::Done;
            } else {
                self.wait(me, Wait::Token);
                self.wake(Wait::Ahead, self.core.clock);
                self.wake(Wait::Barrier, self.core.retired.cycle());
            }
            return false;
        };
        self.core.wait(visible, Some(Stall::Empty));
        // A callback frees the queue slots of its operands after reading them, by a store-release of the queue's head;
        // the next token is read by a load-acquire, which may not pass it. The next callback therefore cannot hide the
        // time that this one waits for its operands.
        self.core.wait(self.execution.popped, Some(Stall::Memory));
        self.wake(Wait::TokenRoom, self.core.clock);
        self.took();
        let cost = self.core_figures.dispatch_cycles;
        self.core.wait(self.core.clock + cost, Some(Stall::Dispatch));
        self.execution.idle = false;
        self.execution.case = Some(case);
        self.execution.inst = self.code.cases[case];
        true
    }

    /// Runs one instruction. Returns false if it must wait.
    #[inline(always)]
    fn instruction(&mut self) -> Result<bool, SimError> {
        let code = self.code;
        let mut next = self.execution.inst + 1;
        match &code.insts[self.execution.inst] {
            Inst::Binary { op, dst, a, b, port, latency } => {
                binary(*op, a.ty.dtype, &mut self.execution.lanes, dst, a, b);
                self.computed(a, dst.ty.lanes);
                if op.price() == ScalarPrice::Exponential {
                    for p in 0..a.pieces {
                        self.occupy(*port, self.execution.ready[a.piece + p]);
                    }
                }
                self.operate(*port, *latency, dst, &[a, b]);
            }
            Inst::Select { dst, c, a, b, port } => {
                let lanes = &mut self.execution.lanes;
                for i in 0..dst.lanes {
                    let from = if lanes[c.slot + i] != 0 { a } else { b };
                    lanes[dst.slot + i] = lanes[from.slot + i];
                }
                let latency = self.simple_latency(*port);
                self.operate(*port, latency, dst, &[c, a, b]);
            }
            Inst::Cast { dst, src, port } => {
                let value = |x| raw(scalar(src.ty.dtype, x).cast(dst.ty.dtype));
                map(&mut self.execution.lanes, dst, src, value);
                let latency = match port {
                    Port::Int => self.core_figures.int_latency,
                    _ => self.core_figures.convert_latency,
                };
                let (mut from, both) = (&[src][..], [src, dst]);
                for _ in 0..repacks(src.ty).max(repacks(dst.ty)) {
                    self.operate(*port, self.core_figures.permute_latency, dst, from);
                    from = &both;
                }
                self.operate(*port, latency, dst, from);
            }
            Inst::Unary { op, dst, src } => {
                let value = |x| op.apply(scalar(src.ty.dtype, x)).map_or(0, raw);
                map(&mut self.execution.lanes, dst, src, value);
                self.computed(src, dst.ty.lanes);
                let figures = self.core_figures;
                let latencies = op.latency().iter().map(|latency| match latency {
                    Latency::Exponential => figures.exp_latency,
                    Latency::Root => figures.sqrt_latency,
                    Latency::Quotient => figures.float_div_latency,
                    Latency::Product => figures.float_mul_latency,
                    Latency::Sum => figures.float_add_latency,
                });
                let latency = latencies.sum();
                for p in 0..dst.pieces {
                    let ready = self.execution.ready[src.piece + p];
                    if op.price() == ScalarPrice::Exponential {
                        self.occupy(Port::Vector, ready);
                    }
                    let done = self.core.operate(Port::Vector, ready, latency);
                    self.execution.ready[dst.piece + p] = done;
                }
            }
            Inst::Fold { op, dst, src, port, latency } => {
                self.fold(*op, dst, src, *port, *latency);
                self.computed(src, src.ty.lanes.saturating_sub(1));
            }
            Inst::Broadcast { dst, src } => {
                let value = self.execution.lanes[src.slot];
                self.execution.lanes[dst.slot..dst.slot + dst.lanes].fill(value);
                // One register serves all pieces.
                let ready = self.execution.all(src);
                let latency = self.core_figures.permute_latency;
                let done = self.core.operate(Port::Vector, ready, latency);
                self.set_ready(dst, done);
            }
            Inst::Iota { dst, src } => {
                let base = self.execution.index(src);
                for i in 0..dst.lanes {
                    self.execution.lanes[dst.slot + i] = base.wrapping_add(i as i64) as u64;
                }
                let latency = self.core_figures.permute_latency;
                self.operate(Port::Vector, latency, dst, &[src]);
            }
            Inst::Copy { dst, src, free } => {
                let from = src.slot..src.slot + src.lanes;
                self.execution.lanes.copy_within(from, dst.slot);
                if *free {
                    let ready = self.execution.all(src);
                    self.set_ready(dst, ready);
                } else {
                    let port = if dst.ty.lanes > 1 { Port::Vector } else { Port::Int };
                    let latency = self.simple_latency(port);
                    self.operate(port, latency, dst, &[src]);
                }
            }
            Inst::Load { dst, addr } => {
                let at = self.reach(addr)?;
                self.load(dst, addr, &at);
            }
            Inst::Touch { addr } => self.touch(addr),
            Inst::Store { src, addr } => {
                let at = self.reach(addr)?;
                self.store(src, addr, &at);
            }
            Inst::Accumulate { op, src, old, addr, port, latency } => {
                let at = self.reach(addr)?;
                self.load(old, addr, &at);
                binary(*op, src.ty.dtype, &mut self.execution.lanes, old, old, src);
                self.computed(src, src.ty.lanes);
                self.operate(*port, *latency, old, &[old, src]);
                self.store(old, addr, &at);
            }
            Inst::Multiply(product) => {
                if !self.multiply(product)? {
                    return Ok(true);
                }
            }
            Inst::Pop { dst } => {
                if !self.pop(dst)? {
                    return Ok(false);
                }
            }
            Inst::Begin { var, lo, hi, exit, id } => {
                let (first, bound) = (self.execution.index(lo), self.execution.index(hi));
                let ready = self.execution.all(lo).max(self.execution.all(hi));
                let known = self.core.operate(Port::Int, ready, self.core_figures.int_latency);
                self.execution.lanes[var.slot] = first as u64;
                self.execution.ready[var.piece] = self.execution.all(lo);
                self.execution.trips[*id].1 = 0;
                if first >= bound {
                    self.leave_loop(*id, known);
                    next = *exit;
                }
            }
            Inst::Next { var, hi, step, body, id } => {
                let bound = self.execution.index(hi);
                let index = self.execution.index(var).checked_add(*step);
                let latency = self.core_figures.int_latency;
                let ready = self.execution.ready[var.piece];
                let advanced = self.core.operate(Port::Int, ready, latency);
                self.execution.ready[var.piece] = advanced;
                let ready = advanced.max(self.execution.all(hi));
                let known = self.core.operate(Port::Int, ready, latency);
                self.execution.trips[*id].1 += 1;
                self.execution.lanes[var.slot] = index.unwrap_or(bound) as u64;
                match index {
                    Some(i) if i < bound => next = *body,
                    _ => self.leave_loop(*id, known),
                }
            }
            Inst::Done => {
                self.execution.idle = true;
                self.execution.case = None;
                return Ok(true);
            }
        }
        self.execution.inst = next;
        Ok(true)
    }

    /// Counts the operations of so many lanes on an operand, if they are floating-point.
    #[inline(always)]
    fn computed(&mut self, operand: &Reg, lanes: u32) {
        if operand.ty.dtype.is_float() {
            self.memory.counters.flops += u64::from(lanes);
        }
    }

    fn simple_latency(&self, port: Port) -> u64 {
        match port {
            Port::Int => self.core_figures.int_latency,
            _ => self.core_figures.float_add_latency,
        }
    }

    fn set_ready(&mut self, reg: &Reg, ready: Ready) {
        self.execution.ready[reg.piece..reg.piece + reg.pieces].fill(ready);
    }

    /// Ends a loop, whose bound was compared by a cycle. A trip count equal to the previous one was predicted; any other
    /// was mispredicted, and the front end starts again once the comparison is known.
    fn leave_loop(&mut self, id: usize, known: Ready) {
        let (last, now) = self.execution.trips[id];
        if last != now {
            let until = known.cycle().max(self.core.clock) + self.core_figures.mispredict_cycles;
            self.core.wait(until, Some(Stall::Dispatch));
        }
        self.execution.trips[id].0 = now;
    }

    /// Folds lanes to one: first whole registers, then the halves of the remaining one, each after a permutation that
    /// aligns it with the other half.
    fn fold(&mut self, op: BinaryOp, dst: &Reg, src: &Reg, port: Port, latency: u64) {
        let dtype = src.ty.dtype;
        let folded = &mut self.execution.folded;
        folded.clear();
        folded.extend_from_slice(&self.execution.lanes[src.slot..][..src.lanes]);
        let value = fold_lanes(folded, |a, b| apply(op, dtype, a, b)).unwrap_or(0);
        self.execution.lanes[dst.slot] = value;
        let mut ready = self.execution.ready[src.piece..src.piece + src.pieces].to_vec();
        let core = &mut self.core;
        let whole = fold_lanes(&mut ready, |a, b| core.operate(port, a.max(b), latency));
        let mut ready = whole.unwrap_or_default();
        let lanes = u64::from(src.ty.lanes).min(dtype.elements_in(self.core_figures.simd_bytes));
        for _ in 0..lanes.next_power_of_two().trailing_zeros() {
            let moved = self.core.operate(port, ready, self.core_figures.permute_latency);
            ready = self.core.operate(port, moved, latency);
        }
        self.execution.ready[dst.piece] = ready;
    }

    /// Occupies a port with the operations of an exponential function that precede the one that yields the result.
    fn occupy(&mut self, port: Port, ready: Ready) {
        for _ in 1..self.core_figures.exp_uops {
            self.core.operate(port, ready, 1);
        }
    }

    /// Issues one micro-operation for every piece of the result or of the widest operand.
    #[inline(always)]
    fn operate(&mut self, port: Port, latency: u64, dst: &Reg, from: &[&Reg]) {
        let pieces = from.iter().map(|r| r.pieces).fold(dst.pieces, usize::max);
        if pieces == 1 {
            let needs = from.iter().map(|r| self.execution.ready[r.piece]);
            let ready = needs.fold(Ready::default(), Ready::max);
            self.execution.ready[dst.piece] = self.core.operate(port, ready, latency);
            return;
        }
        let mut done = Ready::default();
        for p in 0..pieces {
            let needs = from.iter().map(|r| self.execution.part(r, p, pieces));
            let ready = needs.fold(Ready::default(), Ready::max);
            let result = self.core.operate(port, ready, latency);
            done = done.max(result);
            if dst.pieces == pieces {
                self.execution.ready[dst.piece + p] = result;
            }
        }
        if dst.pieces != pieces {
            self.set_ready(dst, done);
        }
    }
}

/// Returns the operations that unpack lanes to wider ones before a conversion, or pack them after it, for each register
/// of the wider type. A single narrow lane is loaded as a whole register; half a byte must be extracted from its byte.
fn repacks(ty: Type) -> u32 {
    u32::from(ty.lanes > 1 && ty.dtype.is_storage()) + u32::from(ty.dtype == DType::U4)
}

/// Returns the lanes of a register. Several registers can be looked at together, and may be the same.
#[inline(always)]
fn of<'a>(lanes: &'a [Cell<u64>], reg: &Reg) -> &'a [Cell<u64>] {
    &lanes[reg.slot..reg.slot + reg.lanes]
}

/// Sets each lane of a register to a function of the lane of another.
#[inline(always)]
fn map(lanes: &mut [u64], dst: &Reg, a: &Reg, f: impl Fn(u64) -> u64) {
    let lanes = Cell::from_mut(lanes).as_slice_of_cells();
    for (to, x) in of(lanes, dst).iter().zip(of(lanes, a)) {
        to.set(f(x.get()));
    }
}

/// Sets each lane of a register to a function of the lanes of two others, in order.
#[inline(always)]
fn zip(lanes: &mut [u64], dst: &Reg, a: &Reg, b: &Reg, f: impl Fn(u64, u64) -> u64) {
    let lanes = Cell::from_mut(lanes).as_slice_of_cells();
    for ((to, x), y) in of(lanes, dst).iter().zip(of(lanes, a)).zip(of(lanes, b)) {
        to.set(f(x.get(), y.get()));
    }
}

/// [`zip`] of binary32 values.
struct Zip<'a> {
    lanes: &'a mut [u64],
    dst: &'a Reg,
    a: &'a Reg,
    b: &'a Reg,
}

impl UseF32 for Zip<'_> {
    #[inline(always)]
    fn with(self, op: impl Fn(f32, f32) -> f32) {
        let f32 = |x: u64| f32::from_bits(x as u32);
        zip(self.lanes, self.dst, self.a, self.b, |x, y| u64::from(op(f32(x), f32(y)).to_bits()));
    }
}

/// Applies an operation lane by lane.
#[inline(always)]
fn binary(op: BinaryOp, dtype: DType, lanes: &mut [u64], dst: &Reg, a: &Reg, b: &Reg) {
    match dtype {
        DType::F32 if !op.compares() => op.with_f32(Zip { lanes, dst, a, b }),
        _ => zip(lanes, dst, a, b, |x, y| apply(op, dtype, x, y)),
    }
}
