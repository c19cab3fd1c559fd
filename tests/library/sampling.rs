//! Samples of long data: estimates from windows of rows beside the cycles on all rows.

use ember_compile::cost::Goal;
use ember_compile::groups::{Chooser, Plan};
use ember_compile::pipeline::{
    Case, Estimate, Inputs, NoSample, Options, compile_by, read, simulate,
};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::rules::Exactness;
use ember_sim::CoreKind;
use ember_targets::dlc::Program;
use std::path::Path;

/// The standard error that estimates may have, as a part of them.
const ERROR: f64 = 0.01;

/// The part of an estimate that starts in windows may be, besides its error.
const STARTS: f64 = 0.015;

/// Reads a model with a batch several times as large.
fn inputs(model: &str, batch: f64) -> Inputs {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let options = Options { rules: vec![root.join("rules")], ..options() };
    let mut sources = Sources::new(Disk);
    let mut inputs = read(&mut sources, &root.join(model), &options).expect("well-formed inputs");
    assert!(inputs.model.data.scale_batches(batch), "{model} has a batch");
    inputs
}

fn options() -> Options {
    Options { exact: Exactness::Reassoc, sample: Some(ERROR), ..Options::default() }
}

/// Returns the estimate for a program, and its cycles on all rows.
fn both(inputs: &Inputs, case: &Case, program: &Program) -> (Estimate, u64) {
    let estimate = case.estimate(program, &inputs.machine).expect("a sample").expect("an end");
    let whole = simulate(program, &inputs.machine, case, CoreKind::OutOfOrder, false);
    (estimate, whole.expect("an end").stats.cycles)
}

/// Checks that estimates for the programs of some schedules are as near as they say, from at most some part of the rows.
fn near(model: &str, batch: f64, schedules: &[&str], most: f64) {
    let (inputs, options) = (inputs(model, batch), options());
    let (case, unsampled) = Case::to_rank(&inputs.model, &options).expect("data");
    assert!(unsampled.is_none(), "{model}: {unsampled:?}");
    for schedule in schedules {
        let schedule = inputs.schedule(schedule).expect("the schedule");
        let chosen = compile_by(&inputs, &options, schedule, Goal::Decoupled).expect("a program");
        let (estimate, whole) = both(&inputs, &case, chosen.program.program());
        let Estimate { measure, standard_error, part, .. } = &estimate;
        let off = measure.cycles as f64 / whole as f64 - 1.0;
        let told = format!("{model}, {}: {estimate:?} of {whole}, {off:.4}", schedule.name);
        assert!(off.abs() <= 3.0 * standard_error + STARTS, "{told}");
        assert!(*standard_error <= ERROR && *part <= most, "{told}");
    }
}

#[test]
fn estimates_of_bags_are_as_near_as_they_say() {
    near("workloads/EB/RM1_L0.sexp", 32.0, &["search"], 0.2);
}

#[test]
fn what_was_looked_up_between_windows_is_in_the_caches() {
    // Lookups of high locality take most of their rows from caches, which the first windows fill.
    near("workloads/EB/RM2_L2.sexp", 16.0, &["search"], 1.0);
    near("workloads/EB/RM1_L1.sexp", 16.0, &["search"], 0.6);
}

#[test]
fn estimates_of_graphs_with_long_rows_are_as_near_as_they_say() {
    near("workloads/MP/MP_web-Google.sexp", 16.0, &["search"], 0.7);
    near("workloads/SpMM/SpMM_products.sexp", 16.0, &["search"], 0.8);
}

#[test]
fn estimates_of_triples_and_blocks_are_as_near_as_they_say() {
    near("workloads/KG/KG_biokg.sexp", 16.0, &["search"], 0.2);
    near("workloads/SpAttn/SpAttn_1.sexp", 16.0, &["search"], 0.3);
}

