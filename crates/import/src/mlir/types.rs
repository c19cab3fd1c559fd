//! The types of values.

use ember_values::scalar::{DType, Scalar};
use std::fmt;
use std::rc::Rc;

/// The type of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Elem {
    /// An index, which is an i64 in programs.
    Index,
    /// A truth value, which is an i64 in programs.
    Bit,
    /// A number.
    Of(DType),
}

impl Elem {
    /// Parses the name of a type; integers without a sign have none.
    pub(super) fn parse(word: &str) -> Option<Elem> {
        match word {
            "index" => Some(Elem::Index),
            "i1" => Some(Elem::Bit),
            word if word.starts_with('u') => None,
            word => DType::parse(word).map(Elem::Of),
        }
    }

    /// Returns the type of a program's elements in MLIR, where an i64 is an index.
    pub(super) fn of(dtype: DType) -> Elem {
        if dtype == Elem::Index.dtype() { Elem::Index } else { Elem::Of(dtype) }
    }

    /// Returns the type in programs.
    pub(super) fn dtype(self) -> DType {
        match self {
            Elem::Index | Elem::Bit => DType::I64,
            Elem::Of(dtype) => dtype,
        }
    }
}

impl fmt::Display for Elem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Elem::Index => f.write_str("index"),
            Elem::Bit => f.write_str("i1"),
            Elem::Of(dtype) => dtype.fmt(f),
        }
    }
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// One number.
    Scalar(Elem),
    /// So many numbers.
    Vector(u64, Elem),
    /// Memory of some extents; `None` for an extent that is known only with the data.
    Memory(Rc<[Option<u64>]>, Elem),
    /// Memory of rank 0 that holds so many numbers.
    Cell(u64, Elem),
    /// A structure of numbers, of which only fields are used.
    Struct,
    /// A traversal unit.
    Unit,
}

impl Type {
    /// Returns the type of one element of a scalar or vector.
    pub(super) fn elem(&self) -> Option<Elem> {
        match self {
            Type::Scalar(elem) | Type::Vector(_, elem) => Some(*elem),
            Type::Memory(..) | Type::Cell(..) | Type::Struct | Type::Unit => None,
        }
    }

    /// Returns the type with another element type.
    pub(super) fn of(&self, elem: Elem) -> Type {
        match self {
            Type::Vector(lanes, _) => Type::Vector(*lanes, elem),
            _ => Type::Scalar(elem),
        }
    }

    /// Parses what stands between `memref<` or `vector<` and the `>` that closes it.
    pub(super) fn shaped(word: &str, inside: &str) -> Result<Type, &'static str> {
        if let Some(vector) = inside.strip_prefix("vector<").and_then(|of| of.strip_suffix('>')) {
            return match Type::shaped("vector", vector)? {
                Type::Vector(lanes, elem) if word == "memref" => Ok(Type::Cell(lanes, elem)),
                _ => Err("this element type has no counterpart"),
            };
        }
        let (mut rest, layout) = inside.split_once(',').unwrap_or((inside, ""));
        if !layout.is_empty() {
            return Err("memory with a layout or in another space has no counterpart");
        }
        let mut extents = Vec::new();
        loop {
            rest = rest.trim();
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let length = if rest.starts_with('?') { 1 } else { digits };
            let Some(behind) = rest.get(length..).filter(|_| length > 0) else { break };
            let Some(behind) = behind.trim_start().strip_prefix('x') else { break };
            extents.push(match &rest[..length] {
                "?" => None,
                number => {
                    let number = number.parse().ok().filter(|n| *n <= super::LARGEST);
                    Some(number.ok_or("an extent is larger than 2^40")?)
                }
            });
            rest = behind;
        }
        let elem = Elem::parse(rest).ok_or("this element type has no counterpart")?;
        match (word, extents.as_slice()) {
            ("vector", [Some(lanes)]) if (1..=super::LANES).contains(lanes) => {
                Ok(Type::Vector(*lanes, elem))
            }
            ("vector", _) => Err("a vector has one dimension of 1 to 1024 lanes"),
            _ if elem == Elem::Bit => Err("memory of i1 has no counterpart"),
            _ if extents.len() > super::RANK => Err("memory has at most 8 dimensions"),
            _ => Ok(Type::Memory(extents.into(), elem)),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Scalar(elem) => elem.fmt(f),
            Type::Vector(lanes, elem) => write!(f, "vector<{lanes}x{elem}>"),
            Type::Memory(extents, elem) => {
                f.write_str("memref<")?;
                for extent in extents.iter() {
                    match extent {
                        Some(n) => write!(f, "{n}x")?,
                        None => f.write_str("?x")?,
                    }
                }
                write!(f, "{elem}>")
            }
            Type::Cell(lanes, elem) => write!(f, "memref<vector<{lanes}x{elem}>>"),
            Type::Struct => f.write_str("!llvm.struct"),
            Type::Unit => f.write_str("!dlc.tu"),
        }
    }
}

/// Writes a number as a constant: infinities and NaN by their bits, and an exponent with a point before it.
pub(super) fn literal(number: Scalar) -> String {
    if !number.as_f64().is_finite() {
        let width = (number.dtype().bits() / 4) as usize;
        return format!("0x{:0width$X}", number.to_bits());
    }
    let text = number.to_string();
    match text.split_once('e') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0e{exponent}"),
        _ => text,
    }
}
