//! Random models: operations of the table over each other, wherever the reader of models accepts them. The reader alone
//! knows shapes and element types, so an expression is kept if a model of it can be read.

use ember_language::diagnostic::Sources;
use ember_language::rules::Definitions;
use ember_model::{Declared, Model, composites};
use ember_values::operation::{OPERATIONS, Operation, Role};
use ember_values::scalar::DType;
use fastrand::Rng;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The greatest depth of nested operations.
const DEEPEST: usize = 4;

/// The number of operands that are drawn for an operation before it is given up.
const TRIES: usize = 24;

/// The sizes of dimensions: nothing, one, powers of two, and primes below and above a vector register.
const SIZES: [u64; 9] = [0, 1, 2, 3, 5, 8, 13, 17, 32];

/// The numbers of columns.
const COLUMNS: [u64; 9] = [1, 2, 3, 4, 8, 13, 16, 17, 32];

/// The number operands of operations.
const NUMBERS: [&str; 4] = ["2.0", "-1.0", "0.5", "0"];

/// The natural numbers that are operands.
const COUNTS: [&str; 5] = ["0", "1", "2", "3", "4"];

/// An expression of a model.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A word: a tensor, or an operand that is no tensor.
    Word(String),
    /// An operation with its operands, in the order in which models write them.
    Apply(String, Vec<Shape>),
}

impl Shape {
    fn word(text: impl Into<String>) -> Shape {
        Shape::Word(text.into())
    }

    /// Returns the depth of nested operations.
    fn depth(&self) -> usize {
        match self {
            Shape::Word(_) => 0,
            Shape::Apply(_, operands) => 1 + operands.iter().map(Shape::depth).max().unwrap_or(0),
        }
    }

    /// Returns the expression as models write it.
    fn text(&self) -> String {
        match self {
            Shape::Word(word) => word.clone(),
            Shape::Apply(name, operands) => {
                let operands = operands.iter().map(|operand| format!(" {}", operand.text()));
                format!("({name}{})", operands.collect::<String>())
            }
        }
    }

    /// Adds the words of the expression.
    fn words<'a>(&'a self, words: &mut BTreeSet<&'a str>) {
        match self {
            Shape::Word(word) => {
                words.insert(word);
            }
            Shape::Apply(_, operands) => operands.iter().for_each(|operand| operand.words(words)),
        }
    }

    /// Writes a `let` for every operation inside, and returns the expression over them.
    fn bound(&self, lets: &mut Vec<String>) -> String {
        let Shape::Apply(name, operands) = self else { return self.text() };
        let mut text = format!("({name}");
        for operand in operands {
            let operand_text = operand.bound(lets);
            let word = if matches!(operand, Shape::Apply(..)) {
                let name = format!("step_{}", lets.len());
                lets.push(format!("  (let {name} {operand_text})\n"));
                name
            } else {
                operand_text
            };
            let _ = write!(text, " {word}");
        }
        text + ")"
    }

    /// Returns the expressions with one operation less: an operation in the place of its operand, or an operand in the
    /// place of its operation.
    fn smaller(&self) -> Vec<Shape> {
        let Shape::Apply(name, operands) = self else { return Vec::new() };
        let applied = |operand: &&Shape| matches!(operand, Shape::Apply(..));
        let mut all: Vec<Shape> = operands.iter().filter(applied).cloned().collect();
        for (at, operand) in operands.iter().enumerate() {
            let words = match operand {
                Shape::Word(_) => Vec::new(),
                Shape::Apply(_, inner) => {
                    inner.iter().filter(|inner| !applied(inner)).cloned().collect()
                }
            };
            for other in operand.smaller().into_iter().chain(words) {
                let mut operands = operands.clone();
                operands[at] = other;
                all.push(Shape::Apply(name.clone(), operands));
            }
        }
        all
    }
}

