//! Loop variables in a certificate: their words, their declarations, and the alternative spellings of their bounds.

use super::certificate::Uncertified::{self, Lost};
use super::certificate::Writer;
use super::chain::{class_of, is_word};
use super::forms::{atom, form, printed, shown};
use super::means::Means;
use crate::chains::Terms;
use egg::{ENodeOrVar, Id, PatternAst};
use ember_language::sexp::Sexp;
use ember_language::term::{Node, Term};

impl Writer<'_> {
    /// Records the spelling of a program's variables.
    pub(super) fn remember(&mut self, program: &Term) {
        for (at, node) in program.as_ref().iter().enumerate() {
            let bounds = self.operators().variable(node);
            let Some([name, lo, hi, step]) = bounds else { continue };
            let part = |id: Id| self.hidden.hide(&Terms::of(program, id));
            let class = self.hidden.hide(&Terms::of(program, Id::from(at)));
            let class = class.and_then(|word| class_of(word.as_ref().last()?.name()?));
            if let (Some(class), Some(name), Some(lo), Some(hi), Some(step)) =
                (class, part(name), part(lo), part(hi), part(step))
            {
                self.programs.entry(class).or_insert([name, lo, hi, step]);
            }
        }
    }

    /// Proves the bounds as a program spells them.
    pub(super) fn spell_program(&mut self, program: &Term) -> Result<(), Uncertified> {
        for (at, node) in program.as_ref().iter().enumerate() {
            let bounds = self.operators().variable(node);
            let Some([_, lo, hi, step]) = bounds else { continue };
            let lost = || Lost("a variable is not in the search");
            let word = self.hidden.hide(&Terms::of(program, Id::from(at))).ok_or_else(lost)?;
            let class = word.as_ref().last().and_then(|n| class_of(n.name()?)).ok_or_else(lost)?;
            let mut bounds = Vec::new();
            for part in [lo, hi, step] {
                bounds.push(self.hidden.hide(&Terms::of(program, part)).ok_or_else(lost)?);
            }
            let Ok(bounds) = bounds.try_into() else { continue };
            self.declare(class)?;
            self.spell(class, bounds, 0)?;
        }
        Ok(())
    }

    /// Returns a term as text, after declaring the variables that it mentions.
    pub(super) fn term(&mut self, term: &Term) -> Result<Sexp, Uncertified> {
        for node in term {
            if let Some(class) = is_word(node) {
                self.declare(class)?;
            }
        }
        Ok(shown(term, &self.names))
    }

    /// Declares the variable of a class, as a program spells it or else in the shortest form.
    fn declare(&mut self, class: Id) -> Result<(), Uncertified> {
        if self.names.contains_key(&class) {
            return Ok(());
        }
        let known = self.programs.get(&class).cloned();
        let parts = known
            .or_else(|| self.hidden.variable(class))
            .ok_or(Lost("a variable without bounds"))?;
        self.declare_as(class, parts)
    }

    fn declare_as(
        &mut self,
        class: Id,
        [name, lo, hi, step]: [Term; 4],
    ) -> Result<(), Uncertified> {
        let name = self.term(&name)?;
        let bounds = [lo, hi, step];
        let spelled = self.spelled(&name, &bounds)?;
        let word = match self.words.get(&printed(&spelled)).cloned() {
            // Loops of an earlier part have the same variable.
            Some(known) => known,
            None => {
                let word = format!("@{}", self.words.len());
                self.say(form("variable", [atom(&word), spelled]))?;
                word
            }
        };
        self.names.insert(class, word);
        self.spellings.insert(class, (name, vec![bounds]));
        Ok(())
    }

    /// Returns a variable's bounds as declarations spell them.
    fn spelled(&mut self, name: &Sexp, bounds: &[Term; 3]) -> Result<Sexp, Uncertified> {
        let mut parts = vec![name.clone()];
        for bound in bounds {
            parts.push(self.term(bound)?);
        }
        Ok(form("bounds", parts))
    }

    /// Declares the loop variables that a pattern creates, or proves their bounds as the pattern spells them.
    pub(super) fn variables_of(
        &mut self,
        pattern: &PatternAst<Node>,
        means: &Means<'_>,
        depth: usize,
    ) -> Result<(), Uncertified> {
        for (at, node) in pattern.as_ref().iter().enumerate() {
            let ENodeOrVar::ENode(node) = node else { continue };
            let bounds: Option<[Id; 4]> = self.operators().variable(node);
            let Some(bounds) = bounds else { continue };
            let Some(class) = means.target(pattern, Id::from(at)) else { continue };
            let parts = bounds.iter().map(|c| means.build(pattern, *c));
            let parts: Option<Vec<Term>> = parts.collect();
            let Some(Ok([name, lo, hi, step])) = parts.map(<[Term; 4]>::try_from) else {
                return Err(Lost("a variable that cannot be written"));
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

    /// Proves that a variable's bounds have another spelling.
    fn spell(&mut self, class: Id, bounds: [Term; 3], depth: usize) -> Result<(), Uncertified> {
        let Some((name, known)) = self.spellings.get(&class).cloned() else {
            return Err(Lost("unknown bounds"));
        };
        if known.contains(&bounds) {
            return Ok(());
        }
        let word = self.names.get(&class).cloned().unwrap_or_default();
        let mut items = vec![atom(word), self.spelled(&name, &bounds)?];
        for (at, (from, to)) in known[0].iter().zip(&bounds).enumerate() {
            if from != to {
                // The name is the first operand, before the bounds.
                self.lead(from, to, (depth + 1, &[at + 1]), &mut items)?;
            }
        }
        let known_there =
            self.words.get(&printed(&items[1])) == items[0].atom().map(str::to_owned).as_ref();
        if !known_there {
            self.say(form("variable", items))?;
        }
        if let Some((_, known)) = self.spellings.get_mut(&class) {
            known.push(bounds);
        }
        Ok(())
    }
}
