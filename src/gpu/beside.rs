//! One workload on our machine beside a GPU, and the summary of all of them.

use super::{Compared, modelled};
use crate::bench::{Row, geometric_mean};
use ember_compile::pipeline::Inputs;
use ember_language::diagnostic::Checked;
use ember_targets::machine::Machine;
use ember_targets::machine::gpu::Gpu;
use schemars::JsonSchema;
use serde::Serialize;

/// The most elements that data is made for only to compare the analytic model with a measurement.
const MODELLED_WORK: f64 = 1.5e9;

/// A workload on our machine beside the same on a GPU.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "GpuBeside")]
pub struct Beside {
    /// The GPU.
    pub gpu: String,
    /// Seconds that one of our cores takes for its batch.
    pub core_seconds: f64,
    /// The simulated energy of that, in joules.
    pub core_joules: f64,
    /// With as many cores as have the GPU's bandwidth.
    pub equal_bandwidth: At,
    /// With as many cores as have the GPU's power.
    pub equal_power: At,
    /// The analytic model beside every measurement that is not too large to be modelled here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modelled: Vec<Point>,
}

/// A number of our cores, each with a batch of its own, beside the GPU with all these batches as one.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[schemars(rename = "GpuAt")]
pub struct At {
    /// Our cores.
    pub cores: f64,
    /// Seconds that the GPU takes for as many batches.
    pub gpu_seconds: f64,
    /// The GPU's time over ours.
    pub speed: f64,
    /// The speed per watt of the power that both are built for.
    pub speed_per_watt: f64,
    /// The GPU's energy over ours: the measured one, or that of the built-for power, over the simulated one.
    pub energy: f64,
}

/// The analytic model at a measured batch.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[schemars(rename = "GpuPoint")]
pub struct Point {
    /// The factor of the batch in the model's file.
    pub scale: f64,
    /// The measured seconds.
    pub measured: f64,
    /// The seconds of the analytic model.
    pub modelled: f64,
}

impl Beside {
    /// Compares a workload. `scale` is the factor by which the batch of `inputs` is greater than its file says.
    pub(crate) fn of(
        compared: &Compared,
        inputs: &Inputs,
        scale: f64,
        seed: Option<u64>,
        (core_seconds, core_joules): (f64, f64),
    ) -> Checked<Beside> {
        let machine = &inputs.machine;
        let at = |cores: f64| -> Checked<At> {
            // The GPU's batch is a whole number of ours.
            let batches = cores.round().max(1.0);
            let gpu_seconds = compared.seconds(inputs, scale, batches, seed)?;
            let speed = (cores / core_seconds) / (batches / gpu_seconds);
            let drawn = match compared {
                Compared::Measured(measured, _) => {
                    measured.drawn(&inputs.model.name, scale * batches)
                }
                Compared::Described(_) => None,
            };
            let gpu_joules = gpu_seconds * drawn.unwrap_or(compared.watts());
            Ok(At {
                cores,
                gpu_seconds,
                speed,
                speed_per_watt: speed * compared.watts() / (cores * machine.energy.design_w),
                energy: gpu_joules / (batches * core_joules),
            })
        };
        Ok(Beside {
            gpu: compared.name().to_owned(),
            core_seconds,
            core_joules,
            equal_bandwidth: at(compared.gb_per_s() / core_gb_per_s(machine))?,
            equal_power: at(compared.watts() / machine.energy.design_w)?,
            modelled: match compared {
                Compared::Measured(_, Some(gpu)) => points(compared, gpu, inputs, scale, seed),
                _ => Vec::new(),
            },
        })
    }
}

/// Returns one core's share of our machine's peak bandwidth, in GB/s.
fn core_gb_per_s(machine: &Machine) -> f64 {
    let dram = &machine.dram;
    dram.channels as f64 * dram.channel_gb_per_s / dram.sharers as f64
}

fn points(
    compared: &Compared,
    gpu: &Gpu,
    inputs: &Inputs,
    scale: f64,
    seed: Option<u64>,
) -> Vec<Point> {
    let Compared::Measured(measured, _) = compared else { return Vec::new() };
    let model = &inputs.model;
    // Sizes that only data gives are known from an instance of the given batch.
    let Ok(instance) = model.instantiate(seed) else { return Vec::new() };
    let work: f64 = model.expressions().map(|e| model.work(e, &instance.sizes) as f64).sum();
    let points = measured.points(&model.name).into_iter();
    let points = points.filter(|(factor, _)| work * factor / scale <= MODELLED_WORK);
    let modelled = points.filter_map(|(factor, measured)| {
        let modelled = modelled(gpu, model, factor / scale, seed).ok()?;
        Some(Point { scale: factor, measured, modelled })
    });
    modelled.collect()
}

/// Our machine beside a GPU, over all workloads.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "GpuSummary")]
pub struct Summary {
    /// The GPU.
    pub gpu: String,
    /// The source of its times: `analytic model` or `measurements`.
    pub times: String,
    /// Its peak bandwidth.
    pub gpu_gb_per_s: f64,
    /// The power that it is built for.
    pub gpu_w: f64,
    /// One of our cores' share of peak bandwidth.
    pub core_gb_per_s: f64,
    /// The power that one of our cores is built for.
    pub core_w: f64,
    /// Geometric means at equal bandwidth.
    pub equal_bandwidth: Option<Means>,
    /// Geometric means at equal power.
    pub equal_power: Option<Means>,
    /// The published claim.
    pub published: Claim,
    /// The analytic model beside the measurements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_error: Option<ModelError>,
    /// The assumptions of the comparison.
    pub assumptions: Vec<String>,
}

