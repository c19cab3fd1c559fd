//! Checks that terms are well-formed: of the sorts that operators are declared with, of fitting element types and
//! ranks, with loops that step forward, and with nothing written that is only read.

use super::Checker;
use super::places::Place;
use super::terms::{Fact, T};
use ember_language::rules::{Kind, OpInfo, Sort, SortTerm};
use ember_language::sexp::Sexp;
use ember_values::primitive::form::Form;
use ember_values::primitive::{OfRank, OfType, Part, Typing};
use ember_values::scalar::{DType, LARGEST_SIZE};

/// The largest extent of a tensor, and the largest size.
pub(super) const LARGEST: i64 = LARGEST_SIZE as i64;

impl Checker<'_> {
    /// The sort of a term; `None` where it has none.
    pub(super) fn sorted(&self, name: &str, operands: &[T]) -> Option<Sort> {
        let signature = self.rules.signature();
        if let Some(operator) = signature.operator(name.into(), operands.len()) {
            let mut any: Vec<(&SortTerm, Sort)> = Vec::new();
            for (declared, operand) in operator.args.iter().zip(operands) {
                let sort = self.fact(*operand).sort?;
                let expected = match declared {
                    SortTerm::Is(expected) => *expected,
                    SortTerm::Any(_) => match any.iter().find(|(known, _)| *known == declared) {
                        Some((_, known)) => *known,
                        None => {
                            any.push((declared, sort));
                            sort
                        }
                    },
                };
                if sort != expected {
                    return None;
                }
            }
            return match &operator.result {
                SortTerm::Is(sort) => Some(*sort),
                result => any.iter().find(|(known, _)| *known == result).map(|(_, sort)| *sort),
            };
        }
        let leaf = operands.is_empty();
        let sort = match name {
            _ if !leaf => return None,
            name if name.starts_with('@') => {
                let variable = self.rules.table().declarer()?;
                return signature.operator(variable, 4)?.result.named();
            }
            name if name.starts_with('%') => Sort::NAME,
            name if name.parse::<i64>().is_ok() => Sort::VALUE,
            name if name.parse::<f64>().is_ok() => Sort::REAL,
            _ => return None,
        };
        Some(Sort::named(sort))
    }

    /// Returns true if an operator of one processor has operands of fitting element types and ranks, and writes what
    /// may be written.
    pub(super) fn typed(&self, name: &str, operands: &[T], fact: &Fact) -> bool {
        let facts = || operands.iter().map(|operand| self.fact(*operand));
        // The bounds of a declaration are no term.
        let sorted = fact.sort.is_some() || name == "bounds";
        if !sorted || !facts().all(|operand| operand.typed) {
            return false;
        }
        let Some(info) = self.operator(name, operands.len()) else { return true };
        self.types_agree(info, operands, fact.dtype)
            && self.places_fit(info, operands, fact.place.as_ref())
            && info.looped().is_none_or(|own| {
                self.fact(operands[own.step]).integer().is_some_and(|step| step >= 1)
            })
    }

    fn types_agree(&self, info: &OpInfo, operands: &[T], own: Option<DType>) -> bool {
        let mut shared = match info.typing {
            Some(Typing::Of(_)) => own,
            _ => None,
        };
        operands.iter().enumerate().all(|(at, operand)| {
            let valued =
                matches!(info.operand_kinds[at], Some(Kind::Value | Kind::Address | Kind::Tensor));
            let Some(dtype) = self.fact(*operand).dtype.filter(|_| valued) else { return true };
            match info.asks.get(at).map(|ask| ask.typing).unwrap_or_default() {
                OfType::Any => true,
                OfType::I64 => dtype == DType::I64 || self.are_positions(info, at, dtype),
                // Literal numbers say how many, whatever is computed with.
                OfType::Follows if info.literals.contains(&at) => true,
                OfType::Follows => *shared.get_or_insert(dtype) == dtype,
            }
        })
    }

    /// Returns true if an operand is memory of integers that an operation on whole tensors reads positions from, of which
    /// it takes those of any type; scratch memory has the type that is written to it.
    fn are_positions(&self, info: &OpInfo, at: usize, dtype: DType) -> bool {
        let whole = info.kind == Some(Kind::Tensor);
        let scratch = info.asks.get(at).is_some_and(|ask| ask.part == Some(Part::Scratch));
        whole && !scratch && !dtype.is_float() && info.operand_kinds[at] == Some(Kind::Address)
    }

    fn places_fit(&self, info: &OpInfo, operands: &[T], own: Option<&Place>) -> bool {
        let missing = |place: &Place| {
            let tensor = self.tensors.get(&place.1)?;
            tensor.shape.len().checked_sub(place.2.len())
        };
        let root = match info.form {
            Some(Form::Root { written, .. }) => {
                own.and_then(|own| self.tensors.get(&own.1)).is_some_and(|t| t.writable == written)
            }
            _ => true,
        };
        let element = |at: usize, operand: T| {
            let whole = info.asks.get(at).map(|ask| ask.rank) != Some(OfRank::Is(0));
            let place = self.fact(operand).place.as_ref();
            whole || place.is_none_or(|place| missing(place) == Some(0))
        };
        let writes = info.touches.iter().flat_map(|touches| &touches.writes);
        let mut written = writes.map(|at| self.fact(operands[*at]).place.as_ref());
        root && own.is_none_or(|own| missing(own).is_some())
            && operands.iter().enumerate().all(|(at, operand)| element(at, *operand))
            && written.all(|place| place.is_none_or(|place| self.is_writable(place)))
    }

    /// Returns true if a place is one of a tensor that the program writes.
    pub(super) fn is_writable(&self, place: &Place) -> bool {
        let root = self.operator(&place.0, 1).and_then(|own| own.form);
        matches!(root, Some(Form::Root { written: true, .. }))
            && self.tensors.get(&place.1).is_some_and(|tensor| tensor.writable)
    }

    /// Returns true if these are the name, the bounds and the step of a loop variable.
    pub(super) fn are_bounds(&self, bounds: [T; 4]) -> bool {
        let signature = self.rules.signature();
        let variable = self.rules.table().declarer();
        let Some(variable) = variable.and_then(|name| signature.operator(name, 4)) else {
            return false;
        };
        let sorts = bounds.iter().zip(&variable.args);
        let index = |t: T| {
            let Fact { dtype, wide, .. } = self.fact(t);
            dtype.is_none_or(|dtype| dtype == DType::I64) && !wide
        };
        sorts.into_iter().all(|(t, sort)| self.fact(*t).sort == sort.named())
            && bounds.iter().all(|t| self.fact(*t).typed)
            && bounds[1..].iter().all(|t| index(*t))
            && self.fact(bounds[3]).integer().is_some_and(|step| step >= 1)
    }

    /// Returns true if a variable's name is one that a reader gives: the number of loops around.
    pub(super) fn is_numbered(&self, name: T) -> bool {
        let (operator, operands) = self.node(name);
        let depth = self.rules.table().numbered();
        match operands {
            [n] => {
                depth.is_some_and(|depth| depth.as_str() == operator)
                    && self.node(*n).0.parse::<u32>().is_ok()
            }
            _ => false,
        }
    }

    /// Returns true if a rule says that values are equal, and nothing of statements or loops.
    pub(super) fn equates_values(&self, rule: &Sexp) -> bool {
        let Some(items) = rule.items("rule") else { return false };
        let signature = self.rules.signature();
        let (mut open, mut fine) = (Vec::new(), true);
        let mut values = 0;
        for side in items.iter().filter(|item| item.list().is_some()) {
            let declared =
                side.form().and_then(|(head, rest)| signature.operator(head.into(), rest.len()));
            if let Some(declared) = declared {
                values += usize::from(declared.result.named() == Some(Sort::named(Sort::VALUE)));
            }
            open.push(side);
        }
        while let Some(next) = open.pop() {
            if let Some((head, rest)) = next.form() {
                let declared = signature.operator(head.into(), rest.len());
                let statement =
                    self.rules.table().get(head.into(), rest.len()).is_some_and(|info| {
                        info.kind == Some(Kind::Statement) || info.binds.is_some()
                    });
                fine &= !(declared.is_some() && statement);
            }
            open.extend(next.list().unwrap_or_default());
        }
        fine && values >= 1
    }
}

/// Returns true if a word may be the name of a tensor or of a size, and is no number, as `nan` is.
pub(super) fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    name.parse::<f64>().is_err()
        && letters.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && letters.all(|c| c.is_alphanumeric() || "_-.'".contains(c))
}

/// Returns true if a text is an extent: a number, a size, or a size and a number more.
pub(super) fn is_extent(extent: &Sexp) -> bool {
    let number = |text: &str| text.parse::<i64>().is_ok_and(|n| (0..=LARGEST).contains(&n));
    extent.atom().is_some_and(|text| match text.split_once('+') {
        Some((name, more)) => is_name(name) && number(more),
        None => number(text) || is_name(text),
    })
}
