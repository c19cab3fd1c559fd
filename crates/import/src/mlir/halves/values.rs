//! Values of the execute half: constants, loads, arithmetic by the rows of operations, lanes.

use super::{Halves, Helped, LARGEST_EXPRESSION, Meaning, Number, Refused, whole};
use crate::mlir::lower::{NAMES, literal_of};
use crate::mlir::rows::{Class, Kind, Output, Row};
use crate::mlir::source::Operation;
use crate::mlir::types::{Elem, Type};
use ember_language::sexp::Sexp;
use ember_targets::dlc::{Addr, Dim, Expr, Lanes};
use ember_values::scalar::{BinaryOp, DType, Scalar, UnaryOp};
use std::ops::Range;

impl<'a> Halves<'_, 'a> {
    /// Reads an operation that only has a value.
    pub(super) fn value(&mut self, operation: &Operation<'a>) -> Result<(), Refused> {
        let meaning = match operation.kind {
            Kind::Constant => self.constant(operation)?,
            Kind::Extent => self.extent(operation)?,
            Kind::Load => match *self.meaning(operation, 0)? {
                Meaning::Register(register) => {
                    let ty = self.program.registers[register.index()].ty;
                    let elem = Elem::of(ty.dtype);
                    let of = match ty.lanes {
                        1 => Type::Scalar(elem),
                        lanes => Type::Vector(u64::from(lanes), elem),
                    };
                    self.number_of(Expr::Register(register), of)
                }
                _ => {
                    let addr = self.addr(operation, 0, 1..operation.operands.len(), None)?;
                    let dtype = self.program.tensors[addr.tensor.index()].dtype;
                    let of = Type::Scalar(Elem::of(dtype));
                    self.number_of(Expr::Load(Box::new(addr)), of)
                }
            },
            Kind::MaskedLoad => {
                let places = 1..operation.operands.len().saturating_sub(2);
                let lanes = self.lanes(operation, places.end)?;
                let passed = self.number(operation, places.end + 1)?;
                if !is_zero(&passed.expr) {
                    return Err(self.unfit(operation, places.end + 1, "0 in all lanes"));
                }
                let addr = self.addr(operation, 0, places, Some(lanes))?;
                self.number_of(Expr::Load(Box::new(addr)), passed.of)
            }
            Kind::Mask => self.mask(operation)?,
            Kind::Broadcast => {
                let number = self.number(operation, 0)?;
                let Some(of @ Type::Vector(lanes, _)) = operation.types.last().cloned() else {
                    return Err(self.refused("a number in all lanes of a vector", &operation.at));
                };
                let lanes = u32::try_from(lanes).unwrap_or(0);
                let expr = Expr::Broadcast(lanes, Box::new(number.expr));
                self.number_of(expr, of)
            }
            Kind::Plain => self.arithmetic(operation)?,
            Kind::Fold | Kind::HalfFold => self.fold(operation)?,
            Kind::LaneNumbers => {
                let Some(of @ Type::Vector(lanes, Elem::Index)) = operation.types.last() else {
                    return Err(self.refused("the numbers of lanes are indices", &operation.at));
                };
                let first = Box::new(Expr::Const(Scalar::I64(0)));
                let expr = Expr::Iota(u32::try_from(*lanes).unwrap_or(0), first);
                self.number_of(expr, of.clone())
            }
            _ => {
                let message = format!(
                    "`{}` has no counterpart in the half of the execute unit",
                    operation.name
                );
                return Err(self.refused(message, &operation.at));
            }
        };
        self.give(operation, meaning)
    }

    /// Returns an operand as a number that is still what it was.
    pub(super) fn number(&self, operation: &Operation<'a>, at: usize) -> Result<Number, Refused> {
        let Meaning::Number(number) = self.meaning(operation, at)? else {
            return Err(self.unfit(operation, at, "a number"));
        };
        let mut changed = false;
        number.expr.walk(&mut |part| {
            let written = match part {
                Expr::Register(register) => self.registers.get(register.index()),
                Expr::Load(addr) => self.tensors.get(addr.tensor.index()),
                _ => None,
            };
            changed |= written.is_some_and(|written| *written > number.at);
        });
        if changed {
            let (value, place) = self.operand(operation, at)?;
            let name = self.values[*value].name;
            let message = format!("what `{name}` was read from has changed since");
            return Err(self
                .refused(message, place)
                .with_help_boxed("read it again here, or keep the value in memory of rank 0"));
        }
        Ok(number.clone())
    }

    fn constant(&self, operation: &Operation<'a>) -> Result<Meaning, Refused> {
        let (Some(literal), Some(of)) = (&operation.literal, operation.types.first()) else {
            return Err(self.refused("a constant without a value", &operation.at));
        };
        let scalar = of.elem().and_then(|elem| literal_of(literal.text, elem));
        let scalar = scalar.ok_or_else(|| {
            self.refused(format!("`{}` is no number of type {of}", literal.text), &literal.at)
        })?;
        let expr = in_lanes(of, Expr::Const(scalar));
        Ok(self.number_of(expr, of.clone()))
    }

    /// Reads an extent of a tensor.
    fn extent(&self, operation: &Operation<'a>) -> Result<Meaning, Refused> {
        let Meaning::Memory(tensor) = *self.meaning(operation, 0)? else {
            return Err(self.unfit(operation, 0, "an argument"));
        };
        let at = match operation.operands.get(1) {
            Some(_) => whole(&self.number(operation, 1)?.expr),
            None => operation.numbers.first().copied(),
        };
        let shape = &self.program.tensors[tensor.index()].shape;
        let dim = at.and_then(|at| usize::try_from(at).ok()).and_then(|at| shape.get(at));
        let expr = match dim {
            Some(Dim::Const(n)) => Expr::Const(Scalar::I64(i64::try_from(*n).unwrap_or(i64::MAX))),
            Some(Dim::Size(size)) => Expr::Size(*size),
            None => return Err(self.unfit(operation, 1, "a dimension")),
        };
        Ok(self.number_of(expr, Type::Scalar(Elem::Index)))
    }

    /// Reads the address of memory and indices among the operands of an operation.
    pub(super) fn addr(
        &self,
        operation: &Operation<'a>,
        memory: usize,
        places: Range<usize>,
        lanes: Option<Lanes<Expr>>,
    ) -> Result<Addr<Expr>, Refused> {
        let Meaning::Memory(tensor) = *self.meaning(operation, memory)? else {
            return Err(self.unfit(operation, memory, "memory"));
        };
        let index = places.map(|at| Ok(self.number(operation, at)?.expr));
        let index: Vec<Expr> = index.collect::<Result<_, Refused>>()?;
        let rank = self.program.tensors[tensor.index()].shape.len();
        if index.len() != rank {
            let message = format!("{} indices of memory of rank {rank}", index.len());
            return Err(self.refused(message, &operation.at));
        }
        Ok(Addr { tensor, index, lanes, rows: None })
    }

    /// Returns the lanes of a mask, which starts at the last index before it.
    pub(super) fn lanes(
        &self,
        operation: &Operation<'a>,
        at: usize,
    ) -> Result<Lanes<Expr>, Refused> {
        let last = at.checked_sub(1).and_then(|at| operation.operands.get(at));
        match (self.meaning(operation, at)?, last) {
            (Meaning::Mask(base, lanes), Some((last, _))) if base == last => Ok(lanes.clone()),
            _ => Err(self.unfit(operation, at, "a mask that starts at the last index")),
        }
    }

    /// Reads the lanes from an index to below a limit.
    fn mask(&self, operation: &Operation<'a>) -> Result<Meaning, Refused> {
        let is = |at: usize, n: i64| {
            Ok::<bool, Refused>(whole(&self.number(operation, at)?.expr) == Some(n))
        };
        let Some(Type::Vector(count, _)) = operation.types.last() else {
            return Err(self.refused("a mask without a type", &operation.at));
        };
        if operation.operands.len() != 4 || !is(1, 0)? || !is(3, 1)? {
            let error = self.refused("a mask of other lanes", &operation.at);
            return Err(error.with_help_boxed(
                "lanes start at an index and end below a limit: `slcvec.mask %index 0 %limit 1`",
            ));
        }
        self.number(operation, 0)?;
        let limit = self.number(operation, 2)?.expr;
        let count = u32::try_from(*count).unwrap_or(0);
        Ok(Meaning::Mask(self.operand(operation, 0)?.0, Lanes { count, limit }))
    }

    /// Reads arithmetic by the first row that fits.
    fn arithmetic(&self, operation: &Operation<'a>) -> Result<Meaning, Refused> {
        let name = match (self.rows.predicates(operation.name), operation.word) {
            (Some(_), Some(word)) => format!("{}.{word}", operation.name),
            _ => operation.name.to_owned(),
        };
        let operands = (0..operation.operands.len()).map(|at| self.number(operation, at));
        let operands: Vec<Number> = operands.collect::<Result<_, _>>()?;
        let to = operation.types.last();
        let fits = |row: &&Row| {
            row.operands.len() == operands.len()
                && row.operands.iter().zip(&operands).all(|(class, own)| class.holds(&own.of))
                && match row.output {
                    Output::To(class) => to.is_some_and(|to| class.holds(to)),
                    Output::Same | Output::Bit => true,
                }
        };
        let row = self.rows.rows(&name).iter().find(fits);
        let last = operands.last().map(|own| own.of.clone());
        let (Some(row), Some(last)) = (row, last) else {
            let shown: Vec<String> = operands.iter().map(|own| own.of.to_string()).collect();
            let message = format!("`{name}` of ({}) has no counterpart here", shown.join(", "));
            return Err(self.refused(message, &operation.at));
        };
        let other = |(class, own): (&Class, &Number)| !class.is_bit() && own.of != last;
        if let Some(other) = row.operands.iter().zip(&operands).position(other) {
            return Err(self.unfit(operation, other, &format!("of the type {last}")));
        }
        let of = match row.output {
            Output::Same => last.clone(),
            Output::Bit => last.of(Elem::Bit),
            Output::To(_) => last.of(to.and_then(Type::elem).unwrap_or(Elem::Index)),
        };
        let parts = operands.iter().map(|own| own.parts).sum::<usize>() + 1;
        if parts > LARGEST_EXPRESSION {
            let message = format!("an expression of more than {LARGEST_EXPRESSION} parts");
            let error = self.refused(message, &operation.at);
            return Err(error.with_help_boxed("keep a part of it in memory of rank 0"));
        }
        let to = of.elem().map_or(DType::I64, Elem::dtype);
        let expr = self.filled(&row.term, &operands, (&last, to)).ok_or_else(|| {
            let message = format!("`{name}` has no counterpart in the half of the execute unit");
            self.refused(message, &operation.at)
        })?;
        Ok(Meaning::Number(Number { expr, of, parts, at: self.clock }))
    }

    /// Returns the expression that a row's term is of its operands; `None` if the execute unit has no operation for it. The
    /// types are that of the last operand, and the one that a conversion is to.
    fn filled(&self, term: &Sexp, operands: &[Number], types: (&Type, DType)) -> Option<Expr> {
        let (of, to) = types;
        if let Some(word) = term.atom() {
            let operand = NAMES.iter().position(|name| *name == word);
            return match operand {
                Some(at) => Some(operands.get(at)?.expr.clone()),
                None => Some(in_lanes(of, Expr::Const(DType::I64.number(word)?))),
            };
        }
        let (head, parts) = term.form()?;
        let form = self.rows.form_of(head);
        match (head, form, parts) {
            ("literal", _, [number]) => {
                let dtype = of.elem().map_or(DType::I64, Elem::dtype);
                return Some(in_lanes(of, Expr::Const(dtype.number(number.atom()?)?)));
            }
            (_, Some("cast"), [_, value]) => {
                let value = self.filled(value, operands, types)?;
                let is_same = of.elem().map(Elem::dtype) == Some(to);
                return Some(if is_same { value } else { Expr::Cast(to, Box::new(value)) });
            }
            _ => {}
        }
        let name = head.rsplit('.').next()?;
        let mut parts = parts.iter().map(|part| self.filled(part, operands, types).map(Box::new));
        let mut part = || parts.next().flatten();
        Some(match (term.form()?.1.len(), form) {
            (1, _) => Expr::Unary(UnaryOp::parse(name)?, part()?),
            (2, _) => Expr::Binary(BinaryOp::parse(name)?, part()?, part()?),
            (3, Some("choice")) => Expr::Select(part()?, part()?, part()?),
            _ => return None,
        })
    }

    /// Reads a fold of lanes.
    fn fold(&self, operation: &Operation<'a>) -> Result<Meaning, Refused> {
        let lanes = self.number(operation, 0)?;
        let Type::Vector(_, elem) = lanes.of else {
            return Err(self.unfit(operation, 0, "a vector"));
        };
        // The words of a reduction are those for integers, unless they end so.
        let ordered = |word: &&str| elem.dtype().is_float() && !word.ends_with('f');
        let fold = match operation.kind {
            Kind::HalfFold => operation.attribute("fold"),
            _ => operation
                .word
                .filter(|word| !ordered(word) && operation.operands.len() == 1)
                .and_then(|word| self.rows.lanes(word)),
        };
        let Some(op) = fold.and_then(BinaryOp::parse).filter(|op| op.folds()) else {
            let message = "this reduction of lanes has no counterpart";
            return Err(self.refused(message, &operation.at).with_help_boxed(
                "floating-point lanes are folded half onto half: `\"dae.fold\"(%lanes) {fold = \"add\"}`",
            ));
        };
        let expr = Expr::Fold(op, Box::new(lanes.expr));
        Ok(Meaning::Number(Number {
            expr,
            of: Type::Scalar(elem),
            parts: lanes.parts + 1,
            at: self.clock,
        }))
    }
}

/// Returns a scalar in all lanes of a type.
fn in_lanes(of: &Type, scalar: Expr) -> Expr {
    match of {
        Type::Vector(lanes, _) => {
            Expr::Broadcast(u32::try_from(*lanes).unwrap_or(0), Box::new(scalar))
        }
        _ => scalar,
    }
}

/// Returns true for a zero, in one lane or all.
pub(super) fn is_zero(expr: &Expr) -> bool {
    match expr {
        Expr::Broadcast(_, x) => is_zero(x),
        Expr::Const(scalar) => scalar.to_bits() == 0,
        _ => false,
    }
}
