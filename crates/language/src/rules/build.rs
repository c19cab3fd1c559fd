//! Nodes by their primitives, with the operators that the dialects declare for them. [`crate::make`] builds terms of them.

use super::operators::{Operators, Unit};
use crate::term::{Head, Node};
use egg::{Id, Language};
use ember_values::primitive::{Primitive, Row};

impl Operators {
    /// Builds a node of the operator that means a primitive on a unit, from operands in the order of the primitive's
    /// row. If no dialect declares such an operator, the node has the primitive's name, which is no operator, so that
    /// nothing is known of it.
    pub fn node(&self, primitive: Primitive, unit: Option<Unit>, operands: &[Id]) -> Node {
        let Some(name) = self.named(primitive, unit) else {
            return Node::op(Row::of(primitive).map_or("", |row| row.name), operands);
        };
        let placed = self.get(name, operands.len()).and_then(|info| {
            let mut children = operands.to_vec();
            for (from, to) in info.positions().enumerate() {
                *children.get_mut(to)? = *operands.get(from)?;
            }
            Some(children)
        });
        Node::new(Head::Op(name), placed.as_deref().unwrap_or(operands))
    }

    /// Builds the name of a loop variable from a number. If no dialect declares these names, the node is no operator.
    pub fn numbered_node(&self, number: Id) -> Node {
        self.numbered().map_or(Node::op("", &[number]), |name| Node::new(Head::Op(name), &[number]))
    }

    /// Returns the number from which the node names a loop variable.
    pub fn number(&self, node: &Node) -> Option<Id> {
        match (node.head(), node.children()) {
            (Head::Op(name), [number]) if self.numbered() == Some(name) => Some(*number),
            _ => None,
        }
    }

    /// Returns the node with the operator that its own operator erases to; a node that erases to nothing else is
    /// returned unchanged.
    pub fn erased(&self, node: &Node) -> Node {
        let erased = self.of(node).and_then(|info| {
            let operands = info.erasure.iter().map(|at| node.children().get(*at).copied());
            Some(Node::new(Head::Op(info.erased?), &operands.collect::<Option<Vec<Id>>>()?))
        });
        erased.unwrap_or_else(|| node.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Sources;
    use crate::rules::load_text;

    #[test]
    fn operands_stand_where_the_dialect_has_them() {
        let mut sources = Sources::default();
        let text = r#"(dialect d "a dialect" (sort V "a value" :kind value)
            (sort A "an address" :kind address) (sort S "a statement" :kind statement)
            (op put ((value V) (address A)) S "a store" :means store)
            (op set ((address A) (hint V) (value V)) S "a store" :erases put))"#;
        let file = sources.add("d.rules", text);
        let (book, _) = load_text(&mut sources, &[file]).expect("well-formed rules");
        let operators = book.signature.table();
        let [address, value, hint] = [7, 8, 9].map(Id::from);
        let put = operators.node(Primitive::Store, None, &[address, value]);
        assert_eq!(put, Node::op("put", &[value, address]));
        let set = Node::op("set", &[address, hint, value]);
        assert_eq!(operators.erased(&set), put);
        assert_eq!(operators.erased(&put), put);
    }
}
