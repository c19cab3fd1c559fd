//! Preparation of a term for running: equal subterms become one node, names are resolved, and operators become the
//! primitives of the operator table.

use super::error::{Error, Fault};
use super::op::{At, Does, Op};
use egg::{ENodeOrVar, Id, Language, Symbol};
use ember_language::rules::{Kind, Meaning, OpInfo, Operators};
use ember_language::term::{Head, Node, Term};
use ember_values::operation;
use ember_values::primitive::Typing;
use ember_values::primitive::form::{By, Condition, Form, Number, Operation, Undone, View};
use ember_values::scalar::{BinaryOp, DType, Scalar};
use rustc_hash::FxHashMap;

/// A term that is ready to run on any store.
#[derive(Debug, Default)]
pub struct Program {
    pub(super) ops: Vec<Op>,
    /// The head of each operation, for messages.
    pub(super) heads: Vec<Head>,
    /// The operands of each operation, in the order of the term.
    pub(super) operands: Vec<Box<[At]>>,
    /// The position of the operation for each node of the term.
    pub(super) canonical: Vec<At>,
    /// The errors of the nodes that have no meaning.
    pub(super) errors: Vec<Error>,
    /// The operators that mean something by rules.
    pub(super) lowered: Vec<Lowered>,
    /// The names of the tensors and of the sizes that it mentions.
    pub(super) tensors: Vec<String>,
    pub(super) sizes: Vec<String>,
    /// By operation: the number of levels below it down to those that make sure that there is enough stack.
    depths: Vec<usize>,
}

/// A node that stands for a value once some numbers are given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given {
    /// The first of the nodes that stand for the numbers, one after another.
    pub first: At,
    /// The number of them.
    pub count: usize,
    /// The node of the value.
    pub body: At,
}

/// An operator on tensors that means what rules say of it.
#[derive(Debug)]
pub(super) struct Lowered {
    /// The required element type.
    pub typing: Option<Typing<At>>,
    /// The declaration.
    pub info: Option<OpInfo>,
    /// An element, for each number of indices.
    pub elements: Vec<Given>,
    /// An extent.
    pub extent: Option<Given>,
}

/// The approximate maximum length of a term in a message, in bytes.
const MAX_TEXT: usize = 120;

/// The most nodes of a program: what operators mean by rules is written out wherever they stand.
const MOST_NODES: usize = 1 << 20;

/// The most levels of a term that are evaluated without a look at the stack.
const LEVELS: usize = 8;

/// The maximum nesting of operators whose meaning is given by rules.
const MOST_DEEP: usize = 100;

/// A program that is being made.
struct Linker<'a> {
    program: Program,
    known: FxHashMap<Node, At>,
    operators: &'a Operators,
    /// The operators that are being written out by what rules say of them.
    depth: usize,
}

impl Linker<'_> {
    /// The position of a node, of operands by their positions.
    fn add(&mut self, node: &Node, children: &[At]) -> At {
        let same = self.operators.of(node).filter(|info| info.is_transparent());
        if let Some([x]) = same.and_then(|info| info.arranged(children)) {
            return x;
        }
        let ids: Vec<Id> = children.iter().map(|c| Id::from(*c)).collect();
        let key = Node::new(node.head(), &ids);
        if let Some(at) = self.known.get(&key) {
            return *at;
        }
        let at = match self.lowered(node, children) {
            Some(Ok(at)) => at,
            Some(Err(error)) => self.program.push(node.head(), children, Err(error)),
            None => {
                let op = self.program.op(node, children, self.operators);
                self.program.push(node.head(), children, op)
            }
        };
        self.known.insert(key, at);
        at
    }

    /// An operator on tensors that means what rules say of it; `None` for any other.
    fn lowered(&mut self, node: &Node, children: &[At]) -> Option<Result<At, Fault>> {
        let Head::Op(name) = node.head() else { return None };
        let operators = self.operators;
        let lowering = operators.lowering(name, children.len())?;
        if self.depth == MOST_DEEP || self.program.ops.len() > MOST_NODES {
            return Some(Err(unknown(name.as_str(), children)));
        }
        self.depth += 1;
        let at = match &lowering.whole {
            Some(whole) => self.meaning(whole, children).body,
            None => {
                let of = |operand: usize| children.get(operand).copied();
                let info = operators.of(node);
                let lowered = Lowered {
                    typing: info.and_then(|info| info.typing?.over(of)),
                    info: info.cloned(),
                    elements: lowering.elements.iter().map(|m| self.meaning(m, children)).collect(),
                    extent: lowering.extent.as_ref().map(|m| self.meaning(m, children)),
                };
                self.program.lowered.push(lowered);
                let op = Op::leaf(Does::Lowered(self.program.lowered.len() - 1));
                self.program.push(node.head(), children, Ok(op))
            }
        };
        self.depth -= 1;
        Some(Ok(at))
    }

    /// Adds the meaning that a rule gives an operator, with nodes for the indices, whose numbers are given later.
    fn meaning(&mut self, meaning: &Meaning, children: &[At]) -> Given {
        let first = self.program.ops.len();
        for index in &meaning.indices {
            let name = Head::Op(Symbol::from(index.to_string()));
            self.program.push(name, &[], Ok(Op::leaf(Does::Given)));
        }
        let mut ids: Vec<At> = Vec::with_capacity(meaning.body.len());
        for node in &meaning.body {
            let at = match node {
                ENodeOrVar::Var(v) => {
                    let index = meaning.indices.iter().position(|other| other == v);
                    let operand = meaning.parameters.iter().position(|other| other == v);
                    let operand = operand.and_then(|at| children.get(at).copied());
                    index.map(|at| first + at).or(operand).unwrap_or(first)
                }
                ENodeOrVar::ENode(node) => {
                    let operands: Vec<At> =
                        node.children().iter().map(|c| ids[usize::from(*c)]).collect();
                    self.add(node, &operands)
                }
            };
            ids.push(at);
        }
        Given { first, count: meaning.indices.len(), body: ids.pop().unwrap_or(first) }
    }
}

