//! Spaces: parameters with conditions on them. Parameters that share conditions form a group; the whole space is never
//! enumerated.

use crate::expression::Condition;
use crate::group::Group;
use crate::parameter::{Parameter, Value};
use fastrand::Rng;
use itertools::Itertools;
use std::ops::Range;

/// The most pairs of parameters that change together, from one point to its neighbours.
const PAIRS: usize = 32;

/// The most values of each parameter of such a pair: one step down and one up.
const NEAREST: usize = 2;

/// A point: a value for each parameter.
pub type Point = Vec<Value>;

/// The parameters that are tuned, with the conditions on them.
#[derive(Clone, Debug)]
pub struct Space {
    /// The parameters, in the order of the file.
    pub parameters: Vec<Parameter>,
    /// The conditions that every point meets.
    pub conditions: Vec<Condition>,
    /// True if ratios of results count, not differences.
    pub log_output: bool,
    /// The number of points that are drawn before the first is proposed by the model, if the file says one.
    pub initial: Option<usize>,
    /// The number of points that the model proposes after them, if the file says one.
    pub iterations: Option<usize>,
    /// The name of the result.
    pub objective: String,
    groups: Vec<Group>,
}

impl Space {
    /// Creates a space.
    pub fn new(parameters: Vec<Parameter>, conditions: Vec<Condition>) -> Space {
        let groups = Group::divide(&parameters, &conditions);
        let objective = "value".to_owned();
        let (log_output, initial, iterations) = (false, None, None);
        Space { parameters, conditions, log_output, initial, iterations, objective, groups }
    }

    /// Returns the number of points, if all of them are known to be counted: the product of the groups' numbers.
    pub fn size(&self) -> Option<u64> {
        self.groups.iter().try_fold(1u64, |all, group| all.checked_mul(group.size()?))
    }

    /// Returns a point by its number below [`size`](Space::size): the last group counts fastest.
    pub fn nth(&self, number: u64) -> Option<Point> {
        let mut rest = number;
        let mut point = vec![Value::Listed(0); self.parameters.len()];
        for group in self.groups.iter().rev() {
            let size = group.size()?;
            let values = group.nth(self, rest.checked_rem(size)?)?;
            rest /= size;
            for (parameter, value) in group.members().iter().zip(values) {
                point[*parameter] = value;
            }
        }
        (rest == 0).then_some(point)
    }

    /// Returns the conditions of the first group in which no point was found.
    pub fn unmet(&self, rng: &mut Rng) -> Option<&[usize]> {
        let empty = |group: &&Group| group.draw(self, rng).is_none();
        self.groups.iter().find(empty).map(Group::conditions)
    }

    /// Draws a point; `None` if a group has none that can be found.
    pub fn draw(&self, rng: &mut Rng) -> Option<Point> {
        let mut point = vec![Value::Listed(0); self.parameters.len()];
        for group in &self.groups {
            for (parameter, value) in group.members().iter().zip(group.draw(self, rng)?) {
                point[*parameter] = value;
            }
        }
        Some(point)
    }

    /// Returns true if a point meets all conditions.
    pub fn holds(&self, point: &[Value]) -> bool {
        self.conditions.iter().all(|condition| condition.holds(&self.parameters, |at| &point[at]))
    }

    /// Returns the point of the default values, if all parameters have one and it meets all conditions.
    pub fn default(&self) -> Option<Point> {
        let values: Option<Point> = self.parameters.iter().map(|own| own.default.clone()).collect();
        values.filter(|point| self.holds(point))
    }

    /// Returns feasible points next to one: with the value of one parameter changed, or with two of one group, since
    /// conditions tie them to each other.
    pub fn neighbours(&self, point: &Point, rng: &mut Rng) -> Vec<Point> {
        let values = self.parameters.iter().zip(point);
        let near: Vec<Vec<Value>> =
            values.map(|(parameter, value)| parameter.neighbours(value, rng)).collect();
        let mut points: Vec<Point> = Vec::new();
        let mut add = |changes: &[(usize, &Value)]| {
            let mut other = point.clone();
            for (parameter, value) in changes {
                other[*parameter] = (*value).clone();
            }
            if self.holds(&other) {
                points.push(other);
            }
        };
        for (parameter, values) in near.iter().enumerate() {
            values.iter().for_each(|value| add(&[(parameter, value)]));
        }
        for group in self.groups.iter().filter(|group| group.members().len() > 1) {
            for (a, b) in pairs(group.members(), rng) {
                for first in near[a].iter().take(NEAREST) {
                    near[b].iter().take(NEAREST).for_each(|second| add(&[(a, first), (b, second)]));
                }
            }
        }
        points
    }

    /// Returns the coordinates of a point, the parameters' after each other.
    pub fn coordinates(&self, point: &[Value]) -> Vec<f64> {
        let values = self.parameters.iter().zip(point);
        values.flat_map(|(parameter, value)| parameter.coordinates(value)).collect()
    }

    /// Returns for each parameter the range of its coordinates.
    pub fn blocks(&self) -> Vec<Range<usize>> {
        let mut end = 0;
        let mut block = |parameter: &Parameter| {
            let start = end;
            end += parameter.dimensions();
            start..end
        };
        self.parameters.iter().map(&mut block).collect()
    }
}

/// Returns all pairs, or some if they are many.
fn pairs(members: &[usize], rng: &mut Rng) -> Vec<(usize, usize)> {
    let n = members.len();
    if n * (n - 1) / 2 <= PAIRS {
        return members.iter().copied().array_combinations().map(|[a, b]| (a, b)).collect();
    }
    let draw = |rng: &mut Rng| (members[rng.usize(..n)], members[rng.usize(..n)]);
    (0..PAIRS).map(|_| draw(rng)).filter(|(a, b)| a != b).collect()
}
