//! Terms and patterns as they are written in a file: flat, children before parents, each node with its place. Reading
//! is iterative, and all later stages walk the list, so that no nesting overflows the stack.

use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Span};
use crate::sexp::{Kind, Sexp};
use crate::term::{Head, Node, Term, parse_head};
use egg::{ENodeOrVar, Id, PatternAst, RecExpr, Symbol, Var};
use ember_values::scalar::BinaryOp;
use std::collections::BTreeMap;

/// The operator that computes a number when a rule is applied: `(! add ?n 1)`.
pub const COMPUTE: &str = "!";

/// The operations of `!`: those from integers of any size to integers.
pub const COMPUTE_OPS: [BinaryOp; 6] = {
    let (mut found, mut count, mut at) = ([BinaryOp::ALL[0]; 6], 0, 0);
    while at < BinaryOp::ALL.len() {
        let op = BinaryOp::ALL[at];
        if op.solver().is_some() && !op.compares() {
            found[count] = op;
            count += 1;
        }
        at += 1;
    }
    assert!(count == found.len());
    found
};

/// The head of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum TreeHead {
    /// An operator, a number or a name.
    Head(Head),
    /// A variable, with its question mark.
    Var(Symbol),
    /// A number that is computed when the rule is applied.
    Compute(BinaryOp),
}

/// A node and its place.
#[derive(Clone, Debug)]
pub(super) struct TreeNode {
    pub head: TreeHead,
    pub children: Vec<usize>,
    pub span: Span,
    /// The place of its head.
    pub head_span: Span,
}

/// A term or pattern; the last node is its root.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub nodes: Vec<TreeNode>,
}

/// A list being read: its head, its remaining items, and the indices of the children read so far.
struct Open<'a> {
    head: TreeHead,
    span: Span,
    head_span: Span,
    rest: &'a [Sexp],
    children: Vec<usize>,
}

/// Reads a term or pattern.
pub(super) fn read(sexp: &Sexp, errors: &mut Vec<Diagnostic>) -> Option<Tree> {
    let mut nodes: Vec<TreeNode> = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut next = sexp;
    loop {
        let mut done = match &next.kind {
            Kind::List(items) => {
                let (head, rest) = list_head(next, items).map_err(|e| errors.push(e)).ok()?;
                let head_span = items.first().map_or(next.span, |first| first.span);
                let children = Vec::new();
                open.push(Open { head, span: next.span, head_span, rest, children });
                None
            }
            Kind::Atom(text) => {
                let head = leaf(text, next.span).map_err(|e| errors.push(e)).ok()?;
                let span = next.span;
                Some(TreeNode { head, children: Vec::new(), span, head_span: span })
            }
            Kind::Text(_) => {
                errors.push(
                    Diagnostic::error("expected a term", next.span, "this is a text")
                        .with_code(Code::NotATerm),
                );
                return None;
            }
        };
        // A finished node is handed to its list, and the lists that end with it are closed.
        loop {
            if let Some(node) = done.take() {
                nodes.push(node);
                match open.last_mut() {
                    Some(parent) => parent.children.push(nodes.len() - 1),
                    None => return Some(Tree { nodes }),
                }
            }
            let Some(list) = open.last_mut() else { return Some(Tree { nodes }) };
            if let Some((first, rest)) = list.rest.split_first() {
                list.rest = rest;
                next = first;
                break;
            }
            let Some(Open { head, span, head_span, children, .. }) = open.pop() else { continue };
            done = Some(TreeNode { head, children, span, head_span });
        }
    }
}

/// Returns the head of a list and its arguments.
fn list_head<'a>(list: &Sexp, items: &'a [Sexp]) -> Result<(TreeHead, &'a [Sexp]), Diagnostic> {
    let Some((first, rest)) = items.split_first() else {
        return Err(Diagnostic::error("expected a term", list.span, "this list is empty")
            .with_code(Code::NotATerm));
    };
    let Some(name) = first.atom() else {
        return Err(Diagnostic::error(
            "expected an operator",
            first.span,
            "a term starts with the name of its operator",
        )
        .with_code(Code::NotAnOperator));
    };
    if name == COMPUTE {
        return compute_head(list, rest);
    }
    match leaf(name, first.span)? {
        TreeHead::Head(head @ Head::Op(op)) if !op.as_str().starts_with('%') => {
            Ok((TreeHead::Head(head), rest))
        }
        _ => Err(Diagnostic::error(
            format!("`{name}` cannot be applied"),
            first.span,
            "a term starts with the name of its operator",
        )
        .with_code(Code::NotApplicable)
        .with_help("a number, a variable or a name of the model stands without parentheses")),
    }
}

