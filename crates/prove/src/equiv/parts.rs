//! Cuts both programs into corresponding parts that can be proved equal one by one. A part is a sequence of statements;
//! corresponding parts touch the same tensors.
//!
//! Barriers and frozen reads have only one effect: a fault if the tensor read was written since the last barrier. If a
//! program cannot contain a read of this kind, its meaning does not change when barriers are put between its parts and
//! each part reads as frozen what other parts write. Its meaning also does not change when two statements are exchanged
//! and neither writes what the other touches. Parts are built by these two transformations, whatever barriers the
//! programs had, with the first program in the order of the second. This reading is trusted, and the certificate states
//! so.

use super::level::Level;
use super::question::Question;
use crate::chains::Terms;
use egg::{Id, Language, Symbol};
use ember_analysis::effects::{Effects, Place};
use ember_analysis::facts::EGraph;
use ember_language::erase::erased_as_far;
use ember_language::rebuild::rebuild;
use ember_language::rules::Operators;
use ember_language::sexp::Sexp;
use ember_language::term::{Head, Node, Term};
use ember_values::primitive::form::{Form, Sequence, View};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// Corresponding parts of both programs.
#[derive(Debug)]
pub(super) struct Part {
    /// The part of each program.
    pub terms: [Term; 2],
    /// The corresponding part of the model to which both may be equal.
    pub between: Option<Term>,
}

impl Part {
    /// Returns the names in its terms, and those in declarations.
    pub fn names(&self, declarations: &[Sexp]) -> BTreeSet<Symbol> {
        let terms = self.terms.iter().chain(&self.between);
        let named = terms.flat_map(|term| term.as_ref()).filter_map(|node| match node.head() {
            Head::Op(name) if node.is_leaf() => Some(name),
            _ => None,
        });
        named.chain(declarations.iter().flat_map(Sexp::words).map(Symbol::from)).collect()
    }
}

type Tensors = BTreeSet<Symbol>;

/// One of a program's outermost statements.
struct Statement {
    term: Term,
    touched: Tensors,
    written: Tensors,
}

/// The largest number of statements of a program that is cut into parts.
const MOST: usize = 1 << 14;

/// Returns the parts of two programs; `None` if there are fewer than two and barriers do not tell the programs apart, or if
/// the effects of the statements are not known well enough.
pub(super) fn parts(question: &Question<'_>, mut egraph: EGraph) -> Option<Vec<Part>> {
    let operators = egraph.analysis.operators().clone();
    let programs = question.terms.iter().chain(question.between);
    let programs: Option<Vec<Vec<Statement>>> =
        programs.map(|term| statements(&mut egraph, &operators, term)).collect();
    let [first, second, model @ ..] = &mut programs?[..] else { return None };
    // The parts follow the order of the second program.
    let others = [first].into_iter().chain(model);
    let mut programs: Vec<Vec<Statement>> =
        others.map(|program| ordered(std::mem::take(program), second)).collect();
    programs.insert(1, std::mem::take(second));
    let cuts = cuts(&programs);
    if cuts.is_empty() || cuts.len() == 1 && alike_in_barriers(question.terms, &operators) {
        return None;
    }
    let mut from = vec![0; programs.len()];
    let mut parts = Vec::new();
    for to in cuts {
        let pieces = programs.iter().zip(from.iter().zip(&to));
        let pieces: Vec<&[Statement]> = pieces.map(|(p, (from, to))| &p[*from..*to]).collect();
        let written: Tensors =
            pieces.iter().copied().flatten().flat_map(|s| s.written.iter().copied()).collect();
        let mut terms = pieces.iter().enumerate().map(|(at, piece)| {
            // The model between two programs of another level remains a statement of one processor.
            let level = if at < 2 { question.level } else { question.base };
            sequence(piece, &written, (level, &operators))
        });
        let [left, right] = [terms.next()??, terms.next()??];
        let between = terms.next().flatten();
        parts.push(Part { terms: [left, right], between });
        from = to;
    }
    Some(parts)
}

/// Returns true if both programs have barriers, or neither has. A program whose statements run in one loop has none
/// where another has them between its statements.
fn alike_in_barriers(terms: &[Term; 2], operators: &Operators) -> bool {
    let is = |node: &Node| operators.form(node) == Some(Form::Sequence(Sequence::Barrier));
    let [first, second] = terms.each_ref().map(|term| term.as_ref().iter().any(is));
    first == second
}

