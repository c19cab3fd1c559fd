//! The functions and types that the code of a program needs, each written once before it, from the templates of
//! `functions.c`.

use super::vectors::{Pieces, mask, scalar, vector};
use crate::dlc::Type;
use ember_values::scalar::{BinaryOp, DType, UnaryOp};
use itertools::Itertools;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The templates, each under a line with its name.
const TEMPLATES: &str = include_str!("functions.c");

/// The lanes of vectors in which a single number is computed by a function of lanes.
const FEW: u32 = 4;

/// A function on numbers that the written code calls through an exported pointer, so that a caller may replace the C
/// library's, whose last bits differ from system to system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The symbol of the pointer.
    pub symbol: String,
    /// The type of operands and result.
    pub dtype: DType,
    /// The function.
    pub function: Function,
}

/// A function of the C library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// A function of one number.
    Unary(UnaryOp),
    /// A function of two numbers.
    Binary(BinaryOp),
}

/// The types and functions that are written so far.
#[derive(Debug)]
pub(super) struct Functions {
    /// The C name of the program.
    program: String,
    vectors: BTreeSet<(DType, u32)>,
    known: BTreeSet<String>,
    text: String,
    exported: Vec<Exported>,
}

impl Functions {
    /// Returns no functions yet, for a program of this C name.
    pub fn of(program: &str) -> Functions {
        Functions {
            program: program.to_owned(),
            vectors: BTreeSet::new(),
            known: BTreeSet::new(),
            text: String::new(),
            exported: Vec::new(),
        }
    }

    /// Returns the declarations of types, the functions, and the functions that a caller may replace.
    pub fn finish(self) -> (String, Vec<Exported>) {
        let typedef = |&(dtype, lanes): &(DType, u32)| {
            let (element, name) = (scalar(dtype), type_name(dtype, lanes));
            let (bytes, aligned) =
                (dtype.bits().max(8) / 8 * u64::from(lanes), dtype.bits().max(8) / 8);
            format!(
                "typedef {element} {name} __attribute__((vector_size({bytes}), aligned({aligned}), may_alias));\n"
            )
        };
        let types: String = self.vectors.iter().map(typedef).collect();
        (format!("{types}\n{}", self.text), self.exported)
    }

    /// Returns the C type of one vector, or of an element.
    pub fn vector(&mut self, dtype: DType, lanes: u32) -> String {
        if lanes == 1 {
            return scalar(dtype).to_owned();
        }
        self.vectors.insert((dtype, lanes));
        type_name(dtype, lanes)
    }

    /// Returns the C type of masks for vectors of elements of a type.
    pub fn mask(&mut self, dtype: DType, lanes: u32) -> String {
        let own = match dtype.bits() {
            64 => DType::I64,
            32 => DType::I32,
            _ => DType::I8,
        };
        self.vectors.insert((own, lanes));
        format!("{}x{lanes}", mask(dtype).0)
    }

    /// Returns the name of a function of a template on vectors or elements of a type.
    pub fn of_type(&mut self, template: &str, ty: Type) -> String {
        match template.strip_suffix("_first") {
            Some(whole) => self.first(template, whole, ty),
            None => self.instance(template, template, ty),
        }
    }

    /// Returns the name of a load or store of the first lanes alone, which is made of those of half as many.
    fn first(&mut self, template: &str, whole: &str, ty: Type) -> String {
        if ty.lanes <= 2 {
            return self.instance(&format!("{template} of two"), template, ty);
        }
        self.instance(whole, whole, ty);
        let half = Type { lanes: ty.lanes / 2, ..ty };
        self.first(template, whole, half);
        let list = |lanes: Range<u32>| lanes.map(|lane| lane.to_string()).join(", ");
        let (low, high) = (list(0..half.lanes), list(half.lanes..ty.lanes));
        let all = list(0..ty.lanes);
        let half = type_name(half.dtype, half.lanes);
        let name = format!("{template}_{}", type_name(ty.dtype, ty.lanes));
        self.write(
            &name,
            template,
            ty,
            &[("$H", &half), ("$I", &all), ("$A", &low), ("$B", &high)],
        );
        name
    }

