//! Numbers that an instance of a rule leaves open: extents, and which numbers a tensor holds. They are made equal, tied
//! to each other by products and successors, and drawn.

use fastrand::Rng;
use std::collections::BTreeSet;

/// The numbers, by their places.
#[derive(Debug, Default)]
pub(super) struct Unknowns {
    links: Vec<usize>,
    values: Vec<Option<u64>>,
    /// Products that are equal.
    products: Vec<(Vec<usize>, Vec<usize>)>,
    /// A number and the next one.
    successors: Vec<(usize, usize)>,
    /// Those that only the values of tensors say.
    late: BTreeSet<usize>,
}

impl Unknowns {
    pub(super) fn fresh(&mut self) -> usize {
        self.links.push(self.links.len());
        self.values.push(None);
        self.links.len() - 1
    }

    pub(super) fn known(&mut self, n: u64) -> usize {
        let new = self.fresh();
        self.values[new] = Some(n);
        new
    }

    /// A number that only the values of tensors say.
    pub(super) fn late(&mut self) -> usize {
        let new = self.fresh();
        self.late.insert(new);
        new
    }

    pub(super) fn is_late(&self, at: usize) -> bool {
        self.late.contains(&self.root(at))
    }

    fn root(&self, mut at: usize) -> usize {
        while self.links[at] != at {
            at = self.links[at];
        }
        at
    }

    pub(super) fn value(&self, at: usize) -> Option<u64> {
        self.values[self.root(at)]
    }

    pub(super) fn values(&self, of: &[usize]) -> Option<Vec<u64>> {
        of.iter().map(|at| self.value(*at)).collect()
    }

    /// Makes two numbers one, and returns false if they differ.
    pub(super) fn same(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return true;
        }
        let value = match (self.values[a], self.values[b]) {
            (Some(x), Some(y)) if x != y => return false,
            (x, y) => x.or(y),
        };
        self.links[b] = a;
        self.values[a] = value;
        if self.late.contains(&b) {
            self.late.insert(a);
        }
        true
    }

    /// Gives a number its value, and returns false if it has another.
    pub(super) fn set(&mut self, at: usize, n: u64) -> bool {
        let at = self.root(at);
        *self.values[at].get_or_insert(n) == n
    }

    pub(super) fn product(&mut self, a: &[usize], b: &[usize]) {
        self.products.push((a.to_vec(), b.to_vec()));
    }

    pub(super) fn successor(&mut self, n: usize, next: usize) {
        self.successors.push((n, next));
    }

    /// Draws what is open and not late, those first that must be known; returns false if the ties cannot be kept. What
    /// follows from late ones stays open.
    pub(super) fn draw(&mut self, rng: &mut Rng, first: &[usize]) -> bool {
        loop {
            if !self.follow() {
                return false;
            }
            let is_open = |at: &usize| self.values[*at].is_none() && !self.late.contains(at);
            let mut open: Vec<usize> =
                first.iter().map(|at| self.root(*at)).filter(is_open).collect();
            if open.is_empty() {
                let tied = self.products.iter().map(|(a, b)| [&a[..], &b[..]].concat());
                let waiting = |all: &Vec<usize>| {
                    let mut roots = all.iter().map(|at| self.root(*at));
                    roots.any(|at| self.values[at].is_none() && self.late.contains(&at))
                };
                let tied: BTreeSet<usize> =
                    tied.filter(waiting).flatten().map(|at| self.root(at)).collect();
                open = (0..self.links.len())
                    .filter(|at| self.root(*at) == *at && is_open(at) && !tied.contains(at))
                    .collect();
            }
            if open.is_empty() {
                return true;
            }
            let at = open[rng.usize(..open.len())];
            let factors = self.products.iter().flat_map(|(a, b)| a.iter().chain(b));
            // Extents that others follow from by division are not 0.
            let is_factor = factors.map(|own| self.root(*own)).any(|own| own == at);
            self.values[at] = Some(if is_factor { rng.u64(1..5) } else { rng.u64(0..6) });
        }
    }

    /// Gives values to what follows from others; returns false if that contradicts.
    fn follow(&mut self) -> bool {
        loop {
            let before = self.values.iter().flatten().count();
            for at in 0..self.successors.len() {
                let (n, next) = self.successors[at];
                let fits = match (self.value(n), self.value(next)) {
                    (Some(n), _) => self.set(next, n + 1),
                    (None, Some(next)) => next.checked_sub(1).is_some_and(|own| self.set(n, own)),
                    _ => true,
                };
                if !fits {
                    return false;
                }
            }
            for at in 0..self.products.len() {
                let (a, b) = self.products[at].clone();
                if !self.divide(&a, &b) || !self.divide(&b, &a) {
                    return false;
                }
            }
            if self.values.iter().flatten().count() == before {
                return true;
            }
        }
    }

    /// Finds the one open factor of a product whose value is known.
    fn divide(&mut self, known: &[usize], open: &[usize]) -> bool {
        let Some(values) = self.values(known) else { return true };
        let product: u64 = values.iter().product();
        let unknown: Vec<usize> =
            open.iter().copied().filter(|at| self.value(*at).is_none()).collect();
        let rest: u64 = open.iter().filter_map(|at| self.value(*at)).product();
        match unknown[..] {
            [] => rest == product,
            [one] if rest > 0 && product.is_multiple_of(rest) => self.set(one, product / rest),
            [_] => false,
            _ => true,
        }
    }
}
