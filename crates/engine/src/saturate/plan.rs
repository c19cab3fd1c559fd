//! Plans looked up in an e-graph: the class and the number of each step, as far as they exist.

use crate::compile::with_children;
use crate::knowledge::{EGraph, Knowledge};
use crate::{New, Step};
use egg::Id;
use ember_language::conditions::PREDICATES;
use ember_language::term::{Head, Node};
use ember_values::scalar::BinaryOp;
use std::sync::LazyLock;

/// The steps of a plan in an e-graph.
#[derive(Default)]
pub(super) struct Found {
    /// The class of each step, if it exists.
    pub classes: Vec<Option<Id>>,
    /// The integer of each step, if it is known.
    pub numbers: Vec<Option<i64>>,
}

impl Found {
    /// Forgets all steps.
    pub fn clear(&mut self) {
        self.classes.clear();
        self.numbers.clear();
    }

    /// Looks up each step of a plan. Returns the number of missing nodes; `None` if a number cannot be computed.
    pub fn look_up<A: Knowledge>(
        &mut self,
        egraph: &EGraph<A>,
        plan: &[Step],
        slots: &[Id],
    ) -> Option<usize> {
        self.clear();
        let mut missing = 0;
        for step in plan {
            let (class, number) = match step {
                Step::Slot(slot) => {
                    let id = egraph.find(*slots.get(*slot)?);
                    (Some(id), A::integer(&egraph[id].data))
                }
                Step::Compute(op, a, b) => {
                    let n = compute(*op, self.numbers[*a]?, self.numbers[*b]?)?;
                    (egraph.lookup(Node::int(n)), Some(n))
                }
                Step::Node(node) => {
                    let number = match node.head() {
                        Head::Int(n) => Some(n),
                        Head::Op(_) | Head::Real(_) => None,
                    };
                    let class =
                        with_children(node, &self.classes).and_then(|node| egraph.lookup(node));
                    (class, number)
                }
            };
            missing += usize::from(class.is_none());
            self.classes.push(class);
            self.numbers.push(number);
        }
        Some(missing)
    }
}

/// Returns true if the loop variables that a rule makes are new wherever it requires that. A variable that is in no
/// class is mentioned by no term, and one whose numbers do not exist is not made.
pub fn are_new<A: Knowledge>(egraph: &EGraph<A>, news: &[New], slots: &[Id]) -> bool {
    let mut found = Found::default();
    news.iter().all(|new| {
        let made = found.look_up(egraph, &new.variable, slots);
        let variable = made.and_then(|_| found.classes.last().copied().flatten());
        match (variable, slots.get(new.within)) {
            (Some(variable), Some(within)) => {
                A::holds(egraph, *NOT_FREE, &[egraph.find(variable), egraph.find(*within)])
            }
            _ => true,
        }
    })
}

/// The place of the condition that a term does not depend on a variable.
static NOT_FREE: LazyLock<usize> = LazyLock::new(|| {
    PREDICATES.iter().position(|predicate| predicate.name == "not-free").unwrap_or_default()
});

/// Returns the value of `(! OP A B)`; `None` if it does not exist.
pub fn compute(op: BinaryOp, a: i64, b: i64) -> Option<i64> {
    op.checked(a, b)
}
