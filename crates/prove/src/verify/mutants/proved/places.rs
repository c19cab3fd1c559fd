//! The places where a rule's sides evaluate a term of the left side: below which binders, and before or after anything
//! is written.
//!
//! A condition on a term says nothing where both sides evaluate the term only before they write anything: it is then
//! as if what the term reads were never written. A variable that gets a value other than from its loop has the bounds of
//! its loop evaluated there, since the value must lie between them. Nor does one that a bound variable is not in a term that stands
//! outside of everything that binds the variable: the bound variable may have any other name.

use super::expanded::{expanded, text};
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rules::{Arg, Kind, New, Rule, Signature, Unit};
use ember_language::term::Node;
use ember_values::primitive::form::{By, Early, Form, Loop, Sequence, Undone};

/// One evaluation of a variable of the rule.
struct Place {
    variable: Var,
    /// The bound variables around it, as text.
    around: Vec<String>,
    /// True if something may be written before it.
    late: bool,
}

/// Both sides of a rule, with the places of their variables.
pub(super) struct Places<'a> {
    rule: &'a Rule,
    places: Vec<Place>,
    /// True if a part was found whose evaluation is not understood.
    unclear: bool,
    /// True if a part was found that may write, or that the access unit evaluates.
    touched: bool,
}

impl<'a> Places<'a> {
    pub fn of(signature: &'a Signature, rule: &'a Rule) -> Places<'a> {
        let mut found = Places { rule, places: Vec::new(), unclear: false, touched: false };
        for side in [&rule.lhs, &rule.rhs] {
            let side = expanded(signature, rule, side);
            let mut walk = Walk { signature, rule, side: &side, found: &mut found };
            walk.node(Id::from(side.len().saturating_sub(1)), &Vec::new(), false);
        }
        found
    }

    /// Returns true if both sides evaluate a value or an address only before they write anything.
    pub fn is_early(&self, x: Var) -> bool {
        !self.unclear
            && self.of_variable(x).next().is_some()
            && self.of_variable(x).all(|place| !place.late)
    }

    /// Returns true if neither side writes anything or has anything evaluated by the access unit, so that all memory is
    /// as if nothing could write it.
    pub fn writes_nothing(&self) -> bool {
        !self.unclear && !self.touched
    }

    /// Returns true if a term stands nowhere within what binds a variable, so that what is free in it is free in both
    /// sides. A variable that has no value anywhere then leaves them without a meaning.
    pub fn is_free(&self, x: Var) -> bool {
        !self.unclear
            && self.of_variable(x).next().is_some()
            && self.of_variable(x).all(|place| place.around.is_empty())
    }

    /// Returns true if a bound variable may get another name where a term mentions it: the term stands outside of all
    /// that binds the variable, and what stands inside stands nowhere else.
    pub fn is_apart(&self, variable: &str, x: Var) -> bool {
        let within = |place: &Place| place.around.iter().any(|name| name == variable);
        let mixed = |y: Var| {
            let mut all = self.of_variable(y).map(within);
            let first = all.next();
            first.is_some_and(|first| all.any(|other| other != first))
        };
        let free = |y: Var| self.excludes(variable, y) || self.is_number(y);
        // Under another name of the variable, what stands within it no longer mentions what the term does.
        let is_asked = self
            .rule
            .guards
            .iter()
            .any(|guard| guard.what.name == "in-scope" && guard.args.contains(&Arg::Var(x)));
        let bound = self.places.iter().any(within);
        let others = self.places.iter().map(|place| place.variable);
        !self.unclear
            && !is_asked
            && bound
            && self.of_variable(x).next().is_some()
            && !self.of_variable(x).any(within)
            && others.filter(|y| *y != x).all(|y| !mixed(y) || free(y))
            && self.of_variable_named(variable).all(within)
    }

    /// Returns the place in a list of bound variables of the innermost around a term, if it is the same wherever one is
    /// around it; an inner `None` if none ever is.
    #[allow(clippy::option_option, reason = "each absence has its own meaning")]
    pub fn innermost(&self, x: Var, names: &[String]) -> Option<Option<usize>> {
        let innermost = |place: &Place| {
            let mut around = place.around.iter().rev();
            around.find_map(|own| names.iter().position(|name| name == own))
        };
        let mut all = self.of_variable(x).filter_map(innermost);
        let first = all.next();
        (!self.unclear && all.all(|other| Some(other) == first)).then_some(first)
    }

    /// Returns true if each place of a term is within a loop over a variable.
    pub fn is_within(&self, variable: &str, x: Var) -> bool {
        !self.unclear
            && self.of_variable(x).next().is_some()
            && self.of_variable(x).all(|place| place.around.iter().any(|name| name == variable))
    }

    fn of_variable(&self, x: Var) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(move |place| place.variable == x)
    }

    /// The places where the variable itself stands, other than where it is bound.
    fn of_variable_named<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Place> {
        self.places.iter().filter(move |place| place.variable.to_string() == name)
    }

    /// Returns true if a term is a number, since it is or has one of a generator's.
    fn is_number(&self, x: Var) -> bool {
        self.rule
            .fors
            .iter()
            .any(|(n, call)| *n == x || call.what.name == "length" && call.args == [Arg::Var(x)])
    }

    /// Returns true if a condition excludes that a term mentions a variable.
    fn excludes(&self, name: &str, x: Var) -> bool {
        let asked = self.rule.guards.iter().any(|guard| match guard.args.as_slice() {
            [Arg::Var(v), Arg::Var(within)] => {
                guard.what.name == "not-free" && v.to_string() == name && *within == x
            }
            _ => false,
        });
        let new = |new: &New| new.variable.to_string() == name && new.within == x;
        asked || self.rule.news.iter().any(new)
    }
}

