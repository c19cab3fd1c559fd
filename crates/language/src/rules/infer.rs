//! Infers the sorts of terms and patterns by unification: a variable of a rule or a sort variable of an operator gets
//! the sort that all its occurrences agree on.

use super::signature::{Operator, Signature, Sort, SortTerm};
use super::tree::{Tree, TreeHead};
use crate::codes::Code;
use crate::conditions::VARIABLE;
use crate::diagnostic::{Diagnostic, Span};
use crate::term::Head;
use egg::Symbol;
use std::collections::BTreeMap;

/// The knowledge about the sort of a node.
#[derive(Clone, Copy, Debug)]
enum Cell {
    Free,
    Is(Sort),
    Same(usize),
}

/// The index of a cell.
pub(super) type SortCell = usize;

/// The sorts of one rule's terms.
pub(super) struct Inference<'a> {
    signature: &'a Signature,
    cells: Vec<Cell>,
    variables: BTreeMap<Symbol, (SortCell, Span)>,
    /// The cells of the nodes of the last inferred tree.
    pub nodes: Vec<SortCell>,
}

impl<'a> Inference<'a> {
    /// Creates an inference without any knowledge.
    pub fn new(signature: &'a Signature) -> Inference<'a> {
        Inference { signature, cells: Vec::new(), variables: BTreeMap::new(), nodes: Vec::new() }
    }

    /// Returns the sort in a cell, if it is determined.
    pub fn sort(&self, cell: SortCell) -> Option<Sort> {
        match self.cells[self.find(cell)] {
            Cell::Is(sort) => Some(sort),
            Cell::Free | Cell::Same(_) => None,
        }
    }

    /// Returns the cell of a variable, and remembers the place of its first occurrence.
    pub fn variable(&mut self, name: Symbol, span: Span) -> SortCell {
        if let Some((cell, _)) = self.variables.get(&name) {
            return *cell;
        }
        let cell = self.fresh(Cell::Free);
        self.variables.insert(name, (cell, span));
        cell
    }

    /// Creates a cell with a given sort.
    pub fn known(&mut self, sort: Sort) -> SortCell {
        self.fresh(Cell::Is(sort))
    }

    /// Creates a cell with the sort of variables; the cell is free if several sorts have variables.
    pub fn variable_sort(&mut self) -> SortCell {
        let sorts: Vec<Sort> = self.signature.variable_sorts().into_iter().collect();
        match sorts.as_slice() {
            [] => self.known(Sort::named(VARIABLE)),
            [sort] => self.known(*sort),
            _ => self.free(),
        }
    }

    /// Creates a cell without any knowledge.
    pub fn free(&mut self) -> SortCell {
        self.fresh(Cell::Free)
    }

    /// Infers the sorts of a tree; returns the cell of its root.
    pub fn tree(&mut self, tree: &Tree, errors: &mut Vec<Diagnostic>) -> SortCell {
        let mut cells: Vec<SortCell> = Vec::with_capacity(tree.nodes.len());
        for (i, node) in tree.nodes.iter().enumerate() {
            let cell = match node.head {
                TreeHead::Var(name) => self.variable(name, node.span),
                TreeHead::Head(head) => self.applied(tree, i, head, &cells, errors),
                TreeHead::Compute(_) => self.computed(tree, i, &cells, errors),
            };
            cells.push(cell);
        }
        self.nodes = cells;
        self.nodes[tree.root()]
    }

    /// Requires two cells to have one sort. Returns the two sorts if they differ.
    pub fn unify(&mut self, found: SortCell, expected: SortCell) -> Result<(), (Sort, Sort)> {
        let (a, b) = (self.find(found), self.find(expected));
        if a == b {
            return Ok(());
        }
        match (self.cells[a], self.cells[b]) {
            (Cell::Is(x), Cell::Is(y)) if x == y => Ok(()),
            (Cell::Is(x), Cell::Is(y)) => Err((x, y)),
            (Cell::Is(_), _) => {
                self.cells[b] = Cell::Same(a);
                Ok(())
            }
            _ => {
                self.cells[a] = Cell::Same(b);
                Ok(())
            }
        }
    }

    /// Returns the error for a node of an unexpected sort.
    pub fn mismatch(&self, tree: &Tree, node: usize, sorts: (Sort, Sort)) -> Diagnostic {
        let (found, expected) = sorts;
        let node = &tree.nodes[node];
        let label = match node.head {
            TreeHead::Var(name) => format!("`{name}` is {found}"),
            TreeHead::Head(head) => format!("`{head}` is {found}"),
            TreeHead::Compute(_) => format!("a computed number is {found}"),
        };
        let error =
            Diagnostic::error(format!("expected {expected}, found {found}"), node.span, label)
                .with_code(Code::SortsDiffer);
        match node.head {
            TreeHead::Var(name) => match self.variables.get(&name) {
                Some((_, first)) if *first != node.span => {
                    error.with_related(*first, format!("`{name}` first stands here"))
                }
                _ => error,
            },
            _ => error,
        }
    }

    /// Returns the cell of an operator applied to its arguments, or of a literal.
    fn applied(
        &mut self,
        tree: &Tree,
        at: usize,
        head: Head,
        cells: &[SortCell],
        errors: &mut Vec<Diagnostic>,
    ) -> SortCell {
        let node = &tree.nodes[at];
        let signature = self.signature;
        if let Some(sort) = Sort::of_literal(head) {
            if signature.sort(sort.name()).is_none() {
                errors.push(signature.unknown_sort(sort.name(), node.span));
            }
            return self.known(sort);
        }
        let Head::Op(name) = head else { return self.fresh(Cell::Free) };
        let Some(op) = signature.operator(name, node.children.len()) else {
            errors.push(signature.unknown_operator(name, node.children.len(), node.head_span));
            return self.fresh(Cell::Free);
        };
        let mut any: BTreeMap<&str, SortCell> = BTreeMap::new();
        for (k, (&child, declared)) in node.children.iter().zip(&op.args).enumerate() {
            let expected = self.instance(*declared, &mut any);
            if let Err(sorts) = self.unify(cells[child], expected) {
                errors.push(argument(self.mismatch(tree, child, sorts), op, k));
            }
        }
        self.instance(op.result, &mut any)
    }

    /// Returns the cell of `(! OP A B)`; its arguments are integers known when the rule is applied.
    fn computed(
        &mut self,
        tree: &Tree,
        at: usize,
        cells: &[SortCell],
        errors: &mut Vec<Diagnostic>,
    ) -> SortCell {
        let value = self.known(Sort::named(Sort::VALUE));
        for &child in &tree.nodes[at].children {
            let node = &tree.nodes[child];
            if matches!(node.head, TreeHead::Head(Head::Op(_) | Head::Real(_))) {
                errors.push(
                    Diagnostic::error(
                        "this is not a known integer",
                        node.span,
                        "an argument of `!`",
                    )
                    .with_code(Code::NotAnInteger)
                    .with_help("`!` computes with integers, variables and other `!`"),
                );
            } else if let Err(sorts) = self.unify(cells[child], value) {
                errors.push(self.mismatch(tree, child, sorts));
            }
        }
        value
    }

    fn instance(
        &mut self,
        declared: SortTerm,
        any: &mut BTreeMap<&'static str, SortCell>,
    ) -> SortCell {
        match declared {
            SortTerm::Is(sort) => self.known(sort),
            SortTerm::Any(name) => match any.get(name.as_str()) {
                Some(&cell) => cell,
                None => {
                    let cell = self.fresh(Cell::Free);
                    any.insert(name.as_str(), cell);
                    cell
                }
            },
        }
    }

    fn fresh(&mut self, cell: Cell) -> SortCell {
        self.cells.push(cell);
        self.cells.len() - 1
    }

    fn find(&self, mut cell: SortCell) -> SortCell {
        while let Cell::Same(next) = self.cells[cell] {
            cell = next;
        }
        cell
    }
}

/// Adds to an error the argument and the operator that it concerns.
fn argument(error: Diagnostic, op: &Operator, k: usize) -> Diagnostic {
    let nth = format!("argument {} of `{}`, as declared here", k + 1, op.name);
    error.with_related(op.span, nth)
}
