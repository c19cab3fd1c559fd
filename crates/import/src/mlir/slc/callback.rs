//! Callbacks: the statements and values of the execute unit.

use super::{NoDialect, Value, Writer, memory};
use crate::mlir::lines::Whole;
use crate::mlir::types::{Elem, Type};
use egg::Id;
use ember_language::sexp::deeper;
use ember_values::scalar::DType;

/// An element of a tensor, or a run of elements under a mask.
struct Place {
    text: String,
    memory: String,
    of: Type,
    mask: Option<String>,
}

impl Writer<'_> {
    /// Writes a statement of the execute unit.
    pub(super) fn executed(&mut self, id: Id) -> Result<(), NoDialect> {
        deeper(|| match (self.parts(id).0, &self.parts(id).1[..]) {
            ("exec-sequence", parts) => parts.iter().try_for_each(|part| self.executed(*part)),
            ("exec-store", &[address, value]) => {
                let (value, _) = self.value(value)?;
                let place = self.place(address)?;
                self.store(&place, &value);
                Ok(())
            }
            ("exec-accumulate", &[fold, address, added]) => {
                let place = self.place(address)?;
                let before = self.load(&place);
                let added = self.value(added)?;
                let fold = self.term[fold].to_string();
                let (after, _) = self.out.apply(&fold, vec![before, added])?;
                self.store(&place, &after);
                Ok(())
            }
            ("exec-product", parts) => self.product(false, parts),
            ("exec-product-transposed", parts) => self.product(true, parts),
            _ => self.refused(id),
        })
    }

    /// Writes a product of whole matrices.
    fn product(&mut self, transposed: bool, whole: &[Id]) -> Result<(), NoDialect> {
        let forms = ["exec-element", "exec-input", "exec-output"];
        let mut tensors = Vec::new();
        for id in whole {
            let tensor = self.address(*id, forms)?.0;
            let (rank, memory) = (tensor.shape.len(), memory(tensor));
            tensors.push(Whole { name: &tensor.name, dtype: tensor.dtype, rank, memory });
        }
        match <[Whole<'_>; 3]>::try_from(tensors) {
            Ok(tensors) => self.out.product(transposed, tensors),
            Err(_) => self.refused(whole[0]),
        }
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

    /// Returns a value of the execute unit.
    fn value(&mut self, id: Id) -> Result<Value, NoDialect> {
        self.kept(id, |writer| match (writer.parts(id).0, &writer.parts(id).1[..]) {
            ("popped", &[stream]) => {
                let (stream, of) = writer.stream(stream)?;
                let name = writer
                    .out
                    .define(format!("slc.from_stream {stream} : !slc.stream<{of}> to {of}"));
                Ok((name, of))
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
            ("exec-load", &[address]) => {
                let place = writer.place(address)?;
                Ok(writer.load(&place))
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
