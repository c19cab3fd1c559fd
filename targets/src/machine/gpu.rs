//! Descriptions of GPUs, for estimates of the time that a GPU takes. They are written as machines are, each number with
//! its unit and its source.

use super::parse::{self, Schema};
use super::schema::{Field, Figured, Kind};
use super::{Figure, MachineError};
use serde::Serialize;

schema! {
    /// The multiprocessors.
    Processors {
        /// Multiprocessors.
        count: u64, Count "multiprocessors" 1, 4096;
        /// Clock under load.
        clock_ghz: f64, Real "GHz" 0.01, 100;
        /// Warps of 32 threads that a multiprocessor holds at a time.
        warps: u64, Count "warps" 1, 1024;
        /// Multiply-adds of binary32 that a multiprocessor starts in a cycle.
        fma: u64, Count "operations/cycle" 1, 65536;
    }

    /// Memory and the last-level cache.
    GpuMemory {
        /// Peak bandwidth of memory.
        gb_per_s: f64, Real "GB/s" 1, 1000000;
        /// From a load to its data, from memory.
        latency_ns: f64, Real "ns" 1, 100000;
        /// Capacity of the last-level cache.
        l2_bytes: u64, Count "bytes" 1, 1073741824;
        /// Bandwidth of the last-level cache.
        l2_gb_per_s: f64, Real "GB/s" 1, 1000000;
        /// The least that is moved between memory and cache.
        sector_bytes: u64, Power "bytes" 1, 4096;
    }

    /// The cost of launching kernels.
    Launches {
        /// The first kernel of a run, from the start to the end of one that does nothing.
        start_us: f64, Real "us" 0, 10000;
        /// Each further kernel of a recorded graph.
        launch_us: f64, Real "us" 0, 10000;
        /// The further time of a kernel that finds nothing in caches and overlaps with nothing.
        cold_us: f64, Real "us" 0, 10000;
    }

    /// The shares of the hardware that programs reach.
    Efficiency {
        /// The share of memory's bandwidth.
        stream: f64, Real "share" 0.001, 1;
        /// The share of the last-level cache's bandwidth.
        cache: f64, Real "share" 0.001, 1;
        /// The share of the multiply-adds that a product of large matrices reaches.
        product: f64, Real "share" 0.001, 1;
        /// The share of its warps that a multiprocessor has waiting for rows when it sums bags of them.
        occupied: f64, Real "share" 0.001, 1;
        /// Rows that a warp has in flight when it sums a bag.
        rows_in_flight: f64, Real "rows" 0.1, 1000;
        /// Rows of a bag that one warp sums; longer bags are divided.
        rows_per_warp: f64, Real "rows" 1, 1000000;
    }

    /// Power.
    Power {
        /// The power that the board is built for.
        board_w: f64, Real "W" 0.001, 100000;
    }
}

/// A whole GPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gpu {
    /// Its name.
    pub name: String,
    /// The multiprocessors.
    pub processors: Processors,
    /// Memory and the last-level cache.
    pub memory: GpuMemory,
    /// The cost of launching kernels.
    pub launches: Launches,
    /// The shares of the hardware that programs reach.
    pub efficiency: Efficiency,
    /// Power.
    pub power: Power,
    /// Every number as written, in schema order.
    pub figures: Vec<Figure>,
}

const SCHEMA: Schema = Schema {
    what: "GPU",
    sections: &[
        ("processors", Processors::FIELDS),
        ("memory", GpuMemory::FIELDS),
        ("launches", Launches::FIELDS),
        ("efficiency", Efficiency::FIELDS),
        ("power", Power::FIELDS),
    ],
    inherits: false,
    relations: |_, _| {},
};

impl Gpu {
    /// Reads a description.
    ///
    /// # Errors
    ///
    /// Returns everything that is wrong with it at once.
    pub fn parse(text: &str) -> Result<Gpu, Vec<MachineError>> {
        let read = parse::figures(text, &SCHEMA, &[])?;
        let section = |name: &'static str| {
            let figures = &read.figures;
            move |key: &str| {
                let found = figures.iter().find(|f| f.section == name && f.key == key);
                found.map_or(0.0, |f| f.value)
            }
        };
        Ok(Gpu {
            processors: Processors::build(&section("processors")),
            memory: GpuMemory::build(&section("memory")),
            launches: Launches::build(&section("launches")),
            efficiency: Efficiency::build(&section("efficiency")),
            power: Power::build(&section("power")),
            name: read.name,
            figures: read.figures,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_descriptions_read_and_have_the_names_of_their_files() {
        for (name, text) in [
            ("t4", include_str!("../../gpu/t4.toml")),
            ("a100", include_str!("../../gpu/a100.toml")),
            ("h100", include_str!("../../gpu/h100.toml")),
            ("h200", include_str!("../../gpu/h200.toml")),
        ] {
            let gpu = Gpu::parse(text).unwrap_or_else(|errors| panic!("{name}: {errors:#?}"));
            assert_eq!(gpu.name, name);
        }
    }

    #[test]
    fn a_gpu_inherits_nothing() {
        let errors = Gpu::parse("name = \"x\"\ninherits = \"t4\"").unwrap_err();
        assert_eq!(errors[0].message, "unknown section `inherits`");
        assert!(errors.iter().any(|e| e.message == "section `[memory]` is missing"));
    }
}
