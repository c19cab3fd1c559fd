//! Operations that rule files declare and lower: a row of the table of operations from what the dialect declares, and
//! the type and extents of the result from what it and the rules say.

use super::operator::{Form, Result};
use super::read::Reader;
use super::{Argument, Expr, Extent};
use egg::{ENodeOrVar, Id, Language, Symbol};
use ember_language::diagnostic::Diagnostic;
use ember_language::rules::{Kind, Lowering, Meaning, OpInfo, Operators};
use ember_language::term::Head;
use ember_values::operation::{Element, Kernel, Operand, Operation, Reads, Role};
use ember_values::primitive::form;
use ember_values::primitive::{Ask, OfRank, OfType, Typing};
use ember_values::scalar::{DType, Linear};
use std::borrow::Cow;
use std::ops::RangeInclusive;

/// The ranks of tensors.
const RANKS: RangeInclusive<usize> = 1..=3;

/// The row of an operator that makes tensors and means what rules say of it.
pub(super) fn row(name: &str, operands: usize, operators: &Operators) -> Option<Operation> {
    let name = Symbol::from(name);
    let info = operators.get(name, operands)?;
    let lowering = operators.lowering(name, operands)?;
    let operand = |at| operand(info, at, reads(operators, lowering, at));
    let operands = (0..operands).map(operand).collect::<Option<Vec<Operand>>>()?;
    Some(Operation {
        name: name.as_str(),
        written: (0..operands.len()).collect(),
        operands: Cow::Owned(operands),
        kernel: Kernel::Lowered,
        element: Element::Dear,
    })
}

/// An operand as the operator declares it; `None` for one that models cannot write.
fn operand(info: &OpInfo, at: usize, reads: Reads) -> Option<Operand> {
    let name = info.operands.get(at).copied().flatten();
    let name = name.map_or("operand", |name| name.as_str());
    let ranks = match info.asks.get(at).copied().unwrap_or_default().rank {
        OfRank::Is(rank) => usize::from(rank)..=usize::from(rank),
        OfRank::Follows | OfRank::More(_) => RANKS,
    };
    let role = match info.operand_kinds.get(at).copied()?? {
        Kind::Tensor => Role::Tensor(ranks, reads),
        Kind::Address => Role::Stored(ranks),
        Kind::Value => Role::Number,
        Kind::Type => Role::DType,
        _ => return None,
    };
    let label = match role {
        Role::Number => "NUMBER",
        Role::DType => "DTYPE",
        _ => "TENSOR",
    };
    Some(Operand { name, label, phrase: name, role, optional: false })
}

/// Returns the number of reads of an operand's element: one, if the operand occurs once in an element and in no loop.
/// An operand of which only the type is used is not read.
fn reads(operators: &Operators, lowering: &Lowering, at: usize) -> Reads {
    let is_once = |element: &Meaning| {
        let body = element.body.as_ref();
        let mut uses = vec![0_usize; body.len()];
        uses[body.len() - 1] = 1;
        for (place, node) in body.iter().enumerate().rev() {
            let ENodeOrVar::ENode(node) = node else { continue };
            let info = operators.of(node);
            let binds = info.is_some_and(|info| info.binds.is_some());
            let like = info.and_then(|info| info.position("like"));
            let times = uses[place].saturating_mul(if binds { 2 } else { 1 });
            let read = node.children().iter().enumerate().filter(|(at, _)| Some(*at) != like);
            for (_, child) in read {
                let uses = &mut uses[usize::from(*child)];
                *uses = uses.saturating_add(times);
            }
        }
        let is_operand = |node: &ENodeOrVar<_>| match node {
            ENodeOrVar::Var(v) => element.parameters.get(at) == Some(v),
            ENodeOrVar::ENode(_) => false,
        };
        body.iter()
            .zip(&uses)
            .filter(|(node, _)| is_operand(node))
            .map(|(_, uses)| uses)
            .sum::<usize>()
            <= 1
    };
    let is_once = lowering.whole.is_none() && lowering.elements.iter().all(is_once);
    if is_once { Reads::Once } else { Reads::Often }
}

