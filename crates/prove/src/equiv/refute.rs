//! Searches for data on which two programs differ: small data in order, data at the boundaries given by numbers in the
//! programs, and random data. Shrinks the counterexample that it finds.

use super::data::{Before, Fill, Given};
use super::declare::Purpose;
use super::layout::laid_out;
use super::roles::Roles;
use super::satisfy::{satisfy, settle};
use super::sides::Sides;
use super::simulate::{Difference, Outcome, Runs};
use ember_language::rules::Exactness;
use ember_language::term::Head;
use ember_model::Extent;
use ember_targets::machine::Machine;
use ember_values::scalar::Scalar;
use fastrand::Rng;
use itertools::Itertools;
use std::collections::{BTreeMap, BTreeSet};

/// The largest size in the smallest trials, and the largest number of these trials.
const SMALL: u64 = 3;
const SMALLEST: usize = 48;

/// The largest number in the programs that is tried as a boundary.
const MOST_BOUNDARY: i64 = 70;

/// The largest number in the programs that is tried as a size beside the numbers next to it, and in assumptions.
const MOST_SIZE: i64 = 4200;

/// The numbers that random data has without being mentioned.
const USUAL: std::ops::RangeInclusive<i64> = -3..=7;

/// The resource limits of one trial.
#[derive(Clone, Copy)]
struct Effort {
    /// The largest number of elements of all tensors.
    elements: u64,
    /// The number of evaluated nodes after which a run is given up.
    steps: u64,
    /// The number of runs of both sides that may be spent on shrinking a counterexample.
    shrinking: usize,
    /// True if only a few trials are made.
    few: bool,
}

/// The limits for many small trials.
const MANY: Effort = Effort { elements: 1 << 13, steps: 400_000, shrinking: 1500, few: false };

/// The limits for a few large trials, used if weights alone exceed the small limits or runs take longer.
const FEW: Effort = Effort { elements: 1 << 20, steps: 40_000_000, shrinking: 12, few: true };

/// Data on which the sides differ.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The data.
    pub given: Given,
    /// The contents of written tensors before the run.
    pub before: Before,
    /// The first difference.
    pub difference: Difference,
}

/// Runs trials of data on both sides.
pub(super) struct Tries<'a> {
    sides: &'a Sides,
    runs: Runs<'a>,
    rng: Rng,
    names: Vec<String>,
    boundaries: Vec<u64>,
    /// The numbers that programs and assumptions mention, without those that any data has.
    mentioned: Vec<i64>,
    effort: Effort,
    /// True if the numbers in written tensors were negated in the last trial.
    negated: bool,
    /// True if a fault of one side only counts as a difference.
    pub faults: bool,
    /// The number of trials in which both sides had a result.
    pub compared: usize,
    /// True if there are no symbolic sizes, so that data has fixed sizes.
    pub concrete: bool,
}

