//! The compute half: registers, cases, statements and values.

use super::reader::{Forms, Reader};
use ember_language::diagnostic::Diagnostic;
use ember_language::sexp::Sexp;
use ember_language::suggest::unknown;
use ember_targets::dlc::{
    Addr, CacheLevel, Case, Expr, Loop, PRODUCTS, Register, RegisterId, SizeId, Stmt, TensorId,
    UnitId,
};
use ember_targets::verify::{Part, Place};
use ember_values::scalar::{BinaryOp, Scalar, UnaryOp};

/// The forms of registers, the main code and the cases.
pub const COMPUTE: Forms = Forms {
    what: "form of the compute loop",
    shapes: &["(register NAME TYPE)", "(main STATEMENT…)", "(case NAME STATEMENT…)"],
    scalars: false,
};

/// The forms of statements.
pub const STATEMENTS: Forms = Forms {
    what: "statement",
    shapes: &[
        "(set REGISTER VALUE)",
        "(pop_operand REGISTER)",
        "(store (at TENSOR VALUE…) VALUE)",
        "(accumulate OP (at TENSOR VALUE…) VALUE)",
        "(prefetch (at TENSOR VALUE…) LEVEL)",
        "(matmul OUT A B)",
        "(matmul_t OUT A B)",
        "(matmul_add OUT A B)",
        "(matmul_t_add OUT A B)",
        "(for REGISTER LO HI STEP STATEMENT…)",
        "(walk UNIT REGISTER LO HI STEP STATEMENT…)",
    ],
    scalars: false,
};

/// The forms of values.
pub const VALUES: Forms = Forms {
    what: "value",
    shapes: &[
        "(const DTYPE NUMBER)",
        "(size NAME)",
        "(load (at TENSOR VALUE…))",
        "(select VALUE VALUE VALUE)",
        "(cast DTYPE VALUE)",
        "(broadcast LANES VALUE)",
        "(iota LANES VALUE)",
        "(fold OP VALUE)",
    ],
    scalars: true,
};

impl Reader {
    /// Reads the forms of `compute_loop`, whose names are already declared.
    pub fn compute(&mut self, forms: &[Sexp]) {
        for form in forms {
            let Some((head, items)) = self.form(form, &COMPUTE) else {
                continue;
            };
            match head {
                "register" => {
                    let Some([name, ty]) = self.items(form, items) else { continue };
                    if let (Some(name), Some(ty)) = (self.name(name), self.ty(ty)) {
                        self.program.registers.push(Register { name, ty });
                    }
                }
                "main" => {
                    let place = Place { part: Part::Main, name: String::new(), path: Vec::new() };
                    self.once(form, &place, "`main`");
                    self.program.main = self.body(items, &place);
                }
                _ => {
                    let Some(([name], items)) = self.leading(form, items) else { continue };
                    let Some(name) = self.name(name) else { continue };
                    let place = Place { part: Part::Case, name: name.clone(), path: Vec::new() };
                    let body = self.body(items, &place);
                    self.program.cases.push(Case { name, body });
                }
            }
        }
    }

    fn body(&mut self, statements: &[Sexp], place: &Place) -> Vec<Stmt> {
        let mut read = Vec::with_capacity(statements.len());
        for (at, statement) in statements.iter().enumerate() {
            let mut place = place.clone();
            place.path.push(at);
            self.stands(&place, statement.span);
            read.extend(self.deeper(statement, |r| r.statement(statement, &place)));
        }
        read
    }

    fn register(&mut self, sexp: &Sexp) -> Option<RegisterId> {
        self.resolve(Part::Register, sexp).map(RegisterId)
    }

    fn statement(&mut self, sexp: &Sexp, place: &Place) -> Option<Stmt> {
        let (head, items) = self.form(sexp, &STATEMENTS)?;
        match head {
            "set" => {
                let [register, value] = self.items(sexp, items)?;
                let (register, value) = (self.register(register), self.value(value));
                Some(Stmt::Set(register?, value?))
            }
            "pop_operand" => {
                let [register] = self.items(sexp, items)?;
                self.register(register).map(Stmt::Pop)
            }
            "store" => {
                let [addr, value] = self.items(sexp, items)?;
                let (addr, value) = (self.addr(addr, Self::value), self.value(value));
                Some(Stmt::Store(addr?, value?))
            }
            "accumulate" => {
                let [op, addr, value] = self.items(sexp, items)?;
                let op = self.op(op);
                let (addr, value) = (self.addr(addr, Self::value), self.value(value));
                Some(Stmt::Accumulate(op?, addr?, value?))
            }
            "prefetch" => {
                let [addr, level] = self.items(sexp, items)?;
                let word = level.atom().unwrap_or_default();
                let parsed = CacheLevel::parse(word);
                if parsed.is_none() {
                    let names = CacheLevel::ALL.map(CacheLevel::name);
                    self.errors.push(unknown("cache level", word, level.span, names));
                }
                Some(Stmt::Prefetch(self.addr(addr, Self::value)?, parsed?))
            }
            "matmul" | "matmul_t" | "matmul_add" | "matmul_t_add" => {
                let [out, a, b] = self.items(sexp, items)?;
                let [out, a, b] = [out, a, b].map(|operand| self.matrix(operand));
                let (_, transposed, adds) = *PRODUCTS.iter().find(|(name, ..)| *name == head)?;
                Some(Stmt::Matmul { out: out?, a: a?, b: b?, transposed, adds })
            }
            "for" => {
                let ([var, lo, hi, step], body) = self.leading(sexp, items)?;
                self.counted([var, lo, hi, step], body, place).map(Stmt::For)
            }
            _ => {
                let ([unit, var, lo, hi, step], body) = self.leading(sexp, items)?;
                let unit = self.resolve(Part::Unit, unit).map(UnitId);
                let counted = self.counted([var, lo, hi, step], body, place);
                Some(Stmt::Walk(unit?, counted?))
            }
        }
    }

