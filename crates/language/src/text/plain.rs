//! Translates a term of a unit to a term of one processor, by the primitives of its operators. Program text uses it to
//! derive the range of a unit's loop variable.

use crate::rules::Operators;
use crate::term::{Node, Term, Terms};
use egg::{Id, Language};
use ember_values::primitive::Primitive;
use ember_values::scalar::{BinaryOp, DType};

/// Returns the term on one processor; `None` if an operator has no known equivalent there.
pub(super) fn plain(term: &Term, operators: &Operators) -> Option<Term> {
    let mut made = Terms::default();
    let mut ids: Vec<Id> = Vec::with_capacity(term.len());
    for node in term {
        let parts: Vec<Id> = node.children().iter().map(|c| ids[usize::from(*c)]).collect();
        ids.push(one(node, &parts, term, operators, &mut made)?);
    }
    Some(made.part(*ids.last()?))
}

/// Translates one node whose operands are already translated.
fn one(
    node: &Node,
    parts: &[Id],
    term: &Term,
    operators: &Operators,
    made: &mut Terms,
) -> Option<Id> {
    let Some(info) = operators.of(node).filter(|info| info.unit.is_some() || info.is_transparent())
    else {
        return Some(made.add(Node::new(node.head(), parts)));
    };
    let own = |name: &str| info.position(name).map(|at| parts[at]);
    let named = |primitive| operators.named(primitive, None);
    let (name, operands) = match info.primitive()? {
        Primitive::Same => return own("x"),
        Primitive::Fetched => (named(Primitive::Load)?, vec![own("address")?]),
        Primitive::IndexCast => {
            let index = made.add(Node::op(DType::I64.name(), &[]));
            (named(Primitive::Cast)?, vec![index, own("x")?])
        }
        Primitive::Apply => {
            let op = *node.children().get(info.position("op")?)?;
            let op = BinaryOp::parse(term[op].name()?)?;
            (named(Primitive::Binary(op))?, vec![own("a")?, own("b")?])
        }
        primitive => {
            let name = named(primitive)?;
            let others = operators.iter().filter(|other| other.name == name);
            let other = others.min_by_key(|other| other.operands.len())?;
            let operands = other.operands.iter().map(|operand| own((*operand)?.as_str()));
            (name, operands.collect::<Option<Vec<Id>>>()?)
        }
    };
    Some(made.add(Node::op(name.as_str(), &operands)))
}