impl<'a> Tries<'a> {
    pub fn new(sides: &'a Sides, machine: &Machine, exact: Exactness, seed: u64) -> Tries<'a> {
        let names = sides.declarations.sizes();
        Tries {
            sides,
            runs: Runs::new(sides, without_caches(machine), exact),
            rng: Rng::with_seed(seed),
            concrete: names.is_empty(),
            names,
            boundaries: boundaries(sides),
            mentioned: numbers(sides).into_iter().filter(|n| !USUAL.contains(n)).collect(),
            effort: MANY,
            negated: true,
            faults: true,
            compared: 0,
        }
    }

    /// Tries the data given in a text or model file.
    pub fn given(&mut self) -> Option<Counterexample> {
        let given = match (&self.sides.given, &self.sides.model) {
            (Some(given), _) => given.clone(),
            (None, Some(file)) => {
                let instance = file.model.instantiate(None).ok()?;
                let declared = &self.sides.declarations;
                let inputs = declared.tensors.iter().filter(|t| t.purpose == Purpose::Input);
                let inputs: Option<BTreeMap<_, _>> = inputs
                    .map(|t| Some((t.name.clone(), instance.tensors.get(&t.name)?.clone())))
                    .collect();
                let sizes = declared.sizes().into_iter();
                let sizes =
                    sizes.filter_map(|name| Some((name.clone(), *instance.sizes.get(&name)?)));
                let given = Given { sizes: sizes.collect(), inputs: inputs? };
                // Data larger than this is meant for simulators.
                Some(given).filter(|g| g.elements() <= MANY.elements)?
            }
            (None, None) => return None,
        };
        self.both(&given)
    }

    /// Tries small data with all sizes in order, then data at the boundaries.
    pub fn quick(&mut self) -> Option<Counterexample> {
        let small = self.small();
        for sizes in &small {
            for fill in [Fill::Plain, Fill::Random { edges: false }, Fill::Random { edges: true }] {
                if let Some(found) = self.attempt(sizes, fill) {
                    return Some(found);
                }
            }
        }
        for n in self.boundaries.clone() {
            for sizes in self.around(n) {
                for fill in [Fill::Plain, Fill::Random { edges: false }] {
                    if let Some(found) = self.attempt(&sizes, fill) {
                        return Some(found);
                    }
                }
            }
        }
        None
    }

    /// Tries the smallest data with the larger limits, if none of the small trials gave a result.
    pub fn large(&mut self) -> Option<Counterexample> {
        if self.compared > 0 {
            return None;
        }
        self.effort = FEW;
        self.all_of(1)
    }

    /// Makes one trial with ordered data and one with random data, with all sizes equal.
    fn all_of(&mut self, n: u64) -> Option<Counterexample> {
        let sizes = self.names.iter().map(|name| (name.clone(), n)).collect();
        let fills =
            [(Fill::Plain, Before::Zeros), (Fill::Random { edges: false }, Before::Numbers)];
        fills.into_iter().find_map(|(fill, before)| {
            let given = self.made(&sizes, &self.sides.roles, fill)?;
            self.once(&given, before)
        })
    }

    /// Makes more trials of all kinds: all contents of index tensors of the smallest sizes, and random data. Under the
    /// larger limits it makes only a few.
    pub fn long(&mut self, rounds: usize) -> Option<Counterexample> {
        if self.effort.few {
            return (2..=SMALL).find_map(|n| self.all_of(n));
        }
        for sizes in self.small() {
            for n in 0..(rounds / 16) as u64 {
                if let Some(found) = self.attempt(&sizes, Fill::Counted(n)) {
                    return Some(found);
                }
            }
        }
        for round in 0..rounds {
            let most = [4, 9, 20][round % 3];
            let sizes = self.names.clone().into_iter().map(|name| (name, self.rng.u64(0..=most)));
            let sizes: BTreeMap<String, u64> = sizes.collect();
            let fill = Fill::Random { edges: round % 4 == 0 };
            // What one program uses as an index is any number to a program that does not.
            let Sides { roles, alone, .. } = self.sides;
            let roles = [roles, &alone[0], roles, &alone[1]][round / 3 % 4];
            let given = self.made(&sizes, roles, fill);
            if let Some(found) = given.and_then(|given| self.both(&given)) {
                return Some(found);
            }
        }
        None
    }

    /// Returns the smallest sizes, ordered by their sum.
    fn small(&self) -> Vec<BTreeMap<String, u64>> {
        let named = |sizes: Vec<u64>| self.names.iter().cloned().zip(sizes).collect();
        if self.names.is_empty() {
            return vec![BTreeMap::new()];
        }
        // With more than five sizes there are too many combinations; only those with all sizes equal are used.
        if self.names.len() > 5 {
            return (0..=SMALL).map(|n| named(vec![n; self.names.len()])).collect();
        }
        let all = self.names.iter().map(|_| 0..=SMALL).multi_cartesian_product();
        let all = all.sorted_by_key(|sizes| sizes.iter().sum::<u64>());
        // The sample is taken evenly over all sums, because some differences appear only if several sizes are large.
        let all: Vec<Vec<u64>> = all.collect();
        let step = all.len().div_ceil(SMALLEST).max(1);
        all.into_iter().step_by(step).map(named).collect()
    }

    /// Returns assignments in which one size, or all of them, are a given number.
    fn around(&self, n: u64) -> Vec<BTreeMap<String, u64>> {
        let alone = |of: &String| {
            let size = |name: &String| (name.clone(), if name == of { n } else { 2 });
            self.names.iter().map(size).collect()
        };
        let all = self.names.iter().map(|name| (name.clone(), n)).collect();
        self.names.iter().map(alone).chain([all]).collect()
    }

    fn attempt(&mut self, sizes: &BTreeMap<String, u64>, fill: Fill) -> Option<Counterexample> {
        let given = self.made(sizes, &self.sides.roles, fill)?;
        self.both(&given)
    }

    fn made(&mut self, sizes: &BTreeMap<String, u64>, roles: &Roles, fill: Fill) -> Option<Given> {
        // If sums may be reordered, only numbers with exact sums are used.
        let fill = match fill {
            Fill::Random { .. } if self.runs.exact != Exactness::Bitwise => {
                Fill::Random { edges: false }
            }
            fill => fill,
        };
        let Sides { declarations, operators, .. } = self.sides;
        let (mut sizes, mentioned, rng) = (sizes.clone(), &self.mentioned[..], &mut self.rng);
        settle(declarations, operators, &mut sizes, mentioned, rng);
        let limit = (&sizes, self.effort.elements);
        let mut given = Given::make(declarations, roles, limit, (fill, mentioned), rng)?;
        satisfy(declarations, operators, &mut given, mentioned, rng);
        // What is set for an assumption may break what a model requires.
        (declarations.assumptions.is_empty() || self.fits(&given)).then_some(given)
    }

    /// Compares the sides with zeros in written tensors, and with other numbers, whose signs change from trial to trial.
    fn both(&mut self, given: &Given) -> Option<Counterexample> {
        self.negated = !self.negated;
        let numbers = if self.negated { Before::Negated } else { Before::Numbers };
        [Before::Zeros, numbers].into_iter().find_map(|before| self.once(given, before))
    }

    fn once(&mut self, given: &Given, before: Before) -> Option<Counterexample> {
        let Sides { declarations, operators, .. } = self.sides;
        let given = &*laid_out(declarations, operators, given)?;
        if !declarations.assumptions.iter().all(|a| a.holds(declarations, operators, given)) {
            return None;
        }
        match self.runs.compare((given, before), self.effort.steps) {
            Outcome::Nothing => None,
            Outcome::Same => {
                self.compared += 1;
                None
            }
            Outcome::Different(difference) if !self.faults && !difference.values => None,
            Outcome::Different(difference) => {
                self.compared += 1;
                Some(Counterexample { given: given.clone(), before, difference })
            }
        }
    }

    /// Shrinks a counterexample: smaller sizes first, then simpler elements.
    pub fn shrink(&mut self, found: Counterexample) -> Counterexample {
        let mut best = found;
        let mut left = self.effort.shrinking;
        'sizes: loop {
            for name in self.names.clone() {
                let now = best.given.sizes.get(&name).copied().unwrap_or(0);
                for n in (0..now).filter(|n| *n < 4 || *n + 2 >= now || *n == now / 2) {
                    let mut sizes = best.given.sizes.clone();
                    sizes.insert(name.clone(), n);
                    for round in 0..6 {
                        if left == 0 {
                            break 'sizes;
                        }
                        left -= 1;
                        let fill = match round {
                            0 => Fill::Plain,
                            _ => Fill::Random { edges: round == 5 },
                        };
                        // Assumptions may set sizes to greater ones again.
                        let total =
                            |found: &Counterexample| found.given.sizes.values().sum::<u64>();
                        // Simple data mentions no number of the programs.
                        let mentioned = match round % 2 {
                            0 => std::mem::take(&mut self.mentioned),
                            _ => Vec::new(),
                        };
                        let found = self.attempt(&sizes, fill);
                        self.mentioned.extend(mentioned);
                        if let Some(smaller) = found.filter(|found| total(found) < total(&best)) {
                            best = smaller;
                            continue 'sizes;
                        }
                    }
                }
            }
            break;
        }
        self.simplify(best, left)
    }

