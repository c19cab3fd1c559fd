//! Expressions: one C expression for a scalar, and one for each vector of a value of many lanes.

use super::declare::Declarations;
use super::functions::Functions;
use super::fuse::Fused;
use super::lines::Lines;
use super::names::Names;
use super::parts::looked_up;
use super::vectors::{Pieces, Width, scalar};
use super::{Core, Error};
use crate::dlc::{Addr, Expr, Program, RegisterId, TensorId, Type};
use ember_values::scalar::{BinaryOp, DType, Scalar, UnaryOp};
use std::collections::{BTreeMap, BTreeSet};

/// The C code of an expression, with how tightly its outermost operator binds.
pub(super) struct Code {
    pub(super) text: String,
    pub(super) binding: Binding,
}

/// The classes of operators in C, from the tightest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Binding {
    Atom,
    Prefix,
    Product,
    Sum,
    Comparison,
    Choice,
}

impl Code {
    pub fn atom(text: impl Into<String>) -> Code {
        Code { text: text.into(), binding: Binding::Atom }
    }

    pub fn call(function: &str, operands: &[&str]) -> Code {
        Code::atom(format!("{function}({})", operands.join(", ")))
    }

    /// Returns the text, in parentheses if it binds less tightly than its surroundings need.
    pub fn within(self, binding: Binding) -> String {
        if self.binding <= binding { self.text } else { format!("({})", self.text) }
    }

    /// Returns the text as it is.
    pub fn text(self) -> String {
        self.text
    }
}

/// A program that is being written.
pub(super) struct Writer<'a> {
    pub program: &'a Program,
    pub names: Names,
    pub functions: Functions,
    pub out: Lines,
    pub declarations: Declarations,
    /// The loop variables that number the batches of products, by the tensor that is written.
    pub batches: &'a BTreeMap<TensorId, RegisterId>,
    /// The tensors all rows of which are in one place, or in one place for each part of a loop that threads share.
    pub folded: &'a BTreeSet<TensorId>,
    /// The row of these tensors that stands for all, if it is not the first.
    pub place: Option<String>,
    /// The tensors whose rows are asked for ahead.
    pub looked_up: BTreeSet<TensorId>,
    /// The cache lines of such a row that change places with as many after them; none if 0.
    pub row_swap: u64,
    /// The variables that say if a tensor is written past the caches.
    pub past: BTreeMap<TensorId, String>,
    width: Width,
    /// The threads that share loops.
    pub threads: u32,
    /// True if functions may be inexact in their last bits.
    approximate: bool,
    /// The number of loops around the current statement that run more than once.
    pub depth: usize,
    /// The scalars that were computed before the current statement, with their names.
    ahead: Vec<(Expr, String)>,
    /// The places that the statements just before have asked for.
    pub asked: Vec<Addr<Expr>>,
    /// The greatest values of the loop variables around, if they are known.
    pub most: BTreeMap<RegisterId, i64>,
}

