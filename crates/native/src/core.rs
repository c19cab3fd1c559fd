//! The processor that this process runs on.

use ember_targets::machine::{Machine, MachineError};
use std::fs;
use std::path::Path;

/// The folder in which Linux describes the caches of the first core.
const CACHES: &str = "/sys/devices/system/cpu/cpu0/cache";

/// What is found out about the processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The maker, by the name that the processor gives it; empty if it gives none.
    pub maker: String,
    /// The widest vectors, by the name of their instructions.
    pub vectors: &'static str,
    /// The bytes of one vector register.
    pub vector_bytes: u64,
    /// The vector registers.
    pub vector_registers: u64,
    /// The bytes of the data caches by level, from 1, as far as they are known.
    pub caches: Vec<(u32, u64)>,
    /// The threads that run at the same time.
    pub threads: usize,
}

/// Finds out about the processor.
pub fn found() -> Found {
    let (vectors, vector_bytes, vector_registers) = vectors();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let caches = caches(Path::new(CACHES));
    Found { maker: maker(), vectors, vector_bytes, vector_registers, caches, threads }
}

impl Found {
    /// Completes the description of this machine.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with a description that comes with the program.
    pub fn complete(&self, machine: &mut Machine) -> Result<(), Vec<MachineError>> {
        machine.made_by(&self.maker)?;
        machine.core.simd_bytes = self.vector_bytes;
        machine.core.vector_registers = self.vector_registers;
        for (level, bytes) in &self.caches {
            match level {
                1 => machine.l1.bytes = *bytes,
                2 => machine.l2.bytes = *bytes,
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(target_arch = "x86_64")]
fn maker() -> String {
    let named = raw_cpuid::CpuId::new().get_vendor_info();
    named.map(|maker| maker.as_str().to_owned()).unwrap_or_default()
}

#[cfg(not(target_arch = "x86_64"))]
fn maker() -> String {
    String::new()
}

#[cfg(target_arch = "x86_64")]
fn vectors() -> (&'static str, u64, u64) {
    if is_x86_feature_detected!("avx512f") {
        ("AVX-512", 64, 32)
    } else if is_x86_feature_detected!("avx2") {
        ("AVX2", 32, 16)
    } else {
        ("SSE2", 16, 16)
    }
}

#[cfg(target_arch = "aarch64")]
fn vectors() -> (&'static str, u64, u64) {
    ("NEON", 16, 32)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn vectors() -> (&'static str, u64, u64) {
    ("none that is known", 16, 16)
}

/// Reads the sizes of the data caches.
fn caches(folder: &Path) -> Vec<(u32, u64)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let read = |path: &Path| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let cache = |folder: &Path| {
        let kind = read(&folder.join("type"))?;
        let level = read(&folder.join("level"))?.parse().ok()?;
        let size = read(&folder.join("size"))?;
        let bytes = match size.strip_suffix('K') {
            Some(kib) => kib.parse::<u64>().ok()?.checked_mul(1024)?,
            None => size.parse().ok()?,
        };
        (kind != "Instruction").then_some((level, bytes))
    };
    let mut found: Vec<(u32, u64)> =
        entries.flatten().filter_map(|entry| cache(&entry.path())).collect();
    found.sort_unstable();
    found.dedup_by_key(|(level, _)| *level);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use ember_targets::machine::{HERE, SHIPPED, TMU_CPU};

    #[test]
    fn a_description_is_completed() {
        let published = Machine::parse(TMU_CPU).expect("a machine");
        let (_, text) = SHIPPED.iter().find(|(name, _)| *name == HERE).expect("is shipped");
        let described = Machine::parse_from(text, Some(&published)).expect("a machine");
        let of = |maker: &str| {
            let mut machine = described.clone();
            let found = Found {
                maker: maker.to_owned(),
                vectors: "AVX2",
                vector_bytes: 32,
                vector_registers: 16,
                caches: vec![(1, 32 << 10), (2, 1 << 20), (3, 32 << 20)],
                threads: 2,
            };
            found.complete(&mut machine).expect("descriptions that are right");
            machine
        };
        for maker in ["AuthenticAMD", "GenuineIntel", ""] {
            let own = of(maker);
            assert_eq!((own.core.simd_bytes, own.core.vector_registers), (32, 16));
            assert_eq!((own.l1.bytes, own.l2.bytes), (32 << 10, 1 << 20));
            // One core's part of the last-level cache is not what the processor says.
            assert_eq!(own.llc.bytes, described.llc.bytes);
        }
        assert!(of("AuthenticAMD").core.dropped_requests > 0.0);
        assert_eq!(of("GenuineIntel").core.row_swap, 0);
    }
}