/// A random model. Its expressions are over a fixed set of inputs, of which only the used ones are declared.
#[derive(Clone, Debug)]
pub struct RandomModel {
    /// The values of the outputs.
    pub outputs: Vec<Shape>,
    inputs: Vec<Given>,
    sizes: Vec<(&'static str, u64)>,
    seed: u64,
}

/// An input with its declaration and its data.
#[derive(Clone, Debug)]
struct Given {
    name: &'static str,
    dtype: DType,
    shape: String,
    data: &'static str,
}

impl RandomModel {
    /// Generates the model of a seed whose data can be made: one in a few has two outputs.
    pub fn random(seed: u64, definitions: &Definitions) -> RandomModel {
        let mut rng = Rng::with_seed(seed);
        loop {
            let mut made = RandomModel::empty(&mut rng);
            let outputs = if rng.u8(0..6) == 0 { 2 } else { 1 };
            for _ in 0..outputs {
                let output = Pool::new(&made, definitions, &mut rng).expression();
                made.outputs.extend(output);
            }
            if made.outputs.len() == outputs && made.instantiates(definitions) {
                return made;
            }
        }
    }

    fn empty(rng: &mut Rng) -> RandomModel {
        let dtypes = [DType::F32, DType::F32, DType::F32, DType::F64, DType::I32, DType::I64];
        let dtype = dtypes[rng.usize(0..dtypes.len())];
        let (rows, bags, lookups) = (pick(rng, &SIZES), pick(rng, &SIZES), pick(rng, &SIZES));
        let columns = pick(rng, &COLUMNS);
        let block = pick(rng, &[1, 2, 3]);
        let offsets = ["(ragged (mean 3) (empty 0.3))", "(fixed 4)", "(fixed 1)", "(fixed 0)"];
        let drawn = ["(uniform -1 1)", "(uniform -3 3)", "(constant 0)", "(uniform -200 200)"];
        let rows_of = ["(zipf 0)", "(zipf 1.1)", "(locality high)"];
        let (offsets, rows_of) = (pick(rng, &offsets), pick(rng, &rows_of));
        let mut given = |name, dtype, shape: &str, data: &'static str| {
            let data = if data.is_empty() { pick(rng, &drawn) } else { data };
            Given { name, dtype, shape: shape.to_owned(), data }
        };
        let (table, wide) = (format!("(r {columns})"), format!("(b {columns})"));
        let other = if dtype == DType::F64 { DType::F32 } else { DType::F64 };
        let inputs = vec![
            given("t", dtype, &table, ""),
            given("u", dtype, &table, ""),
            given("x", dtype, &wide, ""),
            given("y", dtype, &wide, ""),
            given("v", dtype, &format!("({columns})"), ""),
            given("w", dtype, "(l)", ""),
            given("n", dtype, "(b)", ""),
            given("s", dtype, &format!("({columns} {columns})"), ""),
            given("k", dtype, &format!("(r {block} {columns})"), ""),
            given("z", dtype, &format!("(b {columns} {columns})"), ""),
            given("c", other, &table, ""),
            given("m", DType::I64, &table, "(uniform -9 9)"),
            given("h", DType::F16, &table, ""),
            given("e", DType::BF16, &table, ""),
            given("q", DType::U8, &table, "(uniform 0 255)"),
            given("p", DType::U4, &table, "(uniform 0 15)"),
            given("g8", DType::I8, &table, "(uniform -128 127)"),
            given("a", DType::F32, "(r 2)", ""),
            given("i", DType::I64, "(l)", rows_of),
            given("f", DType::I64, "((+ b 1))", offsets),
            given("j", DType::I32, "(g)", rows_of),
            given("j2", DType::I64, "(g)", rows_of),
            given("j3", DType::I64, "(g)", rows_of),
            given("o", DType::I64, "(g 2)", rows_of),
        ];
        let sizes = vec![("r", rows), ("b", bags), ("l", lookups), ("g", pick(rng, &SIZES))];
        RandomModel { outputs: Vec::new(), inputs, sizes, seed: rng.u64(0..1 << 32) }
    }

