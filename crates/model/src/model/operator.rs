//! Operations as they are written: the row of the table that a word names, its operands read by their roles, and
//! the type and shape of the result by the rule of its kernel. What is made of several operations is in
//! [`composite`], what rule files define in [`defined`], what they lower in [`lowered`].

use super::read::{Reader, head_span};
use super::{
    Applied, Argument, Computed, Declared, Expr, Extent, Kind, Op, Part, TensorId, composite,
    defined, dense, lowered, places, segments, sparse,
};
use ember_language::diagnostic::Span;
use ember_language::rules::Operators;
use ember_language::sexp::Sexp;
use ember_language::suggest;
use ember_values::operation::{self, Holds, Kernel, OPERATIONS, Operand, Operation, Reads, Role};
use ember_values::scalar::{DType, Scalar};
use itertools::Itertools;
use std::borrow::Cow;

/// The maximum nesting depth of operators. Parts of a deeper expression can be named with `let`.
const MAX_DEPTH: usize = 32;

/// The result of reading an operator.
#[derive(Clone)]
pub(super) enum Value {
    /// An expression.
    Whole(Expr),
    /// A tensor that is written part by part.
    Parts {
        /// The parts, each with its value.
        parts: Vec<(Part, Expr)>,
        /// The element type of the tensor.
        dtype: DType,
        /// The extents of the tensor.
        shape: Vec<Extent>,
    },
}

/// The element type and the extents of an operator's result.
pub(super) type Result = Option<(DType, Vec<Extent>)>;

/// An operation in a model file, with operands that have been read.
pub(super) struct Form<'a> {
    /// The name in messages: the operation, or the composite that contains it.
    pub(super) name: &'static str,
    pub(super) operation: Cow<'static, Operation>,
    pub(super) span: Span,
    /// The operands in the order of the row, each with its item in the file; `None` for an invalid word.
    pub(super) arguments: Vec<Option<(Argument, &'a Sexp)>>,
}

impl<'a> Form<'a> {
    fn argument(&self, name: &str) -> Option<&(Argument, &'a Sexp)> {
        self.arguments.get(self.operation.place(name)?)?.as_ref()
    }

    /// Returns an operand that is a tensor, with its item in the file.
    pub(super) fn tensor(&self, name: &str) -> Option<(Expr, &'a Sexp)> {
        match self.argument(name)? {
            (Argument::Tensor(expr), item) => Some((expr.clone(), item)),
            _ => None,
        }
    }

    /// Returns the phrase for an operand in messages.
    pub(super) fn phrase(&self, name: &str) -> Option<&str> {
        Some(self.operation.operands.get(self.operation.place(name)?)?.phrase)
    }

    /// Returns the element type of an operand.
    pub(super) fn dtype(&self, name: &str) -> Option<DType> {
        match self.argument(name)? {
            (Argument::DType(dtype), _) => Some(*dtype),
            _ => None,
        }
    }

    /// Returns a natural number that is an operand, with its item in the file.
    pub(super) fn count(&self, name: &str) -> Option<(u64, &'a Sexp)> {
        match self.argument(name)? {
            (Argument::Number(Scalar::I64(count)), item) => {
                Some((u64::try_from(*count).ok()?, item))
            }
            _ => None,
        }
    }

    /// Returns the word of an operand.
    pub(super) fn word<T: Copy>(&self, name: &str, words: &[T]) -> Option<T> {
        match self.argument(name)? {
            (Argument::Word(at), _) => words.get(*at).copied(),
            _ => None,
        }
    }
}

/// An operation that models write and that consists of several others.
pub(super) struct Composite {
    /// The name.
    pub(super) name: &'static str,
    /// The syntax after the name. If it ends in `…`, the last operand may be repeated.
    pub(super) usage: &'static str,
    /// The reader of its operands.
    pub(super) read: fn(&mut Reader, &Written) -> Option<Value>,
}

/// A composite in a model file.
#[derive(Clone, Copy)]
pub(super) struct Written<'a> {
    pub(super) name: &'static str,
    pub(super) args: &'a [Sexp],
    pub(super) span: Span,
}

impl Composite {
    /// Returns true if this number of operands matches the usage.
    fn takes(&self, operands: usize) -> bool {
        let words = self.usage.split(' ').filter(|word| *word != "…").count();
        operands == words || (self.usage.ends_with('…') && operands > words)
    }
}

