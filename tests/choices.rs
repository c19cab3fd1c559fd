//! Choices of the search that rest on one effect of the machine, which the cost model must know.

use ember_compile::pipeline::{self, Case, Options};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_tools::progress::Line;
use ember_tools::tuning::Tuning;
use std::path::Path;

/// The elements of the model's input.
const ELEMENTS: u64 = 8 * 32 * 256;

/// A sum in memory, one element after another, would take the latency of forwarding and of an addition for each.
#[test]
fn row_sums_are_no_chain_of_accumulations_in_memory() {
    let model = "(model weights (input x f32 (8 32 256)) (output w (nn.softmax x))
        (data (seed 1) (x (uniform -1.0 1.0))))";
    let mut sources = Sources::new(Disk);
    sources.add("<model>", model);
    let rules = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("rules")];
    let options = Options { rules, ..Options::default() };
    let inputs = pipeline::read(&mut sources, Path::new("<model>"), &options).expect("a model");
    let case = Case::new(&inputs.model, options.seed, options.exact).expect("data");
    let tuning = Tuning::new(&inputs, &case, &options);
    let schedule = inputs.schedule(&options.schedule).expect("it is there");
    let attempt = tuning.best_of(schedule, &Line::hidden()).expect("a search");
    let chosen = attempt.program(&inputs, schedule).expect("a program");
    let core = &inputs.machine.core;
    let chain = ELEMENTS * (core.forward_latency + core.float_add_latency);
    for group in &chosen.groups {
        let cycles = group.measure.as_ref().expect("it has run").cycles;
        assert!(cycles < chain / 2, "statement {:?}: {cycles} of {chain}", group.statements);
    }
}
