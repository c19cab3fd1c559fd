//! Nodes by their forms, with the operators that the dialects declare for them. [`crate::make`] builds terms of them.

use super::operators::{Operators, Unit};
use crate::term::{Head, Node};
use egg::{Id, Language, Symbol};
use ember_values::primitive::Row;
use ember_values::primitive::form::Form;

impl Operators {
    /// Builds the node on a unit that has a form; see [`Operators::spelled`].
    pub fn node(&self, form: Form<Id>, unit: Option<Unit>) -> Node {
        let (name, operands) = self.spelled(form, unit);
        Node::new(Head::Op(name), &operands)
    }

    /// Returns the operator on a unit that has a form, and its operands in the order of its declaration. If no dialect
    /// declares one, the name is that of the primitive, which is no operator, so that nothing is known of it.
    pub fn spelled<T: Copy>(&self, form: Form<T>, unit: Option<Unit>) -> (Symbol, Vec<T>) {
        self.written(form, unit).unwrap_or_else(|| {
            let row = Row::of(form.shape());
            let operands = row.and_then(|row| in_row(row, form.operands()));
            (row.map_or("", |row| row.name).into(), operands.unwrap_or_default())
        })
    }

    /// Returns the operator on a unit that has a form, and its operands in the order of its declaration; `None` if no
    /// dialect declares one.
    pub fn written<T: Copy>(&self, form: Form<T>, unit: Option<Unit>) -> Option<(Symbol, Vec<T>)> {
        let (name, operands) = (self.named(form.shape(), unit)?, form.operands());
        let own = self.get(name, operands.len()).and_then(|info| {
            let places = info.form?.operands();
            (places.len() == operands.len()).then_some(places)
        });
        let operands = match own {
            Some(places) => {
                let mut placed = operands.clone();
                places.iter().zip(operands).for_each(|(at, operand)| placed[*at] = operand);
                placed
            }
            None => in_row(Row::of(form.shape())?, operands)?,
        };
        Some((name, operands))
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

/// Puts the operands of a form in the order of its row.
fn in_row<T: Copy>(row: &Row, operands: Vec<T>) -> Option<Vec<T>> {
    let all = row.names(true);
    let names = if all.len() == operands.len() { all } else { row.names(false) };
    let present = row.parts().filter_map(|(part, _)| names.iter().position(|name| *name == part));
    present.map(|at| operands.get(at).copied()).collect()
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
        let put = operators.node(Form::Write { op: None, address, value }, None);
        assert_eq!(put, Node::op("put", &[value, address]));
        let set = Node::op("set", &[address, hint, value]);
        assert_eq!(operators.erased(&set), put);
        assert_eq!(operators.erased(&put), put);
    }
}
