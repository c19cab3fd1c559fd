//! The reader of DLC programs in text form. Text that [`ember_targets::print`] writes reads back as the same program.
//!
//! ```text
//! (dlc NAME
//!   (sizes NAME…)
//!   (tensor NAME DTYPE (EXTENT…))  (tensor_out NAME DTYPE (EXTENT…))
//!   (tensor_scratch NAME DTYPE (EXTENT…))
//!   (configure_access_engine
//!     (const_stream NAME TYPE NUMBER)  (size_stream NAME SIZE)  (get_ind_var NAME UNIT)
//!     (mem_stream NAME TYPE (at TENSOR STREAM…) HINT)  (alu_stream NAME TYPE OP STREAM STREAM)
//!     (broadcast_stream NAME TYPE STREAM)  (index_cast NAME STREAM)
//!     (new_tu NAME LO HI STEP)
//!     (on UNIT beg|ite|end ACTION…)
//!     (start ACTION…))
//!   (compute_loop
//!     (register NAME TYPE)
//!     (main STATEMENT…)
//!     (case NAME STATEMENT…)))
//!
//! ACTION     (register_callback CASE)  (register_operand STREAM)  (prefetch STREAM)
//!            (traverse UNIT)  (store_stream (at TENSOR STREAM…) STREAM)  (barrier)
//! STATEMENT  (set REGISTER VALUE)  (pop_operand REGISTER)  (store (at TENSOR VALUE…) VALUE)
//!            (accumulate OP (at TENSOR VALUE…) VALUE)
//!            (matmul MATRIX MATRIX MATRIX)  (matmul_t MATRIX MATRIX MATRIX)
//!            (matmul_add MATRIX MATRIX MATRIX)  (matmul_t_add MATRIX MATRIX MATRIX)
//!            (for REGISTER LO HI STEP STATEMENT…)  (walk UNIT REGISTER LO HI STEP STATEMENT…)
//! MATRIX     TENSOR  (at TENSOR VALUE)  (at TENSOR VALUE… ROWS COLUMNS)
//! VALUE      REGISTER  INTEGER  (const DTYPE NUMBER)  (size NAME)  (load (at TENSOR VALUE…))
//!            (OP VALUE VALUE)  (select VALUE VALUE VALUE)  (cast DTYPE VALUE)
//!            (exp VALUE)  (sqrt VALUE)  (fold OP VALUE)  (broadcast LANES VALUE)
//!            (iota LANES VALUE)
//! ```
//!
//! The last index of an address may be `(lanes COUNT LIMIT INDEX)`: a run of elements, with those below the limit
//! active. `ROWS` and `COLUMNS` of a block are such runs. A type is an element type, followed by the number of lanes if
//! there are several: `f32x16`. Streams are defined before they are used; other names may be used anywhere.

mod access;
mod compute;
mod reader;

use access::ACCESS;
use ember_language::diagnostic::{Checked, Diagnostic, FileId, Sources, Span};
use ember_language::sexp::{self, Sexp};
use ember_targets::dlc::{Program, Purpose};
use ember_targets::verify::{self, Kind, Limits, Part, Place, Verified, VerifyError};
use reader::{Forms, Reader};
use std::collections::BTreeMap;

/// A program with the spans of its parts in the text.
#[derive(Clone, Debug)]
pub struct DlcText {
    /// The program, which is well formed but not yet verified.
    pub program: Program,
    /// The spans of its parts.
    pub spans: Spans,
}

/// The spans of the parts of a program.
#[derive(Clone, Debug)]
pub struct Spans {
    whole: Span,
    places: BTreeMap<Place, Span>,
}

impl Spans {
    /// Returns the span of a place, or of the smallest enclosing part that has one.
    pub fn of(&self, place: &Place) -> Span {
        let mut place = place.clone();
        loop {
            if let Some(span) = self.places.get(&place) {
                return *span;
            }
            if place.path.pop().is_none() {
                return self.whole;
            }
        }
    }

    /// Returns the verifier's errors as diagnostics in the text.
    pub fn diagnostics(&self, errors: &[VerifyError]) -> Vec<Diagnostic> {
        let show = |e: &VerifyError| {
            let label = format!("in this {}", part(e));
            let error = Diagnostic::error(e.to_string(), self.of(&e.place), label);
            match help(e.kind) {
                Some(help) => error.with_help(help),
                None => error,
            }
        };
        errors.iter().map(show).collect()
    }
}

