//! The grammar of random terms: every operator that programs contain, by the kind of its terms, as a pattern with a
//! variable for each operand. A random term is an instance of the pattern of a random operator.

use egg::{ENodeOrVar, Id, PatternAst, Symbol, Var};
use ember_language::rules::{
    Kind, OpInfo, Operator, Operators, Signature, Sort, SortDecl, SortTerm, Unit,
};
use ember_language::term::{Head, Node};
use ember_values::primitive::Price;

/// An operator from which terms are built.
#[derive(Debug)]
pub(crate) struct Shape<'a> {
    pub info: &'a OpInfo,
    /// The sort of its terms.
    pub sort: Sort,
    /// The operator applied to variables.
    pub pattern: PatternAst<Node>,
}

/// The operators from which terms are built, by kind.
#[derive(Debug)]
pub(crate) struct Grammar<'a> {
    pub signature: &'a Signature,
    pub values: Vec<Shape<'a>>,
    pub statements: Vec<Shape<'a>>,
    pub tensors: Vec<Shape<'a>>,
}

impl<'a> Grammar<'a> {
    /// Collects the operators of a signature.
    pub fn new(signature: &'a Signature) -> Grammar<'a> {
        let of = |kind: Kind| {
            let all = signature.operators().iter();
            all.filter_map(|operator| Shape::of(signature, operator, kind)).collect()
        };
        Grammar {
            signature,
            values: of(Kind::Value),
            statements: of(Kind::Statement),
            tensors: of(Kind::Tensor),
        }
    }

    pub fn operators(&self) -> &'a Operators {
        self.signature.table()
    }

    /// Returns the operators of a sort without operands.
    pub fn words(&self, sort: Sort) -> Vec<&'static str> {
        let all = self.signature.operators().iter();
        let words = all.filter(|op| op.args.is_empty() && op.result == SortTerm::Is(sort));
        words.map(|op| op.name.as_str()).collect()
    }

    /// Returns the boundary whose result has this sort.
    pub fn boundary(&self, sort: Sort) -> Option<Symbol> {
        let mut all = self.signature.operators().iter();
        let found = all.find(|op| op.boundary && op.result == SortTerm::Is(sort));
        found.map(|op| op.name)
    }

    /// Returns the first sort of a kind on a unit.
    pub fn sort(&self, kind: Kind, unit: Option<Unit>) -> Option<Sort> {
        sort(self.signature, kind, unit)
    }
}

/// Returns the first sort of a kind on a unit.
pub(crate) fn sort(signature: &Signature, kind: Kind, unit: Option<Unit>) -> Option<Sort> {
    let fits = |sort: &&SortDecl| sort.kind == Some(kind) && sort.unit == unit;
    signature.sorts().iter().find(fits).map(|sort| sort.sort)
}

impl<'a> Shape<'a> {
    /// Returns the shape of an operator whose terms have this kind and may occur in programs.
    fn of(signature: &'a Signature, operator: &Operator, kind: Kind) -> Option<Shape<'a>> {
        let info = signature.table().get(operator.name, operator.args.len())?;
        let sort = operator.result.named()?;
        let binds = info.binds.is_some() && info.looped().is_none();
        let known = info.row.is_some() || info.typing.is_some() && info.touches.is_some();
        let stands = known && info.price != Some(Price::Folded) && !binds && !info.boundary;
        if info.kind != Some(kind) || info.unit.is_some() || !stands {
            return None;
        }
        Some(Shape { info, sort, pattern: pattern(operator) })
    }

    /// Returns the number of operands of a kind that are not literals.
    pub fn operands(&self, kind: Kind) -> usize {
        let own = self.info.operand_kinds.iter().enumerate();
        own.filter(|(at, k)| **k == Some(kind) && !self.info.literals.contains(at)).count()
    }

    /// Returns true if the operator writes memory, or if that is unknown.
    pub fn writes(&self) -> bool {
        self.info.touches.as_ref().is_none_or(|touches| !touches.writes.is_empty())
    }
}

/// Returns the pattern of an operator applied to a variable for each operand.
pub(crate) fn pattern(operator: &Operator) -> PatternAst<Node> {
    let mut pattern = PatternAst::default();
    let variables = (0..operator.args.len() as u32).map(Var::from_u32);
    let operands: Vec<Id> = variables.map(|v| pattern.add(ENodeOrVar::Var(v))).collect();
    pattern.add(ENodeOrVar::ENode(Node::new(Head::Op(operator.name), &operands)));
    pattern
}