    /// Returns the name of the maximum, or another function that is no operator in C, on vectors or elements.
    pub fn binary(&mut self, op: BinaryOp, ty: Type) -> String {
        let name = op.name();
        let element = Type::scalar(ty.dtype);
        if ty.lanes == 1 {
            let float = format!("{name} float");
            return match (ty.dtype.is_float(), template(&float), template(name)) {
                (true, Some(_), _) => self.instance(&float, name, ty),
                (false, _, Some(_)) => self.instance(name, name, ty),
                _ => self.replaceable("replaceable of two", Function::Binary(op), ty.dtype),
            };
        }
        let kind = if ty.dtype.is_float() { " float" } else { "" };
        let lanes = format!("{name}{kind} lanes");
        if template(&lanes).is_some() {
            self.of_type("select", ty);
            return self.instance(&lanes, name, ty);
        }
        self.binary(op, element);
        self.instance("each lane of two", name, ty)
    }

    /// Returns the name of a function of one number on vectors or elements.
    pub fn unary(&mut self, op: UnaryOp, ty: Type) -> String {
        let name = op.name();
        if ty.lanes > 1 {
            let lanes = format!("{name} {} lanes", ty.dtype.name());
            if template(&lanes).is_some() {
                self.of_type("splat", ty);
                self.of_type("select", ty);
                return self.instance(&lanes, name, ty);
            }
            self.unary(op, Type::scalar(ty.dtype));
            return self.instance("each lane", name, ty);
        }
        if template(&format!("{name} {} lanes", ty.dtype.name())).is_some() {
            self.unary(op, Type { lanes: FEW, ..ty });
            return self.instance("of lanes", name, ty);
        }
        match template(name) {
            Some(_) => self.instance(name, name, ty),
            None => self.replaceable("replaceable", Function::Unary(op), ty.dtype),
        }
    }

    /// Returns the name of the fold of lanes by an operation. Those that fill a power of two of vectors are folded a vector
    /// at a time, in the same order.
    pub fn fold(&mut self, op: BinaryOp, ty: Type, pieces: Pieces) -> String {
        let Pieces { lanes, count, padded } = pieces;
        if count == 1 || padded || !count.is_power_of_two() {
            return self.fold_of_lanes(op, ty);
        }
        let piece = Type { lanes, ..ty };
        self.fold_of_lanes(op, piece);
        self.of_type("load", piece);
        let vectors = self.applied(op, piece);
        let (whole, count) = (ty.lanes.to_string(), count.to_string());
        let name = format!("fold_{}_{}_{whole}_of_{count}", op.name(), ty.dtype.name());
        let words = [("$E", vectors.as_str()), ("$O", op.name()), ("$L", &whole), ("$C", &count)];
        self.write(&name, "fold of vectors", piece, &words);
        name
    }

    fn fold_of_lanes(&mut self, op: BinaryOp, ty: Type) -> String {
        if ty.lanes > 2 && ty.lanes.is_power_of_two() {
            let half = Type { lanes: ty.lanes / 2, ..ty };
            self.fold_of_lanes(op, half);
            self.of_type("load", half);
            let vectors = self.applied(op, half);
            let name = format!("fold_{}_{}_{}", op.name(), ty.dtype.name(), ty.lanes);
            let whole = ty.lanes.to_string();
            let words = [("$E", vectors.as_str()), ("$O", op.name()), ("$W", &whole)];
            self.write(&name, "fold of halves", half, &words);
            return name;
        }
        let element = self.applied(op, Type::scalar(ty.dtype));
        let name = format!("fold_{}_{}_{}", op.name(), ty.dtype.name(), ty.lanes);
        let words = [("$E", element.as_str()), ("$O", op.name()), ("$N", &ty.lanes.to_string())];
        self.write(&name, "fold", Type::scalar(ty.dtype), &words);
        name
    }

