//! The table of primitives that are no operations on scalars: of each the enum's variant, the name after `:means`,
//! what it does, and its row.

use super::form::{By, Early, Form, Loop, Operation, Part};
use super::{PLAIN, Price, Row, Typing, Width};
use crate::scalar::{BinaryOp, UnaryOp};

/// Declares the primitives: of each one entry, with a row for each form that it has.
macro_rules! primitives {
    ($($variant:ident $(($payload:ty))? {
        $($name:literal $([$value:expr])? $doc:literal $(: $($field:ident: $of:expr),*)?;)+
    })*) => {
        /// A primitive meaning of operators.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Primitive {
            /// A unary operation on a scalar, lane by lane.
            Unary(UnaryOp),
            /// A binary operation on scalars, lane by lane.
            Binary(BinaryOp),
            $($(#[doc = $doc])+ $variant $(($payload))?,)*
        }

        /// The rows of all primitives that are not scalar operations.
        pub(super) const STRUCTURE: &[Row] = &[
            $($(Row {
                name: $name,
                primitive: Primitive::$variant $(($value))?,
                doc: $doc,
                $($($field: $of,)*)?
                ..PLAIN
            },)+)*
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
const fn product(transposed: bool) -> Form<&'static str> {
    Form::Product { out: "out", factors: ["a", "b"], transposed }
}

/// The form of a statement that writes a tensor.
const fn output(part: Part<&'static str>) -> Form<&'static str> {
    Form::Output { to: "to", part, from: "from" }
}

primitives! {
    Same {
        "same" "what its operand means":
            form: Form::Same("x"),
            operands: &["x"], typing: of("x"), width: as_wide("x");
    }
    Label {
        "label" "a name that only the operator around it reads";
    }

    // Numbers and loop variables.
    Constant {
        "constant" "a literal scalar of a type":
            form: Form::Literal("number"),
            operands: &["dtype", "number"], typing: named("dtype"), width: SCALAR;
    }
    Size {
        "size" "a symbolic size of the model":
            form: Form::Size("name"),
            operands: &["name"], typing: I64, width: SCALAR, asks: &[("name", "0")];
    }
    Iv {
        "iv" "the value of a loop variable":
            form: Form::Iv("variable"),
            operands: &["variable"], typing: I64, width: SCALAR;
    }
    Variable {
        "variable" "a loop variable with its range":
            form: Form::Variable { name: "name", range: ["lo", "hi", "step"] },
            operands: &["name", "lo", "hi", "step"], literals: &["step"],
            asks: &[("lo", "i64 scalar"), ("hi", "i64 scalar")];
    }
    Dim {
        "dim" "an extent of the tensor of an address":
            form: Form::Extent { of: "address", k: "k" },
            operands: &["address", "k"], literals: &["k"], typing: I64, width: SCALAR,
            asks: &[("address", "any 2")];
    }
    Identity {
        "identity" "what a reduction starts from, in the type of an operand":
            form: Form::Start(Operation::Named("op")),
            operands: &["op", "like"], typing: of("like"), width: SCALAR, price: Price::Folded;
    }
    One {
        "one" "the number 1 in the type of an operand":
            form: Form::Start(Operation::Is(BinaryOp::Mul)),
            operands: &["like"], typing: of("like"), width: SCALAR, price: Price::Folded;
    }

    // Addresses.
    Root(bool) {
        "input"[false] "a tensor that the program never writes":
            form: Form::Root { name: "name", written: false },
            operands: &["name"];
        "output"[true] "a tensor that the program writes":
            form: Form::Root { name: "name", written: true },
            operands: &["name"];
    }
    Freeze {
        "freeze" "a tensor that is read-only after a barrier":
            form: Form::Frozen("address"),
            operands: &["address"];
    }
    Index {
        "index" "an address with one more index":
            form: Form::Index { address: "address", index: "index" },
            operands: &["address", "index"], asks: &[("address", "scalar +1"), ("index", "i64")];
    }

    // Values.
    Load {
        "load" "the value at an address":
            form: loaded(None),
            operands: &["address"], typing: of("address"), width: as_wide("address"), reads: &["address"],
            price: Price::Operation, asks: &[("address", "0")];
    }
    Fetched {
        "fetched" "the value at an address that the access unit reads ahead":
            form: loaded(Some(Early::Fetched("ahead"))),
            operands: &["ahead", "address"], typing: of("address"), width: as_wide("address"),
            reads: &["ahead", "address"], price: Price::Operation, asks: &[("ahead", "0"), ("address", "0")];
    }
    Ahead {
        "ahead" "the value at the second address, while the cache lines of the first are asked for":
            form: loaded(Some(Early::Asked("later"))),
            operands: &["later", "address"], typing: of("address"), width: as_wide("address"),
            reads: &["later", "address"], price: Price::Operation, asks: &[("later", "0"), ("address", "0")];
    }
    Apply {
        "apply" "a binary operation that an operand names":
            form: Form::Binary(Operation::Named("op"), ["a", "b"]),
            operands: &["op", "a", "b"], width: as_wide("a"), price: Price::Operation;
    }
    Map {
        "map" "a function of one scalar that an operand names":
            form: Form::Map { function: "function", x: "x" },
            operands: &["function", "x"], typing: of("x"), width: SCALAR, price: Price::Folded;
    }
    Choose {
        "choose" "the third if the first two compare as an operand says, else the fourth":
            form: Form::Choose { comparison: "comparison", operands: ["a", "b", "x", "y"] },
            operands: &["comparison", "a", "b", "x", "y"], typing: of("x"), width: SCALAR,
            price: Price::Folded;
    }
    Select {
        "select" "the second if the first is not 0, else the third":
            form: Form::Select { condition: "condition", a: "a", b: "b" },
            operands: &["condition", "a", "b"], typing: of("a"), width: as_wide("a"), lanewise: true,
            price: Price::Operation, asks: &[("condition", "i64")];
    }
    Cast {
        "cast" "conversion to a type":
            form: Form::Converted("x"),
            operands: &["dtype", "x"], typing: named("dtype"), width: as_wide("x"), lanewise: true,
            price: Price::Operation;
    }
    IndexCast {
        "index-cast" "conversion to i64":
            form: Form::Converted("x"),
            operands: &["x"], typing: I64, width: as_wide("x"), price: Price::Operation;
    }
    Convert {
        "convert" "conversion to the element type of an operand":
            form: Form::Converted("x"),
            operands: &["like", "x"], typing: of("like"), width: as_wide("x"), price: Price::Folded,
            asks: &[("x", "any")];
    }
    Broadcast {
        "broadcast" "a scalar in every lane":
            form: Form::Spread { lanes: "lanes", x: "x", below: None },
            operands: &["lanes", "x"], literals: &["lanes"], typing: of("x"), width: count("lanes"),
            price: Price::Operation;
    }
    Lanes {
        "lanes" "lanes that count up from a number, active below another":
            form: Form::Spread { lanes: "lanes", x: "x", below: Some("hi") },
            operands: &["lanes", "hi", "x"], literals: &["lanes"], typing: I64, width: count("lanes"),
            asks: &[("hi", "i64"), ("x", "i64")];
    }
    Fold {
        "fold" "lanes folded into a scalar, half onto half":
            form: Form::Fold { op: "op", x: "x" },
            operands: &["op", "x"], typing: of("x"), width: SCALAR, price: Price::Operation,
            asks: &[("op", "closed"), ("x", "lanes")];
    }
    Reduce {
        "reduce" "a loop that folds its body's values into a start, in order":
            form: looped(Some(("op", "start"))),
            operands: &["op", "variable", "lo", "hi", "step", "start", "body", "access-lo?", "access-hi?"],
            literals: &["step"], typing: of("start"), width: as_wide("start"),
            asks: &[("op", "closed"), ("lo", "i64 scalar"), ("hi", "i64 scalar"), ("access-lo", "i64 scalar"), ("access-hi", "i64 scalar")];
    }

    // Statements.
    Skip {
        "skip" "does nothing":
            form: Form::Sequence(None);
    }
    Barrier {
        "barrier" "separates what is written from what is read as frozen":
            form: Form::Barrier;
    }
    Seq {
        "seq" "one statement after another":
            form: Form::Sequence(Some(["first", "second"])),
            operands: &["first", "second"];
    }
    For {
        "for" "a loop: its body for lo, lo + step, … below hi":
            form: looped(None),
            operands: &["variable", "lo", "hi", "step", "body", "access-lo?", "access-hi?"],
            literals: &["step"],
            asks: &[("lo", "i64 scalar"), ("hi", "i64 scalar"), ("access-lo", "i64 scalar"), ("access-hi", "i64 scalar")];
    }
    Store {
        "store" "writes a value":
            form: Form::Write { op: None, address: "address", value: "value" },
            operands: &["address", "value"], writes: &["address"], price: Price::Operation,
            asks: &[("address", "0")];
    }
    Accumulate {
        "accumulate" "folds a value into memory":
            form: Form::Write { op: Some("op"), address: "address", value: "value" },
            operands: &["op", "address", "value"], reads: &["address"], writes: &["address"],
            price: Price::Operation, asks: &[("op", "closed"), ("address", "0")];
    }
    Matmul(bool) {
        "matmul"[false] "a product of matrices":
            form: product(false),
            operands: &["out", "a", "b"], reads: &["a", "b"], writes: &["out"], price: Price::Operation,
            asks: &[("out", "scalar 2"), ("a", "scalar 2"), ("b", "scalar 2")];
        "matmul-transposed"[true] "a product of a matrix and a transposed one":
            form: product(true),
            operands: &["out", "a", "b"], reads: &["a", "b"], writes: &["out"], price: Price::Operation,
            asks: &[("out", "scalar 2"), ("a", "scalar 2"), ("b", "scalar 2")];
    }

    // Terms in another environment or store.
    Vec {
        "vec" "lane by lane, in order":
            form: Form::Replaced {
                variable: "lane",
                by: By::Lanes { from: "variable", lanes: "lanes", hi: "hi" },
                x: "x",
            },
            operands: &["variable", "lane", "lanes", "hi", "x"], literals: &["lanes"], typing: of("x"),
            width: count("lanes"), price: Price::Folded, asks: &[("hi", "i64")];
    }
    Rename {
        "rename" "another loop variable in the place of one":
            form: Form::Replaced { variable: "from", by: By::Variable("to"), x: "x" },
            operands: &["from", "to", "x"], typing: of("x"), width: as_wide("x"), price: Price::Folded;
    }
    Fix {
        "fix" "a value in the place of a loop variable":
            form: Form::Replaced { variable: "variable", by: By::Value("value"), x: "x" },
            operands: &["variable", "value", "x"], typing: of("x"), width: as_wide("x"),
            asks: &[("value", "i64 scalar")], price: Price::Folded;
    }
    After {
        "after" "in the store that a statement leaves, which is undone afterwards":
            form: Form::After { first: "first", x: "x" },
            operands: &["first", "x"], typing: of("x"), width: as_wide("x"), price: Price::Folded;
    }
    Forget {
        "forget" "a statement after which a tensor holds zeros":
            form: Form::Forget { address: "address", statement: "statement" },
            operands: &["address", "statement"], asks: &[("address", "2")], writes: &["address"],
            price: Price::Folded;
    }

    // Whole tensors.
    Stored {
        "stored" "a stored tensor":
            form: Form::Stored("address"),
            operands: &["address"], typing: of("address"), reads: &["address"];
    }
    Output {
        "write-tensor" "writes every element of a tensor":
            form: output(Part::Whole),
            operands: &["to", "from"], writes: &["to"], price: Price::Folded;
    }
    OutputSlot {
        "write-slot" "writes one slot of every block":
            form: output(Part::Slot("slot")),
            operands: &["to", "slot", "from"], writes: &["to"], price: Price::Folded,
            asks: &[("to", "3"), ("slot", "i64 scalar"), ("from", "2")];
    }
    OutputColumns {
        "write-columns" "writes some columns":
            form: output(Part::Columns("column")),
            operands: &["to", "column", "from"], writes: &["to"], price: Price::Folded,
            asks: &[("to", "2"), ("column", "i64 scalar"), ("from", "2")];
    }
    Element {
        "element" "an element of a tensor":
            form: Form::Element { tensor: "tensor", index: [Some("i"), Some("j"), Some("k")] },
            operands: &["tensor", "i", "j?", "k?"], typing: of("tensor"), width: SCALAR,
            price: Price::Folded, asks: &[("i", "i64"), ("j", "i64"), ("k", "i64")];
    }
    Extent {
        "extent" "an extent of a tensor":
            form: Form::Extent { of: "tensor", k: "k" },
            operands: &["tensor", "k"], literals: &["k"], typing: I64, width: SCALAR, price: Price::Folded,
            asks: &[("tensor", "any")];
    }
}
