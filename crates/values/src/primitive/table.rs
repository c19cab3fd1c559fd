//! The table of primitives that are no operations on scalars: of each the name after `:means`, what it does, and its
//! row.

use super::form::{
    Block, By, Condition, Early, Form, Holder, Loop, Number, Operation, Part, Sequence, Undone,
    View,
};
use super::{PLAIN, Price, Row, Typing, Width};
use crate::scalar::BinaryOp;

/// Declares the rows: of each the name, what it does, and the fields that differ from those of a name.
macro_rules! primitives {
    ($($name:literal $doc:literal $(: $($field:ident: $of:expr),*)?;)+) => {
        /// The rows of all primitives that are not scalar operations.
        pub(super) const STRUCTURE: &[Row] = &[
            $(Row { name: $name, doc: $doc, $($($field: $of,)*)? ..PLAIN },)+
        ];
    };
}

const I64: Option<Typing<&str>> = Some(Typing::I64);
const SCALAR: Option<Width<&str>> = Some(Width::One);

/// The required element type of an operand.
const fn of(operand: &'static str) -> Option<Typing<&'static str>> {
    Some(Typing::Of(operand))
}

/// The element type that an operand names.
const fn named(operand: &'static str) -> Option<Typing<&'static str>> {
    Some(Typing::Named(operand))
}

/// As many lanes as an operand has.
const fn as_wide(operand: &'static str) -> Option<Width<&'static str>> {
    Some(Width::Of(operand))
}

/// As many lanes as the number that an operand is.
const fn count(operand: &'static str) -> Option<Width<&'static str>> {
    Some(Width::Count(operand))
}

/// The form of a conversion.
const fn converted(to: Typing<&'static str>) -> Form<&'static str> {
    Form::Carried { x: "x", to: Some(to) }
}

/// The form of the number that a reduction starts from.
const fn start(op: Operation<&'static str>) -> Form<&'static str> {
    Form::Number { value: Number::Start(op), dtype: Typing::Of("like") }
}

/// The form of a load.
const fn loaded(early: Option<Early<&'static str>>) -> Form<&'static str> {
    Form::Loaded { address: "address", early }
}

/// The form of a loop, which may fold the values of its body.
const fn looped(folds: Option<(&'static str, &'static str)>) -> Form<&'static str> {
    let access = Some(("access-lo", "access-hi"));
    let (variable, lo, hi, step, body) = ("variable", "lo", "hi", "step", "body");
    Form::Loop(Loop { variable, lo, hi, step, body, folds, access })
}

/// The form of a product of matrices.
const fn product(transposed: bool, block: Block<&'static str>) -> Form<&'static str> {
    Form::Product { out: "out", factors: ["a", "b"], block, transposed }
}

/// The block of a product over a part of the depth, with all columns or some.
const fn part(columns: Option<[&'static str; 3]>) -> Block<&'static str> {
    Block::Part { rows: ["count", "hi", "first"], depth: ["deep", "end", "from"], columns }
}

/// The form of a statement that writes a tensor.
const fn output(part: Part<&'static str>) -> Form<&'static str> {
    Form::Output { to: "to", part, from: "from" }
}

primitives! {
    "same" "what its operand means":
        form: Form::Carried { x: "x", to: None },
        operands: &["x"], typing: of("x"), width: as_wide("x");
    "label" "a name that only the operator around it reads";

    // Numbers and loop variables.
    "constant" "a literal scalar of a type":
        form: Form::Number { value: Number::Literal("number"), dtype: Typing::Named("dtype") },
        operands: &["dtype", "number"], typing: named("dtype"), width: SCALAR;
    "size" "a symbolic size of the model":
        form: Form::Number { value: Number::Size("name"), dtype: Typing::I64 },
        operands: &["name"], typing: I64, width: SCALAR, asks: &[("name", "0")];
    "iv" "the value of a loop variable":
        form: Form::Iv("variable"),
        operands: &["variable"], typing: I64, width: SCALAR;
    "variable" "a loop variable with its range":
        form: Form::Variable { name: "name", range: ["lo", "hi", "step"] },
        operands: &["name", "lo", "hi", "step"], literals: &["step"],
        asks: &[("lo", "i64 scalar"), ("hi", "i64 scalar")];
    "dim" "an extent of the tensor of an address":
        form: Form::Extent { of: Holder::Address("address"), k: "k" },
        operands: &["address", "k"], literals: &["k"], typing: I64, width: SCALAR,
        asks: &[("address", "any 2")];
    "identity" "what a reduction starts from, in the type of an operand":
        form: start(Operation::Named("op")),
        operands: &["op", "like"], typing: of("like"), width: SCALAR, price: Price::Folded;
    "one" "the number 1 in the type of an operand":
        form: start(Operation::Is(BinaryOp::Mul)),
        operands: &["like"], typing: of("like"), width: SCALAR, price: Price::Folded;

    // Addresses.
    "input" "a tensor that the program never writes":
        form: Form::Root { name: "name", written: false },
        operands: &["name"];
    "output" "a tensor that the program writes":
        form: Form::Root { name: "name", written: true },
        operands: &["name"];
    "freeze" "a tensor that is read-only after a barrier":
        form: Form::View { address: "address", view: View::ReadOnly },
        operands: &["address"];
    "index" "an address with one more index":
        form: Form::View { address: "address", view: View::At("index") },
        operands: &["address", "index"], asks: &[("address", "scalar +1"), ("index", "i64")];

    // Values.
    "load" "the value at an address":
        form: loaded(None),
        operands: &["address"], typing: of("address"), width: as_wide("address"), reads: &["address"],
        price: Price::Operation, asks: &[("address", "0")];
    "fetched" "the value at an address that the access unit reads ahead":
        form: loaded(Some(Early::Fetched("ahead"))),
        operands: &["ahead", "address"], typing: of("address"), width: as_wide("address"),
        reads: &["ahead", "address"], price: Price::Operation, asks: &[("ahead", "0"), ("address", "0")];
    "ahead" "the value at an address, while the cache lines of two later ones are asked for, into the cache of a level":
        form: loaded(Some(Early::Asked { later: "later", again: "again", level: "level" })),
        operands: &["level", "later", "again", "address"], literals: &["level"], typing: of("address"),
        width: as_wide("address"), reads: &["later", "again", "address"], price: Price::Operation,
        asks: &[("later", "0"), ("again", "0"), ("address", "0")];
    "apply" "a binary operation that an operand names":
        form: Form::Binary(Operation::Named("op"), ["a", "b"]),
        operands: &["op", "a", "b"], width: as_wide("a"), price: Price::Operation;
    "map" "a function of one scalar that an operand names":
        form: Form::Unary(Operation::Named("function"), "x"),
        operands: &["function", "x"], typing: of("x"), width: SCALAR, price: Price::Folded;
    "choose" "the third if the first two compare as an operand says, else the fourth":
        form: Form::Select {
            condition: Condition::Compared { comparison: "comparison", of: ["a", "b"] },
            of: ["x", "y"],
        },
        operands: &["comparison", "a", "b", "x", "y"], typing: of("x"), width: SCALAR,
        price: Price::Folded;
    "select" "the second if the first is not 0, else the third":
        form: Form::Select { condition: Condition::NotZero("condition"), of: ["a", "b"] },
        operands: &["condition", "a", "b"], typing: of("a"), width: as_wide("a"), lanewise: true,
        price: Price::Operation, asks: &[("condition", "i64")];
    "cast" "conversion to a type":
        form: converted(Typing::Named("dtype")),
        operands: &["dtype", "x"], typing: named("dtype"), width: as_wide("x"), lanewise: true,
        price: Price::Operation;
    "index-cast" "conversion to i64":
        form: converted(Typing::I64),
        operands: &["x"], typing: I64, width: as_wide("x"), price: Price::Operation;
    "convert" "conversion to the element type of an operand":
        form: converted(Typing::Of("like")),
        operands: &["like", "x"], typing: of("like"), width: as_wide("x"), price: Price::Folded,
        asks: &[("x", "any")];
    "broadcast" "a scalar in every lane":
        form: Form::Spread { lanes: "lanes", x: "x", below: None },
        operands: &["lanes", "x"], literals: &["lanes"], typing: of("x"), width: count("lanes"),
        price: Price::Operation;
    "lanes" "lanes that count up from a number, active below another":
        form: Form::Spread { lanes: "lanes", x: "x", below: Some("hi") },
        operands: &["lanes", "hi", "x"], literals: &["lanes"], typing: I64, width: count("lanes"),
        asks: &[("hi", "i64"), ("x", "i64")];
    "fold" "lanes folded into a scalar, half onto half":
        form: Form::Fold { op: "op", x: "x" },
        operands: &["op", "x"], typing: of("x"), width: SCALAR, price: Price::Operation,
        asks: &[("op", "closed"), ("x", "lanes")];
    "reduce" "a loop that folds its body's values into a start, in order":
        form: looped(Some(("op", "start"))),
        operands: &["op", "variable", "lo", "hi", "step", "start", "body", "access-lo?", "access-hi?"],
        literals: &["step"], typing: of("start"), width: as_wide("start"),
        asks: &[("op", "closed"), ("lo", "i64 scalar"), ("hi", "i64 scalar"), ("access-lo", "i64 scalar"), ("access-hi", "i64 scalar")];

    // Statements.
    "skip" "does nothing":
        form: Form::Sequence(Sequence::Empty);
    "barrier" "separates what is written from what is read as frozen":
        form: Form::Sequence(Sequence::Barrier);
    "seq" "one statement after another":
        form: Form::Sequence(Sequence::Two(["first", "second"])),
        operands: &["first", "second"];
    "for" "a loop: its body for lo, lo + step, … below hi":
        form: looped(None),
        operands: &["variable", "lo", "hi", "step", "body", "access-lo?", "access-hi?"],
        literals: &["step"],
        asks: &[("lo", "i64 scalar"), ("hi", "i64 scalar"), ("access-lo", "i64 scalar"), ("access-hi", "i64 scalar")];
    "read-ahead" "asks for the cache lines of an address ahead of their use; for nothing outside of its tensor":
        form: Form::Sequence(Sequence::Ahead("address")),
        operands: &["address"], price: Price::Operation, asks: &[("address", "0")];
    "store" "writes a value":
        form: Form::Write { op: None, address: "address", value: "value" },
        operands: &["address", "value"], writes: &["address"], price: Price::Operation,
        asks: &[("address", "0")];
    "accumulate" "folds a value into memory":
        form: Form::Write { op: Some("op"), address: "address", value: "value" },
        operands: &["op", "address", "value"], reads: &["address"], writes: &["address"],
        price: Price::Operation, asks: &[("op", "closed"), ("address", "0")];
    "matmul" "a product of matrices":
        form: product(false, Block::Whole),
        operands: &["out", "a", "b"], reads: &["a", "b"], writes: &["out"], price: Price::Operation,
        asks: &[("out", "scalar 2"), ("a", "scalar 2"), ("b", "scalar 2")];
    "matmul-transposed" "a product of a matrix and a transposed one":
        form: product(true, Block::Whole),
        operands: &["out", "a", "b"], reads: &["a", "b"], writes: &["out"], price: Price::Operation,
        asks: &[("out", "scalar 2"), ("a", "scalar 2"), ("b", "scalar 2")];

    "matmul-rows" "some rows of a product of matrices":
        form: product(false, Block::Rows(["count", "hi", "first"])),
        operands: &["out", "a", "b", "count", "hi", "first"], literals: &["count"], reads: &["a", "b"],
        writes: &["out"], price: Price::Operation,
        asks: &[("out", "scalar 2"), ("a", "scalar 2"), ("b", "scalar 2"), ("hi", "i64 scalar"), ("first", "i64 scalar")];
    "matmul-columns" "a product of a matrix and a transposed one, into some columns":
        form: product(true, Block::Columns("first")),
        operands: &["out", "a", "b", "first"], reads: &["a", "b"], writes: &["out"], price: Price::Operation,
        asks: &[("out", "scalar 2"), ("a", "scalar 2"), ("b", "scalar 2"), ("first", "i64 scalar")];
    "matmul-add" "a product of some columns of a matrix, added to another":
        form: product(false, Block::Added("first")),
        operands: &["out", "a", "b", "first"], reads: &["out", "a", "b"], writes: &["out"], price: Price::Operation,
        asks: &[("out", "scalar 2"), ("a", "scalar 2"), ("b", "scalar 2"), ("first", "i64 scalar")];

    "matmul-part" "some rows of a product of matrices over a part of the depth, added to others":
        form: product(false, part(None)),
        operands: &["out", "a", "b", "count", "hi", "first", "deep", "end", "from"],
        literals: &["count", "deep"], reads: &["out", "a", "b"], writes: &["out"], price: Price::Operation,
        asks: &[("out", "scalar 2"), ("a", "scalar 2"), ("b", "scalar 2"), ("hi", "i64 scalar"), ("first", "i64 scalar"), ("end", "i64 scalar"), ("from", "i64 scalar")];
    "matmul-block" "some rows and columns of a product of matrices over a part of the depth, added to others":
        form: product(false, part(Some(["wide", "edge", "left"]))),
        operands: &["out", "a", "b", "count", "hi", "first", "deep", "end", "from", "wide", "edge", "left"],
        literals: &["count", "deep", "wide"], reads: &["out", "a", "b"], writes: &["out"], price: Price::Operation,
        asks: &[("out", "scalar 2"), ("a", "scalar 2"), ("b", "scalar 2"), ("hi", "i64 scalar"), ("first", "i64 scalar"), ("end", "i64 scalar"), ("from", "i64 scalar"), ("edge", "i64 scalar"), ("left", "i64 scalar")];

    // Terms in another environment or store.
    "vec" "lane by lane, in order":
        form: Form::Replaced {
            variable: "lane",
            by: By::Lanes { from: "variable", lanes: "lanes", hi: "hi" },
            x: "x",
        },
        operands: &["variable", "lane", "lanes", "hi", "x"], literals: &["lanes"], typing: of("x"),
        width: count("lanes"), price: Price::Folded, asks: &[("hi", "i64")];
    "rename" "another loop variable in the place of one":
        form: Form::Replaced { variable: "from", by: By::Variable("to"), x: "x" },
        operands: &["from", "to", "x"], typing: of("x"), width: as_wide("x"), price: Price::Folded;
    "fix" "a value in the place of a loop variable":
        form: Form::Replaced { variable: "variable", by: By::Value("value"), x: "x" },
        operands: &["variable", "value", "x"], typing: of("x"), width: as_wide("x"),
        asks: &[("value", "i64 scalar")], price: Price::Folded;
    "after" "in the store that a statement leaves, which is undone afterwards":
        form: Form::Undone { statement: "first", undone: Undone::After("x") },
        operands: &["first", "x"], typing: of("x"), width: as_wide("x"), price: Price::Folded;
    "forget" "a statement after which a tensor holds zeros":
        form: Form::Undone { statement: "statement", undone: Undone::Tensor("address") },
        operands: &["address", "statement"], asks: &[("address", "2")], writes: &["address"],
        price: Price::Folded;

    // Whole tensors.
    "stored" "a stored tensor":
        form: Form::View { address: "address", view: View::Tensor },
        operands: &["address"], typing: of("address"), reads: &["address"];
    "write-tensor" "writes every element of a tensor":
        form: output(Part::Whole),
        operands: &["to", "from"], writes: &["to"], price: Price::Folded;
    "write-slot" "writes one slot of every block":
        form: output(Part::Slot("slot")),
        operands: &["to", "slot", "from"], writes: &["to"], price: Price::Folded,
        asks: &[("to", "3"), ("slot", "i64 scalar"), ("from", "2")];
    "write-columns" "writes some columns":
        form: output(Part::Columns("column")),
        operands: &["to", "column", "from"], writes: &["to"], price: Price::Folded,
        asks: &[("to", "2"), ("column", "i64 scalar"), ("from", "2")];
    "element" "an element of a tensor":
        form: Form::Element { tensor: "tensor", index: [Some("i"), Some("j"), Some("k")] },
        operands: &["tensor", "i", "j?", "k?"], typing: of("tensor"), width: SCALAR,
        price: Price::Folded, asks: &[("i", "i64"), ("j", "i64"), ("k", "i64")];
    "extent" "an extent of a tensor":
        form: Form::Extent { of: Holder::Tensor("tensor"), k: "k" },
        operands: &["tensor", "k"], literals: &["k"], typing: I64, width: SCALAR, price: Price::Folded,
        asks: &[("tensor", "any")];
}
