//! The equations that proofs derive from a layout: equalities of values, used as rules for one comparison only. A
//! certificate declares them, and its steps apply them like rules.

use super::declare::Declared;
use super::forms::{atom, form, list, printed, text};
use super::layout::Index;
use super::primitives;
use egg::{PatternAst, Symbol, Var};
use ember_language::conditions::PREDICATES;
use ember_language::diagnostic::{FileId, Span};
use ember_language::rules::{
    Arg, Call, Exactness, Operators, Phase, Rule, RuleBook, RuleSet, Sort,
};
use ember_language::sexp::Sexp;
use ember_language::term::Node;
use ember_model::Extent;
use ember_values::primitive::Typing;
use ember_values::primitive::form::{Form, Number, View};
use thiserror::Error;

/// An equality of two values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Equation {
    name: String,
    sides: [Sexp; 2],
    /// Loop variables and the bounds that they must have.
    bounds: Vec<(String, Sexp)>,
    /// Variables that must be scalar indices.
    scalars: Vec<String>,
    /// True if the equation may also be applied from right to left.
    both: bool,
    /// The documentation of its rules.
    doc: &'static str,
}

/// The documentation of what a layout says, and of what follows from an assumption.
const OF_LAYOUT: &str = "What a layout says.";
const ASSUMED: &str = "What is assumed.";

/// The reason why a layout does not yield an equation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum NoEquation {
    #[error("no pattern: {0}")]
    Pattern(String),
    #[error("`{0}` cannot name an index")]
    Index(String),
    #[error("no such condition")]
    Condition,
}

/// Returns the equations of a layout: the value of an element, and for each index with a range from 0, the fact that
/// the range ends within the tensor.
pub(super) fn equations(
    operators: &Operators,
    declared: &Declared,
    indices: &[Index],
    value: &Sexp,
    ranges: &[Option<[Sexp; 2]>],
) -> Result<Vec<Equation>, NoEquation> {
    let name = &declared.name;
    let variable = |index: &Index| format!("?{}", index.name);
    let nowhere = Span::new(FileId::default(), 0..0);
    let written = |form: Form<&Sexp>| primitives::written(operators, nowhere, form);
    let iv = |index: &Index| written(Form::iv(&atom(variable(index))));
    let within = |index: &Index, lo: Sexp, hi: Sexp| {
        let own = variable(index);
        let (name, step) = (atom(format!("{own}-name")), atom(format!("{own}-step")));
        (own, written(Form::variable(&name, [&lo, &hi, &step])))
    };
    let mut place = written(Form::Root { name: &atom(format!("%{name}")), written: false });
    for (index, range) in indices.iter().zip(ranges) {
        let at = if range.is_some() { iv(index) } else { atom(variable(index)) };
        place = written(Form::View { address: &place, view: View::At(&at) });
    }
    let bounds = indices.iter().zip(ranges).filter_map(|(index, range)| {
        let [lo, hi] = range.clone()?;
        Some(within(index, lo, hi))
    });
    let bounds: Vec<(String, Sexp)> = bounds.collect();
    let plain = || indices.iter().zip(ranges).filter(|(_, range)| range.is_none());
    // The reverse direction matches any load in either program, so that it must determine all indices of the element.
    let both = bounds.is_empty()
        && matches!(primitives::form(operators, value), Some(Form::Loaded { early: None, .. }))
        && plain().all(|(index, _)| value.words().any(|word| word == variable(index)));
    let mut all = vec![Equation {
        name: format!("layout:{name}"),
        sides: [written(Form::Loaded { address: &place, early: None }), value.clone()],
        bounds,
        scalars: plain().map(|(index, _)| variable(index)).collect(),
        both,
        doc: OF_LAYOUT,
    }];
    let extent = |extent: &Extent| match extent {
        Extent::Const(n) => atom(n.to_string()),
        Extent::Size { .. } => {
            let name = atom(format!("%{extent}"));
            written(Form::Number { value: Number::Size(&name), dtype: Typing::I64 })
        }
    };
    for (k, range) in ranges.iter().enumerate() {
        let Some([_, hi]) = range.as_ref().filter(|[lo, _]| lo.atom() == Some("0")) else {
            continue;
        };
        // The other indices must be within the tensor, because the layout states nothing about other indices.
        let mut hi = hi.clone();
        let mut bounds = Vec::new();
        for ((index, _), whole) in indices.iter().zip(ranges).zip(&declared.shape) {
            let own = variable(index);
            if hi.words().any(|word| word == own) {
                hi = replaced(&hi, &own, &iv(index));
                bounds.push(within(index, atom("0"), extent(whole)));
            }
        }
        all.push(Equation {
            name: format!("layout:{name}:{k}"),
            sides: [Equation::lesser(operators, [&extent(&declared.shape[k]), &hi]), hi],
            bounds,
            scalars: Vec::new(),
            both: false,
            doc: OF_LAYOUT,
        });
    }
    all.iter().try_for_each(|equation| equation.rules(0).map(drop))?;
    Ok(all)
}

