//! The nine inputs that programs are judged on: dimension 32, 64 and 128, low, medium and high
//! locality. Programs are chosen on one seed and judged on another.

use crate::common::{OPT, best, case, inputs, judged, model, root};
use ember_rewrite::cost::Goal;
use ember_rewrite::diagnostic::Sources;
use ember_rewrite::job::physical_bound;
use ember_rewrite::pipeline::{Case, Inputs};
use ember_rewrite::render::render;
use ember_rewrite::run::read_program;
use ember_sim::CoreKind;
use std::collections::BTreeMap;
use std::fs;

/// The seed of the data that programs are chosen on, and that of the data they are judged on.
const SEEDS: (u64, u64) = (7, 11);

/// Cycles of every program of one input, and the fewest that are possible.
struct Judged {
    input: String,
    cycles: BTreeMap<String, u64>,
    bound: u64,
}

impl Judged {
    fn share_of_bound(&self, program: &str) -> f64 {
        self.bound as f64 / self.cycles[program] as f64
    }
}

/// Judges every program of an input whose number of bags is replaced.
fn judge(name: &str, bags: u64) -> Judged {
    let path = format!("examples/bags/{name}.sexp");
    let mut inputs = inputs(&path);
    let text = fs::read_to_string(root().join(&path)).expect("the model");
    let shrunk = text.replace("(size bags 256)", &format!("(size bags {bags})"));
    inputs.model = model(&path, &shrunk);
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
        let mut sources = Sources::default();
        let program = read_program(&mut sources, &named.path, inputs)
            .unwrap_or_else(|errors| panic!("{}", render(&sources, &errors, false)));
        enter(&named.name, program.program(), CoreKind::OutOfOrder);
    }
    cycles
}

/// What is wrong with the order of the programs.
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
    check(at("search") <= at("expert"), "search is slower than expert".to_owned());
    check(at("expert") <= at("paper"), "expert is slower than paper".to_owned());
    for pair in OPT.windows(2) {
        let near = pair.iter().all(|name| judged.share_of_bound(name) >= 0.95);
        let faster = at(pair[0]) as f64 >= 1.03 * at(pair[1]) as f64;
        check(near || faster, format!("{} is not 3% faster than {}", pair[1], pair[0]));
    }
    wrong
}

#[test]
fn every_program_is_valid_and_in_its_place() {
    let mut all = Vec::new();
    for dim in [32, 64, 128] {
        for locality in ["low", "medium", "high"] {
            // One input keeps its size; the others are a quarter of it, for speed.
            let bags = if (dim, locality) == (64, "medium") { 256 } else { 64 };
            all.push(judge(&format!("{dim}_{locality}"), bags));
        }
    }
    let shares = all.iter().map(|judged| judged.share_of_bound("search").ln());
    let mean = (shares.sum::<f64>() / all.len() as f64).exp();
    println!("search is at {:.1} % of the bound in the geometric mean", 100.0 * mean);
    let wrong: Vec<String> = all.iter().flat_map(complaints).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(mean >= 0.75, "{mean}");
}
