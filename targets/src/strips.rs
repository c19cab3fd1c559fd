//! Strips: the rows of a tensor that the iterations of a loop use in turn, each as many, and the last one those that are
//! left.

use crate::addresses::{affine, each_address};
use crate::dlc::{Addr, Dim, Expr, Loop, Program, RegisterId, Stmt, TensorId};
use crate::loops::{around_uses, counters, is_extent, is_number};
use ember_values::scalar::{Chosen, Linear, Scalar};
use std::collections::BTreeSet;

/// Rows of a tensor: from a loop's variable on, so many, and below an extent.
#[derive(Clone, Copy, Debug)]
pub struct Strip {
    /// The variable.
    pub first: RegisterId,
    /// The number of rows.
    pub rows: u64,
    /// The extent.
    pub all: Dim,
}

/// How an address goes through the rows of a strip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Through {
    /// It is a block of all of them.
    Block,
    /// The loop at this position, of those around it, counts them.
    Loop(usize),
}

impl Strip {
    /// Returns the strip of a tensor that each iteration of the outermost loop around all uses is at; `None` if one may be
    /// at other rows, or has one row.
    pub fn of(program: &Program, tensor: TensorId) -> Option<Strip> {
        let outer = around_uses(program, tensor)?.into_iter().next()?;
        let all = *program.tensors[tensor.index()].shape.first()?;
        let rows = u64::try_from(outer.step).ok().filter(|rows| *rows > 1)?;
        let strip = Strip { first: outer.var, rows, all };
        let counters = counters(program);
        let whole = is_number(&outer.lo, 0) && is_extent(&outer.hi, all);
        let fits = whole && counters.contains(&outer.var);
        (fits && strip.has_all(&outer.body, tensor, &counters, &mut Vec::new())).then_some(strip)
    }

    /// Returns true if all places of a tensor in statements are in the strip.
    fn has_all<'a>(
        &self,
        body: &'a [Stmt],
        tensor: TensorId,
        counters: &BTreeSet<RegisterId>,
        loops: &mut Vec<&'a Loop>,
    ) -> bool {
        body.iter().all(|stmt| {
            let mut all = true;
            each_address(stmt, &mut |addr| {
                if addr.tensor == tensor {
                    all &= match self.through(addr, loops) {
                        Some(Through::Loop(at)) => counters.contains(&loops[at].var),
                        Some(Through::Block) => true,
                        None => false,
                    };
                }
            });
            if let Stmt::For(own) | Stmt::Walk(_, own) = stmt {
                loops.push(own);
                all &= self.has_all(&own.body, tensor, counters, loops);
                loops.pop();
            }
            all
        })
    }

    /// Returns how an address goes through the rows; `None` if it may be at others, or leave some out.
    pub fn through(&self, addr: &Addr<Expr>, loops: &[&Loop]) -> Option<Through> {
        match (&addr.rows, addr.index.split_first()?) {
            (Some(rows), (Expr::Register(at), [_])) => {
                let all = u64::from(rows.count) == self.rows && is_extent(&rows.limit, self.all);
                (*at == self.first && all).then_some(Through::Block)
            }
            (None, (Expr::Register(row), [_, ..])) => {
                let counts = |own: &&Loop| own.var == *row && self.is_counted(own);
                loops.iter().position(counts).map(Through::Loop)
            }
            _ => None,
        }
    }

    /// Returns true if a loop counts the rows.
    pub fn is_counted(&self, own: &Loop) -> bool {
        let first = Expr::Register(self.first);
        let is_next = |hi: &Expr| {
            let rows =
                affine(hi).zip(affine(&first)).and_then(|(hi, lo)| hi.sub(&lo)?.as_constant());
            rows.and_then(|rows| u64::try_from(rows).ok()) == Some(self.rows)
        };
        let ends = |a: &Expr, b: &Expr| is_next(a) && is_extent(b, self.all);
        let least = match &own.hi {
            Expr::Binary(op, a, b) if op.chooses() == Some(Chosen::Least) => {
                ends(a, b) || ends(b, a)
            }
            _ => false,
        };
        own.step == 1 && own.lo == first && least
    }

    /// Counts the row of an address from the first of the strip on, or from 0 again.
    pub fn count_rows(&self, addr: &mut Addr<Expr>, from_first: bool) {
        let limit = addr.rows.as_mut().map(|rows| &mut rows.limit);
        for place in addr.index.first_mut().into_iter().chain(limit) {
            let first = Expr::Register(self.first);
            *place = match place {
                _ if from_first && *place == first => Expr::Const(Scalar::I64(0)),
                _ if from_first => {
                    let difference = Linear::Sum.inverse();
                    Expr::Binary(difference, Box::new(place.clone()), Box::new(first))
                }
                Expr::Binary(op, x, by) if op.undoes() == Some(Linear::Sum) && **by == first => {
                    (**x).clone()
                }
                _ if is_number(place, 0) => first,
                _ => Expr::sum(place.clone(), first),
            };
        }
    }
}
