//! The DLC verifier: the laws that a program must obey before it runs. A failure of a verified program is a bug or a
//! reported deadlock.
//!
//! - **Structure**: units form a tree, each traversed exactly once; streams use earlier streams; names are unique.
//! - **Scope**: a stream is used only where every unit that it depends on runs.
//! - **Types**: of streams, registers, operands and expressions.
//! - **Marshalling balance**: every pop has its push, in order and with its type, on every path; a walk follows the
//!   traversal of its unit, with bounds that are provably equal to the unit's.
//! - **Registers** are set before they are read, on every path.
//! - **Overlap**: the access unit runs ahead, so its effects commute with every execute effect up to the next barrier.
//! - **Limits and abilities** of the target.

mod abilities;
mod limits;
mod marshal;
mod overlap;
mod structure;
mod summary;
mod symbols;
mod types;

use crate::dlc::Program;
use crate::machine::Machine;
use ember_values::capability::{Capabilities, Capability};
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;

pub use overlap::Footprint;
pub(crate) use summary::written_by;

/// The maximum nesting depth of units, in any program for any target.
pub const MAX_UNIT_DEPTH: usize = 256;

/// The capacities of a target. All limits are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The nesting depth of traversal units.
    pub layers: u32,
    /// Traversal units of one traversal at the root, which are configured together.
    pub units: u32,
    /// Bytes of stream elements that the access unit holds. Traversals at the root use the storage in turn; each needs
    /// room for one element of every stream that advances with it.
    pub storage_bytes: u64,
    /// Bytes of the largest operand: a chunk of the data queue.
    pub operand_bytes: u64,
    /// Architectural vector registers of the execute unit.
    pub vector_registers: u32,
    /// Bytes of one such register; wider values take several.
    pub vector_bytes: u64,
    /// Kinds of callback that a token can name.
    pub cases: u32,
    /// The capabilities of the access unit.
    pub capabilities: Capabilities,
}

impl Limits {
    /// Returns the limits of a machine. Tokens can name any number of cases.
    pub fn of(machine: &Machine) -> Limits {
        let small = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        Limits {
            layers: small(machine.access.layers),
            units: small(machine.access.layers.saturating_mul(machine.access.lanes)),
            storage_bytes: machine.access.lanes.saturating_mul(machine.access.storage_bytes),
            operand_bytes: machine.queue.chunk_bytes,
            vector_registers: small(machine.core.vector_registers),
            vector_bytes: machine.core.simd_bytes,
            cases: u32::MAX,
            capabilities: machine.capabilities(),
        }
    }

    /// No limits: a program is checked only against the laws of every target.
    pub const NONE: Limits = Limits {
        layers: u32::MAX,
        units: u32::MAX,
        storage_bytes: u64::MAX,
        operand_bytes: u64::MAX,
        vector_registers: u32::MAX,
        vector_bytes: u64::MAX,
        cases: u32::MAX,
        capabilities: Capabilities::ALL,
    };
}

/// A program that the verifier has accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified(Program);

impl Verified {
    /// Returns the program.
    pub fn program(&self) -> &Program {
        &self.0
    }

    /// Returns the program, which counts as unverified again.
    pub fn into_program(self) -> Program {
        self.0
    }
}

impl Deref for Verified {
    type Target = Program;

    fn deref(&self) -> &Program {
        &self.0
    }
}

/// The law that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Lists, names, ids and the tree of units.
    Structure,
    /// A stream is used where a unit that it depends on does not run.
    Scope,
    /// A type does not fit.
    Type,
    /// A pop or a walk has no push, or a push no pop.
    Marshalling,
    /// A walk's bounds are not provably its unit's.
    WalkBounds,
    /// A register may be read before it is set.
    Unset,
    /// Access and execute effects do not commute.
    Overlap,
    /// The target cannot hold the program.
    Limit,
    /// The target lacks an ability that the program uses.
    Ability,
}

