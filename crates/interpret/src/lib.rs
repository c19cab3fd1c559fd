//! The one sequential meaning of every operator of the dialects, term by term.
//!
//! A term of any level is run on a [`Store`] in order, as one processor would. Which primitive an operator is
//! stands in the operator table; what each primitive does to values and memory stands here. Operators that only
//! say *where* something runs mean what they contain. Rules are checked against this meaning, and trip counts are counted with it.
//! Timing, queues and the two units belong to the simulator; what a term is called and which sort it
//! has belongs to the rule files.
//!
//! A loop variable is a `var` node. Two of them are the same variable exactly where they are the same
//! term, and a loop may only give its variable values that the variable's own range allows, because
//! facts are drawn from that range alone.
//!
//! ```
//! use ember_interpret::{Interpreter, Store, Value};
//! use ember_language::diagnostic::Sources;
//! use ember_language::rules;
//! use ember_values::scalar::Scalar;
//!
//! let dialect = r#"(dialect scf "arithmetic"
//!   (sort Value "a number" :kind value)
//!   (op scf.add (Value Value) Value "sum" :means add)
//!   (op scf.mul (Value Value) Value "product" :means mul))"#;
//! let mut sources = Sources::default();
//! let file = sources.add("scf.rules", dialect);
//! let (book, _) = rules::load_text(&mut sources, &[file]).expect("a dialect");
//! let operators = book.signature.table();
//!
//! let term = "(scf.mul (scf.add 1 2) 5)".parse().expect("a term");
//! let mut interpreter = Interpreter::new(&term, operators, Store::default());
//! let value = interpreter.eval(interpreter.root());
//! assert!(matches!(value, Ok(Value::Scalar(Scalar::I64(15)))));
//! ```

mod environment;
mod error;
mod eval;
mod lanes;
mod loops;
mod memory;
mod op;
mod operations;
mod outputs;
mod program;
mod statements;
mod tensors;
mod trace;
mod trips;
mod value;
mod values;

pub use error::Error;
pub use trace::{Elements, Trace};
pub use trips::average_trip_count;
pub use value::Value;

use egg::Id;
use ember_language::rules::Operators;
use ember_language::term::Term;
use ember_targets::tensor::Tensor;
use ember_values::primitive::Primitive;
use ember_values::scalar::Scalar;
use program::Program;
use std::collections::BTreeMap;
use value::Place;

/// Numbers that tell operations apart: both zeros, NaN, infinities, a denormal, sums that round.
pub const EDGES: [f64; 14] = [
    0.0,
    -0.0,
    f64::NAN,
    1.0,
    -1.0,
    0.1,
    0.3,
    3.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    1e30,
    1e-40,
    16_777_216.0,
    -2.5,
];

/// The data that a term reads and writes.
#[derive(Clone, Debug, Default)]
pub struct Store {
    /// Tensors by name, without the `%` of terms.
    pub tensors: BTreeMap<String, Tensor>,
    /// Symbolic sizes by name, without the `%` of terms.
    pub sizes: BTreeMap<String, i64>,
}

impl Store {
    /// The first place where the tensors of two stores differ: the tensor's name and the row-major
    /// position; `None` where every element is the same by bits, NaNs aside. A tensor that only one
    /// has, or that differs in type or shape, differs at its first position.
    pub fn difference(&self, other: &Store) -> Option<(&str, u64)> {
        self.tensors.iter().find_map(|(name, a)| {
            let same = other.tensors.get(name);
            let Some(b) = same.filter(|b| a.dtype == b.dtype && a.shape == b.shape) else {
                return Some((name.as_str(), 0));
            };
            let at = (0..a.len()).find(|&i| a.get(i) != b.get(i))?;
            Some((name.as_str(), at))
        })
    }
}

/// A variable's value in the environment.
#[derive(Clone, Copy, Debug)]
struct Bound {
    value: i64,
    /// Whether the access unit traverses the loop too, so that streams may mention the variable.
    fed: bool,
}

