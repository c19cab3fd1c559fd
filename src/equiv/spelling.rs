//! Loop variables in a certificate: their words, how they are declared, and how their bounds may be
//! spelled besides.

use super::certificate::Writer;
use super::chain::{class_of, is_word};
use super::forms::{atom, form, list, shown};
use super::means::Means;
use crate::explain::Terms;
use crate::sexp::Sexp;
use crate::term::{Node, Term};
use egg::{ENodeOrVar, Id, Language, PatternAst};

impl Writer<'_> {
    /// Remembers how a program spells its variables.
    pub(super) fn remember(&mut self, program: &Term) {
        for (at, node) in program.as_ref().iter().enumerate() {
            let (Some("var"), [name, lo, hi, step]) = (node.name(), node.children()) else {
                continue;
            };
            let part = |id: &Id| self.hidden.hide(&Terms::of(program, *id));
            let class = self.hidden.hide(&Terms::of(program, Id::from(at)));
            let class = class.and_then(|word| class_of(word.as_ref().last()?.name()?));
            if let (Some(class), Some(name), Some(lo), Some(hi), Some(step)) =
                (class, part(name), part(lo), part(hi), part(step))
            {
                self.programs.entry(class).or_insert([name, lo, hi, step]);
            }
        }
    }

    /// Proves the bounds with which a program spells its variables.
    pub(super) fn spell_program(&mut self, program: &Term) -> Result<(), String> {
        for (at, node) in program.as_ref().iter().enumerate() {
            let (Some("var"), [_, lo, hi, step]) = (node.name(), node.children()) else { continue };
            let lost = "a variable is not in the search";
            let word = self.hidden.hide(&Terms::of(program, Id::from(at))).ok_or(lost)?;
            let class = word.as_ref().last().and_then(|n| class_of(n.name()?)).ok_or(lost)?;
            let mut bounds = Vec::new();
            for part in [lo, hi, step] {
                bounds.push(self.hidden.hide(&Terms::of(program, *part)).ok_or(lost)?);
            }
            let Ok(bounds) = bounds.try_into() else { continue };
            self.declare(class)?;
            self.spell(class, bounds, 0)?;
        }
        Ok(())
    }

    /// A term as text; variables that it mentions are declared.
    pub(super) fn term(&mut self, term: &Term) -> Result<Sexp, String> {
        for node in term {
            if let Some(class) = is_word(node) {
                self.declare(class)?;
            }
        }
        Ok(shown(term, &self.names))
    }

    /// Declares the variable of a class as a program spells it, or as it is shortest.
    fn declare(&mut self, class: Id) -> Result<(), String> {
        if self.names.contains_key(&class) {
            return Ok(());
        }
        let known = self.programs.get(&class).cloned();
        let parts =
            known.or_else(|| self.hidden.variable(class)).ok_or("a variable without bounds")?;
        self.declare_as(class, parts)
    }

    fn declare_as(&mut self, class: Id, [name, lo, hi, step]: [Term; 4]) -> Result<(), String> {
        let mut parts = Vec::new();
        for part in [&name, &lo, &hi, &step] {
            parts.push(self.term(part)?);
        }
        let word = format!("@{}", self.names.len());
        self.say(form("variable", std::iter::once(atom(&word)).chain(parts)))?;
        self.names.insert(class, word);
        self.spellings.insert(class, vec![[lo, hi, step]]);
        Ok(())
    }

    /// Declares the loop variables that a pattern makes, or proves their bounds as it spells them.
    pub(super) fn variables_of(
        &mut self,
        pattern: &PatternAst<Node>,
        means: &Means,
        depth: usize,
    ) -> Result<(), String> {
        for (at, node) in pattern.as_ref().iter().enumerate() {
            let ENodeOrVar::ENode(node) = node else { continue };
            if node.name() != Some("var") {
                continue;
            }
            let Some(class) = means.target(pattern, Id::from(at)) else { continue };
            let parts = node.children().iter().map(|c| means.build(pattern, *c));
            let parts: Option<Vec<Term>> = parts.collect();
            let Some(Ok([name, lo, hi, step])) = parts.map(<[Term; 4]>::try_from) else {
                return Err("a variable that cannot be written".to_owned());
            };
            if !self.names.contains_key(&class) && !self.programs.contains_key(&class) {
                self.declare_as(class, [name, lo, hi, step])?;
            } else {
                self.declare(class)?;
                self.spell(class, [lo, hi, step], depth)?;
            }
        }
        Ok(())
    }

    /// Proves that a variable's bounds may be spelled in another way.
    fn spell(&mut self, class: Id, bounds: [Term; 3], depth: usize) -> Result<(), String> {
        let known = self.spellings.get(&class).cloned().unwrap_or_default();
        if known.contains(&bounds) {
            return Ok(());
        }
        let Some(first) = known.first().cloned() else { return Err("unknown bounds".to_owned()) };
        let word = self.names.get(&class).cloned().unwrap_or_default();
        let mut items = vec![atom(word)];
        for (from, to) in first.iter().zip(&bounds) {
            let mut bound = vec![self.term(to)?];
            if from != to {
                self.lead(from, to, depth + 1, &mut bound)?;
            }
            items.push(list(bound));
        }
        self.say(form("spelled", items))?;
        self.spellings.entry(class).or_default().push(bounds);
        Ok(())
    }
}
