//! Prints a program as text. The compiler's reader turns the text back into the same program; the words are those of
//! the Ember artifact's `dlc` dialect.

use crate::dlc::{
    Action, Addr, Dim, Expr, Lanes, Loop, PRODUCTS, Program, Purpose, RegisterId, Stmt, Stream,
    StreamId, StreamKind, TraversalUnit, Type,
};
use ember_values::layout::{Keep, Layout, WIDTH, quote};
use ember_values::scalar::{DType, Scalar};
use std::fmt;
use std::ops::Range;

/// Returns the program's text. An id outside its list, which no verified program has, prints as `?`.
pub fn print(program: &Program) -> String {
    print_within(program, WIDTH)
}

/// Returns the lines of the text of [`print()`], each with the numbers of the statements of the execute half that start
/// in it. Statements are numbered in the order in which they are printed.
pub fn lines(program: &Program) -> Vec<(String, Range<usize>)> {
    let mut printer = Printer { program, out: Layout::default() };
    printer.program();
    let (text, starts) = printer.out.marked(WIDTH);
    let statements = |line| starts.partition_point(|start| *start < line);
    let lines = text.lines().enumerate();
    lines.map(|(at, line)| (line.to_owned(), statements(at)..statements(at + 1))).collect()
}

/// Returns the text as [`print()`] does, in lines that aim to stay within a width in columns.
pub fn print_within(program: &Program, width: usize) -> String {
    let mut printer = Printer { program, out: Layout::default() };
    printer.program();
    printer.out.render(width)
}

impl fmt::Display for Type {
    /// Prints the element type, with the lanes if there are several: `f32`, `f32x16`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lanes {
            1 => self.dtype.fmt(f),
            n => write!(f, "{}x{n}", self.dtype),
        }
    }
}

/// Returns the word for a product of matrices.
fn product(transposed: bool, adds: bool) -> &'static str {
    let named = PRODUCTS.iter().find(|(_, t, a)| (*t, *a) == (transposed, adds));
    named.map_or("?", |(name, ..)| name)
}

struct Printer<'a> {
    program: &'a Program,
    out: Layout,
}

/// Returns the name at an index of a list, in the form that reads back.
fn name_at<T>(list: &[T], at: usize, name: impl Fn(&T) -> &str) -> String {
    list.get(at).map_or_else(|| "?".to_owned(), |x| quote(name(x)))
}

