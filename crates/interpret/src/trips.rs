//! How often a loop runs on average, counted on the data.

use super::op::At;
use super::{Bound, Error, Interpreter, Store};
use egg::Id;
use ember_language::rules::Operators;
use ember_language::term::Term;
use ember_values::primitive::Primitive;
use std::collections::BTreeSet;

/// Up to how many iterations of the loops around are all counted; beyond, some are sampled.
const EXHAUSTIVE: u64 = 1 << 14;

/// The number of samples.
const SAMPLES: u64 = 1 << 12;

/// The seed of the samples: a fixed one, so that equal inputs give equal counts.
const SEED: u64 = 0x5eed;

/// Evaluated nodes in all, so that bounds which are themselves long reductions take bounded time.
const STEPS: u64 = 1 << 26;

/// The average number of iterations of a loop, over all iterations of the loops around it that its
/// bounds depend on. The term's root is the loop's `var` node. Where those loops run more than
/// 16384 iterations in all, 4096 of them are sampled (seeded, without bias).
///
/// # Errors
/// Whatever goes wrong in evaluating the bounds; a term that is no variable.
pub fn average_trip_count(
    variable: &Term,
    operators: &Operators,
    store: &Store,
) -> Result<f64, Error> {
    let mut counter = Interpreter::new(variable, operators, store.clone()).with_step_limit(STEPS);
    let root = counter.node(counter.root())?;
    let around = counter.around(root)?;
    let mut sum = Average::default();
    if counter.count_all(root, &around, &mut sum)? {
        return Ok(sum.value());
    }
    let mut rng = fastrand::Rng::with_seed(SEED);
    let mut sum = Average::default();
    for _ in 0..SAMPLES {
        // An iteration is drawn level by level; its weight undoes that levels with few iterations
        // are drawn as often as levels with many.
        let mut weight = 1.0;
        for &var in &around {
            let (lo, trips, step) = counter.range(var)?;
            weight *= trips as f64;
            if trips == 0 {
                break;
            }
            let k = i128::from(rng.u64(0..trips));
            counter.assign(var, i128::from(lo) + k * i128::from(step));
        }
        if weight > 0.0 {
            let (_, trips, _) = counter.range(root)?;
            sum.add(weight, trips as f64);
        }
    }
    Ok(sum.value())
}

/// A weighted average; of nothing, 0.
#[derive(Default)]
struct Average {
    weight: f64,
    total: f64,
}

impl Average {
    fn add(&mut self, weight: f64, x: f64) {
        self.weight += weight;
        self.total += weight * x;
    }

    fn value(&self) -> f64 {
        if self.weight > 0.0 { self.total / self.weight } else { 0.0 }
    }
}

impl Interpreter {
    /// What values the `var` node `id` may have: the first, how many, and the step between them.
    ///
    /// # Errors
    /// Whatever goes wrong in evaluating its bounds; a term that is no variable.
    pub fn values_of(&mut self, id: Id) -> Result<(i64, u64, i64), Error> {
        let at = self.node(id)?;
        self.range(at)
    }

    fn range(&mut self, var: At) -> Result<(i64, u64, i64), Error> {
        let [lo, hi, step] = self.bounds(var)?;
        let (lo, hi, step) = (self.index(lo)?, self.index(hi)?, self.index(step)?);
        if step <= 0 {
            return Err(Error::Step(step));
        }
        Ok((lo, if lo < hi { (hi.abs_diff(lo) - 1) / step.unsigned_abs() + 1 } else { 0 }, step))
    }

    fn assign(&mut self, var: At, value: i128) {
        self.environment[var] = Some(Bound { value: value as i64, fed: true });
    }

    /// Adds up every iteration of the loops around, outermost first; `false` where they are too many.
    fn count_all(&mut self, root: At, around: &[At], sum: &mut Average) -> Result<bool, Error> {
        let mut left = EXHAUSTIVE;
        // For each open loop its first value, its step, and how many iterations are done and left.
        let mut open: Vec<(i64, i64, u64, u64)> = Vec::new();
        loop {
            let Some(&var) = around.get(open.len()) else {
                sum.add(1.0, self.range(root)?.1 as f64);
                if !self.advance(around, &mut open, &mut left) {
                    return Ok(left > 0);
                }
                continue;
            };
            let (lo, trips, step) = self.range(var)?;
            open.push((lo, step, 0, trips));
            // A loop starts before its first iteration and is advanced into it.
            if !self.advance(around, &mut open, &mut left) {
                return Ok(left > 0);
            }
        }
    }

    /// Goes to the next iteration of the innermost open loop that has one; `false` at the end of all
    /// loops, or where nothing is `left` of what may be counted.
    fn advance(
        &mut self,
        around: &[At],
        open: &mut Vec<(i64, i64, u64, u64)>,
        left: &mut u64,
    ) -> bool {
        while let Some((lo, step, done, trips)) = open.last_mut() {
            if *trips > 0 {
                let value = i128::from(*lo) + i128::from(*done) * i128::from(*step);
                (*done, *trips) = (*done + 1, *trips - 1);
                self.assign(around[open.len() - 1], value);
                *left -= 1;
                return *left > 0;
            }
            open.pop();
        }
        false
    }

    /// The variables that the bounds of a variable depend on, and those that theirs do, outermost
    /// first: operands stand before what uses them, so a variable stands after those of its bounds.
    fn around(&self, var: At) -> Result<Vec<At>, Error> {
        let free = self.free_variables();
        let mut found: BTreeSet<At> = BTreeSet::new();
        let mut open = vec![var];
        while let Some(var) = open.pop() {
            for bound in self.bounds(var)? {
                open.extend(free[bound].iter().filter(|v| found.insert(**v)));
            }
        }
        Ok(found.into_iter().collect())
    }

    /// The free variables of every node.
    fn free_variables(&self) -> Vec<BTreeSet<At>> {
        let mut free: Vec<BTreeSet<At>> = Vec::with_capacity(self.program.ops.len());
        for (at, op) in self.program.ops.iter().enumerate() {
            if op.primitive() == Some(Primitive::Variable) {
                free.push(BTreeSet::from([at]));
                continue;
            }
            let mut own = BTreeSet::new();
            for &operand in &self.program.operands[at] {
                match op.binds {
                    Some((var, _)) if operand == var => {}
                    Some((var, body)) if operand == body => {
                        own.extend(free[body].iter().filter(|v| **v != var));
                    }
                    _ => own.extend(free[operand].iter()),
                }
            }
            free.push(own);
        }
        free
    }
}