impl Equation {
    /// Returns an equation of two values without variables that an assumption implies.
    pub fn ground(name: &str, sides: [Sexp; 2]) -> Equation {
        let (bounds, scalars) = (Vec::new(), Vec::new());
        Equation { name: name.to_owned(), sides, bounds, scalars, both: false, doc: ASSUMED }
    }

    /// Returns the lesser of two values.
    pub fn lesser(operators: &Operators, [a, b]: [&Sexp; 2]) -> Sexp {
        primitives::written(operators, a.span, Form::least(a, b))
    }

    /// Returns the equation as a certificate declares it.
    pub fn declaration(&self) -> Sexp {
        let [left, right] = self.sides.clone();
        let doc = text(self.doc.to_owned());
        let mut items = vec![atom(&self.name), doc, left, atom("=>"), right];
        for (variable, bounds) in &self.bounds {
            items.extend([atom(":where"), atom(variable), bounds.clone()]);
        }
        if !self.scalars.is_empty() {
            items.push(atom(":when"));
            items.extend(self.scalars.iter().map(|v| form("index", [atom(v)])));
        }
        form("given", [form("rule", items)])
    }

    /// Returns the equation as rules of a rule set, one for each direction.
    fn rules(&self, set: usize) -> Result<Vec<Rule>, NoEquation> {
        let pattern = |of: &Sexp| -> Result<PatternAst<Node>, NoEquation> {
            printed(of).parse().map_err(|_| NoEquation::Pattern(printed(of)))
        };
        let variable = |v: &String| v.parse::<Var>().map_err(|_| NoEquation::Index(v.clone()));
        let [left, right] = [pattern(&self.sides[0])?, pattern(&self.sides[1])?];
        let mut wheres = Vec::new();
        for (v, bounds) in &self.bounds {
            wheres.push((variable(v)?, pattern(bounds)?));
        }
        let index = PREDICATES.iter().find(|p| p.name == "index").ok_or(NoEquation::Condition)?;
        let mut guards = Vec::new();
        for v in &self.scalars {
            guards.push(Call { what: index, args: vec![Arg::Var(variable(v)?)] });
        }
        let rule = |suffix: &str, lhs: &PatternAst<Node>, rhs: &PatternAst<Node>| Rule {
            name: Symbol::from(format!("{}{suffix}", self.name)),
            doc: self.doc.to_owned(),
            set,
            phase: Phase::Optimise,
            exact: Exactness::Bitwise,
            sort: Some(Sort::named("Value")),
            lhs: lhs.clone(),
            wheres: wheres.clone(),
            fors: Vec::new(),
            parameters: Vec::new(),
            guards: guards.clone(),
            news: Vec::new(),
            rhs: rhs.clone(),
            variables: Vec::new(),
            subsume: false,
            tests: Vec::new(),
            span: Span::new(FileId::default(), 0..0),
        };
        let mut rules = vec![rule("", &left, &right)];
        rules.extend(self.both.then(|| rule("-rev", &right, &left)));
        Ok(rules)
    }
}

/// Returns the book with the rules of the equations added to every step of its schedules.
pub(super) fn extended<'e>(
    book: &RuleBook,
    equations: impl Iterator<Item = &'e Equation>,
) -> RuleBook {
    let mut book = book.clone();
    let (set, first) = (book.sets.len(), book.rules.len());
    let rules = equations.filter_map(|equation| equation.rules(set).ok()).flatten();
    book.rules.extend(rules);
    let own: Vec<usize> = (first..book.rules.len()).collect();
    book.sets.push(RuleSet {
        name: Symbol::from("layouts"),
        doc: "what inputs hold".to_owned(),
        phase: Phase::Optimise,
        exact: Exactness::Bitwise,
        rules: own.clone(),
        span: Span::new(FileId::default(), 0..0),
    });
    for schedule in &mut book.schedules {
        *schedule = schedule.extended(&own);
    }
    book
}

/// Replaces all occurrences of a word by another expression.
fn replaced(of: &Sexp, from: &str, to: &Sexp) -> Sexp {
    ember_language::sexp::deeper(|| match (of.atom(), of.list()) {
        (Some(own), _) if own == from => to.clone(),
        (_, Some(items)) => list(items.iter().map(|item| replaced(item, from, to)).collect()),
        _ => of.clone(),
    })
}
