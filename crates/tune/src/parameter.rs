//! Parameters: their values, the places of values in the surrogate's space, and the values next to one.

use fastrand::Rng;
use itertools::Itertools;

/// The most values of a parameter that are ever listed.
const LISTED: u64 = 1 << 16;

/// The longest permutation whose transpositions all count as its neighbours.
const TRANSPOSED: usize = 8;

/// The most neighbours of a value among unordered ones.
const NEIGHBOURS: usize = 28;

/// The standard deviation of a step along a real parameter, as a share of its range.
const STEP: f64 = 0.05;

/// A parameter that is tuned.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// The values that it takes.
    pub kind: Kind,
    /// True if the ratio of two values says how far they are apart, not their difference.
    pub log: bool,
    /// The value to begin with.
    pub default: Option<Value>,
}

/// The values of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// One of these numbers, in ascending order.
    Ordinal(Vec<f64>),
    /// One of these words.
    Categorical(Vec<String>),
    /// An order of the numbers below this one.
    Permutation(usize, Metric),
    /// A whole number from the first to the last.
    Integer(i64, i64),
    /// A number from the first to the last.
    Real(f64, f64),
}

/// The distance between two permutations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// The sum of squares by which elements move.
    Spearman,
    /// The number of pairs whose order differs.
    Kendall,
    /// The number of places that hold another element.
    Hamming,
}

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The index of a number or word in the parameter's list.
    Listed(usize),
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// The elements of a permutation, in order.
    Order(Vec<u16>),
}

impl Parameter {
    /// Returns the last value of a range, or the first; for words and permutations the first of the list.
    pub fn end(&self, last: bool) -> Value {
        self.at(if last { 1.0 } else { 0.0 })
    }

    /// Returns the value halfway between two of a range, as they are compared; `None` if there is no other.
    pub fn middle(&self, a: &Value, b: &Value) -> Option<Value> {
        let [a_at, b_at] = [a, b].map(|value| self.coordinates(value)[0]);
        let middle = self.at((a_at + b_at) / 2.0);
        (middle != *a && middle != *b).then_some(middle)
    }

    /// Returns the number of values, if it is finite and fits.
    pub fn size(&self) -> Option<u64> {
        match &self.kind {
            Kind::Ordinal(values) => Some(values.len() as u64),
            Kind::Categorical(words) => Some(words.len() as u64),
            Kind::Permutation(n, _) => (1..=*n as u64).try_fold(1u64, |all, n| all.checked_mul(n)),
            Kind::Integer(low, high) => Some(high.abs_diff(*low).saturating_add(1)),
            Kind::Real(..) => None,
        }
    }

    /// Returns all values, if they are few enough to list.
    pub fn all(&self) -> Option<Vec<Value>> {
        let size = self.size().filter(|size| *size <= LISTED)?;
        Some(match &self.kind {
            Kind::Permutation(n, _) => (0..*n as u16).permutations(*n).map(Value::Order).collect(),
            Kind::Integer(low, high) => (*low..=*high).map(Value::Integer).collect(),
            _ => (0..size as usize).map(Value::Listed).collect(),
        })
    }

    /// Draws a value, each as likely as any other; with `log`, each ratio.
    pub fn draw(&self, rng: &mut Rng) -> Value {
        match &self.kind {
            Kind::Ordinal(values) => Value::Listed(rng.usize(..values.len())),
            Kind::Categorical(words) => Value::Listed(rng.usize(..words.len())),
            Kind::Permutation(n, _) => {
                let mut order: Vec<u16> = (0..*n as u16).collect();
                rng.shuffle(&mut order);
                Value::Order(order)
            }
            Kind::Integer(low, high) if !self.log => Value::Integer(rng.i64(*low..=*high)),
            Kind::Integer(..) | Kind::Real(..) => self.at(rng.f64()),
        }
    }

    /// Returns the value at a share of the range of a parameter that has one.
    fn at(&self, share: f64) -> Value {
        let (low, high) = self.range();
        let along = low + share.clamp(0.0, 1.0) * (high - low);
        let number = if self.log { libm::exp(along) } else { along };
        match self.kind {
            Kind::Integer(low, high) => {
                Value::Integer((libm::round(number) as i64).clamp(low, high))
            }
            Kind::Real(low, high) => Value::Real(number.clamp(low, high)),
            _ => Value::Listed(0),
        }
    }

    /// Returns a value as a number; 0 for words and permutations.
    pub fn number(&self, value: &Value) -> f64 {
        match (&self.kind, value) {
            (Kind::Ordinal(values), Value::Listed(at)) => values[*at],
            (_, Value::Integer(number)) => *number as f64,
            (_, Value::Real(number)) => *number,
            _ => 0.0,
        }
    }

    /// Returns the ends of the range of numbers, as they are compared.
    fn range(&self) -> (f64, f64) {
        let (low, high) = match &self.kind {
            Kind::Ordinal(values) => (values[0], values[values.len() - 1]),
            Kind::Integer(low, high) => (*low as f64, *high as f64),
            Kind::Real(low, high) => (*low, *high),
            _ => (0.0, 1.0),
        };
        (self.compared(low), self.compared(high))
    }

    fn compared(&self, number: f64) -> f64 {
        if self.log { libm::log(number) } else { number }
    }

    /// Returns the coordinates of a value: the squared distance of two values is 1 between the ends of a range, between
    /// two words, and between two opposite permutations.
    pub fn coordinates(&self, value: &Value) -> Vec<f64> {
        match (&self.kind, value) {
            (Kind::Categorical(words), Value::Listed(at)) => {
                let word = |other| if other == *at { libm::sqrt(0.5) } else { 0.0 };
                (0..words.len()).map(word).collect()
            }
            (Kind::Permutation(_, metric), Value::Order(order)) => metric.coordinates(order),
            _ => {
                let (low, high) = self.range();
                let width = if high > low { high - low } else { 1.0 };
                vec![(self.compared(self.number(value)) - low) / width]
            }
        }
    }

