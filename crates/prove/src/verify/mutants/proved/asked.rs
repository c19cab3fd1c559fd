//! Addresses whose cache lines are asked for: nothing reads them, so that any address is right whose indices have a
//! value. An index has one if it is arithmetic on integers, or if it is looked up within the extents of a tensor, which
//! the address that is read beside it shows to have elements.

use super::expanded::text;
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rules::Signature;
use ember_language::term::{Head, Node};
use ember_values::primitive::Typing;
use ember_values::primitive::form::{Form, Operation};
use ember_values::scalar::{BinaryOp, DType, LARGEST_SIZE};

/// Returns true if asking for an address of a side never fails where another address is read.
pub(super) fn has_a_place(
    signature: &Signature,
    side: &PatternAst<Node>,
    asked: Id,
    read: Id,
) -> bool {
    let mut beside = Beside { signature, side, read: Vec::new(), known: Vec::new() };
    beside.learn(read);
    let (Some((own, indices)), Some((other, again))) = (beside.spine(asked), beside.spine(read))
    else {
        return false;
    };
    own == other
        && indices.len() == again.len()
        && indices.iter().all(|index| beside.is_index(*index))
}

/// What an address that is read says of tensors and indices.
struct Beside<'a> {
    signature: &'a Signature,
    side: &'a PatternAst<Node>,
    /// Each tensor with the indices of an element that is read.
    read: Vec<(Var, Vec<Id>)>,
    /// The texts of the indices that have been evaluated.
    known: Vec<String>,
}

/// A bound of an integer: its range, and true if it is less than an extent.
type Bound = ((i64, i64), bool);

/// The range of an integer of which nothing is known.
const ANY: (i64, i64) = (i64::MIN, i64::MAX);

impl Beside<'_> {
    fn form(&self, at: Id) -> Option<Form<Id>> {
        match &self.side[at] {
            ENodeOrVar::ENode(node) => self.signature.table().form(node),
            ENodeOrVar::Var(_) => None,
        }
    }

    /// Returns the tensor and the indices of an address.
    fn spine(&self, mut at: Id) -> Option<(Var, Vec<Id>)> {
        let mut indices = Vec::new();
        loop {
            match (&self.side[at], self.form(at)) {
                (ENodeOrVar::Var(v), _) => {
                    indices.reverse();
                    return Some((*v, indices));
                }
                (_, Some(Form::Index { address, index })) => {
                    indices.push(index);
                    at = address;
                }
                _ => return None,
            }
        }
    }

    /// Records what an address that is read has evaluated.
    fn learn(&mut self, address: Id) {
        let Some((tensor, indices)) = self.spine(address) else { return };
        for index in &indices {
            self.known.push(text(self.side, *index));
            let inner = self.converted(*index).unwrap_or(*index);
            if let Some(Form::Loaded { address, early: None }) = self.form(inner) {
                self.learn(address);
            }
        }
        self.read.push((tensor, indices));
    }

    /// Returns the value that a term converts to i64.
    fn converted(&self, at: Id) -> Option<Id> {
        let ENodeOrVar::ENode(node) = &self.side[at] else { return None };
        let Form::Converted(x) = self.form(at)? else { return None };
        let to = match self.signature.table().of(node)?.result(node.children())? {
            Typing::I64 => Some(DType::I64),
            Typing::Named(name) => DType::parse(&text(self.side, name)),
            Typing::Of(_) => None,
        };
        (to == Some(DType::I64)).then_some(x)
    }

    /// Returns true if a term is an index that can be evaluated.
    fn is_index(&self, at: Id) -> bool {
        if self.known.contains(&text(self.side, at)) {
            return true;
        }
        let inner = self.converted(at);
        match self.form(inner.unwrap_or(at)) {
            Some(Form::Loaded { address, early: None }) => {
                let Some((tensor, indices)) = self.spine(address) else { return false };
                let alike = |known: &Id| match self.form(*known) {
                    Some(Form::Loaded { address, .. }) => {
                        self.spine(address).is_some_and(|(other, _)| other == tensor)
                    }
                    _ => false,
                };
                // What is no index where it is read is none here.
                let is_index = inner.is_some() || self.read.iter().flat_map(|(_, i)| i).any(alike);
                let depth =
                    |(own, known): &(Var, Vec<Id>)| *own == tensor && known.len() == indices.len();
                let within = |(k, index): (usize, &Id)| match self.bound(*index, Some((tensor, k)))
                {
                    Some(((least, _), below)) => least >= 0 && below,
                    None => false,
                };
                is_index && self.read.iter().any(depth) && indices.iter().enumerate().all(within)
            }
            _ => self.bound(at, None).is_some(),
        }
    }

    /// Returns the range of an integer, and whether it is less than an extent of a tensor; `None` if it may have no
    /// value. Each extent is that of a tensor with elements.
    fn bound(&self, at: Id, extent: Option<(Var, usize)>) -> Option<Bound> {
        let largest = i64::try_from(LARGEST_SIZE).ok()?;
        let read = |(tensor, k): (Var, usize)| {
            self.read
                .iter()
                .filter(move |(own, _)| *own == tensor)
                .filter_map(move |(_, i)| i.get(k))
        };
        if let ENodeOrVar::ENode(node) = &self.side[at]
            && let Head::Int(n) = node.head()
        {
            return Some(((n, n), n == 0));
        }
        match self.form(at)? {
            Form::Iv(_) => {
                let own = text(self.side, at);
                let is_own = |index: &&Id| text(self.side, **index) == own;
                let mut all = self.read.iter().flat_map(|(_, indices)| indices);
                all.find(is_own)?;
                let below = extent.is_some_and(|extent| read(extent).any(|index| is_own(&index)));
                Some(((0, largest - 1), below))
            }
            Form::Extent { .. } => {
                read(self.extent(at)?).next()?;
                Some(((1, largest), false))
            }
            Form::Binary(Operation::Is(op), [a, b]) => {
                let ((left, low), (right, lower)) =
                    (self.bound(a, extent)?, self.bound(b, extent)?);
                let range = op.range(left, right);
                let is_extent = extent.is_some() && self.extent(a) == extent && range.is_some();
                let below = match op {
                    BinaryOp::Min => low || lower,
                    BinaryOp::Max => low && lower,
                    BinaryOp::Add => is_extent && right.1 < 0,
                    BinaryOp::Sub => is_extent && right.0 > 0,
                    _ => false,
                };
                Some((range.unwrap_or(ANY), below))
            }
            _ => None,
        }
    }

    /// Returns the tensor and the dimension that a term is the extent of.
    fn extent(&self, at: Id) -> Option<(Var, usize)> {
        let Form::Extent { of, k } = self.form(at)? else { return None };
        let (ENodeOrVar::Var(tensor), ENodeOrVar::ENode(k)) = (&self.side[of], &self.side[k])
        else {
            return None;
        };
        match k.head() {
            Head::Int(k) => Some((*tensor, usize::try_from(k).ok()?)),
            Head::Op(_) | Head::Real(_) => None,
        }
    }
}
