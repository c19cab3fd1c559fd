//! Demands on operands: what the words after `:asks` mean.

/// A demand on an operand, beyond its sort. Where nothing is said, the operand is as the result is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// The element type.
    pub typing: OfType,
    /// The lanes.
    pub width: OfWidth,
    /// The number of indices that an address lacks or a tensor has.
    pub rank: OfRank,
    /// A part of its own in an operation on whole tensors.
    pub part: Option<Part>,
}

/// The element type of an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OfType {
    /// As that of the result follows from it; else one that the operands share.
    #[default]
    Follows,
    /// 64-bit integers.
    I64,
    /// One of its own.
    Any,
}

/// The lanes of an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OfWidth {
    /// As many as the result has; one, if an operand is their number.
    #[default]
    Follows,
    /// One.
    One,
    /// Several, however many the result has.
    Several,
}

/// The rank of an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OfRank {
    /// The result's.
    #[default]
    Follows,
    /// So many more than the result's.
    More(i8),
    /// This.
    Is(u8),
}

/// A part of its own of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Numbers that rise from 0 and part the elements of another operand.
    Offsets,
    /// Memory that nothing else looks at.
    Scratch,
    /// An operation whose result is of the type of its operands.
    Closed,
}

impl Ask {
    /// Every word of a demand, with its meaning.
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

    /// The demand with one more word; `None` for a word that is none.
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

    /// The demand of several words, which a space parts.
    pub fn parse(words: &str) -> Option<Ask> {
        words.split(' ').try_fold(Ask::default(), Ask::and)
    }
}
