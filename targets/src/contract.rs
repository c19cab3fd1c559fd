//! Contraction: a tensor of which each iteration of a loop uses one part of its own needs room for one part only, which
//! the iterations use in turn and which stays in the caches.
//!
//! A program reads of such a tensor only what it has written, since its contents at the start have no meaning. No
//! iteration reads what another one has written, since each has a first index of its own; and so has each iteration of
//! the loops around, since otherwise the loop would run again and find what it left.

use crate::addresses::{each_address, each_address_mut};
use crate::dlc::{Addr, Dim, Expr, Program, Purpose, RegisterId, Stmt, TensorDecl, TensorId};
use crate::strips::Strip;

/// The end of the names of contracted tensors.
const PART: &str = ".part";

/// Returns the name of the whole tensor of which a scratch tensor is a part, by its name.
pub fn whole_name(part: &TensorDecl) -> Option<&str> {
    let name = part.name.trim_end_matches('_').strip_suffix(PART)?;
    (part.purpose == Purpose::Scratch && !name.is_empty()).then_some(name)
}

/// Contracts the tensors of a program that nothing else uses: `private` says of a name whether it is one of them. They
/// become scratch memory with names of their own.
pub fn contracted(mut program: Program, private: impl Fn(&str) -> bool) -> Program {
    let of_streams = program.streamed();
    for at in 0..program.tensors.len() {
        let tensor = TensorId(at as u32);
        let declared = &program.tensors[at];
        if !declared.writable() || !private(&declared.name) || of_streams.contains(&tensor) {
            continue;
        }
        if let Some(strip) = Strip::of(&program, tensor) {
            for body in program.parts_mut() {
                each_address_mut(body, &mut |addr| {
                    if addr.tensor == tensor {
                        strip.count_rows(addr, true);
                    }
                });
            }
            program.tensors[at].shape[0] = Dim::Const(strip.rows);
            make_scratch(&mut program, at);
            continue;
        }
        let mut removed = 0;
        while program.tensors[at].shape.len() > 1 && is_by_part(&program, tensor, removed) {
            for body in program.parts_mut() {
                each_address_mut(body, &mut |addr| {
                    if addr.tensor == tensor {
                        addr.index.remove(0);
                    }
                });
            }
            program.tensors[at].shape.remove(0);
            removed += 1;
            if program.tensors[at].purpose != Purpose::Scratch {
                make_scratch(&mut program, at);
            }
        }
    }
    program
}

/// Makes a tensor scratch memory with a name of its own.
fn make_scratch(program: &mut Program, at: usize) {
    program.tensors[at].purpose = Purpose::Scratch;
    let mut name = format!("{}{PART}", program.tensors[at].name);
    while program.tensors.iter().any(|other| other.name == name) {
        name.push('_');
    }
    program.tensors[at].name = name;
}

/// Returns true if the program uses a tensor in one loop alone, with so many `around` it, and there only with the loop's
/// variable as first index.
fn is_by_part(program: &Program, tensor: TensorId, around: usize) -> bool {
    let mut search =
        Search { tensor, around, loops: Vec::new(), count: 0, found: None, uses: 0, fits: true };
    program.parts().for_each(|body| search.body(body));
    search.fits && search.uses > 0
}

/// The search for the loop whose iterations use one part of a tensor each.
struct Search {
    tensor: TensorId,
    /// The loops around the one that is searched for, each of which has a part of its own.
    around: usize,
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
        // The last index of a run is where its lanes start, and the last but one of a block where its rows do.
        let ranges = usize::from(addr.lanes.is_some()) + usize::from(addr.rows.is_some());
        let first = addr.index.first().filter(|_| addr.index.len() > ranges);
        let own = match first {
            Some(Expr::Register(register)) => {
                let at = self.loops.iter().rposition(|(_, var)| var == register);
                at.filter(|at| *at == self.around).map(|at| self.loops[at].0)
            }
            _ => None,
        };
        self.fits &= own.is_some() && self.found.is_none_or(|found| own == Some(found));
        self.found = own;
    }
}