    /// Returns an operation applied to an element and to the one half of the rest further on.
    fn applied(&mut self, op: BinaryOp, ty: Type) -> String {
        match op.infix(ty.dtype) {
            Some(sign) => format!("x[k] {sign} x[k + half]"),
            None => format!("{}(x[k], x[k + half])", self.binary(op, ty)),
        }
    }

    /// Returns the name of the absolute value.
    pub fn abs(&mut self, ty: Type) -> String {
        if ty.lanes == 1 {
            return self.instance("abs", "abs", ty);
        }
        let most = if ty.dtype == DType::F64 { "0x7fffffffffffffff" } else { "0x7fffffff" };
        let name = format!("abs_{ty}");
        self.write(&name, "abs lanes", ty, &[("$MOST", most)]);
        name
    }

    /// Returns the name of an exponential of binary32 that is not exact to the last bit.
    pub fn approximate_exp(&mut self, lanes: u32) -> String {
        let ty = Type { dtype: DType::F32, lanes };
        if lanes == 1 {
            self.approximate_exp(FEW);
            return self.instance("of lanes", "approximate_exp", ty);
        }
        self.of_type("splat", ty);
        self.of_type("select", ty);
        let name = format!("approximate_exp_{ty}");
        self.write(&name, "exp approximate", ty, &[]);
        name
    }

    /// Writes the product of matrices and the function that transposes a square of them, and returns the product's name.
    pub fn matmul(&mut self, ty: Type) -> String {
        for needed in ["load_first", "store_first", "splat"] {
            self.of_type(needed, ty);
        }
        let interleaved = |from: u32| {
            (from..from + ty.lanes / 2)
                .map(|lane| format!("{lane}, {}", lane + ty.lanes))
                .join(", ")
        };
        let (low, high) = (interleaved(0), interleaved(ty.lanes / 2));
        self.write(&format!("transpose_{ty}"), "transpose", ty, &[("$A", &low), ("$B", &high)]);
        self.plain("matmul", ty)
    }

    /// Returns the name of a store past the caches; `None` for vectors of which no processor has one.
    pub fn past(&mut self, ty: Type) -> Option<String> {
        let (feature, store) = match ty.dtype.bits() * u64::from(ty.lanes) {
            512 => ("__AVX512F__", "movntps512"),
            256 => ("__AVX__", "movntps256"),
            128 => ("__SSE__", "movntps"),
            _ => return None,
        };
        self.of_type("store", ty);
        let name = format!("store_past_{}", type_name(ty.dtype, ty.lanes));
        self.write(&name, "store_past", ty, &[("$FEATURE", feature), ("$STORE", store)]);
        Some(name)
    }

    /// Returns the name of the conversion from a floating-point type to an integer type.
    pub fn truncate(&mut self, from: DType, to: DType) -> String {
        let name = format!("{}_of_{}", to.name(), from.name());
        let (least, most) = match to {
            DType::I64 => ("INT64_MIN", "INT64_MAX"),
            DType::I32 => ("INT32_MIN", "INT32_MAX"),
            DType::I8 => ("INT8_MIN", "INT8_MAX"),
            DType::U4 => ("0", "15"),
            _ => ("0", "UINT8_MAX"),
        };
        let words = [("$LEAST", least), ("$MOST", most), ("$K", scalar(from)), ("$O", from.name())];
        self.write(&name, "truncate", Type::scalar(to), &words);
        name
    }

    /// Returns the name of a conversion of lanes one by one, by an expression of the lane `x[k]`.
    pub fn by_lane(&mut self, (from, to): (DType, DType), lanes: u32, each: &str) -> String {
        let (given, ty) = (self.vector(from, lanes), Type { dtype: to, lanes });
        let name = format!("{}_of_{}", type_name(to, lanes), type_name(from, lanes));
        self.write(&name, "by_lane", ty, &[("$F", &name), ("$G", &given), ("$E", each)]);
        name
    }

    /// Returns the name of the conversion from lanes of bytes to lanes of 32-bit integers.
    pub fn of_bytes(&mut self, from: DType, lanes: u32) -> String {
        let (words, extends) = if from == DType::I8 { ("int16_t", "s") } else { ("uint16_t", "z") };
        let name = format!("i32_of_{}", type_name(from, lanes));
        self.vectors.insert((DType::I32, lanes));
        self.write(
            &name,
            "lanes_of_bytes",
            Type { dtype: from, lanes },
            &[("$W", words), ("$X", extends)],
        );
        name
    }

