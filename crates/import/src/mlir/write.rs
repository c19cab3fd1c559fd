//! Writes a statement of one processor as MLIR text, by the rows that read it: an operator of a term becomes the
//! operation whose row is this operator of its operands. Reading the text gives an equal statement.

mod emit;
mod places;
mod values;

use super::lines::{ADDS, TRANSPOSED};
use super::rows::Rows;
use super::types::{Elem, Type};
use super::{Kernel, Purpose};
use egg::{Id, Language};
use ember_language::term::{Head, Node, Term};
use ember_model::Extent;
use ember_values::scalar::DType;
use emit::Text;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use thiserror::Error;

/// The reason why a statement has no MLIR text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unwritten {
    /// An operator has no counterpart.
    #[error("`{0}` has no counterpart in MLIR text")]
    Operator(String),
    /// An element type has no counterpart.
    #[error("elements of type {0} have no counterpart in MLIR text")]
    Elements(DType),
    /// The text would be too long.
    #[error("the text has more than {} lines", LINES)]
    Long,
}

/// The most lines of a text.
const LINES: usize = 1 << 18;

/// A value of the text: its name and its type, which is that of a number or of lanes.
#[derive(Clone, Debug)]
struct Value {
    name: String,
    of: Type,
}

impl Value {
    /// Returns a value of the type `index`.
    fn index(name: String) -> Value {
        Value { name, of: Type::Scalar(Elem::Index) }
    }

    /// Returns the type of a number, or of one lane.
    fn elem(&self) -> Elem {
        self.of.elem().unwrap_or(Elem::Index)
    }
}

/// The state of writing.
struct Writer<'a> {
    rows: &'static Rows,
    term: &'a Term,
    kernel: &'a Kernel,
    text: Text,
    /// The variables of the loops around, as values.
    variables: Vec<(Id, Value)>,
    /// The values that the current statement has computed, innermost region last.
    known: Vec<FxHashMap<Id, Value>>,
    /// The heads of forms, by the names of forms.
    heads: BTreeMap<&'static str, String>,
}

/// The forms that terms are recognised by.
const FORMS: [&str; 27] = [
    "loop",
    "reduce",
    "variable",
    "index",
    "input",
    "output",
    "symbolic",
    "element",
    "load",
    "load-ahead",
    "store",
    "accumulate",
    "sequence",
    "nothing",
    "constant",
    "frozen",
    "barrier",
    "lanes",
    "broadcast",
    "fold",
    "sum",
    "matrix-product",
    "matrix-product-transposed",
    "matrix-product-rows",
    "matrix-product-columns",
    "matrix-product-added",
    "matrix-product-part",
];

/// Returns the MLIR text of a kernel, whose definitions are expanded.
pub fn text(kernel: &Kernel) -> Result<String, Unwritten> {
    let rows = Rows::shipped().map_err(Unwritten::Operator)?;
    let head = |name: &&'static str| {
        let (head, _) = rows.form(name)?.form()?;
        Some((*name, head.to_owned()))
    };
    let mut writer = Writer {
        rows,
        term: &kernel.term,
        kernel,
        text: Text::default(),
        variables: Vec::new(),
        known: vec![FxHashMap::default()],
        heads: FORMS.iter().filter_map(head).collect(),
    };
    if let Some(root) = kernel.term.len().checked_sub(1) {
        writer.statement(Id::from(root))?;
    }
    writer.function()
}

