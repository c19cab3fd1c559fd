//! The interpreter: the single sequential meaning of every operator of the dialects, term by term.
//!
//! A term of any level runs on a [`Store`] in order, as on one processor. The operator table assigns each operator a
//! primitive; this crate defines the effect of each primitive on values and memory. Operators that only state *where*
//! something runs have the meaning of their operand. Rules are checked against this meaning, and trip counts are
//! computed with it. The simulator handles timing, queues and the two units; the rule files define the names and sorts
//! of terms.
//!
//! A loop variable is a `var` node. Two variables are equal exactly if they are the same term. A loop may only give its
//! variable values within the range that the variable declares, because facts are derived from that range alone.
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

mod beyond;
mod environment;
mod error;
mod eval;
mod lanes;
mod loops;
mod memory;
mod noise;
mod op;
mod operations;
mod outputs;
mod phases;
mod products;
mod program;
mod statements;
mod tensors;
mod trace;
mod trips;
mod value;
mod values;

pub use error::Error;
pub use phases::Phases;
pub use program::Program;
pub use trace::{Elements, Trace};
pub use trips::average_trip_count;
pub use value::Value;

use beyond::Beyond;
use egg::Id;
use ember_language::rules::Operators;
use ember_language::term::Term;
use ember_targets::tensor::Tensor;
use ember_values::scalar::Scalar;
use eval::grow;
use noise::Noise;
use op::At;
use phases::Touched;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use value::Place;

/// Numbers that distinguish operations: both zeros, NaN, infinities, a denormal, and sums that round.
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
    /// Returns the first difference between the tensors of two stores, as the tensor's name and the row-major position;
    /// `None` if all elements are equal by bits, with all NaNs equal. A tensor that only one store has, or that differs
    /// in type or shape, differs at its first position.
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

/// The value of a variable in the environment.
#[derive(Clone, Copy, Debug)]
struct Bound {
    value: i64,
    /// True if the access unit also runs the loop, so that streams may use the variable.
    fed: bool,
}

/// A term with the store and the environment in which it runs.
#[derive(Debug)]
pub struct Interpreter {
    program: Arc<Program>,
    names: Vec<String>,
    tensors: Vec<Tensor>,
    sizes: BTreeMap<String, i64>,
    /// By tensor of the program: its place in the store; `None` if there is none of that name.
    places: Vec<Option<u32>>,
    /// By size of the program: its value; `None` if the store has none of that name.
    values: Vec<Option<i64>>,
    /// By tensor: true if it was written since the last barrier, and true if it was read as frozen since then.
    written: Vec<bool>,
    frozen: Vec<bool>,
    /// These flags at the first barrier, if there was one.
    first: Option<Touched>,
    environment: Vec<Option<Bound>>,
    /// The number of enclosing loops that the execute unit runs alone.
    alone: usize,
    steps: u64,
    limit: u64,
    trace: Option<Box<Trace>>,
    /// The elements beyond the extents of tensors, on open memory.
    beyond: Option<Beyond>,
    /// True while an address is evaluated that may lie outside of its tensor.
    outside: bool,
    /// The noise in the last digits of results.
    noise: Option<Noise>,
    /// By a term and a variable: true if the term mentions the variable.
    mentioned: FxHashMap<(At, At), bool>,
}

impl Interpreter {
    /// The number of nodes that a run may evaluate if no other limit is set.
    pub const DEFAULT_STEPS: u64 = 1 << 32;

    /// Prepares a term to run on a store, with the operators of the table. An error in the term is reported when the
    /// faulty part is evaluated.
    pub fn new(term: &Term, operators: &Operators, store: Store) -> Interpreter {
        Interpreter::of(Arc::new(Program::new(term, operators)), store)
    }

    /// Runs a program on a store. A program is prepared once for any number of stores.
    pub fn of(program: Arc<Program>, store: Store) -> Interpreter {
        let (names, tensors): (Vec<String>, Vec<Tensor>) = store.tensors.into_iter().unzip();
        let place = |name: &String| u32::try_from(names.binary_search(name).ok()?).ok();
        let places = program.tensors.iter().map(place).collect();
        let values = program.sizes.iter().map(|name| store.sizes.get(name).copied()).collect();
        let environment = vec![None; program.ops.len()];
        Interpreter {
            program,
            places,
            values,
            written: vec![false; tensors.len()],
            frozen: vec![false; tensors.len()],
            first: None,
            names,
            tensors,
            sizes: store.sizes,
            environment,
            alone: 0,
            steps: 0,
            limit: Self::DEFAULT_STEPS,
            trace: None,
            beyond: None,
            outside: false,
            noise: None,
            mentioned: FxHashMap::default(),
        }
    }

