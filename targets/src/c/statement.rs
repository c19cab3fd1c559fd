//! Statements and loops.

use super::Error;
use super::declare::{Block, in_expr, registers};
use super::expression::Writer;
use super::fuse::touched;
use super::parts::LINE;
use super::shared::{Rows, rows};
use super::vectors::{Pieces, scalar};
use crate::dlc::{Addr, CacheLevel, Dim, Expr, Loop, RegisterId, Stmt, Type};
use ember_values::scalar::{BinaryOp, DType, Scalar};
use itertools::Itertools;
use std::collections::BTreeSet;

/// The rows that `matmul` multiplies at a time.
const ROWS: u32 = 6;

impl Writer<'_> {
    /// Writes the statements of the program.
    pub fn program(&mut self) -> Result<(), Error> {
        let program = self.program;
        self.body(&program.main, &mut Block::new())
    }

    fn body(&mut self, body: &[Stmt], block: &mut Block) -> Result<(), Error> {
        let mut open: BTreeSet<RegisterId> =
            self.declarations.of.get(block).into_iter().flatten().copied().collect();
        for (at, stmt) in body.iter().enumerate() {
            let mut used = BTreeSet::new();
            registers(stmt, &mut used);
            let new: Vec<RegisterId> = used.intersection(&open).copied().collect();
            let first = new.iter().copied().find(|register| sets_first(stmt, *register));
            for register in &new {
                open.remove(register);
                if Some(*register) != first {
                    self.declare(*register);
                }
            }
            self.next_statement();
            match stmt {
                Stmt::Prefetch(..) => {}
                Stmt::Set(register, _) => self.asked.retain(|addr| !mentions(addr, *register)),
                _ => self.asked.clear(),
            }
            block.push(at);
            self.statement(stmt, first.is_some(), block)?;
            block.pop();
        }
        Ok(())
    }

    /// Declares a register with all bits zero.
    fn declare(&mut self, register: RegisterId) {
        let ty = self.program.registers[register.index()].ty;
        let name = self.names.registers[register.index()].clone();
        let Pieces { lanes, count, .. } = self.pieces(ty.lanes);
        let own = self.functions.vector(ty.dtype, lanes);
        let array = if count > 1 { format!("[{count}]") } else { String::new() };
        let zero = if ty.lanes > 1 { "{0}" } else { "0" };
        self.out.line(format!("{own} {name}{array} = {zero};"));
    }

    fn statement(&mut self, stmt: &Stmt, declares: bool, block: &mut Block) -> Result<(), Error> {
        match stmt {
            Stmt::Set(register, value) => self.set(*register, value, declares),
            // A program for one core pops nothing.
            Stmt::Pop(_) => Ok(()),
            Stmt::Store(addr, value) => self.store(addr, value),
            Stmt::Accumulate(op, addr, value) => self.accumulate(*op, addr, value),
            Stmt::Prefetch(addr, level) => self.prefetch(addr, *level),
            Stmt::Matmul { out, a, b, transposed, adds: false } => {
                self.matmul([out, a, b], *transposed)
            }
            Stmt::Matmul { .. } => Err(Error::Blocks),
            Stmt::For(counted) | Stmt::Walk(_, counted) => self.counted(counted, block),
        }
    }

    fn set(&mut self, register: RegisterId, value: &Expr, declares: bool) -> Result<(), Error> {
        let ty = self.program.registers[register.index()].ty;
        let code = self.value(value)?.text();
        let name = self.names.registers[register.index()].clone();
        let Pieces { lanes, count, .. } = self.pieces(ty.lanes);
        let own = self.functions.vector(ty.dtype, lanes);
        if declares && count == 1 {
            self.out.line(format!("{own} {name} = {code};"));
            return Ok(());
        }
        if declares {
            self.out.line(format!("{own} {name}[{count}];"));
        }
        let element = self.element(&name, ty);
        self.each(value, &format!("{element} = {code};"));
        Ok(())
    }

    fn store(&mut self, addr: &Addr<Expr>, value: &Expr) -> Result<(), Error> {
        // All lanes are computed before the first is written.
        let mut overlaps = false;
        value.walk(&mut |part| {
            overlaps |= matches!(part, Expr::Load(from) if from.tensor == addr.tensor && **from != *addr);
        });
        let ty = self.program.type_of(value);
        let code = if overlaps && self.pieces(ty.lanes).count > 1 {
            let array = self.array("value", value)?;
            self.element(&array, ty)
        } else {
            self.value(value)?.text()
        };
        self.write(addr, value, &code)
    }

    /// Writes a value, whose code this is, to its place.
    fn write(&mut self, addr: &Addr<Expr>, value: &Expr, code: &str) -> Result<(), Error> {
        let dtype = self.program.tensors[addr.tensor.index()].dtype;
        let tensor = self.names.tensors[addr.tensor.index()].clone();
        let (at, active) = self.place(addr)?;
        let at = at.text();
        let Some(lanes) = &addr.lanes else {
            let line = if dtype == DType::U4 {
                let function = self.functions.plain("store_u4", Type::scalar(dtype));
                format!("{function}({tensor}, {at}, {code});")
            } else {
                format!("{tensor}[{at}] = {code};")
            };
            self.out.line(line);
            return Ok(());
        };
        if dtype == DType::U4 {
            return Err(Error::HalfBytes(lanes.count));
        }
        let piece = self.piece(Type { dtype, lanes: lanes.count });
        let past = self.past.get(&addr.tensor);
        let past = past.and_then(|past| Some((past, self.functions.past(piece)?)));
        let line = match (active, past) {
            (None, Some((past, function))) => {
                format!("{function}({tensor} + {at}, {code}, {past});")
            }
            (None, None) => {
                format!("{}({tensor} + {at}, {code});", self.functions.of_type("store", piece))
            }
            (Some(active), _) => {
                let function = self.functions.of_type("store_first", piece);
                format!("{function}({tensor} + {at}, {code}, {active});")
            }
        };
        self.each(value, &line);
        Ok(())
    }

    fn accumulate(&mut self, op: BinaryOp, addr: &Addr<Expr>, value: &Expr) -> Result<(), Error> {
        let sum =
            Expr::Binary(op, Box::new(Expr::Load(Box::new(addr.clone()))), Box::new(value.clone()));
        self.store(addr, &sum)
    }

    /// Asks for what a prefetch is about: a row that is no longer than a cache line as a whole, and once, even if several
    /// of its elements are named.
    fn prefetch(&mut self, addr: &Addr<Expr>, level: CacheLevel) -> Result<(), Error> {
        let tensor = &self.program.tensors[addr.tensor.index()];
        let line = |row: &u64| tensor.dtype.bytes_of(*row) <= LINE;
        let short = match tensor.shape.last() {
            Some(Dim::Const(row)) => Some(*row).filter(line),
            _ => None,
        };
        let count = addr.lanes.as_ref().map_or(1, |lanes| lanes.count);
        let limit = addr.lanes.as_ref().and_then(|lanes| self.greatest(&lanes.limit));
        let elements = short.unwrap_or_else(|| match limit {
            Some(limit) => u64::from(count).min(u64::try_from(limit).unwrap_or(0)),
            None => u64::from(count),
        });
        let bytes = tensor.dtype.bytes_of(elements);
        let mut first = Addr { lanes: None, ..addr.clone() };
        if let (Some(_), Some(last)) = (short, first.index.last_mut()) {
            *last = Expr::Const(Scalar::I64(0));
        }
        if self.asked.contains(&first) {
            return Ok(());
        }
        let name = self.names.tensors[addr.tensor.index()].clone();
        let at = self.place(&first)?.0.text();
        let function = self.functions.plain("fetch", Type::scalar(DType::U8));
        let at = if tensor.dtype == DType::U4 { format!("({at}) / 2") } else { at };
        let when = self.once_a_line(addr);
        self.out
            .line(format!("{when}{function}({name}, {name} + {at}, {bytes}, {});", level.number()));
        self.asked.push(first);
        Ok(())
    }

    /// Returns the condition under which a single element is asked for by a loop over the elements of a row: only the first
    /// of each cache line is. The row may begin amid a line, which then is asked for with the one before.
    fn once_a_line(&self, addr: &Addr<Expr>) -> String {
        let tensor = &self.program.tensors[addr.tensor.index()];
        let elements = LINE * 8 / tensor.dtype.bits().max(1);
        match (addr.index.last(), tensor.shape.last()) {
            (Some(Expr::Register(var)), Some(Dim::Const(row)))
                if addr.lanes.is_none() && *row > elements && self.most.contains_key(var) =>
            {
                let var = &self.names.registers[var.index()];
                format!("if ({var} % {elements} == 0) ")
            }
            _ => String::new(),
        }
    }

    fn matmul(&mut self, operands: [&Addr<Expr>; 3], transposed: bool) -> Result<(), Error> {
        let mut chosen = [None, None, None];
        for (chosen, addr) in chosen.iter_mut().zip(operands) {
            if addr.rows.is_some() {
                return Err(Error::Blocks);
            }
            *chosen = match addr.index.first() {
                Some(index) => Some(self.value(index)?.text()),
                None => None,
            };
        }
        let operands = operands.map(|addr| addr.tensor);
        let tensors = operands.map(|id| &self.program.tensors[id.index()]);
        let [out, a, b] = operands.map(|id| self.names.tensors[id.index()].clone());
        let ty = Type { dtype: tensors[0].dtype, lanes: self.pieces(1 << 6).lanes };
        let function = self.functions.matmul(ty);
        let extent = |dim: &Dim| self.names.extent(dim);
        let [left, product] = [tensors[1], tensors[0]];
        let tail = |shape: &[Dim]| -> [String; 2] {
            match shape {
                [.., rows, columns] => [extent(rows), extent(columns)],
                _ => [String::from("1"), String::from("1")],
            }
        };
        let ([m, k], [_, n]) = (tail(&left.shape), tail(&product.shape));
        // Batches that are multiplied by one matrix are rows of one product.
        let (m, batches) = match left.shape.as_slice() {
            _ if chosen[1].is_some() => (m, None),
            [batches, _, _] if tensors[2].shape.len() == 3 => (m, Some(extent(batches))),
            [batches, _, _] => (format!("{} * {m}", extent(batches)), None),
            _ => (m, None),
        };
        let transposed = u8::from(transposed);
        let call = |first: [String; 3], rows: &str| {
            let [out, a, b] = first;
            format!("{function}({out}, {a}, {b}, {rows}, {k}, {n}, {transposed});")
        };
        let own = |tensor: &str, batch: &str, elements: [&str; 2]| {
            format!("{tensor} + {batch} * {}", elements.iter().format(" * "))
        };
        if chosen.iter().any(Option::is_some) {
            let sides = [[&m, &n], [&m, &k], [&k, &n]].map(|sides| sides.map(String::as_str));
            let of = |at: usize| match &chosen[at] {
                Some(index) => own([&out, &a, &b][at], &format!("({index})"), sides[at]),
                None => [&out, &a, &b][at].clone(),
            };
            let call = call([of(0), of(1), of(2)], &m);
            self.out.line(call);
            return Ok(());
        }
        if let Some(batch) = self.batches.get(&operands[0]) {
            let batch = &self.names.registers[batch.index()];
            let whole = [[&m, &n], [&m, &k], [&k, &n]].map(|sides| sides.map(String::as_str));
            let of = |at: usize| match (self.folded.contains(&operands[at]), &self.place) {
                (false, _) => own([&out, &a, &b][at], batch, whole[at]),
                (true, Some(place)) => own([&out, &a, &b][at], place, whole[at]),
                (true, None) => [&out, &a, &b][at].clone(),
            };
            let call = call([of(0), of(1), of(2)], &m);
            self.out.line(call);
            return Ok(());
        }
        let threads = self.threads;
        let shares = threads > 1 && self.depth == 0;
        if let Some(batches) = batches {
            let own = |tensor: &str, sides| own(tensor, "p", sides);
            let call = call([own(&out, [&m, &n]), own(&a, [&m, &k]), own(&b, [&k, &n])], &m);
            if shares {
                self.out.line(format!("#pragma omp parallel for num_threads({threads})"));
            }
            self.out.line(format!("for (int64_t p = 0; p < {batches}; p++) {call}"));
        } else if shares {
            let function = self.functions.plain("part", Type::scalar(DType::I64));
            let work = format!("if ({m} * {k} * {n} > 100000)");
            self.out.line(format!("#pragma omp parallel for num_threads({threads}) {work}"));
            self.out.open(format!("for (int64_t p = 0; p < {threads}; p++)"));
            let (first, rows) = (self.names.fresh("first"), self.names.fresh("count"));
            let bound = |part: &str| format!("{function}({m}, {ROWS}, {part}, {threads})");
            let (from, to) = (bound("p"), bound("p + 1"));
            self.out.line(format!("const int64_t {first} = {from}, {rows} = {to} - {first};"));
            let own = |tensor: &str, row: &str| format!("{tensor} + {first} * {row}");
            self.out.line(call([own(&out, &n), own(&a, &k), b], &rows));
            self.out.close();
        } else {
            self.out.line(call([out, a, b], &m));
        }
        Ok(())
    }

    /// Writes the body of a loop that runs once.
    fn single(&mut self, counted: &Loop, only: i64, block: &mut Block) -> Result<(), Error> {
        let name = self.names.registers[counted.var.index()].clone();
        if !self.declarations.of_loops.contains(&counted.var) {
            self.out.line(format!("{name} = {only};"));
            return self
                .with_most(counted.var, Some(only), |writer| writer.body(&counted.body, block));
        }
        self.out.open("");
        let mut used = BTreeSet::new();
        counted.body.iter().for_each(|stmt| registers(stmt, &mut used));
        let numbers = |stmt: &Stmt| matches!(stmt, Stmt::Matmul { .. });
        if used.contains(&counted.var) || counted.body.iter().any(numbers) {
            self.out.line(format!("const int64_t {name} = {only};"));
        }
        let done =
            self.with_most(counted.var, Some(only), |writer| writer.body(&counted.body, block));
        self.out.close();
        done
    }

    fn counted(&mut self, counted: &Loop, block: &mut Block) -> Result<(), Error> {
        let name = self.names.registers[counted.var.index()].clone();
        let most = last(counted);
        if let Some(only) = most.filter(|most| is(&counted.lo, *most)) {
            return self.single(counted, only, block);
        }
        let (lo, hi) = (self.value(&counted.lo)?.text(), self.value(&counted.hi)?.text());
        let fixed = matches!(counted.hi, Expr::Const(_) | Expr::Size(_));
        let inside = self.declarations.of_loops.contains(&counted.var);
        let (end, ends) = match (fixed, inside) {
            (true, _) => (hi, String::new()),
            (false, true) => {
                let end = self.names.fresh(&format!("{name}_end"));
                (end.clone(), format!(", {end} = {hi}"))
            }
            (false, false) => {
                let end = self.names.fresh(&format!("{name}_end"));
                self.out.line(format!("const int64_t {end} = {hi};"));
                (end, String::new())
            }
        };
        let shared = (self.threads > 1 && self.depth == 0)
            .then(|| {
                let batch = |stmt: &Stmt| self.is_batch(stmt, counted.var);
                rows(self.program, &self.declarations, counted, block, batch)
            })
            .flatten();
        let (lo, end, mut ends) = match shared {
            Some(rows) => self.share(rows, counted, &end),
            None => (lo, end, ends),
        };
        // A part of the loop has the place of its first row.
        let mut used = BTreeSet::new();
        counted.body.iter().for_each(|stmt| touched(stmt, &mut used));
        if shared.is_some() && !used.is_disjoint(self.folded) {
            let first = self.names.fresh("first");
            ends = format!(", {first} = {name}{ends}");
            self.place = Some(first);
        }
        let declared = if inside { format!("{} ", scalar(DType::I64)) } else { String::new() };
        let next = match counted.step {
            1 => format!("{name}++"),
            step => format!("{name} += {step}"),
        };
        self.out.open(format!("for ({declared}{name} = {lo}{ends}; {name} < {end}; {next})"));
        self.depth += 1;
        let done = self.with_most(counted.var, most, |writer| writer.body(&counted.body, block));
        self.depth -= 1;
        if self.depth == 0 {
            self.place = None;
        }
        self.out.close();
        done
    }

    /// Returns true if a statement is a product of one of several batches, which a loop's variable numbers.
    fn is_batch(&self, stmt: &Stmt, var: RegisterId) -> bool {
        match stmt {
            Stmt::Matmul { out, .. } => self.batches.get(&out.tensor) == Some(&var),
            _ => false,
        }
    }

    /// Writes the loop over parts of a loop's rows, of which each thread takes one after another, and returns the bounds
    /// of the rows in a part. A loop that is over sooner than the threads have started stays with one.
    fn share(&mut self, rows: Rows, counted: &Loop, n: &str) -> (String, String, String) {
        let step = counted.step;
        let parts = self.threads.saturating_mul(PARTS);
        let (part, last) = (self.names.fresh("part"), self.names.fresh("last"));
        let (function, first, work) = match rows {
            Rows::Even => {
                let function = self.functions.plain("part", Type::scalar(DType::I64));
                let (sizes, trips) = self.trips(&counted.body);
                let all = [n.to_owned()].into_iter().chain(sizes).format(" * ");
                let product = |stmt: &Stmt| matches!(stmt, Stmt::Matmul { .. });
                let enough = match counted.body.iter().any(product) {
                    true => step,
                    false => (256 * step).checked_div(trips).unwrap_or(0).max(1),
                };
                (function, format!("{n}, {step}"), format!("{all} > {enough}"))
            }
            Rows::Ragged(offsets) => {
                let dtype = self.program.tensors[offsets.index()].dtype;
                let function = self.functions.of_type("cut", Type::scalar(dtype));
                let offsets = &self.names.tensors[offsets.index()];
                (function, format!("{offsets}, {n}"), format!("{offsets}[{n}] + {n} > 2048"))
            }
        };
        let threads = self.threads;
        self.out.line(format!(
            "#pragma omp parallel for num_threads({threads}) schedule(dynamic) if ({work})"
        ));
        self.out.line(format!("for (int {part} = 0; {part} < {parts}; {part}++)"));
        let bound = |part: &str| format!("{function}({first}, {part}, {parts})");
        let ends = format!(", {last} = {}", bound(&format!("{part} + 1")));
        (bound(&part), last, ends)
    }
}

