//! Seeded random numbers, with one stream per tensor, and a random permutation.

/// A SplitMix64 generator (Steele, Lea, Flood, OOPSLA 2014): a counter and a mixer. A seed gives the same numbers on
/// every machine and in every version.
pub(super) struct Random(u64);

/// Applies the mixer of SplitMix64.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns the seed of one tensor. Different names and different seeds give unrelated tensor seeds. The name is hashed
/// by FNV-1a.
pub(super) fn tensor_seed(seed: u64, name: &str) -> u64 {
    let step = |h: u64, b: u8| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    mix(mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15)) ^ hash)
}

/// Returns the seed of one of many related streams.
pub(super) fn nth_seed(seed: u64, n: u64) -> u64 {
    mix(mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15)).wrapping_add(n))
}

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Returns 64 random bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Returns a number in `[0, 1)` with 53 random bits.
    pub(super) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

/// A permutation of `0..n` in constant memory. It is a Feistel network of four rounds on the least even number of bits
/// that holds `n`, iterated until the result is below `n` (Black and Rogaway, "Ciphers with arbitrary finite domains",
/// 2002). It needs at most four iterations on average.
pub(super) struct Permutation {
    n: u64,
    half: u32,
    keys: [u64; 4],
}

impl Permutation {
    pub(super) fn new(n: u64, seed: u64) -> Permutation {
        let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
        let mut random = Random::new(seed);
        Permutation { n, half: bits.div_ceil(2).max(1), keys: [(); 4].map(|()| random.bits()) }
    }

    /// Returns the image of `i`, which must be below `n`.
    pub(super) fn at(&self, i: u64) -> u64 {
        let mask = (1u64 << self.half) - 1;
        let mut x = i;
        loop {
            let (mut left, mut right) = (x >> self.half, x & mask);
            for key in self.keys {
                (left, right) = (right, left ^ (mix(right ^ key) & mask));
            }
            x = (left << self.half) | right;
            if x < self.n {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutations_hit_everything_once() {
        for n in [1u64, 2, 3, 10, 64, 1000, 4097] {
            let permutation = Permutation::new(n, 7);
            let mut hit = vec![false; n as usize];
            (0..n).for_each(|i| hit[permutation.at(i) as usize] = true);
            assert!(hit.into_iter().all(|h| h), "a permutation of {n}");
        }
        let large = Permutation::new(1 << 62, 1);
        assert!(large.at((1 << 62) - 1) < 1 << 62);
        assert_ne!(Permutation::new(1000, 1).at(5), Permutation::new(1000, 2).at(5));
    }

    #[test]
    fn tensors_have_seeds_of_their_own() {
        assert_ne!(tensor_seed(1, "table"), tensor_seed(1, "weights"));
        assert_ne!(tensor_seed(1, "table"), tensor_seed(2, "table"));
    }
}
