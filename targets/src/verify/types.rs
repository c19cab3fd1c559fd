//! Types of streams, registers, expressions and stores. Indices and bounds are scalars of type i64; arithmetic never
//! mixes types, and storage types have no arithmetic.

use super::structure::events;
use super::{Errors, Kind, Part, Place};
use crate::dlc::{
    Action, Addr, Dim, Expr, Loop, Program, Stmt, Stream, StreamId, StreamKind, TensorDecl, Type,
};
use ember_values::scalar::DType;
use std::borrow::Cow;

/// Checks every type. Ids must be valid.
pub fn check(program: &Program, errors: &mut Errors) {
    let mut checker = Checker { program, errors };
    program.streams.iter().for_each(|s| checker.stream(s));
    for unit in &program.units {
        let place = Place::new(Part::Unit, &unit.name);
        checker.index_stream(unit.lo, &place);
        checker.index_stream(unit.hi, &place);
        for (event, actions) in events(unit).into_iter().enumerate() {
            checker.actions(actions, &place.then(event));
        }
    }
    checker.actions(&program.access, &Place::new(Part::Access, ""));
    checker.body(&program.main, &Place::new(Part::Main, ""));
    for case in &program.cases {
        checker.body(&case.body, &Place::new(Part::Case, &case.name));
    }
}

/// Returns the shape of a product of matrices or batches of them; `None` if the shapes do not match.
fn product(a: &[Dim], b: &[Dim], transposed: bool) -> Option<Vec<Dim>> {
    let (batches, &[m, k]) = a.split_last_chunk()?;
    let (others, &[rows, columns]) = b.split_last_chunk()?;
    let (inner, n) = if transposed { (columns, rows) } else { (rows, columns) };
    let fits = batches.len() <= 1 && (others.is_empty() || others == batches) && inner == k;
    fits.then(|| [batches, &[m, n]].concat())
}

const INDEX: Type = Type { dtype: DType::I64, lanes: 1 };

struct Checker<'a, 'e> {
    program: &'a Program,
    errors: &'e mut Errors,
}

impl Checker<'_, '_> {
    fn wrong(&mut self, place: &Place, message: impl Into<String>) {
        self.errors.push(Kind::Type, place, message);
    }

    fn same(&mut self, found: Type, wanted: Type, what: &str, place: &Place) {
        if found != wanted {
            self.wrong(place, format!("{what} is {found}, and {wanted} is needed"));
        }
    }

    /// Checks that a type supports arithmetic, which storage types do not.
    fn computes(&mut self, what: &str, ty: Type, place: &Place) {
        if ty.dtype.is_storage() {
            let message = format!("`{what}` on {ty}, a type that is only stored: cast it first");
            self.wrong(place, message);
        }
    }

    /// Checks a product of matrices: one arithmetic floating-point type, declared shapes that match, and an output that
    /// is neither operand.
    fn matmul(&mut self, operands: [&Addr<Expr>; 3], transposed: bool, place: &Place) {
        operands.iter().for_each(|addr| self.expr_addr(addr, place));
        let [out, a, b] = operands.map(|addr| addr.tensor);
        let [o, x, y] = [out, a, b].map(|id| &self.program.tensors[id.index()]);
        let shapes = operands.map(|addr| {
            if let (Some(rows), Some(columns)) = (&addr.rows, &addr.lanes) {
                let sides = [rows, columns].map(|side| Dim::Const(side.count.into()));
                return Some(Cow::Owned(sides.to_vec()));
            }
            // Only a batch has matrices that an index chooses from.
            let shape = self.program.tensors[addr.tensor.index()].shape.as_slice();
            let rest = shape.get(addr.index.len()..);
            rest.filter(|rest| addr.index.is_empty() || rest.len() == 2).map(Cow::Borrowed)
        });
        let computed = x.dtype.is_float() && !x.dtype.is_storage();
        if !o.writable() {
            let message = format!("writes tensor `{}`, which is read-only", o.name);
            return self.wrong(place, message);
        } else if out == a || out == b {
            return self.wrong(place, format!("multiplies `{}` into itself", o.name));
        } else if !computed || [o, y].iter().any(|t| t.dtype != x.dtype) {
            let message = format!(
                "multiplies {} by {} into {}, and f32 or f64 throughout is needed",
                x.dtype, y.dtype, o.dtype
            );
            self.wrong(place, message);
            return;
        }
        let [Some(made), Some(left), Some(right)] = &shapes else {
            return self.wrong(place, "multiplies one matrix of what is no batch of matrices");
        };
        if let Some(product) = product(left, right, transposed) {
            if product != **made {
                let (name, declared) = (&o.name, self.shape(made));
                let message =
                    format!("`{name}` is {declared}, the product {}", self.shape(&product));
                self.wrong(place, message);
            }
        } else {
            let how = if transposed { " transposed" } else { "" };
            let (a, b) = (self.shape(left), self.shape(right));
            self.wrong(place, format!("multiplies {a} by {b}{how}, which do not match"));
        }
    }

