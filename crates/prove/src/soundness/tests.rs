//! Tests of the generation of instances; rules are checked in `tests/soundness.rs`.

use super::case::Case;
use super::instance::Instance;
use super::{Options, Verdict, check_rule};
use crate::random::{Grammar, Said, World, pattern, sort};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::rules::{self, Kind, Operator, RuleBook, Signature, Sort, SortTerm};
use fastrand::Rng;
use std::collections::BTreeMap;
use std::path::Path;

fn book() -> RuleBook {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rules");
    rules::load(&mut Sources::new(Disk), &[folder]).expect("the project's rules").0
}

/// Returns true if instances of an operator can be made and have a meaning.
fn has_meaning(signature: &Signature, operator: &Operator, sort: Sort) -> bool {
    let pattern = pattern(operator);
    let grammar = Grammar::new(signature);
    let mut rng = Rng::with_seed(7);
    (0..500).any(|round| {
        let world = World::random(&mut rng, false);
        let ranks = BTreeMap::new();
        Instance::of(
            &pattern,
            &[],
            sort,
            &ranks,
            &[],
            &Said::default(),
            &BTreeMap::new(),
            &grammar,
            world,
            &mut rng,
            round % 3,
            false,
            None,
        )
        .and_then(|instance| Case::random(&instance, &mut rng, false))
        .is_some()
    })
}

#[test]
fn a_variable_that_is_not_new_is_noticed() {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rules");
    let paths = [rules.clone(), rules.join("equiv")];
    let book = rules::load(&mut Sources::new(Disk), &paths).expect("the project's rules").0;
    let options = Options { instances: 60_000, most: 60_000, exhaustive: 0, ..Options::default() };
    let capturing = ["split", "split-behind", "unroll-first", "block-loop", "tile", "fix-for-to"];
    for name in capturing {
        let mut rule = book.rule(name).expect("a rule of the project").clone();
        rule.news.clear();
        let report = check_rule(&book.signature, &rule, &options);
        assert!(matches!(report.verdict, Verdict::Refuted(_)), "{name}: {report:?}");
    }
}

#[test]
fn every_operator_that_runs_has_a_meaning() {
    let book = book();
    let mut tried = 0;
    for operator in book.signature.operators() {
        let sorts: Vec<Sort> = match operator.result {
            SortTerm::Is(sort) => vec![sort],
            SortTerm::Any(_) => [Kind::Value, Kind::Address, Kind::Statement]
                .into_iter()
                .filter_map(|kind| sort(&book.signature, kind, None))
                .collect(),
        };
        for sort in sorts {
            // Names and whole tensors only occur as operands, and tensors as addresses only in definitions.
            let kind = book.signature.sort(sort.name()).and_then(|sort| sort.kind);
            let info = book.signature.table().get(operator.name, operator.args.len());
            let stored = kind == Some(Kind::Address)
                && info.is_some_and(|own| own.operand_kinds == [Some(Kind::Tensor)]);
            let runs = matches!(kind, Some(Kind::Value | Kind::Address | Kind::Statement));
            if runs && !stored {
                tried += 1;
                let name = operator.name;
                // The meaning of a defined operator is its definition, which is checked as a rule.
                let defined = book.definitions.get(name, operator.args.len()).is_some();
                let meaning = defined || has_meaning(&book.signature, operator, sort);
                assert!(meaning, "{name} of sort {sort}");
            }
        }
    }
    assert!(tried > 70);
}
