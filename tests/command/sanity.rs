//! The sanity of the simulated machine: nothing is slower on a better one, what one unit sends another receives, and
//! energy adds up. The whole of the first is the sweep `workloads/sanity.toml`; here is a sample of it.

use crate::common::{OPT, best, case, ember, folder, inputs, root, word};
use ember_compile::pipeline::{goal, simulate};
use ember_sim::{CoreKind, Stats};
use ember_targets::machine::Machine;
use serde_json::Value;
use std::fs;

/// Returns the changes of the whole suite, for other models.
fn sample(models: &[&str], schedules: &[&str]) -> String {
    let text = fs::read_to_string(root().join("workloads/sanity.toml")).expect("a sweep");
    let (_, changes) = text.split_once("[[around]]").expect("changes");
    let models: Vec<String> = models.iter().map(|model| word(&root().join(model))).collect();
    format!(
        "models = {models:?}\nschedules = {schedules:?}\nexact = [\"reassoc\"]\n[[around]]{changes}"
    )
}

#[test]
fn nothing_is_slower_on_a_better_machine() {
    let folder = folder("sanity");
    let by_hand = ["examples/bags/32_low.sexp", "examples/bags/128_high.sexp"];
    // With few bags, chance decides which program is the fastest on one seed, by up to a tenth.
    let few = fs::read_to_string(root().join("examples/bag_weighted.sexp")).expect("a model");
    let many = folder.join("bag_weighted.sexp");
    fs::write(&many, few.replace("(size bags 32)", "(size bags 512)")).expect("is written");
    let models = [&word(&many), "examples/gather.sexp"];
    let mut found = Vec::new();
    for (name, text) in [
        ("programs.toml", sample(&by_hand, &["expert", "paper"])),
        ("schedules.toml", sample(&models, &["search", "emb-opt3"])),
    ] {
        let sweep = folder.join(name);
        fs::write(&sweep, text).expect("is written");
        let ran = ember(&["sweep", &word(&sweep), "--json", "--restart"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let tornado = &ran.json()["tornado"];
        for own in tornado["worse"].as_array().expect("a list") {
            let text = |value: &Value| value.as_str().expect("a text").to_owned();
            let model = text(&own["model"]).replace(".sexp", "");
            let model = model.rsplit('/').next().unwrap_or_default().to_owned();
            found.push([model, text(&own["schedule"]), text(&own["change"]["parameter"])]);
        }
        // Every change is made, and has an effect on something.
        let bars = tornado["bars"].as_array().expect("a list");
        assert_eq!(bars.len(), 15);
        let faster = |own: &Value| own["mean"].as_f64().is_some_and(|x| x < 0.999);
        let of_any =
            |bar: &&Value| bar["schedules"].as_array().is_some_and(|all| all.iter().any(faster));
        assert!(bars.iter().filter(of_any).count() >= 5, "{bars:#?}");
    }
    assert_eq!(found, Vec::<[String; 3]>::new());
}

#[test]
fn bytes_are_conserved_and_energy_adds_up() {
    for model in
        ["tests/models/bag.sexp", "tests/models/mp_sigmoid.sexp", "examples/bag_weighted.sexp"]
    {
        let inputs = inputs(model);
        let case = case(&inputs, 7);
        for name in OPT.into_iter().chain(["search"]) {
            let schedule = inputs.schedule(name).unwrap_or_else(|e| panic!("{e:#?}"));
            let chosen = best(&inputs, &case, name, goal(&inputs.book, schedule));
            let program = chosen.program.program();
            let core = CoreKind::OutOfOrder;
            let outcome = simulate(program, &inputs.machine, &case, core, false);
            let outcome = outcome.unwrap_or_else(|why| panic!("{model} {name}: {why}"));
            conserved(&outcome.stats, &inputs.machine, &format!("{model} {name}"));
        }
    }
}

/// Checks that what one unit sends, another receives.
fn conserved(stats: &Stats, machine: &Machine, of: &str) {
    let line = machine.dram.line_bytes;
    // Main memory sends what the last-level cache could not serve.
    assert_eq!(stats.dram_bytes.read, stats.llc_misses * line, "{of}");
    assert_eq!(stats.dram_bytes.written % line, 0, "{of}");
    let loads = stats.llc_loads;
    let loads = loads.temporal + loads.temporal_l2 + loads.non_temporal;
    assert!(loads <= stats.llc_accesses && stats.llc_misses <= stats.llc_accesses, "{of}");
    assert!(stats.queue_bytes == 0 || stats.operands > 0, "{of}");
    // A unit does one thing at a time, and always something.
    for unit in &stats.units {
        let all = [unit.busy, unit.memory, unit.full, unit.empty, unit.dispatch, unit.idle];
        assert_eq!(all.iter().sum::<u64>(), stats.cycles, "{of}: {}", unit.name);
    }
    let per = &machine.energy;
    let scalar = stats.uops - stats.vector_uops;
    let moved = stats.dram_bytes.read + stats.dram_bytes.written;
    let parts = [
        (stats.energy.alu, scalar, per.alu_pj),
        (stats.energy.vector, stats.vector_uops, per.vector_pj),
        (stats.energy.matrix, stats.macs, per.mac_pj),
        (stats.energy.l1, stats.l1_accesses, per.l1_pj),
        (stats.energy.l2, stats.l2_accesses, per.l2_pj),
        (stats.energy.llc, stats.llc_accesses, per.llc_pj),
        (stats.energy.dram, moved, per.dram_byte_pj),
        (stats.energy.queue, stats.queue_bytes, per.queue_byte_pj),
        (stats.energy.dispatch, stats.tokens, per.dispatch_pj),
        (stats.energy.idle, stats.cycles, per.static_cycle_pj),
    ];
    for (joules, events, pj) in parts {
        let expected = events as f64 * pj * 1e-12;
        assert!((joules - expected).abs() <= 1e-9 * expected, "{of}: {joules} of {expected}");
    }
    let sum = parts.iter().map(|part| part.0).sum::<f64>() + stats.energy.access;
    assert!((sum - stats.energy_j).abs() <= 1e-9 * sum, "{of}");
}