struct Walk<'a, 'w> {
    signature: &'a Signature,
    rule: &'a Rule,
    side: &'w PatternAst<Node>,
    found: &'w mut Places<'a>,
}

impl Walk<'_, '_> {
    /// Collects the places in a part; returns true if something may be written once it has been evaluated.
    fn node(&mut self, at: Id, around: &Vec<String>, late: bool) -> bool {
        let node = match &self.side[at] {
            ENodeOrVar::Var(v) => {
                self.found.places.push(Place { variable: *v, around: around.clone(), late });
                self.found.touched |= self.may_write(*v);
                return late || self.may_write(*v);
            }
            ENodeOrVar::ENode(node) => node.clone(),
        };
        let children = node.children();
        let Some(info) = self.signature.table().of(&node) else {
            self.found.unclear |= !node.is_leaf() && !self.is_number(&node);
            return late;
        };
        // The name and the bounds of a variable are no part of what is evaluated.
        if info.makes_variable || info.kind == Some(Kind::Label) {
            return late;
        }
        let own = info.touches.as_ref();
        self.found.touched |=
            matches!(info.form, Some(Form::Loaded { early: Some(Early::Fetched(_)), .. }));
        self.found.touched |= info.unit == Some(Unit::Access) && !info.is_transparent()
            || info.kind == Some(Kind::Statement)
            || info.looped().is_none() && own.is_none_or(|own| !own.writes.is_empty());
        let inside = |this: &Self, variable: Id| {
            let mut inside = around.clone();
            inside.push(text(this.side, variable));
            inside
        };
        if let Some(own) = info.looped().and_then(|own| own.of(children)) {
            let mut late = late;
            for child in children.iter().filter(|child| ![own.variable, own.body].contains(child)) {
                late = self.node(*child, around, late);
            }
            let inside = inside(self, own.variable);
            let after = self.writes(own.body) || late;
            let again = after && !self.runs_once(own.variable);
            return self.node(own.body, &inside, late || again) || after;
        }
        match (info.form, info.binds) {
            (Some(Form::Undone { undone: Undone::After(_), .. }), _) => {
                let [first, body] = children else { return late };
                let changed = self.node(*first, around, late);
                self.node(*body, around, changed);
                late || self.writes(*body)
            }
            (Some(Form::Replaced { by: By::Lanes { .. }, .. }), Some((variable, body))) => {
                // Lanes run one after the other, each with its own look at the end.
                let after = late || self.writes(children[body]);
                self.bounds(children[variable], around, after);
                for (k, child) in children.iter().enumerate().filter(|(k, _)| *k != variable) {
                    let inside =
                        if k == body { inside(self, children[variable]) } else { around.clone() };
                    self.node(*child, &inside, after);
                }
                after
            }
            (_, Some((variable, body))) => {
                let others = (0..children.len()).filter(|k| ![variable, body].contains(k));
                let late = others.fold(late, |late, k| self.node(children[k], around, late));
                self.bounds(children[variable], around, late);
                let inside = inside(self, children[variable]);
                self.node(children[body], &inside, late)
            }
            (_, None) => {
                // What writes tensors element by element evaluates each element after it has written others.
                let statement = info.kind == Some(Kind::Statement);
                let kinds = info.operand_kinds.clone();
                let mut late = late;
                for (child, kind) in children.iter().zip(kinds) {
                    let lazy = statement && kind == Some(Kind::Tensor);
                    late = self.node(*child, around, late || lazy);
                }
                late || self.writes_itself(&node)
            }
        }
    }