    /// Formats a shape as it is declared.
    fn shape(&self, shape: &[Dim]) -> String {
        let extents = shape.iter().map(|dim| match dim {
            Dim::Const(n) => n.to_string(),
            Dim::Size(size) => self.program.sizes[size.index()].clone(),
        });
        format!("({})", extents.collect::<Vec<_>>().join(" "))
    }

    fn tensor<I>(&self, addr: &Addr<I>) -> (&TensorDecl, Type) {
        let tensor = &self.program.tensors[addr.tensor.index()];
        let lanes = addr.lanes.as_ref().map_or(1, |l| l.count);
        (tensor, Type { dtype: tensor.dtype, lanes })
    }

    fn writable<I>(&mut self, addr: &Addr<I>, place: &Place) {
        let (tensor, _) = self.tensor(addr);
        if !tensor.writable() {
            let message = format!("writes tensor `{}`, which is read-only", tensor.name);
            self.wrong(place, message);
        }
    }

    fn index_stream(&mut self, id: StreamId, place: &Place) {
        let stream = &self.program.streams[id.index()];
        self.same(stream.ty, INDEX, &format!("stream `{}`", stream.name), place);
    }

    fn stream_addr(&mut self, addr: &Addr<StreamId>, place: &Place) -> Type {
        for id in crate::uses::address_streams(addr) {
            self.index_stream(id, place);
        }
        self.tensor(addr).1
    }

    fn stream(&mut self, stream: &Stream) {
        let place = Place::new(Part::Stream, &stream.name);
        let made = match &stream.kind {
            StreamKind::Const(value) => Type::scalar(value.dtype()),
            StreamKind::Size(_) | StreamKind::IndVar(_) => INDEX,
            StreamKind::Mem { addr, .. } => self.stream_addr(addr, &place),
            StreamKind::Broadcast(from) => {
                let from = self.program.streams[from.index()].ty;
                if from.lanes != 1 {
                    return self.wrong(&place, format!("spreads a scalar, not {from}"));
                }
                Type { dtype: from.dtype, lanes: stream.ty.lanes }
            }
            StreamKind::IndexCast(from) => {
                let from = &self.program.streams[from.index()];
                if from.ty.lanes != 1 || from.ty.dtype.is_float() {
                    let message = format!("converts a scalar integer, not {}", from.ty);
                    return self.wrong(&place, message);
                }
                INDEX
            }
            StreamKind::Alu { op, a, b } => {
                let ty = |id: &StreamId| self.program.streams[id.index()].ty;
                let (a, b) = (ty(a), ty(b));
                if a != b || a.lanes != 1 {
                    let message = format!("combines {a} with {b}, and scalars of one type can be");
                    return self.wrong(&place, message);
                }
                self.computes(op.name(), a, &place);
                Type::scalar(op.result(a.dtype))
            }
        };
        self.same(stream.ty, made, "its declared type", &place);
    }

    fn actions(&mut self, actions: &[Action], place: &Place) {
        for (at, action) in actions.iter().enumerate() {
            let place = place.then(at);
            match action {
                Action::Store { addr, value } => {
                    self.writable(addr, &place);
                    let ty = self.stream_addr(addr, &place);
                    let value = &self.program.streams[value.index()];
                    self.same(value.ty, ty, &format!("stream `{}`", value.name), &place);
                }
                Action::Prefetch(stream) => {
                    let stream = &self.program.streams[stream.index()];
                    if !matches!(stream.kind, StreamKind::Mem { .. }) {
                        let message = format!("prefetches `{}`, which loads nothing", stream.name);
                        self.wrong(&place, message);
                    }
                }
                _ => {}
            }
        }
    }