/// The meaning of the first word of an operation.
enum Named {
    Operation(Cow<'static, Operation>),
    Composite(&'static Composite),
}

impl Named {
    fn find(head: &str, operands: usize, operators: &Operators) -> Option<Named> {
        let composite = || composite::COMPOSITES.iter().find(|composite| composite.name == head);
        let built_in = operation::named(head).map(|row| Named::Operation(Cow::Borrowed(row)));
        let lowered =
            || Some(Named::Operation(Cow::Owned(lowered::row(head, operands, operators)?)));
        built_in.or_else(|| composite().map(Named::Composite)).or_else(lowered)
    }

    fn name(&self) -> &'static str {
        match self {
            Named::Operation(operation) => operation.name,
            Named::Composite(composite) => composite.name,
        }
    }

    fn usage(&self) -> String {
        match self {
            Named::Operation(operation) => operation.usage(),
            Named::Composite(composite) => composite.usage.to_owned(),
        }
    }

    fn takes(&self, operands: usize) -> bool {
        match self {
            Named::Operation(operation) => operation.takes(operands),
            Named::Composite(composite) => composite.takes(operands),
        }
    }
}

/// Reads an operator and its operands, and reports errors.
pub(super) fn read(reader: &mut Reader, item: &Sexp) -> Option<Value> {
    let Some((head, args)) = item.form() else {
        let (bag, usage) = (OPERATIONS[0].name, OPERATIONS[0].usage());
        let help = format!("write an operator with its operands, such as `({bag} {usage})`");
        reader.error_with_help(item.span, "an operation was expected", "not an operation", help);
        return None;
    };
    let operators = reader.definitions.operators();
    let Some(named) = Named::find(head, args.len(), operators) else {
        if reader.depth < MAX_DEPTH {
            reader.depth += 1;
            let defined = defined::read(reader, item);
            reader.depth -= 1;
            if let Some(value) = defined {
                return value;
            }
        }
        let definitions = reader.definitions.all();
        let mut called = definitions.iter().filter(|(name, _)| *name == head);
        if reader.depth == MAX_DEPTH
            && called.any(|(_, other)| other.parameters.len() == args.len())
        {
            return reader.too_deep(item);
        }
        if let Some((_, other)) = definitions.iter().find(|(name, _)| *name == head) {
            let usage = other.parameters.iter().join(" ").replace('?', "").to_uppercase();
            return reader.wrong_number(item, head, &usage);
        }
        let names = OPERATIONS.iter().map(|operation| operation.name);
        let names = names.chain(composite::COMPOSITES.iter().map(|composite| composite.name));
        let names = names.chain(definitions.iter().map(|(name, _)| *name));
        let error = suggest::unknown("operation", head, head_span(item), names);
        reader.errors.push(error);
        return None;
    };
    let name = named.name();
    if !named.takes(args.len()) {
        return reader.wrong_number(item, name, &named.usage());
    }
    if reader.depth == MAX_DEPTH {
        return reader.too_deep(item);
    }
    reader.depth += 1;
    let value = match named {
        Named::Composite(composite) => {
            (composite.read)(reader, &Written { name, args, span: item.span })
        }
        Named::Operation(operation) => reader.operation(operation, args, item).map(Value::Whole),
    };
    reader.depth -= 1;
    value
}

impl Reader {
    /// Reports an operator within too many others.
    fn too_deep<T>(&mut self, item: &Sexp) -> Option<T> {
        let message = format!("operators are nested more than {MAX_DEPTH} deep");
        let help = "name a part of it with `(let NAME …)`";
        self.error_with_help(head_span(item), message, "too deep", help);
        None
    }

    /// Reports a number of operands that an operation does not take.
    fn wrong_number<T>(&mut self, item: &Sexp, name: &str, usage: &str) -> Option<T> {
        let given = item.form().map_or(0, |(_, args)| args.len());
        let message = format!("`{name}` has the wrong number of operands");
        let help = format!("write `({name} {usage})`");
        self.error_with_help(item.span, message, format!("{given} operands"), help);
        None
    }