    /// Returns true if a condition says that the loop over a variable runs once.
    fn runs_once(&self, variable: Id) -> bool {
        match &self.side[variable] {
            ENodeOrVar::Var(v) => super::runs_once(self.rule, *v),
            ENodeOrVar::ENode(_) => false,
        }
    }

    /// Records that a variable gets a value that is no loop's, so that the value must lie between its bounds, as they
    /// are there.
    fn bounds(&mut self, variable: Id, around: &[String], late: bool) {
        let operators = self.signature.table();
        let mut found: Vec<Var> = Vec::new();
        let mut add = |side: &PatternAst<Node>, bounds: [Id; 3]| {
            for bound in bounds {
                let part = side[bound].build_recexpr(|id| side[id].clone());
                found.extend(part.as_ref().iter().filter_map(|node| match node {
                    ENodeOrVar::Var(v) => Some(*v),
                    ENodeOrVar::ENode(_) => None,
                }));
            }
        };
        let of_variable =
            |node: &Node| operators.variable(node).map(|[_, lo, hi, st]| [lo, hi, st]);
        match &self.side[variable] {
            ENodeOrVar::ENode(made) => {
                let bounds = of_variable(made).into_iter();
                bounds.for_each(|bounds| add(self.side, bounds));
            }
            ENodeOrVar::Var(x) => {
                let sides = [&self.rule.lhs, &self.rule.rhs].into_iter();
                let sides = sides.chain(self.rule.wheres.iter().map(|(_, side)| side));
                for side in sides {
                    for node in side {
                        let ENodeOrVar::ENode(node) = node else { continue };
                        let own = operators.looped(node);
                        if let Some(own) =
                            own.filter(|own| side[own.variable] == ENodeOrVar::Var(*x))
                        {
                            add(side, [own.lo, own.hi, own.step]);
                        }
                    }
                }
                for (_, side) in self.rule.wheres.iter().filter(|(v, _)| v == x) {
                    let Some(ENodeOrVar::ENode(node)) = side.as_ref().last() else { continue };
                    let bounds = of_variable(node).into_iter();
                    bounds.for_each(|bounds| add(side, bounds));
                }
            }
        }
        // Patterns of values stand for their variables here, too.
        let mut known = 0;
        while let Some(v) = found.get(known).copied() {
            known += 1;
            for (_, side) in self.rule.wheres.iter().filter(|(x, _)| *x == v) {
                for node in side {
                    match node {
                        ENodeOrVar::Var(inner) if !found.contains(inner) => found.push(*inner),
                        _ => {}
                    }
                }
            }
        }
        let places =
            found.into_iter().map(|variable| Place { variable, around: around.to_vec(), late });
        self.found.places.extend(places);
    }

    /// Returns true if evaluating a part may write.
    fn writes(&self, at: Id) -> bool {
        match &self.side[at] {
            ENodeOrVar::Var(v) => self.may_write(*v),
            ENodeOrVar::ENode(node) => {
                self.writes_itself(node) || node.children().iter().any(|child| self.writes(*child))
            }
        }
    }

    fn writes_itself(&self, node: &Node) -> bool {
        let Some(info) = self.signature.table().of(node) else { return false };
        let harmless = matches!(
            info.form,
            Some(
                Form::Sequence(Sequence::Empty | Sequence::Ahead(_) | Sequence::Two(_))
                    | Form::Loop(Loop { folds: None, .. })
                    | Form::Carried { to: None, .. }
            )
        );
        info.kind == Some(Kind::Statement) && !harmless && !info.boundary
    }

    /// Returns true if a term of the rule may write: a statement, or a term of any sort.
    fn may_write(&self, v: Var) -> bool {
        let sort = self.rule.variables.iter().find(|(known, _)| *known == v).map(|(_, sort)| *sort);
        let numbered = self.rule.fors.iter().any(|(known, _)| *known == v);
        let kind = sort.flatten().and_then(|sort| self.signature.sort(sort.name())?.kind);
        !numbered && kind.is_none_or(|kind| kind == Kind::Statement)
    }

    fn is_number(&self, node: &Node) -> bool {
        node.name() == Some(ember_language::rules::COMPUTE)
    }
}
