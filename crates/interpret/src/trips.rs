//! The average trip count of a loop, measured on the data.

use super::error::Fault;
use super::op::At;
use super::{Bound, Error, Interpreter, Store};
use egg::Id;
use ember_language::rules::Operators;
use ember_language::term::Term;
use std::collections::BTreeSet;

/// The greatest number of iterations of the enclosing loops that are all counted; beyond it, a sample is counted.
const EXHAUSTIVE: u64 = 1 << 14;

/// The number of samples.
const SAMPLES: u64 = 1 << 12;

/// The seed of the samples, which is fixed so that equal inputs give equal counts.
const SEED: u64 = 0x5eed;

/// The limit of evaluated nodes in all, so that bounds that are themselves long reductions take bounded time.
const STEPS: u64 = 1 << 26;

/// Returns the average trip count of a loop over all iterations of the enclosing loops that its bounds depend on. The
/// root of the term is the loop's `var` node. If those loops run more than 16384 iterations in all, 4096 of them are
/// sampled (seeded, without bias).
///
/// # Errors
/// Fails if the bounds cannot be evaluated, or if the term is not a variable.
pub fn average_trip_count(
    variable: &Term,
    operators: &Operators,
    store: &Store,
) -> Result<f64, Error> {
    let mut counter = Interpreter::new(variable, operators, store.clone()).with_step_limit(STEPS);
    counter.average_trips().map_err(|error| *error)
}

/// A weighted average; 0 if nothing was added.
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
    fn average_trips(&mut self) -> Result<f64, Fault> {
        let root = self.node(self.root())?;
        let around = self.around(root)?;
        let mut sum = Average::default();
        if self.count_all(root, &around, &mut sum)? {
            return Ok(sum.value());
        }
        let mut rng = fastrand::Rng::with_seed(SEED);
        let mut sum = Average::default();
        for _ in 0..SAMPLES {
            // Drawing level by level favours the iterations of levels with few iterations; the weight undoes this bias.
            let mut weight = 1.0;
            for &var in &around {
                let (lo, trips, step) = self.range(var)?;
                weight *= trips as f64;
                if trips == 0 {
                    break;
                }
                let k = i128::from(rng.u64(0..trips));
                self.assign(var, i128::from(lo) + k * i128::from(step));
            }
            if weight > 0.0 {
                let (_, trips, _) = self.range(root)?;
                sum.add(weight, trips as f64);
            }
        }
        Ok(sum.value())
    }

    /// Returns the values that the `var` node `id` may have: the first value, their number, and the step between them.
    ///
    /// # Errors
    /// Fails if the bounds cannot be evaluated, or if the term is not a variable.
    pub fn values_of(&mut self, id: Id) -> Result<(i64, u64, i64), Error> {
        let at = self.node(id)?;
        self.range(at).map_err(|error| *error)
    }

    fn range(&mut self, var: At) -> Result<(i64, u64, i64), Fault> {
        let [lo, hi, step] = self.bounds(var)?;
        let (lo, hi, step) = (self.index(lo)?, self.index(hi)?, self.index(step)?);
        if step <= 0 {
            return Err(Error::Step(step).into());
        }
        Ok((lo, if lo < hi { (hi.abs_diff(lo) - 1) / step.unsigned_abs() + 1 } else { 0 }, step))
    }

    fn assign(&mut self, var: At, value: i128) {
        self.environment[var] = Some(Bound { value: value as i64, fed: true });
    }

    /// Adds up the trips of every iteration of the enclosing loops, outermost first; `false` if there are too many.
    fn count_all(&mut self, root: At, around: &[At], sum: &mut Average) -> Result<bool, Fault> {
        let mut left = EXHAUSTIVE;
        // For each open loop: its first value, its step, and the numbers of iterations done and left.
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
            // A loop is opened before its first iteration and then advanced into it.
            if !self.advance(around, &mut open, &mut left) {
                return Ok(left > 0);
            }
        }
    }

    /// Advances to the next iteration of the innermost open loop that has one; `false` at the end of all loops, or if
    /// nothing is `left` of the iterations that may be counted.
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

    /// Returns the variables that the bounds of a variable depend on, transitively, outermost first. Operands precede
    /// their users in the term, so a variable follows the variables of its bounds.
    fn around(&self, var: At) -> Result<Vec<At>, Fault> {
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

    /// Returns the free variables of every node.
    fn free_variables(&self) -> Vec<BTreeSet<At>> {
        let mut free: Vec<BTreeSet<At>> = Vec::with_capacity(self.program.ops.len());
        for (at, op) in self.program.ops.iter().enumerate() {
            if op.range().is_some() {
                free.push(BTreeSet::from([at]));
                continue;
            }
            let mut own = BTreeSet::new();
            let operands = &self.program.operands[at];
            for (n, &operand) in operands.iter().enumerate() {
                match op.binds {
                    Some((var, _)) if n == var => {}
                    Some((var, body)) if n == body => {
                        own.extend(free[operand].iter().filter(|v| **v != operands[var]));
                    }
                    _ => own.extend(free[operand].iter()),
                }
            }
            free.push(own);
        }
        free
    }
}