    /// Reads the operands of an operation, and applies the operation.
    fn operation(
        &mut self,
        operation: Cow<'static, Operation>,
        args: &[Sexp],
        item: &Sexp,
    ) -> Option<Expr> {
        // Omitted operands are last in the row, and so is scratch memory, which models do not write.
        let mut arguments: Vec<Option<(Argument, &Sexp)>> = Vec::new();
        arguments.resize_with(args.len(), || None);
        // All operands are read even after an error, so that every error in them is reported.
        let mut complete = true;
        for (place, arg) in operation.written.iter().zip(args) {
            let operand = &operation.operands[*place];
            let argument = self.argument(operand, arg);
            complete &= argument.is_some() || matches!(operand.role, Role::Word(_));
            arguments[*place] = argument.map(|argument| (argument, arg));
        }
        let operation = self.of_stored(operation, &arguments);
        let form = Form { name: operation.name, operation, span: item.span, arguments };
        if complete { self.apply(form) } else { None }
    }

    /// Returns the operation that reads a stored tensor, in the place of one that may compute rows of it: the same without
    /// scratch memory. Where rows are computed, products stay, since they are computed row by row themselves.
    fn of_stored(
        &mut self,
        operation: Cow<'static, Operation>,
        arguments: &[Option<(Argument, &Sexp)>],
    ) -> Cow<'static, Operation> {
        let kept = |operand: &Operand| matches!(operand.role, Role::Tensor(_, Reads::Kept));
        let Some(place) = operation.operands.iter().position(kept) else { return operation };
        let argument = arguments.get(place).and_then(Option::as_ref);
        let Some((Argument::Tensor(Expr { op: Op::Tensor(_), .. }), _)) = argument else {
            return operation;
        };
        self.keeps = true;
        if self.recomputed.is_any() && matches!(operation.kernel, Kernel::Product { .. }) {
            return operation;
        }
        let given = &operation.operands[..operation.operands.len() - 1];
        let is_same = |other: &&Operation| {
            let names = other.operands.iter().map(|operand| operand.name);
            let given = given.iter().map(|operand| operand.name);
            let alike = names.take(given.len()).eq(given);
            other.kernel == operation.kernel && other.place("scratch").is_none() && alike
        };
        OPERATIONS.iter().find(is_same).map_or(operation, Cow::Borrowed)
    }

    /// Reads an operand by its role.
    fn argument(&mut self, operand: &Operand, item: &Sexp) -> Option<Argument> {
        let phrase = operand.phrase;
        match &operand.role {
            Role::Word(words) => {
                let word = self.word(&format!("a {}", words.what), item)?;
                let found = words.names.iter().position(|name| *name == word);
                if found.is_none() {
                    let names = words.names.iter().copied();
                    self.errors.push(suggest::unknown(words.what, word, item.span, names));
                }
                found.map(Argument::Word)
            }
            Role::DType => self.dtype(item).map(Argument::DType),
            Role::Number => {
                let number = item.atom().and_then(|word| word.parse::<f64>().ok());
                if number.is_none() {
                    self.error(item.span, "a number was expected", "not a number");
                }
                number.map(|number| Argument::Number(Scalar::F64(number)))
            }
            Role::Count => {
                let count = item.atom().and_then(|word| word.parse::<i64>().ok());
                let count = count.filter(|count| *count >= 0);
                if count.is_none() {
                    self.error(item.span, format!("{phrase} was expected"), "not a natural number");
                }
                count.map(|count| Argument::Number(Scalar::I64(count)))
            }
            Role::Tensor(ranks, reads) => {
                self.ranked(item, phrase, ranks.clone(), *reads).map(Argument::Tensor)
            }
            Role::Stored(ranks) => self.address(item, phrase, ranks.clone()).map(Argument::Tensor),
            Role::Indices(ranks, _) => {
                let role = super::Role::Indices;
                self.positions(item, role, ranks.clone()).map(Argument::Tensor)
            }
            Role::Offsets(_) => {
                self.positions(item, super::Role::Offsets, 1..=1).map(Argument::Tensor)
            }
            Role::Scratch(_) => None,
        }
    }

