//! The rows of `rules/import/mlir.rows`: the kinds of operations, the forms of statements, and the term of each operation
//! on values.

use super::types::{Elem, Type};
use ember_language::diagnostic::Sources;
use ember_language::sexp::{self, Sexp};
use ember_values::scalar::DType;
use std::collections::BTreeMap;
use std::sync::OnceLock;

const TABLE: &str = include_str!("../../../../rules/import/mlir.rows");

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Module,
    Function,
    Return,
    Loop,
    Parallel,
    Branch,
    Yield,
    AffineLoop,
    AffineBranch,
    Apply,
    Least,
    Greatest,
    Constant,
    Load,
    Store,
    Allocate,
    Release,
    /// What changes no value: memory that is asked for before its use.
    Hint,
    Extent,
    View,
    Copy,
    Field,
    Broadcast,
    Fold,
    /// A mask of lanes.
    Mask,
    MaskedLoad,
    MaskedStore,
    /// A memory whose elements all become one number.
    Fill,
    /// A product of whole matrices, which is added to a memory.
    Product,
    ProductTransposed,
    /// A product of matrices, of which some are each one of a batch.
    Matrix,
    /// A stream of a value, or the value of a stream: the same in a program that runs in order.
    Stream,
    /// A load of lanes that the loop around masks.
    StreamLoad,
    /// A loop of both units inside of what the execute unit does.
    Walk,
    /// What the execute unit does.
    Callback,
    /// The half of the access unit.
    AccessHalf,
    /// The half of the execute unit: a case for each callback.
    ComputeHalf,
    /// A traversal unit.
    Unit,
    /// The induction variable of a unit.
    UnitIndex,
    /// A token that a unit pushes.
    UnitCallback,
    /// An operand that a unit marshals.
    UnitOperand,
    /// An operand that the execute unit pops.
    Pop,
    /// A point where the access unit waits for the execute unit.
    Barrier,
    /// A load that only fills a cache.
    Prefetch,
    /// A store of the access unit.
    UnitStore,
    /// A stream's element in every lane.
    StreamCopies,
    /// A stream's integers as indices.
    StreamIndex,
    /// A fold of lanes, half onto half.
    HalfFold,
    /// The numbers of lanes.
    LaneNumbers,
    /// An operation on values, which has rows.
    Plain,
}

/// The words of kinds in the table.
const KINDS: [(&str, Kind); 49] = [
    ("module", Kind::Module),
    ("function", Kind::Function),
    ("return", Kind::Return),
    ("loop", Kind::Loop),
    ("parallel", Kind::Parallel),
    ("branch", Kind::Branch),
    ("yield", Kind::Yield),
    ("affine-loop", Kind::AffineLoop),
    ("affine-branch", Kind::AffineBranch),
    ("apply", Kind::Apply),
    ("least", Kind::Least),
    ("greatest", Kind::Greatest),
    ("constant", Kind::Constant),
    ("load", Kind::Load),
    ("store", Kind::Store),
    ("allocate", Kind::Allocate),
    ("release", Kind::Release),
    ("hint", Kind::Hint),
    ("extent", Kind::Extent),
    ("view", Kind::View),
    ("copy", Kind::Copy),
    ("field", Kind::Field),
    ("broadcast", Kind::Broadcast),
    ("fold", Kind::Fold),
    ("mask", Kind::Mask),
    ("masked-load", Kind::MaskedLoad),
    ("masked-store", Kind::MaskedStore),
    ("fill", Kind::Fill),
    ("product", Kind::Product),
    ("product-transposed", Kind::ProductTransposed),
    ("matrix", Kind::Matrix),
    ("stream", Kind::Stream),
    ("stream-load", Kind::StreamLoad),
    ("walk", Kind::Walk),
    ("callback", Kind::Callback),
    ("access-half", Kind::AccessHalf),
    ("compute-half", Kind::ComputeHalf),
    ("unit", Kind::Unit),
    ("unit-index", Kind::UnitIndex),
    ("unit-callback", Kind::UnitCallback),
    ("unit-operand", Kind::UnitOperand),
    ("pop", Kind::Pop),
    ("barrier", Kind::Barrier),
    ("prefetch", Kind::Prefetch),
    ("unit-store", Kind::UnitStore),
    ("stream-copies", Kind::StreamCopies),
    ("stream-index", Kind::StreamIndex),
    ("half-fold", Kind::HalfFold),
    ("lane-numbers", Kind::LaneNumbers),
];

/// The class of an operand or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Float,
    Integer,
    Wide,
    Bit,
    Small,
    Any,
}

impl Class {
    fn parse(word: &str) -> Option<Class> {
        Some(match word {
            "float" => Class::Float,
            "integer" => Class::Integer,
            "wide" => Class::Wide,
            "bit" => Class::Bit,
            "small" => Class::Small,
            "any" => Class::Any,
            _ => return None,
        })
    }

    /// True for the class of truth values.
    pub(super) fn is_bit(self) -> bool {
        self == Class::Bit
    }

