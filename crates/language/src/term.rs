//! Terms, the language of the e-graph. An operator is an interned name, so that dialects are data.

use crate::rebuild::{rebuild, rebuild_part};
use egg::{FromOp, Id, Language, RecExpr, Symbol};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;
use std::ops::Index;

/// The head of a node: the node without its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Head {
    /// An operator, or a name, for example of a tensor.
    Op(Symbol),
    /// An integer.
    Int(i64),
    /// A real number, by its bits; all NaNs have one bit pattern.
    Real(u64),
}

impl Head {
    /// Creates the head of a real number.
    pub fn real(x: f64) -> Head {
        Head::Real(if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() })
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Head::Op(name) => f.write_str(name.as_str()),
            Head::Int(n) => write!(f, "{n}"),
            Head::Real(bits) if f64::from_bits(*bits).is_nan() => f.write_str("nan"),
            Head::Real(bits) => write!(f, "{:?}", f64::from_bits(*bits)),
        }
    }
}

/// A node of a term: a head and its children.
///
/// An e-graph contains each node several times, so a node is kept small: up to four children are stored inline, which
/// suffices for all operators but loops.
///
/// A node is most often looked up right after its children were written one by one. Hashing reads the children one by
/// one too, because a wider read would wait until all earlier writes have reached the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node(Repr);

/// An operator by its number of children, or a number.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Repr {
    Leaf(Symbol),
    One(Symbol, [Id; 1]),
    Two(Symbol, [Id; 2]),
    Three(Symbol, [Id; 3]),
    Four(Symbol, [Id; 4]),
    Many(Symbol, Box<[Id]>),
    Int(i64),
    Real(u64),
}

impl Node {
    /// Creates a node with these children. A number has no children, so they are ignored.
    pub fn new(head: Head, children: &[Id]) -> Node {
        Node(match (head, children) {
            (Head::Op(name), []) => Repr::Leaf(name),
            (Head::Op(name), &[a]) => Repr::One(name, [a]),
            (Head::Op(name), &[a, b]) => Repr::Two(name, [a, b]),
            (Head::Op(name), &[a, b, c]) => Repr::Three(name, [a, b, c]),
            (Head::Op(name), &[a, b, c, d]) => Repr::Four(name, [a, b, c, d]),
            (Head::Op(name), children) => Repr::Many(name, children.into()),
            (Head::Int(n), _) => Repr::Int(n),
            (Head::Real(bits), _) => Repr::Real(bits),
        })
    }

    /// Creates an operator applied to children.
    pub fn op(name: &str, children: &[Id]) -> Node {
        Node::new(Head::Op(Symbol::from(name)), children)
    }

    /// Creates an integer.
    pub fn int(n: i64) -> Node {
        Node::new(Head::Int(n), &[])
    }

    /// Returns the head of the node.
    #[inline]
    pub fn head(&self) -> Head {
        match self.0 {
            Repr::Leaf(name)
            | Repr::One(name, _)
            | Repr::Two(name, _)
            | Repr::Three(name, _)
            | Repr::Four(name, _)
            | Repr::Many(name, _) => Head::Op(name),
            Repr::Int(n) => Head::Int(n),
            Repr::Real(bits) => Head::Real(bits),
        }
    }

    /// Returns the operator's name; `None` for a number.
    pub fn name(&self) -> Option<&'static str> {
        match self.head() {
            Head::Op(name) => Some(name.as_str()),
            Head::Int(_) | Head::Real(_) => None,
        }
    }
}

impl Hash for Node {
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.head() {
            Head::Op(name) => {
                let name = u64::from(NonZeroU32::from(name).get());
                state.write_u64(name | (self.children().len() as u64) << 32);
            }
            Head::Int(n) => state.write_i64(n),
            Head::Real(bits) => state.write_u64(bits),
        }
        self.children().iter().for_each(|id| state.write_u32(usize::from(*id) as u32));
    }
}

impl Ord for Node {
    /// Orders nodes by head, then by the number of children, then by the children.
    fn cmp(&self, other: &Node) -> Ordering {
        let (children, others) = (self.children(), other.children());
        self.head()
            .cmp(&other.head())
            .then_with(|| children.len().cmp(&others.len()))
            .then_with(|| children.cmp(others))
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
        self.head() == other.head() && self.children().len() == other.children().len()
    }