impl Writer<'_> {
    /// Returns the form of a node.
    fn form(&self, node: &Node) -> Option<&'static str> {
        let name = node.name()?;
        self.heads.iter().find(|(_, head)| *head == name).map(|(form, _)| *form)
    }

    /// Returns the function around the text so far.
    fn function(mut self) -> Result<String, Unwritten> {
        let mut arguments = Vec::new();
        let mut own = Vec::new();
        let kernel = self.kernel;
        for tensor in &kernel.tensors {
            let of = memory(&tensor.shape, tensor.dtype)?;
            let name = value(&tensor.name);
            match tensor.purpose {
                Purpose::Input | Purpose::Output => arguments.push(format!("{name}: {of}")),
                Purpose::Scratch => {
                    let sizes = tensor.shape.iter().filter(|e| !matches!(e, Extent::Const(_)));
                    let extents = sizes.map(|extent| Ok(self.size(&extent.to_string())?.name));
                    let extents = extents.collect::<Result<Vec<String>, Unwritten>>()?;
                    own.push(format!("  {name} = memref.alloc({}) : {of}", extents.join(", ")));
                }
            }
        }
        arguments.extend(self.kernel.sizes.iter().map(|size| format!("{}: index", value(size))));
        let name: String = self.kernel.name.chars().map(plain).collect();
        let mut lines = vec![format!("func.func @{name}({}) {{", arguments.join(", "))];
        lines.extend(self.text.first);
        lines.extend(own);
        lines.extend(self.text.lines);
        lines.extend(["  return".to_owned(), "}".to_owned()]);
        Ok(lines.join("\n") + "\n")
    }

    /// Writes a statement.
    fn statement(&mut self, id: Id) -> Result<(), Unwritten> {
        ember_language::sexp::deeper(|| self.stated(id))
    }

    fn stated(&mut self, id: Id) -> Result<(), Unwritten> {
        let node = &self.term[id];
        let children = node.children().to_vec();
        match (self.form(node), &children[..]) {
            (Some("sequence"), [first, second]) => {
                self.statement(*first)?;
                self.statement(*second)
            }
            (Some("nothing" | "barrier"), []) => Ok(()),
            (Some("loop"), &[variable, lo, hi, step, body]) => {
                let bounds = self.bounds([lo, hi, step])?;
                let name = self.text.fresh();
                self.text.line(&format!("scf.for {name} = {bounds} {{"))?;
                self.inside(variable, name, |writer| writer.statement(body))?;
                self.text.line("}")
            }
            (Some("store"), &[address, stored]) => self.apart(|writer| {
                let stored = writer.value(stored)?;
                let place = writer.place(address)?;
                writer.store(&place, stored)
            }),
            (Some("accumulate"), &[fold, address, added]) => self.apart(|writer| {
                let place = writer.place(address)?;
                let before = writer.load(&place)?;
                let added = writer.value(added)?;
                let after = writer.folded(fold, before, added)?;
                writer.store(&place, after)
            }),
            (Some("matrix-product"), &[out, a, b]) => {
                self.apart(|writer| writer.product(false, [out, a, b]))
            }
            (Some("matrix-product-transposed"), &[out, a, b]) => {
                self.apart(|writer| writer.product(true, [out, a, b]))
            }
            (Some("matrix-product-rows"), &[out, a, b, count, end, first]) => {
                self.apart(|writer| writer.rows_of_product([out, a, b], [count, end, first], None))
            }
            (Some("matrix-product-part"), &[out, a, b, count, end, first, deep, last, from]) => {
                let depth = Some([deep, last, from]);
                self.apart(|writer| writer.rows_of_product([out, a, b], [count, end, first], depth))
            }
            (Some("matrix-product-columns"), &[out, a, b, first]) => {
                self.apart(|writer| writer.columns_of_product([out, a, b], first, TRANSPOSED))
            }
            (Some("matrix-product-added"), &[out, a, b, first]) => {
                self.apart(|writer| writer.columns_of_product([out, a, b], first, ADDS))
            }
            _ => Err(Unwritten::Operator(node.to_string())),
        }
    }

    /// Returns the bounds of a loop as text.
    fn bounds(&mut self, bounds: [Id; 3]) -> Result<String, Unwritten> {
        self.apart(|writer| {
            let [lo, hi, step] = bounds;
            let mut names = Vec::new();
            for bound in [lo, hi, step] {
                let bound = writer.value(bound)?;
                names.push(writer.as_elem(bound, Elem::Index)?.name);
            }
            Ok(format!("{} to {} step {}", names[0], names[1], names[2]))
        })
    }

    /// Writes the region of a loop.
    fn inside<T>(
        &mut self,
        variable: Id,
        name: String,
        write: impl FnOnce(&mut Self) -> Result<T, Unwritten>,
    ) -> Result<T, Unwritten> {
        self.variables.push((variable, Value::index(name)));
        self.text.indent += 1;
        let written = self.apart(write);
        self.text.indent -= 1;
        self.variables.pop();
        written
    }

    /// Writes something whose values are known nowhere else.
    fn apart<T>(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<T, Unwritten>,
    ) -> Result<T, Unwritten> {
        self.known.push(FxHashMap::default());
        let written = write(self);
        self.known.pop();
        written
    }

    /// Returns the name that a node without operands is.
    fn name_of(&self, id: Id) -> &'static str {
        match self.term[id].head() {
            Head::Op(name) => name.as_str().trim_start_matches('%'),
            Head::Int(_) | Head::Real(_) => "",
        }
    }
}

/// Returns a character of a name.
fn plain(c: char) -> char {
    if c.is_ascii_alphanumeric() || "_.$".contains(c) { c } else { '_' }
}

/// Returns the name of a value.
fn value(name: &str) -> String {
    format!("%{}", name.chars().map(plain).collect::<String>())
}

/// Returns the type of elements in the text.
fn elem(dtype: DType) -> Result<Elem, Unwritten> {
    match dtype {
        DType::I64 => Ok(Elem::Index),
        DType::U8 | DType::U4 => Err(Unwritten::Elements(dtype)),
        dtype => Ok(Elem::Of(dtype)),
    }
}

/// Returns the type of a memory.
fn memory(shape: &[Extent], dtype: DType) -> Result<String, Unwritten> {
    let extents = shape.iter().map(|extent| match extent {
        Extent::Const(n) => format!("{n}x"),
        Extent::Size { .. } => "?x".to_owned(),
    });
    Ok(format!("memref<{}{}>", extents.collect::<String>(), elem(dtype)?))
}