    /// True if a type is of the class.
    pub(super) fn holds(self, of: &Type) -> bool {
        let Some(elem) = of.elem() else { return false };
        match (self, elem) {
            (Class::Bit, Elem::Bit) => true,
            (Class::Any, elem) => elem != Elem::Bit,
            (Class::Wide, Elem::Index | Elem::Of(DType::I64)) => true,
            (Class::Integer, Elem::Index | Elem::Of(DType::I64 | DType::I32)) => true,
            (Class::Float, Elem::Of(DType::F32 | DType::F64)) => true,
            (Class::Small, Elem::Of(dtype)) => dtype.is_storage(),
            _ => false,
        }
    }

    /// Returns the types of the class, for messages.
    pub(super) fn shown(self) -> &'static str {
        match self {
            Class::Float => "f32 or f64",
            Class::Integer => "i32, i64 or index",
            Class::Wide => "i64 or index",
            Class::Bit => "i1",
            Class::Small => "i8, f16 or bf16",
            Class::Any => "a type of numbers",
        }
    }
}

/// The type of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    Same,
    Bit,
    To(Class),
}

/// A way to use an operation on values.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) operands: Vec<Class>,
    pub(super) output: Output,
    pub(super) term: Sexp,
}

/// The table.
#[derive(Debug, Default)]
pub(super) struct Rows {
    kinds: BTreeMap<String, Kind>,
    plain: BTreeMap<String, Vec<Row>>,
    forms: BTreeMap<String, Sexp>,
    predicates: BTreeMap<String, Vec<String>>,
    folds: BTreeMap<String, String>,
    lanes: BTreeMap<String, String>,
    /// The reductions by the operators of terms.
    heads: BTreeMap<String, String>,
}

