//! Terms: the e-graph's language. An operator is an interned name, so that dialects are data.

use egg::{FromOp, Id, Language, RecExpr, Symbol};
use std::fmt;

/// What a node is, its children aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Head {
    /// An operator, or a name such as a tensor's.
    Op(Symbol),
    /// An integer.
    Int(i64),
    /// A real number, by its bits; a NaN has one pattern.
    Real(u64),
}

impl Head {
    /// A real number.
    pub fn real(x: f64) -> Head {
        Head::Real(if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() })
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Head::Op(name) => f.write_str(name.as_str()),
            Head::Int(n) => write!(f, "{n}"),
            Head::Real(bits) => write!(f, "{:?}", f64::from_bits(*bits)),
        }
    }
}

/// A node of a term: a head and its children.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node {
    /// What it is.
    pub head: Head,
    args: Args,
}

/// Children; up to four stand in the node itself, which covers all but loops.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Args {
    Few(u8, [Id; 4]),
    Many(Box<[Id]>),
}

impl Node {
    /// A node with the given children.
    pub fn new(head: Head, children: &[Id]) -> Node {
        let args = if children.len() <= 4 {
            let mut few = [Id::from(0usize); 4];
            few[..children.len()].copy_from_slice(children);
            Args::Few(children.len() as u8, few)
        } else {
            Args::Many(children.into())
        };
        Node { head, args }
    }

    /// An operator applied to children.
    pub fn op(name: &str, children: &[Id]) -> Node {
        Node::new(Head::Op(Symbol::from(name)), children)
    }

    /// An integer.
    pub fn int(n: i64) -> Node {
        Node::new(Head::Int(n), &[])
    }

    /// The operator's name; `None` for a number.
    pub fn name(&self) -> Option<&'static str> {
        match self.head {
            Head::Op(name) => Some(name.as_str()),
            Head::Int(_) | Head::Real(_) => None,
        }
    }
}

impl Language for Node {
    type Discriminant = (Head, usize);

    fn discriminant(&self) -> Self::Discriminant {
        (self.head, self.children().len())
    }

    fn matches(&self, other: &Self) -> bool {
        self.head == other.head && self.children().len() == other.children().len()
    }

    fn children(&self) -> &[Id] {
        match &self.args {
            Args::Few(n, ids) => &ids[..usize::from(*n)],
            Args::Many(ids) => ids,
        }
    }

    fn children_mut(&mut self) -> &mut [Id] {
        match &mut self.args {
            Args::Few(n, ids) => &mut ids[..usize::from(*n)],
            Args::Many(ids) => ids,
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head.fmt(f)
    }
}

impl FromOp for Node {
    type Error = std::convert::Infallible;

    /// Reads a head: an integer, a real number (with a point, an exponent, `inf` or `nan`), or a
    /// name.
    fn from_op(op: &str, children: Vec<Id>) -> Result<Self, Self::Error> {
        Ok(Node::new(parse_head(op), &children))
    }
}

/// The head that an atom of text stands for. Numbers start with a digit or a sign and a digit;
/// `inf`, `-inf` and `nan` are real numbers too.
pub fn parse_head(text: &str) -> Head {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let numeric =
        digits.starts_with(|c: char| c.is_ascii_digit()) || digits == "inf" || text == "nan";
    if numeric {
        if let Ok(n) = text.parse::<i64>() {
            return Head::Int(n);
        }
        if let Ok(x) = text.replace("nan", "NaN").parse::<f64>() {
            return Head::real(x);
        }
    }
    Head::Op(Symbol::from(text))
}

/// A concrete term.
pub type Term = RecExpr<Node>;