/// Geometric means over the workloads.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[schemars(rename = "GpuMeans")]
pub struct Means {
    /// Of our cores.
    pub cores: f64,
    /// The GPU's time over ours.
    pub speed: f64,
    /// The speed per watt of the power that both are built for.
    pub speed_per_watt: f64,
    /// The GPU's energy over ours.
    pub energy: f64,
}

/// A published comparison.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[schemars(rename = "GpuClaim")]
pub struct Claim {
    /// Its source.
    pub source: &'static str,
    /// Performance over that of GPUs.
    pub speed: f64,
    /// Performance per watt over that of GPUs.
    pub speed_per_watt: f64,
}

/// The claim of Ember's abstract.
pub(super) const PUBLISHED: Claim = Claim {
    source: "Ember (CGO 2026; arXiv 2504.09870), abstract: processors with access units on \
             end-to-end models",
    speed: 2.6,
    speed_per_watt: 6.4,
};

/// The error of the analytic model, as factors.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[schemars(rename = "GpuModelError")]
pub struct ModelError {
    /// The compared measurements.
    pub points: usize,
    /// The geometric mean of modelled over measured times: above 1, the model is too slow.
    pub bias: f64,
    /// The mean factor between the two, whichever is greater.
    pub mean: f64,
    /// The greatest such factor.
    pub worst: f64,
}

impl Summary {
    /// Summarises the rows for the GPU at a place in them.
    pub(crate) fn of(compared: &Compared, machine: &Machine, rows: &[Row], at: usize) -> Summary {
        let besides = || rows.iter().filter_map(|row| row.gpus.get(at));
        let means = |pick: fn(&Beside) -> At| {
            let mean = |of: fn(At) -> f64| geometric_mean(besides().map(|b| of(pick(b))));
            Some(Means {
                cores: mean(|at| at.cores)?,
                speed: mean(|at| at.speed)?,
                speed_per_watt: mean(|at| at.speed_per_watt)?,
                energy: mean(|at| at.energy)?,
            })
        };
        // A workload at several batches has the same points each time.
        let mut seen = Vec::new();
        for row in rows {
            let key = row.gpus.get(at).map(|gpu| (row.model.as_str(), &gpu.modelled));
            if let Some((name, points)) = key
                && seen.iter().all(|(other, _)| *other != name)
            {
                seen.push((name, points));
            }
        }
        let ratios = seen.iter().flat_map(|(_, points)| points.iter());
        let ratios: Vec<f64> = ratios.map(|point| point.modelled / point.measured).collect();
        let factor = |ratio: f64| ratio.max(1.0 / ratio);
        let error = geometric_mean(ratios.iter().copied()).map(|bias| ModelError {
            points: ratios.len(),
            bias,
            mean: geometric_mean(ratios.iter().map(|r| factor(*r))).unwrap_or(1.0),
            worst: ratios.iter().map(|r| factor(*r)).fold(1.0, f64::max),
        });
        Summary {
            gpu: compared.name().to_owned(),
            times: match compared {
                Compared::Described(_) => "analytic model",
                Compared::Measured(..) => "measurements",
            }
            .to_owned(),
            gpu_gb_per_s: compared.gb_per_s(),
            gpu_w: compared.watts(),
            core_gb_per_s: core_gb_per_s(machine),
            core_w: machine.energy.design_w,
            equal_bandwidth: means(|b| b.equal_bandwidth),
            equal_power: means(|b| b.equal_power),
            published: PUBLISHED,
            model_error: error,
            assumptions: assumptions(compared),
        }
    }
}

/// Returns what a comparison assumes.
fn assumptions(compared: &Compared) -> Vec<String> {
    let mut all: Vec<String> = [
        "Our cores are simulated one at a time, with a fixed share of the last-level cache and of \
         memory. Each has a batch of its own, and as many of them as needed do not slow one \
         another down.",
        "The GPU takes as many batches at once as we have cores, as one batch.",
        "Power is what machines are built for: the board's for the GPU, and by core for ours, \
         `design_w` in the target.",
        "Energy is the GPU's, measured if the file has it and else the built-for power over its \
         time, over ours as simulated: events of core, caches and memory and 0.5 W a core of \
         everything else. Its order of magnitude counts, no more.",
        "Both compute in f32, from cold caches, with tables in memory. The GPU does not use TF32, \
         which is less exact and multiplies faster; each of our cores has a matrix unit. No data \
         moves between host and GPU.",
    ]
    .map(str::to_owned)
    .into();
    all.push(match compared {
        Compared::Described(gpu) => format!(
            "The times of {} are estimates, with the efficiencies of its description: {:.0} % of \
             memory's bandwidth, {:.0} % of the cache's, {:.0} % of multiply-adds, and {} us for each \
             kernel.",
            gpu.name,
            100.0 * gpu.efficiency.stream,
            100.0 * gpu.efficiency.cache,
            100.0 * gpu.efficiency.product,
            gpu.launches.launch_us + gpu.launches.cold_us,
        ),
        Compared::Measured(measured, _) => format!(
            "The times of {} are those of the fastest of several ways in PyTorch {}, medians by the \
             GPU's own clock. Between two measured batches they are interpolated, beyond the \
             greatest in proportion.",
            measured.device.name, measured.torch
        ),
    });
    all
}
