//! Tests of the making of instances; rules are checked in `tests/soundness.rs`.

use super::case::Case;
use super::instance::Instance;
use super::world::World;
use egg::{ENodeOrVar, Id, PatternAst, Var};
use ember_language::diagnostic::Sources;
use ember_language::rules::{self, Operator, RuleBook, Signature, Sort, SortTerm};
use ember_language::term::{Head, Node};
use fastrand::Rng;
use std::collections::BTreeMap;
use std::path::Path;

fn book() -> RuleBook {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rules");
    rules::load(&mut Sources::default(), &[folder]).expect("the project's rules").0
}

/// Whether instances of an operator are made, and have a meaning.
fn has_meaning(signature: &Signature, operator: &Operator, sort: Sort) -> bool {
    let mut pattern = PatternAst::default();
    let arity = operator.args.len() as u32;
    let operands: Vec<Id> =
        (0..arity).map(|i| pattern.add(ENodeOrVar::Var(Var::from_u32(i)))).collect();
    pattern.add(ENodeOrVar::ENode(Node::new(Head::Op(operator.name), &operands)));
    let mut rng = Rng::with_seed(7);
    (0..500).any(|round| {
        let world = World::random(&mut rng, false);
        let ranks = BTreeMap::new();
        Instance::of(&pattern, &[], sort, &ranks, signature, world, &mut rng, round % 3, false)
            .and_then(|instance| Case::random(&instance, &mut rng, false))
            .is_some()
    })
}

#[test]
fn every_operator_that_runs_has_a_meaning() {
    let book = book();
    let mut tried = 0;
    for operator in book.signature.operators() {
        let sorts: Vec<Sort> = match operator.result {
            SortTerm::Is(sort) => vec![sort],
            SortTerm::Any(_) => ["Value", "Address", "Stmt"].map(Sort::named).to_vec(),
        };
        for sort in sorts {
            // Names of things, and whole tensors, are only ever operands.
            let named =
                ["DType", "BinOp", "VarName", "Var", "Mode", "Edge", "Score", "Hint", "Tensor"];
            if !named.contains(&sort.name()) {
                tried += 1;
                let name = operator.name;
                // What a definition says is a meaning; that it is one, the rule that it makes shows.
                let defined = book.definitions.get(name, operator.args.len()).is_some();
                let meaning = defined || has_meaning(&book.signature, operator, sort);
                assert!(meaning, "{name} of sort {sort}");
            }
        }
    }
    assert!(tried > 70);
}
