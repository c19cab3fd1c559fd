//! Loop variables that have one value, whatever the data: the bounds of their loops leave no other.

use egg::{ENodeOrVar, Id, PatternAst, Var};
use ember_language::rules::{Arg, Rule, Signature};
use ember_language::term::{Head, Node};
use ember_values::primitive::form::{Form, Operation};

/// Returns true if a loop of the left side gives a variable one value, which is a number. A loop that may not run leaves
/// its variable without a value, so that no term outside of the loop may mention it.
pub(super) fn has_one_value(signature: &Signature, rule: &Rule, v: Var) -> bool {
    let side = &rule.lhs;
    side.as_ref().iter().any(|node| {
        let ENodeOrVar::ENode(node) = node else { return false };
        let own = signature.table().looped(node);
        own.filter(|own| side[own.variable] == ENodeOrVar::Var(v)).is_some_and(|own| {
            let [lo, hi] = [own.lo, own.hi].map(|at| range(signature, rule, side, at));
            let trips = [hi.0, hi.1].map(|hi| hi.checked_sub(lo.0));
            lo.0 == lo.1 && trips == [Some(1); 2]
        })
    })
}

/// Returns the range of an integer, as conditions and numbers bound it.
fn range(signature: &Signature, rule: &Rule, side: &PatternAst<Node>, at: Id) -> (i64, i64) {
    const ANY: (i64, i64) = (i64::MIN, i64::MAX);
    match &side[at] {
        ENodeOrVar::Var(v) => rule.guards.iter().fold(ANY, |(least, most), guard| {
            match (guard.what.name, guard.args.as_slice()) {
                ("at-most", [Arg::Int(n), Arg::Var(x)]) if x == v => (least.max(*n), most),
                ("at-most", [Arg::Var(x), Arg::Int(n)]) if x == v => (least, most.min(*n)),
                _ => (least, most),
            }
        }),
        ENodeOrVar::ENode(node) => match (node.head(), signature.table().form(node)) {
            (Head::Int(n), _) => (n, n),
            (_, Some(Form::Binary(Operation::Is(op), operands))) => {
                let [a, b] = operands.map(|at| range(signature, rule, side, at));
                op.range(a, b).unwrap_or(ANY)
            }
            _ => ANY,
        },
    }
}
