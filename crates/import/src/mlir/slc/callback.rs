//! Callbacks: the statements and values of the execute unit.

use super::loops::{Folded, Looped};
use super::{NoDialect, Value, Writer, memory, streamed};
use crate::mlir::KernelTensor;
use crate::mlir::lines::{
    ADDS, COLUMNS, Operands, TRANSPOSED, Whole, holds, product_of_matrices, sides,
};
use crate::mlir::types::{Elem, Type};
use egg::Id;
use ember_language::sexp::deeper;
use ember_values::scalar::DType;
use rustc_hash::FxHashMap;

/// An element of a tensor, or a run of elements under a mask.
struct Place {
    text: String,
    memory: String,
    of: Type,
    mask: Option<String>,
}

impl<'a> Writer<'a> {
    /// Writes a statement of the execute unit.
    pub(super) fn executed(&mut self, id: Id) -> Result<(), NoDialect> {
        deeper(|| match (self.parts(id).0, &self.parts(id).1[..]) {
            ("exec-sequence", parts) => parts.iter().try_for_each(|part| self.executed(*part)),
            ("exec-nothing", _) => Ok(()),
            ("exec-loop", &[variable, lo, hi, step, body]) => {
                self.repeat(&Looped { variable, access: None, bounds: [lo, hi, step] }, body)
            }
            ("exec-walk", &[variable, from, to, lo, hi, step, body]) => {
                let access = Some([from, to]);
                self.repeat(&Looped { variable, access, bounds: [lo, hi, step] }, body)
            }
            ("exec-store", &[address, value]) => self.apart(|writer| {
                let (value, _) = writer.value(value)?;
                let place = writer.place(address)?;
                writer.store(&place, &value);
                Ok(())
            }),
            ("exec-accumulate", &[fold, address, added]) => self.apart(|writer| {
                let place = writer.place(address)?;
                let before = writer.load(&place);
                let added = writer.value(added)?;
                let fold = writer.term[fold].to_string();
                let (after, _) = writer.out.apply(&fold, vec![before, added])?;
                writer.store(&place, &after);
                Ok(())
            }),
            ("exec-product", parts) => self.apart(|writer| writer.product(false, parts)),
            ("exec-product-transposed", parts) => self.apart(|writer| writer.product(true, parts)),
            ("exec-product-columns", &[out, a, b, first]) => {
                self.apart(|writer| writer.columns_of_product([out, a, b], first, TRANSPOSED))
            }
            ("exec-product-added", &[out, a, b, first]) => {
                self.apart(|writer| writer.columns_of_product([out, a, b], first, ADDS))
            }
            ("exec-product-rows", &[out, a, b, count, end, first]) => {
                self.apart(|writer| writer.rows_of_product([out, a, b], [count, end, first], None))
            }
            ("exec-product-part", &[out, a, b, count, end, first, deep, last, from]) => {
                let depth = Some([deep, last, from]);
                self.apart(|writer| writer.rows_of_product([out, a, b], [count, end, first], depth))
            }
            _ => self.refused(id),
        })
    }