impl Program {
    /// Prepares a term, with the operators of the table.
    pub fn new(term: &Term, operators: &Operators) -> Program {
        let (program, known) = (Program::default(), FxHashMap::default());
        let mut linker = Linker { program, known, operators, depth: 0 };
        let mut canonical: Vec<At> = Vec::with_capacity(term.len());
        for node in term {
            let children: Option<Vec<At>> =
                node.children().iter().map(|c| canonical.get(usize::from(*c)).copied()).collect();
            canonical.push(match children {
                Some(children) => linker.add(node, &children),
                // A child that follows its parent cannot occur in a term that was built bottom-up.
                None => linker.program.push(node.head(), &[], Err(Error::NoSuchNode.into())),
            });
        }
        Program { canonical, ..linker.program }
    }

    fn push(&mut self, head: Head, operands: &[At], op: Result<Op, Fault>) -> At {
        let mut op = op.unwrap_or_else(|error| {
            self.errors.push(*error);
            Op::leaf(Does::Wrong(self.errors.len() - 1))
        });
        op.wide = op.form().is_some_and(|form| self.is_wide(form));
        let deepest = self.below(op, operands).map(|at| self.depths[at]).max().unwrap_or(0);
        op.grows = deepest == LEVELS;
        self.depths.push(if op.grows { 0 } else { deepest + 1 });
        self.ops.push(op);
        self.heads.push(head);
        self.operands.push(operands.into());
        self.ops.len() - 1
    }

    /// Returns the nodes that the evaluation of a node may evaluate.
    fn below(&self, op: Op, operands: &[At]) -> impl Iterator<Item = At> {
        let lowered = match op.does {
            Does::Lowered(at) => self.lowered.get(at),
            _ => None,
        };
        let given = lowered.into_iter().flat_map(|of| of.elements.iter().chain(&of.extent));
        operands.iter().copied().chain(given.map(|given| given.body))
    }

    /// Returns true if a value or an address may have several lanes.
    fn is_wide(&self, form: Form<At>) -> bool {
        let any = |of: &[At]| of.iter().any(|at| self.ops[*at].wide);
        match form {
            Form::Spread { .. } | Form::Replaced { by: By::Lanes { .. }, .. } => true,
            Form::View { address, view: View::At(index) } => any(&[address, index]),
            Form::View { address, view: View::ReadOnly } | Form::Loaded { address, .. } => {
                any(&[address])
            }
            Form::Unary(Operation::Is(_), x)
            | Form::Carried { x, .. }
            | Form::Replaced { x, .. }
            | Form::Undone { undone: Undone::After(x), .. } => any(&[x]),
            Form::Binary(_, operands) => any(&operands),
            Form::Select { condition: Condition::NotZero(condition), of: [a, b] } => {
                any(&[condition, a, b])
            }
            Form::Loop(own) => own.folds.is_some_and(|(_, start)| any(&[start, own.body])),
            _ => false,
        }
    }