    /// Reads an operand of a product: a tensor, the address of one matrix of a batch, or that of a block.
    fn matrix(&mut self, sexp: &Sexp) -> Option<Addr<Expr>> {
        match sexp.form() {
            Some(_) => self.part(sexp, 2, Self::value),
            None => self.resolve(Part::Tensor, sexp).map(TensorId).map(Addr::whole),
        }
    }

    fn counted(
        &mut self,
        [var, lo, hi, step]: [&Sexp; 4],
        body: &[Sexp],
        place: &Place,
    ) -> Option<Loop> {
        let var = self.register(var);
        let (lo, hi) = (self.value(lo), self.value(hi));
        let step = self.step(step);
        let body = self.body(body, place);
        Some(Loop { var: var?, lo: lo?, hi: hi?, step: step?, body })
    }

    fn value(&mut self, sexp: &Sexp) -> Option<Expr> {
        self.deeper(sexp, |r| r.value_here(sexp))
    }

    fn value_here(&mut self, sexp: &Sexp) -> Option<Expr> {
        if let Some(word) = sexp.atom() {
            if let Ok(n) = word.parse() {
                return Some(Expr::Const(Scalar::I64(n)));
            }
            if word.parse::<f64>().is_ok() && word.starts_with(|c: char| !c.is_alphabetic()) {
                let error = Diagnostic::error("a number without its type", sexp.span, "of which?");
                self.errors.push(error.with_help(format!("write `(const f32 {word})`")));
                return None;
            }
        }
        if sexp.list().is_none() {
            return self.register(sexp).map(Expr::Register);
        }
        let (head, items) = self.form(sexp, &VALUES)?;
        match head {
            "const" => {
                let [dtype, value] = self.items(sexp, items)?;
                let dtype = self.dtype(dtype)?;
                self.scalar(dtype, value).map(Expr::Const)
            }
            "size" => {
                let [size] = self.items(sexp, items)?;
                self.resolve(Part::Size, size).map(|id| Expr::Size(SizeId(id)))
            }
            "load" => {
                let [addr] = self.items(sexp, items)?;
                self.addr(addr, Self::value).map(|addr| Expr::Load(Box::new(addr)))
            }
            "select" => {
                let [c, a, b] = self.items(sexp, items)?;
                let (c, a, b) = (self.value(c), self.value(a), self.value(b));
                Some(Expr::Select(Box::new(c?), Box::new(a?), Box::new(b?)))
            }
            "cast" => {
                let [dtype, x] = self.items(sexp, items)?;
                let (dtype, x) = (self.dtype(dtype), self.value(x));
                Some(Expr::Cast(dtype?, Box::new(x?)))
            }
            "fold" => {
                let [op, x] = self.items(sexp, items)?;
                let (op, x) = (self.op(op), self.value(x));
                Some(Expr::Fold(op?, Box::new(x?)))
            }
            "broadcast" | "iota" => {
                let [lanes, x] = self.items(sexp, items)?;
                let (lanes, x) = (self.lanes(lanes), self.value(x));
                let make = if head == "iota" { Expr::Iota } else { Expr::Broadcast };
                Some(make(lanes?, Box::new(x?)))
            }
            _ => self.scalar_operation(sexp, head, items),
        }
    }

    /// Reads an operation on scalars, applied lane by lane.
    fn scalar_operation(&mut self, sexp: &Sexp, name: &str, items: &[Sexp]) -> Option<Expr> {
        if let Some(op) = UnaryOp::parse(name) {
            let [x] = self.items(sexp, items)?;
            return Some(Expr::Unary(op, Box::new(self.value(x)?)));
        }
        let op = BinaryOp::parse(name)?;
        let [a, b] = self.items(sexp, items)?;
        let (a, b) = (self.value(a), self.value(b));
        Some(Expr::Binary(op, Box::new(a?), Box::new(b?)))
    }
}
