//! A term as the lowering sees it: equal subterms have one id, and mismatches have one wording.

use super::DecoupleError;
use egg::{Id, Language, RecExpr};
use ember_language::term::{Head, Node, Term};
use rustc_hash::FxHashMap;

/// Which operators values and statements are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// `scf.*`, of a coupled program.
    Scf,
    /// `exe.*`, inside callbacks.
    Exe,
}

impl Level {
    /// The dialect's name.
    pub fn dialect(self) -> &'static str {
        match self {
            Level::Scf => "scf",
            Level::Exe => "exe",
        }
    }
}

/// A term whose equal subterms are shared, so that loop variables compare by id.
pub struct Terms {
    nodes: RecExpr<Node>,
    /// For each node, the places among operands where it stands.
    uses: Vec<u32>,
    root: Id,
}

impl Terms {
    /// Shares the equal subterms of a term.
    pub fn new(term: &Term) -> Terms {
        let mut nodes = RecExpr::default();
        let mut known: FxHashMap<Node, Id> = FxHashMap::default();
        let mut canonical: Vec<Id> = Vec::with_capacity(term.as_ref().len());
        for node in term.as_ref() {
            let node = node.clone().map_children(|c| canonical[usize::from(c)]);
            let id = *known.entry(node.clone()).or_insert_with(|| nodes.add(node));
            canonical.push(id);
        }
        // An empty term has no root; a name that no operator has stands for it.
        let root = canonical.last().copied().unwrap_or_else(|| nodes.add(Node::op("nothing", &[])));
        let mut uses = vec![0; nodes.len()];
        for node in nodes.as_ref() {
            node.children().iter().for_each(|c| uses[usize::from(*c)] += 1);
        }
        Terms { nodes, uses, root }
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

    /// Exactly `N` operands.
    pub fn operands<const N: usize>(&self, id: Id) -> Result<[Id; N], DecoupleError> {
        let children = self.nodes[id].children();
        children.try_into().map_err(|_| {
            self.error(id, format!("takes {N} operands here, and has {}", children.len()))
        })
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
        let boundary = ["slc", "exe", "val", "ead", "str", "sad", "vec"].contains(&self.name(id));
        if boundary {
            return DecoupleError {
                help: Some("extract a finished term, which has no boundary operator".into()),
                ..self.error(id, "is a boundary operator that no rule has pushed down")
            };
        }
        self.error(id, format!("is not {wanted}"))
    }
}

impl DecoupleError {
    /// With what to do about it.
    pub fn with_help(mut self, help: impl Into<String>) -> DecoupleError {
        self.help = Some(help.into());
        self
    }
}
