//! Machine descriptions: every number of a DAE machine, with its unit, its bounds and its source.
//!
//! The tables below are the schema of a `*.toml` description; [`Machine::parse`] checks a text against them. The effect
//! of a number on time belongs to the simulator, not here.

mod parse;

use parse::Schema;
pub use parse::{MachineError, parent};

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

/// The schema of one key.
#[derive(Clone, Copy, Debug)]
struct Field {
    key: &'static str,
    unit: &'static str,
    min: f64,
    max: f64,
    kind: Kind,
}

/// The kind of number that a key admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any number.
    Real,
    /// A whole number.
    Count,
    /// A power of two.
    Power,
    /// True or false.
    Flag,
}

/// Rust types of the schema's kinds. Values have passed the checks, so the conversions are exact.
trait Figured {
    fn of(value: f64) -> Self;
}

impl Figured for f64 {
    fn of(value: f64) -> f64 {
        value
    }
}

impl Figured for u64 {
    fn of(value: f64) -> u64 {
        value as u64
    }
}

impl Figured for bool {
    fn of(value: f64) -> bool {
        value != 0.0
    }
}

/// Declares sections, one row per number; the struct, its checks and its reader are generated from the rows.
macro_rules! schema {
    ($($(#[$meta:meta])* $name:ident {
        $($(#[$doc:meta])* $key:ident : $ty:ty, $kind:ident $unit:literal $min:literal, $max:literal;)*
    })*) => {
        $($(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize)]
        pub struct $name { $($(#[$doc])* pub $key: $ty,)* }

        impl $name {
            const FIELDS: &'static [Field] = &[$(Field {
                key: stringify!($key),
                unit: $unit,
                min: $min as f64,
                max: $max as f64,
                kind: Kind::$kind,
            },)*];

            fn build(get: &dyn Fn(&str) -> f64) -> $name {
                $name { $($key: Figured::of(get(stringify!($key))),)* }
            }
        })*
    };
}

schema! {
    /// An execute unit. Latencies are from operands ready to result ready, fully pipelined.
    Core {
        /// Clock of the core, its caches and the access unit.
        clock_ghz: f64, Real "GHz" 0.01, 100;
        /// Micro-operations dispatched in a cycle.
        issue_width: u64, Count "uops/cycle" 1, 16;
        /// Micro-operations in flight: the reorder buffer of an out-of-order core.
        rob: u64, Count "uops" 1, 4096;
        /// Integer and branch operations started in a cycle.
        int_ports: u64, Count "uops/cycle" 1, 16;
        /// Floating-point and vector operations started in a cycle.
        vector_ports: u64, Count "uops/cycle" 1, 16;
        /// Loads started in a cycle, each of at most `simd_bytes`.
        load_ports: u64, Count "uops/cycle" 1, 16;
        /// Stores started in a cycle, each of at most `simd_bytes`.
        store_ports: u64, Count "uops/cycle" 1, 16;
        /// Width of a vector register.
        simd_bytes: u64, Power "bytes" 8, 256;
        /// Architectural vector registers.
        vector_registers: u64, Count "registers" 1, 1024;
        /// Integer add, compare, address and branch.
        int_latency: u64, Count "cycles" 1, 100;
        /// Integer multiply.
        int_mul_latency: u64, Count "cycles" 1, 100;
        /// Integer divide.
        int_div_latency: u64, Count "cycles" 1, 1000;
        /// Floating-point or vector add, compare, minimum, maximum and select.
        float_add_latency: u64, Count "cycles" 1, 100;
        /// Floating-point or vector multiply.
        float_mul_latency: u64, Count "cycles" 1, 100;
        /// Floating-point or vector divide.
        float_div_latency: u64, Count "cycles" 1, 1000;
        /// Floating-point or vector square root.
        sqrt_latency: u64, Count "cycles" 1, 1000;
        /// Operations on the vector ports that an exponential of one register takes.
        exp_uops: u64, Count "uops" 1, 1000;
        /// Exponential of one register, from first operation to last result.
        exp_latency: u64, Count "cycles" 1, 1000;
        /// Conversion between element types.
        convert_latency: u64, Count "cycles" 1, 100;
        /// Copying a scalar into lanes, and making lane numbers.
        permute_latency: u64, Count "cycles" 1, 100;
        /// From a store's data to a load of the same address.
        forward_latency: u64, Count "cycles" 1, 100;
        /// Front-end cost of taking a callback's token: loading it and branching to its case. It begins when the
        /// operands of the previous callback have been read.
        dispatch_cycles: u64, Count "cycles" 0, 1000;
        /// Front-end cost of a mispredicted branch.
        mispredict_cycles: u64, Count "cycles" 0, 1000;
        /// Outstanding misses of the first-level cache.
        mshrs: u64, Count "misses" 1, 1024;
        /// Streams of misses that its prefetcher follows in programs without access unit; none without a prefetcher.
        prefetch_streams: u64, Count "streams" 0, 256;
        /// Lines that the prefetcher runs ahead of a stream, into the second-level cache.
        prefetch_lines: u64, Count "lines" 0, 256;
    }

    /// The execute unit's matrix unit: outer products of two vector registers, added to a square of
    /// accumulators as wide and as high in bytes as a register.
    Matrix {
        /// Outer products started in a cycle.
        products_per_cycle: u64, Count "products/cycle" 1, 16;
        /// From one outer product to the next on the same accumulators.
        product_latency: u64, Count "cycles" 1, 100;
        /// Entering the unit's mode before its first operation, and leaving it again.
        startup_cycles: u64, Count "cycles" 0, 100000;
    }

    /// A cache, set-associative with least-recently-used replacement.
    Cache {
        /// Its capacity; a multiple of `ways` lines.
        bytes: u64, Count "bytes" 64, 1073741824;
        /// Lines in a set.
        ways: u64, Count "lines" 1, 64;
        /// From a request to its data on a hit, including all levels above.
        latency: u64, Count "cycles" 1, 10000;
        /// Data delivered in a cycle.
        bytes_per_cycle: u64, Count "bytes/cycle" 1, 1024;
    }

    /// A cache below the first level, which several cores may share.
    LowerCache {
        /// Its capacity; each sharer's share is a multiple of `ways` lines.
        bytes: u64, Count "bytes" 64, 1073741824;
        /// Lines in a set.
        ways: u64, Count "lines" 1, 64;
        /// From a request to its data on a hit, including all levels above.
        latency: u64, Count "cycles" 1, 10000;
        /// Data delivered in a cycle to one core.
        bytes_per_cycle: u64, Count "bytes/cycle" 1, 1024;
        /// Outstanding misses.
        misses: u64, Count "misses" 1, 65536;
        /// Cores that share the capacity and the misses equally; if fewer are simulated, the others have the rest.
        sharers: u64, Count "cores" 1, 4096;
    }

    /// The network between the cores, the last-level cache and main memory.
    Network {
        /// Cores for which the latency of the last-level cache holds. A network of more cores is a larger mesh.
        cores: u64, Count "cores" 1, 4096;
        /// Data moved in a cycle between the last-level cache and all cores together.
        bytes_per_cycle: u64, Count "bytes/cycle" 1, 16384;
        /// Cycles from one router to the next.
        hop_cycles: u64, Count "cycles" 0, 1000;
    }

    /// The second-level translation cache of the core, which the access unit uses as well.
    Tlb {
        /// Translations that it holds.
        entries: u64, Count "pages" 1, 1048576;
        /// Translations in a set.
        ways: u64, Count "pages" 1, 64;
        /// Bytes of a page.
        page_bytes: u64, Power "bytes" 4096, 1073741824;
        /// Page walks at a time. The last step of a walk reads a line through the second-level cache; the steps before
        /// it are taken to hit the walker's own cache.
        walks: u64, Count "walks" 1, 64;
    }

    /// Main memory.
    Dram {
        /// Size of a line in every cache and of a memory request.
        line_bytes: u64, Power "bytes" 16, 1024;
        /// Independent channels.
        channels: u64, Count "channels" 1, 256;
        /// Peak bandwidth of one channel.
        channel_gb_per_s: f64, Real "GB/s" 0.001, 10000;
        /// Cores that share the bandwidth equally; one of them is simulated.
        sharers: u64, Count "cores" 1, 4096;
        /// Banks of one channel.
        banks: u64, Count "banks" 1, 1024;
        /// Bytes that an open row holds.
        row_bytes: u64, Power "bytes" 64, 65536;
        /// Consecutive bytes that one channel holds.
        interleave_bytes: u64, Power "bytes" 16, 65536;
        /// From activating a row to its first read.
        t_rcd_ns: f64, Real "ns" 0, 1000;
        /// Closing a row.
        t_rp_ns: f64, Real "ns" 0, 1000;
        /// From activating a row to closing it.
        t_ras_ns: f64, Real "ns" 0, 1000;
        /// Rows that a channel activates at most in each window.
        activations: u64, Count "rows" 1, 256;
        /// The window.
        t_faw_ns: f64, Real "ns" 0, 1000;
        /// From one refresh of a channel to the next.
        t_refi_ns: f64, Real "ns" 100, 1000000;
        /// A refresh, during which a channel's banks are closed and idle.
        t_rfc_ns: f64, Real "ns" 0, 10000;
        /// The idle time of a channel's bus when it turns from reads to writes and back.
        t_turn_ns: f64, Real "ns" 0, 1000;
        /// Lines that the controller writes to a channel between two reads.
        write_batch: u64, Count "lines" 1, 4096;
        /// From a read of an open row to its data.
        t_cas_ns: f64, Real "ns" 0, 1000;
        /// Controller and wires, both directions.
        controller_ns: f64, Real "ns" 0, 10000;
    }

    /// The access unit.
    Access {
        /// Lanes; the elements of a vector are spread over them. A machine with none has no access unit.
        lanes: u64, Count "lanes" 0, 256;
        /// Layers of traversal units: the deepest nest it walks.
        layers: u64, Count "layers" 1, 64;
        /// Storage of one lane, divided between the streams of all layers.
        storage_bytes: u64, Count "bytes/lane" 8, 65536;
        /// Bytes that one lane moves into its storage in a cycle.
        lane_bytes_per_cycle: u64, Count "bytes/cycle" 1, 256;
        /// Memory requests in flight.
        outstanding: u64, Count "requests" 1, 65536;
        /// Memory requests issued in a cycle.
        requests_per_cycle: u64, Count "requests/cycle" 1, 64;
        /// Cycles between two iterations of one traversal unit.
        iteration_cycles: u64, Count "cycles" 1, 1000;
        /// Operands marshalled in a cycle.
        marshal_per_cycle: u64, Count "operands/cycle" 1, 64;
        /// Cycles for which starting a traversal occupies the marshaller.
        traversal_cycles: u64, Count "cycles" 0, 1000;
        /// Cycles for which pushing a token occupies the marshaller.
        token_cycles: u64, Count "cycles" 1, 1000;
        /// Bytes prefetched into the core's second-level cache that the execute unit has not reached yet; further
        /// prefetches wait.
        prefetch_bytes: u64, Count "bytes" 64, 1073741824;
    }

    /// The abilities of the access unit beyond traversals, loads and operands.
    Abilities {
        /// Stream elements may be wider than a vector register, such as whole rows as one operand.
        wide_rows: bool, Flag "flag" 0, 1;
        /// Loads into the core's second-level cache whose data is not marshalled.
        prefetch: bool, Flag "flag" 0, 1;
        /// Stores of streams without work for the execute unit.
        store_streams: bool, Flag "flag" 0, 1;
        /// Loads whose hint says which caches keep the data.
        hints: bool, Flag "flag" 0, 1;
    }

    /// The queues from the access unit to the execute unit, mapped into the core's private L2.
    Queue {
        /// Size of one chunk of the data queue; the unit in which the core receives operands.
        chunk_bytes: u64, Power "bytes" 64, 1048576;
        /// Chunks: one is filled while the others are drained.
        chunks: u64, Count "chunks" 2, 64;
        /// Tokens that the control queue holds.
        control_entries: u64, Count "tokens" 1, 1048576;
        /// From popping an operand to its data, if the core has not read the operand's line yet.
        read_latency: u64, Count "cycles" 1, 1000;
        /// Bytes that the access unit writes into the L2 in a cycle.
        write_bytes_per_cycle: u64, Count "bytes/cycle" 1, 1024;
    }

    /// Energy of events. Each cache access counts only its own level.
    Energy {
        /// A scalar operation, with its share of the core's front end.
        alu_pj: f64, Real "pJ" 0, 1000000;
        /// A vector operation of one register.
        vector_pj: f64, Real "pJ" 0, 1000000;
        /// A multiply-add of the matrix unit.
        mac_pj: f64, Real "pJ" 0, 1000000;
        /// An access of the first-level cache.
        l1_pj: f64, Real "pJ" 0, 1000000;
        /// An access of the second-level cache.
        l2_pj: f64, Real "pJ" 0, 1000000;
        /// An access of the last-level cache.
        llc_pj: f64, Real "pJ" 0, 1000000;
        /// A byte moved to or from main memory.
        dram_byte_pj: f64, Real "pJ" 0, 1000000;
        /// A byte written into the data queue.
        queue_byte_pj: f64, Real "pJ" 0, 1000000;
        /// Pushing a token and dispatching its callback.
        dispatch_pj: f64, Real "pJ" 0, 1000000;
        /// One iteration of a traversal unit.
        iteration_pj: f64, Real "pJ" 0, 1000000;
        /// Leakage and clock of the core, its access unit and its share of the uncore, per cycle.
        static_cycle_pj: f64, Real "pJ" 0, 1000000;
        /// The power that a machine is built for, by core: with its access unit, and its share of caches, memory and
        /// everything else on the board. It has no part in simulated energies.
        design_w: f64, Real "W" 0.001, 10000;
    }
}

// After the macro that it uses.
pub mod gpu;

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
pub const SHIPPED: [(&str, &str); 6] = [
    ("tmu-cpu", TMU_CPU),
    (DEFAULT, include_str!("../tmu-cpu-plus.toml")),
    (HERE, include_str!("../cpu.toml")),
    ("cpu-avx2", include_str!("../cpu-avx2.toml")),
    ("cpu-neon", include_str!("../cpu-neon.toml")),
    ("cpu-sve", include_str!("../cpu-sve.toml")),
];

impl Machine {
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
        let refreshing = self.dram.t_rfc_ns / self.dram.t_refi_ns;
        total * (1.0 - refreshing) / self.dram.sharers as f64 / self.core.clock_ghz
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_description_reads_and_marks_every_figure_of_the_access_unit() {
        let machine = Machine::parse(TMU_CPU).unwrap();
        assert_eq!(machine.name, "tmu-cpu");
        assert_eq!((machine.access.lanes, machine.access.outstanding), (8, 128));
        let refreshing = 260.0 / 3900.0;
        assert!((machine.share_bytes_per_cycle() - 7.8125 * (1.0 - refreshing)).abs() < 1e-12);
        let expected: usize = SECTIONS.iter().map(|(_, fields)| fields.len()).sum();
        assert_eq!(machine.figures.len(), expected);
        for figure in &machine.figures {
            assert!(!figure.source.is_empty());
            assert!(figure.estimated || figure.section != "access", "{}", figure.key);
        }
    }

    #[test]
    fn every_error_is_reported_at_once_with_its_place_and_a_fix() {
        let text = TMU_CPU
            .replace("lanes = { value = 8", "lanes = { value = 300")
            .replace("line_bytes = { value = 64", "line_bytes = { value = 48")
            .replace("issue_width = { value = 4", "isue_width = { value = 4")
            .replace(
                "rob = { value = 224, unit = \"uops\"",
                "rob = { value = 224, unit = \"bytes\"",
            )
            .replace("[llc]", "[lcl]");
        let errors = Machine::parse(&text).unwrap_err();
        let all: Vec<String> = errors.iter().map(|e| e.message.clone()).collect();
        let find = |part: &str| {
            errors.iter().find(|e| e.message.contains(part)).unwrap_or_else(|| panic!("{all:#?}"))
        };
        assert!(find("`lanes` is 300").range.is_some());
        assert!(find("`line_bytes` is 48").message.contains("power of two"));
        assert_eq!(find("unknown key `isue_width`").help, "did you mean `issue_width`?");
        assert_eq!(find("unknown section `lcl`").help, "did you mean `llc`?");
        let unit = find("unit of `rob`");
        let at = unit.range.clone().unwrap();
        assert!(text[at].contains("bytes"));
    }

    #[test]
    fn broken_text_gives_errors_not_panics() {
        for text in ["", "[", "name = 3", "core = 1", "[core]\nrob = {}", "[core]\nrob = 1e400"] {
            assert!(Machine::parse(text).is_err(), "{text}");
        }
        let text = TMU_CPU.replace("value = 524288", "value = 524287");
        let errors = Machine::parse(&text).unwrap_err();
        assert!(errors[0].message.contains("whole sets"), "{}", errors[0].message);
    }

    #[test]
    fn a_larger_mesh_is_farther_and_a_smaller_one_no_nearer() {
        let machine = Machine::parse(TMU_CPU).unwrap();
        let farther: Vec<u64> = [1, 8, 16, 64].map(|cores| machine.farther(cores)).to_vec();
        assert_eq!(farther, [0, 0, 3, 14]);
    }

    #[test]
    fn capabilities_are_true_or_false() {
        for wrong in ["2", "1", "0.0", "\"yes\""] {
            let text = TMU_CPU
                .replace("prefetch = { value = false", &format!("prefetch = {{ value = {wrong}"));
            let errors = Machine::parse(&text).unwrap_err();
            assert_eq!(errors[0].message, "the value of `prefetch` is not true or false");
        }
        let published = Machine::parse(TMU_CPU).unwrap().capabilities();
        assert!(!published.has(Capability::Prefetch) && published.has(Capability::Hints));
        assert!(Machine::plus().unwrap().capabilities().has(Capability::Prefetch));
    }
}