    /// Returns the number of coordinates of a value.
    pub fn dimensions(&self) -> usize {
        match &self.kind {
            Kind::Categorical(words) => words.len(),
            Kind::Permutation(n, Metric::Spearman) => *n,
            Kind::Permutation(n, Metric::Kendall) => n * n.saturating_sub(1) / 2,
            Kind::Permutation(n, Metric::Hamming) => n * n,
            _ => 1,
        }
    }

    /// Returns values next to one, those that differ least first.
    pub fn neighbours(&self, value: &Value, rng: &mut Rng) -> Vec<Value> {
        match (&self.kind, value) {
            (Kind::Ordinal(values), Value::Listed(at)) => {
                let steps =
                    [at.checked_sub(1), at.checked_add(1), at.checked_sub(2), at.checked_add(2)];
                let inside = steps.into_iter().flatten().filter(|at| *at < values.len());
                inside.map(Value::Listed).collect()
            }
            (Kind::Categorical(words), Value::Listed(at)) => {
                let mut others: Vec<usize> = (0..words.len()).filter(|other| other != at).collect();
                rng.shuffle(&mut others);
                others.into_iter().take(NEIGHBOURS).map(Value::Listed).collect()
            }
            (Kind::Permutation(..), Value::Order(order)) => transposed(order, rng),
            (Kind::Integer(low, high), Value::Integer(at)) => {
                let far = (0..4).map(|_| self.step(value, rng));
                let near = [at.checked_sub(1), at.checked_add(1)].into_iter().flatten();
                let near = near.filter(|at| (*low..=*high).contains(at)).map(Value::Integer);
                near.chain(far).filter(|other| other != value).collect()
            }
            _ => (0..4).map(|_| self.step(value, rng)).collect(),
        }
    }

    /// Returns a value at a random distance along the range.
    fn step(&self, value: &Value, rng: &mut Rng) -> Value {
        // The sum of twelve uniform numbers is nearly normal.
        let normal = (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
        self.at(self.coordinates(value)[0] + STEP * normal)
    }
}

impl Metric {
    fn coordinates(self, order: &[u16]) -> Vec<f64> {
        let n = order.len();
        let mut places = vec![0; n];
        for (at, element) in order.iter().enumerate() {
            places[usize::from(*element)] = at;
        }
        let scaled = |coordinates: Vec<f64>, square: f64| {
            let scale = libm::sqrt(square.max(1.0));
            coordinates.into_iter().map(|coordinate| coordinate / scale).collect()
        };
        match self {
            Metric::Spearman => {
                let cube = (n * n * n) as f64 - n as f64;
                scaled(places.iter().map(|at| *at as f64).collect(), cube / 3.0)
            }
            Metric::Kendall => {
                let pairs = places.iter().array_combinations();
                let signs: Vec<f64> = pairs.map(|[a, b]| f64::from(u8::from(a < b))).collect();
                let square = signs.len() as f64;
                scaled(signs, square)
            }
            Metric::Hamming => {
                let cells = places.iter().flat_map(|at| (0..n).map(move |other| other == *at));
                scaled(cells.map(|is| f64::from(u8::from(is))).collect(), 2.0 * n as f64)
            }
        }
    }
}

/// Returns permutations with two elements exchanged: all of a short one, otherwise those of neighbours and some others.
fn transposed(order: &[u16], rng: &mut Rng) -> Vec<Value> {
    let n = order.len();
    let swapped = |(a, b): (usize, usize)| {
        let mut order = order.to_vec();
        order.swap(a, b);
        Value::Order(order)
    };
    let near = (1..n).map(|at| (at - 1, at));
    if n <= TRANSPOSED {
        let far = (0..n).array_combinations().map(|[a, b]| (a, b)).filter(|(a, b)| b - a > 1);
        return near.chain(far).map(swapped).collect();
    }
    let far: Vec<(usize, usize)> =
        (0..NEIGHBOURS).map(|_| (rng.usize(..n), rng.usize(..n))).filter(|(a, b)| a != b).collect();
    near.chain(far).map(swapped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposite_values_have_distance_one() {
        let order = |order: &[u16]| Value::Order(order.to_vec());
        let permutation =
            |metric| (Kind::Permutation(4, metric), order(&[0, 1, 2, 3]), order(&[3, 2, 1, 0]));
        let words = ["a", "b", "c"].map(str::to_owned).to_vec();
        for (kind, a, b) in [
            (Kind::Ordinal(vec![1.0, 2.0, 16.0]), Value::Listed(0), Value::Listed(2)),
            (Kind::Categorical(words), Value::Listed(2), Value::Listed(1)),
            (Kind::Integer(1, 100), Value::Integer(100), Value::Integer(1)),
            (Kind::Real(0.5, 2.0), Value::Real(0.5), Value::Real(2.0)),
            permutation(Metric::Spearman),
            permutation(Metric::Kendall),
            permutation(Metric::Hamming),
        ] {
            let parameter = Parameter { name: String::new(), kind, log: true, default: None };
            let (a, b) = (parameter.coordinates(&a), parameter.coordinates(&b));
            assert_eq!((a.len(), b.len()), (parameter.dimensions(), parameter.dimensions()));
            let square: f64 = a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum();
            assert!((square - 1.0).abs() < 1e-9, "{:?}: {square}", parameter.kind);
        }
    }
}
