//! Tests of cutting programs into parts: the parts must do together what the whole program does.

use super::{Part, parts};
use crate::equiv::declare::{Declarations, Declared, Purpose};
use crate::equiv::level::Level;
use crate::equiv::question::Question;
use crate::equiv::tests::signature;
use ember_analysis::facts::VectorUnit;
use ember_interpret::{Error, Interpreter, Store};
use ember_language::rules::{Exactness, Operators, Signature};
use ember_language::term::Term;
use ember_model::Extent;
use ember_targets::tensor::Tensor;
use ember_values::scalar::{DType, Scalar};
use fastrand::Rng;
use std::collections::BTreeMap;

const SEED: u64 = 1;
const ROUNDS: usize = 3000;
const TENSORS: [&str; 4] = ["a", "b", "c", "d"];
const EXTENT: u64 = 3;

fn declarations() -> Declarations {
    let declared = |name: &&str| Declared {
        name: (*name).to_owned(),
        dtype: DType::F32,
        shape: vec![Extent::Const(EXTENT)],
        purpose: Purpose::Output,
        rises_to: None,
    };
    Declarations { tensors: TENSORS.iter().map(declared).collect(), ..Declarations::default() }
}

/// Returns the parts of two programs of one processor.
fn of(programs: &[Term; 2], signature: &Signature) -> Option<Vec<Part>> {
    let (declarations, base) = (declarations(), Level::base(signature));
    let operators = signature.table();
    let question = Question {
        declarations: &declarations,
        level: &base,
        base: &base,
        terms: programs,
        between: None,
        before: &[],
        rows: false,
    };
    let unit = VectorUnit { simd_bytes: 64, registers: 32 };
    parts(&question, question.egraph(operators, unit, Exactness::Bitwise, false))
}

/// Generates a statement that writes one tensor and reads another, plainly or as frozen; or a barrier.
fn statement(rng: &mut Rng) -> String {
    let [to, from] = [(); 2].map(|()| TENSORS[rng.usize(0..TENSORS.len())]);
    let read = match rng.bool() {
        true => format!("(freeze (out %{from}))"),
        false => format!("(out %{from})"),
    };
    let (v, n) = ("(var (depth 0) 0 3 1)", rng.u8(1..9));
    let value = format!("(scf.add (scf.load (at {read} (iv {v}))) (const f32 {n}.0))");
    let place = format!("(at (out %{to}) (iv {v}))");
    let statement = match rng.u8(0..4) {
        0 => return "scf.barrier".to_owned(),
        1 => format!("(scf.accumulate add {place} {value})"),
        _ => format!("(scf.store {place} {value})"),
    };
    format!("(scf.for {v} 0 3 1 {statement})")
}

fn program(statements: &[String]) -> Term {
    let (last, rest) = statements.split_last().expect("there is one");
    let text = rest.iter().rev().fold(last.clone(), |then, s| format!("(scf.seq {s} {then})"));
    text.parse().expect("a term")
}

fn run(program: &Term, operators: &Operators) -> Result<Store, Error> {
    let tensor = |at: usize| {
        let mut tensor = Tensor::zeros(DType::F32, vec![EXTENT]);
        for i in 0..EXTENT {
            assert!(tensor.set(i, Scalar::from_f64(DType::F32, (10 * at as u64 + i) as f64)));
        }
        tensor
    };
    let tensors = TENSORS.iter().enumerate().map(|(at, name)| ((*name).to_owned(), tensor(at)));
    let store = Store { tensors: tensors.collect(), sizes: BTreeMap::new() };
    let mut run = Interpreter::new(program, operators, store);
    run.run(run.root()).map(|()| run.into_store())
}

/// Joins the parts of a side with barriers between them.
fn together(parts: &[Part], side: usize) -> Term {
    let parts = parts.iter().map(|part| part.terms[side].to_string());
    program(&itertools::intersperse(parts, "scf.barrier".to_owned()).collect::<Vec<_>>())
}

#[test]
fn parts_do_together_what_the_program_does() {
    let (mut rng, signature) = (Rng::with_seed(SEED), signature());
    let operators = signature.table();
    let mut cut = 0;
    for round in 0..ROUNDS {
        let first: Vec<String> = (0..rng.usize(2..7)).map(|_| statement(&mut rng)).collect();
        let mut second = first.clone();
        if rng.bool() {
            let at = rng.usize(0..second.len() - 1);
            second.swap(at, at + 1);
        }
        let programs = [program(&first), program(&second)];
        let Some(parts) = of(&programs, &signature) else { continue };
        cut += 1;
        for (side, whole) in programs.iter().enumerate() {
            let case = format!("seed {SEED}, round {round}, side {side}: {whole}");
            let expected = run(whole, operators).unwrap_or_else(|error| panic!("{case}: {error}"));
            let made = together(&parts, side);
            let found =
                run(&made, operators).unwrap_or_else(|error| panic!("{case}\n{made}: {error}"));
            assert_eq!(expected.difference(&found), None, "{case}\n{made}");
        }
    }
    assert!(cut > ROUNDS / 10, "{cut} of {ROUNDS} have parts");
}

#[test]
fn what_is_frozen_too_early_has_no_parts() {
    let write = "(scf.store (at (out %a) 0) (const f32 1.0))";
    let read = "(scf.store (at (out %b) 0) (scf.load (at (freeze (out %a)) 0)))";
    let signature = signature();
    let early = program(&[write, read].map(str::to_owned));
    let right = program(&[write, "scf.barrier", read].map(str::to_owned));
    assert!(matches!(run(&early, signature.table()), Err(Error::Unfrozen(_))));
    assert!(of(&[early.clone(), right.clone()], &signature).is_none());
    assert!(of(&[right.clone(), early], &signature).is_none());
    assert_eq!(of(&[right.clone(), right], &signature).map(|parts| parts.len()), Some(2));
}
