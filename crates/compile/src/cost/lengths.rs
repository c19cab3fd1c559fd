//! The lengths of bags, as far as they decide what their ends cost the execute unit.

/// The length from which on bags count as alike.
const LONG: usize = 32;

/// The lengths of the bags between the numbers of one tensor of offsets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lengths {
    /// The share of bags that are not empty.
    occupied: f64,
    /// The share of bags of each length, the last of [`LONG`] or more, that is not the length of the bag before, so that the
    /// core does not foresee the end.
    changed: Vec<f64>,
}

impl Lengths {
    /// Returns the lengths of bags in their order.
    pub fn of(lengths: &[i64]) -> Lengths {
        let bags = (lengths.len() as f64).max(1.0);
        let mut changed = vec![0.0; LONG + 1];
        for (at, length) in lengths.iter().enumerate() {
            if at == 0 || lengths[at - 1] != *length {
                let length = usize::try_from(*length).unwrap_or(0).min(LONG);
                changed[length] += 1.0 / bags;
            }
        }
        let full = lengths.iter().filter(|length| **length > 0).count();
        Lengths { occupied: full as f64 / bags, changed }
    }

    /// Returns the share of bags that are not empty.
    pub fn occupied(&self) -> f64 {
        self.occupied
    }

    /// Returns the mean over all bags of what the end of one costs after its length, if the core does not foresee it.
    pub fn mean(&self, cost: impl Fn(f64) -> f64) -> f64 {
        let changed = self.changed.iter().enumerate();
        changed.map(|(length, share)| share * cost(length as f64)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::Lengths;

    #[test]
    fn only_ends_that_are_not_foreseen_cost() {
        let lengths = Lengths::of(&[3, 3, 0, 1, 40, 1, 1, 1]);
        assert_eq!(lengths.occupied(), 7.0 / 8.0);
        // Those of 3, 0, 1, 40 and 1.
        assert_eq!(lengths.mean(|_| 1.0), 5.0 / 8.0);
        assert_eq!(lengths.mean(|length| length), (3.0 + 1.0 + 32.0 + 1.0) / 8.0);
        assert!((Lengths::of(&[7; 100]).mean(|_| 100.0) - 1.0).abs() < 1e-9);
        assert_eq!(Lengths::of(&[]).mean(|_| 10.0), 0.0);
    }
}
