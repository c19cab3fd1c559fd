//! Tests the main job on nine inputs: dimension 32, 64 and 128, low, medium and high locality. Programs are chosen on
//! one seed and judged on another.

use crate::common::{OPT, best, case, inputs, judged};
use ember_compile::cost::Goal;
use ember_compile::pipeline::{Case, Inputs};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_rewrite::job::physical_bound;
use ember_rewrite::single::read_program;
use ember_sim::CoreKind;
use ember_tools::render::render;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// The seed of the data that programs are chosen on, and the seed of the data they are judged on.
const SEEDS: (u64, u64) = (7, 11);

/// Cycles of every program of one input, and the physical bound.
struct Judged {
    input: String,
    cycles: BTreeMap<String, u64>,
    bound: u64,
}

impl Judged {
    fn share_of_bound(&self, program: &str) -> f64 {
        self.bound as f64 / self.cycles[program] as f64
    }

    fn at_the_bound(&self, programs: &[&str]) -> bool {
        programs.iter().all(|program| self.share_of_bound(program) >= 0.95)
    }
}

/// Judges every program of an input.
fn judge(name: &str) -> Judged {
    let inputs = inputs(&format!("examples/bags/{name}.sexp"));
    let (tune, judge) = (case(&inputs, SEEDS.0), case(&inputs, SEEDS.1));
    let (bound, _) = physical_bound(&inputs, &judge);
    Judged { input: name.to_owned(), cycles: cycles(&inputs, &tune, &judge), bound: bound.cycles }
}

fn cycles(inputs: &Inputs, tune: &Case, judge: &Case) -> BTreeMap<String, u64> {
    let mut cycles = BTreeMap::new();
    let mut enter = |name: &str, program: &_, core| {
        let ran = judged(inputs, program, judge, core);
        let ran = ran.unwrap_or_else(|e| panic!("{name} of {}: {e}", inputs.model.name));
        cycles.insert(name.to_owned(), ran);
    };
    let coupled = best(inputs, tune, "coupled", Goal::Coupled).program;
    enter("coupled-inorder", coupled.program(), CoreKind::InOrder);
    enter("coupled-ooo", coupled.program(), CoreKind::OutOfOrder);
    for schedule in OPT.into_iter().chain(["search"]) {
        let chosen = best(inputs, tune, schedule, Goal::Decoupled);
        enter(schedule, chosen.program.program(), CoreKind::OutOfOrder);
    }
    for named in &inputs.model.programs {
        let mut sources = Sources::new(Disk);
        let program = read_program(&mut sources, &named.paths[0], inputs)
            .unwrap_or_else(|errors| panic!("{}", render(&sources, &errors, false)));
        enter(&named.name, program.program(), CoreKind::OutOfOrder);
    }
    cycles
}

/// Returns the violations of the expected order of the programs.
fn complaints(judged: &Judged) -> Vec<String> {
    let at = |name: &str| judged.cycles[name];
    let mut wrong = Vec::new();
    let mut check = |holds: bool, what: String| {
        if !holds {
            wrong.push(format!("{}: {what} {:?}", judged.input, judged.cycles));
        }
    };
    for (name, cycles) in &judged.cycles {
        check(*cycles >= judged.bound, format!("{name} is below the bound {}", judged.bound));
    }
    for (program, other) in [("search", "expert"), ("expert", "paper")] {
        check(at(program) <= at(other), format!("{program} is slower than {other}"));
    }
    for pair in OPT.windows(2) {
        let faster = at(pair[0]) as f64 >= 1.03 * at(pair[1]) as f64;
        let holds = faster || judged.at_the_bound(pair);
        check(holds, format!("{} is not 3% faster than {}", pair[1], pair[0]));
    }
    wrong
}

#[test]
fn every_program_is_valid_and_in_its_place() {
    let localities = ["low", "medium", "high"];
    let inputs = [32, 64, 128].map(|dim| localities.map(|locality| format!("{dim}_{locality}")));
    let all: Vec<Judged> = inputs.concat().par_iter().map(|input| judge(input)).collect();
    let shares = all.iter().map(|judged| judged.share_of_bound("search").ln());
    let mean = (shares.sum::<f64>() / all.len() as f64).exp();
    println!("search is at {:.1} % of the bound in the geometric mean", 100.0 * mean);
    let wrong: Vec<String> = all.iter().flat_map(complaints).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(mean >= 0.75, "{mean}");
}
