//! Addresses whose cache lines are asked for: nothing reads them, so that any address is right whose indices have a
//! value. An index has one if it is arithmetic on integers, or if it is looked up within the extents of a tensor, which
//! the address that is read beside it shows to have elements.

use super::expanded::text;
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rules::{Kind, Signature};
use ember_language::term::{Head, Node};
use ember_values::primitive::Typing;
use ember_values::primitive::form::{Form, Holder, Operation};
use ember_values::scalar::{BinaryOp, DType, LARGEST_SIZE, Scalar};

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

/// The tensors and indices of a side, with all that an address which is read shows of them.
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

    /// Returns the tensor and the indices of an address. What makes an address of another one and a value indexes it.
    fn spine(&self, mut at: Id) -> Option<(Var, Vec<Id>)> {
        const INDEXED: [Option<Kind>; 2] = [Some(Kind::Address), Some(Kind::Value)];
        let mut indices = Vec::new();
        loop {
            let node = match &self.side[at] {
                ENodeOrVar::Var(v) => {
                    indices.reverse();
                    return Some((*v, indices));
                }
                ENodeOrVar::ENode(node) => node,
            };
            let info = self.signature.table().of(node).filter(|info| info.row.is_some())?;
            let [address, index] = node.children() else { return None };
            if info.kind != Some(Kind::Address) || info.operand_kinds != INDEXED {
                return None;
            }
            indices.push(*index);
            at = *address;
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

    /// Returns true if a term is an i64, whatever its operands are.
    fn is_i64(&self, node: &Node) -> bool {
        let info = self.signature.table().of(node);
        match info.and_then(|info| info.result(node.children())) {
            Some(Typing::I64) => true,
            Some(Typing::Named(name)) => DType::parse(&text(self.side, name)) == Some(DType::I64),
            Some(Typing::Of(_)) | None => false,
        }
    }

    /// Returns the only value that an i64 is made of, which it is converted from if that is another number.
    fn converted(&self, at: Id) -> Option<Id> {
        let ENodeOrVar::ENode(node) = &self.side[at] else { return None };
        let info = self.signature.table().of(node).filter(|_| self.is_i64(node))?;
        let operands = info.operand_kinds.iter().zip(node.children());
        let mut values = operands.filter(|(kind, _)| **kind == Some(Kind::Value));
        let first = values.next().map(|(_, value)| *value);
        first.filter(|_| values.next().is_none())
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
        let own = text(self.side, at);
        let is_own = |index: &&Id| text(self.side, **index) == own;
        let is_i64 = matches!(&self.side[at], ENodeOrVar::ENode(node) if self.is_i64(node));
        // What is an index of one tensor is no index of others that are shorter.
        if is_i64 && self.read.iter().flat_map(|(_, indices)| indices).any(|index| is_own(&index)) {
            let below = extent.is_some_and(|extent| read(extent).any(|index| is_own(&index)));
            return Some(((0, largest - 1), below));
        }
        match self.form(at)? {
            Form::Extent { .. } => {
                read(self.extent(at)?).next()?;
                Some(((1, largest), false))
            }
            Form::Binary(Operation::Is(op), [a, b]) => {
                let ((left, low), (right, lower)) =
                    (self.bound(a, extent)?, self.bound(b, extent)?);
                let range = op.range(left, right);
                let is_extent = extent.is_some() && self.extent(a) == extent && range.is_some();
                // An operation of which the greatest or the least integer is the identity gives the least or the
                // greatest of its operands.
                let below = match op.identity(DType::I64) {
                    Some(Scalar::I64(i64::MAX)) => low || lower,
                    Some(Scalar::I64(i64::MIN)) => low && lower,
                    _ => is_extent && falls(op, [left.0, left.1], right),
                };
                Some((range.unwrap_or(ANY), below))
            }
            _ => None,
        }
    }

    /// Returns the tensor and the dimension that a term is the extent of.
    fn extent(&self, at: Id) -> Option<(Var, usize)> {
        let Form::Extent { of, k } = self.form(at)? else { return None };
        let (Holder::Address(of) | Holder::Tensor(of)) = of;
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

/// Returns true if a result is less than the first operand. Operations with a range are monotone, and what they take away
/// from the ends of a range they take away between them.
fn falls(op: BinaryOp, [least, most]: [i64; 2], right: (i64, i64)) -> bool {
    let less = |a: i64, b: i64| op.checked(a, b).is_some_and(|result| result < a);
    [least, most].into_iter().all(|a| less(a, right.0) && less(a, right.1))
}