impl Writer<'_> {
    /// Returns the sizes and the number whose product is how often the innermost statements of a body run, as far as
    /// bounds say it: those of its first loops, one in the other.
    fn trips(&self, body: &[Stmt]) -> (Vec<String>, i64) {
        let first = body.iter().find_map(|stmt| match stmt {
            Stmt::For(counted) => Some(counted),
            _ => None,
        });
        let Some(counted) = first else { return (Vec::new(), 1) };
        let (mut sizes, mut trips) = self.trips(&counted.body);
        match (&counted.hi, last(counted)) {
            (_, Some(last)) => {
                if let Expr::Const(Scalar::I64(lo)) = counted.lo {
                    trips = trips.saturating_mul(((last - lo) / counted.step + 1).max(1));
                }
            }
            (Expr::Size(size), None) => sizes.insert(0, self.names.sizes[size.index()].clone()),
            _ => {}
        }
        (sizes, trips)
    }
}

/// The parts of a loop for each thread: enough for a slow part to be made up for.
const PARTS: u32 = 4;

/// Returns true if the indices of an element depend on a register.
fn mentions(addr: &Addr<Expr>, register: RegisterId) -> bool {
    let mut read = BTreeSet::new();
    addr.index.iter().for_each(|index| in_expr(index, &mut read));
    read.contains(&register)
}

/// Returns true if an expression is this number.
fn is(expr: &Expr, number: i64) -> bool {
    matches!(expr, Expr::Const(Scalar::I64(n)) if *n == number)
}

/// Returns the last value of a loop's variable, if constants decide it.
pub(super) fn last(counted: &Loop) -> Option<i64> {
    let (Expr::Const(Scalar::I64(lo)), Expr::Const(Scalar::I64(hi))) = (&counted.lo, &counted.hi)
    else {
        return None;
    };
    let trips = hi.checked_sub(*lo)?.checked_sub(1)?.checked_div(counted.step)?;
    lo.checked_add(trips.checked_mul(counted.step)?)
}

/// Returns true if a statement sets a register without reading it.
fn sets_first(stmt: &Stmt, register: RegisterId) -> bool {
    let Stmt::Set(set, value) = stmt else { return false };
    let mut read = BTreeSet::new();
    in_expr(value, &mut read);
    *set == register && !read.contains(&register)
}