    /// Writes a statement whose values are known nowhere else, since memory may be another after it.
    fn apart(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), NoDialect>,
    ) -> Result<(), NoDialect> {
        self.known.push(FxHashMap::default());
        write(self)?;
        self.known.pop();
        Ok(())
    }

    /// Writes a product of whole tensors, or of matrices of which some are each one of a batch.
    fn product(&mut self, transposed: bool, whole: &[Id]) -> Result<(), NoDialect> {
        let (mut tensors, mut operands) = (Vec::new(), Vec::new());
        for id in whole {
            let (tensor, own) = self.matrix(*id)?;
            let (rank, memory) = (tensor.shape.len(), memory(tensor));
            operands.extend(own);
            tensors.push(Whole { name: &tensor.name, dtype: tensor.dtype, rank, memory });
        }
        if operands.len() > whole.len() {
            let transposed = holds(TRANSPOSED, transposed);
            self.out.line(product_of_matrices(&operands, transposed.as_slice()));
            return Ok(());
        }
        match <[Whole<'_>; 3]>::try_from(tensors) {
            Ok(tensors) => self.out.product(transposed, tensors),
            Err(_) => self.refused(whole[0]),
        }
    }

    /// Writes a product of some columns, from the first on.
    fn columns_of_product(
        &mut self,
        matrices: [Id; 3],
        first: Id,
        how: &str,
    ) -> Result<(), NoDialect> {
        let mut operands = Vec::new();
        for id in matrices {
            operands.extend(self.matrix(id)?.1);
        }
        let (name, of) = self.value(first)?;
        operands.push((name, of.to_string()));
        let attributes: Vec<String> =
            [how, COLUMNS].iter().filter_map(|name| holds(name, true)).collect();
        self.out.line(product_of_matrices(&operands, &attributes));
        Ok(())
    }

    /// Writes a product of some rows, which is added if it is over a part of the depth.
    fn rows_of_product(
        &mut self,
        matrices: [Id; 3],
        rows: [Id; 3],
        depth: Option<[Id; 3]>,
    ) -> Result<(), NoDialect> {
        let mut operands = Vec::new();
        for id in matrices {
            operands.extend(self.matrix(id)?.1);
        }
        let mut attributes: Vec<String> = holds(ADDS, depth.is_some()).into_iter().collect();
        for (name, [count, end, first]) in sides(rows, depth) {
            for id in [end, first] {
                let (name, of) = self.value(id)?;
                operands.push((name, of.to_string()));
            }
            attributes.push(format!("{name} = {}", self.term[count]));
        }
        self.out.line(product_of_matrices(&operands, &attributes));
        Ok(())
    }

    /// Returns an operand of a product: its tensor, and its memory and indices with their types as text.
    fn matrix(&mut self, id: Id) -> Result<(&'a KernelTensor, Operands), NoDialect> {
        let forms = ["exec-element", "exec-input", "exec-output"];
        let (tensor, places) = self.address(id, forms)?;
        let mut operands = vec![(format!("%{}", tensor.name), memory(tensor))];
        for place in places {
            let (name, of) = self.value(place)?;
            operands.push((name, of.to_string()));
        }
        Ok((tensor, operands))
    }

    /// Returns an address of the execute unit.
    fn place(&mut self, id: Id) -> Result<Place, NoDialect> {
        let forms = ["exec-element", "exec-input", "exec-output"];
        let (tensor, places) = self.address(id, forms)?;
        let mut of = Type::Scalar(Elem::of(tensor.dtype));
        let (mut names, mut mask) = (Vec::new(), None);
        for place in places {
            let (form, parts) = self.parts(place);
            let base = if form == "exec-lanes" { parts[2] } else { place };
            let (name, _) = self.value(base)?;
            if form == "exec-lanes" {
                of = self.lanes(parts[0], Elem::of(tensor.dtype));
                let (end, _) = self.value(parts[1])?;
                let (zero, one) = (self.out.number(0), self.out.number(1));
                let bits = of.of(Elem::Bit);
                mask = Some(
                    self.out.define(format!("slcvec.mask {name} {zero} {end} {one} : {bits}")),
                );
            }
            names.push(name);
        }
        let text = format!("%{}[{}]", tensor.name, names.join(", "));
        Ok(Place { text, memory: memory(tensor), of, mask })
    }

    fn load(&mut self, place: &Place) -> Value {
        let Place { text, memory, of, mask } = place;
        let name = match mask {
            Some(mask) => {
                let zero = match of.elem().is_some_and(|elem| elem.dtype().is_float()) {
                    true => "0.0",
                    false => "0",
                };
                let pass = self.out.constant(format!("dense<{zero}> : {of}"));
                let bits = of.of(Elem::Bit);
                self.out.define(format!(
                    "vector.maskedload {text}, {mask}, {pass} : {memory}, {bits}, {of} into {of}"
                ))
            }
            None => self.out.define(format!("memref.load {text} : {memory}")),
        };
        (name, of.clone())
    }

    fn store(&mut self, place: &Place, value: &str) {
        let Place { text, memory, of, mask } = place;
        let bits = of.of(Elem::Bit);
        self.out.line(match mask {
            Some(mask) => {
                format!("vector.maskedstore {text}, {mask}, {value} : {memory}, {bits}, {of}")
            }
            None => format!("memref.store {value}, {text} : {memory}"),
        });
    }

    /// Pops a stream.
    fn popped(&mut self, (stream, of): &Value) -> Value {
        let pop = format!("slc.from_stream {stream} : {} to {of}", streamed(of));
        (self.out.define(pop), of.clone())
    }

    /// Returns a value of the execute unit.
    pub(super) fn value(&mut self, id: Id) -> Result<Value, NoDialect> {
        // A number that loops of both units count by is a stream to one of them alone.
        if self.is_number(id) {
            return self.number(id);
        }
        self.kept(id, |writer| match (writer.parts(id).0, &writer.parts(id).1[..]) {
            ("popped", &[stream]) => {
                let stream = writer.stream(stream)?;
                Ok(writer.popped(&stream))
            }
            ("exec-constant", &[value]) => writer.number(value),
            ("exec-broadcast", &[count, value]) => {
                let (value, from) = writer.value(value)?;
                let of = writer.lanes(count, from.elem().unwrap_or(Elem::Index));
                Ok((writer.out.define(format!("vector.broadcast {value} : {from} to {of}")), of))
            }
            ("exec-cast", &[to, value]) => {
                let value = writer.value(value)?;
                match DType::parse(&writer.term[to].to_string()) {
                    Some(to) => writer.out.convert(value, Elem::of(to)),
                    None => writer.refused(to),
                }
            }
            ("exec-load", &[address]) | ("exec-fetched", &[_, address]) => {
                let place = writer.place(address)?;
                Ok(writer.load(&place))
            }
            ("exec-counter", &[variable]) => match writer.counts.get(&variable) {
                Some(count) => Ok((count.clone(), Type::Scalar(Elem::Index))),
                None => {
                    let stream = writer.variable(variable)?;
                    Ok(writer.popped(&stream))
                }
            },
            ("exec-held", &[value]) => writer.value(value),
            ("exec-fold", &[fold, lanes]) => {
                let lanes = writer.value(lanes)?;
                let fold = writer.term[fold].to_string();
                Ok(writer.out.fold(&fold, lanes))
            }
            ("exec-reduce", &[fold, variable, lo, hi, step, start, value]) => writer.reduce(
                &Looped { variable, access: None, bounds: [lo, hi, step] },
                &Folded { fold, start, value },
            ),
            ("exec-walk-reduce", &[fold, variable, from, to, lo, hi, step, start, value]) => {
                let access = Some([from, to]);
                writer.reduce(
                    &Looped { variable, access, bounds: [lo, hi, step] },
                    &Folded { fold, start, value },
                )
            }
            (_, []) => writer.number(id),
            ("", parts) => {
                let head = writer.term[id].to_string();
                let operator = head.rsplit_once('.').map_or("", |(_, operator)| operator);
                let mut operands = Vec::new();
                for part in parts {
                    operands.push(writer.value(*part)?);
                }
                writer.out.apply(operator, operands)
            }
            _ => writer.refused(id),
        })
    }
}
