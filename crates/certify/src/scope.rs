//! Scope in a step: what stands for a variable of a rule depends on the same loops wherever that variable stands.
//! A loop variable that a rule makes, or finds elsewhere, is the variable of no loop around what mentions it
//! already.

use super::terms::T;
use super::{Checker, Means, Refusal, meant};
use ember_language::rules::RuleForm;
use ember_language::sexp::{Kind, Sexp, deeper};
use std::collections::BTreeMap;

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
