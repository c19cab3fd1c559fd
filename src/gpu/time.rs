//! The time of kernels on a GPU: a roofline with the latency of dependent lookups, and the cost of launches.

use super::work::Launch;
use ember_targets::machine::gpu::Gpu;

/// Returns the seconds of kernels that are launched together, as a recorded graph is.
pub(super) fn seconds(gpu: &Gpu, launches: &[Launch]) -> f64 {
    let costs = &gpu.launches;
    let further = launches.len().saturating_sub(1) as f64;
    let overhead =
        costs.start_us + further * costs.launch_us + launches.len() as f64 * costs.cold_us;
    overhead * 1e-6 + launches.iter().map(|launch| kernel(gpu, launch)).sum::<f64>()
}

/// Returns the seconds of one kernel without its launch: the most that bandwidth, latency or arithmetic take.
fn kernel(gpu: &Gpu, launch: &Launch) -> f64 {
    let (memory, efficiency, processors) = (&gpu.memory, &gpu.efficiency, &gpu.processors);
    let giga = |x: f64| x * 1e9;
    let moving = launch.memory / (efficiency.stream * giga(memory.gb_per_s))
        + launch.cached / (efficiency.cache * giga(memory.l2_gb_per_s));
    // A warp waits once for as many rows of a bag as it has in flight, and no faster than all warps together.
    let warps = (processors.count * processors.warps) as f64 * efficiency.occupied;
    let rows = launch.longest.min(efficiency.rows_per_warp).max(launch.loads / warps);
    let waiting = rows / efficiency.rows_in_flight * memory.latency_ns * 1e-9;
    let rate = (processors.count * processors.fma) as f64 * giga(processors.clock_ghz);
    let multiplying = launch.products / (efficiency.product * rate);
    moving.max(waiting).max(multiplying)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_of_moving_waiting_and_multiplying_counts() {
        let gpu = Gpu::parse(include_str!("../../targets/gpu/t4.toml")).expect("a description");
        let near = |x: f64, wanted: f64| assert!((x / wanted - 1.0).abs() < 1e-12, "{x} {wanted}");
        let none = Launch::default();
        assert_eq!(kernel(&gpu, &none), 0.0);
        let costs = &gpu.launches;
        let overhead = costs.start_us + costs.launch_us + 2.0 * costs.cold_us;
        near(seconds(&gpu, &[none.clone(), none]), 1e-6 * overhead);
        let moves = Launch { memory: 1e9, ..Launch::default() };
        near(kernel(&gpu, &moves), 1.0 / (gpu.memory.gb_per_s * gpu.efficiency.stream));
        let waits = Launch { loads: 1e9, ..moves.clone() };
        let warps = (gpu.processors.count * gpu.processors.warps) as f64 * gpu.efficiency.occupied;
        let rounds = 1e9 / warps / gpu.efficiency.rows_in_flight;
        near(kernel(&gpu, &waits), rounds * gpu.memory.latency_ns * 1e-9);
        // A bag longer than that is divided.
        let long = Launch { longest: 1e12, ..Launch::default() };
        let rounds = gpu.efficiency.rows_per_warp / gpu.efficiency.rows_in_flight;
        near(kernel(&gpu, &long), rounds * gpu.memory.latency_ns * 1e-9);
    }
}
