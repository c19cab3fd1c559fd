//! Triples of a knowledge graph: head, relation, tail.

use crate::data::random::{Permutation, Random, nth_seed};
use crate::data::zipf::Zipf;

/// The parameters of a knowledge graph to generate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triples {
    /// The number of entities, at least 1 if there are triples.
    pub entities: u64,
    /// The number of relations, at least 1 if there are triples.
    pub relations: u64,
    /// The number of triples.
    pub triples: u64,
    /// The Zipf exponent of heads and tails.
    pub entity_skew: f64,
    /// The Zipf exponent of relations.
    pub relation_skew: f64,
}

impl Triples {
    /// Generates head, relation and tail of each triple from a seed. Heads and tails have one distribution, scattered
    /// over the entities by one permutation, so that an entity that is frequent as a head is also frequent as a tail.
    /// Relations are numbered from the most frequent one.
    pub fn generate(&self, seed: u64) -> impl Iterator<Item = [u64; 3]> {
        let scatter = Permutation::new(self.entities.max(1), nth_seed(seed, 0));
        let entity = Zipf::new(self.entities.max(1), self.entity_skew);
        let relation = Zipf::new(self.relations.max(1), self.relation_skew);
        let mut random = Random::new(nth_seed(seed, 1));
        (0..self.triples).map(move |_| {
            let head = scatter.at(entity.rank(&mut random) - 1);
            let relation = relation.rank(&mut random) - 1;
            [head, relation, scatter.at(entity.rank(&mut random) - 1)]
        })
    }
}
