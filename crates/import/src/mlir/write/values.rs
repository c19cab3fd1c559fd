//! Values and addresses.

use super::{Unwritten, Value, Writer, elem, memory, value};
use crate::mlir::rows::{Output, Row};
use crate::mlir::types::{Elem, Type, literal};
use crate::mlir::{KernelTensor, Purpose};
use egg::{Id, Language};
use ember_language::term::Head;
use ember_model::Extent;
use ember_values::scalar::{DType, Scalar};
use itertools::Itertools;

impl Writer<'_> {
    /// Returns a value, which is computed before if it is not known.
    pub(super) fn value(&mut self, id: Id) -> Result<Value, Unwritten> {
        if let Some(known) = self.known.iter().rev().find_map(|known| known.get(&id)) {
            return Ok(known.clone());
        }
        let value = ember_language::sexp::deeper(|| self.computed(id))?;
        if let Some(known) = self.known.last_mut() {
            known.insert(id, value.clone());
        }
        Ok(value)
    }

    fn computed(&mut self, id: Id) -> Result<Value, Unwritten> {
        let node = &self.term[id];
        if let Head::Int(n) = node.head() {
            let name = self.text.constant(&format!("{n} : index"));
            return Ok(Value::index(name));
        }
        let children = node.children().to_vec();
        match (self.form(node), &children[..]) {
            (Some("constant"), &[of, number]) => self.constant(of, number),
            (Some("index"), &[variable]) => {
                let around = self.variables.iter().rev().find(|(own, _)| *own == variable);
                let found = around.map(|(_, value)| value.clone());
                found.ok_or_else(|| Unwritten::Operator(node.to_string()))
            }
            (Some("symbolic"), &[name]) => self.size(self.name_of(name)),
            (Some("load"), &[address]) => {
                let place = self.place(address)?;
                self.load(&place)
            }
            (Some("load-ahead"), &[address, later, again, level]) => {
                for later in [later, again].into_iter().unique() {
                    self.prefetch(later, level)?;
                }
                let place = self.place(address)?;
                self.load(&place)
            }
            (Some("broadcast"), &[count, value]) => {
                let value = self.value(value)?;
                let of = self.lanes(count, value.elem())?;
                let name = self
                    .text
                    .define(&format!("vector.broadcast {} : {} to {of}", value.name, value.of))?;
                Ok(Value { name, of })
            }
            (Some("fold"), &[fold, lanes]) => self.folded_lanes(fold, lanes),
            (Some("reduce"), &[fold, variable, lo, hi, step, start, body]) => {
                let bounds = self.bounds([lo, hi, step])?;
                let start = self.value(start)?;
                let (index, carried) = (self.text.fresh(), self.text.fresh());
                let of = start.of;
                let name = self.text.define(&format!(
                    "scf.for {index} = {bounds} iter_args({carried} = {}) -> ({of}) {{",
                    start.name
                ))?;
                self.inside(variable, index, |writer| {
                    let added = writer.value(body)?;
                    let carried = Value { name: carried, of: of.clone() };
                    let next = writer.folded(fold, carried, added)?;
                    writer.text.line(&format!("scf.yield {} : {of}", next.name))
                })?;
                self.text.line("}")?;
                Ok(Value { name, of })
            }
            _ => self.operated(id),
        }
    }

    /// Returns a number of a type.
    fn constant(&mut self, of: Id, number: Id) -> Result<Value, Unwritten> {
        let dtype = DType::parse(self.name_of(of));
        let dtype = dtype.ok_or_else(|| Unwritten::Operator(self.name_of(of).to_owned()))?;
        let elem = elem(dtype)?;
        let number = match self.term[number].head() {
            Head::Real(bits) => Scalar::from_f64(dtype, f64::from_bits(bits)),
            Head::Int(n) => Scalar::I64(n).cast(dtype),
            Head::Op(name) => return Err(Unwritten::Operator(name.to_string())),
        };
        let name = self.text.constant(&format!("{} : {elem}", literal(number)));
        Ok(Value { name, of: Type::Scalar(elem) })
    }

    /// Returns a size: an argument, or the extent of a tensor.
    pub(super) fn size(&mut self, name: &str) -> Result<Value, Unwritten> {
        if self.kernel.sizes.iter().any(|size| size == name) {
            return Ok(Value::index(value(name)));
        }
        if let Some(known) = self.text.sizes.get(name) {
            return Ok(Value::index(known.clone()));
        }
        let (wanted, plus) = name
            .rsplit_once('+')
            .map_or((name, 0), |(name, plus)| (name, plus.parse::<u64>().unwrap_or(0)));
        // The extent with the least difference.
        let mut best: Option<(i64, &KernelTensor, usize)> = None;
        for tensor in self.kernel.tensors.iter().filter(|own| own.purpose != Purpose::Scratch) {
            for (at, extent) in tensor.shape.iter().enumerate() {
                if let Extent::Size { name, plus: own } = extent
                    && name == wanted
                {
                    let more = i64::try_from(*own).unwrap_or(0) - i64::try_from(plus).unwrap_or(0);
                    if best.is_none_or(|(known, ..)| more.abs() < known.abs()) {
                        best = Some((more, tensor, at));
                    }
                }
            }
        }
        let (more, tensor, at) = best.ok_or_else(|| Unwritten::Operator(name.to_owned()))?;
        let dimension = self.text.constant(&format!("{at} : index"));
        let of = memory(&tensor.shape, tensor.dtype)?;
        let operation = format!("memref.dim {}, {dimension} : {of}", value(&tensor.name));
        if more == 0 {
            return Ok(Value::index(self.text.size(name, operation)));
        }
        let whole = self.text.size(&format!("{name} and more"), operation);
        let more = self.text.constant(&format!("{more} : index"));
        Ok(Value::index(self.text.size(name, format!("arith.subi {whole}, {more} : index"))))
    }

    /// Returns the operation of a reduction on two values.
    pub(super) fn folded(&mut self, fold: Id, a: Value, b: Value) -> Result<Value, Unwritten> {
        let fold = self.name_of(fold);
        let of = a.of;
        let rows = self.rows;
        let operation = rows
            .folding(fold)
            .find(|own| rows.rows(own).first().is_some_and(|row| row.operands[0].holds(&of)));
        let operation = operation.ok_or_else(|| Unwritten::Operator(fold.to_owned()))?;
        let b = self.as_elem(b, of.elem().unwrap_or(Elem::Index))?;
        let name = self.text.define(&format!("{operation} {}, {} : {of}", a.name, b.name))?;
        Ok(Value { name, of })
    }

    /// Returns an operation on values by the first row whose term is this operator of the operands in order.
    fn operated(&mut self, id: Id) -> Result<Value, Unwritten> {
        let node = &self.term[id];
        let head = node.to_string();
        let mut children = node.children().to_vec();
        let rows = self.rows;
        let unknown = || Unwritten::Operator(head.clone());
        // A conversion has the type that it converts to as its first operand.
        let to = match children.first().and_then(|of| DType::parse(self.name_of(*of))) {
            Some(to) => {
                children.remove(0);
                Some(elem(to)?)
            }
            None => None,
        };
        let mut operands = Vec::new();
        for child in children {
            operands.push(self.value(child)?);
        }
        if let (Some(to), [from]) = (to, &operands[..]) {
            return self.converted(from.clone(), to, &head);
        }
        let last = operands.last().ok_or_else(unknown)?.of.clone();
        let number = if last.elem() == Some(Elem::Bit) {
            Elem::Index
        } else {
            last.elem().unwrap_or(Elem::Index)
        };
        let fits = |row: &Row| {
            let classes = row.operands.iter().zip(&operands);
            let plain = row.term.list().is_some_and(|items| {
                let names = ["a", "b", "c"].into_iter().take(operands.len());
                items[0].atom() == Some(head.as_str())
                    && items[1..].iter().filter_map(|item| item.atom()).eq(names)
            });
            // A truth value may stand where a number does, and a number where a truth value does.
            let wanted = |value: &Value| match value.elem() {
                Elem::Bit => value.of.of(number),
                _ => value.of.clone(),
            };
            plain
                && row.operands.len() == operands.len()
                && row.operands.contains_number()
                && classes
                    .into_iter()
                    .all(|(class, value)| class.is_bit() || class.holds(&wanted(value)))
        };
        let (operation, row) = rows.plain().find(|(_, row)| fits(row)).ok_or_else(unknown)?;
        let mut names = Vec::new();
        for (operand, class) in operands.into_iter().zip(&row.operands) {
            let wanted = if class.is_bit() { Elem::Bit } else { number };
            names.push(self.as_elem(operand, wanted)?.name);
        }
        let (operation, predicate) = rows.spelled(operation);
        let predicate = predicate.map(|word| format!("{word}, ")).unwrap_or_default();
        let last = last.of(number);
        let name =
            self.text.define(&format!("{operation} {predicate}{} : {last}", names.join(", ")))?;
        Ok(Value { name, of: if row.output == Output::Bit { last.of(Elem::Bit) } else { last } })
    }

    /// Returns a value as a truth value or number, if it is the other.
    pub(super) fn as_elem(&mut self, value: Value, wanted: Elem) -> Result<Value, Unwritten> {
        let (from, to) = (value.of.clone(), value.of.of(wanted));
        match (value.elem(), wanted) {
            (own, wanted) if own == wanted => Ok(value),
            (Elem::Bit, Elem::Index) => {
                let wide = from.of(Elem::Of(DType::I64));
                let own =
                    self.text.define(&format!("arith.extui {} : {from} to {wide}", value.name))?;
                let name = self.text.define(&format!("arith.index_cast {own} : {wide} to {to}"))?;
                Ok(Value { name, of: to })
            }
            (Elem::Index, Elem::Bit) => {
                let zero = self.text.constant(&of_all("0", &from));
                let name =
                    self.text.define(&format!("arith.cmpi ne, {}, {zero} : {from}", value.name))?;
                Ok(Value { name, of: to })
            }
            (own, wanted) => self.converted(value, wanted, &format!("{own} as {wanted}")),
        }
    }

    /// Returns a conversion.
    fn converted(&mut self, from: Value, to: Elem, head: &str) -> Result<Value, Unwritten> {
        let from = if from.elem() == Elem::Bit { self.as_elem(from, Elem::Index)? } else { from };
        let steps = self.rows.conversions(from.elem(), to);
        let steps = steps.ok_or_else(|| Unwritten::Operator(head.to_owned()))?;
        steps.into_iter().try_fold(from, |value, (operation, elem)| {
            let of = value.of.of(elem);
            let name =
                self.text.define(&format!("{operation} {} : {} to {of}", value.name, value.of))?;
            Ok(Value { name, of })
        })
    }
}

/// Returns a number as a constant of a type, in all lanes of a vector.
pub(super) fn of_all(number: &str, of: &Type) -> String {
    match of {
        Type::Vector(..) => format!("dense<{number}> : {of}"),
        _ => format!("{number} : {of}"),
    }
}

/// A list of classes.
trait Classes {
    /// True if a class is of numbers.
    fn contains_number(&self) -> bool;
}

impl Classes for Vec<crate::mlir::rows::Class> {
    fn contains_number(&self) -> bool {
        self.iter().any(|class| !class.is_bit())
    }
}
