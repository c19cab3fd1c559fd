//! Checks rules about imported graphs: both sides of an instance are computed on whole tensors. If the right side is an
//! idiom, it is also written as a model, whose reference must give the same.

mod draw;
mod meaning;
mod unknowns;
mod whole;
mod written;

use draw::{Bound, draw, evaluate};
use ember_language::rules::{Exactness, Rule, Signature};
use ember_values::scalar::Scalar;
use fastrand::Rng;
use meaning::Meaning;
use whole::Whole;

/// The dialect of imported graphs.
const DIALECT: &str = "import";

/// The relative distance of numbers that are computed in different ways.
const TOLERANCE: f64 = 1e-4;

/// The result of checking a rule.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The instances that were made.
    pub attempts: usize,
    /// The instances whose left side computes something.
    pub cases: usize,
    /// An instance whose sides differ.
    pub refuted: Option<Different>,
}

/// An instance whose sides differ.
#[derive(Clone, Debug)]
pub struct Different {
    /// The meanings of the variables, a line each.
    pub instance: Vec<(String, String)>,
    /// The result of the left side.
    pub left: String,
    /// The result of the right side, or that it has none.
    pub right: String,
}

/// Returns true if a rule is about imported graphs.
pub fn is_about_imports(signature: &Signature, rule: &Rule) -> bool {
    let root = rule.lhs.as_ref().last().and_then(|node| match node {
        egg::ENodeOrVar::ENode(node) => signature.operator_of(node),
        egg::ENodeOrVar::Var(_) => None,
    });
    root.is_some_and(|operator| operator.dialect.as_str() == DIALECT)
}

/// Checks a rule on so many cases, of at most so many instances. A rule with conditions has none.
pub fn check_rule(rule: &Rule, seed: u64, cases: usize, most: usize) -> Checked {
    let mut rng = Rng::with_seed(seed);
    let mut done = Checked { attempts: 0, cases: 0, refuted: None };
    if !rule.guards.is_empty() || !rule.wheres.is_empty() || !rule.fors.is_empty() {
        return done;
    }
    let exact = rule.exact == Exactness::Bitwise;
    while done.cases < cases && done.attempts < most && done.refuted.is_none() {
        done.attempts += 1;
        // Numbers without extremes are drawn as often as others.
        let tame = !exact || done.attempts.is_multiple_of(2);
        let Some((bound, left)) = draw(rule, &mut rng, tame) else { continue };
        done.cases += 1;
        done.refuted = difference(rule, &bound, &left, exact);
    }
    done
}

fn difference(rule: &Rule, bound: &Bound, left: &Whole, exact: bool) -> Option<Different> {
    let meaning = evaluate(rule.rhs.as_ref(), bound, &left.shape);
    let own = match &meaning {
        Some(Meaning::Tensor(right)) => alike(left, right, exact).then_some(()).ok_or(shown(right)),
        _ => Err("nothing".to_owned()),
    };
    let both = own.and_then(|()| match written::written(rule.rhs.as_ref(), bound, &left.shape) {
        Some(Ok(right)) if alike(left, &right, exact) => Ok(()),
        Some(Ok(right)) => Err(format!("{}, as a model", shown(&right))),
        Some(Err(reason)) => Err(format!("no model: {reason}")),
        None => Ok(()),
    });
    let right = both.err()?;
    let line = |meaning: &Meaning| match meaning {
        Meaning::Tensor(x) => shown(x),
        Meaning::List(parts) => parts.iter().map(shown).collect::<Vec<_>>().join(", "),
        Meaning::Shape(shape) => format!("{shape:?}"),
        Meaning::Size(n) => n.to_string(),
    };
    let instance = bound.iter().map(|(v, meaning)| (v.to_string(), line(meaning))).collect();
    Some(Different { instance, left: shown(left), right })
}

fn shown(x: &Whole) -> String {
    let cells: Vec<String> = x.cells.iter().map(|x| x.as_f64().to_string()).collect();
    format!(
        "({}) of ({})",
        cells.join(" "),
        x.shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
    )
}

fn alike(a: &Whole, b: &Whole, exact: bool) -> bool {
    let near = |a: &Scalar, b: &Scalar| {
        let (x, y) = (a.as_f64(), b.as_f64());
        let same = a.to_bits() == b.to_bits() && a.dtype() == b.dtype();
        same || (x.is_nan() && y.is_nan())
            || (!exact && (x - y).abs() <= TOLERANCE * x.abs().max(y.abs()).max(1.0))
    };
    a.shape == b.shape && a.cells.iter().zip(&b.cells).all(|(a, b)| near(a, b))
}
