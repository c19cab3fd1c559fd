//! A term made ready to run: equal subterms are one node, names are looked up, and operators that
//! mean the same on every level are one operation.

use super::Error;
use super::op::{At, Loop, Map, Mode, Op, Part, Score, Whole};
use egg::{Id, Language};
use ember_language::term::{Head, Node, Term};
use ember_values::scalar::{BinaryOp, DType, Scalar, UnaryOp};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A term made ready to run.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub ops: Vec<Op>,
    /// The head of each operation, for messages.
    pub heads: Vec<Head>,
    /// The operands of each operation.
    pub operands: Vec<Box<[At]>>,
    /// For each node of the term the position of its operation.
    pub canonical: Vec<At>,
    /// What is wrong with the nodes that have no meaning.
    pub errors: Vec<Error>,
}

/// About how long a term in a message may be, in bytes.
const MAX_TEXT: usize = 120;

/// Operators of sorts that are never evaluated: names of things.
const NAMES: &[&str] = &[
    "depth",
    "outer",
    "inner",
    "fresh",
    "temporal",
    "temporal-l2",
    "non-temporal",
    "mode.sum",
    "mode.mean",
    "mode.max",
    "edge.identity",
    "edge.relu",
    "edge.sigmoid",
    "edge.exp",
    "score.transe",
    "score.distmult",
    "score.complex",
    "score.rotate",
    "f32",
    "f64",
    "i32",
    "i64",
    "f16",
    "bf16",
    "u8",
    "u4",
    "add",
    "sub",
    "mul",
    "div",
    "max",
    "min",
    "lt",
];

/// Operators that mean what their only argument means.
const TRANSPARENT: &[&str] = &[
    "slc",
    "str",
    "sad",
    "exe",
    "val",
    "ead",
    "slc.callback",
    "slc.const",
    "slc.from_stream",
    "exe.const",
    "exe.held",
];

impl Program {
    /// Compiles a term. `tensors` are the names of the store's tensors in order.
    pub fn new(term: &Term, tensors: &[String], sizes: &BTreeMap<String, i64>) -> Program {
        let mut program = Program::default();
        let mut known: FxHashMap<Node, At> = FxHashMap::default();
        for node in term {
            let children: Option<Vec<At>> = node
                .children()
                .iter()
                .map(|c| program.canonical.get(usize::from(*c)).copied())
                .collect();
            let Some(children) = children else {
                // A child after its parent: not a term that was built bottom-up.
                program.canonical.push(program.ops.len());
                program.push(node.head(), &[], Err(Error::NoSuchNode));
                continue;
            };
            if let ([x], Some(name)) = (children.as_slice(), node.name())
                && TRANSPARENT.contains(&name)
            {
                program.canonical.push(*x);
                continue;
            }
            let ids: Vec<Id> = children.iter().map(|c| Id::from(*c)).collect();
            let at = *known.entry(Node::new(node.head(), &ids)).or_insert_with(|| {
                let op = program.op(node.head(), &children, tensors, sizes);
                program.push(node.head(), &children, op);
                program.ops.len() - 1
            });
            program.canonical.push(at);
        }
        program
    }

    fn push(&mut self, head: Head, operands: &[At], op: Result<Op, Error>) {
        let op = op.unwrap_or_else(|error| {
            self.errors.push(error);
            Op::Wrong(self.errors.len() - 1)
        });
        self.ops.push(op);
        self.heads.push(head);
        self.operands.push(operands.into());
    }

