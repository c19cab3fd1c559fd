//! Groups of parameters that conditions tie together. The points of a small group are listed, so that each is drawn
//! with the same probability; a large group is searched from a random start.

use crate::expression::Condition;
use crate::parameter::{Parameter, Value};
use crate::space::Space;
use fastrand::Rng;
use std::ops::ControlFlow;

/// The most values in the listed points of a group, and the most that are tried to find them.
const LISTED: usize = 1 << 18;
const TRIED: usize = 1 << 18;

/// The random points that are tried before a large group is searched, the searches from different values, and the values
/// that each tries: one whose first values leave no way on would not end.
const DRAWN: usize = 64;
const SEARCHES: usize = 32;
const SEARCHED: usize = 1 << 10;

/// The most values of a parameter that a search of a large group tries at each place.
const VALUES: usize = 64;

/// Parameters that are in conditions with each other.
#[derive(Clone, Debug)]
pub struct Group {
    members: Vec<usize>,
    conditions: Vec<usize>,
    /// For each member, the conditions whose parameters all have a value once it has one.
    decided: Vec<Vec<usize>>,
    /// All points, if they are few. A group without conditions is drawn from as it is.
    listed: Option<Vec<Vec<Value>>>,
    size: Option<u64>,
}

impl Group {
    /// Divides parameters into groups, in the order of their first members.
    pub fn divide(parameters: &[Parameter], conditions: &[Condition]) -> Vec<Group> {
        let mut group: Vec<usize> = (0..parameters.len()).collect();
        for condition in conditions {
            let joined: Vec<usize> = condition.mentions.iter().map(|at| group[*at]).collect();
            let least = joined.iter().min().copied().unwrap_or(0);
            for of in &mut group {
                if joined.contains(of) {
                    *of = least;
                }
            }
        }
        let own = |first: usize| {
            let members = (0..parameters.len()).filter(|at| group[*at] == first).collect();
            Group::new(members, parameters, conditions)
        };
        (0..parameters.len()).filter(|at| group[*at] == *at).map(own).collect()
    }

    fn new(members: Vec<usize>, parameters: &[Parameter], all: &[Condition]) -> Group {
        let ours = |at: &usize| all[*at].mentions.iter().all(|own| members.contains(own));
        let conditions: Vec<usize> = (0..all.len()).filter(ours).collect();
        let last = |at: usize| members.iter().rposition(|own| all[at].mentions.contains(own));
        let decided = (0..members.len())
            .map(|level| conditions.iter().copied().filter(|at| last(*at) == Some(level)).collect())
            .collect();
        let mut group = Group { members, conditions, decided, listed: None, size: None };
        if group.conditions.is_empty() {
            let sizes = group.members.iter().map(|at| parameters[*at].size());
            group.size = sizes.product();
        } else {
            group.listed = group.list(parameters, all);
            group.size = group.listed.as_ref().map(|points| points.len() as u64);
        }
        group
    }

    /// Returns the parameters of the group, by index.
    pub fn members(&self) -> &[usize] {
        &self.members
    }

    /// Returns the conditions on them, by index.
    pub fn conditions(&self) -> &[usize] {
        &self.conditions
    }

    /// Returns the number of points, if it is known.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Returns the values of the members by the number of the point, which is below the group's size; `None` if points are
    /// not counted, or the values of a member are too many to list.
    pub fn nth(&self, space: &Space, number: u64) -> Option<Vec<Value>> {
        if let Some(points) = &self.listed {
            return points.get(usize::try_from(number).ok()?).cloned();
        }
        self.size?;
        let mut rest = number;
        let mut values = Vec::new();
        for member in self.members.iter().rev() {
            let all = space.parameters[*member].all()?;
            values.push(all.get(usize::try_from(rest % all.len() as u64).ok()?)?.clone());
            rest /= all.len() as u64;
        }
        values.reverse();
        Some(values)
    }

    /// Draws the values of the members; `None` if none that meet the conditions were found.
    pub fn draw(&self, space: &Space, rng: &mut Rng) -> Option<Vec<Value>> {
        if let Some(points) = &self.listed {
            return rng.choice(points).cloned();
        }
        let parameters = &space.parameters;
        let draw = |rng: &mut Rng| -> Vec<Value> {
            self.members.iter().map(|at| parameters[*at].draw(rng)).collect()
        };
        for _ in 0..DRAWN {
            let values = draw(rng);
            if (1..=values.len())
                .all(|n| self.may_hold(&values[..n], parameters, &space.conditions))
            {
                return Some(values);
            }
        }
        (0..SEARCHES).find_map(|_| self.search(space, rng))
    }

    /// Returns all points, if they and the way to them are within the limits.
    fn list(&self, parameters: &[Parameter], conditions: &[Condition]) -> Option<Vec<Vec<Value>>> {
        let sizes: Option<Vec<u64>> =
            self.members.iter().map(|at| parameters[*at].size()).collect();
        if sizes?.into_iter().fold(0, u64::saturating_add) > TRIED as u64 {
            return None;
        }
        let values: Option<Vec<Vec<Value>>> =
            self.members.iter().map(|at| parameters[*at].all()).collect();
        let mut points = Vec::new();
        let complete = self.walk(&values?, TRIED, parameters, conditions, |point| {
            points.push(point.to_vec());
            if points.len() * self.members.len() > LISTED {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        complete.then_some(points)
    }

    /// Finds a point among random values of each member, in random order.
    fn search(&self, space: &Space, rng: &mut Rng) -> Option<Vec<Value>> {
        let mut values = |at: &usize| {
            let parameter = &space.parameters[*at];
            let few = parameter.size().is_some_and(|size| size <= VALUES as u64);
            let all = if few { parameter.all() } else { None };
            let mut all = all.unwrap_or_else(|| (0..VALUES).map(|_| parameter.draw(rng)).collect());
            rng.shuffle(&mut all);
            all
        };
        let values: Vec<Vec<Value>> = self.members.iter().map(&mut values).collect();
        let mut found = None;
        self.walk(&values, SEARCHED, &space.parameters, &space.conditions, |point| {
            found = Some(point.to_vec());
            ControlFlow::Break(())
        });
        found
    }

    /// Visits the points that can be made of these values, depth first. Returns true if it came to the end, within the
    /// number of values to try.
    fn walk(
        &self,
        values: &[Vec<Value>],
        limit: usize,
        parameters: &[Parameter],
        conditions: &[Condition],
        mut visit: impl FnMut(&[Value]) -> ControlFlow<()>,
    ) -> bool {
        let mut point: Vec<Value> = Vec::new();
        let mut next = vec![0];
        for _ in 0..limit {
            let Some(at) = next.last_mut() else { return true };
            let level = point.len();
            let Some(value) = values[level].get(*at) else {
                next.pop();
                point.pop();
                continue;
            };
            *at += 1;
            point.push(value.clone());
            let holds = self.may_hold(&point, parameters, conditions);
            if holds && point.len() < values.len() {
                next.push(0);
                continue;
            }
            if holds && visit(&point).is_break() {
                return false;
            }
            point.pop();
        }
        false
    }

    /// Returns true if the conditions that the last value decides are met.
    fn may_hold(
        &self,
        values: &[Value],
        parameters: &[Parameter],
        conditions: &[Condition],
    ) -> bool {
        let value = |at: usize| {
            let place = self.members.iter().position(|own| *own == at).unwrap_or(0);
            &values[place]
        };
        self.decided[values.len() - 1].iter().all(|at| conditions[*at].holds(parameters, value))
    }
}
