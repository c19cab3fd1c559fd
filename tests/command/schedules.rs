//! Tests schedules that repeat, in the search of a model: they end, and they find the same programs as the steps
//! written one after the other.

use crate::common::{folder, options, root};
use ember_compile::cost::Goal;
use ember_compile::pipeline::{self, Options, search, store};
use ember_compile::workload::Statistics;
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use std::fs;

/// Returns the saturations of a schedule's search, and the programs that it finds.
fn found(name: &str, steps: &[&str]) -> Vec<(usize, Vec<String>)> {
    let forms = steps.iter().enumerate();
    let forms = forms.map(|(at, steps)| format!("(schedule s{at} \"a schedule\" {steps})"));
    let file = folder(name).join("steps.rules");
    fs::write(&file, forms.collect::<Vec<_>>().join("\n")).expect("is written");
    let rules = vec![root().join("rules"), file];
    let options = Options { rules, rank: false, ..options() };
    let mut sources = Sources::new(Disk);
    let model = root().join("examples/gather.sexp");
    let inputs = pipeline::read(&mut sources, &model, &options)
        .unwrap_or_else(|errors| panic!("{errors:#?}"));
    let instance = inputs.model.instantiate(None).expect("data");
    let store = store(&instance);
    let statistics = Statistics::new(&inputs.model, &instance, &store, &inputs.machine);
    let one = |at: usize| {
        let schedule = inputs.schedule(&format!("s{at}")).expect("a schedule");
        let searched = search(&inputs, &statistics, &options, schedule, Goal::Decoupled, &|_| ());
        let found = searched.found.values().next().expect("one group");
        let terms = found.candidates.iter().map(|candidate| candidate.term.to_string());
        (found.saturations.len(), terms.collect())
    };
    (0..steps.len()).map(one).collect()
}

const LOWER: &str = "(saturate (phase lower))";
const DECOUPLE: &str = "(saturate (phase decouple))";

#[test]
fn until_ends_where_the_sketch_is_there_or_nothing_changes() {
    let until = |sketch: &str| format!("{LOWER} (until {sketch} {DECOUPLE} {LOWER})");
    let runs = found(
        "until",
        &[
            &format!("{LOWER} {DECOUPLE} {LOWER}"),
            &until("(?contains (slc.for ? ? ? ? ?))"),
            &until("(slc (scf.for ? ? ? ? ?))"),
            &until("(?contains (slc.for ? ? ? ? slc.skip))"),
        ],
    );
    let (saturations, programs): (Vec<usize>, Vec<_>) = runs.into_iter().unzip();
    assert!(!programs[0].is_empty());
    assert_eq!(programs[1], programs[0], "found after one round");
    assert_eq!(programs[2], Vec::<String>::new(), "there from the start, and nothing is decoupled");
    assert_eq!(programs[3], programs[0], "never found, and the second round changes nothing");
    assert_eq!(saturations, [3, 3, 1, 5]);
}

#[test]
fn repeating_ends_where_nothing_changes() {
    let runs = found(
        "repeat",
        &[
            &format!("{LOWER} {DECOUPLE} (keep 2)"),
            &format!("(repeat 1 {LOWER} {DECOUPLE}) (keep 2)"),
            &format!("(repeat 4000 {LOWER} {DECOUPLE}) (keep 2)"),
            &format!("(repeat 50 (repeat 50 {LOWER} {DECOUPLE} (keep 2)))"),
        ],
    );
    let (saturations, programs): (Vec<usize>, Vec<_>) = runs.into_iter().unzip();
    assert_eq!(programs[1], programs[0]);
    assert_eq!(programs[2], programs[0]);
    assert_eq!(programs[3], programs[0]);
    // The last round has no effect, and neither has the only one of the repetition in the second round. Where rounds start
    // from kept programs, the second still finds one that is the best by another price of prefetches.
    assert_eq!(saturations, [2, 2, 4, 8]);
}

#[test]
fn what_repeats_until_something_is_found_ends_too() {
    // No step finds anything, and the kept terms are decoupled anew in every round of every repetition.
    let steps = format!("(keep 1) {LOWER} {DECOUPLE}");
    let nested =
        (0..20).fold(steps, |steps, _| format!("(until (slc.for ? ? ? ? slc.skip) {steps})"));
    let runs = found("nested", &[&nested]);
    assert!(runs[0].0 < 10_000, "{runs:?}");
}