    /// The name that an operand is, for operands that are names.
    fn name(&self, at: At) -> &'static str {
        match self.heads.get(at) {
            Some(Head::Op(name)) => name.as_str(),
            _ => "",
        }
    }

    /// A term as text, cut where it gets long.
    pub fn text(&self, at: At) -> String {
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

    fn binary_op(&self, at: At) -> Result<BinaryOp, Error> {
        BinaryOp::parse(self.name(at)).ok_or_else(|| Error::Sort {
            expected: "a binary operation",
            found: self.heads[at].to_string(),
        })
    }

    fn dtype(&self, at: At) -> Result<DType, Error> {
        DType::parse(self.name(at)).ok_or_else(|| Error::Sort {
            expected: "an element type",
            found: self.heads[at].to_string(),
        })
    }

    /// The tensor that a name stands for.
    fn tensor(&self, at: At, tensors: &[String]) -> Result<u32, Error> {
        let name = plain(self.name(at));
        let found = tensors.binary_search_by(|t| t.as_str().cmp(name)).ok();
        found
            .and_then(|i| u32::try_from(i).ok())
            .ok_or_else(|| Error::UnknownName { kind: "tensor", name: name.to_string() })
    }

    /// What a node means, from its head and its operands.
    fn op(
        &self,
        head: Head,
        children: &[At],
        tensors: &[String],
        sizes: &BTreeMap<String, i64>,
    ) -> Result<Op, Error> {
        let name = match head {
            Head::Int(n) => return Ok(Op::Constant(Scalar::I64(n))),
            Head::Real(_) => return Ok(Op::Name),
            Head::Op(name) => name.as_str(),
        };
        let sequential = |c: &[At; 4], alone| {
            let [var, lo, hi, step] = *c;
            Loop { var, lo, hi, step, follow: None, alone }
        };
        Ok(match (name, children) {
            ("const", &[dtype, real]) => Op::Constant(self.constant(dtype, real)?),
            ("size", &[size]) => {
                let name = plain(self.name(size));
                let n = sizes.get(name).copied();
                let n = n.ok_or_else(|| Error::UnknownName { kind: "size", name: name.into() })?;
                Op::Constant(Scalar::I64(n))
            }
            ("iv" | "exe.counter", &[var]) => Op::Iv { var, stream: false },
            ("slc.iv", &[var]) => Op::Iv { var, stream: true },
            ("var", &[_, lo, hi, step]) => Op::Var { lo, hi, step },
            ("dim", &[of, k]) => Op::Dim { of, k },

            ("in" | "slc.in" | "exe.in", &[t]) => {
                Op::Root { tensor: self.tensor(t, tensors)?, writable: false }
            }
            ("out" | "slc.out" | "exe.out", &[t]) => {
                Op::Root { tensor: self.tensor(t, tensors)?, writable: true }
            }
            ("freeze" | "slc.freeze" | "exe.freeze", &[address]) => Op::Freeze { address },
            ("at" | "slc.at" | "exe.at", &[address, index]) => Op::Index { address, index },
            ("scf.load" | "exe.load", &[address]) => Op::Load { address, stream: false },
            ("exe.fetched", &[ahead, address]) => Op::Fetched { ahead, address },
            ("slc.mem_stream", &[_, address]) => Op::Load { address, stream: true },

            ("slc.alu_stream", &[op, a, b]) => {
                Op::Binary { op: self.binary_op(op)?, a, b, stream: true }
            }
            ("scf.select" | "exe.select", &[c, a, b]) => Op::Select { c, a, b },
            ("scf.cast" | "exe.cast", &[to, x]) => {
                Op::Cast { to: self.dtype(to)?, x, stream: false }
            }
            ("scf.fold" | "exe.fold", &[op, x]) => Op::Fold { op: self.binary_op(op)?, x },
            ("emb.edge", &[edge, x]) => Op::Map { f: self.edge(edge)?, x },
            ("slc.index_cast", &[x]) => Op::Cast { to: DType::I64, x, stream: true },
            ("scf.convert", &[like, x]) => Op::Convert { like, x },
            ("scf.identity", &[op, like]) => Op::Identity { op: self.binary_op(op)?, like },
            ("scf.one", &[like]) => Op::One(like),
            ("scf.broadcast" | "slc.broadcast" | "exe.broadcast", &[n, x]) => {
                Op::Broadcast { n, x }
            }
            ("scf.lanes" | "slc.lanes" | "exe.lanes", &[n, hi, x]) => Op::Lanes { n, hi, x },

            ("scf.skip" | "slc.skip" | "exe.skip", &[]) => Op::Skip,
            ("scf.barrier" | "slc.barrier", &[]) => Op::Barrier,
            ("scf.matmul" | "exe.matmul", &[out, a, b]) => {
                Op::Matmul { out, a, b, transposed: false }
            }
            ("scf.matmul_t" | "exe.matmul_t", &[out, a, b]) => {
                Op::Matmul { out, a, b, transposed: true }
            }
            ("scf.seq" | "slc.seq" | "exe.seq", &[a, b]) => Op::Seq { a, b },
            ("scf.for" | "slc.for" | "exe.for", &[v, lo, hi, step, body]) => {
                Op::For { over: sequential(&[v, lo, hi, step], name == "exe.for"), body }
            }
            ("exe.walk", &[var, lo, hi, xlo, xhi, step, body]) => {
                let follow = Some((xlo, xhi));
                Op::For { over: Loop { var, lo, hi, step, follow, alone: false }, body }
            }
            ("scf.reduce" | "exe.reduce", &[op, v, lo, hi, step, start, body]) => Op::Reduce {
                op: self.binary_op(op)?,
                over: sequential(&[v, lo, hi, step], name == "exe.reduce"),
                start,
                body,
            },
            ("exe.walk_reduce", &[op, var, lo, hi, xlo, xhi, step, start, body]) => Op::Reduce {
                op: self.binary_op(op)?,
                over: Loop { var, lo, hi, step, follow: Some((xlo, xhi)), alone: false },
                start,
                body,
            },
            ("scf.store" | "exe.store" | "slc.store_stream", &[address, value]) => {
                Op::Store { address, value }
            }
            ("scf.accumulate" | "exe.accumulate", &[op, address, value]) => {
                Op::Accumulate { op: self.binary_op(op)?, address, value }
            }
            ("vec", &[v, e, n, hi, x]) => Op::Vec { v, e, n, hi, x },

            ("rename", &[x, y, t]) => Op::Rename { x, y, t },
            ("fix", &[x, v, t]) => Op::Fix { x, v, t },
            ("after", &[s, t]) => Op::After { s, t },
            ("forget", &[of, s]) => Op::Forget { of, s },

            ("emb.output", &[to, from]) => Op::Output { to, part: Part::Whole, from },
            ("emb.output_slot", &[to, k, from]) => Op::Output { to, part: Part::Slot(k), from },
            ("emb.output_columns", &[to, k, from]) => {
                Op::Output { to, part: Part::Columns(k), from }
            }
            ("emb.element", &[of, i]) => Op::Element { of, index: [i; 3], rank: 1 },
            ("emb.element", &[of, i, j]) => Op::Element { of, index: [i, j, j], rank: 2 },
            ("emb.element", &[of, i, j, k]) => Op::Element { of, index: [i, j, k], rank: 3 },
            ("emb.extent", &[of, k]) => Op::Extent { of, k },

            (name, _) if NAMES.contains(&name) || name.starts_with('%') => Op::Name,
            (name, operands) => match (binary(name), unary(name), operands) {
                (Some(op), _, &[a, b]) => Op::Binary { op, a, b, stream: false },
                (_, Some(op), &[x]) => Op::Unary { op, x },
                _ => Op::Tensor(self.whole(name, operands)?),
            },
        })
    }

    /// The tensor that a node of sort Tensor is.
    fn whole(&self, name: &str, operands: &[At]) -> Result<Whole, Error> {
        Ok(match (name, operands) {
            ("emb.tensor", &[address]) => Whole::Stored { address },
            ("emb.bag", &[mode, table, indices, offsets, ref weights @ ..])
                if weights.len() <= 1 =>
            {
                let mode = match self.name(mode) {
                    "mode.sum" => Mode::Sum,
                    "mode.mean" => Mode::Mean,
                    "mode.max" => Mode::Max,
                    other => {
                        return Err(Error::Sort { expected: "a mode", found: other.to_string() });
                    }
                };
                Whole::Bag { mode, table, indices, offsets, weights: weights.first().copied() }
            }
            ("emb.spmm", &[offsets, indices, values, table]) => {
                let (mode, weights) = (Mode::Sum, Some(values));
                Whole::Bag { mode, table, indices, offsets, weights }
            }
            ("emb.gather", &[table, indices]) => Whole::Gather { table, indices },
            ("emb.sddmm", &[offsets, indices, a, b]) => Whole::Sddmm { offsets, indices, a, b },
            ("emb.mp", &[edge, offsets, indices, x, y, scratch]) => {
                Whole::Messages { edge: self.edge(edge)?, offsets, indices, x, y, scratch }
            }
            ("emb.kg", &[score, entities, relations, heads, rels, tails]) => {
                let score = match self.name(score) {
                    "score.transe" => Score::TransE,
                    "score.distmult" => Score::DistMult,
                    "score.complex" => Score::ComplEx,
                    "score.rotate" => Score::RotatE,
                    other => {
                        return Err(Error::Sort { expected: "a score", found: other.to_string() });
                    }
                };
                Whole::Triples { score, entities, relations, heads, rels, tails }
            }
            ("emb.block_gather", &[table, indices]) => Whole::Blocks { table, indices },
            ("emb.dequantise", &[q, scales]) => Whole::Dequantise { q, scales },
            ("nn.cast", &[to, x]) => Whole::Cast { to: self.dtype(to)?, x },
            ("nn.relu", &[x]) => Whole::Map { f: Map::Relu, x },
            ("nn.sigmoid", &[x]) => Whole::Map { f: Map::Sigmoid, x },
            ("nn.exp", &[x]) => Whole::Map { f: Map::Exp, x },
            ("nn.add", &[a, b]) => Whole::Zip { op: BinaryOp::Add, a, b },
            ("nn.sub", &[a, b]) => Whole::Zip { op: BinaryOp::Sub, a, b },
            ("nn.mul", &[a, b]) => Whole::Zip { op: BinaryOp::Mul, a, b },
            ("nn.scale", &[by, x]) => Whole::Scale { by, x },
            ("nn.bias", &[x, bias]) => Whole::Bias { x, bias },
            ("nn.row_max", &[x]) => Whole::RowFold { op: BinaryOp::Max, x },
            ("nn.row_sum", &[x]) => Whole::RowFold { op: BinaryOp::Add, x },
            ("nn.sub_rows", &[x, m]) => Whole::Rows { op: BinaryOp::Sub, x, m },
            ("nn.div_rows", &[x, m]) => Whole::Rows { op: BinaryOp::Div, x, m },
            ("nn.matmul", &[a, b]) => Whole::Matmul { a, b, transposed: false },
            ("nn.matmul_t", &[a, b]) => Whole::Matmul { a, b, transposed: true },
            ("nn.triangle", &[x]) => Whole::Triangle { x },
            (name, operands) => {
                let arity = operands.len();
                return Err(Error::UnknownOperator { name: name.to_string(), arity });
            }
        })
    }

    /// What message passing does to an edge's product.
    fn edge(&self, at: At) -> Result<Map, Error> {
        Ok(match self.name(at) {
            "edge.identity" => Map::Identity,
            "edge.relu" => Map::Relu,
            "edge.sigmoid" => Map::Sigmoid,
            "edge.exp" => Map::Exp,
            other => {
                return Err(Error::Sort { expected: "an edge function", found: other.to_string() });
            }
        })
    }

    /// `(const dtype real)`; an integer stands for the number that it names.
    fn constant(&self, dtype: At, real: At) -> Result<Scalar, Error> {
        let dtype = self.dtype(dtype)?;
        match self.heads[real] {
            Head::Real(bits) => Ok(Scalar::from_f64(dtype, f64::from_bits(bits))),
            Head::Int(n) => Ok(Scalar::I64(n).cast(dtype)),
            Head::Op(name) => {
                Err(Error::Sort { expected: "a number", found: name.as_str().to_string() })
            }
        }
    }
}

/// The binary operation of `scf.OP` and `exe.OP`.
fn binary(name: &str) -> Option<BinaryOp> {
    BinaryOp::parse(name.strip_prefix("scf.").or_else(|| name.strip_prefix("exe."))?)
}

/// The unary operation of `scf.OP` and `exe.OP`.
fn unary(name: &str) -> Option<UnaryOp> {
    UnaryOp::parse(name.strip_prefix("scf.").or_else(|| name.strip_prefix("exe."))?)
}

/// A name of the model as the store has it.
fn plain(name: &str) -> &str {
    name.strip_prefix('%').unwrap_or(name)
}
