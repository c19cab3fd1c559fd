//! Loop variables in a certificate: their words, their declarations, and the alternative spellings of their bounds.

use super::certificate::Uncertified::{self, Lost};
use super::certificate::Writer;
use super::chain::{class_of, is_word};
use super::forms::{atom, form, list, printed, shown};
use super::means::Means;
use crate::chains::{Terms, canonical};
use egg::{ENodeOrVar, Id, Language, PatternAst};
use ember_language::erase::erased;
use ember_language::sexp::{Sexp, deeper};
use ember_language::term::{Head, Node, Term};

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
                let (all, own) = (self.programs.entry(class).or_default(), [name, lo, hi, step]);
                if !all.contains(&own) {
                    all.push(own);
                }
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

    /// A program as text, in which each loop's variable is called by the number of loops around it, whatever rules
    /// have called it.
    pub(super) fn numbered(&mut self, program: &Term) -> Result<Sexp, Uncertified> {
        let root = Id::from(program.len().checked_sub(1).ok_or(Lost("an empty program"))?);
        self.numbered_part(program, root, &mut Vec::new())
    }

    fn numbered_part(
        &mut self,
        program: &Term,
        at: Id,
        around: &mut Vec<(Id, String)>,
    ) -> Result<Sexp, Uncertified> {
        let node = &program[at];
        if let Some(class) = is_word(node) {
            let word = around.iter().rev().find(|(known, _)| *known == class);
            let word = word.map(|(_, word)| word.clone());
            return Ok(atom(word.ok_or(Lost("a variable outside of its loop"))?));
        }
        if node.children().is_empty() {
            return Ok(atom(node.to_string()));
        }
        let operators = self.operators();
        let binds = match node.head() {
            Head::Op(name) => operators.binds(name, node.children().len()),
            Head::Int(_) | Head::Real(_) => None,
        };
        let mut word = None;
        if let Some((variable, _)) = binds {
            let class = is_word(&program[node.children()[variable]]).ok_or(Lost("no variable"))?;
            let plain = operators.of(node).filter(|info| info.has_facts());
            let bounds = match plain.and_then(|info| info.looped()) {
                Some(own) => {
                    let bounds = [own.lo, own.hi, own.step].map(|at| node.children()[at]);
                    bounds.map(|id| Terms::of(program, id))
                }
                None => self.unit_bounds(program, node, class, around)?,
            };
            word = Some((class, self.numbered_variable(&bounds, around)?));
        }
        let mut parts = vec![atom(node.name().ok_or(Lost("no operator"))?)];
        for (k, child) in node.children().iter().enumerate() {
            let inside = word.clone().zip(binds).filter(|(_, (v, body))| k == *v || k == *body);
            let count = around.len();
            around.extend(inside.map(|(word, _)| word));
            let part = deeper(|| self.numbered_part(program, *child, around));
            around.truncate(count);
            parts.push(part?);
        }
        Ok(list(parts))
    }

    /// Returns the bounds of a unit's loop as one processor computes them, and notes them to be proved.
    fn unit_bounds(
        &mut self,
        program: &Term,
        node: &Node,
        class: Id,
        around: &[(Id, String)],
    ) -> Result<[Term; 3], Uncertified> {
        let operators = self.operators();
        let of = |id: Id| Some(canonical(&erased(&Terms::of(program, id), operators)?));
        let own = operators.looped(node);
        let bounds = own.and_then(|own| Some([of(own.lo)?, of(own.hi)?, of(own.step)?]));
        match bounds {
            Some(bounds) => {
                self.erased.push((class, bounds.clone()));
                Ok(bounds)
            }
            None => self.spelling_within(class, around).ok_or(Lost("unknown bounds")),
        }
    }

    /// Proves the bounds of units' loops as one processor computes them.
    pub(super) fn spell_units(&mut self) -> Result<(), Uncertified> {
        for (class, bounds) in std::mem::take(&mut self.erased) {
            self.declare(class)?;
            self.spell(class, bounds, 0)?;
        }
        Ok(())
    }

    /// Returns the bounds of a variable in a spelling that mentions the variables of the loops around alone.
    fn spelling_within(&self, class: Id, around: &[(Id, String)]) -> Option<[Term; 3]> {
        let declared =
            self.spellings.get(&class).into_iter().flat_map(|(_, all)| all.iter().cloned());
        let written = self.programs.get(&class).into_iter().flatten();
        let written = written.map(|[_, lo, hi, step]| [lo.clone(), hi.clone(), step.clone()]);
        let bound = |word: Id| around.iter().any(|(known, _)| *known == word);
        let within = |bounds: &[Term; 3]| {
            bounds.iter().flat_map(|bound| bound.as_ref()).filter_map(is_word).all(bound)
        };
        declared.chain(written).find(within)
    }

    /// The word of a loop's variable with these bounds, which is called by the number of loops around.
    fn numbered_variable(
        &mut self,
        bounds: &[Term; 3],
        around: &mut Vec<(Id, String)>,
    ) -> Result<String, Uncertified> {
        let numbered = self.operators().numbered().ok_or(Lost("no names of variables"))?;
        let mut parts = vec![form(numbered.as_str(), [atom(around.len().to_string())])];
        for bound in bounds {
            let root = Id::from(bound.len().saturating_sub(1));
            parts.push(deeper(|| self.numbered_part(bound, root, around))?);
        }
        let spelled = form("bounds", parts);
        if let Some(known) = self.word(&spelled) {
            return Ok(known);
        }
        let word = format!("@{}", self.words.len());
        self.say(form("variable", [atom(&word), spelled]))?;
        Ok(word)
    }

    /// Returns the word of the first variable that is declared with this spelling.
    fn word(&self, spelled: &Sexp) -> Option<String> {
        self.words.get(&printed(spelled))?.first().cloned()
    }

    /// Declares the variable of a class, as a program spells it or else in the shortest form.
    fn declare(&mut self, class: Id) -> Result<(), Uncertified> {
        if self.names.contains_key(&class) {
            return Ok(());
        }
        let known = self.programs.get(&class).and_then(|all| all.first());
        let parts = known
            .cloned()
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
        let word = match self.word(&spelled) {
            // Loops of an earlier part have the same variable.
            Some(known) => known,
            None => {
                let word = format!("@{}", self.words.len());
                let anywhere = self.anywhere.contains(&class).then(|| atom("anywhere"));
                self.say(form("variable", [atom(&word), spelled].into_iter().chain(anywhere)))?;
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

    /// Proves the bounds of loops that the second side of a rule has over variables of the rule, and the first has not.
    pub(super) fn bounds_of(
        &mut self,
        [from, to]: [&PatternAst<Node>; 2],
        means: &Means<'_>,
        depth: usize,
    ) -> Result<(), Uncertified> {
        let operators = self.operators();
        let loops = |side: &PatternAst<Node>| -> Vec<(ENodeOrVar<Node>, [Id; 3])> {
            let nodes = side.as_ref().iter();
            let loops = nodes.filter_map(|node| {
                let ENodeOrVar::ENode(node) = node else { return None };
                let own = operators.of(node)?.looped()?.of(node.children())?;
                Some((side[own.variable].clone(), [own.lo, own.hi, own.step]))
            });
            loops.collect()
        };
        let known = loops(from);
        for (variable, bounds) in loops(to) {
            let ENodeOrVar::Var(v) = variable else { continue };
            if known.iter().any(|(other, _)| *other == variable) {
                continue;
            }
            let class = means.of.get(&v).and_then(|term| is_word(term.as_ref().last()?));
            // The variable of a unit's loop ranges over what one processor computes.
            let bounds = bounds.map(|bound| {
                erased(&means.build(to, bound)?, operators).map(|bound| canonical(&bound))
            });
            if let (Some(class), [Some(lo), Some(hi), Some(step)]) = (class, bounds) {
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
        let known = self.words.get(&printed(&items[1]));
        if !known
            .is_some_and(|words| words.iter().any(|word| Some(word.as_str()) == items[0].atom()))
        {
            self.say(form("variable", items))?;
        }
        if let Some((_, known)) = self.spellings.get_mut(&class) {
            known.push(bounds);
        }
        Ok(())
    }
}