/// Returns the outermost statements of a program without its barriers; `None` if a tensor may be read as frozen with no
/// barrier after it was written, or if this is unknown.
fn statements(
    egraph: &mut EGraph,
    operators: &Operators,
    program: &Term,
) -> Option<Vec<Statement>> {
    let mut found = Vec::new();
    let mut since = (Tensors::new(), Tensors::new());
    // Each entry is a statement with the unit boundaries around it, outermost first.
    let mut open = vec![(Id::from(program.len().checked_sub(1)?), Vec::new())];
    while let Some((at, around)) = open.pop() {
        let node = &program[at];
        match operators.form(node) {
            Some(Form::Carried { x: statement, to: None }) => {
                open.push((statement, around.into_iter().chain([node.head()]).collect()));
            }
            Some(Form::Sequence(Sequence::Two([first, then]))) => {
                open.extend([(then, around.clone()), (first, around)]);
            }
            Some(Form::Sequence(Sequence::Barrier)) => since = (Tensors::new(), Tensors::new()),
            _ => {
                let mut term = Terms::of(program, at);
                let effects = effects(egraph, operators, &term)?;
                let tensors = |places: &BTreeSet<Place>| -> Tensors {
                    places.iter().map(|place| place.tensor).collect()
                };
                let written = tensors(&effects.writes);
                since.0.extend(&written);
                since.1.extend(effects.reads.iter().filter(|p| p.frozen).map(|p| p.tensor));
                if !since.0.is_disjoint(&since.1) {
                    return None;
                }
                let touched = &written | &tensors(&effects.reads);
                for head in around.into_iter().rev() {
                    let root = Id::from(term.len() - 1);
                    term.add(Node::new(head, &[root]));
                }
                found.push(Statement { term, touched, written });
                if found.len() > MOST {
                    return None;
                }
            }
        }
    }
    Some(found)
}

/// Reorders a program to the order in which another program writes the same tensors, as far as its statements commute.
fn ordered(program: Vec<Statement>, like: &[Statement]) -> Vec<Statement> {
    let mut places: BTreeMap<Symbol, usize> = BTreeMap::new();
    for (at, statement) in like.iter().enumerate() {
        places.extend(statement.written.iter().map(|tensor| (*tensor, at)));
    }
    let place = |own: &Statement| own.written.iter().filter_map(|t| places.get(t)).max().copied();
    let (mut waiting, behind) = dependences(&program);
    let free = |at: usize, own: &Statement| Reverse((place(own).unwrap_or(0), at));
    let mut open: BinaryHeap<Reverse<(usize, usize)>> = program
        .iter()
        .enumerate()
        .filter(|(at, _)| waiting[*at] == 0)
        .map(|(at, own)| free(at, own))
        .collect();
    let mut program: Vec<Option<Statement>> = program.into_iter().map(Some).collect();
    let mut made = Vec::with_capacity(program.len());
    while let Some(Reverse((_, at))) = open.pop() {
        made.extend(program[at].take());
        for then in &behind[at] {
            waiting[*then] -= 1;
            if let (0, Some(own)) = (waiting[*then], &program[*then]) {
                open.push(free(*then, own));
            }
        }
    }
    made
}

/// Returns for each statement the number of those that it must follow, and those that must follow it: the next that
/// writes what it touches, and all that read what it writes until then.
fn dependences(program: &[Statement]) -> (Vec<usize>, Vec<Vec<usize>>) {
    let (mut waiting, mut behind) = (vec![0; program.len()], vec![Vec::new(); program.len()]);
    // The last statement that wrote each tensor, and those that have read it since.
    let mut last: BTreeMap<Symbol, (Option<usize>, Vec<usize>)> = BTreeMap::new();
    for (at, statement) in program.iter().enumerate() {
        let mut before = BTreeSet::new();
        for tensor in &statement.touched {
            let (writer, readers) = last.entry(*tensor).or_default();
            before.extend(*writer);
            match statement.written.contains(tensor) {
                true => {
                    before.extend(readers.drain(..));
                    *writer = Some(at);
                }
                false => readers.push(at),
            }
        }
        waiting[at] = before.len();
        before.into_iter().for_each(|before| behind[before].push(at));
    }
    (waiting, behind)
}