impl Rows {
    /// Returns the table of this version, or what is wrong with it.
    pub(super) fn shipped() -> Result<&'static Rows, String> {
        static ROWS: OnceLock<Result<Rows, String>> = OnceLock::new();
        ROWS.get_or_init(|| Rows::read(TABLE)).as_ref().map_err(Clone::clone)
    }

    fn read(text: &str) -> Result<Rows, String> {
        let mut sources = Sources::default();
        let file = sources.add("table", text);
        let items = sexp::read(&sources, file)
            .map_err(|errors| errors.first().map_or(String::new(), |e| e.message.clone()))?;
        let mut rows = Rows::default();
        items.iter().try_for_each(|item| rows.add(item).ok_or_else(|| item.to_string()))?;
        let head = |(operation, fold): (&String, &String)| {
            let (head, _) = rows.plain.get(operation)?.first()?.term.form()?;
            Some((head.to_owned(), fold.clone()))
        };
        rows.heads = rows.folds.iter().filter_map(head).collect();
        Ok(rows)
    }

    fn add(&mut self, item: &Sexp) -> Option<()> {
        let names = |items: &[Sexp]| -> Option<Vec<String>> {
            items.iter().map(|item| Some(item.atom()?.to_owned())).collect()
        };
        match item.form()? {
            ("structure", [kind, operations @ ..]) => {
                let kind = KINDS.iter().find(|(word, _)| Some(*word) == kind.atom())?.1;
                self.kinds.extend(names(operations)?.into_iter().map(|name| (name, kind)));
            }
            ("predicates", [operation, words @ ..]) => {
                self.predicates.insert(operation.atom()?.to_owned(), names(words)?);
            }
            ("form", [name, form]) => {
                self.forms.insert(name.atom()?.to_owned(), form.clone());
            }
            (table @ ("folds" | "lanes"), [fold, words @ ..]) => {
                let own = if table == "folds" { &mut self.folds } else { &mut self.lanes };
                let fold = fold.atom()?;
                own.extend(names(words)?.into_iter().map(|word| (word, fold.to_owned())));
            }
            (name, [operands, output, term]) => {
                let operands = operands.list()?.iter().map(|c| Class::parse(c.atom()?));
                let output = match (output.atom(), output.form()) {
                    (Some("same"), _) => Output::Same,
                    (Some("bit"), _) => Output::Bit,
                    (None, Some(("to", [class]))) => Output::To(Class::parse(class.atom()?)?),
                    _ => return None,
                };
                let row =
                    Row { operands: operands.collect::<Option<_>>()?, output, term: term.clone() };
                self.plain.entry(name.to_owned()).or_default().push(row);
            }
            _ => return None,
        }
        Some(())
    }

    /// Returns the kind of an operation.
    pub(super) fn kind(&self, operation: &str) -> Option<Kind> {
        let plain = || {
            let known =
                self.plain.contains_key(operation) || self.predicates.contains_key(operation);
            known.then_some(Kind::Plain)
        };
        self.kinds.get(operation).copied().or_else(plain)
    }

    /// Iterates over the names of all operations.
    pub(super) fn operations(&self) -> impl Iterator<Item = &str> {
        let plain = self.plain.keys().filter(|name| name.matches('.').count() == 1);
        self.kinds.keys().chain(plain).chain(self.predicates.keys()).map(String::as_str)
    }

    /// Returns the predicates of an operation, in the order of their numbers.
    pub(super) fn predicates(&self, operation: &str) -> Option<&[String]> {
        self.predicates.get(operation).map(Vec::as_slice)
    }

    /// Returns the rows of an operation on values.
    pub(super) fn rows(&self, name: &str) -> &[Row] {
        self.plain.get(name).map_or(&[], Vec::as_slice)
    }

    /// Iterates over the rows of all operations on values, with the names of the operations.
    pub(super) fn plain(&self) -> impl Iterator<Item = (&str, &Row)> {
        self.plain
            .iter()
            .flat_map(move |(name, own)| own.iter().map(move |row| (name.as_str(), row)))
    }

    /// Returns an operation and its predicate, given its name in rows.
    pub(super) fn spelled<'n>(&self, name: &'n str) -> (&'n str, Option<&'n str>) {
        match name.rsplit_once('.') {
            Some((operation, word)) if self.predicates.contains_key(operation) => {
                (operation, Some(word))
            }
            _ => (name, None),
        }
    }

    /// Iterates over the operations that a reduction folds with.
    pub(super) fn folding<'n>(&'n self, fold: &'n str) -> impl Iterator<Item = &'n str> {
        self.folds.iter().filter(move |(_, own)| *own == fold).map(|(name, _)| name.as_str())
    }

    /// Returns the operations that convert from one type to another, with the types that they give. An index is an i64
    /// on the way to other numbers.
    pub(super) fn conversions(&self, from: Elem, to: Elem) -> Option<Vec<(&str, Elem)>> {
        let float = |elem: Elem| elem.dtype().is_float();
        let (mut at, mut steps) = (from, Vec::new());
        while at != to {
            let next = match (at, to) {
                (Elem::Index, Elem::Of(DType::I32))
                | (Elem::Of(DType::I32 | DType::I64), Elem::Index) => to,
                (Elem::Index, _) | (_, Elem::Index) => Elem::Of(DType::I64),
                _ => to,
            };
            let operation = match (at, next) {
                (Elem::Index, _) | (_, Elem::Index) => "arith.index_cast",
                (a, b) => {
                    let wider = b.dtype().bits() > a.dtype().bits();
                    let wider = (float(a) == float(b)).then_some(wider);
                    self.conversion([Type::Scalar(a), Type::Scalar(b)], wider)?
                }
            };
            steps.push((operation, next));
            at = next;
        }
        Some(steps)
    }

    /// Returns the operation that converts between two types; `wider` says whether the second has more bits, if it
    /// matters.
    fn conversion(&self, [from, to]: [Type; 2], wider: Option<bool>) -> Option<&str> {
        let fits = |(name, row): &(&str, &Row)| {
            let extends = name.contains(".ext");
            let cuts = name.contains(".trunc");
            let width = match wider {
                Some(wider) => (extends && wider) || (cuts && !wider),
                None => !extends && !cuts,
            };
            width
                && row.operands.len() == 1
                && row.operands[0].holds(&from)
                && matches!(row.output, Output::To(class) if class.holds(&to))
        };
        self.plain().find(fits).map(|(name, _)| name)
    }

    /// Returns a form by its name.
    pub(super) fn form(&self, name: &str) -> Option<&Sexp> {
        self.forms.get(name)
    }

    /// Returns the form whose head is an operator.
    pub(super) fn form_of(&self, head: &str) -> Option<&str> {
        let own = |form: &Sexp| form.form().is_some_and(|(own, _)| own == head);
        self.forms.iter().find(|(_, form)| own(form)).map(|(name, _)| name.as_str())
    }

    /// Returns the reduction that an operation folds values with.
    pub(super) fn fold(&self, operation: &str) -> Option<&str> {
        self.folds.get(operation).map(String::as_str)
    }

    /// Returns the reduction that folds values with an operator of terms.
    pub(super) fn fold_of(&self, head: &str) -> Option<&str> {
        self.heads.get(head).map(String::as_str)
    }

    /// Iterates over the kinds of `vector.reduction` that are a fold of lanes.
    pub(super) fn lanes_of<'n>(&'n self, fold: &'n str) -> impl Iterator<Item = &'n str> {
        self.lanes.iter().filter(move |(_, own)| *own == fold).map(|(kind, _)| kind.as_str())
    }

    /// Returns true for the name of a reduction.
    pub(super) fn folds(&self, fold: &str) -> bool {
        self.folds.values().any(|own| own == fold)
    }

    /// Returns the fold of lanes by a kind of reduction.
    pub(super) fn lanes(&self, kind: &str) -> Option<&str> {
        self.lanes.get(kind).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_well_formed() {
        let rows = Rows::shipped().expect("the table");
        assert_eq!(rows.kind("arith.cmpi"), Some(Kind::Plain));
        assert!(KINDS.iter().all(|(_, kind)| rows.kinds.values().any(|own| own == kind)));
    }
}
