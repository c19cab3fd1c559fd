//! Parts of work that consists of many independent pieces, for several machines.

use std::str::FromStr;
use thiserror::Error;

/// The most parts that work is divided into.
const MOST: usize = 100_000;

/// The K-th of N ranges of about equal length. Their pieces one after another are the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    number: usize,
    of: usize,
}

/// The error of a word that names no part.
#[derive(Clone, Copy, Debug, Error)]
#[error("a part is K/N, with K from 1 to N, such as 2/8")]
pub struct NoPart;

impl Default for Part {
    /// The whole.
    fn default() -> Part {
        Part { number: 1, of: 1 }
    }
}

impl FromStr for Part {
    type Err = NoPart;

    fn from_str(word: &str) -> Result<Part, NoPart> {
        let numbers = word.split_once('/').and_then(|(number, of)| {
            Some(Part { number: number.parse().ok()?, of: of.parse().ok()? })
        });
        numbers.filter(|part| (1..=part.of.min(MOST)).contains(&part.number)).ok_or(NoPart)
    }
}

impl Part {
    /// Returns the pieces of this part, in order.
    pub fn pick<T>(self, pieces: impl IntoIterator<Item = T>) -> Vec<T> {
        let pieces: Vec<T> = pieces.into_iter().collect();
        let end =
            |number: usize| (pieces.len() as u128 * number as u128 / self.of as u128) as usize;
        let (from, to) = (end(self.number - 1), end(self.number));
        pieces.into_iter().take(to).skip(from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Part;

    #[test]
    fn the_parts_are_the_whole() {
        let mut all: Vec<usize> = Vec::new();
        for word in ["1/3", "2/3", "3/3"] {
            all.extend(word.parse::<Part>().expect("a part").pick(0..7));
        }
        assert_eq!(all, Part::default().pick(0..7));
    }

    #[test]
    fn other_words_are_no_parts() {
        for word in ["", "1", "0/2", "3/2", "1/0", "a/b", "1/2/3", "1/99999999999999999999"] {
            assert!(word.parse::<Part>().is_err(), "{word}");
        }
    }
}
