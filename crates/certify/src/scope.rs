//! Scope in a step: what stands for a variable of a rule depends on the same loops wherever that variable stands.
//! A loop variable that a rule makes, or finds elsewhere, is the variable of no loop around what mentions it
//! already.

use super::terms::T;
use super::{Checker, Means, Refusal, meant};
use ember_language::rules::RuleForm;
use ember_language::sexp::{Kind, Sexp, deeper};
use ember_values::primitive::form::Form;
use std::collections::{BTreeMap, BTreeSet};

/// The loop variables bound around a part of a rule, outermost first: each with its name in the rule and its word.
type Around = Vec<(String, T)>;

/// The places of a rule's variables: what the rule calls each, what it stands for and what is around it.
type Places = Vec<(String, T, Around)>;

impl Checker<'_> {
    /// Returns true if each variable of a rule stands below the same binders on both sides, as far as what it stands
    /// for depends on their variables.
    pub(super) fn scoped(&mut self, rule: &RuleForm, means: &Means<'_>) -> Result<(), Refusal> {
        let mut left = Places::new();
        self.places(&rule.lhs, (rule, means), &mut Around::new(), &mut left)?;
        for (v, pattern) in &rule.wheres {
            // What a variable must also be stands where the variable does; a pattern of any class, nowhere.
            let around = left.iter().find(|(name, ..)| *name == v.text);
            let mut around = around.map(|(_, _, around)| around.clone()).unwrap_or_default();
            self.places(pattern, (rule, means), &mut around, &mut left)?;
        }
        let mut right = Places::new();
        self.places(&rule.rhs, (rule, means), &mut Around::new(), &mut right)?;
        let mut known: BTreeMap<(&str, &str), Option<&str>> = BTreeMap::new();
        for (name, term, around) in left.iter().chain(&right) {
            let variable = self.variables.contains_key(term);
            for free in &self.fact(*term).free {
                let mut binders = around.iter().rev();
                let binder = binders.find(|(_, word)| self.node(*word).0 == free);
                let binder = binder.map(|(called, _)| called.as_str());
                let same = match variable {
                    true => binder.is_none_or(|called| called == name),
                    false => *known.entry((name, free)).or_insert(binder) == binder,
                };
                if !same {
                    return Err(Refusal::Captured(free.clone()));
                }
            }
        }
        Ok(())
    }

    /// Returns the loop variables bound along a way into a term, outermost first: each with true if a loop binds it, or a
    /// value that the loop gives it replaces it.
    pub(super) fn binders(&mut self, whole: T, way: &[Sexp]) -> Vec<(String, bool)> {
        let (mut found, mut term) = (Vec::new(), whole);
        for at in way.iter().filter_map(|at| at.atom()?.parse::<usize>().ok()) {
            let (name, operands) = self.node(term);
            let (binds, next) = (self.binds(name, operands.len()), operands.get(at).copied());
            if let Some((variable, _)) = binds.filter(|(_, body)| *body == at) {
                let own = self.rules.table().get(name.into(), operands.len());
                let looped =
                    own.is_some_and(|own| matches!(own.form(operands), Some(Form::Loop(_))));
                let word = self.node(operands[variable]).0.to_owned();
                found.push((word, looped || self.keeps_to_loop(term)));
            }
            let Some(next) = next else { break };
            term = next;
        }
        found
    }

    /// Returns a loop variable that a part of a term mentions and the part that it replaces does not, where no loop is
    /// known to give it a value. `within` are the variables bound along the way to the part.
    pub(super) fn unbound(
        &self,
        whole: T,
        [old, new]: [T; 2],
        within: &[(String, bool)],
    ) -> Option<&str> {
        let [before, outside] = [old, whole].map(|term| &self.fact(term).free);
        let innermost = |binders: &[(String, bool)], variable: &String| {
            binders.iter().rev().find(|(word, _)| word == variable).map(|(_, bound)| *bound)
        };
        let bound = |variable: &String| {
            innermost(within, variable).unwrap_or_else(|| {
                outside.contains(variable)
                    || innermost(&self.around, variable)
                        .unwrap_or_else(|| self.has_values(variable))
            })
        };
        let mut free = self.fact(new).free.iter().filter(|variable| !before.contains(*variable));
        // What only the bounds of a variable mention has the values that this variable has.
        free.find(|variable| !bound(variable) && self.occurs(variable, new)).map(String::as_str)
    }

    /// Returns true if a term mentions a loop variable that nothing in the term binds.
    fn occurs(&self, variable: &str, term: T) -> bool {
        let (mut open, mut seen) = (vec![term], BTreeSet::new());
        while let Some(at) = open.pop() {
            let (name, operands) = self.node(at);
            if name == variable {
                return true;
            }
            let bound = self.binds(name, operands.len());
            let bound = bound.filter(|(own, _)| self.node(operands[*own]).0 == variable);
            let outside = operands
                .iter()
                .enumerate()
                .filter(|(at, _)| bound.is_none_or(|(own, body)| *at != own && *at != body));
            open.extend(
                outside.map(|(_, operand)| *operand).filter(|operand| seen.insert(*operand)),
            );
        }
        false
    }

    /// Returns true if a loop variable has values in every environment: any, or those of a loop that runs.
    fn has_values(&self, variable: &str) -> bool {
        let own = self.known.get(&(variable.to_owned(), Vec::new()));
        own.is_some_and(|own| {
            self.anywhere.contains(own) || self.runs(*own) && self.bounding(*own).is_empty()
        })
    }

    /// Notes the places of variables in a part of a rule.
    fn places(
        &mut self,
        part: &Sexp,
        (rule, means): (&RuleForm, &Means<'_>),
        around: &mut Around,
        found: &mut Places,
    ) -> Result<(), Refusal> {
        let items = match &part.kind {
            Kind::Atom(word) if word.starts_with('?') => {
                let short = rule.lets.iter().find(|(v, _)| v.text == *word);
                let (term, _) = meant(means, word)?;
                return match short {
                    Some((_, long)) if !self.variables.contains_key(&term) => {
                        deeper(|| self.places(long, (rule, means), around, found))
                    }
                    _ => {
                        found.push((word.clone(), term, around.clone()));
                        Ok(())
                    }
                };
            }
            Kind::Atom(_) | Kind::Text(_) => return Ok(()),
            Kind::List(items) => items,
        };
        let Some((head, operands)) = items.split_first() else { return Err(Refusal::EmptyList) };
        let name = head.atom().ok_or(Refusal::NoWord)?;
        let own = self.operator(name, operands.len());
        if own.is_some_and(|own| own.variable().is_some()) {
            let word = self.read(part, means)?;
            found.push((spelled(part), word, around.clone()));
            return Ok(());
        }
        let binds = self.binds(name, operands.len());
        for (at, operand) in operands.iter().enumerate() {
            let variable = binds.filter(|(_, body)| at == *body).map(|(variable, _)| variable);
            if let Some(variable) = variable {
                let variable = &operands[variable];
                around.push((spelled(variable), self.read(variable, means)?));
            }
            deeper(|| self.places(operand, (rule, means), around, found))?;
            if variable.is_some() {
                around.pop();
            }
        }
        Ok(())
    }
}

/// A part of a rule as text.
fn spelled(part: &Sexp) -> String {
    match &part.kind {
        Kind::Atom(word) | Kind::Text(word) => word.clone(),
        Kind::List(items) => {
            let items: Vec<String> = items.iter().map(|item| deeper(|| spelled(item))).collect();
            format!("({})", items.join(" "))
        }
    }
}