    #[inline]
    fn children(&self) -> &[Id] {
        match &self.0 {
            Repr::One(_, ids) => ids,
            Repr::Two(_, ids) => ids,
            Repr::Three(_, ids) => ids,
            Repr::Four(_, ids) => ids,
            Repr::Many(_, ids) => ids,
            Repr::Leaf(_) | Repr::Int(_) | Repr::Real(_) => &[],
        }
    }

    #[inline]
    fn children_mut(&mut self) -> &mut [Id] {
        match &mut self.0 {
            Repr::One(_, ids) => ids,
            Repr::Two(_, ids) => ids,
            Repr::Three(_, ids) => ids,
            Repr::Four(_, ids) => ids,
            Repr::Many(_, ids) => ids,
            Repr::Leaf(_) | Repr::Int(_) | Repr::Real(_) => &mut [],
        }
    }

    #[inline(always)]
    fn map_children<F: FnMut(Id) -> Id>(self, mut f: F) -> Node {
        Node(match self.0 {
            Repr::One(name, [a]) => Repr::One(name, [f(a)]),
            Repr::Two(name, [a, b]) => Repr::Two(name, [f(a), f(b)]),
            Repr::Three(name, [a, b, c]) => Repr::Three(name, [f(a), f(b), f(c)]),
            Repr::Four(name, [a, b, c, d]) => Repr::Four(name, [f(a), f(b), f(c), f(d)]),
            Repr::Many(name, ids) => Repr::Many(name, ids.into_iter().map(f).collect()),
            leaf => leaf,
        })
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head().fmt(f)
    }
}

impl FromOp for Node {
    type Error = std::convert::Infallible;

    /// Parses a head: an integer, a real number (with a point, an exponent, `inf` or `nan`), or a name.
    fn from_op(op: &str, children: Vec<Id>) -> Result<Self, Self::Error> {
        Ok(Node::new(parse_head(op), &children))
    }
}

/// Parses an atom of text as a head. Numbers start with a digit or a sign and a digit; `inf`, `-inf` and `nan` are real
/// numbers too.
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

/// A builder of terms with maximal sharing, children first in the order of the arguments. Two of its terms are equal if
/// and only if their texts are.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    term: Term,
    known: FxHashMap<Node, Id>,
}

impl Index<Id> for Terms {
    type Output = Node;

    fn index(&self, id: Id) -> &Node {
        &self.term[id]
    }
}

impl Terms {
    /// Adds a node whose children were added before.
    pub fn add(&mut self, node: Node) -> Id {
        if let Some(id) = self.known.get(&node) {
            return *id;
        }
        let id = self.term.add(node.clone());
        self.known.insert(node, id);
        id
    }

    /// Adds an operator applied to added terms.
    pub fn op(&mut self, name: &str, children: &[Id]) -> Id {
        self.add(Node::op(name, children))
    }

    /// Adds an integer.
    pub fn int(&mut self, n: i64) -> Id {
        self.add(Node::int(n))
    }

    /// Returns everything that was added as one term.
    pub fn all(&self) -> &Term {
        &self.term
    }

    /// Returns a node that was added before.
    pub fn get(&self, id: Id) -> Option<&Node> {
        self.term.as_ref().get(usize::from(id))
    }

    /// Returns an added node and its descendants as a separate term.
    pub fn part(&self, id: Id) -> Term {
        Terms::of(&self.term, id)
    }

    /// Returns the term; its root is the node added last.
    pub fn finish(self) -> Term {
        self.term
    }

    /// Adds a term and returns its id.
    pub fn put(&mut self, term: &Term) -> Id {
        rebuild(term.as_ref(), |_, node| self.add(node))
    }

    /// Returns a subterm in its canonical form.
    pub fn of(term: &Term, root: Id) -> Term {
        let mut terms = Terms::default();
        rebuild_part(term.as_ref(), root, &mut FxHashMap::default(), |node| terms.add(node));
        terms.finish()
    }
}