    /// Returns the model with other values of its outputs.
    pub fn with(&self, outputs: Vec<Shape>) -> RandomModel {
        RandomModel { outputs, ..self.clone() }
    }

    /// Returns the models with one operation or one output less that can be read and whose data can be made.
    pub fn smaller(&self, definitions: &Definitions) -> impl Iterator<Item = RandomModel> {
        let mut all: Vec<Vec<Shape>> = Vec::new();
        for (at, output) in self.outputs.iter().enumerate() {
            if self.outputs.len() > 1 {
                all.push(vec![output.clone()]);
            }
            for smaller in output.smaller() {
                let mut outputs = self.outputs.clone();
                outputs[at] = smaller;
                all.push(outputs);
            }
        }
        let models = all.into_iter().map(|outputs| self.with(outputs));
        models.filter(|model| model.instantiates(definitions))
    }

    fn instantiates(&self, definitions: &Definitions) -> bool {
        let model = read(&self.text(), definitions);
        model.is_some_and(|model| model.instantiate(None).is_ok())
    }

    /// Returns the text of the model, with operations nested in each other.
    pub fn text(&self) -> String {
        self.written(|at, output| format!("  (output out_{at} {})\n", output.text()))
    }

    /// Returns the text of the model in which every operation has a name of its own.
    pub fn bound(&self) -> String {
        let mut lets = Vec::new();
        let mut written = 0;
        self.written(|at, output| {
            let value = output.bound(&mut lets);
            let new = lets[written..].concat();
            written = lets.len();
            format!("{new}  (output out_{at} {value})\n")
        })
    }

    fn written(&self, mut output: impl FnMut(usize, &Shape) -> String) -> String {
        let mut words = BTreeSet::new();
        self.outputs.iter().for_each(|output| output.words(&mut words));
        let used: Vec<&Given> = self.inputs.iter().filter(|g| words.contains(g.name)).collect();
        let mut text = "(model random\n".to_owned();
        for Given { name, dtype, shape, .. } in &used {
            let _ = writeln!(text, "  (input {name} {dtype} {shape})");
        }
        for (at, value) in self.outputs.iter().enumerate() {
            text += &output(at, value);
        }
        let _ = write!(text, "  (data (seed {})", self.seed);
        // The number of lookups follows from the offsets where there are any.
        for (name, n) in self.sizes.iter().filter(|(name, _)| *name != "l" || !words.contains("f"))
        {
            if used.iter().any(|given| given.shape.split([' ', '(', ')']).any(|w| w == *name)) {
                let _ = write!(text, " (size {name} {n})");
            }
        }
        for Given { name, data, .. } in used {
            let _ = write!(text, " ({name} {data})");
        }
        text + "))\n"
    }
}

/// The expressions that have been made, over some inputs.
struct Pool<'a> {
    model: &'a RandomModel,
    definitions: &'a Definitions,
    rng: &'a mut Rng,
    /// Each expression with its element type and rank.
    known: Vec<(Shape, DType, usize)>,
}