    /// Simplifies elements one at a time as long as the sides still differ.
    fn simplify(&mut self, mut best: Counterexample, mut left: usize) -> Counterexample {
        let names: Vec<String> = best.given.inputs.keys().cloned().collect();
        for name in names {
            let len = best.given.inputs.get(&name).map_or(0, |t| t.len());
            for at in 0..len {
                let element = best.given.inputs.get(&name).and_then(|t| t.get(at));
                for simpler in element.map(simpler).unwrap_or_default() {
                    if left == 0 {
                        return best;
                    }
                    left -= 1;
                    let mut given = best.given.clone();
                    let Some(tensor) = given.inputs.get_mut(&name) else { continue };
                    if !tensor.set(at, simpler) || !self.fits(&given) {
                        continue;
                    }
                    if let Some(found) = self.once(&given, best.before) {
                        best = found;
                        break;
                    }
                }
            }
        }
        best
    }

    /// Returns true if data satisfies the requirements of the models.
    fn fits(&self, given: &Given) -> bool {
        self.sides.roles.fit(given)
    }
}

/// Returns the machine with minimal caches. Results do not depend on caches, and allocating large ones would dominate
/// the time of a run on little data.
fn without_caches(machine: &Machine) -> Machine {
    let mut machine = machine.clone();
    let line = machine.dram.line_bytes;
    machine.l1.bytes = machine.l1.ways * line;
    for cache in [&mut machine.l2, &mut machine.llc] {
        (cache.bytes, cache.sharers) = (cache.ways * line, 1);
    }
    machine.tlb.entries = machine.tlb.ways;
    machine
}

