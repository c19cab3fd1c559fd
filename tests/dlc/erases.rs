//! Tests that operators which erase to others are priced and decoupled like those, wherever their operands occur, and
//! that undeclared operators are in no program.

use crate::bag::{bag_context, check, term};
use ember_analysis::facts::{EGraph, Facts, VectorUnit};
use ember_compile::cost::{Cost, Fetches, Goal, Model, Rates, Workload};
use ember_compile::coupled::coupled;
use ember_compile::decouple::decouple;
use ember_extract::extract;
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::rules::{self, Operators};
use ember_targets::machine::Machine;
use ember_targets::print::print;
use std::path::Path;
use std::sync::Arc;

const OWN: &str = r#"
    (dialect own "forms of operators of other dialects, with operands in other orders"
      (sort Mid "a statement of a level between two others" :kind statement)
      (op own.peek ((address SAddress)) Stream "a load without a hint" :erases scf.load)
      (op own.sum ((b Stream) (a Stream)) Stream "a sum of streams" :erases scf.add)
      (op own.each ((body Slc) (hi Stream) (lo Stream) (step Value) (variable Var)) Slc
        "a loop of the access unit" :binds (4 0) :erases scf.for)
      (op own.follow ((body Exec) (access-hi Stream) (hi EValue) (access-lo Stream) (lo EValue)
                      (step Value) (variable Var)) Exec
        "a loop of both units" :binds (6 0) :erases scf.for)
      (op own.put ((value EValue) (address EAddress)) Exec "a store" :erases scf.store)
      (op own.count ((body Mid) (variable Var) (lo Value) (hi Value) (step Value)) Mid
        "a loop of a level of its own" :binds (1 0) :erases scf.for)
      (op own.write ((value Value) (address Address)) Mid "a store" :erases scf.store)
      (op own.plain (Stmt) Mid "a statement of another level" :means same)
      (op own.secret (EValue) EValue "nobody says what it does"))"#;

fn operators() -> Arc<Operators> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let dialect =
        |name: &str| format!("(include {:?})", folder.join(format!("dialect-{name}.rules")));
    let included: String = ["core", "scf", "slc", "exe"].map(dialect).concat();
    let mut sources = Sources::new(Disk);
    let file = sources.add("<own>", format!("{included} {OWN}"));
    let (book, _) = rules::load_text(&mut sources, &[file]).expect("well-formed");
    book.signature.table().clone()
}

/// Returns the cost of a term without search; `None` if it is no finished program.
fn cost(operators: &Arc<Operators>, goal: Goal, text: &str) -> Option<Cost> {
    let context = bag_context();
    let unit = VectorUnit::default();
    let facts = Facts::new(&context.tensors, &context.sizes, operators.clone(), unit);
    let mut egraph = EGraph::new(facts);
    let root = egraph.add_expr(&term(text));
    egraph.rebuild();
    let rates = Rates::of(&Machine::plus().expect("the machine"));
    let workload = Workload::default();
    let model = Model::for_choice(goal, &rates, &workload, Fetches::Each);
    let extraction = extract(&egraph, root, &model, &ember_extract::Limits::default());
    let best = extraction.ranked().first().copied();
    best.map(|id| extraction.summary(id).cost)
}

/// A copy of looked-up rows by both units.
const BUILT_IN: &str = "(slc.for $B (slc.const 0) $M 1 (slc.callback
    (exe.walk $E (slc.const 0) $D (exe.const 0) (exe.const (size %dim)) 1
      (exe.store (exe.at (exe.at (exe.out %out) (slc.from_stream (slc.iv $B))) (exe.counter $E))
        (slc.from_stream (slc.mem_stream temporal (slc.at (slc.at (slc.in %table)
          (slc.mem_stream temporal (slc.at (slc.in %indices)
            (slc.alu_stream add (slc.iv $B) (slc.const 1))))) (slc.iv $E))))))))";

const ERASING: &str = "(own.each (slc.callback
    (own.follow
      (own.put
        (slc.from_stream (own.peek (slc.at (slc.at (slc.in %table)
          (own.peek (slc.at (slc.in %indices) (own.sum (slc.const 1) (slc.iv $B))))) (slc.iv $E))))
        (exe.at (exe.at (exe.out %out) (slc.from_stream (slc.iv $B))) (exe.counter $E)))
      $D (exe.const (size %dim)) (slc.const 0) (exe.const 0) 1 $E))
    $M (slc.const 0) 1 $B)";

#[test]
fn what_erases_to_operators_of_both_units_is_split_as_they_are() {
    let operators = operators();
    let split = |text: &str| decouple(&operators, &term(text), &bag_context()).expect("decouples");
    let program = split(ERASING);
    assert_eq!(print(&program), print(&split(BUILT_IN)));
    assert_eq!(check(&print(&program)).expect("verifies"), program);
    let [own, built_in] = [ERASING, BUILT_IN].map(|text| cost(&operators, Goal::Decoupled, text));
    assert!(own.is_some());
    assert_eq!(own, built_in);
}

#[test]
fn a_level_of_its_own_is_a_program_for_one_processor() {
    let operators = operators();
    let store = "(scf.store (at (at (out %out) (iv $B)) 0) (const f32 1.0))";
    let built_in = format!("(scf.for $B 0 (size %bags) 1 {store})");
    let stores = [
        format!("(own.plain {store})"),
        "(own.write (const f32 1.0) (at (at (out %out) (iv $B)) 0))".to_owned(),
    ];
    let run = |text: &str| coupled(&operators, &term(text), &bag_context()).expect("lowers");
    for store in stores {
        let own = format!("(own.count {store} $B 0 (size %bags) 1)");
        assert_eq!(run(&own), run(&built_in));
        let costs = [&own, &built_in].map(|text| cost(&operators, Goal::Coupled, text));
        assert!(costs[0].is_some());
        assert_eq!(costs[0], costs[1]);
    }
}

#[test]
fn what_nobody_declares_is_in_no_program() {
    let operators = operators();
    let store = |value: &str| {
        format!(
            "(slc.callback (exe.store (exe.at (exe.at (exe.out %out) (exe.const 0)) (exe.const 0)) {value}))"
        )
    };
    let known = "(exe.const (const f32 1.0))";
    assert!(cost(&operators, Goal::Decoupled, &store(known)).is_some());
    for unknown in ["own.secret", "own.nowhere"] {
        let text = store(&format!("({unknown} {known})"));
        assert_eq!(cost(&operators, Goal::Decoupled, &text), None);
        let error = decouple(&operators, &term(&text), &bag_context()).expect_err("is unknown");
        assert_eq!(error.to_string(), format!("`{unknown}`: is not a value of the execute unit"));
    }
}
