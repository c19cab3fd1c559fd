//! Makes the operator table from the declarations of a signature: the primitive of each operator and the positions of
//! its operands, through all operators that it erases to.

use super::attributes::Attributes;
use super::operators::{Kind, OpInfo, Operators, Touches};
use super::signature::{Operator, Signature, Sort, SortTerm};
use super::syntax::Word;
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Span};
use crate::suggest::unknown;
use egg::Symbol;
use ember_values::primitive::form::{Form, Sequence};
use ember_values::primitive::{Ask, Row};
use rustc_hash::{FxHashMap, FxHashSet};

impl Operators {
    /// Resolves the declarations of a signature.
    pub(super) fn resolve(signature: &Signature, errors: &mut Vec<Diagnostic>) -> Operators {
        let variables = signature.variable_sorts();
        let mut operators = Operators {
            names_are_variables: variables.contains(&Sort::named(Sort::NAME)),
            ..Operators::default()
        };
        for op in signature.operators() {
            let makes_variable =
                op.binds.is_none() && op.result.named().is_some_and(|s| variables.contains(&s));
            if makes_variable {
                operators.makers.insert(op.name);
            }
            let info = Resolver { signature, errors }.operator(op, makes_variable);
            operators.rows.insert((op.name, op.args.len()), info);
        }
        operators.index(signature);
        operators
    }

    /// Finds operators by the shapes of their forms, and boundaries by their units. An operator that declares its primitive
    /// itself precedes those that erase to it. A boundary counts only if such an operator makes terms of its operand's
    /// sort, because a user's own level may lie between two levels.
    fn index(&mut self, signature: &Signature) {
        let declared = || {
            let all = signature.operators().iter();
            all.filter_map(|op| Some((op, self.rows.get(&(op.name, op.args.len()))?)))
        };
        let says = |info: &OpInfo| info.erased == Some(info.name);
        let is_own = |info: &OpInfo| says(info) && !info.is_transparent();
        let basic: FxHashSet<Sort> = declared()
            .filter(|(_, info)| is_own(info))
            .filter_map(|(op, _)| op.result.named())
            .collect();
        let (mut named, mut boundaries) = (FxHashMap::default(), FxHashMap::default());
        let (own, erasing): (Vec<_>, Vec<_>) = declared().partition(|(_, info)| says(info));
        for (op, info) in own.into_iter().chain(erasing) {
            if let Some(shape) = info.shape.filter(|_| !info.boundary) {
                named.entry((shape, info.unit)).or_insert(op.name);
            }
            let of_basic = || match &op.args[..] {
                [of] => of.named().is_none_or(|sort| basic.contains(&sort)),
                _ => false,
            };
            if let (true, Some(kind), Some(unit), [None]) =
                (info.boundary, info.kind, info.unit, &info.operand_units[..])
                && of_basic()
            {
                boundaries.entry((kind, unit)).or_insert(op.name);
            }
        }
        (self.named, self.boundaries) = (named, boundaries);
        self.numbered = self.find_numbered(signature);
    }

    /// Finds the first operator that builds the name of a loop variable from a number.
    fn find_numbered(&self, signature: &Signature) -> Option<Symbol> {
        let mut all = signature.operators().iter();
        let called = all.find_map(|op| {
            let info = self.get(op.name, op.args.len())?;
            let [name, ..] = info.variable()?;
            op.args.get(name)?.named()
        })?;
        let number = SortTerm::Is(Sort::named(Sort::VALUE));
        let mut all = signature.operators().iter();
        let found = all.find(|op| op.result == SortTerm::Is(called) && op.args == [number]);
        found.map(|op| op.name)
    }
}

struct Resolver<'a> {
    signature: &'a Signature,
    errors: &'a mut Vec<Diagnostic>,
}

/// An operator's name and the place of its declaration.
type Spot = (Symbol, Span);

/// The positions of a primitive's operands in an operator, and the names of the operator's operands.
type Placed = (Vec<Option<usize>>, Vec<Option<Symbol>>);

/// A primitive's row, and the positions of its operands in an operator.
#[derive(Clone, Default)]
struct Arranged {
    row: Option<&'static Row>,
    erased: Option<Symbol>,
    erasure: Vec<usize>,
    parts: Vec<Option<usize>>,
    operands: Vec<Option<Symbol>>,
}