    fn body(&mut self, body: &[Stmt], place: &Place) {
        for (at, stmt) in body.iter().enumerate() {
            let place = place.then(at);
            match stmt {
                Stmt::Set(register, value) => {
                    let register = &self.program.registers[register.index()];
                    if let Some(ty) = self.expr(value, &place) {
                        let what = format!("the value of `{}`", register.name);
                        self.same(ty, register.ty, &what, &place);
                    }
                }
                Stmt::Pop(_) => {}
                Stmt::Store(addr, value) | Stmt::Accumulate(_, addr, value) => {
                    self.writable(addr, &place);
                    self.expr_addr(addr, &place);
                    let wanted = self.tensor(addr).1;
                    if let Some(ty) = self.expr(value, &place) {
                        self.same(ty, wanted, "the value", &place);
                    }
                    if let Stmt::Accumulate(op, ..) = stmt {
                        if op.compares() {
                            self.wrong(&place, "accumulates with a comparison");
                        }
                        self.computes(op.name(), wanted, &place);
                    }
                }
                Stmt::Prefetch(addr, _) => self.expr_addr(addr, &place),
                Stmt::Matmul { out, a, b, transposed, .. } => {
                    self.matmul([out, a, b], *transposed, &place);
                }
                Stmt::For(counted) | Stmt::Walk(_, counted) => self.counted(counted, &place),
            }
        }
    }

    fn counted(&mut self, counted: &Loop, place: &Place) {
        let var = &self.program.registers[counted.var.index()];
        self.same(var.ty, INDEX, &format!("loop variable `{}`", var.name), place);
        for bound in [&counted.lo, &counted.hi] {
            if let Some(ty) = self.expr(bound, place) {
                self.same(ty, INDEX, "a bound", place);
            }
        }
        self.body(&counted.body, place);
    }

    fn expr_addr(&mut self, addr: &Addr<Expr>, place: &Place) {
        for index in addr.expressions() {
            if let Some(ty) = self.expr(index, place) {
                self.same(ty, INDEX, "an index", place);
            }
        }
    }

    /// Returns an expression's type; `None` if an error in it has been reported.
    fn expr(&mut self, expr: &Expr, place: &Place) -> Option<Type> {
        match expr {
            Expr::Register(register) => Some(self.program.registers[register.index()].ty),
            Expr::Const(value) => Some(Type::scalar(value.dtype())),
            Expr::Size(_) => Some(INDEX),
            Expr::Load(addr) => {
                self.expr_addr(addr, place);
                Some(self.tensor(addr).1)
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.expr(a, place), self.expr(b, place));
                let (a, b) = (a?, b?);
                if a != b {
                    self.wrong(place, format!("`{}` combines {a} with {b}", op.name()));
                    return None;
                }
                self.computes(op.name(), a, place);
                Some(Type { dtype: op.result(a.dtype), lanes: a.lanes })
            }
            Expr::Select(c, a, b) => {
                let (c, a, b) = (self.expr(c, place), self.expr(a, place), self.expr(b, place));
                let (c, a, b) = (c?, a?, b?);
                if a != b || c != (Type { dtype: DType::I64, lanes: a.lanes }) {
                    self.wrong(place, format!("`select` chooses {a} or {b} by {c}"));
                    return None;
                }
                Some(a)
            }
            Expr::Unary(op, x) => {
                let x = self.expr(x, place)?;
                if !op.takes(x.dtype) {
                    let message = format!("`{}` of {x}, and it takes f32 or f64", op.name());
                    self.wrong(place, message);
                    return None;
                }
                Some(x)
            }
            Expr::Fold(op, x) => {
                let x = self.expr(x, place)?;
                if !op.folds() {
                    self.wrong(place, format!("folds by `{}`, whose order matters", op.name()));
                }
                self.computes("fold", x, place);
                Some(Type::scalar(x.dtype))
            }
            Expr::Cast(dtype, x) => Some(Type { dtype: *dtype, lanes: self.expr(x, place)?.lanes }),
            Expr::Broadcast(lanes, x) => {
                let x = self.expr(x, place)?;
                if x.lanes != 1 {
                    self.wrong(place, format!("`broadcast` spreads a scalar, not {x}"));
                    return None;
                }
                Some(Type { dtype: x.dtype, lanes: *lanes })
            }
            Expr::Iota(lanes, x) => {
                let x = self.expr(x, place)?;
                self.same(x, INDEX, "the base of `iota`", place);
                Some(Type { dtype: DType::I64, lanes: *lanes })
            }
        }
    }
}
