//! Mutants of a program, each different in a single token: another number, variable, tensor, size or operator, two
//! swapped operands, or a missing statement.

use super::surface::{Tree, What};
use egg::Symbol;
use ember_language::rules::{Kind, OpInfo, Operators};
use ember_language::term::{Head, Term};
use ember_prove::equiv::{Declarations, Purpose};

/// A program with one token changed.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// The kind of change.
    pub kind: &'static str,
    /// The program.
    pub term: Term,
}

/// A change of one node.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// Replaces its word.
    Word(What),
    /// Swaps two of its operands.
    Swap(usize, usize),
    /// Replaces it by one of its operands.
    Keep(usize),
    /// Swaps the indices of an address.
    Indices,
}

/// All programs that differ from one in a single token, in an order that depends on nothing else; none where
/// it is too large. Each is well-typed.
pub fn mutants(term: &Term, operators: &Operators, declarations: &Declarations) -> Vec<Mutant> {
    let Some(tree) = Tree::of(term, operators) else { return Vec::new() };
    let mut sites =
        Sites { operators, declarations, around: Vec::new(), path: Vec::new(), found: Vec::new() };
    sites.visit(&tree, false);
    let mutated = |(kind, path, change): (&'static str, Vec<usize>, Change)| {
        let mut changed = tree.clone();
        let mut at = &mut changed;
        for part in path {
            at = &mut at.parts[part];
        }
        apply(at, change);
        Mutant { kind, term: changed.term(operators) }
    };
    let mutants = sites.found.into_iter().map(mutated);
    mutants.filter(|mutant| mutant.term != *term).collect()
}

fn apply(at: &mut Tree, change: Change) {
    match change {
        Change::Word(word) => at.head = word,
        Change::Swap(i, j) => at.parts.swap(i, j),
        Change::Keep(part) => *at = at.parts.swap_remove(part),
        Change::Indices => {
            let Some((address, rest)) = at.parts.split_first_mut() else { return };
            if let (Some(inner), Some(outer)) = (address.parts.get_mut(1), rest.first_mut()) {
                std::mem::swap(inner, outer);
            }
        }
    }
}

/// Two operands of a lanewise operator that may not change places.
fn ordered(info: &OpInfo) -> Option<(usize, usize)> {
    let last = info.operand_kinds.len().checked_sub(1)?;
    let first = last.checked_sub(1)?;
    let alike = info.operand_kinds[first] == info.operand_kinds[last]
        && info.asks[first] == info.asks[last];
    let literal = info.literals.contains(&first) || info.literals.contains(&last);
    (info.lanewise && alike && !info.commutes() && !literal).then_some((first, last))
}

struct Sites<'a> {
    operators: &'a Operators,
    declarations: &'a Declarations,
    /// The enclosing loops, by their numbers.
    around: Vec<usize>,
    path: Vec<usize>,
    found: Vec<(&'static str, Vec<usize>, Change)>,
}

impl Sites<'_> {
    fn add(&mut self, kind: &'static str, change: Change) {
        self.found.push((kind, self.path.clone(), change));
    }

    /// Adds the changes of a part. A literal, for example a step, is a number that no run computes.
    fn visit(&mut self, tree: &Tree, literal: bool) {
        match tree.head {
            What::Word(Head::Int(n)) => {
                for other in [n.wrapping_sub(1), n.wrapping_add(1)] {
                    if !literal || other >= 1 {
                        self.add("number", Change::Word(What::Word(Head::Int(other))));
                    }
                }
            }
            What::Word(Head::Real(bits)) => {
                let x = f64::from_bits(bits);
                self.add("number", Change::Word(What::Word(Head::real(x + 1.0))));
                self.add("number", Change::Word(What::Word(Head::real(-x))));
            }
            What::Variable(own) => {
                for other in self.around.clone() {
                    if other != own {
                        self.add("variable", Change::Word(What::Variable(other)));
                    }
                }
            }
            What::Word(Head::Op(_)) => self.operator(tree),
        }
        let looped = tree.looped(self.operators);
        let literals = tree.info(self.operators).map(|info| info.literals.as_slice());
        for (at, part) in tree.parts.iter().enumerate() {
            // A loop's own variable is no mention of it, and variables that no loop of the tree binds are left as
            // they are: their bounds are those of loops elsewhere.
            let variable = part.info(self.operators).is_some_and(|i| i.makes_variable);
            if looped.is_some_and(|(own, _)| at == own.variable) || variable {
                continue;
            }
            let number = looped.filter(|(own, _)| at == own.body).map(|(_, number)| number);
            self.around.extend(number);
            self.path.push(at);
            self.visit(part, literals.is_some_and(|literals| literals.contains(&at)));
            self.path.pop();
            if number.is_some() {
                self.around.pop();
            }
        }
    }

    fn operator(&mut self, tree: &Tree) {
        let Some(info) = tree.info(self.operators) else { return self.name(tree.name()) };
        if let Some(other) = self.operators.instead(info) {
            self.add("operator", Change::Word(What::Word(Head::Op(other))));
        }
        if let Some((i, j)) = ordered(info) {
            self.add("operands", Change::Swap(i, j));
        }
        if let Some((own, _)) = tree.looped(self.operators) {
            self.add("bounds", Change::Swap(own.lo, own.hi));
        }
        match (&info.operand_kinds[..], &tree.parts[..]) {
            ([Some(Kind::Statement), Some(Kind::Statement)], _) => {
                self.add("statement", Change::Keep(0));
                self.add("statement", Change::Keep(1));
                self.add("order", Change::Swap(0, 1));
            }
            ([Some(Kind::Address), Some(Kind::Value)], [inner, _])
                if inner.name() == tree.name() =>
            {
                self.add("indices", Change::Indices);
            }
            _ => {}
        }
    }

    /// Adds the replacements of a name by another tensor or size.
    fn name(&mut self, name: &str) {
        let Some(plain) = name.strip_prefix('%') else { return };
        let others: Vec<String> = match self.declarations.tensor(plain) {
            Some(own) => {
                let tensors = self.declarations.tensors.iter();
                let like = tensors.filter(|t| {
                    t.dtype == own.dtype
                        && t.shape.len() == own.shape.len()
                        && (t.purpose == Purpose::Input) == (own.purpose == Purpose::Input)
                });
                like.map(|t| t.name.clone()).collect()
            }
            None => self.declarations.sizes(),
        };
        for other in others.into_iter().filter(|other| other != plain) {
            let word = What::Word(Head::Op(Symbol::from(format!("%{other}"))));
            self.add("name", Change::Word(word));
        }
    }
}