#[test]
fn estimates_above_a_limit_are_no_measures() {
    let inputs = inputs("workloads/KG/KG_biokg.sexp", 16.0);
    let (case, _) = Case::to_rank(&inputs.model, &options()).expect("data");
    let schedule = inputs.schedule("search").expect("the schedule");
    let chosen = compile_by(&inputs, &options(), schedule, Goal::Decoupled).expect("a program");
    let program = chosen.program.program();
    let rank = |case: &Case, cycles: u64| {
        case.rank_within(program, &inputs.machine, cycles, ember_sim::Values::Integers)
    };
    // Whether it has been estimated before makes no difference.
    for limit in [100, 4_000_000] {
        let early = rank(&case, limit).expect_err("it takes 8 million cycles");
        assert!(early.takes_more_than(limit), "{limit}: {early}");
    }
    let cycles = rank(&case, u64::MAX).expect("an end").cycles;
    assert!(rank(&case, cycles - 1).is_err_and(|why| why.takes_more_than(cycles - 1)));
    assert_eq!(rank(&case, cycles).expect("an end").cycles, cycles);
    let limited = Options { cycle_limit: 4_000_000, ..options() };
    let (case, _) = Case::to_rank(&inputs.model, &limited).expect("data");
    assert!(rank(&case, u64::MAX).is_err_and(|why| why.takes_more_than(4_000_000)));
}

#[test]
fn data_that_is_not_sampled_has_a_reason() {
    let reason = |model: &str| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let options = Options { rules: vec![root.join("rules")], ..options() };
        let mut sources = Sources::new(Disk);
        let inputs = read(&mut sources, &root.join(model), &options).expect("inputs");
        Case::to_rank(&inputs.model, &options).expect("data").1
    };
    assert!(matches!(reason("workloads/EB/RM1_L0.sexp"), Some(NoSample::Short { .. })));
    assert!(matches!(reason("tests/models/gcn.sexp"), Some(NoSample::Exchanged)));
    assert!(matches!(reason("tests/models/sddmm.sexp"), Some(NoSample::Dependent(_))));
    let products = inputs("workloads/SpMM/SpMM_proteins.sexp", 1.0);
    let heavy = Case::to_rank(&products.model, &options()).expect("data").1;
    assert!(matches!(heavy, Some(NoSample::Heavy { .. })), "{heavy:?}");
}

#[test]
fn a_program_that_sets_all_rows_first_is_ranked_on_all_of_them() {
    // The program sets the output to zero by columns before it adds to its rows. In a window, the lines of the output stay
    // in the first cache, and of all rows they do not.
    let inputs = inputs("workloads/EB/RM2_L2.sexp", 16.0);
    let (case, _) = Case::to_rank(&inputs.model, &options()).expect("data");
    let schedule = inputs.schedule("emb-opt3").expect("the schedule");
    let chosen = compile_by(&inputs, &options(), schedule, Goal::Decoupled).expect("a program");
    assert!(case.is_sampled() && chosen.program.program().access.len() > 1);
    assert!(case.estimate(chosen.program.program(), &inputs.machine).is_none());
}

#[test]
fn a_program_that_computes_something_without_rows_is_ranked_on_all_of_them() {
    // Every window would compute the weights again.
    let text = "(model weights
      (input table f32 (rows 64)) (input indices i64 (lookups)) (input offsets i64 ((+ bags 1)))
      (input a f32 (64 64)) (input b f32 (64 64))
      (let w (nn.matmul a b))
      (output out (nn.matmul (emb.bag sum table indices offsets) w))
      (data (size rows 1000000) (size bags 16384) (table (uniform -1.0 1.0)) (offsets (fixed 20))
        (indices (locality low)) (a (uniform -1.0 1.0)) (b (uniform -1.0 1.0))))";
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let options = Options { rules: vec![root.join("rules")], ..options() };
    let mut sources = Sources::new(Disk);
    sources.add("weights.sexp", text);
    let inputs = read(&mut sources, Path::new("weights.sexp"), &options).expect("inputs");
    let (case, unsampled) = Case::to_rank(&inputs.model, &options).expect("data");
    assert!(unsampled.is_none() && case.is_sampled(), "the rows of the output are apart");
    let schedule = inputs.schedule("search").expect("the schedule");
    let chosen = compile_by(&inputs, &options, schedule, Goal::Decoupled).expect("a program");
    assert!(case.estimate(chosen.program.program(), &inputs.machine).is_none());
    let statistics = case.statistics(&inputs);
    let plan = Plan::new(inputs.book.signature.table(), &inputs.model, &statistics);
    let chooser = Chooser::new(&inputs, None, Goal::Decoupled);
    let sampled = chosen.groups.iter().filter_map(|group| {
        let program = chooser.program_of(&plan, group.like, &group.candidate).expect("its program");
        case.estimate(program.program(), &inputs.machine)
    });
    let parts: Vec<f64> = sampled.map(|done| done.expect("an end").part).collect();
    assert!(!parts.is_empty() && parts.iter().all(|part| *part < 1.0), "{parts:?}");
}
