//! C identifiers for the names of a program.

use super::functions::of_one_form;
use crate::dlc::{Dim, Program};
use std::collections::BTreeSet;

/// The words that C, its library or the written code uses for something else.
const TAKEN: &str = "auto break case char const continue default do double else enum extern float for goto if inline \
    int long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile \
    while asm typeof main p k sizes tensors exp log pow sin cos tan tanh sqrt erf floor ceil round abs labs index \
    y0 y1 yn j0 j1 jn gamma read write time bool true false NULL NAN INFINITY";

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
        let taken = TAKEN.split_whitespace().chain(of_one_form()).map(str::to_owned).collect();
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
        let mut candidates = (2..).map(|n| format!("{base}_{n}"));
        let mut chosen = base.clone();
        while !self.taken.insert(chosen.clone()) {
            chosen = candidates.next().unwrap_or_default();
        }
        chosen
    }
}
