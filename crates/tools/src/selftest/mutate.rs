//! Mutants of a program, each different in a single token: another number, variable, tensor, size or operator, two
//! swapped operands, or a missing statement.

use super::surface::{Tree, What};
use egg::Symbol;
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

/// Returns all programs that differ from one in a single token, in an order that depends only on the program; none if
/// the program is too large. Each is well-typed.
pub fn mutants(term: &Term, declarations: &Declarations) -> Vec<Mutant> {
    let Some(tree) = Tree::of(term) else { return Vec::new() };
    let mut sites = Sites { declarations, around: Vec::new(), path: Vec::new(), found: Vec::new() };
    sites.visit(&tree, false);
    let mutated = |(kind, path, change): (&'static str, Vec<usize>, Change)| {
        let mut changed = tree.clone();
        let mut at = &mut changed;
        for part in path {
            at = &mut at.parts[part];
        }
        apply(at, change);
        Mutant { kind, term: changed.term() }
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

/// Pairs of operators, the second of which replaces the first.
const INSTEAD: [(&str, &str); 18] = [
    ("scf.add", "scf.sub"),
    ("scf.sub", "scf.add"),
    ("scf.mul", "scf.add"),
    ("scf.div", "scf.mul"),
    ("scf.max", "scf.min"),
    ("scf.min", "scf.max"),
    ("scf.exp", "scf.sqrt"),
    ("scf.sqrt", "scf.exp"),
    ("exe.add", "exe.sub"),
    ("exe.sub", "exe.add"),
    ("exe.mul", "exe.add"),
    ("exe.max", "exe.min"),
    ("exe.min", "exe.max"),
    ("add", "mul"),
    ("mul", "add"),
    ("max", "min"),
    ("min", "max"),
    ("sub", "add"),
];

/// Operators with two operands that must not be swapped: the operands, and the name of the change.
const ORDERED: [(&str, usize, usize, &str); 7] = [
    ("scf.sub", 0, 1, "operands"),
    ("scf.div", 0, 1, "operands"),
    ("scf.lt", 0, 1, "operands"),
    ("scf.select", 1, 2, "operands"),
    ("exe.sub", 0, 1, "operands"),
    ("exe.div", 0, 1, "operands"),
    ("exe.select", 1, 2, "operands"),
];

struct Sites<'a> {
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
        let own = tree.loop_parts();
        for (at, part) in tree.parts.iter().enumerate() {
            // A loop's own variable is not a use of it. Variables that no loop of one processor binds stay unchanged,
            // because their bounds belong to loops elsewhere.
            if own.is_some_and(|[variable, ..]| at == variable) || part.name() == "var" {
                continue;
            }
            let bound = own.filter(|[_, _, body]| at == *body);
            let number = bound.and_then(|[variable, ..]| match tree.parts[variable].head {
                What::Variable(number) => Some(number),
                What::Word(_) => None,
            });
            self.around.extend(number);
            self.path.push(at);
            let step = own.is_some_and(|[_, low, _]| at == low + 2);
            self.visit(part, step || is_literal(tree, at));
            self.path.pop();
            if number.is_some() {
                self.around.pop();
            }
        }
    }

    fn operator(&mut self, tree: &Tree) {
        let name = tree.name();
        for (_, other) in INSTEAD.iter().filter(|(from, _)| *from == name) {
            self.add("operator", Change::Word(What::Word(Head::Op(Symbol::from(*other)))));
        }
        for (_, i, j, kind) in ORDERED.iter().filter(|(of, ..)| *of == name) {
            self.add(kind, Change::Swap(*i, *j));
        }
        if let Some([_, low, _]) = tree.loop_parts() {
            self.add("bounds", Change::Swap(low, low + 1));
        }
        match (name, &tree.parts[..]) {
            ("scf.seq" | "slc.seq" | "exe.seq", [_, _]) => {
                self.add("statement", Change::Keep(0));
                self.add("statement", Change::Keep(1));
                self.add("order", Change::Swap(0, 1));
            }
            ("at" | "slc.at" | "exe.at", [inner, _]) if inner.name() == name => {
                self.add("indices", Change::Indices);
            }
            _ => self.name(name),
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

/// Returns true if an operand is a number of lanes or a step, which must be a literal.
fn is_literal(tree: &Tree, at: usize) -> bool {
    match tree.name() {
        "scf.lanes" | "slc.lanes" | "exe.lanes" | "scf.broadcast" | "slc.broadcast"
        | "exe.broadcast" => at == 0,
        "vec" => at == 2,
        "slc.for" | "exe.for" => at == 3,
        "exe.reduce" => at == 4,
        "exe.walk" => at == 5,
        "exe.walk_reduce" => at == 6,
        _ => false,
    }
}
