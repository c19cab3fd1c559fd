//! Programs that differ from one in a single token: another number, variable, tensor, size or operator, two
//! operands that have changed places, or a statement that is missing.

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
    /// Another word in its place.
    Word(What),
    /// Two of its operands change places.
    Swap(usize, usize),
    /// One of its operands in its place.
    Keep(usize),
    /// The indices of an address change places.
    Indices,
}

/// All programs that differ from one in a single token, in an order that depends on nothing else; none where
/// it is too large. Each is well-typed.
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

/// Operators that stand in one another's place.
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

/// Operators of which two operands may not change places: which, and what the change is called.
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
    /// The loops around, by their numbers.
    around: Vec<usize>,
    path: Vec<usize>,
    found: Vec<(&'static str, Vec<usize>, Change)>,
}

impl Sites<'_> {
    fn add(&mut self, kind: &'static str, change: Change) {
        self.found.push((kind, self.path.clone(), change));
    }

    /// Adds the changes of a part; a literal is a number that no run computes, such as a step.
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
            // A loop's own variable is no mention of it, and variables that no loop of one processor
            // binds are left as they are: their bounds are those of loops elsewhere.
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

    /// Another tensor or size in the place of a name.
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

/// Whether an operand is a number of lanes or a step, which programs spell out.
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