/// Returns a few simpler scalars of the same type.
fn simpler(x: Scalar) -> Vec<Scalar> {
    const MOST: usize = 4;
    let dtype = x.dtype();
    if dtype.is_float() {
        let plain = [0.0, 1.0].into_iter().filter(|y| x.as_f64() != *y && x.as_f64() != 0.0);
        let less =
            smaller(x.as_f64() as i64).map(|n| n as f64).filter(|y| *y != x.as_f64()).take(MOST);
        return plain.chain(less).map(|y| Scalar::from_f64(dtype, y)).collect();
    }
    let n = x.as_i64().unwrap_or(0);
    let less = [0].into_iter().filter(|m| *m != n).chain(smaller(n).filter(|m| *m >= 0).take(MOST));
    less.map(|m| Scalar::I64(m).cast(dtype)).collect()
}

/// Returns simpler integers, the simplest first: 0, the absolute value, then values from half of the number towards the
/// number itself.
fn smaller(n: i64) -> impl Iterator<Item = i64> {
    let zero = (n != 0).then_some(0);
    let positive = (n < -1).then(|| n.checked_abs()).flatten();
    let halves = std::iter::successors(Some(n / 2), |half| Some(half / 2));
    let nearer = halves.take_while(|half| *half != 0).map(move |half| n - half);
    zero.into_iter().chain(positive).chain(nearer)
}

/// Returns the numbers that the programs and the assumptions mention.
fn numbers(sides: &Sides) -> BTreeSet<i64> {
    let terms = [&sides.left, &sides.right].into_iter().filter_map(|side| side.term().ok());
    let heads = terms.flatten().map(|node| node.head());
    let mentioned = heads.filter_map(|head| match head {
        Head::Int(n) => Some(n),
        Head::Real(bits) => whole(f64::from_bits(bits)),
        Head::Op(_) => None,
    });
    mentioned.chain(assumed(sides)).collect()
}

/// Returns the numbers in the assumptions.
fn assumed(sides: &Sides) -> impl Iterator<Item = i64> {
    sides.declarations.assumptions.iter().flat_map(|assumed| assumed.numbers())
}

/// Returns the integer that a number is.
fn whole(x: f64) -> Option<i64> {
    let n = x as i64;
    (n as f64 == x).then_some(n)
}

/// Returns the sizes at which the programs may change their behaviour, and nearby sizes.
fn boundaries(sides: &Sides) -> Vec<u64> {
    let mut numbers = numbers(sides);
    let extents = sides.declarations.tensors.iter().flat_map(|tensor| &tensor.shape);
    numbers.extend(extents.filter_map(Extent::constant).filter_map(|n| i64::try_from(n).ok()));
    let near = numbers.iter().filter(|n| (2..=MOST_SIZE).contains(*n));
    let near = near.flat_map(|n| {
        let twice = (*n <= MOST_BOUNDARY).then_some([2 * n, 2 * n + 1]);
        [n - 1, *n, n + 1].into_iter().chain(twice.into_iter().flatten())
    });
    near.map(|n| n as u64).filter(|n| *n > SMALL).sorted().dedup().collect()
}
