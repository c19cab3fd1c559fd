//! The functions that a C file exports, and their header.

use super::expression::Writer;
use super::vectors::scalar;
use super::{Requirement, Source};
use crate::dlc::{Dim, Type};
use itertools::Itertools;

/// Completes the file: types and functions, the program, and the functions that others call.
pub(super) fn source(mut writer: Writer<'_>, requirements: &[Requirement]) -> Source {
    let checks = checks(&mut writer, requirements);
    let Writer { program, names, functions, out, .. } = writer;
    let name = names.program.clone();
    let sizes = names.sizes.iter().map(|size| format!("int64_t {size}"));
    let declared = |restrict: &str| -> Vec<String> {
        let tensors = program.tensors.iter().zip(&names.tensors);
        let tensors = tensors.map(|(tensor, name)| {
            let constant = if tensor.writable { "" } else { "const " };
            format!("{constant}{} *{restrict}{name}", scalar(tensor.dtype))
        });
        let all: Vec<String> = sizes.clone().chain(tensors).collect();
        if all.is_empty() { vec!["void".to_owned()] } else { all }
    };
    let shapes = program.tensors.iter().zip(&names.tensors).map(|(tensor, name)| {
        let extents = tensor.shape.iter().map(|dim| match dim {
            Dim::Const(n) => n.to_string(),
            Dim::Size(size) => names.sizes[size.index()].clone(),
        });
        let written = if tensor.writable { ", written" } else { "" };
        format!("//   {name}: {} [{}]{written}\n", tensor.dtype, extents.format("]["))
    });
    let shapes: String = shapes.collect();
    let rules: String = checks
        .iter()
        .enumerate()
        .map(|(at, (_, says))| format!("//   {}: {says}\n", at + 1))
        .collect();
    let all: Vec<String> = names.sizes.iter().chain(&names.tensors).cloned().collect();
    let arguments = wrapped(&all);
    let given: Vec<String> = sizes
        .clone()
        .enumerate()
        .map(|(at, _)| format!("sizes[{at}]"))
        .chain((0..program.tensors.len()).map(|at| format!("tensors[{at}]")))
        .collect();
    let run = wrapped(&declared("restrict "));
    let plain = wrapped(&declared(""));
    let tested: String = checks
        .iter()
        .enumerate()
        .map(|(at, (test, _))| format!("  if (!{test}) return {};\n", at + 1))
        .collect();
    let (types, replaceable) = functions.finish();
    let body = out.text();
    let call = wrapped(&given);
    let text = format!(
        "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n\n{types}\
         void {name}_unchecked({run}) {{\n{body}}}\n\n\
         int {name}({plain}) {{\n{tested}  {name}_unchecked({arguments});\n  return 0;\n}}\n\n\
         int {name}_call(const int64_t *sizes, void *const *tensors, int checked) {{\n\
         {}  if (checked) return {name}({call});\n  {name}_unchecked({call});\n  return 0;\n}}\n",
        if names.sizes.is_empty() { "  (void)sizes;\n" } else { "" },
    );
    let errors = if checks.is_empty() {
        "// Returns 0.\n".to_owned()
    } else {
        format!(
            "// Returns 0, or the number of what does not hold, and then writes nothing:\n{rules}"
        )
    };
    let pointers: String = replaceable
        .iter()
        .map(|exported| {
            let own = scalar(exported.dtype);
            let operands = match exported.function {
                super::functions::Function::Unary(_) => own.to_owned(),
                super::functions::Function::Binary(_) => format!("{own}, {own}"),
            };
            format!("extern {own} (*{})({operands});\n", exported.symbol)
        })
        .collect();
    let pointers = match pointers.is_empty() {
        true => pointers,
        false => format!("\n// Functions of the C library, which may be replaced.\n{pointers}"),
    };
    let guard = format!("{}_H", name.to_uppercase());
    let header = format!(
        "#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n\
         // Tensors are row-major, and none overlaps one that is written:\n{shapes}{errors}\
         int {name}({plain});\n\n\
         // Runs without looking at the data: what does not hold makes it read or write anywhere.\n\
         void {name}_unchecked({plain});\n\n\
         // Calls one of both with sizes and tensors in the order of their parameters.\n\
         int {name}_call(const int64_t *sizes, void *const *tensors, int checked);\n{pointers}\n\
         #ifdef __cplusplus\n}}\n#endif\n\n#endif\n"
    );
    let (sizes, tensors) = (program.sizes.len(), program.tensors.len());
    Source { name, sizes, tensors, text, header, replaceable }
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

/// Returns a test in C for each requirement, and what it says.
fn checks(writer: &mut Writer<'_>, requirements: &[Requirement]) -> Vec<(String, String)> {
    let mut check = |requirement: &Requirement| {
        let (tensor, end) = match requirement {
            Requirement::Below { indices, below } => (*indices, *below),
            Requirement::Partition { offsets, end } => (*offsets, *end),
        };
        let decl = &writer.program.tensors[tensor.index()];
        let name = writer.names.tensors[tensor.index()].clone();
        let extent = |dim: &Dim| match dim {
            Dim::Const(n) => n.to_string(),
            Dim::Size(size) => writer.names.sizes[size.index()].clone(),
        };
        let elements = decl.shape.iter().map(extent).join(" * ");
        let elements = if elements.is_empty() { "1".to_owned() } else { elements };
        let end = extent(&end);
        let (function, says) = match requirement {
            Requirement::Below { .. } => {
                ("below", format!("an element of {name} is negative, or not below {end}"))
            }
            Requirement::Partition { .. } => (
                "partition",
                format!("{name} does not start at 0, falls, or does not end at {end}"),
            ),
        };
        let ty = Type::scalar(decl.dtype);
        writer.functions.of_type(function, ty);
        (format!("{function}_{}({name}, {elements}, {end})", decl.dtype), says)
    };
    requirements.iter().map(&mut check).collect()
}