    /// Writes a function that has one form, and what it is made of.
    pub fn plain(&mut self, name: &str, ty: Type) -> String {
        let lanes = name.starts_with("lanes_");
        let full = match name {
            "part" => "part_i64".to_owned(),
            "matmul" => format!("{name}_{}", ty.dtype),
            _ if lanes => format!("{name}_{ty}"),
            _ => name.to_owned(),
        };
        if lanes {
            let narrow = if name.ends_with("bf16") { DType::BF16 } else { DType::F16 };
            self.vectors.extend([(narrow, ty.lanes), (DType::I32, ty.lanes)]);
        }
        self.write(&full, name, ty, &[]);
        full
    }

    fn replaceable(&mut self, template: &str, function: Function, dtype: DType) -> String {
        let name = match function {
            Function::Unary(op) => op.name(),
            Function::Binary(op) => op.name(),
        };
        let symbol = format!("{}_{name}_{}", self.program, dtype.name());
        if !self.exported.iter().any(|known| known.symbol == symbol) {
            self.exported.push(Exported { symbol, dtype, function });
        }
        self.instance(template, name, Type::scalar(dtype))
    }

    /// Returns the name of a template's function, called `name` with the type, after it is written.
    fn instance(&mut self, template: &str, name: &str, ty: Type) -> String {
        let full = format!("{name}_{}", type_name(ty.dtype, ty.lanes));
        self.write(&full, template, ty, &[("$O", name)]);
        full
    }

    fn write(&mut self, name: &str, from: &str, ty: Type, words: &[(&str, &str)]) {
        if !self.known.insert(name.to_owned()) {
            return;
        }
        let (element, lanes) = (scalar(ty.dtype), ty.lanes.to_string());
        let own = self.vector(ty.dtype, ty.lanes);
        let mask = if ty.lanes > 1 { self.mask(ty.dtype, ty.lanes) } else { String::new() };
        let library = if ty.dtype == DType::F32 { "f" } else { "" };
        let own_words = [
            ("$V", own.as_str()),
            ("$T", element),
            ("$M", &mask),
            ("$N", &lanes),
            ("$S", ty.dtype.name()),
            ("$P", &self.program),
            ("$L", library),
        ];
        let mut text = template(from).unwrap_or_default().to_owned();
        for (word, with) in words.iter().chain(&own_words) {
            text = text.replace(word, with);
        }
        self.text.push_str(&text);
        self.text.push_str("\n\n");
    }
}

/// Returns the name of the type of a number of lanes. Elements of bf16 are held as their bits, those of u4 as bytes.
fn type_name(dtype: DType, lanes: u32) -> String {
    let name = vector(dtype, lanes);
    match (dtype, lanes) {
        (_, 1) => name,
        (DType::BF16, n) => format!("u16x{n}"),
        _ => name,
    }
}

/// Returns the names of the functions of templates whose names do not depend on a type.
pub(super) fn of_one_form() -> impl Iterator<Item = &'static str> {
    let defined = TEMPLATES.lines().filter(|line| line.starts_with("static "));
    let called = |line: &'static str| {
        let before = line.split('(').filter_map(|part| part.split([' ', '*']).next_back());
        before.into_iter().find(|word| !word.is_empty() && *word != "__attribute__")
    };
    defined.filter_map(called).filter(|name| !name.contains('$'))
}

/// Returns the text of a template.
fn template(name: &str) -> Option<&'static str> {
    let templates: BTreeMap<&str, &str> = templates().collect();
    templates.get(name).copied()
}

/// Returns the templates with their names. Each follows a line `//// name`.
fn templates() -> impl Iterator<Item = (&'static str, &'static str)> {
    let parts = TEMPLATES.split("//// ").filter_map(|part| part.split_once('\n'));
    parts.map(|(name, text)| (name, text.trim_end()))
}
