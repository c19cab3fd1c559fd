//! Machine descriptions: every number of a DAE machine, with its unit, its bounds and its source.
//!
//! [`Machine::parse`] checks the text of a `*.toml` description against the tables of its sections. The effect of a number
//! on time belongs to the simulator, not here.

#[macro_use]
mod schema;

mod figures;
pub mod gpu;
mod parse;
#[cfg(test)]
mod tests;

pub use figures::{
    Abilities, Access, Cache, Core, Dram, Energy, LowerCache, Matrix, Network, Queue, Tlb,
};
use parse::Schema;
pub use parse::{MachineError, parent};
use schema::Field;
pub use schema::Kind;

use ember_values::capability::{Capabilities, Capability};
use serde::Serialize;

/// One number of a description as written, with its source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The section that contains it.
    pub section: String,
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// The document or the reasoning it comes from.
    pub source: String,
    /// True if it is recalled or estimated rather than read from the source.
    pub estimated: bool,
    /// The physically plausible range within which an estimate was fitted to published results; `None` if the number
    /// was not fitted.
    pub calibrated: Option<[f64; 2]>,
}

/// Returns the side of a tile of the matrix unit, in elements of so many bytes, and the tiles of a block: down and across.
/// The accumulator is a square, one register by as many rows as a register has bytes, as in Arm's SME, so that there are as
/// many tiles as an element has bytes. Blocks are as square as the tiles allow, but no wider than the columns.
pub fn tiles(simd_bytes: u64, element: u64, columns: u64) -> (u64, [u64; 2]) {
    let (side, all) = ((simd_bytes / element.max(1)).max(1), element.max(1));
    let across = columns.div_ceil(side).clamp(1, (all / 2).max(1));
    (side, [all / across, across])
}

/// A whole machine: its cores, each with an access unit, and the memory system that they share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// The out-of-order execute unit.
    pub core: Core,
    /// The in-order core of the baseline.
    pub in_order: Core,
    /// The matrix unit, used by either core.
    pub matrix: Matrix,
    /// The first-level data cache.
    pub l1: Cache,
    /// The private second-level cache.
    pub l2: LowerCache,
    /// The shared last-level cache.
    pub llc: LowerCache,
    /// The network.
    pub network: Network,
    /// The translation cache.
    pub tlb: Tlb,
    /// Main memory.
    pub dram: Dram,
    /// The access unit.
    pub access: Access,
    /// The abilities of the access unit.
    pub abilities: Abilities,
    /// The queues of the access unit.
    pub queue: Queue,
    /// Energy of events.
    pub energy: Energy,
    /// Every number as written, in schema order.
    pub figures: Vec<Figure>,
}

/// The sections of a description, in order.
const SECTIONS: &[(&str, &[Field])] = &[
    ("core", Core::FIELDS),
    ("in_order", Core::FIELDS),
    ("matrix", Matrix::FIELDS),
    ("l1", Cache::FIELDS),
    ("l2", LowerCache::FIELDS),
    ("llc", LowerCache::FIELDS),
    ("network", Network::FIELDS),
    ("tlb", Tlb::FIELDS),
    ("dram", Dram::FIELDS),
    ("access", Access::FIELDS),
    ("capabilities", Abilities::FIELDS),
    ("queue", Queue::FIELDS),
    ("energy", Energy::FIELDS),
];

/// The sections of the description of a machine, and the laws between its numbers.
const SCHEMA: Schema =
    Schema { what: "machine", sections: SECTIONS, inherits: true, relations: parse::relations };

/// Returns the unit of a number that descriptions have.
pub fn unit(section: &str, key: &str) -> Option<&'static str> {
    let (_, fields) = SECTIONS.iter().find(|(name, _)| *name == section)?;
    fields.iter().find(|field| field.key == key).map(|field| field.unit)
}

/// Returns the kind of a number that descriptions have.
pub fn kind(section: &str, key: &str) -> Option<Kind> {
    let (_, fields) = SECTIONS.iter().find(|(name, _)| *name == section)?;
    fields.iter().find(|field| field.key == key).map(|field| field.kind)
}

/// The text of the machine as published, from which the default one inherits.
pub const TMU_CPU: &str = include_str!("../tmu-cpu.toml");

/// The name of the machine that is described unless another is named: the published one, with abilities added.
pub const DEFAULT: &str = "tmu-cpu-plus";

/// The name of the machine that this process runs on.
pub const HERE: &str = "cpu";

/// The descriptions that come with the program, with their names.
pub const SHIPPED: [(&str, &str); 7] = [
    ("tmu-cpu", TMU_CPU),
    (DEFAULT, include_str!("../tmu-cpu-plus.toml")),
    (HERE, include_str!("../cpu.toml")),
    ("cpu-zen", include_str!("../cpu-zen.toml")),
    ("cpu-avx2", include_str!("../cpu-avx2.toml")),
    ("cpu-neon", include_str!("../cpu-neon.toml")),
    ("cpu-sve", include_str!("../cpu-sve.toml")),
];

/// The descriptions that are peculiar to the processors of a maker, by what these call the maker (CPUID, leaf 0). They
/// inherit from [`HERE`].
const MAKERS: [(&str, &str); 1] = [("AuthenticAMD", "cpu-zen")];