    /// Sets the total number of nodes that may be evaluated.
    pub fn with_step_limit(mut self, limit: u64) -> Interpreter {
        self.limit = limit;
        self
    }

    /// Opens the memory: every index has an element, and those beyond the extents hold numbers that depend on the seed.
    pub fn on_open_memory(mut self, seed: u64) -> Interpreter {
        self.beyond = Some(Beyond::new(seed));
        self
    }

    /// Returns the elements beyond the extents of tensors that a run on open memory has changed, by the tensor's name
    /// and a hash of the indices.
    pub fn beyond(&self) -> BTreeMap<(String, u64), Scalar> {
        let written = self.beyond.clone().map(Beyond::written).unwrap_or_default();
        let named = |((tensor, at), x)| ((self.names[tensor as usize].clone(), at), x);
        written.into_iter().map(named).collect()
    }

    /// Returns the last node of the term.
    pub fn root(&self) -> Id {
        Id::from(self.program.canonical.len().saturating_sub(1))
    }

    /// Binds the variable of the `var` node `id` to a value, which is not checked against the variable's range.
    pub fn bind(&mut self, id: Id, value: i64) -> Result<(), Error> {
        let at = self.node(id)?;
        match self.program.ops[at].range() {
            Some(_) => {
                self.environment[at] = Some(Bound { value, fed: true });
                Ok(())
            }
            None => Err(Error::Sort { expected: "a loop variable", found: self.head(at) }),
        }
    }

    /// Evaluates a term of sort Value, Stream or EValue.
    pub fn eval(&mut self, id: Id) -> Result<Value, Error> {
        let at = self.node(id)?;
        grow(|| self.value(at)).map_err(|error| *error)
    }

    /// Returns the elements of a term of sort Tensor, in row-major order.
    pub fn elements(&mut self, id: Id) -> Result<Vec<Scalar>, Error> {
        let at = self.node(id)?;
        let mut elements = Vec::new();
        let read = self.shape(at).and_then(|shape| {
            self.each_index(&shape, |this, index| {
                elements.push(this.element_at(at, index)?);
                Ok(())
            })
        });
        read.map(|()| elements).map_err(|error| *error)
    }

    /// Runs a term of sort Stmt, Slc or Exec on the store.
    pub fn run(&mut self, id: Id) -> Result<(), Error> {
        let at = self.node(id)?;
        grow(|| self.statement(at)).map_err(|error| *error)
    }

    /// Returns the places that a term of sort Address, SAddress or EAddress refers to: one, or one for each lane with
    /// `None` for inactive lanes. A place is the tensor's name, the row-major position among the elements of the
    /// dimensions that are fixed so far, and true if the tensor must not change between two barriers.
    #[allow(clippy::type_complexity, reason = "a name for it would be used nowhere else")]
    pub fn places(&mut self, id: Id) -> Result<Vec<Option<(&str, u64, bool)>>, Error> {
        let at = self.node(id)?;
        let address = grow(|| self.address(at)).map_err(|error| *error)?;
        let name = |p: Place| (self.names[p.tensor as usize].as_str(), p.position, p.frozen);
        Ok(address.into_iter().map(|p| p.map(name)).collect())
    }

    /// Returns a copy of the current store.
    pub fn store(&self) -> Store {
        let tensors = self.names.iter().cloned().zip(self.tensors.iter().cloned()).collect();
        Store { tensors, sizes: self.sizes.clone() }
    }

    /// Returns the store after a run.
    pub fn into_store(self) -> Store {
        Store { tensors: self.names.into_iter().zip(self.tensors).collect(), sizes: self.sizes }
    }

    /// Returns the program's node for `id`.
    fn node(&self, id: Id) -> Result<usize, Error> {
        self.program.canonical.get(usize::from(id)).copied().ok_or(Error::NoSuchNode)
    }

    /// Returns the head of the node at a position, for messages.
    fn head(&self, at: usize) -> String {
        self.program.heads.get(at).map(ToString::to_string).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
