//! A term during lowering: equal subterms have one id, and mismatches have one wording.

use super::DecoupleError;
use egg::{Id, Language, RecExpr};
use ember_language::rules::{OpInfo, Operators, Unit};
use ember_language::term::{self, Head, Node, Term};
use ember_values::primitive::Typing;
use ember_values::primitive::form::{By, Form};

/// A term whose equal subterms are shared, so that loop variables compare by id.
pub struct Terms<'a> {
    operators: &'a Operators,
    nodes: RecExpr<Node>,
    /// The number of uses of each node as an operand.
    uses: Vec<u32>,
    root: Id,
}

impl<'a> Terms<'a> {
    /// Shares the equal subterms of a term.
    pub fn new(operators: &'a Operators, term: &Term) -> Terms<'a> {
        let mut shared = term::Terms::default();
        let root = match term.is_empty() {
            // An empty term has no root, so a name without an operator replaces it.
            true => shared.add(Node::op("nothing", &[])),
            false => shared.put(term),
        };
        let nodes = shared.finish();
        let mut uses = vec![0; nodes.len()];
        for node in nodes.as_ref() {
            node.children().iter().for_each(|c| uses[usize::from(*c)] += 1);
        }
        Terms { operators, nodes, uses, root }
    }

    /// Returns the root of the term.
    pub fn root(&self) -> Id {
        self.root
    }

    /// Returns the node with this id.
    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id]
    }

    /// Returns true if the term is used more than once.
    pub fn is_shared(&self, id: Id) -> bool {
        self.uses[usize::from(id)] > 1
    }

    /// Returns the name of the operator; empty for a number.
    pub fn name(&self, id: Id) -> &'static str {
        self.nodes[id].name().unwrap_or_default()
    }

    /// Returns the operator's row of the table.
    pub fn info(&self, id: Id) -> Option<&'a OpInfo> {
        self.operators.of(&self.nodes[id])
    }

    /// Returns the form of the term.
    pub fn form(&self, id: Id) -> Option<Form<Id>> {
        self.operators.form(&self.nodes[id])
    }

    /// Returns the form of a term that runs on this unit, or on no unit in a coupled program; `None` for a boundary.
    pub fn on(&self, id: Id, unit: Option<Unit>) -> Option<Form<Id>> {
        let info = self.info(id).filter(|info| info.unit == unit && !info.boundary)?;
        info.form(self.nodes[id].children())
    }

    /// Returns the element type that the row of the term's primitive states.
    pub fn result(&self, id: Id) -> Option<Typing<Id>> {
        self.info(id)?.result(self.nodes[id].children())
    }

    /// Returns the lanes that count up, the bound of active lanes and the number from which they count.
    pub fn run(&self, id: Id) -> Option<[Id; 3]> {
        match self.form(id)? {
            Form::Spread { lanes, x, below } => Some([lanes, below?, x]),
            _ => None,
        }
    }

    /// Returns the operand of a term that means its operand, if the term runs on `to` and the operand on `from`.
    pub fn carried(&self, id: Id, to: Option<Unit>, from: Option<Unit>) -> Option<Id> {
        let info = self.info(id).filter(|info| info.unit == to)?;
        match self.form(id)? {
            Form::Carried { x: operand, to: None } => {
                (info.carries_from() == Some(from)).then_some(operand)
            }
            _ => None,
        }
    }

    /// Returns true if the operator only changes the sort.
    pub fn is_boundary(&self, id: Id) -> bool {
        self.info(id).is_some_and(|info| info.boundary)
    }

    fn takes(&self, id: Id, count: usize) -> DecoupleError {
        let has = self.nodes[id].children().len();
        self.error(id, format!("takes {count} operands here, and has {has}"))
    }

    /// Returns the integer of a literal.
    pub fn int(&self, id: Id) -> Option<i64> {
        match self.nodes[id].head() {
            Head::Int(n) => Some(n),
            _ => None,
        }
    }

    /// Returns the number of an integer or real literal.
    pub fn number(&self, id: Id) -> Option<f64> {
        match self.nodes[id].head() {
            Head::Int(n) => Some(n as f64),
            Head::Real(bits) => Some(f64::from_bits(bits)),
            Head::Op(_) => None,
        }
    }

    /// Returns an error about an operator.
    pub fn error(&self, id: Id, message: impl Into<String>) -> DecoupleError {
        DecoupleError { operator: self.nodes[id].to_string(), message: message.into(), help: None }
    }

    /// Returns the error for an operator that does not belong in a place for `wanted`.
    pub fn unexpected(&self, id: Id, wanted: &str) -> DecoupleError {
        let pushed = matches!(self.form(id), Some(Form::Replaced { by: By::Lanes { .. }, .. }));
        if self.is_boundary(id) || pushed {
            return DecoupleError {
                help: Some("extract a finished term, which has no boundary operator".into()),
                ..self.error(id, "is a boundary operator that no rule has pushed down")
            };
        }
        let arities = match self.nodes[id].head() {
            Head::Op(name) if self.info(id).is_none() => self.operators.arities(name),
            _ => Vec::new(),
        };
        match arities.first() {
            Some(count) => self.takes(id, *count),
            None => self.error(id, format!("is not {wanted}")),
        }
    }
}

impl DecoupleError {
    /// Adds advice to the error.
    pub fn with_help(mut self, help: impl Into<String>) -> DecoupleError {
        self.help = Some(help.into());
        self
    }
}