    /// Applies an operation to operands that have been read: checks them, and derives the type and shape of the result.
    pub(super) fn apply(&mut self, form: Form) -> Option<Expr> {
        let (dtype, shape) = match form.operation.kernel {
            Kernel::Rows => sparse::rows(self, &form),
            Kernel::Edges => sparse::edges(self, &form),
            Kernel::Triples => sparse::triples(self, &form),
            Kernel::Blocks => sparse::blocks(self, &form),
            Kernel::Dequantise => sparse::dequantise(self, &form),
            Kernel::Convert => dense::convert(&form),
            Kernel::Map(function) => dense::map(self, &form, function),
            Kernel::Zip(_) => dense::zip(self, &form),
            Kernel::Scale | Kernel::Leaky => dense::scale(self, &form),
            Kernel::Where => dense::choose(self, &form),
            Kernel::ByNumber => dense::by_number(self, &form),
            Kernel::ByColumn => dense::columns(self, &form, "numbers"),
            Kernel::Bias => dense::columns(self, &form, "bias"),
            Kernel::Fold(_) | Kernel::Mean => dense::fold(self, &form),
            Kernel::ByRow(_) => dense::by_row(self, &form),
            Kernel::Product { transposed } => dense::product(self, &form, transposed),
            Kernel::Triangle => places::triangle(self, &form),
            Kernel::Swap => places::swap(self, &form),
            Kernel::Slice => places::slice(self, &form),
            Kernel::Split => places::split(self, &form),
            Kernel::Merge => places::merge(self, &form),
            Kernel::Segments(_) => segments::fold(self, &form),
            Kernel::Spread => segments::spread(self, &form),
            Kernel::Scatter(_) => segments::scatter(self, &form),
            Kernel::Columns => sparse::columns(self, &form),
            Kernel::Lowered => lowered::result(self, &form),
        }?;
        let Form { operation, span, arguments, .. } = form;
        let given: Vec<(Argument, &Sexp)> = arguments.into_iter().collect::<Option<_>>()?;
        let mut arguments = Vec::with_capacity(given.len());
        // A number takes the type of the tensor it is used with.
        for (operand, (mut argument, item)) in operation.operands.iter().zip(given) {
            if let (Role::Number, Argument::Number(number)) = (&operand.role, &mut argument) {
                *number = self.of_type(dtype, *number, item)?;
            }
            arguments.push(argument);
        }
        for operand in &*operation.operands {
            let Role::Scratch(holds) = operand.role else { continue };
            let (dtype, shape) = match holds {
                Holds::Elements => (dtype, held(&operation, &arguments)?.to_vec()),
                Holds::Order => (DType::I64, held(&operation, &arguments)?.to_vec()),
                Holds::Starts => (DType::I64, vec![shape.first()?.plus(1)?]),
            };
            arguments.push(self.scratch(dtype, shape, span));
        }
        Some(Expr { op: Op::Apply(Applied { operation, arguments }), dtype, shape, span })
    }

    /// Returns a number as one of a type; an integer type must hold it as it is.
    fn of_type(&mut self, dtype: DType, number: Scalar, item: &Sexp) -> Option<Scalar> {
        let typed = Scalar::from_f64(dtype, number.as_f64());
        if dtype.is_float() || typed.as_f64() == number.as_f64() {
            return Some(typed);
        }
        let help = "convert the tensor to a type that holds the number";
        let message = format!("{dtype} does not hold this number");
        self.error_with_help(item.span, message, "the tensor has another type", help);
        None
    }

    /// Declares scratch memory that a program may use.
    fn scratch(&mut self, dtype: DType, shape: Vec<Extent>, span: Span) -> Argument {
        let id = TensorId(self.inputs.len() + self.computed.len());
        let tensor = Declared { name: self.fresh_name(), dtype, shape, span };
        self.computed.push(Computed { tensor, kind: Kind::Scratch });
        Argument::Tensor(self.reference(id, span))
    }
}

/// Returns the extents of what scratch memory holds: an operand that is computed there, or else one element per lookup.
fn held<'a>(operation: &Operation, arguments: &'a [Argument]) -> Option<&'a [Extent]> {
    let mut operands = operation.operands.iter().zip(arguments);
    let holds = |role: &Role| matches!(role, Role::Indices(..) | Role::Tensor(_, Reads::Scratch));
    let kept = |role: &Role| matches!(role, Role::Tensor(_, Reads::Kept));
    let of = operands.clone().find(|(operand, _)| kept(&operand.role));
    let (_, held) = of.or_else(|| operands.find(|(operand, _)| holds(&operand.role)))?;
    let Argument::Tensor(Expr { shape, .. }) = held else { return None };
    Some(shape)
}