/// Returns the reads and writes of a statement, on any unit.
fn effects(egraph: &mut EGraph, operators: &Operators, statement: &Term) -> Option<Effects> {
    let root = egraph.add_expr(&erased_as_far(statement, operators));
    egraph[root].data.effects.clone()
}

/// Returns the number of statements of each program before the end of each part.
fn cuts(programs: &[Vec<Statement>]) -> Vec<Vec<usize>> {
    let all = |program: &Vec<Statement>| -> Tensors {
        program.iter().flat_map(|s| s.touched.iter().copied()).collect()
    };
    let mut tensors = programs.iter().map(all);
    let first = tensors.next().unwrap_or_default();
    // A tensor that only one program uses is irrelevant for matching positions in the programs.
    let common = tensors.fold(first, |common, other| &common & &other);
    let mut from = vec![0; programs.len()];
    let mut cuts: Vec<Vec<usize>> = Vec::new();
    for to in ends(programs, &common) {
        // Statements that touch the same tensors one by one become separate parts.
        let many = to[0] - from[0];
        let alike = |n: usize| {
            let own = |at: usize| &programs[at][from[at] + n].touched & &common;
            (1..programs.len()).all(|at| to[at] - from[at] == many && own(at) == own(0))
        };
        if (0..many).all(alike) {
            cuts.extend((1..many).map(|n| from.iter().map(|from| from + n).collect()));
        }
        cuts.push(to.clone());
        from = to;
    }
    cuts
}

/// Returns the longest beginnings of all programs that touch the same tensors, from fewer tensors to more: the number of
/// statements of each program.
fn ends(programs: &[Vec<Statement>], common: &Tensors) -> Vec<Vec<usize>> {
    // For each program, the tensors in the order in which it comes to touch them, and the number of statements that
    // touch no more than the first few.
    let orders = programs.iter().map(|program| {
        let (mut order, mut seen, mut ends) = (Vec::new(), Tensors::new(), BTreeMap::new());
        for (at, statement) in program.iter().enumerate() {
            let touched = statement.touched.iter().filter(|own| common.contains(own));
            order.extend(touched.filter(|own| seen.insert(**own)));
            ends.insert(order.len(), at + 1);
        }
        (order, ends)
    });
    let orders: Vec<(Vec<&Symbol>, BTreeMap<usize, usize>)> = orders.collect();
    // The number of programs that touch each tensor, and the number of tensors that some touch and others do not.
    let (mut touching, mut apart) = (BTreeMap::<&Symbol, usize>::new(), 0_usize);
    let mut found = Vec::new();
    for most in 0..=common.len() {
        for tensor in orders.iter().filter_map(|(order, _)| order.get(most.checked_sub(1)?)) {
            let touching = touching.entry(*tensor).or_default();
            *touching += 1;
            apart += usize::from(*touching == 1);
            apart -= usize::from(*touching == programs.len());
        }
        let to: Option<Vec<usize>> =
            orders.iter().map(|(_, ends)| ends.get(&most).copied()).collect();
        found.extend(to.filter(|_| apart == 0));
    }
    found
}

/// Builds a sequence of statements, in which every tensor that they do not write is frozen.
fn sequence(
    statements: &[Statement],
    written: &Tensors,
    (level, operators): (&Level, &Operators),
) -> Option<Term> {
    let mut made = Terms::default();
    let mut roots = Vec::new();
    for Statement { term, .. } in statements {
        let root = rebuild(term.as_ref(), |_, node| match operators.form(&node) {
            Some(Form::View { address: thawed, view: View::ReadOnly }) => thawed,
            Some(Form::Root { name, written: true }) => {
                let unit = operators.of(&node).and_then(|info| info.unit);
                let out = made.add(node);
                let known = made.get(name).map(Node::head);
                let fixed = matches!(known, Some(Head::Op(name)) if !written.contains(&name));
                match fixed {
                    false => out,
                    true => {
                        let frozen = Form::View { address: out, view: View::ReadOnly };
                        made.add(operators.node(frozen, unit))
                    }
                }
            }
            _ => made.add(node),
        });
        roots.push(root);
    }
    let mut rest = roots.pop()?;
    while let Some(part) = roots.pop() {
        rest = made.add(level.seq(part, rest)?);
    }
    Some(Terms::of(&made.finish(), rest))
}

#[cfg(test)]
mod tests;