/// A term with the store it runs on and the environment it runs in.
#[derive(Debug)]
pub struct Interpreter {
    program: Program,
    names: Vec<String>,
    tensors: Vec<Tensor>,
    sizes: BTreeMap<String, i64>,
    /// By tensor, whether it was written since the last barrier, and whether it was read as frozen.
    written: Vec<bool>,
    frozen: Vec<bool>,
    environment: Vec<Option<Bound>>,
    /// Loops around that the execute unit runs alone.
    alone: usize,
    steps: u64,
    limit: u64,
    trace: Option<Box<Trace>>,
}

impl Interpreter {
    /// How many nodes are evaluated before a run is given up, where no other limit is set.
    pub const DEFAULT_STEPS: u64 = 1 << 32;

    /// Makes a term ready to run on a store; its operators mean what the table says. What is wrong with the term is
    /// said when the wrong part is evaluated.
    pub fn new(term: &Term, operators: &Operators, store: Store) -> Interpreter {
        let (names, tensors): (Vec<String>, Vec<Tensor>) = store.tensors.into_iter().unzip();
        let program = Program::new(term, operators, &names, &store.sizes);
        let environment = vec![None; program.ops.len()];
        Interpreter {
            program,
            written: vec![false; tensors.len()],
            frozen: vec![false; tensors.len()],
            names,
            tensors,
            sizes: store.sizes,
            environment,
            alone: 0,
            steps: 0,
            limit: Self::DEFAULT_STEPS,
            trace: None,
        }
    }

    /// Gives up after this many evaluated nodes in all.
    pub fn with_step_limit(mut self, limit: u64) -> Interpreter {
        self.limit = limit;
        self
    }

    /// The last node of the term.
    pub fn root(&self) -> Id {
        Id::from(self.program.canonical.len().saturating_sub(1))
    }

    /// Gives the variable that is the `var` node `id` a value. Not checked against its range.
    pub fn bind(&mut self, id: Id, value: i64) -> Result<(), Error> {
        let at = self.node(id)?;
        match self.program.ops[at].primitive() {
            Some(Primitive::Variable) => {
                self.environment[at] = Some(Bound { value, fed: true });
                Ok(())
            }
            _ => Err(Error::Sort { expected: "a loop variable", found: self.head(at) }),
        }
    }

    /// The value of a term of sort Value, Stream or EValue.
    pub fn eval(&mut self, id: Id) -> Result<Value, Error> {
        let at = self.node(id)?;
        self.value(at)
    }

    /// The elements of a term of sort Tensor, in row-major order.
    pub fn elements(&mut self, id: Id) -> Result<Vec<Scalar>, Error> {
        let at = self.node(id)?;
        let shape = self.shape(at)?;
        let mut elements = Vec::new();
        self.each_index(&shape, |this, index| {
            elements.push(this.element_at(at, index)?);
            Ok(())
        })?;
        Ok(elements)
    }

    /// Runs a term of sort Stmt, Slc or Exec on the store.
    pub fn run(&mut self, id: Id) -> Result<(), Error> {
        let at = self.node(id)?;
        self.statement(at)
    }

    /// The places that a term of sort Address, SAddress or EAddress stands for: one, or one for each
    /// lane and `None` for inactive lanes; each as the tensor's name and the row-major position among
    /// the elements of the dimensions that are fixed so far.
    #[allow(clippy::type_complexity, reason = "a name for it would be used nowhere else")]
    pub fn places(&mut self, id: Id) -> Result<Vec<Option<(&str, u64)>>, Error> {
        let at = self.node(id)?;
        let address = self.address(at)?;
        let name = |p: Place| (self.names[p.tensor as usize].as_str(), p.position);
        Ok(address.into_iter().map(|p| p.map(name)).collect())
    }

    /// The store as it is now.
    pub fn store(&self) -> Store {
        let tensors = self.names.iter().cloned().zip(self.tensors.iter().cloned()).collect();
        Store { tensors, sizes: self.sizes.clone() }
    }

    /// The store, when all is done.
    pub fn into_store(self) -> Store {
        Store { tensors: self.names.into_iter().zip(self.tensors).collect(), sizes: self.sizes }
    }

    /// The node that stands for `id` in the program.
    fn node(&self, id: Id) -> Result<usize, Error> {
        self.program.canonical.get(usize::from(id)).copied().ok_or(Error::NoSuchNode)
    }

    /// What the node at a position is called, for messages.
    fn head(&self, at: usize) -> String {
        self.program.heads.get(at).map(ToString::to_string).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