impl<'a> Writer<'a> {
    pub fn new(fused: &'a Fused, core: Core) -> Writer<'a> {
        let program = &fused.program;
        let names = Names::of(program);
        Writer {
            program,
            functions: Functions::of(&names.program),
            names,
            out: Lines::at(1),
            declarations: Declarations::of(program),
            batches: &fused.batches,
            folded: &fused.folded,
            place: None,
            looked_up: looked_up(program),
            row_swap: core.row_swap,
            past: BTreeMap::new(),
            width: Width::of(program, core.vector_bytes),
            threads: core.threads,
            approximate: core.approximate,
            depth: 0,
            ahead: Vec::new(),
            asked: Vec::new(),
            most: BTreeMap::new(),
        }
    }

    pub fn pieces(&self, lanes: u32) -> Pieces {
        self.width.pieces(lanes)
    }

    /// Returns the type of one vector of a value, or of the value if it is a scalar.
    pub fn piece(&self, ty: Type) -> Type {
        Type { dtype: ty.dtype, lanes: self.pieces(ty.lanes).lanes }
    }

    /// Forgets what was computed ahead of the last statement.
    pub fn next_statement(&mut self) {
        self.ahead.clear();
    }

    /// Notes the greatest value of a loop's variable while `then` writes its body.
    pub fn with_most<T>(
        &mut self,
        var: RegisterId,
        most: Option<i64>,
        then: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = match most {
            Some(most) => self.most.insert(var, most),
            None => self.most.remove(&var),
        };
        let done = then(self);
        self.most.remove(&var);
        self.most.extend(before.map(|most| (var, most)));
        done
    }

    pub fn value(&mut self, expr: &Expr) -> Result<Code, Error> {
        let ty = self.program.type_of(expr);
        match expr {
            Expr::Register(register) => {
                let name = &self.names.registers[register.index()];
                Ok(Code::atom(self.element(name, ty)))
            }
            Expr::Const(value) => Ok(constant(*value)),
            Expr::Size(size) => Ok(Code::atom(&self.names.sizes[size.index()])),
            Expr::Load(addr) => self.load(addr),
            Expr::Unary(UnaryOp::Exp, x) if self.approximate && ty.dtype == DType::F32 => {
                let x = self.value(x)?.text;
                let function = self.functions.approximate_exp(self.pieces(ty.lanes).lanes);
                Ok(Code::call(&function, &[&x]))
            }
            Expr::Unary(op, x) => {
                let x = self.value(x)?.text;
                let function = self.functions.unary(*op, self.piece(ty));
                Ok(Code::call(&function, &[&x]))
            }
            Expr::Binary(op, ..) if op.compares() && ty.lanes > 1 => {
                let (mask, _) = self.comparison(expr, ty)?;
                let Pieces { lanes, .. } = self.pieces(ty.lanes);
                let wide = self.functions.vector(DType::I64, lanes);
                let text = format!("-__builtin_convertvector({mask}, {wide})");
                Ok(Code { text, binding: Binding::Prefix })
            }
            // The bits of both are the same, but for the sign of what is no number.
            Expr::Binary(BinaryOp::Max, x, negated)
                if matches!(ty.dtype, DType::F32 | DType::F64) && is_negation(negated, x) =>
            {
                let x = self.value(x)?.text;
                let function = self.functions.abs(self.piece(ty));
                Ok(Code::call(&function, &[&x]))
            }
            Expr::Binary(op, a, b) => {
                let dtype = self.program.type_of(a).dtype;
                let Some(sign) = op.infix(dtype) else {
                    let (a, b) = (self.value(a)?.text, self.value(b)?.text);
                    let function = self.functions.binary(*op, self.piece(ty));
                    return Ok(Code::call(&function, &[&a, &b]));
                };
                let (own, right) = match sign {
                    "*" | "/" => (Binding::Product, Binding::Prefix),
                    "+" | "-" => (Binding::Sum, Binding::Product),
                    _ => (Binding::Comparison, Binding::Sum),
                };
                let (a, b) = (self.operand(a)?.within(own), self.operand(b)?.within(right));
                let text = format!("{a} {sign} {b}");
                Ok(Code { text, binding: own })
            }
            Expr::Select(c, a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                if ty.lanes == 1 {
                    let c = self.value(c)?;
                    let function = self.functions.of_type("choose", ty);
                    return Ok(Code::call(&function, &[&c.text, &a.text, &b.text]));
                }
                let mask = self.chosen_by(c, ty)?;
                let function = self.functions.of_type("select", self.piece(ty));
                Ok(Code::call(&function, &[&mask, &a.text, &b.text]))
            }
            Expr::Fold(op, x) => {
                let lanes = self.program.type_of(x);
                let whole = self.array("lanes", x)?;
                let function = self.functions.fold(*op, lanes, self.pieces(lanes.lanes));
                Ok(Code::call(&function, &[&format!("(const {} *){whole}", scalar(lanes.dtype))]))
            }
            Expr::Cast(to, x) => {
                let from = self.program.type_of(x).dtype;
                let x = self.value(x)?;
                self.cast(x, from, *to, ty.lanes)
            }
            Expr::Broadcast(_, x) => {
                let x = self.once(x)?.text;
                let function = self.functions.of_type("splat", self.piece(ty));
                Ok(Code::call(&function, &[&x]))
            }
            Expr::Iota(_, x) => {
                let Pieces { lanes, count, .. } = self.pieces(ty.lanes);
                let from = self.value(x)?.text;
                let from = if count > 1 { format!("{from} + {lanes} * p") } else { from };
                let function = self.functions.of_type("count", self.piece(ty));
                Ok(Code::call(&function, &[&from]))
            }
        }
    }

    /// Returns an operand of an operator of C, which takes a scalar for equal lanes.
    fn operand(&mut self, expr: &Expr) -> Result<Code, Error> {
        match expr {
            Expr::Broadcast(_, x) => self.once(x),
            _ => self.value(expr),
        }
    }

    /// Returns a scalar that all vectors of a statement use: one that is computed gets a name of its own before it.
    fn once(&mut self, x: &Expr) -> Result<Code, Error> {
        match x {
            Expr::Register(_) | Expr::Const(_) | Expr::Size(_) | Expr::Load(_) => self.value(x),
            _ => self.ahead_of(x, "each"),
        }
    }

    /// Returns the element of a value's array that the current statement is about.
    pub fn element(&self, name: &str, ty: Type) -> String {
        if self.pieces(ty.lanes).count > 1 { format!("{name}[p]") } else { name.to_owned() }
    }

    /// Returns the mask of a comparison of lanes, and the type of what is compared.
    fn comparison(&mut self, expr: &Expr, ty: Type) -> Result<(String, DType), Error> {
        let Expr::Binary(op, a, b) = expr else { return Ok((String::new(), DType::I64)) };
        let compared = self.program.type_of(a).dtype;
        let sign = op.infix(compared).unwrap_or_default();
        let (a, b) = (self.value(a)?.within(Binding::Sum), self.value(b)?.within(Binding::Sum));
        let mask = self.functions.mask(compared, self.pieces(ty.lanes).lanes);
        Ok((format!("({mask})({a} {sign} {b})"), compared))
    }

    /// Returns the mask of the lanes in which a condition is not 0, for a choice between values of a type.
    fn chosen_by(&mut self, condition: &Expr, ty: Type) -> Result<String, Error> {
        let Pieces { lanes, .. } = self.pieces(ty.lanes);
        let (mask, compared) = match condition {
            Expr::Binary(op, ..) if op.compares() => self.comparison(condition, ty)?,
            _ => {
                let mask = self.functions.mask(DType::I64, lanes);
                let condition = self.value(condition)?.within(Binding::Sum);
                (format!("({mask})({condition} != 0)"), DType::I64)
            }
        };
        if compared.bits() == ty.dtype.bits() {
            return Ok(mask);
        }
        let own = self.functions.mask(ty.dtype, lanes);
        Ok(format!("__builtin_convertvector({mask}, {own})"))
    }

    fn cast(&mut self, x: Code, from: DType, to: DType, lanes: u32) -> Result<Code, Error> {
        let lanes = self.pieces(lanes).lanes;
        let ty = Type { dtype: to, lanes };
        let one_by_one = match (from, to) {
            (DType::BF16, other) | (other, DType::BF16) => other != DType::F32,
            _ => from.is_float() && !to.is_float(),
        };
        if lanes > 1 && from != to && one_by_one {
            let each = self.cast(Code::atom("x[k]".to_owned()), from, to, 1)?.text;
            let function = self.functions.by_lane((from, to), lanes, &each);
            return Ok(Code::call(&function, &[&x.text]));
        }
        match (from, to) {
            _ if from == to => Ok(x),
            (DType::BF16, DType::F32) if lanes > 1 => {
                let function = self.functions.plain("lanes_of_bf16", ty);
                Ok(Code::call(&function, &[&x.text]))
            }
            (DType::BF16, _) => {
                let wide = Code::call(&self.functions.plain("f32_of_bf16", ty), &[&x.text]);
                self.cast(wide, DType::F32, to, 1)
            }
            (DType::F32, DType::BF16) if lanes > 1 => {
                let own = Type { dtype: from, lanes };
                Ok(Code::call(&self.functions.plain("lanes_to_bf16", own), &[&x.text]))
            }
            (_, DType::BF16) => {
                let names: &[&str] = match from {
                    DType::I64 => &["bf16_of_f32", "bf16_of_f64", "bf16_of_i64"],
                    DType::F64 | DType::I32 => &["bf16_of_f32", "bf16_of_f64"],
                    _ => &["bf16_of_f32"],
                };
                let mut function = String::new();
                for name in names {
                    function = self.functions.plain(name, ty);
                }
                Ok(Code::call(&function, &[&x.text]))
            }
            _ if from.is_float() && !to.is_float() => {
                Ok(Code::call(&self.functions.truncate(from, to), &[&x.text]))
            }
            (DType::F16, DType::F32) if lanes > 1 => {
                Ok(Code::call(&self.functions.plain("lanes_of_f16", ty), &[&x.text]))
            }
            (DType::F32, DType::F16) if lanes > 1 => {
                let own = Type { dtype: from, lanes };
                Ok(Code::call(&self.functions.plain("lanes_to_f16", own), &[&x.text]))
            }
            _ if lanes > 1 => {
                // Bytes become 32-bit integers first, and those whatever else.
                let bytes = from.bits() <= 8 && to.bits() >= 32;
                let middle = bytes.then(|| self.functions.of_bytes(from, lanes));
                let x = middle.iter().fold(x, |x, function| Code::call(function, &[&x.text]));
                if bytes && to == DType::I32 {
                    return Ok(x);
                }
                self.functions.vector(from, lanes);
                Ok(Code::atom(convert(&x.text, &self.functions.vector(to, lanes))))
            }
            _ => {
                let nibble = if to == DType::U4 { " & 15" } else { "" };
                let text = format!("({}){}{nibble}", scalar(to), x.within(Binding::Prefix));
                let binding = if nibble.is_empty() { Binding::Prefix } else { Binding::Choice };
                Ok(Code { text, binding })
            }
        }
    }

    /// Returns the name of an array of vectors with a whole value, which is computed before the current statement.
    pub fn array(&mut self, name: &str, x: &Expr) -> Result<String, Error> {
        if let Some((_, name)) = self.ahead.iter().find(|(known, _)| known == x) {
            return Ok(name.clone());
        }
        let ty = self.program.type_of(x);
        let Pieces { lanes, count, .. } = self.pieces(ty.lanes);
        let vector = self.functions.vector(ty.dtype, lanes);
        let (array, code) = (self.names.fresh(name), self.value(x)?.text);
        if count > 1 {
            self.out.line(format!("{vector} {array}[{count}];"));
            self.each(x, &format!("{array}[p] = {code};"));
        } else {
            self.out.line(format!("const {vector} {array}[1] = {{{code}}};"));
        }
        self.ahead.push((x.clone(), array.clone()));
        Ok(array)
    }

    /// Returns the name of a scalar that is computed before the current statement.
    pub fn ahead_of(&mut self, x: &Expr, name: &str) -> Result<Code, Error> {
        if let Some((_, name)) = self.ahead.iter().find(|(known, _)| known == x) {
            return Ok(Code::atom(name));
        }
        let ty = scalar(self.program.type_of(x).dtype);
        let (code, name) = (self.value(x)?.text, self.names.fresh(name));
        self.out.line(format!("const {ty} {name} = {code};"));
        self.ahead.push((x.clone(), name.clone()));
        Ok(Code::atom(name))
    }

    /// Returns the greatest value of an index, if constants decide it.
    pub fn greatest(&self, expr: &Expr) -> Option<i64> {
        match expr {
            Expr::Const(Scalar::I64(n)) => Some(*n),
            Expr::Register(register) => self.most.get(register).copied(),
            _ => None,
        }
    }
}

/// Returns true if an expression is 0 minus another one.
fn is_negation(expr: &Expr, of: &Expr) -> bool {
    let Expr::Binary(BinaryOp::Sub, zero, x) = expr else { return false };
    let zero = match &**zero {
        Expr::Broadcast(_, zero) => zero,
        zero => zero,
    };
    let is_zero = match zero {
        Expr::Const(Scalar::F32(x)) => x.to_bits() == 0,
        Expr::Const(Scalar::F64(x)) => x.to_bits() == 0,
        _ => false,
    };
    is_zero && **x == *of
}

fn convert(x: &str, to: &str) -> String {
    format!("__builtin_convertvector({x}, {to})")
}

/// Returns a constant.
pub(super) fn constant(value: Scalar) -> Code {
    let float = |text: String, suffix: &str| {
        let text = match text.trim_start_matches('-') {
            "inf" => text.replace("inf", "INFINITY"),
            "NaN" => "NAN".to_owned(),
            _ => format!("{text}{suffix}"),
        };
        let binding = if text.starts_with('-') { Binding::Prefix } else { Binding::Atom };
        Code { text, binding }
    };
    let integer = |n: i64| match n {
        i64::MIN => Code::atom("INT64_MIN"),
        n if n < 0 => Code { text: n.to_string(), binding: Binding::Prefix },
        n => Code::atom(n.to_string()),
    };
    match value {
        Scalar::F32(x) => float(format!("{x:?}"), "f"),
        Scalar::F64(x) => float(format!("{x:?}"), ""),
        Scalar::F16(x) => float(format!("{:?}", x.to_f32()), "f16"),
        Scalar::BF16(x) => Code::atom(x.to_bits().to_string()),
        Scalar::I64(n) => integer(n),
        Scalar::I32(n) => integer(i64::from(n)),
        Scalar::U8(n) | Scalar::U4(n) => integer(i64::from(n)),
        Scalar::I8(n) => integer(i64::from(n)),
    }
}
