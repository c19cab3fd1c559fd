//! Statements as terms of the dialects `emb` and `nn`.

use super::{Expr, Model, Op, Part, TensorId};
use egg::{Id, RecExpr};
use ember_language::term::{Node, Term};
use ember_values::scalar::BinaryOp;

impl Model {
    /// The term of statement `i`: `(emb.output OUT TENSOR)`, `(emb.output_slot OUT K TENSOR)` or
    /// `(emb.output_columns OUT K TENSOR)`. Inputs are `(in %NAME)`, what it writes is
    /// `(out %NAME)`, and what earlier statements wrote is `(freeze (out %NAME))`.
    pub fn statement_term(&self, i: usize) -> Term {
        let mut builder = Builder { model: self, term: RecExpr::default() };
        builder.statement(i);
        builder.term
    }

    /// The term of the whole model: its statements in order, with an `scf.barrier` before each that
    /// reads what was written since the last one.
    pub fn root_term(&self) -> Term {
        let mut builder = Builder { model: self, term: RecExpr::default() };
        let mut parts: Vec<Id> = Vec::new();
        let mut written: Vec<TensorId> = Vec::new();
        for (i, statement) in self.statements.iter().enumerate() {
            if statement.reads().iter().any(|tensor| written.contains(tensor)) {
                parts.push(builder.op("scf.barrier", &[]));
                written.clear();
            }
            parts.push(builder.statement(i));
            written.extend(statement.writes());
        }
        if let Some(mut rest) = parts.pop() {
            while let Some(part) = parts.pop() {
                rest = builder.op("scf.seq", &[part, rest]);
            }
        }
        builder.term
    }
}

struct Builder<'a> {
    model: &'a Model,
    term: Term,
}

impl Builder<'_> {
    fn op(&mut self, name: &str, children: &[Id]) -> Id {
        self.term.add(Node::op(name, children))
    }

    fn written(&mut self, tensor: TensorId) -> Id {
        let name = self.op(&format!("%{}", self.model.tensor(tensor).name), &[]);
        self.op("out", &[name])
    }

    fn address(&mut self, tensor: TensorId) -> Id {
        if self.model.is_input(tensor) {
            let name = self.op(&format!("%{}", self.model.tensor(tensor).name), &[]);
            return self.op("in", &[name]);
        }
        let out = self.written(tensor);
        self.op("freeze", &[out])
    }

    fn addresses<const N: usize>(&mut self, tensors: [TensorId; N]) -> [Id; N] {
        tensors.map(|tensor| self.address(tensor))
    }

    fn statement(&mut self, i: usize) -> Id {
        let statement = &self.model.statements[i];
        // The tensors that are read come first, so that equal statements give equal terms.
        let value = self.expr(&statement.value);
        let out = self.written(statement.target);
        match statement.part {
            Part::Whole => self.op("emb.output", &[out, value]),
            Part::Slot(k) => {
                let k = self.term.add(Node::int(k as i64));
                self.op("emb.output_slot", &[out, k, value])
            }
            Part::Columns(k) => {
                let k = self.term.add(Node::int(k as i64));
                self.op("emb.output_columns", &[out, k, value])
            }
        }
    }

    fn expr(&mut self, expr: &Expr) -> Id {
        match &expr.op {
            Op::Tensor(tensor) => {
                let address = self.address(*tensor);
                self.op("emb.tensor", &[address])
            }
            Op::Bag { mode, table, indices, offsets, weights } => {
                let mode = self.op(&format!("mode.{}", mode.name()), &[]);
                let table = self.expr(table);
                let [indices, offsets] = self.addresses([*indices, *offsets]);
                let mut args = vec![mode, table, indices, offsets];
                args.extend(weights.map(|weights| self.address(weights)));
                self.op("emb.bag", &args)
            }
            Op::Gather { table, indices } => {
                let table = self.expr(table);
                let indices = self.address(*indices);
                self.op("emb.gather", &[table, indices])
            }
            Op::Spmm { table, indices, offsets, values } => {
                let [offsets, indices, values] = self.addresses([*offsets, *indices, *values]);
                let table = self.expr(table);
                self.op("emb.spmm", &[offsets, indices, values, table])
            }
            Op::Sddmm { left, right, indices, offsets } => {
                let [offsets, indices] = self.addresses([*offsets, *indices]);
                let [left, right] = [left, right].map(|x| self.expr(x));
                self.op("emb.sddmm", &[offsets, indices, left, right])
            }
            Op::Mp { edge, left, right, indices, offsets, scratch } => {
                let edge = self.op(&format!("edge.{}", edge.name()), &[]);
                let [offsets, indices] = self.addresses([*offsets, *indices]);
                let [left, right] = [left, right].map(|x| self.expr(x));
                let scratch = self.written(*scratch);
                self.op("emb.mp", &[edge, offsets, indices, left, right, scratch])
            }
            Op::Kg { score, entities, relations, heads, rels, tails } => {
                let score = self.op(&format!("score.{}", score.name()), &[]);
                let [entities, relations] = [entities, relations].map(|x| self.expr(x));
                let [heads, rels, tails] = self.addresses([*heads, *rels, *tails]);
                self.op("emb.kg", &[score, entities, relations, heads, rels, tails])
            }
            Op::BlockGather { table, indices } => {
                let table = self.expr(table);
                let indices = self.address(*indices);
                self.op("emb.block_gather", &[table, indices])
            }
            Op::Dequantise { codes, scales } => {
                let args = self.addresses([*codes, *scales]);
                self.op("emb.dequantise", &args)
            }
            Op::Cast(x) => {
                let dtype = self.op(expr.dtype.name(), &[]);
                let x = self.expr(x);
                self.op("nn.cast", &[dtype, x])
            }
            Op::Unary(f, x) => self.applied(f.name(), &[x]),
            Op::Binary(op, a, b) => self.applied(op.name(), &[a, b]),
            Op::Scale(by, x) => {
                let dtype = self.op(expr.dtype.name(), &[]);
                let by =
                    self.term.add(Node::new(ember_language::term::Head::real(by.as_f64()), &[]));
                let by = self.op("const", &[dtype, by]);
                let x = self.expr(x);
                self.op("nn.scale", &[by, x])
            }
            Op::Bias(x, bias) => {
                let x = self.expr(x);
                let bias = self.address(*bias);
                self.op("nn.bias", &[x, bias])
            }
            Op::Row(BinaryOp::Max, x) => self.applied("row_max", &[x]),
            Op::Row(_, x) => self.applied("row_sum", &[x]),
            Op::Rows(op, x, rows) => self.applied(&format!("{}_rows", op.name()), &[x, rows]),
            Op::Matmul { a, b, transposed } => {
                let args = self.addresses([*a, *b]);
                self.op(if *transposed { "nn.matmul_t" } else { "nn.matmul" }, &args)
            }
            Op::Triangle(x) => self.applied("triangle", &[x]),
        }
    }

    /// An operator of the dialect `nn` on expressions.
    fn applied(&mut self, name: &str, operands: &[&Expr]) -> Id {
        let args: Vec<Id> = operands.iter().map(|x| self.expr(x)).collect();
        self.op(&format!("nn.{name}"), &args)
    }
}
