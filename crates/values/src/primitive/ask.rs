//! Demands on operands: what the words after `:asks` mean.

/// A requirement on an operand beyond its sort. A part without a requirement follows the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// The required element type.
    pub typing: OfType,
    /// The required lanes.
    pub width: OfWidth,
    /// The required rank: the number of indices that an address lacks or a tensor has.
    pub rank: OfRank,
    /// The special role in an operation on whole tensors, if any.
    pub part: Option<Part>,
}

/// The required element type of an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OfType {
    /// The element type that determines the type of the result, or else a type that the operands share.
    #[default]
    Follows,
    /// 64-bit integers.
    I64,
    /// Any type, independent of the other operands.
    Any,
}

/// The required lanes of an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OfWidth {
    /// The lanes of the result, or one lane if an operand gives the number of lanes.
    #[default]
    Follows,
    /// One lane.
    One,
    /// Several lanes, independent of the result.
    Several,
}

/// The required rank of an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OfRank {
    /// The rank of the result.
    #[default]
    Follows,
    /// The rank of the result plus this number.
    More(i8),
    /// Exactly this rank.
    Is(u8),
}

/// A special role of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Numbers that rise from 0 and divide the elements of another operand.
    Offsets,
    /// Memory that nothing else reads.
    Scratch,
    /// An operation whose result has the type of its operands.
    Closed,
}

impl Ask {
    /// Every word of a requirement with its meaning.
    pub const WORDS: [(&'static str, &'static str); 13] = [
        ("i64", "an i64"),
        ("any", "of a type of its own"),
        ("scalar", "of one lane"),
        ("lanes", "of several lanes"),
        ("0", "of rank 0: an element"),
        ("1", "of rank 1"),
        ("2", "of rank 2"),
        ("3", "of rank 3"),
        ("+1", "of one rank more than the result"),
        ("-1", "of one rank less than the result"),
        ("offsets", "numbers that rise from 0"),
        ("scratch", "memory that nothing else looks at"),
        ("closed", "an operation whose result is of the type of its operands"),
    ];

    /// Returns the requirement with one more word added; `None` if the word is unknown.
    pub fn and(self, word: &str) -> Option<Ask> {
        Some(match word {
            "i64" => Ask { typing: OfType::I64, ..self },
            "any" => Ask { typing: OfType::Any, ..self },
            "scalar" => Ask { width: OfWidth::One, ..self },
            "lanes" => Ask { width: OfWidth::Several, ..self },
            "+1" => Ask { rank: OfRank::More(1), ..self },
            "-1" => Ask { rank: OfRank::More(-1), ..self },
            "0" | "1" | "2" | "3" => Ask { rank: OfRank::Is(word.parse().ok()?), ..self },
            "offsets" => Ask { part: Some(Part::Offsets), typing: OfType::I64, ..self },
            "scratch" => Ask { part: Some(Part::Scratch), ..self },
            "closed" => Ask { part: Some(Part::Closed), ..self },
            _ => return None,
        })
    }

    /// Returns the words of the demand.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        Ask::WORDS
            .into_iter()
            .map(|(word, _)| word)
            .filter(move |word| self.and(word) == Some(self))
    }

    /// The demand of several words, which a space parts.
    pub fn parse(words: &str) -> Option<Ask> {
        words.split(' ').try_fold(Ask::default(), Ask::and)
    }
}
