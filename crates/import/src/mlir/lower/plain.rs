//! Operations on values, by their rows; constants; lanes.

use super::{Helped, Lowering, Refused};
use crate::mlir::rows::{Class, Kind, Output, Row};
use crate::mlir::source::{Literal, Operation};
use crate::mlir::types::{Elem, Type};
use egg::Id;
use ember_values::scalar::{DType, Scalar};

/// The names of operands in rows.
pub(in crate::mlir) const NAMES: [&str; 3] = ["a", "b", "c"];

impl<'a> Lowering<'_, 'a> {
    /// Lowers an operation on values by the first row that fits.
    pub(super) fn plain(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let name = match (self.rows.predicates(operation.name), operation.word) {
            (Some(_), Some(word)) => format!("{}.{word}", operation.name),
            _ => operation.name.to_owned(),
        };
        let mut operands = Vec::new();
        let mut types = Vec::new();
        for operand in &operation.operands {
            let (term, of) = self.number(operand)?;
            operands.push(term);
            types.push(of);
        }
        let rows = self.rows;
        let rows = rows.rows(&name);
        let Some(row) = rows.iter().find(|row| self.fits(row, &types, operation)) else {
            return Err(self.unfit(operation, &name, rows, &types));
        };
        self.agree(row, operation, &types)?;
        let last = types.last().cloned().unwrap_or(Type::Scalar(Elem::Bit));
        let of = match row.output {
            Output::Same => last.clone(),
            Output::Bit => last.of(Elem::Bit),
            Output::To(_) => match operation.types.last() {
                Some(to) => last.of(to.elem().unwrap_or(Elem::Index)),
                None => last.clone(),
            },
        };
        // A conversion that leaves the bits as they are is none.
        let converts = matches!(row.output, Output::To(_));
        if let (true, [own], Some(elem)) = (converts, &operands[..], of.elem())
            && types[0].elem().map(Elem::dtype) == Some(elem.dtype())
        {
            return self.result(operation, of, *own);
        }
        let dtype = of.elem().map_or(DType::I64, Elem::dtype);
        let mut parts: Vec<(&str, Id)> = NAMES.into_iter().zip(operands).collect();
        parts.push(("type", self.word(dtype.name())));
        let term = self.filled(&row.term, &parts, Some(&last))?;
        self.result(operation, of, term)
    }

    /// True if a row fits the types of operands.
    fn fits(&self, row: &Row, types: &[Type], operation: &Operation<'a>) -> bool {
        let to = match row.output {
            Output::To(class) => operation.types.last().is_some_and(|to| class.holds(to)),
            Output::Same | Output::Bit => true,
        };
        row.operands.len() == types.len()
            && types.iter().zip(&row.operands).all(|(of, class)| class.holds(of))
            && to
    }

    /// Checks that operands which are no bits have one type, which is also the one that the text says.
    fn agree(&self, row: &Row, operation: &Operation<'a>, types: &[Type]) -> Result<(), Refused> {
        let converts = matches!(row.output, Output::To(_));
        let said = match (&operation.ins, converts, &operation.types[..]) {
            (None, true, [from, _]) => Some(from),
            (None, false, [.., of]) => Some(of),
            _ => None,
        };
        if let (None, true, [_]) = (&operation.ins, converts, &operation.types[..]) {
            let message = format!("`{}` needs the types before and after it", operation.name);
            return Err(self
                .refused(message, &operation.at)
                .with_help_boxed("write `: TYPE to TYPE`"));
        }
        let first = types.last();
        for ((operand, of), class) in operation.operands.iter().zip(types).zip(&row.operands) {
            if *class == Class::Bit && row.operands.iter().any(|other| *other != Class::Bit) {
                // One condition for all lanes, or one for each.
                let each = first.unwrap_or(of).of(Elem::Bit);
                if *of != Type::Scalar(Elem::Bit) {
                    self.same(operand, of, &each)?;
                }
                continue;
            }
            let wanted = said.or(first).unwrap_or(of);
            self.same(operand, of, wanted)?;
        }
        let Some(ins) = &operation.ins else { return Ok(()) };
        operation
            .operands
            .iter()
            .zip(types)
            .zip(ins)
            .try_for_each(|((operand, own), of)| self.same(operand, own, of))
    }

    /// Returns the error for an operation that no row fits.
    fn unfit(
        &self,
        operation: &Operation<'a>,
        name: &str,
        rows: &[Row],
        types: &[Type],
    ) -> Refused {
        let Some(row) = rows.first() else {
            let message = format!("`{}` with this predicate has no counterpart", operation.name);
            return self.refused(message, &operation.at).with_help_boxed(
                "integers are compared as signed ones: use eq, ne, slt, sle, sgt, sge",
            );
        };
        let shown: Vec<String> = types.iter().map(Type::to_string).collect();
        let message = format!("`{name}` of ({}) has no counterpart", shown.join(", "));
        let wanted: Vec<&str> = row.operands.iter().map(|class| class.shown()).collect();
        let to = match row.output {
            Output::To(class) => format!(" to {}", class.shown()),
            Output::Same | Output::Bit => String::new(),
        };
        let help = format!("it takes {}{to}", wanted.join("; "));
        self.refused(message, &operation.at).with_help_boxed(&help)
    }

    /// Lowers a constant.
    pub(super) fn constant(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let (Some(literal), Some(of)) = (&operation.literal, operation.types.first()) else {
            return Err(self.refused("a constant without a value", &operation.at));
        };
        let Some(elem) = of.elem() else {
            return Err(self.refused(format!("a constant of type {of}"), &operation.at));
        };
        let scalar = literal_of(literal.text, elem).ok_or_else(|| {
            self.refused(format!("`{}` is no number of type {elem}", literal.text), &literal.at)
        })?;
        let scalar = self.scalar(scalar)?;
        let term = self.in_lanes(of, scalar)?;
        self.result(operation, of.clone(), term)
    }

    /// Lowers a number in all lanes.
    pub(super) fn broadcast(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let operand = self.operand(operation, 0)?;
        let (term, own) = self.number(operand)?;
        let (Some(Type::Vector(lanes, elem)), Type::Scalar(from)) = (operation.types.last(), &own)
        else {
            return Err(self.refused("a number in all lanes of a vector is read", &operation.at));
        };
        if from != elem {
            self.same(operand, &own, &Type::Scalar(*elem))?;
        }
        let of = Type::Vector(*lanes, *elem);
        let term = self.in_lanes(&of, term)?;
        self.result(operation, of, term)
    }

    /// Lowers integers of a stream as indices.
    pub(super) fn indices(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let (term, of) = self.number(self.operand(operation, 0)?)?;
        let index = Elem::Index;
        let term = match of.elem().map(Elem::dtype) {
            Some(own) if own == index.dtype() => term,
            _ => {
                let to = self.word(index.dtype().name());
                self.form("cast", &[("type", to), ("value", term)])?
            }
        };
        self.result(operation, of.of(index), term)
    }

    /// Lowers a reduction of lanes whose result does not depend on their order.
    pub(super) fn fold(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let (term, of) = self.number(self.operand(operation, 0)?)?;
        self.all_lanes(&operation.at)?;
        let Type::Vector(_, elem) = of else {
            return Err(self.refused("lanes are reduced", &operation.at));
        };
        // Sums and products have one word for all types, and depend on the order of floating-point lanes.
        let ordered = |word: &&str| elem.dtype().is_float() && !word.ends_with('f');
        let word = operation.word.filter(|word| !ordered(word) && operation.operands.len() == 1);
        let fold = match operation.kind {
            Kind::HalfFold => operation.attribute("fold").filter(|fold| self.rows.folds(fold)),
            _ => word.and_then(|word| self.rows.lanes(word)),
        };
        let Some(fold) = fold else {
            let message = "this reduction of lanes has no counterpart";
            return Err(self.refused(message, &operation.at).with_help_boxed(
                "sums of floating-point lanes depend on their order: write a loop, or fold them half onto \
                 half with `\"dae.fold\"(%lanes) {fold = \"add\"}`",
            ));
        };
        let fold = self.word(fold);
        let term = self.form("fold", &[("fold", fold), ("value", term)])?;
        self.result(operation, Type::Scalar(elem), term)
    }
}

/// Parses a number of a type; hexadecimal digits are the bits of a floating-point number.
pub(in crate::mlir) fn literal_of(text: &str, elem: Elem) -> Option<Scalar> {
    let dtype = elem.dtype();
    if elem == Elem::Bit {
        // The only bit of a signed number is its sign.
        return match text {
            "true" | "1" | "-1" => Some(Scalar::I64(1)),
            "false" | "0" => Some(Scalar::I64(0)),
            _ => None,
        };
    }
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    match digits {
        Some(digits) => {
            let bits = u64::from_str_radix(digits, 16).ok()?;
            let fits = dtype.bits() == 64 || bits >> dtype.bits() == 0;
            fits.then(|| Scalar::from_bits(dtype, bits))
        }
        None if dtype.is_float() && !text.contains('.') => None,
        None => dtype.number(text),
    }
}

impl Literal<'_> {
    /// Returns the whole number that this is.
    pub(in crate::mlir) fn whole(&self) -> Option<i64> {
        self.text.parse().ok()
    }
}
