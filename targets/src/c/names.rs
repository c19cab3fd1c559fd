//! C identifiers for the names of a program.

use super::functions::of_one_form;
use crate::dlc::{Dim, Program};
use ember_values::scalar::DType;
use std::collections::BTreeSet;

/// The words that C, C++, their libraries or the written code use for something else.
const TAKEN: &str = "auto break case char const continue default do double else enum extern float for goto if inline \
    int long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile \
    while asm typeof typeof_unqual main p k sizes tensors abs labs llabs index y0 y1 yn j0 j1 jn gamma bool true false \
    alignas alignof and and_eq bitand bitor catch class co_await co_return co_yield compl concept const_cast consteval \
    constexpr constinit decltype delete dynamic_cast explicit export friend mutable namespace new noexcept not not_eq \
    nullptr operator or or_eq private protected public reinterpret_cast requires static_assert static_cast template \
    this thread_local throw try typeid typename using virtual wchar_t xor xor_eq NULL EOF NAN INFINITY linux unix i386 \
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t intmax_t uintmax_t size_t \
    ptrdiff_t ssize_t time_t float_t double_t fpclassify isfinite isgreater isinf isless isnan isnormal isunordered \
    signbit memchr memcmp memcpy memmove memset strlen strcpy strcmp malloc calloc realloc free printf puts abort exit \
    atexit signal raise system rand srand time clock read write open close fork kill sleep";

/// The functions of <math.h> that have a form for each type.
const MATH: &str = "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim \
    floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf \
    nan nearbyint nextafter nexttoward pow remainder remquo rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc";

/// Returns true if a name is like those of macros of the headers, or of types and functions of the written code, which
/// have an element type as one of their words.
fn is_reserved(name: &str) -> bool {
    let is_type = |word: &str| {
        let (element, lanes) = word.split_once('x').unwrap_or((word, "1"));
        DType::parse(element).is_some() && lanes.parse::<u64>().is_ok()
    };
    let starts = ["M_", "FP_", "MATH_", "HUGE_VAL"].iter().any(|start| name.starts_with(start));
    let ends = ["_MAX", "_MIN", "_WIDTH", "_C"].iter().any(|end| name.ends_with(end));
    starts || ends || name.split('_').any(is_type)
}

/// The C names of a program's sizes, tensors and registers, all different.
#[derive(Debug)]
pub(super) struct Names {
    /// The name of the program.
    pub program: String,
    /// The names of its sizes.
    pub sizes: Vec<String>,
    /// The names of its tensors.
    pub tensors: Vec<String>,
    /// The names of its registers.
    pub registers: Vec<String>,
    taken: BTreeSet<String>,
}

impl Names {
    /// Chooses names for a program.
    pub fn of(program: &Program) -> Names {
        let forms = |name: &str| ["", "f", "l"].map(|form| format!("{name}{form}"));
        let mut taken: BTreeSet<String> = MATH.split_whitespace().flat_map(forms).collect();
        taken.extend(TAKEN.split_whitespace().chain(of_one_form()).map(str::to_owned));
        let empty = || Vec::new();
        let (sizes, tensors, registers) = (empty(), empty(), empty());
        let mut names = Names { program: String::new(), sizes, tensors, registers, taken };
        names.program = names.fresh(&program.name);
        names.sizes = program.sizes.iter().map(|name| names.fresh(name)).collect();
        names.tensors = program.tensors.iter().map(|tensor| names.fresh(&tensor.name)).collect();
        names.registers = program.registers.iter().map(|own| names.fresh(&own.name)).collect();
        names
    }

    /// Returns an extent in C.
    pub fn extent(&self, dim: &Dim) -> String {
        match dim {
            Dim::Const(n) => n.to_string(),
            Dim::Size(size) => self.sizes[size.index()].clone(),
        }
    }

    /// Returns the number of a tensor's elements in C.
    pub fn elements(&self, shape: &[Dim]) -> String {
        let extents: Vec<String> = shape.iter().map(|dim| self.extent(dim)).collect();
        if extents.is_empty() { "1".to_owned() } else { extents.join(" * ") }
    }

    /// Returns a new identifier that is as close to a name as C allows. Names that end in an underscore and digits belong
    /// to types and functions of the written code, so that none is given unless it was free.
    pub fn fresh(&mut self, name: &str) -> String {
        let spelled = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let mut base: String = name.replace('+', "_plus_").chars().map(spelled).collect();
        if base.starts_with(|c: char| !c.is_ascii_alphabetic()) {
            base.insert(0, 'x');
        }
        if is_reserved(&base) {
            base.insert_str(0, "x_");
        }
        let mut candidates = (2..).map(|n| format!("{base}_{n}"));
        let mut chosen = base.clone();
        while !self.taken.insert(chosen.clone()) {
            chosen = candidates.next().unwrap_or_default();
        }
        chosen
    }
}
