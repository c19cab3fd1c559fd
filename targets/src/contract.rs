//! Contraction: a tensor of which each iteration of a loop uses one part of its own needs room for one part only, which
//! the iterations use in turn and which stays in the caches.
//!
//! What a program reads of such a tensor it has written before, since its contents at the start have no meaning; and no
//! iteration reads what another one has written, since each has a first index of its own.

use crate::dlc::{Action, Addr, Expr, Program, Purpose, RegisterId, Stmt, StreamKind, TensorId};

/// Contracts the tensors of a program that nothing else uses: `private` says of a name whether it is one of them. They
/// become scratch memory with names of their own.
pub fn contracted(mut program: Program, private: impl Fn(&str) -> bool) -> Program {
    let of_streams: Vec<TensorId> = streamed(&program);
    for at in 0..program.tensors.len() {
        let tensor = TensorId(at as u32);
        let declared = &program.tensors[at];
        if !declared.writable() || !private(&declared.name) || of_streams.contains(&tensor) {
            continue;
        }
        while program.tensors[at].shape.len() > 1 && is_by_part(&program, tensor) {
            for body in bodies_mut(&mut program) {
                each_address_mut(body, &mut |addr| {
                    if addr.tensor == tensor {
                        addr.index.remove(0);
                    }
                });
            }
            program.tensors[at].shape.remove(0);
            if program.tensors[at].purpose != Purpose::Scratch {
                program.tensors[at].purpose = Purpose::Scratch;
                let mut name = format!("{}.part", program.tensors[at].name);
                while program.tensors.iter().any(|other| other.name == name) {
                    name.push('_');
                }
                program.tensors[at].name = name;
            }
        }
    }
    program
}

/// Returns the tensors that the access unit loads or stores.
fn streamed(program: &Program) -> Vec<TensorId> {
    let loaded = program.streams.iter().filter_map(|stream| match &stream.kind {
        StreamKind::Mem { addr, .. } => Some(addr.tensor),
        _ => None,
    });
    let units = program.units.iter().flat_map(|unit| [&unit.beg, &unit.ite, &unit.end]).flatten();
    let stored = units.chain(&program.access).filter_map(|action| match action {
        Action::Store { addr, .. } => Some(addr.tensor),
        _ => None,
    });
    loaded.chain(stored).collect()
}

fn bodies_mut(program: &mut Program) -> impl Iterator<Item = &mut Vec<Stmt>> {
    let cases = program.cases.iter_mut().map(|case| &mut case.body);
    std::iter::once(&mut program.main).chain(cases)
}

/// Returns true if the program uses a tensor in one loop alone, and there only with the loop's variable as first index.
fn is_by_part(program: &Program, tensor: TensorId) -> bool {
    let mut search =
        Search { tensor, loops: Vec::new(), count: 0, found: None, uses: 0, fits: true };
    search.body(&program.main);
    program.cases.iter().for_each(|case| search.body(&case.body));
    search.fits && search.uses > 0
}

/// The search for the loop whose iterations use one part of a tensor each.
struct Search {
    tensor: TensorId,
    /// The loops around the current statement, by number, with their variables.
    loops: Vec<(usize, RegisterId)>,
    count: usize,
    /// The loop, by number.
    found: Option<usize>,
    uses: usize,
    fits: bool,
}

impl Search {
    fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            each_address(stmt, &mut |addr| self.address(addr));
            if let Stmt::For(own) | Stmt::Walk(_, own) = stmt {
                self.count += 1;
                self.loops.push((self.count, own.var));
                self.body(&own.body);
                self.loops.pop();
            }
            // A variable that the body changes is no number of an iteration.
            if let Stmt::Set(register, _) | Stmt::Pop(register) = stmt
                && self.loops.iter().any(|(_, var)| var == register)
            {
                self.fits = false;
            }
        }
    }

    fn address(&mut self, addr: &Addr<Expr>) {
        if addr.tensor != self.tensor {
            return;
        }
        self.uses += 1;
        // The last index of a run is where its lanes start.
        let first = addr.index.first().filter(|_| addr.index.len() > 1 || addr.lanes.is_none());
        let own = match first {
            Some(Expr::Register(register)) => {
                self.loops.iter().rev().find(|(_, var)| var == register).map(|(number, _)| *number)
            }
            _ => None,
        };
        self.fits &= own.is_some() && self.found.is_none_or(|found| own == Some(found));
        self.found = own;
    }
}

/// Visits the addresses of a statement, but not those in the body of a loop.
fn each_address(stmt: &Stmt, visit: &mut dyn FnMut(&Addr<Expr>)) {
    let mut loads = |expr: &Expr| {
        expr.walk(&mut |part| {
            if let Expr::Load(addr) = part {
                visit(addr);
            }
        });
    };
    match stmt {
        Stmt::Set(_, value) => loads(value),
        Stmt::Pop(_) => {}
        Stmt::Store(addr, value) | Stmt::Accumulate(_, addr, value) => {
            indices(addr).for_each(&mut loads);
            loads(value);
            visit(addr);
        }
        Stmt::Prefetch(addr) => {
            indices(addr).for_each(&mut loads);
            visit(addr);
        }
        Stmt::Matmul { out, a, b, .. } => {
            for addr in [out, a, b] {
                indices(addr).for_each(&mut loads);
            }
            [out, a, b].into_iter().for_each(visit);
        }
        Stmt::For(own) | Stmt::Walk(_, own) => {
            loads(&own.lo);
            loads(&own.hi);
        }
    }
}

fn indices(addr: &Addr<Expr>) -> impl Iterator<Item = &Expr> {
    addr.index.iter().chain(addr.lanes.iter().map(|lanes| &lanes.limit))
}

/// Changes every address of statements, those in the bodies of loops included.
fn each_address_mut(body: &mut [Stmt], change: &mut dyn FnMut(&mut Addr<Expr>)) {
    for stmt in body {
        match stmt {
            Stmt::Set(_, value) => in_expr(value, change),
            Stmt::Pop(_) => {}
            Stmt::Store(addr, value) | Stmt::Accumulate(_, addr, value) => {
                in_addr(addr, change);
                in_expr(value, change);
            }
            Stmt::Prefetch(addr) => in_addr(addr, change),
            Stmt::Matmul { out, a, b, .. } => {
                [out, a, b].into_iter().for_each(|addr| in_addr(addr, change));
            }
            Stmt::For(own) | Stmt::Walk(_, own) => {
                in_expr(&mut own.lo, change);
                in_expr(&mut own.hi, change);
                each_address_mut(&mut own.body, change);
            }
        }
    }
}

fn in_addr(addr: &mut Addr<Expr>, change: &mut dyn FnMut(&mut Addr<Expr>)) {
    let limits = addr.lanes.iter_mut().map(|lanes| &mut lanes.limit);
    addr.index.iter_mut().chain(limits).for_each(|index| in_expr(index, change));
    change(addr);
}

fn in_expr(expr: &mut Expr, change: &mut dyn FnMut(&mut Addr<Expr>)) {
    match expr {
        Expr::Register(_) | Expr::Const(_) | Expr::Size(_) => {}
        Expr::Load(addr) => in_addr(addr, change),
        Expr::Unary(_, x)
        | Expr::Fold(_, x)
        | Expr::Cast(_, x)
        | Expr::Broadcast(_, x)
        | Expr::Iota(_, x) => in_expr(x, change),
        Expr::Binary(_, a, b) => [a, b].into_iter().for_each(|x| in_expr(x, change)),
        Expr::Select(c, a, b) => [c, a, b].into_iter().for_each(|x| in_expr(x, change)),
    }
}