impl<'a> Pool<'a> {
    fn new(model: &'a RandomModel, definitions: &'a Definitions, rng: &'a mut Rng) -> Pool<'a> {
        let rank = |given: &Given| match given.shape.as_str() {
            "((+ b 1))" => 1,
            shape => shape.split(' ').count(),
        };
        let numbers = model.inputs.iter().filter(|given| !is_position(given.name));
        let known = numbers.map(|given| (Shape::word(given.name), given.dtype, rank(given)));
        Pool { model, definitions, known: known.collect(), rng }
    }

    /// Returns an expression of a random depth; `None` if no operation fits.
    fn expression(mut self) -> Option<Shape> {
        let inputs = self.known.len();
        for _ in 0..self.rng.usize(1..=2 * DEEPEST) {
            for _ in 0..TRIES {
                if let Some(made) = self.operation() {
                    self.known.push(made);
                    break;
                }
            }
        }
        let deepest = self.known.drain(inputs..).max_by_key(|(shape, ..)| shape.depth());
        deepest.map(|(shape, ..)| shape)
    }

    /// Makes an operation over known expressions; `None` if they do not fit.
    fn operation(&mut self) -> Option<(Shape, DType, usize)> {
        let composite = composites().count();
        let at = self.rng.usize(0..OPERATIONS.len() + composite);
        let (name, operands) = match OPERATIONS.get(at) {
            Some(operation) => (operation.name, self.operands(operation)?),
            None => {
                let (name, usage) = composites().nth(at - OPERATIONS.len())?;
                let tensors = usage.split(' ').filter(|word| *word != "…").count();
                let tensors = (0..tensors).map(|_| self.tensor(1, 3, None));
                (name, tensors.collect::<Option<_>>()?)
            }
        };
        let shape = Shape::Apply(name.to_owned(), operands);
        if shape.depth() > DEEPEST {
            return None;
        }
        let read = read(&self.model.with(vec![shape.clone()]).text(), self.definitions)?;
        let Declared { dtype, shape: extents, .. } = &read.computed.last()?.tensor;
        Some((shape, *dtype, extents.len()))
    }

    /// Draws the operands of an operation by their roles.
    fn operands(&mut self, operation: &Operation) -> Option<Vec<Shape>> {
        let (mut operands, mut like) = (Vec::new(), None);
        for operand in operation.written() {
            if operand.optional && self.rng.bool() {
                break;
            }
            operands.push(match &operand.role {
                Role::Word(words) => Shape::word(words.names[self.rng.usize(0..words.names.len())]),
                Role::DType => Shape::word(DType::ALL[self.rng.usize(0..DType::ALL.len())].name()),
                Role::Number => Shape::word(pick(self.rng, &NUMBERS)),
                Role::Count => Shape::word(pick(self.rng, &COUNTS)),
                Role::Tensor(ranks, _) | Role::Stored(ranks) => {
                    let tensor = self.tensor(*ranks.start(), *ranks.end(), like)?;
                    like = self.known.iter().find(|(known, ..)| *known == tensor).map(|k| k.1);
                    tensor
                }
                Role::Indices(ranks, _) => {
                    let one: &[&str] = match operation.place("offsets") {
                        Some(_) => &["i"],
                        None => &["i", "j", "j2", "j3"],
                    };
                    let two = *ranks.end() == 2 && self.rng.bool();
                    Shape::word(if two { "o" } else { pick(self.rng, one) })
                }
                Role::Offsets(_) => Shape::word("f"),
                Role::Scratch(_) => return None,
            });
        }
        Some(operands)
    }

    /// Draws a tensor of a rank, often one that was made last and of a type that is used already.
    fn tensor(&mut self, least: usize, most: usize, like: Option<DType>) -> Option<Shape> {
        let strict = self.rng.u8(0..8) != 0;
        let fits = |(_, dtype, rank): &&(Shape, DType, usize)| {
            (least..=most).contains(rank) && (!strict || like.is_none_or(|like| like == *dtype))
        };
        let fitting: Vec<_> = self.known.iter().filter(fits).collect();
        let last = fitting.len().checked_sub(1)?;
        let made = fitting.iter().filter(|(shape, ..)| shape.depth() > 0).count();
        let from = if made > 0 && self.rng.u8(0..3) != 0 { last + 1 - made } else { 0 };
        Some(fitting[self.rng.usize(from..=last)].0.clone())
    }
}

/// Returns true for the inputs that are indices or offsets.
fn is_position(name: &str) -> bool {
    matches!(name, "i" | "f" | "j" | "j2" | "j3" | "o")
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.usize(0..from.len())]
}

/// Reads a model; `None` if it is not valid.
fn read(text: &str, definitions: &Definitions) -> Option<Model> {
    let mut sources = Sources::default();
    let file = sources.add("random.sexp", text);
    Model::parse_with(&sources, file, definitions).ok()
}
