//! Random well-formed programs, with names that need quotes.

use ember_targets::dlc::*;
use ember_targets::verify::well_formed;
use ember_values::scalar::{BinaryOp, DType, Scalar, UnaryOp};
use quickcheck::{Arbitrary, Gen};

/// A well-formed program; its halves need not match.
#[derive(Clone, Debug)]
pub struct RandomProgram(pub Program);

impl Arbitrary for RandomProgram {
    fn arbitrary(gen_: &mut Gen) -> RandomProgram {
        let mut maker = Maker { random: gen_, program: Program::default() };
        maker.program();
        RandomProgram(maker.program)
    }
}

struct Maker<'a> {
    random: &'a mut Gen,
    program: Program,
}

const INDEX: Type = Type { dtype: DType::I64, lanes: 1 };

impl Maker<'_> {
    fn below(&mut self, n: usize) -> usize {
        usize::arbitrary(self.random) % n.max(1)
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        let at = self.below(from.len());
        from.get(at).cloned()
    }

    fn name(&mut self, number: usize) -> String {
        let odd =
            ["", "a", "7", "-", "x y", "\"", "\\", "\n", "(", ";", "é", "nan", "+1", "bags+1"];
        format!("{}{number}", odd[self.below(odd.len())])
    }

    fn dtype(&mut self) -> DType {
        DType::ALL[self.below(8)]
    }

    fn ty(&mut self) -> Type {
        Type { dtype: self.dtype(), lanes: [1, 1, 4, 16][self.below(4)] }
    }

    fn scalar(&mut self, dtype: DType) -> Scalar {
        match dtype {
            DType::F32 => Scalar::F32(f32::arbitrary(self.random)),
            DType::F64 => Scalar::F64(f64::arbitrary(self.random)),
            DType::I32 => Scalar::I32(i32::arbitrary(self.random)),
            DType::I64 => Scalar::I64(i64::arbitrary(self.random)),
            DType::F16 | DType::BF16 | DType::U8 | DType::U4 | DType::I8 => {
                // These include every NaN; all NaNs are equal.
                Scalar::from_bits(dtype, u64::from(u16::arbitrary(self.random)))
            }
        }
    }

    fn program(&mut self) {
        self.program.name = self.name(0);
        for k in 0..self.below(4) {
            let name = self.name(k);
            self.program.sizes.push(name);
        }
        for k in 0..1 + self.below(4) {
            let mut shape = Vec::new();
            for _ in 0..self.below(3) {
                shape.push(match self.below(2 * self.program.sizes.len()) {
                    s if s < self.program.sizes.len() => Dim::Size(SizeId(s as u32)),
                    _ => Dim::Const(u64::arbitrary(self.random)),
                });
            }
            let (name, dtype) = (self.name(k), self.dtype());
            self.program.tensors.push(TensorDecl {
                name,
                dtype,
                shape,
                purpose: [Purpose::Output, Purpose::Input, Purpose::Scratch][k % 3],
            });
        }
        let side = Dim::Const(u64::arbitrary(self.random));
        for k in 0..3 * self.below(2) {
            let (name, dtype) = (self.name(100 + k), DType::F32);
            let shape = vec![side; 2];
            self.program.tensors.push(TensorDecl {
                name,
                dtype,
                shape,
                purpose: Purpose::of(k == 0),
            });
        }
        for k in 0..self.below(6) {
            let (name, ty) = (self.name(k), self.ty());
            self.program.registers.push(Register { name, ty });
        }
        self.constant(INDEX.dtype);
        self.units(None, 2);
        let cases = self.below(3);
        for k in 0..cases {
            let (name, body) = (self.name(k), self.body(2));
            self.program.cases.push(Case { name, body });
        }
        for unit in 0..self.program.units.len() {
            let around = self.outside(UnitId(unit as u32));
            let inside: Vec<UnitId> = around.iter().copied().chain([UnitId(unit as u32)]).collect();
            let (mut beg, mut end) = (self.actions(&around), self.actions(&around));
            let ite = self.actions(&inside);
            let unit = &mut self.program.units[unit];
            unit.beg.append(&mut beg);
            unit.ite.extend(ite);
            unit.end.append(&mut end);
        }
        let actions = self.actions(&[]);
        self.program.access.extend(actions);
        // Every case has a callback that runs it.
        self.program.access.extend((0..cases).map(|c| Action::Callback(CaseId(c as u32))));
        self.program.main = self.body(3);
    }

    /// Returns the enclosing units of a unit.
    fn outside(&self, unit: UnitId) -> Vec<UnitId> {
        let traverses = |u: &TraversalUnit| u.ite.contains(&Action::Traverse(unit));
        match self.program.units.iter().position(traverses) {
            Some(parent) => {
                let parent = UnitId(parent as u32);
                let mut around = self.outside(parent);
                around.push(parent);
                around
            }
            None => Vec::new(),
        }
    }

    fn units(&mut self, parent: Option<UnitId>, depth: usize) {
        if depth == 0 {
            return;
        }
        for _ in 0..self.below(3) {
            let around = match parent {
                Some(parent) => {
                    let mut around = self.outside(parent);
                    around.push(parent);
                    around
                }
                None => Vec::new(),
            };
            self.streams(&around);
            let bounds = self.usable(&around, |ty| ty == INDEX);
            let lo = self.pick(&bounds).expect("a constant");
            let hi = self.pick(&bounds).expect("a constant");
            let id = UnitId(self.program.units.len() as u32);
            let name = self.name(self.program.units.len());
            let step = 1 + self.below(16) as i64;
            let (beg, ite, end) = (Vec::new(), Vec::new(), Vec::new());
            self.program.units.push(TraversalUnit { name, lo, hi, step, beg, ite, end });
            match parent {
                Some(parent) => {
                    self.program.units[parent.index()].ite.push(Action::Traverse(id));
                }
                None => self.program.access.push(Action::Traverse(id)),
            }
            self.stream(INDEX, StreamKind::IndVar(id));
            self.units(Some(id), depth - 1);
            let inside: Vec<UnitId> = around.into_iter().chain([id]).collect();
            self.streams(&inside);
        }
    }

    fn stream(&mut self, ty: Type, kind: StreamKind) -> StreamId {
        let name = self.name(self.program.streams.len());
        self.program.streams.push(Stream { name, ty, kind });
        StreamId(self.program.streams.len() as u32 - 1)
    }

    fn constant(&mut self, dtype: DType) -> StreamId {
        let value = self.scalar(dtype);
        self.stream(Type::scalar(dtype), StreamKind::Const(value))
    }

    /// Returns the units that a stream depends on.
    fn depends(&self, id: StreamId) -> Vec<UnitId> {
        match &self.program.streams[id.index()].kind {
            StreamKind::Const(_) | StreamKind::Size(_) => Vec::new(),
            StreamKind::IndVar(unit) => vec![*unit],
            StreamKind::Mem { addr, .. } => {
                let limit = addr.lanes.iter().map(|l| &l.limit);
                addr.index.iter().chain(limit).flat_map(|s| self.depends(*s)).collect()
            }
            StreamKind::Broadcast(s) | StreamKind::IndexCast(s) => self.depends(*s),
            StreamKind::Alu { a, b, .. } => {
                self.depends(*a).into_iter().chain(self.depends(*b)).collect()
            }
        }
    }

    /// Returns the streams of fitting types that can be used where these units run.
    fn usable(&self, around: &[UnitId], fits: impl Fn(Type) -> bool) -> Vec<StreamId> {
        (0..self.program.streams.len() as u32)
            .map(StreamId)
            .filter(|s| fits(self.program.streams[s.index()].ty))
            .filter(|s| self.depends(*s).iter().all(|u| around.contains(u)))
            .collect()
    }

    fn streams(&mut self, around: &[UnitId]) {
        for _ in 0..self.below(4) {
            let indices = self.usable(around, |ty| ty == INDEX);
            match self.below(6) {
                0 => {
                    let dtype = self.dtype();
                    self.constant(dtype);
                }
                1 if !self.program.sizes.is_empty() => {
                    let size = SizeId(self.below(self.program.sizes.len()) as u32);
                    self.stream(INDEX, StreamKind::Size(size));
                }
                2 => {
                    let op = BinaryOp::ALL[self.below(7)];
                    let scalars = self.usable(around, |ty| ty.lanes == 1 && !ty.dtype.is_storage());
                    let a = self.pick(&scalars).expect("a constant");
                    let ty = self.program.streams[a.index()].ty;
                    let b = self.usable(around, |other| other == ty);
                    let b = self.pick(&b).expect("at least a");
                    let ty = Type::scalar(op.result(ty.dtype));
                    self.stream(ty, StreamKind::Alu { op, a, b });
                }
                3 => {
                    let scalars = self.usable(around, |ty| ty.lanes == 1);
                    let from = self.pick(&scalars).expect("a constant");
                    let dtype = self.program.streams[from.index()].ty.dtype;
                    self.stream(Type { dtype, lanes: 8 }, StreamKind::Broadcast(from));
                    if !dtype.is_float() {
                        self.stream(INDEX, StreamKind::IndexCast(from));
                    }
                }
                _ => {
                    let (addr, ty) = self.address(|m| m.pick(&indices).expect("a constant"));
                    let hint = [Hint::Temporal, Hint::TemporalL2, Hint::NonTemporal][self.below(3)];
                    self.stream(ty, StreamKind::Mem { addr, hint });
                }
            }
        }
    }

    fn address<I>(&mut self, mut index: impl FnMut(&mut Self) -> I) -> (Addr<I>, Type) {
        let tensor = self.below(self.program.tensors.len());
        let rank = self.program.tensors[tensor].shape.len();
        let dtype = self.program.tensors[tensor].dtype;
        let at = (0..rank).map(|_| index(self)).collect();
        let count = [1, 4, 16][self.below(3)];
        let lanes =
            (rank > 0 && bool::arbitrary(self.random)).then(|| Lanes { count, limit: index(self) });
        let ty = Type { dtype, lanes: lanes.as_ref().map_or(1, |l| l.count) };
        (Addr { tensor: TensorId(tensor as u32), index: at, lanes, rows: None }, ty)
    }

    fn actions(&mut self, around: &[UnitId]) -> Vec<Action> {
        let mut actions = Vec::new();
        for _ in 0..self.below(4) {
            let indices = self.usable(around, |ty| ty == INDEX);
            let all = self.usable(around, |_| true);
            match self.below(5) {
                0 => actions.push(Action::Barrier),
                1 => actions.extend(self.pick(&all).map(Action::Operand)),
                3 => {
                    let streams = &self.program.streams;
                    let loads: Vec<_> = all
                        .iter()
                        .filter(|s| matches!(streams[s.index()].kind, StreamKind::Mem { .. }))
                        .copied()
                        .collect();
                    actions.extend(self.pick(&loads).map(Action::Prefetch));
                }
                2 if !self.program.cases.is_empty() => {
                    let case = self.below(self.program.cases.len());
                    actions.push(Action::Callback(CaseId(case as u32)));
                }
                _ => {
                    let (addr, ty) = self.address(|m| m.pick(&indices).expect("a constant"));
                    let values = self.usable(around, |other| other == ty);
                    if let Some(value) = self.pick(&values)
                        && self.program.tensors[addr.tensor.index()].writable()
                    {
                        actions.push(Action::Store { addr, value });
                    }
                }
            }
        }
        actions
    }

    fn body(&mut self, depth: usize) -> Vec<Stmt> {
        let mut body = Vec::new();
        for _ in 0..self.below(4) {
            let registers: Vec<usize> = (0..self.program.registers.len()).collect();
            let Some(register) = self.pick(&registers) else { continue };
            let (id, ty) = (RegisterId(register as u32), self.program.registers[register].ty);
            match self.below(5) {
                0 => body.push(Stmt::Pop(id)),
                1 if depth > 0 && ty == INDEX => {
                    let step = 1 + self.below(9) as i64;
                    let (lo, hi) = (self.expr(INDEX, 2), self.expr(INDEX, 2));
                    let body_ = self.body(depth - 1);
                    let counted = Loop { var: id, lo, hi, step, body: body_ };
                    let units = self.program.units.len();
                    let unit = UnitId(self.below(units) as u32);
                    let walk = units > 0 && bool::arbitrary(self.random);
                    body.push(if walk { Stmt::Walk(unit, counted) } else { Stmt::For(counted) });
                }
                2 => {
                    let (addr, ty) = self.address(|m| m.expr(INDEX, 2));
                    if self.program.tensors[addr.tensor.index()].writable() {
                        let value = self.expr(ty, 3);
                        let op = BinaryOp::ALL[self.below(6)];
                        let moved = ty.dtype.is_storage() || bool::arbitrary(self.random);
                        body.push(if moved {
                            Stmt::Store(addr, value)
                        } else {
                            Stmt::Accumulate(op, addr, value)
                        });
                    }
                }
                3 => body.extend(self.matmul()),
                _ => {
                    let value = self.expr(ty, 4);
                    body.push(Stmt::Set(id, value));
                }
            }
        }
        body
    }

    /// Returns a product of matrices if there are tensors for one.
    fn matmul(&mut self) -> Option<Stmt> {
        let tensors: Vec<TensorId> = (0..self.program.tensors.len() as u32).map(TensorId).collect();
        let [out, a, b] = [self.pick(&tensors)?, self.pick(&tensors)?, self.pick(&tensors)?];
        let [transposed, adds] = [0; 2].map(|_| bool::arbitrary(self.random));
        let [out, a, b] = [out, a, b].map(|tensor| self.matrix(tensor));
        let stmt = Stmt::Matmul { out, a, b, transposed, adds };
        // Few shapes match, so the verifier itself decides whether these do.
        let alone = Program { main: vec![stmt.clone()], ..self.matrices() };
        well_formed(&alone).is_empty().then_some(stmt)
    }

    /// Returns a whole tensor or a block of one as an operand of a product.
    fn matrix(&mut self, tensor: TensorId) -> Addr<Expr> {
        let mut matrix = Addr::whole(tensor);
        if self.below(2) == 0 {
            let mut side = || Some(Lanes { count: 4, limit: self.expr(INDEX, 1) });
            (matrix.rows, matrix.lanes) = (side(), side());
            let rank = self.program.tensors[tensor.index()].shape.len();
            matrix.index = (0..rank).map(|_| self.expr(INDEX, 1)).collect();
        }
        matrix
    }

    /// Returns a program with only this program's sizes and tensors.
    fn matrices(&self) -> Program {
        let Program { sizes, tensors, .. } = &self.program;
        Program { sizes: sizes.clone(), tensors: tensors.clone(), ..Program::default() }
    }

    /// Returns a random expression of a type.
    fn expr(&mut self, ty: Type, depth: usize) -> Expr {
        let Type { dtype, lanes } = ty;
        let registers: Vec<RegisterId> = (0..self.program.registers.len() as u32)
            .map(RegisterId)
            .filter(|r| self.program.registers[r.index()].ty == ty)
            .collect();
        if let (0, Some(register)) = (self.below(2), self.pick(&registers)) {
            return Expr::Register(register);
        }
        let inner = depth.saturating_sub(1);
        let computes = !dtype.is_storage();
        match self.below(8) {
            _ if depth == 0 && lanes == 1 => Expr::Const(self.scalar(dtype)),
            _ if depth == 0 => Expr::Broadcast(lanes, Box::new(self.expr(Type::scalar(dtype), 0))),
            0 if ty == INDEX && !self.program.sizes.is_empty() => {
                Expr::Size(SizeId(self.below(self.program.sizes.len()) as u32))
            }
            1 if computes => {
                let op = BinaryOp::ALL[self.below(6)];
                Expr::Binary(op, Box::new(self.expr(ty, inner)), Box::new(self.expr(ty, inner)))
            }
            2 => {
                let condition = self.expr(Type { dtype: DType::I64, lanes }, inner);
                let (a, b) = (self.expr(ty, inner), self.expr(ty, inner));
                Expr::Select(Box::new(condition), Box::new(a), Box::new(b))
            }
            3 => {
                let from = Type { dtype: self.dtype(), lanes };
                Expr::Cast(dtype, Box::new(self.expr(from, inner)))
            }
            5 if dtype.is_float() && computes => {
                let op = UnaryOp::ALL[self.below(2)];
                Expr::Unary(op, Box::new(self.expr(ty, inner)))
            }
            6 if lanes == 1 && computes => {
                let op =
                    [BinaryOp::Add, BinaryOp::Mul, BinaryOp::Max, BinaryOp::Min][self.below(4)];
                let lanes = [1, 4, 16][self.below(3)];
                Expr::Fold(op, Box::new(self.expr(Type { dtype, lanes }, inner)))
            }
            4 if dtype == DType::I64 && lanes > 1 => {
                Expr::Iota(lanes, Box::new(self.expr(INDEX, inner)))
            }
            _ => {
                let (addr, found) = self.address(|m| m.expr(INDEX, inner.min(1)));
                if found == ty {
                    Expr::Load(Box::new(addr))
                } else if lanes > 1 {
                    Expr::Broadcast(lanes, Box::new(self.expr(Type::scalar(dtype), inner)))
                } else {
                    Expr::Const(self.scalar(dtype))
                }
            }
        }
    }
}