/// The part of a program that contains an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The whole program.
    Program,
    /// A symbolic size.
    Size,
    /// A tensor's declaration.
    Tensor,
    /// A stream.
    Stream,
    /// A traversal unit.
    Unit,
    /// The access unit's actions at the root.
    Access,
    /// A register.
    Register,
    /// The statements before the compute loop.
    Main,
    /// A case of the compute loop.
    Case,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Program => "program",
            Part::Size => "size",
            Part::Tensor => "tensor",
            Part::Stream => "stream",
            Part::Unit => "unit",
            Part::Access => "start",
            Part::Register => "register",
            Part::Main => "main",
            Part::Case => "case",
        }
    }
}

/// The position of an error in a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The kind of part.
    pub part: Part,
    /// The part's name; empty for the parts that exist only once.
    pub name: String,
    /// The path to a statement (its position in each body, outermost first) or to an action of a unit (0, 1, 2 for
    /// `beg`, `ite`, `end`, and its position); empty for the part as a whole.
    pub path: Vec<usize>,
}

impl Place {
    fn new(part: Part, name: &str) -> Place {
        Place { part, name: name.to_owned(), path: Vec::new() }
    }

    fn then(&self, at: usize) -> Place {
        let mut place = self.clone();
        place.path.push(at);
        place
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.part.name())?;
        if self.name.is_empty() { Ok(()) } else { write!(f, " `{}`", self.name) }
    }
}

/// A law that a program breaks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VerifyError {
    /// The law.
    pub kind: Kind,
    /// The position.
    pub place: Place,
    /// The violation, in one line without a full stop.
    pub message: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for VerifyError {}

/// Checks structure, scope and types: the laws that concern each part of a program by itself.
pub fn well_formed(program: &Program) -> Vec<VerifyError> {
    let mut errors = Errors::default();
    // The other checks follow ids, so every id must be valid.
    if let Some(tree) = structure::check(program, &mut errors) {
        structure::check_scope(program, &tree, &mut errors);
        types::check(program, &mut errors);
    }
    errors.distinct()
}

/// Checks every law.
///
/// # Errors
///
/// Returns every law that the program breaks, in the order of the laws above. Laws that cannot be checked because an
/// earlier one is broken are left out.
pub fn verify(program: Program, limits: &Limits) -> Result<Verified, Vec<VerifyError>> {
    let mut errors = Errors { list: well_formed(&program) };
    if errors.list.is_empty() {
        let tree = structure::check(&program, &mut errors);
        if let Some(tree) = &tree {
            marshal::check(&program, &mut errors);
            overlap::check(&program, tree, &mut errors);
            limits::check(&program, tree, limits, &mut errors);
            abilities::check(&program, limits, &mut errors);
        }
    }
    if errors.list.is_empty() { Ok(Verified(program)) } else { Err(errors.distinct()) }
}

/// Returns the abilities that a program uses on a machine.
pub fn needs(program: &Program, machine: &Machine) -> Capabilities {
    let uses = abilities::uses(program, machine.core.simd_bytes);
    uses.into_iter().map(|(_, capability)| capability).collect()
}

/// Returns the first ability that a program uses and a machine lacks.
pub fn lacking(program: &Program, machine: &Machine) -> Option<Capability> {
    let (needs, has) = (needs(program, machine), machine.capabilities());
    let mut all = Capability::WORDS.into_iter().map(|(capability, ..)| capability);
    all.find(|capability| needs.has(*capability) && !has.has(*capability))
}

/// Errors in the order in which they are found.
#[derive(Default)]
struct Errors {
    list: Vec<VerifyError>,
}

impl Errors {
    fn push(&mut self, kind: Kind, place: &Place, message: impl Into<String>) {
        self.list.push(VerifyError { kind, place: place.clone(), message: message.into() });
    }

    /// Removes duplicates: a case that several callbacks run is checked for each of them.
    fn distinct(mut self) -> Vec<VerifyError> {
        let mut seen = BTreeSet::new();
        self.list.retain(|e| seen.insert(e.clone()));
        self.list
    }
}
