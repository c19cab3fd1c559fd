//! The sections of the description of a machine, with a row for each number.

use super::schema::{Field, Figured, Kind};
use serde::Serialize;

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
        /// Lines of a looked-up row that change places with as many after them in the order in which C code reads them.
        /// Read in ascending order, rows are streams to some prefetchers, which fetch lines that nobody reads.
        row_swap: u64, Count "lines" 0, 64;
        /// The share of requests for lines from memory that the core drops because too many are on their way. If there are
        /// such, C code asks for looked-up rows twice.
        dropped_requests: f64, Real "share" 0, 1;
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