impl Machine {
    /// Takes over what is peculiar to the processors of a maker, if it is known.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with a shipped description.
    pub fn made_by(&mut self, maker: &str) -> Result<(), Vec<MachineError>> {
        let known = MAKERS.iter().find(|(own, _)| *own == maker);
        let text = known.and_then(|(_, own)| SHIPPED.iter().find(|(name, _)| name == own));
        if let Some((_, text)) = text {
            let own = Machine::parse_from(text, Some(self))?;
            *self = Machine { name: std::mem::take(&mut self.name), ..own };
        }
        Ok(())
    }

    /// Returns true if there is an access unit beside the core.
    pub fn has_access_unit(&self) -> bool {
        self.access.lanes > 0
    }

    /// Returns what programs for the machine may use.
    pub fn capabilities(&self) -> Capabilities {
        let Abilities { wide_rows, prefetch, store_streams, hints } = self.abilities;
        let all = [
            (wide_rows, Capability::WideRows),
            (prefetch, Capability::Prefetch),
            (store_streams, Capability::StoreStreams),
            (hints, Capability::Hints),
        ];
        all.into_iter().filter(|(has, _)| *has).map(|(_, capability)| capability).collect()
    }

    /// Returns the machine [`DEFAULT`].
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the shipped descriptions.
    pub fn plus() -> Result<Machine, Vec<MachineError>> {
        let published = Machine::parse(TMU_CPU)?;
        let text = SHIPPED.iter().find(|(name, _)| *name == DEFAULT).map_or("", |(_, text)| text);
        Machine::parse_from(text, Some(&published))
    }

    /// Reads a description that is complete in itself. All errors are reported at once.
    pub fn parse(text: &str) -> Result<Machine, Vec<MachineError>> {
        Machine::parse_from(text, None)
    }

    /// Reads a description; what it does not state is as in its parent's. All errors are reported at once.
    pub fn parse_from(text: &str, parent: Option<&Machine>) -> Result<Machine, Vec<MachineError>> {
        let inherited = parent.map_or(&[][..], |parent| &parent.figures);
        let figures = parse::figures(text, &SCHEMA, inherited)?;
        let section = |name: &'static str| {
            let figures = &figures.figures;
            move |key: &str| {
                let found = figures.iter().find(|f| f.section == name && f.key == key);
                found.map_or(0.0, |f| f.value)
            }
        };
        Ok(Machine {
            core: Core::build(&section("core")),
            in_order: Core::build(&section("in_order")),
            matrix: Matrix::build(&section("matrix")),
            l1: Cache::build(&section("l1")),
            l2: LowerCache::build(&section("l2")),
            llc: LowerCache::build(&section("llc")),
            network: Network::build(&section("network")),
            tlb: Tlb::build(&section("tlb")),
            dram: Dram::build(&section("dram")),
            access: Access::build(&section("access")),
            abilities: Abilities::build(&section("capabilities")),
            queue: Queue::build(&section("queue")),
            energy: Energy::build(&section("energy")),
            name: figures.name,
            figures: figures.figures,
        })
    }

    /// Converts a time in nanoseconds to whole core cycles, rounded up.
    pub fn cycles(&self, ns: f64) -> u64 {
        (ns * self.core.clock_ghz).ceil() as u64
    }

    /// Converts core cycles to a time in seconds.
    pub fn seconds(&self, cycles: u64) -> f64 {
        cycles as f64 / (self.core.clock_ghz * 1e9)
    }

    /// Returns the simulated core's share of main memory's bandwidth, in bytes per core cycle: what refreshes leave.
    pub fn share_bytes_per_cycle(&self) -> f64 {
        let total = self.dram.channels as f64 * self.dram.channel_gb_per_s;
        total * (1.0 - self.refreshing()) / self.dram.sharers as f64 / self.core.clock_ghz
    }

    /// Returns the share of the time in which main memory refreshes itself.
    pub fn refreshing(&self) -> f64 {
        self.dram.t_rfc_ns / self.dram.t_refi_ns
    }

    /// Returns the simulated core's share of the rows that main memory activates, per core cycle.
    pub fn activations_per_cycle(&self) -> f64 {
        let window =
            (self.dram.t_faw_ns * self.dram.sharers as f64 * self.core.clock_ghz).max(1e-3);
        (self.dram.activations * self.dram.channels) as f64 / window
    }

    /// Returns the time for which the bus moves nothing because of one written line, in lines: a batch of writes turns
    /// it twice.
    pub fn turning_lines(&self) -> f64 {
        let lines_per_ns = self.dram.channel_gb_per_s / self.dram.line_bytes as f64;
        self.dram.t_turn_ns * lines_per_ns / self.dram.write_batch as f64
    }

    /// Returns the cycles by which the last-level cache is farther away in a network of some cores than in the one that its
    /// latency is for: two ways, each two thirds of the side of a square mesh longer, which is the mean distance there.
    pub fn farther(&self, cores: u64) -> u64 {
        let side = |cores: u64| (cores as f64).sqrt();
        let longer = (side(cores) - side(self.network.cores)).max(0.0);
        (2.0 * 2.0 / 3.0 * longer * self.network.hop_cycles as f64).round() as u64
    }

    /// Returns the bytes of the last-level cache that the simulated core may fill.
    pub fn llc_share(&self) -> u64 {
        self.llc.bytes / self.llc.sharers
    }
}
