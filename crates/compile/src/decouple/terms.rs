//! A term as the lowering sees it: equal subterms have one id, and mismatches have one wording.

use super::DecoupleError;
use egg::{Id, Language, RecExpr};
use ember_language::rules::{Loop, OpInfo, Operators, Unit};
use ember_language::term::{self, Head, Node, Term};
use ember_values::primitive::Primitive;

/// A term whose equal subterms are shared, so that loop variables compare by id.
pub struct Terms<'a> {
    operators: &'a Operators,
    nodes: RecExpr<Node>,
    /// For each node, the places among operands where it stands.
    uses: Vec<u32>,
    root: Id,
}

impl<'a> Terms<'a> {
    /// Shares the equal subterms of a term.
    pub fn new(operators: &'a Operators, term: &Term) -> Terms<'a> {
        let mut shared = term::Terms::default();
        let root = match term.is_empty() {
            // An empty term has no root; a name that no operator has stands for it.
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

    /// The whole term.
    pub fn root(&self) -> Id {
        self.root
    }

    /// The node with this id.
    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id]
    }

    /// Whether the term stands in more than one place.
    pub fn is_shared(&self, id: Id) -> bool {
        self.uses[usize::from(id)] > 1
    }

    /// The operator's name; empty for a number.
    pub fn name(&self, id: Id) -> &'static str {
        self.nodes[id].name().unwrap_or_default()
    }

    /// The operator's row of the table.
    pub fn info(&self, id: Id) -> Option<&'a OpInfo> {
        self.operators.of(&self.nodes[id])
    }

    /// The primitive that the operator is.
    pub fn primitive(&self, id: Id) -> Option<Primitive> {
        self.info(id)?.primitive()
    }

    /// The primitive that the operator is on a unit, or in a program for one processor; none for a boundary.
    pub fn on(&self, id: Id, unit: Option<Unit>) -> Option<Primitive> {
        self.info(id).filter(|info| info.unit == unit && !info.boundary)?.primitive()
    }

    /// The operand of a term that means its operand, and runs on one unit where the operand runs on another.
    pub fn carried(&self, id: Id, to: Option<Unit>, from: Option<Unit>) -> Option<Id> {
        let info = self.info(id).filter(|info| info.unit == to)?;
        let [operand] = info.parts(self.nodes[id].children())?;
        (info.carries_from() == Some(from)).then_some(operand)
    }

    /// True if the operator only changes the sort.
    pub fn is_boundary(&self, id: Id) -> bool {
        self.info(id).is_some_and(|info| info.boundary)
    }

    /// The first operands in the order of the primitive's row.
    pub fn operands<const N: usize>(&self, id: Id) -> Result<[Id; N], DecoupleError> {
        let children = self.nodes[id].children();
        let parts = self.info(id).and_then(|info| info.parts(children));
        parts.ok_or_else(|| self.takes(id, N))
    }

    /// The operands of a loop.
    pub fn looped(&self, id: Id) -> Result<Loop<Id>, DecoupleError> {
        let children = self.nodes[id].children();
        let own = self.info(id).and_then(OpInfo::looped).and_then(|own| own.of(children));
        own.ok_or_else(|| self.error(id, "lacks an operand of a loop"))
    }

    fn takes(&self, id: Id, count: usize) -> DecoupleError {
        let has = self.nodes[id].children().len();
        self.error(id, format!("takes {count} operands here, and has {has}"))
    }

    /// The integer literal.
    pub fn int(&self, id: Id) -> Option<i64> {
        match self.nodes[id].head() {
            Head::Int(n) => Some(n),
            _ => None,
        }
    }

    /// The number, integer or real.
    pub fn number(&self, id: Id) -> Option<f64> {
        match self.nodes[id].head() {
            Head::Int(n) => Some(n as f64),
            Head::Real(bits) => Some(f64::from_bits(bits)),
            Head::Op(_) => None,
        }
    }

    /// An error about an operator.
    pub fn error(&self, id: Id, message: impl Into<String>) -> DecoupleError {
        DecoupleError { operator: self.nodes[id].to_string(), message: message.into(), help: None }
    }

    /// The error for an operator that does not belong where `wanted` is needed.
    pub fn unexpected(&self, id: Id, wanted: &str) -> DecoupleError {
        if self.is_boundary(id) || self.primitive(id) == Some(Primitive::Vec) {
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
    /// With what to do about it.
    pub fn with_help(mut self, help: impl Into<String>) -> DecoupleError {
        self.help = Some(help.into());
        self
    }
}