    /// Returns the name of a node that is a name, else an empty string.
    pub(super) fn name(&self, at: At) -> &'static str {
        match self.heads.get(at) {
            Some(Head::Op(name)) => name.as_str(),
            _ => "",
        }
    }

    /// Returns a term as text, shortened if it is long.
    pub(super) fn text(&self, at: At) -> String {
        let mut text = String::new();
        let mut stack = vec![(at, 0)];
        while let Some((at, next)) = stack.pop() {
            if text.len() > MAX_TEXT {
                text.push('…');
                break;
            }
            let operands = &self.operands[at];
            if next == 0 {
                text.push_str(if operands.is_empty() { "" } else { "(" });
                text.push_str(&self.heads[at].to_string());
            }
            if let Some(&operand) = operands.get(next) {
                text.push(' ');
                stack.push((at, next + 1));
                stack.push((operand, 0));
            } else if !operands.is_empty() {
                text.push(')');
            }
        }
        text
    }

    /// Returns the error for a node of the wrong kind.
    pub(super) fn unexpected(&self, at: At, expected: &'static str) -> Fault {
        Error::Sort { expected, found: self.heads[at].to_string() }.into()
    }

    /// Returns the binary operation that an operand names.
    pub(super) fn binary_op(&self, at: At) -> Result<BinaryOp, Fault> {
        match self.ops[at].does {
            Does::Binary(op) => Ok(op),
            _ => Err(self.unexpected(at, "a binary operation")),
        }
    }

    /// Returns the element type that an operand names.
    pub(super) fn dtype(&self, at: At) -> Result<DType, Fault> {
        match self.ops[at].does {
            Does::Type(dtype) => Ok(dtype),
            _ => Err(self.unexpected(at, "an element type")),
        }
    }

    /// Returns the operation of a node, whose operands are nodes of the program.
    fn op(&mut self, node: &Node, children: &[At], operators: &Operators) -> Result<Op, Fault> {
        let name = match node.head() {
            Head::Int(n) => return Ok(Op::leaf(Does::Known(Scalar::I64(n)))),
            Head::Real(_) => return Ok(Op::leaf(Does::Name)),
            Head::Op(name) => name.as_str(),
        };
        let Some(info) = operators.of(node) else {
            return match name.starts_with('%') {
                true => Ok(Op::leaf(Does::Name)),
                false => Err(unknown(name, children)),
            };
        };
        if info.row.is_none() {
            let operation = operation::named(name).filter(|row| row.fits(children.len()));
            let operation = operation.ok_or_else(|| unknown(name, children))?;
            return Ok(Op::whole(operation, children));
        }
        let form = info.form(children).ok_or_else(|| unknown(name, children))?;
        let named = info.kind.is_none_or(|kind| !kind.is_evaluated());
        let does = match form {
            _ if named && children.is_empty() => label(name, info),
            Form::Number { value: Number::Literal(number), dtype: Typing::Named(dtype) } => {
                Does::Known(self.constant(dtype, number)?)
            }
            Form::Number { value: Number::Size(name), .. } => {
                let name = plain(self.name(name));
                Does::Size(place(&mut self.sizes, name))
            }
            Form::Root { name, written } => {
                let name = plain(self.name(name));
                Does::Root(place(&mut self.tensors, name), written)
            }
            form => match form.as_iv() {
                Some(variable) => Does::Current(variable),
                None => Does::Form(form),
            },
        };
        Ok(Op::new(does, info.unit, info.binds))
    }

    /// Returns a typed literal; an integer is converted to the type.
    fn constant(&self, dtype: At, real: At) -> Result<Scalar, Fault> {
        let dtype = self.dtype(dtype)?;
        match self.heads[real] {
            Head::Real(bits) => Ok(Scalar::from_f64(dtype, f64::from_bits(bits))),
            Head::Int(n) => Ok(Scalar::I64(n).cast(dtype)),
            Head::Op(_) => Err(self.unexpected(real, "a number")),
        }
    }
}

/// Returns the place of a name in a list, to which it is added if it is not there.
fn place(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

/// Resolves a name that only the operator around it reads.
fn label(name: &str, info: &OpInfo) -> Does {
    let named = match info.kind {
        Some(Kind::Operation) => BinaryOp::parse(name).map(Does::Binary),
        Some(Kind::Type) => DType::parse(name).map(Does::Type),
        _ => None,
    };
    named.unwrap_or(Does::Name)
}

fn unknown(name: &str, operands: &[At]) -> Fault {
    Error::UnknownOperator { name: name.to_owned(), arity: operands.len() }.into()
}

/// Returns a model's name as it is stored, without `%`.
fn plain(name: &str) -> &str {
    name.strip_prefix('%').unwrap_or(name)
}