/// Returns advice on keeping a law that is broken.
fn help(law: Kind) -> Option<&'static str> {
    match law {
        Kind::Structure | Kind::Type | Kind::Limit => None,
        Kind::Ability => {
            Some("take a machine whose `[capabilities]` have it, or another form of program")
        }
        Kind::Scope => Some("an element is there only at `ite` of its unit and of units inside it"),
        Kind::Marshalling => Some(
            "what follows a callback's token is popped by its case, in order; a walk pops what its \
             unit marshals",
        ),
        Kind::WalkBounds => Some("pop the streams that bound the unit and use those registers"),
        Kind::Unset => Some("set it on every way that leads here; a loop may run no iteration"),
        Kind::Overlap => Some("put a `(barrier)` between the two in `start`"),
    }
}

/// Returns the noun for the span of an error.
fn part(error: &VerifyError) -> &'static str {
    match (error.place.part, error.place.path.is_empty()) {
        (Part::Unit | Part::Access, false) => "action",
        (Part::Main | Part::Case, false) => "statement",
        (Part::Program, _) => "program",
        _ => "definition",
    }
}

impl DlcText {
    /// Reads a program. Reports every malformed form, unknown or doubly defined name, broken structure and wrong type
    /// together.
    pub fn read(sources: &Sources, file: FileId) -> Checked<DlcText> {
        let forms = sexp::read(sources, file)?;
        let mut reader = Reader::default();
        let whole = reader.program(&forms, file);
        let Reader { mut errors, program, places, .. } = reader;
        let spans = Spans { whole, places };
        if errors.is_empty() {
            errors = spans.diagnostics(&verify::well_formed(&program));
        }
        if errors.is_empty() { Ok(DlcText { program, spans }) } else { Err(errors) }
    }

    /// Verifies the program; errors are reported in its text.
    pub fn verify(self, limits: &Limits) -> Checked<Verified> {
        verify::verify(self.program, limits).map_err(|errors| self.spans.diagnostics(&errors))
    }
}

/// The sections of a program.
const SECTIONS: Forms = Forms {
    what: "section",
    shapes: &[
        "(sizes NAME…)",
        "(tensor NAME DTYPE (EXTENT…))",
        "(tensor_out NAME DTYPE (EXTENT…))",
        "(tensor_scratch NAME DTYPE (EXTENT…))",
        "(configure_access_engine FORM…)",
        "(compute_loop FORM…)",
    ],
    scalars: false,
};

impl Reader {
    /// Reads the whole text and returns its span.
    fn program(&mut self, forms: &[Sexp], file: FileId) -> Span {
        let Some(first) = forms.first() else {
            let span = Span::new(file, 0..0);
            let error = Diagnostic::error("no program", span, "the text is empty");
            self.errors.push(error.with_help("write `(dlc NAME …)`"));
            return span;
        };
        for extra in &forms[1..] {
            self.error("more than one program", extra.span, "a text holds one");
        }
        let Some(("dlc", items)) = first.form() else {
            let error =
                Diagnostic::error("not a DLC program", first.span, "expected `(dlc NAME …)`");
            self.errors.push(error);
            return first.span;
        };
        let Some((name, sections)) = items.split_first() else {
            self.error("a program without a name", first.span, "expected `(dlc NAME …)`");
            return first.span;
        };
        self.program.name = self.name(name).unwrap_or_default();
        let mut once: BTreeMap<&str, Span> = BTreeMap::new();
        let mut parts: Vec<(&str, &Sexp, &[Sexp])> = Vec::new();
        for section in sections {
            let Some((head, items)) = self.form(section, &SECTIONS) else { continue };
            if head == "configure_access_engine" || head == "compute_loop" {
                if let Some(first) = once.insert(head, section.span) {
                    let message = format!("`{head}` is given twice");
                    let error = Diagnostic::error(message, section.span, "a second time here");
                    self.errors.push(error.with_related(first, "first here"));
                }
                // Names may be used before their definition, so a first pass declares them all.
                for item in items {
                    self.declare(item);
                }
            }
            parts.push((head, section, items));
        }
        for (head, section, items) in &parts {
            match *head {
                "sizes" => self.sizes(items),
                "tensor" => self.tensor(section, items, Purpose::Input),
                "tensor_out" => self.tensor(section, items, Purpose::Output),
                "tensor_scratch" => self.tensor(section, items, Purpose::Scratch),
                _ => {}
            }
        }
        for (head, _, items) in &parts {
            match *head {
                "configure_access_engine" => self.access(items),
                "compute_loop" => self.compute(items),
                _ => {}
            }
        }
        first.span
    }

    /// Declares the name that a form of a section defines.
    fn declare(&mut self, item: &Sexp) {
        let Some((head, items)) = item.form() else { return };
        let Some(name) = items.first() else { return };
        match head {
            "on" | "start" => {}
            "new_tu" => self.define(Part::Unit, name, item.span),
            "register" => self.define(Part::Register, name, item.span),
            "case" => self.define(Part::Case, name, item.span),
            _ if ACCESS.names().any(|stream| stream == head) => {
                self.define(Part::Stream, name, item.span);
            }
            _ => {}
        }
    }
}