/// The type and extents of an operation, and whether its operands are what it asks for.
pub(super) fn result(reader: &mut Reader, form: &Form) -> Result {
    let operators = reader.definitions.operators().clone();
    let name = Symbol::from(form.operation.name);
    let info = operators.get(name, form.arguments.len())?;
    let extent = operators.lowering(name, form.arguments.len())?.extent.as_ref();
    let tensor = |at: usize| match form.arguments.get(at)? {
        Some((Argument::Tensor(x), item)) => Some((x, *item)),
        _ => None,
    };
    let dtype = match info.typing {
        Some(Typing::I64) => DType::I64,
        Some(Typing::Of(of)) => tensor(of)?.0.dtype,
        Some(Typing::Named(of)) => match form.arguments.get(of)? {
            Some((Argument::DType(dtype), _)) => *dtype,
            _ => return None,
        },
        None => return unsaid(reader, form, "element type", "say `:type` in the dialect"),
    };
    let rank = info.rank_from(|at| Some(tensor(at)?.0.shape.len()));
    let (Some(rank), Some(extent)) = (rank, extent) else {
        let shape = form::Form::Extent { of: form::Holder::Tensor(()), k: () };
        let (extent, _) = operators.spelled(shape, None);
        let help = format!(
            "add a rule for `({extent} ({name} …) ?k)`, and `:rank` if it is always the same"
        );
        return unsaid(reader, form, "extents", &help);
    };
    for at in 0..form.arguments.len() {
        let Some((x, item)) = tensor(at) else { continue };
        let ask = info.asks.get(at).copied().unwrap_or_default();
        fits(reader, form, (x, item), ask, (dtype, rank))?;
    }
    let shape: Option<Vec<Extent>> =
        (0..rank).map(|k| Extents { operators: &operators, form, extent }.of(k)).collect();
    match shape {
        Some(shape) => Some((dtype, shape)),
        None => unsaid(reader, form, "extents", "give them as extents of its operands, or numbers"),
    }
}

/// The error for what neither the dialect nor rules say of an operation.
fn unsaid(reader: &mut Reader, form: &Form, what: &str, help: &str) -> Result {
    let message = format!("nothing says what {what} `{}` has", form.name);
    reader.error_with_help(form.span, message, "used here", help);
    None
}

/// Checks that an operand has the type and rank that the operation demands.
fn fits(
    reader: &mut Reader,
    form: &Form,
    (x, item): (&Expr, &ember_language::sexp::Sexp),
    ask: Ask,
    (dtype, rank): (DType, usize),
) -> Option<()> {
    let dtype = match ask.typing {
        OfType::Follows => Some(dtype),
        OfType::I64 => Some(DType::I64),
        OfType::Any => None,
    };
    if let Some(dtype) = dtype.filter(|dtype| *dtype != x.dtype) {
        let message = format!("`{}` takes {dtype} here", form.name);
        let error = Diagnostic::error(message, item.span, format!("this is {}", x.dtype));
        reader.about(x, error);
        return None;
    }
    let rank = match ask.rank {
        OfRank::Follows => rank,
        OfRank::More(more) => rank.saturating_add_signed(isize::from(more)),
        OfRank::Is(rank) => usize::from(rank),
    };
    reader.rank(item, "this operand", rank..=rank, x).then_some(())
}

/// The extents that a rule gives an operation, worked out of those of its operands.
struct Extents<'a, 'b> {
    operators: &'a Operators,
    form: &'a Form<'b>,
    extent: &'a Meaning,
}

impl Extents<'_, '_> {
    /// The extent of a dimension.
    fn of(&self, k: usize) -> Option<Extent> {
        self.value(Id::from(self.extent.body.len().checked_sub(1)?), k)
    }

    /// A number of the rule for the extent of a dimension.
    fn value(&self, id: Id, k: usize) -> Option<Extent> {
        let node = match &self.extent.body[id] {
            ENodeOrVar::Var(v) => {
                return (self.extent.indices.first() == Some(v)).then_some(Extent::Const(k as u64));
            }
            ENodeOrVar::ENode(node) => node,
        };
        if let Head::Int(n) = node.head() {
            return u64::try_from(n).ok().map(Extent::Const);
        }
        match self.operators.form(node)? {
            form::Form::Extent { of, k: k_of } => {
                let of = self.operand(of.operand())?;
                match self.value(k_of, k)? {
                    Extent::Const(k) => of.shape.get(usize::try_from(k).ok()?).cloned(),
                    _ => None,
                }
            }
            form::Form::Binary(form::Operation::Is(op), [a, b])
                if op.linear() == Some(Linear::Sum) =>
            {
                match (self.integer(b, k), self.integer(a, k)) {
                    (Some(n), _) => self.value(a, k)?.plus(n),
                    (None, Some(n)) => self.value(b, k)?.plus(n),
                    (None, None) => None,
                }
            }
            _ => None,
        }
    }

    /// A literal number of the rule.
    fn integer(&self, id: Id, k: usize) -> Option<i64> {
        match &self.extent.body[id] {
            ENodeOrVar::ENode(node) => match node.head() {
                Head::Int(n) => Some(n),
                _ => None,
            },
            ENodeOrVar::Var(v) => {
                (self.extent.indices.first() == Some(v)).then(|| i64::try_from(k).ok())?
            }
        }
    }

    /// The operand that a part of the rule is.
    fn operand(&self, id: Id) -> Option<&Expr> {
        let ENodeOrVar::Var(v) = &self.extent.body[id] else { return None };
        let at = self.extent.parameters.iter().position(|parameter| parameter == v)?;
        match self.form.arguments.get(at)? {
            Some((Argument::Tensor(x), _)) => Some(x),
            _ => None,
        }
    }
}
