//! Loops inside of callbacks: those of the execute unit alone are loops of `scf`; those that both units run together are
//! `dae.walk`, whose variable is a stream, with the bounds of the access unit and then those of the execute unit.

use super::{NoDialect, Value, Writer, streamed};
use crate::mlir::lines::{own_loop, own_operation};
use crate::mlir::types::{Elem, Type};
use egg::Id;
use rustc_hash::{FxHashMap, FxHashSet};

/// The type of whole numbers.
const INDEX: Type = Type::Scalar(Elem::Index);

/// A loop of the execute unit, or of both.
pub(super) struct Looped {
    pub variable: Id,
    /// The bounds on the access unit, of a loop of both.
    pub access: Option<[Id; 2]>,
    /// The bounds on the execute unit, and the step.
    pub bounds: [Id; 3],
}

/// The reduction that a loop computes.
pub(super) struct Folded {
    pub fold: Id,
    pub start: Id,
    pub value: Id,
}

impl Writer<'_> {
    /// Writes a loop of statements.
    pub(super) fn repeat(&mut self, looped: &Looped, body: Id) -> Result<(), NoDialect> {
        self.region(looped, body, None, |writer| writer.executed(body)).map(|_| ())
    }

    /// Writes a loop that reduces, and returns its result.
    pub(super) fn reduce(&mut self, looped: &Looped, folded: &Folded) -> Result<Value, NoDialect> {
        let start = self.value(folded.start)?;
        let of = start.1.clone();
        let own = (self.out.fresh(), of.clone());
        let fold = self.term[folded.fold].to_string();
        let name = self.region(looped, folded.value, Some([start, own.clone()]), |writer| {
            let value = writer.value(folded.value)?;
            let (next, of) = writer.out.apply(&fold, vec![own, value])?;
            writer.out.line(match looped.access {
                Some(_) => own_operation("yield", &[(next, of.to_string())], &[], "()"),
                None => format!("scf.yield {next} : {of}"),
            });
            Ok(())
        })?;
        Ok((name, of))
    }

    /// Writes a loop around a region, which may carry a value from its start, under a name inside. Returns the name of what
    /// the loop gives.
    fn region(
        &mut self,
        looped: &Looped,
        body: Id,
        carried: Option<[Value; 2]>,
        inside: impl FnOnce(&mut Self) -> Result<(), NoDialect>,
    ) -> Result<String, NoDialect> {
        let mut bounds = Vec::new();
        for bound in looped.bounds {
            bounds.push(self.value(bound)?.0);
        }
        let access = match looped.access {
            Some([lo, hi]) => Some([self.stream(lo)?.0, self.stream(hi)?.0]),
            None => None,
        };
        let index = self.out.fresh();
        let result = carried.as_ref().map(|_| self.out.fresh()).unwrap_or_default();
        let defined = if result.is_empty() { String::new() } else { format!("{result} = ") };
        let mut around = FxHashMap::default();
        let end = match access {
            Some(access) => {
                let stream = streamed(&INDEX);
                let mut operands: Vec<(String, String)> =
                    access.into_iter().map(|name| (name, stream.clone())).collect();
                // Like other loops: the step after the bounds.
                bounds.rotate_right(1);
                operands.extend(bounds.into_iter().map(|name| (name, INDEX.to_string())));
                let mut arguments = vec![(index.clone(), stream)];
                let mut of = "()".to_owned();
                if let Some([start, own]) = carried {
                    of = own.1.to_string();
                    operands.push((start.0, of.clone()));
                    arguments.push((own.0, of.clone()));
                }
                let [first, label, end] = own_loop("walk", &operands, &arguments, &of);
                self.out.line(format!("{defined}{first}"));
                self.out.line(label);
                around.insert(looped.variable, (index, INDEX));
                end
            }
            None => {
                let carries = carried.map_or(String::new(), |[start, own]| {
                    format!(" iter_args({} = {}) -> ({})", own.0, start.0, own.1)
                });
                let range = format!("{} to {} step {}", bounds[0], bounds[1], bounds[2]);
                self.out.line(format!("{defined}scf.for {index} = {range}{carries} {{"));
                self.counts.insert(looped.variable, index);
                "}".to_owned()
            }
        };
        let yields = looped.access.is_some() && result.is_empty();
        self.out.indent += 1;
        self.known.push(around);
        // What the execute unit pops inside is a stream first.
        self.streams_of(body, &mut FxHashSet::default())?;
        inside(self)?;
        if yields {
            self.out.line(own_operation("yield", &[], &[], "()"));
        }
        self.known.pop();
        self.out.indent -= 1;
        self.counts.remove(&looped.variable);
        self.out.line(end);
        Ok(result)
    }
}