/// Reads `(! OP A B)`.
fn compute_head<'a>(list: &Sexp, rest: &'a [Sexp]) -> Result<(TreeHead, &'a [Sexp]), Diagnostic> {
    let names: Vec<&str> = COMPUTE_OPS.iter().map(|op| op.name()).collect();
    if let [op, args @ ..] = rest
        && let Some(word) = op.atom()
    {
        let Some(op) = COMPUTE_OPS.into_iter().find(|op| op.name() == word) else {
            return Err(crate::suggest::unknown("operation", word, op.span, names)
                .with_code(Code::UnknownOperation));
        };
        if args.len() == 2 {
            return Ok((TreeHead::Compute(op), args));
        }
    }
    Err(Diagnostic::error("`!` has the wrong shape", list.span, "expected (! OP A B)")
        .with_code(Code::WrongShape)
        .with_help(format!("OP is one of: {}", names.join(", "))))
}

fn leaf(text: &str, span: Span) -> Result<TreeHead, Diagnostic> {
    if let Some(name) = text.strip_prefix('?') {
        if name.is_empty() {
            return Err(Diagnostic::error("a variable needs a name", span, "only a question mark")
                .with_code(Code::NoVariableName)
                .with_help("write ?x"));
        }
        return Ok(TreeHead::Var(Symbol::from(text)));
    }
    if text.starts_with(':') || text == "=>" || text == "<=>" {
        return Err(Diagnostic::error(
            "expected a term",
            span,
            "this belongs to the form around it",
        )
        .with_code(Code::NotATerm));
    }
    let head = parse_head(text);
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(head, Head::Real(_)) && digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Diagnostic::error(
            "the integer is too large",
            span,
            "does not fit into 64 bits",
        )
        .with_code(Code::IntegerTooLarge)
        .with_help("write a point behind it if a real number is meant"));
    }
    Ok(TreeHead::Head(head))
}

impl Tree {
    /// Returns the index of the root.
    pub fn root(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Returns the place of the whole term.
    pub fn span(&self) -> Span {
        self.nodes[self.root()].span
    }

    /// Returns the variables in the order of their first occurrences, each with that place.
    pub fn variables(&self) -> Vec<(Symbol, Span)> {
        let mut found: Vec<(Symbol, Span)> = Vec::new();
        for node in &self.nodes {
            if let TreeHead::Var(name) = node.head
                && !found.iter().any(|(seen, _)| *seen == name)
            {
                found.push((name, node.span));
            }
        }
        found
    }

    /// Converts the tree to a term. A variable becomes a leaf of its name, which equals only itself.
    pub fn term(&self) -> Term {
        let mut term = RecExpr::default();
        let mut ids: Vec<Id> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let children: Vec<Id> = node.children.iter().map(|&c| ids[c]).collect();
            let head = match node.head {
                TreeHead::Head(head) => head,
                TreeHead::Var(name) => Head::Op(name),
                TreeHead::Compute(op) => Head::Op(Symbol::from(format!("!{}", op.name()))),
            };
            ids.push(term.add(Node::new(head, &children)));
        }
        term
    }

    /// Converts the tree to a pattern.
    pub fn pattern(&self) -> PatternAst<Node> {
        let mut pattern = RecExpr::default();
        self.add_to(&mut pattern, &BTreeMap::new());
        pattern
    }

    /// Adds the tree to a pattern, with abbreviations replaced by their terms. Returns its root there.
    pub fn add_to(
        &self,
        pattern: &mut PatternAst<Node>,
        abbreviations: &BTreeMap<Symbol, Id>,
    ) -> Id {
        let mut ids: Vec<Id> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let mut children: Vec<Id> = node.children.iter().map(|&c| ids[c]).collect();
            let id = match node.head {
                TreeHead::Head(head) => pattern.add(ENodeOrVar::ENode(Node::new(head, &children))),
                TreeHead::Var(name) => match abbreviations.get(&name) {
                    Some(&id) => id,
                    None => pattern.add(ENodeOrVar::Var(Var::from(name))),
                },
                TreeHead::Compute(op) => {
                    let op = pattern.add(ENodeOrVar::ENode(Node::op(op.name(), &[])));
                    children.insert(0, op);
                    pattern.add(ENodeOrVar::ENode(Node::op(COMPUTE, &children)))
                }
            };
            ids.push(id);
        }
        ids[self.root()]
    }
}
