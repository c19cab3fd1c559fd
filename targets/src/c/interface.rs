//! The functions that a C file exports, and their header.

use super::expression::Writer;
use super::functions::{Exported, Function};
use super::names::Names;
use super::vectors::scalar;
use super::{Requirement, Source};
use crate::dlc::{Program, Type};
use itertools::Itertools;

/// The texts of the C file and of its header, in which words with `$` are replaced.
const FILE: &str = include_str!("interface.c");
const HEADER: &str = include_str!("interface.h");

/// Completes the file: types and functions, the program, and the functions that others call.
pub(super) fn source(mut writer: Writer<'_>, requirements: &[Requirement]) -> Source {
    let checks: Vec<Check> =
        requirements.iter().map(|requirement| check(&mut writer, requirement)).collect();
    let Writer { program, names, functions, out, .. } = writer;
    let (functions, replaceable) = functions.finish();
    let own: Vec<String> = names.sizes.iter().chain(&names.tensors).cloned().collect();
    let numbered = checks.iter().zip(1..);
    let tests = numbered.clone().map(|(check, n)| format!("  if (!{}) return {n};\n", check.test));
    let errors = numbered.map(|(check, n)| format!("\n//   {n}: {}", check.error));
    let errors = match checks.is_empty() {
        true => ".".to_owned(),
        false => format!(
            ", or the number of what does not hold, and then writes nothing:{}",
            errors.format("")
        ),
    };
    let words = [
        ("$FUNCTIONS", functions),
        ("$BODY", out.text().to_owned()),
        ("$TESTS", tests.collect()),
        ("$ERRORS", errors),
        ("$SHAPES", shapes(program, &names)),
        ("$RESTRICTED", parameters(program, &names, "restrict ")),
        ("$PARAMETERS", parameters(program, &names, "")),
        ("$ARGUMENTS", wrapped(&own)),
        ("$GIVEN", given(program)),
        ("$REPLACEABLE", replaceable.iter().map(pointer).collect()),
        ("$GUARD", names.program.to_uppercase()),
        ("$NAME", names.program.clone()),
    ];
    let filled = |text: &str| {
        words.iter().fold(text.to_owned(), |text, (word, with)| text.replace(word, with))
    };
    Source {
        sizes: program.sizes.len(),
        tensors: program.tensors.len(),
        text: filled(FILE),
        header: filled(HEADER),
        name: names.program,
        threaded: out.text().contains("#pragma omp "),
        replaceable,
    }
}

/// Returns the parameters of the program's function: sizes, and pointers to tensors.
fn parameters(program: &Program, names: &Names, restrict: &str) -> String {
    let sizes = names.sizes.iter().map(|size| format!("int64_t {size}"));
    let tensors = program.tensors.iter().zip(&names.tensors).map(|(tensor, name)| {
        let constant = if tensor.writable() { "" } else { "const " };
        format!("{constant}{} *{restrict}{name}", scalar(tensor.dtype))
    });
    let all: Vec<String> = sizes.chain(tensors).collect();
    if all.is_empty() { "void".to_owned() } else { wrapped(&all) }
}

/// Returns the arguments of a call with arrays of sizes and tensors.
fn given(program: &Program) -> String {
    let sizes = (0..program.sizes.len()).map(|at| format!("sizes[{at}]"));
    let tensors = (0..program.tensors.len()).map(|at| format!("tensors[{at}]"));
    wrapped(&sizes.chain(tensors).collect::<Vec<_>>())
}

/// Returns a comment with the types and shapes of tensors.
fn shapes(program: &Program, names: &Names) -> String {
    let tensors = program.tensors.iter().zip(&names.tensors).map(|(tensor, name)| {
        let extents = tensor.shape.iter().map(|dim| names.extent(dim));
        let written = if tensor.writable() { ", written" } else { "" };
        format!("//   {name}: {} [{}]{written}\n", tensor.dtype, extents.format("]["))
    });
    tensors.collect()
}

/// Returns the declaration of a function that a caller may replace.
fn pointer(exported: &Exported) -> String {
    let own = scalar(exported.dtype);
    let operands = match exported.function {
        Function::Unary(_) => own.to_owned(),
        Function::Binary(_) => format!("{own}, {own}"),
    };
    format!(
        "\n// A function of the C library, which may be replaced.\nextern {own} (*{})({operands});\n",
        exported.symbol
    )
}

/// The columns of a line of parameters.
const WIDTH: usize = 100;

/// Returns parameters in lines of a moderate length.
fn wrapped(parameters: &[String]) -> String {
    let (mut text, mut column) = (String::new(), WIDTH / 2);
    for (at, parameter) in parameters.iter().enumerate() {
        if at > 0 {
            let breaks = column + parameter.len() > WIDTH;
            text.push_str(if breaks { ",\n    " } else { ", " });
            column = if breaks { 4 } else { column + 2 };
        }
        text.push_str(parameter);
        column += parameter.len();
    }
    text
}

/// The check of a requirement.
struct Check {
    /// The test in C.
    test: String,
    /// The reason that it fails.
    error: String,
}

/// Returns the check of a requirement.
fn check(writer: &mut Writer<'_>, requirement: &Requirement) -> Check {
    let (tensor, end, function) = match requirement {
        Requirement::Below { indices, below } => (*indices, below, "below"),
        Requirement::Partition { offsets, end } => (*offsets, end, "partition"),
    };
    let decl = &writer.program.tensors[tensor.index()];
    let name = &writer.names.tensors[tensor.index()];
    let end = writer.names.extent(end);
    let elements = writer.names.elements(&decl.shape);
    let error = match requirement {
        Requirement::Below { .. } => {
            format!("an element of {name} is negative, or not below {end}")
        }
        Requirement::Partition { .. } => {
            format!("{name} does not start at 0, falls, or does not end at {end}")
        }
    };
    let function = writer.functions.of_type(function, Type::scalar(decl.dtype));
    Check { test: format!("{function}({name}, {elements}, {end})"), error }
}