impl Printer<'_> {
    fn program(&mut self) {
        let program = self.program;
        self.out.head(Keep::Items(2), "dlc");
        self.out.atom(quote(&program.name));
        self.out.head(Keep::Fitting, "sizes");
        program.sizes.iter().for_each(|size| self.out.atom(quote(size)));
        self.out.close();
        for tensor in &program.tensors {
            let head = match tensor.purpose {
                Purpose::Input => "tensor",
                Purpose::Output => "tensor_out",
                Purpose::Scratch => "tensor_scratch",
            };
            self.out.head(Keep::Items(1), head);
            self.out.atom(quote(&tensor.name));
            self.out.atom(tensor.dtype.name());
            self.out.open(Keep::Fitting);
            for dim in &tensor.shape {
                match dim {
                    Dim::Const(n) => self.out.atom(n.to_string()),
                    Dim::Size(size) => self.out.atom(name_at(&program.sizes, size.index(), |s| s)),
                }
            }
            self.out.close();
            self.out.close();
        }
        self.access();
        self.compute();
        self.out.close();
    }

    fn access(&mut self) {
        let program = self.program;
        self.out.head(Keep::Items(1), "configure_access_engine");
        // A unit is printed as early as its bounds allow, so that the streams that depend on it come after it.
        let mut units = program.units.iter().peekable();
        for (at, stream) in program.streams.iter().enumerate() {
            while let Some(unit) = units.next_if(|u| u.lo.index() < at && u.hi.index() < at) {
                self.unit(unit);
            }
            self.stream(stream);
        }
        units.for_each(|unit| self.unit(unit));
        for unit in &program.units {
            for (event, actions) in [("beg", &unit.beg), ("ite", &unit.ite), ("end", &unit.end)] {
                if !actions.is_empty() {
                    self.out.head(Keep::Items(3), "on");
                    self.out.atom(quote(&unit.name));
                    self.out.atom(event);
                    actions.iter().for_each(|a| self.action(a));
                    self.out.close();
                }
            }
        }
        self.out.head(Keep::Items(1), "start");
        program.access.iter().for_each(|a| self.action(a));
        self.out.close();
        self.out.close();
    }

    fn unit(&mut self, unit: &TraversalUnit) {
        self.out.head(Keep::Fitting, "new_tu");
        self.out.atom(quote(&unit.name));
        self.stream_name(&unit.lo);
        self.stream_name(&unit.hi);
        self.out.atom(unit.step.to_string());
        self.out.close();
    }

    fn stream_name(&mut self, id: &StreamId) {
        let name = name_at(&self.program.streams, id.index(), |s| &s.name);
        self.out.atom(name);
    }

    fn stream(&mut self, stream: &Stream) {
        let word = match stream.kind {
            StreamKind::Const(_) => "const_stream",
            StreamKind::Size(_) => "size_stream",
            StreamKind::IndVar(_) => "get_ind_var",
            StreamKind::Mem { .. } => "mem_stream",
            StreamKind::Broadcast(_) => "broadcast_stream",
            StreamKind::IndexCast(_) => "index_cast",
            StreamKind::Alu { .. } => "alu_stream",
        };
        self.out.head(Keep::Fitting, word);
        self.out.atom(quote(&stream.name));
        match &stream.kind {
            StreamKind::Const(value) => {
                self.out.atom(stream.ty.to_string());
                self.out.atom(value.to_string());
            }
            StreamKind::Size(size) => {
                self.out.atom(name_at(&self.program.sizes, size.index(), |s| s));
            }
            StreamKind::IndVar(unit) => {
                self.out.atom(name_at(&self.program.units, unit.index(), |u| &u.name));
            }
            StreamKind::Mem { addr, hint } => {
                self.out.atom(stream.ty.to_string());
                self.addr(addr, Self::stream_name);
                self.out.atom(hint.name());
            }
            StreamKind::Broadcast(from) => {
                self.out.atom(stream.ty.to_string());
                self.stream_name(from);
            }
            StreamKind::IndexCast(from) => self.stream_name(from),
            StreamKind::Alu { op, a, b } => {
                self.out.atom(stream.ty.to_string());
                self.out.atom(op.name());
                self.stream_name(a);
                self.stream_name(b);
            }
        }
        self.out.close();
    }

    fn action(&mut self, action: &Action) {
        match action {
            Action::Operand(stream) => {
                self.out.head(Keep::Fitting, "register_operand");
                self.stream_name(stream);
            }
            Action::Callback(case) => {
                self.out.head(Keep::Fitting, "register_callback");
                self.out.atom(name_at(&self.program.cases, case.index(), |c| &c.name));
            }
            Action::Prefetch(stream) => {
                self.out.head(Keep::Fitting, "prefetch");
                self.stream_name(stream);
            }
            Action::Traverse(unit) => {
                self.out.head(Keep::Fitting, "traverse");
                self.out.atom(name_at(&self.program.units, unit.index(), |u| &u.name));
            }
            Action::Store { addr, value } => {
                self.out.head(Keep::Fitting, "store_stream");
                self.addr(addr, Self::stream_name);
                self.stream_name(value);
            }
            Action::Barrier => self.out.head(Keep::Fitting, "barrier"),
        }
        self.out.close();
    }

    fn addr<I>(&mut self, addr: &Addr<I>, index: impl Fn(&mut Self, &I)) {
        self.out.head(Keep::Fitting, "at");
        self.out.atom(name_at(&self.program.tensors, addr.tensor.index(), |t| &t.name));
        let rank = addr.index.len();
        for (at, i) in addr.index.iter().enumerate() {
            let range = match rank - at {
                1 => &addr.lanes,
                2 => &addr.rows,
                _ => &None,
            };
            match range {
                Some(Lanes { count, limit }) => {
                    self.out.head(Keep::Fitting, "lanes");
                    self.out.atom(count.to_string());
                    index(self, limit);
                    index(self, i);
                    self.out.close();
                }
                None => index(self, i),
            }
        }
        self.out.close();
    }

    fn compute(&mut self) {
        let program = self.program;
        self.out.head(Keep::Items(1), "compute_loop");
        for register in &program.registers {
            self.out.head(Keep::Fitting, "register");
            self.out.atom(quote(&register.name));
            self.out.atom(register.ty.to_string());
            self.out.close();
        }
        self.out.head(Keep::Items(1), "main");
        program.main.iter().for_each(|s| self.stmt(s));
        self.out.close();
        for case in &program.cases {
            self.out.head(Keep::Items(2), "case");
            self.out.atom(quote(&case.name));
            case.body.iter().for_each(|s| self.stmt(s));
            self.out.close();
        }
        self.out.close();
    }

    fn register(&mut self, id: RegisterId) {
        let name = name_at(&self.program.registers, id.index(), |r| &r.name);
        self.out.atom(name);
    }

    fn stmt(&mut self, stmt: &Stmt) {
        self.out.mark();
        match stmt {
            Stmt::Set(register, value) => {
                self.out.head(Keep::Items(2), "set");
                self.register(*register);
                self.expr(value);
            }
            Stmt::Pop(register) => {
                self.out.head(Keep::Fitting, "pop_operand");
                self.register(*register);
            }
            Stmt::Store(addr, value) => {
                self.out.head(Keep::Fitting, "store");
                self.addr(addr, Self::expr);
                self.expr(value);
            }
            Stmt::Accumulate(op, addr, value) => {
                self.out.head(Keep::Fitting, "accumulate");
                self.out.atom(op.name());
                self.addr(addr, Self::expr);
                self.expr(value);
            }
            Stmt::Prefetch(addr, level) => {
                self.out.head(Keep::Fitting, "prefetch");
                self.addr(addr, Self::expr);
                self.out.atom(level.name());
            }
            Stmt::Matmul { out, a, b, transposed, adds } => {
                self.out.head(Keep::Fitting, product(*transposed, *adds));
                for addr in [out, a, b] {
                    if addr.index.is_empty() {
                        let at = addr.tensor.index();
                        self.out.atom(name_at(&self.program.tensors, at, |t| &t.name));
                    } else {
                        self.addr(addr, Self::expr);
                    }
                }
            }
            Stmt::For(body) => {
                self.out.head(Keep::Items(5), "for");
                self.counted(body);
            }
            Stmt::Walk(unit, body) => {
                self.out.head(Keep::Items(6), "walk");
                self.out.atom(name_at(&self.program.units, unit.index(), |u| &u.name));
                self.counted(body);
            }
        }
        self.out.close();
    }

    fn counted(&mut self, body: &Loop) {
        self.register(body.var);
        self.expr(&body.lo);
        self.expr(&body.hi);
        self.out.atom(body.step.to_string());
        body.body.iter().for_each(|s| self.stmt(s));
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Register(register) => return self.register(*register),
            Expr::Const(Scalar::I64(n)) => return self.out.atom(n.to_string()),
            Expr::Const(value) => {
                self.out.head(Keep::Fitting, "const");
                self.out.atom(value.dtype().name());
                self.out.atom(value.to_string());
            }
            Expr::Size(size) => {
                self.out.head(Keep::Fitting, "size");
                self.out.atom(name_at(&self.program.sizes, size.index(), |s| s));
            }
            Expr::Load(addr) => {
                self.out.head(Keep::Fitting, "load");
                self.addr(addr, Self::expr);
            }
            Expr::Binary(op, a, b) => {
                self.out.head(Keep::Fitting, op.name());
                self.expr(a);
                self.expr(b);
            }
            Expr::Select(c, a, b) => {
                self.out.head(Keep::Fitting, "select");
                self.expr(c);
                self.expr(a);
                self.expr(b);
            }
            Expr::Unary(op, x) => {
                self.out.head(Keep::Fitting, op.name());
                self.expr(x);
            }
            Expr::Fold(op, x) => self.unary("fold", op.name(), x),
            Expr::Cast(dtype, x) => self.unary("cast", DType::name(*dtype), x),
            Expr::Broadcast(n, x) => self.unary("broadcast", &n.to_string(), x),
            Expr::Iota(n, x) => self.unary("iota", &n.to_string(), x),
        }
        self.out.close();
    }

    fn unary(&mut self, word: &str, parameter: &str, x: &Expr) {
        self.out.head(Keep::Fitting, word);
        self.out.atom(parameter);
        self.expr(x);
    }
}
