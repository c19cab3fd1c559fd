//! Terms: the e-graph's language. An operator is an interned name, so that dialects are data.

use egg::{FromOp, Id, Language, RecExpr, Symbol};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;

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
///
/// An e-graph holds each node several times over, so it is kept small: up to four children stand in
/// the node itself, which covers all but loops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node(Repr);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Repr {
    /// An operator with this many of the children; the others are 0.
    Few(u8, Symbol, [Id; 4]),
    Many(Symbol, Box<[Id]>),
    Int(i64),
    Real(u64),
}

impl Node {
    /// A node with the given children. A number has none: it stays one without them.
    pub fn new(head: Head, children: &[Id]) -> Node {
        Node(match head {
            Head::Op(name) if children.len() <= 4 => {
                let mut few = [Id::from(0usize); 4];
                few[..children.len()].copy_from_slice(children);
                Repr::Few(children.len() as u8, name, few)
            }
            Head::Op(name) => Repr::Many(name, children.into()),
            Head::Int(n) => Repr::Int(n),
            Head::Real(bits) => Repr::Real(bits),
        })
    }

    /// An operator applied to children.
    pub fn op(name: &str, children: &[Id]) -> Node {
        Node::new(Head::Op(Symbol::from(name)), children)
    }

    /// An integer.
    pub fn int(n: i64) -> Node {
        Node::new(Head::Int(n), &[])
    }

    /// What it is, its children aside.
    pub fn head(&self) -> Head {
        match self.0 {
            Repr::Few(_, name, _) | Repr::Many(name, _) => Head::Op(name),
            Repr::Int(n) => Head::Int(n),
            Repr::Real(bits) => Head::Real(bits),
        }
    }

    /// The operator's name; `None` for a number.
    pub fn name(&self) -> Option<&'static str> {
        match self.head() {
            Head::Op(name) => Some(name.as_str()),
            Head::Int(_) | Head::Real(_) => None,
        }
    }
}

impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let word = |a: u32, b: u32| u64::from(a) | u64::from(b) << 32;
        let id = |id: Id| usize::from(id) as u32;
        match &self.0 {
            Repr::Few(n, name, ids) => {
                state.write_u64(word(u32::from(NonZeroU32::from(*name)), u32::from(*n)));
                state.write_u64(word(id(ids[0]), id(ids[1])));
                if *n > 2 {
                    state.write_u64(word(id(ids[2]), id(ids[3])));
                }
            }
            Repr::Many(name, ids) => {
                state.write_u64(word(u32::from(NonZeroU32::from(*name)), ids.len() as u32));
                ids.iter().for_each(|child| state.write_u32(id(*child)));
            }
            Repr::Int(n) => state.write_i64(*n),
            Repr::Real(bits) => state.write_u64(*bits),
        }
    }
}

impl Ord for Node {
    /// By head, then by the number of children, then by them.
    fn cmp(&self, other: &Node) -> Ordering {
        match (&self.0, &other.0) {
            (Repr::Few(n, name, ids), Repr::Few(m, other, others)) => {
                (name, n, ids).cmp(&(other, m, others))
            }
            (Repr::Many(name, ids), Repr::Many(other, others)) => (name, ids).cmp(&(other, others)),
            (Repr::Few(_, name, _), Repr::Many(other, _)) => name.cmp(other).then(Ordering::Less),
            (Repr::Many(name, _), Repr::Few(_, other, _)) => {
                name.cmp(other).then(Ordering::Greater)
            }
            _ => self.head().cmp(&other.head()),
        }
    }
}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Node) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Language for Node {
    type Discriminant = (Head, usize);

    fn discriminant(&self) -> Self::Discriminant {
        (self.head(), self.children().len())
    }

    fn matches(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Few(n, name, _), Repr::Few(m, other, _)) => name == other && n == m,
            _ => self.discriminant() == other.discriminant(),
        }
    }

    fn children(&self) -> &[Id] {
        match &self.0 {
            Repr::Few(n, _, ids) => &ids[..usize::from(*n)],
            Repr::Many(_, ids) => ids,
            Repr::Int(_) | Repr::Real(_) => &[],
        }
    }

    fn children_mut(&mut self) -> &mut [Id] {
        match &mut self.0 {
            Repr::Few(n, _, ids) => &mut ids[..usize::from(*n)],
            Repr::Many(_, ids) => ids,
            Repr::Int(_) | Repr::Real(_) => &mut [],
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head().fmt(f)
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
