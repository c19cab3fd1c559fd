//! The time of kernels on a GPU: a roofline with the latency of dependent lookups, and the cost of launches.

use super::work::Launch;
use ember_targets::machine::gpu::Gpu;

/// Returns the seconds of kernels that are launched together, as a recorded graph is.
pub(super) fn seconds(gpu: &Gpu, launches: &[Launch]) -> f64 {
    let further = launches.len().saturating_sub(1) as f64;
    let overhead = (gpu.launches.start_us + further * gpu.launches.launch_us) * 1e-6;
    overhead + launches.iter().map(|launch| kernel(gpu, launch)).sum::<f64>()
}

/// Returns the seconds of one kernel without its launch: the most that bandwidth, latency or arithmetic take.
fn kernel(gpu: &Gpu, launch: &Launch) -> f64 {
    let (memory, efficiency, processors) = (&gpu.memory, &gpu.efficiency, &gpu.processors);
    let gb = |gb_per_s: f64| gb_per_s * 1e9;
    let from_memory = launch.streamed / (efficiency.stream * gb(memory.gb_per_s))
        + launch.gathered / (efficiency.gather * gb(memory.gb_per_s));
    let moving = from_memory + launch.cached / gb(memory.l2_gb_per_s);
    // A warp waits for a row once for as many rows as it has in flight, and all warps together have that many each.
    let warps = (processors.count * processors.warps) as f64;
    let waits = launch.longest.max(launch.loads / warps) / efficiency.rows_in_flight;
    let waiting = waits * memory.latency_ns * 1e-9;
    let rate = processors.count as f64 * processors.fma as f64 * gb(processors.clock_ghz);
    let multiplying = launch.products / (efficiency.product * rate);
    moving.max(waiting).max(multiplying)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ember_targets::machine::gpu::SHIPPED;

    #[test]
    fn the_slowest_of_moving_waiting_and_multiplying_counts() {
        let gpu = Gpu::parse(SHIPPED[0].1).expect("a description");
        let none = Launch::default();
        assert_eq!(kernel(&gpu, &none), 0.0);
        let start = seconds(&gpu, std::slice::from_ref(&none));
        assert!((start - gpu.launches.start_us * 1e-6).abs() < 1e-15);
        let moves = Launch { streamed: 1e9, ..Launch::default() };
        let wanted = 1.0 / (gpu.memory.gb_per_s * gpu.efficiency.stream);
        assert!((kernel(&gpu, &moves) - wanted).abs() < 1e-9);
        let waits = Launch { longest: 1e6, ..moves.clone() };
        let wanted = 1e-3 * gpu.memory.latency_ns / gpu.efficiency.rows_in_flight;
        assert!((kernel(&gpu, &waits) - wanted).abs() < 1e-9);
    }
}