impl Resolver<'_> {
    fn operator(&mut self, op: &Operator, makes_variable: bool) -> OpInfo {
        let kind_of = |sort: &SortTerm| self.signature.sort(sort.named()?.name())?.kind;
        let kind = kind_of(&op.result);
        let operand_kinds: Vec<Option<Kind>> = op.args.iter().map(kind_of).collect();
        let unit_of = |sort: &SortTerm| self.signature.sort(sort.named()?.name())?.unit;
        let unit = unit_of(&op.result);
        let operand_units = op.args.iter().map(unit_of).collect();
        let mut arranged = self.arrange(op, &mut Vec::new()).unwrap_or_default();
        if arranged.row.is_none()
            && matches!(kind, Some(Kind::Label | Kind::Type | Kind::Operation))
        {
            arranged.row = Row::named("label");
        }
        if arranged.operands.is_empty() {
            arranged.operands.clone_from(&op.operands);
        }
        let Arranged { row, erased, erasure, parts, operands } = arranged;
        let at = |name: &str| {
            let part = row?.parts().position(|(part, _)| part == name)?;
            parts.get(part).copied().flatten()
        };
        let attributes = &op.attributes;
        let own = |word: &Word| {
            operands.iter().position(|name| name.is_some_and(|n| n.as_str() == word.text))
        };
        let mut named = |word: &Word| {
            let found = own(word);
            if found.is_none() {
                let names = operands.iter().flatten().map(|name| name.as_str());
                let error = unknown("operand", &word.text, word.span, names);
                self.errors.push(match operands.iter().any(Option::is_some) {
                    true => error.with_code(Code::UnknownOperand),
                    false => error
                        .with_code(Code::UnknownOperand)
                        .with_help("name the operands: (NAME SORT)"),
                });
            }
            found
        };
        let typing = match &attributes.typing {
            Some(typing) => typing.clone().over(|word| named(&word)),
            None => row.and_then(|row| row.typing?.over(at)),
        };
        let width = match &attributes.width {
            Some(width) => width.clone().over(|word| named(&word)),
            None => row.and_then(|row| row.width?.over(at)),
        };
        let mut asks = vec![Ask::default(); op.args.len()];
        for (name, words) in row.into_iter().flat_map(|row| row.asks) {
            if let (Some(at), Some(ask)) = (at(name), Ask::parse(words)) {
                asks[at] = ask;
            }
        }
        for (word, ask) in &attributes.asks {
            if let Some(at) = named(word) {
                asks[at] = *ask;
            }
        }
        let mut list =
            |words: &Option<Vec<Word>>, of_row: fn(&Row) -> &'static [&'static str]| match words {
                Some(words) => words.iter().filter_map(&mut named).collect(),
                None => row.into_iter().flat_map(of_row).filter_map(|name| at(name)).collect(),
            };
        let reads: Vec<usize> = list(&attributes.reads, |row| row.reads);
        let writes: Vec<usize> = list(&attributes.writes, |row| row.writes);
        // A barrier separates memory accesses without accessing addresses itself, so no set of addresses describes its
        // effect.
        let said = attributes.reads.is_some() || attributes.writes.is_some() || row.is_some();
        let parts_memory = row.is_some_and(|row| row.form == Form::Sequence(Sequence::Barrier));
        let literals = row.into_iter().flat_map(|row| row.literals).filter_map(|name| at(name));
        OpInfo {
            name: op.name,
            kind,
            unit,
            row,
            erased,
            erasure,
            form: row.and_then(|row| row.form.over(at)),
            shape: row.map(|row| row.form.shape()),
            typing,
            width,
            touches: (said && !parts_memory).then_some(Touches { reads, writes }),
            rank: attributes.rank,
            asks,
            literals: literals.collect(),
            lanewise: attributes.lanewise || row.is_some_and(|row| row.lanewise),
            price: attributes.price.or(row.map(|row| row.price)),
            binds: op.binds,
            makes_variable,
            boundary: op.boundary,
            operand_kinds,
            operand_units,
            operands,
            parts,
        }
    }

    /// Returns the primitive of an operator declared with `:means` or `:erases`, and the positions of its operands.
    /// `above` lists the operators that erase to it, whose errors are reported separately.
    fn arrange(&mut self, op: &Operator, above: &mut Vec<Spot>) -> Option<Arranged> {
        let Attributes { means, erases, .. } = &op.attributes;
        match (means, erases) {
            (Some(_), Some(word)) => {
                let message = format!("`{}` says both `:means` and `:erases`", op.name);
                let error = Diagnostic::error(message, word.span, "one of them is enough");
                let help =
                    format!("keep `:erases` if `{}` is another form of `{}`", op.name, word.text);
                self.report(above, error.with_help(help).with_code(Code::TwoMeanings));
                None
            }
            (Some(word), None) => {
                let row = Row::named(&word.text)?;
                let names: Vec<(&str, bool)> = row.parts().collect();
                let (parts, operands) = self.place(op, word, &names, above)?;
                let erasure = (0..op.args.len()).collect();
                Some(Arranged { row: Some(row), erased: Some(op.name), erasure, parts, operands })
            }
            (None, Some(word)) => {
                let target = self.target(op, word, above)?;
                above.push((op.name, op.span));
                let below = self.arrange(&target, above);
                above.pop();
                let below = below?;
                let row = below.row?;
                // The operator must have all of the primitive's operands that its target has.
                let names: Vec<(&str, bool)> = row
                    .parts()
                    .zip(&below.parts)
                    .map(|((name, _), part)| (name, part.is_some()))
                    .collect();
                let (parts, operands) = self.place(op, word, &names, above)?;
                let here = |at: &usize| {
                    let part = below.parts.iter().position(|part| part == &Some(*at))?;
                    parts[part]
                };
                let erasure = below.erasure.iter().map(here).collect::<Option<_>>()?;
                Some(Arranged { row: Some(row), erased: below.erased, erasure, parts, operands })
            }
            (None, None) => None,
        }
    }

    /// Reports an error of the operator being resolved. The errors of an operator that it erases to are reported when
    /// that operator is resolved.
    fn report(&mut self, above: &[Spot], error: Diagnostic) {
        if above.is_empty() {
            self.errors.push(error);
        }
    }

    /// Returns the operator that another erases to: the operator of this name, with the same number of operands if
    /// there are several.
    fn target(&mut self, op: &Operator, word: &Word, above: &[Spot]) -> Option<Operator> {
        let name = Symbol::from(&word.text);
        let own = (op.name, op.span);
        let mut chain = above.iter().chain([&own]);
        if let Some((first, span)) = chain.next().filter(|(first, _)| *first == name) {
            self.errors.push(
                Diagnostic::error(format!("`{first}` erases to itself"), *span, "in a circle")
                    .with_code(Code::ErasesToItself)
                    .with_help("erase one of them to an operator that `:means` a primitive"),
            );
            return None;
        }
        // An operator that only leads into the cycle is not part of it.
        if chain.any(|(passed, _)| *passed == name) {
            return None;
        }
        let same = self.signature.operator(name, op.args.len());
        let any = || self.signature.operators().iter().find(|other| other.name == name);
        let found = same.or_else(any).cloned();
        if found.is_none() {
            let names = self.signature.operators().iter();
            let names = names.map(|other| other.name).filter(|other| *other != op.name);
            let error = unknown("operator", &word.text, word.span, names.map(|name| name.as_str()));
            self.report(above, error.with_code(Code::UnknownOperator));
        }
        found
    }

    /// Returns the positions of a primitive's operands in an operator, by their names, and the names of the operator's
    /// operands. Operands without names have the order of the primitive's row.
    fn place(
        &mut self,
        op: &Operator,
        word: &Word,
        names: &[(&str, bool)],
        above: &[Spot],
    ) -> Option<Placed> {
        let required = names.iter().filter(|(_, required)| *required).count();
        let unnamed = op.operands.iter().all(Option::is_none);
        if unnamed && (required..=names.len()).contains(&op.args.len()) {
            // An optional operand is present only if all operands before it are.
            let order = names.iter().filter(|(_, required)| *required);
            let order: Vec<&str> = match op.args.len() == required {
                true => order.map(|(name, _)| *name).collect(),
                false => names.iter().take(op.args.len()).map(|(name, _)| *name).collect(),
            };
            let place = |(name, _): &(&str, bool)| order.iter().position(|own| own == name);
            let operands = order.iter().map(|name| Some(Symbol::from(*name))).collect();
            return Some((names.iter().map(place).collect(), operands));
        }
        let place = |name: &str| {
            op.operands.iter().position(|own| own.is_some_and(|own| own.as_str() == name))
        };
        let missing = names.iter().find(|(name, required)| *required && place(name).is_none());
        if let Some((name, _)) = missing {
            let order = names.iter().map(|(name, required)| match required {
                true => format!("({name} SORT)"),
                false => format!("[({name} SORT)]"),
            });
            let order = order.collect::<Vec<_>>().join(" ");
            let error = Diagnostic::error(
                format!("`{}` has no operand `{name}`", op.name),
                word.span,
                format!("`{}` has one", word.text),
            );
            self.report(
                above,
                error
                    .with_code(Code::NoOperand)
                    .with_help(format!("name the operands, in any order: {order}")),
            );
            return None;
        }
        Some((names.iter().map(|(name, _)| place(name)).collect(), op.operands.clone()))
    }
}
